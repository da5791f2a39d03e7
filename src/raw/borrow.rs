//! Guards of a value, or of a part of it, over how their borrow ends.
//!
//! They hold a pointer, not a reference: if a guard is passed to a function, it may be dropped
//! there, and the value be dropped with it, which a reference would exclude until the function
//! returns.
//!
//! # Invariants
//!
//! * `part-borrowed`: until `end` is dropped, `part` points to a live value. While a [`Shared`] has
//!   `end`, the value is not written to; while an [`Exclusive`] has it, the value is only reached
//!   through the guard. A closure gets the value for no longer than it runs, so what it returns is
//!   a part of the value, or lives longer than the guard.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// A shared borrow of a part, which ends when the `E` is dropped. Covariant in the part.
pub(crate) struct Shared<'a, P: ?Sized, E> {
    part: NonNull<P>,
    end: E,
    borrow: PhantomData<&'a P>,
}

/// A mutable borrow of a part, which ends when the `E` is dropped. Invariant in the part.
pub(crate) struct Exclusive<'a, P: ?Sized, E> {
    part: NonNull<P>,
    end: E,
    borrow: PhantomData<&'a mut P>,
}

impl<'a, P: ?Sized, E> Shared<'a, P, E> {
    /// # Safety
    ///
    /// As `part-borrowed` says.
    #[inline(always)]
    pub(crate) unsafe fn new(part: NonNull<P>, end: E) -> Self {
        Shared {
            part,
            end,
            borrow: PhantomData,
        }
    }

    #[inline(always)]
    pub(crate) fn end(&self) -> &E {
        &self.end
    }

    /// Another guard of the same part, with an end of its own.
    ///
    /// # Safety
    ///
    /// As `part-borrowed` says, of this part and that end.
    #[inline(always)]
    pub(crate) unsafe fn with_end(&self, end: E) -> Self {
        Shared { end, ..*self }
    }

    #[inline(always)]
    pub(crate) fn map<V: ?Sized>(self, f: impl FnOnce(&P) -> &V) -> Shared<'a, V, E> {
        Shared {
            part: NonNull::from(f(&self)),
            end: self.end,
            borrow: PhantomData,
        }
    }

    #[cfg(feature = "tracked")]
    #[inline(always)]
    pub(crate) fn filter_map<V: ?Sized>(
        self,
        f: impl FnOnce(&P) -> Option<&V>,
    ) -> Result<Shared<'a, V, E>, Self> {
        match f(&self).map(NonNull::from) {
            Some(part) => Ok(Shared {
                part,
                end: self.end,
                borrow: PhantomData,
            }),
            None => Err(self),
        }
    }
}

impl<P: ?Sized, E> Deref for Shared<'_, P, E> {
    type Target = P;

    #[inline(always)]
    fn deref(&self) -> &P {
        // SAFETY: live, and not written to, while this has `end` (`part-borrowed`).
        unsafe { self.part.as_ref() }
    }
}

impl<'a, P: ?Sized, E> Exclusive<'a, P, E> {
    /// # Safety
    ///
    /// As `part-borrowed` says.
    #[inline(always)]
    pub(crate) unsafe fn new(part: NonNull<P>, end: E) -> Self {
        Exclusive {
            part,
            end,
            borrow: PhantomData,
        }
    }

    #[inline(always)]
    pub(crate) fn map<V: ?Sized>(
        mut self,
        f: impl FnOnce(&mut P) -> &mut V,
    ) -> Exclusive<'a, V, E> {
        Exclusive {
            part: NonNull::from(f(&mut self)),
            end: self.end,
            borrow: PhantomData,
        }
    }

    #[cfg(feature = "tracked")]
    #[inline(always)]
    pub(crate) fn filter_map<V: ?Sized>(
        mut self,
        f: impl FnOnce(&mut P) -> Option<&mut V>,
    ) -> Result<Exclusive<'a, V, E>, Self> {
        match f(&mut self).map(NonNull::from) {
            Some(part) => Ok(Exclusive {
                part,
                end: self.end,
                borrow: PhantomData,
            }),
            None => Err(self),
        }
    }
}

impl<P: ?Sized, E> Deref for Exclusive<'_, P, E> {
    type Target = P;

    #[inline(always)]
    fn deref(&self) -> &P {
        // SAFETY: live, and only reached through this guard, while it has `end` (`part-borrowed`).
        unsafe { self.part.as_ref() }
    }
}

impl<P: ?Sized, E> DerefMut for Exclusive<'_, P, E> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut P {
        // SAFETY: live, and only reached through this guard, while it has `end` (`part-borrowed`).
        unsafe { self.part.as_mut() }
    }
}
