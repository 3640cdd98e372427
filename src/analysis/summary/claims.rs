//! What published articles claimed, and what became of it.

use serde::Serialize;

use super::estimate::Value;

/// An article whose question a study asks again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Article {
    /// What studies call it.
    pub key: String,
    pub title: String,
    /// What it ran on, what it was loaded with, and what its figures are.
    pub servers: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    pub measure: String,
    /// To be shown, never to be compared.
    pub figures: Vec<PublishedFigure>,
    /// The article's own tables, with what was measured here.
    pub tables: Vec<Grid>,
    /// Whether the claims are judged by the bounds that were set before the first measurement;
    /// absent in an older record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub are_bounds_kept: Option<bool>,
    /// What it could not see, from the measurements made here. Whole sentences.
    pub unseen: Vec<String>,
}

/// A figure of another machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedFigure {
    pub name: String,
    pub value: String,
}

/// One claim and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Confirmed,
    Contradicted,
    /// Shown by intervals to hold at one point and to fail at another.
    Depends,
    /// More of the same would decide it.
    Undecided,
    /// It needs a server or a service that the study does not have.
    Untestable,
}

/// A figure that a claim is judged by, with the range that its intervals allow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    pub what: String,
    /// `commits per round trip`, or `times`.
    pub unit: String,
    pub value: f64,
    pub low: f64,
    pub high: f64,
    /// Whether a cell that it comes from waited for the host's CPUs so much that the figure tells
    /// of the host, too. Counts per commit are no such figures.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_shared: bool,
}

/// A table of figures of one unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grid {
    pub title: String,
    /// `s`, `commits/s`…; what the ends of a range are, if they are no interval.
    pub unit: String,
    pub columns: Vec<String>,
    pub rows: Vec<GridRow>,
}

/// One row; where both were given, the published one stands below the one measured here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridRow {
    pub name: String,
    /// Of another machine, shown and never compared: what the article's figures are called.
    pub published: Option<String>,
    /// One for each column.
    pub figures: Vec<Option<Value>>,
    /// What the figures leave to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
