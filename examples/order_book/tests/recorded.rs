//! Recorded messages as commands. Without the file of the real hour, its test says so and passes.

use std::fs;

use clap::ValueEnum;
use order_book::trial::OrderStores;
use order_flow::flow::Flow;
use order_flow::lobster;
use order_flow::message::{Kind, Message, Side};
use order_flow::naive::NaiveBook;
use order_flow::program::Failure;
use order_flow::script::{Script, Step};
use order_flow::top::TopsFile;
use order_flow::traffic::Traffic;

use engine_trial::recorded::check;
use engine_trial::stores::StoreKind;

#[test]
fn every_top_of_the_real_hour_is_the_known_one() {
    let Some(messages) = lobster::hour() else {
        return;
    };
    check::<OrderStores>(&messages, StoreKind::value_variants(), None).unwrap();

    let script = Script::of_messages(&messages);
    let is_take = |step: &&Step| matches!(step, Step::Take { .. });
    let takes = script.steps.iter().filter(is_take).count();
    assert!(
        takes > 3_500,
        "{takes} of 4,067 trades are of the first in line"
    );
    let mut book = NaiveBook::default();
    for message in &messages {
        book.apply(message);
    }
    assert_eq!(book.top().to_string(), "5859500,100,5856900,10");
    let traffic = Traffic::of_one_symbol(&script);
    assert_eq!(traffic.commands.len(), script.steps.len());
}

#[test]
fn every_store_has_the_tops_of_generated_messages() {
    let messages: Vec<_> = Flow::new(5).take(20_000).collect();
    check::<OrderStores>(&messages, StoreKind::value_variants(), None).unwrap();
}

const fn message(kind: Kind, id: u64, side: Side, price: u32, size: u32) -> Message {
    Message {
        id,
        price,
        size,
        kind,
        side,
    }
}

/// Checks messages on two stores; returns the result and the file of tops.
fn tops(messages: &[Message], name: &str) -> (Result<(), Failure>, String) {
    let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    let file = TopsFile::create(&path, None).unwrap();
    let stores = [StoreKind::KeySlab, StoreKind::SlabHashmap];
    let result = check::<OrderStores>(messages, &stores, Some(&file));
    let tops = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    (result, tops)
}

#[test]
fn messages_that_lead_to_no_command_repeat_the_top() {
    let (buy, sell) = (Side::Buy, Side::Sell);
    let messages = [
        message(Kind::Hidden, 0, buy, 100, 5),
        message(Kind::Add, 7, buy, 100, 18),
        // Already live, unknown, hidden.
        message(Kind::Add, 7, buy, 101, 20),
        message(Kind::Delete, 9, buy, 100, 18),
        message(Kind::Hidden, 0, buy, 100, 10),
        message(Kind::Halt, 0, sell, 0, 0),
        message(Kind::Add, 8, buy, 100, 4),
        // Not the first in line.
        message(Kind::Execute, 8, buy, 100, 1),
        // More than the order has.
        message(Kind::Execute, 7, buy, 100, 99),
        message(Kind::Cancel, 8, buy, 100, 99),
        // The id is free again.
        message(Kind::Add, 7, sell, 105, 5),
        message(Kind::Cross, 0, sell, 0, 0),
    ];
    let (result, tops) = tops(&messages, "repeat");
    result.unwrap();
    let lines: Vec<_> = tops.lines().collect();
    assert_eq!(lines[0], "0,0,0,0");
    assert_eq!(lines[1..6], ["0,0,100,18"; 5]);
    assert_eq!(lines[6..9], ["0,0,100,22", "0,0,100,21", "0,0,100,3"]);
    assert_eq!(lines[9..], ["0,0,0,0", "105,5,0,0", "105,5,0,0"]);
}

#[test]
fn the_numbers_of_recorded_orders_may_be_any() {
    let add = |id, price| message(Kind::Add, id, Side::Buy, price, 5);
    let (result, tops) = tops(&[add(u64::MAX, 100), add(1 << 50, 101)], "numbers");
    result.unwrap();
    assert_eq!(tops, "0,0,100,5\n0,0,101,5\n");
}

#[test]
fn a_top_that_the_engine_cannot_have_is_an_error_and_leaves_the_file_empty() {
    // It would have traded.
    let crossed = [
        message(Kind::Add, 1, Side::Buy, 100, 5),
        message(Kind::Add, 2, Side::Sell, 99, 3),
    ];
    let (result, tops) = tops(&crossed, "crossed");
    let Err(Failure::Run(reason)) = result else {
        panic!("the book is crossed");
    };
    let wanted = "after message 2 the engine has the top 0,0,100,2, and the messages lead to \
                  99,3,100,5";
    assert_eq!(reason, wanted);
    assert_eq!(tops, "");
}
