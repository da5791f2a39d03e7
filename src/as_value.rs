//! What a pointer to a value does as its value, like a `Box`: printing, comparing, hashing.

/// Implements `Debug` and `Display` for a type that dereferences to a value of `$value`.
macro_rules! print_as_value {
    (impl [$($generics:tt)*] for $type:ty, as $value:ident) => {
        /// Prints the value.
        impl<$($generics)*> core::fmt::Debug for $type
        where
            $value: core::fmt::Debug,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }

        /// Prints the value.
        impl<$($generics)*> core::fmt::Display for $type
        where
            $value: core::fmt::Display,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}
pub(crate) use print_as_value;

/// Implements for a box whose field `value` is the address of its `$value` what is the same for all
/// that own one value: to be borrowed as it, compared, hashed and printed.
macro_rules! own_as_value {
    (impl [$($generics:tt)*] for $type:ty, as $value:ident) => {
        impl<$($generics)*> AsRef<$value> for $type {
            fn as_ref(&self) -> &$value {
                self
            }
        }

        impl<$($generics)*> AsMut<$value> for $type {
            fn as_mut(&mut self) -> &mut $value {
                self
            }
        }

        impl<$($generics)*> core::borrow::Borrow<$value> for $type {
            fn borrow(&self) -> &$value {
                self
            }
        }

        impl<$($generics)*> core::borrow::BorrowMut<$value> for $type {
            fn borrow_mut(&mut self) -> &mut $value {
                self
            }
        }

        /// Compares the values.
        impl<$($generics)*> PartialEq for $type
        where
            $value: PartialEq,
        {
            fn eq(&self, other: &Self) -> bool {
                **self == **other
            }
        }

        impl<$($generics)*> Eq for $type where $value: Eq {}

        /// Compares the values.
        impl<$($generics)*> PartialOrd for $type
        where
            $value: PartialOrd,
        {
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                (**self).partial_cmp(other)
            }
        }

        /// Compares the values.
        impl<$($generics)*> Ord for $type
        where
            $value: Ord,
        {
            fn cmp(&self, other: &Self) -> core::cmp::Ordering {
                (**self).cmp(other)
            }
        }

        /// Hashes the value.
        impl<$($generics)*> core::hash::Hash for $type
        where
            $value: core::hash::Hash,
        {
            fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
                (**self).hash(state);
            }
        }

        $crate::as_value::print_as_value!(impl [$($generics)*] for $type, as $value);

        /// Prints the value's address.
        impl<$($generics)*> core::fmt::Pointer for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                self.value.fmt(f)
            }
        }
    };
}
pub(crate) use own_as_value;
