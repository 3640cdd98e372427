//! Knees: the highest rates that keep a limit of latency, and what latency is below them.

use super::entry::Entry;
use super::group::grouped;
use super::label;
use super::numbers::{Unit, count, time};
use super::page::{Block, Table};
use crate::analysis::Summary;
use crate::analysis::interval::median;
use crate::analysis::summary::{Axis, CellSummary, Knee, KneeEnd, KneeRate, RoundKnee};

/// A table for each load under which knees were searched for.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let searched = summary.knees.iter().filter(|knee| !knee.rounds.is_empty());
    let groups = grouped(searched, |knee| knee.point.load());
    let of_load = |knees: Vec<&Knee>| {
        let mut blocks = vec![
            Block::Heading(heading(summary, knees[0])),
            Block::Table(table(summary, &knees)),
        ];
        let notes: Vec<String> = knees.iter().flat_map(|knee| without_figure(knee)).collect();
        blocks.extend((!notes.is_empty()).then_some(Block::Notes(notes)));
        blocks
    };
    groups.into_iter().flat_map(of_load).collect()
}

fn heading(summary: &Summary, knee: &Knee) -> String {
    format!(
        "Knee of {}, {}, {}, sites {} apart{}: the highest rate whose p99 is at most {}, and \
         latency at 70 % of it",
        knee.workload,
        label::connections(knee.connections),
        label::client(summary, &knee.client_site),
        knee.distances,
        label::disks(knee.disks.as_ref()),
        time(knee.p99_us_max)
    )
}

fn table(summary: &Summary, knees: &[&Knee]) -> Table {
    let columns = [
        ("mode", true),
        ("knee\nper s", false),
        ("p99 at the last\nthat kept it", false),
        ("at the first\nthat broke it", false),
        ("rounds", true),
        ("70 %\nper s", false),
        ("p50", false),
        ("p99", false),
    ];
    let mut table = Table::new(&columns);
    table.rows = knees.iter().map(|knee| row(summary, knee)).collect();
    table.without_empty_columns()
}

fn row(summary: &Summary, knee: &Knee) -> Vec<Entry> {
    let p99 = |pick: fn(&RoundKnee) -> Option<KneeRate>| {
        let all = found(knee).filter_map(|round| pick(round)?.p99_us);
        Entry::number(median(&all.collect::<Vec<f64>>()), Unit::Time)
    };
    let below = below(summary, knee);
    let per_s = below.and_then(|cell| cell.offered_per_s).map(f64::from);
    vec![
        knee.label[..].into(),
        Entry::range(knee.knee_per_s, Unit::Number(0)),
        p99(|round| round.kept),
        p99(|round| round.broke),
        format!("{} of {}", found(knee).count(), knee.rounds.len()).into(),
        Entry::number(per_s, Unit::Count),
        Entry::number(below.and_then(|cell| cell.latency_us.p50), Unit::Time),
        Entry::range(below.and_then(|cell| cell.p99_us), Unit::Time),
    ]
}

fn found(knee: &Knee) -> impl Iterator<Item = &RoundKnee> {
    let rounds = knee.rounds.iter();
    rounds.filter(|round| round.end == KneeEnd::Found)
}

/// The cell that was measured below this knee.
fn below<'s>(summary: &'s Summary, knee: &Knee) -> Option<&'s CellSummary> {
    let limit = knee.point.knee.map(|seek| seek.p99);
    let is_it = |cell: &&CellSummary| {
        let own = &cell.point;
        own.knee.map(|seek| seek.p99) == limit
            && own.without(&[Axis::Knee]) == knee.point.without(&[Axis::Knee])
    };
    let with_knee = |cell: &&CellSummary| cell.point.knee.is_some();
    summary.cells.iter().filter(with_knee).find(is_it)
}

/// Of rounds that found none, what they say: `mysql single, no figure in 1 round: the knee lies…`
fn without_figure(knee: &Knee) -> Vec<String> {
    let mut told: Vec<(String, u64)> = Vec::new();
    for said in knee.rounds.iter().filter_map(said) {
        match told.iter_mut().find(|(known, _)| *known == said) {
            Some((_, rounds)) => *rounds += 1,
            None => told.push((said, 1)),
        }
    }
    let line = |(said, rounds): (String, u64)| {
        let rounds = count(rounds, "round");
        format!("{}, no figure in {rounds}: {said}", knee.label)
    };
    told.into_iter().map(line).collect()
}

fn said(round: &RoundKnee) -> Option<String> {
    let at = |rate: Option<KneeRate>| rate.map_or(0, |rate| rate.offered_per_s);
    let (kept, broke) = (at(round.kept), at(round.broke));
    match round.end {
        KneeEnd::Found => None,
        KneeEnd::Below => Some(format!(
            "the knee lies below {broke}/s, the lowest rate that is offered"
        )),
        KneeEnd::Above => Some(format!(
            "the knee lies above {kept}/s, the highest rate that is offered"
        )),
        KneeEnd::DriverFull => Some(format!(
            "the knee lies above {kept}/s, where the driver was short of CPU: its limit, not the \
             mode's"
        )),
        KneeEnd::Open => Some(
            "the search did not come to an end: the run was cut short, or links were late".into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::Example;
    use crate::analysis::summarise;
    use crate::analysis::summary::{Estimate, Point};
    use crate::report::page;

    fn round(round: u32, end: KneeEnd) -> RoundKnee {
        let rate = |offered_per_s, p99_us| {
            Some(KneeRate {
                offered_per_s,
                p99_us: Some(p99_us),
            })
        };
        RoundKnee {
            round,
            end,
            kept: rate(754, 18_000.0),
            broke: rate(784, 23_000.0),
            measurements: 9,
        }
    }

    fn summary(ends: &[KneeEnd]) -> Summary {
        let is_found = ends.contains(&KneeEnd::Found);
        let mut summary = summarise(&Example::default().record());
        summary.knees = vec![Knee {
            label: "ours".into(),
            workload: "update_index".into(),
            connections: 16,
            client_site: "a".into(),
            distances: "1 ms".into(),
            disks: None,
            p99_us_max: 20_000.0,
            knee_per_s: is_found.then_some(Estimate {
                median: 769.0,
                low: Some(741.0),
                high: Some(800.0),
            }),
            rounds: (1..).zip(ends).map(|(i, end)| round(i, *end)).collect(),
            point: Point::default(),
        }];
        summary
    }

    fn told(ends: &[KneeEnd]) -> String {
        page::text(&blocks(&summary(ends)))
    }

    #[test]
    fn a_knee_is_told_with_its_interval_and_with_what_lies_around_it() {
        let text = told(&[KneeEnd::Found, KneeEnd::Found]);
        for part in [
            "at most 20.0 ms",
            "769 741–800",
            "18.0 ms",
            "23.0 ms",
            "2 of 2",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("no figure"), "{text}");
    }

    #[test]
    fn where_there_is_no_knee_words_say_why() {
        for (end, why) in [
            (KneeEnd::Below, "below 784/s"),
            (KneeEnd::Above, "above 754/s, the highest rate"),
            (KneeEnd::DriverFull, "its limit, not the mode's"),
            (KneeEnd::Open, "cut short"),
        ] {
            let text = told(&[end, end]).replace("\n      ", " ");
            assert!(text.contains("ours, no figure in 2 rounds"), "{text}");
            assert!(text.contains(why) && text.contains("0 of 2"), "{text}");
        }
    }

    #[test]
    fn a_record_without_a_search_says_nothing() {
        let plain = summarise(&Example::default().record());
        assert_eq!(blocks(&plain), []);
        assert_eq!(blocks(&summary(&[])), []);
    }
}
