//! The tables of documents that repeat what the sources have: `unsafe` code by folder in
//! SECURITY.md, and what operations cost in DESIGN.md.
//!
//! With `FLATSLAB_WRITE=1` the table of SECURITY.md is written first.
#![cfg(not(miri))]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The sources of the library, without its tests: the path below `src/`, and the lines.
fn sources() -> Vec<(String, Vec<String>)> {
    let (mut files, mut folders) = (Vec::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join("src").join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_str().unwrap().to_owned();
            let path = format!("{folder}{name}");
            if entry.path().is_dir() {
                if name != "tests" {
                    folders.push(format!("{path}/"));
                }
            } else if name.ends_with(".rs") && !["tests.rs", "models.rs"].contains(&&*name) {
                let (mut lines, mut in_tests) = (Vec::new(), false);
                for line in fs::read_to_string(entry.path()).unwrap().lines() {
                    in_tests |= matches!(line, "mod tests {" | "mod models {");
                    if in_tests {
                        in_tests = line != "}";
                    } else {
                        lines.push(line.to_owned());
                    }
                }
                files.push((path, lines));
            }
        }
    }
    assert!(files.len() > 50);
    files.sort();
    files
}

fn code(line: &str) -> &str {
    line.split("//").next().unwrap()
}

/// What stands between back quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The `unsafe` code of each folder.
fn unsafe_table() -> String {
    let mut folders: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    for (path, lines) in sources() {
        let folder = match path.split_once('/') {
            Some((folder, _)) => format!("`src/{folder}/`"),
            None => "`src/*.rs`".to_owned(),
        };
        let counts = folders.entry(folder).or_default();
        for line in &lines {
            let kinds = ["unsafe {", "unsafe fn ", "unsafe impl", "unsafe trait "];
            for (count, kind) in counts.iter_mut().zip(kinds) {
                // A type `unsafe fn(…)` has no space before its arguments.
                *count += code(line).matches(kind).count();
            }
        }
    }
    let mut table = String::from(
        "| folder | blocks | functions | implementations | traits |\n|---|---|---|---|---|\n",
    );
    for (folder, [blocks, functions, impls, traits]) in folders {
        let row = format!("| {folder} | {blocks} | {functions} | {impls} | {traits} |");
        writeln!(table, "{row}").unwrap();
    }
    table
}

#[test]
fn security_md_has_the_unsafe_code_of_each_folder() {
    let file = root().join("SECURITY.md");
    let text = fs::read_to_string(&file).unwrap().replace("\r\n", "\n");
    let start = text.find("| folder | ").expect("the table is there");
    let end = start + text[start..].find("\n\n").expect("a line after it") + 1;
    let table = unsafe_table();
    if std::env::var_os("FLATSLAB_WRITE").is_some() {
        let text = format!("{}{table}{}", &text[..start], &text[end..]);
        fs::write(&file, text).unwrap();
    } else {
        assert!(
            text[start..end] == table,
            "SECURITY.md is not up to date: FLATSLAB_WRITE=1 cargo test --test tables\n{table}"
        );
    }
}

/// A public function: the line of its `impl` block, its name, documentation and signature.
struct Function {
    block: String,
    name: String,
    doc: String,
    signature: String,
}

fn functions() -> Vec<Function> {
    let mut functions = Vec::new();
    for (_, lines) in sources() {
        let (mut block, mut doc) = (String::new(), String::new());
        for (number, line) in lines.iter().enumerate() {
            if line.starts_with("impl") || line.starts_with("macro_rules!") {
                block = line.clone();
            }
            let item = line.trim();
            if let Some(text) = item.strip_prefix("///") {
                doc.push_str(text);
                doc.push('\n');
                continue;
            }
            let is_function = item.starts_with("pub ") && item.contains("fn ");
            if is_function {
                let name = item.split("fn ").nth(1).unwrap();
                let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
                let ends = |line: &String| line.trim_end().ends_with(['{', ';']);
                let rest = &lines[number..];
                let last = rest.iter().position(ends).expect("the signature ends");
                let signature = rest[..=last].concat();
                functions.push(Function {
                    block: block.clone(),
                    name: name[..end.unwrap()].to_owned(),
                    doc: std::mem::take(&mut doc),
                    signature,
                });
            } else if item.is_empty() || item.ends_with([';', '}', '{']) {
                doc.clear();
            }
        }
    }
    assert!(functions.len() > 500, "{}", functions.len());
    functions
}

