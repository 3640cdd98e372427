//! Circles among the files of a room: files that import each other in rounds.
//!
//! A file imports another if it names something of it by a path: in a `use`, in code or in a macro,
//! from `crate`, `super`, `self` or a module of its own. What a third file merely hands on counts
//! as the file's that defines it: so a `mod.rs` ties nobody by its `pub use`, unless it uses the
//! name itself. Test code is left out. A method called on a value leaves no trace; but its type was
//! named somewhere, or it came from a file that names it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, Token};

/// `["analysis", "cells"]` for `src/analysis/cells.rs`; nothing for the root of the crate.
type Module = Vec<String>;

/// What a file names, and what it can be asked for.
struct File {
    path: String,
    /// Every name that follows `use`, by what it is called here.
    brought: BTreeMap<String, Module>,
    /// Paths that it uses.
    used: Vec<Module>,
}

/// Who imports whom, by path.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// A complaint for each circle.
pub fn circles(files: &[(String, String)]) -> Vec<String> {
    let imports = House::read(files).imports();
    let reached: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|path| (&path[..], reached(path, &imports)))
        .collect();
    let mut found = Vec::new();
    for (path, others) in &reached {
        let is_back = |other: &&&str| reached[**other].contains(path);
        let circle: Vec<&str> = others.iter().filter(is_back).copied().collect();
        // Told once, at the first of its files.
        if circle.first() == Some(path) {
            found.push(format!("{path}: a circle: {}", arrows(&circle, &imports)));
        }
    }
    found
}

/// All that a file imports, or that is imported there.
fn reached<'i>(path: &str, imports: &'i Imports) -> BTreeSet<&'i str> {
    let mut seen = BTreeSet::new();
    let mut ahead: Vec<&str> = vec![path];
    while let Some(next) = ahead.pop() {
        for other in imports.get(next).into_iter().flatten() {
            if seen.insert(&other[..]) {
                ahead.push(other);
            }
        }
    }
    seen
}

/// Who imports whom within a circle.
fn arrows(circle: &[&str], imports: &Imports) -> String {
    let of = |path: &&str| {
        let others = imports[*path]
            .iter()
            .filter(|other| circle.contains(&&other[..]));
        let others: Vec<&str> = others.map(|other| &other[..]).collect();
        format!("{path} -> {}", others.join(", "))
    };
    let all: Vec<String> = circle.iter().map(of).collect();
    all.join("; ")
}

/// All files but tests, by their modules.
struct House(BTreeMap<Module, File>);

impl House {
    fn read(files: &[(String, String)]) -> House {
        let code = files.iter().filter(|(path, _)| path.ends_with(".rs"));
        let sources: Vec<Source> = code
            .filter(|(path, _)| path.starts_with("src/"))
            .map(|(path, text)| Source::read(path, text))
            .collect();
        let for_tests: Vec<Module> = sources.iter().flat_map(modules_for_tests).collect();
        let is_test = |module: &Module| for_tests.iter().any(|test| module.starts_with(test));
        let files = sources.iter().filter(|source| !source.is_test_file());
        let files = files.map(|source| (module_of(source.path), File::read(source)));
        House(files.filter(|(module, _)| !is_test(module)).collect())
    }

    fn imports(&self) -> Imports {
        let of_file = |(module, file): (&Module, &File)| {
            let used = file
                .used
                .iter()
                .filter_map(|path| self.resolve(module, path, 0));
            let others =
                used.filter(|other| is_same_room(&file.path, other) && *other != file.path);
            (file.path.clone(), others.map(str::to_owned).collect())
        };
        self.0.iter().map(of_file).collect()
    }

    /// The file that defines what a path in a module means; `None` of what is not ours.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<&str> {
        let mut module = from.clone();
        let mut rest = path;
        while let [step, after @ ..] = rest {
            match &step[..] {
                "crate" => module.clear(),
                "super" => drop(module.pop()),
                "self" => {}
                _ => break,
            }
            rest = after;
        }
        let is_rooted = rest.len() < path.len();
        for (index, name) in rest.iter().enumerate() {
            let child = [&module[..], std::slice::from_ref(name)].concat();
            let file = self.0.get(&module);
            let brought = file.and_then(|file| file.brought.get(name));
            match brought.filter(|brought| *brought != path && depth < 20) {
                _ if self.0.contains_key(&child) => module = child,
                Some(brought) => {
                    let whole = [brought, &rest[index + 1..]].concat();
                    return self.resolve(&module, &whole, depth + 1);
                }
                None if index == 0 && !is_rooted => return None,
                None => break,
            }
        }
        self.0.get(&module).map(|file| &file.path[..])
    }
}

