//! `Checkpoint`: a position of an arena, and the way back to it.

use core::ptr::NonNull;

use super::chunks::Chunks;
use super::list::Link;

/// A position of an arena, to rewind to.
///
/// # Examples
///
/// ```
/// let arena = flatslab::bump::Arena::with_capacity(1024);
/// arena.alloc(1);
/// let checkpoint = arena.checkpoint();
/// assert_eq!(*arena.alloc(42), 42);
/// // SAFETY: the reference is not used any more.
/// unsafe { arena.rewind(checkpoint) };
/// assert_eq!(arena.checkpoint(), checkpoint);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint {
    low: NonNull<u8>,
    high: NonNull<u8>,
    current: Link,
    /// The call of user code that has taken it.
    #[cfg(debug_assertions)]
    call: u64,
}

impl PartialEq for Checkpoint {
    fn eq(&self, other: &Self) -> bool {
        (self.low, self.high, self.current) == (other.low, other.high, other.current)
    }
}

impl Eq for Checkpoint {}

impl Chunks {
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            low: self.low.get(),
            high: self.high.get(),
            current: self.chunks.last.get(),
            #[cfg(debug_assertions)]
            call: self.call.get(),
        }
    }

    /// Panics if this is seen not to be a checkpoint to rewind to, or not the time for it.
    #[cfg(debug_assertions)]
    pub(super) fn assert_valid(&self, checkpoint: Checkpoint) {
        assert!(
            checkpoint.call == self.call.get(),
            "a rewind while a method of the arena runs that began, or went on, since the checkpoint"
        );
        let last = self.chunks.last.get();
        let mut in_use = self.chunks.iter().scan(false, |ended, chunk| {
            let was = *ended;
            *ended |= Some(chunk) == last;
            (!was && last.is_some()).then_some(chunk)
        });
        assert!(
            (checkpoint.current).is_none_or(|current| in_use.any(|chunk| chunk == current)),
            "a checkpoint of another arena, or of memory that was made free since"
        );
        assert!(
            checkpoint.current != last
                || checkpoint.low <= self.low.get() && checkpoint.high >= self.high.get(),
            "a checkpoint of memory that was made free since"
        );
    }

    /// Makes all memory free that was taken since that checkpoint; O(1). Chunks that were
    /// allocated since then stay, to be used again.
    ///
    /// # Safety
    ///
    /// The checkpoint is this arena's; since then it was not reset, shrunk, or rewound to an
    /// earlier one. What was taken since then is not used any more. If user code is
    /// [running](Self::run), the checkpoint was taken in the same call of it.
    pub(super) unsafe fn rewind(&self, checkpoint: Checkpoint) {
        self.enter(checkpoint.current.or(self.chunks.first.get()));
        if checkpoint.current.is_some() {
            self.low.set(checkpoint.low);
            self.high.set(checkpoint.high);
        }
    }

    /// Makes all memory free; O(1).
    ///
    /// # Safety
    ///
    /// What was taken is not used any more.
    pub(super) unsafe fn reset(&self) {
        self.chunks.last.set(self.chunks.first.get());
        let [low, high] = &self.first_ends;
        self.low.set(low.get());
        self.high.set(high.get());
    }
}
