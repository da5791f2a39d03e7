//! What a handle points back to: the top of the free stack, the counts, and
//! the cold function that returns the memory.
//!
//! A home is allocated when its slab is built and leaked at once, so that a
//! handle may outlive the slab: it is reclaimed by whoever is last (L2). It
//! knows nothing of `T`, nor of how the memory behind it is cut up; the two
//! kinds of slab each put one at the head of a larger block of their own.
//!
//! What may end in a release takes the pointer the allocation gave, never a
//! `&Home`: a reference argument is protected for the whole call, and a pointer
//! derived from it may not free what it points to. Where a slab is borrowed, it
//! keeps its home, and a reference to that may last.
//!
//! # Invariants
//!
//! * H1: `slots` = cells on the stack + `fresh` + cells that are not free.
//! * H2: `stale` counts the held cells whose holder is a `Slot` that lost its
//!   value, so `slots - free - stale` counts values and reservations.
//! * H3: after closing, only `remaining` and `cold` are still used.

use core::cell::Cell;
use core::ptr::NonNull;

use super::stack::Entry;

#[repr(C)]
pub(crate) struct Home {
    top: Cell<NonNull<Entry>>,
    bottom: Cell<NonNull<Entry>>,
    slots: Cell<usize>,
    fresh: Cell<usize>,
    stale: Cell<usize>,
    remaining: Cell<usize>,
    cold: ColdFunctions,
}

/// What a home does rarely, and differently for each kind of slab.
pub(crate) struct ColdFunctions {
    /// Returns all memory: cells, stack, and the home's own block. The pointer
    /// is the one the allocation gave.
    pub(crate) release: unsafe fn(NonNull<Home>),
}

impl Home {
    /// A home over an empty stack, whose `slots` cells are all fresh.
    pub(crate) const fn new(bottom: NonNull<Entry>, slots: usize, cold: ColdFunctions) -> Self {
        Home {
            top: Cell::new(bottom),
            bottom: Cell::new(bottom),
            slots: Cell::new(slots),
            fresh: Cell::new(slots),
            stale: Cell::new(0),
            remaining: Cell::new(0),
            cold,
        }
    }

    /// All cells of all chunks.
    pub(crate) fn slots(&self) -> usize {
        self.slots.get()
    }

    /// Cells never handed out and not on the stack yet.
    pub(crate) fn fresh(&self) -> usize {
        self.fresh.get()
    }

    /// Entries on the stack.
    pub(crate) fn depth(&self) -> usize {
        // SAFETY: by F1 both point into one array, the top not below the bottom.
        unsafe { self.top.get().offset_from(self.bottom.get()) as usize }
    }

    pub(crate) fn free(&self) -> usize {
        self.depth() + self.fresh.get()
    }

    /// Stale handles, H2.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn stale(&self) -> usize {
        self.stale.get()
    }

    /// Values and reservations.
    pub(crate) fn len(&self) -> usize {
        self.slots.get() - self.free() - self.stale.get()
    }

    /// The entry at `index`, counted from the bottom.
    pub(crate) fn entry(&self, index: usize) -> Entry {
        assert!(index < self.depth());
        // SAFETY: below the depth, so by F1 within the array and written.
        unsafe { self.bottom.get().add(index).read() }
    }

    /// What stands below the bottom: the null.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn entry_below_bottom(&self) -> Entry {
        // SAFETY: by F1 a null was written there when the stack was made.
        unsafe { self.bottom.get().sub(1).read() }
    }

    /// # Safety
    ///
    /// The home is not used again but by who looks for this.
    #[cfg(test)]
    pub(crate) unsafe fn write_below_bottom(&self, entry: Entry) {
        // SAFETY: by F1 the array begins there.
        unsafe { self.bottom.get().sub(1).write(entry) };
    }

    /// A handle's value was taken away from under it.
    pub(crate) fn count_stale(&self) {
        self.stale.set(self.stale.get() + 1);
    }

    /// A handle without a value is gone.
    pub(crate) fn uncount_stale(&self) {
        self.stale.set(self.stale.get() - 1);
    }

    /// Chunks were added.
    pub(crate) fn add_slots(&self, slots: usize) {
        self.slots.set(self.slots.get() + slots);
    }

    /// So many of the cells that were added are fresh.
    pub(crate) fn add_fresh(&self, cells: usize) {
        self.fresh.set(self.fresh.get() + cells);
    }

    /// Fresh cells were pushed.
    pub(crate) fn take_fresh(&self, slots: usize) {
        self.fresh.set(self.fresh.get() - slots);
    }

    /// Chunks were given back, none of whose cells is on the stack.
    pub(crate) fn remove_slots(&self, slots: usize) {
        self.slots.set(self.slots.get() - slots);
    }

    /// Puts `count` free cells below all others, so that they are handed out
    /// after those, in their own order; O(free cells).
    ///
    /// # Safety
    ///
    /// There are that many, distinct free cells of this slab that are not on
    /// the stack, which has room for them.
    pub(crate) unsafe fn push_below(&self, count: usize, cells: impl Iterator<Item = NonNull<u8>>) {
        let (bottom, depth) = (self.bottom.get(), self.depth());
        // SAFETY: there is room, says the caller, and every place of it that is
        // left open below the old entries is filled.
        unsafe {
            bottom.add(count).copy_from(bottom, depth);
            let mut place = bottom.add(count);
            for cell in cells {
                place = place.sub(1);
                place.write(Some(cell));
            }
            debug_assert!(place == bottom);
            self.top.set(bottom.add(count + depth));
        }
    }

    /// Takes those cells off the stack that `keep` denies, and leaves the
    /// others in their order; O(free cells).
    pub(crate) fn retain_entries(&self, mut keep: impl FnMut(NonNull<u8>) -> bool) {
        let mut kept = self.bottom.get();
        for index in 0..self.depth() {
            let entry = self.entry(index);
            if entry.is_some_and(&mut keep) {
                // SAFETY: not above the entry just read, so within the array.
                unsafe {
                    kept.write(entry);
                    kept = kept.add(1);
                }
            }
        }
        self.top.set(kept);
    }

    /// Goes on with another array, into which the entries were copied.
    pub(crate) fn replace_stack(&self, bottom: NonNull<Entry>) {
        let depth = self.depth();
        // SAFETY: the new array has room for the entries and for more (F1).
        self.top.set(unsafe { bottom.add(depth) });
        self.bottom.set(bottom);
    }
}

