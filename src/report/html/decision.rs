//! The table to decide by: what each mode costs, what it loses, and the one thing to know before it
//! is chosen. Each figure leads to what it rests on.

use super::answer::share;
use super::places::Places;
use super::rows::{Material, Row};
use super::tables::{Card, cards};
use super::texts::paragraph;
use crate::analysis::summary::{CellSummary, FlagCount};
use crate::analysis::worth::{Disaster, ModeWorth, Verdict};
use crate::record::Flag;
use crate::report::columns::{added, throughput, versus};
use crate::report::entry::Entry;
use crate::report::label;
use crate::report::markup::Element;
use crate::report::numbers::{NOTHING, Unit, count, time};
use crate::study::units::show;
use crate::study::{Mode, WhenShort};

/// More rows are counted.
const ROWS_MAX: usize = 40;
/// Who is served by nobody for longer wants to know it beforehand, in s.
const OUTAGE_S: f64 = 5.0;
const CAPTION: &str = "What each mode costs, and what it loses";
const NOT_TRIED: &str = "not tried";

/// What stands in one cell of the table, and what it rests on.
struct Told {
    text: String,
    link: Option<String>,
    is_bad: bool,
}

/// A column: its title, and what it says of a row.
struct Column<'s> {
    title: String,
    told: Box<dyn Fn(&Row<'_>) -> Told + 's>,
}

impl Told {
    fn plain(text: impl Into<String>) -> Told {
        Told {
            text: text.into(),
            link: None,
            is_bad: false,
        }
    }

    fn at(text: impl Into<String>, link: String) -> Told {
        Told {
            link: Some(link),
            ..Told::plain(text)
        }
    }

    fn card(self) -> Card {
        let bad = self.is_bad.then(|| ("class", "bad".to_owned()));
        Card {
            text: self.text,
            link: self.link,
            more: bad.into_iter().collect(),
        }
    }
}

/// The table, and words for what it lacks.
pub fn elements(material: &Material<'_>, places: &Places<'_>) -> Vec<Element> {
    if material.rows.is_empty() {
        return vec![];
    }
    let columns = columns(material, places);
    let titles: Vec<&str> = columns.iter().map(|column| &column.title[..]).collect();
    let shown = material.rows.iter().take(ROWS_MAX);
    let rows = shown.map(|row| {
        let cells = columns.iter().map(|column| (column.told)(row).card());
        (row.spec.label.clone(), cells.collect())
    });
    let mut elements = vec![cards(CAPTION, "decision", &titles, rows.collect())];
    let more = material.rows.len().saturating_sub(ROWS_MAX);
    if more > 0 {
        let rows = count(more as u64, "row");
        elements.push(paragraph(&format!("{rows} more, with all others below.")));
    }
    elements.extend(not_tried(material));
    elements
}

fn columns<'s>(material: &'s Material<'_>, places: &'s Places<'_>) -> Vec<Column<'s>> {
    let mut columns: Vec<Column<'s>> = Vec::new();
    if let Some(cell) = material.alone {
        let title = format!(
            "adds to a {}, sites {} apart",
            label::one(cell.per),
            cell.distances
        );
        columns.push(column(title, move |row| adds(row, places)));
        columns.push(column("round trips", move |row| round_trips(row, places)));
        columns.push(column("flushes", move |row| flushes(row, places)));
    }
    if let Some(cell) = material.loaded {
        let title = format!(
            "{} against its baseline, {}, sites {} apart",
            label::rate(cell.per),
            label::connections(cell.connections),
            cell.distances
        );
        columns.push(column(title, move |row| rate(row, places)));
    }
    for disaster in Disaster::ALL {
        if is_tried(material, disaster) {
            let title = format!("lost if {}", label::disaster(disaster));
            columns.push(column(title, move |row| lost(row, disaster, places)));
        }
    }
    columns.push(column("to know before", move |row| caveat(row, places)));
    columns
}

fn column<'s>(title: impl Into<String>, told: impl Fn(&Row<'_>) -> Told + 's) -> Column<'s> {
    Column {
        title: title.into(),
        told: Box::new(told),
    }
}

fn is_tried(material: &Material<'_>, disaster: Disaster) -> bool {
    let mut rows = material.rows.iter();
    rows.any(|row| row.worst(disaster).is_some())
}

/// Which disasters befell nobody here.
fn not_tried(material: &Material<'_>) -> Option<Element> {
    let none = Disaster::ALL.into_iter();
    let none = none.filter(|disaster| !is_tried(material, *disaster));
    let none: Vec<&str> = none.map(label::disaster).collect();
    (!none.is_empty()).then(|| {
        paragraph(&format!(
            "Not tried in this run: what is lost if {}. `acklab break --list` has all faults.",
            none.join(", or ")
        ))
    })
}

fn adds(row: &Row<'_>, places: &Places<'_>) -> Told {
    let Some(cell) = row.alone else {
        return Told::plain(NOTHING);
    };
    let text = match (&cell.baseline, cell.latency_us.p50) {
        (Some(_), _) if cell.added_us.is_some() => added(cell).to_string(),
        (None, Some(us)) => format!("baseline: {}", time(us)),
        (_, us) => us.map_or_else(|| NOTHING.to_owned(), |us| format!("{} in all", time(us))),
    };
    Told::at(text, places.cell(cell))
}

fn round_trips(row: &Row<'_>, places: &Places<'_>) -> Told {
    let trips = row.anatomy.and_then(|one| Some((one, one.round_trips?)));
    match trips {
        Some((one, trips)) => Told {
            link: places.anatomy(one),
            ..Told::plain(Entry::plus_minus(Some(trips), Unit::Trips).to_string())
        },
        None => Told::plain(NOTHING),
    }
}

