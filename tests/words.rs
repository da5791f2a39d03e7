//! The words that the crate's first page fixes: no public name says the same by another one.

#![cfg(not(miri))]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The rows of the table: what is in the first column, and what is in the last.
fn table() -> Vec<(String, Vec<String>)> {
    let page = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let section = page.split("# Words that mean the same everywhere").nth(1);
    let lines = section.expect("the section is there").lines().skip(1);
    let rows = lines
        .map(|line| line.trim_start_matches("//!").trim())
        .skip_while(|line| line.is_empty())
        .take_while(|line| line.starts_with('|'))
        .skip(2);
    rows.map(|row| {
        let columns: Vec<_> = row.trim_matches('|').split('|').collect();
        assert_eq!(columns.len(), 3, "{row}");
        (columns[0].trim().to_owned(), quoted(columns[2]))
    })
    .collect()
}

/// What stands between back quotes.
fn quoted(text: &str) -> Vec<String> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_test = ["tests", "tests.rs", "raw"];
        if is_test.contains(&&*name) {
            continue;
        }
        match path.is_dir() {
            true => sources(&path, all),
            false => all.push(path),
        }
    }
}

/// The names of public functions, types, fields and variants, in all families.
fn public_names() -> BTreeSet<String> {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    let mut names = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut is_enum = false;
        for line in text.lines() {
            let line = line.trim_end();
            let code = line.trim_start();
            if code.starts_with("pub enum ") {
                is_enum = true;
            } else if line == "}" {
                is_enum = false;
            }
            let name = |text: &str| -> String {
                let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
                text[..end.unwrap_or(text.len())].to_owned()
            };
            if let Some(item) = code.strip_prefix("pub ") {
                let words = [
                    "const ", "unsafe ", "fn ", "struct ", "enum ", "trait ", "type ",
                ];
                let mut item = item;
                while let Some(rest) = words.iter().find_map(|word| item.strip_prefix(word)) {
                    item = rest;
                }
                names.insert(name(item));
            } else if is_enum && code.starts_with(|c: char| c.is_ascii_uppercase()) {
                names.insert(name(code));
            }
        }
    }
    names
}

#[test]
fn public_names_are_read_from_the_sources() {
    let names = public_names();
    for name in [
        "insert",
        "BoundedSlab",
        "AccessError",
        "Missing",
        "with_capacity",
        "buffers",
    ] {
        assert!(names.contains(name), "{name}");
    }
}

#[test]
fn each_word_of_the_table_is_used() {
    let names = public_names();
    for (word, _) in table() {
        for word in quoted(&word).iter().filter(|word| !word.contains('…')) {
            assert!(
                names.contains(word),
                "{word} is in the table, and nowhere else"
            );
        }
    }
}

#[test]
fn no_public_name_says_by_another_word_what_one_of_the_table_means() {
    let table = table();
    assert!(table.len() > 15);
    let words: BTreeSet<_> = table.iter().flat_map(|(word, _)| quoted(word)).collect();
    let names: BTreeSet<_> = public_names().difference(&words).cloned().collect();
    let mut all = Vec::new();
    for (word, others) in table {
        for other in others {
            let parts: Vec<_> = other.split('_').collect();
            let says = |name: &&String| {
                let words: Vec<_> = name.split('_').collect();
                **name == other || words.windows(parts.len()).any(|it| it == parts)
            };
            let found = names.iter().filter(says);
            all.extend(found.map(|name| format!("{name}: the crate's word is {word}")));
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn names_that_the_guide_gives_for_those_of_other_crates_exist() {
    let page = fs::read_to_string(root().join("src/guide/names.md")).unwrap();
    let (names, mut count, mut missing) = (public_names(), 0, Vec::new());
    for section in page.split("\n# ").skip(1) {
        // Of slabs the last two columns are this crate's, of the others the last one.
        let ours = if section.starts_with("Slabs") { 2 } else { 1 };
        let rows = section.lines().filter(|line| line.starts_with("| "));
        for row in rows.skip(1) {
            let columns: Vec<_> = row.trim_matches('|').split('|').collect();
            for name in columns[columns.len() - ours..]
                .iter()
                .flat_map(|it| quoted(it))
            {
                let name = name.rsplit("::").next().unwrap().trim_end_matches('!');
                let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
                let is_of_std = ["Vec", "clone"].contains(&name);
                if is_name && !is_of_std && name != "key_type" {
                    count += 1;
                    if !names.contains(name) {
                        missing.push(format!("{name}: {row}"));
                    }
                }
            }
        }
    }
    assert!(count > 60, "{count}");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_name_of_every_error_ends_in_error() {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    let mut count = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines().filter(|line| line.starts_with("impl")) {
            let Some((_, name)) = line.split_once("Error for ") else {
                continue;
            };
            if !line.contains(" Error for ") && !line.contains("::Error for ") {
                continue;
            }
            let name = name.split(['<', ' ', '{']).next().unwrap();
            assert!(name.ends_with("Error"), "{}: {name}", file.display());
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}
