//! `&Arena` and `&Scope` as allocators of other crates' collections.

use std::alloc::Layout;
use std::ptr::NonNull;

use allocator_api2::alloc::Allocator;
use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use flatslab::bump::Arena;
use hashbrown::{DefaultHashBuilder, HashMap};

use crate::common::random::{one_in, random, seed};
use crate::values::{Count, ignore};

const MANY: usize = if cfg!(miri) { 40 } else { 2000 };

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

fn use_collections<A: Allocator + Copy>(arena: A, count: &Count) {
    let mut map = HashMap::with_hasher_in(DefaultHashBuilder::default(), arena);
    let mut vec = Vec::new_in(arena);
    for number in 0..MANY {
        map.insert(number, count.make(number));
        vec.push(count.make(number));
    }
    map.retain(|number, _| number % 3 == 0);
    map.shrink_to_fit();
    vec.truncate(MANY / 2);
    vec.shrink_to_fit();
    vec.extend((0..MANY).map(|number| count.make(number)));
    assert!(map.iter().all(|(number, it)| *number == it.number));
    assert!(
        vec.iter()
            .map(|it| it.number)
            .eq((0..MANY / 2).chain(0..MANY))
    );
    let other = vec.clone();
    drop(vec);
    let again = map.clone();
    drop(map);
    assert_eq!(
        (other.len(), again.len()),
        (MANY / 2 + MANY, MANY.div_ceil(3))
    );
    let boxed: Box<[_], A> = other.into_boxed_slice();
    assert_eq!(boxed[MANY / 2].number, 0);
    let mut vec = boxed.into_vec();
    vec.push(count.make(7));
    assert_eq!(vec.pop().unwrap().number, 7);
}

#[test]
fn maps_and_vectors_live_in_arenas_and_scopes() {
    let count = Count::default();
    let mut arena = Arena::builder().chunk_bytes(512).build();
    let mut bounded = Arena::bounded(MANY * 2000);
    for _ in 0..2 {
        use_collections(&arena, &count);
        use_collections(&bounded, &count);
        count.expect(0);
        arena.scope(|mut scope| {
            let kept = scope.alloc_slice_fill(100, 7_u64);
            use_collections(&scope, &count);
            scope.scope(|inner| use_collections(&inner, &count));
            assert!(kept.iter().all(|it| *it == 7));
        });
        count.expect(0);
        arena.reset();
        bounded.reset();
    }
}

#[test]
fn a_full_arena_is_an_error_of_the_collection() {
    let arena = Arena::bounded(96);
    let mut vec = Vec::new_in(&arena);
    assert!(vec.try_reserve(13).is_err());
    vec.try_reserve_exact(12).unwrap();
    vec.extend(0..12_u64);
    assert!(vec.try_reserve(1).is_err());
    assert_eq!(vec.iter().sum::<u64>(), 66);
    assert!((&arena).allocate(layout(64, 8)).is_err());
}

/// The position took the pointer that was freed: what was allocated next was accessed
/// through a reference to the value that stood there.
#[test]
fn a_pointer_that_is_valid_for_its_value_alone_may_be_freed() {
    let arena = Arena::new();
    let value: &mut u64 = Box::leak(Box::new_in(7_u64, &arena));
    // SAFETY: leaked with this allocator.
    drop(unsafe { Box::from_raw_in(value, &arena) });
    let row = arena.alloc([1_u64; 64]);
    row[63] = 2;
    assert_eq!(row[62..], [1, 2]);
}

#[test]
fn a_pointer_that_is_valid_for_its_value_alone_may_grow_and_shrink() {
    let arena = Arena::new();
    let (one, eight) = (Layout::new::<u64>(), Layout::new::<[u64; 8]>());
    let place = (&arena).allocate(one).unwrap().cast::<u64>();
    // SAFETY: the memory is used as it was given.
    unsafe {
        place.write(7);
        let narrow = NonNull::from(&mut *place.as_ptr());
        let grown = (&arena).grow(narrow.cast(), one, eight).unwrap();
        assert_eq!(grown.len(), 64);
        let row = grown.cast::<[u64; 8]>();
        assert_eq!(row.cast::<u64>().read(), 7);
        row.write([1; 8]);
        let narrow = NonNull::from(&mut *row.as_ptr());
        let small = (&arena).shrink(narrow.cast(), eight, one).unwrap();
        assert_eq!(small.cast::<u64>().read(), 1);
    }
    assert_eq!(*arena.alloc([3_u64; 20]), [3; 20]);
    // A vector that was made of a boxed slice has such a pointer.
    let mut vec = Vec::new_in(&arena);
    vec.extend([1_u64, 2]);
    let mut vec = vec.into_boxed_slice().into_vec();
    vec.push(3);
    drop(vec);
    assert_eq!(*arena.alloc([4_u64; 20]), [4; 20]);
}

