//! One cell of a slab: a stamp and a value, and every event of its life.
//!
//! | view | what it knows |
//! |---|---|
//! | [`CellPtr`] | the address of a cell, and so of its stamp and its value |
//! | [`Place`] | also the header of the slab; handles, guards and boxes keep a `Place` |
//! | [`Live`] | also that cell and header are allocated, for its lifetime |
//!
//! The stamp is a key and a [`State`], whose questions and steps are in `state.rs`. Each event of
//! the table in DESIGN.md is a function: here if it begins or does something, and in `holder.rs` if it
//! ends a holder. The comparison for the usual case is inlined; every other row of the event's column
//! is in a cold function next to it.
//!
//! # Invariants
//!
//! Of the slabs:
//!
//! * `cell-stays`: a cell that is not free stays allocated, and its header too: a handle, a value,
//!   a guard, a box or a running destructor uses it. While the slab lives, its header stays, and
//!   every key below its bound has a stamped cell.
//! * `last-holder`: a closed header's `remaining` is the number of its cells that are not
//!   free; the holder that takes it to zero is the last, and releases the block. The return stack
//!   counts cells that were sent to other threads, and counts all other cells together as one.
//! * `whole-steps`: user code (closures, destructors, and the allocator, which may use the slab for
//!   which it allocates) runs only before or after a whole step, never within a step. Whatever it
//!   may have changed is read again afterwards.
//!
//! Of a cell and its holders:
//!
//! * `state-tells-value`: the value's bytes hold a live `T` exactly while the
//!   state has no `V`. Within a step, while no other code runs (`whole-steps`,
//!   `settled-cell`), one may change before the other.
//! * `stamp-apart`: the stamp is only reached through `&Stamp`, the value only
//!   through pointers to the value: neither borrow covers the other's bytes.
//! * `holder-keeps-cell`: while a `Slot`, `VacantSlot`, `SlotBox`, `Ref`, `RefMut` or mapped guard
//!   of a place exists, its cell is not free, so cell and header are allocated (`cell-stays`).
//! * `one-handle`: at most one `Slot`, `VacantSlot` or `SlotBox` of a place exists, and only while
//!   `O` is clear. (A handle that was forgotten, or turned into a raw pointer, leaves `O` clear for
//!   good.)
//! * `settled-cell`: after a function has pushed a cell or counted it down, it only writes the
//!   state of a pushed cell, and moves a value out of it (which poisons the bytes of the value)
//!   before any other code runs.
//! * `live-by-key`: a [`Live`] that was found by key is not used after user code has run, which may
//!   shrink the slab, unless its cell cannot be free.

use core::marker::PhantomData;
use core::mem::{MaybeUninit, transmute};
use core::ptr::NonNull;

use super::header::{self, SlabHeader};
use super::state::{Stamp, State};
use crate::key::Key;
use crate::raw::cell;
use crate::raw::packed::{Packing, Word};
use crate::raw::poison::poison;

/// A pointer to a cell. The place of its value has room for a link, even if the value is smaller.
pub(crate) type CellPtr<T> = cell::CellPtr<T, Stamp, { size_of::<u32>() }>;

impl<T> CellPtr<T> {
    /// How many fresh cells of a lazy slab are stamped and pushed when the free stack is empty:
    /// some cache lines full, and fewer if cells are large, so that an insertion reaches one new
    /// page or two.
    pub(crate) const REFILL: usize = match Self::SIZE {
        0..=16 => 16,
        17..=32 => 8,
        33..=1024 => 4,
        1025..=2048 => 2,
        _ => 1,
    };

    /// Returns the key in the stamp without a reference to the stamp, for a thread that may read
    /// only the key.
    ///
    /// # Safety
    ///
    /// The cell is allocated and stamped; nothing writes to the key at the same time.
    #[inline]
    pub(crate) unsafe fn shared_key(self) -> Key {
        // SAFETY: the cell is stamped, and nothing writes to the key (precondition); a place of the
        // key has its alignment.
        unsafe { self.key_place().cast().read() }
    }

    /// Returns the place of the key, or of the link of a cell whose value was retired.
    ///
    /// # Safety
    ///
    /// The cell is allocated.
    #[inline]
    pub(crate) unsafe fn key_place(self) -> NonNull<u32> {
        // SAFETY: within the stamp, which lies within the cell.
        unsafe { NonNull::new_unchecked(&raw mut (*self.stamp().as_ptr()).key).cast() }
    }