/// Those that a commit waits for; where no line tells, those that its disk was asked for.
fn flushes(row: &Row<'_>, places: &Places<'_>) -> Told {
    let line = row.anatomy.and_then(|one| Some((one, one.flushes?)));
    if let Some((one, flushes)) = line {
        return Told {
            link: places.anatomy(one),
            ..Told::plain(Entry::plus_minus(Some(flushes), Unit::Trips).to_string())
        };
    }
    let counted = row
        .alone
        .and_then(|cell| Some((cell, cell.flushes_per_commit.writer?)));
    match counted {
        Some((cell, flushes)) => {
            let counted = Unit::Trips.digits(flushes);
            Told::at(format!("{counted} counted"), places.cell(cell))
        }
        None => Told::plain(NOTHING),
    }
}

fn rate(row: &Row<'_>, places: &Places<'_>) -> Told {
    let Some(cell) = row.loaded else {
        return Told::plain(NOTHING);
    };
    let per_s = throughput(cell);
    let text = match cell.baseline {
        Some(_) => format!("{} times; {per_s} per s", versus(cell)),
        None => format!("baseline: {per_s} per s"),
    };
    Told::at(text, places.cell(cell))
}

fn lost(row: &Row<'_>, disaster: Disaster, places: &Places<'_>) -> Told {
    let Some((place, one)) = row.worst(disaster) else {
        return Told::plain(NOT_TRIED);
    };
    let counts = &one.worth.counts;
    let text = match (one.worth.trials_sound, counts.lost) {
        (0, _) => "undecided".to_owned(),
        (_, 0) => format!("nothing: {}", share(one)),
        (_, lost) => format!("{lost} commits: {}", share(one)),
    };
    let is_bad = one.worth.verdict == Verdict::Broken;
    Told {
        text: if is_bad {
            format!("BROKEN: {text}")
        } else {
            text
        },
        is_bad,
        link: Some(places.campaign(place)),
    }
}

/// The first of these that there is: a broken promise, a fall-back that was seen, a long outage,
/// what the mode does by its settings, a doubt about its figures.
fn caveat(row: &Row<'_>, places: &Places<'_>) -> Told {
    broken(row, places)
        .or_else(|| downgraded(row, places))
        .or_else(|| outage(row, places))
        .or_else(|| by_settings(row))
        .or_else(|| doubt(row, places))
        .unwrap_or_else(|| Told::plain(NOTHING))
}

fn broken(row: &Row<'_>, places: &Places<'_>) -> Option<Told> {
    let mut all = row.campaigns.iter();
    let (place, one) = all.find(|(_, one)| one.worth.verdict == Verdict::Broken)?;
    Some(Told {
        is_bad: true,
        ..Told::at(
            format!("BROKEN: {}", one.worth.title),
            places.campaign(*place),
        )
    })
}

fn flagged<'s>(
    row: &Row<'s>,
    is_it: impl Fn(Flag) -> bool,
) -> Option<(&'s CellSummary, FlagCount)> {
    row.cells.iter().find_map(|cell| {
        let mut flags = cell.flags.iter();
        let count = flags.find(|count| is_it(count.flag))?;
        Some((*cell, *count))
    })
}

fn downgraded(row: &Row<'_>, places: &Places<'_>) -> Option<Told> {
    let (cell, flag) = flagged(row, |flag| flag == Flag::Downgraded)?;
    let text = format!(
        "went on asynchronously for a while in {} of {}, without telling its clients",
        flag.rounds,
        count(flag.of.into(), "round")
    );
    Some(Told::at(text, places.cell(cell)))
}

fn outage(row: &Row<'_>, places: &Places<'_>) -> Option<Told> {
    let of = |(place, one): &(usize, &ModeWorth)| {
        let s = one.worth.no_service_s_max?;
        (s > OUTAGE_S).then_some((*place, one.disaster?, s))
    };
    let all = row.campaigns.iter().filter_map(of);
    let (place, disaster, s) = all.max_by(|(.., one), (.., other)| one.total_cmp(other))?;
    let text = format!(
        "nobody was served for up to {} if {}",
        time(s * 1e6),
        label::disaster(disaster)
    );
    Some(Told::at(text, places.campaign(place)))
}

/// What follows from the mode alone. Its settings are told with the machine.
fn by_settings(row: &Row<'_>) -> Option<Told> {
    let peer = row.cells.first().map(|cell| &cell.peer_at_ack[..]);
    let holds = |peer: &str| format!("when the client is told, a peer has: {peer}");
    let text = match row.spec.mode {
        Mode::Single => "no other machine has anything".to_owned(),
        Mode::Async => "what had not reached a replica is lost with the writer".to_owned(),
        Mode::Semisync { timeout, .. } => format!(
            "after {} without an answer it goes on asynchronously, and tells nobody",
            show(timeout)
        ),
        Mode::Group { .. } | Mode::GroupMulti { .. } | Mode::Galera => holds(peer?),
        Mode::Mirror { when_short, .. } => match when_short {
            WhenShort::Block => "waits while its copy is away".to_owned(),
            WhenShort::Degrade => "goes on alone while its copy is away".to_owned(),
            WhenShort::Error => "answers with errors while its copy is away".to_owned(),
        },
        Mode::Quorum { .. } => "waits while too few of its copies are there".to_owned(),
        Mode::Endpoint => return None,
    };
    Some(Told::at(text, "#machine".to_owned()))
}

fn doubt(row: &Row<'_>, places: &Places<'_>) -> Option<Told> {
    let (cell, flag) = flagged(row, |_| true)?;
    Some(Told::at(label::flag(&flag), places.cell(cell)))
}
