//! `ci/loom.sh`: every way in which two threads can meet in these buffers and rings.
//!
//! Bytes are not loom's, so it does not see who reads and writes them. Beside each place that
//! bytes can have stands a witness, which is touched wherever the bytes are.

use core::alloc::Layout;
use core::ptr::NonNull;

use loom::cell::UnsafeCell;
use loom::sync::Arc;

use super::*;
use crate::error::AllocError;
use crate::memory::{MemorySource, Pages};
use crate::raw::atomic::thread;
use crate::raw::memory::Block;
use crate::raw::source::Source;

/// The witnesses of `count` places, each `stride` bytes after the one before.
pub(super) struct Witnesses {
    first: usize,
    stride: usize,
    cells: Vec<UnsafeCell<u8>>,
}

// SAFETY: loom checks the cells.
unsafe impl Send for Witnesses {}
// SAFETY: as above.
unsafe impl Sync for Witnesses {}

impl Witnesses {
    pub(super) fn new(first: *const u8, stride: usize, count: usize) -> Arc<Self> {
        Arc::new(Witnesses {
            first: first.addr(),
            stride,
            cells: (0..count).map(|_| UnsafeCell::new(0)).collect(),
        })
    }

    fn of(&self, bytes: *const u8) -> &UnsafeCell<u8> {
        &self.cells[(bytes.addr() - self.first) / self.stride]
    }

    pub(super) fn write(&self, bytes: *const u8, value: u8) {
        // SAFETY: loom checks it.
        self.of(bytes).with_mut(|cell| unsafe { *cell = value });
    }

    pub(super) fn read(&self, bytes: *const u8) -> u8 {
        // SAFETY: loom checks it.
        self.of(bytes).with(|cell| unsafe { *cell })
    }
}

/// Memory, with a witness that is written to when a block is freed: who
/// [touches](Self::touch) it beforehand used the memory.
#[derive(Clone)]
pub(super) struct Memory(std::sync::Arc<Blocks>);

struct Blocks {
    witness: UnsafeCell<()>,
    /// How many there are.
    count: core::cell::Cell<usize>,
}

// SAFETY: loom runs one thread at a time, and checks the witness.
unsafe impl Send for Blocks {}
// SAFETY: as above.
unsafe impl Sync for Blocks {}

// SAFETY: the memory is that of the global source.
unsafe impl MemorySource for Blocks {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        self.count.set(self.count.get() + 1);
        Ok(Block::allocate(layout, &Source::GLOBAL)?.leak_start())
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        self.witness.with_mut(|_| ());
        self.count.set(self.count.get() - 1);
        // SAFETY: from `allocate`, with this layout.
        drop(unsafe { Block::from_start(start, layout, &Source::GLOBAL) });
    }
}

impl Memory {
    pub(super) fn new() -> Self {
        Memory(std::sync::Arc::new(Blocks {
            witness: UnsafeCell::new(()),
            count: core::cell::Cell::new(0),
        }))
    }

    fn pages(&self) -> Pages {
        Pages::from_source(self.0.clone())
    }

    pub(super) fn touch(&self) {
        self.0.witness.with(|_| ());
    }

    pub(super) fn expect_freed(self) {
        assert_eq!(self.0.count.get(), 0, "memory is lost");
    }
}

mod split_ring {
    use super::*;

    fn make(capacity: usize) -> (Producer, Consumer, Arc<Witnesses>) {
        let (mut producer, consumer) = Ring::with_capacity(capacity, 16).split();
        let first = producer.reserve().unwrap().as_ptr();
        let witnesses = Witnesses::new(first, 32, capacity);
        (producer, consumer, witnesses)
    }

    fn push(producer: &mut Producer, witnesses: &Witnesses, value: u8) -> bool {
        let Some(mut entry) = producer.reserve() else {
            return false;
        };
        witnesses.write(entry.as_ptr(), value);
        entry.extend_from_slice(&[value]).unwrap();
        entry.commit();
        true
    }

