//! `Ref` and `RefMut`: a value, borrowed under run-time tracking.
//!
//! They contain a pointer to the value, not a reference: if a guard is passed to a function, it may
//! be dropped there, and the value removed, which a reference would exclude until the function
//! returns.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::key::{MAX_READERS, Word};
use crate::as_value::print_as_value;

/// A shared borrow of a value, like [`core::cell::Ref`].
///
/// While it lives, the value cannot be mutably borrowed, taken out or dropped. Its functions are
/// associated functions, so that they hide no method of the value.
///
/// # Examples
///
/// ```
/// use flatslab::AccessError;
/// use flatslab::epoch::EpochSlab;
///
/// let slab = EpochSlab::new();
/// let key = slab.insert(7);
/// let guard = slab.get(key).unwrap();
/// assert_eq!(*guard + *slab.get(key).unwrap(), 14);
/// assert_eq!(slab.try_take(key), Err(AccessError::Borrowed));
/// drop(guard);
/// assert_eq!(slab.try_take(key), Ok(7));
/// ```
#[must_use = "the borrow ends at once"]
pub struct Ref<'a, T: ?Sized> {
    value: NonNull<T>,
    reader: Reader<'a>,
    borrow: PhantomData<&'a T>,
}

/// A mutable borrow of a value, like [`core::cell::RefMut`].
///
/// While it lives, there is no other access to the value.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::EpochSlab;
///
/// let slab = EpochSlab::new();
/// let key = slab.insert(7);
/// *slab.get_mut(key).unwrap() += 1;
/// assert_eq!(*slab.get(key).unwrap(), 8);
/// ```
#[must_use = "the borrow ends at once"]
pub struct RefMut<'a, T: ?Sized> {
    value: NonNull<T>,
    writer: Writer<'a>,
    /// Invariant in `T`.
    borrow: PhantomData<&'a mut T>,
}

/// A reader that a word counts.
struct Reader<'a>(&'a Cell<Word>);

/// The writer that a word has.
struct Writer<'a>(&'a Cell<Word>);

impl Drop for Reader<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.set(self.0.get().without_reader());
    }
}

impl Drop for Writer<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.set(self.0.get().filled());
    }
}

impl<'a, T: ?Sized> Ref<'a, T> {
    /// # Safety
    ///
    /// The value is valid as long as the word counts this reader, which was admitted, and the word
    /// is that of the value.
    #[inline(always)]
    pub(super) unsafe fn new(word: &'a Cell<Word>, value: NonNull<T>) -> Self {
        Ref {
            value,
            reader: Reader(word),
            borrow: PhantomData,
        }
    }

    /// Returns another guard of the same value. O(1); does not allocate.
    ///
    /// # Panics
    ///
    /// If the value has 32,765 readers.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::epoch::{EpochSlab, Ref};
    ///
    /// let slab = EpochSlab::new();
    /// let key = slab.insert(7);
    /// let one = slab.get(key).unwrap();
    /// let two = Ref::clone(&one);
    /// drop(one);
    /// assert_eq!(*two, 7);
    /// ```
    #[inline]
    #[track_caller]
    #[expect(
        clippy::should_implement_trait,
        reason = "a method would hide the value's own"
    )]
    pub fn clone(guard: &Self) -> Self {
        let word = guard.reader.0;
        let Some(read) = word.get().read_along() else {
            panic!("Ref::clone was refused: the value has too many readers (limit {MAX_READERS})");
        };
        word.set(read);
        Ref {
            value: guard.value,
            reader: Reader(word),
            borrow: PhantomData,
        }
    }

    /// Turns the guard into one of a part of the value. O(1); does not allocate.
    ///
    /// The whole value stays borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::epoch::{EpochSlab, Ref};
    ///
    /// let slab = EpochSlab::new();
    /// let key = slab.insert((7, "seven"));
    /// let name = Ref::map(slab.get(key).unwrap(), |pair| pair.1);
    /// assert_eq!(&*name, "seven");
    /// ```
    #[inline]
    pub fn map<U: ?Sized, F>(guard: Self, part: F) -> Ref<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        Ref {
            value: NonNull::from(part(&guard)),
            reader: guard.reader,
            borrow: PhantomData,
        }
    }
}

impl<'a, T: ?Sized> RefMut<'a, T> {
    /// # Safety
    ///
    /// The value is valid as long as the word has this writer, which was admitted, and the word is
    /// that of the value.
    #[inline(always)]
    pub(super) unsafe fn new(word: &'a Cell<Word>, value: NonNull<T>) -> Self {
        RefMut {
            value,
            writer: Writer(word),
            borrow: PhantomData,
        }
    }

    /// Turns the guard into one of a part of the value. O(1); does not allocate.
    ///
    /// The whole value stays borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::epoch::{EpochSlab, RefMut};
    ///
    /// let slab = EpochSlab::new();
    /// let key = slab.insert((7, "seven"));
    /// *RefMut::map(slab.get_mut(key).unwrap(), |pair| &mut pair.0) = 8;
    /// assert_eq!(slab.take(key), Some((8, "seven")));
    /// ```
    #[inline]
    pub fn map<U: ?Sized, F>(mut guard: Self, part: F) -> RefMut<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        RefMut {
            value: NonNull::from(part(&mut guard)),
            writer: guard.writer,
            borrow: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for Ref<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: valid, and not written to, while this reader is counted (`word-says-value`,
        // `guards-exclude`).
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> Deref for RefMut<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: valid, and only reached through this writer while it exists (`word-says-value`,
        // `guards-exclude`).
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for RefMut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: valid, and only reached through this writer while it exists (`word-says-value`,
        // `guards-exclude`).
        unsafe { self.value.as_mut() }
    }
}

print_as_value!(impl [T: ?Sized] for Ref<'_, T>, as T);

print_as_value!(impl [T: ?Sized] for RefMut<'_, T>, as T);
