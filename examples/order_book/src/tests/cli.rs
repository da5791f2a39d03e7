//! The program, run in process: exit codes, messages, output.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use clap::Parser;
use serde_json::Value;

use crate::cli::Cli;
use crate::run::{self, BAD_INPUT, FAILED, SUCCESS};

const ROW: &str = "34200.5,1,7,18,5853300,1";

fn args(args: &[&str]) -> Vec<OsString> {
    std::iter::once(&"order_book")
        .chain(args)
        .map(OsString::from)
        .collect()
}

/// Runs the program; returns its exit code, standard output and error.
pub(super) fn run(arguments: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = run::run(args(arguments), &mut out, &mut err, false);
    (
        code,
        String::from_utf8(out).unwrap(),
        String::from_utf8(err).unwrap(),
    )
}

/// A file that is gone after the test.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new(text: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Relaxed: the number only has to be new.
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("order_book-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Scratch(path)
    }

    pub(super) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn help_names_every_flag() {
    let (code, out, err) = run(&["--help"]);
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    for flag in [
        "--lobster",
        "--symbols",
        "--bbo",
        "--store",
        "--messages",
        "--seed",
        "--rounds",
        "--json",
    ] {
        assert!(out.contains(flag), "{flag}");
    }
}

#[test]
fn bad_arguments_are_named_and_exit_with_2() {
    let cases: [(&[&str], &str); 14] = [
        (&["--symbols", "0"], "--symbols"),
        (&["--symbols", "-1"], "-1"),
        (&["--symbols", "many"], "--symbols"),
        (&["--symbols", "100001"], "--symbols"),
        (&["--messages", "0"], "--messages"),
        (&["--messages", "100000001"], "--messages"),
        (&["--messages", "99999999999999999999"], "--messages"),
        (&["--messages", "1.5"], "--messages"),
        (&["--rounds", "0"], "--rounds"),
        (&["--seed", "x"], "--seed"),
        (&["--seed", "1", "--lobster", "f"], "--lobster"),
        (&["--store", "heap"], "--store"),
        (&["--wat"], "--wat"),
        (&["--bbo"], "--bbo"),
    ];
    for (arguments, name) in cases {
        let (code, out, err) = run(arguments);
        assert_eq!((code, out.as_str()), (BAD_INPUT, ""), "{arguments:?}");
        assert!(err.contains(name), "{arguments:?}: {err}");
    }
}

#[test]
fn an_unreadable_file_is_named_and_exits_with_2() {
    let directory = std::env::temp_dir();
    let missing = directory.join("no such file.csv");
    for path in [missing.to_str().unwrap(), directory.to_str().unwrap()] {
        let (code, out, err) = run(&["--lobster", path]);
        assert_eq!((code, out.as_str()), (BAD_INPUT, ""));
        assert!(err.starts_with(&format!("error: {path}: ")), "{err}");
    }
}

#[test]
fn a_malformed_row_is_placed_and_exits_with_2() {
    let file = Scratch::new(&format!("{ROW}\n34200.6,1,8,none,5853300,1\n"));
    let (code, out, err) = run(&["--lobster", file.path()]);
    assert_eq!((code, out.as_str()), (BAD_INPUT, ""));
    let wanted = format!(
        "error: {}:2:13: size \"none\" is not a whole number\n",
        file.path()
    );
    assert_eq!(err, wanted);
}

#[test]
fn an_empty_file_exits_with_2() {
    let file = Scratch::new("");
    let (code, _, err) = run(&["--lobster", file.path()]);
    assert_eq!(code, BAD_INPUT);
    assert!(err.contains(":1:1: the file holds no messages"), "{err}");
}

