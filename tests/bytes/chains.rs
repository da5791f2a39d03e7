//! Chains: what links do, and when they may change.

use flatslab::bytes::{Buf, ByteArena, LocError};

#[cfg(feature = "std")]
use crate::common::amount;
use crate::{expect_owner, owned_by, small};

/// A chain of buffers with these numbers, 20 bytes each.
fn chain(arena: &ByteArena, numbers: &[u8]) -> Buf {
    let mut next = None;
    for &number in numbers.iter().rev() {
        let mut buf = owned_by(arena, number, 20);
        if let Some(next) = next {
            assert!(buf.set_next(next).unwrap().is_none());
        }
        next = Some(buf);
    }
    next.unwrap()
}

/// The numbers of a chain.
#[track_caller]
fn numbers(head: &Buf) -> Vec<u8> {
    let number = |part: &[u8]| {
        assert_eq!(part.len(), 20);
        expect_owner(part, part[0]);
        part[0]
    };
    head.parts().map(number).collect()
}

#[test]
fn links_lead_from_buffer_to_buffer() {
    let arena = small(512);
    let head = chain(&arena, &[1, 2, 3]);
    assert_eq!(numbers(&head), [1, 2, 3]);
    assert_eq!((head.len(), head.chain_len()), (20, 60));
    let second = head.next().unwrap();
    expect_owner(&second, 2);
    assert_eq!(second.references(), Some(2));
    assert_eq!(head.next_ref().unwrap().references(), Some(2));
    expect_owner(second.next_ref().unwrap(), 3);
    assert!(second.next().unwrap().next().is_none());
    assert!(head.is_unique());
    drop(head);
    assert_eq!(numbers(&second), [2, 3]);
    assert_eq!(arena.stats().in_use(), 2);
    drop(second);
    assert_eq!(arena.stats().in_use(), 0);
}

#[test]
fn a_buffer_alone_is_a_chain_of_one() {
    let arena = small(512);
    let mut buf = owned_by(&arena, 1, 20);
    assert!(buf.next().is_none() && buf.next_ref().is_none());
    assert!(buf.next_mut().unwrap().is_none());
    assert!(buf.take_next().unwrap().is_none());
    assert_eq!((numbers(&buf), buf.chain_len()), (vec![1], 20));
    let mut parts = buf.parts();
    assert!(parts.next().is_some());
    assert!(parts.next().is_none() && parts.next().is_none());
}

#[test]
fn set_next_returns_what_was_linked_before() {
    let arena = small(512);
    let mut head = chain(&arena, &[1, 2, 3]);
    let before = head.set_next(chain(&arena, &[4, 5])).unwrap().unwrap();
    assert_eq!(
        (numbers(&head), numbers(&before)),
        (vec![1, 4, 5], vec![2, 3])
    );
    let taken = head.take_next().unwrap().unwrap();
    assert_eq!((numbers(&head), numbers(&taken)), (vec![1], vec![4, 5]));
    assert!(taken.is_unique() && before.is_unique());
}

/// Makes another reference to a buffer, and returns what holds it.
type Sharing = fn(&ByteArena, &Buf) -> Box<dyn std::any::Any>;

#[test]
fn the_link_of_a_shared_buffer_does_not_change() {
    let ways: [(&str, Sharing); 5] = [
        ("clone", |_, buf| Box::new(buf.clone())),
        ("slice", |_, buf| Box::new(buf.slice(1..1))),
        ("position", |_, buf| Box::new(buf.clone().into_loc())),
        ("link", |arena, buf| {
            let mut head = owned_by(arena, 9, 20);
            head.set_next(buf.clone()).unwrap();
            Box::new(head)
        }),
        ("resolved", |arena, buf| {
            Box::new(arena.resolve(buf.loc()).unwrap())
        }),
    ];
    for (name, share) in ways {
        let arena = small(512);
        let mut head = chain(&arena, &[1, 2]);
        let other = share(&arena, &head);
        let error = head.set_next(owned_by(&arena, 3, 20)).unwrap_err();
        assert!(error.to_string().contains("references"), "{error}");
        assert_eq!(format!("{error:?}"), "SharedError(..)");
        expect_owner(&error.into_inner(), 3);
        assert!(head.take_next().is_err(), "{name}");
        assert!(head.next_mut().is_err(), "{name}");
        assert_eq!(numbers(&head), [1, 2], "{name}");
        match other.downcast::<flatslab::bytes::Loc>() {
            Ok(loc) => assert!(!arena.release(*loc).unwrap()),
            Err(other) => drop(other),
        }
        assert!(head.take_next().unwrap().is_some(), "{name}");
    }
}

#[test]
fn a_refused_change_keeps_the_positions_of_a_shared_buffer() {
    let arena = small(512);
    let mut head = chain(&arena, &[1, 2]);
    let (loc, other) = (head.loc(), head.clone());
    assert!(head.next_mut().is_err() && head.take_next().is_err());
    assert_eq!(arena.resolve(loc).unwrap(), other);
}

