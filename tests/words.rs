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

/// A public item and its documentation.
struct Documented {
    /// The file, the line and the item's name.
    place: String,
    /// `fn`, `struct` and so on; `variant` or `field`.
    kind: &'static str,
    /// The text of its `///` lines.
    text: String,
}

/// Files of `raw` with items that `memory` re-exports.
const RE_EXPORTED: [&str; 3] = ["pages/options.rs", "report.rs", "source.rs"];

/// What the sources document of what is public. Methods of implemented traits have no text of
/// their own, and those of private items read as those of public ones do.
fn documented() -> Vec<Documented> {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    files.extend(RE_EXPORTED.map(|file| root().join("src/raw").join(file)));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let path = file.strip_prefix(root()).unwrap().display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let (mut doc, mut enclosing) = (Vec::new(), "");
        for (number, line) in text.lines().enumerate() {
            let code = line.trim_start();
            if let Some(text) = code.strip_prefix("///") {
                doc.push(text.strip_prefix(' ').unwrap_or(text));
                continue;
            }
            // Attributes and comments stand between a text and its item.
            if code.starts_with("#[") || code.starts_with("//") || code.starts_with([')', ']']) {
                continue;
            }
            for kind in ["enum", "trait"] {
                if code.starts_with(&format!("pub {kind} ")) {
                    enclosing = kind;
                }
            }
            if line == "}" {
                enclosing = "";
            }
            let mut words = code.split_whitespace();
            let mut word = words.next().unwrap_or_default();
            let is_public = word == "pub";
            if is_public {
                word = words.next().unwrap_or_default();
            }
            while word == "unsafe" || (word == "const" && code.contains("fn ")) {
                word = words.next().unwrap_or_default();
            }
            let kinds = ["fn", "struct", "enum", "trait", "type", "const", "mod"];
            let kind = match kinds.iter().find(|kind| **kind == word) {
                Some(kind) if is_public || enclosing == "trait" => kind,
                None if is_public && word.ends_with(':') => "field",
                None if enclosing == "enum" && word.starts_with(char::is_uppercase) => "variant",
                _ => "",
            };
            if !kind.is_empty() && !doc.is_empty() {
                all.push(Documented {
                    place: format!("{path}:{}: {code}", number + 1),
                    kind,
                    text: doc.join("\n"),
                });
            }
            doc.clear();
        }
    }
    all
}

/// Words with which no noun phrase begins, and no sentence about a noun that was named.
const HEADLESS: [&str; 19] = [
    "As", "But", "By", "For", "How", "In", "It", "Its", "Of", "One", "That", "Those", "What",
    "When", "Where", "Whether", "Which", "Who", "Why",
];

/// Words in `s` that are no verbs.
const NO_VERBS: [&str; 9] = [
    "As", "Its", "This", "Always", "Unless", "Besides", "Less", "Whether", "Bytes",
];

#[test]
fn the_first_line_of_a_public_function_is_a_verb_and_its_object() {
    let all = documented();
    let functions = all.iter().filter(|it| it.kind == "fn");
    assert!(functions.clone().count() > 600);
    let first_word = |it: &Documented| {
        let word = it.text.split([' ', '\n', ',', '.', ':']).next();
        word.unwrap_or_default().to_owned()
    };
    let is_verb = |word: &str| word.ends_with('s') && !NO_VERBS.contains(&word);
    let wrong: Vec<_> = functions
        .filter(|it| !is_verb(&first_word(it)))
        .map(|it| format!("{}\n    {}", it.place, it.text.lines().next().unwrap()))
        .collect();
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_first_line_of_a_type_or_a_field_names_it() {
    let all = documented();
    let named = all.iter().filter(|it| it.kind != "fn");
    assert!(named.clone().count() > 200);
    let wrong: Vec<_> = named
        .filter(|it| HEADLESS.contains(&it.text.split([' ', '\n', ',']).next().unwrap_or_default()))
        .map(|it| format!("{}\n    {}", it.place, it.text.lines().next().unwrap()))
        .collect();
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

/// Turns that a reader has to decode, each with what is said instead.
const BANNED: [(&str, &str); 34] = [
    ("As [`", "says what it does, and links in a second sentence"),
    ("is to be made", "is created"),
    ("are to be made", "are created"),
    ("that is to be ", "the action, in the present"),
    ("there is none", "names what is missing"),
    ("there are none", "names what is missing"),
    ("is none", "names what is missing"),
    ("by and by", "gradually"),
    ("goes nowhere else", "is not passed on"),
    ("has not as many", "has fewer"),
    ("not to be had", "unavailable"),
    ("comes back", "returns to the slab, is freed"),
    ("come back", "return to the slab, are freed"),
    ("came back", "returned"),
    ("gives it to its key", "returns its key"),
    ("lead to values", "refer to values"),
    ("leads to a value", "refers to a value"),
    ("is no key", "is not a key"),
    ("is no connection", "is not a connection"),
    ("is no finite", "is not finite"),
    ("there is as much as", "in proportion to"),
    ("from the start", "at construction"),
    ("all of it there", "allocated at construction"),
    ("anew", "again"),
    ("whoever", "the caller, the program"),
    ("nobody", "no code, no thread"),
    ("beside it", "next to it"),
    ("what it has left over", "names what"),
    ("who can change", "a program that can be changed"),
    ("if it likes", "may"),
    ("for what is", "names what"),
    ("that one has", "names which"),
    ("as no box", "because no box"),
    ("end together", "are dropped together"),
];

/// What the pages and the documentation of public items say, without their code.
#[test]
fn no_public_sentence_has_a_turn_that_must_be_decoded() {
    let mut texts: Vec<(String, String)> = documented()
        .into_iter()
        .map(|it| (it.place, it.text))
        .collect();
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix("//! "));
        let path = file.strip_prefix(root()).unwrap().display().to_string();
        texts.push((path, lines.collect::<Vec<_>>().join("\n")));
    }
    for page in [
        "README.md",
        "BENCHMARKS.md",
        "DESIGN.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "ci/README.md",
        "compat/README.md",
    ] {
        let text = fs::read_to_string(root().join(page)).unwrap_or_default();
        texts.push((page.to_owned(), text));
    }
    let mut pages = 0;
    for entry in fs::read_dir(root().join("src/guide")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages += 1;
            let text = fs::read_to_string(&path).unwrap();
            texts.push((
                path.strip_prefix(root()).unwrap().display().to_string(),
                text,
            ));
        }
    }
    assert!(pages > 10);
    let mut wrong = Vec::new();
    for (place, text) in &texts {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for (turn, instead) in BANNED {
            let mut rest = text.as_str();
            while let Some(at) = rest.find(turn) {
                let before: String = rest[..at].chars().rev().take(40).collect();
                let before: String = before.chars().rev().collect();
                let after: String = rest[at..].chars().take(40 + turn.len()).collect();
                wrong.push(format!("{place}\n    …{before}{after}…\n    {instead}"));
                rest = &rest[at + turn.len()..];
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
