//! `group-replication-2017`: rate applied against rate committed, and what a group makes of
//! distance and flow control.

mod appliers;
mod dips;
mod tables;

use super::pick::{Cells, all};
use super::{
    CellSummary, Figure, Finding, Material, Said, Verdict, connections, of_cases, paired, ratio,
    times, unseen,
};
use crate::record::counter;
use appliers::applying;

const KEY: &str = "group-replication-2017";
/// Distances at which a rack ends.
const RACK_US: f64 = 1_000.0;
/// Differences within these are taken as little.
const LITTLE: [f64; 2] = [0.8, 1.25];
/// Seconds that scatter by at least so many per cent of their mean are taken as unstable: by more
/// than is little.
const UNSTABLE_PERCENT: f64 = 20.0;
/// Under flow control as it is by default; and where its thresholds are as many seconds of this
/// machine's rate as the default's were of the article's.
const STEERED: [&str; 2] = ["group", "group flow control at 800"];
/// How often the group held a transaction back, all nodes together.
const THROTTLED: &str = counter::GROUP_THROTTLED;

/// Verdicts, the article's table and what stood beside it.
pub fn said(material: &Material) -> Said {
    let cells = Cells {
        all: material.cells,
    };
    let by_database = appliers::by_database(cells, material);
    let beyond = match appliers::has_logical_clock(material) || by_database.figures.is_empty() {
        true => vec![],
        // What is missing is a server.
        false => vec![1],
    };
    Said {
        findings: vec![
            appliers::single_threaded(cells),
            by_database,
            appliers::semisync_without_lag(cells),
            far_apart_alike(cells),
            flow_control_is_unstable(cells),
            dips::every_minute(cells),
        ],
        tables: tables::tables(cells),
        unseen: could_not_see(cells, material),
        beyond,
    }
}

/// "Same rack and three data centres differ little in group throughput and response time."
fn far_apart_alike(cells: Cells) -> Finding {
    let is_group = |cell: &CellSummary| cell.label == "group" && cell.workload == "update_index";
    let group = cells.with(is_group);
    let twin = |far: &CellSummary| {
        let is_twin = |near: &&CellSummary| {
            near.connections == far.connections
                && near.measure_s == far.measure_s
                && near.rtt_us_asked.is_some_and(|us| us < RACK_US)
        };
        group.iter().copied().find(is_twin)
    };
    let is_far = |cell: &&CellSummary| cell.rtt_us_asked.is_some_and(|us| us >= RACK_US);
    let far = group.iter().copied().filter(is_far);
    let rows = far.filter_map(|far| Apart::of(far, twin(far)?));
    let rows: Vec<Apart> = rows.collect();
    if rows.is_empty() {
        return Finding::undecided("a group was not measured at both distances with intervals");
    }
    let (verdict, depends) = Apart::verdict(&rows);
    Finding {
        verdict,
        figures: rows.into_iter().flat_map(Apart::figures).collect(),
        reason: format!(
            "commits/s, and the 95th percentile of response time in each round; {} to {} is taken \
             as little{depends}",
            LITTLE[0], LITTLE[1]
        ),
    }
}

/// One number of connections, far apart over within a rack.
struct Apart {
    throughput: Figure,
    /// Absent where a round has too few samples.
    p95: Option<Figure>,
}

impl Apart {
    fn of(far: &CellSummary, near: &CellSummary) -> Option<Apart> {
        let what = |figure: &str| {
            let (apart, connections) = (&far.distances, connections(far.connections));
            format!("group, {apart} apart over a rack, {connections}{figure}")
        };
        let p95 = paired::p95(far).zip(paired::p95(near));
        Some(Apart {
            throughput: ratio(what(""), far, near)?,
            p95: p95.and_then(|(far, near)| times(what(", 95th percentile"), far, near)),
        })
    }

    /// It takes both to differ little.
    fn differs_little(&self) -> Verdict {
        let little = |figure: &Figure| figure.is_within(LITTLE[0], LITTLE[1]);
        let p95 = self.p95.as_ref().map_or(Verdict::Undecided, little);
        Verdict::of_all(&[little(&self.throughput), p95])
    }

