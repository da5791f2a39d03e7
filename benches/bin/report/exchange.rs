//! The table of the exchange: what `exchange rivals --record` has written. It names no machine.

use flatslab_benches::record::Record;
use flatslab_benches::table::{self, NOTHING, line, thousands};
use serde_json::Value;

use crate::full;

/// The columns: where in a round's record the figure is.
const COLUMNS: [(&str, &str); 9] = [
    ("commands/s", "/per_second"),
    ("one at a time: p50, ns", "/closed/p50_ns"),
    ("p99", "/closed/p99_ns"),
    ("p99.9", "/closed/p99_9_ns"),
    ("at half its own throughput: p50, ns", "/open/p50_ns"),
    ("p99", "/open/p99_ns"),
    ("p99.9", "/open/p99_9_ns"),
    ("calls of the allocator", "/calls"),
    ("page faults", "/faults"),
];

/// The record, if there is one.
pub(crate) fn result() -> Result<Option<Value>, String> {
    crate::json(&Record::directory().join("exchange.json"))
}

/// The generated file: medians, and each round's throughput.
pub(crate) fn file(result: &Value) -> (&'static str, String) {
    let head = full::head("exchange", "`benches/record/exchange.json`");
    let exchanges = exchanges(result);
    let rounds = exchanges.iter().map(|it| rounds(it).len()).max();
    let titles = (1..=rounds.unwrap_or(0)).map(|round| format!("round {round}"));
    let lines = exchanges.iter().map(|exchange| {
        let rates = rounds_of(exchange, "/per_second").into_iter();
        line(name(exchange), rates.map(|rate| thousands(rate as usize)))
    });
    let each = table::markdown(line("commands/s", titles), lines).unwrap_or_default();
    let text = format!(
        "{head}\n\n{}\n\n## Each round\n\n{each}\n",
        in_short(result)
    );
    ("exchange", text)
}

/// For BENCHMARKS.md.
pub(crate) fn in_short(result: &Value) -> String {
    let number = |field: &str| thousands(result[field].as_u64().unwrap_or(0) as usize);
    let lines = exchanges(result).iter().map(|exchange| {
        let figures = COLUMNS.map(|(_, place)| median(rounds_of(exchange, place)));
        line(name(exchange), figures)
    });
    let table = table::markdown(line("", COLUMNS.map(|it| it.0)), lines).unwrap_or_default();
    format!(
        "{} live orders, three passes of {} commands, {} rounds, medians; from a frame at the \
         gateway to its report there.\n\n{table}",
        number("live_orders"),
        number("commands"),
        number("rounds")
    )
}

fn exchanges(result: &Value) -> &[Value] {
    result["exchanges"].as_array().map_or(&[], Vec::as_slice)
}

fn rounds(exchange: &Value) -> &[Value] {
    exchange["rounds"].as_array().map_or(&[], Vec::as_slice)
}

fn name(exchange: &Value) -> String {
    exchange["name"].as_str().unwrap_or("?").to_owned()
}

fn rounds_of(exchange: &Value, place: &str) -> Vec<u64> {
    let figures = rounds(exchange)
        .iter()
        .map(|round| round.pointer(place)?.as_u64());
    figures.flatten().collect()
}

/// Where the system says nothing of it, nothing.
fn median(mut figures: Vec<u64>) -> String {
    figures.sort_unstable();
    let middle = figures.get(figures.len() / 2);
    middle.map_or(NOTHING.to_owned(), |it| thousands(*it as usize))
}
