//! The rules of the source tree, checked on the sources: which family may import which, how long
//! a file is, and that what a comment cites exists.
#![cfg(not(miri))]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const MOST_LINES: usize = 1200;

/// Which of the others each folder below `src/` may import; DESIGN.md, "Layers".
const IMPORTS: [(&str, &[&str]); 11] = [
    ("raw", &[]),
    ("memory", &["raw"]),
    ("slab", &["raw", "memory"]),
    ("key_slab", &["raw", "memory"]),
    ("collections", &["raw", "memory", "key_slab"]),
    ("pool", &["raw", "memory"]),
    ("bump", &["raw", "memory"]),
    ("bytes", &["raw", "memory"]),
    ("epoch", &["raw", "memory"]),
    ("sync", &["raw", "memory", "slab", "bytes"]),
    ("guide", &[]),
];

/// Features and crates that comments and documents name: they look like invariants.
const NO_INVARIANTS: &str = "allocator-api2 crossbeam-channel crossbeam-epoch crossbeam-queue \
                             go-slab intrusive-collections lockfree-object-pool \
                             nexus-collections nexus-slab object-pool \
                             os-memory priority-queue \
                             sharded-slab temporal-slab";

/// Those of the benches are not in the package.
const DOCUMENTS: &str = "DESIGN.md BENCHMARKS.md README.md benches/ATTEMPTS.md benches/ROWS.md";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A source file below `src/`.
struct File {
    /// `slab/cell/mod.rs`.
    path: String,
    text: String,
}

/// All files below `src/`.
fn files() -> Vec<File> {
    let (mut files, mut folders) = (Vec::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join("src").join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                folders.push(format!("{path}/"));
            } else if path.ends_with(".rs") {
                let text = fs::read_to_string(entry.path()).unwrap();
                files.push(File { path, text });
            }
        }
    }
    assert!(files.len() > 50);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The documents that are there, and their text.
fn documents() -> Vec<(String, String)> {
    let text = |name: &str| Some((name.into(), fs::read_to_string(root().join(name)).ok()?));
    DOCUMENTS.split(' ').filter_map(text).collect()
}

/// Every comment: where it begins, and its text on one line.
fn comments(files: &[File]) -> Vec<(String, String)> {
    let mut comments: Vec<(String, String)> = Vec::new();
    for File { path, text } in files {
        let mut goes_on = false;
        for (number, line) in text.lines().enumerate() {
            let (code, comment) = line.split_once("//").unwrap_or((line, ""));
            let alone = code.trim().is_empty() && code != line;
            if !(goes_on && alone) {
                comments.push((format!("src/{path}:{}", number + 1), String::new()));
            }
            let text = &mut comments.last_mut().unwrap().1;
            text.push_str(comment.trim_start_matches(['/', '!']).trim());
            text.push(' ');
            goes_on = alone;
        }
    }
    comments
}

/// The pages of the guide, and their text.
fn guide() -> Vec<(String, String)> {
    let entries = fs::read_dir(root().join("src/guide")).unwrap();
    let pages = entries.map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|it| it == "md"));
    pages
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let place = path.strip_prefix(root()).unwrap().display().to_string();
            (place, text)
        })
        .collect()
}

/// Every comment, document and page of the guide: where it stands, and its text on one line.
fn prose(files: &[File]) -> Vec<(String, String)> {
    let documents = documents().into_iter().chain(guide());
    let documents = documents.map(|(name, text)| (name, text.replace('\n', " ")));
    comments(files).into_iter().chain(documents).collect()
}

/// The code of a file, without comments and without modules of tests.
fn code(file: &File) -> String {
    let (mut code, mut in_tests) = (String::new(), false);
    for line in file.text.lines() {
        in_tests |= matches!(line, "mod tests {" | "mod models {");
        if in_tests {
            in_tests = !line.starts_with('}');
        } else {
            code.push_str(line.split("//").next().unwrap());
            code.push('\n');
        }
    }
    code
}

/// The words of a text, of letters, digits and these characters.
fn words<'a>(text: &'a str, others: &'static str) -> impl Iterator<Item = &'a str> {
    text.split(|c: char| !c.is_alphanumeric() && !others.contains(c))
}

/// `stack-room`: lower-case words with hyphens.
fn is_name(word: &str) -> bool {
    let is_lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_part = |part: &str| !part.is_empty() && part.chars().all(is_lower);
    word.contains('-') && word.split('-').all(is_part)
}

/// The invariant that a line defines: ``* `stack-room`: …``, or ``* `own-serial` (local): …``.
fn defined(line: &str) -> Option<&str> {
    let item = line.strip_prefix("//! * `");
    let item = item.or_else(|| line.strip_prefix("/// * `"))?;
    let (name, rest) = item.split_once('`')?;
    ((rest.starts_with(": ") || rest.starts_with(" (")) && is_name(name)).then_some(name)
}

