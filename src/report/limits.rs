//! What stops each mode from committing more: the answer, and below it what became of throughput
//! when one thing after the other was moved.

use super::entry::{Entry, Mark};
use super::label;
use super::numbers::{NOTHING, Unit, bytes, digits, percent};
use super::page::{Block, Table};
use crate::analysis::Summary;
use crate::analysis::interval::Estimate;
use crate::analysis::summary::{CellSummary, CpuUser, FirstLimit, Limits, MovedThing, SettingUnit};
use crate::record::Role;
use crate::study::Thing;

/// A table for each point of which something was measured, what is told of it before.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let all = summary.limits.iter();
    let all = all.filter_map(|limits| Some((limits, cell(summary, &limits.id)?)));
    let is_measured = |limits: &Limits| {
        let mut moved = limits.moved.iter();
        limits.throughput_per_s.is_some() || moved.any(|row| row.throughput_per_s.is_some())
    };
    all.filter(|(limits, _)| is_measured(limits))
        .flat_map(|(limits, base)| of_point(summary, limits, base))
        .collect()
}

fn cell<'s>(summary: &'s Summary, id: &str) -> Option<&'s CellSummary> {
    summary.cells.iter().find(|cell| cell.id == id)
}

fn of_point(summary: &Summary, limits: &Limits, base: &CellSummary) -> Vec<Block> {
    let mut blocks = vec![
        Block::Heading(heading(summary, limits, base)),
        Block::Notes(answer(limits)),
        Block::Table(table(summary, limits)),
    ];
    let notes = notes(summary, limits);
    blocks.extend((!notes.is_empty()).then_some(Block::Notes(notes)));
    blocks
}

/// `mysql group, update_index, 1 connection, 2.15 ms, disks: flush 0.5 ms: 351 commits/s`
fn heading(summary: &Summary, limits: &Limits, base: &CellSummary) -> String {
    let per_s = limits.throughput_per_s.map(|rate| rate.median);
    format!(
        "{}, {}, {}, {}{}: {} {}",
        limits.label,
        label::workload(summary, &base.point),
        label::connections(limits.connections),
        limits.distances,
        label::surroundings(summary, base),
        per_s.map_or_else(|| NOTHING.to_owned(), |rate| digits(rate, 2)),
        label::rate(limits.per)
    )
}

/// What is the first limit, and whether more connections help.
fn answer(limits: &Limits) -> Vec<String> {
    let mut told = vec![format!("first limit: {}", first(limits))];
    let connections = row(limits, Thing::Connections).filter(|_| limits.more_connections);
    told.extend(connections.map(|row| {
        let gained = gain(row);
        format!(
            "more connections would carry more: {} in place of {} gain {gained}",
            row.to, row.from
        )
    }));
    told
}

fn row(limits: &Limits, thing: Thing) -> Option<&MovedThing> {
    limits.moved.iter().find(|row| row.thing == thing)
}

fn first(limits: &Limits) -> String {
    let named = |thing| row(limits, thing).map_or_else(|| name(thing), in_words);
    let costs = |thing| {
        let costs = row(limits, thing).map(cost);
        format!("{} costs {}", step(thing), costs.unwrap_or_default())
    };
    match limits.first_limit {
        FirstLimit::Appliers { appliers } => {
            let own = match appliers {
                1 => "one applier".to_owned(),
                _ => format!("{appliers} appliers"),
            };
            format!("{own}. {}", more_of(limits, Thing::Appliers))
        }
        FirstLimit::Rows => format!(
            "transactions wait for each other's rows. {}",
            more_of(limits, Thing::Schemas)
        ),
        FirstLimit::One { thing } => format!("{}. {}.", named(thing), costs(thing)),
        FirstLimit::Alike { larger, other } => format!(
            "{}, or {}: this run cannot tell. {}. {}.",
            named(larger),
            named(other),
            costs(larger),
            costs(other)
        ),
        FirstLimit::NothingMoved => {
            let sum = limits.sum.map(|sum| {
                let sum = with_interval(sum);
                format!(" All times and capacities together come to {sum}; 1 is all there is.")
            });
            format!("nothing that was moved.{}", sum.unwrap_or_default())
        }
        FirstLimit::Undecided => {
            "undecided: intervals are missing or too wide. More rounds, or a longer window, narrow \
             them; what is void has none."
                .into()
        }
    }
}

