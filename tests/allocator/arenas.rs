//! The n-th request of an arena fails, for n = 1, 2, …, in every operation: an error,
//! the value given back, the arena usable, nothing leaked.

use std::alloc::Layout;
use std::rc::Rc;

use flatslab::bump::{Arena, ArenaString, ArenaVec, CollectIn};
use flatslab::{AllocError, BuildError, FullError};

use crate::common::amount;
use crate::{allocations, with_fuse, without_leak, without_memory};

type Large = [u64; 9];

/// An operation on an arena. `shared` is cloned into what it makes; whether it failed.
type Operation = fn(&Arena, &Rc<()>) -> bool;

fn refused<T>(result: Result<T, AllocError>) -> bool {
    match result {
        Ok(_) => false,
        Err(AllocError::OutOfMemory { bytes: 1.. }) => true,
        Err(error) => panic!("{error}"),
    }
}

fn returned<T>(result: Result<(), FullError<T>>, is_whole: impl Fn(&T) -> bool) -> bool {
    match result {
        Ok(()) => false,
        Err(full) => {
            assert!(is_whole(&full.into_inner()), "the value comes back");
            true
        }
    }
}

const OPERATIONS: [Operation; 20] = [
    |arena, _| {
        returned(arena.try_alloc([7; 9]).map(|_| ()), |it: &Large| {
            *it == [7; 9]
        })
    },
    |arena, shared| {
        let value = (shared.clone(), [7; 9]);
        returned(arena.try_boxed(value).map(drop), |it: &(_, Large)| {
            it.1 == [7; 9]
        })
    },
    |arena, _| refused(arena.try_alloc_with(|| [7_u64; 9])),
    |arena, _| refused(arena.try_alloc_with(|| 7_u64)),
    |arena, _| refused(arena.try_alloc_layout(Layout::new::<[u64; 9000]>())),
    |arena, _| refused(arena.try_alloc_layout(Layout::from_size_align(8, 4096).unwrap())),
    |arena, _| refused(arena.try_alloc_str("a text that has some length")),
    |arena, _| arena.try_alloc_fmt(format_args!("{:>300}", 7)).is_err(),
    |arena, _| refused(arena.try_alloc_slice_copy(&[7_u8; 100])),
    |arena, shared| refused(arena.try_alloc_boxed_slice(9, |_| shared.clone())),
    |arena, shared| {
        let mut vec = ArenaVec::new_in(arena);
        (0..40).any(|_| returned(vec.try_push(shared.clone()), |it| Rc::ptr_eq(it, shared)))
    },
    |arena, shared| {
        let mut vec = ArenaVec::new_in(arena);
        (0..40).any(|at| {
            returned(vec.try_insert(at / 2, shared.clone()), |it| {
                Rc::ptr_eq(it, shared)
            })
        })
    },
    |arena, shared| refused((0..40).map(|_| shared.clone()).try_collect_in(arena)),
    |arena, _| {
        let mut text = ArenaString::new_in(arena);
        (0..90).any(|_| returned(text.try_push('é'), |it| *it == 'é'))
            || refused(text.try_push_str("a text that has some length"))
    },
    |arena, _| refused(arena.try_alloc_slice_iter(0..100)),
    |arena, _| refused(arena.try_alloc_slice_fill(100, 7)),
    |arena, _| refused(arena.try_alloc_slice_fill_default::<u64>(100)),
    |arena, _| refused(arena.try_alloc_slice_fill_with(100, |index| index as u64)),
    |arena, _| refused(arena.try_reserve(10_000)),
    |arena, _| {
        let mut vec = ArenaVec::new_in(arena);
        refused((0..9).try_for_each(|_| vec.try_extend_from_slice(&[7_u64; 30])))
    },
];

const MAKINGS: [fn() -> Arena; 5] = [
    Arena::new,
    || Arena::builder().chunk_bytes(100).build(),
    || Arena::with_capacity(300),
    || {
        let arena = Arena::new();
        while arena.remaining() == 0 || arena.remaining() > 16 {
            arena.alloc(7_u64);
        }
        arena
    },
    || {
        let mut arena = Arena::builder().chunk_bytes(100).build();
        arena.alloc([7_u64; 1000]);
        arena.alloc([7_u64; 5]);
        arena.reset();
        arena
    },
];

#[test]
fn each_operation_of_an_arena_may_find_no_memory() {
    let mut failures = 0;
    // All with all take an interpreter minutes: on each run each operation with one
    // making, of each of which there are some.
    let step = amount(1, MAKINGS.len());
    for (offset, making) in MAKINGS.into_iter().enumerate() {
        for operation in OPERATIONS.into_iter().skip(offset % step).step_by(step) {
            for fuse in 0.. {
                let shared = Rc::new(());
                let failed = without_leak(|| {
                    let mut arena = making();
                    let kept = arena.alloc_layout(Layout::new::<u8>());
                    // SAFETY: a byte of the arena, in use by no one else.
                    unsafe { kept.write(9) };
                    let failed = with_fuse(fuse, || operation(&arena, &shared));
                    // SAFETY: written above.
                    assert_eq!(unsafe { kept.read() }, 9);
                    assert_eq!(Rc::strong_count(&shared), 1, "values are dropped");
                    // It goes on.
                    assert!(!operation(&arena, &shared));
                    assert_eq!(*arena.alloc(7), 7);
                    arena.reset();
                    assert!(!operation(&arena, &shared));
                    failed
                });
                if !failed {
                    break;
                }
                failures += 1;
            }
        }
    }
    assert!(failures > 30 / step, "{failures}");
}

#[test]
fn a_vector_that_finds_no_memory_comes_back() {
    let arena = Arena::new();
    let values = vec![String::from("kept"); 3];
    let full = without_memory(|| arena.try_alloc_slice_from_vec(values)).unwrap_err();
    assert_eq!(full.into_inner(), ["kept"; 3]);
    assert_eq!(arena.allocated_bytes(), 0);
}

#[test]
fn construction_of_an_arena_that_fails_leaks_nothing() {
    type Construction = fn() -> Result<(), BuildError>;
    let constructions: [Construction; 4] = [
        || Ok(Arena::try_with_capacity(100).map(drop)?),
        || Ok(Arena::try_bounded(100).map(drop)?),
        || Arena::builder().reserve(100).try_build().map(drop),
        || Arena::builder().bounded(9).try_build().map(drop),
    ];
    for construction in constructions {
        without_leak(|| {
            let error = without_memory(construction).unwrap_err();
            let out = matches!(
                error,
                BuildError::Memory(AllocError::OutOfMemory { bytes: 9.. })
            );
            assert!(out, "{error}");
            assert_eq!(with_fuse(1, construction), Ok(()));
        });
    }
}

#[test]
fn nothing_else_allocates() {
    let mut arena = Arena::with_capacity(10_000);
    let mut bounded = Arena::bounded(10_000);
    let shared = Rc::new(());
    let uses = || {
        without_memory(|| {
            assert_eq!(Arena::new().allocated_bytes(), 0);
            arena.alloc([7_u64; 99]);
            bounded.alloc_slice_fill(999, 7_u64);
            assert!(bounded.try_alloc_slice_fill(999, 7_u64).is_err());
            arena.scope(|mut scope| {
                drop(scope.boxed(shared.clone()));
                scope.scope(|inner| inner.alloc_str("text").len())
            });
            let mark = arena.checkpoint();
            // SAFETY: nothing was allocated since.
            unsafe { arena.rewind(mark) };
            arena.reset();
            arena.shrink_to_fit();
            bounded.reset();
            drop(arena);
        });
    };
    assert_eq!(allocations(uses), 0);
}
