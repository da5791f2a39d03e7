//! Drainability: sessions that outlive requests, in an epoch of their own or in that of the
//! request which begins them.
//!
//! An epoch is a batch of requests, and is closed some batches later. The objects of a request
//! are freed at its end, so the live set is bounded: by the sessions, and one request. Sessions
//! are replaced at random, so their ages have no bound.

use std::collections::VecDeque;

use flatslab::epoch::{Epoch, EpochBytes, EpochKey};
use flatslab_benches::record::Metric;
use flatslab_benches::run::{Measured, Turn};

use super::{Random, drift, resident};

/// Sessions at any time.
pub(crate) const SESSIONS: usize = 4_000;
/// Bytes of one.
pub(crate) const SESSION: usize = 256;
/// Objects of a request.
const OBJECTS: usize = 200;
/// Bytes of one, all equally likely.
const SIZES: std::ops::RangeInclusive<usize> = 96..=480;
/// Requests of an epoch.
pub(crate) const BATCH: usize = 1_000;
/// An epoch is closed so many batches after its own.
pub(crate) const LAG: usize = 4;
/// Batches that do not count: in the first ones the first epochs are still to be closed, and
/// the largest request of all is still to come.
const WARM_UP: usize = 10;

/// Where sessions and objects are kept.
trait Store {
    type Handle;

    fn session(&mut self, bytes: &[u8]) -> Self::Handle;

    fn object(&mut self, bytes: &[u8]) -> Self::Handle;

    fn free(&mut self, handle: Self::Handle);

    /// A batch of requests has ended.
    fn end_of_batch(&mut self);

    /// Bytes of memory that it has.
    fn committed(&mut self) -> u64;
}

/// Serves so many requests, with so many sessions that are replaced in 1,000 of them; returns the
/// committed bytes at the end of each batch.
fn run<S: Store>(store: &mut S, requests: usize, replaced: usize) -> Vec<u64> {
    let bytes = [7; *SIZES.end()];
    let mut random = Random::new(0);
    let mut committed = Vec::with_capacity(requests / BATCH);
    let sessions = (0..SESSIONS).map(|_| store.session(&bytes[..SESSION]));
    let mut sessions: Vec<S::Handle> = sessions.collect();
    let mut objects = Vec::with_capacity(OBJECTS);
    let mut due = 0;
    for request in 1..=requests {
        due += replaced;
        for at in 0..OBJECTS {
            let size = SIZES.start() + random.below(SIZES.end() - SIZES.start() + 1);
            objects.push(store.object(&bytes[..size]));
            // Sessions begin amid a request.
            if at == OBJECTS / 2 {
                while due >= BATCH {
                    due -= BATCH;
                    let place = random.below(SESSIONS);
                    let session = store.session(&bytes[..SESSION]);
                    store.free(std::mem::replace(&mut sessions[place], session));
                }
            }
        }
        for object in objects.drain(..) {
            store.free(object);
        }
        if request % BATCH == 0 {
            store.end_of_batch();
            committed.push(store.committed());
        }
    }
    committed
}

/// In epochs.
struct InEpochs {
    bytes: EpochBytes,
    /// The epoch of sessions, if they have one of their own.
    apart: Option<Epoch>,
    lagging: VecDeque<Epoch>,
    scanned: u64,
    recycled: u64,
}

impl InEpochs {
    fn new(is_apart: bool) -> Self {
        let bytes = EpochBytes::new();
        InEpochs {
            apart: is_apart.then(|| bytes.permanent()),
            bytes,
            lagging: VecDeque::with_capacity(LAG + 1),
            scanned: 0,
            recycled: 0,
        }
    }

    fn copy(&self, epoch: Epoch, bytes: &[u8]) -> EpochKey {
        self.bytes
            .try_copy_in(epoch, bytes)
            .expect("the epoch is open")
    }
}

impl Store for InEpochs {
    type Handle = EpochKey;

    fn session(&mut self, bytes: &[u8]) -> EpochKey {
        self.copy(self.apart.unwrap_or_else(|| self.bytes.current()), bytes)
    }

    fn object(&mut self, bytes: &[u8]) -> EpochKey {
        self.copy(self.bytes.current(), bytes)
    }

    fn free(&mut self, handle: EpochKey) {
        assert!(self.bytes.remove(handle), "it was there");
    }

    fn end_of_batch(&mut self) {
        self.lagging.push_back(self.bytes.current());
        self.bytes.advance();
        if self.lagging.len() > LAG {
            let epoch = self.lagging.pop_front().expect("there are some");
            let report = self.bytes.close(epoch).expect("it is closing");
            self.scanned += report.scanned as u64;
            self.recycled += report.recycled as u64;
        }
    }

    fn committed(&mut self) -> u64 {
        self.bytes.stats().committed_bytes as u64
    }
}

/// Each a `Box`: there is no boundary at which anything comes back.
struct InBoxes;

impl Store for InBoxes {
    type Handle = Box<[u8]>;

    fn session(&mut self, bytes: &[u8]) -> Box<[u8]> {
        bytes.into()
    }

    fn object(&mut self, bytes: &[u8]) -> Box<[u8]> {
        bytes.into()
    }

    fn free(&mut self, handle: Box<[u8]>) {
        assert_eq!(handle[0], 7);
    }

    fn end_of_batch(&mut self) {}

    fn committed(&mut self) -> u64 {
        resident()
    }
}

/// One of the arms.
pub(crate) fn in_epochs(is_apart: bool, requests: usize, replaced: usize) -> Turn {
    let mut store = InEpochs::new(is_apart);
    let committed = run(&mut store, requests, replaced);
    assert!(store.scanned > 0);
    let recycled = store.recycled as f64 / store.scanned as f64 * 100.0;
    turn(
        committed,
        &[
            (Metric::Recycled, recycled),
            (Metric::Pinned, 100.0 - recycled),
        ],
    )
}

/// The control.
pub(crate) fn in_boxes(requests: usize, replaced: usize) -> Turn {
    turn(run(&mut InBoxes, requests, replaced), &[])
}

/// Drift, and memory at the end, besides these facts.
fn turn(committed: Vec<u64>, facts: &[(Metric, f64)]) -> Turn {
    let mut measured = Measured::facts(facts);
    let last = *committed.last().expect("batches") as f64;
    let drift = drift(&committed[WARM_UP..]);
    measured.facts.push((Metric::Memory, last / 1024.0));
    measured.facts.push((Metric::Drift, drift));
    measured.memory = committed;
    Turn(vec![measured])
}
