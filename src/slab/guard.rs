//! The guards: a value, or a part of a value, borrowed under run-time tracking.
//!
//! They hold pointers, not references: dropping a guard may drop a doomed value and free the
//! memory. A reference would have promised that neither happens.
//!
//! # Guards of a part
//!
//! A collection keeps nodes in a slab and gives access only to the values in them. So a mapped
//! guard names the type of the part, not of the node. It holds a pointer to the part and an
//! [`End`], which knows the stamp and the header but not the type `T` of the value: a function
//! instantiated for `T` ends the borrow, and drops the value if it is doomed. The place of the
//! stamp in the cell depends on `T`. The guard keeps the address of the stamp, so that it can
//! count another reader without that function. Mapped guards are types of their own, because a
//! [`Ref`] has 16 bytes, which are returned in two registers, and they have 32.
//!
//! That function may drop a `T` in a place where `T` is not named, so something else must ensure
//! that a `T` may still be dropped there. A `Ref<'a, T>` exists only with `T: 'a`. An [`End`]
//! keeps that `'a`, and has a destructor that mentions it, so no mapped guard outlives `'a`.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use crate::as_value::print_as_value;
use crate::error::AccessError;
use crate::key::Key;
use crate::raw::borrow::Guard;
use crate::slab::cell::{CellPtr, Live, Place};
use crate::slab::header::SlabHeader;
use crate::slab::holder::{Holder, READER, WRITER};
use crate::slab::state::{MAX_READERS, Stamp, State};

/// A shared borrow of a value in a slab, like [`core::cell::Ref`].
///
/// While it is alive, the value cannot be mutably borrowed, moved out or dropped. It has 16 bytes.
/// Where it is used and dropped in one expression, the tracking compiles to one comparison.
///
/// Its functions are associated functions, like those of [`core::cell::Ref`], so that they do not
/// hide the value's methods.
///
/// # Examples
///
/// ```
/// use flatslab::BoundedSlab;
///
/// let slab = BoundedSlab::with_capacity(1);
/// let slot = slab.insert(7).unwrap();
/// let (one, two) = (slot.get(), slab.get(slot.key()).unwrap());
/// assert_eq!(*one + *two, 14);
/// assert!(slot.try_get_mut().is_err());
/// ```
#[must_use = "the borrow ends at once"]
pub struct Ref<'a, T> {
    holder: Holder<'a, T, READER>,
    value: PhantomData<&'a T>,
}

impl<'a, T> Ref<'a, T> {
    /// Borrows the value, unless that is refused.
    #[inline]
    pub(crate) fn try_new(cell: Live<'a, T>) -> Option<Self> {
        Holder::<T, READER>::try_new(cell).map(Ref::of)
    }

    #[inline]
    fn of(holder: Holder<'a, T, READER>) -> Self {
        Ref {
            holder,
            value: PhantomData,
        }
    }

    /// Returns another guard of the same value.
    ///
    /// This also works if the owner has dropped the value since; it then lives until the last of
    /// its guards is dropped. An associated function, so that `guard.clone()` clones the value.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if there are already 2^27 - 1 readers.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::Ref;
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// let one = slot.get();
    /// let two = Ref::clone(&one);
    /// drop(one);
    /// assert_eq!(*two, 7);
    /// assert!(slot.try_get_mut().is_err());
    /// ```
    #[inline]
    #[track_caller]
    #[expect(
        clippy::should_implement_trait,
        reason = "a method would hide the value's own"
    )]
    pub fn clone(guard: &Self) -> Self {
        match guard.holder.try_clone() {
            Some(holder) => Ref::of(holder),
            // Whatever else its state says: a doomed value is cloned too.
            None => panic!(
                "Ref::clone was refused for {:?}: the value has too many readers \
                 (limit {MAX_READERS})",
                guard.holder.live().key()
            ),
        }
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.holder.value()
    }
}

