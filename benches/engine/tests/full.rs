//! Runs the program of the record, and checks its output.

use engine_trial::suite::program::{BAD_INPUT, Program, SMALL, SUCCESS, assert_timed, run};
use serde_json::Value;

const ENGINE_RECORD: Program = Program {
    path: env!("CARGO_BIN_EXE_engine_record"),
    directory: env!("CARGO_TARGET_TMPDIR"),
};

#[test]
fn full_has_every_store_full_books_and_other_shares_of_latecomers() {
    let (code, out, err) = run(ENGINE_RECORD, &format!("--full {SMALL}"));
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    for store in [
        "flatslab Pool + table",
        "Box + HashMap",
        "array without checks",
    ] {
        let rows = out.lines().filter(|line| line.starts_with(store));
        assert_eq!(rows.count(), 5, "{store}: {out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
}

#[test]
fn the_json_of_full_has_each_pass_of_each_round_from_both_starts() {
    let (code, out, err) = run(
        ENGINE_RECORD,
        &format!("--full --json --store key-slab {SMALL}"),
    );
    assert_eq!((code, err.as_str()), (SUCCESS, ""));
    let report: Value = serde_json::from_str(&out).unwrap();
    let store = &report["stores"][0];
    for start in ["from_empty", "reserved"] {
        let rounds = store[start].as_array().unwrap();
        assert_eq!(rounds.len(), 3);
        for round in rounds {
            assert_timed(round, &["closed", "open_50", "open_80"]);
        }
    }
    for late in store["other_late"].as_array().unwrap() {
        assert_eq!(late["commands_per_second"].as_array().unwrap().len(), 3);
    }
}

#[test]
fn what_only_measurements_have_is_refused_beside_a_check_or_restart() {
    for line in [
        "--full --check",
        "--full --restart",
        "--record --check",
        "--record --restart",
    ] {
        let (code, out, err) = run(ENGINE_RECORD, line);
        assert_eq!((code, out.as_str()), (BAD_INPUT, ""), "{line}");
        assert!(err.contains("cannot be used with"), "{line}: {err}");
    }
}
