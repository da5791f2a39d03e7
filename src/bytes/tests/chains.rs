//! Long chains: what their end does at once, and what is left for later.

use std::vec::Vec;

use crate::bytes::drop::LINKS;
use crate::bytes::{Buf, ByteArena, References};
use crate::common::amount;

/// A chain of so many buffers, of the arenas by turns.
fn chain<R: References>(arenas: &[&ByteArena<R>], count: usize) -> Buf<R> {
    let mut head: Option<Buf<R>> = None;
    for index in (0..count).rev() {
        let mut buf = arenas[index % arenas.len()].copy(&index.to_le_bytes());
        if let Some(next) = head.take() {
            buf.set_next(next).unwrap();
        }
        head = Some(buf);
    }
    head.unwrap()
}

fn builder() -> crate::Builder<ByteArena> {
    let builder = ByteArena::builder().smallest(16).largest(64);
    builder.chunk_bytes(1024)
}

/// Buffers that are not free, without a call that goes on with a chain.
fn in_use<R: References>(arena: &ByteArena<R>) -> usize {
    let classes = arena.core().classes().iter();
    classes.map(crate::bytes::arena_core::Class::in_use).sum()
}

/// The end of a chain of a million links took 9 ms.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn the_end_of_a_chain_frees_few_buffers_and_allocations_the_rest() {
    let count = amount(10_000, 3 * LINKS);
    let arena = builder().build();
    drop(chain(&[&arena], count));
    assert_eq!(in_use(&arena), count - LINKS);
    arena.check_positions();
    // Each allocation that finds none free goes on with it, by a few.
    let mut bufs = Vec::new();
    let mut left = count - LINKS;
    while left > 0 {
        let before = in_use(&arena);
        bufs.push(arena.copy(b"next"));
        let freed = before + 1 - in_use(&arena);
        assert!(freed <= 17, "{freed}");
        left -= freed;
        assert!(bufs.len() < 2 * count);
    }
    arena.check_positions();
    assert_eq!(in_use(&arena), bufs.len());
}

