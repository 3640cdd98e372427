//! The house rules as a test: length of files and lines, the table of imports between rooms,
//! circles among the files of one, and words that must not stand anywhere. Each rule is shown to
//! fire. Length of functions and macros that must not stay are clippy's (`Cargo.toml`); rustfmt
//! breaks code into lines, but neither comments nor texts: these are looked at here.

#[path = "tidy/circles.rs"]
mod circles;

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::Visit;

const FILE_LINES: usize = 500;
const COLUMNS: usize = 100;

/// Which room may import which. `error` may be imported everywhere; the rim may import all.
const IMPORTS: [(&str, &[&str]); 15] = [
    ("error", &[]),
    ("study", &[]),
    ("plan", &["study"]),
    ("record", &["study", "plan"]),
    ("lab", &["study"]),
    ("load", &["study", "record", "lab"]),
    ("observe", &["study", "record", "lab"]),
    (
        "run",
        &["study", "plan", "record", "lab", "load", "observe"],
    ),
    (
        "self_test",
        &[
            "study", "plan", "record", "lab", "load", "observe", "analysis",
        ],
    ),
    ("analysis", &["study", "plan", "record"]),
    ("model", &["study", "plan", "record", "analysis"]),
    ("report", &["study", "record", "analysis", "model"]),
    ("live", &["study", "plan", "record", "report", "run"]),
    ("serve", &["record", "analysis", "report", "live"]),
    ("pack", &["study", "plan", "record", "analysis", "report"]),
];
const RIM: [&str; 3] = ["main", "cli", "lib"];

/// Written in two halves, or this file would break its own rule.
const BANNED_TEXTS: [(&str, &str); 11] = [
    (concat!("crates", ".io"), "host of a registry"),
    (concat!("debian", ".org"), "host of a registry"),
    (concat!("debian", ".net"), "host of a registry"),
    (concat!("ubuntu", ".com"), "host of a registry"),
    (concat!("npmjs", "."), "host of a registry"),
    (concat!("maven", ".org"), "host of a registry"),
    (concat!("pypi", ".org"), "host of a registry"),
    (concat!("cdn.mysql", ".com"), "host of a registry"),
    (concat!("repo.mysql", ".com"), "host of a registry"),
    (concat!("mariadb", ".org/"), "host of a registry"),
    (concat!("/wo", "rk/"), "path of one machine"),
];

#[test]
fn the_house_rules_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(root, "", &mut files);
    let count = |ending: &str| {
        files
            .iter()
            .filter(|(path, _)| path.ends_with(ending))
            .count()
    };
    assert!(
        count(".rs") > 10 && count(".toml") > 3,
        "the walk over the project found too little"
    );
    let of_files = files.iter().flat_map(|(path, text)| complaints(path, text));
    let complaints: Vec<String> = of_files.chain(circles::circles(&files)).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// Every text file of the project, by its path below the root.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry of the folder").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_hidden = name.starts_with('.') && name != ".ci";
        if is_hidden || ["target", "Cargo.lock"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            files.push((format!("{prefix}{name}"), text));
        }
    }
}

/// All that is wrong with one file.
fn complaints(path: &str, text: &str) -> Vec<String> {
    let mut found = banned_texts(path, text);
    found.extend(source_tree(path, text));
    if path.ends_with(".rs") {
        let source = Source::read(path, text);
        found.extend(source.long_lines());
        found.extend(source.long_file());
        found.extend(source.imports());
    } else if path.starts_with("studies/") {
        found.extend(long_lines(path, text, |_| false));
    }
    found
}

fn banned_texts(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (banned, why) in BANNED_TEXTS {
            if line.to_lowercase().contains(banned) {
                found.push(format!("{path}:{}: {why}: {banned}", index + 1));
            }
        }
    }
    found
}

/// The program carries its studies, its catalogue and its page: it is installed without its source,
/// so that nothing in it may know where that was.
fn source_tree(path: &str, text: &str) -> Vec<String> {
    const ITS_PLACE: &str = "CARGO_MANIFEST_DIR";
    let lines = (1..).zip(text.lines());
    let known = lines.filter(|(_, line)| path.starts_with("src/") && line.contains(ITS_PLACE));
    known
        .map(|(number, _)| format!("{path}:{number}: the program must not know {ITS_PLACE}"))
        .collect()
}

fn long_lines(path: &str, text: &str, is_exempt: impl Fn(usize) -> bool) -> Vec<String> {
    let lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.chars().count()));
    lines
        .filter(|(line, columns)| *columns > COLUMNS && !is_exempt(*line))
        .map(|(line, columns)| format!("{path}:{line}: {columns} columns, at most {COLUMNS}"))
        .collect()
}

/// A Rust file, read.
struct Source<'t> {
    path: &'t str,
    text: &'t str,
    tokens: Vec<Token>,
    outline: Outline,
}

/// A token, with groups opened up.
struct Token {
    text: String,
    lines: RangeInclusive<usize>,
    is_text: bool,
}

