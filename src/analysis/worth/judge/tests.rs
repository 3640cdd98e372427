use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::analysis::worth::promised::Reason;
use crate::analysis::worth::tests::made::{Made, Setting, add, held, remove, shift, transfer};
use crate::analysis::worth::tests::planted::Planted;
use crate::study::faults::{Deed, Reach, Target};

fn legal(setting: Setting) -> Made {
    Made::legal(setting, &mut ChaCha8Rng::seed_from_u64(3))
}

/// Of a promoted replica: something is lost that was promised.
fn broken() -> Made {
    let mut made = legal(Setting::Promoted);
    made.each_serving(|node| *node = held(1, []));
    assert_eq!(made.judged().verdict, Verdict::Broken);
    made
}

/// Something is there that nothing allows.
fn forbidden() -> Made {
    let mut made = legal(Setting::Promoted);
    let refused = made.absent(Answer::Refused);
    made.trial.others = vec![held(0, [&refused])];
    assert_eq!(made.judged().verdict, Verdict::Broken);
    made
}

fn verdict_with(mut made: Made, change: impl Fn(&mut Made)) -> Verdict {
    change(&mut made);
    made.judged().verdict
}

#[test]
fn without_evidence_nothing_is_said() {
    let changes: [fn(&mut Made); 3] = [
        |made| made.trial.undecided = Some("no room on the host".to_owned()),
        |made| made.trial.serving.clear(),
        |made| made.trial.serving[0].unread = Some("no connection".to_owned()),
    ];
    for change in changes {
        assert_eq!(verdict_with(forbidden(), change), Verdict::Undecided);
        assert_eq!(verdict_with(broken(), change), Verdict::Undecided);
    }
}

/// What nothing allows is broken whatever was done; what was promised hangs on it.
#[test]
fn without_the_fault_only_what_nothing_allows_is_broken() {
    let changes: [fn(&mut Made); 3] = [
        |made| made.trial.steps[0].bite = Some(false),
        |made| made.trial.alone_known = false,
        |made| made.trial.candidates[1].received = 99,
    ];
    for change in changes {
        assert_eq!(verdict_with(forbidden(), change), Verdict::Broken);
        assert_eq!(verdict_with(broken(), change), Verdict::Undecided);
    }
}

/// It did not answer at last. Until its last word it was in company; later it may not have been.
#[test]
fn a_last_word_decides_what_came_before_it_and_no_loss_after_it() {
    let heard_until = |us: u64| {
        move |made: &mut Made| {
            made.trial.alone_known = false;
            made.trial.company_us = Some(us);
        }
    };
    let always = u64::MAX;
    assert_eq!(
        verdict_with(legal(Setting::Promoted), heard_until(always)),
        Verdict::Kept
    );
    assert_eq!(verdict_with(broken(), heard_until(always)), Verdict::Broken);
    let never = verdict_with(legal(Setting::Promoted), heard_until(0));
    assert_eq!(never, Verdict::NoneLostNoPromise);
    assert_eq!(verdict_with(broken(), heard_until(0)), Verdict::Undecided);
}

#[test]
fn without_enough_seen_nothing_is_kept_but_what_is_broken_is() {
    let unseen = |made: &mut Made| made.fault.reach.push(Reach::BothWrote);
    assert_eq!(verdict_with(broken(), unseen), Verdict::Broken);
    for setting in Setting::ALL {
        assert_eq!(verdict_with(legal(setting), unseen), Verdict::Undecided);
    }
    let unchecked = |made: &mut Made| made.trial.serving[0].tables_ok = None;
    let kept = legal(Setting::Killed);
    assert_eq!(verdict_with(kept, unchecked), Verdict::Undecided);
}

/// A step of which nothing can be seen is no doubt.
#[test]
fn a_step_that_shows_nothing_is_taken_for_done() {
    let unseen = |made: &mut Made| made.trial.steps[0].bite = None;
    assert_eq!(verdict_with(legal(Setting::Killed), unseen), Verdict::Kept);
}

/// Of what was never answered nothing is there; the first reader's look of that number showed it.
fn seen_in_look(number: usize) -> (Made, Token) {
    let mut made = legal(Setting::Promoted);
    let token = made.absent(Answer::Unanswered).token;
    let look = &mut made.trial.history.readers[0].looks[number];
    look.ended_us = Some(look.begun_us + 200);
    look.new.push(token);
    (made, token)
}

