//! Which class a request takes, where its chunk lies, and builders with odd numbers.

use std::collections::BTreeMap;

use flatslab::bytes::{ByteArena, ByteArenaBuilder, RequestError};
use flatslab::{BuildError, SizeClassError};

use crate::common::{amount, panics};
use crate::{expect_owner, owned_by};

/// The chunk sizes of an arena.
fn sizes(arena: &ByteArena) -> Vec<usize> {
    let stats = arena.stats();
    stats
        .classes()
        .iter()
        .map(|class| class.chunk_size)
        .collect()
}

/// The size of the class that has a chunk in use.
fn class_in_use(arena: &ByteArena) -> usize {
    let stats = arena.stats();
    let mut used = stats.classes().iter().filter(|class| class.in_use > 0);
    let size = used.next().expect("a chunk is in use").chunk_size;
    assert!(used.next().is_none());
    size
}

fn refused(builder: ByteArenaBuilder) -> SizeClassError {
    match builder.try_build().unwrap_err() {
        BuildError::SizeClasses(error) => error,
        error => panic!("{error}"),
    }
}

fn odd_builders() -> [ByteArenaBuilder; 6] {
    let builder = ByteArena::builder;
    [
        builder().start(1).slab_size(300),
        builder()
            .start(64)
            .growth(1.05)
            .slab_size(1000)
            .largest(900),
        builder().start(100).growth(1.5).slab_size(1000),
        builder().start(48).growth(40.0).slab_size(64).largest(3000),
        builder().start(2000).slab_size(1).largest(5),
        builder()
            .start(16)
            .growth(1.0000001)
            .slab_size(512)
            .largest(64 * 16),
    ]
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn every_request_takes_the_first_class_that_fits() {
    for builder in odd_builders().into_iter().step_by(amount(1, 1, 4)) {
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
            let buf = arena.alloc(size).unwrap();
            assert_eq!(buf.capacity(), size);
            let expected = sizes.iter().find(|&&class| class >= size);
            assert_eq!(Some(&class_in_use(&arena)), expected, "{size}");
        }
        let error = arena.alloc(largest + 1).unwrap_err();
        let size = largest + 1;
        assert_eq!(error, RequestError::TooBig { size, largest });
    }
}

#[test]
fn requests_above_the_largest_chunk_are_refused_and_counted() {
    let arena = ByteArena::builder().slab_size(1024).build();
    // 2^32 and a little more, where there is such a size.
    let [wide, wider] = [1 << 32, (1 << 32) + 4].map(|it: u64| it.try_into().unwrap_or(1026));
    for size in [1025, wide, wider, isize::MAX as usize, usize::MAX] {
        let error = RequestError::TooBig {
            size,
            largest: 1024,
        };
        assert_eq!(arena.alloc(size).unwrap_err(), error);
        assert_eq!(arena.alloc_zeroed(size).unwrap_err(), error);
        assert_eq!(arena.reserve(size, 1), Err(error));
        assert!(error.to_string().contains(&size.to_string()));
    }
    let stats = arena.stats();
    assert_eq!((stats.too_big_errs, stats.mallocs), (15, 0));
    assert_eq!(arena.alloc(1024).unwrap().capacity(), 1024);
}

#[test]
fn a_request_of_no_bytes_takes_the_first_class() {
    let arena = ByteArena::builder().start(100).build();
    let buf = arena.alloc(0).unwrap();
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
        assert_eq!(error, SizeClassError::Growth, "{growth}");
    }
    let arena = ByteArena::builder().growth(f64::MAX).slab_size(1 << 12);
    let arena = arena.largest(1 << 10).build();
    assert_eq!(sizes(&arena).len(), 2, "the second is as large as there is");
    assert!(panics(|| ByteArena::builder().growth(1.0).build()));
}

#[test]
fn sizes_of_0_are_refused() {
    let builder = ByteArena::builder;
    for odd in [
        builder().start(0),
        builder().slab_size(0),
        builder().largest(0),
    ] {
        assert_eq!(refused(odd), SizeClassError::Zero);
    }
}

#[test]
#[cfg(target_pointer_width = "64")]
fn sizes_of_4_gib_and_more_are_refused() {
    let builder = ByteArena::builder;
    for size in [1 << 32, (1 << 32) + 16, isize::MAX as usize, usize::MAX] {
        for odd in [
            builder().start(size),
            builder().slab_size(size),
            builder().largest(size),
        ] {
            let error = refused(odd);
            assert!(matches!(error, SizeClassError::TooLarge { .. }), "{error}");
        }
    }
    // The largest there is, of which nothing is allocated.
    let largest = (u32::MAX as usize) / 16 * 16;
    let arena = builder().start(largest).largest(largest).build();
    assert_eq!(sizes(&arena), [largest]);
    assert!(arena.alloc(largest + 1).is_err());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn there_are_64_classes_at_most() {
    let builder = || ByteArena::builder().start(16).growth(1.0000001);
    let arena = builder().largest(64 * 16).build();
    assert_eq!(sizes(&arena).len(), 64);
    assert_eq!(arena.stats().slab_classes, 64);
    let error = refused(builder().largest(64 * 16 + 1));
    let largest = 64 * 16 + 1;
    assert_eq!(error, SizeClassError::TooManyClasses { largest });
}

#[test]
fn a_start_above_the_largest_is_the_one_class() {
    let arena = ByteArena::builder().start(5000).largest(10).slab_size(1);
    let arena = arena.build();
    assert_eq!(sizes(&arena), [5008]);
    let bufs = [arena.alloc(5008).unwrap(), arena.alloc(0).unwrap()];
    // A chunk that is larger than a slab has one of its own.
    assert_eq!(arena.stats().classes()[0].slabs, 2);
    drop(bufs);
}

#[test]
fn what_remains_of_a_slab_is_said() {
    let arena = ByteArena::builder().start(96).largest(96).slab_size(1000);
    let arena = arena.build();
    let _buf = arena.alloc(1).unwrap();
    let class = arena.stats().classes()[0];
    assert_eq!((class.chunks, class.unused_bytes), (10, 40));
}

#[test]
fn chunks_are_aligned_and_do_not_overlap() {
    for builder in odd_builders().into_iter().step_by(amount(1, 1, 4)) {
        let arena = builder.build();
        let sizes = sizes(&arena);
        let most = amount(300, 60, 8);
        let mut bufs = Vec::new();
        let mut taken = BTreeMap::new();
        for number in 0..most {
            let class = sizes[number * 7 % sizes.len()];
            let buf = owned_by(&arena, number as u8, class);
            let start = buf.as_ptr().addr();
            assert_eq!(start % 16, 0);
            assert!(class % 64 != 0 || start % 64 == 0, "{class}");
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
fn a_slab_smaller_than_a_chunk_has_one_of_them() {
    let arena = ByteArena::builder().start(64).slab_size(100).largest(4096);
    let arena = arena.build();
    let bufs = [4096, 4096, 64].map(|size| owned_by(&arena, size as u8, size));
    let stats = arena.stats();
    let last = stats.classes().last().unwrap();
    assert_eq!((last.slabs, last.chunks, last.unused_bytes), (2, 2, 0));
    let first = stats.classes()[0];
    assert_eq!((first.slabs, first.chunks, first.unused_bytes), (1, 1, 36));
    drop(bufs);
}
