//! What the documents say of the project must be there: links, paths, verbs, rooms, modes, flags.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acklab::record::Flag;
use acklab::study::{Capabilities, Capability, Flavour, written};

/// Folders that a path in a document may begin with.
const FOLDERS: [&str; 6] = [
    "src/", "tests/", "docs/", "studies/", "benches/", "contrib/",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text_of(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every document, by its path below the root.
fn documents() -> Vec<(String, String)> {
    let names = ["", "docs/", "docs/method/", "docs/studies/"]
        .into_iter()
        .flat_map(|folder| {
            let entries = fs::read_dir(root().join(folder)).expect("a folder of documents");
            entries.map(move |entry| {
                let name = entry.expect("an entry").file_name();
                format!("{folder}{}", name.to_string_lossy())
            })
        });
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    names.sort();
    let read = |name: String| {
        let text = text_of(&name);
        (name, text)
    };
    names.into_iter().map(read).collect()
}

/// A text without its fenced blocks: code is no prose.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut kept = String::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Targets of links that lead to files of the project.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let after = prose.split("](").skip(1);
    let targets = after.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    let files = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    let without_anchor = files.map(|target| target.split('#').next().unwrap_or_default());
    without_anchor.map(str::to_owned).collect()
}

/// Words between backticks that are paths of the project.
fn paths(text: &str) -> Vec<String> {
    let prose = prose(text);
    let spans = prose.split('`').skip(1).step_by(2);
    let is_path = |span: &&str| {
        FOLDERS.iter().any(|folder| span.starts_with(folder)) && !span.contains([' ', '*', '…'])
    };
    spans.filter(is_path).map(str::to_owned).collect()
}

/// Links of one document that lead nowhere, and paths that are not there.
fn broken(document: &str, text: &str) -> Vec<String> {
    let folder = PathBuf::from(document)
        .parent()
        .unwrap_or(Path::new(""))
        .to_owned();
    let is_missing = |path: &Path| !root().join(path).exists();
    let broken_link = |target: &String| is_missing(&folder.join(target));
    let links = links(text).into_iter().filter(broken_link);
    let paths = paths(text)
        .into_iter()
        .filter(|path| is_missing(Path::new(path)));
    links
        .chain(paths)
        .map(|missing| format!("{document}: {missing} is not there"))
        .collect()
}

#[test]
fn every_link_and_path_is_there() {
    let documents = documents();
    let has = |path: &str| documents.iter().any(|(name, _)| name == path);
    assert!(has("README.md") && has("docs/method/README.md"));
    let links: usize = documents.iter().map(|(_, text)| links(text).len()).sum();
    assert!(links > 10, "only {links} links were found");
    let broken: Vec<String> = documents
        .iter()
        .flat_map(|(name, text)| broken(name, text))
        .collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn a_broken_link_or_path_is_seen() {
    let bad = "[a](words.md) [b](gone.md#x) [c](https://x.y/z) `src/nowhere.rs` `src/lib.rs`\n";
    assert_eq!(
        broken("docs/x.md", bad),
        [
            "docs/x.md: gone.md is not there",
            "docs/x.md: src/nowhere.rs is not there"
        ]
    );
    assert_eq!(
        broken("docs/x.md", "```\n[b](gone.md) `src/no.rs`\n```\n"),
        [""; 0]
    );
}

/// The README is read in a hurry, and in a terminal: fewer lines than this, none wider.
const README_LINES: usize = 150;
const PROSE_COLUMNS: usize = 100;
const ROW_COLUMNS: usize = 118;

/// What makes a text longer or wider than a README may be; fenced blocks may be wider.
fn too_large(text: &str) -> Vec<String> {
    let is_wide = |line: &&str| {
        let is_row = line.starts_with('|');
        let most = if is_row { ROW_COLUMNS } else { PROSE_COLUMNS };
        line.chars().count() > most
    };
    let prose = prose(text);
    let wide = prose.lines().filter(is_wide).map(str::to_owned);
    let lines = text.lines().count();
    let long = (lines >= README_LINES).then(|| format!("{lines} lines"));
    wide.chain(long).collect()
}

#[test]
fn the_readme_is_short() {
    assert_eq!(too_large(&text_of("README.md")), [""; 0]);
}

#[test]
fn a_long_or_wide_readme_is_seen() {
    let wide = |length: usize| "é".repeat(length);
    let row = |length: usize| format!("|{}", wide(length - 1));
    for good in [wide(100), row(118), format!("```\n{}\n```", wide(200))] {
        assert_eq!(too_large(&good), [""; 0]);
    }
    for bad in [wide(101), row(119)] {
        assert_eq!(too_large(&bad), [bad.as_str()]);
    }
    assert_eq!(too_large(&"a\n".repeat(149)), [""; 0]);
    assert_eq!(too_large(&"a\n".repeat(150)), ["150 lines"]);
}

/// The verbs of `--help`: the first words of the lines below `Commands:`.
fn verbs(help: &str) -> Vec<String> {
    let below = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = below.take_while(|line| !line.is_empty());
    let verb = |line: &str| {
        let indented = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '));
        indented?.split_whitespace().next().map(str::to_owned)
    };
    lines.filter_map(verb).collect()
}

fn missing_verbs(readme: &str, verbs: &[String]) -> Vec<String> {
    let names = |verb: &String| {
        let shown = format!("acklab {verb}");
        let mut after = readme
            .match_indices(&shown)
            .map(|(at, _)| &readme[at + shown.len()..]);
        after.any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
    };
    verbs.iter().filter(|verb| !names(verb)).cloned().collect()
}

/// The verbs that acklab itself tells.
fn told_verbs() -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_acklab"))
        .arg("--help")
        .output();
    let help = String::from_utf8(output.expect("acklab runs").stdout).expect("text");
    let verbs = verbs(&help);
    assert!(
        verbs.contains(&"compare".to_owned()) && verbs.len() > 5,
        "{verbs:?}\n{help}"
    );
    verbs
}

#[test]
fn the_readme_names_every_verb() {
    let verbs = told_verbs();
    assert_eq!(missing_verbs(&text_of("README.md"), &verbs), [""; 0]);
}

#[test]
fn the_page_of_verbs_names_every_verb() {
    let verbs = told_verbs();
    assert_eq!(missing_verbs(&text_of("docs/verbs.md"), &verbs), [""; 0]);
}

#[test]
fn a_missing_verb_is_seen() {
    let help = "About\n\nUsage: x\n\nCommands:\n  run     Runs\n          and more\n  up      Up\n\n\
                Options:\n  -h      Help\n";
    let verbs = verbs(help);
    assert_eq!(verbs, ["run", "up"]);
    assert_eq!(
        missing_verbs("`acklab run X`, acklab upwards", &verbs),
        ["up"]
    );
}

/// The folders and files that are rooms, and the entry points beside them.
fn rooms() -> Vec<String> {
    let entries = fs::read_dir(root().join("src")).expect("src");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.to_string_lossy().trim_end_matches(".rs").to_owned());
    let mut rooms: Vec<String> = names.filter(|name| name != "lib").collect();
    rooms.sort();
    rooms.dedup();
    rooms
}

