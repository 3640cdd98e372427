use std::slice;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::analysis::worth::tests::made::{Made, Setting};
use crate::analysis::worth::tests::planted::Planted;

fn made(planted: Planted) -> Made {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut made = Made::legal(Setting::Unpromised, &mut random);
    planted.plant(&mut made);
    let delivered = made.told_before();
    made.trial.delivered = vec![Delivered {
        node: 1,
        tokens: delivered.iter().map(|it: &Transfer| it.token).collect(),
        unread: None,
    }];
    made
}

/// The link had not delivered so many of the last.
fn undelivered(made: &mut Made, last: usize) {
    let tokens = &mut made.trial.delivered[0].tokens;
    let left = tokens.len() - last;
    tokens.truncate(left);
}

fn came_of(control: Control, all: &[Made]) -> Came {
    let judged: Vec<Judged> = all.iter().map(Made::judged).collect();
    let trials = all.iter().map(|made| &made.trial);
    let pairs: Vec<(&Trial, &Judged)> = trials.zip(&judged).collect();
    came(control, &pairs)
}

fn says(control: Control, all: &[Made], expected: &str) {
    match came_of(control, all) {
        Came::Otherwise(why) => assert!(why.contains(expected), "{why}"),
        Came::AsItMust => panic!("it fired, in place of: {expected}"),
    }
}

#[test]
fn without_a_cause_nothing_may_be_wrong() {
    let legal = made(Planted::Nothing);
    assert!(came_of(Control::Nothing, &[legal.clone(), legal.clone()]).has_fired());
    for planted in [
        Planted::Lost,
        Planted::Errant,
        Planted::Phantom,
        Planted::Flickered,
    ] {
        let all = [legal.clone(), made(planted)];
        says(Control::Nothing, &all, "in 1 of 2 trials");
    }
    says(Control::Nothing, &[], "none of its trials");
}

/// A kill that falls between two commits is no fault of the check, but shows nothing of it either.
#[test]
fn of_trials_without_a_fault_half_must_have_seen_what_they_were_made_for() {
    let [legal, blind] = [Planted::Nothing, Planted::NotReached].map(made);
    let (half, fewer) = ([&legal, &blind], [&legal, &blind, &blind]);
    assert!(came_of(Control::Nothing, &half.map(Made::clone)).has_fired());
    let seen = "1 of 3 trials saw what they were made for: ";
    says(Control::Nothing, &fewer.map(Made::clone), seen);
    let wrong = [legal.clone(), blind, made(Planted::Lost)];
    says(Control::Nothing, &wrong, "in 1 of 3 trials");
}

#[test]
fn a_loose_one_has_to_lose_in_its_share_of_trials() {
    let (legal, lossy) = (made(Planted::Nothing), made(Planted::Lost));
    let control = Control::Loses(0.8);
    let four = [&lossy, &lossy, &lossy, &lossy, &legal].map(Made::clone);
    assert!(came_of(control, &four).has_fired());
    let three = [&lossy, &lossy, &lossy, &legal, &legal].map(Made::clone);
    says(control, &three, "3 of 5 trials lost something");
    // Those in doubt have shown nothing.
    let mut undone = lossy.clone();
    undone.trial.undecided = Some("the lab's".to_owned());
    says(control, slice::from_ref(&undone), "none of its trials");
    let with_one = [&undone, &lossy, &lossy, &lossy, &lossy].map(Made::clone);
    assert!(came_of(control, &with_one).has_fired());
    let with_two = [&undone, &undone, &lossy, &lossy, &lossy].map(Made::clone);
    says(control, &with_two, "3 of 5 trials lost something");
    let most = [&undone, &undone, &legal].map(Made::clone);
    says(Control::Nothing, &most, "1 of 3 trials could be judged");
}

/// One that does not come up has lost all, and shows nothing of what a control is to show.
#[test]
fn a_server_that_refuses_its_data_is_no_loss_that_fires_a_control() {
    let mut refusing = made(Planted::Nothing);
    refusing.trial.serving.clear();
    refusing.trial.refused = Some("a page is corrupted".to_owned());
    assert!(refusing.judged().counts.lost > 0);
    says(Control::Loses(0.5), &[refusing], "0 of 1 trials lost");
}

#[test]
fn where_the_checkers_disagree_no_control_fires() {
    let legal = made(Planted::Nothing);
    let mut apart = legal.judged();
    let doubt = Doubt::Disagreement("lost: 1 and 2".to_owned());
    apart.doubts.push(doubt);
    let all = [legal.judged(), apart];
    let pairs: Vec<(&Trial, &Judged)> = all.iter().map(|one| (&legal.trial, one)).collect();
    assert!(came(Control::Nothing, &pairs[..1]).has_fired());
    assert!(!came(Control::Nothing, &pairs).has_fired());
}

#[test]
fn exactly_what_was_not_delivered_has_to_be_lost() {
    let control = Control::LosesUndelivered;
    let mut exact = made(Planted::Lost);
    undelivered(&mut exact, 1);
    assert!(came_of(control, slice::from_ref(&exact)).has_fired());
    let whole = made(Planted::Nothing);
    assert!(came_of(control, &[exact.clone(), whole.clone()]).has_fired());
    says(control, slice::from_ref(&whole), "all had been delivered");
    let lost = made(Planted::Lost);
    says(control, &[lost], "1 were lost that had been delivered");
    let mut more = whole.clone();
    undelivered(&mut more, 2);
    says(control, &[more], "2 were not lost that had not");
    let mut unread = exact.clone();
    unread.trial.delivered[0].unread = Some("a gap".to_owned());
    says(control, &[unread], "could not be read: a gap");
    let mut unkept = exact;
    unkept.trial.delivered.clear();
    says(control, &[unkept], "no stream");
}

/// One that the new writer acknowledged never went over that link.
#[test]
fn what_the_new_writer_loses_was_not_foretold() {
    let mut made = made(Planted::Lost);
    undelivered(&mut made, 1);
    let own = made.trial.history.transfers.iter().rev();
    let own = own.copied().find(|it| it.node == 1).expect("one");
    made.trial.serving[0]
        .rows
        .retain(|row| row.token != own.token);
    says(
        Control::LosesUndelivered,
        &[made],
        "1 were lost that had been delivered, and 0",
    );
}
