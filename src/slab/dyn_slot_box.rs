//! `DynSlotBox`: a box of a trait object or a slice.
//!
//! It is not a `SlotBox<dyn Trait>`, because a [`SlotBox`] points to the start of its cell, and
//! finds value and stamp from there by constants of the type. A pointer with metadata must point to
//! the value, since a stable compiler tells the size of a value only by a reference to it. If
//! every box did that, the machine code of a `SlotBox<T>` would change.
//!
//! So this box has, besides the pointer to its value, the function that drops a `SlotBox<T>`. It
//! finds the cell without the metadata. The vtable of a trait object would also do: stamp and cell
//! are at offsets that size and alignment determine. But then each step of a cell's end
//! (`cell.rs`) would be written a second time, for offsets that are variables, to save 8 bytes.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::pin::Pin;
use core::ptr::NonNull;

use crate::as_value::print_as_value;
use crate::slab::cell::{CellPtr, Place};
use crate::slab::header::SlabHeader;
use crate::slab::holder::{BOX, Holder};
use crate::slab::slot_box::SlotBox;
use crate::unsizing::{Coercion, Unsize};

/// A [`SlotBox`] of a value whose type is known only at run time: of a trait object or a slice.
///
/// [`unsize!`](crate::unsize) creates it. It dereferences to its value, holds the exclusive borrow
/// and may outlive its slab, like a `SlotBox`. Boxes of one type can own values of different slabs.
/// It has 32 bytes and is not `Send`. It cannot be turned back into a `SlotBox`.
///
/// A box that is forgotten keeps its value, which is never dropped, and its slot for good; the
/// memory of its slab is never freed.
///
/// # Examples
///
/// ```
/// use flatslab::{BoundedSlab, DynSlotBox, unsize};
///
/// trait Session {
///     fn on_message(&mut self, bytes: usize);
/// }
///
/// struct Feed { received: usize }
/// struct Orders { open: Vec<u64> }
///
/// impl Session for Feed {
///     fn on_message(&mut self, bytes: usize) { self.received += bytes }
/// }
///
/// impl Session for Orders {
///     fn on_message(&mut self, bytes: usize) { self.open.push(bytes as u64) }
/// }
///
/// let (feeds, orders) = (BoundedSlab::with_capacity(8), BoundedSlab::with_capacity(8));
/// let feed = feeds.insert(Feed { received: 0 }).unwrap().into_box();
/// let order = orders.insert(Orders { open: Vec::new() }).unwrap().into_box();
///
/// let mut sessions: Vec<DynSlotBox<dyn Session>> = Vec::new();
/// sessions.push(unsize!(feed => dyn Session));
/// sessions.push(unsize!(order => dyn Session));
/// for session in &mut sessions {
///     session.on_message(64);
/// }
/// drop(sessions);                                 // drops the values, frees their slots
/// assert!(feeds.is_empty() && orders.is_empty());
/// ```
#[must_use = "dropping a box drops its value"]
pub struct DynSlotBox<T: ?Sized> {
    /// Has the provenance of the cell.
    value: NonNull<T>,
    /// A `SlabHeader`, which may not show: it would decide whether the box is `UnwindSafe`.
    header: NonNull<()>,
    /// Ends the box, for the type that the value has in its slab.
    end: unsafe fn(NonNull<()>, NonNull<SlabHeader>),
    /// Invariant in `T`, like the `SlotBox` it came from: `end` drops the value as the type that it
    /// has in its slab. A value of a supertype, written by the box, would be dropped as a subtype,
    /// whose destructor can be another one: `for<'a> fn(&'a u8)` and `fn(&'static u8)` implement the
    /// same trait differently.
    owned: PhantomData<*mut T>,
}

const _: () = assert!(size_of::<DynSlotBox<[u64]>>() == 4 * size_of::<usize>());
const _: () = assert!(size_of::<Option<DynSlotBox<[u64]>>>() == 4 * size_of::<usize>());

/// Moving the box does not move the value.
impl<T: ?Sized> Unpin for DynSlotBox<T> {}

/// Drops the value of a box and frees its slot.
///
/// # Safety
///
/// `value` is the value of a `SlotBox<T>`, of a slab with this header, and has the provenance of the
/// cell. The caller is that box, which ends.
unsafe fn end<T>(value: NonNull<()>, header: NonNull<SlabHeader>) {
    // SAFETY: the preconditions are those of these functions.
    drop(unsafe { Holder::<T, BOX>::new(Place::new(CellPtr::of_value(value.cast()), header)) });
}

impl<T, U: ?Sized> Unsize<U> for SlotBox<T> {
    type Value = T;
    type Output = DynSlotBox<U>;

    #[inline]
    fn unsize(self, coercion: Coercion<T, U>) -> DynSlotBox<U> {
        let place = SlotBox::into_place(self);
        let (_, header) = place.into_parts();
        // SAFETY: the new box takes the place of the old one, so it keeps the cell
        // (`holder-keeps-cell`). The pointer is to the value, which is there.
        let value = unsafe { coercion.apply(place.live().value()) };
        DynSlotBox {
            value,
            header: header.cast(),
            end: end::<T>,
            owned: PhantomData,
        }
    }
}

impl<T: ?Sized, U: ?Sized> Unsize<U> for DynSlotBox<T> {
    type Value = T;
    type Output = DynSlotBox<U>;

    #[inline]
    fn unsize(self, coercion: Coercion<T, U>) -> DynSlotBox<U> {
        let (value, header, end) = (self.value, self.header, self.end);
        core::mem::forget(self);
        DynSlotBox {
            // SAFETY: the pointer is to the value, which is there.
            value: unsafe { coercion.apply(value) },
            header,
            end,
            owned: PhantomData,
        }
    }
}

impl<T: ?Sized> DynSlotBox<T> {
    /// Pins the value in its slot.
    ///
    /// The value is dropped there, and its memory is not reused before its destructor has returned.
    /// Nothing moves. O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// use core::pin::Pin;
    ///
    /// use flatslab::{BoundedSlab, DynSlotBox, unsize};
    ///
    /// type Task = Pin<DynSlotBox<dyn Future<Output = u64>>>;
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let boxed = slab.insert(async { 7 }).unwrap().into_box();
    /// let mut task: Task = DynSlotBox::into_pin(unsize!(boxed => dyn Future<Output = u64>));
    /// let _future = task.as_mut();
    /// ```
    #[inline]
    pub fn into_pin(boxed: Self) -> Pin<Self> {
        // SAFETY: as for `SlotBox::into_pin`: the value is reached through this box alone, whose
        // `Deref` moves nothing, and whose drop drops it in place before the cell is free
        // (`whole-steps`). A box that is forgotten keeps `X`, and with it the memory.
        unsafe { Pin::new_unchecked(boxed) }
    }
}

impl<T: ?Sized> Deref for DynSlotBox<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the exclusive borrow is ours, so the value is there and only
        // reached through this box (`readers-or-writer`, `borrow-keeps-value`).
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for DynSlotBox<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the exclusive borrow is ours, so the value is there and only
        // reached through this box (`readers-or-writer`, `borrow-keeps-value`).
        unsafe { self.value.as_mut() }
    }
}

/// Drops the value and frees its slot.
impl<T: ?Sized> Drop for DynSlotBox<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: made of the parts of a `SlotBox`, with the function for its type, and ends with
        // this call. A coercion keeps address and provenance of the value (`unsized-alike`).
        unsafe { (self.end)(self.value.cast(), self.header.cast()) };
    }
}

print_as_value!(impl [T: ?Sized] for DynSlotBox<T>, as T);
