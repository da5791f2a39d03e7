//! The tables of the matching engine: what `engine_record --full --record` has written, and
//! `engine_mimalloc --record` and `engine_jemalloc --record` beside it. They name no machine.

use flatslab_benches::record::Record;
use flatslab_benches::table::{self, NOTHING, line, thousands};
use serde_json::Value;

use crate::full;

/// Latencies of the closed loop: the field, the name, and whether the highest of the rounds
/// counts instead of the median.
const LATENCIES: [(&str, &str, bool); 5] = [
    ("p50_ns", "p50", false),
    ("p99_ns", "p99", false),
    ("p99_9_ns", "p99.9", false),
    ("p99_99_ns", "p99.99", false),
    ("longest_ns", "longest", true),
];

const STARTS: [(&str, &str); 2] = [
    ("from_empty", "From empty, growth is part of it"),
    ("reserved", "Reserved and touched, full books"),
];

/// The stores of the README's table and of the picture: the argument, and the name in the picture.
pub(crate) const SHORT: [(&str, &str); 7] = [
    ("slab", "Slab"),
    ("bounded-slab", "BoundedSlab"),
    ("key-slab", "KeySlab, grow_in_place"),
    ("by-hand", "by hand"),
    ("slab-number", "slab"),
    ("slotmap", "slotmap"),
    ("slab-hashmap", "slab + HashMap"),
];

/// Of [`SHORT`], those of this crate come first.
pub(crate) const OURS: usize = 3;

/// Programs of which there is a record: the file, and what they are.
const PROGRAMS: [(&str, &str); 4] = [
    ("engine-fresh.json", "glibc, just started"),
    ("engine.json", "glibc, running"),
    ("engine-mimalloc.json", "mimalloc"),
    ("engine-jemalloc.json", "jemalloc"),
];

/// What was recorded of the engine.
pub(crate) struct Engine {
    /// In a program that has been running, on the system's allocator.
    result: Value,
    /// Each program of which there is a record, by its name.
    pub(crate) programs: Vec<(&'static str, Value)>,
}

/// The record, if there is one.
pub(crate) fn result() -> Result<Option<Engine>, String> {
    let read = |file| crate::json(&Record::directory().join(file));
    let Some(result) = read("engine.json")? else {
        return Ok(None);
    };
    let mut programs = Vec::new();
    for (file, name) in PROGRAMS {
        programs.extend(read(file)?.map(|result| (name, result)));
    }
    Ok(Some(Engine { result, programs }))
}

/// The generated file: all tables.
pub(crate) fn file(engine: &Engine) -> (&'static str, String) {
    let result = &engine.result;
    let head = full::head("engine", "`benches/record/engine.json`");
    let tables = STARTS.map(|(start, title)| {
        format!(
            "## {title}\n\n{}\n\n### At a fixed rate\n\n{}\n",
            table(result, start),
            loaded(result, start)
        )
    });
    let text = format!(
        "{head}\n\n{}\n\n{}\n{}\n{}\n\n## The longest command, by allocator\n\n{}\n\n{}",
        caption(result),
        tables.join("\n"),
        late(result),
        says(result),
        by_program(engine),
        says_of_programs(engine)
    );
    ("engine", text)
}

/// For BENCHMARKS.md: both tables of the closed loop and what they say, then the longest command by
/// allocator and what that says.
pub(crate) fn in_short(engine: &Engine) -> String {
    let result = &engine.result;
    let tables = STARTS.map(|(start, title)| format!("{title}:\n\n{}", table(result, start)));
    format!(
        "{} [All tables](benches/record/tables/engine.md).\n\n{}\n\n{}\n\nThe longest command from \
         empty, by allocator:\n\n{}\n\n{}",
        caption(result),
        tables.join("\n\n"),
        says(result),
        by_program(engine),
        says_of_programs(engine)
    )
}

/// The sentences that the program has printed of its own figures: no other program's.
fn says(result: &Value) -> String {
    let said = array(&result["says"]).iter().filter_map(Value::as_str);
    said.collect::<Vec<_>>().join(" ")
}

fn caption(result: &Value) -> String {
    let number = |field: &str| thousands(result[field].as_u64().unwrap_or(0) as usize);
    format!(
        "{} live orders, {} symbols, {} % latecomers, {} rounds; medians, and the longest command \
         of all rounds that the machine did not disturb, in processes that have freed a block of \
         almost 32 MiB.",
        number("peak_live_orders"),
        number("symbols"),
        number("late_per_cent"),
        number("rounds")
    )
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn stores(result: &Value) -> &[Value] {
    array(&result["stores"])
}

/// The store of this kind.
fn stored<'a>(result: &'a Value, kind: &str) -> Option<&'a Value> {
    stores(result).iter().find(|it| it["store"] == *kind)
}

