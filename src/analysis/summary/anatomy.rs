//! What a mode's commit consists of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cell::FlagCount;
use super::estimate::Value;
use crate::plan::Point;

/// What a mode's commit consists of:
/// `latency = work + round trips · RTT + flushes · flush time asked`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Anatomy {
    pub label: String,
    pub server: String,
    pub mode: String,
    pub settings: BTreeMap<String, String>,
    pub client_site: String,
    pub workload: String,
    /// Equal distances that the line was drawn through, and rounds that had three of them.
    pub distances: u32,
    pub rounds: u32,
    pub round_trips: Option<Value>,
    /// Of each round; no part of the JSON.
    #[serde(skip)]
    pub round_trips_by_round: BTreeMap<u32, f64>,
    /// Flushes in series: slope over the flush time got on the writer's disk, all disks being
    /// alike, at one distance.
    pub flushes: Option<Value>,
    /// Flush times that the line was drawn through, and rounds that had three of them.
    pub flush_times: u32,
    pub flush_rounds: u32,
    /// The line's latency at no distance; where there are `flushes`, at no flush time asked.
    pub work_us: Option<Value>,
    /// Of the line over distances, and of that over flush times.
    pub lack_of_fit: Option<LackOfFit>,
    pub flushes_lack_of_fit: Option<LackOfFit>,
    /// Slopes of both halves of either line.
    pub halves: Option<Halves>,
    pub flushes_halves: Option<Halves>,
    /// What may be wrong with either slope though it is the same in every round: by how much its
    /// halves differ or, if that is more, the flushes counted.
    pub round_trips_systematic: Option<f64>,
    pub flushes_systematic: Option<f64>,
    /// Flushes of the writer's disk by its own count.
    pub flushes_counted: Option<Counted>,
    /// Where the delays come from that lines are drawn over.
    pub rtt_from: Source,
    pub flush_from: Source,
    /// Cells with both distance and flush time raised.
    pub adds: Vec<Adds>,
    /// Where a site's disks alone were slowed down: flushes there in series with the commit.
    pub flushes_by_site: Option<BTreeMap<String, Value>>,
    /// What `flushes` belong to: `ext4`, and how the server's log lies on it.
    pub file_system: Option<String>,
    pub log_layout: String,
    /// With unequal distances: round trips by the site of the peer.
    pub per_peer: Option<BTreeMap<String, Value>>,
    pub waits_for: Option<WaitsFor>,
    /// Doubts about its measurements, void ones included.
    pub flags: Vec<FlagCount>,
    /// The same row's figures in another record, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// The point of its first cell; no part of the JSON, which has its values by name.
    #[serde(skip)]
    pub point: Point,
}

/// Figures of another record; those that it lacks are absent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Beside {
    pub round_trips: Option<Value>,
    pub flushes: Option<Value>,
}

impl Anatomy {
    /// Whether a line was drawn at all.
    pub fn has_line(&self) -> bool {
        self.round_trips.is_some() || self.flushes.is_some()
    }
}

/// Where both distance and flush time were raised: the latency got, and the sum of what each of
/// them adds alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Adds {
    pub distances: String,
    pub disks: String,
    /// Rounds that had all four cells.
    pub rounds: u32,
    pub got_us: f64,
    pub sum_us: f64,
    /// Got less the sum, over rounds.
    pub difference_us: Value,
    /// Absent without an interval.
    pub verdict: Option<Sum>,
}

/// What a difference from the sum says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sum {
    /// The interval lies within 5 % of the sum.
    Adds,
    /// Less than the sum: part of one hides behind the other.
    Overlaps,
    /// More than the sum.
    Exceeds,
    /// The interval holds zero, and is too wide to say more.
    NoDifferenceShown,
}

/// How far the medians stray from the line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LackOfFit {
    /// Largest distance of a median, averaged over rounds, from the line.
    pub residual_us_max: f64,
    /// The same, as a share of the line's latency there.
    pub share: f64,
    /// Chance of straying as far by noise alone if the line were true: an F test against the
    /// scatter between rounds. Absent with one round.
    pub p: Option<f64>,
}

