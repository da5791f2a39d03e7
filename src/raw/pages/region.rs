//! Blocks cut from larger pieces of memory: a region hands out its bytes from
//! the start on, and again what was given back.
//!
//! What was given back is a list of ranges through the ranges themselves, sorted
//! by address; neighbours are joined, and the range that ends where the region
//! has not been cut yet is joined to that. A region of which nothing is out is
//! [unused](Region::is_unused), and its owner can let it go.
//!
//! # Invariants
//!
//! * `region-cut`: `start..start + cut` is out or on the list; from there on
//!   nothing was ever handed out, or it came back.
//! * `ascending-ranges`: the ranges on the list ascend, do not touch, and none ends at `cut`.
//! * `bytes-out`: `out` counts the bytes that are out.
//! * `listed-written`: a [`Listed`] is used only while its range is on the list: written at its
//!   start, in bytes that nothing else uses.

use core::alloc::Layout;
use core::ptr::NonNull;

/// All sizes are rounded up to this: what a range on the list needs for itself,
/// and a cache line, so that blocks do not share one.
pub(super) const GRANULE: usize = 64;

/// A piece of memory from which blocks are cut. It does not own the memory.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    bytes: usize,
    cut: usize,
    out: usize,
    free: Option<Listed>,
}

/// Bytes of a region, counted from its start.
type Places = core::ops::Range<usize>;

/// A range that was given back, written at its own start.
#[derive(Clone, Copy)]
struct Range {
    bytes: usize,
    next: Option<Listed>,
}

/// The place of a range on the list (`listed-written`).
#[derive(Clone, Copy, Debug)]
struct Listed(NonNull<Range>);

impl Listed {
    /// Writes a range that goes on the list next.
    ///
    /// # Safety
    ///
    /// The bytes from `start` on are the region's, aligned to [`GRANULE`], and used by nothing else
    /// until the range leaves the list.
    unsafe fn write(start: NonNull<u8>, range: Range) -> Self {
        let place = start.cast();
        // SAFETY: a granule, which has room for it, is unused from there on (precondition).
        unsafe { place.write(range) };
        Listed(place)
    }

    fn get(self) -> Range {
        // SAFETY: by `listed-written` it is written.
        unsafe { self.0.read() }
    }

    fn set_next(mut self, next: Option<Listed>) {
        // SAFETY: by `listed-written` it is written, and nothing else uses it.
        unsafe { self.0.as_mut() }.next = next;
    }
}

const _: () = assert!(size_of::<Range>() <= GRANULE && align_of::<Range>() <= GRANULE);

/// The bytes that a block of this layout takes.
pub(super) fn rounded(layout: Layout) -> Option<usize> {
    layout.size().checked_next_multiple_of(GRANULE)
}

impl Region {
    /// # Safety
    ///
    /// The bytes are used by no one else until the region is dropped, and aligned
    /// to [`GRANULE`]. They are valid up to [`cut_with`](Self::cut_with) whenever
    /// a block is taken.
    pub(super) unsafe fn new(start: NonNull<u8>, bytes: usize) -> Self {
        debug_assert!(start.addr().get() % GRANULE == 0);
        Region {
            start,
            bytes: bytes - bytes % GRANULE,
            cut: 0,
            out: 0,
            free: None,
        }
    }

    pub(super) fn contains(&self, place: NonNull<u8>) -> bool {
        place.addr().get().wrapping_sub(self.start.addr().get()) < self.bytes
    }

    /// Up to where the region's bytes are written when a block of this layout is
    /// [taken](Self::take); `None` if there is no room.
    pub(super) fn cut_with(&self, layout: Layout) -> Option<usize> {
        let bytes = rounded(layout)?;
        if self.find_range(bytes, layout.align()).is_some() {
            return Some(self.cut);
        }
        Some(self.uncut(bytes, layout.align())?.end)
    }

    pub(super) fn is_unused(&self) -> bool {
        self.out == 0
    }

    /// A block of this layout, if there is room.
    pub(super) fn take(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let bytes = rounded(layout)?;
        self.take_range(bytes, layout.align())
            .or_else(|| self.take_uncut(bytes, layout.align()))
    }

    /// From the end of what was cut. What alignment skips is given back.
    fn take_uncut(&mut self, bytes: usize, align: usize) -> Option<NonNull<u8>> {
        let place = self.uncut(bytes, align)?;
        let before = core::mem::replace(&mut self.cut, place.end);
        self.out += bytes;
        self.insert(before..place.start);
        // SAFETY: `uncut` gives a place that ends within the region.
        Some(unsafe { self.start.add(place.start) })
    }

