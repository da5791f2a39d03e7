//! Prices, and the orders at each of them.
//!
//! The *rank* of a price is higher for the better price: a bid's price itself, the complement of
//! an ask's. So one code serves both sides. A *ladder* is one side of one symbol. A *page* has the
//! levels of 64 ranks that follow one another, a *block* the numbers of 64 pages. Bits tell which
//! levels of a page, pages of a block and blocks of a ladder have orders, so the best level is
//! found in three steps, however far it is, and no step depends on the one before it by a branch.
//!
//! A page is taken for the first order at one of its prices, and given back with the last one:
//! what the prices cost in memory follows from where orders rest, not from where they have been.
//! Blocks stay with their ladder, which has [`BLOCKS`] at most; one without orders is used again.
//!
//! The blocks in a [`Tree`](flatslab::collections::Tree) instead, by their numbers, took a third
//! longer a message where prices swing: blocks come and go there, and a tree's node with them.
//!
//! # Invariants
//!
//! * B1: a bit of a page is set exactly if the level has orders; of a block, if the page has such a
//!   level; of a ladder, if the block has such a page. A block has the key of each such page, and
//!   no other.
//! * B2: `best` and `best_level` are those of the highest rank with orders; [`NEVER`] without.
//! * B3: the blocks of a ladder are sorted by their numbers; `position` is the place of a block
//!   among them. `near` has blocks of the ladder under their numbers, or nothing.
//! * B4: a level without orders has no shares, and the end of a list as its first and last.

use std::iter::repeat_with;

use flatslab::{Key, KeySlab};
use order_flow::message::Side;
use order_flow::script::PRICES_TO_A_PAGE;
use serde::{Deserialize, Serialize};

/// Ranks of a page, and pages of a block.
const WIDTH: usize = PRICES_TO_A_PAGE as usize;
const _: () = assert!(WIDTH == 64);
/// Blocks of a ladder: as many as one word has bits.
pub const BLOCKS: usize = 64;
/// Blocks of a ladder that are found without a search.
const NEAR: usize = 16;
/// The rank that no order has.
pub const NEVER: i64 = i64::MIN;

/// All orders at one price, a list in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level<L> {
    /// Shares that rest.
    pub open: u64,
    /// The order that trades next.
    pub first: L,
    /// The newest order.
    pub last: L,
}

/// The number of a level: the key of its page, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelId(u32);

impl LevelId {
    /// A level of no order.
    pub const NONE: LevelId = LevelId(u32::MAX);

    #[inline(always)]
    fn new(page: Key, place: u32) -> Self {
        LevelId(page.into_raw() * WIDTH as u32 + place)
    }

    #[inline(always)]
    fn page(self) -> Key {
        Key::from_raw(self.0 / WIDTH as u32)
    }

    #[inline(always)]
    fn place(self) -> u32 {
        self.0 % WIDTH as u32
    }

    #[inline(always)]
    fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Page {
    occupied: u64,
    /// The lowest rank.
    start: i64,
    block: Key,
    ladder: u32,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    occupied: u64,
    position: u32,
    pages: [Key; WIDTH],
}

#[derive(Debug, Serialize, Deserialize)]
struct Ladder {
    best: i64,
    best_level: LevelId,
    #[serde(skip)]
    blocks: Blocks,
}

/// The blocks of a ladder, by their numbers.
#[derive(Debug)]
struct Blocks {
    occupied: u64,
    near: [(i64, Key); NEAR],
    sorted: Vec<(i64, Key)>,
}

impl Default for Blocks {
    fn default() -> Self {
        Blocks {
            occupied: 0,
            near: [(NEVER, Key::NONE); NEAR],
            // More are rare, and no command of a usual book is to allocate.
            sorted: Vec::with_capacity(4),
        }
    }
}

impl Blocks {
    /// The place of a block among those that are found without a search.
    #[inline(always)]
    fn near(&mut self, number: i64) -> &mut (i64, Key) {
        &mut self.near[number as usize % NEAR]
    }

    fn search(&self, number: i64) -> Result<usize, usize> {
        self.sorted.binary_search_by_key(&number, |block| block.0)
    }

