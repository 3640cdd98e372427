//! What Galera's parameters gain, alone and together.

use super::super::pick::Cells;
use super::super::{CellSummary, Figure, Finding, Verdict, of_cases, paired, pairs, times};
use super::{DEFAULT, FLUSH_LESS};
use crate::analysis::effects::Effects;

/// Disks on which a flush takes another time than on the study's.
pub(super) const OTHER_FLUSHES: [&str; 2] = ["flush 0.25 ms", "flush 4 ms"];
/// Several at once, as the article has them.
const TOGETHER: [&str; 2] = ["default tuned A", "default tuned B"];
/// Each parameter by itself.
const ALONE: [&str; 5] = [
    "default buffer_pool",
    "default slave_threads 4",
    "default slave_threads 2",
    FLUSH_LESS,
    "default io_capacity 3000",
];

/// How many times faster inserts are than by default.
fn gain(cells: Cells, label: &str) -> Option<Figure> {
    cells.runs("write", DEFAULT, label)
}

/// A gain that the article tells of without saying how long a flush took there: what holds of it
/// must hold however long that is.
struct Gain {
    verdict: Verdict,
    /// On the study's own disks, then on the others.
    figures: Vec<Figure>,
    note: String,
}

impl Gain {
    fn judged(cells: Cells, label: &str, judge: impl Fn(&Figure) -> Verdict) -> Option<Gain> {
        let own = gain(cells, label)?;
        let others = OTHER_FLUSHES.map(|disks| gain_on(cells, disks, label));
        let measured = others.iter().flatten();
        let verdicts: Vec<Verdict> = [&own].into_iter().chain(measured).map(judge).collect();
        let is_whole = verdicts.len() > others.len();
        let has = |verdict| verdicts.contains(&verdict);
        let are_apart = has(Verdict::Confirmed) && has(Verdict::Contradicted);
        let unknown =
            "; it may depend on how long a flush takes, and other times were not measured";
        let depends = ": it depends on how long a flush takes, which the article does not tell";
        let (verdict, note) = match is_whole || are_apart {
            true => of_cases(&verdicts, depends),
            false => (Verdict::Undecided, unknown.to_owned()),
        };
        Some(Gain {
            verdict,
            figures: [own]
                .into_iter()
                .chain(others.into_iter().flatten())
                .collect(),
            note,
        })
    }
}

/// The same gain where a flush takes another time.
fn gain_on(cells: Cells, disks: &str, label: &str) -> Option<Figure> {
    let run = |label: &str| {
        let is_it = |cell: &CellSummary| {
            cell.workload == "mysqlslap write"
                && cell.label == label
                && cell.disks.as_deref() == Some(disks)
        };
        paired::run(cells.first(is_it)?)
    };
    let what = format!("write, {disks}: time of {DEFAULT} over {label}");
    times(what, run(DEFAULT)?, run(label)?)
}

/// "flush_log_at_trx_commit=2 alone makes inserts about 8 times faster and dominates every other
/// parameter."
pub(super) fn flushing_less_dominates(cells: Cells) -> Finding {
    let Some(own) = Gain::judged(cells, FLUSH_LESS, |gain| gain.is_within(4.0, 16.0)) else {
        return Finding::undecided("it was not measured with an interval");
    };
    let times = |label: &&str| cells.runs("write", label, FLUSH_LESS);
    let others = ALONE.into_iter().filter(|label| *label != FLUSH_LESS);
    let (measured, missing): (Vec<&str>, Vec<&str>) = others.partition(|l| times(l).is_some());
    let beside: Vec<Figure> = measured.iter().filter_map(times).collect();
    let mut verdicts = vec![own.verdict];
    verdicts.extend(beside.iter().map(|figure| figure.is_above(1.0)));
    verdicts.extend(missing.iter().map(|_| Verdict::Undecided));
    let free = cells.runs("write", FLUSH_LESS, "default flush_log 0");
    Finding {
        verdict: Verdict::of_all(&verdicts),
        figures: own.figures.into_iter().chain(beside).chain(free).collect(),
        reason: format!(
            "half to twice is taken as about; it dominates if every other takes longer alone{}{}",
            own.note,
            not_measured(&missing)
        ),
    }
}

/// `; not measured with intervals: default buffer_pool`
fn not_measured(labels: &[&str]) -> String {
    match labels.is_empty() {
        true => String::new(),
        false => format!("; not measured with intervals: {}", labels.join(", ")),
    }
}

/// "wsrep_slave_threads=4 alone makes inserts more than 10 times faster."
pub(super) fn threads_alone(cells: Cells) -> Finding {
    let own = Gain::judged(cells, "default slave_threads 4", |gain| gain.is_above(10.0));
    let Some(own) = own else {
        return Finding::undecided("it was not measured with an interval");
    };
    let fewer = gain(cells, "default slave_threads 2");
    Finding {
        verdict: own.verdict,
        figures: own.figures.into_iter().chain(fewer).collect(),
        reason: format!(
            "the text's figure is judged; by the article's own table it is 7.0{}",
            own.note
        ),
    }
}

/// "All parameters together are not faster than the best one alone: effects do not add up." The
/// second half by a screening design, if there is one in which two variables gain at all.
pub(super) fn do_not_add_up(cells: Cells, screened: Option<&Effects>) -> Finding {
    let together = together_against_the_best(cells);
    let Some(pairs) = screened.and_then(pairs::most_do_not_add_up) else {
        return together;
    };
    let verdict = match pairs.figures.is_empty() {
        true => together.verdict,
        false => Verdict::of_all(&[together.verdict, pairs.verdict]),
    };
    Finding {
        verdict,
        figures: [together.figures, pairs.figures].concat(),
        reason: format!("{}; {}", together.reason, pairs.reason),
    }
}

fn together_against_the_best(cells: Cells) -> Finding {
    let over = |label: &str, together| cells.runs("write", label, together);
    let is_measured = |label: &&str| TOGETHER.iter().any(|t| over(label, t).is_some());
    let (measured, missing): (Vec<&str>, Vec<&str>) = ALONE.into_iter().partition(is_measured);
    let run_s = |label: &&str| {
        let run = cells
            .of(label, "mysqlslap write")
            .and_then(|cell| cell.run_s);
        run.map_or(f64::INFINITY, |run| run.median)
    };
    let best = measured
        .iter()
        .min_by(|one, other| run_s(one).total_cmp(&run_s(other)));
    let Some(best) = best else {
        return Finding::undecided("they were not measured with intervals");
    };
    let figures = TOGETHER.map(|together| over(best, together));
    let left_out = TOGETHER.into_iter().zip(&figures);
    let left_out = left_out.filter_map(|(label, figure)| figure.is_none().then_some(label));
    let missing_alone = !missing.is_empty();
    let missing: Vec<&str> = missing.into_iter().chain(left_out).collect();
    let judge = |figure: &Option<Figure>| match figure {
        Some(figure) => figure.is_at_most(1.1),
        None => Verdict::Undecided,
    };
    let verdicts = figures.each_ref().map(judge);
    Finding {
        verdict: match Verdict::of_all(&verdicts) {
            // The best may be among those: then all together are not so much faster than it. Where
            // they are no faster than one, they are no faster than the best.
            Verdict::Contradicted if missing_alone => Verdict::Undecided,
            verdict => verdict,
        },
        figures: figures.into_iter().flatten().collect(),
        reason: format!(
            "inserts; up to a tenth faster is taken as not faster{}",
            not_measured(&missing)
        ),
    }
}
