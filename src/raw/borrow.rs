//! A guard of a value, or of a part of it, over how its borrow ends.
//!
//! It holds a pointer, not a reference: if a guard is passed to a function, it may be dropped there,
//! and the value be dropped with it, which a reference would exclude until the function returns.
//!
//! # Invariants
//!
//! * `part-borrowed`: until `end` is dropped, `part` points to a live value, or to a part of it. In
//!   a guard of `&P` the value is not written to until then; in a guard of `&mut P` it is only
//!   reached through the guard. A closure gets the value for no longer than it runs, so what it
//!   returns is a part of the value, or lives longer than the guard.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// A borrow that ends when the `E` is dropped: `B` is `&P` or `&mut P`, whose variance it has.
pub(crate) struct Guard<B, P: ?Sized, E> {
    part: NonNull<P>,
    end: E,
    borrow: PhantomData<B>,
}

impl<B, P: ?Sized, E> Guard<B, P, E> {
    /// # Safety
    ///
    /// `part-borrowed` holds.
    #[inline]
    pub(crate) unsafe fn new(part: NonNull<P>, end: E) -> Self {
        Guard {
            part,
            end,
            borrow: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn end(&self) -> &E {
        &self.end
    }

    /// Another guard of the same part, with an end of its own.
    ///
    /// # Safety
    ///
    /// `part-borrowed` holds of this part and that end.
    #[inline]
    pub(crate) unsafe fn with_end(&self, end: E) -> Self {
        Guard { end, ..*self }
    }

    #[inline]
    fn at<C, V: ?Sized>(self, part: NonNull<V>) -> Guard<C, V, E> {
        Guard {
            part,
            end: self.end,
            borrow: PhantomData,
        }
    }
}

impl<'a, P: ?Sized, E> Guard<&'a P, P, E> {
    #[inline]
    pub(crate) fn map<V: ?Sized>(self, f: impl FnOnce(&P) -> &V) -> Guard<&'a V, V, E> {
        let part = NonNull::from(f(&self));
        self.at(part)
    }

    #[cfg(feature = "tracked")]
    #[inline]
    pub(crate) fn filter_map<V: ?Sized>(
        self,
        f: impl FnOnce(&P) -> Option<&V>,
    ) -> Result<Guard<&'a V, V, E>, Self> {
        match f(&self).map(NonNull::from) {
            Some(part) => Ok(self.at(part)),
            None => Err(self),
        }
    }
}

impl<'a, P: ?Sized, E> Guard<&'a mut P, P, E> {
    #[inline]
    pub(crate) fn map<V: ?Sized>(
        mut self,
        f: impl FnOnce(&mut P) -> &mut V,
    ) -> Guard<&'a mut V, V, E> {
        let part = NonNull::from(f(&mut self));
        self.at(part)
    }

    #[cfg(feature = "tracked")]
    #[inline]
    pub(crate) fn filter_map<V: ?Sized>(
        mut self,
        f: impl FnOnce(&mut P) -> Option<&mut V>,
    ) -> Result<Guard<&'a mut V, V, E>, Self> {
        match f(&mut self).map(NonNull::from) {
            Some(part) => Ok(self.at(part)),
            None => Err(self),
        }
    }
}

impl<B, P: ?Sized, E> Deref for Guard<B, P, E> {
    type Target = P;

    #[inline]
    fn deref(&self) -> &P {
        // SAFETY: live, and only this guard may write to it while it has `end` (`part-borrowed`).
        unsafe { self.part.as_ref() }
    }
}

impl<P: ?Sized, E> DerefMut for Guard<&mut P, P, E> {
    #[inline]
    fn deref_mut(&mut self) -> &mut P {
        // SAFETY: live, and only reached through this guard while it has `end` (`part-borrowed`).
        unsafe { self.part.as_mut() }
    }
}