/// Fails with these lines, if there are any.
fn none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n    {}", found.join("\n    "));
}

#[test]
fn families_import_only_what_the_layers_say() {
    let (layers, mut imports, mut found) = (BTreeMap::from(IMPORTS), 0, Vec::new());
    let tests = ["tests", "tests.rs", "models.rs", "witness.rs"];
    let is_code = |file: &File| !file.path.split('/').any(|part| tests.contains(&part));
    for file in files().into_iter().filter(is_code) {
        let Some((family, _)) = file.path.split_once('/') else {
            continue;
        };
        let allowed = layers[family];
        for path in code(&file).split("crate::").skip(1) {
            // The first name of a path, or all names of a tree.
            let (path, names) = match path.strip_prefix('{') {
                Some(tree) => (tree.split(';').next().unwrap(), usize::MAX),
                None => (path, 1),
            };
            for name in words(path, "_").take(names) {
                let is_other = layers.contains_key(name) && name != family;
                imports += usize::from(is_other);
                if is_other && !allowed.contains(&name) {
                    found.push(format!("{} imports {name}", file.path));
                }
            }
        }
    }
    assert!(imports > 100);
    none("imports", &found);
}

#[test]
fn no_file_is_longer_than_1200_lines() {
    let mut files = files();
    files.retain(|file| file.text.lines().count() > MOST_LINES);
    let long: Vec<_> = files.into_iter().map(|file| file.path).collect();
    none("too long", &long);
}

#[test]
fn invariants_have_names_of_their_own_and_are_cited() {
    let (files, mut found) = (files(), Vec::new());
    let (mut definitions, mut mentions) = (BTreeMap::new(), BTreeMap::<_, usize>::new());
    for File { path, text } in &files {
        for name in text.lines().filter_map(defined) {
            if let Some(other) = definitions.insert(name, path) {
                found.push(format!("`{name}` is defined in {other} and in {path}"));
            }
        }
        // In comments and in the messages of checks, the definitions among them.
        for name in words(text, "-").filter(|word| is_name(word)) {
            *mentions.entry(name).or_default() += 1;
        }
    }
    assert!(definitions.len() > 50);
    let uncited = definitions.iter().filter(|(name, _)| mentions[*name] < 2);
    found.extend(uncited.map(|(name, path)| format!("{path}: `{name}` is cited nowhere")));
    let others: Vec<_> = NO_INVARIANTS.split(' ').collect();
    for (place, text) in prose(&files) {
        for (index, part) in text.split('`').enumerate() {
            let wrong = index % 2 == 1
                && is_name(part)
                && !definitions.contains_key(part)
                && !others.contains(&part);
            if wrong {
                found.push(format!("{place}: names no invariant: {part}"));
            }
        }
    }
    none("invariants", &found);
}

#[test]
fn files_that_comments_and_documents_name_exist() {
    let (files, mut found) = (files(), Vec::new());
    for (place, text) in prose(&files) {
        for name in text.split('`').skip(1).step_by(2) {
            let is_path = name.ends_with(".rs") && words(name, "_/.").count() == 1;
            let is_source = |file: &File| format!("/{}", file.path).ends_with(&format!("/{name}"));
            // The benches are not in the package.
            let is_other = name.starts_with("benches/") || root().join(name).exists();
            if is_path && !is_other && !files.iter().any(is_source) {
                found.push(format!("{place}: {name}"));
            }
        }
    }
    none("named and not there", &found);
}

#[test]
fn sections_that_comments_and_documents_cite_exist() {
    let (places, mut found, mut cited) = (prose(&files()), Vec::new(), 0);
    for (document, sections) in documents() {
        for (place, text) in &places {
            for after in text.split(&document).skip(1) {
                let after = after.trim_start_matches(['`', ',', ' ']).strip_prefix('"');
                if let Some((title, _)) = after.and_then(|after| after.split_once('"')) {
                    cited += 1;
                    if !sections.lines().any(|line| begins_section(line, title)) {
                        found.push(format!("{place}: {document}, \"{title}\""));
                    }
                }
            }
        }
    }
    assert!(cited > 0);
    none("cited and not there", &found);
}

/// Whether a line is a heading of that title, or a row or a bold paragraph that begins with it.
fn begins_section(line: &str, title: &str) -> bool {
    let heading = line.trim_start_matches('#');
    let begun = line.strip_prefix("| ").or_else(|| line.strip_prefix("**"));
    let rest = begun.and_then(|begun| begun.strip_prefix(title));
    heading != line && heading.trim() == title
        || rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}
