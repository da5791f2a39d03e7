//! The kinds of contents of an epoch slab, and the size classes of chunks that follow from them.
//!
//! A slab of values has one class. A slab of buffers has several: the first is of 64 bytes, and
//! each is larger than the one before it by a half or a third, in turn: 64, 96, 128, 192, 256, 384,
//! …

use core::alloc::Layout;
use core::ptr::NonNull;

use super::record::Plan;
use crate::error::{AllocError, BuildError};
use crate::raw::source::Source;

/// The contents of an epoch slab: [`Values`](super::Values) of one type, or
/// [`Bytes`](super::Bytes). Sealed: other crates cannot name the types of its methods.
pub trait Contents {
    #[doc(hidden)]
    const NEEDS_DROP: bool;

    /// Drops the contents of a cell.
    ///
    /// # Safety
    ///
    /// The cell has a value of this type, which is not used afterwards.
    #[doc(hidden)]
    unsafe fn drop_in_place(cell: NonNull<u8>);

    /// Returns the plans of the chunks of each size class, before they are rounded to pages.
    #[doc(hidden)]
    fn size_classes(options: &Options) -> Result<Plans, BuildError>;
}

/// The options of a builder of epoch slabs.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) chunk_capacity: usize,
    pub(super) chunk_bytes: usize,
    /// 64 KiB if it is not set, or less if there is a limit.
    pub(super) largest: Option<usize>,
    pub(super) epochs: usize,
    pub(super) cached_chunks: usize,
    pub(super) reserve: usize,
    pub(super) max_bytes: usize,
}

impl Options {
    pub(super) const fn new() -> Self {
        Options {
            chunk_capacity: 64,
            chunk_bytes: 16 << 10,
            largest: None,
            epochs: 16,
            cached_chunks: 32,
            reserve: 0,
            max_bytes: usize::MAX,
        }
    }
}

/// The plans of all size classes.
#[derive(Debug)]
pub struct Plans {
    pub(super) of: [Option<Plan>; CLASSES],
    pub(super) len: usize,
}

impl Plans {
    /// Rounds the cells of each chunk up to whole pages, if pages are returned to the system.
    pub(super) fn round_to_pages(&mut self, source: &Source) -> Result<(), AllocError> {
        let Some(page) = source.page_size() else {
            return Ok(());
        };
        for plan in self.of.iter_mut().flatten() {
            let (bytes, align) = (plan.data.size(), plan.data.align().max(page));
            plan.data = (bytes.checked_next_multiple_of(page))
                .and_then(|bytes| Layout::from_size_align(bytes, align).ok())
                .ok_or(AllocError::OutOfMemory { bytes })?;
        }
        Ok(())
    }

    /// Leaves out the largest classes whose chunk exceeds a limit, unless an option sets the
    /// largest, and checks that each of the others is within the limit.
    ///
    /// # Errors
    ///
    /// If one is not.
    pub(super) fn limit(&mut self, options: &Options) -> Result<(), BuildError> {
        let bytes = |plans: &Self| plans.iter().map(|plan| plan.data.size()).max();
        let limit = options.max_bytes;
        if options.largest.is_none() {
            while self.len > 1 && bytes(self) > Some(limit) {
                self.len -= 1;
            }
        }
        BuildError::in_range("max_bytes", limit, bytes(self).unwrap_or(0), usize::MAX)
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = Plan> {
        (0..self.len).map(|class| self.of[class].expect("within the length"))
    }
}

/// How many classes there are, up to 2³⁰ bytes.
pub(super) const CLASSES: usize = 2 * (30 - 6) + 1;

/// The minimum alignment of every buffer: all sizes are multiples of it.
pub(super) const ALIGN: usize = 32;

/// Bytes of the buffers of a class.
pub(super) const fn size_of_class(class: usize) -> usize {
    (if class % 2 == 0 { 64 } else { 96 }) << (class / 2)
}

/// Requests up to this size find their class by one load. Computing it takes 15 instructions, and a
/// branch at 64 bytes, which random sizes mispredict.
pub(super) const SMALL: usize = 2048;

/// The classes of small requests: one for each multiple of [`ALIGN`], and one for 0.
const CLASSES_OF_SMALL: [u8; SMALL / ALIGN + 1] = {
    let mut classes = [0; SMALL / ALIGN + 1];
    let mut index = 0;
    while index < classes.len() {
        classes[index] = computed_class_of(index * ALIGN) as u8;
        index += 1;
    }
    classes
};

/// The smallest class with buffers of at least `bytes` bytes, which are at most 2³⁰.
pub(super) const fn class_of(bytes: usize) -> usize {
    if bytes <= SMALL {
        CLASSES_OF_SMALL[bytes.div_ceil(ALIGN)] as usize
    } else {
        computed_class_of(bytes)
    }
}

/// Like [`class_of`].
///
/// # Safety
///
/// `bytes` is at most [`SMALL`].
#[inline]
pub(super) const unsafe fn class_of_small(bytes: usize) -> usize {
    // SAFETY: at most the last entry, that of `SMALL` (precondition).
    unsafe { core::hint::assert_unchecked(bytes <= SMALL) };
    CLASSES_OF_SMALL[bytes.div_ceil(ALIGN)] as usize
}

const fn computed_class_of(bytes: usize) -> usize {
    if bytes <= 64 {
        return 0;
    }
    // 2^power < bytes <= 2^(power + 1)
    let power = (bytes - 1).ilog2() as usize;
    2 * (power - 6) + if bytes <= 3 << (power - 1) { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_grow_by_halves_and_thirds() {
        let sizes: Vec<_> = (0..8).map(size_of_class).collect();
        assert_eq!(sizes, [64, 96, 128, 192, 256, 384, 512, 768]);
        assert_eq!(size_of_class(CLASSES - 1), 1 << 30);
    }

    #[test]
    fn a_request_gets_the_smallest_class_that_fits() {
        let most = if cfg!(miri) { 1_000 } else { 100_000 };
        for bytes in (0..most).chain([1 << 20, (1 << 30) - 1, 1 << 30]) {
            let class = class_of(bytes);
            assert!(class < CLASSES && bytes <= size_of_class(class));
            assert!(class == 0 || bytes > size_of_class(class - 1), "{bytes}");
        }
    }

    #[test]
    fn every_size_is_a_multiple_of_the_alignment() {
        assert!((0..CLASSES).all(|class| size_of_class(class) % ALIGN == 0));
    }
}