    /// Whether the place of a value has room for a link of any word.
    pub(super) const HAS_WIDE_LINK: bool = Self::ROOM >= size_of::<Word>();

    /// How the numbers of cells share words on the return stack, for cells with the indices
    /// that `packing` is for.
    pub(crate) const fn packing(packing: Packing) -> Packing {
        if Self::HAS_WIDE_LINK {
            packing
        } else {
            Packing::NONE
        }
    }

    /// Writes the link of a cell that another thread returns, in the place of the value. The link
    /// has room for all words of [this packing](Self::packing), but not for all words.
    ///
    /// # Safety
    ///
    /// The cell is allocated, without a value, and the caller's alone.
    #[inline]
    pub(crate) unsafe fn write_link(self, below: Word) {
        // SAFETY: the cell is allocated (precondition), and has `ROOM` bytes from this place,
        // aligned as a stamp. Where that is less than a word, words are narrow (`packing`).
        unsafe {
            let place = self.value();
            if Self::HAS_WIDE_LINK {
                place.cast::<Word>().write_unaligned(below);
            } else {
                place.cast::<u32>().write(below.narrow());
            }
        }
    }
}

const _: () = assert!(CellPtr::<u64>::SIZE == 16);
const _: () = assert!(CellPtr::<[u64; 8]>::SIZE == 72);

/// 16 bytes, `Copy`, with a niche; covariant in `T`, without ownership.
///
/// The header's address is stored as an integer (a `MaybeUninit`, which keeps the pointer's
/// provenance). The compiler stores two adjacent pointers as one vector of 16 bytes, and loads them
/// one by one. Zen 4 cannot forward such a store, so a handle that was stored and loaded again took
/// 15 cycles more (CHURN LIFO of 64 bytes: 32 cycles instead of 20). A pointer and an integer are
/// never stored as one vector.
pub(crate) struct Place<T> {
    cell: CellPtr<T>,
    header: MaybeUninit<usize>,
}

impl<T> Clone for Place<T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<T> {}

impl<T> Place<T> {
    #[inline]
    pub(crate) fn new(cell: CellPtr<T>, header: NonNull<SlabHeader>) -> Self {
        // SAFETY: a pointer has the size of a `usize`, and any bytes are a `MaybeUninit`.
        let header = unsafe { transmute::<NonNull<SlabHeader>, MaybeUninit<usize>>(header) };
        Place { cell, header }
    }

    #[inline]
    fn header(self) -> NonNull<SlabHeader> {
        // SAFETY: the bytes of such a pointer, from `new`.
        unsafe { transmute::<MaybeUninit<usize>, NonNull<SlabHeader>>(self.header) }
    }

    /// Cell and header, for a holder that forgets `T`; [`new`](Self::new) puts
    /// them together again.
    #[inline]
    pub(crate) fn into_parts(self) -> (NonNull<u8>, NonNull<SlabHeader>) {
        (self.cell.start(), self.header())
    }

    /// The place, known to be allocated for `'a`.
    ///
    /// # Safety
    ///
    /// Something keeps cell and header allocated, and the cell is stamped: a
    /// holder as in `holder-keeps-cell`, or the slab under the condition of
    /// `live-by-key`.
    #[inline]
    pub(crate) unsafe fn live<'a>(self) -> Live<'a, T> {
        Live {
            place: self,
            alive: PhantomData,
        }
    }
}

/// A place whose cell and header are allocated for `'a`.
///
/// All access to the two halves of the stamp and to the value goes through this type.
pub(crate) struct Live<'a, T> {
    place: Place<T>,
    alive: PhantomData<&'a ()>,
}

impl<T> Clone for Live<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Live<'_, T> {}

impl<'a, T> Live<'a, T> {
    #[inline]
    pub(crate) fn place(self) -> Place<T> {
        self.place
    }

    #[inline]
    pub(crate) fn start(self) -> NonNull<u8> {
        self.place.cell.start()
    }

