//! Nothing is decided by what something is called: a record in which every name for people is
//! another has the same figures and verdicts.

use acklab::analysis::{Summary, summarise};
use acklab::record::store::Record;
use acklab::study::{Disks, Distances, Workload};
use serde_json::Value;

use super::{RECORDS, record};

/// What a summary calls things, beside texts made of such names.
const NAMES: [&str; 9] = [
    "baseline",
    "disks",
    "distances",
    "id",
    "label",
    "modes",
    "remarks",
    "terms",
    "workload",
];

/// Back to front, so that neither beginnings nor ends nor the order of names outlive it.
fn rename(name: &mut String) {
    *name = format!("~{}", name.chars().rev().collect::<String>());
}

fn rename_all(names: &mut [String]) {
    names.iter_mut().for_each(rename);
}

fn rename_load(workload: &mut Workload) {
    if let Workload::Custom { name, .. } = workload {
        rename(name);
    }
}

fn rename_apart(distances: &mut Distances) {
    rename(&mut distances.label);
}

fn rename_disks(disks: &mut Disks) {
    rename(&mut disks.label);
}

/// The record under other names, each thing under one, wherever it is named.
fn renamed(mut record: Record) -> Record {
    let header = &mut record.header;
    let study = &mut header.study;
    // An article names the workloads of its study: there they are no labels.
    let has_article = study.article.is_some();
    let rename_load = |load: &mut Workload| {
        if !has_article {
            rename_load(load);
        }
    };
    for spec in &mut study.modes {
        rename(&mut spec.label);
        spec.baseline.iter_mut().for_each(rename);
        spec.varied
            .iter_mut()
            .for_each(|varied| rename(&mut varied.of));
    }
    for screen in &mut study.screens {
        rename(&mut screen.of);
        rename_all(&mut screen.runs);
    }
    for injection in &mut study.injections {
        rename_all(&mut injection.modes);
    }
    for sweep in &mut study.sweeps {
        rename_all(&mut sweep.modes);
        sweep.workloads.iter_mut().for_each(&rename_load);
        sweep.distances.iter_mut().for_each(rename_apart);
        sweep.disks.iter_mut().for_each(rename_disks);
    }
    for cell in &mut header.cells {
        rename(&mut cell.id);
        rename_load(&mut cell.workload);
        rename_apart(&mut cell.distances);
        cell.disks.iter_mut().for_each(rename_disks);
    }
    header
        .labs
        .iter_mut()
        .for_each(|lab| rename_all(&mut lab.modes));
    let endpoints = header.endpoints.iter_mut();
    endpoints.for_each(|endpoint| rename(&mut endpoint.label));
    record
}

/// A summary without its names.
fn nameless(summary: &Summary) -> Value {
    let mut value = serde_json::to_value(summary).expect("JSON");
    // Of claims the verdicts and the figures count, not the sentences around them.
    let claims = summary.claims.iter().map(|claim| {
        let figures = claim.figures.iter();
        let numbers = figures.map(|figure| [figure.value, figure.low, figure.high]);
        (claim.verdict, numbers.collect::<Vec<_>>())
    });
    let claims: Vec<_> = claims.collect();
    value["claims"] = serde_json::to_value(claims).expect("JSON");
    value["article"] = Value::Null;
    blank(&mut value);
    value
}

fn blank(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(blank),
        Value::Object(all) => {
            for (key, value) in all {
                match NAMES.contains(&&key[..]) && !value.is_number() {
                    true => *value = Value::Null,
                    false => blank(value),
                }
            }
        }
        _ => {}
    }
}

/// Where two values differ first, by the way there.
fn difference(one: &Value, other: &Value) -> Option<String> {
    let below = |name: String, inner: Option<String>| inner.map(|inner| format!("{name}/{inner}"));
    match (one, other) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(index, (a, b))| below(index.to_string(), difference(a, b)))
        }
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            let mut pairs = a.iter().zip(b.values());
            pairs.find_map(|((key, a), b)| below(key.clone(), difference(a, b)))
        }
        _ => (one != other).then(|| format!(": {one} and {other}")),
    }
}

#[test]
fn another_name_changes_no_figure_and_no_verdict() {
    for name in RECORDS {
        let (plain, other) = (record(name), renamed(record(name)));
        let (told, again) = (summarise(&plain), summarise(&other));
        let found = difference(&nameless(&told), &nameless(&again));
        assert_eq!(found, None, "{name}");
        let is_named_alike = told.cells.iter().zip(&again.cells).any(|(one, other)| {
            (&one.label, &one.distances, &one.id) == (&other.label, &other.distances, &other.id)
        });
        assert!(!is_named_alike, "{name}: a label was left as it was");
    }
}

/// The test above can fail: one label that is renamed without what refers to it.
#[test]
fn a_name_that_is_lost_is_seen() {
    let mut other = renamed(record("compare"));
    let baselines = other.header.study.modes.iter_mut();
    baselines.for_each(|spec| spec.baseline.iter_mut().for_each(rename));
    let (told, again) = (summarise(&record("compare")), summarise(&other));
    assert!(difference(&nameless(&told), &nameless(&again)).is_some());
}
