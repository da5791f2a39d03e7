//! `SlotBox`: an owning handle that is also the exclusive borrow.

use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Deref, DerefMut};
use core::pin::Pin;
use core::ptr::NonNull;

use crate::as_value::print_as_value;
use crate::key::Key;
use crate::raw::poison::move_out;
use crate::slab::cell::{CellPtr, Live, Place};
use crate::slab::holder::{BOX, Holder};
use crate::slab::slot::Slot;
use crate::slab::state::State;
use crate::slab::{Memory, TrackedSlab};

/// An owning handle that dereferences to its value. It holds the exclusive borrow for as long as it
/// lives, so access is through a plain pointer.
///
/// Access by key finds the value mutably borrowed. The box may outlive its slab, and then keeps its
/// value and the slab's memory, like a [`Slot`]. Its functions are associated functions, like those
/// of `Box`, so that they do not hide the value's methods. It has 16 bytes and is not `Send`.
/// [`unsize!`](crate::unsize) turns it into a box of a trait object.
///
/// A box that is forgotten keeps its value, which is never dropped, and its cell for good; the
/// memory of its slab is never freed.
///
/// # Examples
///
/// ```
/// use flatslab::{AccessError, BoundedSlab, SlotBox};
///
/// let slab = BoundedSlab::with_capacity(1);
/// let mut boxed = slab.insert(vec![1]).unwrap().into_box();
/// boxed.push(2);
/// assert_eq!(slab.try_get(SlotBox::key(&boxed)).unwrap_err(), AccessError::Borrowed);
/// drop(slab);
/// assert_eq!(SlotBox::into_inner(boxed), [1, 2]);
/// ```
#[must_use = "dropping a box drops its value"]
pub struct SlotBox<T> {
    holder: Holder<'static, T, BOX>,
    /// Invariant in `T`, like the slot it came from.
    value: PhantomData<*mut T>,
}

const _: () = assert!(size_of::<SlotBox<u64>>() == 2 * size_of::<usize>());

impl<T> SlotBox<T> {
    #[inline]
    fn of(holder: Holder<'static, T, BOX>) -> Self {
        SlotBox {
            holder,
            value: PhantomData,
        }
    }

    #[inline]
    fn live(&self) -> Live<'_, T> {
        self.holder.live()
    }

    #[inline]
    pub(super) fn into_place(boxed: Self) -> Place<T> {
        boxed.holder.into_place()
    }

    /// Ends the borrow, and turns the box back into a slot.
    ///
    /// If the slab is gone, the slot owns the value but is not [valid](Slot::is_valid). O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::SlotBox;
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let boxed = slab.insert(7).unwrap().into_box();
    /// let slot = SlotBox::into_slot(boxed);
    /// assert_eq!(*slab.get(slot.key()).unwrap(), 7);
    /// ```
    #[inline]
    pub fn into_slot(boxed: Self) -> Slot<T> {
        Slot::of(boxed.holder.into_slot())
    }

    /// Moves the value out, and frees its slot.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate, and copies the value once. O(chunks) if this is the last handle of
    /// a dropped slab.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::SlotBox;
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let boxed = slab.insert(7).unwrap().into_box();
    /// assert_eq!(SlotBox::into_inner(boxed), 7);
    /// ```
    #[inline]
    pub fn into_inner(boxed: Self) -> T {
        let mut spare = MaybeUninit::uninit();
        // SAFETY: the box ends without a drop, and the value is read out, once. One read for both
        // ways: see `Slot::into_inner`.
        unsafe {
            let value = if boxed.live().vacate(State::EXCLUSIVE) {
                ManuallyDrop::new(boxed).live().value()
            } else {
                Self::take_marked(boxed, &mut spare)
            };
            move_out(value)
        }
    }

    /// The cold path of [`into_inner`](Self::into_inner), for a value that was marked when its
    /// slab was dropped: leaves it in `spare`.
    #[cold]
    #[inline(never)]
    fn take_marked(boxed: Self, spare: &mut MaybeUninit<T>) -> NonNull<T> {
        NonNull::from(spare.write(Self::into_slot(boxed).into_inner()))
    }

    /// Returns the key of the value. Access by this key is refused while the box lives.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::SlotBox;
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let boxed = slab.insert(7).unwrap().into_box();
    /// assert!(slab.contains_key(SlotBox::key(&boxed)));
    /// ```
    #[inline]
    #[must_use]
    pub fn key(boxed: &Self) -> Key {
        boxed.live().key()
    }

    /// Pins the value in its slot.
    ///
    /// The value is dropped there, and its memory is not reused before its destructor has returned.
    /// Nothing moves. O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::SlotBox;
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let boxed = slab.insert(async { 7 }).unwrap().into_box();
    /// let mut pinned = SlotBox::into_pin(boxed);
    /// let _future = pinned.as_mut();
    /// ```
    #[inline]
    pub fn into_pin(boxed: Self) -> Pin<Self> {
        // SAFETY: nothing moves the value of a pinned box. It is reached only by key (refused:
        // `X`), through the box's own `Deref`, or by its drop, which drops it in place and frees
        // the cell afterwards (`whole-steps`). A box that is forgotten keeps `X`, and with it the
        // memory.
        unsafe { Pin::new_unchecked(boxed) }
    }

    /// Turns the box into a pointer to its value, for an intrusive collection.
    ///
    /// The value stays exclusively borrowed until [`box_from_raw`](TrackedSlab::box_from_raw) of
    /// its slab turns the pointer back into a box.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::SlotBox;
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let pointer = SlotBox::into_raw(slab.insert(7).unwrap().into_box());
    /// // SAFETY: the pointer is from `into_raw` of this slab's box, and used once.
    /// let boxed = unsafe { slab.box_from_raw(pointer) };
    /// assert_eq!(*boxed, 7);
    /// ```
    #[inline]
    #[must_use = "the value is lost with the pointer"]
    pub fn into_raw(boxed: Self) -> *mut T {
        let pointer = boxed.live().value().as_ptr();
        core::mem::forget(boxed);
        pointer
    }

    /// Returns the state word.
    #[cfg(any(test, fuzzing))]
    pub fn state_bits(boxed: &Self) -> u32 {
        boxed.live().state().bits()
    }
}

