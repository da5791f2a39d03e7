//! Positions of buffers that go to other threads.

use std::collections::HashMap;
use std::mem::forget;
use std::sync::Barrier;
use std::sync::mpsc;
use std::thread;

use flatslab::bytes::{Loc, LocError};
use flatslab::sync::bytes::{Buf, ByteArena};

use crate::common::amount;
use crate::common::random::{random, seed};
use crate::source::Counted;

fn small(source: &std::sync::Arc<Counted>) -> ByteArena {
    let builder = ByteArena::builder().start(16).slab_size(1024);
    builder.pages(source.pages()).build()
}

/// A position with the same serial and chunk, of another range.
fn forged(loc: Loc, start: u64, len: u64) -> Loc {
    let [serial, place] = loc.into_raw();
    Loc::from_raw([serial, place >> 40 << 40 | start << 20 | len])
}

/// On another thread.
fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(f).join().unwrap())
}

#[test]
fn a_position_leads_to_the_bytes_it_was_made_of_until_the_last_reference_is_gone() {
    let arena = ByteArena::new();
    let buf = arena.copy(b"hello world").unwrap();
    let (whole, tail) = elsewhere(|| (buf.loc(), buf.slice(6..).loc()));
    assert_eq!((whole.len(), tail.len()), (11, 5));
    assert_eq!(arena.resolve(whole).unwrap(), *b"hello world");
    let resolved = arena.resolve(tail).unwrap();
    assert_eq!(resolved, *b"world");
    assert_eq!(resolved.references(), Some(2));
    assert_eq!(resolved.loc(), tail, "one serial for each buffer");
    elsewhere(|| drop(buf));
    assert_eq!(arena.resolve(whole).unwrap(), *b"hello world");
    elsewhere(|| assert!(resolved.release()));
    for loc in [whole, tail] {
        assert_eq!(arena.resolve(loc), Err(LocError::Stale));
        assert_eq!(arena.release(loc), Err(LocError::Stale));
    }
    // Also when the chunk is used again, and has a position again.
    assert_eq!(arena.reclaim(), 1);
    let again = arena.copy(b"HELLO WORLD").unwrap();
    assert_eq!(arena.resolve(whole), Err(LocError::Stale));
    let loc = again.loc();
    assert_eq!(arena.resolve(whole), Err(LocError::Stale));
    assert_eq!(arena.resolve(loc).unwrap(), *b"HELLO WORLD");
}

#[test]
fn a_reference_that_a_position_holds_is_released_once() {
    let arena = ByteArena::new();
    let buf = arena.copy(b"kept").unwrap();
    let clone = buf.clone();
    let loc = elsewhere(|| clone.into_loc());
    assert_eq!(buf.references(), Some(2));
    assert_eq!(arena.release(loc), Ok(false));
    assert_eq!(arena.release(loc), Err(LocError::Stale));
    assert_eq!((&*buf, buf.references()), (&b"kept"[..], Some(1)));
    // Two are held, and of one position both are released.
    let (one, two) = (buf.slice(1..).into_loc(), buf.into_loc());
    assert_eq!(arena.resolve(one).unwrap(), *b"ept");
    assert_eq!(arena.release(one), Ok(false));
    assert_eq!(arena.release(one), Ok(true));
    assert_eq!(arena.release(two), Err(LocError::Stale));
    assert_eq!((arena.reclaim(), arena.stats().in_use()), (1, 0));
}

#[test]
fn a_position_of_another_arena_is_foreign() {
    let (arena, other) = (ByteArena::new(), ByteArena::new());
    let local = flatslab::bytes::ByteArena::new();
    let (buf, theirs) = (arena.copy(b"1").unwrap(), other.copy(b"2").unwrap());
    let local_buf = local.copy(b"3").unwrap();
    let locs = [theirs.loc(), local_buf.loc(), Loc::from_raw([0, 0])];
    for loc in locs {
        assert_eq!(arena.resolve(loc), Err(LocError::Foreign));
        assert_eq!(arena.release(loc), Err(LocError::Foreign));
    }
    let loc = buf.loc();
    assert_eq!(local.resolve(loc).unwrap_err(), LocError::Foreign);
    assert_eq!(other.resolve(loc), Err(LocError::Foreign));
    // Of this arena, but of no chunk, or of one that has no such serial.
    let [serial, place] = loc.into_raw();
    for chunk in [1, 63, 64, (1 << 24) - 1] {
        let loc = Loc::from_raw([serial, chunk << 40 | place]);
        assert_eq!(arena.resolve(loc), Err(LocError::Stale));
    }
    let later = Loc::from_raw([serial + 1, place]);
    assert_eq!(arena.resolve(later), Err(LocError::Stale));
    assert_eq!(
        arena.resolve(Loc::from_raw([u64::MAX, place])),
        Err(LocError::Foreign)
    );
}

