//! What is allocated in a scope ends with it: on return, on unwinding, nested, whatever
//! becomes of the scope itself.

use std::cell::RefCell;

use flatslab::bump::{Arena, ArenaVec, Scope};

use crate::common::panics;
use crate::values::{Count, bytes, ignore};

#[test]
fn a_scope_gives_back_on_return_and_on_unwinding() {
    let mut arena = Arena::bounded(256);
    arena.alloc(1_u64);
    let before = arena.checkpoint();
    let sum = arena.scope(|scope| *scope.alloc(2_u64) + *scope.alloc(3_u64));
    assert_eq!(sum, 5);
    assert_eq!(arena.checkpoint(), before);
    assert!(panics(|| arena.scope(|scope| {
        scope.alloc([7_u64; 9]);
        panic!("in a scope");
    })));
    assert_eq!(arena.checkpoint(), before);
}

#[test]
fn values_in_scopes_are_dropped_while_their_memory_is_there() {
    let count = Count::default();
    let mut arena = Arena::new();
    for unwinds in [false, true] {
        let seen = RefCell::new(Vec::new());
        assert_eq!(
            unwinds,
            panics(|| arena.scope(|mut scope| {
                let outer = scope.boxed(count.make(1));
                scope.scope(|inner| {
                    let boxed = inner.boxed(count.make(2));
                    let row = inner.alloc_boxed_slice(3, |number| count.make(number));
                    let mut vec = ArenaVec::new_in(&inner);
                    vec.push(count.make(3));
                    seen.borrow_mut()
                        .extend([boxed.number, row[2].number, vec[0].number]);
                    assert!(!unwinds, "in a scope");
                });
                seen.borrow_mut().push(outer.number);
            }))
        );
        count.expect(0);
        assert_eq!(seen.take().len(), if unwinds { 3 } else { 4 });
    }
}

#[test]
fn a_destructor_that_panics_unwinds_through_scopes() {
    struct Bomb<'a>(&'a str, usize);
    impl Drop for Bomb<'_> {
        fn drop(&mut self) {
            assert_eq!(self.0, "fuse", "its text is there");
            if self.1 == 1 {
                panic!("a bomb");
            }
        }
    }

    let mut arena = Arena::new();
    let before = arena.checkpoint();
    assert!(panics(|| arena.scope(|mut scope| {
        scope.alloc([1_u64; 3]);
        scope.scope(|inner| {
            let _bombs: Vec<_> = (0..3)
                .map(|number| inner.boxed(Bomb("fuse", number)))
                .collect();
        });
    })));
    assert_eq!(arena.allocated_bytes() - arena.remaining(), 0);
    let _ = before;
    // While it unwinds anyway, none panics.
    assert!(panics(|| arena.scope(|scope| {
        let text = scope.alloc_str("fuse");
        let _bomb = scope.boxed(Bomb("fuse", 0));
        assert_eq!(text, "other");
    })));
}

#[test]
#[expect(
    clippy::drop_non_drop,
    reason = "a scope has no `Drop`; it ends early all the same"
)]
fn a_scope_may_be_dropped_forgotten_or_moved_while_its_references_live() {
    let mut arena = Arena::new();
    let sum = arena.scope(|scope| {
        let a = scope.alloc(1_u64);
        let b = scope.alloc([2_u64; 30]);
        drop(scope);
        let scratch = vec![0_u64; 30];
        *a + b.iter().sum::<u64>() + scratch[0]
    });
    assert_eq!(sum, 61);
    let sum = arena.scope(|scope| {
        let a = scope.alloc(1_u64);
        let scope = Box::leak(Box::new(scope));
        let b = scope.alloc(2_u64);
        scope.scope(|inner| *inner.alloc(*b + 10));
        // SAFETY: leaked above, and not used again.
        drop(unsafe { Box::from_raw(scope) });
        *a + *b
    });
    assert_eq!(sum, 3);
}

#[test]
fn outer_allocations_outlive_inner_scopes() {
    fn deeper<'s>(mut scope: Scope<'s, '_>, depth: u64, kept: &mut Vec<&'s mut [u64]>) -> u64 {
        let row = scope.alloc_slice_fill(depth as usize * 3, depth);
        if depth > 0 {
            let inner = scope.scope(|inner| deeper(inner, depth - 1, &mut Vec::new()));
            assert!(row.iter().all(|number| *number == depth));
            let after = scope.alloc_slice_fill(40, depth + 100);
            scope.scope(|inner| deeper(inner, depth - 1, &mut Vec::new()));
            assert!(after.iter().all(|number| *number == depth + 100));
            kept.push(after);
            kept.push(row);
            inner + 1
        } else {
            0
        }
    }

    let mut arena = Arena::builder().chunk_bytes(256).build();
    for _ in 0..2 {
        let mut kept = Vec::new();
        let depth = if cfg!(miri) { 3 } else { 8 };
        assert_eq!(deeper(arena.as_scope(), depth, &mut kept), depth);
        assert_eq!(kept.len(), 2);
        assert!(
            kept.iter()
                .all(|row| row.iter().all(|number| *number == row[0]))
        );
        arena.reset();
    }
}