#[test]
fn a_middle_link_is_replaced_and_the_rest_stays() {
    let arena = small(512);
    let mut head = chain(&arena, &[1, 2, 3, 4]);
    let last = head.next().unwrap().next().unwrap().next().unwrap();
    let place = last.as_ptr();
    drop(last);
    let second = head.next_mut().unwrap().unwrap();
    let third = second.next_mut().unwrap().unwrap();
    let rest = third.take_next().unwrap();
    let mut replacement = owned_by(&arena, 9, 20);
    replacement.set_next(rest.unwrap()).unwrap();
    let replaced = std::mem::replace(third, replacement);
    assert_eq!(numbers(&replaced), [3]);
    assert_eq!(numbers(&head), [1, 2, 9, 4]);
    let parts: Vec<_> = head.parts().map(<[u8]>::as_ptr).collect();
    assert_eq!(parts[3], place);
    drop(replaced);
    assert_eq!(arena.stats().in_use(), 4);
}

#[test]
fn a_shared_middle_link_is_not_changed_through_the_head() {
    let arena = small(512);
    let mut head = chain(&arena, &[1, 2, 3]);
    let middle = head.next().unwrap();
    let second = head.next_mut().unwrap().unwrap();
    assert!(second.next_mut().is_err());
    assert!(second.set_next(owned_by(&arena, 9, 20)).is_err());
    assert!(second.take_next().is_err());
    // But it may be replaced as a whole.
    *second = owned_by(&arena, 9, 20);
    assert_eq!((numbers(&head), numbers(&middle)), (vec![1, 9], vec![2, 3]));
}

#[test]
fn two_heads_share_a_tail() {
    let arena = small(512);
    let tail = chain(&arena, &[7, 8]);
    let (mut one, mut other) = (owned_by(&arena, 1, 20), owned_by(&arena, 2, 20));
    one.set_next(tail.clone()).unwrap();
    other.set_next(tail).unwrap();
    assert_eq!(
        (numbers(&one), numbers(&other)),
        (vec![1, 7, 8], vec![2, 7, 8])
    );
    assert!(one.next_mut().unwrap().unwrap().take_next().is_err());
    drop(one);
    assert_eq!(numbers(&other), [2, 7, 8]);
    let tail = other.next_mut().unwrap().unwrap();
    assert!(tail.take_next().unwrap().is_some());
    assert_eq!(numbers(&other), [2, 7]);
}

#[test]
fn slices_of_a_buffer_have_its_link() {
    let arena = small(512);
    let head = chain(&arena, &[1, 2]);
    let slice = head.slice(3..5);
    assert_eq!(slice.chain_len(), 22);
    let mut empty = head.slice(..0);
    drop((head, slice));
    empty.advance(0);
    assert_eq!(empty.chain_len(), 20);
    let tail = empty.take_next().unwrap().unwrap();
    expect_owner(&tail, 2);
}

#[test]
fn a_link_may_be_a_part_of_its_buffer() {
    let arena = small(512);
    let mut head = owned_by(&arena, 1, 20);
    let next = arena.try_copy(b"hello world").unwrap();
    head.set_next(next.slice(6..)).unwrap();
    drop(next);
    assert_eq!(head.next().unwrap(), *b"world");
    assert_eq!(head.chain_len(), 25);
}

/// A few hundred bytes of stack a link would pass this.
#[cfg(feature = "std")]
const STACK: usize = 64 << 10;

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
#[cfg(feature = "std")]
fn a_long_chain_is_dropped_on_a_small_stack() {
    let links = amount(1_000_000, 100);
    let run = move || {
        let arena = ByteArena::builder()
            .smallest(16)
            .chunk_bytes(1 << 16)
            .build();
        let mut head = arena.try_copy(b"last").unwrap();
        for _ in 1..links {
            let mut buf = arena.try_alloc(4).unwrap().freeze();
            buf.set_next(head).unwrap();
            head = buf;
        }
        assert_eq!((head.chain_len(), arena.stats().in_use()), (4, links));
        drop(head);
        assert_eq!(arena.stats().in_use(), 0);
        // And one that is held by a position, with its arena.
        let mut head = arena.try_copy(b"last").unwrap();
        for _ in 1..links / 10 {
            let mut buf = arena.try_alloc(4).unwrap().freeze();
            buf.set_next(head).unwrap();
            head = buf;
        }
        let _loc = head.into_loc();
        drop(arena);
    };
    let thread = std::thread::Builder::new().stack_size(STACK);
    thread.spawn(run).unwrap().join().unwrap();
}

