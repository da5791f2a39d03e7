//! The allocations of arrays, whose length is a part of their type.
//!
//! They are built in the arena, value by value: an array that is returned by value lies on the
//! stack first. The names are those of the slices, as in `stumpalo`.

use super::Arena;
use super::scope::Scope;
use crate::error::AllocError;

/// The methods of [`Arena`], whose lifetime is that of the call, and of [`Scope`], which has its
/// own.
macro_rules! arrays {
    ($lifetime:lifetime $(, $of_call:lifetime)?) => {
        /// Copies an array into the memory of the arena; O(bytes).
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let mut arena = flatslab::bump::Arena::new();
        /// let array: &mut [u8; 2] = arena.alloc_sized_slice_copy(&[1, 2]);
        /// assert_eq!(array, &[1, 2]);
        /// assert_eq!(arena.as_scope().alloc_sized_slice_copy(&[1, 2]), &[1, 2]);
        /// ```
        #[doc(alias = "alloc_array_copy")]
        #[inline]
        #[track_caller]
        pub fn alloc_sized_slice_copy<$($of_call,)? T: Copy, const N: usize>(
            &$($of_call)? self,
            values: &[T; N],
        ) -> &$lifetime mut [T; N] {
            sized(self.alloc_slice_copy(values))
        }

        /// Copies an array into the memory of the arena; never panics or aborts.
        ///
        /// # Errors
        ///
        /// If there is no room.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(8);
        /// assert!(arena.try_alloc_sized_slice_copy(&[1_u64]).is_ok());
        /// assert!(arena.try_alloc_sized_slice_copy(&[1_u64]).is_err());
        /// ```
        #[inline]
        pub fn try_alloc_sized_slice_copy<$($of_call,)? T: Copy, const N: usize>(
            &$($of_call)? self,
            values: &[T; N],
        ) -> Result<&$lifetime mut [T; N], AllocError> {
            self.try_alloc_slice_copy(values).map(sized)
        }

        /// Clones the values of an array into the memory of the arena. If a `clone` panics, the
        /// clones made before it are dropped.
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// assert_eq!(arena.alloc_sized_slice_clone(&["flat".to_string()]), &["flat"]);
        /// ```
        #[inline]
        #[track_caller]
        pub fn alloc_sized_slice_clone<$($of_call,)? T: Clone, const N: usize>(
            &$($of_call)? self,
            values: &[T; N],
        ) -> &$lifetime mut [T; N] {
            sized(self.alloc_slice_clone(values))
        }

        /// Clones the values of an array into the memory of the arena; panics only if a `clone`
        /// does, and never aborts.
        ///
        /// # Errors
        ///
        /// If there is no room; no `clone` is called then.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(0);
        /// assert!(arena.try_alloc_sized_slice_clone(&["flat"]).is_err());
        /// ```
        #[inline]
        pub fn try_alloc_sized_slice_clone<$($of_call,)? T: Clone, const N: usize>(
            &$($of_call)? self,
            values: &[T; N],
        ) -> Result<&$lifetime mut [T; N], AllocError> {
            self.try_alloc_slice_clone(values).map(sized)
        }

        /// Allocates an array of default values.
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// let zeroes = arena.alloc_sized_slice_fill_default::<u64, 2>();
        /// assert_eq!(zeroes, &[0, 0]);
        /// ```
        #[doc(alias = "alloc_array_fill_default")]
        #[inline]
        #[track_caller]
        pub fn alloc_sized_slice_fill_default<$($of_call,)? T: Default, const N: usize>(
            &$($of_call)? self,
        ) -> &$lifetime mut [T; N] {
            sized(self.alloc_slice_fill_default(N))
        }

        /// Allocates an array of default values; panics only if `default` does, and never aborts.
        ///
        /// # Errors
        ///
        /// If there is no room; `default` is not called then.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(0);
        /// assert!(arena.try_alloc_sized_slice_fill_default::<u64, 2>().is_err());
        /// ```
        #[inline]
        pub fn try_alloc_sized_slice_fill_default<$($of_call,)? T: Default, const N: usize>(
            &$($of_call)? self,
        ) -> Result<&$lifetime mut [T; N], AllocError> {
            self.try_alloc_slice_fill_default(N).map(sized)
        }

        /// Allocates an array of values, each the result of `f` for its index, and built in its
        /// place. If `f` panics, the values made before are dropped.
        ///
        /// # Panics
        ///
        /// As [`alloc`](Self::alloc).
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::new();
        /// let squares = arena.alloc_sized_slice_fill_with::<_, 3>(|index| index * index);
        /// assert_eq!(squares, &[0, 1, 4]);
        /// ```
        #[doc(alias = "alloc_array_fill_with")]
        #[inline]
        #[track_caller]
        pub fn alloc_sized_slice_fill_with<$($of_call,)? T, const N: usize>(
            &$($of_call)? self,
            f: impl FnMut(usize) -> T,
        ) -> &$lifetime mut [T; N] {
            sized(self.alloc_slice_fill_with(N, f))
        }

        /// Allocates an array of values, each the result of `f` for its index; panics only if `f`
        /// does, and never aborts.
        ///
        /// # Errors
        ///
        /// If there is no room; `f` is not called then.
        ///
        /// # Examples
        ///
        /// ```
        /// let arena = flatslab::bump::Arena::bounded(8);
        /// assert!(arena.try_alloc_sized_slice_fill_with::<_, 9>(|index| index as u8).is_err());
        /// ```
        #[inline]
        pub fn try_alloc_sized_slice_fill_with<$($of_call,)? T, const N: usize>(
            &$($of_call)? self,
            f: impl FnMut(usize) -> T,
        ) -> Result<&$lifetime mut [T; N], AllocError> {
            self.try_alloc_slice_fill_with(N, f).map(sized)
        }
    };
}

#[allow(
    clippy::mut_from_ref,
    reason = "the memory of each reference is handed out once"
)]
impl Arena {
    arrays!('a, 'a);
}

impl<'s> Scope<'s, '_> {
    arrays!('s);
}

/// The slice of `N` values as an array. Where it is inlined, the lengths are one constant.
#[inline(always)]
fn sized<T, const N: usize>(values: &mut [T]) -> &mut [T; N] {
    values.try_into().expect("a slice of N values")
}