    /// The position of the lowest block without orders, if there is one.
    fn vacant(&self) -> Option<usize> {
        let position = self.occupied.trailing_ones() as usize;
        (position < self.sorted.len()).then_some(position)
    }
}

/// There is no memory for another price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// The books of all symbols.
#[derive(Debug, Serialize, Deserialize)]
pub struct Books<L> {
    /// Two for each symbol.
    ladders: Vec<Ladder>,
    pages: KeySlab<Page>,
    /// [`WIDTH`] for each page.
    levels: Vec<Level<L>>,
    #[serde(skip)]
    blocks: KeySlab<Block>,
    /// The most pages.
    limit: usize,
    empty: Level<L>,
}

/// The rank of a price on a side, and the price of a rank.
#[inline(always)]
pub fn rank(price: i64, side: Side) -> i64 {
    price ^ -(side as i64)
}

#[inline(always)]
fn ladder(symbol: usize, side: Side) -> usize {
    2 * symbol + side as usize
}

impl<L: Copy + PartialEq> Books<L> {
    /// Empty books. Orders can rest at the prices of `limit` pages at once; the memory for them is
    /// there from the start. `none` is the end of a list.
    pub fn new(symbols: usize, limit: usize, none: L) -> Self {
        let ladder = || Ladder {
            best: NEVER,
            best_level: LevelId::NONE,
            blocks: Blocks::default(),
        };
        let mut books = Books {
            ladders: repeat_with(ladder).take(2 * symbols).collect(),
            pages: KeySlab::new(),
            levels: Vec::new(),
            blocks: KeySlab::new(),
            limit: limit.min(u32::MAX as usize / WIDTH),
            empty: Level {
                open: 0,
                first: none,
                last: none,
            },
        };
        books.reserve();
        books
    }

    /// Allocates and touches what the books may need, and finds the blocks of pages: neither is in
    /// a snapshot.
    pub fn reserve(&mut self) {
        self.levels.resize(self.limit * WIDTH, self.empty);
        let pages = self.pages.prepare(self.limit - self.pages.len());
        let blocks = self.blocks.prepare(self.limit + self.ladders.len());
        pages.and(blocks).expect("there is memory for the prices");
        let pages: Vec<_> = self.pages.iter().map(|(key, page)| (key, *page)).collect();
        for (key, page) in pages {
            let (number, place, _) = parts(page.start);
            let found = self.block(page.ladder as usize, number);
            let block = found.expect("a ladder of a snapshot has no more blocks than there may be");
            self.pages[key].block = block;
            self.put(key, block, place, page.ladder as usize);
        }
    }

    /// Puts a page with orders into its block.
    #[inline(always)]
    fn put(&mut self, page: Key, block: Key, place: usize, at: usize) {
        let block = &mut self.blocks[block];
        block.pages[place] = page;
        block.occupied |= 1 << place;
        self.ladders[at].blocks.occupied |= 1 << block.position;
    }

    /// Pages that there is memory for.
    pub fn room(&self) -> usize {
        self.levels.len() / WIDTH
    }

    /// Number of symbols.
    pub fn symbols(&self) -> usize {
        self.ladders.len() / 2
    }

    /// The best rank of a side, or [`NEVER`], and its level.
    #[inline(always)]
    pub fn best(&self, symbol: usize, side: Side) -> (i64, LevelId) {
        let ladder = &self.ladders[ladder(symbol, side)];
        (ladder.best, ladder.best_level)
    }

    /// A level.
    #[inline(always)]
    pub fn level(&self, level: LevelId) -> &Level<L> {
        &self.levels[level.index()]
    }

    /// A level, to change.
    #[inline(always)]
    pub fn level_mut(&mut self, level: LevelId) -> &mut Level<L> {
        &mut self.levels[level.index()]
    }

    /// The symbol, the side and the price of a level.
    #[inline(always)]
    pub fn place(&self, level: LevelId) -> (usize, Side, i64) {
        let page = &self.pages[level.page()];
        let side = if page.ladder % 2 == 0 {
            Side::Buy
        } else {
            Side::Sell
        };
        let price = rank(page.start + i64::from(level.place()), side);
        (page.ladder as usize / 2, side, price)
    }

    /// The level of a price, if it has orders.
    pub fn find(&self, symbol: usize, side: Side, price: i64) -> Option<LevelId> {
        let (blocks, rank) = (
            &self.ladders[ladder(symbol, side)].blocks,
            rank(price, side),
        );
        let (number, page, place) = parts(rank);
        let block = blocks.sorted[blocks.search(number).ok()?].1;
        let page = self.blocks[block].pages[page];
        let is_there = page != Key::NONE && self.pages[page].occupied >> place & 1 == 1;
        is_there.then(|| LevelId::new(page, place))
    }

    /// Whether [`occupy`](Self::occupy) would find or take a level for a price.
    #[inline(always)]
    pub fn has_room(&self, symbol: usize, side: Side, price: i64) -> bool {
        let (number, page, _) = parts(rank(price, side));
        let blocks = &self.ladders[ladder(symbol, side)].blocks;
        let is_near = blocks.near[number as usize % NEAR].0 == number;
        is_near && self.pages.len() < self.limit || self.has_room_far(blocks, number, page)
    }

    #[cold]
    #[inline(never)]
    fn has_room_far(&self, blocks: &Blocks, number: i64, page: usize) -> bool {
        let has_page = self.pages.len() < self.limit;
        match blocks.search(number) {
            Ok(at) => has_page || self.blocks[blocks.sorted[at].1].pages[page] != Key::NONE,
            Err(_) => has_page && (blocks.sorted.len() < BLOCKS || blocks.vacant().is_some()),
        }
    }

