//! What each variable of a screening design does.

use serde::Serialize;

use super::cell::Per;
use super::estimate::Estimate;
use crate::plan::Point;

/// One screening design at one point of the other axes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effects {
    /// Of the mode that is varied.
    pub label: String,
    pub client_site: String,
    pub workload: String,
    pub connections: u32,
    pub distances: String,
    pub disks: Option<String>,
    /// What is counted: commits, or transactions where the workload only reads.
    pub per: Per,
    pub runs: u32,
    /// Absent where all combinations were run: then there are no aliases.
    pub resolution: Option<u32>,
    /// Rounds in which all runs are sound; no others count.
    pub rounds: u32,
    pub factors: Vec<Factor>,
    pub main: Vec<Effect>,
    pub interactions: Vec<Effect>,
    /// The point of the row that is varied; no part of the JSON, which has its values by name.
    #[serde(skip)]
    pub point: Point,
}

/// A variable and its two levels, as asked and as the writer had them in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Factor {
    pub letter: String,
    pub name: String,
    pub low: String,
    pub high: String,
    pub low_in_force: Option<String>,
    pub high_in_force: Option<String>,
}

/// An effect on throughput.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// Letters of its factors: `a`, or `ab` of an interaction.
    pub of: String,
    /// Its factors, as indices; no part of the JSON, which has their letters.
    #[serde(skip)]
    pub factors: Vec<usize>,
    /// Other effects that no run tells from this one.
    pub aliases: Vec<String>,
    /// Of one variable: throughput with it high over that with it low. Of two: throughput with both
    /// high over what the two changes, each made alone, multiply to. Geometric means over all that
    /// the other variables do.
    pub ratio: Option<Estimate>,
    /// Whether the interval leaves 1 out: of two variables, that their effects do not add up.
    pub shown: Option<bool>,
}