/// Slopes of a line's near half and of its far half: the middle point of an odd number is in both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Halves {
    pub near: Value,
    pub far: Value,
    /// The far half's less the near half's, a difference for each round.
    pub difference: Value,
    /// Absent without an interval.
    pub shape: Option<Shape>,
}

/// What the halves say of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// The interval of the difference lies within 0.05 of zero.
    Straight,
    /// It lies wholly outside.
    Bent,
    /// It is too wide to say either.
    Undecided,
}

/// Flushes of the writer's disk in the windows of all points of the flush line, over commits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Counted {
    /// What one commit more adds to the count.
    pub per_commit: Value,
    /// What is flushed each second whether or not anything is committed.
    pub background_per_s: f64,
    /// Where commits wait for this disk alone, one flush after the other: whether the slope is
    /// within 0.05 of the count. `None` also where more was counted, and nobody can tell whether
    /// the background flushed it.
    pub agrees: Option<bool>,
}

/// Where a delay that was got comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// What the load's own packets and flushes waited.
    Window,
    /// Probes before and after the window.
    #[default]
    Probe,
}

/// Whom a commit waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum WaitsFor {
    Nobody,
    Nearest,
    /// The peer that so many are no farther than, itself among them: neither the first nor the
    /// last.
    Kth(u32),
    Farthest,
    /// This peer, wherever the others are.
    Site(String),
    /// Every peer's distance counts alike.
    Each,
    /// Half of the way round over two peers, one to the other.
    Ring,
    /// Every peer's distance, and then the farthest's once more.
    OrderAndFarthest,
    #[default]
    Undecided,
}

impl From<WaitsFor> for String {
    fn from(whom: WaitsFor) -> String {
        let word = match whom {
            WaitsFor::Nobody => "nobody",
            WaitsFor::Nearest => "nearest",
            WaitsFor::Kth(k) => return format!("nearest-{k}"),
            WaitsFor::Farthest => "farthest",
            WaitsFor::Site(site) => return format!("site {site}"),
            WaitsFor::Each => "each",
            WaitsFor::Ring => "ring",
            WaitsFor::OrderAndFarthest => "order-and-farthest",
            WaitsFor::Undecided => "undecided",
        };
        word.to_owned()
    }
}

impl From<String> for WaitsFor {
    /// What is no such word is undecided.
    fn from(word: String) -> WaitsFor {
        if let Some(site) = word.strip_prefix("site ") {
            return WaitsFor::Site(site.to_owned());
        }
        if let Some(Ok(k)) = word.strip_prefix("nearest-").map(str::parse) {
            return WaitsFor::Kth(k);
        }
        match &word[..] {
            "nobody" => WaitsFor::Nobody,
            "nearest" => WaitsFor::Nearest,
            "farthest" => WaitsFor::Farthest,
            "each" => WaitsFor::Each,
            "ring" => WaitsFor::Ring,
            "order-and-farthest" => WaitsFor::OrderAndFarthest,
            _ => WaitsFor::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_a_commit_waits_for_is_one_word() {
        let word = |whom: WaitsFor| serde_json::to_value(whom).unwrap();
        assert_eq!(word(WaitsFor::Farthest), "farthest");
        assert_eq!(word(WaitsFor::OrderAndFarthest), "order-and-farthest");
        assert_eq!(word(WaitsFor::Kth(2)), "nearest-2");
        assert_eq!(word(WaitsFor::Site("nearest".into())), "site nearest");
    }

    #[test]
    fn the_word_is_read_again() {
        for whom in [
            WaitsFor::Nobody,
            WaitsFor::Nearest,
            WaitsFor::Kth(2),
            WaitsFor::Farthest,
            WaitsFor::Site("nearest".into()),
            WaitsFor::Each,
            WaitsFor::Ring,
            WaitsFor::OrderAndFarthest,
            WaitsFor::Undecided,
        ] {
            assert_eq!(WaitsFor::from(String::from(whom.clone())), whom);
        }
    }
}
