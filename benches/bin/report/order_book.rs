//! The tables of the example order book: its own output, from `--json`.

use std::path::PathBuf;

use flatslab_benches::record::Record;
use flatslab_benches::table;
use serde_json::Value;

/// The figures of a store, as the order book names them.
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
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", directory.display());
    let entries = std::fs::read_dir(&directory).map_err(|error| failed(&error))?;
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
        let text = std::fs::read_to_string(&path).map_err(|error| failed(&error))?;
        results.push(serde_json::from_str(&text).map_err(|error| failed(&error))?);
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

/// A table of each run: the variants divided by `slab`, each round by itself.
pub(crate) fn tables(results: &[Value]) -> String {
    let tables = results.iter().map(|result| {
        format!(
            "{} live orders, {} rounds, clock {} ns; each round divided by that of `slab`: \
             median (lowest–highest).\n\n{}{}",
            table::thousands(live(result) as usize),
            result["rounds"],
            result["clock_ns"],
            table(result),
            memory(result)
        )
    });
    tables.collect::<Vec<_>>().join("\n\n")
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
    let mut head = vec![String::new()];
    head.extend(FIGURES.map(|(_, name)| name.to_owned()));
    let row = |store: &Value| {
        let mut row = vec![format!("`{}`", name(store))];
        row.extend(FIGURES.map(|(figure, _)| match slab {
            Some(slab) if name(store) != "slab" => ratio(store, slab, figure),
            _ => match figure {
                "messages_per_second" => integer(store, figure),
                _ => format!("{} ns", integer(store, figure)),
            },
        }));
        row
    };
    table::markdown(&head, &stores.iter().map(row).collect::<Vec<_>>())
}

fn integer(store: &Value, figure: &str) -> String {
    table::thousands(store[figure].as_u64().unwrap_or(0) as usize)
}

/// The ratios of a figure, round by round: median, lowest, highest.
fn ratio(store: &Value, slab: &Value, figure: &str) -> String {
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
    match (ratios.get(ratios.len() / 2), ratios.first(), ratios.last()) {
        (Some(median), Some(lowest), Some(highest)) => {
            format!("{median:.2} ({lowest:.2}–{highest:.2})")
        }
        _ => table::NOTHING.to_owned(),
    }
}
