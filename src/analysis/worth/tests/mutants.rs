//! Bugs planted in the checker: each alters what it is given, or what it was promised, as the bug
//! would. Each is killed by the test of its name: the checker says what is right, the mutant does
//! not, and the second checker does not agree with it.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::made::{Made, Setting, add, held, remove};
use super::planted::{Planted, last};
use crate::analysis::worth::{Judged, Verdict, agrees, judge, promise};
use crate::record::history::{Answer, Token};
use crate::study::Mode;

/// A trial with that anomaly.
fn made(setting: Setting, planted: Planted) -> Made {
    let mut random = ChaCha8Rng::seed_from_u64(14);
    let mut made = Made::legal(setting, &mut random);
    planted.plant(&mut made);
    made
}

/// What the checker says of it when it has the bug.
fn mutated(made: &Made, bug: impl FnOnce(&mut Made)) -> Judged {
    let mut altered = made.clone();
    bug(&mut altered);
    altered.judged()
}

/// The checker is right, and says something else with the bug.
fn is_told_apart(made: &Made, mutant: &Judged) {
    let right = made.judged();
    assert_eq!((right.verdict, right.counts), (made.verdict, made.counts));
    assert_eq!(right.doubts, made.doubts);
    assert_ne!(
        (mutant.verdict, mutant.counts),
        (right.verdict, right.counts),
        "the mutant lives"
    );
}

/// Besides, the second checker does not agree with the mutant.
fn is_killed(made: &Made, mutant: &Judged) {
    is_told_apart(made, mutant);
    assert!(agrees(&made.trial, mutant).is_err(), "nobody else sees it");
}

#[test]
fn who_drops_an_acknowledgement_is_killed() {
    let made = made(Setting::Promoted, Planted::Lost);
    let lost = made.told_before().pop().map(|it| it.token);
    is_killed(
        &made,
        &mutated(&made, |made| {
            let all = &mut made.trial.history.transfers;
            all.retain(|it| Some(it.token) != lost);
        }),
    );
}

#[test]
fn who_takes_the_unanswered_for_acknowledged_is_killed() {
    let made = made(Setting::Killed, Planted::Nothing);
    is_killed(&made, &mutated(&made, all_told(Answer::Unanswered)));
}

#[test]
fn who_counts_the_refused_as_lost_is_killed() {
    let made = made(Setting::Elected, Planted::Nothing);
    is_killed(&made, &mutated(&made, all_told(Answer::Refused)));
}

/// All with this answer count as acknowledged.
fn all_told(answer: Answer) -> impl FnOnce(&mut Made) {
    move |made: &mut Made| {
        let all = made.trial.history.transfers.iter_mut();
        for transfer in all.filter(|it| it.answer == answer) {
            transfer.answer = Answer::Acknowledged;
            transfer.commit_us.get_or_insert(transfer.begun_us);
        }
    }
}

#[test]
fn who_ignores_rows_that_vanish_is_killed() {
    let made = made(Setting::Promoted, Planted::Phantom);
    is_killed(
        &made,
        &mutated(&made, |made| made.trial.history.readers.clear()),
    );
}

#[test]
fn who_is_off_by_one_at_the_cut_is_killed() {
    let at_the_cut = made(Setting::Promoted, Planted::LostAfterItWentAlone);
    let later = |made: &mut Made| made.trial.alone_us = made.trial.alone_us.map(|us| us + 1);
    is_told_apart(&at_the_cut, &mutated(&at_the_cut, later));
    let before_it = made(Setting::Promoted, Planted::LostJustBefore);
    let sooner = |made: &mut Made| made.trial.alone_us = made.trial.alone_us.map(|us| us - 1);
    is_told_apart(&before_it, &mutated(&before_it, sooner));
}

/// The old writer came back, and has what is lost.
#[test]
fn who_reads_the_wrong_node_is_killed() {
    let mut made = made(Setting::Promoted, Planted::Lost);
    let all = made.trial.history.transfers.iter();
    let told = all.filter(|it| it.answer == Answer::Acknowledged);
    let old = held(0, told);
    made.trial.others = vec![old.clone()];
    made.counts.errant = 1;
    is_killed(
        &made,
        &mutated(&made, |made| made.trial.serving = vec![old]),
    );
}

#[test]
fn who_skips_duplicates_is_killed() {
    let made = made(Setting::Killed, Planted::DoubledRowOnly);
    is_killed(
        &made,
        &mutated(&made, |made| {
            made.each_serving(|held| {
                held.rows.sort_unstable();
                held.rows.dedup();
            });
        }),
    );
}

#[test]
fn who_ignores_balances_is_killed() {
    for planted in [Planted::LostUpdate, Planted::DroppedTransfer] {
        let made = made(Setting::Elected, planted);
        is_killed(
            &made,
            &mutated(&made, |made| {
                let of = |token: &Token| {
                    let mut all = made.trial.history.transfers.iter();
                    all.find(|it| it.token == *token).copied()
                };
                let serving = made.trial.serving.iter().map(|node| {
                    let tokens: Vec<Token> = node.rows.iter().map(|row| row.token).collect();
                    let there: Vec<_> = tokens.iter().filter_map(of).collect();
                    held(node.node, &there)
                });
                made.trial.serving = serving.collect();
            }),
        );
    }
}

#[test]
fn who_swallows_an_unreadable_node_is_killed() {
    let made = made(Setting::Elected, Planted::Unread);
    let mutant = mutated(&made, |made| {
        made.trial.serving.retain(|held| held.unread.is_none());
    });
    is_told_apart(&made, &mutant);
}

#[test]
fn who_judges_by_the_promise_of_another_mode_is_killed() {
    let made = made(Setting::Unpromised, Planted::Lost);
    let promoted = Made::legal(Setting::Promoted, &mut ChaCha8Rng::seed_from_u64(14));
    is_told_apart(&made, &mutated(&made, |made| made.terms = promoted.terms));
    let mutant = mutated(&made, |made| made.terms.mode = Mode::Single);
    assert_eq!(
        mutant.verdict, made.verdict,
        "one server has nobody to promote"
    );
}

#[test]
fn who_forgets_that_another_took_over_is_killed() {
    let made = made(Setting::Promoted, Planted::Forked);
    let mut promise = promise(&made.terms, &made.fault, &made.trial);
    promise.exempt.clear();
    is_told_apart(&made, &judge(&made.fault, &made.trial, &promise));
}

/// A row that no transaction brought, on a node that does not serve: nobody may have it there.
#[test]
fn who_looks_at_serving_nodes_alone_is_killed() {
    let mut made = made(Setting::Promoted, Planted::Nothing);
    let refused = made.absent(Answer::Refused);
    made.trial.others = vec![held(0, [&refused])];
    (made.counts.refused_present, made.counts.errant) = (1, 1);
    made.verdict = Verdict::Broken;
    is_killed(&made, &mutated(&made, |made| made.trial.others.clear()));
}

/// One node of two lacks what was acknowledged.
#[test]
fn who_is_content_with_one_node_that_has_it_is_killed() {
    let mut made = made(Setting::Elected, Planted::Nothing);
    let lost = last(&made);
    remove(&mut made.trial.serving[1], &lost);
    made.unsee(lost.token);
    (made.counts.lost, made.counts.lost_promised) = (1, 1);
    made.counts.diverged = 1;
    made.verdict = Verdict::Broken;
    is_killed(
        &made,
        &mutated(&made, |made| add(&mut made.trial.serving[1], &lost)),
    );
}