fn what_is_left_is_freed_by_what_walks_over_all<R: References>(build: impl Fn() -> ByteArena<R>) {
    let count = amount(1000, 2 * LINKS + 1);
    for call in 0..3 {
        let arena = build();
        drop(chain(&[&arena], count));
        match call {
            0 => assert!([count, count - LINKS].contains(&arena.reclaim())),
            1 => assert_eq!(arena.stats().in_use(), 0),
            _ => {
                arena.shrink_to_fit();
                assert_eq!(arena.core().chunk_bytes(), 0);
            }
        }
        assert_eq!(in_use(&arena), 0);
        arena.check();
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn what_is_left_of_a_chain_is_freed_with_both_counts() {
    what_is_left_is_freed_by_what_walks_over_all(|| builder().build());
    what_is_left_is_freed_by_what_walks_over_all(|| builder().atomic().build());
}

/// Buffers in use of the arena of one, which may be dropped.
fn remaining(buf: &Buf) -> usize {
    // SAFETY: the buffer keeps its core.
    let core = unsafe { buf.header().class().core().as_ref() };
    core.remaining.load(crate::raw::atomic::Ordering::Relaxed)
}

/// The end of a chain of 100,000 links took 4 ms once its arena was dropped.
#[test]
fn the_end_of_a_chain_of_a_dropped_arena_leaves_the_rest_to_later_drops() {
    let count = amount(10_000, 3 * LINKS);
    let arena = builder().build();
    let (head, mut second) = (chain(&[&arena], count), chain(&[&arena], 2 * LINKS));
    let [last, other, third] = [(); 3].map(|()| arena.copy(b"other"));
    drop(arena);
    drop(head);
    let left = count - LINKS;
    assert_eq!(remaining(&last), left + 2 * LINKS + 3);
    // One for each that is dropped alone, or taken out of its chain.
    drop(other);
    assert_eq!(remaining(&last), left - 1 + 2 * LINKS + 2);
    second = second.take_next().unwrap().unwrap();
    assert_eq!(remaining(&last), left - 2 + 2 * LINKS - 1 + 2);
    // For each of the first of a chain too.
    drop(second);
    assert_eq!(remaining(&last), left - 2 - LINKS + LINKS - 1 + 2);
    drop(third);
    assert!(last.is_unique() && remaining(&last) > LINKS);
}

/// A buffer with a link to another arena counts as one that a link holds.
#[test]
fn a_drop_that_may_be_the_last_of_a_dropped_arena_frees_all_that_is_left() {
    let arena = builder().build();
    let head = chain(&[&arena], 2 * LINKS);
    let (mut kept, other) = (arena.copy(b"kept"), arena.copy(b"other"));
    kept.set_next(builder().build().copy(b"elsewhere")).unwrap();
    drop(arena);
    drop(head);
    assert_eq!(remaining(&kept), LINKS + 2);
    drop(other);
    assert_eq!(remaining(&kept), 1);
    assert_eq!(kept.next().unwrap(), *b"elsewhere");
}

/// With one of the arenas dropped before the chain, or none, and with a part of the chain kept.
fn ends_in_every_order<R: References>(build: impl Fn() -> ByteArena<R>) {
    let count = amount(500, 2 * LINKS + 5);
    for order in 0..8 {
        let arenas = [build(), build()];
        let head = chain(&[&arenas[0], &arenas[1]], count);
        let kept = (order & 1 == 1).then(|| head.next().unwrap().next().unwrap());
        let [one, two] = arenas;
        let (mut first, second) = if order & 2 == 0 {
            (Some(one), two)
        } else {
            (Some(two), one)
        };
        if order & 4 == 0 {
            first = None;
        }
        drop(head);
        if let Some(kept) = kept {
            assert_eq!(kept.parts().count(), count - 2);
            assert!(kept.release());
        }
        drop(first);
        // What is left in the one that is there is freed.
        second.reclaim();
        second.check();
        assert_eq!(in_use(&second), 0, "{order}");
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_chain_over_two_arenas_ends_whichever_goes_first() {
    ends_in_every_order(|| builder().build());
    ends_in_every_order(|| builder().atomic().build());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_link_of_the_rest_holds_its_reference_until_it_is_freed() {
    let arena = builder().build();
    let head = chain(&[&arena], 3 * LINKS);
    let mut last = head.clone();
    while let Some(next) = last.next() {
        last = next;
    }
    let loc = head.next().unwrap().loc();
    drop(head);
    assert_eq!(last.references(), Some(2));
    assert!(
        arena.resolve(loc).is_err(),
        "of those that were freed at once"
    );
    arena.reclaim();
    assert!(last.is_unique());
    assert_eq!(last, (3 * LINKS - 1).to_le_bytes());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_chain_that_ends_on_another_thread_is_left_to_the_arena() {
    let arena = builder().atomic().build();
    let count = amount(1000, 2 * LINKS);
    let head = chain(&[&arena], count);
    std::thread::spawn(move || drop(head)).join().unwrap();
    // Those that came back, and then one after the other.
    assert_eq!(arena.reclaim(), count);
    arena.check();
}

/// A chain that goes from class to class and back.
fn of_two_classes<R: References>(arena: &ByteArena<R>, count: usize) -> Buf<R> {
    let mut head = arena.copy(&[0; 16]);
    for index in 1..count {
        let mut buf = arena.copy(&[0; 64][..16 + index % 2 * 48]);
        buf.set_next(head).unwrap();
        head = buf;
    }
    head
}

/// What is left goes to the class of each buffer in turn: of atomic ones, one walk over the classes
/// freed a part.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_chain_over_two_classes_is_reclaimed_as_a_whole() {
    let count = 3 * LINKS;
    let shared = builder().atomic().build();
    drop(of_two_classes(&shared, count));
    assert_eq!(shared.reclaim(), count);
    shared.check();
    let local = builder().build();
    drop(of_two_classes(&local, count));
    assert_eq!(local.reclaim(), count - LINKS);
    local.check();
}

/// The end of a chain was counted as one buffer more than was asked for.
#[test]
fn what_is_left_is_freed_by_as_many_as_asked_for() {
    let arena = builder().build();
    drop(chain(&[&arena], 2 * LINKS));
    let core = arena.core();
    assert_eq!(core.reclaim(core.last_class(), LINKS - 1), LINKS - 1);
    assert_eq!(core.reclaim(core.last_class(), LINKS), 1);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn many_chains_are_left_and_freed() {
    let arena = builder().build();
    let (chains, count) = (amount(20, 3), LINKS + 40);
    (0..chains).for_each(|_| drop(chain(&[&arena], count)));
    arena.check_positions();
    assert_eq!(arena.stats().in_use(), 0);
    // And with the arena.
    (0..chains).for_each(|_| drop(chain(&[&arena], count)));
}

/// It went through the lists of chunks, which changed with what came back.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn references_of_positions_in_many_chunks_end_with_the_arena() {
    let arena = builder().build();
    let bufs: Vec<_> = (0..amount(1000, 200))
        .map(|_| arena.copy(b"held"))
        .collect();
    let kept = bufs[7].clone();
    for buf in bufs {
        let _ = buf.into_loc();
    }
    drop(arena);
    assert!(kept.is_unique() && kept.release());
}