/// `5 appliers gain 12.0 % (10.0 % to 14.0 %).`
fn more_of(limits: &Limits, thing: Thing) -> String {
    row(limits, thing).map_or_else(String::new, |row| {
        format!("{} {} gain {}.", row.to, name(thing), gain(row))
    })
}

/// What is lost.
fn cost(row: &MovedThing) -> String {
    shares(row, |ratio| 1.0 - ratio)
}

fn gain(row: &MovedThing) -> String {
    shares(row, |ratio| ratio - 1.0)
}

/// `16.1 % (15.0 % to 17.2 %)`
fn shares(row: &MovedThing, share: fn(f64) -> f64) -> String {
    let Some(ratio) = row.ratio else {
        return NOTHING.to_owned();
    };
    let median = percent(share(ratio.median));
    let Some((low, high)) = ratio.low.zip(ratio.high) else {
        return format!("{median} (no interval)");
    };
    let (one, other) = (share(low), share(high));
    let [least, most] = [one.min(other), one.max(other)].map(percent);
    format!("{median} ({least} to {most})")
}

/// As tables and sentences call it.
pub fn name(thing: Thing) -> String {
    let name = match thing {
        Thing::Distance => "distance",
        Thing::LinkRate => "rate of links",
        Thing::Read => "disks' read",
        Thing::Write => "disks' write",
        Thing::Flush => "flush",
        Thing::Pace => "pace of clients",
        Thing::Iops => "disks' IOPS",
        Thing::Bandwidth => "disks' bandwidth",
        Thing::WriterCpu => "CPU of the writer",
        Thing::ReplicasCpu => "CPU of the replicas",
        Thing::RestCpu => "CPU of the rest",
        Thing::SharedCpu => "CPU, shared by all",
        Thing::Appliers => "appliers",
        Thing::Schemas => "schemas",
        Thing::Connections => "connections",
    };
    name.to_owned()
}

/// The same with those who use it: `CPU of the rest (driver 52.0 %, links 48.0 %)`.
fn in_words(row: &MovedThing) -> String {
    let user = |user: &CpuUser| format!("{} {}", who(user.role), percent(user.share));
    let users: Vec<String> = row.used_by.iter().map(user).collect();
    let users = match users.is_empty() {
        true => String::new(),
        false => format!(" ({})", users.join(", ")),
    };
    name(row.thing) + &users
}

fn who(role: Role) -> &'static str {
    match role {
        Role::Writer => "writer",
        Role::Replica => "replicas",
        Role::Client => "driver",
        Role::Front => "front",
        Role::Links => "links",
        Role::Disk => "disks",
    }
}

/// How far it is moved.
fn step(thing: Thing) -> &'static str {
    match thing {
        Thing::Distance => "A quarter more RTT",
        Thing::LinkRate => "A fifth less rate of links",
        Thing::Read => "A quarter more time to read",
        Thing::Write => "A quarter more time to write",
        Thing::Flush => "A quarter more time to flush",
        Thing::Pace => "A quarter longer pace",
        Thing::Iops => "A fifth less IOPS",
        Thing::Bandwidth => "A fifth less bandwidth of disks",
        Thing::WriterCpu => "A fifth less CPU for the writer",
        Thing::ReplicasCpu => "A fifth less CPU for the replicas",
        Thing::RestCpu => "A fifth less CPU for the rest",
        Thing::SharedCpu => "A fifth less CPU for all",
        Thing::Appliers | Thing::Schemas | Thing::Connections => "More of it",
    }
}

