//! The recorded hour through every store: without the file, the test says so and passes.

use std::fmt::Write;
use std::path::Path;

use indicatif::ProgressBar;
use order_flow::lobster;
use order_flow::naive::NaiveBook;

use crate::replay::{Job, write_tops};
use crate::variant::{StoreKind, Variant};

#[test]
fn every_top_of_the_real_hour_is_that_of_the_naive_book() {
    let Some(messages) = lobster::hour() else {
        return;
    };
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
