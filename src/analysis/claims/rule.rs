//! How a part of a claim is judged: by a figure's bounds, or by counts.

use super::figure::{self, Figure, words};
use super::select::{Material, Points, axes};
use super::verdict::{Outcome, Verdict, room, within, word};
use super::{counts, screen, tell};
use crate::analysis::summary::CellSummary;
use crate::plan::Axis;
use crate::study::articles::{Across, At, Bounds, Compared, Condition, Part, Quantity, Rule};

/// One point of a part, held against another or not.
struct Case {
    name: String,
    /// `None` if it is missing.
    verdict: Option<Verdict>,
    figures: Vec<Figure>,
    notes: Vec<String>,
}

/// The part's outcome; `None` where it may be left out, and is.
pub fn judge(points: Points, material: &Material, part: &Part) -> Option<Outcome> {
    let outcome = match &part.rule {
        Rule::Bound => bound(points, part),
        Rule::Counted { what, none, some } => counts::seen(material.tolls, *what, none, some),
        Rule::MoreOften(numbers) => {
            let pair = first_pair(points, part);
            pair.map_or_else(nothing, |pair| counts::more_often(pair, numbers))
        }
        Rule::Regular {
            least_s,
            most_s,
            high_per_s,
        } => {
            let watched = points.measured(&first(&part.of));
            counts::regular(&watched, *least_s..=*most_s, *high_per_s)
        }
        Rule::NotAdditive => {
            let cells = points.planned(&first(&part.of));
            screen::judged(material.effects, &cells).unwrap_or_else(nothing)
        }
    };
    let is_missing = outcome.figures.is_empty() && outcome.verdict == Verdict::Undecided;
    (!part.is_optional || !is_missing).then_some(outcome)
}

fn nothing() -> Outcome {
    Outcome::new(
        Verdict::Undecided,
        "open: it was not measured with intervals".to_owned(),
    )
}

fn first(names: &[String]) -> String {
    names.first().cloned().unwrap_or_default()
}

fn first_pair<'s>(points: Points<'s>, part: &Part) -> Option<(&'s CellSummary, &'s CellSummary)> {
    let of = *points.measured(&first(&part.of)).first()?;
    let over = points.partner(&of.point, &first(&part.over), &axes(&part.differ))?;
    (over.rounds > 0).then_some((of, over))
}