/// A mutable borrow of a value in a slab, like [`core::cell::RefMut`].
///
/// While it is alive, the value cannot be accessed in any other way. It has 16 bytes. Where it is
/// used and dropped in one expression, the tracking compiles to one comparison.
///
/// # Examples
///
/// ```
/// use flatslab::{AccessError, BoundedSlab};
///
/// let slab = BoundedSlab::with_capacity(1);
/// let slot = slab.insert(7).unwrap();
/// let mut guard = slot.get_mut();
/// *guard += 1;
/// assert_eq!(slab.try_get(slot.key()).unwrap_err(), AccessError::Borrowed);
/// drop(guard);
/// assert_eq!(*slot.get(), 8);
/// ```
#[must_use = "the borrow ends at once"]
pub struct RefMut<'a, T> {
    holder: Holder<'a, T, WRITER>,
    /// Invariant in `T`.
    value: PhantomData<&'a mut T>,
}

impl<'a, T> RefMut<'a, T> {
    /// Borrows the value mutably, unless that is refused.
    #[inline]
    pub(crate) fn try_new(cell: Live<'a, T>) -> Option<Self> {
        Holder::<T, WRITER>::try_new(cell).map(|holder| RefMut {
            holder,
            value: PhantomData,
        })
    }

    /// Drops the value in place instead of ending the borrow.
    pub(crate) fn destroy(self) {
        self.holder.destroy();
    }
}

impl<T> Deref for RefMut<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.holder.value()
    }
}

impl<T> DerefMut for RefMut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.holder.value_mut()
    }
}

print_as_value!(impl [T] for Ref<'_, T>, as T);

print_as_value!(impl [T] for RefMut<'_, T>, as T);

/// Returns why a handle's value cannot be read.
#[cold]
#[inline(never)]
pub(super) fn why_no_reader(state: State) -> AccessError {
    state.why_no_reader()
}

/// Returns why a handle's value cannot be written to.
#[cold]
#[inline(never)]
pub(super) fn why_no_writer(state: State) -> AccessError {
    state.why_no_writer()
}

/// A borrow of a value whose type is forgotten; ends it when it is dropped.
struct End<'a> {
    /// With the provenance of the whole cell.
    stamp: NonNull<Stamp>,
    header: NonNull<SlabHeader>,
    /// Made for the type of the value in that cell.
    end: unsafe fn(NonNull<Stamp>, NonNull<SlabHeader>),
    /// The value's type outlives it.
    alive: PhantomData<&'a ()>,
}

impl<'a> End<'a> {
    /// The end of this borrow.
    #[inline]
    fn of<T, const KIND: u8>(holder: Holder<'a, T, KIND>) -> Self {
        unsafe fn end<T, const KIND: u8>(stamp: NonNull<Stamp>, header: NonNull<SlabHeader>) {
            // SAFETY: the borrow that was given up, with the stamp of a cell of `T`, from below.
            drop(unsafe { Holder::<T, KIND>::new(Place::new(CellPtr::of_stamp(stamp), header)) });
        }
        let (cell, header) = holder.into_place().into_parts();
        End {
            // SAFETY: by `holder-keeps-cell` the cell of a guard is allocated.
            stamp: unsafe { CellPtr::<T>::new(cell).stamp() },
            header,
            end: end::<T, KIND>,
            alive: PhantomData,
        }
    }

    /// Counts one more reader of the same value, and returns its end.
    ///
    /// # Errors
    ///
    /// Returns the key of the value if it has too many readers.
    ///
    /// # Safety
    ///
    /// This is of a reader.
    #[inline]
    unsafe fn try_clone(&self) -> Result<Self, Key> {
        // SAFETY: by `holder-keeps-cell` the cell is allocated and stamped; by `stamp-apart` the
        // borrow meets no other.
        let stamp = unsafe { self.stamp.as_ref() };
        if stamp.begin_read_along() {
            Ok(End { ..*self })
        } else {
            Err(stamp.key())
        }
    }
}

impl Drop for End<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the borrow of a guard that was given up without being ended,
        // whose place and type these are. If the value is doomed it is dropped
        // here, where `'a` is not over, and its type outlives `'a`.
        unsafe { (self.end)(self.stamp, self.header) };
    }
}

