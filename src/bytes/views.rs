//! Typed views of buffers, through `zerocopy`.

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::buf::{Buf, BufMut};
use super::references::References;
use crate::error::Amount;
use crate::error::SizeError;

/// The error of a view: there are too few or too many bytes, or they begin at an address that the
/// type cannot have.
///
/// # Examples
///
/// ```
/// # let arena = flatslab::bytes::ByteArena::new();
/// let buf = arena.copy(&[0; 9]);
/// let error = buf.view::<u64>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "cannot view 9 bytes as a value of 8 bytes with alignment 8 (address modulo alignment: 0)"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewError {
    len: usize,
    offset: usize,
    align: usize,
    size: usize,
}

impl ViewError {
    fn new<T>(bytes: &[u8]) -> Self {
        let align = align_of::<T>();
        ViewError {
            len: bytes.len(),
            offset: bytes.as_ptr().addr() % align,
            align,
            size: size_of::<T>(),
        }
    }
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ViewError {
            len,
            offset,
            align,
            size,
        } = *self;
        write!(
            f,
            "cannot view {} as a value of {} with alignment {align} (address modulo alignment: \
             {offset})",
            Amount::bytes(len),
            Amount::bytes(size)
        )
    }
}

impl core::error::Error for ViewError {}

/// Typed views, with the feature `zerocopy`. The type derives `FromBytes`, `KnownLayout` and
/// `Immutable` of that crate, version 0.8 with its feature `derive`, and `IntoBytes` for writing.
/// Network headers are best declared with its `byteorder` numbers, which can be at any address and
/// have a fixed byte order.
///
/// Buffers begin at multiples of 16, so a buffer that is not sliced or split suits any type of that
/// alignment.
///
/// A view of an unsuitable type does not compile. A type with a `bool`, a reference or a pointer
/// cannot derive `FromBytes`, because bytes from a network can have any value. A type with padding
/// cannot derive `IntoBytes`, because not all of its bytes are initialised. A reference must not be
/// in a buffer for another reason too: nothing drops the contents of a buffer, and nothing keeps
/// alive the target of the reference. Use a [`Loc`](super::Loc) instead: two words, which can be
/// written to a buffer, and are checked when they are used.
impl<R: References> Buf<R> {
    /// Borrows all bytes as a value. O(1); copies nothing.
    ///
    /// # Errors
    ///
    /// If the number of bytes is not the size of the value, or they are not aligned.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(&7_u32.to_ne_bytes());
    /// assert_eq!(buf.view::<u32>()?, &7);
    /// assert!(buf.view::<u64>().is_err());
    /// # Ok::<(), flatslab::bytes::ViewError>(())
    /// ```
    #[inline]
    pub fn view<T: FromBytes + KnownLayout + Immutable>(&self) -> Result<&T, ViewError> {
        T::ref_from_bytes(self).map_err(|_| ViewError::new::<T>(self))
    }

    /// Borrows the first bytes as a value, and the rest as a slice. O(1).
    ///
    /// To get the rest as a buffer, use [`slice`](Self::slice)`(size_of::<T>()..)`.
    ///
    /// # Errors
    ///
    /// If there are fewer bytes than the value has, or they are not aligned.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(&[1, 0, 7, 8, 9]);
    /// let (number, rest) = buf.view_prefix::<u16>()?;
    /// assert_eq!((u16::from_le(*number), rest), (1, &[7, 8, 9][..]));
    /// # Ok::<(), flatslab::bytes::ViewError>(())
    /// ```
    #[inline]
    pub fn view_prefix<T: FromBytes + KnownLayout + Immutable>(
        &self,
    ) -> Result<(&T, &[u8]), ViewError> {
        T::ref_from_prefix(self).map_err(|_| ViewError::new::<T>(self))
    }

    /// Borrows all bytes as a slice of values. O(1); copies nothing.
    ///
    /// # Errors
    ///
    /// If the number of bytes is not a multiple of the size of a value, or they are not aligned.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(&[0; 24]);
    /// assert_eq!(buf.view_slice::<u64>()?, [0; 3]);
    /// # Ok::<(), flatslab::bytes::ViewError>(())
    /// ```
    #[inline]
    pub fn view_slice<T: FromBytes + Immutable>(&self) -> Result<&[T], ViewError> {
        <[T]>::ref_from_bytes(self).map_err(|_| ViewError::new::<T>(self))
    }
}

/// Typed views, with the feature `zerocopy`; see the ones of [`Buf`].
impl<R: References> BufMut<R> {
    /// Borrows all bytes as a value, mutably. O(1).
    ///
    /// # Errors
    ///
    /// If the number of bytes is not the size of the value, or they are not aligned.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc_zeroed(8);
    /// *buf.view_mut::<u64>()? += 7;
    /// assert_eq!(buf.freeze().view::<u64>()?, &7);
    /// # Ok::<(), flatslab::bytes::ViewError>(())
    /// ```
    #[inline]
    pub fn view_mut<T: FromBytes + IntoBytes + KnownLayout>(
        &mut self,
    ) -> Result<&mut T, ViewError> {
        let error = ViewError::new::<T>(self);
        T::mut_from_bytes(self).map_err(|_| error)
    }

