//! How a part of a claim is judged: by a figure's bounds, or by counts.

use super::counts;
use super::figure::{self, Figure, words};
use super::select::{Points, axes};
use super::tell;
use super::verdict::{Outcome, Verdict, within, word};
use crate::analysis::interval::{Risk, holm};
use crate::analysis::summary::{CellSummary, Value};
use crate::plan::Axis;
use crate::study::articles::{Across, At, Bounds, Compared, Condition, Part, Quantity};

/// One point of a part, held against another or not.
struct Case {
    name: String,
    /// `None` if it is missing.
    verdict: Option<Verdict>,
    figures: Vec<Figure>,
    notes: Vec<String>,
}

/// The part's outcome; `None` where it may be left out, and is.
pub fn judge(points: Points, part: &Part) -> Option<Outcome> {
    let outcome = match &part.counted {
        Some(counted) => counts::seen(points.material.worth, counted),
        None => bound(points, part),
    };
    let is_missing = outcome.figures.is_empty() && outcome.verdict == Verdict::Undecided;
    (!part.is_optional || !is_missing).then_some(outcome)
}

/// The first of its selections at which all that is presupposed holds, else the first that was
/// measured, else the first that the study has.
fn bound(points: Points, part: &Part) -> Outcome {
    let judged = part.of.iter().enumerate().map(|(place, of)| {
        let over = part.over.get(place).or(part.over.last());
        let one = Bound {
            points,
            part,
            of,
            over: over.map(|names| &names[..]),
            differ: axes(&part.differ),
        };
        let cases = one.cases();
        let is_measured = cases.iter().any(|case| !case.figures.is_empty());
        let alone = one.cases_alone();
        let rank = match alone.iter().all(|case| case.notes.is_empty()) {
            true if is_measured => 0,
            _ if is_measured => 1,
            _ if one.needs().is_none() => 2,
            _ => 3,
        };
        (rank, place, one.outcome(&cases))
    });
    let best = judged.min_by_key(|(rank, place, _)| (*rank, *place));
    let (_, place, mut outcome) = best.expect("a selection, which a test checks");
    let is_instead = place > 0 && !part.instead.is_empty();
    let instead = is_instead.then(|| part.instead.clone());
    outcome.notes.extend(instead);
    outcome
}

/// A part with one of its selections.
struct Bound<'p> {
    points: Points<'p>,
    part: &'p Part,
    of: &'p str,
    over: Option<&'p str>,
    differ: Vec<Axis>,
}