    /// Of all rows, and what to say where they do not agree.
    fn verdict(rows: &[Apart]) -> (Verdict, String) {
        let verdicts: Vec<Verdict> = rows.iter().map(Apart::differs_little).collect();
        of_cases(
            &verdicts,
            ": it depends on the number of connections: with few a commit waits for its round \
             trip, with many the CPU is the limit at any distance",
        )
    }

    fn figures(self) -> impl Iterator<Item = Figure> {
        std::iter::once(self.throughput).chain(self.p95)
    }
}

/// "Flow control makes 32 and 64 connections unstable." By default, if it acted there at all.
fn flow_control_is_unstable(cells: Cells) -> Finding {
    let of = |label| all([32, 64].map(|connections| Steered::with(cells, label, connections)));
    let has_acted = |found: &Vec<Steered>| found.iter().all(|steered| steered.throttled > 0.0);
    let found = STEERED
        .into_iter()
        .filter_map(|label| Some((label, of(label)?)));
    let found: Vec<(&str, Vec<Steered>)> = found.collect();
    let acting = found.iter().position(|(_, found)| has_acted(found));
    let Some((label, found)) = found.into_iter().nth(acting.unwrap_or(0)) else {
        return Finding::undecided(
            "32 and 64 connections were not measured second by second with and without it",
        );
    };
    let verdicts: Vec<Verdict> = found.iter().map(Steered::is_unstable).collect();
    let acted: Vec<String> = found.iter().map(Steered::told).collect();
    let idle = match found.iter().any(|steered| steered.throttled == 0.0) {
        true => "; where it did nothing it makes nothing unstable",
        false => "",
    };
    Finding {
        verdict: Verdict::of_all(&verdicts),
        figures: found
            .into_iter()
            .flat_map(|steered| [steered.scatter, steered.over_without])
            .collect(),
        reason: format!(
            "unstable: a scatter of {UNSTABLE_PERCENT} per cent and more, and more than without \
             flow control. In these very measurements it held transactions back {}{idle}{}",
            acted.join(", "),
            match label == STEERED[0] {
                true => "",
                false =>
                    "; by default it did not act at both, so its thresholds were set to half a \
                     second's transactions of this machine, as the default's were of the article's",
            }
        ),
    }
}

/// Single seconds at one number of connections, under flow control.
struct Steered {
    connections: u32,
    /// In per cent of the mean.
    scatter: Figure,
    over_without: Figure,
    throttled: f64,
}

impl Steered {
    fn with(cells: Cells, label: &str, connections: u32) -> Option<Steered> {
        let uneven = |label: &str| {
            let is_it = |cell: &&CellSummary| {
                let scatter = cell.unevenness.and_then(|scatter| scatter.low);
                scatter.is_some() && cell.label == label && cell.connections == connections
            };
            cells.all.iter().find(is_it)
        };
        let (with, without) = (uneven(label)?, uneven("group no flow control")?);
        let scatter = with.unevenness?;
        let what = format!("{label}: scatter of the seconds with flow control");
        let both = (paired::unevenness(with)?, paired::unevenness(without)?);
        let over = format!("{what} over without, {connections} connections");
        Some(Steered {
            connections,
            scatter: Figure {
                what: format!("{what}, {connections} connections"),
                unit: "per cent of the mean".to_owned(),
                value: scatter.median * 100.0,
                low: scatter.low? * 100.0,
                high: scatter.high? * 100.0,
            },
            over_without: times(over, both.0, both.1)?,
            throttled: with.server_counters.get(THROTTLED).copied().unwrap_or(0.0),
        })
    }

    fn is_unstable(&self) -> Verdict {
        match self.throttled > 0.0 {
            true => Verdict::of_all(&[
                self.scatter.is_above(UNSTABLE_PERCENT),
                self.over_without.is_above(1.0),
            ]),
            false => Verdict::Undecided,
        }
    }

    fn told(&self) -> String {
        let Steered {
            throttled,
            connections,
            ..
        } = self;
        format!("{throttled:.0} times with {connections} connections")
    }
}

fn could_not_see(cells: Cells, material: &Material) -> Vec<String> {
    let applying = applying(cells);
    let mut said = unseen::costs(&applying);
    said.extend(unseen::round_trips(material));
    said.extend(unseen::host_bound(material.cells));
    said
}
