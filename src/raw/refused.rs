//! What a container does for a chunk that its source, or a limit, has refused, if it has idle
//! chunks.
//!
//! It frees as many of them as have the bytes of the new one, and asks again. If the source still
//! refuses, it frees more, because only a few large free parts of the source may lie next to each
//! other, and then the tables that nothing needs any more. At last it asks for smaller chunks. If no
//! chunk and no table is left, the source has all of the memory that it would have for a new
//! container.
//!
//! A request frees at most [`MOST_FREED`] chunks. So one that needs the memory of more of them is
//! refused, and the next ones free more: after `chunks / MOST_FREED` refusals none is idle.

/// The most chunks that a request frees, or looks at: as many as a drop frees links of a chain.
pub(crate) const MOST_FREED: usize = 64;

/// A chunk that is refused is asked for with this fraction of its cells, and so on.
pub(crate) const FRACTION: u32 = 4;

/// A container of which a request was refused. The source may use the container in each call, so
/// each call reads everything again.
pub(crate) trait Refused {
    /// Bytes of all chunks.
    fn bytes(&self) -> usize;

    /// Frees an idle chunk, unless there is none, or the request has freed [`MOST_FREED`]. Returns
    /// whether it did.
    fn free_one(&mut self) -> bool;

    /// Frees tables that nothing needs any more. Returns whether there were some.
    fn free_tables(&mut self) -> bool;

    /// Adds a chunk of so many cells. Returns `false` if it is refused.
    fn allocate(&mut self, cells: u32) -> bool;
}

/// Frees chunks until `bytes` bytes are free, and adds a chunk of so many cells. Returns `false` if
/// nothing could be freed, or the chunk is refused again.
pub(crate) fn in_place_of_bytes(it: &mut impl Refused, bytes: usize, cells: u32) -> bool {
    let before = it.bytes();
    while it.bytes() + bytes > before && it.free_one() {}
    it.bytes() < before && it.allocate(cells)
}

/// Frees chunks and tables, and adds a chunk of so many cells, or of fewer, down to `least`.
/// Returns `false` if even that is refused.
pub(crate) fn in_place_of_all(it: &mut impl Refused, cells: u32, least: u32) -> bool {
    let mut is_more = false;
    while it.free_one() {
        is_more = true;
    }
    is_more |= it.free_tables();
    let mut cells = cells;
    // Not again for the one that was refused, if nothing was freed.
    while !(is_more && it.allocate(cells)) {
        if cells <= least {
            return false;
        }
        is_more = true;
        cells = (cells / FRACTION).max(least);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chunks of 10 bytes, of which some are idle, and a source that gives one of `given` cells.
    struct Few {
        bytes: usize,
        idle: usize,
        given: u32,
        asked: Vec<u32>,
    }

    impl Refused for Few {
        fn bytes(&self) -> usize {
            self.bytes
        }

        fn free_one(&mut self) -> bool {
            let is_any = self.idle > 0;
            self.idle -= usize::from(is_any);
            self.bytes -= 10 * usize::from(is_any);
            is_any
        }

        fn free_tables(&mut self) -> bool {
            false
        }

        fn allocate(&mut self, cells: u32) -> bool {
            self.asked.push(cells);
            cells <= self.given
        }
    }

    #[test]
    fn no_more_is_freed_and_asked_for_than_needed() {
        let few = |idle, given| Few {
            bytes: 100,
            idle,
            given,
            asked: Vec::new(),
        };
        let mut enough = few(9, 16);
        assert!(in_place_of_bytes(&mut enough, 25, 16));
        assert_eq!((enough.idle, &*enough.asked), (6, &[16][..]));
        let mut none = few(0, 16);
        assert!(!in_place_of_bytes(&mut none, 25, 16) && none.asked.is_empty());
        assert!(in_place_of_all(&mut none, 64, 1));
        assert_eq!(none.asked, [16]);
        let mut small = few(3, 0);
        assert!(!in_place_of_all(&mut small, 64, 3));
        assert_eq!((small.idle, &*small.asked), (0, &[64, 16, 4, 3][..]));
    }
}
