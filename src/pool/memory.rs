//! What a pool needs of its memory, of whichever kind that is.

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::home::{FreeCells, Home};
use crate::error::AllocError;
use crate::raw::segment::Geometry;

/// What a pool needs of its memory.
///
/// # Safety
///
/// * H1 to H3 hold of the home, which is there as long as the memory, and of the
///   geometry that its maker was given.
/// * [`way`](Self::way) and [`home_of`](Self::home_of) lead to [`home`](Self::home).
pub unsafe trait Memory: 'static {
    /// How free cells are kept.
    type Free: FreeCells;

    /// What a box has to know, besides the address of its cell, to find the home.
    type Way: Copy + 'static;

    /// Size and alignment of a cell at least.
    const LEAST_CELL: Layout;

    /// The header of the segments that cells lie in, if they do.
    const HEADER: Option<Layout>;

    fn home(&self) -> NonNull<Home<Self::Free>>;

    fn way(&self) -> Self::Way;

    /// The home of a taken cell.
    ///
    /// # Safety
    ///
    /// The cell is a taken one of such a memory's, laid out by this geometry, with the
    /// provenance it had when it was popped; the way is that memory's. The memory is
    /// there, and has not moved since it gave the way.
    unsafe fn home_of(
        geometry: &Geometry,
        cell: NonNull<u8>,
        way: Self::Way,
    ) -> NonNull<Home<Self::Free>>;

    /// Pushes fresh cells.
    ///
    /// # Errors
    ///
    /// `None` if there are none; when the source refuses.
    fn refill(&self) -> Result<(), Option<AllocError>>;

    /// Touches the memory of all fresh cells.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    fn prefault(&self) -> Result<(), AllocError>;

    /// Makes all cells free, the taken ones too.
    ///
    /// # Safety
    ///
    /// As for [`Home::forget_all`].
    unsafe fn reset(&mut self);
}

/// The cells of a type in a kind of memory: constants.
pub(super) struct Cells<T, R>(PhantomData<(T, R)>);

impl<T, R: Memory> Cells<T, R> {
    /// One cell.
    pub(super) const LAYOUT: Layout = {
        let (value, least) = (Layout::new::<T>(), R::LEAST_CELL);
        let size = max(value.size(), least.size());
        let align = max(value.align(), least.align());
        match Layout::from_size_align(size, align) {
            Ok(layout) => layout.pad_to_align(),
            Err(_) => panic!("a value of this size cannot be laid out"),
        }
    };

    /// All of them.
    pub(super) const GEOMETRY: Geometry = match R::HEADER {
        Some(header) => Geometry::new(Self::LAYOUT, header),
        None => Geometry::without_header(Self::LAYOUT),
    };
}

const fn max(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// A cell that is taken, and has no value or is about to lose it: its drop frees it.
pub(super) struct Vacated<T, R: Memory> {
    cell: NonNull<T>,
    way: R::Way,
}

impl<T, R: Memory> Vacated<T, R> {
    /// # Safety
    ///
    /// The caller owns the cell (H2) and gives it up. Cell and way are as for
    /// [`Memory::home_of`] with the geometry for a `T`, up to the drop of this. No one
    /// uses the cell after it.
    #[inline(always)]
    pub(super) unsafe fn new(cell: NonNull<T>, way: R::Way) -> Self {
        Vacated { cell, way }
    }
}

impl<T, R: Memory> Drop for Vacated<T, R> {
    #[inline(always)]
    fn drop(&mut self) {
        let cell = self.cell.cast();
        // SAFETY: says the caller of `new`; the owner pushes it and then is none (H2). It
        // was popped from this list, so there is room.
        unsafe {
            let home = R::home_of(&Cells::<T, R>::GEOMETRY, cell, self.way);
            home.as_ref().free.push(cell);
        }
    }
}
