//! What is foretold of another place: the table of modes first, then how far to trust it.

use serde::Serialize;

use super::entry::Entry;
use super::format::Format;
use super::numbers::{Unit, count, percent, ratio};
use super::page::{self, Block, Table};
use super::waits;
use crate::model::{
    At, Beside, Checked, Cpus, Errors, Interval, Kept, Lack, Lacking, Limit, ModeForetold, Most,
    NEARLY, P99_COMMITS, Place, Prediction, Span, TRUSTED, Trust, What,
};

/// Formats that it is printed in: it has no cells of its own, so no CSV.
pub const FORMATS: [&str; 3] = ["text", "markdown", "json"];

/// So many times beyond what was measured is far.
const FAR: f64 = 10.0;

/// What records are called.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Names<'n> {
    pub record: &'n str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub checks: &'n [String],
}

/// All of it, as JSON.
#[derive(Serialize)]
struct PredictPage<'p> {
    #[serde(flatten)]
    names: Names<'p>,
    #[serde(flatten)]
    prediction: &'p Prediction,
}

/// The whole page, ending with a line break.
pub fn render(prediction: &Prediction, names: Names, format: Format) -> String {
    match format {
        Format::Markdown => page::markdown(&blocks(prediction, names)),
        Format::Json => json(prediction, names),
        Format::Text | Format::Csv => page::text(&blocks(prediction, names)),
    }
}

fn json(prediction: &Prediction, names: Names) -> String {
    let text = serde_json::to_string_pretty(&PredictPage { names, prediction });
    text.expect("plain types with text keys can be written") + "\n"
}

fn blocks(prediction: &Prediction, names: Names) -> Vec<Block> {
    let title = format!("Foretold by {}, not measured", names.record);
    let facts = vec![
        ("at".to_owned(), place(&prediction.at)),
        ("load".to_owned(), loads(&prediction.modes)),
    ];
    let mut blocks = vec![
        Block::Title(title),
        Block::Facts(facts),
        Block::Heading("A commit".to_owned()),
        Block::Table(commits(&prediction.modes)),
        Block::Notes(of_commits(prediction)),
        Block::Heading("Commits per second".to_owned()),
        Block::Table(rates(&prediction.modes)),
        Block::Notes(trust_told(&prediction.at, &prediction.modes)),
        Block::Heading("Inside what was measured, or outside".to_owned()),
        Block::Lines(prediction.beside.iter().map(beside).collect()),
        Block::Heading(format!(
            "How well the cells of {} are foretold",
            names.record
        )),
        Block::Lines(held(prediction)),
    ];
    for (checked, name) in prediction.checked.iter().zip(names.checks) {
        blocks.push(Block::Heading(format!("How well {name} is foretold")));
        blocks.push(Block::Lines(second(checked)));
    }
    blocks.push(Block::Heading("The lines behind it".to_owned()));
    blocks.push(Block::Table(lines(&prediction.modes)));
    blocks.push(Block::Heading("How to read this".to_owned()));
    blocks.push(Block::Lines(reading()));
    blocks
}

/// `a–b 2.00 ms, a–c 30.0 ms; flush 500 µs; 32 connections; 2 CPUs for each node`
pub(super) fn place(at: &At) -> String {
    let apart = at.rtts_us.iter();
    let apart = apart.map(|(one, other, us)| format!("{one}–{other} {}", figure(*us, Unit::Time)));
    let apart: Vec<String> = apart.collect();
    let flush = match at.flush_us {
        Some(us) => format!("flush {}", figure(us, Unit::Time)),
        None => "flush as in the record".to_owned(),
    };
    let cpus = match at.cpus {
        Cpus::Own(cpus) => format!("{} for each node", count(cpus.into(), "CPU")),
        Cpus::Shared(cpus) => format!("{} that all share", count(cpus.into(), "CPU")),
    };
    let clients = count(at.connections.into(), "connection");
    let all = [apart.join(", "), flush, clients, cpus];
    let said: Vec<String> = all.into_iter().filter(|part| !part.is_empty()).collect();
    said.join("; ")
}

fn loads(modes: &[ModeForetold]) -> String {
    let mut loads: Vec<&str> = modes.iter().map(|mode| &mode.workload[..]).collect();
    loads.sort_unstable();
    loads.dedup();
    format!("{}; several connections never rest", loads.join(", "))
}

