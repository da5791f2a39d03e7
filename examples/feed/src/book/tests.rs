//! Compares the book on each store with the naive book and with the other stores.

use order_flow::flow::Flow;
use order_flow::naive::NaiveBook;
use order_flow::stats::FlowStats;
use proptest::prelude::*;

use super::*;
use crate::store::{
    BoundedStore, BoxStore, FloorStore, GrowableStore, KeyStore, PoolStore, SlabCrateStore, SlabKey,
};
use crate::variant::PageKind;

impl<S: Store> Market<S> {
    /// Empty books for `symbols` symbols, on default pages.
    fn new(store: S, symbols: u32) -> Self {
        let memory = PageAllocator::try_new(PageKind::Default.pages());
        Market::with_memory(store, symbols, &memory.unwrap(), Pages::new())
    }
}

fn box_store() -> BoxStore {
    // SAFETY: every test hands the store to a market, which uses only the keys
    // of its live orders.
    unsafe { BoxStore::new() }
}

fn bounded(capacity: usize, pages: PageKind) -> BoundedStore {
    BoundedStore::with_capacity(capacity, pages.pages()).unwrap()
}

fn growable(pages: PageKind) -> GrowableStore {
    GrowableStore::new(0, pages.pages()).unwrap()
}

fn keys(pages: PageKind) -> KeyStore {
    KeyStore::new(0, pages.pages()).unwrap()
}

fn pool(capacity: usize, pages: PageKind) -> PoolStore {
    // SAFETY: as in `box_store`.
    unsafe { PoolStore::with_capacity(capacity, pages.pages()) }.unwrap()
}

fn floor(capacity: usize, pages: PageKind) -> FloorStore {
    // SAFETY: as in `box_store`.
    unsafe { FloorStore::with_capacity(capacity, pages.pages()) }.unwrap()
}

/// Few ids and prices, so that duplicates, unknown ids and crowded levels are
/// common.
fn messages() -> impl Strategy<Value = Vec<Message>> {
    let kind = prop_oneof![
        6 => Just(Kind::Add),
        2 => Just(Kind::Cancel),
        2 => Just(Kind::Delete),
        3 => Just(Kind::Execute),
        1 => Just(Kind::Hidden),
        1 => Just(Kind::Halt),
    ];
    let side = prop_oneof![Just(Side::Buy), Just(Side::Sell)];
    let message =
        (kind, side, 0..24_u64, 1..40_u32, 1..9_u32).prop_map(|(kind, side, id, size, price)| {
            Message {
                id,
                price,
                size,
                kind,
                side,
            }
        });
    prop::collection::vec(message, 0..200)
}

/// Looks ahead before each message. The next message may name an order that the present
/// one adds or removes, or an unknown order.
fn agrees_with_the_naive_book(store: impl Store, messages: &[Message]) {
    let mut market = Market::new(store, 1);
    let mut naive = NaiveBook::default();
    for (index, message) in messages.iter().enumerate() {
        if let Some(next) = messages.get(index + 1) {
            market.look_ahead(0, next);
            market.prefetch(0, next);
        }
        assert_eq!(
            market.apply(0, message),
            Ok(naive.apply(message)),
            "{message:?}"
        );
        assert_eq!(market.top(0), naive.top());
        market.check().unwrap();
    }
    let mut orders = Vec::new();
    market.walk(|order| orders.push((order.side, order.price, order.id, order.size)));
    assert_eq!(orders, naive.orders());
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 48,
        ..ProptestConfig::default()
    })]

    #[test]
    fn bounded_store_agrees_with_the_naive_book(messages in messages()) {
        agrees_with_the_naive_book(bounded(24, PageKind::Default), &messages);
    }

    #[test]
    fn growable_store_agrees_with_the_naive_book(messages in messages()) {
        agrees_with_the_naive_book(growable(PageKind::Default), &messages);
        agrees_with_the_naive_book(keys(PageKind::Default), &messages);
    }

    #[test]
    fn pool_agrees_with_the_naive_book(messages in messages()) {
        agrees_with_the_naive_book(pool(24, PageKind::Default), &messages);
    }

    #[test]
    fn slab_crate_agrees_with_the_naive_book(messages in messages()) {
        agrees_with_the_naive_book(SlabCrateStore::default(), &messages);
    }

    #[test]
    fn boxes_agree_with_the_naive_book(messages in messages()) {
        agrees_with_the_naive_book(box_store(), &messages);
    }

    #[test]
    fn floor_agrees_with_the_naive_book(messages in messages()) {
        agrees_with_the_naive_book(floor(24, PageKind::Default), &messages);
    }
}

