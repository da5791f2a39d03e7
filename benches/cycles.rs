//! Ticks and core cycles per operation, beside the `slab` crate, in one run on
//! one pinned core.

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use clap::Parser;
    use flatslab_benches::operation::{self, Setting};
    use flatslab_benches::subject::{
        BoundedByKey, BoundedBySlot, Floor, GrowableByKey, GrowableBySlot, SlabCrate, StampedFloor,
    };
    use flatslab_benches::table::{self, Row};
    use flatslab_benches::{Payload, Subject, Turn, clock, pin};
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    /// Ticks and core cycles per operation of flatslab's slabs and the slab
    /// crate, interleaved on one pinned core
    #[derive(Parser)]
    struct Arguments {
        /// A few turns of each: checks the answers, measures roughly
        #[arg(long)]
        quick: bool,
        /// Turns of each subject in each operation
        #[arg(long, default_value_t = 201)]
        turns: usize,
        /// Live values
        #[arg(long, default_value_t = 8192)]
        live: usize,
        /// Only operations whose name contains this
        filter: Option<String>,
        /// What `cargo bench` passes to every bench
        #[arg(long, hide = true)]
        bench: bool,
    }

    type Run = (&'static str, fn(Setting) -> Turn);

    fn entry<V: Payload, S: Subject<V>>(turn: fn(Setting) -> Turn) -> Run {
        (S::NAME, turn)
    }

    /// The same operation on every subject.
    macro_rules! on_all {
        ($operation:ident, $value:ty: $($subject:ident),*) => {
            vec![$(entry::<$value, $subject<$value>>(
                operation::$operation::<$value, $subject<$value>>
            )),*]
        };
    }

    fn operations<V: Payload>() -> Vec<(&'static str, Vec<Run>)> {
        macro_rules! rows {
            ($($name:literal: $operation:ident),*) => {
                vec![$(($name, on_all!($operation, V: SlabCrate, BoundedBySlot,
                    GrowableBySlot, BoundedByKey, GrowableByKey, Floor, StampedFloor))),*]
            };
        }
        rows!(
            "INSERT fresh": insert_fresh,
            "INSERT steady": insert_steady,
            "GET random": get_random,
            "REMOVE random": remove_random,
            "CHURN LIFO": churn_lifo
        )
    }

    pub(super) fn main() {
        let arguments = Arguments::parse();
        let turns = if arguments.quick {
            5
        } else {
            arguments.turns.max(1)
        };
        let live = arguments.live.max(1).next_multiple_of(operation::BATCH);

        match pin::to_physical_core() {
            Some(pinned) if pinned.held => println!("pinned to core {}", pinned.core),
            _ => println!("NOT pinned: figures will wander"),
        }
        println!("{}", pin::cpu_model());
        println!(
            "counter: {:.3} ticks per ns, steps of {} ticks",
            clock::ticks_per_ns(),
            clock::step()
        );
        measure::<u64>(&arguments, turns, live);
        measure::<[u64; 8]>(&arguments, turns, live);
    }

    fn measure<V: Payload>(arguments: &Arguments, turns: usize, live: usize) {
        for (name, runs) in operations::<V>() {
            if arguments
                .filter
                .as_deref()
                .is_some_and(|part| !name.contains(part))
            {
                continue;
            }
            let overhead = clock::overhead();
            let ticks_per_cycle = clock::ticks_per_cycle();
            let mut rows: Vec<Row> = runs
                .iter()
                .map(|&(name, _)| Row {
                    name,
                    turns: Vec::new(),
                })
                .collect();
            for turn in 0..turns {
                // Whoever goes first in a round is another each time.
                for place in 0..runs.len() {
                    let subject = (place + turn) % runs.len();
                    let setting = Setting {
                        live,
                        overhead,
                        random: ChaCha8Rng::seed_from_u64(turn as u64),
                        turn,
                    };
                    rows[subject].turns.push(runs[subject].1(setting));
                }
            }
            println!(
                "\n{name}, {} bytes, {live} live ({ticks_per_cycle:.3} ticks per core cycle)",
                V::BYTES
            );
            println!("{}", table::render(&rows, ticks_per_cycle));
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn main() {
    x86_64::main();
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("the cycle benches read the x86_64 time-stamp counter; nothing to do here");
}
