//! What every book with price and time priority must do, case by case, on every store: the
//! invariants that the benchmark's page on conformance describes. Reports are compared as lines,
//! and with those of the naive engine; after each message the best prices and the shares at each
//! price, too.

mod common;

use common::{
    Job, Kept, Message, Naive, Plays, buy, cancel, lines, modify, on_every_store, sell, take_asks,
    take_bids,
};
use order_book::matching::Engine;
use order_book::numbers::{Event, Numbers, Terms};
use order_book::store::Store;
use order_flow::message::Side::{Buy, Sell};

struct Case<'a> {
    name: &'a str,
    messages: &'a [Message],
    /// Of the trades: price, shares, the order that rested, and the one that came in.
    trades: &'a [(i64, u32, u64, u64)],
}

impl Job for Case<'_> {
    fn run<S: Store<Owner = u32>>(&mut self, store: &str, mut engine: Engine<S, Numbers<Kept>>) {
        let mut naive = Naive::default();
        let prices = self.messages.iter().filter_map(|message| match message {
            Message::New { price, .. } | Message::Modify { price, .. } => Some(*price),
            Message::Cancel(_) => None,
        });
        let mut prices: Vec<i64> = prices.collect();
        prices.sort_unstable();
        prices.dedup();
        let place = |sequence: u64| format!("{}, message {sequence}, {store}", self.name);
        for (sequence, message) in (0..).zip(self.messages) {
            engine.play(sequence, message);
            naive.play(sequence, message);
            if self.messages.len() > 100 {
                continue;
            }
            engine
                .check()
                .unwrap_or_else(|error| panic!("{}: {error}", place(sequence)));
            for side in [Buy, Sell] {
                assert_eq!(engine.best(side), naive.best(side), "{}", place(sequence));
                for &price in &prices {
                    let (is, wanted) = (engine.depth(side, price), naive.depth(side, price));
                    assert_eq!(is, wanted, "{}: {side:?} {price}", place(sequence));
                }
            }
        }
        let reports = engine.reports();
        let trades = reports.iter().filter_map(|report| match report.event {
            Event::Traded { maker } => Some((report.price, report.quantity, maker, report.number)),
            _ => None,
        });
        assert_eq!(
            trades.collect::<Vec<_>>(),
            self.trades,
            "{}: {store}",
            self.name
        );
        assert_eq!(
            lines(&reports),
            lines(&naive.reports()),
            "{}: {store}",
            self.name
        );
    }
}

fn expect(name: &str, messages: &[Message], trades: &[(i64, u32, u64, u64)]) {
    let mut case = Case {
        name,
        messages,
        trades,
    };
    on_every_store(10_000, 64, 10_000, &mut case);
}

#[test]
fn a_cancel_of_one_order_loses_none_of_its_level() {
    let three = [buy(1, 6, 50), buy(2, 7, 50), buy(3, 8, 50)];
    let [a, b, c] = three;
    expect(
        "the middle one",
        &[a, b, c, cancel(2), take_bids(9, 14, 50)],
        &[(50, 6, 1, 9), (50, 8, 3, 9)],
    );
    expect(
        "the first one",
        &[a, b, c, cancel(1), take_bids(9, 15, 50)],
        &[(50, 7, 2, 9), (50, 8, 3, 9)],
    );
    expect(
        "the last one",
        &[a, b, c, cancel(3), take_bids(9, 20, 50)],
        &[(50, 6, 1, 9), (50, 7, 2, 9)],
    );
    let mut deep: Vec<Message> = (1..=9).map(|number| sell(number, 5, 70)).collect();
    deep.extend([cancel(3), cancel(4), cancel(8), take_asks(20, 28, 70)]);
    let trades = [(1, 5), (2, 5), (5, 5), (6, 5), (7, 5), (9, 3)];
    let trades = trades.map(|(maker, quantity)| (70, quantity, maker, 20));
    expect("several of a long line", &deep, &trades);
}

