//! Numbers whose comparisons panic or lie when they are told to.

use std::cell::Cell;
use std::cmp::Ordering;

use crate::random::random;

thread_local! {
    /// The number of comparisons before one panics.
    pub(crate) static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    pub(crate) static LIES: Cell<bool> = const { Cell::new(false) };
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragile(pub(crate) u64);

impl PartialEq for Fragile {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Fragile {}

impl PartialOrd for Fragile {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Fragile {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = LEFT.get();
        LEFT.set(left.wrapping_sub(1));
        assert!(left > 0, "a comparison");
        if LIES.get() && random(4) == 0 {
            return [Ordering::Less, Ordering::Equal, Ordering::Greater][random(3) as usize];
        }
        self.0.cmp(&other.0)
    }
}
