//! The rules of the source tree, checked on the sources: which files may import each other,
//! how long a file is, and that what a comment cites exists.
#![cfg(not(miri))]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

const MOST_LINES: usize = 1200;

/// A source file below `src/`.
struct File {
    /// `slab/cell/mod.rs`.
    path: String,
    text: String,
    /// `["slab", "cell"]`.
    module: Vec<String>,
    imports: Vec<Import>,
}

/// A path to an item, without `crate`, `super` and `self`.
struct Import {
    path: Vec<String>,
    /// Whether others can name the item by way of this file, and under which name.
    name: Option<String>,
    /// `pub use` of an item of a module below this file, which does not use it itself: not a
    /// dependency.
    reexport: bool,
}

/// All files below `src/`.
fn files() -> Vec<File> {
    let mut files = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    collect(&root, "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let modules: BTreeSet<_> = files.iter().map(|file| file.module.clone()).collect();
    for file in &mut files {
        file.imports = imports(file, &modules);
    }
    assert!(files.len() > 100);
    files
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap().path();
        let name = entry.file_name().unwrap().to_str().unwrap();
        let path = format!("{prefix}{name}");
        if entry.is_dir() {
            collect(&entry, &format!("{path}/"), files);
        } else if let Some(module) = path.strip_suffix(".rs") {
            let mut module: Vec<_> = module.split('/').map(String::from).collect();
            if matches!(module.last().unwrap().as_str(), "mod" | "lib") {
                module.pop();
            }
            files.push(File {
                text: fs::read_to_string(&entry).unwrap(),
                path,
                module,
                imports: Vec::new(),
            });
        }
    }
}

/// Whether a file has only tests: what they import counts for nothing.
fn is_test(path: &str) -> bool {
    path.split('/')
        .any(|part| matches!(part, "tests" | "tests.rs" | "models.rs" | "witness.rs"))
}

/// The code of a file, without comments and without its inline modules of tests. A line of
/// another inline module has its `super::` taken off: it means the file.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut inline: Option<bool> = None;
    let mut documented = false;
    for line in text.lines() {
        // After `#[cfg(doc)]`: imports that links in the documentation need.
        let skipped = documented;
        documented = line.trim() == "#[cfg(doc)]" || (skipped && !line.trim_end().ends_with(';'));
        let line = line.split("//").next().unwrap();
        if let Some(test) = inline {
            if line.starts_with('}') {
                inline = None;
            } else if !test {
                code.push_str(&line.replacen("super::", "", 1));
                code.push('\n');
            }
        } else if let Some(name) = inline_module(line) {
            inline = Some(matches!(name, "tests" | "models"));
        } else if !skipped {
            code.push_str(line);
            code.push('\n');
        }
    }
    code
}

/// The name of the module that this line begins, if it does.
fn inline_module(line: &str) -> Option<&str> {
    let rest = line.strip_suffix(" {")?;
    let (before, name) = rest.split_once("mod ")?;
    (before.is_empty() || before.starts_with("pub")).then_some(name)
}

fn imports(file: &File, modules: &BTreeSet<Vec<String>>) -> Vec<Import> {
    let code = code(&file.text);
    let mut imports = Vec::new();
    let mut add = |path: &[String], name: Option<String>, public: bool| {
        if let Some(path) = absolute(&file.module, path, modules) {
            let reexport = public && path.starts_with(&file.module);
            imports.push(Import {
                path,
                name,
                reexport,
            });
        }
    };
    let mut rest = code.as_str();
    let mut others = String::new();
    while let Some(line_end) = rest.find('\n') {
        let line = &rest[..line_end];
        let trimmed = line.trim_start();
        let after_pub = match trimmed.strip_prefix("pub") {
            Some(after) if after.starts_with('(') => after.split_once(") ").map(|split| split.1),
            Some(after) => after.strip_prefix(' '),
            None => Some(trimmed),
        };
        if let Some(tree) = after_pub.and_then(|line| line.strip_prefix("use ")) {
            let start = line_end - tree.len();
            let end = start + rest[start..].find(';').unwrap();
            let public = trimmed.starts_with("pub");
            leaves(&rest[start..end], &mut Vec::new(), &mut |path, name| {
                add(path, Some(name.into()), public);
            });
            rest = &rest[end + 1..];
        } else {
            others.push_str(line);
            others.push('\n');
            rest = &rest[line_end + 1..];
        }
    }
    for path in others.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        if path.contains("::") && !path.starts_with("::") {
            let path: Vec<_> = path.split("::").map(String::from).collect();
            add(&path, None, false);
        }
    }
    let words: BTreeSet<_> = others
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .collect();
    for import in imports.iter_mut().filter(|import| import.reexport) {
        let name = import.name.as_deref();
        import.reexport = !name.is_some_and(|name| words.contains(name));
    }
    imports
}

