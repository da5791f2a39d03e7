//! What every book with price and time priority must do, case by case, on every store: the
//! invariants that the benchmark's page on conformance describes. Reports are compared as lines,
//! and with those of the naive engine; after each message the best prices and the shares at each
//! price, too.

mod common;

use common::{Job, Kept, Message, Naive, Plays, lines, message, on_every_store};
use order_book::matching::Engine;
use order_book::numbers::{Event, Numbers};
use order_book::store::Store;
use order_flow::message::Side::{Buy, Sell};

struct Case<'a> {
    name: &'a str,
    messages: &'a [Message],
    /// Each as `shares@price maker-taker`.
    trades: &'a str,
}

impl Job for Case<'_> {
    fn run<S: Store<Owner = u32>>(&mut self, store: &str, mut engine: Engine<S, Numbers<Kept>>) {
        let mut naive = Naive::default();
        let prices: Vec<i64> = (self.messages.iter())
            .filter_map(|message| match message {
                Message::New(terms) | Message::Modify(terms) => Some(terms.price),
                Message::Cancel(_) => None,
            })
            .collect();
        for (sequence, message) in (0..).zip(self.messages) {
            engine.play(sequence, message);
            naive.play(sequence, message);
            if self.messages.len() > 100 {
                continue;
            }
            let place = || format!("{}, message {sequence}, {store}", self.name);
            engine
                .check()
                .unwrap_or_else(|error| panic!("{}: {error}", place()));
            for side in [Buy, Sell] {
                assert_eq!(engine.best(side), naive.best(side), "{}", place());
                for &price in &prices {
                    let (is, wanted) = (engine.depth(side, price), naive.depth(side, price));
                    assert_eq!(is, wanted, "{}: {side:?} {price}", place());
                }
            }
        }
        let reports = engine.reports();
        let trades = reports.iter().filter_map(|it| match it.event {
            Event::Traded { maker } => Some(format!(
                "{}@{} {maker}-{}",
                it.quantity, it.price, it.number
            )),
            _ => None,
        });
        let trades = trades.collect::<Vec<_>>().join(", ");
        assert_eq!(trades, self.trades, "{}: {store}", self.name);
        assert_eq!(
            lines(&reports),
            lines(&naive.reports()),
            "{}: {store}",
            self.name
        );
    }
}

fn check(name: &str, messages: &[Message], trades: &str) {
    let mut case = Case {
        name,
        messages,
        trades,
    };
    on_every_store(10_000, 64, 10_000, &mut case);
}

/// Checks cases: each has a name, its messages, and after an arrow the trades, at the end of a line.
fn expect(cases: &str) {
    let mut case = String::new();
    for line in cases.lines() {
        case += line;
        let Some((before, trades)) = case.split_once("=>") else {
            continue;
        };
        let (name, messages) = before.split_once(':').expect("a case has a name");
        let messages: Vec<Message> = messages.split(',').map(message).collect();
        check(name.trim(), &messages, trades.trim());
        case.clear();
    }
    assert_eq!(case.trim(), "", "the last case has no arrow");
}

#[test]
fn a_cancel_of_one_order_loses_none_of_its_level() {
    expect(
        "
        the middle one: buy 1 6@50, buy 2 7@50, buy 3 8@50, cancel 2, hit 9 14@50
          => 6@50 1-9, 8@50 3-9
        the first one: buy 1 6@50, buy 2 7@50, buy 3 8@50, cancel 1, hit 9 15@50
          => 7@50 2-9, 8@50 3-9
        the last one: buy 1 6@50, buy 2 7@50, buy 3 8@50, cancel 3, hit 9 20@50
          => 6@50 1-9, 7@50 2-9
        several of a long line: sell 1 5@70, sell 2 5@70, sell 3 5@70, sell 4 5@70, sell 5 5@70,
          sell 6 5@70, sell 7 5@70, sell 8 5@70, sell 9 5@70, cancel 3, cancel 4, cancel 8,
          lift 20 28@70
          => 5@70 1-20, 5@70 2-20, 5@70 5-20, 5@70 6-20, 5@70 7-20, 3@70 9-20
        ",
    );
}