fn commits(modes: &[ModeForetold]) -> Table {
    let columns = [
        ("mode", true),
        ("waits\nfor", true),
        ("p50", false),
        ("nine in\nten within", false),
        ("p99", false),
        ("nine in\nten within", false),
        ("limited\nby", true),
    ];
    let mut table = Table::new(&columns);
    table.rows = modes.iter().map(commit).collect();
    table.without_empty_columns()
}

fn commit(mode: &ModeForetold) -> Vec<Entry> {
    let name = Entry::from(&mode.label[..]);
    let Some(foretold) = &mode.foretold else {
        let mut row = vec![name, "nobody is where it waits".into()];
        row.resize(7, Entry::NOTHING);
        return row;
    };
    vec![
        name,
        whom(mode).into(),
        told(foretold.p50_us, Unit::Time),
        interval(mode.p50_us, Unit::Time),
        told(foretold.p99_us, Unit::Time),
        interval(mode.p99_us, Unit::Time),
        limited_by(&foretold.limits),
    ]
}

/// Nothing where nothing is foretold.
pub(super) fn limited_by(limits: &[Limit]) -> Entry {
    let limits: Vec<&str> = limits.iter().copied().map(limit).collect();
    match limits.is_empty() {
        true => Entry::NOTHING,
        false => limits.join(" or ").into(),
    }
}

pub(super) fn whom(mode: &ModeForetold) -> String {
    match &mode.coefficients.single.waits_for[..] {
        [whom] => waits::in_short(whom),
        _ => "undecided".to_owned(),
    }
}

fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Distance => "distance",
        Limit::Flushes => "flushes",
        Limit::Cpus => "CPUs",
        Limit::Appliers => "appliers",
        Limit::Work => "own work",
    }
}

fn rates(modes: &[ModeForetold]) -> Table {
    let columns = [
        ("mode", true),
        ("commits/s", false),
        ("nine in\nten within", false),
        ("at most", false),
        ("nearly that\nfrom", false),
        ("replicas\napply", false),
        ("on machines\nof their own", true),
    ];
    let mut table = Table::new(&columns);
    let row = |mode: &ModeForetold| {
        let foretold = mode.foretold.as_ref();
        let per_s = foretold.and_then(|foretold| foretold.commits_per_s);
        let most = foretold.and_then(|foretold| foretold.most);
        let replicas = foretold.and_then(|foretold| foretold.replicas_per_s);
        vec![
            Entry::from(&mode.label[..]),
            told(per_s, PER_S),
            interval(mode.commits_per_s, PER_S),
            told(most.map(|most| most.commits_per_s), PER_S),
            most.map_or(Entry::NOTHING, nearly_from),
            Entry::number(replicas, PER_S),
            trusted(mode.trust).into(),
        ]
    };
    table.rows = modes.iter().map(row).collect();
    table.without_empty_columns()
}

pub(super) const PER_S: Unit = Unit::Number(0);

/// `190 connections`
pub(super) fn nearly_from(most: Most) -> Entry {
    match most.from_connections {
        Some(connections) => count(connections.into(), "connection").into(),
        None => "beyond 1000".into(),
    }
}

pub(super) fn trusted(trust: Trust) -> String {
    let word = if trust.is_trusted {
        "trusted"
    } else {
        "not trusted"
    };
    match trust.worst {
        _ if trust.shared_cells == 0 => format!("{word}: no shared cell"),
        _ if !trust.is_at_each => format!("{word}: not shared at 4, 16 and 64 connections"),
        Some(worst) => format!("{word}: {} off", percent(worst)),
        None => format!("{word}: shared cells not foretold"),
    }
}

/// What the last column means, where commits/s of machines of their own are told.
pub(super) fn trust_told(at: &At, modes: &[ModeForetold]) -> Vec<String> {
    if modes.iter().all(|mode| mode.coefficients.several.is_none()) {
        let none = "the record has no cell at several connections: nothing tells how commits share \
                    CPUs and flushes";
        return vec![none.to_owned()];
    }
    match at.cpus {
        Cpus::Own(_) => vec![format!(
            "trusted: told that all share this host's CPUs, the same model foretells each cell at \
             several connections, 4, 16 and 64 among them, within {} of its commits/s, without \
             having been given it",
            percent(TRUSTED)
        )],
        Cpus::Shared(_) => vec![],
    }
}

fn of_commits(prediction: &Prediction) -> Vec<String> {
    let lacking = prediction.lacking.iter().map(lacking);
    lacking.chain(too_few(&prediction.modes)).collect()
}

