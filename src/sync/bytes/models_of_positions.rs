//! `ci/loom.sh`: every way in which a position can meet the end of its buffer.

use super::models::arena::{make, write};
use super::models::{Memory, Witnesses, model, start};
use super::record::MOST;
use super::*;
use crate::bytes::{Loc, LocError};
use crate::raw::atomic::thread;

/// Resolves a position, and reads its bytes. Whether that is not stale.
fn read(arena: &ByteArena, witnesses: &Witnesses, loc: Loc, value: u8) -> Option<Buf> {
    match arena.resolve(loc) {
        Ok(buf) => {
            assert_eq!(witnesses.read(buf.as_ptr()), value);
            Some(buf)
        }
        Err(error) => {
            assert_eq!(error, LocError::Stale);
            None
        }
    }
}

#[test]
fn loom_a_position_is_resolved_before_the_last_drop_or_is_stale() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read").unwrap();
        let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
        let (loc, theirs) = (buf.loc(), witnesses.clone());
        let reader = thread::spawn(move || {
            theirs.read(buf.as_ptr());
            buf.release()
        });
        start(late);
        let resolved = read(&arena, &witnesses, loc, 0);
        let is_stale = resolved.is_none();
        // Used again only if it is not this one's.
        let next = arena.copy(b"next").unwrap();
        let reused = write(&witnesses, &next);
        assert!(!reused || is_stale);
        let last = resolved.is_some_and(Buf::release);
        assert!(reader.join().unwrap() != last, "one of them is the last");
        assert_eq!(arena.reclaim(), usize::from(!reused));
        assert!(read(&arena, &witnesses, loc, 0).is_none());
        drop((next, arena));
        memory.expect_freed();
    });
}

/// What becomes of the buffer that became mutable.
fn resolve_against_mutable(then: fn(BufMut)) {
    model(move |late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read").unwrap();
        let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
        let (loc, theirs) = (buf.loc(), witnesses.clone());
        let writer = thread::spawn(move || match buf.try_into_mut() {
            Ok(buf) => {
                theirs.write(buf.as_ptr(), 2);
                then(buf);
            }
            Err(buf) => drop(buf),
        });
        start(late);
        drop(read(&arena, &witnesses, loc, 0));
        writer.join().unwrap();
        assert!(read(&arena, &witnesses, loc, 0).is_none());
        assert_eq!(arena.reclaim(), 1);
        drop(arena);
        memory.expect_freed();
    });
}

#[test]
fn loom_a_position_is_resolved_before_its_buffer_is_written_to_or_is_stale() {
    resolve_against_mutable(drop);
}

#[test]
fn loom_a_position_is_stale_after_its_buffer_was_written_to_and_frozen() {
    resolve_against_mutable(|buf| drop(buf.freeze()));
}

#[test]
fn loom_a_position_is_stale_after_its_buffer_has_another() {
    resolve_against_mutable(|buf| {
        let buf = buf.freeze();
        let _ = buf.loc();
    });
}

#[test]
fn loom_a_position_is_stale_after_its_buffer_was_written_to_and_has_too_many_references() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read").unwrap();
        let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
        let (loc, theirs) = (buf.loc(), witnesses.clone());
        let writer = thread::spawn(move || match buf.try_into_mut() {
            Ok(buf) => {
                theirs.write(buf.as_ptr(), 2);
                let buf = buf.freeze();
                // The last one sets the count, where the others add to it. None ends, so that
                // the chunk is lost with the arena.
                for _ in 0..MOST {
                    core::mem::forget(buf.clone());
                }
                assert_eq!(buf.references(), None);
                core::mem::forget(buf);
            }
            Err(buf) => drop(buf),
        });
        start(late);
        drop(read(&arena, &witnesses, loc, 0));
        writer.join().unwrap();
        assert!(read(&arena, &witnesses, loc, 0).is_none());
        drop(arena);
    });
}

