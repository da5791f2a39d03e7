//! What a closure that fails had memory for is given back, but only if nothing else was
//! allocated since (`built-values-dropped`).

use std::alloc::Layout;

use flatslab::bump::{AllocOrInitError, Arena};

use crate::common::panics;
use crate::values::Count;

#[test]
fn a_failed_try_gives_its_memory_back() {
    let arena = Arena::bounded(256);
    for _ in 0..100 {
        assert_eq!(arena.alloc_try_with(|| Err::<[u64; 20], _>(7)), Err(7));
        assert_eq!(arena.alloc_try_with(|| Err::<u8, _>(8)), Err(8));
    }
    assert_eq!(arena.remaining(), 256);
}

#[test]
fn a_failed_try_keeps_what_was_allocated_since() {
    let arena = Arena::bounded(256);
    let mut kept = None;
    let failed = arena.alloc_try_with(|| {
        kept = Some(arena.alloc(1_u64));
        Err::<[u64; 4], _>(())
    });
    assert!(failed.is_err());
    let after = arena.alloc([2_u64; 8]);
    assert_eq!((*kept.unwrap(), *after), (1, [2; 8]));
}

#[test]
fn a_failed_try_whose_closure_went_to_another_chunk_gives_nothing_back() {
    for bytes in (1..40).step_by(if cfg!(miri) { 13 } else { 1 }) {
        let arena = Arena::builder().chunk_bytes(256).build();
        arena.alloc(0_u8);
        let mut kept = Vec::new();
        let failed = arena.alloc_try_with(|| {
            for number in 0..30 {
                kept.push((arena.alloc_slice_fill(bytes, number), number));
            }
            Err::<[u64; 4], _>(())
        });
        assert!(failed.is_err());
        let after = arena.alloc([99_u8; 64]);
        for (row, number) in &kept {
            assert!(row.iter().all(|byte| byte == number));
        }
        assert_eq!(*after, [99; 64]);
    }
}

#[test]
fn a_failed_try_in_another_chunk_gives_its_memory_back() {
    let arena = Arena::new();
    let kept = arena.alloc(1_u64);
    for _ in 0..3 {
        let failed = arena.alloc_try_with(|| Err::<[u64; 4000], _>(()));
        assert!(failed.is_err());
        assert_eq!(arena.remaining(), size_of::<[u64; 4000]>());
    }
    assert_eq!(arena.chunks_allocated(), 2);
    let after = arena.alloc([2_u64; 16]);
    assert_eq!((*kept, *after), (1, [2; 16]));
}

#[test]
fn an_error_may_hold_what_the_closure_allocated() {
    let arena = Arena::new();
    let error = arena.alloc_try_with(|| Err::<[u64; 9], _>(arena.alloc_str("kept")));
    arena.alloc([7_u64; 20]);
    assert_eq!(error.unwrap_err(), "kept");
}

#[test]
fn a_try_of_no_bytes_gives_nothing_back() {
    let arena = Arena::new();
    let kept = arena.alloc(1_u64);
    assert!(arena.alloc_try_with(|| Err::<[u64; 0], _>(())).is_err());
    arena.alloc_layout(Layout::new::<[u64; 4]>());
    assert_eq!(*kept, 1);
}

/// The sum of five values, of which the one at `fails` is an error.
fn fill_five(arena: &Arena, count: &Count, fails: usize) -> Result<usize, usize> {
    let mut next = 0;
    let row = arena.alloc_slice_try_fill_with(5, |index| {
        assert_eq!(index, next, "in order, and not after an error");
        next += 1;
        if index == fails {
            Err(index)
        } else {
            Ok(count.make(index))
        }
    })?;
    Ok(row.iter().map(|it| it.number).sum())
}

#[test]
fn a_row_that_fails_at_any_value_drops_those_before_and_gives_its_memory_back() {
    let count = Count::default();
    let mut arena = Arena::bounded(1000);
    arena.alloc(1_u64);
    let before = arena.checkpoint();
    for fails in 0..5 {
        assert_eq!(fill_five(&arena, &count, fails), Err(fails));
        count.expect(0);
        assert_eq!(arena.checkpoint(), before, "at {fails}");
    }
    assert_eq!(fill_five(&arena, &count, 5), Ok(10));
    count.expect(5);
    let row = size_of::<[crate::values::Counted; 5]>();
    assert_eq!(arena.remaining(), 1000 - 8 - row);
    let unreached = |_| -> Result<u64, ()> { unreachable!("there is no room") };
    assert!(panics(|| arena.alloc_slice_try_fill_with(200, unreached)));
    assert_eq!(
        arena.alloc_slice_try_fill_with(3, |_| Err::<(), _>(7)),
        Err(7)
    );
    arena.reset();
    assert_eq!(arena.remaining(), 1000);
}

