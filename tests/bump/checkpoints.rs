//! Checkpoints: what obeys the contract of `rewind` works, and what does not panics in a
//! debug build where it can be seen.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use flatslab::bump::{Arena, ArenaVec, Checkpoint};

#[cfg(debug_assertions)]
use crate::common::panics;
#[cfg(debug_assertions)]
use crate::source::{Counted, with_hook};
use crate::values::{bytes, ignore};

#[test]
fn rewinding_gives_back_what_was_allocated_since() {
    let arena = Arena::bounded(1000);
    let kept = arena.alloc(1_u64);
    let mark = arena.checkpoint();
    for number in 0..50_u64 {
        assert_eq!(*arena.alloc([number; 9]), [number; 9]);
        // SAFETY: nothing that was allocated since is used.
        unsafe { arena.rewind(mark) };
        assert_eq!(arena.checkpoint(), mark);
    }
    assert_eq!(*kept, 1);
}

#[test]
fn checkpoints_nest_over_chunks_and_large_requests() {
    let arena = Arena::builder().chunk_bytes(256).build();
    let empty = arena.checkpoint();
    for round in 0..if cfg!(miri) { 2 } else { 3_u64 } {
        let outer = arena.alloc([round; 4]);
        let mut kept: Vec<&mut [u64]> = Vec::new();
        let mut marks = Vec::new();
        for depth in 0..if cfg!(miri) { 8 } else { 12_u64 } {
            marks.push(arena.checkpoint());
            kept.push(arena.alloc_slice_fill(1 + depth as usize * 9, depth));
            if depth % 4 == 3 {
                arena.alloc_layout(bytes(100_000));
            }
        }
        let chunks = arena.chunks_allocated();
        while let Some(mark) = marks.pop() {
            kept.pop();
            // SAFETY: what was allocated since is no longer in `kept`.
            unsafe { arena.rewind(mark) };
            arena.alloc_slice_fill(20, u64::MAX);
            let right = |(row, depth): (&&mut [u64], u64)| row.iter().all(|it| *it == depth);
            assert!(kept.iter().zip(0..).all(right));
            // SAFETY: the row of `u64::MAX` is not used.
            unsafe { arena.rewind(mark) };
        }
        assert_eq!((*outer, arena.chunks_allocated()), ([round; 4], chunks));
        // SAFETY: nothing is used any more.
        unsafe { arena.rewind(empty) };
    }
}

#[test]
fn a_checkpoint_of_an_empty_arena_leads_to_its_start() {
    let arena = Arena::new();
    let mark = arena.checkpoint();
    arena.reserve(10_000);
    let first = std::ptr::from_mut(arena.alloc(1_u64)).addr();
    arena.alloc([2_u64; 9]);
    arena.alloc_layout(bytes(1_000_000));
    // SAFETY: nothing is used any more.
    unsafe { arena.rewind(mark) };
    assert_eq!(std::ptr::from_mut(arena.alloc(3_u64)).addr(), first);
    assert_eq!(arena.chunks_allocated(), 2);
}

#[test]
fn a_reserve_between_is_no_harm() {
    let mut arena = Arena::new();
    arena.alloc(1_u64);
    arena.reset();
    let mark = arena.checkpoint();
    arena.reserve(100_000);
    arena.alloc([2_u64; 1000]);
    // SAFETY: nothing is used any more.
    unsafe { arena.rewind(mark) };
    assert_eq!(*arena.alloc([3_u64; 1000]), [3; 1000]);
    // SAFETY: nothing is used any more.
    unsafe { arena.rewind(mark) };
    assert_eq!(arena.checkpoint(), mark);
}

#[test]
fn a_vector_from_before_that_keeps_its_room_is_no_harm() {
    let arena = Arena::new();
    let mut vec = ArenaVec::with_capacity_in(10, &arena);
    let mark = arena.checkpoint();
    arena.alloc([1_u64; 10]);
    vec.extend(0..10_u64);
    vec.truncate(5);
    // SAFETY: the row is not used; the vector has neither grown nor ended.
    unsafe { arena.rewind(mark) };
    arena.alloc([2_u64; 10]);
    assert!(vec.iter().copied().eq(0..5));
}

