//! `ArenaBox`: the owner of a value in an arena.

use core::borrow::{Borrow, BorrowMut};
use core::cmp;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use crate::unsizing::{Coercion, Unsize};

/// The owner of a value in an [`Arena`](super::Arena): dropping the box drops the value.
///
/// The memory is freed when the arena is reset or the scope ends. A box is one pointer, or two for
/// slices and trait objects ([`unsize!`](crate::unsize)). Its functions are associated
/// functions, like those of `Box`, so that they hide no method of the value. It is `Send` and
/// `Sync` if a `Box` of the value is, because its drop does not touch the arena.
///
/// There is no `into_pin`: the memory of a pinned box that is forgotten would be used again without
/// dropping the value.
///
/// # Examples
///
/// ```
/// use flatslab::bump::Arena;
///
/// let arena = Arena::new();
/// let mut names = arena.boxed(vec!["flat".to_string()]);
/// names.push("slab".to_string());
/// drop(names);                                    // frees the vector and its strings
/// ```
#[must_use = "dropping a box drops its value"]
pub struct ArenaBox<'a, T: ?Sized> {
    value: NonNull<T>,
    /// Owns a `T`, and borrows the arena.
    marker: PhantomData<(&'a (), T)>,
}

const _: () = assert!(size_of::<Option<ArenaBox<'_, u64>>>() == size_of::<usize>());

// SAFETY: it owns its value as a `Box` does, and touches nothing else.
unsafe impl<T: ?Sized + Send> Send for ArenaBox<'_, T> {}
// SAFETY: `&ArenaBox` gives access to `&T` only, as `&Box` does.
unsafe impl<T: ?Sized + Sync> Sync for ArenaBox<'_, T> {}

/// Moving the box does not move the value.
impl<T: ?Sized> Unpin for ArenaBox<'_, T> {}

impl<'a, T: ?Sized> ArenaBox<'a, T> {
    /// # Safety
    ///
    /// The value is valid for `'a`, and has no other owner.
    #[inline(always)]
    pub(super) unsafe fn new(value: NonNull<T>) -> Self {
        ArenaBox {
            value,
            marker: PhantomData,
        }
    }

    /// Gives up ownership of the value, which is never dropped then, and returns a reference to it.
    /// O(1).
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaBox};
    ///
    /// let arena = Arena::new();
    /// let value: &mut u64 = ArenaBox::leak(arena.boxed(7));
    /// *value += 1;
    /// assert_eq!(*value, 8);
    /// ```
    #[inline]
    #[must_use = "the value is lost with the reference"]
    pub fn leak(boxed: Self) -> &'a mut T
    where
        T: 'a,
    {
        let mut value = boxed.value;
        core::mem::forget(boxed);
        // SAFETY: valid for `'a`; the box was its only owner, and is forgotten.
        unsafe { value.as_mut() }
    }
}

impl<'a, T: ?Sized, U: ?Sized> Unsize<U> for ArenaBox<'a, T> {
    type Value = T;
    type Output = ArenaBox<'a, U>;

    #[inline(always)]
    fn unsize(self, coercion: Coercion<T, U>) -> ArenaBox<'a, U> {
        let value = self.value;
        core::mem::forget(self);
        // SAFETY: the pointer is to the same value (`unsized-alike`). The box was the only owner,
        // and is forgotten.
        unsafe { ArenaBox::new(coercion.apply(value)) }
    }
}

impl<T> ArenaBox<'_, T> {
    /// Moves the value out. O(1), one copy.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaBox};
    ///
    /// let arena = Arena::new();
    /// let boxed = arena.boxed(String::from("flat"));
    /// assert_eq!(ArenaBox::into_inner(boxed), "flat");
    /// ```
    #[inline]
    pub fn into_inner(boxed: Self) -> T {
        let value = boxed.value;
        core::mem::forget(boxed);
        // SAFETY: the box owned the value, and is forgotten: it is read once.
        unsafe { value.read() }
    }
}

impl<T: ?Sized> Deref for ArenaBox<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the box owns the value, and is borrowed.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for ArenaBox<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the box owns the value, and is borrowed exclusively.
        unsafe { self.value.as_mut() }
    }
}

/// Drops the value.
impl<T: ?Sized> Drop for ArenaBox<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the box owned the value, and is not used any more.
        unsafe { self.value.drop_in_place() };
    }
}

impl<T: ?Sized> AsRef<T> for ArenaBox<'_, T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> AsMut<T> for ArenaBox<'_, T> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for ArenaBox<'_, T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized> BorrowMut<T> for ArenaBox<'_, T> {
    fn borrow_mut(&mut self) -> &mut T {
        self
    }
}

/// Compares the values.
impl<T: ?Sized + PartialEq> PartialEq for ArenaBox<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for ArenaBox<'_, T> {}

/// Compares the values.
impl<T: ?Sized + PartialOrd> PartialOrd for ArenaBox<'_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        (**self).partial_cmp(other)
    }
}

/// Compares the values.
impl<T: ?Sized + Ord> Ord for ArenaBox<'_, T> {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        (**self).cmp(other)
    }
}

/// Hashes the value.
impl<T: ?Sized + Hash> Hash for ArenaBox<'_, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// Prints the value.
impl<T: ?Sized + fmt::Debug> fmt::Debug for ArenaBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Prints the value.
impl<T: ?Sized + fmt::Display> fmt::Display for ArenaBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Prints the value's address.
impl<T: ?Sized> fmt::Pointer for ArenaBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