impl Bound<'_> {
    fn bounds(&self) -> Bounds {
        let bounds = word(&self.part.is);
        let (times, plus) = (self.part.times.unwrap_or(1.0), self.part.plus);
        let scaled = |end: f64| end * times + plus;
        Bounds {
            low: bounds.low.map(scaled),
            high: bounds.high.map(scaled),
            ..bounds
        }
    }

    /// Where rows differ, one that could decide all is decided only if it would be as one of so
    /// many rows: one of many might be so by chance.
    fn cases(&self) -> Vec<Case> {
        let mut cases = self.cases_alone();
        let there: Vec<Verdict> = cases.iter().filter_map(|case| case.verdict).collect();
        if there.iter().all(|verdict| *verdict == there[0]) {
            return cases;
        }
        for &verdict in decided_by_one(self.part.across) {
            let risk = self.points.risk;
            let shown = holm(there.len(), risk, |risk| self.shown_at(risk, verdict));
            let open = |(case, shown): &(&mut Case, bool)| case.verdict == Some(verdict) && !shown;
            for (case, _) in cases.iter_mut().zip(shown).filter(open) {
                case.verdict = Some(Verdict::Undecided);
                let (name, rows) = (verdict.name(), there.len());
                let note = format!("{}: {name} alone, not as one of {rows}", case.name);
                case.notes.push(note);
            }
        }
        cases
    }

    /// Each judged as if there were no other.
    fn cases_alone(&self) -> Vec<Case> {
        let all = self.points.planned(self.of);
        all.iter().map(|cell| self.case(cell, &all)).collect()
    }

    /// Of which of its rows a verdict holds at some risk of each.
    fn shown_at(&self, risk: Risk, verdict: Verdict) -> Vec<bool> {
        let points = Points {
            risk,
            ..self.points
        };
        let differ = self.differ.clone();
        let strict = Bound {
            points,
            differ,
            ..*self
        };
        let cases = strict.cases_alone().into_iter();
        cases.map(|case| case.verdict == Some(verdict)).collect()
    }

    fn case(&self, cell: &CellSummary, among: &[&CellSummary]) -> Case {
        let partner = |names| self.points.partner(&cell.point, names, &self.differ);
        let over = self.over.map(partner);
        let of_figure = |quantity: &Quantity| match over {
            Some(over) if !self.part.is_alone => {
                told_figure(self.points, cell, Some(over?), quantity, among)
            }
            _ => told_figure(self.points, cell, None, quantity, among),
        };
        let figures: Vec<Figure> = self.part.figure.iter().filter_map(of_figure).collect();
        let over = over.flatten();
        let unmet = self.unmet(cell, over);
        let bounds = self.bounds();
        let verdicts = figures.iter().map(|f| within(&bounds, f.low, f.high));
        let verdicts: Vec<Verdict> = verdicts.collect();
        let verdict = match Verdict::of_parts(&verdicts) {
            _ if !unmet.is_empty() => Verdict::Undecided,
            Verdict::Confirmed if figures.len() < self.part.figure.len() => Verdict::Undecided,
            verdict => verdict,
        };
        let is_there = !figures.is_empty();
        let name = match over {
            Some(over) => tell::pair(cell, over, among),
            None => tell::cell(cell, among),
        };
        let is_of_many_loads = among.iter().any(|other| other.workload != cell.workload);
        Case {
            name: match is_of_many_loads {
                true => format!("{}: {name}", cell.workload),
                false => name,
            },
            verdict: is_there.then_some(verdict),
            figures,
            notes: unmet.into_iter().filter(|_| is_there).collect(),
        }
    }

    /// What is presupposed and does not hold.
    fn unmet(&self, of: &CellSummary, over: Option<&CellSummary>) -> Vec<String> {
        let unmet = self.part.presupposes.iter().filter_map(|condition| {
            let cell = match condition.at {
                At::Of => Some(of),
                At::Over => over,
            };
            let failing = cell.filter(|cell| !holds(self.points, condition, cell));
            failing.map(|cell| told(condition, cell))
        });
        unmet.collect()
    }

    fn needs(&self) -> Option<&str> {
        let mut both = [Some(self.of), self.over].into_iter().flatten();
        both.find_map(|names| self.points.needs(names))
    }

    fn outcome(&self, cases: &[Case]) -> Outcome {
        if let Some(needs) = self.needs() {
            return Outcome::new(Verdict::Untestable, format!("needs {needs}"));
        }
        let verdicts: Vec<Option<Verdict>> = cases.iter().map(|case| case.verdict).collect();
        let figures: Vec<Figure> = cases.iter().flat_map(|c| c.figures.clone()).collect();
        let there = verdicts.iter().flatten().count();
        let verdict = match Verdict::across(self.part.across, &self.needed(verdicts)) {
            // One that holds is enough of any, however many there are.
            Verdict::Confirmed if self.part.across == Across::Any => Verdict::Confirmed,
            _ if there < self.part.least => Verdict::Undecided,
            verdict => verdict,
        };
        let notes = match verdict {
            Verdict::Confirmed | Verdict::Contradicted => vec![],
            verdict => self.notes(cases, there, verdict),
        };
        Outcome {
            verdict,
            figures,
            notes,
        }
    }

    /// All points; of cases of which so many are enough, those that are there if they are as many.
    fn needed(&self, mut points: Vec<Option<Verdict>>) -> Vec<Option<Verdict>> {
        let (least, there) = (self.part.least, points.iter().flatten().count());
        if self.part.across == Across::Cases && least > 0 && there >= least {
            points.retain(Option::is_some);
        }
        points
    }

    /// Why it depends, or is open.
    fn notes(&self, cases: &[Case], there: usize, verdict: Verdict) -> Vec<String> {
        let named = |what: &str, wanted: Option<Verdict>| {
            let named = cases.iter().filter(|case| case.verdict == wanted);
            let names: Vec<&str> = named.map(|case| &case.name[..]).collect();
            (!names.is_empty()).then(|| format!("{what}: {}", names.join("; ")))
        };
        let mut notes: Vec<String> = cases.iter().flat_map(|case| case.notes.clone()).collect();
        if self.part.across == Across::Cases {
            notes.extend(named("holds", Some(Verdict::Confirmed)));
            notes.extend(named("fails", Some(Verdict::Contradicted)));
        }
        notes.extend(named("not measured with intervals", None));
        let least = self.part.least;
        let few = format!("measured at {there} of the {least} points that it takes");
        notes.extend((there < least && !cases.is_empty()).then_some(few));
        let figures = cases.iter().flat_map(|case| &case.figures);
        let open = open(&self.bounds(), figures, self.part.across);
        notes.extend(open.filter(|_| verdict == Verdict::Undecided));
        if notes.is_empty() {
            notes.push(match there {
                0 => "open: nothing of it was measured".to_owned(),
                _ => "open: some of its figures are missing".to_owned(),
            });
        }
        notes.dedup();
        notes
    }
}

/// With more times as many rounds no one would measure.
const MOST_TIMES: f64 = 100.0;

/// How many more rounds it may take until intervals are narrow enough, where such are in the way:
/// until all of them are, or the first where one row is enough.
fn open<'f>(
    bounds: &Bounds,
    figures: impl Iterator<Item = &'f Figure>,
    across: Across,
) -> Option<String> {
    let is_open = |f: &&Figure| within(bounds, f.low, f.high) == Verdict::Undecided;
    let each = figures.filter(is_open).map(|f| times_as_many(bounds, f));
    let times = match across {
        Across::Any => each.reduce(f64::min)?,
        Across::All | Across::Cases => each.reduce(f64::max)?,
    };
    Some(match times {
        times if times <= 2.0 => "open: twice as many rounds might decide".to_owned(),
        times if times <= MOST_TIMES => {
            format!(
                "open: it may take up to {:.0} times as many rounds",
                times.ceil()
            )
        }
        _ => "open: it lies at a bound, where more rounds do not decide".to_owned(),
    })
}

