//! Rings that any thread writes to and reads from, the newest overwriting the oldest.

use std::collections::VecDeque;
use std::sync::Mutex;

use flatslab::sync::SharedRing;
use flatslab_benches::operation::Setting;
use flatslab_benches::run::Turn;
use flatslab_benches::threads::{DEQUE, ENTRY, RING, THREADS};

use super::shared::{BATCH, at_once};

const ENTRIES: usize = 64;

pub(crate) trait Fifo: Sync {
    const NAME: &'static str;

    fn new() -> Self;

    /// Puts an entry in, in place of the oldest if it is full.
    fn push(&self, bytes: &[u8]);

    /// Reads the oldest entry; `None` if there is none.
    fn pop(&self) -> Option<u8>;
}

/// The one byte of which all of an entry are, which are read first and last.
#[inline(always)]
fn only(bytes: &[u8]) -> u8 {
    assert!(bytes.len() == ENTRY && bytes[0] == bytes[ENTRY - 1]);
    bytes[0]
}

impl Fifo for SharedRing {
    const NAME: &'static str = RING;

    fn new() -> Self {
        SharedRing::with_capacity(ENTRIES, ENTRY)
    }

    #[inline(always)]
    fn push(&self, bytes: &[u8]) {
        SharedRing::push(self, bytes).expect("no frame is kept");
    }

    #[inline(always)]
    fn pop(&self) -> Option<u8> {
        Some(only(&SharedRing::pop(self)?))
    }
}

/// What is usual: an allocation each, and a lock around all of them.
pub(crate) struct Deque(Mutex<VecDeque<Vec<u8>>>);

impl Fifo for Deque {
    const NAME: &'static str = DEQUE;

    fn new() -> Self {
        Deque(Mutex::new(VecDeque::with_capacity(ENTRIES)))
    }

    #[inline(always)]
    fn push(&self, bytes: &[u8]) {
        // Neither allocated nor freed under the lock.
        let entry = bytes.to_vec();
        let mut deque = self.0.lock().expect("nothing panics");
        let evicted = match deque.len() == ENTRIES {
            true => deque.pop_front(),
            false => None,
        };
        deque.push_back(entry);
        drop(deque);
        drop(evicted);
    }

    #[inline(always)]
    fn pop(&self) -> Option<u8> {
        let entry = self.0.lock().expect("nothing panics").pop_front();
        Some(only(&entry?))
    }
}

/// Each thread writes an entry and reads one, of a ring that is half full.
#[inline(never)]
pub(crate) fn half_full<F: Fifo, const AT: usize>(setting: Setting) -> Turn {
    let ring = F::new();
    for _ in 0..ENTRIES / 2 {
        ring.push(&[7; ENTRY]);
    }
    let turn = at_once(&setting, THREADS[AT], BATCH, || {
        |number| {
            ring.push(&[number as u8; ENTRY]);
            assert!(ring.pop().is_some(), "{}", F::NAME);
        }
    });
    let left = std::iter::from_fn(|| ring.pop()).count();
    assert_eq!(left, ENTRIES / 2, "{}", F::NAME);
    turn
}

/// Each thread overwrites the oldest entry.
#[inline(never)]
pub(crate) fn full<F: Fifo, const AT: usize>(setting: Setting) -> Turn {
    let ring = F::new();
    for _ in 0..ENTRIES {
        ring.push(&[7; ENTRY]);
    }
    let turn = at_once(&setting, THREADS[AT], BATCH, || {
        |number| ring.push(&[number as u8; ENTRY])
    });
    let left = std::iter::from_fn(|| ring.pop()).count();
    assert_eq!(left, ENTRIES, "{}", F::NAME);
    turn
}
