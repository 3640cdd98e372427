//! The catalogue of faults, as a list.

use super::numbers::NOTHING;
use super::page::{self, Block, Table};
use crate::study::fault_catalogue::{self, Case, CatalogueRow, Expected, Missing};
use crate::study::units;

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
        "`acklab break NAME --list` tells its steps, what it shows in which settings, and in which \
         it does not",
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

/// Some faults: steps, what must be seen of them, what they show where, and under which settings
/// they do not.
pub fn details(rows: &[&CatalogueRow]) -> String {
    let blocks: Vec<Block> = rows.iter().flat_map(|row| of_row(row)).collect();
    page::text(&blocks)
}

fn of_row(row: &CatalogueRow) -> Vec<Block> {
    let fault = &row.fault;
    let fact = |name: &str, words: String| (name.to_owned(), words);
    let mut facts = vec![fact("number", number(row))];
    if fault.steps.is_empty() {
        facts.push(fact("steps", "none".to_owned()));
    }
    let steps = (1..).zip(&fault.steps);
    facts.extend(steps.map(|(at, step)| fact(&format!("step {at}"), step.words())));
    facts.extend(
        fault
            .reach
            .iter()
            .map(|reach| fact("must see", reach.words())),
    );
    facts.extend(
        fault
            .control
            .map(|control| fact("fires if", control.words())),
    );
    facts.push(fact(
        "trials",
        format!("{} in each mode, unless asked otherwise", row.trials),
    ));
    facts.extend(row.cases.iter().map(|case| fact("shows", shown(case))));
    facts.extend(
        row.counters
            .iter()
            .map(|case| fact("not with", shown(case))),
    );
    let heading = format!("{}: {}", fault.name, fault.title);
    vec![Block::Heading(heading), Block::Facts(facts)]
}

/// `mysql async, seen besides: both sides of the cut took writes: forked, lost`
fn shown(case: &Case) -> String {
    let mut place = case.spec.label.clone();
    if let Some(rtt) = case.rtt {
        place += &format!(", sites {} apart", units::show(rtt));
    }
    if let Some(other) = &case.instead {
        place += &format!(", by {other}");
    }
    for reach in &case.reach {
        place += &format!(", seen besides: {}", reach.words());
    }
    let words = |all: &[Expected]| -> Vec<&str> { all.iter().map(|one| one.words()).collect() };
    let mut signs = words(&case.all);
    let any = words(&case.any).join(" or ");
    signs.extend((!any.is_empty()).then_some(&any[..]));
    let signs = match signs.is_empty() {
        true => "nothing that is certain beforehand".to_owned(),
        false => signs.join(", "),
    };
    match &case.because {
        Some(because) => format!("{place}: {signs} ({because})"),
        None => format!("{place}: {signs}"),
    }
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

    #[test]
    fn a_fault_is_told_with_what_it_shows_and_where_that_is_gone() {
        let row = |name| fault_catalogue::named(name).expect("a row");
        let told = details(&[row("old-writer-unfenced"), row("link-cut")]);
        insta::assert_snapshot!(told);
        for row in fault_catalogue::all() {
            let told = details(&[row]);
            assert!(
                told.lines().all(|line| line.chars().count() <= page::WIDTH),
                "{told}"
            );
            assert_eq!(
                told.contains("step 1"),
                !row.fault.steps.is_empty(),
                "{told}"
            );
        }
    }
}
