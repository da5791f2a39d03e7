//! Cells whose value was sent to another thread, and how they are returned.
//!
//! A [`SendSlot`](crate::sync::SendSlot) is the handle of such a value. For the slab's thread the
//! cell is exclusively borrowed, like the cell of a `SlotBox`. When the handle is dropped, it
//! pushes the number of the cell on the header's [return stack](Returns). On the slab's own thread
//! it frees the cell at once instead, without the atomic exchange, which takes most of the time
//! elsewhere. The slab takes the whole stack into a list of its own, and frees cells from this
//! list: a bounded number when an insertion needs a cell, so that no insertion pays for all cells
//! that other threads returned, and all of them when all cells are visited anyway.
//!
//! A handle may also return its cell together with the value, on a second stack: such a value is
//! [retired]. The slab drops it in calls that say so, and never when an insertion looks for a cell:
//! an insertion must not run the destructors of other values.
//!
//! # Invariants
//!
//! * `sent-parts`: of a cell that was sent and was not returned, the handle's thread uses the
//!   value, the key in the stamp, and the header's two stacks. It forms no reference to the stamp
//!   or the header, and never reads the state, unless its thread is the slab's.
//! * `sent-count`: the header's `sent` counts the cells that were sent and are not free again:
//!   cells whose handle exists, cells on the two stacks, and cells on the header's lists of those
//!   it took from there. All of them, and no others, are in a [sent](super::state::State::is_sent)
//!   state.
//! * `link-at-value`: the link of a cell on the return stack or its list, if it has one, is stored
//!   where its value was.
//! * `link-at-key`: the link of a retired cell, which still has its value, is stored in place of
//!   its key. So the slab's thread reads no key of a cell in a sent state, and writes the key again
//!   before the cell leaves that state.
//!
//! [retired]: crate::sync::SendSlot::retire

use core::ptr::NonNull;

use super::cell::{CellPtr, Live, Place};
use super::cells::{Cells, Memory, ShapedCells};
use super::header::{self, SlabHeader};
use super::slot::Slot;
use super::state::{Stamp, State};
use crate::key::{Key, MAX_SLOTS};
use crate::raw::packed::{Packing, Word};
use crate::raw::returns::{Retired, Returns};

const _: () = assert!(MAX_SLOTS <= Returns::LIMIT as usize);

impl<T> Live<'_, T> {
    /// Turns the caller's slot into the handle of a sent value. Returns `false` if this is refused.
    pub(crate) fn begin_send(self) -> bool {
        let begun = self.begin_sent();
        if begun {
            self.header().count_sent();
        }
        begun
    }
}

impl<T> Place<T> {
    /// Returns `true` if the place belongs to this header.
    pub(crate) fn is_of(self, header: NonNull<SlabHeader>) -> bool {
        self.into_parts().1 == header
    }

    /// Turns the handle of a sent value, which is the caller, back into a slot.
    ///
    /// # Safety
    ///
    /// The caller is that handle, on the thread of the slab, which was not dropped.
    pub(crate) unsafe fn receive(self) {
        // SAFETY: the handle, which exists (precondition), keeps cell and header (`cell-stays`).
        let live: Live<'_, T> = unsafe { self.live() };
        live.header().uncount_sent(1);
        live.set_state(live.state().owned());
    }

    /// Returns the value of a sent cell.
    ///
    /// # Safety
    ///
    /// Its handle exists.
    #[inline]
    pub(crate) unsafe fn sent_value(self) -> NonNull<T> {
        let (cell, _) = self.into_parts();
        // SAFETY: the cell of a handle that exists is not free, so it is allocated (`cell-stays`).
        unsafe { CellPtr::<T>::new(cell).value() }
    }

    /// Returns the key of a sent cell.
    ///
    /// # Safety
    ///
    /// Its handle exists.
    #[inline]
    pub(crate) unsafe fn sent_key(self) -> Key {
        let (cell, _) = self.into_parts();
        // SAFETY: allocated as long as the handle exists, and no other thread uses the key
        // (`sent-parts`, `link-at-key`).
        unsafe { CellPtr::<T>::new(cell).shared_key() }
    }

