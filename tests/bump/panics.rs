//! Code of the user that panics while values are made: what was initialised is dropped,
//! once, and the arena can be used on.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use flatslab::bump::{Arena, ArenaBox, ArenaVec};

use crate::common::panics;
use crate::values::{Count, Counted, ignore};

thread_local! {
    static FUSE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Panics at the n-th call.
fn burn() {
    let left = FUSE.get();
    FUSE.set(left.wrapping_sub(1));
    if left == 0 {
        // No message a thousand times.
        std::panic::resume_unwind(Box::new("the fuse"));
    }
}

struct Touchy(Counted);

thread_local! {
    static COUNT: Count = Count::default();
}

fn touchy(number: usize) -> Touchy {
    burn();
    Touchy(COUNT.with(|count| count.make(number)))
}

impl Clone for Touchy {
    fn clone(&self) -> Self {
        touchy(self.0.number)
    }
}

impl Default for Touchy {
    fn default() -> Self {
        touchy(0)
    }
}

/// Runs `f`, which makes five values, with a panic at each.
fn at_each_value(f: impl Fn()) {
    for at in (0..5).step_by(if cfg!(miri) { 2 } else { 1 }) {
        FUSE.set(at);
        assert!(panics(&f), "at {at}");
        COUNT.with(|count| count.expect(0));
    }
    FUSE.set(usize::MAX);
}

#[test]
fn a_panic_while_a_row_is_filled_drops_what_was_initialised() {
    let arena = Arena::builder().chunk_bytes(512).build();
    at_each_value(|| ignore(arena.alloc_slice_fill_with(5, touchy)));
    at_each_value(|| ignore(arena.alloc_slice_fill_default::<Touchy>(5)));
    at_each_value(|| drop(arena.alloc_boxed_slice(5, touchy)));
    at_each_value(|| ignore(arena.alloc_slice_iter((0..5).map(touchy))));
    at_each_value(|| ignore(arena.try_alloc_slice_fill_with(5, touchy).is_ok()));
    let tried = |number| Ok::<_, ()>(touchy(number));
    at_each_value(|| ignore(arena.alloc_slice_try_fill_with(5, tried)));
    at_each_value(|| ignore(arena.try_alloc_slice_fill_default::<Touchy>(5).is_ok()));
    at_each_value(|| drop(arena.try_alloc_boxed_slice(5, touchy)));
    at_each_value(|| ignore(arena.try_alloc_slice_iter((0..5).map(touchy)).is_ok()));
    at_each_value(|| ArenaVec::new_in(&arena).extend((0..5).map(touchy)));
    assert_eq!(*arena.alloc(7), 7);
}

#[test]
fn a_panic_of_a_clone_drops_the_clones_before_it() {
    let arena = Arena::builder().chunk_bytes(512).build();
    FUSE.set(usize::MAX);
    let row: [Touchy; 5] = std::array::from_fn(touchy);
    for at in 0..5 {
        type Operation = fn(&Arena, &[Touchy; 5]);
        let operations: [Operation; 3] = [
            |arena, row| ignore(arena.alloc_slice_clone(row)),
            |arena, row| ignore(arena.try_alloc_slice_clone(row).is_ok()),
            |arena, row| ignore(arena.alloc_slice_fill_with(5, |index| row[index].clone())),
        ];
        for operation in operations {
            FUSE.set(at);
            assert!(panics(|| operation(&arena, &row)));
            COUNT.with(|count| count.expect(5));
        }
        // The value that is cloned is dropped too.
        FUSE.set(usize::MAX);
        let value = touchy(9);
        FUSE.set(at);
        assert!(panics(|| arena.alloc_slice_fill(6, value)));
        COUNT.with(|count| count.expect(5));
    }
    FUSE.set(usize::MAX);
}

#[test]
fn memory_of_a_row_that_panicked_is_given_back_if_it_was_last() {
    let arena = Arena::bounded(1000);
    at_each_value(|| ignore(arena.alloc_slice_fill_with(5, touchy)));
    assert_eq!(arena.remaining(), 1000);
    at_each_value(|| ArenaVec::new_in(&arena).extend((0..5).map(touchy)));
    assert_eq!(arena.remaining(), 1000);
    // Not if a closure allocated since.
    let mut kept = Vec::new();
    assert!(panics(|| arena.alloc_slice_fill_with(3, |index| {
        kept.push(arena.alloc([index as u64; 4]));
        assert!(index < 2);
        index
    })));
    arena.alloc([9_u64; 12]);
    assert!(
        kept.iter()
            .zip(0..)
            .all(|(row, number)| **row == [number; 4])
    );
}

#[test]
fn destructors_of_a_row_that_failed_may_use_the_arena_and_panic() {
    thread_local! {
        static ARENA: Rc<Arena> = Rc::default();
        static DROPS: Cell<usize> = const { Cell::new(0) };
    }
    struct Uses(u64, [u64; 3]);
    impl Drop for Uses {
        fn drop(&mut self) {
            DROPS.set(DROPS.get() + 1);
            ARENA.with(|arena| *arena.alloc([u64::MAX; 40]));
            assert_eq!(self.1, [self.0; 3], "it is whole");
        }
    }

    let arena = ARENA.with(Rc::clone);
    let refused = panics(|| {
        arena.alloc_slice_fill_with(10, |index| {
            assert!(index < 6);
            Uses(index as u64, [index as u64; 3])
        })
    });
    assert!(refused);
    assert_eq!(DROPS.get(), 6);
}

#[test]
fn a_closure_that_panics_leaves_the_arena_whole() {
    let mut arena = Arena::new();
    assert!(panics(|| arena.alloc_with::<u64>(|| panic!("small"))));
    assert!(panics(|| arena.alloc_with::<[u64; 9]>(|| panic!("large"))));
    assert!(panics(
        || arena.alloc_try_with::<[u64; 9], ()>(|| panic!("tried"))
    ));
    struct Unprintable;
    impl fmt::Display for Unprintable {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a part of it")?;
            panic!("unprintable")
        }
    }
    assert!(panics(|| arena.alloc_fmt(format_args!("{Unprintable}"))));
    assert_eq!(*arena.alloc(7), 7);
    arena.reset();
    assert_eq!(*arena.alloc(8), 8);
}

