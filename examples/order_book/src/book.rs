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
//! Blocks stay with their ladder, which has [`BLOCKS`] at most; one without orders is used again. Its
//! first block a ladder has in any case, so none is without one because others have many.
//!
//! # Invariants
//!
//! * B1: a bit of a page is set exactly if the level has orders; of a block, if the page has such a
//!   level; of a ladder, if the block has such a page. A block has the number of each such page,
//!   and no other.
//! * B2: `best` and `best_level` are those of the highest rank with orders; [`NEVER`] without.
//! * B3: the blocks of a ladder are sorted by their numbers; `position` is the place of a block
//!   among them. `near` has blocks of the ladder under their numbers, or nothing.
//! * B4: a level without orders has no shares, and the end of a list as its first and last.

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
/// No page has this number.
const NO_PAGE: u32 = u32::MAX;

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

/// The number of a level: those of its page and of its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelId(u32);

impl LevelId {
    /// A level of no order.
    pub const NONE: LevelId = LevelId(u32::MAX);

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
    block: u32,
    ladder: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Block {
    occupied: u64,
    position: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Ladder {
    best: i64,
    best_level: LevelId,
    occupied: u64,
    near: [(i64, u32); NEAR],
    sorted: Vec<(i64, u32)>,
}

/// There is no memory for another price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// The books of all symbols.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Books<L> {
    /// Two for each symbol.
    ladders: Vec<Ladder>,
    pages: KeySlab<Page>,
    /// [`WIDTH`] for each page.
    levels: Vec<Level<L>>,
    blocks: Vec<Block>,
    /// [`WIDTH`] for each block: the numbers of its pages.
    pages_of: Vec<u32>,
    /// The most pages. Of blocks there are as many, and the first one of each ladder.
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

/// The place of the highest bit, of a word that has one.
#[inline(always)]
fn highest(word: u64) -> u32 {
    word.ilog2()
}

impl<L: Copy + PartialEq> Books<L> {
    /// Empty books. Orders can rest at the prices of `limit` pages at once; the memory for them is
    /// there from the start. `none` is the end of a list.
    pub fn new(symbols: usize, limit: usize, none: L) -> Self {
        let ladder = Ladder {
            best: NEVER,
            best_level: LevelId::NONE,
            occupied: 0,
            near: [(NEVER, 0); NEAR],
            sorted: Vec::new(),
        };
        let mut books = Books {
            ladders: vec![ladder; 2 * symbols],
            pages: KeySlab::new(),
            levels: Vec::new(),
            blocks: Vec::new(),
            pages_of: Vec::new(),
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

    /// Allocates and touches what the books may need, as those of a snapshot have not.
    pub fn reserve(&mut self) {
        for ladder in &mut self.ladders {
            ladder.sorted.reserve(4);
        }
        self.pages.reserve(self.limit - self.pages.len());
        self.levels.resize(self.limit * WIDTH, self.empty);
        let (pages, blocks) = (self.pages_of.len(), self.limit + self.ladders.len());
        self.blocks.reserve(blocks - self.blocks.len());
        self.pages_of.resize(blocks * WIDTH, NO_PAGE);
        self.pages_of.truncate(pages);
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
        let (ladder, rank) = (&self.ladders[ladder(symbol, side)], rank(price, side));
        let (number, page, place) = parts(rank);
        let found = ladder.sorted.binary_search_by_key(&number, |block| block.0);
        let block = ladder.sorted[found.ok()?].1;
        let page = self.pages_of[block as usize * WIDTH + page];
        let key = Key::from_raw(page);
        let is_there = page != NO_PAGE && self.pages[key].occupied >> place & 1 == 1;
        is_there.then(|| LevelId(page * WIDTH as u32 + place))
    }

    /// Whether [`occupy`](Self::occupy) would find or take a level for a price.
    #[inline(always)]
    pub fn has_room_for(&self, symbol: usize, side: Side, price: i64) -> bool {
        self.has_room(symbol, side, rank(price, side))
    }

    /// The same for a rank.
    #[inline(always)]
    pub fn has_room(&self, symbol: usize, side: Side, rank: i64) -> bool {
        let (number, ..) = parts(rank);
        let ladder = &self.ladders[ladder(symbol, side)];
        let is_near = ladder.near[number as usize % NEAR].0 == number;
        is_near && self.pages.len() < self.limit || self.has_room_far(ladder, rank)
    }

    #[cold]
    #[inline(never)]
    fn has_room_far(&self, ladder: &Ladder, rank: i64) -> bool {
        let (number, page, _) = parts(rank);
        let has_page = self.pages.len() < self.limit;
        match ladder.sorted.binary_search_by_key(&number, |block| block.0) {
            Ok(place) => {
                let block = ladder.sorted[place].1 as usize;
                has_page || self.pages_of[block * WIDTH + page] != NO_PAGE
            }
            Err(_) => has_page && self.has_block(ladder),
        }
    }

    /// Whether a ladder can have a block more, or has one without orders.
    fn has_block(&self, ladder: &Ladder) -> bool {
        let is_empty = (ladder.occupied.trailing_ones() as usize) < ladder.sorted.len();
        self.has_new_block(ladder) || is_empty
    }

    /// Whether a ladder can have a block that no ladder has had.
    fn has_new_block(&self, ladder: &Ladder) -> bool {
        match ladder.sorted.len() {
            0 => true,
            blocks => blocks < BLOCKS && self.blocks.len() < self.limit,
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
        let (number, page, place) = parts(rank);
        let (near, block) = self.ladders[at].near[number as usize % NEAR];
        let block = match near == number {
            true => block,
            false => self.block(at, number)?,
        };
        let mut key = self.pages_of[block as usize * WIDTH + page];
        if key == NO_PAGE {
            if self.pages.len() == self.limit {
                return Err(NoRoom);
            }
            let inserted = self.pages.insert(Page {
                occupied: 0,
                start: rank & !(WIDTH as i64 - 1),
                block,
                ladder: at as u32,
            });
            key = inserted.into_raw();
            self.pages_of[block as usize * WIDTH + page] = key;
        }
        self.pages[Key::from_raw(key)].occupied |= 1 << place;
        let head = &mut self.blocks[block as usize];
        head.occupied |= 1 << page;
        let ladder = &mut self.ladders[at];
        ladder.occupied |= 1 << head.position;
        let level = LevelId(key * WIDTH as u32 + place);
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
        let (block, at) = (page.block as usize, page.ladder as usize);
        let (_, place, _) = parts(page.start);
        let is_empty = page.occupied == 0;
        let head = &mut self.blocks[block];
        head.occupied &= !(u64::from(is_empty) << place);
        let ladder = &mut self.ladders[at];
        ladder.occupied &= !(u64::from(head.occupied == 0) << head.position);
        if is_empty {
            self.pages.remove(level.page());
            self.pages_of[block * WIDTH + place] = NO_PAGE;
        }
        if ladder.best_level == level {
            self.find_best(at);
        }
    }

    #[inline(always)]
    fn find_best(&mut self, at: usize) {
        let ladder = &mut self.ladders[at];
        if ladder.occupied == 0 {
            (ladder.best, ladder.best_level) = (NEVER, LevelId::NONE);
            return;
        }
        let block = ladder.sorted[highest(ladder.occupied) as usize].1 as usize;
        let page = highest(self.blocks[block].occupied) as usize;
        let key = self.pages_of[block * WIDTH + page];
        let page = &self.pages[Key::from_raw(key)];
        let place = highest(page.occupied);
        ladder.best = page.start + i64::from(place);
        ladder.best_level = LevelId(key * WIDTH as u32 + place);
    }

    /// The block of that number of a ladder.
    #[cold]
    #[inline(never)]
    fn block(&mut self, at: usize, number: i64) -> Result<u32, NoRoom> {
        let ladder = &mut self.ladders[at];
        let found = ladder.sorted.binary_search_by_key(&number, |block| block.0);
        let block = match found {
            Ok(place) => ladder.sorted[place].1,
            Err(_) => {
                let block = self.vacant_block(at)?;
                let ladder = &mut self.ladders[at];
                let place = ladder.sorted.partition_point(|block| block.0 < number);
                ladder.sorted.insert(place, (number, block));
                self.number_blocks(at);
                block
            }
        };
        self.ladders[at].near[number as usize % NEAR] = (number, block);
        Ok(block)
    }

    /// A block that no ladder has: a new one, or one of this ladder without orders.
    fn vacant_block(&mut self, at: usize) -> Result<u32, NoRoom> {
        if self.has_new_block(&self.ladders[at]) {
            self.blocks.push(Block {
                occupied: 0,
                position: 0,
            });
            self.pages_of.resize(self.blocks.len() * WIDTH, NO_PAGE);
            return Ok(self.blocks.len() as u32 - 1);
        }
        let ladder = &mut self.ladders[at];
        let place = ladder.occupied.trailing_ones() as usize;
        if place >= ladder.sorted.len() {
            return Err(NoRoom);
        }
        let (number, block) = ladder.sorted.remove(place);
        let near = &mut ladder.near[number as usize % NEAR];
        if near.0 == number {
            *near = (NEVER, 0);
        }
        Ok(block)
    }

    /// Notes where each block of a ladder stands, after one has come or gone.
    fn number_blocks(&mut self, at: usize) {
        let ladder = &mut self.ladders[at];
        ladder.occupied = 0;
        for (position, &(_, block)) in ladder.sorted.iter().enumerate() {
            let block = &mut self.blocks[block as usize];
            block.position = position as u32;
            ladder.occupied |= u64::from(block.occupied != 0) << position;
        }
    }

    /// The levels of a side that have orders, from the worst price to the best.
    pub fn levels(&self, symbol: usize, side: Side) -> impl Iterator<Item = LevelId> {
        let blocks = self.ladders[ladder(symbol, side)].sorted.iter();
        let pages = blocks.flat_map(move |&(_, block)| {
            let occupied = self.blocks[block as usize].occupied;
            bits(occupied).map(move |page| self.pages_of[block as usize * WIDTH + page as usize])
        });
        pages.flat_map(move |page| {
            let occupied = self.pages[Key::from_raw(page)].occupied;
            bits(occupied).map(move |place| LevelId(page * WIDTH as u32 + place))
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
            if !ladder.sorted.is_sorted_by(|a, b| a.0 < b.0) {
                return failed("blocks are not sorted (B3)");
            }
            let mut best = (NEVER, LevelId::NONE);
            for (position, &(number, block)) in ladder.sorted.iter().enumerate() {
                let head = self.blocks[block as usize];
                if head.position as usize != position
                    || (ladder.occupied >> position & 1 == 1) != (head.occupied != 0)
                {
                    return failed("a block has another place, or another bit (B1, B3)");
                }
                for page in 0..WIDTH {
                    let key = self.pages_of[block as usize * WIDTH + page];
                    if (key != NO_PAGE) != (head.occupied >> page & 1 == 1) {
                        return failed("a page has another bit (B1)");
                    }
                    if key == NO_PAGE {
                        continue;
                    }
                    pages += 1;
                    let page = (number * WIDTH as i64 + page as i64) * WIDTH as i64;
                    let head = self.pages[Key::from_raw(key)];
                    if (head.start, head.block, head.ladder) != (page, block, at as u32)
                        || head.occupied == 0
                    {
                        return failed("a page of another place, or without orders (B1)");
                    }
                    for place in 0..WIDTH as u32 {
                        let level = LevelId(key * WIDTH as u32 + place);
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
fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (lowest < 64).then_some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: i64 = (WIDTH * WIDTH) as i64;

    fn occupy(books: &mut Books<u32>, symbol: usize, price: i64) -> Result<LevelId, NoRoom> {
        let fits = books.has_room_for(symbol, Side::Buy, price);
        let occupied = books.occupy(symbol, Side::Buy, price);
        assert_eq!(fits, occupied.is_ok(), "price {price}");
        books.check().unwrap();
        occupied
    }

    #[test]
    fn without_a_page_left_only_prices_that_have_one_find_a_level() {
        let mut books = Books::new(1, 2, u32::MAX);
        let first = occupy(&mut books, 0, 10).unwrap();
        occupy(&mut books, 0, 100).unwrap();
        assert_eq!(occupy(&mut books, 0, 200), Err(NoRoom));
        let second = occupy(&mut books, 0, 11).unwrap();
        assert_eq!(books.find(0, Side::Buy, 11), Some(second));
        assert_eq!(books.find(0, Side::Buy, 12), None);
        books.vacate(first);
        assert_eq!(occupy(&mut books, 0, 200), Err(NoRoom));
        books.vacate(second);
        occupy(&mut books, 0, 200).unwrap();
        assert_eq!(books.best(0, Side::Buy).0, 200);
    }

    #[test]
    fn a_symbol_finds_a_level_whatever_blocks_another_one_has_had() {
        let mut books = Books::new(2, 10, u32::MAX);
        let far: Vec<LevelId> = (0..10)
            .map(|number| occupy(&mut books, 0, number * FAR).unwrap())
            .collect();
        assert_eq!(occupy(&mut books, 0, 10 * FAR), Err(NoRoom));
        for level in far {
            books.vacate(level);
        }
        let level = occupy(&mut books, 1, 7).unwrap();
        assert_eq!(books.place(level), (1, Side::Buy, 7));
        // Its other blocks are those of the other symbol.
        assert_eq!(occupy(&mut books, 1, FAR), Err(NoRoom));
        books.vacate(level);
        occupy(&mut books, 1, FAR).unwrap();
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
