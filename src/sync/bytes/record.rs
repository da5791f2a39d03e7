//! What stands at the start of each chunk, before the user's bytes: the count of references, and
//! what it takes to give the chunk back from any thread.
//!
//! # Invariants
//!
//! * U1: a chunk that was taken from the arena is in use until it is given back, and begins with
//!   a record, which the arena's thread wrote. Its count is that of the buffers that have it; a
//!   `BufMut` is the one. The buffer that is the last gives it back: no other has it then.
//! * U2: a count is at least the number of references. One of [`MOST`] or more is saturated: drops
//!   that see it do not lower it, and clones set it to a number that those which saw it before
//!   cannot bring below [`MOST`]. Then the chunk is never given back.
//! * U3: the local arena is touched by the thread that has the `ByteArena`, and once that was
//!   dropped by the one that frees everything.
//! * U4: what is shared is there until the arena is dropped and no chunk is in use; the last one
//!   frees it (Q2 of `raw/returns.rs`). A chunk on the return stack was in use by one who pushed
//!   it, who does not touch it any more.

use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use crate::bytes::{ByteArena, Chunk};
use crate::raw::atomic::{AtomicU32, Ordering};
use crate::raw::memory::Block;
use crate::raw::returns::{Returns, Taken};

/// The first bytes of a chunk.
#[repr(C, align(16))]
pub(super) struct Record {
    count: AtomicU32,
    /// What lies below it on the return stack.
    link: Cell<u32>,
    /// Of its chunk.
    number: u32,
    /// The user's bytes of its chunk.
    room: u32,
    shared: NonNull<Shared>,
}

/// Bytes of a record: the user's follow, at a multiple of 16.
pub(super) const PREFIX: usize = size_of::<Record>();

#[cfg(not(loom))]
const _: () = assert!(PREFIX == 32);

/// What an arena and its buffers share, in a block of its own.
pub(super) struct Shared {
    pub(super) returns: Returns,
    /// The arena's thread's (U3).
    pub(super) local: ManuallyDrop<ByteArena>,
    /// The one that this is in.
    pub(super) block: Block,
}

/// From here on references are not counted.
pub(super) const MOST: u32 = if cfg!(loom) { 3 } else { 1 << 31 };

/// Far from both ends of what is saturated, so that no number of threads that count at once
/// comes to an end before one of them sets it back to this.
const SATURATED: u32 = MOST + (MOST >> 1);

impl Shared {
    /// Takes what was given back, into the local arena. Returns how many chunks.
    ///
    /// # Safety
    ///
    /// The caller is the arena's thread.
    pub(super) unsafe fn reclaim(&self) -> usize {
        // SAFETY: says the caller.
        unsafe { self.take_back(self.returns.take()) }
    }

    /// # Safety
    ///
    /// As for [`reclaim`](Self::reclaim); these were given back here.
    pub(super) unsafe fn take_back(&self, mut taken: Taken) -> usize {
        let mut count = 0;
        // SAFETY: a chunk that was given back begins with its record, which no one else touches
        // (U1, U4).
        let link = |number| unsafe {
            let start = self.local.chunk_start(number);
            (*start.cast::<Record>().as_ptr()).link.get()
        };
        while let Some((number, rest)) = taken.next(link) {
            // SAFETY: as above; its link was read.
            unsafe { self.local.give_chunk_back(number) };
            taken = rest;
            count += 1;
        }
        count
    }

    /// Frees everything.
    ///
    /// # Safety
    ///
    /// The caller is the last one: the arena is dropped, and no chunk is in use (U4).
    #[cold]
    pub(super) unsafe fn free(shared: NonNull<Shared>) {
        // SAFETY: moved out, and not used there any more. The block frees itself last.
        unsafe {
            let Shared { local, block, .. } = shared.read();
            ManuallyDrop::into_inner(local).free();
            drop(block);
        }
    }
}

impl Record {
    /// Writes the record of a chunk that was taken just now, with one reference.
    ///
    /// # Safety
    ///
    /// It was taken from that arena, for more bytes than a record has.
    #[inline(always)]
    pub(super) unsafe fn write(chunk: Chunk, shared: NonNull<Shared>) -> NonNull<Record> {
        let record = chunk.start.cast::<Record>();
        debug_assert!(record.is_aligned() && chunk.size >= PREFIX);
        let value = Record {
            count: AtomicU32::new(1),
            link: Cell::new(0),
            number: chunk.number,
            room: (chunk.size - PREFIX) as u32,
            shared,
        };
        // SAFETY: the chunk has room for it, and is no one else's (U1).
        unsafe { record.write(value) };
        record
    }

