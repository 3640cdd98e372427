//! What the record foretells of other distances, disks and machines: a table at the record's own
//! middle, and sliders that move it. The sliders need the script; without one the table stands.

use std::time::Duration;

use serde::Serialize;

use super::rows::Material;
use super::sliders::{self, Slider};
use super::tables::{Card, cards};
use super::texts::{paragraph, sentences};
use crate::analysis::Summary;
use crate::model::{
    At, Beside, CONNECTIONS_MAX, Coefficients, Cpus, ModeForetold, Model, Place, Prediction,
};
use crate::model::{Ranges, Refusal};
use crate::record::store::Record;
use crate::report::entry::Entry;
use crate::report::markup::Element;
use crate::report::numbers::Unit;
use crate::report::predict::{self, PER_S};
use crate::study::limits;

const A_COMMIT: &str = "What a commit would take there";
const MANY: &str = "How many commits there would be each second";
/// Of each node's machine, where nothing is said: what `acklab predict` takes.
const CPUS: u32 = 2;
/// Where no distance of the record stands in the middle.
const APART: Duration = Duration::from_millis(1);

/// Names of the table's cells, for the script, and their titles.
const OF_A_COMMIT: [(&str, &str); 6] = [
    ("whom", "waits for"),
    ("p50", "p50"),
    ("p50-within", "p50, nine in ten within"),
    ("p99", "p99"),
    ("p99-within", "p99, nine in ten within"),
    ("limit", "limited by"),
];
const OF_MANY: [(&str, &str); 6] = [
    ("per-s", "commits/s"),
    ("per-s-within", "commits/s, nine in ten within"),
    ("most", "at most, commits/s"),
    ("from", "nearly that from"),
    ("replicas", "replicas apply, per s"),
    ("trust", "on machines of their own"),
];

/// Pictures that the script draws, for they move.
const P50_BARS: &str = "p50 of a commit there, and what nine in ten lie within";
const PER_S_BARS: &str = "Commits/s there, and what nine in ten lie within";

/// All that the script needs to do it again.
#[derive(Serialize)]
struct Exported<'m> {
    sites: &'m [String],
    modes: Vec<ExportedMode<'m>>,
    /// What is foretold, over and times these, is an interval; none of too few cells.
    single_factor: Option<f64>,
    single_p99_factor: Option<f64>,
    several_factor: Option<f64>,
    several_p99_factor: Option<f64>,
    several_per_s_factor: Option<f64>,
    measured: Ranges,
}

#[derive(Serialize)]
struct ExportedMode<'m> {
    label: &'m str,
    coefficients: &'m Coefficients,
}

/// Nothing of a record of faults alone; of one that foretells nothing, why.
pub fn elements(record: &Record, summary: &Summary, material: &Material<'_>) -> Vec<Element> {
    let model = match Model::of(record) {
        Ok(model) => model,
        Err(Refusal::Faults | Refusal::Nothing) => return vec![],
        Err(refusal) => {
            let words = refusal.words();
            let told = format!("This record foretells nothing of other distances: it {words}.");
            return vec![paragraph(&told)];
        }
    };
    let prediction = model.predict(&beginning(summary, material, &model));
    let mut elements = about(&prediction);
    elements.push(controls(&model, &prediction));
    elements.extend(place(&prediction));
    let modes = &prediction.modes;
    elements.push(bars("foretold-p50", P50_BARS));
    elements.push(table(A_COMMIT, &OF_A_COMMIT, modes));
    if modes.iter().any(has_several) {
        elements.push(bars("foretold-per-s", PER_S_BARS));
        elements.push(table(MANY, &OF_MANY, modes));
    }
    let mut notes: Vec<String> = prediction.lacking.iter().map(predict::lacking).collect();
    notes.extend(predict::too_few(modes));
    notes.extend(predict::trust_told(&prediction.at, modes));
    if !notes.is_empty() {
        elements.push(sentences(notes));
    }
    let command = Element::new("code").with("id", "place-command");
    let command = command.text("acklab predict RECORD --distances … --connections …");
    let again = Element::new("p").text("The same in a terminal: ");
    elements.push(again.child(command));
    elements
}

/// Where the first screen compares single commits, on the fastest disks that were measured.
fn beginning(summary: &Summary, material: &Material<'_>, model: &Model) -> At {
    let there = material.alone.map(|cell| &cell.point.distances);
    let rtt = |one: &str, other: &str| there.and_then(|there| there.rtt(one, other));
    let pair = |(one, other): (&String, &String)| {
        let rtt = rtt(one, other).unwrap_or(APART);
        (one.clone(), other.clone(), rtt.as_secs_f64() * 1e6)
    };
    let flush_us = model.coefficients().filter_map(|(_, of)| {
        let single = &of.single;
        single.flushes.map(|_| single.flush_us)
    });
    At {
        rtts_us: pairs(&summary.sites).into_iter().map(pair).collect(),
        flush_us: flush_us.reduce(f64::min),
        connections: 1,
        cpus: Cpus::Own(CPUS),
    }
}

/// Each two sites once, in the study's order.
fn pairs(sites: &[String]) -> Vec<(&String, &String)> {
    let others = |place: usize| sites[place + 1..].iter();
    let of = |(place, one)| others(place).map(move |other| (one, other));
    sites.iter().enumerate().flat_map(of).collect()
}

fn about(prediction: &Prediction) -> Vec<Element> {
    let about = "A prediction: nothing here was measured at this place. It follows from how this \
                 record's commits change with distance, flush time and connections. Each measured \
                 figure was foretold from the others, and nine in ten fell inside this interval. \
                 Outside of what was measured it may be wider.";
    vec![
        paragraph(about),
        sentences(predict::held(prediction)),
        paragraph(
            "How, and what is not modelled: docs/method/prediction.md. Whom a mode waits for is \
             undecided where the record's distances were all equal: then from the shortest to the \
             longest way.",
        ),
    ]
}

