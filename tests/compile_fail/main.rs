//! What must not compile.
//!
//! Each other file has the programs of one family: those that must fail, marked
//! `#[cfg(compile_fail)]`, next to twins that differ as little as can be, compile, and are
//! tests, so that a program can only fail for the reason meant. The line that fails names its
//! error, by the code or, if it has none, by the message:
//!
//! ```text
//! #[cfg(compile_fail)]
//! fn dropped_twice() {
//!     let boxed = pool.alloc(7);
//!     drop(boxed);
//!     drop(boxed); //~ E0382
//! }
//! ```
//!
//! `//~^` is for the line above, where the formatter leaves no place. `//~?` and a text, on a
//! line of its own above the one that fails, is for a part of what the compiler prints, where
//! that is what leads to the right call. The compiler goes on to
//! the borrows of a function whatever is wrong with the types of another, so it is called once
//! for each file. Each mark must be met, and no other error be reported: a program that
//! compiles fails the test even between others that do not.
//!
//! As documentation tests these were 300 compilations, and stable compilers compared no code.
//! `trybuild` and `ui_test` want a file for each program, pin whole messages, which change with
//! the compiler, and bring more dependencies than the crate has. The codes are the same from
//! the oldest compiler that Cargo.toml promises to the nightly one of May 2026.
//!
//! The programs see a copy of the crate that is made here, which takes a second: it has no
//! dependencies, and which of the copies beside this binary has these features is known to
//! cargo alone. What optional dependencies are for stays in documentation tests, which cargo
//! hands them to: `src/bytes/views.rs`, `src/bump/allocator.rs`.

#![cfg(all(feature = "tracked", feature = "arenas", feature = "threads"))]
#![cfg(all(feature = "std", not(any(miri, loom, sanitized))))]
#![allow(
    unused,
    dropping_copy_types,
    clippy::drop_non_drop,
    clippy::needless_lifetimes,
    reason = "the programs are what users write, and no more"
)]

mod bump;
mod bytes;
mod epoch;
mod key_slab;
mod mapped;
mod pool;
mod pool_values;
mod private_fields;
mod slab;
mod sync;
mod unsizing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::{env, fs, iter, process, thread};

use serde_json::Value;

/// Errors, each with the number of its line, from 1, and its code or message.
type Errors = BTreeSet<(usize, String)>;

/// What the compiler prints of the errors of each line.
type Printed = BTreeMap<usize, String>;

/// What is marked in the programs.
fn marked(programs: &str) -> Errors {
    let lines = programs.lines().enumerate();
    let marks = lines.flat_map(|(before, line)| {
        let marks = line.split("//~").skip(1);
        marks
            .filter(|mark| !mark.starts_with('?'))
            .map(move |mark| {
                let name = mark.trim_start_matches('^');
                let above = mark.len() - name.len();
                (before + 1 - above, name.trim().to_owned())
            })
    });
    marks.collect()
}

/// What the compiler reports of a library.
fn reported(file: &Path, folder: &Path, options: &[&str]) -> (Errors, Printed) {
    let rustc = env::var_os("RUSTC").unwrap_or("rustc".into());
    let output = Command::new(rustc)
        .args(["--crate-type=lib", "--edition=2024", "--emit=metadata"])
        .args(["--cap-lints=allow", "--error-format=json"])
        .args(options)
        .args([Path::new("--out-dir"), folder, file])
        .output()
        .expect("the compiler starts");
    let messages = String::from_utf8(output.stderr).unwrap();
    let messages = messages.lines().map(|line| {
        let message = serde_json::from_str(line);
        message.unwrap_or_else(|_| panic!("the compiler says: {line}"))
    });
    let errors = messages.filter(|message: &Value| message["level"] == "error");
    // The last one counts the others.
    let errors = errors.filter(|error| !error["message"].to_string().contains("aborting due to"));
    let (mut reported, mut printed) = (Errors::new(), Printed::new());
    for error in errors {
        let name = error["code"]["code"].as_str().or(error["message"].as_str());
        for line in lines(&error, file) {
            reported.insert((line, name.unwrap().to_owned()));
            printed
                .entry(line)
                .or_default()
                .push_str(error["rendered"].as_str().unwrap());
        }
    }
    (reported, printed)
}

/// The lines of this file that an error is about, in most cases one: where a macro was called,
/// if it is about what the macro expanded to. 0 if there is none.
fn lines(error: &Value, file: &Path) -> Vec<usize> {
    let spans = error["spans"].as_array().unwrap().iter();
    let primary = spans.filter(|span| span["is_primary"] == true);
    let lines = primary.filter_map(|span| {
        let mut spans = iter::successors(Some(span), |span| span["expansion"].get("span"));
        let span = spans.find(|span| span["file_name"].as_str().map(Path::new) == Some(file));
        Some(span?["line_start"].as_u64()? as usize)
    });
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() { vec![0] } else { lines }
}

