//! Values of no size take no space and are aligned; any alignment works.

use std::alloc::Layout;

use flatslab::bump::{Arena, ArenaBox, ArenaVec};

use crate::values::Count;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(16))]
struct Wide(u8);
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
struct Line(u8);
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(4096))]
struct Page(u8);
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(32768))]
struct Huge(u8);
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(65536))]
struct Huger(u8);
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(4096))]
struct Nothing;

#[test]
fn every_alignment_works_in_every_method() {
    let mut arena = Arena::builder().chunk_bytes(300).build();
    for _ in 0..2 {
        macro_rules! each {
            ($($type:ident)*) => {$({
                arena.alloc(7_u8);
                let one = arena.alloc($type(1));
                let row = arena.alloc_slice_copy(&[$type(2), $type(3)]);
                let boxed = arena.boxed($type(4));
                let array = arena.alloc_slice_fill_default::<$type>(3);
                let mut vec = ArenaVec::new_in(&arena);
                vec.extend([$type(5); 5]);
                arena.alloc(8_u8);
                vec.push($type(6));
                assert!(std::ptr::from_ref(one).is_aligned() && row.as_ptr().is_aligned());
                assert!((&raw const *boxed).is_aligned() && array.as_ptr().is_aligned());
                assert!(vec.as_ptr().is_aligned());
                assert_eq!((*one, *boxed), ($type(1), $type(4)));
                assert_eq!(row, [$type(2), $type(3)]);
                assert_eq!((vec[4], vec[5]), ($type(5), $type(6)));
            })*};
        }
        each!(Wide);
        // Aligned by its address, which the symbolic check of Miri does not see.
        if !cfg!(miri) {
            each!(Line Page);
        }
        arena.reset();
    }
}

/// Beyond what is taken without a test for overflow.
#[test]
#[cfg_attr(
    miri,
    ignore = "aligned by address, which its symbolic check does not see"
)]
fn alignments_of_half_a_mebibyte_and_less() {
    let mut arena = Arena::new();
    for _ in 0..2 {
        arena.alloc(7_u8);
        let half = arena.alloc_slice_fill_default::<Huge>(2);
        let whole = arena.alloc_slice_fill_default::<Huger>(2);
        assert!(half.as_ptr().is_aligned() && whole.as_ptr().is_aligned());
        assert_eq!((half[1].0, whole[1].0), (0, 0));
        let one = std::ptr::from_ref(arena.alloc(Huger(1)));
        assert!(one.is_aligned());
        let layout = Layout::from_size_align(8, 1 << 19).unwrap();
        assert_eq!(arena.alloc_layout(layout).addr().get() % (1 << 19), 0);
        arena.reset();
    }
}

#[test]
fn layouts_of_every_size_and_alignment() {
    let mut arena = Arena::new();
    let most = if cfg!(miri) { 12 } else { 17 };
    for _ in 0..2 {
        let mut last: Vec<(usize, usize)> = Vec::new();
        for align in (0..most).map(|power| 1 << power) {
            for size in [0, 1, 7, 8, 9, 4096, 65535, 65536] {
                if cfg!(miri) && size > 9 && align != 64 {
                    continue;
                }
                let layout = Layout::from_size_align(size, align).unwrap();
                let place = arena.alloc_layout(layout);
                assert_eq!(place.addr().get() % align, 0);
                if size > 0 {
                    let range = (place.addr().get(), place.addr().get() + size);
                    let apart = |other: &(usize, usize)| other.1 <= range.0 || range.1 <= other.0;
                    assert!(last.iter().all(apart));
                    last.push(range);
                    // SAFETY: so many bytes are ours.
                    unsafe { place.write_bytes(7, size) };
                }
            }
        }
        arena.reset();
    }
}

#[test]
fn values_of_no_size_take_no_space() {
    let arena = Arena::bounded(8);
    assert!(std::ptr::from_ref(arena.alloc(Nothing)).is_aligned());
    assert!(arena.alloc_slice_fill(1000, Nothing).as_ptr().is_aligned());
    assert_eq!(arena.alloc_slice_copy(&[[0_u64; 0]; 5]).len(), 5);
    assert_eq!(arena.alloc_slice_fill_with(3, drop).len(), 3);
    assert_eq!(arena.alloc_slice_iter((0..9).map(drop)).len(), 9);
    assert_eq!(arena.alloc_slice_from_vec(vec![Nothing; 4]).len(), 4);
    let boxed = arena.boxed(Nothing);
    assert_eq!(ArenaBox::into_inner(boxed), Nothing);
    let layout = Layout::new::<Nothing>();
    assert_eq!(arena.alloc_layout(layout).addr().get() % 4096, 0);
    let mut vec = ArenaVec::new_in(&arena);
    vec.extend([Nothing; 100]);
    assert_eq!(
        (vec.len(), vec.pop(), vec.into_slice().len()),
        (100, Some(Nothing), 99)
    );
    assert!(arena.try_alloc_slice_fill_default::<()>(1 << 10).is_ok());
    assert_eq!(arena.remaining(), 8);
}

#[test]
fn values_of_no_size_are_dropped() {
    thread_local! {
        static COUNT: Count = Count::default();
    }
    struct Counts;
    impl Counts {
        fn new() -> Self {
            COUNT.with(|count| std::mem::forget(count.make(0)));
            Counts
        }
    }
    impl Drop for Counts {
        fn drop(&mut self) {
            let one = COUNT.with(|count| count.make(0));
            // One for the value, one for this.
            drop(one.clone());
            drop(one);
            DROPS.with(|drops| drops.set(drops.get() + 1));
        }
    }
    thread_local! {
        static DROPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
    let arena = Arena::bounded(0);
    drop(arena.boxed(Counts::new()));
    drop(arena.alloc_boxed_slice(3, |_| Counts::new()));
    let mut vec = ArenaVec::new_in(&arena);
    vec.push(Counts::new());
    vec.push(Counts::new());
    drop(vec.pop());
    drop(vec);
    arena.alloc(Counts::new());
    assert_eq!(DROPS.get(), 6, "`alloc` drops none");
}

#[test]
fn copies_of_every_length_are_exact() {
    // Pointers and bytes that are not initialised are copied too.
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Odd(u8, &'static u64, [u8; 3]);

    let bytes: Vec<u8> = (0..100).collect();
    let arena = Arena::builder().chunk_bytes(200).build();
    for len in 0..100 {
        // Where the way to copy changes.
        if cfg!(miri) && !matches!(len, 0..=5 | 7..=9 | 16 | 17 | 32 | 33 | 60) {
            continue;
        }
        for start in [0, 1, 3] {
            let from = &bytes[start..len.max(start)];
            let copy = arena.alloc_slice_copy(from);
            arena.alloc(u64::MAX);
            assert_eq!(copy, from);
        }
        let padded = vec![(1_u8, 2_u32); len];
        assert_eq!(arena.alloc_slice_copy(&padded), padded);
        let pointers = vec![&7_u64; len.min(6)];
        assert!(arena.alloc_slice_copy(&pointers).iter().all(|it| **it == 7));
        let odd = vec![Odd(1, &8, [2; 3]); len.min(4)];
        assert!(arena.alloc_slice_copy(&odd).iter().all(|it| *{ it.1 } == 8));
    }
}
