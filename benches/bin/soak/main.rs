//! A mixed program on an `EpochSlab` and on `EpochBytes`, for as long as is said: committed
//! bytes and the resident set must not drift. `ci/soak.sh` runs it.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use flatslab::epoch::{Epoch, EpochBytes, EpochKey, EpochSlab};
use flatslab_benches::machine;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Runs epochs of values and of buffers, and fails where memory drifts
#[derive(Parser)]
struct Arguments {
    /// How long, after a tenth of it as a warm-up
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
}

/// By how much the most of the second half may exceed the most of the first, in percent: what
/// chance adds to the largest batch so far, and pages of the program's own.
const DRIFT: f64 = 2.0;
/// A batch of requests is closed so many batches later.
const LAG: usize = 4;
/// What outlives batches.
const SESSIONS: usize = 4_000;
/// Sessions of a batch that are kept in its epoch for so many batches: they pin chunks.
const STAYING: usize = 20;
const STAYS: usize = 50;

struct Program {
    random: ChaCha8Rng,
    slab: EpochSlab<[u64; 16]>,
    bytes: EpochBytes,
    sessions: Vec<EpochKey>,
    lagging: VecDeque<(Epoch, Epoch)>,
    staying: VecDeque<Vec<(EpochKey, EpochKey)>>,
}

impl Program {
    fn new() -> Self {
        let slab = EpochSlab::new();
        let permanent = slab.permanent();
        let session = |number| {
            let session = slab.try_insert_in(permanent, [number as u64; 16]);
            session.expect("the permanent epoch is open")
        };
        Program {
            random: ChaCha8Rng::seed_from_u64(7),
            sessions: (0..SESSIONS).map(session).collect(),
            slab,
            bytes: EpochBytes::new(),
            lagging: VecDeque::new(),
            staying: VecDeque::new(),
        }
    }

    /// 100 requests, then the epochs advance, and old ones are closed.
    fn batch(&mut self) {
        let Program {
            random,
            slab,
            bytes,
            sessions,
            ..
        } = self;
        for request in 0..100_u64 {
            let parts: Vec<EpochKey> = (0..20).map(|_| slab.insert([request; 16])).collect();
            let buffers: Vec<EpochKey> = (0..20)
                .map(|_| bytes.alloc(random.random_range(1..2_000)).key())
                .collect();
            let session = &mut sessions[random.random_range(0..SESSIONS)];
            let value = slab.take(*session).expect("a session");
            let again = slab.try_insert_in(slab.permanent(), value);
            *session = again.expect("the permanent epoch is open");
            for key in buffers {
                bytes.get_mut(key).expect("a buffer")[0] = 7;
                assert!(bytes.remove(key) && !bytes.remove(key));
            }
            for key in parts {
                assert_eq!(slab.take(key), Some([request; 16]));
            }
        }
        {
            let guard = slab.enter();
            let keys: Vec<EpochKey> = (0..100).map(|it| guard.insert([it; 16])).collect();
            assert_eq!(slab.clear_epoch(guard.epoch()), keys.len());
        }
        let stay = |_| (slab.insert([1; 16]), bytes.alloc(200).key());
        self.staying.push_back((0..STAYING).map(stay).collect());
        if self.staying.len() > STAYS {
            for (value, buffer) in self.staying.pop_front().into_iter().flatten() {
                assert!(slab.take(value).is_some() && bytes.remove(buffer));
            }
        }
        self.lagging.push_back((slab.current(), bytes.current()));
        slab.advance();
        bytes.advance();
        if self.lagging.len() > LAG {
            let (of_values, of_bytes) = self.lagging.pop_front().expect("there are some");
            slab.close(of_values).expect("it is closing");
            bytes.close(of_bytes).expect("it is closing");
        }
    }

    fn committed(&self) -> u64 {
        (self.slab.memory().bytes() + self.bytes.memory().bytes()) as u64
    }
}

/// The most of each half, in order.
#[derive(Default)]
struct Most {
    committed: u64,
    resident: u64,
}

impl Most {
    fn add(&mut self, program: &Program) {
        self.committed = self.committed.max(program.committed());
        let resident = machine::resident().unwrap_or_default();
        self.resident = self.resident.max(resident);
    }
}

/// In percent.
fn drift(before: u64, after: u64) -> f64 {
    (after as f64 / before.max(1) as f64 - 1.0) * 100.0
}

fn main() -> ExitCode {
    let whole = Duration::from_secs(Arguments::parse().seconds);
    let mut program = Program::new();
    let begun = Instant::now();
    let (mut halves, mut batches) = ([Most::default(), Most::default()], 0_u64);
    let mut printed = 0;
    while begun.elapsed() < whole || batches < 10 * STAYS as u64 {
        program.batch();
        batches += 1;
        let share = begun.elapsed().as_secs_f64() / whole.as_secs_f64();
        // Warm-up is a tenth of the time, and until what stays has been released.
        if share > 0.1 && batches > 2 * STAYS as u64 {
            halves[usize::from(share > 0.55)].add(&program);
        }
        let tenth = (share * 10.0) as u32;
        if tenth > printed {
            printed = tenth;
            println!(
                "{:>6} s, {batches} batches: {} KiB committed, {} KiB resident",
                begun.elapsed().as_secs(),
                program.committed() >> 10,
                machine::resident().unwrap_or_default() >> 10
            );
        }
    }
    let [before, after] = halves;
    let committed = drift(before.committed, after.committed);
    let resident = drift(before.resident, after.resident);
    let pinned = program.slab.stats().pinned_epochs;
    println!(
        "{batches} batches, {pinned} epochs pinned: committed bytes drifted by {committed:.2} %, \
         the resident set by {resident:.2} %, of {DRIFT} %"
    );
    match committed <= DRIFT && resident <= DRIFT {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