#[test]
fn dropping_a_chain_ends_at_the_first_shared_buffer() {
    let arena = small(512);
    let head = chain(&arena, &[1, 2, 3, 4]);
    let third = head.next().unwrap().next().unwrap();
    assert!(head.release());
    assert_eq!(arena.stats().in_use(), 2);
    assert_eq!((numbers(&third), third.references()), (vec![3, 4], Some(1)));
}

#[test]
fn a_chain_over_two_arenas_keeps_the_memory_of_both() {
    for which in [0, 1] {
        let mut arenas = [Some(small(512)), Some(small(512))];
        let [one, other] = arenas.each_ref().map(|arena| arena.as_ref().unwrap());
        let mut second = owned_by(other, 2, 20);
        second.set_next(owned_by(one, 3, 20)).unwrap();
        let mut head = owned_by(one, 1, 20);
        head.set_next(second).unwrap();
        arenas[which] = None;
        assert_eq!(numbers(&head), [1, 2, 3]);
        let tail = head.take_next().unwrap().unwrap();
        arenas[1 - which] = None;
        assert_eq!((numbers(&head), numbers(&tail)), (vec![1], vec![2, 3]));
        if which == 0 {
            drop(head);
            expect_owner(&tail, 2);
        } else {
            drop(tail);
            expect_owner(&head, 1);
        }
    }
}

#[test]
fn the_position_of_a_head_is_stale_once_its_link_is_borrowed() {
    let arena = small(512);
    let mut head = chain(&arena, &[1, 2, 3]);
    let loc = head.loc();
    assert_eq!(arena.resolve(loc).unwrap(), head);
    let second = head.next_mut().unwrap().unwrap();
    assert_eq!(arena.resolve(loc), Err(LocError::Stale));
    let inner = second.loc();
    let third = second.next_mut().unwrap().unwrap();
    assert_eq!(arena.resolve(inner), Err(LocError::Stale));
    // Of the third nothing is borrowed.
    let leaf = third.loc();
    expect_owner(&arena.resolve(leaf).unwrap(), 3);
    assert_eq!(arena.resolve(loc), Err(LocError::Stale));
    assert_eq!(arena.resolve(head.loc()).unwrap(), head);
}

#[test]
fn the_position_of_a_head_leads_to_its_chain() {
    let arena = small(512);
    let mut head = chain(&arena, &[1, 2]);
    let loc = head.loc();
    head.set_next(chain(&arena, &[3, 4])).unwrap();
    let _held = head.into_loc();
    assert_eq!(numbers(&arena.resolve(loc).unwrap()), [1, 3, 4]);
    assert!(arena.release(loc).unwrap());
    assert_eq!(arena.stats().in_use(), 0);
}

#[test]
fn a_head_that_is_filled_keeps_its_chain() {
    let arena = small(512);
    let head = chain(&arena, &[1, 2, 3]);
    let mut buf = head.try_into_mut().unwrap();
    buf.resize(20, 9).unwrap();
    buf.fill(9);
    let head = buf.freeze();
    assert_eq!(numbers(&head), [9, 2, 3]);
    let second = head.next().unwrap();
    drop(head.try_into_mut().unwrap());
    assert_eq!((arena.stats().in_use(), second.references()), (2, Some(1)));
    let buf = second.try_into_mut().unwrap();
    drop(arena);
    drop(buf);
}

#[test]
fn a_chunk_that_is_used_again_has_no_link() {
    let arena = small(64);
    for _ in 0..3 {
        let head = chain(&arena, &[1, 2]);
        drop(head);
        let bufs = [1, 2].map(|number| owned_by(&arena, number, 20));
        assert!(bufs.iter().all(|buf| buf.next_ref().is_none()));
        let head = chain(&arena, &[3, 4]);
        drop(head.try_into_mut().unwrap());
        let buf = arena.try_alloc(20).unwrap().freeze();
        assert!(buf.next_ref().is_none());
    }
}

/// Iterators may be kept in a struct.
#[test]
fn parts_and_entries_are_iterators_with_names() {
    struct Output<'b>(flatslab::bytes::Parts<'b, flatslab::bytes::Local>);

    let arena = ByteArena::new();
    let mut head = arena.copy(b"hello");
    head.set_next(arena.copy(b" world")).unwrap();
    let mut output = Output(head.parts());
    assert_eq!(output.0.next(), Some(&b"hello"[..]));
    assert_eq!(format!("{:?}", output.0), "[6]");
    assert_eq!(
        output.0.clone().chain(output.0).collect::<Vec<_>>().len(),
        2
    );

    let mut ring = flatslab::bytes::Ring::with_capacity(3, 16);
    for entry in [b"a", b"b", b"c", b"d"] {
        ring.push(entry).unwrap();
    }
    let entries: flatslab::bytes::RingIter<'_, _> = ring.iter();
    assert_eq!(
        (entries.len(), &entries.clone().next_back().unwrap()[..]),
        (3, &b"d"[..])
    );
    assert!(entries.map(|entry| entry[0]).eq(*b"bcd"));
}