#[test]
fn a_parent_goes_on_with_the_chunks_that_a_scope_obtained() {
    let mut arena = Arena::builder().chunk_bytes(256).build();
    let mut root = arena.as_scope();
    let kept = root.alloc(1_u64);
    root.scope(|scope| {
        for number in 0..100_u64 {
            scope.alloc([number; 4]);
        }
        scope.alloc_layout(bytes(50_000));
    });
    *kept += 1;
    let rows: Vec<_> = (0..100).map(|number| root.alloc([number; 4])).collect();
    assert!(
        rows.iter()
            .zip(0_u64..)
            .all(|(row, number)| **row == [number; 4])
    );
    assert_eq!(*kept, 2);
    let bytes = arena.allocated_bytes();
    arena.reset();
    (0..100_u64).for_each(|number| ignore(arena.alloc([number; 4])));
    assert_eq!(arena.allocated_bytes(), bytes, "no chunk is lost");
}

#[test]
fn a_scope_of_an_empty_arena_gives_back_all() {
    for large_first in [false, true] {
        let mut arena = Arena::new();
        arena.scope(|scope| {
            if large_first {
                scope.alloc_layout(bytes(100_000));
            }
            scope.alloc([1_u64; 8]);
            scope.alloc_layout(bytes(100_000));
        });
        let bytes = arena.allocated_bytes();
        let first = std::ptr::from_mut(arena.alloc(2_u64)).addr();
        arena.alloc_layout(crate::values::bytes(100_000));
        assert_eq!(arena.allocated_bytes(), bytes);
        arena.reset();
        let again = std::ptr::from_mut(arena.alloc(3_u64)).addr();
        assert_eq!(first, again, "the first place of the first chunk");
    }
}

#[test]
fn large_chunks_of_a_scope_are_used_again() {
    let mut arena = Arena::new();
    let mut root = arena.as_scope();
    let kept = root.alloc_slice_copy(&vec![1_u8; 100_000]);
    let mut addresses = Vec::new();
    for number in 2..6_u8 {
        root.scope(|scope| {
            let row = scope.alloc_slice_copy(&vec![number; 100_000]);
            addresses.push(row.as_ptr().addr());
        });
    }
    assert!(addresses.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(*kept, *vec![1_u8; 100_000]);
    assert_eq!(arena.chunks_allocated(), 2);
}

#[test]
fn the_root_scopes_of_two_arenas_may_be_swapped() {
    let (mut one, mut other) = (Arena::new(), Arena::bounded(1000));
    {
        let (mut a, mut b) = (one.as_scope(), other.as_scope());
        let (x, y) = (a.alloc(1), b.alloc(2));
        std::mem::swap(&mut a, &mut b);
        a.scope(|scope| ignore(scope.alloc([3_u64; 9])));
        let (z, w) = (a.alloc(4), b.alloc(5));
        a.scope(|mut inner| {
            b.scope(|mut last| {
                inner.scope(|deep| ignore(deep.alloc(6)));
                last.scope(|deep| ignore(deep.alloc(7)));
            })
        });
        assert_eq!((*x, *y, *z, *w), (1, 2, 4, 5));
    }
    assert_eq!(other.remaining(), 1000 - 8);
}

#[test]
fn a_scope_has_every_allocation() {
    let mut arena = Arena::builder().chunk_bytes(128).build();
    for _ in 0..3 {
        let total = arena.scope(|scope| {
            let a = scope.alloc(1_u64);
            let b = scope.alloc_with(|| [2_u64; 9]);
            let c = scope.alloc_try_with(|| Ok::<_, ()>(3_u64)).unwrap();
            let d = scope.alloc_str("four");
            let e = scope.alloc_fmt(format_args!("{}-{}", d, 5));
            let f = scope.boxed(6_u64);
            let g = scope.alloc_slice_copy(&[7_u64; 3]);
            let h = scope.alloc_slice_iter(0..8_u64);
            let i = scope.alloc_slice_from_vec(vec![9_u64; 9]);
            let j = scope.alloc_slice_fill_default::<u64>(4);
            let mut k = ArenaVec::with_capacity_in(2, &scope);
            k.extend(10..20_u64);
            let rows: [&[u64]; 6] = [&*b, &*g, &*h, &*i, &*j, &*k];
            crate::values::expect_apart(&rows);
            assert_eq!((&*d, &*e), ("four", "four-5"));
            *a + *c + *f + rows.iter().flat_map(|row| row.iter()).sum::<u64>()
        });
        assert_eq!(total, 1 + 3 + 6 + 18 + 21 + 28 + 81 + 145);
    }
}
