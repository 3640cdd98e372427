//! What came of all campaigns, in a few lines: the first thing that is read.

use super::details::why_unpromised;
use crate::analysis::worth::{Came, ModeWorth, Verdict};

/// The worst first.
const VERDICTS: [Verdict; 5] = [
    Verdict::Broken,
    Verdict::LostNoPromise,
    Verdict::Undecided,
    Verdict::NoneLostNoPromise,
    Verdict::Kept,
];
/// More are counted.
const NAMED_MAX: usize = 6;

/// Of each verdict that was given which modes it is of, at which faults; then what did not come as
/// the catalogue foretells it, and whether the check was awake.
pub fn lines(worth: &[ModeWorth]) -> Vec<String> {
    let asked: Vec<&ModeWorth> = worth.iter().filter(|one| !one.is_control).collect();
    let of_verdict = |verdict: Verdict| {
        let ours = asked.iter().filter(|one| one.worth.verdict == verdict);
        let ours: Vec<&ModeWorth> = ours.copied().collect();
        let (count, all) = (ours.len(), asked.len());
        let between = between(verdict);
        (count > 0).then(|| {
            let names = names(&ours, between);
            format!("{} ({count} of {all}): {names}", verdict.word())
        })
    };
    let verdicts = VERDICTS.into_iter().filter_map(of_verdict);
    let controls = (!worth.is_empty()).then(|| controls(worth));
    verdicts.chain(foretold(worth)).chain(controls).collect()
}

/// `Foretold by the catalogue: 41 of 43 came so. NOT: mysql async (writer-dies: none lost). Of
/// 1 no trial tells, or too few.`
fn foretold(worth: &[ModeWorth]) -> Option<String> {
    let all = worth.iter().flat_map(|one| &one.foretold);
    let all: Vec<Option<bool>> = all.map(|it| it.is_met).collect();
    let count = |is_met| all.iter().filter(|it| **it == is_met).count();
    let (met, open) = (count(Some(true)), count(None));
    let unmet = worth.iter().flat_map(|one| {
        let unmet = one.foretold.iter().filter(|it| it.is_met == Some(false));
        unmet.map(|it| {
            format!(
                "{} ({}: {})",
                one.label,
                one.worth.fault,
                it.what.join(" or ")
            )
        })
    });
    let unmet: Vec<String> = unmet.collect();
    let not = match unmet.is_empty() {
        true => String::new(),
        false => format!(" NOT: {}.", unmet.join(", ")),
    };
    let open = match open {
        0 => String::new(),
        open => format!(" Of {open} no trial tells, or too few."),
    };
    let all = all.len();
    (all > 0).then(|| format!("Foretold by the catalogue: {met} of {all} came so.{not}{open}"))
}

/// What stands between two: reasons have commas of their own.
fn between(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::LostNoPromise => "; ",
        _ => ", ",
    }
}

/// `mysql async (writer-dies, 3 of 5 trials: no replica need have received it); mysql semisync
/// (fall-back, 1 of 5 trials: …) and 4 more`
fn names(all: &[&ModeWorth], between: &str) -> String {
    let named: Vec<String> = all.iter().take(NAMED_MAX).map(|one| name(one)).collect();
    let more = match all.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    named.join(between) + &more
}

/// A mode and a fault; what is lost has its share of trials, and why it may be.
fn name(one: &ModeWorth) -> String {
    let worth = &one.worth;
    let (fault, lossy, sound) = (&worth.fault, worth.trials_with_loss, worth.trials_sound);
    let share = match lossy {
        0 => String::new(),
        _ => format!(", {lossy} of {sound} trials"),
    };
    let why = worth.promise.as_ref().and_then(why_unpromised);
    let why = why.filter(|_| worth.verdict == Verdict::LostNoPromise);
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    format!("{} ({fault}{share}{why})", one.label)
}

/// Whether the check was awake.
fn controls(worth: &[ModeWorth]) -> String {
    let controls: Vec<&ModeWorth> = worth.iter().filter(|one| one.is_control).collect();
    let has_fired = |one: &&&ModeWorth| one.worth.control.as_ref().is_some_and(Came::has_fired);
    let silent = controls.iter().filter(|one| !has_fired(one));
    let silent: Vec<&str> = silent.map(|one| &one.worth.fault[..]).collect();
    match (controls.len(), silent.is_empty()) {
        (0, _) => "No control ran: nothing shows that a loss would have been seen.".to_owned(),
        (all, true) => format!("All {all} controls fired: the check was awake."),
        (_, false) => format!(
            "Silent controls: {}. Nothing is decided.",
            silent.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::worth::example;

    #[test]
    fn each_verdict_is_told_once_and_the_worst_first() {
        let expected = [
            "BROKEN (1 of 5): mysql group (member-dies)",
            "lost, no promise (2 of 5): mysql async (writer-dies, 2 of 3 trials: no replica need \
             have received it); mysql semisync (fall-back, 1 of 3 trials: promised only until \
             0.021 s, when it went on alone)",
            "undecided (1 of 5): mariadb galera (member-dies)",
            "kept (1 of 5): mysql semisync (writer-dies)",
            "Foretold by the catalogue: 3 of 3 came so.",
            "All 2 controls fired: the check was awake.",
        ];
        assert_eq!(lines(&summarise(&example()).worth), expected);
        assert!(lines(&[]).is_empty());
    }

    #[test]
    fn what_no_control_watched_over_is_told() {
        let mut worth = summarise(&example()).worth;
        worth.retain(|one| !one.is_control);
        let told = lines(&worth);
        let last = told.last().expect("a line");
        assert!(last.starts_with("No control ran"), "{last}");
    }

    #[test]
    fn what_did_not_come_as_foretold_is_named() {
        let mut worth = summarise(&example()).worth;
        let mut all = worth.iter_mut().flat_map(|one| &mut one.foretold);
        all.next().expect("one").is_met = Some(false);
        all.next().expect("another").is_met = None;
        let told = foretold(&worth).expect("a line");
        let ends = "1 of 3 came so. NOT: mysql semisync (writer-dies: none lost). Of 1 no trial \
                    tells, or too few.";
        assert!(told.ends_with(ends), "{told}");
        worth.iter_mut().for_each(|one| one.foretold.clear());
        assert_eq!(foretold(&worth), None);
    }

    #[test]
    fn many_are_counted_and_not_named() {
        let mut worth = summarise(&example()).worth;
        worth.retain(|one| one.worth.verdict == Verdict::Kept && !one.is_control);
        let many: Vec<&ModeWorth> = std::iter::repeat_n(&worth[0], 9).collect();
        let told = names(&many, between(Verdict::Kept));
        assert!(told.ends_with("(writer-dies) and 3 more"), "{told}");
        assert_eq!(told.matches("writer-dies").count(), NAMED_MAX);
    }
}
