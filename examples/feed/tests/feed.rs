//! Runs the replay of a feed and checks its exit codes, messages and output.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The exit codes that `--help` lists.
const SUCCESS: i32 = 0;
const FAILED: i32 = 1;
const BAD_INPUT: i32 = 2;

/// A valid row of a LOBSTER file.
const ROW: &str = "34200.5,1,7,18,5853300,1";

/// A command for the replay; `line` holds its arguments, separated by spaces.
fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_feed"));
    command.args(line.split_whitespace()).stdin(Stdio::null());
    command
}

/// Runs a command; returns its exit code, standard output and standard error.
fn output(mut command: Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn run(line: &str) -> (i32, String, String) {
    output(command(line))
}

/// Runs the program, which must succeed; returns the JSON object it prints.
fn json(run: impl Fn(&str) -> (i32, String, String), line: &str) -> Value {
    let (code, out, err) = run(&format!("{line} --json"));
    assert_eq!((code, err.as_str()), (SUCCESS, ""), "{line}");
    assert_eq!(out.lines().count(), 1, "{line}");
    serde_json::from_str(&out).unwrap()
}

/// A directory for the files of one test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Relaxed: the numbers only have to be distinct.
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("feed-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    /// With a file `rows.csv`.
    fn with_rows(text: &str) -> Self {
        let scratch = Scratch::new();
        scratch.write("rows.csv", text);
        scratch
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// Runs the program in this directory.
    fn run(&self, line: &str) -> (i32, String, String) {
        let mut command = command(line);
        command.current_dir(&self.0);
        output(command)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Linux's device that is always full; `None` elsewhere.
fn full_device() -> Option<File> {
    File::options().write(true).open("/dev/full").ok()
}

#[test]
fn help_names_every_flag_and_exit_code() {
    let (code, out, err) = run("--help");
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    for text in [
        "--lobster",
        "--symbols",
        "--bbo",
        "--store",
        "--pages",
        "--prefetch",
        "--messages",
        "--seed",
        "--rounds",
        "--json",
        "Exit codes: 0, all books are the same; 1, ",
    ] {
        assert!(out.contains(text), "{text}");
    }
}

#[test]
fn bad_arguments_are_named_and_exit_with_2() {
    for (line, name) in [
        ("--symbols 0", "--symbols"),
        ("--symbols -1", "-1"),
        ("--symbols many", "--symbols"),
        ("--symbols 100001", "--symbols"),
        ("--messages 0", "--messages"),
        ("--messages 100000001", "--messages"),
        ("--messages 99999999999999999999", "--messages"),
        ("--messages 1.5", "--messages"),
        ("--rounds 0", "--rounds"),
        ("--seed x", "--seed"),
        ("--seed 1 --lobster f", "--lobster"),
        ("--store heap", "--store"),
        ("--pages small", "--pages"),
        ("--pages default,", "--pages"),
        ("--prefetch all", "--prefetch"),
        ("--prefetch", "--prefetch"),
        ("--wat", "--wat"),
        ("--bbo", "--bbo"),
    ] {
        let (code, out, err) = run(line);
        assert_eq!((code, out.as_str()), (BAD_INPUT, ""), "{line}");
        assert!(err.contains(name), "{line}: {err}");
    }
}

#[test]
fn an_unreadable_file_is_named_and_exits_with_2() {
    for path in ["missing.csv", "."] {
        let scratch = Scratch::new();
        let (code, out, err) = scratch.run(&format!("--lobster {path}"));
        assert_eq!((code, out.as_str()), (BAD_INPUT, ""));
        assert!(err.starts_with(&format!("error: {path}: ")), "{err}");
    }
}

#[test]
fn a_malformed_row_is_located_and_exits_with_2() {
    let scratch = Scratch::with_rows(&format!("{ROW}\n34200.6,1,8,none,5853300,1\n"));
    let (code, out, err) = scratch.run("--lobster rows.csv");
    assert_eq!((code, out.as_str()), (BAD_INPUT, ""));
    assert!(err.starts_with("error: rows.csv: "), "{err}");
    assert!(err.contains("line: 2,") && err.contains("field 3"), "{err}");
}

#[test]
fn an_empty_file_exits_with_2() {
    let (code, _, err) = Scratch::with_rows("").run("--lobster rows.csv");
    let wanted = "error: rows.csv: the file holds no messages\n";
    assert_eq!((code, err.as_str()), (BAD_INPUT, wanted));
}

#[test]
fn orders_that_no_memory_holds_exit_with_2_at_once() {
    let rows: String = (0..20_000)
        .map(|id| format!("1,1,{id},1,{},1\n", id + 1))
        .collect();
    let scratch = Scratch::with_rows(&rows);
    let (code, out, err) = scratch.run("--lobster rows.csv --symbols 100000 --store bounded");
    assert_eq!((code, out.as_str()), (BAD_INPUT, ""));
    let wanted = "error: 2000000000 live orders take 387.4 GiB of memory, and ";
    assert!(err.starts_with(wanted), "{err}");

    let begun = Instant::now();
    let (code, out, err) = run("--resting 1000000");
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!((code, out.as_str()), (BAD_INPUT, ""));
    assert!(
        err.contains(" to 2000 symbols take 387.5 GiB of memory, and "),
        "{err}"
    );
}

#[test]
fn json_is_one_object_with_every_figure() {
    let report = json(run, "--messages 2000 --symbols 3 --rounds 2 --seed 9");
    let flow = &report["flow"];
    assert_eq!(flow["source"], "generated");
    assert_eq!(flow["seed"], 9);
    assert_eq!(flow["symbols"], 3);
    assert_eq!(flow["file"], Value::Null);
    assert_eq!(flow["messages_replayed"], 6_000);
    let per_symbol = &flow["per_symbol"];
    assert_eq!(per_symbol["messages"], 2_000);
    let kinds = per_symbol["kinds"].as_object().unwrap();
    assert_eq!(kinds.len(), 7);
    let messages = kinds.values().map(|count| count.as_u64().unwrap());
    assert_eq!(messages.sum::<u64>(), 2_000);
    for name in ["unknown_ids", "duplicate_ids", "excess_reductions"] {
        assert_eq!(per_symbol["anomalies"][name], 0);
    }
    for measure in ["life_in_messages", "distance_in_cents", "size_in_shares"] {
        for quantile in ["p10", "p50", "p90", "p99"] {
            let value = &per_symbol[measure][quantile];
            assert!(value.is_i64(), "{measure} {quantile}");
        }
    }
    assert_eq!(report["rounds"], 2);
    assert_eq!(report["same_books"], true);
    assert!(report["clock_ns"].is_u64());

    let stores = report["stores"].as_array().unwrap();
    let names = stores.iter().map(|store| store["store"].as_str().unwrap());
    assert!(names.eq(["keys", "bounded", "growable", "slab", "box"]));
    let all_symbols = |name: &str| 3 * per_symbol[name].as_u64().unwrap();
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
        for figure in ["peak_live_orders", "live_orders_at_end"] {
            assert_eq!(store[figure], all_symbols(figure), "{figure}");
        }
        assert_eq!(store["book_digest"], stores[0]["book_digest"]);
    }
}

#[test]
fn the_table_lines_up_and_says_that_the_books_are_the_same() {
    let (code, out, _) = run("--messages 1000 --rounds 1");
    assert_eq!(code, SUCCESS);
    let lines = out.lines().skip_while(|line| !line.starts_with("store"));
    let widths: Vec<_> = lines.take(6).map(str::len).collect();
    assert_eq!(widths, [widths[0]; 6], "{out}");
    assert!(
        out.contains("Compared with `slab`, `keys` applied "),
        "{out}"
    );
    assert!(out.contains("All 5 stores end in the same books"), "{out}");
}

#[test]
fn each_store_runs_alone() {
    for store in [
        "keys", "bounded", "growable", "pool", "slab", "box", "floor",
    ] {
        let report = json(run, &format!("--store {store} --messages 500 --rounds 1"));
        let stores = report["stores"].as_array().unwrap();
        assert_eq!(stores.len(), 1);
        assert_eq!(stores[0]["store"], store);
    }
}

#[test]
fn several_stores_run_in_their_own_order_and_once() {
    let report = json(run, "--store slab,keys,slab --messages 500 --rounds 1");
    let stores = report["stores"].as_array().unwrap();
    let names = stores.iter().map(|store| store["store"].as_str().unwrap());
    assert!(names.eq(["keys", "slab"]));
}

#[test]
fn every_combination_runs_once_and_ends_in_the_same_books() {
    let report = json(
        run,
        "--store keys,bounded,growable,pool,slab,box,floor --pages huge,default \
         --prefetch off,index,order,off --messages 300 --symbols 2 --rounds 1",
    );
    let variants = report["stores"].as_array().unwrap();
    assert_eq!(variants.len(), 7 * 2 * 3);
    let mut seen = HashSet::new();
    for variant in variants {
        let field = |name: &str| variant[name].as_str().unwrap();
        assert!(seen.insert(["store", "pages", "prefetch"].map(field)));
        assert_eq!(variant["book_digest"], variants[0]["book_digest"]);
        assert!(variant["memory"]["index"].is_string());
        // These two take no other memory, and cannot tell what they have.
        let is_silent = ["slab", "box"].contains(&field("store"));
        assert_eq!(variant["memory"]["store"].is_null(), is_silent);
    }
    assert_eq!(report["same_books"], true);
}

#[test]
fn without_options_pages_are_default_and_prefetch_is_off() {
    let report = json(run, "--store slab --messages 300 --rounds 1");
    let store = &report["stores"][0];
    assert_eq!(
        (&store["pages"], &store["prefetch"]),
        (&"default".into(), &"off".into())
    );
    let (_, out, _) = run("--store keys,slab --messages 300 --rounds 1");
    assert!(!out.contains("Memory at"), "{out}");
    assert!(out.contains("All 2 stores end in the same books"), "{out}");
}

#[test]
fn variants_are_divided_by_slab_alone_or_by_the_first() {
    let options = "--pages default,huge --prefetch off,order --messages 300 --rounds 1";
    for (stores, baseline, others) in [
        ("keys,slab", "slab", ["keys huge order", "slab huge order"]),
        ("keys,bounded", "keys", ["keys huge", "bounded"]),
    ] {
        let (code, out, err) = run(&format!("--store {stores} {options}"));
        assert_eq!((code, err.as_str()), (SUCCESS, ""));
        assert!(
            out.contains(&format!("Divided by `{baseline}` of")),
            "{out}"
        );
        let (_, ratios) = out.split_once("Divided by").unwrap();
        let rows: Vec<_> = ratios
            .lines()
            .skip(2)
            .take_while(|line| !line.is_empty())
            .collect();
        assert_eq!(rows.len(), 7, "{out}");
        for name in others {
            assert!(
                rows.iter().any(|row| row.starts_with(&format!("{name} "))),
                "{out}"
            );
        }
        assert!(
            out.contains("All 8 variants end in the same books"),
            "{out}"
        );
    }
}

#[test]
fn memory_obtained_is_printed_once_for_each_store_with_huge_pages() {
    let (_, out, _) = run(
        "--store keys,slab --pages default,huge --prefetch off,index --messages 300 --rounds 1",
    );
    for line in [
        "keys huge, orders: ",
        "keys huge, index and levels: ",
        "slab huge, orders: the global allocator",
        "slab huge, index and levels: ",
    ] {
        assert_eq!(out.matches(line).count(), 1, "{line}: {out}");
    }
}

#[test]
fn what_every_round_shows_is_told_if_there_are_several() {
    let told = "Better or worse than `keys` in each of 3 rounds:\n  keys order  better: ";
    for (line, is_told) in [
        ("--prefetch off,order --rounds 3", true),
        ("--prefetch off,order --rounds 2", false),
        // Nothing to compare with.
        ("--prefetch order --rounds 3", false),
    ] {
        let (code, out, _) = run(&format!("--store keys --messages 300 {line}"));
        assert_eq!(code, SUCCESS);
        assert_eq!(out.contains(told), is_told, "{out}");
        assert_eq!(out.contains("Better or worse"), is_told, "{out}");
    }
}

#[test]
fn tops_are_compared_over_all_variants() {
    let scratch = Scratch::with_rows(ROW);
    let line = "--pages default,huge --prefetch off,order --rounds 1";
    let (code, _, err) = scratch.run(&format!("--messages 200 --bbo plain.csv {line}"));
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    assert_eq!(scratch.read("plain.csv").lines().count(), 200);
}

#[test]
fn resting_orders_make_the_books_larger() {
    let report = json(run, "--store keys --messages 500 --rounds 1 --resting 2000");
    assert_eq!(report["flow"]["messages_replayed"], 2_500);
    assert!(report["stores"][0]["live_orders_at_end"].as_u64().unwrap() > 2_000);
    let (code, _, err) = run("--resting 1 --lobster rows.csv");
    assert_eq!(code, BAD_INPUT);
    assert!(err.contains("--resting"), "{err}");
}

#[test]
fn anomalies_are_counted_and_do_not_stop_the_replay() {
    let rows = [
        "1,1,7,18,5853300,1",
        "1,1,7,20,5853400,1",  // already live
        "1,4,9,18,5853300,1",  // unknown
        "1,5,0,10,5853300,1",  // hidden
        "1,7,0,0,-1,-1",       // a halt
        "1,2,7,100,5853300,1", // more than the order has
        "1,1,7,5,5853500,-1",  // the id is free again
    ];
    let scratch = Scratch::with_rows(&(rows.join("\r\n") + "\r\n"));
    let line = "--lobster rows.csv --bbo tops.csv --symbols 2";
    let report = json(|line| scratch.run(line), line);
    assert_eq!(report["flow"]["source"], "lobster");
    assert_eq!(report["flow"]["file"], "rows.csv");
    assert_eq!(report["flow"]["seed"], Value::Null);
    let flow = &report["flow"]["per_symbol"];
    assert_eq!(flow["anomalies"]["duplicate_ids"], 1);
    assert_eq!(flow["anomalies"]["unknown_ids"], 1);
    assert_eq!(flow["anomalies"]["excess_reductions"], 1);
    assert_eq!(flow["kinds"]["hidden_executions"], 1);
    assert_eq!(flow["kinds"]["halts"], 1);
    assert_eq!(flow["live_orders_at_end"], 1);
    let wanted = "0,0,5853300,18\n".repeat(5) + "0,0,0,0\n5853500,5,0,0\n";
    assert_eq!(scratch.read("tops.csv"), wanted);
}

#[test]
fn a_file_without_orders_replays() {
    let (code, _, err) = Scratch::with_rows("1,5,0,10,5853300,1\n").run("--lobster rows.csv");
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
}

#[test]
fn messages_limits_the_rows_read() {
    let scratch = Scratch::with_rows(&format!("{ROW}\nnonsense\n"));
    let (code, ..) = scratch.run("--lobster rows.csv --messages 1");
    assert_eq!(code, SUCCESS);
}

#[test]
fn an_unwritable_file_of_tops_is_named_and_exits_with_1_at_once() {
    let scratch = Scratch::with_rows(ROW);
    for path in [".", "missing/tops.csv"] {
        // To generate so many messages takes minutes.
        for input in ["--messages 100000000", "--lobster rows.csv"] {
            let begun = Instant::now();
            let (code, out, err) = scratch.run(&format!("{input} --bbo {path}"));
            assert!(begun.elapsed() < Duration::from_secs(20), "{input}");
            assert_eq!((code, out.as_str()), (FAILED, ""));
            assert_eq!(err.lines().count(), 1, "{err}");
            // The system's reason, in its own words.
            let reason = File::create(scratch.0.join(path)).unwrap_err();
            assert_eq!(err, format!("error: {path}: {reason}\n"));
        }
    }
}

#[test]
fn tops_that_cannot_be_written_exit_with_1() {
    if full_device().is_none() {
        return;
    }
    // With few messages the last flush fails, with many an earlier write.
    for messages in [10, 5_000] {
        let (code, out, err) = run(&format!("--messages {messages} --bbo /dev/full"));
        assert_eq!((code, out.as_str()), (FAILED, ""));
        let wanted = "error: /dev/full: No space left on device";
        assert!(err.starts_with(wanted), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

#[test]
#[cfg(unix)]
fn tops_that_are_cut_short_exit_with_1_and_leave_the_file_empty() {
    let scratch = Scratch::new();
    // The write that exceeds the limit on file sizes sends a signal. If the signal
    // is ignored, the write fails.
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg("trap '' XFSZ; ulimit -f 1; exec \"$@\"");
    shell.args(["sh", env!("CARGO_BIN_EXE_feed")]);
    shell.args("--messages 5000 --bbo tops.csv".split_whitespace());
    shell.current_dir(&scratch.0);
    let (code, out, err) = output(shell);
    assert_eq!((code, out.as_str()), (FAILED, ""));
    assert!(err.starts_with("error: tops.csv: File too large"), "{err}");
    assert_eq!(scratch.read("tops.csv"), "");
}

#[test]
fn a_bad_input_leaves_the_file_of_tops_alone() {
    let scratch = Scratch::with_rows("nonsense\n");
    scratch.write("tops.csv", "of an earlier run\n");
    let (code, ..) = scratch.run("--lobster rows.csv --bbo tops.csv");
    assert_eq!(code, BAD_INPUT);
    assert_eq!(scratch.read("tops.csv"), "of an earlier run\n");
}

#[test]
fn the_file_of_tops_never_replaces_the_input() {
    let scratch = Scratch::with_rows(ROW);
    let (code, _, err) = scratch.run("--lobster rows.csv --bbo ./rows.csv");
    let wanted = "error: ./rows.csv: would overwrite the input\n";
    assert_eq!((code, err.as_str()), (BAD_INPUT, wanted));
    assert_eq!(scratch.read("rows.csv"), ROW);
}

const PRINTING: [&str; 3] = [
    "--help",
    "--messages 10 --rounds 1",
    "--messages 10 --rounds 1 --json",
];

#[test]
fn standard_output_that_cannot_be_written_exits_with_1() {
    for line in PRINTING {
        let Some(full) = full_device() else { return };
        let mut command = command(line);
        command.stdout(full);
        let (code, _, err) = output(command);
        assert_eq!(code, FAILED, "{line}");
        assert!(err.starts_with("error: standard output: "), "{line}: {err}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    for line in PRINTING {
        // The reader of this pipe has ended.
        let mut reader = command("--help");
        reader.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut reader = reader.spawn().unwrap();
        let pipe = reader.stdin.take().unwrap();
        assert!(reader.wait().unwrap().success());
        let mut command = command(line);
        command.stdout(pipe);
        let (code, _, err) = output(command);
        assert_eq!((code, err.as_str()), (SUCCESS, ""), "{line}");
    }
}

#[test]
fn an_error_that_cannot_be_printed_keeps_its_exit_code() {
    let Some(full) = full_device() else { return };
    let mut command = command("--wat");
    command.stderr(full);
    assert_eq!(output(command).0, BAD_INPUT);
}