/// `no p99 of mysql group, mariadb galera: that takes 1,000 single commits of a mode; …`
pub(super) fn too_few(modes: &[ModeForetold]) -> Option<String> {
    let is_without = |mode: &&ModeForetold| {
        let foretold = mode.foretold.as_ref();
        foretold.is_some_and(|it| it.p50_us.is_some() && it.p99_us.is_none())
    };
    let without = modes.iter().filter(is_without);
    let without: Vec<&str> = without.map(|mode| &mode.label[..]).collect();
    (!without.is_empty()).then(|| {
        format!(
            "no p99 of {}: that takes {P99_COMMITS} single commits of a mode; more rounds or \
             longer windows give them",
            without.join(", ")
        )
    })
}

pub(super) fn lacking(lacking: &Lacking) -> String {
    let why = match lacking.lack {
        Lack::NoSingle => "no single commits with the client beside the writer were measured",
        Lack::OneDistance => {
            "its single commits were measured at one distance: nobody knows how often one waits \
             for it"
        }
        Lack::Undetermined => "its cells determine no line: distance and flush time moved as one",
    };
    format!("{}: {why}", lacking.label)
}

/// `a–c 30.0 ms: outside, 3.75 times the most that was measured (250 µs to 8.00 ms)`
pub(super) fn beside(beside: &Beside) -> String {
    let unit = match beside.what {
        What::Distance { .. } | What::FlushTime => Unit::Time,
        What::Connections | What::Cpus => Unit::Count,
    };
    let asked = figure(beside.asked, unit);
    let name = match &beside.what {
        What::Distance { from, to } => format!("{from}–{to} {asked}"),
        What::FlushTime => format!("flush {asked}"),
        What::Connections => count(beside.asked as u64, "connection"),
        What::Cpus => format!("{} for each node", count(beside.asked as u64, "CPU")),
    };
    let measured = beside.measured.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", figure(low, unit), figure(high, unit))
    });
    let far = |times: f64| {
        if times < FAR {
            "outside"
        } else {
            "far outside"
        }
    };
    let said = match beside.place {
        Place::Inside => "inside what was measured, taken alone".to_owned(),
        Place::Above { times: Some(by) } => format!(
            "{}, {} times the most that was measured",
            far(by),
            ratio(by)
        ),
        Place::Above { times: None } => "far outside, above all that was measured".to_owned(),
        Place::Below { times: Some(by) } => format!(
            "{}, {} times below the least that was measured",
            far(by),
            ratio(by)
        ),
        Place::Below { times: None } => "far outside, below all that was measured".to_owned(),
        Place::Unmeasured if beside.what == What::Cpus => {
            "not measured: all nodes shared this host's".to_owned()
        }
        Place::Unmeasured => "not measured".to_owned(),
        Place::Ignored => {
            "ignored: the record's servers wrote to the host's own disk, whose flush time is a \
             part of their work"
                .to_owned()
        }
    };
    format!("{name}: {said}{measured}")
}

pub(super) fn held(prediction: &Prediction) -> Vec<String> {
    let held = &prediction.held;
    let all = [
        ("p50 at one connection", &held.single),
        ("p99 at one connection", &held.single_p99),
        ("p50 at several connections", &held.several),
        ("p99 at several connections", &held.several_p99),
        ("commits/s at several connections", &held.several_per_s),
    ];
    let told = all.iter().enumerate();
    let told = told.filter(|(place, (_, it))| *place == 0 || it.cells > 0);
    let days = match prediction.checked.is_empty() {
        true => "",
        false => ", as the records below ask too",
    };
    let line = |(what, it): (&str, &Errors)| match it.factor {
        Some(_) => errors(what, it) + days,
        None => errors(what, it),
    };
    let mut lines: Vec<String> = told.map(|(_, it)| line(*it)).collect();
    if held.not_foretold > 0 {
        lines.push(format!(
            "{} not foretold: without it, too little of its mode is left",
            count(held.not_foretold.into(), "cell")
        ));
    }
    lines
}

/// `p50 at one connection: 18 cells, each foretold by the others; median error 4.7 %, nine in ten
/// within 12.7 %; interval: divided and multiplied by 1.20`
fn errors(what: &str, errors: &Errors) -> String {
    let cells = count(errors.cells.into(), "cell");
    let (Some(median), Some(most)) = (errors.median, errors.nine_in_ten) else {
        return format!("{what}: no cell can be foretold by the others");
    };
    let interval = match errors.factor {
        Some(factor) => format!("interval: divided and multiplied by {}", ratio(factor)),
        None => "no interval: that takes nine cells".to_owned(),
    };
    format!(
        "{what}: {cells}, each foretold by the others; median error {}, nine in ten within {}; \
         {interval}",
        percent(median),
        percent(most)
    )
}

