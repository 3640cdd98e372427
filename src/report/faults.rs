//! The catalogue of faults, as a list.

use super::numbers::NOTHING;
use super::page::{self, Block, Table};
use crate::study::fault_catalogue::{self, Case, CatalogueRow, Missing};

/// What there is to break: numbers of known anomalies, names, what is done, and where.
pub fn list() -> String {
    let mut table = Table::new(&[
        ("number", true),
        ("fault", true),
        ("what is done", true),
        ("modes", true),
    ]);
    table.rows = fault_catalogue::all()
        .iter()
        .map(|row| {
            [number(row), row.fault.name.clone(), title(row), modes(row)]
                .map(Into::into)
                .to_vec()
        })
        .collect();
    let missing = fault_catalogue::missing().iter().map(lacking).collect();
    let notes = [
        "`acklab break NAME` or `acklab break NUMBER` injects a fault in its modes, and in the \
         settings under which what it shows is gone; `acklab break all` injects all of them",
        "first: what every mode is asked first; `acklab break` asks that. Controls run with \
         whatever is asked: they must lose, or must not, or nothing is decided",
        "docs/fault-model.md tells what is done and how that is seen",
    ];
    page::text(&[
        Block::Table(table),
        Block::Notes(notes.map(str::to_owned).into()),
        Block::Space,
        Block::Lines(vec!["Known, and without a fault here:".to_owned()]),
        Block::Notes(missing),
    ])
}

fn number(row: &CatalogueRow) -> String {
    let numbers: Vec<String> = row.numbers.iter().map(u32::to_string).collect();
    match numbers.is_empty() {
        true if is_first(row) => "first".to_owned(),
        true => NOTHING.to_owned(),
        false => numbers.join(", "),
    }
}

/// Whether one of its modes is asked it before all others.
fn is_first(row: &CatalogueRow) -> bool {
    let is_its_first = |case: &Case| {
        let first = fault_catalogue::for_mode(&case.spec).first().copied();
        first.is_some_and(|first| first.fault.name == row.fault.name)
    };
    row.cases.iter().any(is_its_first)
}

fn title(row: &CatalogueRow) -> String {
    let control = match row.fault.control {
        Some(_) => " (control)",
        None => "",
    };
    row.fault.title.clone() + control
}

/// Servers by mode: `async (mysql, mariadb)`.
fn modes(row: &CatalogueRow) -> String {
    let mut modes: Vec<(&str, Vec<&str>)> = Vec::new();
    for Case { spec, .. } in &row.cases {
        let (mode, server) = (spec.mode.name(), &spec.server[..]);
        match modes.iter_mut().find(|(known, _)| *known == mode) {
            Some((_, servers)) if servers.contains(&server) => {}
            Some((_, servers)) => servers.push(server),
            None => modes.push((mode, vec![server])),
        }
    }
    let each = modes.iter();
    let each = each.map(|(mode, servers)| format!("{mode} ({})", servers.join(", ")));
    each.collect::<Vec<String>>().join(", ")
}

fn lacking(missing: &Missing) -> String {
    let Missing { number, title, why } = missing;
    format!("{number}: {title}: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_listed_with_its_modes() {
        let list = list();
        assert!(
            list.lines().all(|line| line.chars().count() <= page::WIDTH),
            "{list}"
        );
        let flowing = list.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in fault_catalogue::all() {
            // A long name may be broken where it has a hyphen.
            let name = row.fault.name.split('-').next().unwrap_or_default();
            assert!(flowing.contains(name), "{name}");
        }
        assert!(flowing.contains("(mysql,"), "{flowing}");
        assert!(
            flowing.contains("8: An acknowledgement of semi-sync"),
            "{flowing}"
        );
        assert!(flowing.contains("(control)"), "{flowing}");
        let firsts = list
            .lines()
            .filter(|line| line.trim_start().starts_with("first "));
        assert_eq!(firsts.count(), 3, "{list}");
    }
}
