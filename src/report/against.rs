//! What each mode adds to the row that the user holds all others against: a sentence each.

use super::label;
use super::numbers::{digits, time};
use super::page::Block;
use super::waits;
use crate::analysis::Summary;
use crate::analysis::interval::Estimate;
use crate::analysis::summary::{AddedAt, Against, ModeAgainst, WaitsFor};

/// Peers whose distances differ by less than this share are equally far.
const ALIKE: f64 = 0.1;

/// Nothing where no such row was asked for.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let Some(against) = &summary.against else {
        return vec![];
    };
    let heading = format!("Per commit against {}", against.baseline);
    let lines: Vec<String> = match against.modes.is_empty() {
        true => vec!["nothing to hold against it was measured where it was".to_owned()],
        false => against
            .modes
            .iter()
            .map(|mode| sentence(summary, against, mode))
            .collect(),
    };
    vec![Block::Heading(heading), Block::Lines(lines), Block::Space]
}

/// `mysql group: +31.9 ms (31.2 to 32.6 ms) at 1 connection; waits for both, c counts`
fn sentence(summary: &Summary, against: &Against, mode: &ModeAgainst) -> String {
    let all: Vec<&AddedAt> = against.modes.iter().flat_map(|mode| &mode.at).collect();
    let each = mode.at.iter().map(|at| added_at(&all, at));
    let each: Vec<String> = each.collect();
    format!(
        "{}: {}; {}",
        mode.label,
        each.join(", "),
        whom(summary, mode)
    )
}

/// With what tells the points of all modes apart.
fn added_at(all: &[&AddedAt], at: &AddedAt) -> String {
    let mut said = format!(
        "{} at {}",
        added(at.added_us, at.p50_us),
        label::connections(at.connections)
    );
    if all.iter().any(|other| other.distances != at.distances) {
        said += &format!(" and {}", at.distances);
    }
    let is_twin = |other: &&AddedAt| {
        (other.connections, &other.distances) == (at.connections, &at.distances)
            && other.workload != at.workload
    };
    if all.iter().any(is_twin) {
        said += &format!(" of {}", at.workload);
    }
    if at.queue_factor.is_some() {
        said += ", where commits wait for each other";
    }
    said
}

/// `+31.9 ms (+31.2 ms to +32.6 ms)`; unknown if the interval is wider than the whole latency.
pub fn added(us: Estimate, p50_us: Option<f64>) -> String {
    let signed = |us: f64| match us < 0.0 {
        true => format!("−{}", time(-us)),
        false => format!("+{}", time(us)),
    };
    let Some((low, high)) = us.low.zip(us.high) else {
        return format!("{} (no interval)", signed(us.median));
    };
    let ends = format!("{} to {}", signed(low), signed(high));
    if p50_us.is_some_and(|p50_us| AddedAt::is_wide(us, p50_us)) {
        return format!("unknown ({ends})");
    }
    let none_shown = match us.excludes(0.0) {
        Some(false) => "no difference shown, ",
        _ => "",
    };
    format!("{} ({none_shown}{ends})", signed(us.median))
}

/// Then nobody can tell whom of them a commit waits for.
pub fn are_equally_far(mode: &ModeAgainst) -> bool {
    let Some(at) = mode.at.first().filter(|at| at.rtt_us.len() > 1) else {
        return false;
    };
    let least = at.rtt_us.values().copied().fold(f64::INFINITY, f64::min);
    let most = at.rtt_us.values().copied().fold(0.0, f64::max);
    most - least < ALIKE * most
}

