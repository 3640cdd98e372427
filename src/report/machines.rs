//! What each of several machines came to, whether they differ, and what a typical one gives.

use super::entry::Entry;
use super::label;
use super::numbers::{Unit, count, numbered};
use super::page::{Block, Table};
use crate::analysis::Summary;
use crate::analysis::interval::machines::MACHINES_NEEDED;
use crate::analysis::summary::{CellSummary, MachineFigure, Machines, Of, What};

/// A table, and how to read it; nothing of one machine.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let Some(machines) = &summary.machines else {
        return vec![];
    };
    // All but one ran trials alone.
    if machines.figures.is_empty() {
        return vec![];
    }
    let of = count(machines.machines.len() as u64, "machine");
    vec![
        Block::Heading(format!("{of}: what each came to, its ratios paired on it")),
        Block::Table(table(summary, machines)),
        Block::Notes(notes(machines)),
    ]
}

fn are_many(machines: &Machines) -> bool {
    machines.machines.len() >= MACHINES_NEEDED
}

fn table(summary: &Summary, machines: &Machines) -> Table {
    let mut columns: Vec<(String, bool)> = vec![("row".to_owned(), true), ("at".to_owned(), true)];
    columns.push(("figure".to_owned(), true));
    match are_many(machines) {
        true => {
            let all = ["over\nmachines", "least", "most"];
            columns.extend(all.map(|title| (title.to_owned(), false)));
        }
        false => {
            let numbers = machines.machines.iter().map(|machine| machine.number);
            columns.extend(numbers.map(|number| (format!("machine\n{number}"), false)));
        }
    }
    columns.push((String::new(), true));
    let columns: Vec<(&str, bool)> = columns.iter().map(|(t, words)| (&t[..], *words)).collect();
    let mut table = Table::new(&columns);
    let told = machines.figures.iter().filter(|one| is_told(summary, one));
    table.rows = told.map(|one| row(summary, machines, one)).collect();
    table.without_empty_columns()
}

/// The figure that a cell is judged by, all of the anatomy's and the designs', and what differs.
fn is_told(summary: &Summary, figure: &MachineFigure) -> bool {
    match figure.of {
        _ if figure.differ == Some(true) => true,
        Of::Cells(index) => figure.what == main(&summary.cells[index]),
        Of::Anatomy(_) => !matches!(figure.what, What::FlushesCounted | What::BeyondSum(_)),
        Of::Effects(_) => true,
    }
}

/// At a pace or an offered rate throughput tells of what was asked.
fn main(cell: &CellSummary) -> What {
    let is_given = cell.point.pace.is_some() || cell.offered_per_s.is_some();
    match is_given {
        true if cell.added_us.is_some() => What::Added,
        true => What::P50,
        false if cell.run_s.is_some() => What::RunSeconds,
        false if cell.ratio.is_some() => What::Ratio,
        false => What::Throughput,
    }
}

fn row(summary: &Summary, machines: &Machines, figure: &MachineFigure) -> Vec<Entry> {
    let (label, at) = place(summary, figure.of);
    let (word, unit) = named(summary, figure);
    let mut row: Vec<Entry> = vec![label.into(), at.into(), word.into()];
    let values = figure.by_machine.iter().flatten().copied();
    match are_many(machines) {
        true => {
            let over = match is_signed(figure) {
                true => Entry::plus_minus(figure.over_machines.map(Into::into), unit),
                false => Entry::range(figure.over_machines, unit),
            };
            let ends = [values.clone().reduce(f64::min), values.reduce(f64::max)];
            row.push(over);
            row.extend(ends.map(|end| Entry::number(end, unit)));
        }
        false => row.extend(
            figure
                .by_machine
                .iter()
                .map(|one| Entry::number(*one, unit)),
        ),
    }
    row.push(match figure.differ {
        Some(true) => "differ".into(),
        _ => Entry::NOTHING,
    });
    row
}

/// The row of modes, and what it was measured under.
fn place(summary: &Summary, of: Of) -> (String, String) {
    let said = |workload: &str, connections: u32, distances: &str| {
        format!("{workload}, {connections} conn., {distances}")
    };
    match of {
        Of::Cells(index) => {
            let cell = &summary.cells[index];
            let at = said(&cell.workload, cell.connections, &cell.distances);
            (cell.label.clone(), at + &label::surroundings(summary, cell))
        }
        Of::Anatomy(index) => {
            let one = &summary.anatomy[index];
            (one.label.clone(), format!("{}, anatomy", one.workload))
        }
        Of::Effects(index) => {
            let one = &summary.effects[index];
            let at = said(&one.workload, one.connections, &one.distances);
            (one.label.clone(), at)
        }
    }
}