/// It shows what nobody was told of, and is not who serves.
#[test]
fn what_an_old_writer_shows_that_came_back_is_not_promised() {
    let counts = |made: &Made| {
        let counts = made.judged().counts;
        (counts.phantom_reads, counts.phantom_promised)
    };
    let (before, _) = seen_in_look(5);
    assert_eq!(counts(&before), (1, 1));
    assert_eq!(before.judged().verdict, Verdict::Broken);
    let (after, token) = seen_in_look(20);
    assert_eq!(counts(&after), (1, 0));
    assert_eq!(after.judged().verdict, Verdict::LostNoPromise);
    // Who has taken over is held to it, whoever else has shown it.
    let mut both = after;
    both.trial.history.readers[1].looks[21].new.push(token);
    assert_eq!(counts(&both), (1, 1));
}

/// A look that was begun before a source went on alone may show what came after.
#[test]
fn what_a_look_shows_is_as_new_as_its_end() {
    let with = |alone_us: u64| {
        let (mut made, _) = seen_in_look(5);
        made.trial.alone_us = Some(alone_us);
        made.judged().counts.phantom_promised
    };
    let (made, _) = seen_in_look(5);
    let look = &made.trial.history.readers[0].looks[5];
    let ended_us = look.ended_us.expect("it was answered");
    assert_eq!((with(ended_us), with(ended_us + 1)), (0, 1));
}

#[test]
fn a_server_that_refuses_its_data_has_lost_all() {
    let mut made = legal(Setting::Killed);
    made.trial.serving.clear();
    made.trial.refused = Some("a page is corrupted".to_owned());
    let judged = made.judged();
    let counts = judged.counts;
    assert_eq!(judged.verdict, Verdict::Broken);
    assert!(counts.lost > 5 && counts.lost == counts.acknowledged);
    assert!(counts.phantom_reads > 5, "and readers had seen it");
}

#[test]
fn where_nobody_was_told_anything_nothing_is_shown() {
    let mut made = legal(Setting::Killed);
    made.fault.reach.clear();
    for transfer in &mut made.trial.history.transfers {
        transfer.answer = Answer::Unanswered;
        transfer.commit_us.get_or_insert(transfer.begun_us);
    }
    let judged = made.judged();
    assert_eq!(judged.verdict, Verdict::Undecided);
    assert_eq!(judged.doubts, [Doubt::NothingAcknowledged]);
}

/// What came back short may hold rows twice: that breaks no promise, but it is no good end.
#[test]
fn where_a_node_came_back_short_broken_rows_are_no_promise_broken() {
    let mut made = legal(Setting::Unpromised);
    let told = made.told_before()[0];
    made.each_serving(|node| shift(node, &told, 1));
    let whole = promise_of(true);
    let short = promise_of(false);
    let verdict = |promise| judge(&made.fault, &made.trial, promise).verdict;
    assert_eq!(verdict(&whole), Verdict::Broken);
    assert_eq!(verdict(&short), Verdict::LostNoPromise);
}

#[test]
fn pages_may_be_corrupt_only_where_settings_let_them_tear() {
    let mut made = legal(Setting::Killed);
    made.trial.serving[0].tables_ok = Some(false);
    let short = promise_of(false);
    let tearing = Promise {
        covers_pages: false,
        ..promise_of(false)
    };
    let verdict = |made: &Made, promise| judge(&made.fault, &made.trial, promise).verdict;
    assert_eq!(verdict(&made, &short), Verdict::Broken);
    assert_eq!(verdict(&made, &tearing), Verdict::LostNoPromise);
    made.trial.serving.clear();
    made.trial.refused = Some("a page is corrupted".to_owned());
    assert_eq!(verdict(&made, &short), Verdict::Broken);
    assert_eq!(verdict(&made, &tearing), Verdict::LostNoPromise);
}