#[test]
fn a_range_leads_to_no_bytes_that_were_not_filled() {
    let arena = ByteArena::builder().start(64).build();
    let mut buf = arena.alloc(64).unwrap();
    buf.extend_from_slice(b"hello").unwrap();
    let buf = buf.freeze();
    let loc = buf.slice(1..4).loc();
    assert_eq!(arena.resolve(forged(loc, 0, 4)).unwrap(), *b"hell");
    assert_eq!(arena.resolve(forged(loc, 4, 0)).unwrap(), *b"");
    let most = (1 << 20) - 1;
    for (start, len) in [(0, 6), (6, 0), (5, 1), (0, most), (most, most), (most, 0)] {
        let loc = forged(loc, start, len);
        assert_eq!(arena.resolve(loc), Err(LocError::Range), "{loc:?}");
        assert_eq!(arena.release(loc), Err(LocError::Stale), "none is held");
    }
    let held = buf.clone().into_loc();
    assert_eq!(arena.release(forged(held, 0, 6)), Err(LocError::Range));
    assert_eq!(arena.resolve(forged(held, 0, 5)).unwrap(), *b"hello");
    assert_eq!(arena.release(held), Ok(false));
    // A buffer that was mutable since has fewer.
    let mut buf = buf.try_into_mut().unwrap();
    buf.truncate(2);
    buf.spare_capacity_mut()
        .fill(std::mem::MaybeUninit::uninit());
    let loc = buf.freeze().into_loc();
    assert_eq!(arena.resolve(forged(loc, 0, 3)), Err(LocError::Range));
    assert_eq!(arena.resolve(loc).unwrap(), *b"he");
}

#[test]
fn what_has_too_many_bytes_has_no_position() {
    let arena = ByteArena::new();
    let large = arena.alloc_zeroed(1 << 20).unwrap().freeze();
    assert_eq!(large.try_loc(), Err(LocError::Range));
    let large = large.try_into_loc().unwrap_err();
    let loc = large.slice(1..).into_loc();
    assert_eq!(arena.resolve(loc).unwrap().len(), (1 << 20) - 1);
    assert_eq!(large.references(), Some(2));
    assert!(crate::common::panics(|| large.loc()));
    assert_eq!(arena.release(loc), Ok(false));
    assert!(crate::common::panics(|| large.clone().into_loc()));
    assert_eq!(large.references(), Some(1));
}

