use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::analysis::worth::tests::made::{Made, Setting};
use crate::analysis::worth::tests::planted::Planted;
use crate::study::faults::{Control, Reach};

fn made(setting: Setting, planted: Planted, seed: u64) -> Made {
    let mut made = Made::legal(setting, &mut ChaCha8Rng::seed_from_u64(seed));
    planted.plant(&mut made);
    made
}

/// Trials of one setting, with these anomalies.
fn campaign(setting: Setting, planted: &[Planted]) -> (Campaign, PromiseTerms) {
    let of = |(seed, planted): (u64, &Planted)| made(setting, *planted, seed);
    let all: Vec<Made> = (0..).zip(planted).map(of).collect();
    let legal = made(setting, Planted::Nothing, 0);
    let campaign = Campaign {
        durability: legal.terms.durability,
        fault: legal.fault,
        trials: all.into_iter().map(|made| made.trial).collect(),
    };
    (campaign, legal.terms)
}

fn worth(setting: Setting, planted: &[Planted]) -> CampaignWorth {
    let (campaign, terms) = campaign(setting, planted);
    summarise(&campaign, &terms)
}

fn verdict_of(planted: &[Planted]) -> Verdict {
    worth(Setting::Promoted, planted).verdict
}

const LEGAL: Planted = Planted::Nothing;

#[test]
fn counts_are_summed_up_over_sound_trials() {
    let planted = [LEGAL, Planted::Lost, Planted::Undone, Planted::Hole];
    let worth = worth(Setting::Unpromised, &planted);
    assert_eq!((worth.trials, worth.trials_sound), (4, 3));
    assert_eq!((worth.trials_with_loss, worth.counts.lost), (2, 2));
    assert_eq!((worth.counts.recovered, worth.counts.holes), (3, 1));
    let sound = [0, 1, 3].map(|at: usize| worth.each[at].counts.acknowledged);
    assert_eq!(worth.counts.acknowledged, sound.iter().sum::<usize>());
    assert_eq!(worth.verdict, Verdict::LostNoPromise);
    let missing = ["in 1 of 4 trials a disk of the lab's own was full"];
    assert_eq!(worth.missing, missing);
    assert!(
        worth
            .no_service_s_max
            .is_some_and(|s| (0.03..0.08).contains(&s))
    );
}

#[test]
fn the_worst_of_its_trials_is_its_verdict() {
    let (lost, open) = (Planted::LostAfterItWentAlone, Planted::NotChecked);
    assert_eq!(verdict_of(&[LEGAL, LEGAL]), Verdict::Kept);
    assert_eq!(verdict_of(&[LEGAL, open]), Verdict::Undecided);
    assert_eq!(verdict_of(&[LEGAL, open, lost]), Verdict::LostNoPromise);
    assert_eq!(verdict_of(&[lost, Planted::Lost, open]), Verdict::Broken);
    assert_eq!(verdict_of(&[]), Verdict::Undecided);
    let none = worth(Setting::Unpromised, &[LEGAL]);
    assert_eq!(none.verdict, Verdict::NoneLostNoPromise);
    let all = [Verdict::Kept, Verdict::LostNoPromise, Verdict::Undecided];
    assert_eq!(worst(all), Some(Verdict::Undecided));
    assert_eq!(worst([]), None);
}

/// What was no such fault says nothing, neither for a promise nor against it.
#[test]
fn trials_that_were_no_such_fault_leave_nothing_open_where_half_were() {
    let no_such = Planted::NotReached;
    let made = |planted: &[Planted]| {
        let (campaign, terms) = campaign(Setting::Promoted, planted);
        // Each was made with a fault of its own; it is one in the judgement of all.
        let judged = |trial: (&Trial, &Planted)| {
            let mut fault = campaign.fault.clone();
            if *trial.1 == no_such {
                fault.reach.push(Reach::FellBack);
            }
            judge(&fault, trial.0, &promise(&terms, &fault, trial.0))
        };
        let each: Vec<Judged> = campaign.trials.iter().zip(planted).map(judged).collect();
        let conclusive = each.iter().filter(|judged| judged.is_conclusive()).count();
        (verdict(&each), conclusive, missing(&each, None).len())
    };
    assert_eq!(made(&[LEGAL, LEGAL, no_such]), (Verdict::Kept, 2, 1));
    assert_eq!(made(&[LEGAL, no_such]), (Verdict::Kept, 1, 1));
    let too_few = [LEGAL, no_such, no_such];
    assert_eq!(made(&too_few), (Verdict::Undecided, 1, 1));
    assert_eq!(made(&[no_such]), (Verdict::Undecided, 0, 1));
    let open = [LEGAL, LEGAL, no_such, Planted::NotBitten];
    assert_eq!(made(&open), (Verdict::Undecided, 2, 2));
    assert_eq!(
        verdict_of(&[LEGAL, LEGAL, Planted::Lost, no_such]),
        Verdict::Broken
    );
}