/// Where the marks in a file and what the compiler reports of it differ.
fn differences(file: &Path, folder: &Path, options: &[&str]) -> Vec<String> {
    let programs = fs::read_to_string(file).unwrap();
    let marked = marked(&programs);
    let (reported, printed) = reported(file, folder, options);
    let name = file.file_name().unwrap().to_str().unwrap();
    let mut differences = Vec::new();
    for (line, error) in &marked - &reported {
        differences.push(format!("{name}:{line}: marked, and not reported: {error}"));
    }
    for (line, error) in &reported - &marked {
        differences.push(format!("{name}:{line}: reported, and not marked: {error}"));
    }
    for (before, line) in programs.lines().enumerate() {
        let Some(text) = line.trim().strip_prefix("//~? ") else {
            continue;
        };
        let below = programs
            .lines()
            .skip(before)
            .position(|line| !line.trim().starts_with("//~? "));
        let line = before + 1 + below.expect("a line below");
        if !printed
            .get(&line)
            .is_some_and(|printed| printed.contains(text))
        {
            differences.push(format!("{name}:{line}: not printed: {text}"));
        }
    }
    for program in programs.split("#[cfg(compile_fail)]\n").skip(1) {
        if !program.contains("//~") {
            let program = program.lines().next().unwrap();
            differences.push(format!("{name}: no mark in {program}"));
        }
    }
    differences
}

/// A folder for what this test makes.
fn folder(test: &str) -> PathBuf {
    let name = format!("compile_fail-{test}-{}", process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn every_program_fails_as_marked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = folder("families");
    let features = ["std", "alloc", "tracked", "arenas", "threads"];
    let features = features.map(|name| format!(r#"--cfg=feature="{name}""#));
    let mut library = vec!["--crate-name=flatslab"];
    library.extend(features.iter().map(String::as_str));
    let (errors, _) = reported(&root.join("src/lib.rs"), &folder, &library);
    assert!(errors.is_empty(), "the crate does not compile: {errors:?}");

    let library = format!("--extern=flatslab={}/libflatslab.rmeta", folder.display());
    let options = ["--cfg=compile_fail", &library];
    let entries = fs::read_dir(root.join("tests/compile_fail")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.file_stem().unwrap() != "main");
    for file in &files {
        let module = format!("\nmod {};\n", file.file_stem().unwrap().to_str().unwrap());
        assert!(include_str!("main.rs").contains(&module), "no{module}");
    }
    // A compiler for each processor.
    let files = Mutex::new(files);
    let next = || files.lock().unwrap().pop();
    let all: Vec<String> = thread::scope(|scope| {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let compilers: Vec<_> = (0..count)
            .map(|_| {
                scope.spawn(|| {
                    let files = iter::from_fn(next);
                    let found = files.flat_map(|file| differences(&file, &folder, &options));
                    found.collect::<Vec<_>>()
                })
            })
            .collect();
        let found = compilers.into_iter().map(|compiler| compiler.join());
        found.flat_map(Result::unwrap).collect()
    });
    fs::remove_dir_all(&folder).unwrap();
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn marks_that_are_not_met_are_reported() {
    let programs = "\
fn right(text: String) { (text, text); } //~ E0382
fn wrong_code(text: String) { (text, text); } //~ E0505
fn compiles(text: String) { (text, 0); } //~ E0382
fn not_marked(text: String) { (text, text); }
fn no_code<'a>(text: &'a str) -> &'static str { text }
//~^ lifetime may not live long enough
fn wrong_message<'a>(text: &'a str) -> &'static str { text } //~ lifetime
fn wrong_type() -> u8 { panic!(); true } //~ E0308
//~? use of moved value: `text`
fn printed(text: String) { (text, text); } //~ E0382
//~? use of moved value
//~? of borrowed value
fn not_printed(text: String) { (text, text); } //~ E0382
#[cfg(compile_fail)]
fn without_a_mark() {}
";
    let folder = folder("marks");
    let file = folder.join("programs.rs");
    fs::write(&file, programs).unwrap();
    let found = differences(&file, &folder, &["--cfg=compile_fail"]);
    fs::remove_dir_all(&folder).unwrap();
    let expected = [
        "programs.rs:2: marked, and not reported: E0505",
        "programs.rs:3: marked, and not reported: E0382",
        "programs.rs:7: marked, and not reported: lifetime",
        "programs.rs:2: reported, and not marked: E0382",
        "programs.rs:4: reported, and not marked: E0382",
        "programs.rs:7: reported, and not marked: lifetime may not live long enough",
        "programs.rs:13: not printed: of borrowed value",
        "programs.rs: no mark in fn without_a_mark() {}",
    ];
    assert_eq!(found, expected);
}
