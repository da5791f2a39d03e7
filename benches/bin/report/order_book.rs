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

/// A table of each run: the stores divided by `slab`, each round by itself.
pub(crate) fn tables(results: &[Value]) -> String {
    let tables = results.iter().map(|result| {
        format!(
            "{} live orders, {} rounds, clock {} ns; each round divided by that of `slab`: \
             median (lowest–highest).\n\n{}",
            table::thousands(live(result) as usize),
            result["rounds"],
            result["clock_ns"],
            table(result)
        )
    });
    tables.collect::<Vec<_>>().join("\n\n")
}

fn table(result: &Value) -> String {
    let stores: &[Value] = result["stores"].as_array().map_or(&[], Vec::as_slice);
    let slab = stores.iter().find(|store| store["store"] == "slab");
    let mut head = vec![String::new()];
    head.extend(FIGURES.map(|(_, name)| name.to_owned()));
    let row = |store: &Value| {
        let mut row = vec![format!("`{}`", store["store"].as_str().unwrap_or("?"))];
        row.extend(FIGURES.map(|(figure, _)| match slab {
            Some(slab) if slab["store"] != store["store"] => ratio(store, slab, figure),
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