fn named(summary: &Summary, figure: &MachineFigure) -> (String, Unit) {
    let per = match figure.of {
        Of::Cells(index) => summary.cells[index].per,
        _ => Default::default(),
    };
    let (word, unit) = match &figure.what {
        What::Throughput => (label::rate(per), Unit::Number(1)),
        What::Applied => ("applied/s", Unit::Number(1)),
        What::AppliedShare => ("applied of committed", Unit::Share),
        What::AppliedAlone => ("applied alone/s", Unit::Number(1)),
        What::Unevenness => ("unevenness", Unit::Share),
        What::UsdPerMillionQueries => ("USD for 10⁶ queries", Unit::Dollars),
        What::Ratio => ("over the baseline", Unit::Ratio),
        What::CpuRatio => ("CPU over the baseline's", Unit::Ratio),
        What::Added => ("adds", Unit::Time),
        What::RunSeconds => ("run", Unit::Seconds),
        What::P50 => ("p50", Unit::Time),
        What::P99 => ("p99", Unit::Time),
        What::RoundTrips => ("round trips", Unit::Trips),
        What::Flushes => ("flushes", Unit::Trips),
        What::Work => ("work", Unit::Time),
        What::FlushesCounted => ("flushes counted", Unit::Trips),
        What::BeyondSum(_) => ("beyond the sum", Unit::Time),
        What::TripsTo(site) => return (format!("round trips to {site}"), Unit::Trips),
        What::FlushesAt(site) => return (format!("flushes at {site}"), Unit::Trips),
        What::Effect(letters) => return (format!("effect of {letters}"), Unit::Ratio),
    };
    (word.to_owned(), unit)
}

/// Such a figure may be zero.
fn is_signed(figure: &MachineFigure) -> bool {
    matches!(figure.of, Of::Anatomy(_)) || figure.what == What::Added
}

fn notes(machines: &Machines) -> Vec<String> {
    let told = machines
        .figures
        .iter()
        .filter(|one| one.differ.is_some())
        .count();
    let differ = machines
        .figures
        .iter()
        .filter(|one| one.differ == Some(true));
    let differ = differ.count();
    let many = match are_many(machines) {
        true => {
            "Over machines: the median of all machines' figures, each the median over its own \
             rounds, and its interval, which holds what a typical machine gives in at least 90 of \
             100 such studies. Intervals elsewhere are over rounds: they tell of these machines."
        }
        false => {
            "Fewer than five machines: no interval over machines. Each figure is the median over \
             one machine's rounds. Intervals elsewhere are over rounds: they tell of these \
             machines."
        }
    };
    let apart = match (told, differ) {
        (0, _) => {
            "No two machines have two rounds: nobody can tell whether machines differ.".to_owned()
        }
        (told, 0) => format!(
            "None of {told} figures is shown to differ from machine to machine by more than from \
             round to round; JSON has all of them."
        ),
        (told, differ) => format!(
            "differ: from machine to machine by more than from round to round, {differ} of {told} \
             figures; JSON has all of them. What differs belongs to a machine: no one figure \
             tells of all."
        ),
    };
    let mut notes = vec![many.to_owned(), apart];
    if !machines.rounds_split.is_empty() {
        let rounds = numbered("round", &machines.rounds_split);
        notes.push(format!(
            "Begun by one machine and ended by another, left out here: {rounds}."
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use crate::analysis::example::Example;
    use crate::analysis::summarise;
    use crate::analysis::summary::PartOf;
    use crate::record::{Host, PartFacts};
    use crate::report::{Format, render};

    /// The example in twelve rounds, dealt out to so many machines; on the last all round trips
    /// take half as long again.
    fn report(machines: u32) -> String {
        let example = Example {
            rounds: 12,
            ..Example::default()
        };
        let mut record = example.record();
        for one in &mut record.measurements {
            one.round += 1;
            if one.round % machines == 0 && record.header.cells[one.cell].mode == 2 {
                one.commits = one.commits * 2 / 3;
            }
        }
        let facts = |part: PartOf| PartFacts {
            part,
            command_line: vec![],
            started_unix_ms: 0,
            host: Host {
                machine: Some(part.to_string()),
                ..record.header.host.clone()
            },
            self_test: None,
            labs: vec![],
        };
        record.header.parts = PartOf::all(machines).map(facts).collect();
        record.header.host = record.header.parts[0].host.clone();
        render(&summarise(&record), Format::Text)
    }

    #[test]
    fn a_few_machines_are_told_one_by_one() {
        let text = report(3);
        insta::assert_snapshot!(
            text[text.find("3 machines:").unwrap()..text.find("How to read").unwrap()]
        );
        assert!(text.contains("machine 2   Example CPU"), "{text}");
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains("rounds 2, 5, 8 and 11"), "{text}");
        assert!(!text.contains("\nhost "), "{text}");
    }

    #[test]
    fn many_have_an_interval_over_them() {
        let text = report(6);
        insta::assert_snapshot!(
            text[text.find("6 machines:").unwrap()..text.find("How to read").unwrap()]
        );
    }

    #[test]
    fn one_machine_is_told_as_ever() {
        let text = report(1);
        assert!(
            !text.contains("machine 1") && text.contains("\nhost "),
            "{text}"
        );
    }
}
