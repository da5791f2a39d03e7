//! Runs the program of the record, and checks its output.

use std::process::{Command, Output};

use serde_json::Value;

const SMALL: &str = "--symbols 4 --commands 2000 --sessions 20 --rounds 3";

fn run(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_engine_record"));
    command.args(line.split_whitespace()).output().unwrap()
}

#[test]
fn full_has_every_store_from_empty_and_with_full_books() {
    let output = run(&format!("--full {SMALL}"));
    assert!(output.status.success(), "{output:?}");
    let out = String::from_utf8(output.stdout).unwrap();
    for store in [
        "flatslab Pool + table",
        "Box + HashMap",
        "array without checks",
    ] {
        let rows = out.lines().filter(|line| line.starts_with(store));
        assert_eq!(rows.count(), 2, "{store}: {out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
}

#[test]
fn the_json_of_full_has_each_pass_of_each_round_from_both_starts() {
    let output = run(&format!("--full --json --store key-slab {SMALL}"));
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let store = &report["stores"][0];
    for start in ["from_empty", "reserved"] {
        let rounds = store[start].as_array().unwrap();
        assert_eq!(rounds.len(), 3);
        for round in rounds {
            assert!(round["commands_per_second"].as_u64().unwrap() > 0);
            for pass in ["closed", "open_50", "open_80"] {
                assert!(round[pass]["longest_ns"].as_u64().unwrap() > 0, "{pass}");
            }
        }
    }
    let others = store["other_late"].as_array().unwrap();
    assert_eq!(others.len(), 2);
    for late in others {
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
        let output = run(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains("cannot be used with"), "{line}: {err}");
    }
}
