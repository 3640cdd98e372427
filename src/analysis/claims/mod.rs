//! What published articles claimed, held against a record of the same question asked again.
//!
//! Only ratios and orders are judged: an absolute figure belongs to the machine it came from.

mod clouds;
mod galera;
mod grid;
mod group_commit;
mod group_replication;
mod innodb_cluster;
mod limits;
mod paired;
mod pairs;
mod pick;
mod unseen;

use serde::{Deserialize, Serialize};

use super::effects::Effects;
use super::interval::Estimate;
use super::summary::{Anatomy, CellSummary, ModeToll};
use crate::record::ServerFacts;
use crate::study::articles;
pub use grid::{Grid, GridRow};
use paired::{ratio, times};

/// An article whose question a study asks again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Article {
    /// Its key in `studies/published.toml`.
    pub key: String,
    pub title: String,
    /// What it ran on, what it was loaded with, and what its figures are.
    pub servers: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    pub measure: String,
    /// To be shown, never to be compared.
    pub figures: Vec<PublishedFigure>,
    /// The article's own tables, with what was measured here.
    #[serde(default)]
    pub tables: Vec<Grid>,
    /// What it could not see, from the measurements made here. Whole sentences.
    #[serde(default)]
    pub unseen: Vec<String>,
}

/// What claims are judged by.
pub struct Material<'a> {
    pub servers: &'a [ServerFacts],
    pub cells: &'a [CellSummary],
    pub tolls: &'a [ModeToll],
    pub anatomy: &'a [Anatomy],
    pub effects: &'a [Effects],
    /// The study's short run, which leaves cells out.
    pub is_quick: bool,
}

/// What the rules of one article make of a record.
#[derive(Default)]
struct Said {
    /// One for each claim, in the article's order.
    findings: Vec<Finding>,
    tables: Vec<Grid>,
    unseen: Vec<String>,
    /// Places among the findings, from 0, of claims that no run of this study decides, whole or
    /// short.
    beyond: Vec<usize>,
}

/// A figure of another machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    pub name: String,
    pub value: String,
}

/// One claim and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// In the article's words, or nearly so.
    pub claim: String,
    pub verdict: Verdict,
    /// What was measured here.
    pub figures: Vec<Figure>,
    /// Why these figures say so, or what is missing to say anything.
    pub reason: String,
}

/// What a repeat says of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Confirmed,
    Contradicted,
    Undecided,
}

impl Verdict {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Contradicted => "contradicted",
            Verdict::Undecided => "undecided",
        }
    }

    /// Of many that all must hold: confirmed if each is, contradicted if one is.
    fn of_all(verdicts: &[Verdict]) -> Verdict {
        let is = |wanted: Verdict| move |verdict: &Verdict| *verdict == wanted;
        if verdicts.iter().any(is(Verdict::Contradicted)) {
            return Verdict::Contradicted;
        }
        let all_hold = !verdicts.is_empty() && verdicts.iter().all(is(Verdict::Confirmed));
        match all_hold {
            true => Verdict::Confirmed,
            false => Verdict::Undecided,
        }
    }

    /// Of many of which one is enough: confirmed if one holds, contradicted only if each is and
    /// none is missing.
    fn of_any(verdicts: &[Option<Verdict>]) -> Verdict {
        let is = |wanted: Verdict| move |verdict: &Option<Verdict>| *verdict == Some(wanted);
        if verdicts.iter().any(is(Verdict::Confirmed)) {
            return Verdict::Confirmed;
        }
        let none_holds = !verdicts.is_empty() && verdicts.iter().all(is(Verdict::Contradicted));
        match none_holds {
            true => Verdict::Contradicted,
            false => Verdict::Undecided,
        }
    }
}

/// What a claim comes to in cases of which the article names none, and what to say where they are
/// not alike; `depends` is said where it holds in one and fails in another.
fn of_cases(verdicts: &[Verdict], depends: &str) -> (Verdict, String) {
    let count = |wanted: Verdict| {
        verdicts
            .iter()
            .filter(|verdict| **verdict == wanted)
            .count()
    };
    let [holds, fails, open] = [
        Verdict::Confirmed,
        Verdict::Contradicted,
        Verdict::Undecided,
    ]
    .map(count);
    match verdicts {
        [first, rest @ ..] if rest.iter().all(|verdict| verdict == first) => {
            (*first, String::new())
        }
        _ => {
            let why = if holds > 0 && fails > 0 { depends } else { "" };
            let of = verdicts.len();
            let said = format!(
                "; of {of} cases it holds in {holds}, fails in {fails}, is open in {open}{why}"
            );
            (Verdict::Undecided, said)
        }
    }
}

