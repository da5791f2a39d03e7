//! The chunks of an epoch in a size class.
//!
//! # Invariants
//!
//! * E2: the list of a class has each chunk of the epoch once. Until the epoch is closed, those with a
//!   vacant slot are on one of two stacks, once: those known to have no value on that of idle ones,
//!   the others on that of open ones. A full chunk leaves it with its last slot and comes back on top
//!   with the next removal: under random removals and insertions both branches go the same way nearly
//!   always.

use core::cell::Cell;

use super::chunk::ChunkPtr;
use super::word::{END, Word};

/// The chunks of an epoch in a size class.
pub(super) struct List {
    pub(super) first: Cell<Option<ChunkPtr>>,
    /// Those with a vacant slot; the next insertion takes one of the first.
    pub(super) open: Cell<Option<ChunkPtr>>,
    /// Those without values, which no insertion takes while there are open ones.
    pub(super) idle: Cell<Option<ChunkPtr>>,
}

/// Puts a chunk on top of a stack.
fn push(stack: &Cell<Option<ChunkPtr>>, chunk: ChunkPtr) {
    let below = stack.replace(Some(chunk));
    chunk.next_open.set(below);
    if let Some(below) = below {
        below.previous_open.set(Some(chunk));
    }
}

/// Takes a chunk off a stack that it is on.
fn unlink(stack: &Cell<Option<ChunkPtr>>, chunk: ChunkPtr) {
    let below = chunk.next_open.get();
    if stack.get() == Some(chunk) {
        // The next one is the first then, whose `previous_open` is not read.
        stack.set(below);
        return;
    }
    let above = chunk.previous_open.get().expect("it is not the first");
    above.next_open.set(below);
    if let Some(below) = below {
        below.previous_open.set(Some(above));
    }
}

impl List {
    pub(super) fn empty() -> Self {
        List {
            first: Cell::new(None),
            open: Cell::new(None),
            idle: Cell::new(None),
        }
    }

    /// Adds a chunk without values.
    pub(super) fn add(&self, chunk: ChunkPtr) {
        let first = self.first.replace(Some(chunk));
        chunk.next.set(first);
        chunk.previous.set(None);
        if let Some(first) = first {
            first.previous.set(Some(chunk));
        }
        self.push_open(chunk);
    }

    /// Puts a chunk on the stack of open ones.
    pub(super) fn push_open(&self, chunk: ChunkPtr) {
        chunk.listed.set(true);
        push(&self.open, chunk);
    }

    /// Moves a chunk without values from the open ones to the idle ones.
    pub(super) fn set_idle(&self, chunk: ChunkPtr) {
        unlink(&self.open, chunk);
        push(&self.idle, chunk);
    }

    /// Takes a chunk off the stack of idle ones, that it is on.
    pub(super) fn unlink_idle(&self, chunk: ChunkPtr) {
        unlink(&self.idle, chunk);
    }

    /// Takes a vacant slot of the chunk on top of the stack, if there is one. With its last one
    /// the chunk leaves the stack.
    #[inline(always)]
    pub(super) fn pop(&self) -> Option<(ChunkPtr, u32, Word)> {
        let chunk = self.open.get()?;
        // SAFETY: on the stack, so it has a vacant slot (E2).
        let (slot, word) = unsafe { chunk.pop() };
        if word.next_free() == END {
            self.open.set(chunk.next_open.get());
            chunk.listed.set(false);
            chunk.set_full();
        }
        Some((chunk, slot, word))
    }

    /// Takes a chunk off the list. It is on no stack, or that is given up.
    pub(super) fn remove(&self, chunk: ChunkPtr) {
        let (previous, next) = (chunk.previous.get(), chunk.next.get());
        match previous {
            Some(previous) => previous.next.set(next),
            None => self.first.set(next),
        }
        if let Some(next) = next {
            next.previous.set(previous);
        }
    }

    /// The chunks, as long as the list does not change but for the one that was returned.
    pub(super) fn chunks(&self) -> impl Iterator<Item = ChunkPtr> {
        let mut next = self.first.get();
        core::iter::from_fn(move || {
            let chunk = next?;
            next = chunk.next.get();
            Some(chunk)
        })
    }
}
