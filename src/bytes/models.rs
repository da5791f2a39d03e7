//! `ci/loom.sh`: every order in which two threads can act on buffers with atomic counts.
//!
//! Loom does not know about bytes, so it does not see who reads and writes them. So each place that
//! bytes can have is paired with a witness, which is touched wherever the bytes are.

use super::{Atomic, ByteArena};
use crate::raw::atomic::thread;
use crate::raw::witness::{Memory, Witnesses, model, start};

/// An arena of chunks of one buffer, of up to this many bytes: a buffer that was returned is used
/// again, and one that was not is no neighbour of the next.
fn make_up_to(memory: &Memory, largest: usize) -> ByteArena<Atomic> {
    let builder = ByteArena::builder().atomic().smallest(16).largest(largest);
    builder.chunk_bytes(16).pages(memory.pages()).build()
}

fn make(memory: &Memory) -> ByteArena<Atomic> {
    make_up_to(memory, 16)
}

/// Writes to the witness if that is the buffer.
fn write(witnesses: &Witnesses, bytes: &[u8]) -> bool {
    let is_same = bytes.as_ptr().addr() == witnesses.first;
    if is_same {
        witnesses.write(bytes.as_ptr(), 2);
    }
    is_same
}

#[test]
fn loom_the_last_drop_happens_before_the_buffer_is_used_again() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read");
        let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
        let theirs = witnesses.clone();
        let reader = thread::spawn(move || {
            theirs.read(buf.as_ptr());
            drop(buf);
        });
        start(late);
        let second = arena.copy(b"next");
        let reused = write(&witnesses, &second);
        reader.join().unwrap();
        assert_eq!(arena.reclaim(), usize::from(!reused));
        drop((second, arena));
        memory.expect_freed();
    });
}

#[test]
fn loom_of_two_clones_that_are_dropped_at_once_one_is_the_last() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read");
        let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
        let (second, theirs) = (buf.clone(), witnesses.clone());
        let reader = thread::spawn(move || {
            theirs.read(second.as_ptr());
            second.release()
        });
        start(late);
        witnesses.read(buf.as_ptr());
        let last = buf.release();
        let next = arena.copy(b"next");
        let reused = write(&witnesses, &next);
        assert!(reader.join().unwrap() != last, "one of them is the last");
        assert_eq!(arena.reclaim(), usize::from(!reused));
        drop((next, arena));
        memory.expect_freed();
    });
}

#[test]
fn loom_a_clone_that_is_dropped_was_read_before_the_other_becomes_mutable() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read");
        let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
        let (second, theirs) = (buf.clone(), witnesses.clone());
        let reader = thread::spawn(move || {
            theirs.read(second.as_ptr());
            drop(second);
        });
        start(late);
        match buf.try_into_mut() {
            Ok(buf) => assert!(write(&witnesses, &buf)),
            Err(buf) => assert!(witnesses.read(buf.as_ptr()) == 0),
        }
        reader.join().unwrap();
        drop(arena);
        memory.expect_freed();
    });
}

#[test]
fn loom_what_the_rest_of_a_split_buffer_wrote_happens_before_the_front_becomes_mutable() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let mut buf = arena.alloc(16);
        buf.resize(8, 1).unwrap();
        let witnesses = Witnesses::new(buf.as_ptr(), 8, 2);
        let front = buf.split_to(8);
        let theirs = witnesses.clone();
        let filler = thread::spawn(move || {
            theirs.write(buf.as_ptr(), 1);
            buf.resize(8, 2).unwrap();
            drop(buf);
        });
        start(late);
        assert_eq!(witnesses.read(front.as_ptr()), 0);
        if let Ok(mut all) = front.try_into_mut() {
            all.resize(16, 3).unwrap();
            witnesses.write(all.as_ptr(), 2);
            witnesses.write(all[8..].as_ptr(), 2);
        }
        filler.join().unwrap();
        assert_eq!(arena.reclaim(), 1);
        drop(arena);
        memory.expect_freed();
    });
}

#[test]
fn loom_reading_the_front_of_a_split_buffer_happens_before_the_rest_moves_there() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let mut buf = arena.alloc(16);
        buf.resize(16, 1).unwrap();
        let witnesses = Witnesses::new(buf.as_ptr(), 8, 2);
        let front = buf.split_to(8);
        let theirs = witnesses.clone();
        let reader = thread::spawn(move || {
            theirs.read(front.as_ptr());
            drop(front);
        });
        start(late);
        if buf.try_reclaim(8) {
            witnesses.write(buf.as_ptr(), 1);
        }
        drop(buf);
        reader.join().unwrap();
        assert_eq!(arena.reclaim(), 1);
        drop(arena);
        memory.expect_freed();
    });
}

#[test]
fn loom_a_drop_from_the_end_of_a_count_happens_before_the_buffer_is_used_again() {
    loom::model(|| {
        let memory = Memory::new();
        let arena = make(&memory);
        // As many as are counted, and one of them is not forgotten but dropped.
        let buf = arena.copy(b"read");
        let (second, third) = (buf.clone(), buf.clone());
        assert_eq!(buf.references(), None);
        let other = thread::spawn(move || drop(buf));
        drop(second);
        drop(third);
        let next = arena.copy(b"next");
        assert_eq!(next.references(), Some(1));
        other.join().unwrap();
        assert_eq!(next.references(), Some(1));
        assert!(next.release());
    });
}