/// How the `impl` blocks of the types in the table begin, without the generics.
fn blocks(name: &str) -> &'static [&'static str] {
    match name {
        "Slab" => &[" TrackedSlab<T, Growable>"],
        "BoundedSlab" => &[" TrackedSlab<T, Bounded>"],
        "TrackedSlab" => &[" TrackedSlab<T, M>"],
        "Slot" => &[" Slot<T>"],
        "KeySlab" => &[" PlainSlab<T, Key, Growable>", " PlainSlab<T, K, Growable>"],
        "BoundedKeySlab" => &[
            " PlainSlab<T, Key, Bounded>",
            "FixedStorage> PlainSlab<T, K, S>",
        ],
        "PlainSlab" => &[" PlainSlab<T, K, S>"],
        "Pool" => &[" Pool<"],
        "PoolBox" => &[" PoolBox<"],
        "Arena" => &["impl Arena ", "macro_rules! allocations"],
        "ByteArena" => &[" ByteArena ", " ByteArena<R>"],
        "Buf" => &[" Buf ", " Buf<R>"],
        "BufMut" => &[" BufMut<R>"],
        "Ring" => &[" Ring ", " Ring<R>"],
        "EpochSlab" => &[" EpochSlab<T>", " Epochs<C>"],
        "EpochBytes" => &[" EpochBytes "],
        "SharedSlab" => &["> SharedSlab<T> {"],
        "SharedPool" => &["> SharedPool<T> {"],
        "SendSlot" => &[" SendSlot<T>"],
        "Producer" => &["impl Producer "],
        "Consumer" => &["impl Consumer "],
        "SharedRing" => &["impl SharedRing "],
        _ => panic!("DESIGN.md has costs of `{name}`, which this test does not know"),
    }
}

#[test]
fn design_md_says_of_each_operation_what_its_documentation_says() {
    let text = fs::read_to_string(root().join("DESIGN.md")).unwrap();
    let section = text.split("\n## What operations cost\n").nth(1);
    let section = section.expect("the section is there");
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let (functions, mut count, mut wrong) = (functions(), 0, Vec::new());
    for row in rows {
        let columns: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [calls, time, allocates, fails] = columns[..] else {
            panic!("four columns: {row}");
        };
        for call in quoted(calls) {
            let (of, name) = call.split_once("::").expect(call);
            let found = functions.iter().find(|function| {
                let is_of = |block: &&str| function.block.contains(*block);
                function.name == name && blocks(of).iter().any(is_of)
            });
            let Some(Function { doc, signature, .. }) = found else {
                wrong.push(format!("{call}: no such function"));
                continue;
            };
            count += 1;
            let mut expect = |holds: bool, what: &str| {
                if !holds {
                    wrong.push(format!("{call}: {what}:\n{doc}"));
                }
            };
            // The bound of the documentation may say with other words of how many.
            let bounds = doc.split("O(").skip(1);
            match time.starts_with("O(1)") {
                true => expect(doc.contains("O(1)"), "does not say O(1)"),
                false => expect(
                    bounds.into_iter().any(|bound| !bound.starts_with("1)")),
                    "does not say that it takes longer for more",
                ),
            }
            expect(
                ["no", "at construction", "a chunk", "all", "none"].contains(&allocates),
                "allocates what?",
            );
            for (word, section) in [("panics", "# Panics"), ("error", "# Errors")] {
                expect(
                    fails.contains(word) == doc.contains(section),
                    &format!("{section}, or not"),
                );
            }
            expect(
                fails.contains("error") == signature.contains("Result<"),
                "a `Result`, or not",
            );
            expect(
                !fails.contains("`None`") || signature.contains("Option<"),
                "no `Option`",
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count > 60, "{count} calls");
}