    /// Ends the handle of a sent value, on any thread. May free the cell and the header.
    ///
    /// # Safety
    ///
    /// The caller is that handle, and its value was moved out or dropped.
    #[inline]
    pub(crate) unsafe fn end_sent(self) {
        let (cell, header) = self.into_parts();
        // SAFETY: the handle keeps the header. On the slab's thread, while the slab is there, it
        // may do what the slab's own handles do: the cell has no value, and no other holder.
        unsafe {
            if Retired::is_owned_here(header::retired(header)) {
                let live: Live<'_, T> = self.live();
                live.header().uncount_sent(1);
                return live.free();
            }
        }
        let cell = CellPtr::<T>::new(cell);
        // SAFETY: the handle keeps cell and header until it has pushed or left; the bytes of the
        // value are its own until then (`sent-parts`, `link-at-value`). The key is below the limit.
        unsafe {
            let number = cell.shared_key().into_raw();
            let pushed = Returns::push(header::returns(header), number, |below| {
                cell.write_link(below);
            });
            if !pushed {
                header::leave(header);
            }
        }
    }
}

impl<T> Place<T> {
    /// Returns a sent value to its slab, which will drop it. Returns `false` if the slab was
    /// dropped, or is being dropped: the caller is still the handle then.
    ///
    /// # Safety
    ///
    /// The caller is that handle, and ends on `true`.
    pub(crate) unsafe fn retire_sent(self) -> bool {
        let (cell, header) = self.into_parts();
        let cell = CellPtr::<T>::new(cell);
        // SAFETY: the handle keeps cell and header until it has pushed; the key is its own until
        // then (`sent-parts`, `link-at-key`), and below the limit.
        unsafe {
            let number = cell.shared_key().into_raw();
            let place = cell.key_place();
            let pushed = Retired::push(header::retired(header), number, |below| {
                place.write(below.narrow());
            });
            if !pushed {
                place.write(number);
            }
            pushed
        }
    }
}

/// How many returned cells an insertion frees when it finds no other free cell. Each is a cache
/// line that another thread wrote last. Fewer would not make the next insertions faster; more would
/// make this insertion slower than the growth that it may replace.
pub(crate) const BATCH: usize = 16;

/// Frees some returned cells for an insertion that found no free cell. Returns `true` if it freed
/// any.
#[inline]
pub(super) fn refill<M: Memory>(cells: ShapedCells<'_, M>) -> bool {
    free_returned(cells, BATCH) > 0
}

/// Returns the state of a cell that has refused access. If the cell was sent, returned cells are
/// freed first: the answer must not depend on when the slab last looked.
#[inline]
pub(crate) fn look_again<T, M: Memory>(cells: Cells<'_, T, M>, cell: Live<'_, T>) -> State {
    look_again_at(cells.shaped(), cell.stamp())
}

/// Does what [`look_again`] does. No user code runs, so the cell stays (`live-by-key`).
#[cold]
#[inline(never)]
fn look_again_at<M: Memory>(cells: ShapedCells<'_, M>, stamp: &Stamp) -> State {
    if stamp.state.get().is_sent() {
        free_returned(cells, usize::MAX);
    }
    stamp.state.get()
}

/// Frees cells that were returned without a value, at most `most`, and returns their number.
#[inline]
pub(super) fn free_returned<M: Memory>(cells: ShapedCells<'_, M>, most: usize) -> usize {
    match cells.header().returns() {
        Some(returns) => free_taken(cells, returns, most),
        None => 0,
    }
}

/// Drops values that were retired before this call, at most `most`, and returns their number. User
/// code runs. If a destructor panics, the remaining values stay retired.
#[inline]
pub(crate) fn drop_retired<T, M: Memory>(cells: Cells<'_, T, M>, most: usize) -> usize {
    match cells.header().retired() {
        Some(retired) => drop_taken(cells, retired, most),
        None => 0,
    }
}