fn second(checked: &Checked) -> Vec<String> {
    let all = [
        ("p50 at one connection", &checked.single),
        ("p99 at one connection", &checked.single_p99),
        ("p50 at several connections", &checked.several),
        ("p99 at several connections", &checked.several_p99),
        ("commits/s at several connections", &checked.several_per_s),
    ];
    let told = all.iter().enumerate();
    let told = told.filter(|(place, (_, it))| *place == 0 || it.errors.cells > 0);
    let mut lines: Vec<String> = told.map(|(_, (what, it))| kept(what, it)).collect();
    if checked.not_foretold > 0 {
        lines.push(format!(
            "{} not foretold: its mode, its load or whom it waits for is not in the first record",
            count(checked.not_foretold.into(), "cell")
        ));
    }
    lines
}

fn kept(what: &str, kept: &Kept) -> String {
    let errors = &kept.errors;
    let (Some(median), Some(most)) = (errors.median, errors.nine_in_ten) else {
        return format!("{what}: no cell that the first record foretells");
    };
    let within = match kept.within {
        Some(share) => format!("{} lie within what all other records ask", percent(share)),
        None => "the other records give no interval".to_owned(),
    };
    format!(
        "{what}: {}; median error {}, nine in ten within {}; {within}",
        count(errors.cells.into(), "cell"),
        percent(median),
        percent(most)
    )
}

/// What each line says, and what else tells its slopes.
fn lines(modes: &[ModeForetold]) -> Table {
    let columns = [
        ("mode", true),
        ("work", false),
        ("round\ntrips", false),
        ("in the\nanatomy", false),
        ("flushes", false),
        ("counted\non disk", false),
        ("mean over\nmedian", false),
    ];
    let mut table = Table::new(&columns);
    let row = |mode: &ModeForetold| {
        let (single, slopes) = (&mode.coefficients.single, &mode.slopes);
        vec![
            Entry::from(&mode.label[..]),
            Entry::number(Some(single.work_us), Unit::Time),
            Entry::number(Some(slopes.round_trips), Unit::Trips),
            Entry::plus_minus(slopes.round_trips_of_anatomy, Unit::Trips),
            Entry::number(slopes.flushes, Unit::Trips),
            Entry::number(slopes.flushes_counted, Unit::Trips),
            Entry::number(Some(single.mean_ratio), Unit::Ratio),
        ]
    };
    table.rows = modes.iter().map(row).collect();
    table.without_empty_columns()
}

fn reading() -> Vec<String> {
    let nearly = percent(NEARLY);
    [
        "Nothing here was measured at this place. p50 at one connection is work + round trips · \
         distance + flushes · flush time."
            .to_owned(),
        "Distance: the equal one that the place comes to for who is waited for. Undecided: from \
         the shortest to the longest of all ways to wait that the record leaves."
            .to_owned(),
        "Nine in ten within: an interval by the errors of the cells that were left out, of places \
         inside what was measured. Another day differs by more: a record of one, given by \
         --check, widens it to what that day was off by."
            .to_owned(),
        format!(
            "At most: what no number of connections carries more than; nearly: {nearly} of it. \
             Replicas apply: what their appliers do; where that is less they fall behind, but for \
             Galera's, which hold the writer back."
        ),
        "docs/method/prediction.md tells how, and what is not modelled.".to_owned(),
    ]
    .to_vec()
}

/// `5.30 ms`, or `5.30–33.1 ms` of two ways to wait.
pub(super) fn told(span: Option<Span>, unit: Unit) -> Entry {
    let told = span.map(|span| match span.is_one() {
        true => figure(span.low, unit),
        false => range(span.low, span.high, unit),
    });
    told.map_or(Entry::NOTHING, Entry::from)
}

pub(super) fn interval(interval: Option<Interval>, unit: Unit) -> Entry {
    let told = interval.map(|interval| range(interval.low, interval.high, unit));
    told.map_or(Entry::NOTHING, Entry::from)
}

/// Both ends in the unit of the higher.
fn range(low: f64, high: f64, unit: Unit) -> String {
    let (size, name) = unit.scale(high);
    let told = |number: f64| unit.digits(number / size);
    format!("{}–{}{name}", told(low), told(high))
}

fn figure(number: f64, unit: Unit) -> String {
    let (size, name) = unit.scale(number);
    unit.digits(number / size) + name
}
