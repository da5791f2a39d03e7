//! The sizes of the classes, and which class a request takes.
//!
//! # Invariants
//!
//! * `sizes-increase`: sizes are multiples of 16 that increase from class to class; the last one is
//!   not less than `largest`, the largest request.
//! * `table-first`: the class that a table names for a size exists, and no class before it fits.

use crate::error::BuildError;

/// Sizes are multiples of this, so that a buffer suits any type of that alignment.
pub(super) const STEP: usize = 16;

/// Chunks begin at a cache line.
const CACHE_LINE: usize = 64;

/// The largest alignment that follows from a size.
const PAGE: usize = 4096;

/// The most classes.
pub(super) const MOST_CLASSES: usize = 64;

/// The largest buffer: lengths of buffers take 32 bits.
pub(super) const LARGEST: usize = {
    let words = if isize::MAX as usize > u32::MAX as usize {
        u32::MAX as usize
    } else {
        isize::MAX as usize
    };
    words / STEP * STEP
};

/// Requests up to this size find their class by one load. Larger ones pay for finding their highest
/// bit, which takes longer than the rest of an allocation on processors whose instruction for it
/// waits for its output register (7.1 ns instead of 3.9). Frames of a network are smaller.
const SMALL: usize = 2048;

/// Entries for small requests: one for each multiple of [`STEP`], and one for 0.
const SMALL_ENTRIES: usize = SMALL / STEP + 1;

/// Buckets for each power of two. A class that begins within a bucket takes a second comparison, so
/// more buckets make that rarer, and the table longer.
const PER_POWER: usize = 4;

const SMALL_POWER: usize = SMALL.ilog2() as usize;

const BUCKETS: usize = (32 - SMALL_POWER) * PER_POWER;

/// Finds the class of a request.
pub(super) struct Sizes {
    largest: usize,
    small: [u8; SMALL_ENTRIES],
    large: [u8; BUCKETS],
}

/// The bucket of a size above [`SMALL`] and up to 2^32: the power of two below it, and the two bits
/// after the highest. It is below, so that a class whose size is a power of two ends a bucket, and
/// no bucket has requests of two classes if sizes double.
#[inline]
const fn bucket(size: usize) -> usize {
    let below = (size - 1) as u32;
    let power = 31 ^ below.leading_zeros();
    let within = (below >> (power - 2)) as usize & (PER_POWER - 1);
    (power as usize - SMALL_POWER) * PER_POWER + within
}

/// The sizes of a builder's classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassSizes {
    sizes: [u32; MOST_CLASSES],
    count: usize,
    largest: usize,
}

impl ClassSizes {
    /// Sizes from `start` on, multiplied by `growth`, up to one in which `largest` fits.
    pub(super) fn new(start: usize, growth: f64, largest: usize) -> Result<Self, BuildError> {
        if !growth.is_finite() || growth <= 1.0 {
            return Err(BuildError::Growth);
        }
        BuildError::in_range("smallest", start, 1, LARGEST)?;
        BuildError::in_range("largest", largest, 1, LARGEST)?;
        let mut classes = ClassSizes {
            sizes: [0; MOST_CLASSES],
            count: 0,
            largest: 0,
        };
        let mut size = start.next_multiple_of(STEP);
        loop {
            let Some(place) = classes.sizes.get_mut(classes.count) else {
                return Err(BuildError::TooManyClasses { largest });
            };
            *place = size as u32;
            classes.count += 1;
            if size >= largest {
                break;
            }
            // At most 2^32 times the factor: a conversion saturates.
            let grown = ceil(size as f64 * growth).min(LARGEST);
            size = grown.next_multiple_of(STEP).min(LARGEST);
        }
        classes.largest = size;
        Ok(classes)
    }

    /// The first of the sizes, as long as they fit; at least one.
    pub(super) fn up_to(mut self, fits: impl Fn(usize) -> bool) -> Self {
        let fit = self
            .as_slice()
            .iter()
            .take_while(|&&size| fits(size as usize));
        self.count = fit.count().max(1);
        self.largest = self.sizes[self.count - 1] as usize;
        self
    }

    pub(super) fn as_slice(&self) -> &[u32] {
        &self.sizes[..self.count]
    }

    /// The largest request.
    pub(super) fn largest(&self) -> usize {
        self.largest
    }

    /// The alignment of chunks in which the buffers of every class are [aligned](natural_alignment):
    /// a chunk may serve any of them.
    pub(super) fn chunk_alignment(&self) -> usize {
        let alignments = self.as_slice().iter().map(|&size| natural_alignment(size));
        alignments.fold(CACHE_LINE, usize::max)
    }
}

/// The address of a buffer is a multiple of the largest power of two that its size is a multiple of,
/// and no more than a page: devices read and write whole sectors, and pages.
fn natural_alignment(size: u32) -> usize {
    1 << size.trailing_zeros().min(PAGE.ilog2())
}