/// Times and capacities from the largest elasticity on, what they come to, and apart from these how
/// the load is laid out.
fn table(summary: &Summary, limits: &Limits) -> Table {
    let columns = [
        ("moved", true),
        ("from", false),
        ("to", false),
        (label::rate(limits.per), false),
        ("elasticity", false),
    ];
    let (mut scaling, others): (Vec<&MovedThing>, Vec<&MovedThing>) =
        limits.moved.iter().partition(|row| row.thing.scales());
    let size = |row: &MovedThing| row.elasticity.map_or(f64::NEG_INFINITY, |of| of.median);
    scaling.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let entries = |row: &&MovedThing| entries(summary, row);
    let mut table = Table::new(&columns);
    table.rows.extend(scaling.iter().map(entries));
    table.rows.extend(limits.sum.map(in_sum));
    table.rows.extend(others.iter().map(entries));
    table
}

fn entries(summary: &Summary, row: &MovedThing) -> Vec<Entry> {
    let has_doubts = cell(summary, &row.id).is_some_and(|cell| !cell.flags.is_empty());
    vec![
        Entry::from(name(row.thing)).marked(has_doubts, Mark::Doubt),
        setting(row.from, row.unit),
        setting(row.to, row.unit),
        changed(row.ratio),
        elasticity(row.elasticity),
    ]
}

fn in_sum(sum: Estimate) -> Vec<Entry> {
    vec![
        "all times and capacities".into(),
        Entry::NOTHING,
        Entry::NOTHING,
        Entry::NOTHING,
        elasticity(Some(sum)),
    ]
}

fn setting(value: f64, unit: SettingUnit) -> Entry {
    match unit {
        SettingUnit::Us => Entry::number(Some(value), Unit::Time),
        SettingUnit::BitsPerS => format!("{} Mbit/s", digits(value / 1e6, 2)).into(),
        SettingUnit::BytesPerS => format!("{}/s", bytes(value)).into(),
        SettingUnit::Share => Entry::number(Some(value), Unit::Share),
        SettingUnit::PerS | SettingUnit::Count => Entry::number(Some(value), Unit::Count),
        SettingUnit::Times => format!("× {value}").into(),
    }
}

/// `−16.1 %`
fn changed(ratio: Option<Estimate>) -> Entry {
    let share = ratio.map(|ratio| ratio.median - 1.0);
    let size = Entry::number(share.map(f64::abs), Unit::Share);
    let is_less = share.is_some_and(|share| share < 0.0);
    let is_more = share.is_some_and(|share| share > 0.0);
    size.marked(is_less, Mark::Less).marked(is_more, Mark::More)
}

/// `0.79 0.74–0.84`. Near zero an interval of many times its width is as good as any other.
fn elasticity(of: Option<Estimate>) -> Entry {
    of.map_or(Entry::NOTHING, |of| {
        let told = |number| Unit::Trips.digits(number);
        let ends = match of.low.zip(of.high) {
            Some((low, high)) if low < 0.0 => format!("{} to {}", told(low), told(high)),
            Some((low, high)) => format!("{}–{}", told(low), told(high)),
            None => "no interval".to_owned(),
        };
        format!("{} {ends}", told(of.median)).into()
    })
}

/// `0.62 (0.50 to 0.74)`
fn with_interval(of: Estimate) -> String {
    let told = |number| Unit::Trips.digits(number);
    let median = told(of.median);
    match of.low.zip(of.high) {
        Some((low, high)) => format!("{median} ({} to {})", told(low), told(high)),
        None => format!("{median} (no interval)"),
    }
}

/// What is missing, whether the sum is what it should be, and doubts.
fn notes(summary: &Summary, limits: &Limits) -> Vec<String> {
    let rows = limits.moved.iter();
    let lacking = rows.filter(|row| row.elasticity.is_none());
    let lacking: Vec<String> = lacking.map(|row| name(row.thing)).collect();
    let lacking = (!lacking.is_empty()).then(|| {
        let lacking = lacking.join(", ");
        format!("no figure of {lacking}: void, or not measured in the rounds of the point itself")
    });
    let own = doubt(summary, "the point itself", &limits.id);
    let moved = limits.moved.iter();
    let moved = moved.filter_map(|row| doubt(summary, &name(row.thing), &row.id));
    let doubts = own.into_iter().chain(moved);
    lacking
        .into_iter()
        .chain(limits.sum.and_then(check))
        .chain(doubts)
        .collect()
}

