//! Which class a request takes, where its chunk lies, and builders with odd numbers.

use std::collections::BTreeMap;

use flatslab::bytes::{ByteArena, RequestError};
use flatslab::{BuildError, Builder, SizeError};

use crate::common::{amount, panics};
use crate::{expect_owner, owned_by};

/// The chunk sizes of an arena.
fn sizes(arena: &ByteArena) -> Vec<usize> {
    let stats = arena.stats();
    stats.classes().iter().map(|class| class.size).collect()
}

/// The size of the class that has a chunk in use.
fn class_in_use(arena: &ByteArena) -> usize {
    let stats = arena.stats();
    let mut used = stats.classes().iter().filter(|class| class.in_use > 0);
    let size = used.next().expect("a chunk is in use").size;
    assert!(used.next().is_none());
    size
}

fn refused(builder: Builder<ByteArena>) -> BuildError {
    builder.try_build().unwrap_err()
}

fn odd_builders() -> [Builder<ByteArena>; 6] {
    let builder = ByteArena::builder;
    [
        builder().smallest(1).chunk_bytes(300),
        builder()
            .smallest(64)
            .growth(1.05)
            .chunk_bytes(1000)
            .largest(900),
        builder().smallest(100).growth(1.5).chunk_bytes(1000),
        builder()
            .smallest(48)
            .growth(40.0)
            .chunk_bytes(64)
            .largest(3000),
        builder().smallest(2000).chunk_bytes(1).largest(5),
        builder()
            .smallest(16)
            .growth(1.0000001)
            .chunk_bytes(512)
            .largest(64 * 16),
    ]
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn every_request_takes_the_first_class_that_fits() {
    for builder in odd_builders().into_iter().step_by(amount(1, 4)) {
        let arena = builder.build();
        let sizes = sizes(&arena);
        assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(sizes.iter().all(|size| size % 16 == 0));
        let largest = *sizes.last().unwrap();
        // Around some of the classes under an interpreter, else all.
        let near = sizes
            .iter()
            .step_by(3)
            .flat_map(|&size| [size - 1, size, size + 1]);
        let requests: Vec<usize> = if cfg!(miri) {
            near.filter(|&size| size <= largest).collect()
        } else {
            (0..=largest).collect()
        };
        for size in requests {
            let buf = arena.try_alloc(size).unwrap();
            assert_eq!(buf.capacity(), size);
            let expected = sizes.iter().find(|&&class| class >= size);
            assert_eq!(Some(&class_in_use(&arena)), expected, "{size}");
        }
        let error = arena.try_alloc(largest + 1).unwrap_err();
        let size = largest + 1;
        let limit = largest;
        assert_eq!(error, RequestError::TooLarge(SizeError { size, limit }));
    }
}

#[test]
fn requests_above_the_largest_chunk_are_refused_and_counted() {
    let arena = ByteArena::builder().chunk_bytes(1024).build();
    // 2^32 and a little more, where there is such a size.
    let [wide, wider] = [1 << 32, (1 << 32) + 4].map(|it: u64| it.try_into().unwrap_or(1026));
    for size in [1025, wide, wider, isize::MAX as usize, usize::MAX] {
        let error = RequestError::TooLarge(SizeError { size, limit: 1024 });
        assert_eq!(arena.try_alloc(size).unwrap_err(), error);
        assert_eq!(arena.try_alloc_zeroed(size).unwrap_err(), error);
        assert_eq!(arena.prepare(size, 1), Err(error));
        assert!(error.to_string().contains(&size.to_string()));
    }
    let stats = arena.stats();
    assert_eq!((stats.too_large_errs, stats.mallocs), (15, 0));
    assert_eq!(arena.try_alloc(1024).unwrap().capacity(), 1024);
}

#[test]
fn a_request_of_no_bytes_takes_the_first_class() {
    let arena = ByteArena::builder().smallest(100).build();
    let buf = arena.try_alloc(0).unwrap();
    assert_eq!((buf.capacity(), class_in_use(&arena)), (0, 112));
    let buf = buf.freeze();
    assert!(buf.is_empty() && buf.slice(..).is_empty());
    let loc = buf.into_loc();
    assert!(loc.is_empty());
    assert_eq!(arena.resolve(loc).unwrap().references(), Some(2));
    assert!(arena.release(loc).unwrap());
}

#[test]
fn factors_that_do_not_grow_are_refused() {
    let odd = [
        1.0,
        0.999,
        0.0,
        -0.0,
        -2.0,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
    ];
    for growth in odd {
        let error = refused(ByteArena::builder().growth(growth));
        assert_eq!(error, BuildError::Growth, "{growth}");
    }
    let arena = ByteArena::builder().growth(f64::MAX).chunk_bytes(1 << 12);
    let arena = arena.largest(1 << 10).build();
    assert_eq!(sizes(&arena).len(), 2, "the second is as large as there is");
    assert!(panics(|| ByteArena::builder().growth(1.0).build()));
}

#[test]
fn sizes_of_0_are_refused() {
    let builder = ByteArena::builder;
    for (named, odd) in [
        ("smallest", builder().smallest(0)),
        ("chunk_bytes", builder().chunk_bytes(0)),
        ("largest", builder().largest(0)),
    ] {
        let refused = refused(odd);
        assert!(
            matches!(refused, BuildError::OutOfRange { option, given: 0, min: 1, .. } if option == named),
            "{refused}"
        );
    }
}

#[test]
#[cfg(target_pointer_width = "64")]
fn sizes_of_4_gib_and_more_are_refused() {
    let builder = ByteArena::builder;
    for size in [1 << 32, (1 << 32) + 16, isize::MAX as usize, usize::MAX] {
        for (named, odd) in [
            ("smallest", builder().smallest(size)),
            ("chunk_bytes", builder().chunk_bytes(size)),
            ("largest", builder().largest(size)),
        ] {
            let refused = refused(odd);
            assert!(
                matches!(refused, BuildError::OutOfRange { option, given, .. } if option == named && given == size),
                "{refused}"
            );
        }
    }
    // The largest there is, of which nothing is allocated.
    let largest = (u32::MAX as usize) / 16 * 16;
    let arena = builder().smallest(largest).largest(largest).build();
    assert_eq!(sizes(&arena), [largest]);
    assert!(arena.try_alloc(largest + 1).is_err());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn there_are_64_classes_at_most() {
    let builder = || ByteArena::builder().smallest(16).growth(1.0000001);
    let arena = builder().largest(64 * 16).build();
    assert_eq!(sizes(&arena).len(), 64);
    assert_eq!(arena.stats().size_classes, 64);
    let error = refused(builder().largest(64 * 16 + 1));
    let largest = 64 * 16 + 1;
    assert_eq!(error, BuildError::TooManyClasses { largest });
}

#[test]
fn a_start_above_the_largest_is_the_one_class() {
    let arena = ByteArena::builder()
        .smallest(5000)
        .largest(10)
        .chunk_bytes(1);
    let arena = arena.build();
    assert_eq!(sizes(&arena), [5008]);
    let bufs = [arena.try_alloc(5008).unwrap(), arena.try_alloc(0).unwrap()];
    // A buffer that is larger than a chunk has one of its own.
    assert_eq!(arena.stats().classes()[0].chunks, 2);
    drop(bufs);
}

/// The largest power of two that divides a size, up to a page.
fn natural_alignment(size: usize) -> usize {
    1 << size.trailing_zeros().min(12)
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_chunk_that_another_class_takes_over_is_aligned_for_it() {
    let sizes = [64, 512, 1024, 4096, 8192];
    for chunk_bytes in [100, 3 << 10, 5 << 10, 9 << 10] {
        let arena = ByteArena::builder()
            .chunk_bytes(chunk_bytes)
            .largest(8192)
            .max_bytes(40 << 10)
            .build();
        for size in sizes.into_iter().chain(sizes.into_iter().rev()) {
            let bufs: Vec<_> = std::iter::from_fn(|| arena.try_alloc(size).ok()).collect();
            assert!(!bufs.is_empty());
            for mut buf in bufs {
                let start = buf.spare_capacity_mut().as_ptr().addr();
                assert_eq!(
                    start % natural_alignment(size),
                    0,
                    "{size} of {chunk_bytes}"
                );
            }
        }
    }
}

#[test]
fn chunks_are_aligned_and_do_not_overlap() {
    for builder in odd_builders().into_iter().step_by(amount(1, 4)) {
        let arena = builder.build();
        let sizes = sizes(&arena);
        let most = amount(300, 8);
        let mut bufs = Vec::new();
        let mut taken = BTreeMap::new();
        for number in 0..most {
            let class = sizes[number * 7 % sizes.len()];
            let buf = owned_by(&arena, number as u8, class);
            let start = buf.as_ptr().addr();
            assert_eq!(start % natural_alignment(class), 0, "{class}");
            let (before, after) = (
                taken.range(..start + class).next_back(),
                taken.range(start..).next(),
            );
            let ends: Option<&usize> = before.map(|(_, end)| end);
            assert!(ends.is_none_or(|&end| end <= start), "overlaps");
            assert!(after.is_none_or(|(&next, _)| next >= start + class));
            taken.insert(start, start + class);
            bufs.push(buf);
        }
        for (number, buf) in (0..).map(|number: usize| number as u8).zip(&bufs) {
            expect_owner(buf, number);
        }
    }
}

#[test]
fn a_chunk_smaller_than_a_buffer_has_one_of_them() {
    let arena = ByteArena::builder()
        .smallest(64)
        .chunk_bytes(100)
        .largest(4096);
    let arena = arena.build();
    let bufs = [4096, 4096, 64].map(|size| owned_by(&arena, size as u8, size));
    let stats = arena.stats();
    let last = stats.classes().last().unwrap();
    assert_eq!((last.chunks, last.buffers), (2, 2));
    let first = stats.classes()[0];
    assert_eq!((first.chunks, first.buffers), (1, 1));
    drop(bufs);
}
