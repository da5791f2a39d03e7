//! What a container does for a chunk that its source, or a limit, has refused, if it has idle
//! chunks.
//!
//! It frees as many of them as have the bytes of the new one, and asks again. If the source still
//! refuses, it frees more, because only a few large free parts of the source may lie next to each
//! other, and then the tables that nothing needs any more. At last it asks for smaller chunks. If
//! no chunk and no table is left, the source has all of the memory that it would have for a new
//! container.
//!
//! A request may look for memory in several rounds, and frees at most [`MOST_FREED`] chunks in all
//! of them ([`Budget`]). So one that needs the memory of more chunks is refused, and the next ones
//! free more: after `chunks / MOST_FREED` refusals none is idle.

/// The most chunks that a request frees, or looks at: as many as a drop frees links of a chain.
pub(crate) const MOST_FREED: usize = 64;

/// What a request may still free.
pub(crate) struct Budget {
    chunks: usize,
    /// Whether there may be tables that nothing needs any more, since a chunk was freed.
    tables: bool,
}

impl Budget {
    /// The budget of a request that has freed nothing.
    pub(crate) const fn new() -> Self {
        Budget {
            chunks: MOST_FREED,
            tables: true,
        }
    }

    /// The number of chunks that may still be freed.
    pub(crate) fn chunks(&self) -> usize {
        self.chunks
    }

    /// Frees an idle chunk, if there is one and it may be freed. Returns whether it did.
    pub(crate) fn free_one(&mut self, it: &mut impl Refused) -> bool {
        let is_freed = self.chunks > 0 && it.free_one();
        self.chunks -= usize::from(is_freed);
        self.tables |= is_freed;
        is_freed
    }

    /// Frees all chunks that may be freed, and tables. Returns whether there were some.
    pub(crate) fn free_all(&mut self, it: &mut impl Refused) -> bool {
        let before = self.chunks;
        while self.free_one(it) {}
        let is_table = core::mem::take(&mut self.tables) && it.free_tables();
        is_table || self.chunks < before
    }
}

/// A chunk that is refused is asked for with this fraction of its cells, and so on.
pub(crate) const FRACTION: u32 = 4;

/// A container of which a request was refused. The source may use the container in each call, so
/// each call reads everything again.
pub(crate) trait Refused {
    /// Bytes of all chunks.
    fn bytes(&self) -> usize;

    /// Frees an idle chunk, unless there is none. Returns whether it did.
    fn free_one(&mut self) -> bool;

    /// Frees tables that nothing needs any more, a bounded number. Returns whether there were some.
    fn free_tables(&mut self) -> bool;

    /// Adds a chunk of so many cells. Returns `false` if it is refused.
    fn allocate(&mut self, cells: u32) -> bool;
}

/// Frees chunks until `bytes` bytes are free, and adds a chunk of so many cells. Returns `false` if
/// nothing could be freed, or the chunk is refused again.
pub(crate) fn in_place_of_bytes(
    it: &mut impl Refused,
    budget: &mut Budget,
    bytes: usize,
    cells: u32,
) -> bool {
    let before = it.bytes();
    while it.bytes() + bytes > before && budget.free_one(it) {}
    it.bytes() < before && it.allocate(cells)
}

/// Frees chunks and tables, and adds a chunk of so many cells, or of fewer, down to `least`.
/// Returns `false` if even that is refused.
pub(crate) fn in_place_of_all(
    it: &mut impl Refused,
    budget: &mut Budget,
    cells: u32,
    least: u32,
) -> bool {
    let mut is_more = budget.free_all(it);
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
        tables: usize,
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
            core::mem::take(&mut self.tables) > 0
        }

        fn allocate(&mut self, cells: u32) -> bool {
            self.asked.push(cells);
            cells <= self.given
        }
    }

    fn few(idle: usize, given: u32) -> Few {
        Few {
            bytes: 100 + 10 * idle,
            idle,
            given,
            asked: Vec::new(),
            tables: 0,
        }
    }

    #[test]
    fn no_more_is_freed_and_asked_for_than_needed() {
        let budget = &mut Budget::new();
        let mut enough = few(9, 16);
        assert!(in_place_of_bytes(&mut enough, budget, 25, 16));
        assert_eq!((enough.idle, &*enough.asked), (6, &[16][..]));
        let mut none = few(0, 16);
        assert!(!in_place_of_bytes(&mut none, budget, 25, 16) && none.asked.is_empty());
        assert!(in_place_of_all(&mut none, budget, 64, 1));
        assert_eq!(none.asked, [16]);
        let mut small = few(3, 0);
        assert!(!in_place_of_all(&mut small, budget, 64, 3));
        assert_eq!((small.idle, &*small.asked), (0, &[64, 16, 4, 3][..]));
    }

    #[test]
    fn all_rounds_of_a_request_have_one_budget() {
        let budget = &mut Budget::new();
        let mut it = few(200, 0);
        assert!(!in_place_of_bytes(&mut it, budget, 95, 64));
        assert_eq!((it.idle, budget.chunks()), (190, 54));
        assert!(!in_place_of_all(&mut it, budget, 64, 1));
        assert_eq!((it.idle, budget.chunks()), (136, 0));
        assert!(!in_place_of_all(&mut it, budget, 64, 1) && !budget.free_all(&mut it));
        assert_eq!(it.idle, 136);
    }

    #[test]
    fn tables_are_freed_again_only_after_a_chunk() {
        let budget = &mut Budget::new();
        let mut it = few(0, 0);
        assert!(!budget.free_all(&mut it));
        it.tables = 1;
        assert!(!budget.free_all(&mut it));
        it.idle = 1;
        assert!(budget.free_all(&mut it));
        assert_eq!((it.idle, it.tables), (0, 0));
    }
}