/// Drops all retired values, also if a destructor panics. User code runs.
pub(crate) fn drop_all_retired<T, M: Memory>(cells: Cells<'_, T, M>) {
    struct Rest<'a, T, M: Memory>(Cells<'a, T, M>);

    impl<T, M: Memory> Drop for Rest<'_, T, M> {
        fn drop(&mut self) {
            drop_retired(self.0, usize::MAX);
        }
    }

    let rest = Rest(cells);
    drop_retired(cells, usize::MAX);
    core::mem::forget(rest);
}

/// Returns `true` if another thread has a value, or a returned cell was not freed yet. Retired
/// values do not count.
pub(crate) fn any_is_out<T, M: Memory>(cells: Cells<'_, T, M>) -> bool {
    cells.header().sent() > count_retired(cells, usize::MAX)
}

/// Returns the number of values that are retired and were not dropped yet, or `most` if there are
/// more. O(n) for the result n. A value counts once it is on a list: until then its handle exists
/// (`sent-count`).
#[inline]
pub(crate) fn count_retired<T, M: Memory>(cells: Cells<'_, T, M>, most: usize) -> usize {
    match cells.header().retired() {
        Some(retired) => count_up_to(cells, retired, most),
        None => 0,
    }
}

#[cold]
#[inline(never)]
fn count_up_to<T, M: Memory>(cells: Cells<'_, T, M>, retired: &Retired, most: usize) -> usize {
    let mut count = 0;
    for mut list in [cells.header().taken_retired(), retired.peek()] {
        while count < most {
            let Some((_, rest)) = next_retired(cells, list) else {
                break;
            };
            list = rest;
            count += 1;
        }
    }
    count
}

/// Returns the first value of a list of retired values, and the list without it.
fn next_retired<T, M: Memory>(cells: Cells<'_, T, M>, list: Word) -> Option<(u32, Word)> {
    list.next(Packing::NONE, |number| {
        // SAFETY: it was sent, so it is a cell of this slab, which has not been freed. The link
        // of such a cell was written before it was pushed (`link-at-key`).
        unsafe {
            let cell = cells.memory().cell::<T>(Key::from_raw(number));
            Word::of_narrow(cell.key_place().read())
        }
    })
}

#[cold]
#[inline(never)]
fn drop_taken<T, M: Memory>(cells: Cells<'_, T, M>, retired: &Retired, most: usize) -> usize {
    let header = cells.header();
    let mut dropped = drop_up_to(cells, most);
    // Taken once: values that destructors or other threads retire during this call wait for the next.
    if dropped < most && header.taken_retired().is_empty() {
        header.keep_taken_retired(retired.take());
        dropped += drop_up_to(cells, most - dropped);
    }
    dropped
}

/// Drops values of the header's list of retired values, at most `most`.
fn drop_up_to<T, M: Memory>(cells: Cells<'_, T, M>, most: usize) -> usize {
    let header = cells.header();
    let mut dropped = 0;
    while dropped < most {
        let Some((number, rest)) = next_retired(cells, header.taken_retired()) else {
            break;
        };
        header.keep_taken_retired(rest);
        header.count_returned(1);
        dropped += 1;
        // SAFETY: it was sent, so it is a cell of this slab. Off the list, the value is as its
        // handle left it, on the slab's thread, and the handle is gone. It gets its key back before
        // anything reads it (`link-at-key`), and becomes a slot, which ends here.
        unsafe {
            let cell = cells.memory().cell::<T>(Key::from_raw(number));
            cell.key_place().write(number);
            let place = cells.place(cell);
            place.receive();
            drop(Slot::new(place));
        }
    }
    dropped
}