#[test]
fn an_order_trades_with_better_prices_first_and_leaves_nothing_of_what_it_fills() {
    let levels = [sell(1, 4, 32), sell(2, 5, 30), sell(3, 6, 31)];
    let [a, b, c] = levels;
    expect(
        "across prices, at once",
        &[a, b, c, take_asks(9, 12, 32)],
        &[(30, 5, 2, 9), (31, 6, 3, 9), (32, 1, 1, 9)],
    );
    expect(
        "all of them exactly",
        &[a, b, c, take_asks(9, 15, 32), cancel(1), cancel(3)],
        &[(30, 5, 2, 9), (31, 6, 3, 9), (32, 4, 1, 9)],
    );
    expect(
        "bids, that arrived in another order",
        &[
            buy(1, 3, 10),
            buy(2, 3, 12),
            buy(3, 3, 11),
            take_bids(9, 9, 10),
        ],
        &[(12, 3, 2, 9), (11, 3, 3, 9), (10, 3, 1, 9)],
    );
    expect(
        "what is left becomes the best bid, and can be hit",
        &[a, b, c, buy(9, 18, 32), take_bids(10, 2, 32), cancel(9)],
        &[(30, 5, 2, 9), (31, 6, 3, 9), (32, 4, 1, 9), (32, 2, 9, 10)],
    );
    expect(
        "the book works on after that",
        &[
            a,
            b,
            c,
            take_asks(9, 15, 32),
            sell(10, 2, 31),
            take_asks(11, 2, 31),
            sell(12, 2, 40),
            take_asks(13, 3, 40),
        ],
        &[
            (30, 5, 2, 9),
            (31, 6, 3, 9),
            (32, 4, 1, 9),
            (31, 2, 10, 11),
            (40, 2, 12, 13),
        ],
    );
}

#[test]
fn trades_are_at_the_price_of_the_order_that_rested() {
    expect(
        "a buy",
        &[sell(1, 5, 20), take_asks(2, 5, 29)],
        &[(20, 5, 1, 2)],
    );
    expect(
        "a sell",
        &[buy(1, 5, 20), take_bids(2, 5, 11)],
        &[(20, 5, 1, 2)],
    );
    expect(
        "an order that is modified beyond the other side",
        &[sell(1, 5, 20), buy(2, 5, 10), modify(2, 5, 27)],
        &[(20, 5, 1, 2)],
    );
    expect(
        "the same to the other side",
        &[buy(1, 5, 20), sell(2, 5, 30), modify(2, 5, 13)],
        &[(20, 5, 1, 2)],
    );
}

#[test]
fn an_order_stops_at_its_own_price() {
    expect(
        "the rest of it rests",
        &[
            sell(1, 5, 20),
            sell(2, 5, 24),
            buy(3, 9, 22),
            take_bids(4, 4, 22),
        ],
        &[(20, 5, 1, 3), (22, 4, 3, 4)],
    );
    expect(
        "an immediate one never rests",
        &[
            sell(1, 5, 20),
            take_asks(2, 9, 20),
            take_bids(3, 4, 20),
            cancel(2),
        ],
        &[(20, 5, 1, 2)],
    );
    expect(
        "one that crosses nothing",
        &[take_asks(1, 5, 20), take_bids(2, 5, 20)],
        &[],
    );
}

#[test]
fn an_order_that_is_modified_is_another_one_at_the_end_of_its_price() {
    expect(
        "into the other side",
        &[sell(1, 5, 20), buy(2, 5, 19), modify(2, 5, 20)],
        &[(20, 5, 1, 2)],
    );
    expect(
        "its neighbour stays",
        &[
            buy(1, 5, 20),
            buy(2, 5, 20),
            modify(1, 5, 19),
            take_bids(3, 10, 19),
        ],
        &[(20, 5, 2, 3), (19, 5, 1, 3)],
    );
    expect(
        "after it has traded in part",
        &[
            sell(1, 9, 20),
            take_asks(2, 4, 20),
            modify(1, 6, 21),
            take_asks(3, 9, 21),
        ],
        &[(20, 4, 1, 2), (21, 6, 1, 3)],
    );
    expect(
        "it crosses in part, and rests",
        &[
            sell(1, 3, 20),
            buy(2, 5, 10),
            modify(2, 8, 20),
            take_bids(3, 9, 20),
        ],
        &[(20, 3, 1, 2), (20, 5, 2, 3)],
    );
}