    #[inline]
    pub(super) fn header(self) -> &'a SlabHeader {
        // SAFETY: a `Live` is a cell that is allocated for `'a`, and its header with it
        // (`cell-stays`).
        unsafe { self.place.header().as_ref() }
    }

    #[inline]
    pub(super) fn stamp(self) -> &'a Stamp {
        // SAFETY: allocated and stamped; by `stamp-apart` the borrow meets no other.
        unsafe { self.place.cell.stamp().as_ref() }
    }

    /// Returns the key in the stamp. It must not be read if the value is [sent](State::is_sent)
    /// (`link-at-key`); access by key and walks know the key without it.
    #[inline]
    pub(crate) fn key(self) -> Key {
        self.stamp().key()
    }

    #[inline]
    pub(crate) fn state(self) -> State {
        self.stamp().state.get()
    }

    /// Sets the state. The step from the present state to this one is in the table.
    #[inline]
    pub(super) fn set_state(self, state: State) {
        self.stamp().state.set(state);
    }

    /// The address of the value, whether or not there is one.
    #[inline]
    pub(crate) fn value(self) -> NonNull<T> {
        // SAFETY: a `Live` is a cell that is allocated.
        unsafe { self.place.cell.value() }
    }

    /// Changes the state from `from` to `to`. Returns `false` if the state is not `from`.
    #[inline]
    pub(super) fn exchange(self, from: State, to: State) -> bool {
        let found = self.state() == from;
        if found {
            self.set_state(to);
        }
        found
    }

    /// Takes a step, unless it is refused.
    #[inline]
    pub(super) fn step(self, step: impl FnOnce(State) -> Option<State>) -> bool {
        match step(self.state()) {
            Some(state) => {
                self.set_state(state);
                true
            }
            None => false,
        }
    }

    // Borrowing.

    /// Begins a read, by handle or by key. Returns `false` if it is refused. Ended by
    /// the drop of its [`Holder`](super::holder::Holder).
    #[inline]
    #[must_use]
    pub(crate) fn begin_read(self) -> bool {
        self.step(State::read)
    }

    /// Begins a read next to a guard that already reads. Returns `false` if there are too many
    /// readers.
    #[must_use]
    pub(crate) fn begin_read_along(self) -> bool {
        self.stamp().begin_read_along()
    }

    /// Begins a write, by handle or by key. Returns `false` if it is refused. Ended by
    /// the drop of its holder.
    #[inline]
    #[must_use]
    pub(crate) fn begin_write(self) -> bool {
        self.step(State::write)
    }

    /// Turns a handle into a handle for another thread. Returns `false` if this is refused.
    #[inline]
    #[must_use]
    pub(super) fn begin_sent(self) -> bool {
        self.exchange(State::OWNED, State::SENT)
    }

    /// Replaces an owned, unborrowed value.
    ///
    /// # Errors
    ///
    /// Returns `value` if there is no owned, unborrowed value.
    #[inline]
    pub(crate) fn replace(self, value: T) -> Result<T, T> {
        if self.state() == State::OWNED {
            // SAFETY: there is a value (`state-tells-value`), and it is not borrowed.
            Ok(unsafe { self.value().replace(value) })
        } else {
            Err(value)
        }
    }

    // Removing by key.

    /// Frees the cell of an unborrowed value. A handle that the value has
    /// becomes stale and keeps the cell. On `true` the caller
    /// [reads](Live::read) the value out at once; on `false`, where there is
    /// no value or it is borrowed, nothing has changed.
    #[inline]
    #[must_use]
    pub(crate) fn vacate_by_key(self) -> bool {
        if self.state() == State::UNHELD {
            // SAFETY: no handle and no borrow, and the slab is not closed.
            unsafe { self.free() };
            true
        } else {
            self.quarantine()
        }
    }

    /// Takes an owned value from its handle, which keeps the cell, so that the handle never refers
    /// to another value.
    #[cold]
    #[inline(never)]
    fn quarantine(self) -> bool {
        let owned = self.exchange(State::OWNED, State::HELD);
        if owned {
            self.header().count_stale();
        }
        owned
    }

    /// Drops the value in place, unless it is borrowed or there is none. User
    /// code runs.
    pub(super) fn try_destroy(self) -> bool {
        let state = self.state();
        let free = state.has_value() && !state.is_borrowed();
        if free {
            // SAFETY: there is a value, and it is not borrowed.
            unsafe { self.destroy(state.dying()) };
        }
        free
    }

    /// Drops the value in place. It is out of reach before its destructor runs
    /// and its cell is not free before that has returned or unwound.
    ///
    /// # Safety
    ///
    /// There is a value, not borrowed except by the caller, who ends, and
    /// `dying` is its state's [`dying`](State::dying). May free cell and header:
    /// the caller does not use them afterwards, unless something else keeps
    /// them allocated.
    #[inline]
    pub(super) unsafe fn destroy(self, dying: State) {
        struct Settle<'a, T>(Live<'a, T>);

        impl<T> Drop for Settle<'_, T> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY: `X` in a dying state keeps the cell from being freed and the header from being
                // released (`cell-stays`), whatever the destructor did. The state is read again: the
                // destructor may have dropped the handle, or the slab. It did not put a value back: a
                // dying value's bytes are no one's.
                unsafe {
                    poison(self.0.value());
                    if self.0.state() == State::DYING_UNHELD {
                        self.0.free();
                    } else {
                        self.0.settle_the_dead();
                    }
                }
            }
        }

        // SAFETY: the value is not borrowed, and from here on cannot be: `V X`
        // answers every question of `State` with no. It is dropped once, for
        // by `state-tells-value` it is gone with `V`. Without a destructor no
        // other code runs, and the cell goes straight to its end.
        unsafe {
            if !core::mem::needs_drop::<T>() && dying == State::DYING_UNHELD {
                poison(self.value());
                return self.free();
            }
            self.set_state(dying);
            let settle = Settle(self);
            self.value().drop_in_place();
            drop(settle);
        }
    }

    /// The cold path after a destructor: a handle points to the cell, or the slab was dropped.
    #[cold]
    #[inline(never)]
    unsafe fn settle_the_dead(self) {
        // SAFETY: the destructor that `destroy` ran has returned or unwound, so the value is
        // gone, and nothing uses the cell after it settles (`settled-cell`).
        unsafe { self.settle(self.state().without_exclusive()) };
    }

    /// Sets the state of a cell that has lost its value, and passes it to the free stack, to the
    /// countdown, or to its handle.
    ///
    /// # Safety
    ///
    /// The value is gone. `state` says so, and says whether a handle and the slab exist. May free
    /// the cell and the header.
    pub(super) unsafe fn settle(self, state: State) {
        debug_assert!(!state.has_value() && !state.is_borrowed());
        self.set_state(state);
        match (state.is_unheld(), state.is_closed()) {
            // SAFETY: without a handle the cell is only the slab's.
            (true, false) => unsafe { self.free() },
            // SAFETY: closed, so the cell was counted (`last-holder`).
            (true, true) => unsafe { header::count_down(self.place.header()) },
            (false, false) => self.header().count_stale(),
            (false, true) => {}
        }
    }

    /// Puts the cell on the free stack.
    ///
    /// The push comes first, because the next insertion waits for its store of the stack's top;
    /// then the state is set (64 bytes, CHURN LIFO, ratio to the `slab` crate: 0.66; in the other
    /// order 0.94).
    ///
    /// # Safety
    ///
    /// The slab is not closed; no value, no borrow, no handle except the
    /// caller's, who ends (`settled-cell`).
    #[inline]
    pub(super) unsafe fn free(self) {
        self.header().note_peak();
        // SAFETY: not on the stack yet, for a cell on the stack is in state
        // `V O` and has no holder that could call this (`holder-keeps-cell`,
        // `free-on-stack`).
        unsafe { self.header().stack.push(self.place.cell.start()) };
        self.set_state(State::FREE);
    }

    // Dropping the slab.

    /// Dooms a value that is borrowed while its slab is dropped.
    pub(super) fn doom(self) {
        self.set_state(self.state().doomed());
    }

    /// Marks the cell, which is not free and is counted (`last-holder`), as a cell of a dropped
    /// slab, whose header is closed (`closed-header`).
    pub(super) fn close(self) {
        self.set_state(self.state().closed());
    }

    /// Breaks invariants, for the tests of their check.
    #[cfg(test)]
    pub(crate) fn force_state(self, state: State) {
        self.set_state(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::chunk;
    use crate::slab::shape::{Shape, stamp_all};

    #[repr(align(64))]
    struct Line;
    #[repr(align(4096))]
    struct Page([u8; 8192]);

    fn sizes<T>() -> (usize, usize, usize) {
        let cell = CellPtr::<T>::LAYOUT;
        (
            CellPtr::<T>::VALUE_OFFSET,
            CellPtr::<T>::STAMP_OFFSET,
            cell.size(),
        )
    }

    #[test]
    fn every_size_and_alignment_is_laid_out() {
        // Up to 16 bytes the value goes first, a larger one after its stamp.
        assert_eq!(sizes::<()>(), (0, 4, 12));
        assert_eq!(sizes::<u8>(), (0, 4, 12));
        assert_eq!(sizes::<[u8; 3]>(), (0, 4, 12));
        assert_eq!(sizes::<u64>(), (0, 8, 16));
        assert_eq!(sizes::<[u8; 16]>(), (0, 16, 24));
        assert_eq!(sizes::<[u8; 17]>(), (8, 0, 28));
        assert_eq!(sizes::<[u128; 2]>().0, align_of::<u128>().max(8));
        // Aligned to 16 bytes, but on some machines to eight.
        assert_eq!(sizes::<u128>(), (0, 16, 16 + align_of::<u128>().max(8)));
        assert_eq!(sizes::<Line>(), (0, 4, 64));
        assert_eq!(sizes::<Page>(), (4096, 0, 4096 + 8192));
        assert_eq!(sizes::<[u8; 65536]>(), (8, 0, 8 + 65536));
        assert_eq!(Page([0; 8192]).0.len(), 8192);
    }

    /// As the pages of `Slab` and `BoundedSlab` say.
    #[test]
    fn a_cell_is_a_value_of_four_bytes_at_least_and_a_stamp() {
        fn expect<T>() {
            let bytes = size_of::<T>().max(4) + 8;
            let cell = bytes.next_multiple_of(align_of::<T>().max(4));
            assert_eq!(CellPtr::<T>::SIZE, cell, "{}", core::any::type_name::<T>());
        }
        expect::<()>();
        expect::<u8>();
        expect::<[u8; 3]>();
        expect::<u32>();
        expect::<[u8; 5]>();
        expect::<[u16; 3]>();
        expect::<u64>();
        expect::<[u8; 13]>();
        expect::<[u8; 16]>();
        expect::<u128>();
        expect::<[u8; 17]>();
        expect::<[u32; 5]>();
        expect::<[u128; 2]>();
        expect::<[u64; 8]>();
        expect::<Line>();
        expect::<[(Line, u8); 1]>();
        expect::<Page>();
    }

    #[test]
    fn every_cell_of_a_chunk_is_stamped() {
        type Value = [u8; 3];
        let layout = chunk::layout(CellPtr::<Value>::LAYOUT, 5).unwrap();
        let block = chunk::allocate(layout, &crate::raw::source::Source::GLOBAL).unwrap();
        // SAFETY: the block is laid out for five cells, which are unused.
        unsafe {
            stamp_all::<Value>(block.start(), 5, |index| Key::from_raw(8 + index));
            let cells = chunk::cells(block.start(), CellPtr::<Value>::SIZE, 5);
            for (index, cell) in cells.map(CellPtr::<Value>::new).enumerate() {
                assert_eq!(cell.shared_key().index(), 8 + index);
                assert!(Shape::of::<Value>().stamp_of(cell.start()).is_free());
            }
        }
    }

    /// What a program finds that reads a value by a pointer that it kept too long.
    #[cfg(all(debug_assertions, not(miri)))]
    #[test]
    fn a_value_that_is_gone_is_poisoned() {
        use crate::raw::poison::is_poisoned;
        use crate::{BoundedSlab, Slot, SlotBox, unsize};

        fn try_each<T: Clone + 'static>(value: T) {
            type End<T> = fn(&BoundedSlab<T>, Slot<T>);
            let ends: [End<T>; 10] = [
                |_, slot| drop(slot),
                |_, slot| drop(slot.into_inner()),
                |_, slot| drop(slot.try_into_inner().ok()),
                |_, slot| drop(slot.take()),
                |_, slot| drop(slot.into_box()),
                |_, slot| drop(SlotBox::into_inner(slot.into_box())),
                |_, slot| drop(unsize!(slot.into_box() => dyn core::any::Any)),
                |slab, slot| drop(slab.remove_by_key(slot.key())),
                |slab, slot| {
                    slot.leak();
                    slab.clear();
                },
                |slab, slot| {
                    slot.leak();
                    assert_eq!(slab.drain().count(), 1);
                },
            ];
            for end in ends {
                let slab = BoundedSlab::with_capacity(1);
                let pointer =
                    SlotBox::into_raw(slab.insert(value.clone()).ok().unwrap().into_box());
                let bytes = size_of::<T>();
                // SAFETY: straight from `into_raw`, and used once. The memory stays, and all bytes
                // of a value that is gone are written.
                unsafe {
                    let slot = SlotBox::into_slot(slab.box_from_raw(pointer));
                    assert!(!is_poisoned(pointer.cast(), bytes));
                    end(&slab, slot);
                    assert!(is_poisoned(pointer.cast(), bytes));
                }
            }
        }

        #[derive(Clone)]
        struct Loud([u64; 4]);
        impl Drop for Loud {
            fn drop(&mut self) {
                assert_eq!(self.0, [7; 4], "poisoned before its destructor");
            }
        }

        try_each(7_u64);
        try_each([7_u32; 99]);
        try_each(Loud([7; 4]));
    }
}
