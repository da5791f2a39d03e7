//! A cell: a value, and a *stamp* that says what the cell has.
//!
//! A cell is not a struct, because the order of stamp and value depends on the size of the value. A
//! small value is first, so that access by key computes the address of the value itself. A larger
//! value is after the stamp, so that the stamp is in the same cache line as the value's first
//! fields. Both offsets are constants computed from size and alignment, never assumed.

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// Values up to this size are stored before their stamp. For 8 bytes this is measurably better; for
/// 64 bytes it depends on the processor (benches/ATTEMPTS.md, "Where the stamp stands"). Sizes in
/// between were not measured.
const VALUE_FIRST_UP_TO: usize = 16;

/// A pointer to a cell of a `T` with a stamp of type `S`. Covariant in `T`, without ownership: each
/// holder adds the variance it needs.
///
/// The place of the value has at least `LEAST` bytes, for what stands there when the value is gone.
#[cfg_attr(
    feature = "tracked",
    expect(
        missing_debug_implementations,
        reason = "only public for a sealed trait"
    )
)]
#[cfg_attr(
    not(feature = "tracked"),
    expect(unreachable_pub, reason = "only public for a sealed trait")
)]
pub struct CellPtr<T, S, const LEAST: usize>(NonNull<u8>, PhantomData<(*const T, *const S)>);

impl<T, S, const LEAST: usize> Clone for CellPtr<T, S, LEAST> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S, const LEAST: usize> Copy for CellPtr<T, S, LEAST> {}

impl<T, S, const LEAST: usize> CellPtr<T, S, LEAST> {
    const VALUE_FIRST: bool = size_of::<T>() <= VALUE_FIRST_UP_TO;
    const ALIGN: usize = if align_of::<T>() > align_of::<S>() {
        align_of::<T>()
    } else {
        align_of::<S>()
    };
    /// The bytes of a cell for the value.
    pub(crate) const ROOM: usize = if size_of::<T>() > LEAST {
        size_of::<T>()
    } else {
        LEAST
    };
    pub(crate) const STAMP_OFFSET: usize = if Self::VALUE_FIRST {
        Self::ROOM.next_multiple_of(align_of::<S>())
    } else {
        0
    };
    pub(crate) const VALUE_OFFSET: usize = if Self::VALUE_FIRST {
        0
    } else {
        size_of::<S>().next_multiple_of(align_of::<T>())
    };

    /// Bytes from one cell to the next.
    pub(crate) const SIZE: usize = if Self::VALUE_FIRST {
        Self::STAMP_OFFSET + size_of::<S>()
    } else {
        Self::VALUE_OFFSET + Self::ROOM
    }
    .next_multiple_of(Self::ALIGN);

    /// Size and alignment of one cell.
    pub(crate) const LAYOUT: Layout = {
        Self::assert_layout();
        match Layout::from_size_align(Self::SIZE, Self::ALIGN) {
            Ok(layout) => layout,
            Err(_) => panic!("a slot for this type exceeds the limit of isize::MAX bytes"),
        }
    };

    /// Stamp and value overlap nowhere, and both are aligned. The place of the value is as aligned
    /// as a stamp.
    const fn assert_layout() {
        assert!(Self::STAMP_OFFSET % align_of::<S>() == 0);
        assert!(Self::VALUE_OFFSET % align_of::<T>() == 0);
        assert!(Self::VALUE_OFFSET % align_of::<S>() == 0);
        assert!(
            Self::VALUE_OFFSET >= Self::STAMP_OFFSET + size_of::<S>()
                || Self::STAMP_OFFSET >= Self::VALUE_OFFSET + Self::ROOM
        );
        assert!(Self::SIZE >= Self::STAMP_OFFSET + size_of::<S>());
        assert!(Self::SIZE >= Self::VALUE_OFFSET + Self::ROOM);
    }

    /// The cell that starts at `start`.
    #[inline]
    pub(crate) const fn new(start: NonNull<u8>) -> Self {
        CellPtr(start, PhantomData)
    }

    /// The cell of `value`.
    ///
    /// # Safety
    ///
    /// `value` is [`value`](Self::value) of a cell, with its provenance.
    #[cfg(feature = "tracked")]
    #[inline]
    pub(crate) unsafe fn of_value(value: NonNull<T>) -> Self {
        // SAFETY: the cell starts that many bytes before its value.
        CellPtr::new(unsafe { value.cast::<u8>().sub(Self::VALUE_OFFSET) })
    }

    /// The cell of `stamp`.
    ///
    /// # Safety
    ///
    /// `stamp` is [`stamp`](Self::stamp) of a cell, with its provenance.
    #[cfg(feature = "tracked")]
    #[inline]
    pub(crate) unsafe fn of_stamp(stamp: NonNull<S>) -> Self {
        // SAFETY: the cell starts that many bytes before its stamp.
        CellPtr::new(unsafe { stamp.cast::<u8>().sub(Self::STAMP_OFFSET) })
    }

    #[inline]
    pub(crate) fn start(self) -> NonNull<u8> {
        self.0
    }

    /// The address of the value, whether or not there is one.
    ///
    /// # Safety
    ///
    /// The cell is allocated.
    #[inline]
    pub(crate) unsafe fn value(self) -> NonNull<T> {
        // SAFETY: the offset lies within the cell, or at its end for a value of no size.
        unsafe { self.0.add(Self::VALUE_OFFSET).cast() }
    }

    /// The address of the stamp.
    ///
    /// # Safety
    ///
    /// The cell is allocated.
    #[inline]
    pub(crate) unsafe fn stamp(self) -> NonNull<S> {
        // SAFETY: `STAMP_OFFSET` is within the cell, which is allocated (precondition).
        unsafe { self.0.add(Self::STAMP_OFFSET).cast() }
    }
}
