//! The interface of a pool to its memory, of either kind.

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::home::{FreeCells, Home, Places};
use crate::error::AllocError;

/// The memory of a pool.
///
/// # Safety
///
/// * H1 to H3 hold for the home, which is valid as long as the memory.
/// * [`way`](Self::way) and [`home_of`](Self::home_of) lead to [`home`](Self::home).
pub unsafe trait Memory: 'static {
    /// The list of free cells.
    type Free: FreeCells;

    /// Where the cells lie.
    type Places: Places;

    /// The value in a box that leads to the home, together with the address of its cell.
    type Way: Copy + 'static;

    /// The least size and alignment of a cell.
    const LEAST_CELL: Layout;

    fn home(&self) -> NonNull<Home<Self::Free, Self::Places>>;

    fn way(&self) -> Self::Way;

    /// The home of a taken cell.
    ///
    /// # Safety
    ///
    /// `cell` is a taken cell of a memory of this type, whose cells are those of a type of the
    /// layout of `T`, and has the provenance it was popped with. `way` is of the same memory, which
    /// is alive, and has not moved since it returned the way.
    unsafe fn home_of<T>(
        cell: NonNull<u8>,
        way: Self::Way,
    ) -> NonNull<Home<Self::Free, Self::Places>>;

    /// Pushes fresh cells.
    ///
    /// # Errors
    ///
    /// `None` if there are none; the source's error if it refuses.
    fn refill(&self) -> Result<(), Option<AllocError>>;

    /// Touches the memory of the fresh cells that the next `cells` allocations take.
    ///
    /// # Errors
    ///
    /// If the source refuses.
    fn prepare(&self, cells: usize) -> Result<(), AllocError>;

    /// Makes all cells free, the taken ones too.
    ///
    /// # Safety
    ///
    /// As for [`Home::forget_all`].
    unsafe fn reset(&mut self);
}

/// The cells of a type in a kind of memory: constants. Each kind adds its [`Places`].
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
}

const fn max(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// A taken cell that has no value, or is about to lose it; dropping this frees the cell.
pub(super) struct Vacated<T, R: Memory> {
    cell: NonNull<T>,
    way: R::Way,
}

impl<T, R: Memory> Vacated<T, R> {
    /// # Safety
    ///
    /// The caller owns the cell (H2) and gives it up. Until this is dropped, cell and way are as
    /// for [`Memory::home_of`] with this `T`. The cell is not used after the drop.
    #[inline(always)]
    pub(super) unsafe fn new(cell: NonNull<T>, way: R::Way) -> Self {
        Vacated { cell, way }
    }
}

impl<T, R: Memory> Drop for Vacated<T, R> {
    #[inline(always)]
    fn drop(&mut self) {
        let cell = self.cell.cast();
        // SAFETY: cell and way are as `home_of` needs them, and this owns the cell
        // (preconditions of `new`), which is not used any more (H2). It was popped from this
        // list, so there is room for it.
        unsafe {
            let home = R::home_of::<T>(cell, self.way);
            home.as_ref().free.push(cell);
        }
    }
}