#[test]
fn the_architecture_names_every_room() {
    let text = text_of("ARCHITECTURE.md");
    let rooms = rooms();
    assert!(rooms.len() > 8, "{rooms:?}");
    let is_named = |room: &&String| {
        text.contains(&format!("`src/{room}/`")) || text.contains(&format!("`src/{room}.rs`"))
    };
    let missing: Vec<&String> = rooms.iter().filter(|room| !is_named(room)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// All flags; the match makes a new one a fault of compilation here.
fn flags() -> [Flag; 18] {
    use Flag::*;
    match HostBound {
        HostBound | NodeBound | DriverBound | Drifted | Downgraded | Degraded | Overloaded
        | Errors | NoRows | LateLinks | Stolen | LinksStarved | LateDisks | Behind | NotIdle
        | NotApplied | NotSettled | DriverMissing => [
            HostBound,
            NodeBound,
            DriverBound,
            Drifted,
            Downgraded,
            Degraded,
            Overloaded,
            Errors,
            NoRows,
            LateLinks,
            Stolen,
            LinksStarved,
            LateDisks,
            Behind,
            NotIdle,
            NotApplied,
            NotSettled,
            DriverMissing,
        ],
    }
}

/// Names of all modes that a server of the catalogue can do.
fn modes() -> Vec<String> {
    let catalogue: toml::Table = text_of("catalogue.toml").parse().expect("TOML");
    let rows = catalogue["can"]
        .as_array()
        .expect("rows of what servers can do");
    let lists = rows.iter().filter_map(|row| row["modes"].as_array());
    let names = lists.flatten().filter_map(|mode| mode.as_str());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

/// Which of the names a document does not explain.
fn unexplained(path: &str, names: &[String]) -> Vec<String> {
    let text = text_of(path);
    let is_missing = |name: &&String| !text.contains(&format!("`{name}`"));
    let missing = names.iter().filter(is_missing);
    missing
        .map(|name| format!("{path} does not explain `{name}`"))
        .collect()
}

#[test]
fn every_flag_and_mode_is_explained() {
    let modes = modes();
    assert!(modes.len() > 4, "{modes:?}");
    let flags = flags().map(|flag| flag.name().to_owned());
    let places = [
        ("docs/words.md", &modes[..]),
        ("docs/words.md", &flags[..]),
        ("docs/method/promises.md", &modes[..]),
        ("docs/method/flags.md", &flags[..]),
    ];
    let missing: Vec<String> = places
        .into_iter()
        .flat_map(|(path, names)| unexplained(path, names))
        .collect();
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

/// The fenced TOML of a document.
fn toml_blocks(text: &str) -> Vec<&str> {
    let blocks = text.split("```toml\n").skip(1);
    blocks.filter_map(|rest| rest.split("```").next()).collect()
}

fn parsed(text: &str) -> acklab::error::Result<acklab::study::Study> {
    let server = |name: &str, flavour| {
        let modes = modes();
        let capability = Capability {
            flavour,
            version: None,
            modes,
        };
        (name.to_owned(), capability)
    };
    let servers = [
        server("mysql", Flavour::Mysql),
        server("mariadb", Flavour::Mariadb),
    ];
    let capabilities = Capabilities {
        servers: servers.into(),
    };
    written::parse(text, "README.md", &capabilities, &|file| {
        Err(format!("no {file}"))
    })
}

#[test]
fn the_readmes_study_is_without_mistakes() {
    let readme = text_of("README.md");
    let blocks = toml_blocks(&readme);
    assert_eq!(blocks.len(), 1);
    let study = parsed(blocks[0]).expect("no mistakes");
    assert_eq!((study.modes.len(), study.sweeps.len()), (2, 1));
    assert!(parsed(&blocks[0].replace("wait_for", "wait_fro")).is_err());
}

/// As a verdict stands in the pages of studies, and in the README.
const VERDICTS: [(&str, &str); 5] = [
    ("CONFIRMED", "confirmed"),
    ("DEPENDS", "depends"),
    ("CONTRADICTED", "contradicted"),
    ("UNDECIDED", "undecided"),
    ("UNTESTABLE", "untestable"),
];

/// How many claims of a page have each verdict.
fn counted(page: &str) -> [usize; 5] {
    let claims = page.split("## Its claims").nth(1).expect("claims");
    let claims = claims.split("\n## ").next().unwrap_or_default();
    let starts = |word: &str| {
        let start = format!("  {word}: ");
        claims
            .lines()
            .filter(|line| line.starts_with(&start))
            .count()
    };
    VERDICTS.map(|(word, _)| starts(word))
}

#[test]
fn the_readme_counts_verdicts_as_the_pages_do() {
    let readme = text_of("README.md");
    let pages = documents();
    let pages = pages
        .iter()
        .filter(|(name, _)| name.starts_with("docs/studies/"));
    let mut all = [0; 5];
    for (name, page) in pages {
        let counts = counted(page);
        all = std::array::from_fn(|place| all[place] + counts[place]);
        let told = VERDICTS.iter().zip(counts).filter(|(_, count)| *count > 0);
        let told: Vec<String> = told
            .map(|((_, word), count)| format!("{count} {word}"))
            .collect();
        let row = format!("| {} |", told.join(", "));
        let is_told = |line: &str| line.contains(name.as_str()) && line.ends_with(&row);
        assert!(readme.lines().any(is_told), "{name}: {row}");
    }
    let words: Vec<&str> = readme.split_whitespace().collect();
    let sentence = words.join(" ");
    let [holds, depends, fails, open, lacks] = all;
    for told in [
        format!(
            "Of the {} claims {holds} are confirmed, {depends} depend",
            all.iter().sum::<usize>()
        ),
        format!("{fails} are contradicted, {open} undecided and {lacks} untestable"),
    ] {
        assert!(sentence.contains(&told), "{told}");
    }
}

/// Words behind a sign in a text, sorted.
fn behind(text: &str, sign: &str) -> Vec<String> {
    let found = text.split(sign).skip(1);
    let words = found.filter_map(|rest| rest.split_whitespace().next());
    let mut words: Vec<String> = words.map(str::to_lowercase).collect();
    words.sort();
    words
}

#[test]
fn the_container_s_privileges_are_those_that_are_explained_and_tried() {
    let document = text_of("docs/container.md");
    let given = behind(&document, "--cap-add ");
    assert_eq!(given.len(), 12, "{given:?}");
    let rows = document.lines().filter(|line| line.starts_with("| `"));
    let first: Vec<&str> = rows.filter_map(|row| row.split('|').nth(1)).collect();
    let is_explained = |name: &String| {
        let name = format!("`{}`", name.to_uppercase());
        first.iter().any(|cell| cell.contains(&name))
    };
    assert!(given.iter().all(is_explained), "{first:?}");
    let script = text_of("contrib/container/least");
    let lists = script
        .lines()
        .filter(|line| line.starts_with("capabilities="));
    let words = lists.flat_map(|line| line.split(['"', ' ']).skip(1));
    let is_name = |word: &&str| !word.is_empty() && !word.starts_with('$');
    let mut tried: Vec<&str> = words.filter(is_name).collect();
    tried.sort_unstable();
    assert_eq!(tried, given);
    for device in behind(&document, "--device ") {
        let device = device.trim_start_matches("/dev/");
        let is_there = |line: &str| line.starts_with("devices=") && line.contains(device);
        assert!(script.lines().any(is_there), "{device}");
    }
}

#[test]
fn a_pod_keeps_the_container_s_privileges() {
    let given = behind(&text_of("docs/container.md"), "--cap-add ");
    let job = text_of("contrib/kubernetes/job.yaml");
    let lists = job.lines().filter(|line| line.contains("kept="));
    let names = lists.flat_map(|line| line.trim_end_matches(';').split(",+").skip(1));
    let mut kept: Vec<&str> = names.collect();
    kept.sort_unstable();
    assert_eq!(kept, given);
}
