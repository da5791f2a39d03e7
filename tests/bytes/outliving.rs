//! Buffers that outlive their arena, and what is forgotten.

use std::mem::forget;

use flatslab::bytes::{Buf, BufMut, ByteArena, LocError};

use crate::common::amount;
use crate::common::random::{one_in, random, seed};
use crate::source::Counted;

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn the_last_buffer_gives_the_memory_back() {
    type Last = fn(&ByteArena) -> Box<dyn FnOnce()>;
    fn text(arena: &ByteArena) -> Buf {
        arena.try_copy(b"some bytes of it").unwrap()
    }
    fn check(buf: &[u8]) {
        assert_eq!(buf, b"some bytes of it");
    }
    let holders: [(&str, Last); 9] = [
        ("buffer", |arena| {
            let buf = text(arena);
            Box::new(move || check(&buf))
        }),
        ("slice", |arena| {
            let buf = text(arena).slice(..1);
            Box::new(move || assert_eq!(buf, *b"s"))
        }),
        ("buffer, released", |arena| {
            let buf = text(arena);
            Box::new(move || assert!(buf.release()))
        }),
        ("two references", |arena| {
            let buf = text(arena);
            Box::new(move || {
                let second = buf.clone();
                drop(buf);
                check(&second);
            })
        }),
        ("mutable", |arena| {
            let buf = arena.try_alloc(10).unwrap();
            Box::new(move || drop(buf))
        }),
        ("mutable, frozen", |arena| {
            let mut buf = arena.try_alloc(10).unwrap();
            Box::new(move || {
                buf.extend_from_slice(b"later").unwrap();
                assert_eq!(buf.freeze(), *b"later");
            })
        }),
        ("shared, then mutable", |arena| {
            let buf = text(arena);
            Box::new(move || check(&buf.try_into_mut().unwrap()))
        }),
        ("chain", |arena| {
            let mut head = text(arena);
            head.set_next(text(arena)).unwrap();
            Box::new(move || check(&head.take_next().unwrap().unwrap()))
        }),
        ("tail of a chain", |arena| {
            let mut head = text(arena);
            head.set_next(text(arena)).unwrap();
            let tail = head.next().unwrap();
            Box::new(move || check(&tail))
        }),
    ];
    for (name, holder) in holders {
        let source = Counted::new();
        let arena = ByteArena::builder().chunk_bytes(4096).pages(source.pages());
        let arena = arena.build();
        let last = holder(&arena);
        drop(arena);
        assert!(source.bytes() > 4096, "{name} holds the memory");
        last();
        source.expect_all_back();
    }
}

#[test]
fn buffers_are_dropped_after_their_arena_in_any_order() {
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let source = Counted::new();
        let arena = ByteArena::builder().chunk_bytes(256).pages(source.pages());
        let arena = arena.build();
        let mut kept: Vec<Option<Buf>> = (0..3)
            .map(|number| Some(crate::owned_by(&arena, number, 100)))
            .collect();
        drop(arena);
        for place in order {
            let buf = kept[place].take().unwrap();
            crate::expect_owner(&buf, place as u8);
            assert!(source.bytes() > 0);
        }
        source.expect_all_back();
    }
}

#[test]
fn references_of_positions_are_given_back_with_the_arena() {
    let source = Counted::new();
    let arena = ByteArena::builder().chunk_bytes(256).pages(source.pages());
    let arena = arena.build();
    let buf = arena.try_copy(b"kept").unwrap();
    let _locs = [(); 3].map(|()| buf.clone().into_loc());
    let _alone = arena.try_copy(b"only by its position").unwrap().into_loc();
    let mut head = arena.try_copy(b"head").unwrap();
    head.set_next(arena.try_copy(b"tail").unwrap()).unwrap();
    let _chain = head.into_loc();
    assert_eq!((buf.references(), arena.stats().held_by_locs), (Some(4), 5));
    drop(arena);
    assert_eq!(buf.references(), Some(1));
    assert_eq!(buf, *b"kept");
    drop(buf);
    source.expect_all_back();
}