/// `waits for the nearest, b (2.0 ms)`
pub fn whom(summary: &Summary, mode: &ModeAgainst) -> String {
    let on_disks = summary.cells.iter().any(|cell| cell.disks.is_some());
    let peers = mode.at.first().map(|at| &at.rtt_us);
    let by_distance = |is_before: fn(f64, f64) -> bool| {
        let peers = peers?.iter();
        let chosen = peers.reduce(|one, other| match is_before(*other.1, *one.1) {
            true => other,
            false => one,
        });
        chosen.map(|(site, us)| format!(", {site} ({})", digits_ms(*us)))
    };
    let counting = mode.counts.as_ref();
    let counts = counting.map_or(String::new(), |site| format!(", {site} counts"));
    match &mode.waits_for {
        WaitsFor::Nobody if on_disks => "waits for its own flush".to_owned(),
        WaitsFor::Nobody => "waits for no peer".to_owned(),
        WaitsFor::Nearest => {
            let which = by_distance(|one, other| one < other);
            format!("waits for the nearest{}", which.unwrap_or_default())
        }
        WaitsFor::Farthest => {
            let which = by_distance(|one, other| one > other);
            format!("waits for the farthest{}", which.unwrap_or_default())
        }
        WaitsFor::Each => format!("waits for both{counts}"),
        WaitsFor::Undecided if are_equally_far(mode) => {
            "for whom it waits nobody can tell: its peers are equally far".to_owned()
        }
        WaitsFor::Undecided => match counting {
            Some(site) => format!("{site} counts, alone or with others"),
            None => "whom it waits for is undecided".to_owned(),
        },
        WaitsFor::Site(site) => format!("waits for {site}"),
        other => format!("{}{counts}", waits::in_words(other)),
    }
}

/// A distance as people give it.
fn digits_ms(us: f64) -> String {
    format!("{} ms", digits(us / 1e3, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(median: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            median,
            low: Some(low),
            high: Some(high),
        }
    }

    #[test]
    fn what_is_added_is_told_with_its_sign_and_interval() {
        let told = |m, l, h| added(estimate(m, l, h), Some(3_500.0));
        assert_eq!(
            told(31_900.0, 31_200.0, 32_600.0),
            "+31.9 ms (+31.2 ms to +32.6 ms)"
        );
        assert_eq!(
            told(20.0, -30.0, 60.0),
            "+20.0 µs (no difference shown, −30.0 µs to +60.0 µs)"
        );
        assert_eq!(
            told(1_500.0, 631.0, 4_751.0),
            "unknown (+631 µs to +4.75 ms)"
        );
        assert_eq!(
            added(Estimate::without_interval(-5.0), None),
            "−5.00 µs (no interval)"
        );
    }

    fn summary(modes: Vec<ModeAgainst>) -> Summary {
        let record = crate::analysis::example::Example::default().record();
        let mut summary = crate::analysis::summarise(&record);
        summary.against = Some(Against {
            baseline: "mysql async".to_owned(),
            modes,
        });
        summary
    }

    #[test]
    fn a_sentence_tells_of_each_mode_and_whom_it_waits_for() {
        let mode = |waits_for: WaitsFor, counts: Option<&str>| ModeAgainst {
            label: "mysql group".to_owned(),
            waits_for,
            counts: counts.map(str::to_owned),
            at: vec![AddedAt {
                connections: 1,
                rtt_us: [("b".to_owned(), 2_000.0), ("c".to_owned(), 30_000.0)].into(),
                added_us: estimate(31_900.0, 31_200.0, 32_600.0),
                ..AddedAt::default()
            }],
        };
        let summary = summary(vec![
            mode(WaitsFor::Each, Some("c")),
            mode(WaitsFor::Nearest, None),
            mode(WaitsFor::Farthest, None),
            mode(WaitsFor::Undecided, None),
            mode(WaitsFor::Undecided, Some("c")),
            mode(WaitsFor::Site("b".to_owned()), None),
        ]);
        let [_, Block::Lines(lines), _] = &blocks(&summary)[..] else {
            panic!("no sentences");
        };
        let ends = [
            "waits for both, c counts",
            "waits for the nearest, b (2.0 ms)",
            "waits for the farthest, c (30.0 ms)",
            "whom it waits for is undecided",
            "c counts, alone or with others",
            "waits for b",
        ];
        for (line, end) in lines.iter().zip(ends) {
            let begin = "mysql group: +31.9 ms (+31.2 ms to +32.6 ms) at 1 connection; ";
            assert_eq!(line, &format!("{begin}{end}"));
        }
    }
}