    /// Borrows all bytes as a slice of values, mutably. O(1).
    ///
    /// # Errors
    ///
    /// If the number of bytes is not a multiple of the size of a value, or they are not aligned.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc_zeroed(24);
    /// buf.view_slice_mut::<u64>()?[1] = 7;
    /// assert_eq!(buf.freeze().view_slice::<u64>()?, [0, 7, 0]);
    /// # Ok::<(), flatslab::bytes::ViewError>(())
    /// ```
    #[inline]
    pub fn view_slice_mut<T: FromBytes + IntoBytes>(&mut self) -> Result<&mut [T], ViewError> {
        let error = ViewError::new::<T>(self);
        <[T]>::mut_from_bytes(self).map_err(|_| error)
    }

    /// Appends the bytes of a value. O(n) for n bytes.
    ///
    /// # Errors
    ///
    /// If there is no room for all of them; none is written then.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc(8);
    /// buf.extend_from_value(&7_u32)?;
    /// buf.extend_from_value(&8_u32)?;
    /// assert_eq!(buf.freeze().view_slice::<u32>().unwrap(), [7, 8]);
    /// # Ok::<(), flatslab::SizeError>(())
    /// ```
    #[inline]
    pub fn extend_from_value<T: IntoBytes + Immutable>(
        &mut self,
        value: &T,
    ) -> Result<(), SizeError> {
        self.extend_from_slice(value.as_bytes())
    }
}

/// # Views accept any bytes
///
/// A row of numbers is valid for any bytes.
///
/// ```
/// use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
///
/// #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
/// #[repr(C)]
/// struct Level { price: u32, quantity: u32 }
///
/// let arena = flatslab::bytes::ByteArena::new();
/// let mut buf = arena.alloc(size_of::<Level>());
/// buf.extend_from_value(&Level { price: 7, quantity: 8 }).unwrap();
/// buf.view_mut::<Level>().unwrap().quantity += 1;
/// let buf = buf.freeze();
/// let level = buf.view::<Level>().unwrap();
/// assert_eq!((level.price, level.quantity), (7, 9));
/// ```
///
/// A struct with padding has bytes that are not initialised, which must not be written to a
/// buffer.
///
/// ```compile_fail,E0277
/// use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
///
/// #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
/// #[repr(C)]
/// struct Level { price: u32, quantity: u64 }
/// ```
///
/// It can be read, but neither written nor changed in place.
///
/// ```
/// use zerocopy::{FromBytes, Immutable, KnownLayout};
///
/// #[derive(FromBytes, KnownLayout, Immutable)]
/// #[repr(C)]
/// struct Level { price: u32, quantity: u64 }
///
/// let arena = flatslab::bytes::ByteArena::new();
/// let buf = arena.alloc_zeroed(size_of::<Level>());
/// assert_eq!(buf.freeze().view::<Level>().unwrap().price, 0);
/// ```
///
/// ```compile_fail,E0277
/// # use zerocopy::{FromBytes, Immutable, KnownLayout};
/// # #[derive(FromBytes, KnownLayout, Immutable)]
/// # #[repr(C)]
/// # struct Level { price: u32, quantity: u64 }
/// let arena = flatslab::bytes::ByteArena::new();
/// let mut buf = arena.alloc_zeroed(size_of::<Level>());
/// buf.view_mut::<Level>().unwrap().price = 1;
/// ```
///
/// ```compile_fail,E0277
/// # use zerocopy::{FromBytes, Immutable, KnownLayout};
/// # #[derive(FromBytes, KnownLayout, Immutable)]
/// # #[repr(C)]
/// # struct Level { price: u32, quantity: u64 }
/// let arena = flatslab::bytes::ByteArena::new();
/// let mut buf = arena.alloc(size_of::<Level>());
/// buf.extend_from_value(&Level { price: 7, quantity: 8 }).unwrap();
/// ```
///
/// A pointer, a reference or a `bool` is valid only for some bytes.
///
/// ```compile_fail,E0277
/// use zerocopy::{FromBytes, Immutable, KnownLayout};
///
/// #[derive(FromBytes, KnownLayout, Immutable)]
/// #[repr(C)]
/// struct Node { next: *const u8 }
/// ```
///
/// ```compile_fail,E0277
/// use zerocopy::{FromBytes, Immutable, KnownLayout};
///
/// #[derive(FromBytes, KnownLayout, Immutable)]
/// #[repr(C)]
/// struct Node { name: &'static str }
/// ```
///
/// ```compile_fail,E0277
/// use zerocopy::{FromBytes, Immutable, KnownLayout};
///
/// #[derive(FromBytes, KnownLayout, Immutable)]
/// #[repr(C)]
/// struct Flag { set: bool }
/// ```
#[cfg(doctest)]
mod views_of_any_bytes {}