#[test]
fn json_is_one_object_with_every_figure() {
    let (code, out, err) = run(&[
        "--json",
        "--messages",
        "2000",
        "--symbols",
        "3",
        "--rounds",
        "2",
        "--seed",
        "9",
    ]);
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    let report: Value = serde_json::from_str(&out).unwrap();
    let flow = &report["flow"];
    assert_eq!(
        (&flow["source"], &flow["seed"]),
        (&"generated".into(), &9.into())
    );
    assert_eq!((&flow["symbols"], &flow["file"]), (&3.into(), &Value::Null));
    assert_eq!(flow["messages_replayed"], 6_000);
    let per_symbol = &flow["per_symbol"];
    assert_eq!(per_symbol["messages"], 2_000);
    let kinds = per_symbol["kinds"].as_object().unwrap();
    assert_eq!(kinds.len(), 7);
    assert_eq!(
        kinds
            .values()
            .map(|count| count.as_u64().unwrap())
            .sum::<u64>(),
        2_000
    );
    for name in ["unknown_ids", "duplicate_ids", "excess_reductions"] {
        assert_eq!(per_symbol["anomalies"][name], 0);
    }
    for measure in ["life_in_messages", "distance_in_cents", "size_in_shares"] {
        for quantile in ["p10", "p50", "p90", "p99"] {
            assert!(
                per_symbol[measure][quantile].is_i64(),
                "{measure} {quantile}"
            );
        }
    }
    assert_eq!(
        (&report["rounds"], &report["same_books"]),
        (&2.into(), &true.into())
    );
    assert!(report["clock_ns"].is_u64());

    let stores = report["stores"].as_array().unwrap();
    let names: Vec<_> = stores
        .iter()
        .map(|store| store["store"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["bounded", "growable", "slab", "box"]);
    for store in stores {
        for figure in [
            "messages_per_second",
            "p50_ns",
            "p99_ns",
            "p99_9_ns",
            "p99_99_ns",
            "max_ns",
            "bytes_held",
        ] {
            assert!(store[figure].as_u64().unwrap() > 0, "{figure}");
        }
        let peak = per_symbol["peak_live_orders"].as_u64().unwrap();
        assert_eq!(store["peak_live_orders"], 3 * peak);
        assert_eq!(store["book_digest"], stores[0]["book_digest"]);
        let live = per_symbol["live_orders_at_end"].as_u64().unwrap();
        assert_eq!(store["live_orders_at_end"], 3 * live);
    }
}

#[test]
fn the_table_lines_up_and_says_that_the_books_are_the_same() {
    let (code, out, _) = run(&["--messages", "1000", "--rounds", "1"]);
    assert_eq!(code, SUCCESS);
    let table: Vec<_> = out
        .lines()
        .skip_while(|line| !line.starts_with("store"))
        .take(5)
        .collect();
    assert_eq!(table.len(), 5, "{out}");
    assert!(
        table.iter().all(|line| line.len() == table[0].len()),
        "{out}"
    );
    assert!(out.contains("All 4 stores end in the same books"), "{out}");
}

#[test]
fn each_store_runs_alone() {
    for store in ["bounded", "growable", "slab", "box"] {
        let (code, out, err) = run(&[
            "--store",
            store,
            "--messages",
            "500",
            "--rounds",
            "1",
            "--json",
        ]);
        assert_eq!((code, err.as_str()), (SUCCESS, ""));
        let report: Value = serde_json::from_str(&out).unwrap();
        let stores = report["stores"].as_array().unwrap();
        assert_eq!((stores.len(), &stores[0]["store"]), (1, &store.into()));
    }
}

#[test]
fn anomalies_are_counted_and_do_not_stop_the_replay() {
    let rows = [
        "1,1,7,18,5853300,1",
        "1,1,7,20,5853400,1",  // live already
        "1,4,9,18,5853300,1",  // unknown
        "1,5,0,10,5853300,1",  // hidden
        "1,7,0,0,-1,-1",       // a halt
        "1,2,7,100,5853300,1", // more than there is
        "1,1,7,5,5853500,-1",  // the id is free again
    ];
    let file = Scratch::new(&(rows.join("\r\n") + "\r\n"));
    let tops = Scratch::new("");
    let (code, out, err) = run(&[
        "--lobster",
        file.path(),
        "--bbo",
        tops.path(),
        "--symbols",
        "2",
        "--json",
    ]);
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["flow"]["source"], "lobster");
    assert_eq!(report["flow"]["file"], file.path());
    assert_eq!(report["flow"]["seed"], Value::Null);
    let flow = &report["flow"]["per_symbol"];
    assert_eq!(flow["anomalies"]["duplicate_ids"], 1);
    assert_eq!(flow["anomalies"]["unknown_ids"], 1);
    assert_eq!(flow["anomalies"]["excess_reductions"], 1);
    assert_eq!(flow["kinds"]["hidden_executions"], 1);
    assert_eq!(flow["kinds"]["halts"], 1);
    assert_eq!(flow["live_orders_at_end"], 1);
    let wanted = "0,0,5853300,18\n".repeat(5) + "0,0,0,0\n5853500,5,0,0\n";
    assert_eq!(std::fs::read_to_string(tops.path()).unwrap(), wanted);
}