/// How many times as many rounds would decide at most if the figure stays where it is: an interval
/// narrows as the root of their number grows, and faster where there are few.
fn times_as_many(bounds: &Bounds, figure: &Figure) -> f64 {
    let half = (figure.high - figure.low) / 2.0;
    let ends = [bounds.low, bounds.high].into_iter().flatten();
    let off = ends.map(|end| (figure.value - end).abs());
    (half / off.fold(f64::INFINITY, f64::min)).powi(2)
}

/// Verdicts that a single row can bring about, of all.
fn decided_by_one(across: Across) -> &'static [Verdict] {
    match across {
        Across::All => &[Verdict::Contradicted],
        Across::Any => &[Verdict::Confirmed],
        Across::Cases => &[Verdict::Confirmed, Verdict::Contradicted],
    }
}

/// Of a cell of one round, which has no interval, the figure itself must be so: what is presupposed
/// would never hold of it otherwise.
fn holds(points: Points, condition: &Condition, cell: &CellSummary) -> bool {
    let bounds = word(&condition.is);
    let risk = points.material.risk;
    let value = figure::value(cell, &condition.figure, Points { risk, ..points });
    let range = |value: Value| match cell.rounds_asked {
        1 => Some((
            value.low.unwrap_or(value.value),
            value.high.unwrap_or(value.value),
        )),
        _ => value.low.zip(value.high),
    };
    let judged = value.and_then(range);
    judged.is_some_and(|(low, high)| within(&bounds, low, high) == Verdict::Confirmed)
}

fn told(condition: &Condition, cell: &CellSummary) -> String {
    format!("{}: {}", cell.label, condition.otherwise)
}

/// A cell's figure, or that over another cell's.
fn told_figure(
    points: Points,
    cell: &CellSummary,
    over: Option<&CellSummary>,
    quantity: &Quantity,
    among: &[&CellSummary],
) -> Option<Figure> {
    let (name, unit) = words(quantity);
    let (value, of, unit) = match over {
        Some(over) => {
            let value = figure::ratio((cell, quantity), (over, quantity), points)?;
            (value, tell::pair(cell, over, among), "times")
        }
        None => {
            let value = figure::value(cell, quantity, points)?;
            (value, tell::cell(cell, among), unit)
        }
    };
    let what = format!("{}: {name} of {of}", cell.workload);
    let mut cells = [Some(cell), over].into_iter().flatten();
    Some(Figure {
        is_shared: cells.any(|cell| figure::is_shared(cell, quantity)),
        ..Figure::of(what, unit, value)?
    })
}

/// Figures of all points that a comparison names, each held against its pair.
pub fn compared(points: Points, compared: &Compared) -> Vec<Figure> {
    let all = points.measured(&compared.of);
    let differ = axes(&compared.differ);
    let of = |cell: &&CellSummary| {
        let over = match &compared.over {
            Some(over) => Some(points.partner(&cell.point, over, &differ)?),
            None => None,
        };
        told_figure(points, cell, over, &compared.figure, &all)
    };
    all.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure((value, low, high): (f64, f64, f64)) -> Figure {
        Figure {
            what: String::new(),
            unit: "times".to_owned(),
            value,
            low,
            high,
            is_shared: false,
        }
    }

    fn bounds() -> Bounds {
        Bounds {
            low: Some(1.165),
            high: Some(1.66),
            said: String::new(),
        }
    }

    #[test]
    fn rounds_that_would_decide_grow_with_the_square_of_how_near_the_bound_is() {
        let times = |value, low, high| times_as_many(&bounds(), &figure((value, low, high)));
        // Half an interval of 0.1, a bound 0.2, 0.05 and 0.01 away.
        assert!((times(1.365, 1.265, 1.465) - 0.25).abs() < 1e-9);
        assert!((times(1.215, 1.115, 1.315) - 4.0).abs() < 1e-9);
        assert!((times(1.67, 1.57, 1.77) - 100.0).abs() < 1e-6);
        assert_eq!(times(1.165, 1.065, 1.265), f64::INFINITY);
    }

    #[test]
    fn an_open_claim_tells_how_many_rounds_it_may_take() {
        let told = |all: &[(f64, f64, f64)], across| {
            let figures: Vec<Figure> = all.iter().copied().map(figure).collect();
            open(&bounds(), figures.iter(), across).unwrap_or_default()
        };
        let (near, nearer, at) = ((1.365, 1.15, 1.58), (1.2, 1.1, 1.3), (1.165, 1.1, 1.3));
        assert!(told(&[near], Across::All).contains("twice as many"));
        assert!(told(&[near, nearer], Across::All).contains("up to 9 times"));
        assert!(told(&[near, nearer], Across::Any).contains("twice as many"));
        assert!(told(&[near, at], Across::Cases).contains("at a bound"));
        assert_eq!(told(&[(1.3, 1.2, 1.4)], Across::All), "", "it lies within");
    }
}
