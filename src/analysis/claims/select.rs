//! Cells by the values of their points, and the pairs among them.

use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};

use crate::analysis::effects::Effects;
use crate::analysis::interval::Risk;
use crate::analysis::summary::CellSummary;
use crate::analysis::worth::ModeWorth;
use crate::plan::{Axis, Point};
use crate::study::articles::{Article, Asked, Selector};
use crate::study::{Variables, Workload, units};

/// What claims are judged by.
pub struct Material<'a> {
    pub cells: &'a [CellSummary],
    pub worth: &'a [ModeWorth],
    pub effects: &'a [Effects],
    /// How often an interval may miss.
    pub risk: Risk,
    /// Digest of the bounds before the first measurement.
    pub bounds_sha256: Option<&'a str>,
    /// The study's short run, which leaves cells out.
    pub is_quick: bool,
}

/// What an article's selections are taken from.
#[derive(Clone, Copy)]
pub struct Points<'s> {
    pub article: &'s Article,
    pub material: &'s Material<'s>,
    /// How often the interval of each figure may miss.
    pub risk: Risk,
}

impl<'s> Points<'s> {
    /// The selections that a text names; `None` if there is no such one.
    pub fn selectors(&self, names: &str) -> Option<Vec<&'s Selector>> {
        let of = |name| self.article.points.get(name);
        names.split_whitespace().map(of).collect()
    }

    /// Cells in all of these selections, measured or not, in the order of the study.
    pub fn planned(&self, names: &str) -> Vec<&'s CellSummary> {
        let Some(selectors) = self.selectors(names) else {
            return vec![];
        };
        let fits = |cell: &&CellSummary| selectors.iter().all(|one| self.has(one, &cell.point));
        let mut cells: Vec<&CellSummary> = self.material.cells.iter().filter(fits).collect();
        for (axis, asked) in selectors.iter().flat_map(|one| &one.axes) {
            keep_the_end(&mut cells, axis, asked);
        }
        cells
    }

    fn has(&self, selector: &Selector, point: &Point) -> bool {
        let mut any = selector.any.iter();
        let is_one = |name: &String| {
            let other = self.article.points.get(name);
            other.is_some_and(|other| self.has(other, point))
        };
        let mut axes = selector.axes.iter();
        axes.all(|(axis, asked)| own(point, axis).is_some_and(|own| is(asked, &own)))
            && (selector.any.is_empty() || any.any(is_one))
    }

    /// Those of them that have figures.
    pub fn measured(&self, names: &str) -> Vec<&'s CellSummary> {
        let mut cells = self.planned(names);
        cells.retain(|cell| cell.rounds > 0);
        cells
    }

    /// What must be added to a study of which no point is in these selections.
    pub fn needs(&self, names: &str) -> Option<&'s str> {
        let mut all = self.selectors(names)?.into_iter();
        let needs = all.find_map(|one| one.needs.as_deref());
        needs.filter(|_| self.planned(names).is_empty())
    }

    /// The point that differs from this one in no other axes; a measured one before others.
    pub fn partner(&self, of: &Point, names: &str, differ: &[Axis]) -> Option<&'s CellSummary> {
        let rest = of.without(differ);
        let mut pairs = self.planned(names);
        pairs.retain(|cell| cell.point != *of && cell.point.without(differ) == rest);
        let measured = pairs.iter().find(|cell| cell.rounds > 0);
        measured.or(pairs.first()).copied()
    }
}

/// The first of all that have the same values on these axes.
pub fn distinct<'s>(cells: Vec<&'s CellSummary>, axes: &[Axis]) -> Vec<&'s CellSummary> {
    let mut kept: Vec<&CellSummary> = Vec::new();
    for cell in cells {
        let is_like = |other: &Point| axes.iter().all(|axis| cell.point.is_same_in(other, *axis));
        if !kept.iter().any(|other| is_like(&other.point)) {
            kept.push(cell);
        }
    }
    kept
}

/// The axes of these names; those of the mode if there are none.
///
/// # Panics
/// If one is no axis, which a test checks of all articles.
pub fn axes(names: &[String]) -> Vec<Axis> {
    let axis = |name: &String| {
        let text = StrDeserializer::<Error>::new(name);
        Axis::deserialize(text).expect("the name of an axis")
    };
    match names {
        [] => Axis::OF_MODE.to_vec(),
        _ => names.iter().map(axis).collect(),
    }
}