#[test]
fn becoming_mutable_makes_positions_stale() {
    let arena = ByteArena::new();
    let buf = arena.copy(b"hello").unwrap();
    let loc = buf.loc();
    let held = buf.clone().into_loc();
    let buf = buf.try_into_mut().unwrap_err();
    assert_eq!(arena.release(held), Ok(false));
    let mut buf = elsewhere(|| buf.try_into_mut().unwrap());
    buf[0] = b'j';
    for _ in 0..2 {
        assert_eq!(arena.resolve(loc), Err(LocError::Stale));
        assert_eq!(arena.release(loc), Err(LocError::Stale));
    }
    let buf = buf.freeze();
    assert_eq!(arena.resolve(loc), Err(LocError::Stale));
    let second = buf.loc();
    assert_ne!(second, loc);
    assert_eq!(arena.resolve(loc), Err(LocError::Stale));
    assert_eq!(arena.resolve(second).unwrap(), *b"jello");
    assert!(buf.release());
    // One that never was shared.
    let mut buf = arena.alloc(5).unwrap();
    buf.resize(5, 1).unwrap();
    let [serial, _] = second.into_raw();
    for serial in [0, serial, serial + 1] {
        assert!(arena.resolve(Loc::from_raw([serial, 0])).is_err());
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn positions_are_stale_after_their_memory_was_given_back() {
    let source = Counted::new();
    let arena = small(&source);
    let mut stale = Vec::new();
    for round in 0..5 {
        let bufs: Vec<Buf> = (0..8).map(|_| arena.copy(&[round; 20]).unwrap()).collect();
        let locs: Vec<Loc> = bufs.iter().map(Buf::loc).collect();
        let held: Vec<Loc> = bufs.iter().map(|buf| buf.clone().into_loc()).collect();
        elsewhere(|| drop(bufs));
        assert_eq!(arena.trim().slabs, 0);
        assert!(
            locs.iter()
                .all(|&loc| arena.resolve(loc).unwrap() == [round; 20])
        );
        assert!(held.iter().all(|&loc| arena.release(loc).unwrap()));
        assert!(arena.trim().slabs > 0);
        stale.extend(locs);
        for &loc in &stale {
            assert_eq!(arena.resolve(loc), Err(LocError::Stale));
            assert_eq!(arena.release(loc), Err(LocError::Stale));
        }
    }
    drop(arena);
    source.expect_all_back();
}

#[test]
fn references_of_positions_are_given_back_with_the_arena() {
    let source = Counted::new();
    let arena = small(&source);
    let bufs: Vec<Buf> = (0..5_u8).map(|it| arena.copy(&[it; 9]).unwrap()).collect();
    let held: Vec<Loc> = bufs
        .iter()
        .flat_map(|buf| [buf, buf])
        .map(|buf| buf.clone().into_loc())
        .collect();
    let only = arena.copy(b"only").unwrap().into_loc();
    let forgotten = arena.resolve(only).unwrap();
    assert_eq!(arena.release(held[0]), Ok(false));
    let mutable = arena.alloc(3).unwrap();
    elsewhere(|| drop(arena));
    for (number, buf) in (0..).zip(&bufs) {
        assert_eq!((&**buf, buf.references()), (&[number; 9][..], Some(1)));
        assert_eq!(buf.try_loc(), Err(LocError::Closed));
    }
    // A buffer without a position, and one that was mutable.
    let mutable = mutable.freeze().try_into_loc().unwrap_err();
    let mut bufs = bufs.into_iter();
    let frozen = bufs.next().unwrap().try_into_mut().unwrap().freeze();
    let frozen = frozen.try_into_loc().unwrap_err();
    assert!(frozen.is_unique() && mutable.is_unique() && forgotten.is_unique());
    drop((bufs, frozen, mutable));
    assert_eq!(forgotten, *b"only");
    assert!(source.bytes() > 0);
    drop(forgotten);
    source.expect_all_back();
}

#[test]
fn a_closed_arena_that_never_had_a_position_has_none() {
    let source = Counted::new();
    let arena = small(&source);
    let buf = arena.copy(b"bytes").unwrap();
    drop(arena);
    assert_eq!(buf.try_loc(), Err(LocError::Closed));
    assert!(crate::common::panics(|| buf.loc()));
    let buf = buf.try_into_loc().unwrap_err();
    assert!(crate::common::panics(move || buf.into_loc()));
    source.expect_all_back();
}

#[test]
fn positions_that_are_made_while_the_arena_goes_lose_nothing() {
    for round in 0..amount(200, 40, 6) {
        let source = Counted::new();
        let arena = small(&source);
        let bufs: Vec<Buf> = (0..4).map(|_| arena.copy(b"bytes").unwrap()).collect();
        if round % 2 == 0 {
            let _ = bufs[0].loc();
        }
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                for buf in bufs {
                    if let Err(buf) = buf.try_into_loc() {
                        assert_eq!(buf, *b"bytes");
                    }
                }
            });
            barrier.wait();
            drop(arena);
        });
        source.expect_all_back();
    }
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_forgotten_buffer_keeps_its_position() {
    let arena = ByteArena::new();
    let buf = arena.copy(b"lost").unwrap();
    let loc = buf.loc();
    forget(buf);
    let again = arena.resolve(loc).unwrap();
    assert!(again.references() == Some(2) && !again.release());
    assert_eq!(arena.release(loc), Err(LocError::Stale));
}

/// The arena and what a model says of it.
#[derive(Default)]
struct Model {
    /// Of each buffer: its bytes, how many references, and how many of them positions hold.
    chunks: HashMap<u32, (Vec<u8>, usize, usize)>,
    bufs: Vec<(u32, Buf)>,
    /// Also those that are stale.
    locs: Vec<(u32, Loc)>,
    made: u32,
}

impl Model {
    fn add(&mut self, arena: &ByteArena) {
        self.made += 1;
        let bytes = vec![self.made as u8; 1 + random(40) as usize];
        self.bufs.push((self.made, arena.copy(&bytes).unwrap()));
        self.chunks.insert(self.made, (bytes, 1, 0));
    }

    fn count(&mut self, id: u32) -> &mut usize {
        &mut self.chunks.get_mut(&id).unwrap().1
    }

    /// One reference less; says whether it was the last.
    fn drop_ref(&mut self, id: u32) -> bool {
        *self.count(id) -= 1;
        let is_last = *self.count(id) == 0;
        if is_last {
            self.chunks.remove(&id);
        }
        is_last
    }

    /// A buffer out of those there are.
    fn take(&mut self) -> (u32, Buf) {
        let index = random(self.bufs.len() as u64) as usize;
        self.bufs.swap_remove(index)
    }

