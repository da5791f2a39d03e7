//! The tests of the program: its exit codes, messages and output.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use order_flow::flow::Flow;
use order_flow::lobster;
use order_flow::naive::NaiveBook;
use serde_json::Value;

const SUCCESS: i32 = 0;
const FAILED: i32 = 1;
const BAD_INPUT: i32 = 2;

/// A small market.
const SMALL: &str = "--symbols 4 --commands 2000 --sessions 20 --rounds 3";

/// Runs the program; returns its exit code, standard output and standard error.
fn run(line: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_order_book"));
    command.args(line.split_whitespace()).stdin(Stdio::null());
    let output = command.output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

const DEFAULT: [&str; 7] = [
    "slab",
    "bounded-slab",
    "key-slab",
    "by-hand",
    "slab-number",
    "slotmap",
    "slab-hashmap",
];

#[test]
fn json_is_one_object_and_the_same_seed_has_the_same_digest() {
    let (code, out, err) = run(&format!("{SMALL} --json"));
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["source"], "generated");
    assert_eq!(report["running"], true);
    assert_eq!(
        (&report["symbols"], &report["rounds"]),
        (&4.into(), &3.into())
    );
    let stores = report["stores"].as_array().unwrap();
    let names = stores.iter().map(|store| store["store"].as_str().unwrap());
    assert!(names.eq(DEFAULT));
    for store in stores {
        for figure in [
            "commands_per_second",
            "p50_ns",
            "p99_ns",
            "p99_9_ns",
            "longest_ns",
        ] {
            assert!(store[figure].as_u64().unwrap() > 0, "{figure}");
        }
        assert!(store["bytes_per_order"].as_u64().unwrap() >= 48);
        let rounds = store["from_empty"].as_array().unwrap();
        assert_eq!(rounds.len(), 3);
        for round in rounds {
            assert!(round["commands_per_second"].as_u64().unwrap() > 0);
            assert!(round["closed"]["longest_ns"].as_u64().unwrap() > 0);
            if cfg!(target_os = "linux") {
                for event in [
                    "involuntary_switches",
                    "off_core_ns",
                    "major_faults",
                    "stolen_ms",
                ] {
                    assert!(round["interruptions"][event].is_u64(), "{event}");
                }
            }
        }
    }
    assert!(report["says"].as_array().unwrap().len() >= 2);

    let (_, same, _) = run(&format!("{SMALL} --fresh --json"));
    let same: Value = serde_json::from_str(&same).unwrap();
    assert_eq!(same["running"], false);
    assert_eq!(same["digest"], report["digest"]);
}