#[test]
fn an_order_trades_with_better_prices_first_and_leaves_nothing_of_what_it_fills() {
    expect(
        "
        across prices, at once: sell 1 4@32, sell 2 5@30, sell 3 6@31, lift 9 12@32
          => 5@30 2-9, 6@31 3-9, 1@32 1-9
        all of them exactly: sell 1 4@32, sell 2 5@30, sell 3 6@31, lift 9 15@32, cancel 1,
          cancel 3
          => 5@30 2-9, 6@31 3-9, 4@32 1-9
        bids, that arrived in another order: buy 1 3@10, buy 2 3@12, buy 3 3@11, hit 9 9@10
          => 3@12 2-9, 3@11 3-9, 3@10 1-9
        what is left becomes the best bid, and can be hit: sell 1 4@32, sell 2 5@30,
          sell 3 6@31, buy 9 18@32, hit 10 2@32, cancel 9
          => 5@30 2-9, 6@31 3-9, 4@32 1-9, 2@32 9-10
        the book works on after that: sell 1 4@32, sell 2 5@30, sell 3 6@31, lift 9 15@32,
          sell 10 2@31, lift 11 2@31, sell 12 2@40, lift 13 3@40
          => 5@30 2-9, 6@31 3-9, 4@32 1-9, 2@31 10-11, 2@40 12-13
        ",
    );
}

#[test]
fn trades_are_at_the_price_of_the_order_that_rested() {
    expect(
        "
        a buy: sell 1 5@20, lift 2 5@29 => 5@20 1-2
        a sell: buy 1 5@20, hit 2 5@11 => 5@20 1-2
        an order that is modified beyond the other side: sell 1 5@20, buy 2 5@10, modify 2 5@27
          => 5@20 1-2
        the same to the other side: buy 1 5@20, sell 2 5@30, modify 2 5@13 => 5@20 1-2
        ",
    );
}

#[test]
fn an_order_stops_at_its_own_price() {
    expect(
        "
        the rest of it rests: sell 1 5@20, sell 2 5@24, buy 3 9@22, hit 4 4@22
          => 5@20 1-3, 4@22 3-4
        an immediate one never rests: sell 1 5@20, lift 2 9@20, hit 3 4@20, cancel 2
          => 5@20 1-2
        one that crosses nothing: lift 1 5@20, hit 2 5@20 =>
        ",
    );
}

#[test]
fn an_order_that_is_modified_is_another_one_at_the_end_of_its_price() {
    expect(
        "
        into the other side: sell 1 5@20, buy 2 5@19, modify 2 5@20 => 5@20 1-2
        its neighbour stays: buy 1 5@20, buy 2 5@20, modify 1 5@19, hit 3 10@19
          => 5@20 2-3, 5@19 1-3
        after it has traded in part: sell 1 9@20, lift 2 4@20, modify 1 6@21, lift 3 9@21
          => 4@20 1-2, 6@21 1-3
        it crosses in part, and rests: sell 1 3@20, buy 2 5@10, modify 2 8@20, hit 3 9@20
          => 3@20 1-2, 5@20 2-3
        ",
    );
}

#[test]
fn what_does_not_rest_is_rejected() {
    expect(
        "
        never there: cancel 7, modify 7 1@10 =>
        a number above all: cancel 2000000, modify 18446744073709551615 1@10 =>
        filled: sell 1 5@20, lift 2 5@20, cancel 1, modify 1 5@21, cancel 2 => 5@20 1-2
        cancelled: sell 1 5@20, cancel 1, cancel 1, modify 1 5@21 =>
        filled, and another order has its slot: sell 1 5@20, lift 2 5@20, sell 3 5@21, cancel 1,
          modify 1 9@22, lift 4 5@21
          => 5@20 1-2, 5@21 3-4
        ",
    );
}

#[test]
fn a_number_is_free_when_its_order_is_gone() {
    expect(
        "
        cancelled: buy 1 5@10, cancel 1, sell 1 4@30, lift 2 4@30 => 4@30 1-2
        filled: buy 1 5@10, sell 2 5@10, sell 1 4@30, lift 3 4@30 => 5@10 1-2, 4@30 1-3
        and not before: buy 1 5@10, sell 1 4@30, buy 1 3@9, hit 2 5@9, cancel 1
          => 5@10 1-2
        ",
    );
}