/// Drops the retired values of a slab that is being dropped, and refuses values that are retired
/// from now on. User code runs; if it panics, the caller calls this again.
pub(super) fn close_retired<T, M: Memory>(cells: Cells<'_, T, M>) {
    let header = cells.header();
    if let Some(retired) = header.retired() {
        drop_up_to(cells, usize::MAX);
        header.keep_taken_retired(retired.close());
        drop_up_to(cells, usize::MAX);
    }
}

#[cold]
#[inline(never)]
fn free_taken<M: Memory>(cells: ShapedCells<'_, M>, returns: &Returns, most: usize) -> usize {
    let header = cells.header();
    let mut freed = 0;
    while freed < most {
        if header.taken().is_empty() {
            let taken = returns.take();
            if taken.is_empty() {
                break;
            }
            header.keep_taken(taken);
        }
        freed += free_up_to(cells, most - freed);
    }
    freed
}

/// Frees the returned cells of a slab that is being dropped. From now on the handles of sent cells
/// count themselves out. Returns their number, an upper limit: some may have done so already. No
/// user code runs.
pub(super) fn close<M: Memory>(cells: ShapedCells<'_, M>) -> usize {
    let header = cells.header();
    if let Some(returns) = header.returns() {
        free_up_to(cells, usize::MAX);
        header.keep_taken(returns.close());
        free_up_to(cells, usize::MAX);
    }
    if let Some(retired) = header.retired() {
        retired.forget_owner();
    }
    header.sent()
}

/// Frees cells of the header's list of returned cells, at most `most`, and returns their number.
fn free_up_to<M: Memory>(cells: ShapedCells<'_, M>, most: usize) -> usize {
    let header = cells.header();
    header.note_peak();
    let mut taken = header.taken();
    let mut left = most;
    let next = || {
        if left == 0 {
            return None;
        }
        let (number, rest) = taken.next(header.packing(), |number| read_link(cells, number))?;
        taken = rest;
        left -= 1;
        // SAFETY: it was sent, so it is a cell of this slab, which keeps it (`cell-stays`). Its
        // handle is gone, with the value.
        unsafe {
            let cell = cells.start(Key::from_raw(number));
            cells.shape().stamp_of(cell).state.set(State::FREE);
            Some(cell)
        }
    };
    // SAFETY: the handle and the value are gone, and this is the slab's thread. The slab is not
    // closed before this returns. So the cell is free before any other code runs, and was not on
    // the stack.
    let freed = unsafe { header.stack.push_all(next) };
    header.keep_taken(taken);
    header.uncount_sent(freed);
    header.count_returned(freed);
    freed
}

/// Reads the link of a cell that was returned.
fn read_link<M: Memory>(cells: ShapedCells<'_, M>, number: u32) -> Word {
    // SAFETY: it was sent, so it is a cell of this slab, which has not been freed. Its link was
    // written before the word above it was pushed (`link-at-value`).
    unsafe { cells.shape().read_link(cells.start(Key::from_raw(number))) }
}

/// Returns the number of cells on the header's two lists; each of them was sent.
#[cfg(any(test, fuzzing))]
pub(super) fn taken<T, M: Memory>(cells: Cells<'_, T, M>) -> usize {
    let header = cells.header();
    let link = |number| read_link(cells.shaped(), number);
    let next_returned = |list: Word| list.next(header.packing(), link);
    count(cells, header.taken(), next_returned)
        + count(cells, header.taken_retired(), |list| {
            next_retired(cells, list)
        })
}

#[cfg(any(test, fuzzing))]
fn count<T, M: Memory>(
    cells: Cells<'_, T, M>,
    mut taken: Word,
    next: impl Fn(Word) -> Option<(u32, Word)>,
) -> usize {
    let mut count = 0;
    while let Some((number, rest)) = next(taken) {
        let state = cells.get(Key::from_raw(number)).unwrap().state();
        assert!(state.is_sent(), "sent-count: what was taken was sent");
        taken = rest;
        count += 1;
    }
    count
}
