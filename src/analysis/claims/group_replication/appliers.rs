//! Claims about how fast replicas apply.

use super::RACK_US;
use crate::analysis::applied::BEHIND_SHARE;
use crate::analysis::claims::pick::{Cells, all, is_host_bound};
use crate::analysis::claims::{Figure, Finding, Material, Verdict, paired, ratio, times};
use crate::analysis::summary::CellSummary;

/// Source over replica, as published.
const SOURCE_OVER_REPLICA: f64 = 23.0;
/// A replica lags if what is committed over what it applies is above this.
const LAGS_FROM: f64 = 1.0 / (1.0 - BEHIND_SHARE);

/// Cells that compare ways of applying: as much as the source commits from the most connections
/// within a rack, no longer than others.
pub fn applying(cells: Cells<'_>) -> Vec<&CellSummary> {
    let is_near = |cell: &CellSummary| cell.rtt_us_asked.is_some_and(|us| us < RACK_US);
    let is_free = |cell: &CellSummary| cell.offered_per_s.is_none() && !cell.lag_ms.is_empty();
    let near = cells.with(|cell| is_near(cell) && is_free(cell));
    let most = near.iter().map(|cell| cell.connections).max();
    let mut kept: Vec<&CellSummary> = Vec::new();
    for cell in near
        .into_iter()
        .filter(|cell| Some(cell.connections) == most)
    {
        if !kept.iter().any(|other| other.label == cell.label) {
            kept.push(cell);
        }
    }
    kept
}

fn applier<'s>(cells: Cells<'s>, label: &str) -> Option<&'s CellSummary> {
    applying(cells).into_iter().find(|cell| cell.label == label)
}

/// What the source commits over what the replica applies.
fn source_over_replica(cell: &CellSummary) -> Option<Figure> {
    let what = format!("{}: committed over applied", cell.label);
    times(what, paired::throughput(cell)?, paired::applied(cell)?)
}

/// Whether that shows that the replica falls behind.
fn lags(source_over_replica: &Figure) -> bool {
    source_over_replica.low > LAGS_FROM
}

/// "A single-threaded replica applies about 1/23 of what the source commits."
pub fn single_threaded(cells: Cells) -> Finding {
    let Some(figure) = applier(cells, "1 applier").and_then(source_over_replica) else {
        return Finding::undecided("one applier was not measured with an interval");
    };
    let old = applier(cells, "5.6 1 applier").and_then(source_over_replica);
    Finding {
        verdict: figure.is_within(SOURCE_OVER_REPLICA / 2.0, SOURCE_OVER_REPLICA * 2.0),
        figures: [Some(figure), old].into_iter().flatten().collect(),
        reason: "half to twice is taken as about; the article's source had twenty cores to \
                 commit with, and one applier has one: the ratio belongs to the number of cores"
            .to_owned(),
    }
}

/// "slave_parallel_type=DATABASE hardly helps when all tables share one schema; LOGICAL_CLOCK helps
/// greatly."
pub fn by_database(cells: Cells, material: &Material) -> Finding {
    let gain = |above, below| Gain::of(cells, above, below);
    let beside = [
        gain("write set 16", "1 applier"),
        gain("write set 16, any order", "write set 16"),
        gain("mariadb optimistic 16", "mariadb conservative 16"),
    ];
    let Some(database) = gain("5.6 by database 16", "5.6 1 applier") else {
        return Finding::undecided("by database was not measured with an interval");
    };
    let clock = gain("logical clock 16", "1 applier");
    let helps = clock.as_ref().map_or(Verdict::Undecided, Gain::is_great);
    let missing = match (&clock, has_logical_clock(material)) {
        (Some(_), _) => None,
        (None, true) => Some("LOGICAL_CLOCK was not measured with an interval"),
        (None, false) => Some(
            "LOGICAL_CLOCK by commit order needs a 5.7 or 8.0 server of your own: the source \
                 of 9.7 tells its replicas by write sets only what may run in parallel",
        ),
    };
    let judged = [Some(&database), clock.as_ref()].into_iter().flatten();
    let doubts = judged
        .filter_map(Gain::doubt)
        .chain(missing.map(str::to_owned));
    let doubts: String = doubts.map(|doubt| format!("; {doubt}")).collect();
    Finding {
        verdict: Verdict::of_all(&[database.is_hardly_any(), helps]),
        figures: [Some(database), clock]
            .into_iter()
            .flatten()
            .flat_map(|gain| [gain.times, gain.behind_below])
            .chain(beside.into_iter().flatten().map(|gain| gain.times))
            .collect(),
        reason: format!(
            "up to a quarter more is taken as hardly, twice and more as greatly{doubts}"
        ),
    }
}

