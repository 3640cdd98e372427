//! `self-test`: what is known beforehand, measured.

use super::limits;
use super::measure::run_text;
use crate::error::{Mistake, Result};
use crate::lab::sandbox::hear_requests_to_stop;
use crate::lab::servers::Cache;
use crate::live::minutes_and_seconds;
use crate::record::self_test::Check;
use crate::self_test::{KINDS, Kind, Parts, keep, run as run_part};
use crate::study::Study;

/// Exit code where a check did not reach its figure.
const MISSED: u8 = 1;

/// Runs these parts, or all, and keeps what came of them for the records made on this host.
pub fn run(names: &[String], is_quick: bool, words: &[String]) -> Result<u8> {
    let kinds = chosen(names)?;
    let cache = Cache::of_user()?;
    hear_requests_to_stop();
    let (mut held, mut all) = (0, 0);
    for kind in kinds {
        let takes = minutes_and_seconds(kind.takes[usize::from(!is_quick)]);
        say!("{}: {}? (about {takes})", kind.name, kind.title);
        let as_it_is = |study: &Study| Ok(study.clone());
        let mut run_study = |name: &str, text: &str| run_text((name, text), words, &as_it_is);
        let mut run_limits = |name: &str, text: &str| run_text((name, text), words, &limits::of);
        let mut parts = Parts {
            run_study: &mut run_study,
            run_limits: &mut run_limits,
        };
        let tell = &mut |check: &Check| say!("{}", line(check));
        let part = run_part(kind, is_quick, &mut parts, tell)?;
        held += part.checks.iter().filter(|check| check.holds).count();
        all += part.checks.len();
        keep(&cache.path, part)?;
    }
    say!("{held} of {all} hold; records made on this host tell so");
    Ok(if held == all { 0 } else { MISSED })
}

fn line(check: &Check) -> String {
    let mark = if check.holds { "ok    " } else { "MISSED" };
    let Check {
        what,
        must_hold,
        reached,
        ..
    } = check;
    format!("  {mark}  {what}: {reached}\n            must hold: {must_hold}")
}

fn chosen(names: &[String]) -> Result<Vec<&'static Kind>> {
    let named = |name: &String| {
        KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let all: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            let allowed = format!("one of {}", all.join(", "));
            Mistake::new("command line", "PARTS", name, &allowed).into()
        })
    };
    match names.is_empty() {
        true => Ok(KINDS.iter().collect()),
        false => {
            let asked: Result<Vec<&Kind>> = names.iter().map(named).collect();
            let asked: Vec<&str> = asked?.iter().map(|kind| kind.name).collect();
            // In their own order: those on real servers come last.
            let kinds = KINDS.iter().filter(|kind| asked.contains(&kind.name));
            Ok(kinds.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_named_and_a_wrong_name_tells_them() {
        assert_eq!(chosen(&[]).unwrap().len(), KINDS.len());
        let one = chosen(&["open-loop".to_owned()]).unwrap();
        assert_eq!(one[0].name, "open-loop");
        let error = chosen(&["drivers".to_owned()]).err().unwrap().to_string();
        assert!(
            error.contains("drivers") && error.contains("driver, open-loop, knee, same"),
            "{error}"
        );
    }

    #[test]
    fn a_check_that_is_missed_stands_out() {
        let check = Check {
            what: "median".to_owned(),
            must_hold: "within 20 µs".to_owned(),
            reached: "+31 µs".to_owned(),
            holds: false,
        };
        assert_eq!(
            line(&check),
            "  MISSED  median: +31 µs\n            must hold: within 20 µs"
        );
    }
}
