//! The invariants, walked.

extern crate std;

use super::cell::{Cell, RETIRED, is_detached};
use super::key::SlabKey;
use super::{PlainSlab, Storage};

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Panics where an invariant does not hold.
    pub fn check(&self) {
        assert!(self.used <= self.capacity(), "K1: used");
        assert!(self.cells.len() <= self.capacity(), "K2: room");
        let mut vacant = std::collections::BTreeSet::new();
        let (mut retired, mut detached) = (0, 0);
        for index in 0..self.used {
            // SAFETY: by K1 the cell exists.
            let cell = unsafe { self.place(index).as_ref() };
            if !cell.is_occupied() {
                if is_detached(cell.version()) {
                    detached += 1;
                } else if K::Cell::<T>::VERSIONED && cell.version() == RETIRED {
                    retired += 1;
                } else {
                    vacant.insert(index);
                }
            }
        }
        for &index in self.cells.free() {
            assert!(
                vacant.remove(&(index as usize)),
                "K2: {index} is not vacant, or twice"
            );
        }
        assert!(vacant.is_empty(), "K2: lost slots");
        assert_eq!(self.retired, retired, "K2: retired");
        assert_eq!(self.detached, detached, "K2: detached");
    }
}