#[test]
fn loom_a_resolved_reference_was_read_before_the_other_becomes_mutable() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read").unwrap();
        let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
        let resolved = arena.resolve(buf.loc()).unwrap();
        let theirs = witnesses.clone();
        let reader = thread::spawn(move || {
            theirs.read(resolved.as_ptr());
            drop(resolved);
        });
        start(late);
        match buf.try_into_mut() {
            Ok(buf) => assert!(write(&witnesses, &buf)),
            Err(buf) => drop(buf),
        }
        reader.join().unwrap();
        drop(arena);
        memory.expect_freed();
    });
}

#[test]
fn loom_of_a_release_and_a_drop_one_is_the_last() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read").unwrap();
        let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
        let (loc, theirs) = (buf.clone().into_loc(), witnesses.clone());
        let reader = thread::spawn(move || {
            theirs.read(buf.as_ptr());
            buf.release()
        });
        start(late);
        let last = arena.release(loc).unwrap();
        assert_eq!(arena.release(loc), Err(LocError::Stale));
        let next = arena.copy(b"next").unwrap();
        let reused = write(&witnesses, &next);
        assert!(reader.join().unwrap() != last, "one of them is the last");
        assert_eq!(arena.reclaim(), usize::from(!reused));
        drop((next, arena));
        memory.expect_freed();
    });
}

#[test]
fn loom_a_release_takes_the_reference_of_no_other_buffer() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read").unwrap();
        let loc = buf.loc();
        let other = thread::spawn(move || buf.try_into_mut().unwrap().freeze().into_loc());
        start(late);
        assert_eq!(arena.release(loc), Err(LocError::Stale));
        let held = other.join().unwrap();
        assert_eq!(arena.release(held), Ok(true));
        drop(arena);
        memory.expect_freed();
    });
}

#[test]
fn loom_what_was_read_before_it_was_held_happens_before_the_chunk_is_used_again() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read").unwrap();
        let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
        let (loc, theirs) = (buf.loc(), witnesses.clone());
        let reader = thread::spawn(move || {
            theirs.read(buf.as_ptr());
            let _ = buf.into_loc();
        });
        start(late);
        let released = arena.release(loc);
        let next = arena.copy(b"next").unwrap();
        let reused = write(&witnesses, &next);
        assert_eq!(reused, released == Ok(true));
        reader.join().unwrap();
        if !reused {
            assert_eq!(arena.release(loc), Ok(true));
        }
        drop((next, arena));
        memory.expect_freed();
    });
}

#[test]
fn loom_a_write_happens_before_it_is_read_by_a_position_that_was_made_up() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let [serial, _] = arena.copy(b"first").unwrap().loc().into_raw();
        arena.reclaim();
        let mut buf = arena.alloc(4).unwrap();
        let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
        let theirs = witnesses.clone();
        let writer = thread::spawn(move || {
            theirs.write(buf.as_ptr(), 2);
            buf.resize(1, 2).unwrap();
            let buf = buf.freeze();
            let _ = buf.loc();
        });
        start(late);
        let guessed = Loc::from_raw([serial + 1, 1]);
        drop(read(&arena, &witnesses, guessed, 2));
        writer.join().unwrap();
        drop(arena);
        memory.expect_freed();
    });
}

#[test]
fn loom_two_positions_of_a_buffer_have_one_serial() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read").unwrap();
        let second = buf.clone();
        let other = thread::spawn(move || second.loc());
        start(late);
        let loc = buf.loc();
        assert_eq!(other.join().unwrap(), loc);
        assert!(arena.resolve(loc).is_ok() && buf.release());
        assert!(arena.resolve(loc).is_err());
        drop(arena);
        memory.expect_freed();
    });
}

#[test]
fn loom_a_reference_is_held_before_the_arena_goes_or_comes_back() {
    for made_before in [false, true] {
        model(move |late| {
            let memory = Memory::new();
            let arena = make(&memory);
            let buf = arena.copy(b"read").unwrap();
            if made_before {
                let _ = buf.loc();
            }
            let theirs = memory.clone();
            let other = thread::spawn(move || {
                theirs.touch();
                if let Err(buf) = buf.try_into_loc() {
                    assert_eq!(buf, *b"read");
                    assert!(buf.release());
                }
            });
            start(late);
            drop(arena);
            other.join().unwrap();
            memory.expect_freed();
        });
    }
}
