//! `ci/loom.sh`: every way in which two threads can meet in these buffers and rings.
//!
//! Bytes are not loom's, so it does not see who reads and writes them. Beside each place that
//! bytes can have stands a witness, which is touched wherever the bytes are.

use std::vec::Vec;

use loom::cell::UnsafeCell;
use loom::sync::Arc;

use super::*;
use crate::raw::atomic::thread;

/// The witnesses of `count` places, each `stride` bytes after the one before.
struct Witnesses {
    first: usize,
    stride: usize,
    cells: Vec<UnsafeCell<u8>>,
}

// SAFETY: loom checks the cells.
unsafe impl Send for Witnesses {}
// SAFETY: as above.
unsafe impl Sync for Witnesses {}

impl Witnesses {
    fn new(first: *const u8, stride: usize, count: usize) -> Arc<Self> {
        Arc::new(Witnesses {
            first: first.addr(),
            stride,
            cells: (0..count).map(|_| UnsafeCell::new(0)).collect(),
        })
    }

    fn of(&self, bytes: *const u8) -> &UnsafeCell<u8> {
        &self.cells[(bytes.addr() - self.first) / self.stride]
    }

    fn write(&self, bytes: *const u8, value: u8) {
        // SAFETY: loom checks it.
        self.of(bytes).with_mut(|cell| unsafe { *cell = value });
    }

    fn read(&self, bytes: *const u8) -> u8 {
        // SAFETY: loom checks it.
        self.of(bytes).with(|cell| unsafe { *cell })
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

    /// A source whose last release is a write to a witness.
    #[derive(Clone)]
    struct Freed(Arc<UnsafeCell<u8>>);

    #[test]
    fn loom_what_both_ends_did_happens_before_the_memory_is_freed() {
        loom::model(|| {
            let (producer, consumer, _) = make(1);
            let freed = Freed(Arc::new(UnsafeCell::new(0)));
            let theirs = freed.clone();
            let touch = |freed: &Freed| freed.0.with(|_| ());
            let writer = thread::spawn(move || {
                touch(&theirs);
                producer.end_and_say()
            });
            touch(&freed);
            let last = consumer.end_and_say();
            if last {
                freed.0.with_mut(|_| ());
            }
            assert!(writer.join().unwrap() != last, "one of them frees");
        });
    }
}