#[test]
fn what_does_not_rest_is_rejected() {
    expect("never there", &[cancel(7), modify(7, 1, 10)], &[]);
    expect(
        "a number above all",
        &[cancel(2_000_000), modify(u64::MAX, 1, 10)],
        &[],
    );
    expect(
        "filled",
        &[
            sell(1, 5, 20),
            take_asks(2, 5, 20),
            cancel(1),
            modify(1, 5, 21),
            cancel(2),
        ],
        &[(20, 5, 1, 2)],
    );
    expect(
        "cancelled",
        &[sell(1, 5, 20), cancel(1), cancel(1), modify(1, 5, 21)],
        &[],
    );
    expect(
        "filled, and another order has its slot",
        &[
            sell(1, 5, 20),
            take_asks(2, 5, 20),
            sell(3, 5, 21),
            cancel(1),
            modify(1, 9, 22),
            take_asks(4, 5, 21),
        ],
        &[(20, 5, 1, 2), (21, 5, 3, 4)],
    );
}

#[test]
fn a_number_is_free_when_its_order_is_gone() {
    expect(
        "cancelled",
        &[
            buy(1, 5, 10),
            cancel(1),
            sell(1, 4, 30),
            take_asks(2, 4, 30),
        ],
        &[(30, 4, 1, 2)],
    );
    expect(
        "filled",
        &[
            buy(1, 5, 10),
            sell(2, 5, 10),
            sell(1, 4, 30),
            take_asks(3, 4, 30),
        ],
        &[(10, 5, 1, 2), (30, 4, 1, 3)],
    );
    expect(
        "and not before",
        &[
            buy(1, 5, 10),
            sell(1, 4, 30),
            buy(1, 3, 9),
            take_bids(2, 5, 9),
            cancel(1),
        ],
        &[(10, 5, 1, 2)],
    );
}

#[test]
fn time_decides_among_orders_of_one_price() {
    expect(
        "two bids",
        &[buy(1, 5, 10), buy(2, 5, 10), sell(3, 5, 10)],
        &[(10, 5, 1, 3)],
    );
    expect(
        "what is left of an order keeps its place",
        &[
            buy(1, 5, 10),
            buy(2, 5, 10),
            take_bids(3, 3, 10),
            take_bids(4, 4, 10),
            take_bids(5, 4, 10),
        ],
        &[(10, 3, 1, 3), (10, 2, 1, 4), (10, 2, 2, 4), (10, 3, 2, 5)],
    );
    expect(
        "two levels, each without one",
        &[
            buy(1, 5, 10),
            buy(2, 5, 10),
            buy(3, 5, 11),
            buy(4, 5, 11),
            cancel(1),
            cancel(4),
            take_bids(5, 10, 10),
        ],
        &[(11, 5, 3, 5), (10, 5, 2, 5)],
    );
    expect(
        "an order drained to its last share",
        &[
            sell(1, 9, 10),
            take_asks(2, 4, 10),
            take_asks(3, 5, 10),
            take_asks(4, 1, 10),
        ],
        &[(10, 4, 1, 2), (10, 5, 1, 3)],
    );
    expect(
        "both orders of a level at once, and the rest rests",
        &[
            sell(1, 3, 9),
            sell(2, 4, 9),
            buy(3, 10, 9),
            take_bids(4, 3, 9),
        ],
        &[(9, 3, 1, 3), (9, 4, 2, 3), (9, 3, 3, 4)],
    );
}

#[test]
fn a_level_without_orders_is_no_best_price() {
    expect(
        "bids",
        &[buy(1, 5, 10), buy(2, 5, 9), cancel(1), take_bids(3, 5, 9)],
        &[(9, 5, 2, 3)],
    );
    expect(
        "asks",
        &[
            sell(1, 5, 10),
            sell(2, 5, 11),
            cancel(1),
            take_asks(3, 5, 11),
        ],
        &[(11, 5, 2, 3)],
    );
    expect(
        "a side that was empty",
        &[buy(1, 5, 10), cancel(1), buy(2, 4, 8), take_bids(3, 4, 8)],
        &[(8, 4, 2, 3)],
    );
}