#[test]
fn a_row_that_fails_keeps_what_was_allocated_since() {
    for arena in [Arena::new(), Arena::builder().chunk_bytes(64).build()] {
        let mut kept = Vec::new();
        for fails in 0..8 {
            let failed = arena.alloc_slice_try_fill_with(9, |index| {
                kept.push((arena.alloc([index; 3]), index));
                if index == fails {
                    Err(index)
                } else {
                    Ok([index; 2])
                }
            });
            assert_eq!(failed, Err(fails));
            let after = arena.alloc([usize::MAX; 20]);
            assert_eq!(*after, [usize::MAX; 20]);
        }
        assert!(kept.iter().all(|(row, number)| **row == [*number; 3]));
    }
}

#[test]
fn values_of_an_iterator_that_find_no_room_give_theirs_back() {
    let count = Count::default();
    let arena = Arena::bounded(1000);
    for _ in 0..3 {
        let values = (0..100).map(|number| count.make(number));
        assert!(arena.try_alloc_slice_iter(values.filter(|_| true)).is_err());
        count.expect(0);
        assert_eq!(arena.remaining(), 1000);
    }
}

#[test]
fn a_try_that_meets_a_limit_says_so_and_one_that_fails_gives_its_error() {
    let arena = Arena::bounded(256);
    for _ in 0..100 {
        let failed = arena.try_alloc_try_with(|| Err::<[u64; 20], _>(7));
        assert_eq!(failed, Err(AllocOrInitError::Init(7)));
        let failed = arena.try_alloc_try_with(|| Err::<u8, _>(8));
        assert_eq!(failed, Err(AllocOrInitError::Init(8)));
        let failed = arena.try_alloc_slice_try_fill_with(3, |_| Err::<u64, _>(9));
        assert_eq!(failed, Err(AllocOrInitError::Init(9)));
    }
    assert_eq!(arena.remaining(), 256);
    // Large values are not made if there is no room for them, small ones before it is known.
    let unreached = || -> Result<[u64; 40], ()> { unreachable!("there is no room") };
    let full = arena.try_alloc_try_with(unreached);
    assert!(matches!(full, Err(AllocOrInitError::Alloc(_))));
    let unreached = |_| -> Result<u64, ()> { unreachable!("there is no room") };
    let full = arena.try_alloc_slice_try_fill_with(40, unreached);
    assert!(matches!(full, Err(AllocOrInitError::Alloc(_))));
    arena.alloc([0_u64; 32]);
    let full = arena.try_alloc_try_with(|| Ok::<_, ()>(7_u64));
    assert!(matches!(full, Err(AllocOrInitError::Alloc(_))));
}

#[test]
fn a_small_value_that_finds_no_room_after_it_was_made_is_dropped() {
    let alive = std::rc::Rc::new(());
    let arena = Arena::bounded(0);
    let full = arena.try_alloc_try_with(|| Ok::<_, ()>(alive.clone()));
    assert!(matches!(full, Err(AllocOrInitError::Alloc(_))));
    assert_eq!(std::rc::Rc::strong_count(&alive), 1);
}

#[test]
fn a_row_that_fails_drops_what_was_made_and_one_without_room_makes_nothing() {
    let count = Count::default();
    let mut arena = Arena::bounded(1000);
    let mut root = arena.as_scope();
    root.scope(|scope| {
        for fails in 0..5 {
            let failed = scope.try_alloc_slice_try_fill_with(5, |index| match index == fails {
                true => Err(index),
                false => Ok(count.make(index)),
            });
            assert_eq!(failed.unwrap_err(), AllocOrInitError::Init(fails));
            count.expect(0);
            assert_eq!(scope.remaining(), 1000);
        }
        let none =
            scope.try_alloc_slice_try_fill_with(5000, |index| Ok::<_, ()>(count.make(index)));
        assert!(matches!(none, Err(AllocOrInitError::Alloc(_))));
        count.expect(0);
        let panicked = panics(|| {
            scope.try_alloc_slice_try_fill_with(3, |index| match index {
                2 => panic!("in a closure"),
                _ => Ok::<_, ()>(count.make(index)),
            })
        });
        assert!(panicked);
        count.expect(0);
    });
}
