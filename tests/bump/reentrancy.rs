//! Code of the user that runs within an allocation may allocate in the same arena:
//! closures, iterators, clones and formatters (`ends-change-at-once`). Another arena handed out the
//! same bytes twice.

use std::cell::Cell;
use std::fmt;

use flatslab::bump::{Arena, ArenaVec};

use crate::values::expect_apart;

const NUMBERS: u64 = 6;

fn arenas() -> [Arena; 2] {
    // In the second each allocation needs another chunk.
    [Arena::new(), Arena::builder().chunk_bytes(64).build()]
}

#[test]
fn closures_of_alloc_with_may_allocate() {
    for arena in arenas() {
        let mut inner = None;
        let small = arena.alloc_with(|| {
            inner = Some(arena.alloc(1_u64));
            2_u64
        });
        let inner = inner.unwrap();
        let mut large_inner = None;
        let large = arena.alloc_with(|| {
            large_inner = Some(arena.alloc([3_u64; 9]));
            [4_u64; 9]
        });
        let large_inner = large_inner.unwrap();
        expect_apart(&[&[*inner][..], &[*small]]);
        expect_apart(&[
            std::slice::from_ref(inner),
            std::slice::from_ref(small),
            &large[..],
            &large_inner[..],
        ]);
        assert_eq!((*inner, *small), (1, 2));
        assert_eq!((*large_inner, *large), ([3; 9], [4; 9]));
    }
}

#[test]
fn closures_of_alloc_try_with_may_allocate() {
    for arena in arenas() {
        let mut inner = Vec::new();
        let mut tried = Vec::new();
        for number in 0..NUMBERS {
            let result = arena.alloc_try_with(|| {
                inner.push(arena.alloc([number; 5]));
                if number % 2 == 0 {
                    Ok([number + 100; 5])
                } else {
                    Err(arena.alloc([number + 200; 5]))
                }
            });
            match result {
                Ok(value) => tried.push((value, number + 100)),
                Err(error) => tried.push((error, number + 200)),
            }
        }
        let mut rows: Vec<&[u64]> = inner.iter().map(|row| &row[..]).collect();
        rows.extend(tried.iter().map(|(row, _)| &row[..]));
        expect_apart(&rows);
        assert!(
            inner
                .iter()
                .zip(0..)
                .all(|(row, number)| **row == [number; 5])
        );
        assert!(tried.iter().all(|(row, number)| **row == [*number; 5]));
    }
}

#[test]
fn closures_that_fill_slices_may_allocate() {
    for arena in arenas() {
        let mut inner = Vec::new();
        let slice = arena.alloc_slice_fill_with(6, |index| {
            inner.push(arena.alloc_slice_fill(3, index as u64));
            index as u64 + 100
        });
        let array = arena.alloc_with(|| {
            std::array::from_fn::<u64, 6, _>(|index| {
                inner.push(arena.alloc_slice_fill(3, index as u64 + 6));
                index as u64 + 200
            })
        });
        let boxed = arena.alloc_boxed_slice(6, |index| {
            inner.push(arena.alloc_slice_fill(3, index as u64 + 12));
            index as u64 + 300
        });
        let mut rows: Vec<&[u64]> = inner.iter().map(|row| &row[..]).collect();
        rows.extend([&*slice, &*array, &*boxed]);
        expect_apart(&rows);
        assert!(
            inner
                .iter()
                .zip(0..)
                .all(|(row, number)| **row == [number; 3])
        );
        for (row, first) in [(&*slice, 100), (&*array, 200), (&*boxed, 300)] {
            assert!(row.iter().copied().eq(first..first + 6));
        }
    }
}