    /// The level of a rank, marked as one that has orders.
    ///
    /// # Errors
    ///
    /// If it needs a page or a block more than there may be; nothing has changed then.
    #[inline(always)]
    pub fn occupy(&mut self, symbol: usize, side: Side, rank: i64) -> Result<LevelId, NoRoom> {
        let at = ladder(symbol, side);
        let (number, place_of_page, place) = parts(rank);
        let (near, block) = *self.ladders[at].blocks.near(number);
        let block = match near == number {
            true => block,
            false => self.block(at, number)?,
        };
        let mut page = self.blocks[block].pages[place_of_page];
        if page == Key::NONE {
            if self.pages.len() == self.limit {
                return Err(NoRoom);
            }
            page = self.pages.insert(Page {
                occupied: 0,
                start: rank & !(WIDTH as i64 - 1),
                block,
                ladder: at as u32,
            });
            self.put(page, block, place_of_page, at);
        }
        self.pages[page].occupied |= 1 << place;
        let level = LevelId::new(page, place);
        let ladder = &mut self.ladders[at];
        if rank > ladder.best {
            (ladder.best, ladder.best_level) = (rank, level);
        }
        Ok(level)
    }

    /// Notes that the last order of a level is gone.
    #[inline(always)]
    pub fn vacate(&mut self, level: LevelId) {
        let page = &mut self.pages[level.page()];
        page.occupied &= !(1 << level.place());
        let Page { start, block, .. } = *page;
        let at = page.ladder as usize;
        if page.occupied == 0 {
            self.pages.remove(level.page());
            let (_, place, _) = parts(start);
            let block = &mut self.blocks[block];
            block.pages[place] = Key::NONE;
            block.occupied &= !(1 << place);
            let is_empty = u64::from(block.occupied == 0);
            self.ladders[at].blocks.occupied &= !(is_empty << block.position);
        }
        if self.ladders[at].best_level == level {
            self.find_best(at);
        }
    }

    #[inline(always)]
    fn find_best(&mut self, at: usize) {
        let ladder = &mut self.ladders[at];
        if ladder.blocks.occupied == 0 {
            (ladder.best, ladder.best_level) = (NEVER, LevelId::NONE);
            return;
        }
        let position = ladder.blocks.occupied.ilog2() as usize;
        let block = &self.blocks[ladder.blocks.sorted[position].1];
        let key = block.pages[block.occupied.ilog2() as usize];
        let page = &self.pages[key];
        let place = page.occupied.ilog2();
        ladder.best = page.start + i64::from(place);
        ladder.best_level = LevelId::new(key, place);
    }

    /// The block of that number of a ladder: a new one, if there is none and may be one more, or one
    /// without orders.
    #[cold]
    #[inline(never)]
    fn block(&mut self, at: usize, number: i64) -> Result<Key, NoRoom> {
        let blocks = &mut self.ladders[at].blocks;
        let block = match blocks.search(number) {
            Ok(position) => blocks.sorted[position].1,
            Err(_) => {
                let block = if blocks.sorted.len() < BLOCKS {
                    self.blocks.insert(Block {
                        occupied: 0,
                        position: 0,
                        pages: [Key::NONE; WIDTH],
                    })
                } else {
                    let vacant = blocks.vacant().ok_or(NoRoom)?;
                    let (number, block) = blocks.sorted.remove(vacant);
                    if blocks.near(number).0 == number {
                        *blocks.near(number) = (NEVER, Key::NONE);
                    }
                    block
                };
                let position = blocks.sorted.partition_point(|block| block.0 < number);
                blocks.sorted.insert(position, (number, block));
                blocks.occupied = 0;
                for (position, &(_, block)) in blocks.sorted.iter().enumerate() {
                    let block = &mut self.blocks[block];
                    block.position = position as u32;
                    blocks.occupied |= u64::from(block.occupied != 0) << position;
                }
                block
            }
        };
        *blocks.near(number) = (number, block);
        Ok(block)
    }

    /// The levels of a side that have orders, from the worst price to the best.
    pub fn levels(&self, symbol: usize, side: Side) -> impl Iterator<Item = LevelId> {
        let blocks = self.ladders[ladder(symbol, side)].blocks.sorted.iter();
        let pages = blocks.flat_map(move |block| {
            let block = &self.blocks[block.1];
            bits(block.occupied).map(|page| block.pages[page as usize])
        });
        pages.flat_map(move |page| {
            bits(self.pages[page].occupied).map(move |place| LevelId::new(page, place))
        })
    }