#[test]
fn a_value_that_finds_no_room_is_dropped_once() {
    let count = Count::default();
    let arena = Arena::bounded(16);
    assert!(panics(|| arena.alloc(count.make(0))));
    assert!(panics(|| arena.boxed(count.make(0))));
    assert!(panics(|| arena.alloc_with(|| count.make(0))));
    assert!(panics(
        || arena.alloc_slice_from_vec(vec![count.make(0), count.make(1)])
    ));
    assert!(panics(|| arena.alloc_slice_fill(3, count.make(0))));
    assert!(arena.try_alloc_slice_fill(3, count.make(0)).is_err());
    assert!(panics(|| ArenaVec::new_in(&arena).push(count.make(0))));
    assert!(
        arena
            .try_alloc_slice_iter((0..3).map(|number| count.make(number)))
            .is_err()
    );
    count.expect(0);
    let boxed = arena.try_alloc_with(|| Box::new(count.make(0))).unwrap();
    assert!(arena.try_alloc_with(|| (count.make(0), 7)).is_err());
    count.expect(1);
    // SAFETY: not used again.
    unsafe { std::ptr::drop_in_place(boxed) };
    count.expect(0);
}

#[test]
fn destructors_of_boxes_and_vectors_may_panic() {
    struct Bomb(Counted, bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.1 {
                std::panic::resume_unwind(Box::new(self.0.number));
            }
        }
    }

    let count = Count::default();
    let arena = Arena::new();
    let bomb = |number| Bomb(count.make(number), number == 2);
    assert!(panics(|| drop(arena.boxed(bomb(2)))));
    assert!(panics(|| drop(arena.alloc_boxed_slice(5, bomb))));
    let vec = || {
        let mut vec = ArenaVec::new_in(&arena);
        vec.extend((0..5).map(bomb));
        vec
    };
    assert!(panics(|| drop(vec())));
    assert!(panics(|| vec().truncate(1)));
    assert!(panics(|| vec().clear()));
    assert!(panics(|| drop(vec().into_boxed_slice())));
    assert!(panics(|| drop(ArenaBox::into_inner(arena.boxed(bomb(2))))));
    count.expect(0);
}
