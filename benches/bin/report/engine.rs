//! The tables of the matching engine: what `order_book --full --record` has written. It
//! names no machine.

use flatslab_benches::record::Record;
use flatslab_benches::table::{self, thousands};
use serde_json::Value;

use crate::{Section, full};

/// Latencies of the closed loop: the field, the name, and whether the lowest of the rounds counts
/// instead of the median.
pub(crate) const LATENCIES: [(&str, &str, bool); 5] = [
    ("p50_ns", "p50", false),
    ("p99_ns", "p99", false),
    ("p99_9_ns", "p99.9", false),
    ("p99_99_ns", "p99.99", false),
    ("max_ns", "longest", true),
];

const STARTS: [(&str, &str); 2] = [
    ("from_empty", "From empty, growth is part of it"),
    ("reserved", "Reserved and touched, full books"),
];

/// The stores of the README's table: ours, and what people would use instead.
const SHORT: [&str; 4] = ["keys", "bounded", "slab + number", "slotmap"];

const PICTURE: &str =
    "![percentiles of the time of one command to a matching engine](pictures/engine.svg)";

/// The record, if there is one.
pub(crate) fn result() -> Result<Option<Value>, String> {
    crate::json(&Record::directory().join("engine.json"))
}

/// The generated file: all tables.
pub(crate) fn file(result: &Value) -> (&'static str, String) {
    let head = full::head("engine", "`benches/record/engine.json`");
    let all = |_: &str| true;
    let tables = STARTS.map(|(start, title)| {
        format!(
            "## {title}\n\n{}\n\n### At a fixed rate\n\n{}\n",
            table(result, start, all),
            loaded(result, start)
        )
    });
    let text = format!(
        "{head}\n\n{}\n\n{}\n{}\n{}",
        caption(result),
        tables.join("\n"),
        late(result),
        says(result)
    );
    ("engine", text)
}

/// For BENCHMARKS.md: both tables of the closed loop, and what they say.
pub(crate) fn in_short(result: &Value) -> String {
    let tables =
        STARTS.map(|(start, title)| format!("{title}:\n\n{}", table(result, start, |_| true)));
    format!(
        "{} [All tables](benches/record/tables/engine.md).\n\n{}\n\n{}",
        caption(result),
        tables.join("\n\n"),
        says(result)
    )
}

/// For README.md: the picture, what was seen, and the table from empty.
pub(crate) fn readme(result: &Value) -> Section {
    let table = table(result, "from_empty", |name| SHORT.contains(&name));
    let text = format!(
        "{PICTURE}\n\n{}\n\n{table}\n\n{}",
        says(result),
        caption(result)
    );
    ("engine", text)
}

/// The sentences that the program has printed.
fn says(result: &Value) -> String {
    let said = result["says"].as_array().map_or(&[][..], Vec::as_slice);
    let said: Vec<&str> = said.iter().filter_map(Value::as_str).collect();
    said.join(" ")
}

fn caption(result: &Value) -> String {
    let number = |field: &str| thousands(result[field].as_u64().unwrap_or(0) as usize);
    format!(
        "{} live orders, {} symbols, {} % latecomers, {} rounds; medians, and of the longest \
         command the lowest.",
        number("peak_live_orders"),
        number("symbols"),
        number("late_per_cent"),
        number("rounds")
    )
}

pub(crate) fn stores(result: &Value) -> &[Value] {
    result["stores"].as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn name(store: &Value) -> &str {
    store["name"].as_str().unwrap_or("?")
}

/// A figure of all rounds: the median, or the lowest.
fn figure(rounds: &Value, of: impl Fn(&Value) -> Option<u64>, is_lowest: bool) -> u64 {
    let rounds = rounds.as_array().map_or(&[][..], Vec::as_slice);
    let mut values: Vec<u64> = rounds.iter().filter_map(of).collect();
    values.sort_unstable();
    let at = if is_lowest { 0 } else { values.len() / 2 };
    values.get(at).copied().unwrap_or(0)
}

/// A latency of the closed loop.
pub(crate) fn latency(store: &Value, start: &str, field: &str, is_lowest: bool) -> u64 {
    figure(
        &store[start],
        |round| round["closed"][field].as_u64(),
        is_lowest,
    )
}

fn cell(number: u64) -> String {
    thousands(number as usize)
}

fn table(result: &Value, start: &str, is_shown: impl Fn(&str) -> bool) -> String {
    let mut head = vec!["store".to_owned(), "commands/s".to_owned()];
    head.extend(LATENCIES.map(|(_, name, _)| format!("{name}, ns")));
    head.extend(["above 100 µs", "bytes an order"].map(str::to_owned));
    let shown = stores(result).iter().filter(|store| is_shown(name(store)));
    let rows = shown.map(|store| {
        let rate = |round: &Value| round["commands_per_second"].as_u64();
        let mut row = vec![format!("`{}`", name(store))];
        row.push(cell(figure(&store[start], rate, false)));
        row.extend(
            LATENCIES.map(|(field, _, is_lowest)| cell(latency(store, start, field, is_lowest))),
        );
        row.push(cell(latency(store, start, "long", true)));
        row.push(store["order_bytes"].to_string());
        row
    });
    table::markdown(&head, &rows.collect::<Vec<_>>())
}

/// The open loops.
fn loaded(result: &Value, start: &str) -> String {
    let loads = [("open_50", "50 %"), ("open_80", "80 %")];
    let mut head = vec!["of the slowest store's throughput".to_owned()];
    for (_, load) in loads {
        head.extend(LATENCIES.map(|(_, name, _)| format!("{load}: {name}, ns")));
    }
    let rows = stores(result).iter().map(|store| {
        let mut row = vec![format!("`{}`", name(store))];
        for (load, _) in loads {
            row.extend(LATENCIES.map(|(field, _, is_lowest)| {
                let of = |round: &Value| round[load][field].as_u64();
                cell(figure(&store[start], of, is_lowest))
            }));
        }
        row
    });
    table::markdown(&head, &rows.collect::<Vec<_>>())
}

/// Commands a second with other shares of latecomers, reserved.
fn late(result: &Value) -> String {
    let others = |store: &Value| store["other_late"].as_array().cloned().unwrap_or_default();
    let Some(first) = stores(result).first() else {
        return String::new();
    };
    let mut head = vec!["commands/s".to_owned()];
    let share = |other: &Value| format!("{} %", other["per_cent"]);
    head.extend(others(first).iter().map(share));
    let rows = stores(result).iter().map(|store| {
        let mut row = vec![format!("`{}`", name(store))];
        row.extend(others(store).iter().map(|other| {
            let rates = &other["commands_per_second"];
            cell(figure(rates, |rates| rates[1].as_u64(), false))
        }));
        row
    });
    let table = table::markdown(&head, &rows.collect::<Vec<_>>());
    format!("## Other shares of latecomers, reserved\n\n{table}\n")
}
