//! Arenas in memory of the test's own: which counts, refuses, panics, and uses the arena
//! that asks.

use std::cell::RefCell;
use std::rc::Rc;

use flatslab::AllocError;
use flatslab::bump::{Arena, ArenaVec};

use crate::common::panics;
use crate::source::{Counted, Fault, unless_it_panics, with_fault, with_hook};
use crate::values::{Count, bytes};

/// Uses an arena in every way that may ask for memory.
fn use_all(arena: &mut Arena, count: &Count) {
    for round in 0..2_usize {
        let mut boxes = Vec::new();
        let mut words = Vec::new();
        for number in 0..if cfg!(miri) { 4 } else { 20 } {
            match unless_it_panics(|| arena.try_boxed(count.make(number))) {
                Some(Ok(boxed)) => boxes.push((boxed, number)),
                Some(Err(full)) => assert_eq!(full.into_inner().number, number),
                None => {}
            }
            if let Some(Ok(word)) = unless_it_panics(|| arena.try_alloc([number; 3])) {
                words.push((word, number));
            }
        }
        let fill = |number| count.make(number);
        if let Some(Ok(row)) = unless_it_panics(|| arena.try_alloc_boxed_slice(9, fill)) {
            assert!(row.iter().map(|it| it.number).eq(0..9));
        }
        unless_it_panics(|| arena.try_alloc_layout(bytes(5000 * (round + 1))).is_ok());
        unless_it_panics(|| arena.try_reserve(3000).is_ok());
        let mut vec = ArenaVec::new_in(&*arena);
        let mut len = 0;
        for number in 0..if cfg!(miri) { 6 } else { 30 } {
            if let Some(Ok(())) = unless_it_panics(|| vec.try_push(count.make(number))) {
                len += 1;
            }
            assert_eq!(vec.len(), len);
        }
        drop(vec);
        let text = "a text of some length, which is formatted";
        if let Some(Ok(copy)) = unless_it_panics(|| arena.try_alloc_fmt(format_args!("{text}"))) {
            assert_eq!(copy, text);
        }
        let given = (0..4).map(|number| count.make(number)).collect::<Vec<_>>();
        if let Some(Err(back)) =
            unless_it_panics(|| arena.try_alloc_boxed_slice(1, |_| 7).map_err(|_| given))
        {
            assert_eq!(back.len(), 4);
        }
        assert!(boxes.iter().all(|(it, number)| it.number == *number));
        assert!(words.iter().all(|(it, number)| **it == [*number; 3]));
        drop(boxes);
        count.expect(0);
        unless_it_panics(|| arena.scope(|scope| scope.try_alloc([7_u64; 99]).is_ok()));
        arena.reset();
        if round == 0 {
            arena.shrink_to_fit();
        }
    }
}

#[test]
fn each_request_may_be_refused_or_panic() {
    for fault in [Fault::Refuse, Fault::Panic] {
        for goes_on in [false, true] {
            let reaches = |left| {
                let source = Counted::new();
                let count = Count::default();
                let is_reached = with_fault(left, fault, goes_on, || {
                    let builder = Arena::builder().chunk_bytes(200).pages(source.pages());
                    if let Some(Ok(mut arena)) = unless_it_panics(|| builder.try_build()) {
                        use_all(&mut arena, &count);
                    }
                });
                count.expect(0);
                source.expect_all_back();
                is_reached
            };
            let (requests, least) = match (cfg!(miri), goes_on) {
                (false, _) => (0..usize::MAX, 8),
                (true, false) => (2..3, 1),
                (true, true) => (0..1, 1),
            };
            let reached = requests.take_while(|&left| reaches(left)).count();
            assert!(reached >= least, "{reached}");
        }
    }
}

#[test]
fn a_source_that_refuses_a_doubled_chunk_may_give_a_small_one() {
    let source = Counted::new();
    for reserves in [false, true] {
        let arena = Arena::builder().pages(source.pages()).build();
        let is_reached = with_fault(0, Fault::Refuse, false, || match reserves {
            true => arena.reserve(8),
            false => assert_eq!(*arena.alloc(7_u64), 7),
        });
        assert!(is_reached);
        // A quarter.
        assert_eq!(arena.allocated_bytes_including_metadata(), (4096 - 64) / 4);
    }
    let arena = Arena::builder().pages(source.pages()).chunk_bytes(72);
    let arena = arena.build();
    assert_eq!(*arena.alloc(7_u64), 7);
    assert_eq!(arena.remaining(), 0);
    let error = |left| {
        let mut error = None;
        with_fault(left, Fault::Refuse, true, || {
            error = arena.try_alloc(8_u64).err()
        });
        error.map(flatslab::FullError::into_inner)
    };
    assert_eq!(error(0), Some(8));
    let explained = |left| {
        let mut error = None;
        with_fault(left, Fault::Refuse, true, || {
            error = arena.try_alloc_slice_copy(&[8_u64]).err();
        });
        error
    };
    assert!(matches!(
        explained(0),
        Some(AllocError::OutOfMemory { bytes: 1.. })
    ));
}

#[test]
fn a_bounded_arena_asks_once() {
    let source = Counted::new();
    let build = || {
        Arena::builder()
            .bounded(100)
            .pages(source.pages())
            .try_build()
    };
    with_fault(0, Fault::Refuse, true, || assert!(build().is_err()));
    with_fault(0, Fault::Panic, true, || {
        assert!(unless_it_panics(build).is_none())
    });
    let arena = build().unwrap();
    assert_eq!(arena.memory().bytes(), source.bytes());
    drop(arena);
    source.expect_all_back();
}