    fn step(&mut self, arena: &ByteArena) {
        if self.bufs.is_empty() || random(4) == 0 {
            self.add(arena);
        }
        match random(8) {
            0 => {
                let (id, buf) = self.take();
                *self.count(id) += 1;
                self.bufs.push((id, buf.clone()));
                self.bufs.push((id, buf));
            }
            1 | 2 => {
                let (id, buf) = self.take();
                let is_last = self.drop_ref(id);
                assert_eq!(elsewhere_sometimes(|| buf.release()), is_last);
            }
            3 => {
                let (id, buf) = self.take();
                self.locs.push((id, elsewhere_sometimes(|| buf.loc())));
                self.bufs.push((id, buf));
            }
            4 => {
                let (id, buf) = self.take();
                self.locs.push((id, elsewhere_sometimes(|| buf.into_loc())));
                self.chunks.get_mut(&id).unwrap().2 += 1;
            }
            5 => {
                let (id, buf) = self.take();
                let is_unique = *self.count(id) == 1;
                match buf.try_into_mut() {
                    Ok(mut buf) => {
                        assert!(is_unique);
                        self.drop_ref(id);
                        self.made += 1;
                        buf.fill(self.made as u8);
                        self.chunks.insert(self.made, (buf.to_vec(), 1, 0));
                        self.bufs.push((self.made, buf.freeze()));
                    }
                    Err(buf) => {
                        assert!(!is_unique);
                        self.bufs.push((id, buf));
                    }
                }
            }
            _ => self.use_loc(arena),
        }
        if random(20) == 0 {
            arena.trim();
        }
        for (id, buf) in &self.bufs {
            let (bytes, count, _) = &self.chunks[id];
            assert_eq!((&**buf, buf.references()), (&bytes[..], Some(*count)));
        }
    }

    fn use_loc(&mut self, arena: &ByteArena) {
        if self.locs.is_empty() {
            return;
        }
        let index = random(self.locs.len() as u64) as usize;
        let (id, loc) = self.locs[index];
        let Some((bytes, count, held)) = self.chunks.get_mut(&id) else {
            assert_eq!(arena.resolve(loc), Err(LocError::Stale));
            assert_eq!(arena.release(loc), Err(LocError::Stale));
            return;
        };
        if random(2) == 0 {
            let buf = arena.resolve(loc).unwrap();
            assert_eq!(buf, bytes[..]);
            *count += 1;
            self.bufs.push((id, buf));
        } else if *held == 0 {
            assert_eq!(arena.release(loc), Err(LocError::Stale));
        } else {
            *held -= 1;
            let is_last = self.drop_ref(id);
            assert_eq!(arena.release(loc), Ok(is_last));
        }
    }
}

/// On another thread, now and then.
fn elsewhere_sometimes<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    if random(8) == 0 { elsewhere(f) } else { f() }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn random_programs_with_positions_do_as_a_map_does() {
    for round in 0..amount(40, 6, 1) {
        seed(round);
        let source = Counted::new();
        let arena = small(&source);
        let mut model = Model::default();
        for _ in 0..amount(500, 150, 60) {
            model.step(&arena);
        }
        arena.reclaim();
        assert_eq!(arena.stats().in_use(), model.chunks.len());
        if round % 2 == 0 {
            model.bufs.clear();
        }
        drop(arena);
        drop(model);
        source.expect_all_back();
    }
}

#[test]
fn a_position_is_resolved_or_stale_while_its_buffer_ends_elsewhere() {
    let source = Counted::new();
    let arena = small(&source);
    let (to_them, from_us) = mpsc::sync_channel::<(u32, Buf)>(2);
    thread::scope(|scope| {
        scope.spawn(move || {
            for (number, buf) in from_us {
                match number % 3 {
                    0 => drop(buf),
                    1 => {
                        if let Ok(mut buf) = buf.try_into_mut() {
                            buf.fill(0xff);
                            let buf = buf.freeze();
                            let _ = buf.loc();
                        }
                    }
                    _ => {
                        if let Ok(mut buf) = buf.try_into_mut() {
                            buf.fill(0xff);
                            drop(buf);
                        }
                    }
                }
            }
        });
        let mut stale = 0;
        let count = amount(100_000, 600, 60_u32);
        for number in 0..count {
            let bytes = number.to_ne_bytes();
            let buf = arena.copy(&bytes).unwrap();
            let loc = buf.loc();
            let held = number % 5 == 0;
            if held {
                assert_eq!(buf.clone().into_loc(), loc);
            }
            to_them.send((number, buf)).unwrap();
            for _ in 0..3 {
                match arena.resolve(loc) {
                    Ok(buf) => assert_eq!(buf, bytes),
                    Err(error) => {
                        assert!(error == LocError::Stale && !held);
                        stale += 1;
                    }
                }
            }
            if held {
                arena.release(loc).unwrap();
            }
            assert_eq!(arena.release(loc), Err(LocError::Stale));
        }
        assert!(stale <= 3 * count);
        drop(to_them);
    });
    assert_eq!(arena.stats().in_use(), 0);
    drop(arena);
    source.expect_all_back();
}
