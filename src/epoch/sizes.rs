//! Size classes of buffers: 64 bytes, and each half as large again, or a third, in turn: 64,
//! 96, 128, 192, 256, 384, …

/// How many classes there are, up to 2³⁰ bytes.
pub(super) const CLASSES: usize = 2 * (30 - 6) + 1;

/// What every buffer is aligned to at least: all sizes are multiples of it.
pub(super) const ALIGN: usize = 32;

/// Bytes of the buffers of a class.
pub(super) const fn size_of_class(class: usize) -> usize {
    (if class % 2 == 0 { 64 } else { 96 }) << (class / 2)
}

/// Requests up to this find their class by one load: to compute it takes 15 instructions, and a
/// branch at 64 bytes, which sizes at random mispredict.
pub(super) const SMALL: usize = 2048;

/// The classes of small requests: one to each multiple of [`ALIGN`], and 0.
const CLASSES_OF_SMALL: [u8; SMALL / ALIGN + 1] = {
    let mut classes = [0; SMALL / ALIGN + 1];
    let mut index = 0;
    while index < classes.len() {
        classes[index] = computed_class_of(index * ALIGN) as u8;
        index += 1;
    }
    classes
};

/// The smallest class whose buffers have `bytes` bytes, which are at most 2³⁰.
pub(super) const fn class_of(bytes: usize) -> usize {
    if bytes <= SMALL {
        // SAFETY: as just asked.
        unsafe { class_of_small(bytes) }
    } else {
        computed_class_of(bytes)
    }
}

/// As [`class_of`].
///
/// # Safety
///
/// The bytes are at most [`SMALL`].
#[inline(always)]
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