/// Takes the free cell that was freed last, or `None` when the stack is empty.
///
/// # Safety
///
/// The home is allocated (L1).
#[inline(always)]
pub(crate) unsafe fn pop(home: NonNull<Home>) -> Option<NonNull<u8>> {
    // SAFETY: allocated, says the caller. By F1 an entry or the null stands
    // below the top; a cell found there is free and, the top being lowered
    // before anybody else can look, ours alone (F2).
    unsafe {
        let top = home.as_ref().top.get();
        let cell = top.sub(1).read()?;
        home.as_ref().top.set(top.sub(1));
        Some(cell)
    }
}

/// Puts a free cell on the stack.
///
/// # Safety
///
/// The home is allocated (L1) and not closed; the cell is one of its cells, not
/// on the stack, and in state `V O` before any other code runs.
#[inline(always)]
pub(crate) unsafe fn push(home: NonNull<Home>, cell: NonNull<u8>) {
    // SAFETY: the stack has room for every cell of the slab, and by F2 this one
    // is not among its entries, so there is room above the top (F1).
    unsafe {
        let top = home.as_ref().top.get();
        top.write(Some(cell));
        home.as_ref().top.set(top.add(1));
    }
}

/// Starts the countdown of L2: the slab is gone, `remaining` cells are not
/// free. With none, the memory goes now.
///
/// # Safety
///
/// The home is allocated, its slab is being dropped and uses it no more.
pub(crate) unsafe fn close(home: NonNull<Home>, remaining: usize) {
    // SAFETY: allocated, says the caller; with nothing remaining no cell is
    // reachable, so by L2 this is the last use.
    unsafe {
        if remaining == 0 {
            let release = home.as_ref().cold.release;
            release(home);
        } else {
            home.as_ref().remaining.set(remaining);
        }
    }
}

/// One cell of a closed home became free.
///
/// # Safety
///
/// The home is closed; the cell was counted, and is not used again.
#[cold]
#[inline(never)]
pub(crate) unsafe fn count_down(home: NonNull<Home>) {
    // SAFETY: the cell was counted, so by L2 the home is allocated until here.
    unsafe {
        let remaining = home.as_ref().remaining.get() - 1;
        close(home, remaining);
    }
}

/// The home of a slab that has no memory yet: always empty, never written.
///
/// Its null stands in a static of its own; nothing is ever pushed on it, for
/// it has no cells.
pub(crate) const fn unallocated() -> NonNull<Home> {
    // SAFETY: the address of a static is not null.
    unsafe { NonNull::new_unchecked((&raw const UNALLOCATED.0).cast_mut()) }
}

struct Shared<V>(V);

// SAFETY: what is shared is only ever read: the home has no cell that could be
// popped, pushed, held or counted, and `close` with nothing remaining writes
// nothing.
unsafe impl<V> Sync for Shared<V> {}

static NULL: Shared<[Entry; 1]> = Shared([None]);

static UNALLOCATED: Shared<Home> = Shared(Home::new(
    // SAFETY: one past the only element of `NULL`, and not null.
    unsafe { NonNull::new_unchecked((&raw const NULL.0).cast::<Entry>().add(1).cast_mut()) },
    0,
    ColdFunctions {
        release: release_nothing,
    },
));

unsafe fn release_nothing(_: NonNull<Home>) {}