fn module_of(path: &str) -> Module {
    let inside = path.trim_start_matches("src/").trim_end_matches(".rs");
    let names = inside.split('/').map(str::to_owned);
    let is_face = |name: &str| ["mod", "lib", "main"].contains(&name);
    names.filter(|name| !is_face(name)).collect()
}

/// Those that a file declares in test code.
fn modules_for_tests(source: &Source) -> Vec<Module> {
    let declared = source.tokens.windows(3).filter(|three| {
        three[0].text == "mod" && three[2].text == ";" && source.is_test_line(three[1].line())
    });
    let module = |name: &Token| [module_of(source.path), vec![name.text.clone()]].concat();
    declared.map(|three| module(&three[1])).collect()
}

/// A room is a folder of `src`, with the file of the same name.
fn is_same_room(one: &str, other: &str) -> bool {
    let room = |path: &str| module_of(path).first().cloned();
    room(one).is_some() && room(one) == room(other)
}

impl File {
    fn read(source: &Source) -> File {
        let is_code = |token: &&Token| !source.is_test_line(token.line());
        let tokens: Vec<&Token> = source.tokens.iter().filter(is_code).collect();
        let mut file = File {
            path: source.path.to_owned(),
            brought: BTreeMap::new(),
            used: vec![],
        };
        let mut at = 0;
        while at < tokens.len() {
            let mut paths = vec![];
            if tokens[at].text == "use" {
                let is_handed_on = at > 0 && ["pub", ")"].contains(&&tokens[at - 1].text[..]);
                at = tree(&tokens, at + 1, &vec![], &mut paths);
                let is_used = |name: &str| !is_handed_on || is_named_alone(&tokens, name);
                let used = paths.iter().filter(|(name, _)| is_used(name));
                file.used.extend(used.map(|(_, path)| path.clone()));
                file.brought.extend(paths);
            } else if is_visibility(&tokens, at) {
                at = tree(&tokens, at + 2, &vec![], &mut paths);
            } else if is_step(&tokens, at) {
                at = tree(&tokens, at, &vec![], &mut paths);
                file.used.extend(paths.into_iter().map(|(_, path)| path));
            } else {
                at += 1;
            }
        }
        file
    }
}

/// `(in crate::lab)`: who may see something uses nothing.
fn is_visibility(tokens: &[&Token], at: usize) -> bool {
    tokens[at].text == "(" && tokens.get(at + 1).is_some_and(|token| token.text == "in")
}

/// Whether a name stands somewhere besides where it was brought in: paths that go on from it are
/// read for themselves, and a module is declared by `mod`.
fn is_named_alone(tokens: &[&Token], name: &str) -> bool {
    let is_it = |at: &usize| {
        let is_declared = *at > 0 && tokens[at - 1].text == "mod";
        tokens[*at].text == name && !is_declared && !is_step(tokens, *at)
    };
    (0..tokens.len()).filter(is_it).count() > 1
}