const SYMBOLS: u32 = 3;

/// Replays and returns the first symbol's tops, all orders and the digest.
fn replay(
    store: impl Store,
    pages: PageKind,
    messages: &[Message],
) -> (Vec<Top>, Vec<(u32, u64, u32)>, u64) {
    let memory = PageAllocator::try_new(pages.pages()).unwrap();
    let mut market = Market::with_memory(store, SYMBOLS, &memory, pages.pages());
    let mut tops = Vec::new();
    for message in messages {
        for symbol in 0..SYMBOLS {
            let outcome = market.apply(symbol, message).unwrap();
            assert!(
                matches!(
                    outcome,
                    Outcome::Added | Outcome::Reduced | Outcome::Removed
                ) || message.kind == Kind::Hidden,
                "{message:?}: {outcome:?}"
            );
        }
        tops.push(market.top(0));
    }
    market.check().unwrap();
    let mut orders = Vec::new();
    market.walk(|order| orders.push((order.symbol, order.id, order.size)));
    (tops, orders, market.digest())
}

#[test]
fn all_stores_give_the_same_books_and_the_same_tops() {
    let messages: Vec<_> = Flow::new(1).take(50_000).collect();
    let pages = PageKind::Default;
    let wanted = replay(bounded(1_300, pages), pages, &messages);
    assert!(wanted.1.len() > 900);
    assert_eq!(wanted, replay(growable(pages), pages, &messages));
    assert_eq!(wanted, replay(keys(pages), pages, &messages));
    assert_eq!(wanted, replay(SlabCrateStore::default(), pages, &messages));
    assert_eq!(wanted, replay(box_store(), pages, &messages));
    assert_eq!(wanted, replay(pool(1_300, pages), pages, &messages));
    assert_eq!(wanted, replay(floor(1_300, pages), pages, &messages));
}

#[test]
fn huge_pages_give_the_same_books_and_the_same_tops() {
    let messages: Vec<_> = Flow::new(2).take(5_000).collect();
    let wanted = replay(SlabCrateStore::default(), PageKind::Default, &messages);
    let pages = PageKind::Huge;
    assert_eq!(wanted, replay(bounded(1_300, pages), pages, &messages));
    assert_eq!(wanted, replay(growable(pages), pages, &messages));
    assert_eq!(wanted, replay(keys(pages), pages, &messages));
    assert_eq!(wanted, replay(SlabCrateStore::default(), pages, &messages));
    assert_eq!(wanted, replay(pool(1_300, pages), pages, &messages));
    assert_eq!(wanted, replay(floor(1_300, pages), pages, &messages));
}

#[test]
fn reserved_books_take_no_more_memory() {
    let messages: Vec<_> = Flow::new(1).take(5_000).collect();
    let stats = FlowStats::measure(&messages);
    let mut market = Market::new(SlabCrateStore::default(), 1);
    let (orders, levels) = (stats.peak_live_orders, stats.peak_levels);
    market.try_reserve(orders, levels).unwrap();
    let sizes = |market: &Market<SlabCrateStore>| {
        let ids = market.books[0].ids.allocation_size();
        [ids, market.nodes.leaves().capacity()]
    };
    let before = sizes(&market);
    for message in &messages {
        market.apply(0, message).unwrap();
    }
    assert_eq!(sizes(&market), before);
}

#[test]
fn no_memory_for_the_index_is_an_error() {
    let mut market = Market::new(SlabCrateStore::default(), 1);
    assert!(market.try_reserve(usize::MAX, 1).is_err());
    assert!(market.try_reserve(1, usize::MAX).is_err());
}