/// Calls `each` for every path of a tree of imports, and the name that it gives the item.
fn leaves(tree: &str, prefix: &mut Vec<String>, each: &mut impl FnMut(&[String], &str)) {
    let tree = tree.trim();
    let depth = prefix.len();
    if let Some(open) = tree.find('{') {
        let head = tree[..open].split("::").map(str::trim);
        prefix.extend(head.filter(|part| !part.is_empty()).map(String::from));
        let body = &tree[open + 1..tree.rfind('}').unwrap()];
        let (mut start, mut nested) = (0, 0);
        for (position, c) in body.char_indices().chain([(body.len(), ',')]) {
            match c {
                '{' => nested += 1,
                '}' => nested -= 1,
                ',' if nested == 0 => {
                    if !body[start..position].trim().is_empty() {
                        leaves(&body[start..position], prefix, each);
                    }
                    start = position + 1;
                }
                _ => {}
            }
        }
    } else {
        let (path, name) = match tree.split_once(" as ") {
            Some((path, name)) => (path, Some(name.trim())),
            None => (tree, None),
        };
        prefix.extend(path.split("::").map(|part| part.trim().to_string()));
        if prefix.last().unwrap() == "self" {
            prefix.pop();
        }
        let name = name.unwrap_or(prefix.last().unwrap()).to_string();
        each(prefix, &name);
    }
    prefix.truncate(depth);
}

/// The path from the root of the crate, if it leads there.
fn absolute(
    module: &[String],
    path: &[String],
    modules: &BTreeSet<Vec<String>>,
) -> Option<Vec<String>> {
    let mut from = module.to_vec();
    let mut rest = path;
    match path[0].as_str() {
        "crate" => {
            from.clear();
            rest = &path[1..];
        }
        "super" | "self" => {
            while let Some(first @ ("super" | "self")) = rest.first().map(String::as_str) {
                if first == "super" {
                    from.pop();
                }
                rest = &rest[1..];
            }
        }
        first => {
            from.push(first.into());
            let below = modules.contains(&from);
            from.pop();
            if !below {
                return None;
            }
        }
    }
    from.extend(rest.iter().cloned());
    Some(from)
}

/// The file in which the item of this path is declared.
fn owner<'a>(
    files: &'a BTreeMap<&[String], &'a File>,
    path: &[String],
    depth: usize,
) -> Option<&'a File> {
    let known = (0..=path.len())
        .rev()
        .find(|&end| files.contains_key(&path[..end]))?;
    let file = files[&path[..known]];
    let Some(item) = path.get(known) else {
        return Some(file);
    };
    // By way of what that file imports, if it does.
    for import in &file.imports {
        if import.name.as_ref() == Some(item) && depth < 8 {
            let mut path_there = import.path.clone();
            path_there.extend_from_slice(&path[known + 1..]);
            return owner(files, &path_there, depth + 1);
        }
    }
    Some(file)
}

/// Fails with these lines, if there are any.
fn none(what: &str, found: &[String]) {
    let mut list = String::new();
    for line in found {
        let _ = write!(list, "\n    {line}");
    }
    assert!(found.is_empty(), "{what}:{list}");
}

#[test]
fn no_two_files_import_each_other() {
    let files = files();
    let by_module: BTreeMap<_, _> = files.iter().map(|f| (f.module.as_slice(), f)).collect();
    let mut uses = BTreeMap::new();
    for file in files.iter().filter(|file| !is_test(&file.path)) {
        for import in file.imports.iter().filter(|import| !import.reexport) {
            let Some(used) = owner(&by_module, &import.path, 0) else {
                continue;
            };
            if used.path != file.path {
                uses.entry((file.path.as_str(), used.path.as_str()))
                    .or_insert_with(|| import.path.join("::"));
            }
        }
    }
    // What reads the sources does read them.
    assert!(uses.len() > 500);
    let mut found = Vec::new();
    for ((a, b), there) in uses.iter().filter(|((a, b), _)| a < b) {
        if let Some(back) = uses.get(&(b, a)) {
            found.push(format!("{a} and {b} ({there}, {back})"));
        }
    }
    none("files that import each other", &found);
}

#[test]
fn raw_imports_no_family() {
    let families = [
        "slab", "key_slab", "pool", "bump", "bytes", "epoch", "sync", "memory",
    ];
    let mut found = Vec::new();
    for file in files() {
        for import in &file.imports {
            if file.path.starts_with("raw/")
                && !is_test(&file.path)
                && import
                    .path
                    .first()
                    .is_some_and(|first| families.contains(&first.as_str()))
            {
                found.push(format!("{} imports {}", file.path, import.path.join("::")));
            }
        }
    }
    none("`raw/` knows no family", &found);
}

