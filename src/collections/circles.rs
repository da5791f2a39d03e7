//! `Circles`: lists of slots that are circles, with an entry that no slot has.
//!
//! Every entry has neighbours, so a slot is linked and unlinked without a branch. Whether it is the
//! last one of its list would be guessed wrongly as often as not. The links are in an array of their
//! own, eight to a cache line: the neighbours of a slot are reached without their values.
//!
//! # Invariants
//!
//! * `circle`: the next entry of each entry in a circle has that one as the previous one, and the
//!   entries from a head on lead back to it. What a slot that is in no circle has is not read.

use crate::error::AllocError;
use crate::memory::array::Array;
use crate::raw::source::Source;

/// Lists of slots, each of which is in one of them at most.
pub(super) struct Circles {
    /// Of the heads, and then of the slots.
    links: Array<Link>,
    heads: usize,
}

/// The neighbours of an entry.
#[derive(Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

impl Link {
    /// The circle of one entry.
    const fn alone(at: usize) -> Self {
        Link {
            previous: at as u32,
            next: at as u32,
        }
    }
}

impl Circles {
    /// So many empty lists, for so many slots.
    pub(super) fn try_new(heads: usize, slots: usize, source: &Source) -> Result<Self, AllocError> {
        let mut links = Array::try_with_capacity(heads + slots, source)?;
        (0..heads).for_each(|head| links.push(Link::alone(head)));
        links.fill_up(Link::alone(0));
        Ok(Circles { links, heads })
    }

    /// Makes room for this many slots, if there is less. Nothing has changed after an error.
    pub(super) fn try_grow(&mut self, slots: usize) -> Result<(), AllocError> {
        if self.heads + slots > self.links.len() {
            self.links.try_grow(self.heads + slots)?;
            self.links.fill_up(Link::alone(0));
        }
        Ok(())
    }

    /// The bytes of its memory.
    pub(super) fn bytes(&self) -> usize {
        self.links.bytes()
    }

    /// Makes all lists empty.
    pub(super) fn clear(&mut self) {
        (0..self.heads).for_each(|head| self.links[head] = Link::alone(head));
    }

    /// The first slot of a list that is not empty.
    #[inline(always)]
    pub(super) fn first(&self, head: usize) -> usize {
        self.links[head].next as usize - self.heads
    }

    /// The last slot of a list that is not empty.
    #[inline(always)]
    pub(super) fn last(&self, head: usize) -> usize {
        self.links[head].previous as usize - self.heads
    }

    /// The slot before one in its list, unless that is the first one.
    pub(super) fn previous(&self, slot: usize) -> Option<usize> {
        (self.links[self.heads + slot].previous as usize).checked_sub(self.heads)
    }

    /// Adds a slot as the first one of a list.
    #[inline(always)]
    pub(super) fn push_front(&mut self, head: usize, slot: usize) {
        let (at, next) = (self.heads + slot, self.links[head].next);
        self.links[at] = Link {
            previous: head as u32,
            next,
        };
        self.links[next as usize].previous = at as u32;
        self.links[head].next = at as u32;
    }

    /// Adds a slot as the last one of a list.
    #[inline(always)]
    pub(super) fn push_back(&mut self, head: usize, slot: usize) {
        let (at, previous) = (self.heads + slot, self.links[head].previous);
        self.links[at] = Link {
            previous,
            next: head as u32,
        };
        self.links[previous as usize].next = at as u32;
        self.links[head].previous = at as u32;
    }

    /// Takes a slot out of its list.
    #[inline(always)]
    pub(super) fn unlink(&mut self, slot: usize) {
        let Link { previous, next } = self.links[self.heads + slot];
        self.links[previous as usize].next = next;
        self.links[next as usize].previous = previous;
    }

    /// Takes the first slot out of a list that is not empty, and returns it. It does not read the
    /// link to the previous entry, which has just been written if another slot was the first one
    /// before: the processor would wait until it is in the cache.
    #[inline(always)]
    pub(super) fn pop_front(&mut self, head: usize) -> usize {
        let first = self.links[head].next as usize;
        let next = self.links[first].next;
        self.links[head].next = next;
        self.links[next as usize].previous = head as u32;
        first - self.heads
    }

    /// The slots of a list, of which there are so many.
    pub(super) fn slots(&self, head: usize, len: usize) -> Slots<'_> {
        let Link { previous, next } = self.links[head];
        Slots {
            circles: self,
            first: next,
            last: previous,
            len,
        }
    }
}

/// An iterator over the slots of a list.
#[derive(Clone)]
pub(super) struct Slots<'a> {
    circles: &'a Circles,
    first: u32,
    last: u32,
    len: usize,
}

impl Iterator for Slots<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.len = self.len.checked_sub(1)?;
        let first = self.first as usize;
        self.first = self.circles.links[first].next;
        Some(first - self.circles.heads)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl DoubleEndedIterator for Slots<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<usize> {
        self.len = self.len.checked_sub(1)?;
        let last = self.last as usize;
        self.last = self.circles.links[last].previous;
        Some(last - self.circles.heads)
    }
}

impl ExactSizeIterator for Slots<'_> {}