    fn pop(consumer: &mut Consumer, witnesses: &Witnesses) -> Option<u8> {
        let frame = consumer.pop()?;
        let value = witnesses.read(frame.as_ptr());
        assert_eq!(*frame, [value]);
        Some(value)
    }

    #[test]
    fn loom_the_write_of_an_entry_happens_before_its_read() {
        loom::model(|| {
            let (mut producer, mut consumer, witnesses) = make(2);
            let theirs = witnesses.clone();
            let writer = thread::spawn(move || {
                assert!(push(&mut producer, &theirs, 1));
                assert!(push(&mut producer, &theirs, 2));
            });
            let mut expected = 1;
            for _ in 0..3 {
                if let Some(value) = pop(&mut consumer, &witnesses) {
                    assert_eq!(value, expected);
                    expected += 1;
                }
            }
            writer.join().unwrap();
        });
    }

    #[test]
    fn loom_the_read_of_an_entry_happens_before_its_place_is_written_again() {
        loom::model(|| {
            let (mut producer, mut consumer, witnesses) = make(1);
            assert!(push(&mut producer, &witnesses, 1));
            let theirs = witnesses.clone();
            let writer = thread::spawn(move || {
                let mut value = 2;
                for _ in 0..3 {
                    if push(&mut producer, &theirs, value) {
                        value += 1;
                    }
                }
            });
            let mut expected = 1;
            for _ in 0..3 {
                if let Some(value) = pop(&mut consumer, &witnesses) {
                    assert_eq!(value, expected);
                    expected += 1;
                }
            }
            writer.join().unwrap();
        });
    }

    #[test]
    fn loom_a_forgotten_frame_is_read_before_its_place_is_written_again() {
        loom::model(|| {
            let (mut producer, mut consumer, witnesses) = make(1);
            assert!(push(&mut producer, &witnesses, 1));
            let theirs = witnesses.clone();
            let writer = thread::spawn(move || push(&mut producer, &theirs, 2));
            let frame = consumer.pop().unwrap();
            assert_eq!(witnesses.read(frame.as_ptr()), 1);
            core::mem::forget(frame);
            let second = pop(&mut consumer, &witnesses);
            let pushed = writer.join().unwrap();
            assert!(second.is_none() || (pushed && second == Some(2)));
        });
    }

    #[test]
    fn loom_what_was_pushed_before_an_end_is_found_after_it() {
        loom::model(|| {
            let (mut producer, mut consumer, witnesses) = make(1);
            let theirs = witnesses.clone();
            let writer = thread::spawn(move || {
                assert!(push(&mut producer, &theirs, 1));
            });
            let closed = consumer.is_closed();
            let value = pop(&mut consumer, &witnesses);
            assert!(!closed || value == Some(1));
            writer.join().unwrap();
        });
    }

    #[test]
    fn loom_what_both_ends_did_happens_before_the_memory_is_freed() {
        loom::model(|| {
            let memory = Memory::new();
            let builder = Ring::builder().max_len(16).pages(memory.pages());
            let (producer, consumer) = builder.build().split();
            let theirs = memory.clone();
            let writer = thread::spawn(move || {
                theirs.touch();
                drop(producer);
            });
            memory.touch();
            drop(consumer);
            writer.join().unwrap();
            memory.expect_freed();
        });
    }
}

/// Each order in which threads can meet, twice: with `late` the threads that were spawned run
/// first. Loom derives what to try from the last access to each atomic alone, so where a thread
/// loads it before it writes to it, the other order is not tried by itself.
pub(super) fn model(f: impl Fn(bool) + Copy + Send + Sync + 'static) {
    for late in [false, true] {
        loom::model(move || f(late));
    }
}

/// Stands after the threads were spawned.
pub(super) fn start(late: bool) {
    if late {
        thread::yield_now();
    }
}

pub(super) mod arena {
    use super::*;
    use crate::sync::bytes::record::PREFIX;

    /// An arena of slabs of one chunk: a chunk that came back is used again, and one that did
    /// not is no neighbour of the next.
    pub(in crate::sync::bytes) fn make(memory: &Memory) -> ByteArena {
        let builder = ByteArena::builder().start(16).largest(16);
        let builder = builder.slab_size(16 + PREFIX);
        builder.pages(memory.pages()).build()
    }