#[test]
fn growth_in_place_meets_the_new_alignment() {
    for align in [1, 2, 8, 16, 64, 4096] {
        for before in 0..5 {
            let arena = Arena::with_capacity(20_000);
            (0..before).for_each(|number| ignore(arena.alloc(number)));
            let old = layout(24, 8);
            let place = (&arena).allocate(old).unwrap().cast::<u8>();
            // SAFETY: the memory is used as it was given.
            unsafe {
                place.write_bytes(7, 24);
                let new = layout(100, align);
                let grown = (&arena).grow_zeroed(place, old, new).unwrap();
                assert_eq!(
                    (grown.cast::<u8>().addr().get() % align, grown.len()),
                    (0, 100)
                );
                let row = grown.as_ref();
                assert!(row[..24].iter().all(|it| *it == 7) && row[24..].iter().all(|it| *it == 0));
                let small = layout(16, 64);
                let shrunk = (&arena).shrink(grown.cast(), new, small).unwrap();
                assert_eq!(
                    (shrunk.cast::<u8>().addr().get() % 64, shrunk.len()),
                    (0, 16)
                );
                assert!(shrunk.as_ref().iter().all(|it| *it == 7));
                arena.alloc([9_u64; 30]);
                assert!(shrunk.as_ref().iter().all(|it| *it == 7));
            }
        }
    }
}

#[test]
fn memory_of_no_size_is_never_the_last() {
    let arena = Arena::bounded(64);
    let kept = arena.alloc(1_u64);
    let empty = layout(0, 8);
    let place = (&arena).allocate(empty).unwrap().cast();
    // SAFETY: the memory is used as it was given.
    unsafe {
        let same = (&arena).grow(place, empty, empty).unwrap();
        assert_eq!(same.len(), 0);
        (&arena).deallocate(place, empty);
        let aligned = (&arena).grow(place, empty, layout(0, 64)).unwrap();
        assert_eq!(aligned.cast::<u8>().addr().get() % 64, 0);
        let grown = (&arena).grow(place, empty, layout(8, 8)).unwrap();
        grown.cast::<u64>().write(2);
        let none = (&arena).shrink(grown.cast(), layout(8, 8), empty).unwrap();
        assert_eq!(arena.remaining(), 56);
        let next = arena.alloc(3_u64);
        // It has the address of what is there now, and no part of it.
        (&arena).deallocate(none.cast(), empty);
        assert_eq!((*kept, *next, arena.remaining()), (1, 3, 48));
    }
}

/// Random requests, each filled with its own number, of three alignments.
#[test]
fn random_requests_never_overlap() {
    for number in 0..if cfg!(miri) { 1 } else { 300 } {
        seed(number);
        let mut arena = Arena::builder().chunk_bytes(64 << random(7)).build();
        for _ in 0..2 {
            let allocator = &arena;
            let mut all: std::vec::Vec<(NonNull<u8>, Layout, u8)> = std::vec::Vec::new();
            let expect = |(place, layout, number): &(NonNull<u8>, Layout, u8), size: usize| {
                assert_eq!(place.addr().get() % layout.align(), 0);
                // SAFETY: initialised with that number.
                let row = unsafe { NonNull::slice_from_raw_parts(*place, size).as_ref() };
                assert!(row.iter().all(|it| it == number));
            };
            for step in 0..if cfg!(miri) { 40 } else { 300 } {
                let new = layout(
                    random(if one_in(9) { 400 } else { 60 }) as usize,
                    1 << random(8),
                );
                let at = random(all.len().max(1) as u64) as usize;
                // Often the last one.
                let at = if one_in(2) {
                    all.len().saturating_sub(1)
                } else {
                    at
                };
                // SAFETY: each is used as it was given.
                unsafe {
                    let old = if one_in(3) || all.is_empty() {
                        None
                    } else {
                        Some(all.remove(at))
                    };
                    let (place, kept) = match old {
                        None => (allocator.allocate(new).unwrap(), 0),
                        Some((place, old, _)) if one_in(3) => {
                            allocator.deallocate(place, old);
                            continue;
                        }
                        Some((place, old, byte)) => {
                            let kept = old.size().min(new.size());
                            let moved = if new.size() >= old.size() {
                                allocator.grow(place, old, new)
                            } else {
                                allocator.shrink(place, old, new)
                            };
                            let moved = moved.unwrap();
                            expect(&(moved.cast(), new, byte), kept);
                            (moved, kept)
                        }
                    };
                    assert!(kept <= place.len() && place.len() == new.size());
                    let byte = step as u8;
                    place.cast::<u8>().write_bytes(byte, new.size());
                    all.push((place.cast(), new, byte));
                }
                if !cfg!(miri) || step % 10 == 9 {
                    all.iter().for_each(|it| expect(it, it.1.size()));
                }
            }
            arena.reset();
        }
    }
}
