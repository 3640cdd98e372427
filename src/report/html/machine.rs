//! On what it was measured: machine, versions, settings, the servers' variables, the study; and how
//! to measure it again.

use std::collections::{BTreeMap, BTreeSet};

use super::{blocks, tables};
use crate::analysis::Summary;
use crate::analysis::summary::PartOf;
use crate::record::store::Record;
use crate::record::{Header, LabFacts};
use crate::report::foot;
use crate::report::head;
use crate::report::markup::Element;
use crate::report::numbers::count;
use crate::report::page::{Block, Table};

/// Who has a value of a variable: labs whose nodes all have it, and single nodes.
type Places = Vec<String>;

/// Facts, then what each mode is set to, and what was asked.
pub fn elements(record: &Record, summary: &Summary) -> Vec<Element> {
    let mut facts = head::head(summary);
    facts.retain(|block| matches!(block, Block::Facts(_)));
    let mut elements = blocks::elements(&facts);
    elements.extend(settings(summary));
    elements.extend(variables(&record.header));
    elements.extend(study(&record.header));
    elements
}

/// The commands that measure it again, and that tell it otherwise.
pub fn again(summary: &Summary) -> Vec<Element> {
    let again = foot::again(&summary.command_line, summary.seed);
    let command = again.strip_prefix("Again: ").unwrap_or(&again);
    let report = match summary.cells.is_empty() {
        true => "acklab judge RECORD",
        false => "acklab report RECORD --format csv",
    };
    let lines = [
        (command, "the same run, with the same seed"),
        (report, "the same record, in figures"),
        ("acklab report RECORD --html out.html", "this page"),
        (
            "acklab report RECORD --charts DIR",
            "its charts as SVG files",
        ),
    ];
    let line = |(command, what): (&str, &str)| {
        let code = Element::new("code").text(command);
        Element::new("li").child(code).text(format!(": {what}"))
    };
    vec![
        Element::new("ul")
            .with("class", "commands")
            .children(lines.map(line)),
    ]
}

fn settings(summary: &Summary) -> Option<Element> {
    let mut known: BTreeMap<usize, (&str, String)> = BTreeMap::new();
    for cell in summary.cells.iter().filter(|cell| cell.moved.is_none()) {
        let pairs = cell.settings.iter();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        let row = (&cell.label[..], pairs.join(", "));
        known.entry(cell.point.row).or_insert(row);
    }
    let from_trials = summary.worth.iter().filter(|one| {
        let mut labels = known.values();
        labels.all(|(label, _)| *label != one.label)
    });
    let mut others: BTreeMap<&str, String> = BTreeMap::new();
    for one in from_trials {
        let pairs = one.settings.iter();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        others.insert(one.label.as_str(), pairs.join(", "));
    }
    let mut table = Table::new(&[("mode", true), ("settings", true)]);
    let rows = known.into_values().chain(others);
    table.rows = rows
        .map(|(label, settings)| vec![label.into(), settings.into()])
        .collect();
    let caption = "What each mode is set to";
    (!table.rows.is_empty()).then(|| folded(caption, tables::element(&table, caption)))
}

/// The servers' effective variables; those that are empty everywhere say nothing.
fn variables(header: &Header) -> Option<Element> {
    let mut all = in_parts(header);
    all.retain(|_, values| values.keys().any(|value| !value.is_empty()));
    let mut table = Table::new(&[("variable", true), ("value, and where", true)]);
    let row = |(name, values): (&str, BTreeMap<&str, Places>)| {
        let is_alike = values.len() == 1;
        let told = values.into_iter().map(|(value, places)| {
            let value = if value.is_empty() { "(empty)" } else { value };
            match is_alike {
                true => value.to_owned(),
                false => format!("{value} ({})", places.join(", ")),
            }
        });
        let told: Vec<String> = told.collect();
        vec![name.into(), told.join("; ").into()]
    };
    table.rows = all.into_iter().map(row).collect();
    let names = count(table.rows.len() as u64, "effective variable");
    let caption = format!("{names} of all servers");
    (!table.rows.is_empty()).then(|| folded(&caption, tables::element(&table, &caption)))
}

/// Values of each variable, and where they are. Of a merged record each part had labs of its own:
/// what all of them have alike is told once.
fn in_parts(header: &Header) -> BTreeMap<&str, BTreeMap<&str, Places>> {
    let parts = header.parts.iter().map(|one| (Some(one.part), &one.labs));
    let only = header.parts.is_empty().then_some((None, &header.labs));
    let mut found: BTreeMap<(&str, &str, String), BTreeSet<Option<PartOf>>> = BTreeMap::new();
    for (part, labs) in parts.chain(only) {
        for at in labs.iter().flat_map(of_lab) {
            found.entry(at).or_default().insert(part);
        }
    }
    let mut all: BTreeMap<&str, BTreeMap<&str, Places>> = BTreeMap::new();
    for ((name, value, place), parts) in found {
        let is_everywhere = parts.len() >= header.parts.len();
        let of_part = |part: PartOf| format!("{place} of part {part}");
        let places = all.entry(name).or_default().entry(value).or_default();
        match is_everywhere {
            true => places.push(place),
            false => places.extend(parts.into_iter().flatten().map(of_part)),
        }
    }
    all
}

/// Each variable's values, with the lab where all its nodes have the same, or else with the node.
fn of_lab(lab: &LabFacts) -> Vec<(&str, &str, String)> {
    let mut values: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (node, variables) in &lab.variables {
        for (name, value) in variables {
            let own = values.entry(name.as_str()).or_default();
            own.push((value.as_str(), node.as_str()));
        }
    }
    let mut told = Vec::new();
    for (name, nodes) in values {
        let first = nodes[0].0;
        let is_alike = nodes.len() == lab.variables.len();
        if is_alike && nodes.iter().all(|(value, _)| *value == first) {
            told.push((name, first, lab.family.clone()));
            continue;
        }
        let each = nodes.into_iter();
        told.extend(each.map(|(value, node)| (name, value, format!("{} {node}", lab.family))));
    }
    told
}

fn study(header: &Header) -> Option<Element> {
    let text = header.study_text.trim();
    (!text.is_empty()).then(|| {
        let code = Element::new("pre").with("tabindex", "0").text(text);
        folded("The study, as it was written", code)
    })
}

fn folded(title: &str, inside: Element) -> Element {
    let summary = Element::new("summary").text(title);
    Element::new("details").child(summary).child(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::Example;
    use crate::record::{Host, PartFacts};

    /// The example's labs in each of so many parts; the last part's servers flush less often.
    fn merged(parts: u32) -> Header {
        let mut header = Example::default().record().header;
        let facts = |part: PartOf| {
            let mut labs = header.labs.clone();
            if part.number == parts {
                let nodes = labs[0].variables.values_mut();
                nodes.for_each(|own| drop(own.insert("sync_binlog".into(), "0".into())));
            }
            PartFacts {
                part,
                command_line: vec![],
                started_unix_ms: 0,
                host: Host::default(),
                self_test: None,
                labs,
            }
        };
        header.parts = PartOf::all(parts).map(facts).collect();
        header
    }

    #[test]
    fn variables_of_all_parts_are_told_and_what_is_alike_once() {
        let page = variables(&merged(3)).expect("variables").to_string();
        let other = "0 (mysql replication of part 3/3)";
        assert!(page.contains(other), "{page}");
        let first = "mysql replication of part 1/3, mysql replication of part 2/3";
        assert!(page.contains(first), "{page}");
        let alike = "ON (mysql replication)";
        assert!(
            page.contains(alike) && !page.contains("galera of part"),
            "{page}"
        );
    }
}