    /// Writes to the witness if that is the chunk.
    pub(in crate::sync::bytes) fn write(witnesses: &Witnesses, bytes: &[u8]) -> bool {
        let is_same = bytes.as_ptr().addr() == witnesses.first;
        if is_same {
            witnesses.write(bytes.as_ptr(), 2);
        }
        is_same
    }

    #[test]
    fn loom_the_last_drop_happens_before_the_chunk_is_used_again() {
        model(|late| {
            let memory = Memory::new();
            let arena = make(&memory);
            let buf = arena.copy(b"read").unwrap();
            let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
            let theirs = witnesses.clone();
            let reader = thread::spawn(move || {
                theirs.read(buf.as_ptr());
                drop(buf);
            });
            start(late);
            let second = arena.copy(b"next").unwrap();
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
            let buf = arena.copy(b"read").unwrap();
            let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
            let (second, theirs) = (buf.clone(), witnesses.clone());
            let reader = thread::spawn(move || {
                theirs.read(second.as_ptr());
                second.release()
            });
            start(late);
            witnesses.read(buf.as_ptr());
            let last = buf.release();
            let next = arena.copy(b"next").unwrap();
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
            let buf = arena.copy(b"read").unwrap();
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
    fn loom_a_drop_from_the_end_of_a_count_happens_before_the_chunk_is_used_again() {
        loom::model(|| {
            let memory = Memory::new();
            let arena = make(&memory);
            // As many as are counted, and one of them is not forgotten but dropped.
            let buf = arena.copy(b"read").unwrap();
            let (second, third) = (buf.clone(), buf.clone());
            assert_eq!(buf.references(), None);
            let other = thread::spawn(move || drop(buf));
            drop(second);
            drop(third);
            let next = arena.copy(b"next").unwrap();
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
            let buf = arena.copy(b"read").unwrap();
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
    fn loom_reading_through_a_clone_happens_before_another_one_gives_the_chunk_to_a_third_thread() {
        loom::model(|| {
            let memory = Memory::new();
            let arena = make(&memory);
            let buf = arena.copy(b"read").unwrap();
            let witnesses = Witnesses::new(buf.as_ptr(), 16, 1);
            let (second, theirs) = (buf.clone(), witnesses.clone());
            let last = thread::spawn(move || drop(second));
            let owner = thread::spawn(move || {
                let next = arena.copy(b"next").unwrap();
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
            let (one, two) = (arena.alloc(16).unwrap(), arena.copy(b"two").unwrap());
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
            let (buf, second) = (arena.copy(b"read").unwrap(), arena.alloc(1).unwrap());
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
}

#[cfg(target_has_atomic = "64")]
mod shared_ring {
    use super::*;

    /// A ring with so many chunks, and their witnesses.
    struct Model {
        ring: SharedRing,
        witnesses: Arc<Witnesses>,
    }

    impl Model {
        fn new(capacity: usize, chunks: usize) -> Arc<Self> {
            let ring = SharedRing::try_new(capacity, chunks, 16, &Source::GLOBAL).unwrap();
            let first = ring.first_chunk();
            let witnesses = Witnesses::new(first, 32, chunks);
            Arc::new(Model { ring, witnesses })
        }

        /// Pushes a value, and returns how many it has evicted.
        fn push(&self, value: u8) -> usize {
            let pushed = self.ring.push_with(1, |place| {
                self.witnesses.write(place.bytes().as_ptr(), value);
                // SAFETY: the place is this call's.
                unsafe { place.fill(&[value]) };
            });
            pushed.unwrap().map_or(0, |evicted| evicted.count)
        }

        fn pop(&self) -> Option<u8> {
            let frame = self.ring.pop()?;
            let value = self.witnesses.read(frame.as_ptr());
            assert_eq!(*frame, [value]);
            Some(value)
        }

        /// What is left, when one thread is.
        fn rest(&self) -> Vec<u8> {
            core::iter::from_fn(|| self.pop()).collect()
        }
    }

    #[test]
    fn loom_the_write_of_a_shared_entry_happens_before_its_read() {
        model(|late| {
            let model = Model::new(2, 3);
            let theirs = model.clone();
            let writer = thread::spawn(move || theirs.push(1) + theirs.push(2));
            start(late);
            let mut all: Vec<u8> = (0..2).filter_map(|_| model.pop()).collect();
            assert_eq!(writer.join().unwrap(), 0);
            all.extend(model.rest());
            assert_eq!(all, [1, 2]);
        });
    }

    #[test]
    fn loom_two_writers_lose_and_double_nothing() {
        model(|late| {
            let model = Model::new(2, 4);
            let theirs = model.clone();
            let writer = thread::spawn(move || theirs.push(1));
            start(late);
            let evicted = model.push(2);
            assert_eq!(writer.join().unwrap() + evicted, 0);
            let mut all = model.rest();
            all.sort_unstable();
            assert_eq!(all, [1, 2]);
            assert_eq!(model.ring.free_chunks(), 4);
        });
    }

    #[test]
    fn loom_two_writers_to_one_place_evict_each_other_once() {
        model(|late| {
            let model = Model::new(1, 4);
            let theirs = model.clone();
            let writer = thread::spawn(move || theirs.push(1));
            start(late);
            let evicted = model.push(2);
            assert_eq!(writer.join().unwrap() + evicted, 1);
            assert_eq!(model.rest().len(), 1);
            assert_eq!(model.ring.free_chunks(), 4);
        });
    }

    #[test]
    fn loom_an_entry_is_evicted_or_read_and_not_both() {
        model(|late| {
            let model = Model::new(1, 2);
            model.push(1);
            let theirs = model.clone();
            let writer = thread::spawn(move || theirs.push(2));
            start(late);
            let mut all: Vec<u8> = model.pop().into_iter().collect();
            let evicted = writer.join().unwrap();
            all.extend(model.rest());
            assert_eq!(all.len() + evicted, 2);
            assert!(all.ends_with(&[2]) && all.is_sorted());
            assert_eq!(model.ring.free_chunks(), 2);
        });
    }

    #[test]
    fn loom_the_read_of_a_frame_happens_before_its_chunk_is_written_again() {
        model(|late| {
            // One chunk: the writer has it once the frame is dropped, or fails.
            let model = Model::new(1, 1);
            model.push(1);
            let theirs = model.clone();
            let reader = thread::spawn(move || theirs.pop());
            start(late);
            let witnesses = model.witnesses.clone();
            let pushed = model.ring.push_with(1, |place| {
                witnesses.write(place.bytes().as_ptr(), 2);
                // SAFETY: the place is this call's.
                unsafe { place.fill(&[2]) };
            });
            let read = reader.join().unwrap();
            let left = model.pop();
            match pushed {
                Ok(Some(_)) => assert!(read.is_none_or(|it| it == 2)),
                Ok(None) => assert!((read, left) == (Some(1), Some(2))),
                Err(_) => assert!((read, left) == (Some(1), None)),
            }
            assert_eq!(model.ring.free_chunks(), 1);
        });
    }

    #[test]
    fn loom_a_push_overwrites_nothing_once_a_reader_has_made_room() {
        loom::model(|| {
            let model = Model::new(2, 4);
            model.push(1);
            model.push(2);
            let theirs = model.clone();
            let reader = thread::spawn(move || theirs.pop());
            let evicted = model.push(3);
            let read = reader.join().unwrap().unwrap();
            let rest = model.rest();
            match evicted {
                0 => assert!(read == 1 && rest == [2, 3]),
                _ => assert!(read == 2 && rest == [3]),
            }
        });
    }

    #[test]
    fn loom_two_readers_read_different_entries() {
        model(|late| {
            let model = Model::new(2, 2);
            model.push(1);
            model.push(2);
            let theirs = model.clone();
            let reader = thread::spawn(move || theirs.pop());
            start(late);
            let mine = model.pop();
            let mut all = [mine.unwrap(), reader.join().unwrap().unwrap()];
            all.sort_unstable();
            assert_eq!(all, [1, 2]);
        });
    }
}