#[test]
#[cfg(debug_assertions)]
fn foreign_and_stale_checkpoints_panic_in_debug_builds() {
    let other = Arena::new();
    other.alloc(1_u64);
    let foreign = other.checkpoint();
    other.alloc_layout(bytes(100_000));
    let foreign_large = other.checkpoint();

    let mut arena = Arena::builder().chunk_bytes(256).build();
    let rewind = |arena: &Arena, mark| {
        // SAFETY: not at all; it panics first.
        panics(|| unsafe { arena.rewind(mark) })
    };
    assert!(rewind(&arena, foreign) && rewind(&arena, foreign_large));
    arena.alloc(1_u64);
    let early = arena.checkpoint();
    arena.alloc(2_u64);
    let late = arena.checkpoint();
    // SAFETY: nothing is used.
    unsafe { arena.rewind(early) };
    assert!(rewind(&arena, late), "memory that is free by now");

    arena.alloc_layout(bytes(100_000));
    let large = arena.checkpoint();
    // SAFETY: nothing is used.
    unsafe { arena.rewind(early) };
    assert!(rewind(&arena, large), "no later chunk is in use");

    (0..100).for_each(|number| ignore(arena.alloc(number)));
    let in_later_chunk = arena.checkpoint();
    arena.reset();
    assert!(rewind(&arena, in_later_chunk) && rewind(&arena, foreign));
    arena.alloc_layout(bytes(100_000));
    let large = arena.checkpoint();
    arena.reset();
    assert!(rewind(&arena, large));
    arena.shrink_to_fit();
    assert!(rewind(&arena, in_later_chunk) && rewind(&arena, large));
    assert_eq!(*arena.alloc(7), 7);
}

thread_local! {
    /// The user's code, for values that cannot carry it.
    static USER_CODE: RefCell<Option<Rc<dyn Fn()>>> = const { RefCell::new(None) };
}

fn user_code() {
    let code = USER_CODE.with_borrow(Clone::clone);
    if let Some(code) = code {
        code();
    }
}

/// Runs the user's code wherever a value may.
#[derive(Debug)]
struct Runs([u64; 4]);

impl Clone for Runs {
    fn clone(&self) -> Self {
        user_code();
        Runs(self.0)
    }
}

impl Default for Runs {
    fn default() -> Self {
        user_code();
        Runs([7; 4])
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("before, ")?;
        user_code();
        f.write_str("and after")
    }
}

