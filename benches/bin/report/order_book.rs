//! The tables of the replay of a feed: the output of the example `feed`, from `--json`. It names no
//! machine.

use std::path::PathBuf;

use flatslab_benches::record::Record;
use flatslab_benches::table::{self, line};
use serde_json::Value;

use crate::full;

/// The figures of a store, as the replay names them.
const FIGURES: [(&str, &str); 6] = [
    ("messages_per_second", "messages/s"),
    ("p50_ns", "p50"),
    ("p99_ns", "p99"),
    ("p99_9_ns", "p99.9"),
    ("p99_99_ns", "p99.99"),
    ("max_ns", "max"),
];

/// The recorded runs, those of the smallest books first.
pub(crate) fn results() -> Result<Vec<Value>, String> {
    let directory = Record::directory();
    let entries = std::fs::read_dir(&directory);
    let entries = entries.map_err(|error| crate::failed(&directory, error))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("order_book") && name.ends_with(".json"))
        })
        .collect();
    paths.sort();
    let mut results = Vec::new();
    for path in paths {
        results.extend(crate::json(&path)?);
    }
    results.sort_by_key(live);
    Ok(results)
}

/// Orders live at the end, of all symbols.
fn live(result: &Value) -> u64 {
    result["stores"][0]["live_orders_at_end"]
        .as_u64()
        .unwrap_or(0)
}

/// The name of a variant, as the order book prints it: its store, then what differs from
/// the default. Older records have stores only.
pub(crate) fn name(store: &Value) -> String {
    let mut name = store["store"].as_str().unwrap_or("?").to_owned();
    for (field, default) in [("pages", "default"), ("prefetch", "off")] {
        let value = store[field].as_str().unwrap_or(default);
        if value != default {
            name = format!("{name} {value}");
        }
    }
    name
}

/// The generated file: a table of each run.
pub(crate) fn file(results: &[Value]) -> (&'static str, String) {
    let head = full::head("order book", "`benches/record/order_book-*.json`");
    let tables = results.iter().map(|result| {
        format!(
            "## {} live orders, {} rounds\n\n{}\n\n{}{}\n",
            table::thousands(live(result) as usize),
            result["rounds"],
            caption(result),
            table(result),
            memory(result)
        )
    });
    let tables: Vec<String> = tables.collect();
    ("order_book", format!("{head}\n\n{}", tables.join("\n")))
}

/// Of the book with the most rounds, the largest of these: on default pages and without
/// look-ahead.
pub(crate) fn in_short(results: &[Value]) -> String {
    let Some(result) = shown(results) else {
        return "No order book was recorded.".to_owned();
    };
    format!(
        "{} live orders, {} rounds; [all tables](benches/record/tables/order_book.md). {}\n\n{}",
        table::thousands(live(result) as usize),
        result["rounds"],
        caption(result),
        table(result)
    )
}

/// The run whose table is in BENCHMARKS.md.
fn shown(results: &[Value]) -> Option<&Value> {
    let plain = |result: &&Value| {
        let mut stores = variants(result).iter();
        stores.all(|store| store["store"] == *name(store))
    };
    let most = |result: &&Value| (result["rounds"].as_u64(), live(result));
    results.iter().filter(plain).max_by_key(most)
}

/// What the cells of a table are.
fn caption(result: &Value) -> String {
    format!(
        "Each round divided by that of `slab`: median (lowest–highest); clock {} ns.",
        result["clock_ns"]
    )
}

/// The variants of a run.
fn variants(result: &Value) -> &[Value] {
    result["stores"].as_array().map_or(&[], Vec::as_slice)
}

