//! A recorded hour, where the environment names it: set `FLATSLAB_LOBSTER` to
//! LOBSTER's public sample of AAPL, 2012-06-21 09:30 to 10:30, 50 levels.
//! Without it these tests have nothing to look at and pass.

use std::path::PathBuf;

use super::cli::{Scratch, run};
use super::reference::NaiveBook;
use crate::lobster;
use crate::message::Message;
use crate::run::{SUCCESS, write_top};
use crate::stats::{FlowStats, Quantiles};

fn hour() -> Option<(PathBuf, Vec<Message>)> {
    let path = PathBuf::from(std::env::var_os("FLATSLAB_LOBSTER")?);
    let messages = lobster::read(&path, usize::MAX).unwrap();
    Some((path, messages))
}

#[test]
fn the_real_hour_has_the_statistics_the_flow_aims_at() {
    let Some((_, messages)) = hour() else { return };
    let stats = FlowStats::measure(&messages).unwrap();
    assert_eq!(stats.messages, 91_997);
    let kinds = stats.kinds;
    assert_eq!(
        (kinds.adds, kinds.partial_cancels, kinds.deletes),
        (44_256, 469, 41_004)
    );
    assert_eq!((kinds.executions, kinds.hidden_executions), (4_067, 2_201));
    assert_eq!((kinds.crosses, kinds.halts), (0, 0));
    let anomalies = stats.anomalies;
    assert_eq!(anomalies.unknown_ids, 84);
    assert_eq!(
        (anomalies.duplicate_ids, anomalies.excess_reductions),
        (0, 0)
    );
    assert_eq!(
        (stats.peak_live_orders, stats.live_orders_at_end),
        (413, 380)
    );
    let quantiles = |[p10, p50, p90, p99]: [i64; 4]| Quantiles { p10, p50, p90, p99 };
    assert_eq!(stats.life_in_messages, quantiles([2, 19, 265, 3_974]));
    assert_eq!(stats.distance_in_cents, quantiles([-3, 8, 74, 174]));
    assert_eq!(stats.size_in_shares, quantiles([17, 100, 200, 1_000]));
}

#[test]
fn every_top_of_the_real_hour_is_that_of_the_naive_book() {
    let Some((path, messages)) = hour() else {
        return;
    };
    let mut wanted = Vec::new();
    let mut book = NaiveBook::default();
    for message in &messages {
        book.apply(message);
        write_top(&mut wanted, book.top()).unwrap();
    }
    let wanted = String::from_utf8(wanted).unwrap();

    let tops = Scratch::new("");
    let path = path.to_str().unwrap();
    let (code, _, err) = run(&[
        "--lobster",
        path,
        "--bbo",
        tops.path(),
        "--rounds",
        "1",
        "--symbols",
        "2",
    ]);
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    let written = std::fs::read_to_string(tops.path()).unwrap();
    assert_eq!(written.lines().count(), 91_997);
    assert_eq!(written.lines().last(), Some("5859500,100,5856900,10"));
    assert!(written == wanted);
}