    /// Where such a block lies from the end of what was cut on.
    fn uncut(&self, bytes: usize, align: usize) -> Option<Places> {
        let start = self.cut.checked_add(self.skipped(self.cut, align))?;
        let end = start.checked_add(bytes)?;
        (end <= self.bytes).then_some(start..end)
    }

    /// From the first range that is large enough. What is left of it on either
    /// side is given back.
    fn take_range(&mut self, bytes: usize, align: usize) -> Option<NonNull<u8>> {
        let (previous, range) = self.find_range(bytes, align)?;
        let Range { bytes: room, next } = range.get();
        let begun = self.offset(range);
        let start = begun + self.skipped(begun, align);
        self.link(previous, next);
        self.out += bytes;
        self.insert(begun..start);
        self.insert(start + bytes..begun + room);
        // SAFETY: `find_range` gives a range of the region in which the block fits.
        Some(unsafe { self.start.add(start) })
    }

    /// The first range that is large enough, and the one before it.
    fn find_range(&self, bytes: usize, align: usize) -> Option<(Option<Listed>, Listed)> {
        let mut previous = None;
        let mut next = self.free;
        while let Some(range) = next {
            let Range {
                bytes: room,
                next: after,
            } = range.get();
            let skipped = self.skipped(self.offset(range), align);
            if room >= bytes && room - bytes >= skipped {
                return Some((previous, range));
            }
            previous = next;
            next = after;
        }
        None
    }

    /// Takes a block back.
    ///
    /// # Safety
    ///
    /// It came from [`take`](Self::take) of this region with this layout, and is
    /// not used any more.
    pub(super) unsafe fn give(&mut self, start: NonNull<u8>, layout: Layout) {
        let bytes = rounded(layout).unwrap_or(0);
        let begun = start.addr().get() - self.start.addr().get();
        debug_assert!(begun + bytes <= self.cut && bytes <= self.out);
        self.out -= bytes;
        self.insert(begun..begun + bytes);
    }

    /// Puts a range onto the list, joined to its neighbours (`ascending-ranges`). An empty one is
    /// none.
    fn insert(&mut self, places: Places) {
        if places.is_empty() {
            return;
        }
        let Places { mut start, mut end } = places;
        let (mut before, mut previous, mut next) = (None, None, self.free);
        while let Some(range) = next.filter(|&range| self.offset(range) < start) {
            before = previous;
            previous = next;
            next = range.get().next;
        }
        if let Some(range) = next.filter(|&range| self.offset(range) == end) {
            let joined = range.get();
            end += joined.bytes;
            next = joined.next;
        }
        if let Some(range) = previous {
            let room = range.get().bytes;
            if self.offset(range) + room == start {
                start -= room;
                previous = before;
            }
        }
        if end == self.cut {
            self.cut = start;
            return self.link(previous, next);
        }
        let bytes = end - start;
        // SAFETY: within the region, aligned to the granule, and used by no one:
        // what was handed out and came back, or was skipped for an alignment.
        let range = unsafe { Listed::write(self.start.add(start), Range { bytes, next }) };
        self.link(previous, Some(range));
    }

    /// What follows `previous`, or is the first, becomes `next`.
    fn link(&mut self, previous: Option<Listed>, next: Option<Listed>) {
        match previous {
            Some(range) => range.set_next(next),
            None => self.free = next,
        }
    }

    fn offset(&self, range: Listed) -> usize {
        range.0.addr().get() - self.start.addr().get()
    }

    /// Bytes from an offset to the next address of this alignment.
    fn skipped(&self, offset: usize, align: usize) -> usize {
        let address = self.start.addr().get() + offset;
        address.wrapping_neg() & (align - 1)
    }

    /// Panics where an invariant does not hold.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let mut free = 0;
        let mut last_end = None;
        let mut next = self.free;
        while let Some(range) = next {
            let Range { bytes, next: after } = range.get();
            let begun = self.offset(range);
            assert!(
                bytes > 0 && bytes % GRANULE == 0,
                "ascending-ranges: a range's size"
            );
            assert!(
                last_end.is_none_or(|end| end < begun),
                "ascending-ranges: ascending"
            );
            assert!(begun + bytes < self.cut, "ascending-ranges: below the cut");
            last_end = Some(begun + bytes);
            free += bytes;
            next = after;
        }
        assert_eq!(free + self.out, self.cut, "region-cut and bytes-out");
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::common::amount;
    use crate::raw::memory::Block;
    use crate::raw::source::Source;