#[test]
fn what_is_printed_has_at_most_30_lines_of_at_most_100_columns_and_the_table_lines_up() {
    let (code, out, err) = run(SMALL);
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    assert!(out.lines().count() <= 30, "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let rows = out.lines().skip_while(|line| !line.starts_with("store "));
    let widths: Vec<_> = rows.take(8).map(|row| row.chars().count()).collect();
    assert_eq!(widths, [widths[0]; 8], "{out}");
    for text in [
        "Each process first allocated, wrote and freed almost 32 MiB",
        "All 7 stores made the same trades",
        "Growth: ",
        "Throughput, in commands a second: ",
        "The map: ",
        "figures above a millisecond",
    ] {
        assert!(out.contains(text), "{text}: {out}");
    }
}

#[test]
fn the_explanation_names_each_column_and_store_and_says_what_is_not_shown() {
    let (code, out, err) = run("--explain");
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    for column in ["commands/s", "p50, p99", "longest", "rounds", "per order"] {
        assert!(out.lines().any(|line| line.starts_with(column)), "{column}");
    }
    for store in DEFAULT {
        assert!(out.contains(&format!("(--store {store})")), "{store}");
    }
    assert!(out.contains("What this does not show:"), "{out}");
}

#[test]
fn a_process_that_is_sent_something_else_says_so_and_exits_with_1() {
    let (code, out, err) = run("--child slab");
    assert_eq!((code, out.as_str()), (FAILED, ""));
    assert!(err.starts_with("error: "), "{err}");
}

#[test]
fn every_store_is_checked_against_the_naive_engine() {
    let (code, out, _) =
        run("--check --symbols 2 --commands 500 --store key-slab,bounded-key-slab");
    assert_eq!(code, SUCCESS);
    assert_eq!(out.lines().count(), 2);
    let (code, _, err) = run("--check");
    assert_eq!(code, BAD_INPUT);
    assert!(err.contains("the naive engine would go through "), "{err}");
}

#[test]
fn a_restart_is_compared() {
    let (code, out, err) = run("--restart --symbols 5 --commands 1000");
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    assert!(
        out.contains("the same ids, trades and refusals for the 500 commands after"),
        "{out}"
    );
}

#[test]
fn what_does_not_fit_names_both_numbers_and_exits_with_2_at_once() {
    let begun = Instant::now();
    let (code, out, err) = run("--symbols 60000 --resting 10000000");
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!((code, out.as_str()), (BAD_INPUT, ""));
    assert!(err.starts_with("error: 600027000000 orders and "), "{err}");
    assert!(
        err.contains("GiB of memory, and ") && err.contains(" are available"),
        "{err}"
    );
}

#[test]
fn bad_arguments_are_named_and_exit_with_2() {
    for (line, name) in [
        ("--symbols 0", "--symbols"),
        ("--symbols 65536", "--symbols"),
        ("--late 51", "--late"),
        ("--rounds 0", "--rounds"),
        ("--commands 0", "--commands"),
        ("--sessions 0", "--sessions"),
        ("--store heap", "--store"),
        ("--lobster . --resting 1", "--lobster"),
        ("--check --restart", "--check"),
        ("--check --json", "--check"),
        ("--explain --json", "--explain"),
        ("--bbo file", "--bbo"),
        ("--lobster . --bbo file --check", "--check"),
        ("exchequer", "exchequer"),
    ] {
        let (code, out, err) = run(line);
        assert_eq!((code, out.as_str()), (BAD_INPUT, ""), "{line}");
        assert!(err.contains(name), "{line}: {err}");
    }
}

#[test]
fn a_directory_without_messages_is_named_and_exits_with_2() {
    let (code, out, err) = run("--lobster src");
    assert_eq!((code, out.as_str()), (BAD_INPUT, ""));
    assert!(err.starts_with("error: src: no file has the name"), "{err}");
    let (code, _, err) = run("--lobster missing");
    assert_eq!(code, BAD_INPUT);
    assert!(err.starts_with("error: missing: "), "{err}");
}

#[test]
fn recorded_messages_are_played_by_every_symbol() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorded");
    std::fs::create_dir_all(&directory).unwrap();
    let rows = [
        "1,1,7,18,5853300,1",
        "1,1,8,20,5853400,-1",
        "1,5,0,10,5853300,1", // hidden: no command
        "1,4,8,5,5853400,-1",
        "1,2,7,10,5853300,1",
        "1,3,9,1,5853300,1", // unknown: no command
        "1,3,7,8,5853300,1",
        "1,4,8,15,5853400,-1",
    ];
    std::fs::write(directory.join("X_message_1.csv"), rows.join("\n")).unwrap();
    let line = "--symbols 3 --late 0 --rounds 1 --json --lobster";
    let (code, out, err) = run(&format!("{line} {}", directory.display()));
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&report["source"], &report["trades"]),
        (&"lobster".into(), &6.into())
    );
    assert_eq!(
        report["peak_live_orders"].as_u64().map(|peak| peak <= 6),
        Some(true)
    );
}

/// Messages in a file of their own, the hour if there is one, and the tops that they lead to.
fn messages_and_tops(directory: &str) -> (PathBuf, String) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(directory);
    std::fs::create_dir_all(&directory).unwrap();
    let messages = lobster::hour().unwrap_or_else(|| Flow::new(1).take(10_000).collect());
    let file = directory.join("X_message_1.csv");
    std::fs::write(&file, lobster::rows(&messages)).unwrap();
    let mut book = NaiveBook::default();
    let tops = messages.iter().map(|message| {
        book.apply(message);
        format!("{}\n", book.top())
    });
    (file, tops.collect())
}

#[test]
fn the_file_of_tops_has_one_for_each_message() {
    let (file, wanted) = messages_and_tops("tops");
    let bbo = file.with_file_name("tops.csv");
    let line = "--symbols 1 --rounds 1 --store slotmap,key-slab --json --lobster";
    for input in [&*file, file.parent().unwrap()] {
        let (code, out, err) = run(&format!(
            "{line} {} --bbo {}",
            input.display(),
            bbo.display()
        ));
        assert_eq!((code, err.as_str()), (SUCCESS, ""));
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["source"], "lobster");
        assert!(std::fs::read_to_string(&bbo).unwrap() == wanted);
        std::fs::remove_file(&bbo).unwrap();
    }
}

#[test]
fn the_file_of_tops_never_replaces_the_input_and_is_named_if_it_cannot_be_written() {
    let (file, _) = messages_and_tops("input");
    let directory = file.parent().unwrap().display();
    let before = std::fs::read(&file).unwrap();
    let (code, out, err) = run(&format!(
        "--lobster {directory} --bbo {directory}/../input/X_message_1.csv"
    ));
    assert_eq!((code, out.as_str()), (BAD_INPUT, ""));
    assert!(
        err.ends_with("X_message_1.csv: would overwrite the input\n"),
        "{err}"
    );
    assert!(std::fs::read(&file).unwrap() == before);

    let (code, out, err) = run(&format!("--lobster {directory} --bbo {directory}"));
    assert_eq!((code, out.as_str()), (FAILED, ""));
    assert!(err.starts_with(&format!("error: {directory}: ")), "{err}");
    if Path::new("/dev/full").exists() {
        let (code, out, err) = run(&format!("--lobster {directory} --bbo /dev/full"));
        assert_eq!((code, out.as_str()), (FAILED, ""));
        assert!(
            err.starts_with("error: /dev/full: No space left on device"),
            "{err}"
        );
    }
}
