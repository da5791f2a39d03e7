//! The free slots of a slab, by index.

use core::panic::RefUnwindSafe;

use crate::error::AllocError;
use crate::key::Key;
use crate::raw::source::Source;
use crate::raw::stack::FreeStack;

/// A LIFO of indices, 4 bytes each, changed through `&mut` alone.
pub(super) struct FreeIndices(FreeStack<Key>);

// SAFETY: it owns its array, and the cells of `FreeStack` are only written by
// functions that take `&mut self` here.
unsafe impl Send for FreeIndices {}
// SAFETY: no function that takes `&self` writes to the `FreeStack`.
unsafe impl Sync for FreeIndices {}
impl RefUnwindSafe for FreeIndices {}

impl FreeIndices {
    pub(super) const fn empty(source: Source) -> Self {
        FreeIndices(FreeStack::empty(source))
    }

    /// An empty stack with room for `capacity` indices, untouched.
    ///
    /// # Errors
    ///
    /// When its bytes exceed `isize::MAX`, or the allocator refuses.
    pub(super) fn try_new(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        Ok(FreeIndices(FreeStack::try_new(capacity, source)?))
    }

    /// Bytes of the array.
    pub(super) fn bytes(&self) -> usize {
        self.0.array_bytes()
    }

    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.0.capacity()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.0.depth()
    }

    /// What [`pop`](Self::pop) would take.
    #[inline(always)]
    pub(super) fn top(&self) -> Option<usize> {
        let key = self.0.top();
        key.is_some().then(|| key.index())
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<usize> {
        let key = self.0.pop();
        key.is_some().then(|| key.index())
    }

    /// # Safety
    ///
    /// The index is of a free cell of the owner that is not here, and there is
    /// room for all of those.
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, index: usize) {
        // SAFETY: the index is of a free cell that is not here, and there is room
        // (preconditions).
        unsafe { self.0.push_entry(Key::from_raw(index as u32)) };
    }

    /// Adds indices below all others, the first of them to be popped first.
    ///
    /// # Safety
    ///
    /// As for [`push`](Self::push), of each.
    pub(super) unsafe fn push_below(&mut self, indices: core::ops::Range<usize>) {
        let count = indices.len();
        let keys = indices.map(|index| Key::from_raw(index as u32));
        // SAFETY: each index is of a free cell that is not here, and there is room
        // (preconditions).
        unsafe { self.0.push_below(count, keys) };
    }

    /// Removes the indices for which `keep` is false; O(indices).
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        self.0.retain(|key| keep(key.index()));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Has room for `capacity` indices afterwards, and for twice as many as before
    /// if they have to be moved.
    ///
    /// # Errors
    ///
    /// When the source refuses; nothing has changed then.
    pub(super) fn try_grow(&mut self, capacity: usize) -> Result<(), AllocError> {
        if self.0.try_commit(capacity, true)? {
            return Ok(());
        }
        let room = capacity.max(2 * self.0.capacity());
        let stack = FreeStack::try_new_growing(room, self.0.source())?;
        drop(self.0.move_to(stack));
        Ok(())
    }

    /// Gives back what is not needed for `capacity` indices, which is not less than
    /// there are, if the source gives that much.
    pub(super) fn shrink(&mut self, capacity: usize) {
        self.0.decommit(capacity);
        if self.0.capacity() <= capacity || self.0.source().reserves() {
            return;
        }
        // Where the smaller stack is refused, the larger one stays.
        if let Ok(stack) = FreeStack::try_new(capacity, self.0.source()) {
            drop(self.0.move_to(stack));
        }
    }

    /// Takes over another stack's indices, in the same order; there are none
    /// here.
    pub(super) fn copy_from(&mut self, other: &Self) {
        assert!(self.len() == 0 && other.len() <= self.capacity());
        // SAFETY: there is room; the owner becomes the other's clone.
        unsafe { self.0.refill(other.0.entries()) };
    }

    /// Touches the memory above the top.
    pub(super) fn touch(&mut self) {
        self.0.touch();
    }

    /// Panics where the stack is not as it should be; hands out each index.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self, mut is_free: impl FnMut(usize) -> bool) {
        self.0.check(|key| is_free(key.index()));
    }
}