impl<T> Slot<T> {
    /// Turns the slot into a box, which dereferences to the value and borrows it exclusively.
    ///
    /// # Complexity
    ///
    /// O(1); moves nothing, and does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if the value is borrowed, or if the slot is not [valid](Self::is_valid). The slot is
    /// dropped then; a borrowed value is dropped when its last borrow ends.
    /// [`try_into_box`](Self::try_into_box) returns the slot instead.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let mut boxed = slab.insert(7).unwrap().into_box();
    /// *boxed += 1;
    /// assert_eq!(*boxed, 8);
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias("pin", "get_pinned"))]
    pub fn into_box(self) -> SlotBox<T> {
        match self.try_into_box() {
            Ok(boxed) => boxed,
            Err(slot) => slot.refuse("into_box"),
        }
    }

    /// Turns the slot into a box, like [`into_box`](Self::into_box).
    ///
    /// # Errors
    ///
    /// Returns the slot where [`into_box`](Self::into_box) panics.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// let reader = slab.get(slot.key()).unwrap();
    /// let slot = slot.try_into_box().unwrap_err();
    /// drop(reader);
    /// assert_eq!(*slot.into_box(), 7);
    /// ```
    #[inline]
    pub fn try_into_box(self) -> Result<SlotBox<T>, Self> {
        match self.into_holder().try_into_box() {
            Ok(holder) => Ok(SlotBox::of(holder)),
            Err(holder) => Err(Slot::of(holder)),
        }
    }
}

impl<T, M: Memory> TrackedSlab<T, M> {
    /// Turns a pointer from [`SlotBox::into_raw`] back into the box. O(1).
    ///
    /// # Safety
    ///
    /// `pointer` came from `into_raw` of a box of this slab, and no box has been made from it
    /// since. It is that very pointer or a copy of it: a pointer that was derived from a `&mut T`
    /// may not access the stamp next to the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::SlotBox;
    ///
    /// let slab = flatslab::Slab::new();
    /// let pointer = SlotBox::into_raw(slab.insert(7).into_box());
    /// // SAFETY: straight from `into_raw`, and used once.
    /// let boxed = unsafe { slab.box_from_raw(pointer) };
    /// assert_eq!(SlotBox::into_inner(boxed), 7);
    /// ```
    #[inline]
    pub unsafe fn box_from_raw(&self, pointer: *mut T) -> SlotBox<T> {
        // SAFETY: the pointer is from `into_raw` (precondition): the address of a value, made
        // of a cell pointer, whose provenance it has. Its box was given up
        // and left `X`, which keeps the cell.
        unsafe {
            let value = NonNull::new_unchecked(pointer);
            SlotBox::of(Holder::new(self.cells().place(CellPtr::of_value(value))))
        }
    }
}

/// For intrusive collections, which keep nothing of a box but the address of its value.
#[cfg(feature = "intrusive-collections")]
impl<T, M: Memory> TrackedSlab<T, M> {
    /// Returns `true` if the box is of this slab.
    #[inline]
    pub(crate) fn is_home_of(&self, boxed: &SlotBox<T>) -> bool {
        boxed.holder.place().is_of(self.header_address())
    }

    /// Turns a pointer from [`SlotBox::into_raw`] back into the box. Returns `None` if the value is
    /// in another slab.
    ///
    /// # Safety
    ///
    /// `pointer` came from `into_raw` of a box of this or another slab of `T`, and no box has been
    /// made from it since. It is that very pointer or a copy of it.
    #[inline]
    pub(crate) unsafe fn try_box_from_raw(&self, pointer: NonNull<T>) -> Option<SlotBox<T>> {
        // SAFETY: the pointer is from `into_raw` (precondition): the address of a value, with the
        // provenance of a cell pointer. The box was given up and left `X`, which keeps the cell
        // allocated and stamped (`cell-stays`), and no one else writes the key (`link-at-key`).
        let (start, key) = unsafe {
            let cell = CellPtr::of_value(pointer);
            (cell.start(), cell.shared_key())
        };
        // The cell with this key in this slab is allocated, and so is that of the pointer: if they
        // have the same address, they are the same cell.
        let found = self.cells().get(key)?;
        // SAFETY: the cell is one of this slab's, so its place has this header. The cell is
        // exclusively borrowed, and the caller gave up that borrow (preconditions).
        (found.start() == start).then(|| SlotBox::of(unsafe { Holder::new(found.place()) }))
    }
}

impl<T> Deref for SlotBox<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.holder.value()
    }
}

impl<T> DerefMut for SlotBox<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.holder.value_mut()
    }
}

print_as_value!(impl [T] for SlotBox<T>, as T);
