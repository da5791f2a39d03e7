//! `Ref` and `RefMut`: a value, borrowed under run-time tracking.

use core::cell::Cell;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::key::{MAX_READERS, Word};
use crate::as_value::print_as_value;
use crate::raw::borrow::Guard;

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
pub struct Ref<'a, T: ?Sized>(Guard<&'a T, T, Reader<'a>>);

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
pub struct RefMut<'a, T: ?Sized>(Guard<&'a mut T, T, Writer<'a>>);

/// A reader that a word counts.
struct Reader<'a>(&'a Cell<Word>);

/// The writer that a word has.
struct Writer<'a>(&'a Cell<Word>);

impl Drop for Reader<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.set(self.0.get().without_reader());
    }
}

impl Drop for Writer<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.set(self.0.get().filled());
    }
}

impl<'a, T: ?Sized> Ref<'a, T> {
    /// # Safety
    ///
    /// The value is valid as long as the word counts this reader, which was admitted, and the word
    /// is that of the value.
    #[inline]
    pub(super) unsafe fn new(word: &'a Cell<Word>, value: NonNull<T>) -> Self {
        // SAFETY: the value is there, and not written to, while this reader is counted
        // (precondition, `word-says-value`, `guards-exclude`).
        Ref(unsafe { Guard::new(value, Reader(word)) })
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
        let &Reader(word) = guard.0.end();
        let Some(read) = word.get().read_along() else {
            panic!("Ref::clone was refused: the value has too many readers (limit {MAX_READERS})");
        };
        word.set(read);
        // SAFETY: another reader of the same value is counted (`guards-exclude`).
        Ref(unsafe { guard.0.with_end(Reader(word)) })
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
        Ref(guard.0.map(part))
    }
}

impl<'a, T: ?Sized> RefMut<'a, T> {
    /// # Safety
    ///
    /// The value is valid as long as the word has this writer, which was admitted, and the word is
    /// that of the value.
    #[inline]
    pub(super) unsafe fn new(word: &'a Cell<Word>, value: NonNull<T>) -> Self {
        // SAFETY: the value is there, and only reached through this writer while it exists
        // (precondition, `word-says-value`, `guards-exclude`).
        RefMut(unsafe { Guard::new(value, Writer(word)) })
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
    pub fn map<U: ?Sized, F>(guard: Self, part: F) -> RefMut<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        RefMut(guard.0.map(part))
    }
}

impl<T: ?Sized> Deref for Ref<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> Deref for RefMut<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for RefMut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

print_as_value!(impl [T: ?Sized] for Ref<'_, T>, as T);

print_as_value!(impl [T: ?Sized] for RefMut<'_, T>, as T);