// Loom begins with this thread, and may leave out an order where a thread looks at a count and
// then changes it: so in these two the first order is the one that is asked about.

#[test]
fn loom_reading_through_a_clone_happens_before_another_thread_becomes_its_writer() {
    loom::model(|| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read");
        let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
        let (second, theirs) = (buf.clone(), witnesses.clone());
        let writer = thread::spawn(move || match second.try_into_mut() {
            Ok(buf) => assert!(write(&theirs, &buf)),
            Err(buf) => assert!(theirs.read(buf.as_ptr()) == 0),
        });
        witnesses.read(buf.as_ptr());
        drop(buf);
        writer.join().unwrap();
        drop(arena);
        memory.expect_freed();
    });
}

#[test]
fn loom_reading_through_a_clone_happens_before_another_one_gives_the_buffer_to_a_third_thread() {
    loom::model(|| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"read");
        let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
        let (second, theirs) = (buf.clone(), witnesses.clone());
        let last = thread::spawn(move || drop(second));
        let owner = thread::spawn(move || {
            let next = arena.copy(b"next");
            write(&theirs, &next);
            drop((next, arena));
        });
        witnesses.read(buf.as_ptr());
        drop(buf);
        last.join().unwrap();
        owner.join().unwrap();
        memory.expect_freed();
    });
}

#[test]
fn loom_two_drops_lose_nothing_to_an_owner_that_takes() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let (one, two) = (arena.alloc(16), arena.copy(b"two"));
        let readers = [
            thread::spawn(move || drop(one)),
            thread::spawn(move || drop(two)),
        ];
        start(late);
        let mut taken = arena.reclaim();
        for reader in readers {
            reader.join().unwrap();
        }
        taken += arena.reclaim();
        assert_eq!(taken, 2);
        drop(arena);
        memory.expect_freed();
    });
}

#[test]
fn loom_what_a_buffer_was_read_for_happens_before_the_memory_of_a_closed_arena_is_freed() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let (buf, second) = (arena.copy(b"read"), arena.alloc(1));
        let theirs = memory.clone();
        let reader = thread::spawn(move || {
            theirs.touch();
            drop(buf);
        });
        start(late);
        memory.touch();
        drop(arena);
        drop(second);
        reader.join().unwrap();
        memory.expect_freed();
    });
}

#[test]
fn loom_the_buffers_of_several_classes_of_a_closed_arena_free_its_memory_once() {
    model(|late| {
        let memory = Memory::new();
        let arena = make_up_to(&memory, 32);
        let (small, large) = (arena.copy(&[1; 16]), arena.copy(&[2; 32]));
        let theirs = memory.clone();
        let reader = thread::spawn(move || {
            theirs.touch();
            drop(large);
        });
        start(late);
        memory.touch();
        drop(small);
        drop(arena);
        reader.join().unwrap();
        memory.expect_freed();
    });
}

#[test]
fn loom_a_chain_that_is_dropped_elsewhere_gives_each_of_its_buffers_back_once() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let tail = arena.copy(b"tail");
        let witnesses = Witnesses::new(tail.as_ptr(), 16, 1);
        let mut head = arena.copy(b"head");
        head.set_next(tail.clone()).unwrap();
        let theirs = witnesses.clone();
        let reader = thread::spawn(move || {
            theirs.read(head.next_ref().unwrap().as_ptr());
            drop(head);
        });
        start(late);
        drop(tail);
        let next = arena.copy(b"next");
        write(&witnesses, &next);
        reader.join().unwrap();
        assert_eq!(arena.stats().in_use(), 1);
        drop(next);
        assert_eq!(arena.stats().in_use(), 0);
        drop(arena);
        memory.expect_freed();
    });
}

/// In the models a drop frees one buffer of a chain, and leaves the rest.
#[test]
fn loom_the_rest_of_a_chain_is_freed_by_the_owner_or_with_its_arena() {
    model(|late| {
        let memory = Memory::new();
        let arena = make(&memory);
        let mut head = arena.copy(b"head");
        let mut middle = arena.copy(b"middle");
        middle.set_next(arena.copy(b"tail")).unwrap();
        head.set_next(middle).unwrap();
        let theirs = memory.clone();
        let reader = thread::spawn(move || {
            theirs.touch();
            drop(head);
        });
        start(late);
        arena.reclaim();
        memory.touch();
        drop(arena);
        reader.join().unwrap();
        memory.expect_freed();
    });
}

#[test]
fn loom_drops_of_more_references_than_are_counted_free_no_buffer() {
    loom::model(|| {
        let memory = Memory::new();
        let arena = make(&memory);
        let buf = arena.copy(b"kept");
        let clones = [(); 6].map(|()| buf.clone());
        let theirs = thread::spawn(move || drop(clones));
        drop(buf.clone());
        theirs.join().unwrap();
        assert_eq!((buf.references(), arena.reclaim()), (None, 0));
        assert_eq!(*buf, *b"kept");
    });
}
