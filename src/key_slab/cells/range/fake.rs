//! For interpreters, which have no such memory: two blocks of exactly the bytes that are open,
//! which move at each opening.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::layout::{Range, Sizes};
use crate::error::AllocError;
use crate::raw::source::Source;

const ALIGN: usize = 4096;

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes.max(1), ALIGN).expect("few bytes")
}

/// For cells and indices.
fn allocate([cells, indices]: [usize; 2]) -> Result<[NonNull<u8>; 2], AllocError> {
    let cells_at = Source::GLOBAL.allocate(layout(cells))?;
    match Source::GLOBAL.allocate(layout(indices)) {
        Ok(indices_at) => Ok([cells_at, indices_at]),
        Err(error) => {
            // SAFETY: a block of this size.
            unsafe { Source::GLOBAL.release(cells_at, layout(cells)) };
            Err(error)
        }
    }
}

pub(super) fn is_advised() -> bool {
    false
}

pub(super) fn reserve(log: u8, _: Sizes) -> Option<Range> {
    let [cells, indices] = allocate([0, 0]).ok()?;
    Some(Range {
        cells,
        indices,
        log,
    })
}

/// # Safety
///
/// As for [`Range::resize`].
pub(super) unsafe fn resize(
    range: &mut Range,
    sizes: Sizes,
    from: usize,
    to: usize,
) -> Result<(), AllocError> {
    let ([cells, indices], [to_cells, to_indices]) = (sizes.opened(from), sizes.opened(to));
    let moved = allocate([to_cells, to_indices])?;
    // SAFETY: blocks of these sizes.
    unsafe {
        moved[0].copy_from_nonoverlapping(range.cells, cells.min(to_cells));
        moved[1].copy_from_nonoverlapping(range.indices, indices.min(to_indices));
        release(*range, sizes, from);
    }
    [range.cells, range.indices] = moved;
    Ok(())
}

/// Not of every other range, so that both ways are gone.
///
/// # Safety
///
/// None.
pub(super) unsafe fn is_one_mapping(range: &Range, _: Sizes, _: usize) -> bool {
    range.log % 2 == 0
}

/// # Safety
///
/// As for [`Range::move_to`].
pub(super) unsafe fn move_to(range: Range, other: &Range, sizes: Sizes, opened: usize) -> bool {
    // SAFETY: so many bytes are in both.
    unsafe {
        let [cells, _] = sizes.opened(opened);
        other.cells.copy_from_nonoverlapping(range.cells, cells);
        release(range, sizes, opened);
    }
    true
}

/// # Safety
///
/// As for [`Range::release`].
pub(super) unsafe fn release(range: Range, sizes: Sizes, opened: usize) {
    let [cells, indices] = sizes.opened(opened);
    // SAFETY: blocks of these sizes, not used any more.
    unsafe {
        Source::GLOBAL.release(range.cells, layout(cells));
        Source::GLOBAL.release(range.indices, layout(indices));
    }
}

/// # Safety
///
/// As for [`super::populate`].
pub(super) unsafe fn populate(start: NonNull<u8>, bytes: usize) {
    // SAFETY: open, and not in use (precondition).
    unsafe { start.write_bytes(0, bytes) };
}
