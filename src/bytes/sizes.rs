//! The sizes of the classes, and which class a request takes.
//!
//! # Invariants
//!
//! * S1: sizes are multiples of 16 that increase from class to class; the last one is not
//!   less than `largest`, the largest request.
//! * S2: `first[bucket(size)]` is a class, and none before it fits a request of `size`.

use crate::error::SizeClassError;

/// Chunk sizes are multiples of this, so that a chunk suits any type of that alignment.
pub(super) const STEP: usize = 16;

/// The most classes.
pub(super) const MOST_CLASSES: usize = 64;

/// The largest chunk: lengths of buffers take 32 bits.
pub(super) const LARGEST_CHUNK: usize = {
    let words = if isize::MAX as usize > u32::MAX as usize {
        u32::MAX as usize
    } else {
        isize::MAX as usize
    };
    words / STEP * STEP
};

/// Buckets to each power of two. A class that begins within a bucket takes a second
/// comparison, so more of them make that rarer, and the table longer.
const PER_POWER: usize = 4;

const BUCKETS: usize = 32 * PER_POWER;

/// Which class a request takes first.
pub(super) struct Sizes {
    largest: usize,
    first: [u8; BUCKETS],
}

/// The bucket of a size below 2^32: its power of two and the two bits after the highest.
#[inline(always)]
const fn bucket(size: usize) -> usize {
    // Sizes up to 4 share a bucket: no class begins there.
    let size = if size < 4 { 4 } else { size as u32 };
    let power = 31 - size.leading_zeros();
    let within = (size >> (power - 2)) as usize & (PER_POWER - 1);
    power as usize * PER_POWER + within
}

/// The sizes of a builder's classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Classes {
    sizes: [u32; MOST_CLASSES],
    count: usize,
    largest: usize,
}

impl Classes {
    /// Classes from `start` on by `growth` up to one in which `largest` fits.
    pub(super) fn new(start: usize, growth: f64, largest: usize) -> Result<Self, SizeClassError> {
        if !growth.is_finite() || growth <= 1.0 {
            return Err(SizeClassError::Growth);
        }
        if start == 0 || largest == 0 {
            return Err(SizeClassError::Zero);
        }
        let too_large = |size| SizeClassError::TooLarge {
            size,
            limit: LARGEST_CHUNK,
        };
        let most = start.max(largest);
        if most > LARGEST_CHUNK {
            return Err(too_large(most));
        }
        let mut classes = Classes {
            sizes: [0; MOST_CLASSES],
            count: 0,
            largest: 0,
        };
        let mut size = start.next_multiple_of(STEP);
        loop {
            let Some(place) = classes.sizes.get_mut(classes.count) else {
                return Err(SizeClassError::TooManyClasses { largest });
            };
            *place = size as u32;
            classes.count += 1;
            if size >= largest {
                break;
            }
            // At most 2^32 times the factor: a conversion saturates.
            let grown = ceil(size as f64 * growth).min(LARGEST_CHUNK);
            size = grown.next_multiple_of(STEP).min(LARGEST_CHUNK);
        }
        classes.largest = size;
        Ok(classes)
    }

    pub(super) fn as_slice(&self) -> &[u32] {
        &self.sizes[..self.count]
    }

    /// The largest request.
    pub(super) fn largest(&self) -> usize {
        self.largest
    }
}

/// The next integer that is not less; `f64::ceil` wants `std`.
fn ceil(value: f64) -> usize {
    let whole = value as usize;
    if (whole as f64) < value {
        whole.saturating_add(1)
    } else {
        whole
    }
}

impl Sizes {
    pub(super) fn new(classes: &Classes) -> Self {
        let sizes = classes.as_slice();
        let mut first = [0; BUCKETS];
        for (index, entry) in first.iter_mut().enumerate() {
            let (power, within) = (index / PER_POWER, index % PER_POWER);
            // Buckets below that of 4 are not met.
            let least = ((PER_POWER + within) as u64) << power.saturating_sub(2);
            let fits = sizes.iter().position(|&size| u64::from(size) >= least);
            // Past the last class there is no request (S1).
            *entry = fits.unwrap_or(sizes.len() - 1) as u8;
        }
        Sizes {
            largest: classes.largest(),
            first,
        }
    }

    /// The largest request.
    #[inline(always)]
    pub(super) fn largest(&self) -> usize {
        self.largest
    }

    /// The class that the search for one begins at. The size is not above the largest.
    #[inline(always)]
    pub(super) fn first(&self, size: usize) -> usize {
        self.first[bucket(size)].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(classes: &Classes, table: &Sizes, size: usize) -> usize {
        let mut class = table.first(size);
        while (classes.as_slice()[class] as usize) < size {
            class += 1;
        }
        class
    }

    #[test]
    fn every_request_takes_the_first_class_that_fits() {
        for (start, growth, largest) in [
            (1, 2.0, 5000),
            (64, 1.05, 1000),
            (48, 1.5, 5000),
            (100, 1.25, 5000),
            (16, 7.0, 5000),
        ] {
            let classes = Classes::new(start, growth, largest).unwrap();
            let table = Sizes::new(&classes);
            for size in 0..=classes.largest() {
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
        let classes = Classes::new(10, 1.01, 500).unwrap();
        let sizes = classes.as_slice();
        assert_eq!(&sizes[..3], [16, 32, 48]);
        assert!(sizes.iter().all(|size| size % 16 == 0));
        assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(classes.largest() >= 500);
    }

    #[test]
    fn the_largest_chunk_is_the_last_class() {
        let classes = Classes::new(64, 3.7, LARGEST_CHUNK).unwrap();
        assert_eq!(classes.largest(), LARGEST_CHUNK);
        let table = Sizes::new(&classes);
        let last = classes.as_slice().len() - 1;
        assert_eq!(found(&classes, &table, LARGEST_CHUNK), last);
    }

    #[test]
    fn bad_sizes_are_refused() {
        for growth in [1.0, 0.5, -2.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                Classes::new(64, growth, 1024).unwrap_err(),
                SizeClassError::Growth
            );
        }
        assert_eq!(Classes::new(0, 2.0, 1).unwrap_err(), SizeClassError::Zero);
        assert_eq!(Classes::new(1, 2.0, 0).unwrap_err(), SizeClassError::Zero);
        let many = SizeClassError::TooManyClasses { largest: 1 << 20 };
        assert_eq!(Classes::new(16, 1.001, 1 << 20).unwrap_err(), many);
        assert!(matches!(
            Classes::new(LARGEST_CHUNK + 1, 2.0, 1),
            Err(SizeClassError::TooLarge { .. })
        ));
    }
}