/// `1 connection`, `4 connections`
fn connections(count: u32) -> String {
    match count {
        1 => "1 connection".to_owned(),
        _ => format!("{count} connections"),
    }
}

/// A figure that a claim is judged by, with the range that its intervals allow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    pub what: String,
    /// `commits per round trip`, or `times`.
    pub unit: String,
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Figure {
    /// Confirmed if all of the range is above `bound`, contradicted if none of it is.
    fn is_above(&self, bound: f64) -> Verdict {
        match (self.low > bound, self.high <= bound) {
            (true, _) => Verdict::Confirmed,
            (_, true) => Verdict::Contradicted,
            _ => Verdict::Undecided,
        }
    }

    /// Confirmed if all of the range lies from `low` to `high`, contradicted if none of it does.
    fn is_within(&self, low: f64, high: f64) -> Verdict {
        match () {
            () if self.low >= low && self.high <= high => Verdict::Confirmed,
            () if self.high < low || self.low > high => Verdict::Contradicted,
            () => Verdict::Undecided,
        }
    }

    /// Confirmed if all of the range is at most `bound`, contradicted if none of it is.
    fn is_at_most(&self, bound: f64) -> Verdict {
        match self.is_above(bound) {
            Verdict::Confirmed => Verdict::Contradicted,
            Verdict::Contradicted => Verdict::Confirmed,
            Verdict::Undecided => Verdict::Undecided,
        }
    }
}

/// A verdict, its figures and its reason.
struct Finding {
    verdict: Verdict,
    figures: Vec<Figure>,
    reason: String,
}

impl Finding {
    fn undecided(reason: &str) -> Finding {
        Finding {
            verdict: Verdict::Undecided,
            figures: vec![],
            reason: reason.to_owned(),
        }
    }
}

/// The article of that key and its claims, judged by what was measured; `None` if there is no
/// such article (any more: the record may be older).
pub fn judge(key: &str, material: &Material) -> Option<(Article, Vec<Claim>)> {
    let published = articles::article(key)?;
    let said = match key {
        "sync-binlog-group-commit-2012" => group_commit::said(material),
        "gmo-innodb-cluster-2022" => innodb_cluster::said(material),
        "gmo-galera-2022" => galera::said(material),
        "group-replication-2017" => group_replication::said(material),
        "clouds-2015" => clouds::said(material),
        _ => Said::default(),
    };
    let mut findings = said.findings.into_iter();
    let claim = |(place, text): (usize, String)| {
        let no_rule = || Finding::undecided("acklab has no rule to judge this one by");
        let finding = findings.next().unwrap_or_else(no_rule);
        let is_left_out = material.is_quick && !said.beyond.contains(&place);
        claim(text, finding, is_left_out)
    };
    let claims = published.claims.into_iter().enumerate();
    let claims = claims.map(claim).collect();
    let figure = |(name, value)| PublishedFigure { name, value };
    let article = Article {
        key: key.to_owned(),
        title: published.title,
        servers: published.servers,
        tool: published.tool,
        measure: published.measure,
        figures: published.figures.into_iter().map(figure).collect(),
        tables: said.tables,
        unseen: said.unseen,
    };
    Some((article, claims))
}

/// `is_left_out`: what is open may be so because a short run leaves it out.
fn claim(claim: String, finding: Finding, is_left_out: bool) -> Claim {
    let is_open = finding.verdict == Verdict::Undecided;
    let short = match is_open && is_left_out {
        true => "; this is the short run: the whole one measures more",
        false => "",
    };
    Claim {
        claim,
        verdict: finding.verdict,
        figures: finding.figures,
        reason: finding.reason + short,
    }
}

/// Whether each of these is above `bound`; `None` for one that is missing.
fn each_above(figures: &[Option<Figure>], bound: f64) -> Vec<Option<Verdict>> {
    let verdict = |figure: &Option<Figure>| Some(figure.as_ref()?.is_above(bound));
    figures.iter().map(verdict).collect()
}

/// The interval of a figure that has one.
fn range(estimate: &Estimate) -> Option<(f64, f64)> {
    Some((estimate.low?, estimate.high?))
}

#[cfg(test)]
mod tests;