/// "0 of n" says no more than this.
#[test]
fn none_of_n_trials_has_its_bound() {
    let is_near = |share: Option<f64>, expected: f64| {
        let share = share.expect("a bound");
        assert!((share - expected).abs() < 1e-4, "{share}");
    };
    is_near(share_max(20, 0), 1.0 - 0.05_f64.powf(1.0 / 20.0));
    is_near(share_max(20, 0), 0.1391);
    assert_eq!((share_max(0, 0), share_max(0, 3)), (None, None));
    // What befell the lab may go together with a loss.
    let open = worth(
        Setting::Promoted,
        &[LEGAL, Planted::NotBitten, LEGAL, Planted::Undone],
    );
    let counts = (open.trials_sound, open.trials_conclusive, open.trials_open);
    assert_eq!(counts, (3, 2, 2));
    // The share at which at most two of four are seen in 5 %: x^3 (4 - 3x) = 0.95.
    is_near(open.loss_share_max, 0.9024);
    // One that was not what its fault is for says nothing.
    let is_open = |planted| made(Setting::Promoted, planted, 5).judged().is_open();
    assert!(!is_open(LEGAL) && !is_open(Planted::NotReached));
    assert!(is_open(Planted::Undone) && is_open(Planted::NotBitten));
}

/// "1 of n" says less than it seems to.
#[test]
fn a_share_that_was_seen_has_both_its_ends() {
    // Of 20 one: 0.95^(1/20) of 20 are seen at least once in 5 %; at most one in 5 %.
    let least = share_min(19, 1).expect("one was seen");
    assert!(
        (least - (1.0 - 0.95_f64.powf(1.0 / 20.0))).abs() < 1e-6,
        "{least}"
    );
    let most = share_max(19, 1).expect("not all");
    let at_most_one = |x: f64| (1.0 - x).powi(20) + 20.0 * x * (1.0 - x).powi(19);
    assert!((at_most_one(most) - 0.05).abs() < 1e-6, "{most}");
    assert_eq!((share_min(20, 0), share_max(0, 20)), (None, None));
    let ends = |planted: &[Planted]| {
        let worth = worth(Setting::Unpromised, planted);
        (worth.loss_share_min, worth.loss_share_max)
    };
    assert_eq!(ends(&[LEGAL, LEGAL]), (None, share_max(2, 0)));
    assert_eq!(
        ends(&[LEGAL, Planted::Lost]),
        (share_min(1, 1), share_max(1, 1))
    );
    assert_eq!(ends(&[Planted::Lost; 3]), (share_min(0, 3), Some(1.0)));
    // One in doubt may have lost something, and has shown nothing.
    let open = [LEGAL, Planted::Lost, Planted::Undone];
    assert_eq!(ends(&open), (share_min(1, 1), share_max(1, 2)));
}

#[test]
fn the_promise_of_the_worst_trial_is_told() {
    let all = worth(Setting::Promoted, &[LEGAL, Planted::LostAfterItWentAlone]);
    let promise = all.promise.expect("there are trials");
    assert!(promise.is_given && promise.until_us.is_some());
    assert_eq!(worth(Setting::Promoted, &[]).promise, None);
}

/// One that must lose, and one that must not.
fn controlled(planted: &[Planted], control: Control) -> CampaignWorth {
    let (mut campaign, terms) = campaign(Setting::Unpromised, planted);
    campaign.fault.control = Some(control);
    summarise(&campaign, &terms)
}

#[test]
fn a_silent_control_leaves_nothing_decided() {
    let loses = Control::Loses(0.5);
    let fired = controlled(&[Planted::Lost, LEGAL], loses);
    assert_eq!(fired.control, Some(Came::AsItMust));
    assert_eq!(fired.verdict, Verdict::LostNoPromise);
    let silent = controlled(&[LEGAL], loses);
    assert_eq!(silent.verdict, Verdict::Undecided);
    assert!(silent.missing[0].starts_with("the control was silent: 0 of 1"));
    let broken = worth(Setting::Promoted, &[Planted::Lost]);
    let mut all = [broken.clone(), fired.clone()];
    under_controls(&mut all);
    assert_eq!(all[0].verdict, Verdict::Broken, "all controls fired");
    let mut all = [broken, fired, silent];
    under_controls(&mut all);
    for worth in &all {
        assert_eq!(worth.verdict, Verdict::Undecided);
        let last = worth.missing.last().map(String::as_str);
        assert_eq!(last, Some("the control made-up was silent"));
    }
    let cried = controlled(&[LEGAL, Planted::Errant], Control::Nothing);
    assert_eq!(cried.verdict, Verdict::Undecided);
}

#[test]
fn the_longest_of_each_span_is_told() {
    let (mut campaign, terms) = campaign(Setting::Promoted, &[LEGAL, LEGAL]);
    campaign.trials[1].recovery = Duration::from_millis(1_500);
    // Nobody was served again in the second.
    let told = &mut campaign.trials[1].history.transfers;
    told.retain(|it| it.node == 0);
    let worth = summarise(&campaign, &terms);
    assert_eq!(
        (worth.recovery_s_max, worth.trials_without_return),
        (1.5, 1)
    );
    let empty = summarise(
        &Campaign {
            trials: vec![],
            ..campaign
        },
        &terms,
    );
    assert_eq!(empty.missing, ["no trial came to its end"]);
}