/// Hidden until a script moves them.
fn controls(model: &Model, prediction: &Prediction) -> Element {
    let at = &prediction.at;
    let mut apart: Vec<Slider> = Vec::new();
    if at.rtts_us.len() > 1 {
        apart.push(Slider::time(
            "rtt-all",
            "all at once",
            at.rtts_us[0].2,
            limits::RTT,
        ));
    }
    let each = at.rtts_us.iter().enumerate();
    apart.extend(each.map(|(place, (one, other, us))| {
        let label = format!("{one}–{other}");
        Slider::time(&format!("rtt-{place}"), &label, *us, limits::RTT)
    }));
    let mut nodes: Vec<Slider> = Vec::new();
    let flush = at.flush_us;
    nodes.extend(flush.map(|us| Slider::time("flush", "flush time", us, limits::DISK_DELAY)));
    if prediction.modes.iter().any(has_several) {
        let connections = limits::Range::new(1, u64::from(CONNECTIONS_MAX));
        nodes.push(Slider::count(
            "cpu",
            "CPUs of each node",
            CPUS,
            limits::CPUS,
        ));
        nodes.push(Slider::count(
            "connections",
            "connections",
            at.connections,
            connections,
        ));
    }
    let exported = serde_json::to_string(&exported(model, prediction));
    let exported = exported.expect("plain types with text keys can be written");
    let groups = [
        ("Round-trip time between sites", apart),
        ("Disks, machines and clients", nodes),
    ];
    let groups = groups
        .into_iter()
        .filter(|(_, sliders)| !sliders.is_empty());
    let place = Element::new("div").with("id", "place").with("hidden", "");
    let place = place.with("data-model", exported);
    place.children(groups.map(|(legend, sliders)| sliders::group(legend, &sliders)))
}

fn has_several(mode: &ModeForetold) -> bool {
    mode.coefficients.several.is_some()
}

fn exported<'m>(model: &'m Model, prediction: &'m Prediction) -> Exported<'m> {
    let mode = |(label, coefficients): (&'m str, &'m Coefficients)| ExportedMode {
        label,
        coefficients,
    };
    let held = &prediction.held;
    Exported {
        sites: &model.sites,
        modes: model.coefficients().map(mode).collect(),
        single_factor: held.single.factor,
        single_p99_factor: held.single_p99.factor,
        several_factor: held.several.factor,
        several_p99_factor: held.several_p99.factor,
        several_per_s_factor: held.several_per_s.factor,
        measured: model.ranges(),
    }
}

/// Where it is, and where that leaves what was measured.
fn place(prediction: &Prediction) -> [Element; 2] {
    let told = Element::new("p").with("id", "place-told");
    let told = told.with("role", "status").with("class", "place");
    let line = |beside: &Beside| {
        let line = Element::new("li").text(predict::beside(beside));
        match beside.place {
            Place::Inside | Place::Ignored => line,
            Place::Above { .. } | Place::Below { .. } | Place::Unmeasured => {
                line.with("class", "outside")
            }
        }
    };
    let beside = prediction.beside.iter().map(line);
    let list = Element::new("ul").with("id", "place-beside");
    [
        told.text(predict::place(&prediction.at)),
        list.with("class", "lines").children(beside),
    ]
}

/// Empty, and hidden until it is drawn.
fn bars(id: &str, title: &str) -> Element {
    let name = format!("{id}-caption");
    let caption = Element::new("figcaption").with("id", &name[..]).text(title);
    let picture = Element::new("svg").with("class", "picture");
    let picture = picture.with("role", "img").with("aria-labelledby", name);
    let picture = picture.with("font-size", "14").with("fill", "currentColor");
    let figure = Element::new("figure").with("id", id).with("hidden", "");
    figure.child(caption).child(picture)
}

/// A row for each mode; cells are named, for the script changes them.
fn table(caption: &str, columns: &[(&'static str, &str)], modes: &[ModeForetold]) -> Element {
    let titles: Vec<&str> = columns.iter().map(|(_, title)| *title).collect();
    let row = |mode: &ModeForetold| {
        let card = |(name, _): &(&'static str, &str)| Card {
            text: told(mode, name).to_string(),
            link: None,
            more: vec![("data-of", (*name).to_owned())],
        };
        (mode.label.clone(), columns.iter().map(card).collect())
    };
    cards(
        caption,
        "foretold",
        &titles,
        modes.iter().map(row).collect(),
    )
}

/// What one cell says.
fn told(mode: &ModeForetold, name: &str) -> Entry {
    let foretold = mode.foretold.as_ref();
    let Some(it) = foretold else {
        return match name {
            "whom" => "nobody is where it waits".into(),
            _ => Entry::NOTHING,
        };
    };
    match name {
        "whom" => predict::whom(mode).into(),
        "p50" => predict::told(it.p50_us, Unit::Time),
        "p50-within" => predict::interval(mode.p50_us, Unit::Time),
        "p99" => predict::told(it.p99_us, Unit::Time),
        "p99-within" => predict::interval(mode.p99_us, Unit::Time),
        "limit" => predict::limited_by(&it.limits),
        "per-s" => predict::told(it.commits_per_s, PER_S),
        "per-s-within" => predict::interval(mode.commits_per_s, PER_S),
        "most" => predict::told(it.most.map(|most| most.commits_per_s), PER_S),
        "from" => it.most.map_or(Entry::NOTHING, predict::nearly_from),
        "replicas" => Entry::number(it.replicas_per_s, PER_S),
        _ => predict::trusted(mode.trust).into(),
    }
}
