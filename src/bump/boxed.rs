//! `ArenaBox`: the owner of a value in an arena.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::place::Placed;
use crate::as_value::own_as_value;
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
    /// The owner of a value that was placed.
    #[inline]
    pub(super) fn of(placed: Placed<'a, T>) -> Self {
        ArenaBox {
            value: placed.into_pointer(),
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

    #[inline]
    fn unsize(self, coercion: Coercion<T, U>) -> ArenaBox<'a, U> {
        let value = self.value;
        core::mem::forget(self);
        // SAFETY: the pointer is to the same value (`unsized-alike`). The box was the only owner,
        // and is forgotten.
        ArenaBox::of(unsafe { Placed::new(coercion.apply(value)) })
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

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the box owns the value, and is borrowed.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for ArenaBox<'_, T> {
    #[inline]
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

own_as_value!(impl [T: ?Sized] for ArenaBox<'_, T>, as T);
