//! Arenas move to other threads, and so do boxes and references of `Send` values.

use std::thread;

use flatslab::bump::{Arena, ArenaBox, ArenaVec};

#[test]
fn arenas_move_between_threads() {
    let mut arena = Arena::new();
    arena.alloc([1_u64; 100]);
    let mut bounded = Arena::bounded(100);
    let (arena, bounded) = thread::spawn(move || {
        arena.alloc(2_u64);
        arena.reset();
        arena.alloc([3_u64; 1000]);
        bounded.scope(|scope| *scope.alloc(4));
        (arena, bounded)
    })
    .join()
    .unwrap();
    assert_eq!((*arena.alloc(5), *bounded.alloc(6)), (5, 6));
}

#[test]
fn boxes_and_references_are_used_on_other_threads_while_the_arena_goes_on() {
    let mut arena = Arena::new();
    for _ in 0..3 {
        let boxed = arena.boxed(vec![1_u64]);
        let row = arena.alloc_slice_fill(50, 2_u64);
        let shown: ArenaBox<'_, dyn Fn() -> u64 + Send> =
            flatslab::unsize!(arena.boxed(|| 3_u64) => dyn Fn() -> u64 + Send);
        thread::scope(|threads| {
            threads.spawn(move || {
                let mut boxed = boxed;
                boxed.push(4);
                row.fill(boxed[1] + shown());
            });
            for number in 0..if cfg!(miri) { 10 } else { 100_u64 } {
                assert_eq!(*arena.alloc(number), number);
            }
        });
        arena.reset();
    }
}

#[test]
fn a_vector_is_read_by_several_threads() {
    let arena = Arena::new();
    let mut vec = ArenaVec::new_in(&arena);
    vec.extend(0..10_u64);
    thread::scope(|threads| {
        let sums = [(); 2].map(|()| threads.spawn(|| vec.iter().sum::<u64>()));
        arena.alloc(7_u64);
        for sum in sums {
            assert_eq!(sum.join().unwrap(), 45);
        }
    });
    vec.push(10);
    assert_eq!(vec.len(), 11);
}

#[test]
fn scopes_lend_to_threads() {
    let mut arena = Arena::new();
    let sum = arena.scope(|scope| {
        let (left, right) = scope.alloc_slice_fill(10, 1_u64).split_at_mut(5);
        thread::scope(|threads| {
            threads.spawn(|| left.fill(2));
            right.fill(3);
            scope.alloc([9_u64; 50]);
        });
        left.iter().chain(&*right).sum::<u64>()
    });
    assert_eq!(sum, 25);
}
