//! Which cells of a record make up each mode's model, and how it is fitted to them: to all, or to
//! all but one.

use std::collections::BTreeMap;

use super::coefficients::{Coefficients, Single};
use super::crowd::{Alone, Seen, kernel_ratio, several};
use super::facts::{FORETOLD, Fact, facts};
use super::line::{Lack, Line, Ways};
use super::tail::Above;
use crate::analysis::anatomy;
use crate::analysis::interval::median;
use crate::analysis::summary::{Anatomy, Axis, Value, WaitsFor};
use crate::plan::Point;
use crate::record::Header;
use crate::record::store::Record;
use crate::study::Mode;

/// One mode of a record.
pub struct Row {
    pub label: String,
    /// The first of its cells of single commits.
    pub point: Point,
    pub ways: Ways,
    /// Cells of one client at a time, all paced alike or not at all.
    pub singles: Vec<Fact>,
    /// Closed loops of several clients.
    pub several: Vec<Fact>,
    /// What the anatomy says of the same commits, to hold the line against.
    pub anatomy: Option<Anatomy>,
}

/// All modes that have cells of single commits, and those that lack them.
pub struct Rows {
    pub rows: Vec<Row>,
    pub lacking: Vec<(String, Lack)>,
    /// What several connections show of each of the rows, of all its cells.
    seen: Vec<Seen>,
    above: Vec<Above>,
}

impl Rows {
    pub fn of(record: &Record) -> Rows {
        let header = &record.header;
        let facts = facts(record);
        let anatomies = anatomy::summarise(record);
        let mut all = Rows {
            rows: vec![],
            lacking: vec![],
            seen: vec![],
            above: vec![],
        };
        for (place, spec) in header.study.modes.iter().enumerate() {
            let own = facts.iter().filter(|fact| fact.point.row == place);
            let own: Vec<&Fact> = own.collect();
            let row = Row::of(header, &own, &anatomies).ok_or(Lack::NoSingle);
            match row.and_then(|row| Ok((row.line(None)?, row))) {
                Ok((line, row)) => all.push(record, row, &line),
                Err(lack) => all.lacking.push((spec.label.clone(), lack)),
            }
        }
        all
    }

    fn push(&mut self, record: &Record, row: Row, line: &Line) {
        let foretold = |fact: &Fact| {
            let distance_us = row.ways.equal_us(fact)?;
            Some((fact.cell, line.at(distance_us, fact.flush_us)))
        };
        let foretold_us: BTreeMap<usize, f64> = row.singles.iter().filter_map(foretold).collect();
        self.above.push(Above::of(record, &foretold_us));
        let singles: Vec<&Fact> = row.singles.iter().collect();
        let crowd: Vec<&Fact> = row.several.iter().collect();
        self.seen.push(Seen::of(&crowd, &row.alone(&singles, line)));
        self.rows.push(row);
    }

    /// The coefficients of one row, fitted without one of its cells if that is named.
    ///
    /// # Errors
    /// What is lacking without it.
    pub fn fit(&self, place: usize, without: Option<usize>) -> Result<Coefficients, Lack> {
        let row = &self.rows[place];
        let is_left = |fact: &&Fact| Some(fact.cell) != without;
        let singles: Vec<&Fact> = row.singles.iter().filter(is_left).collect();
        let crowd: Vec<&Fact> = row.several.iter().filter(is_left).collect();
        let line = row.line(without)?;
        let alone = row.alone(&singles, &line);
        let own = Seen::of(&crowd, &alone);
        let others = self.seen.iter().enumerate();
        let others = others
            .filter(|(other, _)| *other != place)
            .map(|(_, seen)| seen);
        let others: Vec<&Seen> = others.collect();
        let everywhere = self.rows.iter().flat_map(|row| &row.several);
        let kernel = kernel_ratio(everywhere.filter(is_left));
        let ratios = singles.iter().map(|fact| fact.mean_us / fact.p50_us);
        let flush_us = singles.iter().filter_map(|fact| fact.flush_us);
        Ok(Coefficients {
            sites: row.ways.sites.clone(),
            several: several(&alone, &crowd, (&own, &others), kernel),
            single: Single {
                work_us: line.work_us,
                round_trips: line.round_trips,
                flushes: line.flushes,
                // The fastest that was measured.
                flush_us: flush_us.reduce(f64::min).unwrap_or(0.0),
                mean_ratio: median(&ratios.collect::<Vec<f64>>()).unwrap_or(1.0),
                tail_us: self.above[place].p99_us(without),
                waits_for: line.waits_for,
            },
        })
    }