/// The first of its selections at which all that is presupposed holds, else the first that was
/// measured, else the first.
fn bound(points: Points, part: &Part) -> Outcome {
    let over = |place: usize| part.over.get(place).or(part.over.last());
    let judged = part.of.iter().enumerate();
    let judged = judged.map(|(place, of)| Bound {
        points,
        part,
        of,
        over: over(place).map(|names| &names[..]),
        differ: axes(&part.differ),
    });
    let all: Vec<(Bound, Vec<Case>)> = judged
        .map(|one| {
            let cases = one.cases();
            (one, cases)
        })
        .collect();
    let is_measured = |cases: &[Case]| cases.iter().any(|case| !case.figures.is_empty());
    let is_sound = |cases: &[Case]| is_measured(cases) && cases.iter().all(|c| c.notes.is_empty());
    let sound = all.iter().position(|(_, cases)| is_sound(cases));
    let chosen = sound.or_else(|| all.iter().position(|(_, cases)| is_measured(cases)));
    let is_planned = |(one, _): &(Bound, Vec<Case>)| one.needs().is_none();
    let place = chosen
        .or_else(|| all.iter().position(is_planned))
        .unwrap_or(0);
    let Some((chosen, cases)) = all.into_iter().nth(place) else {
        return nothing();
    };
    let mut outcome = chosen.outcome(cases);
    let is_instead = place > 0 && !part.instead.is_empty();
    outcome
        .notes
        .extend(is_instead.then(|| part.instead.clone()));
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
        let mut bounds = word(&self.part.is);
        let (times, plus) = (self.part.times.unwrap_or(1.0), self.part.plus);
        let scale = |end: &mut f64| *end = *end * times + plus;
        bounds
            .low
            .iter_mut()
            .chain(&mut bounds.high)
            .for_each(scale);
        bounds
    }

    fn cases(&self) -> Vec<Case> {
        let all = self.points.planned(self.of);
        all.iter().map(|cell| self.case(cell, &all)).collect()
    }

    fn case(&self, cell: &CellSummary, among: &[&CellSummary]) -> Case {
        let partner = |names| self.points.partner(&cell.point, names, &self.differ);
        let over = self.over.map(partner);
        let of_figure = |quantity: &Quantity| match over {
            Some(over) if !self.part.is_alone => ratio(cell, over?, quantity, among),
            _ => alone(self.points, cell, quantity, among),
        };
        let figures: Vec<Option<Figure>> = self.part.figure.iter().map(of_figure).collect();
        let mut case = Case {
            name: match over.flatten() {
                Some(over) => tell::pair(cell, over, among),
                None => tell::cell(cell, among),
            },
            verdict: None,
            figures: figures.iter().flatten().cloned().collect(),
            notes: vec![],
        };
        if case.figures.is_empty() {
            return case;
        }
        let unmet = self.unmet(cell, over.flatten());
        let (verdict, cut_off) = self.of_figures(&case.figures, cell);
        case.verdict = Some(match verdict {
            _ if !unmet.is_empty() => Verdict::Undecided,
            Verdict::Confirmed if case.figures.len() < figures.len() => Verdict::Undecided,
            verdict => verdict,
        });
        case.notes = unmet.into_iter().chain(cut_off).collect();
        case
    }

    /// Where a figure is cut off there may be any amount more of it.
    fn of_figures(&self, figures: &[Figure], cell: &CellSummary) -> (Verdict, Option<String>) {
        let bounds = self.bounds();
        let cut_off = self.part.cut_off_unless.as_ref();
        let cut_off = cut_off.filter(|condition| !holds(self.points, condition, cell));
        let of = |figure: &Figure| match cut_off {
            Some(_) => within(&bounds, figure.low, f64::INFINITY),
            None => within(&bounds, figure.low, figure.high),
        };
        let verdicts: Vec<Verdict> = figures.iter().map(of).collect();
        let verdict = Verdict::of_parts(&verdicts);
        let note = cut_off.map(|condition| told(condition, cell));
        (verdict, note.filter(|_| verdict == Verdict::Undecided))
    }

    /// What is presupposed and does not hold.
    fn unmet(&self, of: &CellSummary, over: Option<&CellSummary>) -> Vec<String> {
        let at = |condition: &Condition| match condition.at {
            At::Of => vec![of],
            At::Over => over.into_iter().collect(),
            At::Both => [of].into_iter().chain(over).collect(),
        };
        let mut unmet = Vec::new();
        for condition in &self.part.presupposes {
            let cells = at(condition).into_iter();
            let failing = cells.filter(|cell| !holds(self.points, condition, cell));
            unmet.extend(failing.map(|cell| told(condition, cell)));
        }
        unmet
    }

    fn needs(&self) -> Option<&str> {
        let mut both = [Some(self.of), self.over].into_iter().flatten();
        both.find_map(|names| self.points.needs(names))
    }

    fn outcome(&self, cases: Vec<Case>) -> Outcome {
        if let Some(needs) = self.needs() {
            return Outcome::new(Verdict::Untestable, format!("needs {needs}"));
        }
        let verdicts: Vec<Option<Verdict>> = cases.iter().map(|case| case.verdict).collect();
        let figures: Vec<Figure> = cases.iter().flat_map(|c| c.figures.clone()).collect();
        let there = verdicts.iter().flatten().count();
        let verdict = match Verdict::across(self.part.across, &verdicts, &figures) {
            // One that holds is enough of any, however many there are.
            Verdict::Confirmed if self.part.across == Across::Any => Verdict::Confirmed,
            Verdict::Confirmed | Verdict::Contradicted if there < self.part.least => {
                Verdict::Undecided
            }
            verdict => verdict,
        };
        Outcome {
            verdict,
            notes: self.notes(verdict, &cases),
            figures: match self.part.is_brief {
                true => nearest(&self.bounds(), self.part.across, figures),
                false => figures,
            },
        }
    }

    fn notes(&self, verdict: Verdict, cases: &[Case]) -> Vec<String> {
        let named = |wanted: Option<Verdict>| {
            let named = cases.iter().filter(|case| case.verdict == wanted);
            let names: Vec<&str> = named.map(|case| &case.name[..]).collect();
            (!names.is_empty()).then(|| names.join("; "))
        };
        let said = |what: &str, wanted| named(wanted).map(|names| format!("{what}: {names}"));
        let there = cases.iter().flat_map(|case| case.notes.clone());
        let mut notes: Vec<String> = Vec::new();
        let (holds, fails) = (Some(Verdict::Confirmed), Some(Verdict::Contradicted));
        match verdict {
            Verdict::Depends => notes.extend(
                [said("holds", holds), said("fails", fails)]
                    .into_iter()
                    .flatten(),
            ),
            Verdict::Undecided => {
                notes.extend(there);
                if self.part.across == Across::Cases {
                    notes.extend(
                        [said("holds", holds), said("fails", fails)]
                            .into_iter()
                            .flatten(),
                    );
                }
                notes.extend(said("not measured with intervals", None));
                notes.extend(self.too_few(cases));
                notes.extend(notes.is_empty().then(|| WIDE.to_owned()));
            }
            _ => {}
        }
        notes.dedup();
        notes
    }

    fn too_few(&self, cases: &[Case]) -> Option<String> {
        let there = cases.iter().filter(|case| case.verdict.is_some()).count();
        let least = self.part.least;
        let said = format!("measured at {there} of the {least} points that it takes");
        match cases.is_empty() {
            true => Some("open: nothing of it was measured".to_owned()),
            false => (there < least).then_some(said),
        }
    }
}