/// Throughput scales with all times and capacities together: what their sum lacks was not moved.
fn check(sum: Estimate) -> Option<String> {
    let (low, high) = sum.low.zip(sum.high)?;
    let told = with_interval(sum);
    match () {
        () if high < 1.0 => Some(format!(
            "times and capacities come to {told} and not to 1: what is missing lies in something \
             that was not moved"
        )),
        () if low > Limits::SUM_MAX => Some(format!(
            "times and capacities come to {told}, and would to 1 if each acted alone: they act \
             together, or the host wandered"
        )),
        () => None,
    }
}

/// `! distance: drifted 1/4`
fn doubt(summary: &Summary, what: &str, id: &str) -> Option<String> {
    let cell = cell(summary, id).filter(|cell| !cell.flags.is_empty())?;
    let flags: Vec<String> = cell.flags.iter().map(label::flag).collect();
    Some(format!("! {what}: {}", flags.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, limited};
    use crate::analysis::summarise;
    use crate::record::Flag;
    use crate::report::{Format, page, render};

    fn told(summary: &Summary) -> String {
        page::text(&blocks(summary))
    }

    /// The part of one mode.
    fn part<'t>(text: &'t str, label: &str) -> &'t str {
        let from = text.find(&format!("\n{label}, ")).expect(label) + 1;
        let rest = &text[from..];
        &rest[..rest.find("\n\n").unwrap_or(rest.len())]
    }

    #[test]
    fn the_answer_stands_before_the_table() {
        let text = told(&summarise(&limited()));
        for line in text.lines() {
            assert!(line.chars().count() <= page::WIDTH, "too wide: {line}");
        }
        let group = part(&text, "mysql group");
        let lines: Vec<&str> = group.lines().collect();
        let heading = "mysql group, update_index, 2 connections, 2.15 ms, disks: flush 0.5 ms: ";
        assert!(lines[0].starts_with(heading), "{text}");
        assert!(lines[0].ends_with(" commits/s"), "{text}");
        let first = "  first limit: distance. A quarter more RTT costs 15.9 % (";
        assert!(lines[1].starts_with(first), "{text}");
        let connections = "  more connections would carry more: 3 in place of 2 gain 50.0 % (";
        assert!(lines[2].starts_with(connections), "{text}");
        let columns = ["moved", "from", "to", "commits/s", "elasticity"];
        let title: Vec<&str> = lines[3].split_whitespace().collect();
        assert_eq!(title, columns, "{text}");
        let names: Vec<&str> = lines[4..].iter().map(|line| line.trim_start()).collect();
        for (name, row) in [
            "distance",
            "flush",
            "CPU, shared by all",
            "all times and capacities",
            "appliers",
            "schemas",
            "connections",
        ]
        .iter()
        .zip(&names)
        {
            assert!(row.starts_with(name), "{name}: {text}");
        }
        for part in ["2.15 ms", "2.69 ms", "−15.9 %", "0.77"] {
            assert!(names[0].contains(part), "{part}: {text}");
        }
        for part in ["500 µs", "625 µs", "0.19"] {
            assert!(names[1].contains(part), "{part}: {text}");
        }
        assert!(names[2].contains("100 %") && names[2].contains("80.0 %"));
        assert!(names[3].contains("1.04"), "{text}");
        assert!(names[6].contains("+50.0 %"), "{text}");
        let single = part(&text, "mysql single");
        assert!(single.contains("first limit: flush. A quarter"), "{text}");
    }

    #[test]
    fn what_is_moved_is_no_row_of_the_other_tables() {
        let summary = summarise(&limited());
        let text = render(&summary, Format::Text);
        assert_eq!(text.matches("\nupdate_index, 2 connections").count(), 1);
        assert!(!text.contains("update_index, 3 connections"), "{text}");
        assert!(!text.contains("2.15 ms × 1.25"), "{text}");
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(at("first limit: ") < at("\nupdate_index, 2 connections"));
        let markdown = render(&summary, Format::Markdown);
        assert!(markdown.contains("| all times and capacities |"));
        let json: serde_json::Value =
            serde_json::from_str(&render(&summary, Format::Json)).unwrap();
        let limits = &json["limits"][1];
        assert_eq!(limits["first_limit"]["is"], "one");
        assert_eq!(limits["first_limit"]["thing"], "distance");
        assert_eq!(limits["moved"][0]["unit"], "us");
        assert_eq!(json["cells"][1]["moved"]["thing"], "flush");
    }

    #[test]
    fn who_uses_the_cpus_is_told_where_they_are_the_limit() {
        let mut summary = summarise(&limited());
        let limits = &mut summary.limits[1];
        limits.first_limit = FirstLimit::Alike {
            larger: Thing::SharedCpu,
            other: Thing::Distance,
        };
        let text = told(&summary).replace("\n      ", " ");
        let users = "CPU, shared by all (writer 73.7 %, links 15.8 %, driver 10.5 %)";
        let said = format!("first limit: {users}, or distance: this run cannot tell. A fifth less");
        assert!(text.contains(&said), "{text}");
    }

    #[test]
    fn every_answer_has_its_words() {
        let mut summary = summarise(&limited());
        for (first, words) in [
            (
                FirstLimit::Appliers { appliers: 1 },
                "one applier. 5 appliers gain ",
            ),
            (FirstLimit::Rows, "each other's rows. 2 schemas gain "),
            (FirstLimit::NothingMoved, "nothing that was moved. All"),
            (FirstLimit::Undecided, "undecided"),
        ] {
            summary.limits[1].first_limit = first;
            let text = told(&summary);
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn a_void_cell_a_doubt_and_a_sum_that_is_not_one_are_told() {
        let mut record = limited();
        let cells = &record.header.cells;
        let of = |thing: Thing, row: usize| {
            let is_it = |cell: &crate::plan::Cell| {
                let moved = cell.moved.is_some_and(|moved| moved.thing == thing);
                moved && cell.mode == row
            };
            cells.iter().position(is_it).expect("a cell")
        };
        let (flush, distance) = (of(Thing::Flush, 1), of(Thing::Distance, 1));
        for measurement in &mut record.measurements {
            match measurement.cell {
                cell if cell == flush => measurement.flags.push(Flag::LateLinks),
                cell if cell == distance => measurement.flags.push(Flag::Downgraded),
                _ => {}
            }
        }
        let text = told(&summarise(&record));
        assert!(text.contains("  no figure of flush: void"), "{text}");
        assert!(text.contains("  ! distance: downgraded 4/4"), "{text}");
        assert!(text.contains("  distance !"), "{text}");
        let group = part(&text, "mysql group");
        assert!(!group.contains("all times and capacities"), "{text}");
        let mut summary = summarise(&limited());
        let near = |median: f64| Estimate {
            median,
            low: Some(median - 0.1),
            high: Some(median + 0.1),
        };
        for (sum, words) in [(0.6, "was not moved"), (1.3, "the host wandered")] {
            summary.limits[1].sum = Some(near(sum));
            let text = told(&summary).replace("\n      ", " ");
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn a_record_in_which_nothing_was_moved_says_nothing() {
        assert_eq!(blocks(&summarise(&Example::default().record())), []);
    }

    #[test]
    fn elasticities_near_zero_are_told_as_they_are() {
        let told = |median: f64, low: f64, high: f64| {
            let (low, high) = (Some(low), Some(high));
            let of = Estimate { median, low, high };
            elasticity(Some(of)).to_string()
        };
        assert_eq!(told(0.79, 0.74, 0.84), "0.79 0.74–0.84");
        assert_eq!(told(0.01, -0.04, 0.06), "0.01 -0.04 to 0.06");
        assert_eq!(told(0.1, 0.01, 0.19), "0.10 0.01–0.19");
        assert_eq!(elasticity(None).to_string(), NOTHING);
    }
}
