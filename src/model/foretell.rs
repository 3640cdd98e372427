//! A record's whole model, and what it foretells.

use serde::Serialize;

use super::at::At;
use super::coefficients::Coefficients;
use super::evaluate::{Foretold, Span, evaluate};
use super::left_out::{Errors, Held, Trust, leave_out};
use super::line::Lack;
use super::measured::{Beside, Ranges};
use super::refusal::{self, Refusal};
use super::rows::{Row, Rows};
use super::second::{self, Checked};
use crate::analysis::called;
use crate::analysis::summary::Value;
use crate::record::store::Record;

/// What a record says of other places.
pub struct Model {
    rows: Rows,
    fits: Vec<Coefficients>,
    held: Held,
    /// Other records, each foretold.
    checked: Vec<Checked>,
    /// All sites of the study, the writer's first.
    pub sites: Vec<String>,
}

/// What is foretold of a place, and how far to trust it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    pub at: At,
    /// What is asked, beside what was measured.
    pub beside: Vec<Beside>,
    pub modes: Vec<ModeForetold>,
    /// Modes of the record of which nothing can be foretold.
    pub lacking: Vec<Lacking>,
    /// How well each cell of the record is foretold by the others. Its intervals are no narrower
    /// than what other records that were given were off by.
    pub held: Held,
    /// Those records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<Checked>,
}

/// One mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeForetold {
    pub label: String,
    pub server: String,
    pub mode: String,
    /// With its pace.
    pub workload: String,
    pub coefficients: Coefficients,
    /// Absent where nobody is at a site that it waits for.
    pub foretold: Option<Foretold>,
    /// Nine in ten truths lie in these; absent where too few cells were left out.
    pub p50_us: Option<Interval>,
    pub p99_us: Option<Interval>,
    pub commits_per_s: Option<Interval>,
    pub trust: Trust,
    pub slopes: Slopes,
}

/// From `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// The line's slopes beside what else tells them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Slopes {
    pub round_trips: f64,
    /// As the anatomy's line has them.
    pub round_trips_of_anatomy: Option<Value>,
    pub flushes: Option<f64>,
    /// As the writer's disk counted them, its background's too.
    pub flushes_counted: Option<f64>,
}

/// A mode of which nothing is foretold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lacking {
    pub label: String,
    pub lack: Lack,
}

impl Model {
    /// Fits the model, and leaves each cell out of it once.
    ///
    /// # Errors
    /// Why the record says nothing of other places.
    ///
    /// # Panics
    /// If a latency histogram is damaged; `Record::open` refuses such records.
    pub fn of(record: &Record) -> Result<Model, Refusal> {
        refusal::check(record)?;
        let rows = Rows::of(record);
        let places = 0..rows.rows.len();
        let fits: Result<Vec<Coefficients>, Lack> =
            places.map(|place| rows.fit(place, None)).collect();
        let fits = fits.map_err(|_| Refusal::NoLine)?;
        if fits.is_empty() {
            return Err(Refusal::NoLine);
        }
        Ok(Model {
            held: leave_out(&rows),
            checked: Vec::new(),
            sites: record.header.study.sites.clone(),
            rows,
            fits,
        })
    }

    /// With records of other days beside: intervals hold what those were off by, too.
    pub fn with_days(self, others: &[Record]) -> Model {
        let checked = self.check(others);
        let days = checked.iter().map(|day| Held::of(day.cells.clone()));
        let held = days.fold(self.held.clone(), |held, day| held.as_wide_as(&day));
        Model {
            held,
            checked,
            ..self
        }
    }

    /// What it says of a place.
    pub fn predict(&self, at: &At) -> Prediction {
        let modes = self.rows.rows.iter().zip(&self.fits);
        let lacking = self.rows.lacking.iter().map(|(label, lack)| Lacking {
            label: label.clone(),
            lack: *lack,
        });
        Prediction {
            at: at.clone(),
            beside: self.ranges().beside(at),
            modes: modes.map(|(row, fit)| self.mode(row, fit, at)).collect(),
            lacking: lacking.collect(),
            held: self.held.clone(),
            checked: self.checked.clone(),
        }
    }

    /// The least and the most that was measured of what can be asked.
    pub fn ranges(&self) -> Ranges {
        Ranges::of(self.rows.rows.iter().flat_map(Row::facts))
    }

    /// How well it foretells other records.
    pub fn check(&self, others: &[Record]) -> Vec<Checked> {
        second::check(&self.rows, &self.fits, &self.held, others)
    }

    /// Each mode's coefficients, by the mode's label.
    pub fn coefficients(&self) -> impl Iterator<Item = (&str, &Coefficients)> {
        let rows = self.rows.rows.iter().map(|row| &row.label[..]);
        rows.zip(&self.fits)
    }

    fn mode(&self, row: &Row, fit: &Coefficients, at: &At) -> ModeForetold {
        let foretold = evaluate(fit, at);
        let held = &self.held;
        let (p50, p99, per_s) = match at.connections {
            0 | 1 => (&held.single, &held.single_p99, None),
            _ => (&held.several, &held.several_p99, Some(&held.several_per_s)),
        };
        let span = |pick: fn(&Foretold) -> Option<Span>| foretold.as_ref().and_then(pick);
        let per_s = span(|it| it.commits_per_s).zip(per_s);
        let shared = row.several.iter().filter(|fact| fact.is_shared()).count();
        ModeForetold {
            label: row.label.clone(),
            server: row.point.server.clone(),
            mode: row.point.mode.name().to_owned(),
            workload: called::workload(&row.point),
            p50_us: span(|it| it.p50_us).and_then(|span| widened(span, p50)),
            p99_us: span(|it| it.p99_us).and_then(|span| widened(span, p99)),
            commits_per_s: per_s.and_then(|(span, errors)| widened(span, errors)),
            trust: self.held.trust(row.point.row, shared as u32),
            slopes: Slopes {
                round_trips: fit.single.round_trips,
                round_trips_of_anatomy: row.round_trips_of_anatomy(),
                flushes: fit.single.flushes,
                flushes_counted: row.flushes_counted(),
            },
            coefficients: fit.clone(),
            foretold,
        }
    }
}

fn widened(span: Span, errors: &Errors) -> Option<Interval> {
    let factor = errors.factor?;
    Some(Interval {
        low: span.low / factor,
        high: span.high * factor,
    })
}