#[test]
fn a_source_may_use_the_arena_that_asks() {
    type Hook = fn(&Arena, &mut Vec<(*const [u8], u8)>);
    fn take(arena: &Arena, kept: &mut Vec<(*const [u8], u8)>, len: usize, number: u8) {
        if let Ok(row) = arena.try_alloc_slice_copy(&vec![number; len]) {
            kept.push((&raw const *row, number));
        }
    }
    let hooks: [Hook; 6] = [
        |arena, kept| take(arena, kept, 8, 200),
        |arena, kept| (0..40).for_each(|_| take(arena, kept, 24, 201)),
        |arena, kept| take(arena, kept, 10_000, 202),
        |arena, _| arena.reserve(3000),
        |arena, kept| {
            let mut vec = ArenaVec::new_in(arena);
            vec.extend(std::iter::repeat_n(203, if cfg!(miri) { 150 } else { 500 }));
            kept.push((&raw const *vec.into_slice(), 203));
        },
        |arena, kept| {
            take(arena, kept, 300, 204);
            arena.reserve(300);
            take(arena, kept, 20_000, 205);
        },
    ];
    let limited = hooks
        .iter()
        .flat_map(|hook| [(usize::MAX, hook), (30_000, hook)]);
    for (at, (limit, hook)) in limited.enumerate() {
        // In turns with a limit and without.
        if cfg!(miri) && !matches!(at % 4, 0 | 3) {
            continue;
        }
        let is_called = |calls| {
            let source = Counted::new();
            let builder = Arena::builder().chunk_bytes(200).max_bytes(limit);
            let arena = Rc::new(builder.pages(source.pages()).build());
            let kept = Rc::new(RefCell::new(Vec::new()));
            let (asked, within, hook) = (arena.clone(), kept.clone(), *hook);
            let run = || {
                let mut vec = ArenaVec::new_in(&*arena);
                for number in 0..if cfg!(miri) { 6 } else { 12_u8 } {
                    take(&arena, &mut kept.borrow_mut(), 1, number);
                    let len = 40 + usize::from(number) * 40;
                    // The source borrows it.
                    if let Ok(row) = arena.try_alloc_slice_copy(&vec![number; len]) {
                        kept.borrow_mut().push((&raw const *row, number));
                    }
                    let _ = vec.try_push(number);
                    if number == 3 {
                        let _ = arena.try_reserve(2000);
                    }
                }
                assert!(vec.is_sorted());
            };
            let hook = move || {
                let mut own = Vec::new();
                hook(&asked, &mut own);
                // Not where the test has it borrowed.
                if let Ok(mut within) = within.try_borrow_mut() {
                    within.append(&mut own);
                }
            };
            let result = with_hook(calls, Rc::new(hook), run);
            assert!(arena.memory().bytes() <= limit, "{}", arena.memory());
            assert_eq!(arena.memory().bytes(), source.bytes());
            let mut ranges = Vec::new();
            for (row, number) in kept.take() {
                // SAFETY: allocated in the arena, which is there.
                let row = unsafe { &*row };
                assert_eq!(*row, *vec![number; row.len()]);
                ranges.push(row.as_ptr_range());
            }
            ranges.sort_by_key(|range| range.start);
            assert!(ranges.is_sorted_by(|one, next| one.end <= next.start));
            let mut arena = Rc::into_inner(arena).unwrap();
            arena.reset();
            arena.shrink_to_fit();
            drop(arena);
            source.expect_all_back();
            result.is_some()
        };
        // Each request is two calls.
        let (most, step) = if cfg!(miri) { (4, 3) } else { (usize::MAX, 1) };
        let calls = (0..most).step_by(step);
        assert!(calls.take_while(|&calls| is_called(calls)).count() >= 2);
    }
}

#[test]
fn what_the_builder_cannot_have_is_an_error() {
    use flatslab::memory::{HugePages, Pages};

    let source = Counted::new();
    let pages = source.pages().huge(HugePages::Require);
    assert!(Arena::builder().pages(pages.clone()).try_build().is_err());
    let bounded = Arena::builder().bounded(8).pages(pages);
    assert!(bounded.try_build().is_err());
    assert!(panics(|| Arena::builder()
        .max_bytes(100)
        .reserve(100)
        .build()));
    let arena = Arena::builder().pages(Pages::new()).reserve(100).build();
    assert_eq!(
        arena.memory().bytes(),
        arena.allocated_bytes_including_metadata()
    );
    assert!(!arena.memory().to_string().is_empty());
    drop(source);
}

#[test]
#[cfg(all(feature = "os-memory", target_os = "linux", not(miri)))]
fn arenas_in_pages_of_the_system() {
    use flatslab::memory::{HugePages, Pages};

    for pages in [Pages::system(), Pages::new().huge(HugePages::Try)] {
        let mut arena = Arena::builder().pages(pages.clone()).build();
        for _ in 0..2 {
            for number in 0..2000_u64 {
                assert_eq!(*arena.alloc([number; 9]), [number; 9]);
            }
            arena.alloc_layout(bytes(3 << 20));
            arena.reset();
        }
        assert!(arena.memory().resident_bytes() >= Some(1 << 20));
        arena.shrink_to_fit();
        let bounded = Arena::builder().bounded(1 << 20).pages(pages);
        assert_eq!(bounded.build().remaining(), 1 << 20);
    }
}