/// A shared borrow of a part of a value in a slab. Created by [`Ref::map`].
///
/// Its type names the part and not the value, so that a collection can hide its nodes. It borrows
/// the whole value for as long as it lives, like the [`Ref`] it was made from. It has 32 bytes, and
/// dropping it is a function call.
///
/// # Examples
///
/// ```
/// use flatslab::{BoundedSlab, Key, MappedRef, Ref};
///
/// struct Node { name: String, next: Key }
///
/// /// Names, in a list that shows no node.
/// struct Names { nodes: BoundedSlab<Node>, first: Key }
///
/// impl Names {
///     fn first(&self) -> Option<MappedRef<'_, str>> {
///         Some(Ref::map(self.nodes.get(self.first)?, |node| &*node.name))
///     }
/// }
///
/// let nodes = BoundedSlab::with_capacity(8);
/// let first = nodes.insert_key(Node { name: "Ada".into(), next: Key::NONE }).unwrap();
/// let names = Names { nodes, first };
/// assert_eq!(&*names.first().unwrap(), "Ada");
/// ```
#[must_use = "the borrow ends at once"]
pub struct MappedRef<'a, U: ?Sized>(Guard<&'a U, U, End<'a>>);

impl<'a, T> Ref<'a, T> {
    /// Turns the guard into a guard of a part of the value.
    ///
    /// If `f` panics, the borrow ends. O(1), and the time of `f`; does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::Ref;
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert((7, "seven"));
    /// let name = Ref::map(slot.get(), |pair| pair.1);
    /// assert_eq!(&*name, "seven");
    /// assert!(slot.try_get_mut().is_err());
    /// ```
    #[inline]
    pub fn map<U: ?Sized, F>(guard: Self, f: F) -> MappedRef<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        match Self::filter_map(guard, |value| Some(f(value))) {
            Ok(mapped) => mapped,
            Err(_) => unreachable!("there is a part"),
        }
    }

    /// Turns the guard into a guard of a part of the value, if the value has this part.
    ///
    /// If `f` panics, the borrow ends. O(1), and the time of `f`; does not allocate.
    ///
    /// # Errors
    ///
    /// Returns the guard if `f` returns `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::Ref;
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(vec![7]);
    /// let first = Ref::filter_map(slot.get(), |all| all.first()).unwrap();
    /// assert_eq!(*first, 7);
    /// let all = Ref::filter_map(slot.get(), |all| all.get(1)).unwrap_err();
    /// assert_eq!(*all, [7]);
    /// ```
    #[inline]
    pub fn filter_map<U: ?Sized, F>(guard: Self, f: F) -> Result<MappedRef<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match f(&guard).map(NonNull::from) {
            // SAFETY: a part of the value, which the reader keeps until its end
            // (`readers-or-writer`, `borrow-keeps-value`, `part-borrowed`).
            Some(part) => Ok(MappedRef(unsafe {
                Guard::new(part, End::of(guard.holder))
            })),
            None => Err(guard),
        }
    }
}