struct RunsAtDrop(#[expect(dead_code, reason = "takes room")] [u64; 4]);

impl Drop for RunsAtDrop {
    fn drop(&mut self) {
        user_code();
    }
}

fn build<T>(value: T) -> T {
    user_code();
    value
}

const LARGE: [u64; 9] = [7; 9];

const ITEMS: u64 = if cfg!(miri) { 6 } else { 20 };

/// Its name, and a call of it.
type Method = (&'static str, fn(&Arena));

/// Each method that runs user code.
const METHODS: [Method; 16] = [
    ("alloc_with, small", |arena| {
        ignore(arena.alloc_with(|| build(7_u8)))
    }),
    ("alloc_with", |arena| {
        ignore(arena.alloc_with(|| build(LARGE)))
    }),
    ("try_alloc_with", |arena| {
        ignore(arena.try_alloc_with(|| build(LARGE)))
    }),
    ("alloc_try_with", |arena| {
        ignore(arena.alloc_try_with(|| build(Ok::<_, ()>(LARGE))));
    }),
    ("alloc_try_with, failed", |arena| {
        ignore(arena.alloc_try_with(|| build(Err::<[u64; 9], _>(()))));
    }),
    ("alloc_fmt", |arena| {
        ignore(arena.alloc_fmt(format_args!("{}", Runs([7; 4]))))
    }),
    ("try_alloc_fmt", |arena| {
        ignore(arena.try_alloc_fmt(format_args!("{}", Runs([7; 4]))));
    }),
    ("alloc_boxed_slice", |arena| {
        ignore(arena.alloc_boxed_slice(3, build))
    }),
    ("alloc_slice_clone", |arena| {
        ignore(arena.alloc_slice_clone(&[Runs([7; 4]), Runs([8; 4])]));
    }),
    ("alloc_slice_fill", |arena| {
        ignore(arena.alloc_slice_fill(3, Runs([7; 4])))
    }),
    ("alloc_slice_fill_default", |arena| {
        ignore(arena.alloc_slice_fill_default::<Runs>(3));
    }),
    ("alloc_slice_fill_with", |arena| {
        ignore(arena.alloc_slice_fill_with(3, build))
    }),
    ("alloc_slice_try_fill_with", |arena| {
        ignore(arena.alloc_slice_try_fill_with(3, |index| build(Ok::<_, ()>(index))));
    }),
    ("alloc_slice_try_fill_with, failed", |arena| {
        let fill = |index| {
            if index < 1 {
                Ok(RunsAtDrop([7; 4]))
            } else {
                Err(())
            }
        };
        ignore(arena.alloc_slice_try_fill_with(3, fill));
    }),
    ("alloc_slice_iter", |arena| {
        ignore(arena.alloc_slice_iter((0..ITEMS).map(build)))
    }),
    ("try_alloc_slice_iter", |arena| {
        ignore(arena.try_alloc_slice_iter((0..ITEMS).map(build)));
    }),
];

/// Runs each method with that code in its midst. It is given a checkpoint from before the
/// method was called, and the one that its last call has returned.
fn run_each(code: fn(&Arena, Checkpoint, Option<Checkpoint>) -> Checkpoint) {
    for chunk_bytes in [4096, 72] {
        for (name, method) in METHODS {
            let arena = Rc::new(Arena::builder().chunk_bytes(chunk_bytes).build());
            let kept = arena.alloc([1_u64; 5]);
            let before = arena.checkpoint();
            let earlier = Rc::new(Cell::new(None));
            let (within, returned) = (arena.clone(), earlier.clone());
            let run = Rc::new(move || returned.set(Some(code(&within, before, returned.get()))));
            for _ in 0..2 {
                earlier.set(None);
                USER_CODE.set(Some(run.clone()));
                method(&arena);
                USER_CODE.set(None);
                assert!(earlier.get().is_some(), "{name} runs the code");
                arena.alloc([2_u64; 30]);
                // SAFETY: no method is running, and nothing allocated since is used.
                unsafe { arena.rewind(before) };
                arena.alloc([3_u64; 30]);
                assert_eq!(*kept, [1; 5], "{name}");
            }
        }
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn code_that_a_method_runs_may_rewind_to_its_own_checkpoint() {
    run_each(|arena, _, _| {
        let row = arena.alloc([4_u64; 9]);
        let mark = arena.checkpoint();
        let len = if cfg!(miri) { 12 } else { 40 };
        for number in 5..7 {
            let other = arena.alloc_slice_fill(len, number);
            assert_eq!(*row, [4; 9]);
            assert!(other.iter().all(|it| *it == number));
            // SAFETY: the other row is not used any more; what runs this has done nothing since.
            unsafe { arena.rewind(mark) };
        }
        mark
    });
}

/// `alloc_with` and `alloc_slice_iter` gave two references to one place.
#[test]
#[cfg(debug_assertions)]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_rewind_to_before_a_method_that_runs_panics_in_debug_builds() {
    run_each(|arena, before, earlier| {
        for mark in earlier.into_iter().chain([before]) {
            // SAFETY: not at all; it panics first.
            assert!(panics(|| unsafe { arena.rewind(mark) }));
        }
        arena.checkpoint()
    });
}

#[test]
#[cfg(debug_assertions)]
fn a_rewind_past_what_a_formatter_wrote_panics_in_debug_builds() {
    struct Writes<'a>(&'a Arena);

    impl fmt::Display for Writes<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let mark = self.0.checkpoint();
            f.write_str("a text that takes memory")?;
            // SAFETY: not at all; it panics first.
            assert!(panics(|| unsafe { self.0.rewind(mark) }));
            Ok(())
        }
    }

    let arena = Arena::new();
    let text = arena.alloc_fmt(format_args!("{}", Writes(&arena)));
    assert_eq!(text, "a text that takes memory");
}

#[test]
#[cfg(debug_assertions)]
fn a_rewind_by_a_source_panics_in_debug_builds() {
    let source = Counted::new();
    let arena = Rc::new(Arena::builder().pages(source.pages()).build());
    let (within, mark) = (arena.clone(), arena.checkpoint());
    let hook = move || {
        // SAFETY: not at all; it panics first.
        assert!(panics(|| unsafe { within.rewind(mark) }));
    };
    let value = with_hook(0, Rc::new(hook), || *arena.alloc(7));
    assert_eq!(value, Some(7));
}
