//! Which thread this is.

/// A number that no other thread has while this one runs, and not 0; 0 where threads cannot be
/// told apart: without `std`, and in destructors of thread-local values where those are not the
/// platform's own. A later thread may have the number of one that has ended, which happened before it
/// began: the number is an address, and memory is used again in that order.
#[cfg(all(feature = "std", not(all(test, loom))))]
#[inline(always)]
pub(crate) fn number() -> usize {
    use core::cell::Cell;

    std::thread_local! {
        static PLACE: Cell<u8> = const { Cell::new(0) };
    }
    PLACE
        .try_with(|place| core::ptr::from_ref(place).addr())
        .unwrap_or(0)
}

#[cfg(not(any(feature = "std", all(test, loom))))]
#[inline(always)]
pub(crate) fn number() -> usize {
    0
}

/// All threads of a model are one of the system's.
#[cfg(all(test, loom))]
pub(crate) fn number() -> usize {
    use std::hash::{DefaultHasher, Hash, Hasher};

    let mut hasher = DefaultHasher::new();
    super::atomic::thread::current().id().hash(&mut hasher);
    hasher.finish() as usize | 1
}
