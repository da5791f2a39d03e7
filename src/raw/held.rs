//! A value on its way to a cold function.

use core::mem::MaybeUninit;

/// A value that is given to a cold function, in memory if it is large. Made in the cold block
/// alone, it has the only place whose address is taken: where the value was before, behind a
/// reference or in registers, it need not be in memory of its own.
///
/// One byte larger than the value: of two places of one size the compiler would make one, and copy
/// the value there before it knows whether the cold block is entered.
pub(crate) struct Held<T> {
    pub(crate) value: T,
    _apart: MaybeUninit<u8>,
}

impl<T> Held<T> {
    /// Whether the value fits in two registers: on its way to a call it stays there, and needs no
    /// care.
    pub(crate) const IN_REGISTERS: bool = size_of::<T>() <= 2 * size_of::<usize>();

    #[inline]
    pub(crate) fn new(value: T) -> Self {
        Held {
            value,
            _apart: MaybeUninit::uninit(),
        }
    }
}