/// A lost update of clients that read without a lock, which no server promises to keep from.
#[test]
fn what_is_written_back_unlocked_may_be_lost_and_rows_may_not() {
    let mut made = legal(Setting::Unpromised);
    made.each_serving(|node| node.balances[0] += 1);
    let unlocked = Promise {
        covers_balances: false,
        ..promise_of(true)
    };
    let verdict = |made: &Made| judge(&made.fault, &made.trial, &unlocked).verdict;
    assert_eq!(verdict(&made), Verdict::LostNoPromise);
    let told = made.told_before()[0];
    made.each_serving(|node| add(node, &told));
    assert_eq!(verdict(&made), Verdict::Broken, "a row that is there twice");
}

/// Where one took over, others may have been pointed at it past what they lacked.
#[test]
fn a_replica_that_lacks_what_it_has_executed_is_broken_where_none_took_over() {
    let mut made = legal(Setting::Unpromised);
    let mut replica = made.trial.serving[0].clone();
    remove(&mut replica, &made.told_before()[0]);
    replica.is_level = true;
    made.trial.others = vec![replica];
    let none_took_over = |made: &Made| judge(&made.fault, &made.trial, &promise_of(true)).verdict;
    assert_eq!(made.judged().verdict, Verdict::LostNoPromise);
    assert_eq!(none_took_over(&made), Verdict::Broken);
    made.trial.others[0].is_level = false;
    assert_eq!(
        none_took_over(&made),
        Verdict::NoneLostNoPromise,
        "it is behind"
    );
    // All transfers, and a balance that they do not make.
    let mut drifted = made.trial.serving[0].clone();
    drifted.balances[0] += 1;
    drifted.is_level = true;
    made.trial.others = vec![drifted];
    assert_eq!(made.judged().verdict, Verdict::LostNoPromise);
    assert_eq!(none_took_over(&made), Verdict::Broken);
    made.trial.others[0].is_level = false;
    assert_eq!(none_took_over(&made), Verdict::NoneLostNoPromise, "behind");
}

fn promise_of(is_whole: bool) -> Promise {
    Promise {
        is_whole,
        ..Promise::none(Reason::CameBackShort)
    }
}

#[test]
fn a_record_that_cannot_be_is_not_judged_by() {
    let sound = transfer(1, 0, 500);
    let with = |other: Transfer| {
        unsound(&History {
            transfers: vec![sound, other],
            ..History::default()
        })
    };
    let next = transfer(2, 0, 500);
    assert_eq!(with(next), None);
    let unsent = Transfer {
        commit_us: None,
        ..next
    };
    let refused = Transfer {
        answer: Answer::Refused,
        ..unsent
    };
    assert_eq!(with(refused), None, "refused before COMMIT");
    for (wrong, why) in [
        (transfer(1, 0, 900), "0000000000000001 was sent twice"),
        (unsent, "0000000000000002 ended without COMMIT"),
        (
            Transfer {
                ended_us: 540,
                ..next
            },
            "0000000000000002 ended before it began",
        ),
    ] {
        assert_eq!(with(wrong).as_deref(), Some(why));
    }
}

#[test]
fn a_judgement_is_written_with_its_counts_beside_its_verdict() {
    let text = serde_json::to_value(legal(Setting::Promoted).judged()).expect("plain");
    assert_eq!(text["verdict"], "kept");
    assert_eq!(text["recovered"], 1);
    assert_eq!(text["promise"]["reason"], "received-elsewhere");
    assert_eq!(text["service"]["is_back"], true);
}

/// A disk that was full may have made a server go on without its log; and where nothing is flushed
/// nothing is promised of it.
#[test]
fn logs_that_disagree_break_a_promise_only_where_they_were_to_agree() {
    let mut made = legal(Setting::Killed);
    Planted::LogHasLess.plant(&mut made);
    assert_eq!(made.judged().verdict, Verdict::Broken);
    let full = Deed::FillDisk(Target::Writer, 6_000_000);
    let mut after_full = made.clone();
    after_full.fault.steps[0].deed = full;
    let promise = after_full.judged().promise;
    assert!(promise.is_given && !promise.covers_log);
    made.terms.durability.flush_log = 0;
    let loose = made.judged();
    assert_eq!(loose.counts.only_in_tables, 1);
    assert_eq!(loose.verdict, Verdict::NoneLostNoPromise);
    // Nor is anything in doubt by a log that could not be read.
    let mut unread = legal(Setting::Killed);
    Planted::LogUnread.plant(&mut unread);
    unread.terms.durability.flush_log = 0;
    assert_eq!(unread.judged().doubts, []);
}