#[test]
fn raw_has_only_what_two_folders_need() {
    let files = files();
    let by_module: BTreeMap<_, _> = files.iter().map(|f| (f.module.as_slice(), f)).collect();
    let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in &files {
        for import in file.imports.iter().filter(|import| !import.reexport) {
            let Some(used) = owner(&by_module, &import.path, 0) else {
                continue;
            };
            let folder = file.path.split('/').next().unwrap();
            if used.path != file.path {
                users.entry(&used.path).or_default().insert(folder);
            }
        }
    }
    let mut found = Vec::new();
    for file in &files {
        if file.path.starts_with("raw/") && !file.path.ends_with("/mod.rs") {
            let users = users.get(file.path.as_str()).cloned().unwrap_or_default();
            if !users.contains("raw") && users.len() < 2 {
                found.push(format!("{}: {users:?}", file.path));
            }
        }
    }
    none("needed by one family at most", &found);
}

#[test]
fn no_file_is_longer_than_1200_lines() {
    let mut found = Vec::new();
    for file in files() {
        let lines = file.text.lines().count();
        if lines > MOST_LINES {
            found.push(format!("{}: {lines}", file.path));
        }
    }
    none("lines", &found);
}

/// The comments of a file, one after the other: where each begins, and its text on one line.
fn comments(text: &str) -> Vec<(usize, String)> {
    let mut comments: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in text.lines().enumerate() {
        let Some((before, comment)) = line.split_once("//") else {
            goes_on = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim();
        if goes_on && before.trim().is_empty() {
            let last = &mut comments.last_mut().unwrap().1;
            last.push(' ');
            last.push_str(comment);
        } else {
            comments.push((number + 1, comment.into()));
        }
        goes_on = before.trim().is_empty();
    }
    comments
}

/// The invariants that a file defines: `* F1: …`, or `* F1 (where): …`.
fn defined(text: &str) -> impl Iterator<Item = &str> {
    let documentation = text.lines().filter_map(|line| {
        line.strip_prefix("//! * ")
            .or_else(|| line.strip_prefix("/// * "))
    });
    documentation.filter_map(|line| {
        let (name, _) = line.split_once(':')?;
        let name = match name.split_once(" (") {
            Some((name, place)) if place.ends_with(')') => name,
            _ => name,
        };
        is_invariant(name).then_some(name)
    })
}

/// The folder of a file right below `src/`, or its own name.
fn family(path: &str) -> &str {
    path.split('/').next().unwrap()
}

/// `F1`, or a name: `free-once`.
fn is_invariant(word: &str) -> bool {
    let mut bytes = word.bytes();
    if is_name(word) {
        return true;
    }
    bytes
        .next()
        .is_some_and(|letter| letter.is_ascii_uppercase())
        && bytes.next().is_some_and(|number| number.is_ascii_digit())
        && bytes.next().is_none()
}

/// Words in lower case with hyphens between them. A comment cites one in parentheses, so that it
/// is told from other words with hyphens.
fn is_name(word: &str) -> bool {
    let mut parts = word.split('-');
    word.contains('-')
        && parts.all(|part| !part.is_empty() && part.bytes().all(|c| c.is_ascii_lowercase()))
}

/// Whether a comment has that name in parentheses, by itself or among others.
fn in_parentheses(comment: &str, name: &str) -> bool {
    let begins = [format!("({name}"), format!(", {name}")];
    begins.iter().any(|begin| {
        comment.match_indices(begin.as_str()).any(|(at, _)| {
            let rest = &comment[at + begin.len()..];
            [")", ", ", " of `"].iter().any(|end| rest.starts_with(end))
                && comment[..=at].rfind('(') > comment[..at].rfind(')')
        })
    })
}

/// What a comment cites: an invariant, and the file that is named for it, if one is.
fn cited(comment: &str) -> Vec<(&str, Option<&str>)> {
    let mut cited = Vec::new();
    // Every second part is in backticks.
    let parts: Vec<_> = comment.split('`').collect();
    for (index, part) in parts.iter().enumerate().step_by(2) {
        let mut words = part
            .split(|c: char| {
                !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '\'' | '&' | '/'))
            })
            .map(|word| word.trim_end_matches(['.', '/']).trim_end_matches("'s"))
            .filter(|word| !word.is_empty())
            .peekable();
        while let Some(word) = words.next() {
            if !is_invariant(word) || (is_name(word) && !in_parentheses(comment, word)) {
                continue;
            }
            // `F1 of `, then the file in backticks.
            let rest = words.clone().collect::<Vec<_>>();
            let file = matches!(
                rest.as_slice(),
                ["of" | "in"] | ["to" | "and", _, "of" | "in"]
            )
            .then(|| parts.get(index + 1).copied())
            .flatten()
            .filter(|name| name.ends_with(".rs") || name.ends_with('/'));
            cited.push((word, file));
        }
    }
    cited
}