fn name(store: &Value) -> String {
    format!("`{}`", store["name"].as_str().unwrap_or("?"))
}

/// The rounds that count: those that the machine did not disturb, or all if it disturbed all.
fn counted(rounds: &Value) -> Vec<&Value> {
    let is_undisturbed = |round: &&Value| round["disturbed"] == false;
    let undisturbed: Vec<_> = array(rounds).iter().filter(is_undisturbed).collect();
    match undisturbed.is_empty() {
        true => array(rounds).iter().collect(),
        false => undisturbed,
    }
}

/// The median, or the highest.
fn figure(mut values: Vec<u64>, is_highest: bool) -> Option<u64> {
    values.sort_unstable();
    let at = match is_highest {
        true => values.len().checked_sub(1)?,
        false => values.len() / 2,
    };
    values.get(at).copied()
}

/// The longest command of each round that counts, in nanoseconds.
pub(crate) fn longest(result: &Value, store: &str) -> Vec<u64> {
    let store = stored(result, store);
    let rounds = store.map_or_else(Vec::new, |store| counted(&store["from_empty"]));
    let longest = rounds.iter().map(|it| it["closed"]["longest_ns"].as_u64());
    longest.flatten().collect()
}

fn cell(number: Option<u64>) -> String {
    number.map_or_else(|| NOTHING.to_owned(), |it| thousands(it as usize))
}

/// Cells of a pass: the field of its latencies of each round that counts.
fn latencies(store: &Value, start: &str, pass: &str) -> Vec<String> {
    let rounds = counted(&store[start]);
    let cells = LATENCIES.map(|(field, _, is_highest)| {
        let values = rounds
            .iter()
            .filter_map(|round| round[pass][field].as_u64());
        cell(figure(values.collect(), is_highest))
    });
    cells.to_vec()
}

/// A line for each store.
fn by_store(result: &Value, head: Vec<String>, cells: impl Fn(&Value) -> Vec<String>) -> String {
    let lines = stores(result)
        .iter()
        .map(|store| line(name(store), cells(store)));
    table::markdown(head, lines).unwrap_or_default()
}

fn table(result: &Value, start: &str) -> String {
    let mut head = line("store", ["commands/s"]);
    head.extend(LATENCIES.map(|(_, name, _)| format!("{name}, ns")));
    head.extend(["rounds", "bytes an order"].map(str::to_owned));
    by_store(result, head, |store| {
        let rounds = array(&store[start]);
        let rates = rounds
            .iter()
            .filter_map(|it| it["commands_per_second"].as_u64());
        let mut cells = vec![cell(figure(rates.collect(), false))];
        cells.extend(latencies(store, start, "closed"));
        let undisturbed = rounds.iter().filter(|it| it["disturbed"] == false);
        cells.push(format!("{} of {}", undisturbed.count(), rounds.len()));
        cells.push(store["bytes_per_order"].to_string());
        cells
    })
}

/// The open loops.
fn loaded(result: &Value, start: &str) -> String {
    let loads = [("open_50", "50 %"), ("open_80", "80 %")];
    let names = |load: &str| LATENCIES.map(|(_, name, _)| format!("{load}: {name}, ns"));
    let names = loads.iter().flat_map(|(_, load)| names(load));
    let head = line("of the slowest store's throughput", names);
    by_store(result, head, |store| {
        let loads = loads.iter();
        loads
            .flat_map(|(load, _)| latencies(store, start, load))
            .collect()
    })
}

/// The longest command from empty, by the program that it was measured in.
fn by_program(engine: &Engine) -> String {
    let head = line("store, µs", engine.programs.iter().map(|(name, _)| *name));
    by_store(&engine.result, head, |store| {
        let kind = store["store"].as_str().unwrap_or("?");
        let longest = |result| longest(result, kind).into_iter().max();
        let us = |result| cell(longest(result).map(|ns: u64| ns.div_ceil(1_000)));
        engine
            .programs
            .iter()
            .map(|(_, result)| us(result))
            .collect()
    })
}

