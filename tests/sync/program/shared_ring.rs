//! The steps of a program on a ring that overwrites the oldest entry, and on its frames.

use std::collections::VecDeque;
use std::mem::forget;
use std::sync::Arc;

use flatslab::bytes::{Evicted, RequestError};
use flatslab::sync::bytes::{OwnedFrame, SharedFrame, SharedRing};

use super::{Input, pages};

/// An entry's sequence number and its bytes.
type Entry = (u64, Vec<u8>);

struct World<'i, 'p, 'r> {
    input: &'i mut Input<'p>,
    ring: &'r Arc<SharedRing>,
    entries: VecDeque<Entry>,
    frames: Vec<(Entry, SharedFrame<'r>)>,
    owned: Vec<(Entry, OwnedFrame)>,
    forgotten: usize,
    pushed: u64,
    chunks: usize,
}

impl World<'_, '_, '_> {
    fn free(&self) -> usize {
        let frames = self.frames.len() + self.owned.len() + self.forgotten;
        self.chunks - self.entries.len() - frames
    }

    fn push(&mut self) {
        let (max_len, free) = (self.ring.max_len(), self.free());
        let len = self.input.number() % (max_len + 2);
        let bytes = vec![self.input.number() as u8; len];
        let is_full = self.entries.len() == self.ring.capacity();
        match self.ring.push(&bytes) {
            Ok(evicted) => {
                assert!(len <= max_len);
                assert_eq!(evicted.is_some(), is_full || free == 0);
                if let Some(Evicted {
                    sequence,
                    len,
                    count,
                    ..
                }) = evicted
                {
                    let (oldest, bytes) = self.entries.pop_front().expect("there is one");
                    assert_eq!((sequence, len, count), (oldest, bytes.len(), 1));
                }
                self.entries.push_back((self.pushed, bytes));
                self.pushed += 1;
            }
            Err(RequestError::TooBig { size, largest }) => {
                assert!(size == len && largest == max_len && len > max_len);
            }
            Err(error) => {
                assert!(self.entries.is_empty() && free == 0, "{error}");
            }
        }
    }

    fn pop(&mut self) {
        let keeps_ring = self.input.one_in(2);
        let expected = self.entries.pop_front();
        if keeps_ring {
            let frame = self.ring.pop_owned();
            assert_eq!(frame.is_some(), expected.is_some());
            self.owned.extend(expected.zip(frame));
        } else {
            let frame = self.ring.pop();
            assert_eq!(frame.is_some(), expected.is_some());
            self.frames.extend(expected.zip(frame));
        }
    }

    fn end_frame(&mut self) {
        if self.input.one_in(2) {
            drop(self.input.take(&mut self.owned));
        } else if self.input.one_in(16) {
            if let Some((_, frame)) = self.input.take(&mut self.frames) {
                forget(frame);
                self.forgotten += 1;
            }
        } else {
            drop(self.input.take(&mut self.frames));
        }
    }

    fn compare(&self) {
        for ((sequence, bytes), frame) in &self.frames {
            assert!(frame.sequence() == *sequence && **frame == **bytes);
        }
        for ((sequence, bytes), frame) in &self.owned {
            assert!(frame.sequence() == *sequence && **frame == **bytes);
        }
        let (ring, len) = (self.ring, self.entries.len());
        assert_eq!((ring.len(), ring.is_empty()), (len, len == 0));
        assert_eq!(ring.pushed(), self.pushed);
        assert_eq!(ring.free_chunks(), self.free());
    }
}

pub(super) fn run(input: &mut Input<'_>) {
    let (capacity, max_len) = (1 + input.below(6), 1 + input.below(70));
    let (frames, writers) = (input.below(4), input.below(3));
    let builder = SharedRing::builder().entries(capacity).max_len(max_len);
    let builder = builder.in_flight(frames).writers(writers);
    let Ok(ring) = builder.pages(pages()).try_build() else {
        assert_eq!(writers, 0, "a ring that no one may write to");
        return;
    };
    let ring = Arc::new(ring);
    let mut world = World {
        input,
        ring: &ring,
        entries: VecDeque::new(),
        frames: Vec::new(),
        owned: Vec::new(),
        forgotten: 0,
        pushed: 0,
        chunks: ring.free_chunks(),
    };
    assert!(world.chunks >= capacity + frames + 2 * writers);
    while let Some(step) = world.input.next() {
        match step % 8 {
            0..4 => world.push(),
            4..6 => world.pop(),
            _ => world.end_frame(),
        }
        world.compare();
    }
    let mut owned = std::mem::take(&mut world.owned);
    drop(world);
    drop(ring);
    while let Some(((sequence, bytes), frame)) = owned.pop() {
        assert!(frame.sequence() == sequence && *frame == *bytes);
    }
}