    /// The place of the row that a point is of: the same server, mode and load, whatever it is
    /// called.
    pub fn of_point(&self, fact: &Fact) -> Option<usize> {
        let mut moved = FORETOLD.to_vec();
        moved.push(Axis::Row);
        self.rows
            .iter()
            .position(|row| fact.is_like_in(&row.point, &moved))
    }
}

impl Row {
    /// Of the loads that the mode was measured under the one with most cells of single commits;
    /// among these those at the pace that most have.
    fn of(header: &Header, own: &[&Fact], anatomies: &[Anatomy]) -> Option<Row> {
        let singles = |first: &Fact| {
            let alike = own
                .iter()
                .filter(|fact| fact.is_single() && fact.is_like(first));
            let paced = alike.filter(|fact| fact.point.pace == first.point.pace);
            paced.map(|fact| (*fact).clone()).collect::<Vec<Fact>>()
        };
        let firsts = own.iter().rev().filter(|fact| fact.is_single());
        let rank = |first: &&&Fact| (singles(first).len(), first.point.pace.is_some());
        let first: &Fact = firsts.max_by_key(rank)?;
        let several = own
            .iter()
            .filter(|fact| !fact.is_single() && fact.is_like(first));
        let several: Vec<Fact> = several.map(|fact| (*fact).clone()).collect();
        let anatomy = anatomies
            .iter()
            .find(|anatomy| is_of(anatomy, &first.point));
        Some(Row {
            label: first.label.clone(),
            ways: ways(header, &first.point, anatomy),
            point: first.point.clone(),
            singles: singles(first),
            several,
            anatomy: anatomy.cloned(),
        })
    }

    fn line(&self, without: Option<usize>) -> Result<Line, Lack> {
        let left = self
            .singles
            .iter()
            .filter(|fact| Some(fact.cell) != without);
        Line::through(&left.collect::<Vec<&Fact>>(), &self.ways)
    }

    fn alone<'a>(&'a self, singles: &'a [&'a Fact], line: &'a Line) -> Alone<'a> {
        Alone {
            point: &self.point,
            singles,
            ways: &self.ways,
            line,
        }
    }

    /// All its cells.
    pub fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.singles.iter().chain(&self.several)
    }

    /// Round trips as the slope of its anatomy.
    pub fn round_trips_of_anatomy(&self) -> Option<Value> {
        self.anatomy.as_ref()?.round_trips
    }

    /// Flushes of the writer's disk for each single commit, as it counts them.
    pub fn flushes_counted(&self) -> Option<f64> {
        let all: Vec<f64> = self
            .singles
            .iter()
            .filter_map(|fact| fact.flushes)
            .collect();
        median(&all)
    }
}

/// Whether an anatomy is of single commits like those at a point.
fn is_of(anatomy: &Anatomy, point: &Point) -> bool {
    let moved = [Axis::Distances, Axis::Disks, Axis::Window, Axis::WatchAfter];
    anatomy.point.without(&moved) == point.without(&moved)
}

fn ways(header: &Header, point: &Point, anatomy: Option<&Anatomy>) -> Ways {
    let sites = header.study.sites.iter().take(point.nodes.max(1) as usize);
    let sites: Vec<String> = sites.cloned().collect();
    let told = anatomy.and_then(|anatomy| anatomy.waits_for.clone());
    Ways {
        has_peers: sites.len() > 1 && point.mode != Mode::Async,
        waits_for: told.filter(|whom| *whom != WaitsFor::Undecided),
        sites,
    }
}