#[test]
fn looking_ahead_changes_nothing() {
    let mut market = market_of_two();
    let before = market.digest();
    for id in [1, 2, 3] {
        for kind in [Kind::Add, Kind::Delete, Kind::Execute, Kind::Hidden] {
            let message = Message {
                kind,
                ..add(id, 500)
            };
            market.look_ahead(0, &message);
            market.prefetch(0, &message);
        }
    }
    market.check().unwrap();
    assert_eq!(market.digest(), before);
    // The order is removed after the prefetch.
    market.prefetch(0, &add(1, 500));
    let delete = Message {
        kind: Kind::Delete,
        ..add(1, 500)
    };
    assert_eq!(market.apply(0, &delete), Ok(Outcome::Removed));
    assert_eq!(market.apply(0, &delete), Ok(Outcome::Unknown));
}

fn add(id: u64, price: u32) -> Message {
    Message {
        id,
        price,
        size: 10,
        kind: Kind::Add,
        side: Side::Sell,
    }
}

#[test]
fn a_full_store_refuses_an_order_and_leaves_the_book_alone() {
    refuses_a_second_order(bounded(1, PageKind::Default));
    refuses_a_second_order(pool(1, PageKind::Default));
    refuses_a_second_order(floor(1, PageKind::Default));
}

fn refuses_a_second_order(store: impl Store) {
    let mut market = Market::new(store, 1);
    market.apply(0, &add(1, 500)).unwrap();
    let before = market.digest();
    for price in [400, 500, 600] {
        assert_eq!(market.apply(0, &add(2, price)), Err(StoreFull { len: 1 }));
        market.check().unwrap();
        assert_eq!(market.digest(), before);
    }
    let delete = Message {
        kind: Kind::Delete,
        ..add(1, 500)
    };
    assert_eq!(market.apply(0, &delete), Ok(Outcome::Removed));
    assert_eq!(market.apply(0, &add(2, 400)), Ok(Outcome::Added));
}

#[test]
fn a_digest_tells_the_order_in_line() {
    let digest = |ids: [u64; 2]| {
        let mut market = Market::new(SlabCrateStore::default(), 1);
        for id in ids {
            market.apply(0, &add(id, 500)).unwrap();
        }
        market.digest()
    };
    assert_eq!(digest([1, 2]), digest([1, 2]));
    assert_ne!(digest([1, 2]), digest([2, 1]));
}

#[test]
fn the_same_id_lives_once_per_symbol() {
    let mut market = Market::new(growable(PageKind::Default), 2);
    assert_eq!(market.apply(0, &add(1, 500)), Ok(Outcome::Added));
    assert_eq!(market.apply(1, &add(1, 400)), Ok(Outcome::Added));
    assert_eq!(market.apply(1, &add(1, 300)), Ok(Outcome::Duplicate));
    assert_eq!((market.top(0).ask, market.top(1).ask), (500, 400));
}

fn market_of_two() -> Market<SlabCrateStore> {
    let mut market = Market::new(SlabCrateStore::default(), 1);
    for id in [1, 2] {
        let message = Message {
            id,
            price: 500,
            size: 10,
            kind: Kind::Add,
            side: Side::Buy,
        };
        assert_eq!(market.apply(0, &message), Ok(Outcome::Added));
    }
    market.check().unwrap();
    market
}

#[test]
fn check_finds_each_kind_of_damage() {
    type Damage = fn(&mut Market<SlabCrateStore>);
    fn bid(market: &mut Market<SlabCrateStore>, damage: fn(&mut Level<SlabKey>)) {
        let bids = market.books[0].bids;
        damage(bids.get_mut(&mut market.nodes, &500).unwrap());
    }
    let damages: [(&str, Damage); 5] = [
        ("(B1)", |market| {
            bid(market, |level| level.last = Link::NONE)
        }),
        ("(B1)", |market| {
            market.books[0].bids.clear(&mut market.nodes);
        }),
        ("(B2)", |market| bid(market, |level| level.total += 1)),
        ("(B3)", |market| bid(market, |level| level.price += 1)),
        ("(B5)", |market| {
            let key = market.books[0].ids[&1];
            market.store.with_mut(key, |order| order.price += 1);
        }),
    ];
    for (name, damage) in damages {
        let mut market = market_of_two();
        damage(&mut market);
        let error = market.check().unwrap_err();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn check_finds_an_order_that_no_map_knows() {
    let mut market = market_of_two();
    let key = market.books[0].ids[&1];
    let order = market.store.with(key, |order| *order);
    market.store.insert(order).unwrap();
    assert!(market.check().unwrap_err().contains("(B4)"));
}