const WIDE: &str = "open: more rounds would narrow the intervals";

/// Of all that must hold the one that is nearest to failing; of any the nearest to holding.
fn nearest(bounds: &Bounds, across: Across, mut figures: Vec<Figure>) -> Vec<Figure> {
    figures.sort_by(|one, other| room(bounds, one).total_cmp(&room(bounds, other)));
    match across {
        Across::Any => figures.pop().into_iter().collect(),
        _ => figures.into_iter().take(1).collect(),
    }
}

fn holds(points: Points, condition: &Condition, cell: &CellSummary) -> bool {
    let value = figure::value(cell, &condition.figure, points.cells);
    let range = value.and_then(|value| Some((value.low?, value.high?)));
    let judged = range.map(|(low, high)| within(&word(&condition.is), low, high));
    judged == Some(Verdict::Confirmed)
}

fn told(condition: &Condition, cell: &CellSummary) -> String {
    format!("{}: {}", cell.label, condition.otherwise)
}

fn ratio(
    of: &CellSummary,
    over: &CellSummary,
    quantity: &Quantity,
    among: &[&CellSummary],
) -> Option<Figure> {
    let both = (
        figure::measured(of, quantity)?,
        figure::measured(over, quantity)?,
    );
    let (load, name) = (&of.workload, words(quantity).0);
    let what = format!("{load}: {name} of {}", tell::pair(of, over, among));
    tell::figure(what, "times", both.0.over(&both.1)?.over_all().into())
}

fn alone(
    points: Points,
    cell: &CellSummary,
    quantity: &Quantity,
    among: &[&CellSummary],
) -> Option<Figure> {
    let value = figure::value(cell, quantity, points.cells)?;
    let (load, (name, unit)) = (&cell.workload, words(quantity));
    let what = format!("{load}: {name} of {}", tell::cell(cell, among));
    tell::figure(what, unit, value)
}

/// Figures of all points that a comparison names, each held against its pair; `is_brief`: called
/// by what tells them from each other.
pub fn compared(points: Points, compared: &Compared, is_brief: bool) -> Vec<Figure> {
    let all = points.measured(&compared.of);
    let differ = axes(&compared.differ);
    let of = |cell: &&CellSummary| match &compared.over {
        Some(over) => {
            let over = points.partner(&cell.point, over, &differ)?;
            let figure = ratio(cell, over, &compared.figure, &all)?;
            let what = match all.iter().all(|other| other.workload == cell.workload) {
                true => tell::pair(cell, over, &all),
                false => format!("{}, {}", cell.workload, tell::pair(cell, over, &all)),
            };
            Some(if is_brief {
                Figure { what, ..figure }
            } else {
                figure
            })
        }
        None => alone(points, cell, &compared.figure, &all),
    };
    all.iter().filter_map(of).collect()
}
