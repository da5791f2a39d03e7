//! Runs the exchange and checks what it says.

use std::process::{Command, Output};

fn run(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_exchange"));
    command.args(line.split_whitespace()).output().unwrap()
}

#[test]
fn no_thread_calls_the_allocator() {
    let output = run("--symbols 5 --commands 2000");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Calls of the allocator while it ran, in all threads: 0;"));
    assert!(said.ends_with("ends with the same books and trades.\n"));
}

#[test]
fn bad_arguments_are_named() {
    for (line, name) in [
        ("--slow 0", "--slow"),
        ("--symbols 0", "--symbols"),
        ("--commands 0", "--commands"),
    ] {
        let output = run(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(String::from_utf8(output.stderr).unwrap().contains(name));
    }
}

#[cfg(feature = "rivals")]
#[test]
fn what_others_are_made_of_trades_the_same() {
    let output = run("rivals --symbols 5 --commands 2000 --rounds 1");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    assert_eq!(said.lines().count(), 6, "{said}");
}