#[test]
fn no_position_is_made_once_the_arena_is_dropped() {
    let arena = ByteArena::new();
    let buf = arena.try_copy(b"kept").unwrap();
    let loc = buf.loc();
    drop(arena);
    assert_eq!(buf.try_loc(), Err(LocError::Closed));
    let buf = buf.try_into_loc().unwrap_err();
    assert_eq!(buf, *b"kept");
    assert!(crate::common::panics(|| buf.loc()));
    assert_eq!(ByteArena::new().resolve(loc), Err(LocError::Foreign));
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn what_is_forgotten_is_lost_and_nothing_else() {
    let source = Counted::new();
    let arena = ByteArena::builder().chunk_bytes(256).pages(source.pages());
    let arena = arena.build();
    let buf: Buf = arena.try_copy(b"kept").unwrap();
    let buf_mut: BufMut = arena.try_alloc(9).unwrap();
    let slice = buf.slice(1..);
    let loc = buf.clone().into_loc();
    let mut head = arena.try_copy(b"head").unwrap();
    head.set_next(arena.try_copy(b"tail").unwrap()).unwrap();
    forget(slice);
    forget(buf_mut);
    forget(head);
    assert_eq!(buf.references(), Some(3));
    assert!(!arena.release(loc).unwrap());
    drop(buf);
    // The chunks of the four buffers are never used again.
    assert_eq!(arena.stats().in_use(), 4);
    assert_eq!(crate::shrunk(&arena), 0);
    for number in 0..20 {
        let others = [(); 3].map(|()| crate::owned_by(&arena, number, 64));
        others
            .iter()
            .for_each(|buf| crate::expect_owner(buf, number));
    }
    drop(arena);
    assert!(source.bytes() > 0, "the memory stays");

    let arena = ByteArena::new();
    let buf = arena.try_copy(b"kept").unwrap();
    forget(arena);
    assert_eq!(buf, *b"kept");
}

/// A reference, and what its buffer has.
type Known = (Buf, u64);

/// A chain of so many buffers of arenas by chance.
fn chain(arenas: &[ByteArena], count: u64) -> Known {
    let mut head: Option<Buf> = None;
    for index in (0..count).rev() {
        let arena = &arenas[random(arenas.len() as u64) as usize];
        let mut buf = arena.copy(&index.to_le_bytes());
        if let Some(next) = head.take() {
            buf.set_next(next).unwrap();
        }
        head = Some(buf);
    }
    (head.unwrap(), 0)
}

/// Buffers of arenas that are dropped at any time are linked and let go by chance. What is left of
/// their chains is freed with the last of them.
#[test]
fn chains_of_arenas_that_are_dropped_at_any_time_give_all_memory_back() {
    for number in 0..amount(300, 1) {
        seed(number);
        let source = Counted::new();
        let build = |_| {
            let builder = ByteArena::builder().smallest(16).largest(16);
            builder.chunk_bytes(1 << 10).pages(source.pages()).build()
        };
        let mut arenas: Vec<_> = (0..1 + random(4)).map(build).collect();
        let longest = amount(300, 150);
        let mut bufs: Vec<Known> = Vec::new();
        while !(arenas.is_empty() && bufs.is_empty()) {
            let index = random(bufs.len().max(1) as u64) as usize;
            match random(16) {
                0 if one_in(4) && !arenas.is_empty() => {
                    drop(arenas.swap_remove(random(arenas.len() as u64) as usize));
                }
                1..4 if !arenas.is_empty() => bufs.push(chain(&arenas, 1 + random(longest))),
                _ if bufs.is_empty() => {}
                4 => bufs.push(bufs[index].clone()),
                // Somewhere in the chain, which is its own from there on if there is no other.
                5 | 6 => {
                    let mut at = bufs[index].0.clone();
                    for _ in 0..random(longest) {
                        let Some(next) = at.next() else { break };
                        at = next;
                    }
                    let value = u64::from_le_bytes(at[..].try_into().unwrap());
                    bufs.push((at, value));
                }
                7 => {
                    if let Ok(Some(rest)) = bufs[index].0.take_next() {
                        let value = u64::from_le_bytes(rest[..].try_into().unwrap());
                        bufs.push((rest, value));
                    }
                }
                // To a buffer from which this one cannot be reached, or it would have another
                // reference.
                8..11 => {
                    let (next, _) = bufs.swap_remove(index);
                    let Some((last, _)) = bufs.last_mut() else {
                        continue;
                    };
                    drop(last.set_next(next));
                }
                11 => {
                    let (mut other, _) = bufs.swap_remove(index);
                    if let Some((last, _)) = bufs.last_mut() {
                        if let Ok(Some(next)) = last.next_mut() {
                            std::mem::swap(next, &mut other);
                        }
                    }
                }
                _ => drop(bufs.swap_remove(index)),
            }
            for (buf, value) in &bufs {
                assert_eq!(buf[..], value.to_le_bytes());
            }
        }
        source.expect_all_back();
    }
}

/// A chain that leads to this one after so many buffers that it is left.
fn behind_many(filler: &ByteArena, next: Buf) -> Buf {
    (0..64).fold(next, |next, _| {
        let mut buf = filler.copy(b"fill");
        buf.set_next(next).unwrap();
        buf
    })
}

/// A link looked at nothing: it made a buffer of the one arena the last but one of the other.
#[test]
fn of_two_dropped_arenas_none_waits_for_what_only_the_other_leads_to() {
    let source = Counted::new();
    let build = || {
        let builder = ByteArena::builder().smallest(16).largest(16);
        builder.chunk_bytes(1 << 10).pages(source.pages()).build()
    };
    let filler = ByteArena::new();
    let (one, other) = (build(), build());
    let [mut left, mut first, mut second] = [(); 3].map(|()| one.copy(b"one"));
    let [mut head, mut middle, end, below] = [(); 4].map(|()| other.copy(b"other"));
    drop((one, other));
    left.set_next(below).unwrap();
    drop(behind_many(&filler, left));
    second.set_next(end).unwrap();
    middle.set_next(second).unwrap();
    first.set_next(middle).unwrap();
    head.set_next(first).unwrap();
    drop(behind_many(&filler, head));
    drop(filler);
    source.expect_all_back();
}
