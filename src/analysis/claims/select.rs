//! Cells by the values of their points, and the pairs among them.

use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};

use crate::analysis::effects::Effects;
use crate::analysis::summary::{CellSummary, ModeToll};
use crate::plan::{Axis, Point};
use crate::study::articles::{Amount, Article, Selector};
use crate::study::{Workload, units};

/// What claims are judged by.
pub struct Material<'a> {
    pub cells: &'a [CellSummary],
    pub tolls: &'a [ModeToll],
    pub effects: &'a [Effects],
    /// The study's short run, which leaves cells out.
    pub is_quick: bool,
}

/// What an article's selections are taken from.
#[derive(Clone, Copy)]
pub struct Points<'s> {
    pub article: &'s Article,
    pub material: &'s Material<'s>,
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
        let all = selectors.iter();
        all.clone()
            .for_each(|one| keep_the_end(&mut cells, &one.rtt, rtt_ns));
        all.for_each(|one| keep_the_end(&mut cells, &one.connections, connections));
        cells
    }

    fn has(&self, selector: &Selector, point: &Point) -> bool {
        let mut any = selector.any.iter();
        let is_one = |name: &String| {
            let other = self.article.points.get(name);
            other.is_some_and(|other| self.has(other, point))
        };
        is_in(selector, point) && (selector.any.is_empty() || any.any(is_one))
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
fn keep_the_end(
    cells: &mut Vec<&CellSummary>,
    amount: &Option<Amount>,
    value: fn(&Point) -> Option<u128>,
) {
    let most = match amount {
        Some(Amount::Word(word)) if word == "most" => true,
        Some(Amount::Word(word)) if word == "least" => false,
        _ => return,
    };
    let all = cells.clone();
    let is_farther = |other: &CellSummary, cell: &CellSummary| {
        let (other, own) = (value(&other.point), value(&cell.point));
        if most { other > own } else { other < own }
    };
    cells.retain(|cell| {
        let mut row = all.iter().filter(|one| one.point.row == cell.point.row);
        value(&cell.point).is_some() && !row.any(|other| is_farther(other, cell))
    });
}

fn connections(point: &Point) -> Option<u128> {
    Some(point.connections.into())
}

/// Between all pairs of sites, where they are alike.
fn rtt_ns(point: &Point) -> Option<u128> {
    let mut all = point.distances.pairs.iter().map(|(_, _, rtt)| rtt);
    let first = all.next()?;
    all.all(|rtt| rtt == first).then_some(first.as_nanos())
}

/// Whether what was asked for, if anything, is the point's.
fn is<T: PartialEq>(asked: Option<T>, own: T) -> bool {
    asked.is_none_or(|asked| asked == own)
}

fn is_in(asked: &Selector, point: &Point) -> bool {
    is_of_mode(asked, point) && is_of_load(asked, point) && is_on_disks(asked, point)
}

fn is_of_mode(asked: &Selector, point: &Point) -> bool {
    let front = point.front.map_or("none", |front| front.proxy.name());
    is_one_of(&asked.server, &point.server)
        && is_one_of(&asked.mode, point.mode.name())
        && is(asked.nodes, point.nodes)
        && is(asked.appliers, point.appliers)
        && is(asked.spread, point.spread)
        && is(asked.tls, point.tls)
        && is(asked.front.as_deref(), front)
        && is(asked.variables.as_ref(), &point.variables)
}

fn is_of_load(asked: &Selector, point: &Point) -> bool {
    let distances = &point.distances;
    let window_ns = Some(point.window.as_nanos());
    let rate = rate(asked.link_rate.as_deref(), units::bits_per_s);
    is_workload(asked, &point.workload)
        && is_amount(&asked.connections, connections(point), count)
        && is(asked.is_offered, point.rate_per_s.is_some())
        && is_amount(&asked.rtt, rtt_ns(point), nanoseconds)
        && is(asked.is_jittered, distances.jitter.is_some())
        && is(rate, distances.rate_bits_per_s)
        && is(asked.client_site.as_ref(), &point.client_site)
        && is_amount(&asked.window, window_ns, nanoseconds)
        && is(asked.is_watched, point.watch_after.is_some())
}

fn is_on_disks(asked: &Selector, point: &Point) -> bool {
    let all = point.disks.as_ref().map(|disks| disks.all);
    let path = rate(asked.bandwidth.as_deref(), bytes_per_s);
    let flush = asked.flush.as_deref().map(units::duration);
    is(flush, all.map(|disk| disk.flush.median()))
        && is(asked.iops.map(Some), all.and_then(|disk| disk.iops))
        && is(path, all.and_then(|disk| disk.bandwidth_bytes_per_s))
}

/// With `!` before a name: any other.
fn is_one_of(asked: &[String], own: &str) -> bool {
    let is = |name: &String| name.strip_prefix('!').map_or(name == own, |not| not != own);
    asked.is_empty() || asked.iter().any(is)
}

fn is_workload(asked: &Selector, workload: &Workload) -> bool {
    let (tool, load, name, catches_up) = match workload {
        Workload::Sysbench { load, .. } => ("sysbench", load.name(), "", false),
        Workload::Mysqlslap { load, catch_up, .. } => ("mysqlslap", load.name(), "", *catch_up),
        Workload::Custom { name, .. } => ("custom", "", &name[..], false),
    };
    is(asked.tool.as_deref(), tool)
        && is(asked.load.as_deref(), load)
        && is(asked.name.as_deref(), name)
        && is(asked.catch_up, catches_up)
}

fn is_amount(asked: &Option<Amount>, own: Option<u128>, of: fn(&str) -> Option<u128>) -> bool {
    let is_one = |asked: &u32| own == Some((*asked).into());
    let is_within = |end: &Option<String>, is: fn(&u128, &u128) -> bool| {
        let end = end.as_deref().and_then(of);
        own.is_some_and(|own| end.is_none_or(|end| is(&own, &end)))
    };
    match asked {
        None => true,
        Some(Amount::Count(count)) => is_one(count),
        Some(Amount::Counts(counts)) => counts.iter().any(is_one),
        // Which of them is the end is seen once all are known.
        Some(Amount::Word(word)) if word == "least" || word == "most" => true,
        Some(Amount::Word(word)) => own.is_some() && own == of(word),
        Some(Amount::Range { min, max }) => is_within(min, u128::ge) && is_within(max, u128::le),
    }
}

fn count(text: &str) -> Option<u128> {
    text.parse().ok()
}

fn nanoseconds(text: &str) -> Option<u128> {
    units::duration(text).map(|span| span.as_nanos())
}

/// `Some(None)`: it is asked that there be no limit.
fn rate(asked: Option<&str>, of: fn(&str) -> Option<f64>) -> Option<Option<u64>> {
    asked.map(|text| of(text).map(|rate| rate.round() as u64))
}

fn bytes_per_s(text: &str) -> Option<f64> {
    units::bits_per_s(text).map(|bits| bits / 8.0)
}