fn is_name(token: &Token) -> bool {
    token
        .text
        .starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Whether a name stands there that a path goes on from.
fn is_step(tokens: &[&Token], at: usize) -> bool {
    let is_colon = |at: usize| tokens.get(at).is_some_and(|token| token.text == ":");
    tokens.get(at).is_some_and(|token| is_name(token)) && is_colon(at + 1) && is_colon(at + 2)
}

/// Reads a path, or a tree of them in braces, that begins at a token, and says where it ends. Each
/// is told with the name that it has afterwards.
fn tree(
    tokens: &[&Token],
    mut at: usize,
    before: &Module,
    paths: &mut Vec<(String, Module)>,
) -> usize {
    let mut path = before.clone();
    let text = |at: usize| tokens.get(at).map_or("", |token| &token.text[..]);
    while is_step(tokens, at) {
        path.push(text(at).to_owned());
        at += 3;
    }
    if text(at) == "{" {
        at += 1;
        while !["}", ""].contains(&text(at)) {
            at = tree(tokens, at, &path, paths).max(at + 1);
            at += usize::from(text(at) == ",");
        }
        return at + 1;
    }
    if tokens.get(at).is_some_and(|token| is_name(token)) && text(at) != "self" {
        path.push(text(at).to_owned());
    }
    at += 1;
    let mut name = path.last().cloned().unwrap_or_default();
    if text(at) == "as" {
        name = text(at + 1).to_owned();
        at += 2;
    }
    paths.push((name, path));
    at
}

// The rule fires on a bad sample, and lets a good one pass.

fn told(files: &[(&str, &str)]) -> Vec<String> {
    let owned = files.iter();
    let owned: Vec<(String, String)> = owned
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    circles(&owned)
}

const FACE: (&str, &str) = ("src/lab/mod.rs", "mod a;\nmod b;\nmod leaf;");
const LEAF: (&str, &str) = ("src/lab/leaf.rs", "pub struct Leaf;");

#[test]
fn two_files_that_import_each_other_are_a_circle() {
    let there = ("src/lab/a.rs", "use super::b::g;\npub fn f() { g() }");
    let backs = [
        "pub fn g() {}\nuse super::a::f;",
        "pub fn g() { crate::lab::a::f() }",
        "pub fn g() { assert!(super::a::f()) }",
        "use crate::lab::{leaf::Leaf, a::{self}};\npub fn g() { a::f() }",
        "use super::a as other;\npub fn g() { other::f() }",
        "use super::a::*;\npub fn g() {}",
    ];
    for back in backs {
        let found = told(&[FACE, there, ("src/lab/b.rs", back), LEAF]);
        let expected = "src/lab/a.rs -> src/lab/b.rs; src/lab/b.rs -> src/lab/a.rs";
        assert_eq!(
            found,
            [format!("src/lab/a.rs: a circle: {expected}")],
            "{back}"
        );
    }
    let seen = "use super::leaf::Leaf;\npub(in crate::lab::a) fn g() {}";
    let forth = ("src/lab/b.rs", seen);
    assert_eq!(told(&[FACE, there, forth, LEAF]), [] as [String; 0]);
}

#[test]
fn a_circle_of_three_and_one_of_parent_and_child_are_seen() {
    let three = [
        ("src/lab/a.rs", "use super::b::B;"),
        ("src/lab/b.rs", "use super::c::C;\npub struct B;"),
        ("src/lab/c.rs", "pub struct C;\nfn f() { super::a::f() }"),
    ];
    assert_eq!(told(&three).len(), 1, "{:?}", told(&three));
    let family = [
        (
            "src/plan.rs",
            "mod point;\npub struct Cell;\nfn f() { point::of() }",
        ),
        ("src/plan/point.rs", "use super::Cell;"),
    ];
    assert_eq!(told(&family).len(), 1);
}

#[test]
fn what_is_handed_on_belongs_to_who_defines_it() {
    let a = ("src/lab/a.rs", "pub struct A;");
    let b = ("src/lab/b.rs", "use super::A;");
    let face = |more: &str| format!("mod a;\nmod b;\npub use a::A;\npub use b::f;\n{more}");
    assert_eq!(
        told(&[("src/lab/mod.rs", &face("")), a, b]),
        [] as [String; 0]
    );
    let used = face("pub struct Own;\nfn g() { f() }");
    let own = ("src/lab/b.rs", "use super::Own;\npub fn f() {}");
    assert_eq!(told(&[("src/lab/mod.rs", &used), a, own]).len(), 1);
}

#[test]
fn tests_and_other_rooms_are_no_part_of_a_circle() {
    let a = ("src/lab/a.rs", "use super::b::B;\npub struct A;");
    let test = "pub struct B;\n#[cfg(test)]\nmod tests {\n    use super::super::a::A;\n}\n";
    assert_eq!(told(&[a, ("src/lab/b.rs", test)]), [] as [String; 0]);
    let face = ("src/lab/mod.rs", "mod a;\n#[cfg(test)]\nmod example;\n");
    let a = ("src/lab/a.rs", "use super::example::E;\npub struct A;");
    let example = ("src/lab/example.rs", "use super::a::A;\npub struct E;");
    assert_eq!(told(&[face, a, example]), [] as [String; 0]);
    let load = ("src/load/a.rs", "use crate::lab::a::A;");
    assert_eq!(
        told(&[load, ("src/lab/a.rs", "use crate::load::a;")]),
        [] as [String; 0]
    );
}