#[test]
fn time_decides_among_orders_of_one_price() {
    expect(
        "
        two bids: buy 1 5@10, buy 2 5@10, sell 3 5@10 => 5@10 1-3
        what is left of an order keeps its place: buy 1 5@10, buy 2 5@10, hit 3 3@10,
          hit 4 4@10, hit 5 4@10
          => 3@10 1-3, 2@10 1-4, 2@10 2-4, 3@10 2-5
        two levels, each without one: buy 1 5@10, buy 2 5@10, buy 3 5@11, buy 4 5@11, cancel 1,
          cancel 4, hit 5 10@10
          => 5@11 3-5, 5@10 2-5
        an order drained to its last share: sell 1 9@10, lift 2 4@10, lift 3 5@10, lift 4 1@10
          => 4@10 1-2, 5@10 1-3
        both orders of a level at once, and the rest rests: sell 1 3@9, sell 2 4@9, buy 3 10@9,
          hit 4 3@9
          => 3@9 1-3, 4@9 2-3, 3@9 3-4
        ",
    );
}

#[test]
fn a_level_without_orders_is_no_best_price() {
    expect(
        "
        bids: buy 1 5@10, buy 2 5@9, cancel 1, hit 3 5@9 => 5@9 2-3
        asks: sell 1 5@10, sell 2 5@11, cancel 1, lift 3 5@11 => 5@11 2-3
        a side that was empty: buy 1 5@10, cancel 1, buy 2 4@8, hit 3 4@8 => 4@8 2-3
        ",
    );
}

#[test]
fn a_long_line_is_swept_at_once() {
    let sells = (1..=5_000).map(|number| format!("sell {number} 1@100"));
    let messages: Vec<_> = (sells.chain(["lift 5001 5001@100".to_owned()]))
        .map(|text| message(&text))
        .collect();
    let trades: Vec<_> = (1..=5_000)
        .map(|number| format!("1@100 {number}-5001"))
        .collect();
    check("five thousand orders", &messages, &trades.join(", "));
}

#[test]
fn any_price_has_a_level() {
    let far = [i64::MIN + 1, -1, 0, 1, 1 << 40, i64::MAX - 1];
    let bids = (1..)
        .zip(far)
        .map(|(number, price)| format!("buy {number} 2@{price}"));
    let hits = far.map(|_| format!("hit 100 2@{}", i64::MIN + 1));
    let messages: Vec<_> = bids.chain(hits).map(|text| message(&text)).collect();
    let trades = (1..)
        .zip(far)
        .map(|(number, price)| format!("2@{price} {number}-100"));
    let mut trades: Vec<_> = trades.collect();
    trades.reverse();
    check("bids far apart", &messages, &trades.join(", "));
    expect("a high price: sell 1 5@200000, lift 2 5@200000 => 5@200000 1-2");
}

/// Prices so far apart that each takes a page and a block, and more of them than there are.
struct Limit;

impl Job for Limit {
    fn run<S: Store<Owner = u32>>(&mut self, store: &str, mut engine: Engine<S, Numbers<Kept>>) {
        let far = |number: u64| number as i64 * 1_000_000;
        let mut taken = 0;
        for number in 1..200 {
            let Message::New(terms) = common::new(number, Buy, 1, far(number), true) else {
                unreachable!()
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
        engine.play(300, &common::new(300, Buy, 1, far(1), true));
        engine.play(301, &common::modify(300, 2, far(150)));
        assert_eq!(lines(&engine.reports()), "0,300,0,300,1000000,1\n5,301,300");
        engine.play(302, &Message::Cancel(64));
        engine.play(303, &common::modify(300, 2, far(150)));
        assert_eq!(engine.best(Buy), Some(far(150)));
        engine.check().unwrap();
        for number in (1..64).chain([300]) {
            engine.play(400, &Message::Cancel(number));
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
                3 => Message::Cancel(number),
                _ => common::modify(number, quantity, price),
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
