//! What a repeat says of a claim, and how verdicts of many make one.

pub use crate::analysis::summary::claims::{Figure, Verdict};
use crate::study::articles::{self, Across, Bounds};

use Verdict::{Confirmed, Contradicted, Depends, Undecided, Untestable};

impl Verdict {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Confirmed => "confirmed",
            Contradicted => "contradicted",
            Depends => "depends",
            Undecided => "undecided",
            Untestable => "untestable",
        }
    }

    /// Of parts that all must hold. One that fails refutes them all; what one of them lacks, the
    /// whole lacks; and where another is open it is not shown that the whole holds anywhere.
    pub fn of_parts(parts: &[Verdict]) -> Verdict {
        let ranked = [Contradicted, Untestable, Undecided, Depends];
        let worst = ranked.into_iter().find(|verdict| parts.contains(verdict));
        match parts {
            [] => Undecided,
            _ => worst.unwrap_or(Confirmed),
        }
    }

    /// Of many points, as far as they were measured: `None` stands for one that is missing.
    pub fn across(across: Across, points: &[Option<Verdict>]) -> Verdict {
        let there: Vec<Verdict> = points.iter().flatten().copied().collect();
        let is_whole = there.len() == points.len();
        let has = |verdict| there.contains(&verdict);
        let all = |verdict| !there.is_empty() && there.iter().all(|one| *one == verdict);
        match across {
            Across::All if has(Contradicted) => Contradicted,
            Across::Any if has(Confirmed) => Confirmed,
            Across::Cases if has(Confirmed) && has(Contradicted) => Depends,
            _ if !is_whole => Undecided,
            _ if all(Confirmed) => Confirmed,
            _ if all(Contradicted) => Contradicted,
            _ => Undecided,
        }
    }
}

/// Confirmed if all of the range lies within, contradicted if none of it does. The low end does not
/// belong to what is within, the high one does: so a figure is above a bound or up to it.
pub fn within(bounds: &Bounds, low: f64, high: f64) -> Verdict {
    let (from, to) = (
        bounds.low.unwrap_or(f64::NEG_INFINITY),
        bounds.high.unwrap_or(f64::INFINITY),
    );
    match () {
        () if low > from && high <= to => Confirmed,
        () if high <= from || low > to => Contradicted,
        () => Undecided,
    }
}

/// What a word is taken as.
pub fn word(word: &str) -> Bounds {
    let known = articles::words().remove(word);
    known.unwrap_or_else(|| panic!("{word} is no word of studies/articles/words.toml"))
}

/// What became of a part of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub verdict: Verdict,
    pub figures: Vec<Figure>,
    /// What stands beside the figures: why, or what is missing.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Without a figure.
    pub fn new(verdict: Verdict, note: String) -> Outcome {
        Outcome {
            verdict,
            figures: vec![],
            notes: vec![note],
        }
    }
}