/// Whether the headers of a family say that they cite the invariants of another file:
/// `F in `raw/stack.rs``.
fn borrows(files: &[File], of: &str, letter: &str, path: &str) -> bool {
    let cited = format!(" {letter} in `{path}`");
    let mut headers = files
        .iter()
        .filter(|file| family(&file.path) == of && file.path.ends_with("mod.rs"));
    headers.any(|file| {
        let mut comments = comments(&file.text).into_iter();
        comments.any(|(_, comment)| comment.contains(&cited))
    })
}

#[test]
fn invariants_that_comments_cite_are_defined() {
    let files = files();
    // By name: the files that define it.
    let mut definitions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut found = Vec::new();
    for file in &files {
        for name in defined(&file.text) {
            let others = definitions.entry(name).or_default();
            let twin = others
                .iter()
                .find(|other| is_name(name) || family(other) == family(&file.path));
            if let Some(twin) = twin {
                found.push(format!("{name} is defined by {twin} and {}", file.path));
            }
            others.push(&file.path);
        }
    }
    for file in &files {
        for (line, comment) in comments(&file.text) {
            for (name, named) in cited(&comment) {
                let places = definitions.get(name).map_or(&[][..], Vec::as_slice);
                let known = places.iter().any(|place| match named {
                    Some(named) if named.ends_with('/') => place.contains(named),
                    Some(named) => *place == named || place.ends_with(&format!("/{named}")),
                    None => {
                        let own = family(&file.path);
                        family(place) == own || borrows(&files, own, &name[..1], place)
                    }
                });
                if !known {
                    let named = named.unwrap_or("its family");
                    found.push(format!("src/{}:{line}: {name} of {named}", file.path));
                }
            }
        }
    }
    none("cited and not defined, or defined twice", &found);
}

const DOCUMENTS: [&str; 5] = [
    "DESIGN.md",
    "BENCHMARKS.md",
    "README.md",
    "benches/ATTEMPTS.md",
    "benches/ROWS.md",
];

/// The documents that are there, and their text: the benches are not in the package.
fn documents() -> impl Iterator<Item = (&'static str, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let there = DOCUMENTS
        .into_iter()
        .filter(move |name| !name.starts_with("benches/") || root.join("benches").exists());
    there.map(move |name| (name, fs::read_to_string(root.join(name)).unwrap()))
}

/// Every comment and document, and where it stands.
fn prose(files: &[File]) -> Vec<(String, String)> {
    let mut prose = Vec::new();
    for file in files {
        for (line, comment) in comments(&file.text) {
            prose.push((format!("src/{}:{line}", file.path), comment));
        }
    }
    for (name, text) in documents() {
        prose.push((name.into(), text.replace('\n', " ")));
    }
    prose
}

#[test]
fn files_that_comments_and_documents_name_exist() {
    let files = files();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for (place, text) in prose(&files) {
        for name in text.split('`').skip(1).step_by(2) {
            let named = name.strip_suffix(".rs").is_some_and(|stem| {
                stem.chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | '/'))
            });
            // The benches are not in the package.
            if !named || name.starts_with("benches/") || root.join(name).exists() {
                continue;
            }
            let below = format!("/{name}");
            if !files
                .iter()
                .any(|file| file.path == name || file.path.ends_with(&below))
            {
                found.push(format!("{place}: {name}"));
            }
        }
    }
    none("named and not there", &found);
}

#[test]
fn sections_that_comments_and_documents_cite_exist() {
    let documents: Vec<_> = documents().collect();
    let places = prose(&files());
    let (mut found, mut cited) = (Vec::new(), 0);
    for (document, sections) in &documents {
        for (place, text) in &places {
            for (at, _) in text.match_indices(document) {
                let after = text[at + document.len()..].trim_start_matches(['`', ',', ' ']);
                let Some((title, _)) = after.strip_prefix('"').and_then(|it| it.split_once('"'))
                else {
                    continue;
                };
                cited += 1;
                if !has_section(sections, title) {
                    found.push(format!("{place}: {document}, \"{title}\""));
                }
            }
        }
    }
    assert!(cited > 0);
    none("cited and not there", &found);
}

/// Whether a heading is called so, or a row of a table begins so, or a paragraph does, in bold.
fn has_section(text: &str, title: &str) -> bool {
    text.lines().any(|line| {
        let begins = |line: &str| {
            let rest = line.strip_prefix(title);
            rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        line.trim_start_matches('#') != line && line.trim_start_matches('#').trim() == title
            || line.strip_prefix("| ").is_some_and(begins)
            || line.strip_prefix("**").is_some_and(begins)
    })
}