impl<'a, U: ?Sized> MappedRef<'a, U> {
    /// Returns another guard of the same part.
    ///
    /// This also works if the owner has dropped the value since; it then lives until the last of
    /// its guards is dropped. An associated function, so that `guard.clone()` clones the part.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if there are already 2^27 - 1 readers.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{MappedRef, Ref};
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert((7, "seven"));
    /// let one = Ref::map(slot.get(), |pair| pair.1);
    /// let two = MappedRef::clone(&one);
    /// drop(one);
    /// assert_eq!(&*two, "seven");
    /// assert!(slot.try_get_mut().is_err());
    /// ```
    #[inline]
    #[track_caller]
    #[expect(
        clippy::should_implement_trait,
        reason = "a method would hide the part's own"
    )]
    pub fn clone(guard: &Self) -> Self {
        // SAFETY: only a `Ref` becomes such a guard. The other end is that of another reader of the
        // same value (`part-borrowed`).
        let other = unsafe { (guard.0.end().try_clone()).map(|end| guard.0.with_end(end)) };
        match other {
            Ok(other) => MappedRef(other),
            Err(key) => {
                panic!(
                    "MappedRef::clone was refused for {key:?}: the value has too many readers \
                     (limit {MAX_READERS})"
                )
            }
        }
    }

    /// Turns the guard into a guard of a part of its part.
    ///
    /// If `f` panics, the borrow ends. O(1), and the time of `f`; does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{MappedRef, Ref};
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert((7, String::from("seven")));
    /// let name = Ref::map(slot.get(), |pair| &pair.1);
    /// let end = MappedRef::map(name, |name| &name[2..]);
    /// assert_eq!(&*end, "ven");
    /// ```
    #[inline]
    pub fn map<V: ?Sized, F>(guard: Self, f: F) -> MappedRef<'a, V>
    where
        F: FnOnce(&U) -> &V,
    {
        MappedRef(guard.0.map(f))
    }

    /// Turns the guard into a guard of a part of its part, if it has this part.
    ///
    /// If `f` panics, the borrow ends. O(1), and the time of `f`; does not allocate.
    ///
    /// # Errors
    ///
    /// Returns the guard if `f` returns `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{MappedRef, Ref};
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert((7, vec![1, 2]));
    /// let all = Ref::map(slot.get(), |pair| &pair.1);
    /// let all = MappedRef::filter_map(all, |all| all.get(2)).unwrap_err();
    /// let last = MappedRef::filter_map(all, |all| all.last()).unwrap();
    /// assert_eq!(*last, 2);
    /// ```
    #[inline]
    pub fn filter_map<V: ?Sized, F>(guard: Self, f: F) -> Result<MappedRef<'a, V>, Self>
    where
        F: FnOnce(&U) -> Option<&V>,
    {
        guard.0.filter_map(f).map(MappedRef).map_err(MappedRef)
    }
}

impl<U: ?Sized> Deref for MappedRef<'_, U> {
    type Target = U;

    #[inline]
    fn deref(&self) -> &U {
        &self.0
    }
}

/// A mutable borrow of a part of a value in a slab. Created by [`RefMut::map`].
///
/// Its type names the part and not the value. It borrows the whole value exclusively for as long as
/// it lives, like the [`RefMut`] it was made from. It has 32 bytes, and dropping it is a function
/// call.
///
/// # Examples
///
/// ```
/// use flatslab::{Key, MappedRefMut, RefMut, Slab};
///
/// struct Node { quantity: u64, next: Key }
///
/// /// Quantities, in a list that shows no node.
/// struct Quantities { nodes: Slab<Node>, first: Key }
///
/// impl Quantities {
///     fn first(&self) -> Option<MappedRefMut<'_, u64>> {
///         Some(RefMut::map(self.nodes.get_mut(self.first)?, |node| &mut node.quantity))
///     }
/// }
///
/// let nodes = Slab::new();
/// let first = nodes.insert_key(Node { quantity: 7, next: Key::NONE });
/// let quantities = Quantities { nodes, first };
/// *quantities.first().unwrap() += 1;
/// assert_eq!(*quantities.first().unwrap(), 8);
/// ```
#[must_use = "the borrow ends at once"]
pub struct MappedRefMut<'a, U: ?Sized>(Guard<&'a mut U, U, End<'a>>);