    const ROOM: usize = 1 << 14;

    fn region() -> (Block, Region) {
        let layout = Layout::from_size_align(ROOM, 4096).unwrap();
        let block = Block::allocate(layout, &Source::GLOBAL).unwrap();
        // SAFETY: the block's memory, which the caller keeps as long.
        let region = unsafe { Region::new(block.start(), ROOM) };
        (block, region)
    }

    fn layout(bytes: usize, align: usize) -> Layout {
        Layout::from_size_align(bytes, align).unwrap()
    }

    #[test]
    fn random_blocks_are_disjoint_and_all_come_back() {
        let (_block, mut region) = region();
        let mut random = 1_u64;
        let mut out: Vec<(NonNull<u8>, Layout, u8)> = Vec::new();
        for step in 0..amount(20_000, 60) {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            let number = (random >> 33) as usize;
            if number % 5 < 3 {
                let layout = layout(number % 900 + 1, 1 << (number % 11));
                let Some(start) = region.take(layout) else {
                    continue;
                };
                assert_eq!(start.addr().get() % layout.align(), 0);
                let mark = step as u8;
                // SAFETY: `take` gave so many bytes, which nothing else uses until they are given
                // back.
                unsafe { start.write_bytes(mark, layout.size()) };
                out.push((start, layout, mark));
            } else if !out.is_empty() {
                let (start, layout, mark) = out.swap_remove(number % out.len());
                // SAFETY: written when it was taken; given back once.
                unsafe {
                    let bytes = core::slice::from_raw_parts(start.as_ptr(), layout.size());
                    assert!(bytes.iter().all(|&byte| byte == mark));
                    region.give(start, layout);
                }
            }
            region.check();
        }
        for (start, layout, _) in out {
            // SAFETY: `out` has the blocks that were taken with these layouts and not given back.
            unsafe { region.give(start, layout) };
            region.check();
        }
        assert!(region.is_unused() && region.cut == 0);
    }

    #[test]
    fn a_region_gives_all_its_bytes_and_no_more() {
        let (_block, mut region) = region();
        assert!(region.take(layout(ROOM + 1, 1)).is_none());
        let all = region.take(layout(ROOM, 1)).unwrap();
        assert!(region.take(layout(1, 1)).is_none());
        // SAFETY: the block was just taken, with this layout.
        unsafe { region.give(all, layout(ROOM, 1)) };
        assert!(region.is_unused());
        assert_eq!(region.take(layout(1, 4096)), Some(all));
    }

    #[test]
    fn a_range_that_was_given_back_is_used_again() {
        let (_block, mut region) = region();
        let starts: Vec<_> = (0..4)
            .map(|_| region.take(layout(64, 1)).unwrap())
            .collect();
        // SAFETY: the blocks were taken above, with these layouts.
        unsafe {
            region.give(starts[1], layout(64, 1));
            region.give(starts[2], layout(64, 1));
        }
        region.check();
        assert_eq!(region.take(layout(128, 1)), Some(starts[1]));
    }

    #[test]
    fn what_a_block_needs_is_known_before_it_is_taken() {
        let (_block, mut region) = region();
        assert!(region.contains(region.start));
        // SAFETY: the block has `ROOM` bytes, so this is one past its end.
        assert!(!region.contains(unsafe { region.start.add(ROOM) }));
        assert_eq!(region.cut_with(layout(65, 1)), Some(128));
        let first = region.take(layout(65, 1)).unwrap();
        // What the alignment skips is cut too.
        assert_eq!(region.cut_with(layout(1, 1024)), Some(1024 + 64));
        let second = region.take(layout(1, 1024)).unwrap();
        // A range that was skipped is large enough.
        assert_eq!(region.cut_with(layout(100, 1)), Some(1024 + 64));
        assert_eq!(region.cut_with(layout(ROOM, 1)), None);
        assert_eq!(region.cut_with(layout(isize::MAX as usize, 1)), None);
        // SAFETY: the blocks were taken above, with these layouts.
        unsafe {
            region.give(first, layout(65, 1));
            region.give(second, layout(1, 1024));
        }
        region.check();
        assert!(region.is_unused() && region.cut == 0);
    }
}
