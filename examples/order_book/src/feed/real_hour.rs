//! Tests with a recorded hour. `FLATSLAB_LOBSTER` is the path of LOBSTER's public
//! sample of AAPL, 2012-06-21 09:30 to 10:30, 50 levels. If it is not set, these
//! tests do nothing and pass.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;

use crate::feed::lobster;
use crate::feed::message::Message;
use crate::feed::naive::NaiveBook;
use crate::feed::replay::{Job, write_tops};
use crate::feed::stats::{FlowStats, Quantiles};
use crate::feed::variant::{StoreKind, Variant};

fn hour() -> Option<Vec<Message>> {
    let path = PathBuf::from(std::env::var_os("FLATSLAB_LOBSTER")?);
    Some(lobster::read(&path, None).unwrap())
}

#[test]
fn the_real_hour_has_the_statistics_the_flow_aims_at() {
    let Some(messages) = hour() else { return };
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
    let Some(messages) = hour() else { return };
    let (mut wanted, mut book) = (String::new(), NaiveBook::default());
    for message in &messages {
        book.apply(message);
        writeln!(wanted, "{}", book.top()).unwrap();
    }
    assert_eq!(wanted.lines().last(), Some("5859500,100,5856900,10"));

    let job = Job {
        messages: &messages,
        symbols: 2,
        peak_live_orders: 2 * 413,
        peak_levels: 0,
        progress: &ProgressBar::hidden(),
    };
    let mut written = Vec::new();
    let variants = StoreKind::DEFAULT.map(Variant::plain);
    write_tops(job, &variants, Path::new("tops"), &mut written).unwrap();
    assert!(written == wanted.as_bytes());
}