    /// Where the user's bytes begin.
    ///
    /// # Safety
    ///
    /// It is there.
    #[inline(always)]
    pub(super) unsafe fn bytes(record: NonNull<Record>) -> NonNull<u8> {
        // SAFETY: within the chunk, or one past it.
        unsafe { record.add(1).cast() }
    }

    /// How many bytes of the user's the chunk has.
    #[inline(always)]
    pub(super) fn room(&self) -> usize {
        self.room as usize
    }

    /// Which arena it is of.
    pub(super) fn shared(&self) -> NonNull<Shared> {
        self.shared
    }

    /// How many references there are; none if they are no longer counted.
    pub(super) fn count(&self) -> Option<usize> {
        // Relaxed: a figure. The caller's own reference keeps it from its end.
        let count = self.count.load(Ordering::Relaxed);
        (count < MOST).then_some(count as usize)
    }

    /// Whether the caller's reference is the only one. If no other thread borrows that, none can
    /// make another.
    #[inline(always)]
    pub(super) fn is_unique(&self) -> bool {
        // Acquire: pairs with the release in `drop_ref`; what others read happens before the
        // caller writes.
        self.count.load(Ordering::Acquire) == 1
    }

    /// Counts one more reference.
    #[inline(always)]
    pub(super) fn add_ref(&self) {
        // Relaxed: the caller's own reference keeps the count from its end; whoever gets the new
        // one gets it from the caller.
        if self.count.fetch_add(1, Ordering::Relaxed) >= MOST {
            self.saturate();
        }
    }

    #[cold]
    #[inline(never)]
    fn saturate(&self) {
        // Relaxed: nothing is read by it, and the chunk is never given back (U2).
        self.count.store(SATURATED, Ordering::Relaxed);
    }

    /// Gives one reference back, and says whether it was the last one.
    ///
    /// # Safety
    ///
    /// It is the caller's, and is none from now on.
    #[inline]
    pub(super) unsafe fn drop_ref(record: NonNull<Record>) -> bool {
        // SAFETY: the caller's reference keeps it there, until the count is written.
        let it = unsafe { record.as_ref() };
        // The usual case costs no operation that writes: where the reference is the only one, and
        // is being dropped, no other thread counts.
        // Acquire: as in `is_unique`.
        let count = it.count.load(Ordering::Acquire);
        if count != 1 {
            // Told from this and not from what is counted below: from there on others may have
            // given the chunk back, and to set the count again would be to write to what comes
            // next. Those that looked before it came to `MOST` still count: fewer than threads.
            if count >= MOST {
                return false;
            }
            // Release: what was read through this reference happens before the chunk is used
            // again; pairs with the acquire in `is_unique`, here and of the last one.
            if it.count.fetch_sub(1, Ordering::Release) != 1 {
                return false;
            }
            // Acquire: pairs with the release of all others. They are gone, so the count is 0.
            it.count.load(Ordering::Acquire);
        }
        // SAFETY: the caller had the last reference (U1).
        unsafe { Self::give_back(record) };
        true
    }

    /// Gives the chunk back to its arena, from any thread.
    ///
    /// # Safety
    ///
    /// The caller alone has it (U1), and does not use it any more.
    #[inline]
    pub(super) unsafe fn give_back(record: NonNull<Record>) {
        // SAFETY: it is there until it is pushed; what is shared until this has left (U4). The
        // link is the pusher's until then.
        unsafe {
            let (shared, number) = (record.as_ref().shared, record.as_ref().number);
            let returns = NonNull::from(&(*shared.as_ptr()).returns);
            let link = |below| (*record.as_ptr()).link.set(below);
            if !Returns::push(returns, number, link) {
                Self::leave(shared);
            }
        }
    }

    /// As [`give_back`](Self::give_back), of an arena that was dropped.
    ///
    /// # Safety
    ///
    /// As there, and its arena is closed.
    #[cold]
    #[inline(never)]
    unsafe fn leave(shared: NonNull<Shared>) {
        // SAFETY: says the caller; the last one frees it.
        unsafe {
            let returns = NonNull::from(&(*shared.as_ptr()).returns);
            if Returns::leave(returns) {
                Shared::free(shared);
            }
        }
    }

    /// Sets the count as a test wants it.
    #[cfg(test)]
    pub(super) fn set_count(&self, count: u32) {
        self.count.store(count, Ordering::Relaxed);
    }
}