impl Token {
    /// The line that it begins on.
    fn line(&self) -> usize {
        *self.lines.start()
    }
}

/// Lines of test code.
#[derive(Default)]
struct Outline {
    tests: Vec<RangeInclusive<usize>>,
}

impl Visit<'_> for Outline {
    fn visit_item(&mut self, item: &syn::Item) {
        let attributes = match item {
            syn::Item::Fn(item) => &item.attrs[..],
            syn::Item::Mod(item) => &item.attrs[..],
            syn::Item::Impl(item) => &item.attrs[..],
            syn::Item::Use(item) => &item.attrs[..],
            _ => &[],
        };
        if attributes.iter().any(is_test) {
            self.tests.push(lines(item.span()));
        }
        syn::visit::visit_item(self, item);
    }
}

/// `#[test]` and `#[cfg(test)]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    let is_cfg_test = |list: &syn::MetaList| list.tokens.to_string() == "test";
    attribute.path().is_ident("test")
        || attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(is_cfg_test)
}

fn lines(span: proc_macro2::Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let plain = |text: String, span| Token {
        text,
        lines: lines(span),
        is_text: false,
    };
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    proc_macro2::Delimiter::Brace => ["{", "}"],
                    proc_macro2::Delimiter::Bracket => ["[", "]"],
                    proc_macro2::Delimiter::Parenthesis => ["(", ")"],
                    proc_macro2::Delimiter::None => ["", ""],
                };
                tokens.push(plain(open.to_owned(), group.span_open()));
                flatten(group.stream(), tokens);
                tokens.push(plain(close.to_owned(), group.span_close()));
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let is_text = text.contains('"');
                tokens.push(Token {
                    text,
                    lines: lines(literal.span()),
                    is_text,
                });
            }
            other => tokens.push(plain(other.to_string(), other.span())),
        }
    }
}

impl<'t> Source<'t> {
    fn read(path: &'t str, text: &'t str) -> Self {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut outline = Outline::default();
        outline.visit_file(&file);
        let mut tokens = Vec::new();
        flatten(
            text.parse().expect("tokens of a file that parses"),
            &mut tokens,
        );
        Source {
            path,
            text,
            tokens,
            outline,
        }
    }

    /// A file of tests only.
    fn is_test_file(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.starts_with("benches/")
            || self.path.ends_with("tests.rs")
            || self.path.contains("/tests/")
    }

    fn is_test_line(&self, line: usize) -> bool {
        self.is_test_file() || self.outline.tests.iter().any(|lines| lines.contains(&line))
    }

    /// In tests, lines with text are let through: a snapshot cannot be broken.
    fn long_lines(&self) -> Vec<String> {
        let holds_text = |line| {
            self.tokens
                .iter()
                .any(|token| token.is_text && token.lines.contains(&line))
        };
        let is_snapshot = |line| self.is_test_line(line) && holds_text(line);
        long_lines(self.path, self.text, is_snapshot)
    }

    fn long_file(&self) -> Option<String> {
        let count = self.text.lines().count();
        let code = (1..=count).filter(|line| !self.is_test_line(*line)).count();
        let path = self.path;
        (code > FILE_LINES).then(|| format!("{path}: {code} lines without tests, at most 500"))
    }

    /// Imports of other rooms, and any other mention of them, against the table.
    fn imports(&self) -> Vec<String> {
        let Some(room) = self.room() else {
            return Vec::new();
        };
        let Some((_, allowed)) = IMPORTS.iter().find(|(name, _)| *name == room) else {
            return vec![format!(
                "{}: room {room} is not in the table of imports",
                self.path
            )];
        };
        let is_allowed = |name: &str| name == room || name == "error" || allowed.contains(&name);
        self.mentions()
            .into_iter()
            .filter(|(name, line)| !is_allowed(name) && !self.is_test_line(*line))
            .map(|(name, line)| format!("{}:{line}: {room} must not know {name}", self.path))
            .collect()
    }