/// The next integer that is not less; `f64::ceil` needs `std`.
fn ceil(value: f64) -> usize {
    let whole = value as usize;
    if (whole as f64) < value {
        whole.saturating_add(1)
    } else {
        whole
    }
}

impl Sizes {
    pub(super) fn new(classes: &ClassSizes) -> Self {
        let sizes = classes.as_slice();
        // The sizes of a table increase, so one walk over the classes answers for all of them.
        let classes_for_increasing = || {
            let mut class = 0;
            move |size: u64| {
                // Past the last class there is no request (`sizes-increase`).
                while class + 1 < sizes.len() && u64::from(sizes[class]) < size {
                    class += 1;
                }
                class as u8
            }
        };
        let (mut small, mut large) = (classes_for_increasing(), classes_for_increasing());
        Sizes {
            largest: classes.largest(),
            small: core::array::from_fn(|index| small((index * STEP) as u64)),
            large: core::array::from_fn(|index| {
                let (power, within) = (SMALL_POWER + index / PER_POWER, index % PER_POWER);
                // The least size of the bucket.
                large((((PER_POWER + within) as u64) << (power - 2)) + 1)
            }),
        }
    }

    /// The largest request.
    #[inline]
    pub(super) fn largest(&self) -> usize {
        self.largest
    }

    /// The first class that may fit the size, which is not above the largest. For a small request
    /// it is the class that fits.
    #[inline(always)]
    pub(super) fn first(&self, size: usize) -> usize {
        debug_assert!(size <= self.largest);
        if size <= SMALL {
            // SAFETY: at most the last entry, that of `SMALL`.
            unsafe { *self.small.get_unchecked(size.div_ceil(STEP)) }.into()
        } else {
            // SAFETY: below 2^32, so of a power of two below 32.
            unsafe { *self.large.get_unchecked(bucket(size)) }.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::amount;

    fn found(classes: &ClassSizes, table: &Sizes, size: usize) -> usize {
        let mut class = table.first(size);
        while (classes.as_slice()[class] as usize) < size {
            class += 1;
        }
        class
    }

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn every_request_takes_the_first_class_that_fits() {
        let every = amount(true, false);
        for (start, growth, largest) in [
            (1, 2.0, 5000),
            (64, 1.05, 1000),
            (48, 1.5, 5000),
            (100, 1.25, 5000),
            (16, 7.0, 5000),
        ] {
            let classes = ClassSizes::new(start, growth, largest).unwrap();
            let table = Sizes::new(&classes);
            let sizes: Vec<usize> = if every {
                (0..=classes.largest()).collect()
            } else {
                // The answer changes next to a class, and is looked up by buckets.
                let edges = classes.as_slice().iter().map(|&class| class as usize);
                let edges = edges.chain((0..classes.largest()).step_by(512));
                let sizes = edges.flat_map(|edge| [edge, edge + 1]);
                sizes.filter(|&size| size <= classes.largest()).collect()
            };
            for size in sizes {
                let expected = classes
                    .as_slice()
                    .iter()
                    .position(|&class| class as usize >= size);
                assert_eq!(
                    Some(found(&classes, &table, size)),
                    expected,
                    "{start} {growth} {size}"
                );
            }
        }
    }

    #[test]
    fn sizes_are_multiples_of_16_that_increase() {
        let classes = ClassSizes::new(10, 1.01, 500).unwrap();
        let sizes = classes.as_slice();
        assert_eq!(&sizes[..3], [16, 32, 48]);
        assert!(sizes.iter().all(|size| size % 16 == 0));
        assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(classes.largest() >= 500);
    }

    #[test]
    fn the_largest_buffer_is_the_last_class() {
        let classes = ClassSizes::new(64, 3.7, LARGEST).unwrap();
        assert_eq!(classes.largest(), LARGEST);
        let table = Sizes::new(&classes);
        let last = classes.as_slice().len() - 1;
        assert_eq!(found(&classes, &table, LARGEST), last);
    }

    #[test]
    fn bad_sizes_are_refused() {
        for growth in [1.0, 0.5, -2.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                ClassSizes::new(64, growth, 1024).unwrap_err(),
                BuildError::Growth
            );
        }
        let many = BuildError::TooManyClasses { largest: 1 << 20 };
        assert_eq!(ClassSizes::new(16, 1.001, 1 << 20).unwrap_err(), many);
        for (start, largest, option, given) in [
            (0, 1, "smallest", 0),
            (LARGEST + 1, 1, "smallest", LARGEST + 1),
            (1, 0, "largest", 0),
            (1, LARGEST + 1, "largest", LARGEST + 1),
        ] {
            let refused = BuildError::OutOfRange {
                option,
                given,
                min: 1,
                max: LARGEST,
            };
            assert_eq!(ClassSizes::new(start, 2.0, largest).unwrap_err(), refused);
        }
    }
}