/// Of each row of the table of modes only its cells with the least, or with the most.
fn keep_the_end(cells: &mut Vec<&CellSummary>, axis: &str, asked: &Asked) {
    let most = match asked {
        Asked::Text(word) if word == "most" => true,
        Asked::Text(word) if word == "least" => false,
        _ => return,
    };
    let all = cells.clone();
    let amount = |cell: &CellSummary| match own(&cell.point, axis) {
        Some(Own::Amount(amount)) => amount,
        _ => None,
    };
    let is_farther = |other: &CellSummary, cell: &CellSummary| match most {
        true => amount(other) > amount(cell),
        false => amount(other) < amount(cell),
    };
    cells.retain(|cell| {
        let mut row = all.iter().filter(|one| one.point.row == cell.point.row);
        amount(cell).is_some() && !row.any(|other| is_farther(other, cell))
    });
}

/// What a point has on an axis that selections can name.
enum Own<'p> {
    Flag(bool),
    Name(&'p str),
    Variables(&'p Variables),
    /// Whole numbers, nanoseconds, or bits per second; `None` where there is none, or no limit.
    Amount(Option<u128>),
}

/// `None` if no axis is called so.
fn own<'p>(point: &'p Point, axis: &str) -> Option<Own<'p>> {
    use Own::{Amount, Flag, Name};
    let (tool, load, name, catches_up) = match &point.workload {
        Workload::Sysbench { load, .. } => ("sysbench", load.name(), "", false),
        Workload::Mysqlslap { load, catch_up, .. } => ("mysqlslap", load.name(), "", *catch_up),
        Workload::Custom { name, .. } => ("custom", "", &name[..], false),
    };
    let (disk, distances) = (
        point.disks.as_ref().map(|disks| disks.all),
        &point.distances,
    );
    let path = disk.and_then(|disk| disk.bandwidth_bytes_per_s);
    Some(match axis {
        "server" => Name(&point.server),
        "mode" => Name(point.mode.name()),
        "front" => Name(point.front.map_or("none", |front| front.proxy.name())),
        "tool" => Name(tool),
        "load" => Name(load),
        "name" => Name(name),
        "client_site" => Name(&point.client_site),
        "apply" => Name(point.apply.word()),
        "variables" => Own::Variables(&point.variables),
        "spread" => Flag(point.spread),
        "tls" => Flag(point.tls),
        "catch_up" => Flag(catches_up),
        "is_offered" => Flag(point.rate_per_s.is_some() || point.knee.is_some()),
        "is_jittered" => Flag(distances.jitter.is_some()),
        "is_watched" => Flag(point.watch_after.is_some()),
        "nodes" => Amount(Some(point.nodes.into())),
        "appliers" => Amount(Some(point.appliers.into())),
        "connections" => Amount(Some(point.connections.into())),
        "schemas" => Amount(Some(point.schemas.into())),
        "window" => Amount(Some(point.window.as_nanos())),
        "rtt" => Amount(rtt_ns(point)),
        "link_rate" => Amount(distances.rate_bits_per_s.map(u128::from)),
        "flush" => Amount(disk.map(|disk| disk.flush.median().as_nanos())),
        "iops" => Amount(disk.and_then(|disk| disk.iops).map(u128::from)),
        "bandwidth" => Amount(path.map(|bytes| u128::from(bytes) * 8)),
        _ => return None,
    })
}

/// Between all pairs of sites, where they are alike.
fn rtt_ns(point: &Point) -> Option<u128> {
    let mut all = point.distances.pairs.iter().map(|(_, _, rtt)| rtt);
    let first = all.next()?;
    all.all(|rtt| rtt == first).then_some(first.as_nanos())
}

/// Whether a point's value is what was asked for.
fn is(asked: &Asked, own: &Own) -> bool {
    match (asked, own) {
        (Asked::Any(all), _) => all.iter().any(|one| is(one, own)),
        (Asked::Flag(asked), Own::Flag(own)) => asked == own,
        (Asked::Text(name), Own::Name(own)) => name
            .strip_prefix('!')
            .map_or(name == own, |not| not != *own),
        (Asked::Table(variables), Own::Variables(own)) => variables == *own,
        (Asked::Count(count), Own::Amount(own)) => *own == Some((*count).into()),
        // Which of them is the end is seen once all are known.
        (Asked::Text(word), Own::Amount(_)) if word == "least" || word == "most" => true,
        (Asked::Text(word), Own::Amount(own)) => *own == amount(word),
        (Asked::Table(ends), Own::Amount(Some(own))) => {
            let end = |name| ends.get(name).and_then(|end: &String| amount(end));
            end("min").is_none_or(|min| *own >= min) && end("max").is_none_or(|max| *own <= max)
        }
        _ => false,
    }
}

/// A span in nanoseconds, or a rate in bits per second; `None` of `none`.
fn amount(text: &str) -> Option<u128> {
    let span = units::duration(text).map(|span| span.as_nanos());
    span.or_else(|| units::bits_per_s(text).map(|rate| rate.round() as u128))
}