/// What the longest commands say of all programs: the range of ours, that of the others, and where
/// one of the others is shorter than one of ours.
fn says_of_programs(engine: &Engine) -> String {
    let in_us = |us: u64| format!("{} µs", thousands(us as usize));
    let (mut ours, mut others, mut shorter) = (Vec::new(), Vec::new(), Vec::new());
    for (program, result) in &engine.programs {
        let [of_us, of_others] = [&SHORT[..OURS], &SHORT[OURS..]].map(|shown| {
            let highest = shown.iter().filter_map(|(kind, _)| {
                let longest = longest(result, kind).into_iter().max()?;
                Some((longest.div_ceil(1_000), name(stored(result, kind)?)))
            });
            highest.collect::<Vec<_>>()
        });
        if let Some((most, longest)) = of_us.iter().max() {
            let below = of_others.iter().filter(|it| it.0 < *most);
            let below: Vec<String> = below
                .map(|(us, name)| format!("{name} ({})", in_us(*us)))
                .collect();
            if !below.is_empty() {
                let (most, below) = (in_us(*most), below.join(" and "));
                shorter.push(format!(
                    " With {program}, {longest} ({most}) takes longer than {below}."
                ));
            }
        }
        ours.extend(of_us.into_iter().map(|it| it.0));
        others.extend(of_others.into_iter().map(|it| it.0));
    }
    let range = |all: &[u64]| {
        let (least, most) = (all.iter().min()?, all.iter().max()?);
        Some(format!(
            "{} to {}",
            thousands(*least as usize),
            in_us(*most)
        ))
    };
    let (Some(ours), Some(others)) = (range(&ours), range(&others)) else {
        return String::new();
    };
    format!(
        "Over all allocators the longest command takes {ours} in the stores of flatslab, and \
         {others} in the others.{}",
        shorter.concat()
    )
}

/// The figures of the closed loop of which ours take more than a tenth longer than `slab + number`:
/// a line for each store and start that has such figures.
pub(crate) fn slower(engine: &Engine) -> Vec<String> {
    const REFERENCE: &str = "slab-number";
    let stored = |kind: &str| stored(&engine.result, kind);
    let of = |kind: &str, start: &str| {
        let rounds = counted(&stored(kind)?[start]);
        Some(LATENCIES.map(|(field, title, is_highest)| {
            let values = rounds.iter().filter_map(|it| it["closed"][field].as_u64());
            (title, figure(values.collect(), is_highest))
        }))
    };
    let line = |kind: &str, (start, title): (&str, &str)| {
        let (ours, theirs) = (of(kind, start)?, of(REFERENCE, start)?);
        let longer = ours.into_iter().zip(theirs).filter_map(|(ours, theirs)| {
            let ratio = ours.1? as f64 / theirs.1? as f64;
            (ratio > 1.1).then(|| format!("{} {ratio:.2}", ours.0))
        });
        let longer: Vec<String> = longer.collect();
        if longer.is_empty() {
            return None;
        }
        let (ours, theirs, title) = (stored(kind)?, stored(REFERENCE)?, title.to_lowercase());
        let longer = longer.join("; ");
        Some(format!(
            "{} against {}, a matching engine, {title}: {longer}.",
            name(ours),
            name(theirs)
        ))
    };
    let kinds = SHORT[..OURS].iter().map(|(kind, _)| *kind);
    let pairs = kinds.flat_map(|kind| STARTS.map(|start| (kind, start)));
    pairs
        .filter_map(|(kind, start)| line(kind, start))
        .collect()
}

/// Commands a second with other shares of latecomers, reserved.
fn late(result: &Value) -> String {
    let others = |store: &Value| store["other_late"].as_array().cloned().unwrap_or_default();
    let Some(first) = stores(result).first() else {
        return String::new();
    };
    let share = |other: &Value| format!("{} %", other["per_cent"]);
    let head = line("commands/s", others(first).iter().map(share));
    let table = by_store(result, head, |store| {
        let rate = |other: &Value| {
            let rates = array(&other["commands_per_second"]).iter();
            cell(figure(rates.filter_map(Value::as_u64).collect(), false))
        };
        others(store).iter().map(rate).collect()
    });
    format!("## Other shares of latecomers, reserved\n\n{table}\n")
}
