//! The invariants of a slab, as far as its public methods show them.

use flatslab::{Key, Memory, TrackedSlab};

pub trait Audit {
    /// Panics where an invariant does not hold that can be seen from outside:
    ///
    /// * keys ascend, are distinct, and stay below the bound;
    /// * `len` counts the values, and no more than there are slots;
    /// * free slots are handed out without growth, each once, and none of them
    ///   has a value;
    /// * with all of them handed out the slab is full;
    /// * every other slot is in use.
    ///
    /// The free slots go back in the reverse order, so that they are handed out
    /// as they would have been.
    fn audit(&self);

    /// As [`audit`](Self::audit), for a slab with stale handles. Returns how
    /// many slots are neither in use nor free: those that they hold.
    fn audit_but_stale(&self) -> usize;

    /// The key of the free slot that is handed out next without growth.
    fn next_key(&self) -> Option<Key>;
}

impl<T, M: Memory> Audit for TrackedSlab<T, M> {
    #[track_caller]
    fn audit(&self) {
        assert_eq!(self.audit_but_stale(), 0, "slots are lost");
    }

    #[track_caller]
    fn audit_but_stale(&self) -> usize {
        let (len, capacity) = (self.len(), self.capacity());
        let keys: Vec<Key> = self.keys().collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "keys ascend: {keys:?}");
        assert!(keys.len() <= len, "{} values, len is {len}", keys.len());
        assert_eq!(self.is_empty(), len == 0);

        let mut reserved = Vec::new();
        while !self.is_full() {
            reserved.push(self.try_vacant_slot().expect("the slab is not full"));
            assert!(self.len() <= capacity, "more slots than capacity");
        }
        assert_eq!(self.capacity(), capacity, "a free slot costs no growth");
        assert_eq!(self.len(), len + reserved.len(), "reservations count");

        let mut all = keys;
        for vacant in &reserved {
            assert!(!self.contains_key(vacant.key()), "a free slot has a value");
            all.push(vacant.key());
        }
        all.sort_unstable();
        for pair in all.windows(2) {
            assert!(pair[0] < pair[1], "{:?} twice", pair[0]);
        }
        let bound = self.keys().size_hint().1.expect("a slab has an end");
        assert!(all.iter().all(|key| key.index() < bound), "past {bound}");

        let free = reserved.len();
        while let Some(vacant) = reserved.pop() {
            drop(vacant);
        }
        assert_eq!((self.len(), self.capacity()), (len, capacity));
        assert_eq!(self.is_full(), free == 0);
        capacity.checked_sub(len + free).expect("too many slots")
    }

    fn next_key(&self) -> Option<Key> {
        if self.is_full() {
            return None;
        }
        self.try_vacant_slot().ok().map(|vacant| vacant.key())
    }
}