#[test]
fn iterators_may_allocate_and_lie_about_their_length() {
    /// Says that it has so many items.
    struct Says<I>(I, (usize, Option<usize>));

    impl<I: Iterator> Iterator for Says<I> {
        type Item = I::Item;
        fn next(&mut self) -> Option<I::Item> {
            self.0.next()
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            self.1
        }
    }

    const ITEMS: u64 = if cfg!(miri) { 8 } else { 20 };

    for arena in arenas() {
        for says in [(0, Some(0)), (3, Some(2)), (40, Some(1)), (0, None)] {
            let mut inner = Vec::new();
            let numbers = (0..ITEMS).inspect(|number| inner.push(arena.alloc([*number; 2])));
            let row = arena.alloc_slice_iter(Says(numbers, says));
            let mut vec = ArenaVec::new_in(&arena);
            let more = (0..ITEMS).inspect(|number| inner.push(arena.alloc([*number + ITEMS; 2])));
            vec.extend(Says(more, says));
            let mut rows: Vec<&[u64]> = inner.iter().map(|row| &row[..]).collect();
            rows.extend([&*row, &*vec]);
            expect_apart(&rows);
            assert!(row.iter().copied().eq(0..ITEMS) && vec.iter().copied().eq(0..ITEMS));
            assert!(
                inner
                    .iter()
                    .zip(0..)
                    .all(|(row, number)| **row == [number; 2])
            );
        }
        let liar = Says(0..2, (usize::MAX, None));
        assert_eq!(arena.try_alloc_slice_iter(liar).unwrap(), [0, 1]);
    }
}

#[test]
fn clones_and_defaults_may_allocate() {
    thread_local! {
        static ARENA: Cell<Option<&'static Arena>> = const { Cell::new(None) };
    }
    #[derive(Debug, PartialEq)]
    struct Allocates(u64, &'static [u64; 3]);

    impl Allocates {
        fn new(number: u64) -> Self {
            Allocates(number, ARENA.get().unwrap().alloc([number; 3]))
        }
        fn is_whole(&self) -> bool {
            *self.1 == [self.0; 3]
        }
    }
    impl Clone for Allocates {
        fn clone(&self) -> Self {
            Allocates::new(self.0 + 1)
        }
    }
    impl Default for Allocates {
        fn default() -> Self {
            Allocates::new(50)
        }
    }

    let place = Box::into_raw(Box::new(Arena::builder().chunk_bytes(64).build()));
    // SAFETY: the arena is there until the end of this test.
    let arena = unsafe { &*place };
    ARENA.set(Some(arena));
    let row: Vec<_> = (0..5).map(Allocates::new).collect();
    let cloned = arena.alloc_slice_clone(&row);
    let filled = arena.alloc_slice_fill(4, Allocates::new(10));
    let defaults = arena.alloc_slice_fill_default::<Allocates>(4);
    let array = arena.alloc_slice_clone(&[Allocates::new(20), Allocates::new(21)]);
    let all = cloned
        .iter()
        .chain(&*filled)
        .chain(&*defaults)
        .chain(&*array);
    assert!(all.clone().all(Allocates::is_whole));
    let numbers = [1, 2, 3, 4, 5, 11, 11, 11, 11, 50, 50, 50, 50, 21, 22];
    assert!(all.map(|it| it.0).eq(numbers));
    drop(row);
    // SAFETY: of what was allocated in it nothing is used any more.
    drop(unsafe { Box::from_raw(place) });
}

#[test]
fn formatters_may_allocate() {
    struct Nested<'a>(&'a Arena, u32);

    impl fmt::Display for Nested<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}", self.1)?;
            if self.1 > 0 {
                let inner = Nested(self.0, self.1 - 1);
                f.write_str(self.0.alloc_fmt(format_args!("<{inner}>")))?;
            }
            f.write_str(self.0.alloc_str("!"))
        }
    }

    for arena in arenas() {
        let text = arena.alloc_fmt(format_args!("a {} b", Nested(&arena, 3)));
        assert_eq!(text, "a 3<2<1<0!>!>!>! b");
    }
}

#[test]
fn a_bounded_arena_that_a_closure_fills_refuses() {
    let arena = Arena::bounded(64);
    let mut inner = None;
    let refused = arena.try_alloc_with(|| {
        inner = Some(arena.alloc([1_u64; 8]));
        2_u64
    });
    assert!(refused.is_err());
    assert_eq!(*inner.unwrap(), [1; 8]);
}