/// What memory the stores with other pages have obtained, if there are any.
fn memory(result: &Value) -> String {
    let mut lines = String::new();
    let mut shown = Vec::new();
    for store in variants(result) {
        // The memory does not depend on the look-ahead.
        let kind = (&store["store"], &store["pages"]);
        if store["pages"].as_str().unwrap_or("default") == "default" || shown.contains(&kind) {
            continue;
        }
        shown.push(kind);
        let memory = &store["memory"];
        lines += &format!(
            "\n* `{} {}`: orders: {}; index and levels: {}",
            store["store"].as_str().unwrap_or("?"),
            store["pages"].as_str().unwrap_or("?"),
            memory["store"].as_str().unwrap_or("the global allocator's"),
            memory["index"].as_str().unwrap_or("?")
        );
    }
    if lines.is_empty() {
        return lines;
    }
    format!("\n\nMemory at the end of a pass:\n{lines}")
}

fn table(result: &Value) -> String {
    let stores = variants(result);
    let slab = stores.iter().find(|store| name(store) == "slab");
    let of = |store: &Value| {
        let cells = FIGURES.map(|(figure, _)| match slab {
            Some(slab) if name(store) != "slab" => ratio(store, slab, figure),
            _ => match figure {
                "messages_per_second" => integer(store, figure),
                _ => format!("{} ns", integer(store, figure)),
            },
        });
        line(format!("`{}`", name(store)), cells)
    };
    let head = line("", FIGURES.map(|(_, name)| name));
    table::markdown(head, stores.iter().map(of)).unwrap_or_default()
}

/// The figures of which ours take more than a tenth longer than `slab`, in the run whose table is
/// in BENCHMARKS.md: a line for each store that has such figures.
pub(crate) fn slower(results: &[Value]) -> Vec<String> {
    let Some(result) = shown(results) else {
        return Vec::new();
    };
    let stores = variants(result);
    let Some(slab) = stores.iter().find(|store| name(store) == "slab") else {
        return Vec::new();
    };
    let ours = stores
        .iter()
        .filter(|store| ["keys", "bounded", "growable"].contains(&&*name(store)));
    let line = |store: &Value| {
        let longer = |(figure, title): (&str, &str)| {
            let ratio = median_ratio(store, slab, figure)?;
            let time = if figure == "messages_per_second" {
                1.0 / ratio
            } else {
                ratio
            };
            (time > 1.1).then(|| match figure {
                "messages_per_second" => format!("time of all messages {time:.2}"),
                _ => format!("{title} {time:.2}"),
            })
        };
        let figures: Vec<String> = FIGURES.into_iter().filter_map(longer).collect();
        (!figures.is_empty()).then(|| {
            format!(
                "`{}` against `slab`, the book of a feed, one message: {}.",
                name(store),
                figures.join("; ")
            )
        })
    };
    ours.filter_map(line).collect()
}

fn integer(store: &Value, figure: &str) -> String {
    table::thousands(store[figure].as_u64().unwrap_or(0) as usize)
}

/// The ratios of a figure, round by round, the lowest first.
fn ratios(store: &Value, slab: &Value, figure: &str) -> Vec<f64> {
    let rounds = |store: &Value| -> Vec<f64> {
        let rounds = store["of_rounds"].as_array();
        rounds.map_or_else(Vec::new, |rounds| {
            rounds.iter().filter_map(|it| it[figure].as_f64()).collect()
        })
    };
    let mut ratios: Vec<f64> = (rounds(store).iter().zip(rounds(slab)))
        .map(|(one, slab)| one / slab)
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    ratios
}

fn median_ratio(store: &Value, slab: &Value, figure: &str) -> Option<f64> {
    let ratios = ratios(store, slab, figure);
    ratios.get(ratios.len() / 2).copied()
}

/// The ratios of a figure: median, lowest, highest.
fn ratio(store: &Value, slab: &Value, figure: &str) -> String {
    let ratios = ratios(store, slab, figure);
    match (ratios.get(ratios.len() / 2), ratios.first(), ratios.last()) {
        (Some(median), Some(lowest), Some(highest)) => {
            format!("{median:.2} ({lowest:.2}–{highest:.2})")
        }
        _ => table::NOTHING.to_owned(),
    }
}