impl<'a, T> RefMut<'a, T> {
    /// Turns the guard into a guard of a part of the value.
    ///
    /// If `f` panics, the borrow ends. O(1), and the time of `f`; does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::RefMut;
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert((7, "seven"));
    /// let mut number = RefMut::map(slot.get_mut(), |pair| &mut pair.0);
    /// *number += 1;
    /// assert!(slot.try_get().is_err());
    /// drop(number);
    /// assert_eq!(slot.get().0, 8);
    /// ```
    #[inline]
    pub fn map<U: ?Sized, F>(guard: Self, f: F) -> MappedRefMut<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        match Self::filter_map(guard, |value| Some(f(value))) {
            Ok(mapped) => mapped,
            Err(_) => unreachable!("there is a part"),
        }
    }

    /// Turns the guard into a guard of a part of the value, if the value has this part.
    ///
    /// If `f` panics, the borrow ends. O(1), and the time of `f`; does not allocate.
    ///
    /// # Errors
    ///
    /// Returns the guard if `f` returns `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::RefMut;
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(vec![7]);
    /// let mut first = RefMut::filter_map(slot.get_mut(), |all| all.first_mut()).unwrap();
    /// *first += 1;
    /// drop(first);
    /// let all = RefMut::filter_map(slot.get_mut(), |all| all.get_mut(1)).unwrap_err();
    /// assert_eq!(*all, [8]);
    /// ```
    #[inline]
    pub fn filter_map<U: ?Sized, F>(mut guard: Self, f: F) -> Result<MappedRefMut<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut guard).map(NonNull::from) {
            // SAFETY: a part of the value, which only this writer reaches until its end
            // (`readers-or-writer`, `borrow-keeps-value`, `part-borrowed`).
            Some(part) => Ok(MappedRefMut(unsafe {
                Guard::new(part, End::of(guard.holder))
            })),
            None => Err(guard),
        }
    }
}

impl<'a, U: ?Sized> MappedRefMut<'a, U> {
    /// Turns the guard into a guard of a part of its part.
    ///
    /// If `f` panics, the borrow ends. O(1), and the time of `f`; does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{MappedRefMut, RefMut};
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(("pair", [7, 8]));
    /// let both = RefMut::map(slot.get_mut(), |value| &mut value.1);
    /// let mut second = MappedRefMut::map(both, |both| &mut both[1]);
    /// *second += 1;
    /// drop(second);
    /// assert_eq!(slot.get().1, [7, 9]);
    /// ```
    #[inline]
    pub fn map<V: ?Sized, F>(guard: Self, f: F) -> MappedRefMut<'a, V>
    where
        F: FnOnce(&mut U) -> &mut V,
    {
        MappedRefMut(guard.0.map(f))
    }

    /// Turns the guard into a guard of a part of its part, if it has this part.
    ///
    /// If `f` panics, the borrow ends. O(1), and the time of `f`; does not allocate.
    ///
    /// # Errors
    ///
    /// Returns the guard if `f` returns `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{MappedRefMut, RefMut};
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(("pair", vec![7]));
    /// let all = RefMut::map(slot.get_mut(), |value| &mut value.1);
    /// let all = MappedRefMut::filter_map(all, |all| all.get_mut(1)).unwrap_err();
    /// let mut last = MappedRefMut::filter_map(all, |all| all.last_mut()).unwrap();
    /// *last += 1;
    /// drop(last);
    /// assert_eq!(slot.get().1, [8]);
    /// ```
    #[inline]
    pub fn filter_map<V: ?Sized, F>(guard: Self, f: F) -> Result<MappedRefMut<'a, V>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut V>,
    {
        guard
            .0
            .filter_map(f)
            .map(MappedRefMut)
            .map_err(MappedRefMut)
    }
}

impl<U: ?Sized> Deref for MappedRefMut<'_, U> {
    type Target = U;

    #[inline]
    fn deref(&self) -> &U {
        &self.0
    }
}

impl<U: ?Sized> DerefMut for MappedRefMut<'_, U> {
    #[inline]
    fn deref_mut(&mut self) -> &mut U {
        &mut self.0
    }
}

print_as_value!(impl [U: ?Sized] for MappedRef<'_, U>, as U);

print_as_value!(impl [U: ?Sized] for MappedRefMut<'_, U>, as U);
