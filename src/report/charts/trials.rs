//! Trials of faults: what clients had of one, with its steps marked; and what a mode loses against
//! what it costs.

use super::chart::{Chart, Subject, file_name};
use crate::analysis::Summary;
use crate::analysis::interval::median;
use crate::analysis::worth::{Course, CourseStep, Disaster, Judged, ModeWorth};
use crate::report::entry::Entry;
use crate::report::label;
use crate::report::numbers::{Unit, digits, percent};
use crate::report::page::Table;
use crate::report::picture::{Axis, Plot, Point, Series, Span, Upright, Way};

/// Windows in a second.
const WINDOWS_PER_S: f64 = 10.0;
/// Rows of the table below, at most: of a longer trial each is of several windows.
const ROWS_MAX: usize = 60;
/// Beside an axis, so that what is zero can be seen.
const BELOW: f64 = -0.03;
const SECONDS: &str = "seconds from the clients' start";
const TAKES: &str = "ms for one commit, median, nothing else at work";
const LOSES: &str = "share of faults that lose something, 95 %";

/// Of each campaign the trial in which nobody was served for longest.
pub fn courses(summary: &Summary) -> Vec<Chart> {
    let campaigns = summary.worth.iter().enumerate();
    campaigns
        .filter_map(|(place, one)| course_chart(place, one))
        .collect()
}

fn course_chart(place: usize, one: &ModeWorth) -> Option<Chart> {
    let trials = one.courses.iter().zip(&one.worth.each);
    let gap_us = |(_, judged): &(&Course, &Judged)| {
        let s = judged.service.no_service_s.unwrap_or(0.0);
        (s * 1e6) as u64
    };
    let (course, judged) = trials
        .filter(|(course, _)| !course.acknowledged_per_100_ms.is_empty())
        .max_by_key(gap_us)?;
    let fault = &one.worth.fault;
    let title = format!(
        "{}, {fault}: commits acknowledged (seed {}); steps marked, no service shaded",
        one.label, course.seed
    );
    Some(Chart {
        name: file_name("trial", &[&one.label, fault]),
        subject: Subject::Trial(place),
        picture: course_plot(course, gap(judged)).picture(&title),
        table: course_table(course),
        title,
    })
}

/// From when to when nobody was served, in s.
fn gap(judged: &Judged) -> Option<(f64, f64)> {
    let from_s = judged.service.from_us? as f64 / 1e6;
    Some((from_s, from_s + judged.service.no_service_s?))
}

/// Of each window when it began, in s, and its rate.
fn rates(course: &Course) -> Vec<(f64, f64)> {
    let windows = course.acknowledged_per_100_ms.iter();
    let rates = windows.map(|count| f64::from(*count) * WINDOWS_PER_S);
    let begins = (0..).map(|window| f64::from(window) / WINDOWS_PER_S);
    begins.zip(rates).collect()
}

fn course_plot(course: &Course, gap: Option<(f64, f64)>) -> Plot {
    // A window's rate stands from its beginning to its end.
    let mut rates = rates(course);
    let last = rates.last().copied();
    rates.extend(last.map(|(from_s, rate)| (from_s + 1.0 / WINDOWS_PER_S, rate)));
    let point = |(from_s, rate): (f64, f64)| Point {
        across: from_s,
        up: rate,
        ..Point::default()
    };
    let upright = |step: &CourseStep| Upright {
        at: step.begun_s,
        number: step.step.to_string(),
        name: step.deed.clone(),
    };
    let span = |(from, to): (f64, f64)| Span {
        from,
        to,
        name: "nobody served".to_owned(),
    };
    Plot {
        across: Axis {
            title: SECONDS.to_owned(),
            ..Axis::default()
        },
        up: Axis {
            title: "commits/s".to_owned(),
            ..Axis::default()
        },
        series: vec![Series {
            name: "commits acknowledged".to_owned(),
            way: Way::Steps,
            points: rates.into_iter().map(point).collect(),
        }],
        spans: gap.map(span).into_iter().collect(),
        uprights: course.steps.iter().map(upright).collect(),
    }
}

/// Each row a tenth of a second, or the median of several.
fn course_table(course: &Course) -> Table {
    let rates = rates(course);
    let step = rates.len().div_ceil(ROWS_MAX).max(1);
    let title = match step {
        1 => "from s".to_owned(),
        _ => format!("from s, median of {step} windows of 0.1 s"),
    };
    let mut table = Table::new(&[(&title[..], true), ("commits/s", false), ("done", true)]);
    let row = |windows: &[(f64, f64)]| {
        let from_s = windows[0].0;
        let to_s = from_s + windows.len() as f64 / WINDOWS_PER_S;
        let each: Vec<f64> = windows.iter().map(|(_, rate)| *rate).collect();
        let is_here = |step: &&CourseStep| step.begun_s >= from_s && step.begun_s < to_s;
        let done = course.steps.iter().filter(is_here);
        let done: Vec<String> = done.map(|it| format!("{} {}", it.step, it.deed)).collect();
        let done = match done.is_empty() {
            true => Entry::NOTHING,
            false => done.join("; ").into(),
        };
        vec![
            format!("{from_s:.1}").into(),
            Entry::number(median(&each), Unit::Number(0)),
            done,
        ]
    };
    table.rows = rates.chunks(step).map(row).collect();
    table
}