#[test]
fn a_long_line_is_swept_at_once() {
    let mut messages: Vec<Message> = (1..=5_000).map(|number| sell(number, 1, 100)).collect();
    messages.push(take_asks(5_001, 5_001, 100));
    let trades: Vec<_> = (1..=5_000).map(|number| (100, 1, number, 5_001)).collect();
    expect("five thousand orders", &messages, &trades);
}

#[test]
fn any_price_has_a_level() {
    let far = [i64::MIN + 1, -1, 0, 1, 1 << 40, i64::MAX - 1];
    let mut messages = Vec::new();
    for (number, price) in (1..).zip(far) {
        messages.push(buy(number, 2, price));
    }
    for _ in far {
        messages.push(take_bids(100, 2, i64::MIN + 1));
    }
    let mut trades: Vec<_> = (1..)
        .zip(far)
        .map(|(number, price)| (price, 2, number, 100))
        .collect();
    trades.reverse();
    expect("bids far apart", &messages, &trades);
    expect(
        "a high price",
        &[sell(1, 5, 200_000), take_asks(2, 5, 200_000)],
        &[(200_000, 5, 1, 2)],
    );
}

/// Prices so far apart that each takes a page and a block, and more of them than there are.
struct Limit;

impl Job for Limit {
    fn run<S: Store<Owner = u32>>(&mut self, store: &str, mut engine: Engine<S, Numbers<Kept>>) {
        let far = |number: u64| number as i64 * 1_000_000;
        let mut taken = 0;
        for number in 1..200 {
            let terms = Terms {
                number,
                sequence: number,
                price: far(number),
                quantity: 1,
                side: Buy,
                rests: true,
            };
            match engine.new_order(&terms) {
                Ok(()) => taken += 1,
                Err(refusal) => assert_eq!(format!("{refusal:?}"), "NoRoom", "{store}"),
            }
            engine.check().unwrap();
        }
        assert_eq!(taken, 64, "{store}: a side has 64 blocks of prices");
        assert_eq!(engine.reports().len(), 64);
        // A price that has a level is not refused, and one that is given back is used again.
        engine.play(300, &buy(300, 1, far(1)));
        engine.play(301, &modify(300, 2, far(150)));
        assert_eq!(lines(&engine.reports()), "0,300,0,300,1000000,1\n5,301,300");
        engine.play(302, &cancel(64));
        engine.play(303, &modify(300, 2, far(150)));
        assert_eq!(engine.best(Buy), Some(far(150)));
        engine.check().unwrap();
        for number in (1..64).chain([300]) {
            engine.play(400, &cancel(number));
        }
        assert_eq!((engine.best(Buy), engine.store.len()), (None, 0));
        engine.check().unwrap();
    }
}

#[test]
fn a_price_that_there_is_no_memory_for_is_refused_and_changes_nothing() {
    on_every_store(1_000, 100, 1_000, &mut Limit);
}

/// Messages drawn at random over few prices, numbers and far away pages.
struct Random {
    seed: u64,
}

impl Job for Random {
    fn run<S: Store<Owner = u32>>(&mut self, store: &str, mut engine: Engine<S, Numbers<Kept>>) {
        let mut naive = Naive::default();
        let mut state = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        for sequence in 0..3_000 {
            let number = below(60);
            let price = match below(12) {
                0 => below(9) as i64 * 5_000 - 20_000,
                _ => 60 + below(10) as i64,
            };
            let (quantity, side) = (below(9) as u32, if below(2) == 0 { Buy } else { Sell });
            let message = match below(5) {
                0..3 => common::new(number, side, quantity, price, below(6) > 0),
                3 => cancel(number),
                _ => modify(number, quantity, price),
            };
            engine.play(sequence, &message);
            naive.play(sequence, &message);
            assert_eq!(
                (engine.best(Buy), engine.best(Sell)),
                (naive.best(Buy), naive.best(Sell))
            );
            if sequence % 50 == 0 {
                engine.check().unwrap();
            }
        }
        assert_eq!(
            lines(&engine.reports()),
            lines(&naive.reports()),
            "{store}, seed {}",
            self.seed
        );
    }
}

#[test]
fn every_store_reports_as_the_naive_engine() {
    for seed in 1..6 {
        on_every_store(100, 64, 60, &mut Random { seed });
    }
}