#[test]
fn a_file_without_orders_replays() {
    let file = Scratch::new("1,5,0,10,5853300,1\n");
    let (code, _, err) = run(&["--lobster", file.path()]);
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
}

#[test]
fn messages_limits_the_rows_read() {
    let file = Scratch::new(&format!("{ROW}\nnonsense\n"));
    let (code, ..) = run(&["--lobster", file.path(), "--messages", "1"]);
    assert_eq!(code, SUCCESS);
}

#[test]
fn an_unwritable_file_of_tops_is_named_and_exits_with_2() {
    let directory = std::env::temp_dir();
    let path = directory.to_str().unwrap();
    let (code, out, err) = run(&["--messages", "10", "--bbo", path]);
    assert_eq!((code, out.as_str()), (BAD_INPUT, ""));
    assert!(err.starts_with(&format!("error: {path}: ")), "{err}");
}

#[test]
fn the_file_of_tops_never_replaces_the_input() {
    let file = Scratch::new(ROW);
    let (code, _, err) = run(&["--lobster", file.path(), "--bbo", file.path()]);
    assert_eq!(code, BAD_INPUT);
    assert!(err.contains("would overwrite the input"), "{err}");
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), ROW);
}

#[test]
fn a_bounded_store_too_large_to_build_exits_with_2() {
    let rows: String = (0..20_000)
        .map(|id| format!("1,1,{id},1,{},1\n", id + 1))
        .collect();
    let file = Scratch::new(&rows);
    let (code, out, err) = run(&[
        "--lobster",
        file.path(),
        "--symbols",
        "100000",
        "--store",
        "bounded",
    ]);
    assert_eq!((code, out.as_str()), (BAD_INPUT, ""));
    assert!(
        err.contains("no bounded store for 2000000000 orders"),
        "{err}"
    );
}

/// A writer that fails.
struct Failing(io::ErrorKind);

impl Write for Failing {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(self.0.into())
    }
}

#[test]
fn output_that_cannot_be_written_does_not_panic() {
    let commands: [&[&str]; 3] = [
        &["--help"],
        &["--messages", "10", "--rounds", "1"],
        &["--messages", "10", "--rounds", "1", "--json"],
    ];
    for command in commands {
        let mut err = Vec::new();
        let mut out = Failing(io::ErrorKind::BrokenPipe);
        assert_eq!(
            run::run(args(command), &mut out, &mut err, false),
            SUCCESS,
            "{command:?}"
        );
        assert!(err.is_empty());
        let mut out = Failing(io::ErrorKind::StorageFull);
        assert_eq!(
            run::run(args(command), &mut out, &mut err, false),
            FAILED,
            "{command:?}"
        );
        assert!(err.starts_with(b"error: standard output: "));
    }
    let mut nowhere = Failing(io::ErrorKind::BrokenPipe);
    assert_eq!(
        run::run(args(&["--wat"]), &mut Vec::new(), &mut nowhere, false),
        BAD_INPUT
    );
}

#[test]
fn books_that_differ_exit_with_1() {
    let cli = Cli::try_parse_from(args(&["--messages", "100", "--rounds", "1"])).unwrap();
    let Ok(mut report) = run::execute(&cli, false) else {
        panic!("the run failed")
    };
    report.same_books = false;
    for json in [false, true] {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        assert_eq!(run::finish(&report, json, &mut out, &mut err), FAILED);
        assert_eq!(err, b"error: the stores end in different books\n");
        assert!(!out.is_empty());
    }
}