    /// Checks the bits, the numbers and the best levels.
    ///
    /// # Errors
    ///
    /// The first invariant that does not hold, in words.
    pub fn check(&self) -> Result<(), String> {
        let mut pages = 0;
        for (at, ladder) in self.ladders.iter().enumerate() {
            let failed = |what: &str| Err(format!("ladder {at}: {what}"));
            if !ladder.blocks.sorted.is_sorted_by(|a, b| a.0 < b.0) {
                return failed("blocks are not sorted (B3)");
            }
            let mut best = (NEVER, LevelId::NONE);
            for (position, &(number, block)) in ladder.blocks.sorted.iter().enumerate() {
                let head = self.blocks[block];
                if head.position as usize != position
                    || (ladder.blocks.occupied >> position & 1 == 1) != (head.occupied != 0)
                {
                    return failed("a block has another place, or another bit (B1, B3)");
                }
                for page in 0..WIDTH {
                    let key = head.pages[page];
                    if (key != Key::NONE) != (head.occupied >> page & 1 == 1) {
                        return failed("a page has another bit (B1)");
                    }
                    if key == Key::NONE {
                        continue;
                    }
                    pages += 1;
                    let page = (number * WIDTH as i64 + page as i64) * WIDTH as i64;
                    let head = self.pages[key];
                    if (head.start, head.block, head.ladder) != (page, block, at as u32)
                        || head.occupied == 0
                    {
                        return failed("a page of another place, or without orders (B1)");
                    }
                    for place in 0..WIDTH as u32 {
                        let level = LevelId::new(key, place);
                        match head.occupied >> place & 1 == 1 {
                            true => best = (page + i64::from(place), level),
                            false if *self.level(level) != self.empty => {
                                return failed("a level without orders has some (B4)");
                            }
                            false => {}
                        }
                    }
                }
            }
            if (ladder.best, ladder.best_level) != best {
                return failed("another level is the best (B2)");
            }
        }
        match pages == self.pages.len() {
            true => Ok(()),
            false => Err(format!("{} pages, {pages} found (B1)", self.pages.len())),
        }
    }
}

/// The number of a rank's block, that of its page there, and its place in the page.
#[inline(always)]
fn parts(rank: i64) -> (i64, usize, u32) {
    let page = rank.div_euclid(WIDTH as i64);
    let (block, place) = (page.div_euclid(WIDTH as i64), rank.rem_euclid(WIDTH as i64));
    (block, page.rem_euclid(WIDTH as i64) as usize, place as u32)
}

/// The places of the bits of a word, from the lowest.
fn bits(word: u64) -> impl Iterator<Item = u32> {
    (0..u64::BITS).filter(move |place| word >> place & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: i64 = (WIDTH * WIDTH) as i64;

    fn occupy(books: &mut Books<u32>, price: i64) -> Result<LevelId, NoRoom> {
        let fits = books.has_room(0, Side::Buy, price);
        let occupied = books.occupy(0, Side::Buy, price);
        assert_eq!(fits, occupied.is_ok(), "price {price}");
        books.check().unwrap();
        occupied
    }

    #[test]
    fn without_a_page_left_only_prices_that_have_one_find_a_level() {
        let mut books = Books::new(1, 2, u32::MAX);
        let first = occupy(&mut books, 10).unwrap();
        occupy(&mut books, 100).unwrap();
        assert_eq!(occupy(&mut books, 200), Err(NoRoom));
        let second = occupy(&mut books, 11).unwrap();
        assert_eq!(books.find(0, Side::Buy, 11), Some(second));
        assert_eq!(books.find(0, Side::Buy, 12), None);
        books.vacate(first);
        assert_eq!(occupy(&mut books, 200), Err(NoRoom));
        books.vacate(second);
        occupy(&mut books, 200).unwrap();
        assert_eq!(books.best(0, Side::Buy).0, 200);
    }

    #[test]
    fn both_sides_find_the_best_price_across_pages_and_blocks() {
        let mut books = Books::new(1, 10, u32::MAX);
        let prices = [-FAR - 1, -1, 0, 63, 64, FAR];
        let mut occupied = |side| {
            let levels = prices.map(|price| books.occupy(0, side, rank(price, side)).unwrap());
            books.check().unwrap();
            levels
        };
        let (bids, asks) = (occupied(Side::Buy), occupied(Side::Sell));
        for (bid, price) in bids.into_iter().zip(prices).rev() {
            assert_eq!(books.best(0, Side::Buy), (price, bid));
            books.vacate(bid);
        }
        for (ask, price) in asks.into_iter().zip(prices) {
            assert_eq!(books.best(0, Side::Sell).1, ask);
            assert_eq!(books.place(ask).2, price);
            books.vacate(ask);
        }
        books.check().unwrap();
        assert_eq!(books.best(0, Side::Sell), (NEVER, LevelId::NONE));
    }
}