/// A mode at one fault.
struct Compared {
    name: String,
    fault: String,
    p50_ms: f64,
    /// Of its trials those that lost something, and what share of such faults may. Where none did
    /// they are those that have shown so.
    lossy: usize,
    sound: usize,
    low: f64,
    high: f64,
}

/// What befell modes that stand in one chart.
#[derive(Clone, Copy, PartialEq)]
enum Befell<'s> {
    /// Which machines it took: one's own fault is another mode's of another name.
    Disaster(Disaster),
    Fault(&'s str),
}

impl Befell<'_> {
    fn of(one: &ModeWorth) -> Befell<'_> {
        match one.disaster {
            Some(disaster) => Befell::Disaster(disaster),
            None => Befell::Fault(&one.worth.fault),
        }
    }

    fn words(&self) -> &str {
        match self {
            Befell::Disaster(disaster) => label::disaster(*disaster),
            Befell::Fault(name) => name,
        }
    }
}

/// Where prices were measured: whatever befell two modes or more.
pub fn cost_and_worth(summary: &Summary) -> Vec<Chart> {
    let mut charts: Vec<(Befell, Vec<Compared>)> = Vec::new();
    for one in summary.worth.iter().filter(|one| !one.is_control) {
        let Some(compared) = compared(one) else {
            continue;
        };
        let befell = Befell::of(one);
        match charts.iter_mut().find(|(other, _)| *other == befell) {
            Some((_, all)) => all.push(compared),
            None => charts.push((befell, vec![compared])),
        }
    }
    let told = charts.into_iter().filter(|(_, all)| all.len() > 1);
    told.map(|(befell, all)| worth_chart(befell.words(), &named_apart(all)))
        .collect()
}

/// A mode that stands in one chart several times has its faults' names beside its own.
fn named_apart(all: Vec<Compared>) -> Vec<Compared> {
    let labels: Vec<String> = all.iter().map(|one| one.name.clone()).collect();
    let is_one = |name: &String| labels.iter().filter(|label| *label == name).count() == 1;
    let apart = |one: Compared| match is_one(&one.name) {
        true => one,
        false => Compared {
            name: format!("{}, {}", one.name, one.fault),
            ..one
        },
    };
    all.into_iter().map(apart).collect()
}

fn compared(one: &ModeWorth) -> Option<Compared> {
    let lossy = one.worth.trials_with_loss;
    let sound = match lossy {
        0 => one.worth.trials_conclusive,
        _ => one.worth.trials_sound,
    };
    let p50_us = one.price.as_ref()?.p50_us?;
    (sound > 0).then(|| Compared {
        name: one.label.clone(),
        fault: one.worth.fault.clone(),
        p50_ms: p50_us / 1e3,
        lossy,
        sound,
        low: one.worth.loss_share_min.unwrap_or(0.0),
        high: one.worth.loss_share_max.unwrap_or(1.0),
    })
}

impl Compared {
    fn lost(&self) -> String {
        format!("{} of {}", self.lossy, self.sound)
    }

    fn series(&self) -> Series {
        let point = Point {
            across: self.p50_ms,
            up: self.lossy as f64 / self.sound as f64,
            ends: Some((self.low, self.high)),
            told: format!(
                "{} ms, lost in {} trials: {} to {} of such faults",
                digits(self.p50_ms, 2),
                self.lost(),
                percent(self.low),
                percent(self.high)
            ),
        };
        Series {
            name: self.name.clone(),
            way: Way::Points,
            points: vec![point],
        }
    }

    fn row(&self) -> Vec<Entry> {
        vec![
            self.name[..].into(),
            Entry::number(Some(self.p50_ms), Unit::Number(2)),
            self.lost().into(),
            Entry::number(Some(self.low), Unit::Share),
            Entry::number(Some(self.high), Unit::Share),
        ]
    }
}

fn worth_chart(befell: &str, all: &[Compared]) -> Chart {
    let title = format!("{befell}: what is lost against what a commit takes");
    let plot = Plot {
        across: Axis {
            title: TAKES.to_owned(),
            ..Axis::default()
        },
        up: Axis {
            title: LOSES.to_owned(),
            range: Some((BELOW, 1.0 - BELOW)),
            ..Axis::default()
        },
        series: all.iter().map(Compared::series).collect(),
        ..Plot::default()
    };
    let mut table = Table::new(&[
        ("mode", true),
        ("ms per commit", false),
        ("trials that lost something", true),
        ("of such faults at least", false),
        ("at most (95 %)", false),
    ]);
    table.rows = all.iter().map(Compared::row).collect();
    Chart {
        name: file_name("worth", &[befell]),
        subject: Subject::Worth,
        picture: plot.picture(&title),
        table,
        title,
    }
}