    /// The room that the file belongs to; none for the rim and for what is not in `src`.
    fn room(&self) -> Option<&'t str> {
        let inside = self.path.strip_prefix("src/")?;
        let first = inside.split('/').next()?;
        let room = first.strip_suffix(".rs").unwrap_or(first);
        (!RIM.contains(&room) && !self.is_test_file()).then_some(room)
    }

    /// How many `super` lead from this file to the root of the crate.
    fn depth(&self) -> usize {
        let inside = self.path.trim_start_matches("src/").trim_end_matches(".rs");
        inside.trim_end_matches("/mod").split('/').count()
    }

    /// Names that follow `crate::`, or as many `super::` as lead there.
    fn mentions(&self) -> Vec<(&str, usize)> {
        let mut found = Vec::new();
        let mut index = 0;
        while index < self.tokens.len() {
            let (is_root, next) = self.root_at(index);
            if is_root {
                found.extend(self.names_at(next));
            }
            index = next.max(index + 1);
        }
        found
    }

    /// Whether a path to the crate's root begins at a token, and where it goes on.
    fn root_at(&self, index: usize) -> (bool, usize) {
        let is = |at: usize, text: &str| self.tokens.get(at).is_some_and(|t| t.text == text);
        let is_step = |at: usize, word| is(at, word) && is(at + 1, ":") && is(at + 2, ":");
        if is_step(index, "crate") {
            return (true, index + 3);
        }
        let mut at = index;
        while is_step(at, "super") {
            at += 3;
        }
        (at > index && (at - index) / 3 >= self.depth(), at)
    }

    /// The name at a token, or the first name of each part of a group in braces.
    fn names_at(&self, start: usize) -> Vec<(&str, usize)> {
        let mut names = Vec::new();
        let mut depth = 0;
        for (index, token) in self.tokens.iter().enumerate().skip(start) {
            match token.text.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                "," => {}
                text if index == start => return vec![(text, token.line())],
                text if depth == 1
                    && ["{", ","].contains(&self.tokens[index - 1].text.as_str()) =>
                {
                    names.push((text, token.line()));
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        names
    }
}

// Each rule fires on a bad sample, and lets a good one pass.

fn fires(path: &str, text: &str, expected: &str) {
    let found = complaints(path, text);
    assert!(
        found.iter().any(|complaint| complaint.contains(expected)),
        "{expected}: {found:?}"
    );
}

fn passes(path: &str, text: &str) {
    assert_eq!(complaints(path, text), [] as [String; 0]);
}

#[test]
fn long_files_are_seen() {
    let code = "const A: u8 = 1;\n";
    passes("src/plan.rs", &code.repeat(500));
    fires("src/plan.rs", &code.repeat(501), "501 lines without tests");
    let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", code.repeat(400));
    passes("src/plan.rs", &format!("{}{tests}", code.repeat(400)));
    passes("src/plan/tests.rs", &code.repeat(501));
}

#[test]
fn long_lines_are_seen() {
    let line = |length: usize| format!("// {}\n", "é".repeat(length - 3));
    passes("src/plan.rs", &line(100));
    fires("src/plan.rs", &line(101), "src/plan.rs:1: 101 columns");
    fires(
        "studies/x.toml",
        &line(101).replace("//", "##"),
        "101 columns",
    );
    let text = format!("const A: &str = \"{}\";\n", "x".repeat(100));
    fires("src/plan.rs", &text, "columns");
    passes("tests/x.rs", &text);
    passes(
        "src/plan.rs",
        &format!("#[cfg(test)]\nmod tests {{\n{text}}}\n"),
    );
    fires("tests/x.rs", &line(101), "101 columns");
}

#[test]
fn imports_against_the_table_are_seen() {
    fires(
        "src/study/mode.rs",
        "use crate::plan::Cell;",
        "study must not know plan",
    );
    fires(
        "src/report/text.rs",
        "use crate::{study::Study, lab, record};",
        "must not know lab",
    );
    fires(
        "src/plan.rs",
        "fn f() { crate::run::go(); }",
        "src/plan.rs:1: plan must not know run",
    );
    fires(
        "src/plan.rs",
        "fn f() { g!(crate::run::go()); }",
        "plan must not know run",
    );
    fires("src/plan.rs", "use super::run;", "plan must not know run");
    fires(
        "src/study/written/walk.rs",
        "use super::super::super::lab::X;",
        "must not know lab",
    );
    fires("src/study/mod.rs", "use crate::*;", "study must not know *");
    fires("src/newroom.rs", "fn f() {}", "newroom is not in the table");
}

#[test]
fn imports_within_the_table_pass() {
    passes(
        "src/study/mode.rs",
        "use super::Variables;\nuse crate::{error::Mistake, study::X};",
    );
    passes("src/study/written/walk.rs", "use super::super::limits;");
    passes(
        "src/run/mod.rs",
        "use crate::{lab::{Node, report}, load::Driver};",
    );
    passes("src/main.rs", "use crate::report::text;");
    passes(
        "src/plan.rs",
        "#[cfg(test)]\nmod tests {\n    use crate::run;\n}\n",
    );
}

#[test]
fn banned_words_are_seen() {
    for (banned, why) in BANNED_TEXTS {
        fires(
            "docs/x.md",
            &format!("see https://x{}y", banned.to_uppercase()),
            why,
        );
        fires("src/plan.rs", &format!("// {banned}"), why);
    }
    passes("docs/x.md", "see the machine's own mirror");
}

#[test]
fn a_program_that_needs_its_source_is_seen() {
    let text = "const ROOT: &str = env!(\"CARGO_MANIFEST_DIR\");\n";
    fires(
        "src/study/mode.rs",
        text,
        "src/study/mode.rs:1: the program must not know",
    );
    passes("tests/x.rs", text);
    passes(
        "src/study/mode.rs",
        "const FILE: &str = include_str!(\"x.toml\");\n",
    );
}
