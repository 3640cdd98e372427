//! What each of several machines came to, whether they differ, and what a typical one gives.

use super::entry::Entry;
use super::label;
use super::numbers::{Unit, count, numbered};
use super::page::{Block, Table};
use crate::analysis::Summary;
use crate::analysis::interval::machines::MACHINES_NEEDED;
use crate::analysis::summary::{CellSummary, MachineFigure, Machines, Of, What};

/// Tables, and how to read them; nothing of one machine.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let Some(machines) = &summary.machines else {
        return vec![];
    };
    // All but one ran trials alone.
    if machines.figures.is_empty() {
        return vec![];
    }
    let of = count(machines.machines.len() as u64, "machine");
    let heading = format!("{of}: what each came to, its ratios paired on it");
    let told = machines.figures.iter().filter(|one| is_told(summary, one));
    let (over, each): (Vec<_>, Vec<_>) = told.partition(|one| has_many(one));
    let tables = [
        (!over.is_empty()).then(|| table_over(summary, &over)),
        (!each.is_empty()).then(|| table_of_each(summary, machines, &each)),
    ];
    let tables = tables.into_iter().flatten();
    let tables = tables.flat_map(|table| [Block::Space, Block::Table(table)]);
    let notes = Block::Notes(notes(machines, (!over.is_empty(), !each.is_empty())));
    [Block::Heading(heading)]
        .into_iter()
        .chain(tables.skip(1))
        .chain([notes])
        .collect()
}

/// Whether so many machines have the figure that an interval over them can be given.
fn has_many(figure: &MachineFigure) -> bool {
    figure.by_machine.iter().flatten().count() >= MACHINES_NEEDED
}

/// Figures over machines.
fn table_over(summary: &Summary, figures: &[&MachineFigure]) -> Table {
    let titles = ["over\nmachines", "least", "most"];
    let row = |figure: &&MachineFigure| {
        let (mut row, unit) = begun(summary, figure);
        row.push(match is_signed(figure) {
            true => Entry::plus_minus(figure.over_machines.map(Into::into), unit),
            false => Entry::range(figure.over_machines, unit),
        });
        let values = figure.by_machine.iter().flatten().copied();
        let ends = [values.clone().reduce(f64::min), values.reduce(f64::max)];
        row.extend(ends.map(|end| Entry::number(end, unit)));
        row.push(differ(figure));
        row
    };
    let titles = titles.map(str::to_owned);
    table(&titles, figures.iter().map(row).collect())
}

/// Figures of each machine that has them.
fn table_of_each(summary: &Summary, machines: &Machines, figures: &[&MachineFigure]) -> Table {
    let numbers = machines.machines.iter().map(|machine| machine.number);
    let titles: Vec<String> = numbers.map(|number| format!("machine\n{number}")).collect();
    let row = |figure: &&MachineFigure| {
        let (mut row, unit) = begun(summary, figure);
        let each = figure.by_machine.iter();
        row.extend(each.map(|one| Entry::number(*one, unit)));
        row.push(differ(figure));
        row
    };
    table(&titles, figures.iter().map(row).collect())
}

fn table(titles: &[String], rows: Vec<Vec<Entry>>) -> Table {
    let words = |title| (title, true);
    let figures = titles.iter().map(|title| (&title[..], false));
    let columns = ["row", "at", "figure"].map(words).into_iter();
    let columns: Vec<(&str, bool)> = columns.chain(figures).chain([("differ", true)]).collect();
    let mut table = Table::new(&columns);
    table.rows = rows;
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

/// What is told, and its unit. Of how many machines it is, where not of all.
fn begun(summary: &Summary, figure: &MachineFigure) -> (Vec<Entry>, Unit) {
    let (label, at) = place(summary, figure.of);
    let (mut word, unit) = named(summary, figure);
    let (there, all) = (
        figure.by_machine.iter().flatten().count(),
        figure.by_machine.len(),
    );
    if has_many(figure) && there < all {
        word += &format!(" ({there} of {all} machines)");
    }
    (vec![label.into(), at.into(), word.into()], unit)
}

/// Words where machines are shown to differ; a dash where nobody can tell.
fn differ(figure: &MachineFigure) -> Entry {
    match figure.differ {
        Some(true) => "yes".into(),
        Some(false) => "".into(),
        None => Entry::NOTHING,
    }
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

/// How to read figures over machines and those of each, where there are any.
fn notes(machines: &Machines, (has_over, has_each): (bool, bool)) -> Vec<String> {
    let over = "Over machines: the median of all machines' figures, each the median over its own \
                rounds, and its interval, which holds what a typical machine gives in at least 90 \
                of 100 such studies. Intervals elsewhere are over rounds: they tell of these \
                machines.";
    let few = "Fewer than five machines: no interval over machines. Each figure is the median over \
               one machine's rounds. Intervals elsewhere are over rounds: they tell of these \
               machines.";
    let each = "Figures that fewer than five machines have are told of each: the median over its \
                rounds, and no interval over machines.";
    let each = match machines.machines.len() {
        MACHINES_NEEDED.. => each,
        _ => few,
    };
    let read = [(has_over, over), (has_each, each)].into_iter();
    let read = read.filter(|(is_there, _)| *is_there);
    let mut notes: Vec<String> = read.map(|(_, said)| said.to_owned()).collect();
    notes.push(apart(machines));
    if !machines.rounds_split.is_empty() {
        let rounds = numbered("round", &machines.rounds_split);
        notes.push(format!(
            "Begun by one machine and ended by another, left out here: {rounds}."
        ));
    }
    notes
}

/// Whether machines differ.
fn apart(machines: &Machines) -> String {
    let of = |is_it: fn(&MachineFigure) -> bool| {
        let figures = machines.figures.iter();
        figures.filter(|one| is_it(one)).count()
    };
    let told = of(|one| one.differ.is_some());
    match (told, of(|one| one.differ == Some(true))) {
        (0, _) => {
            "No two machines have two rounds: nobody can tell whether machines differ.".to_owned()
        }
        (told, 0) => format!(
            "None of {told} figures is shown to differ from machine to machine by more than from \
             round to round; JSON has all of them."
        ),
        (told, differ) => format!(
            "differ: by more from machine to machine than from round to round, {differ} of {told} \
             figures; of what has a dash nobody can tell. JSON has all of them. What differs \
             belongs to a machine: no one figure tells of all."
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::example::Example;
    use crate::analysis::summarise;
    use crate::analysis::summary::PartOf;
    use crate::record::{Flag, Host, Measurement, PartFacts};
    use crate::report::{Format, render};

    /// The example in twelve rounds, dealt out to so many machines; on the last all round trips
    /// take half as long again.
    fn report(machines: u32) -> String {
        report_of(machines, |_| false)
    }

    /// The same, with what `is_void` says of it left out.
    fn report_of(machines: u32, is_void: fn(&Measurement) -> bool) -> String {
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
        for one in record.measurements.iter_mut().filter(|one| is_void(one)) {
            one.flags.push(Flag::LateLinks);
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

    /// What a machine lacks leaves five of six, what two lack leaves four.
    #[test]
    fn what_fewer_than_five_of_many_have_is_told_of_each() {
        let text = report_of(6, |one| match one.cell {
            1 => one.round % 6 == 1,
            4 => one.round % 6 < 2,
            _ => false,
        });
        let told = &text[text.find("6 machines:").unwrap()..text.find("How to read").unwrap()];
        insta::assert_snapshot!(told);
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
