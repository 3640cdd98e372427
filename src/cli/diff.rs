//! `diff`: two records held against each other.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::measure::{format, share};
use crate::analysis::diff::limit::Limit;
use crate::analysis::diff::told::{LimitCame, LimitVerdict};
use crate::analysis::diff::{Asked, compare};
use crate::error::{Mistake, Result};
use crate::record::store::Record;
use crate::report::diff::render;

/// Exit codes: a limit is exceeded; none is, but whether one is kept is not known.
const EXCEEDED: u8 = 1;
const CANNOT_TELL: u8 = 3;

pub const EXAMPLES: &str = "\
Examples:
  acklab diff before.acklab after.acklab
  acklab diff before.acklab after.acklab --limit p99:+10% --limit throughput:-5%
  acklab diff before.acklab after.acklab --format markdown     for a pull request's comment

Exit codes: 0 done, and all limits are kept; 1 a limit is exceeded; 2 these cannot be compared;
3 it cannot be told whether a limit is kept";

/// What `diff` was asked for.
#[derive(Args)]
pub struct DiffOptions {
    /// What was: an older version, another machine, another setting
    a: PathBuf,
    /// What is
    b: PathBuf,
    /// Call alike what lies within this share
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = above_zero)]
    alike: f64,
    /// How far runs of one build stray from each other on your machine: a standard deviation
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = from_zero)]
    between: f64,
    /// Exit with 1 where B is shown to be worse than this, e.g. p99:+10% or throughput:-5%; may be
    /// given several times, of p50, p95, p99, throughput and cpu
    #[arg(long, value_name = "LIMIT", value_parser = Limit::parse, allow_hyphen_values = true)]
    limit: Vec<Limit>,
    /// text, markdown, csv or json
    #[arg(long, default_value = "text")]
    format: String,
}

fn above_zero(text: &str) -> std::result::Result<f64, String> {
    from_zero(text).and_then(|share| match share > 0.0 {
        true => Ok(share),
        false => Err("a share above 0%".to_owned()),
    })
}

fn from_zero(text: &str) -> std::result::Result<f64, String> {
    share(text).and_then(|share| match (0.0..1.0).contains(&share) {
        true => Ok(share),
        false => Err("a share below 100%: 5%, 2.5%".to_owned()),
    })
}

/// Holds the second record against the first, and prints what comes of it; the exit code.
pub fn run(options: &DiffOptions) -> Result<u8> {
    let format = format(&options.format)?;
    let (a, b) = (Record::open(&options.a)?, Record::open(&options.b)?);
    let names = [shown(&options.a), shown(&options.b)];
    let asked = Asked {
        alike_within: options.alike,
        between_runs: options.between,
        limits: options.limit.clone(),
    };
    let diff = compare((&a, &names[0]), (&b, &names[1]), &asked);
    let diff = diff.map_err(|refusal| {
        let [a, b] = &names;
        let sentence = format!("{a} (A) and {b} (B) cannot be compared: {refusal}");
        Mistake::state(&sentence)
    })?;
    // A reader that stops reading early (`| head`) is no fault.
    let _ = std::io::stdout().write_all(render(&diff, format).as_bytes());
    Ok(code(&diff.limits))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// What is exceeded is told before what is in doubt.
fn code(limits: &[LimitCame]) -> u8 {
    let has = |verdict| limits.iter().any(|came| came.verdict == verdict);
    match () {
        () if has(LimitVerdict::Exceeded) => EXCEEDED,
        () if has(LimitVerdict::CannotTell) => CANNOT_TELL,
        () => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(verdict: LimitVerdict) -> LimitCame {
        LimitCame {
            limit: Limit::parse("p99:+10%").expect("a limit"),
            verdict,
            exceeded: vec![],
            open: vec![],
            kept: 0,
        }
    }

    #[test]
    fn a_limit_that_is_exceeded_is_told_before_one_in_doubt() {
        use LimitVerdict::{CannotTell, Exceeded, Kept};
        let of = |all: &[LimitVerdict]| {
            let all: Vec<LimitCame> = all.iter().map(|verdict| came(*verdict)).collect();
            code(&all)
        };
        assert_eq!(of(&[Kept, CannotTell, Exceeded]), 1);
        assert_eq!(of(&[Kept, CannotTell]), 3);
        assert_eq!((of(&[Kept]), of(&[])), (0, 0));
    }

    #[test]
    fn shares_are_of_less_than_all() {
        assert_eq!((from_zero("0%"), from_zero("2.5%")), (Ok(0.0), Ok(0.025)));
        for wrong in ["-1%", "100%", "5", ""] {
            assert!(
                from_zero(wrong).is_err() && above_zero(wrong).is_err(),
                "{wrong}"
            );
        }
        assert!(above_zero("0%").is_err());
    }
}