/// What one way of applying applies over another.
struct Gain {
    above: String,
    below: String,
    times: Figure,
    /// What the source commits over what is applied.
    behind_above: Figure,
    behind_below: Figure,
}

impl Gain {
    fn of(cells: Cells, above: &str, below: &str) -> Option<Gain> {
        let (with, without) = (applier(cells, above)?, applier(cells, below)?);
        let what = format!("applied by {above} over {below}");
        Some(Gain {
            above: above.to_owned(),
            below: below.to_owned(),
            times: times(what, paired::applied(with)?, paired::applied(without)?)?,
            behind_above: source_over_replica(with)?,
            behind_below: source_over_replica(without)?,
        })
    }

    /// Where nothing is left to apply, nothing can be gained.
    fn has_room(&self) -> bool {
        lags(&self.behind_below)
    }

    /// One that keeps up applies what there is: its gain may be no more than its source gave.
    fn is_cut_off(&self) -> bool {
        !lags(&self.behind_above)
    }

    fn is_hardly_any(&self) -> Verdict {
        match self.times.is_at_most(1.25) {
            _ if !self.has_room() => Verdict::Undecided,
            Verdict::Confirmed if self.is_cut_off() => Verdict::Undecided,
            verdict => verdict,
        }
    }

    fn is_great(&self) -> Verdict {
        match self.times.is_above(2.0) {
            _ if !self.has_room() => Verdict::Undecided,
            Verdict::Contradicted if self.is_cut_off() => Verdict::Undecided,
            verdict => verdict,
        }
    }

    /// Why less was found than there may be.
    fn doubt(&self) -> Option<String> {
        let Gain { above, below, .. } = self;
        match () {
            () if !self.has_room() => Some(format!(
                "{below} keeps up here, or is not shown not to: more appliers have nothing to gain"
            )),
            () if self.is_cut_off() => Some(format!(
                "{above} keeps up here: its gain is cut off by what the source commits"
            )),
            () => None,
        }
    }
}

/// Whether a server took part that orders by its commits.
pub fn has_logical_clock(material: &Material) -> bool {
    let mut servers = material.servers.iter();
    servers.any(|facts| facts.version.starts_with("5.7.") || facts.version.starts_with("8.0."))
}

/// Semi-sync and what stands beside it without, in the order in which they are taken: by commit
/// order on a server of the user's own, else by write sets.
const SEMISYNC: [(&str, &str); 2] = [
    ("semisync logical clock 16", "logical clock 16"),
    ("semisync 2 nodes", "write set 16"),
];

/// "Semi-synchronous with LOGICAL_CLOCK shows no lag at all, because the source slows down."
pub fn semisync_without_lag(cells: Cells) -> Finding {
    let both = |(with, without)| applier(cells, with).zip(applier(cells, without));
    let Some((semisync, free)) = SEMISYNC.into_iter().find_map(both) else {
        return Finding::undecided("semi-sync and asynchronous were not both measured");
    };
    let slower = ratio(
        "committed with semi-sync over without".to_owned(),
        semisync,
        free,
    );
    let figures = [
        source_over_replica(semisync),
        slower,
        source_over_replica(free),
    ];
    let Some(figures) = all(figures) else {
        return Finding::undecided("semi-sync and asynchronous were not both measured");
    };
    let open = if !lags(&figures[2]) {
        "; without semi-sync the replica keeps up here too, or is not shown not to: there is no \
         lag that a slower source could be the end of"
    } else if is_host_bound(semisync) || is_host_bound(free) {
        "; source and replica together had used up this host's CPUs, so that how far a replica \
         falls behind belongs to their number"
    } else {
        ""
    };
    let verdicts = [figures[0].is_at_most(LAGS_FROM), figures[1].is_at_most(1.0)];
    Finding {
        verdict: match open.is_empty() {
            true => Verdict::of_all(&verdicts),
            false => Verdict::Undecided,
        },
        figures,
        reason: format!(
            "no lag: at least {} of what is committed is applied at once; {}{}{open}",
            1.0 - BEHIND_SHARE,
            largest_lag(semisync),
            match semisync.label == SEMISYNC[0].0 {
                true => "",
                false => "; by write sets, for commit order needs a 5.7 or 8.0 server of your own",
            },
        ),
    }
}

fn largest_lag(cell: &CellSummary) -> String {
    let largest_ms = cell.lag_ms.iter().filter_map(|lag| lag.max);
    let largest_ms = largest_ms.fold(0.0, f64::max);
    let or_more = match cell.lag_ms.iter().any(|lag| lag.beyond > 0) {
        true => " or more",
        false => "",
    };
    format!("the largest lag seen with it was {largest_ms:.1} ms{or_more}")
}
