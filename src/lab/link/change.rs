//! Chosen links changed, on top of what distances make of all.

use std::time::Duration;

use crate::error::{Result, breakdown};

use super::{LinkSetting, PairSetting};

/// What is done to one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// Nothing enters it any more. What is already on its way still arrives.
    Cut,
    /// This share of packets, above 0 and at most 1, is lost besides those that are lost anyway.
    Lose(f64),
    /// So much is added to its delay.
    Slower(Duration),
}

impl Change {
    /// A setting, changed.
    pub fn of(self, setting: LinkSetting) -> LinkSetting {
        match self {
            Change::Cut => LinkSetting {
                is_cut: true,
                ..setting
            },
            Change::Lose(share) => LinkSetting {
                loss: 1.0 - (1.0 - setting.loss) * (1.0 - share),
                ..setting
            },
            Change::Slower(by) => LinkSetting {
                one_way_delay: setting.one_way_delay + by,
                ..setting
            },
        }
    }
}

/// A change of every way from one of some places to one of others, and of none that leads back.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkChange {
    /// Names of places.
    pub from: Vec<String>,
    pub to: Vec<String>,
    pub change: Change,
}

impl LinkChange {
    /// The ways, as names of both ends. A place has none to itself.
    pub fn ways(&self) -> impl Iterator<Item = (&str, &str)> {
        let from = self.from.iter();
        let all = from.flat_map(move |from| self.to.iter().map(move |to| (&from[..], &to[..])));
        all.filter(|(from, to)| from != to)
    }
}

/// Changes the settings of those ways, one change after the other.
///
/// # Errors
/// A breakdown if a change names a place that there is not, befalls no way at all, or loses a share
/// of packets that can be none.
pub fn apply(settings: &mut [PairSetting], changes: &[LinkChange]) -> Result<()> {
    changes.iter().try_for_each(|one| apply_one(settings, one))
}

fn apply_one(settings: &mut [PairSetting], change: &LinkChange) -> Result<()> {
    let refused = |why: String| breakdown("change links", why);
    if let Change::Lose(share) = change.change {
        let is_share = share > 0.0 && share <= 1.0;
        if !is_share {
            return Err(refused(format!("no link can lose a share of {share}")));
        }
    }
    if change.ways().next().is_none() {
        return Err(refused(
            "no link is between those that were named".to_owned(),
        ));
    }
    for (from, to) in change.ways() {
        let mut pairs = settings.iter_mut();
        let found = pairs.find(|pair| pair.from == from && pair.to == to);
        let pair = found.ok_or_else(|| refused(format!("no link goes from {from} to {to}")))?;
        pair.setting = change.change.of(pair.setting);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: LinkSetting = LinkSetting {
        one_way_delay: Duration::from_millis(2),
        jitter: Duration::ZERO,
        loss: 0.1,
        rate_bits_per_s: Some(1_000_000),
        is_cut: false,
    };

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn change(from: &[&str], to: &[&str], change: Change) -> LinkChange {
        LinkChange {
            from: names(from),
            to: names(to),
            change,
        }
    }

    /// Every ordered pair of a, b and c.
    fn settings() -> Vec<PairSetting> {
        let all = names(&["a", "b", "c"]);
        let mut settings = Vec::new();
        for from in &all {
            for to in all.iter().filter(|to| *to != from) {
                settings.push(PairSetting {
                    from: from.clone(),
                    to: to.clone(),
                    setting: SETTING,
                });
            }
        }
        settings
    }

    fn changed(changes: &[LinkChange]) -> Vec<PairSetting> {
        let mut settings = settings();
        apply(&mut settings, changes).unwrap();
        settings
    }

    fn of(settings: &[PairSetting], from: &str, to: &str) -> LinkSetting {
        let mut all = settings.iter();
        let found = all.find(|pair| pair.from == from && pair.to == to);
        found.unwrap().setting
    }

    #[test]
    fn only_that_direction_is_changed() {
        let now = changed(&[change(&["a"], &["b"], Change::Cut)]);
        let cut = of(&now, "a", "b");
        assert!(cut.is_cut);
        assert_eq!(cut.one_way_delay, SETTING.one_way_delay);
        let rest = [("b", "a"), ("a", "c"), ("c", "a"), ("b", "c"), ("c", "b")];
        let is_same = |(from, to): &(&str, &str)| of(&now, from, to) == SETTING;
        assert!(rest.iter().all(is_same));
    }

    #[test]
    fn each_of_the_first_to_each_of_the_second_but_none_to_itself() {
        let one = change(&["a", "b"], &["b", "c"], Change::Cut);
        let ways: Vec<(&str, &str)> = one.ways().collect();
        assert_eq!(ways, [("a", "b"), ("a", "c"), ("b", "c")]);
        let now = changed(std::slice::from_ref(&one));
        assert!(ways.iter().all(|(from, to)| of(&now, from, to).is_cut));
        let back = [("b", "a"), ("c", "a"), ("c", "b")];
        let is_same = |(from, to): &(&str, &str)| of(&now, from, to) == SETTING;
        assert!(back.iter().all(is_same));
    }

    #[test]
    fn a_delay_and_a_loss_come_on_top() {
        let by = Duration::from_millis(30);
        let now = changed(&[
            change(&["a"], &["b"], Change::Slower(by)),
            change(&["a"], &["b", "c"], Change::Lose(0.5)),
        ]);
        let (both, loss_only) = (of(&now, "a", "b"), of(&now, "a", "c"));
        assert_eq!(both.one_way_delay, Duration::from_millis(32));
        assert!((both.loss - 0.55).abs() < 1e-12, "{}", both.loss);
        assert_eq!(loss_only.one_way_delay, SETTING.one_way_delay);
        assert_eq!(loss_only.loss, both.loss);
        assert_eq!(both.rate_bits_per_s, SETTING.rate_bits_per_s);
        assert_eq!(Change::Lose(1.0).of(SETTING).loss, 1.0);
    }

    #[test]
    fn what_cannot_be_done_is_a_breakdown() {
        let told = |one: LinkChange| {
            let outcome = apply(&mut settings(), &[one]);
            outcome.unwrap_err().to_string()
        };
        let unknown = told(change(&["a"], &["d"], Change::Cut));
        assert!(unknown.contains("no link goes from a to d"), "{unknown}");
        for nobody in [
            change(&[], &["a"], Change::Cut),
            change(&["a"], &["a"], Change::Cut),
        ] {
            let nobody = told(nobody);
            assert!(nobody.contains("between those that were named"), "{nobody}");
        }
        for share in [0.0, -0.1, 1.1, f64::NAN] {
            let share = told(change(&["a"], &["b"], Change::Lose(share)));
            assert!(share.contains("lose a share of"), "{share}");
        }
    }
}
