use std::time::Duration;

use super::*;
use crate::analysis::worth::tests::made::{fault, promotion, semisync, terms, transfer};
use crate::record::history::Held;
use crate::record::trials::{Candidate, Done};
use crate::study::fault::{Durability, Leaves};
use crate::study::faults::{Between, Choose, Promotion, Target, Way};
use crate::study::{Ack, Consistency, WaitPoint, WhenShort};

const STRICT: Durability = Durability::STRICT;
const LOOSE: Durability = Durability::LOOSE;
const NONE: Durability = Durability {
    flush_log: 0,
    sync_binlog: 0,
};
const GALERA: Mode = Mode::Galera;
const GROUP: Mode = Mode::Group {
    consistency: Consistency::Eventual,
};
/// Roles are looked up by whoever carries a step out: here its nodes are given.
const WHO: Target = Target::All;

const THREE: &[u8] = &[0, 1, 2];
const FIRST: &[u8] = &[0];
const OTHERS: &[u8] = &[1, 2];

/// A step, and whom it befell.
type Did<'n> = (Deed, &'n [u8]);

fn kill() -> Deed {
    Deed::Kill(WHO)
}

fn power_cut() -> Deed {
    Deed::PowerCut(WHO, Leaves::Everything)
}

fn restart() -> Deed {
    Deed::Restart(WHO)
}

fn promote(choose: Choose) -> Deed {
    Deed::Promote(Promotion {
        choose,
        ..promotion()
    })
}

fn most() -> Deed {
    promote(Choose::MostReceived)
}

fn cut() -> Deed {
    Deed::CutLinks(Between {
        from: WHO,
        to: None,
        way: Way::Both,
        with_clients: false,
    })
}

/// Step `i` is begun at `1000 · (i + 1)` µs, and takes 100. Of each acknowledgement the node and
/// the time are given.
fn trial(steps: &[Did<'_>], told: &[(u8, u64)]) -> Trial {
    let done = |(step, (_, nodes)): (usize, &Did<'_>)| {
        let begun_us = 1_000 * (step as u64 + 1);
        Done {
            step,
            begun_us,
            ended_us: begun_us + 100,
            nodes: nodes.to_vec(),
            ..Done::default()
        }
    };
    let transfers = (1..).zip(told);
    let transfers = transfers.map(|(token, (node, us))| transfer(token, *node, us - 100));
    let mut trial = Trial {
        steps: steps.iter().enumerate().map(done).collect(),
        ..Trial::default()
    };
    trial.history.transfers = transfers.collect();
    trial
}

fn promised_of(terms: &PromiseTerms, steps: &[Did<'_>], trial: &Trial) -> Promise {
    let deeds: Vec<Deed> = steps.iter().map(|(deed, _)| *deed).collect();
    promise(terms, &fault(&deeds), trial)
}

/// Of what the first node acknowledged before the first step.
fn reason(terms: &PromiseTerms, steps: &[Did<'_>]) -> (bool, Reason) {
    let promise = promised_of(terms, steps, &trial(steps, &[(0, 500)]));
    (promise.is_given, promise.reason)
}

fn is_given(terms: &PromiseTerms, steps: &[Did<'_>], expected: Reason) {
    assert_eq!(
        reason(terms, steps),
        (true, expected),
        "{terms:?} {steps:?}"
    );
}

fn is_not(terms: &PromiseTerms, steps: &[Did<'_>], expected: Reason) {
    assert_eq!(
        reason(terms, steps),
        (false, expected),
        "{terms:?} {steps:?}"
    );
}

#[test]
fn a_single_server_promises_what_its_settings_hold() {
    let single = |durability| terms(Mode::Single, 1, durability);
    let killed: [Did; 2] = [(kill(), &[0]), (restart(), &[0])];
    let cut: [Did; 2] = [(power_cut(), &[0]), (restart(), &[0])];
    is_given(&single(NONE), &[], Reason::Untouched);
    is_not(&single(NONE), &killed, Reason::NotHandedOver);
    is_given(&single(LOOSE), &killed, Reason::HandedOver);
    is_given(&single(STRICT), &killed, Reason::HandedOver);
    // What the operating system holds is gone, whatever the disk's cache keeps.
    is_not(&single(LOOSE), &cut, Reason::NotFlushed);
    is_given(&single(STRICT), &cut, Reason::Flushed);
    let both = [cut[0], cut[1], killed[0], killed[1]];
    is_given(&single(STRICT), &both, Reason::Flushed);
    let without_log = PromiseTerms {
        has_binary_log: false,
        ..single(Durability {
            flush_log: 1,
            sync_binlog: 0,
        })
    };
    is_given(&without_log, &cut, Reason::Flushed);
    is_not(
        &single(STRICT),
        &[(Deed::DestroyDisk(WHO), &[0])],
        Reason::DiskGone,
    );
    is_not(&single(STRICT), &[cut[0], (most(), &[])], Reason::Unclear);
    let bootstrap = (Deed::Bootstrap(WHO), &[0][..]);
    is_not(&single(STRICT), &[bootstrap], Reason::NotBuilt);
    is_not(&terms(Mode::Endpoint, 1, STRICT), &[], Reason::NotBuilt);
}

#[test]
fn who_lets_pages_tear_or_parts_go_on_promises_nothing_of_that() {
    let cut: [Did; 2] = [(power_cut(), &[0]), (restart(), &[0])];
    let killed: [Did; 2] = [(kill(), &[0]), (restart(), &[0])];
    let tearing = PromiseTerms {
        may_tear_pages: true,
        ..terms(Mode::Single, 1, STRICT)
    };
    is_not(&tearing, &cut, Reason::TornPages);
    assert!(!promised_of(&tearing, &cut, &trial(&cut, &[(0, 500)])).covers_pages);
    is_given(&tearing, &killed, Reason::HandedOver);
    let parted = PromiseTerms {
        may_both_go_on: true,
        ..terms(GALERA, 3, STRICT)
    };
    is_not(&parted, &[(self::cut(), &[0])], Reason::BothGoOn);
    is_given(&parted, &[], Reason::Untouched);
    assert!(promised_of(&parted, &cut, &trial(&cut, &[(0, 500)])).covers_pages);
}

#[test]
fn asynchronous_replicas_need_not_have_received_anything() {
    let plain = terms(Mode::Async, 3, STRICT);
    is_not(
        &plain,
        &[(kill(), &[0]), (most(), &[1])],
        Reason::NotReceivedElsewhere,
    );
    is_given(
        &plain,
        &[(kill(), &[0]), (restart(), &[0])],
        Reason::HandedOver,
    );
    is_given(&plain, &[(kill(), &[1])], Reason::Untouched);
    let slow = (Deed::SlowLinks(between(), Duration::from_secs(1)), &[0][..]);
    is_given(&plain, &[slow], Reason::Untouched);
}

fn between() -> Between {
    Between {
        from: WHO,
        to: Some(WHO),
        way: Way::There,
        with_clients: true,
    }
}

#[test]
fn semisync_promises_what_a_replica_that_is_left_has_received() {
    let of = |wait_for| terms(semisync(wait_for), 3, LOOSE);
    let received = Reason::ReceivedElsewhere;
    let lost_source: [Did; 2] = [(power_cut(), &[0]), (most(), &[1])];
    is_given(&of(1), &lost_source, received);
    // One of two may be the only one that has it, and it is lost with the source.
    let lost_two: [Did; 2] = [(kill(), &[0, 2]), (most(), &[1])];
    is_not(&of(1), &lost_two, Reason::ReceiversGone);
    is_given(&of(2), &lost_two, received);
    for choose in [Choose::First, Choose::MostExecuted] {
        let lost = [(power_cut(), &[0][..]), (promote(choose), &[1][..])];
        is_not(&of(1), &lost, Reason::ChosenMayLack);
        is_given(&of(2), &lost, received);
    }
    let given_others = Deed::Promote(Promotion {
        choose: Choose::First,
        is_given_others: true,
        ..promotion()
    });
    is_given(&of(1), &[lost_source[0], (given_others, &[1])], received);
    // Who is cut off together with the source cannot be asked.
    let beside: [Did; 2] = [(cut(), &[0, 2]), (most(), &[1])];
    is_not(&of(1), &beside, Reason::ReceiversGone);
    is_given(&of(1), &[(cut(), &[0]), (most(), &[1])], received);
    is_not(&of(1), &[lost_source[0], (most(), &[])], Reason::Unclear);
}

#[test]
fn relay_logs_are_held_as_their_settings_say() {
    let flushed = PromiseTerms {
        sync_relay_log: 1,
        ..terms(semisync(1), 2, STRICT)
    };
    let not_flushed = PromiseTerms {
        sync_relay_log: 10_000,
        ..flushed.clone()
    };
    let steps: [Did; 4] = [
        (Deed::DestroyDisk(WHO), &[0]),
        (power_cut(), &[1]),
        (restart(), &[1]),
        (most(), &[1]),
    ];
    is_given(&flushed, &steps, Reason::ReceivedElsewhere);
    is_not(&not_flushed, &steps, Reason::RelayLogNotFlushed);
    let killed = [steps[0], (kill(), &[1][..]), steps[2], steps[3]];
    is_given(&not_flushed, &killed, Reason::ReceivedElsewhere);
    let dropping = PromiseTerms {
        relay_log_recovery: true,
        ..flushed.clone()
    };
    is_not(&dropping, &steps, Reason::RelayLogDropped);
    // A replica that lost what it had applied, and not flushed, may skip or repeat transactions.
    let short = (false, Reason::CameBackShort);
    let loose = PromiseTerms {
        durability: LOOSE,
        ..flushed.clone()
    };
    let of_loose = served(&steps, &[1]);
    let promise = promised_of(&loose, &steps, &of_loose);
    assert_eq!((promise.is_whole, promise.reason), short);
    let by_file = PromiseTerms {
        are_replicas_crash_safe: false,
        ..flushed
    };
    let of_killed = served(&killed, &[1]);
    let promise = promised_of(&by_file, &killed, &of_killed);
    assert_eq!((promise.is_whole, promise.reason), short);
}

/// A trial of these steps in which those nodes serve.
fn served(steps: &[Did<'_>], nodes: &[u8]) -> Trial {
    let held = |node: &u8| Held {
        node: *node,
        ..Held::default()
    };
    Trial {
        serving: nodes.iter().map(held).collect(),
        ..trial(steps, &[(0, 500)])
    }
}

/// A loose source loses its tail, comes back, and gives the same numbers to other transactions.
#[test]
fn who_follows_a_source_that_came_back_short_is_no_whole() {
    let loose = terms(Mode::Async, 2, LOOSE);
    let steps: [Did; 2] = [(power_cut(), &[0]), (restart(), &[0])];
    let whole_with = |nodes: &[u8]| promised_of(&loose, &steps, &served(&steps, nodes)).is_whole;
    assert!(whole_with(&[0]), "a server's own tables fit");
    assert!(!whole_with(&[0, 1]) && !whole_with(&[1]));
    assert!(!promised_of(&loose, &steps, &served(&steps, &[0])).covers_replicas);
    let killed: [Did; 1] = [(kill(), &[1])];
    assert!(promised_of(&loose, &killed, &served(&killed, &[0])).covers_replicas);
    is_not(&loose, &steps, Reason::NotFlushed);
    // Galera's nodes know by InnoDB alone how far they are.
    let galera = terms(GALERA, 3, LOOSE);
    let rejoined: [Did; 2] = [(power_cut(), &[1]), (Deed::Rejoin(WHO), &[1])];
    let trial = served(&rejoined, &[0, 1, 2]);
    assert!(promised_of(&galera, &rejoined, &trial).is_whole);
    let group = terms(GROUP, 3, LOOSE);
    assert!(!promised_of(&group, &rejoined, &trial).is_whole);
}

#[test]
fn a_promise_ends_where_it_went_on_alone_or_a_disk_failed() {
    let semisync = terms(semisync(1), 2, STRICT);
    let steps: [Did; 2] = [(power_cut(), &[0]), (most(), &[1])];
    let ends = |terms: &PromiseTerms, steps: &[Did<'_>], alone_us| {
        let mut trial = trial(steps, &[(0, 500)]);
        trial.alone_us = alone_us;
        let promise = promised_of(terms, steps, &trial);
        (promise.until_us, promise.ended_by, promise.hangs_on_alone)
    };
    assert_eq!(ends(&semisync, &steps, None), (None, None, true));
    let alone = (Some(400), Some(Reason::WentAlone), true);
    assert_eq!(ends(&semisync, &steps, Some(400)), alone);
    // It did not answer at last: from its last word on nothing is sure.
    let mut silent = trial(&steps, &[(0, 500)]);
    (silent.alone_known, silent.company_us) = (false, Some(300));
    let promise = promised_of(&semisync, &steps, &silent);
    let ended = (promise.until_us, promise.ended_by);
    assert_eq!(ended, (Some(300), Some(Reason::Unheard)));
    // Nobody takes over: it hangs on nobody else.
    let healed: [Did; 2] = [(cut(), &[0]), (Deed::HealLinks, &[])];
    assert_eq!(ends(&semisync, &healed, Some(400)), (None, None, false));
    let full = (Deed::FillDisk(WHO, 0), &[0][..]);
    let filled = [full, steps[0], steps[1]];
    let at_full = (Some(1_000), Some(Reason::DiskFull), true);
    assert_eq!(ends(&semisync, &filled, Some(9_000)), at_full);
    assert_eq!(ends(&semisync, &[full], None), (None, None, false));
}

#[test]
fn an_old_writer_is_exempt_from_when_another_took_over() {
    let semisync = terms(semisync(1), 3, LOOSE);
    let with = |is_fenced, told: &[(u8, u64)]| {
        let promotion = Promotion {
            is_fenced,
            ..promotion()
        };
        let steps: [Did; 1] = [(Deed::Promote(promotion), &[1])];
        let promise = promised_of(&semisync, &steps, &trial(&steps, told));
        (promise.is_given, promise.exempt)
    };
    let from = |from_us| Exempt {
        node: 0,
        from_us,
        reason: Reason::NotTheWriter,
    };
    assert_eq!(with(true, &[(0, 500), (1, 1_500)]), (true, vec![]));
    let both = [(0, 500), (0, 1_050), (1, 1_500), (0, 1_600)];
    assert_eq!(with(false, &both), (true, vec![from(1_000)]));
    assert_eq!(with(true, &both), (true, vec![from(1_100)]));
}

/// It is written to before the others follow it, and before the step ends.
#[test]
fn who_takes_over_may_acknowledge_before_all_is_done() {
    let semisync = terms(semisync(1), 3, LOOSE);
    let steps: [Did; 2] = [(power_cut(), &[0]), (most(), &[1])];
    let told = [(0, 500), (1, 2_050), (1, 2_500)];
    let promise = promised_of(&semisync, &steps, &trial(&steps, &told));
    assert!(promise.is_given && promise.exempt.is_empty());
    let sooner = [(0, 500), (1, 1_999)];
    let promise = promised_of(&semisync, &steps, &trial(&steps, &sooner));
    let exempt = Exempt {
        node: 1,
        from_us: 1_000,
        reason: Reason::NotTheWriter,
    };
    assert_eq!(promise.exempt, [exempt], "it was no writer then");
}

/// Nobody is left whom it could wait for: what it acknowledges is on its own disk alone.
#[test]
fn who_has_taken_over_waits_for_no_more_replicas_than_are_left() {
    let steps: [Did; 4] = [
        (kill(), &[0]),
        (most(), &[1]),
        (power_cut(), &[1]),
        (restart(), &[1]),
    ];
    let told = [(1, 2_500)];
    let with = |durability| {
        let semisync = terms(semisync(1), 2, durability);
        let promise = promised_of(&semisync, &steps, &trial(&steps, &told));
        (promise.is_given, promise.reason)
    };
    assert_eq!(with(STRICT), (true, Reason::Flushed));
    assert_eq!(with(LOOSE), (false, Reason::NotFlushed));
}

#[test]
fn who_was_replaced_shows_what_it_likes() {
    let semisync = terms(semisync(1), 3, STRICT);
    let with = |is_fenced| {
        let promotion = Promotion {
            is_fenced,
            ..promotion()
        };
        let steps: [Did; 2] = [(kill(), &[0]), (Deed::Promote(promotion), &[1])];
        let promise = promised_of(&semisync, &steps, &trial(&steps, &[(0, 500)]));
        let all = promise.unheeded.iter();
        all.map(|one| (one.node, one.from_us)).collect::<Vec<_>>()
    };
    assert_eq!(with(true), [(0, 2_000)]);
    assert_eq!(with(false), [(0, 2_000), (2, 2_000)]);
}

/// Its recovery cuts off what InnoDB has not written as committed, acknowledged or not.
#[test]
fn who_comes_back_as_a_replica_need_not_have_what_it_acknowledged() {
    let replica = PromiseTerms {
        comes_back_as_replica: true,
        ..terms(semisync(1), 2, STRICT)
    };
    let back: [Did; 2] = [(kill(), &[0]), (restart(), &[0])];
    is_not(&replica, &back, Reason::CutOff);
    let moved: [Did; 2] = [(kill(), &[0]), (most(), &[1])];
    is_given(&replica, &moved, Reason::ReceivedElsewhere);
    let without_log = PromiseTerms {
        has_binary_log: false,
        ..replica
    };
    is_given(&without_log, &back, Reason::HandedOver);
}

#[test]
fn what_readers_saw_is_promised_where_it_was_held_before() {
    let covers = |terms: &PromiseTerms, steps: &[Did<'_>]| {
        promised_of(terms, steps, &trial(steps, &[(0, 500)])).covers_reads
    };
    let single = terms(Mode::Single, 1, STRICT);
    let cut: [Did; 2] = [(power_cut(), &[0]), (restart(), &[0])];
    assert!(covers(&single, &cut));
    let without_log = PromiseTerms {
        has_binary_log: false,
        ..single
    };
    assert!(
        !covers(&without_log, &cut),
        "InnoDB shows before it flushes"
    );
    let promoted: [Did; 2] = [(power_cut(), &[0]), (most(), &[1])];
    let after_sync = terms(semisync(1), 3, LOOSE);
    assert!(covers(&after_sync, &promoted));
    let after_commit = Mode::Semisync {
        wait_for: 1,
        wait_point: WaitPoint::AfterCommit,
        timeout: Duration::from_secs(1),
    };
    assert!(!covers(&terms(after_commit, 3, LOOSE), &promoted));
    // A source that comes back shows what no replica has acknowledged.
    let came_back: [Did; 4] = [(kill(), &[0]), (restart(), &[0]), promoted[0], promoted[1]];
    assert!(!covers(&after_sync, &came_back));
    // A replica that is lost too may have shown what nobody else received.
    let lost_two: [Did; 2] = [(kill(), &[0, 2]), (most(), &[1])];
    assert!(!covers(&terms(semisync(2), 3, LOOSE), &lost_two));
    let group = terms(GROUP, 3, STRICT);
    assert!(covers(&group, &[(kill(), &[0])]));
    let force = Deed::ForceMembers(WHO);
    assert!(!covers(&group, &[(kill(), &[1, 2]), (force, &[0])]));
}

#[test]
fn a_group_promises_what_a_majority_is_left_to_hold() {
    let group = terms(GROUP, 3, LOOSE);
    let majority = Reason::HeldByMajority;
    is_given(&group, &[(power_cut(), &[0])], majority);
    is_given(&group, &[(kill(), &[1])], Reason::Untouched);
    is_given(&group, &[(cut(), &[0]), (Deed::HealLinks, &[])], majority);
    is_given(&group, &[(Deed::Pause(WHO), &[0])], majority);
    // A second one dies: it may have been the other that had it.
    let one_by_one: [Did; 2] = [(kill(), &[0]), (kill(), &[1])];
    is_given(&group, &one_by_one[..1], majority);
    is_not(&group, &one_by_one, Reason::MajorityGone);
    is_not(&group, &[(kill(), &[0, 1])], Reason::MajorityGone);
    let force = Deed::ForceMembers(WHO);
    is_not(&group, &[(kill(), &[0, 1]), (force, &[2])], Reason::Forced);
    is_given(
        &group,
        &[(kill(), &[1, 2]), (force, &[0])],
        Reason::Untouched,
    );
    let after = Mode::Group {
        consistency: Consistency::After,
    };
    is_given(
        &terms(after, 3, LOOSE),
        &[(kill(), &[0])],
        Reason::HeldByAllNodes,
    );
    let partly = (Deed::CutLinks(between()), &[0][..]);
    is_given(&group, &[partly], majority);
    is_not(&group, &[partly, (kill(), &[0])], Reason::MajorityGone);
}

/// Who was put out by a cut that parted only some is not known, nor who made a majority since then.
#[test]
fn after_a_cut_between_some_a_majority_may_be_smaller() {
    let group = terms(GROUP, 5, LOOSE);
    let with = |cut: Deed| {
        let steps: [Did; 3] = [(cut, &[0]), (kill(), &[1]), (kill(), &[0])];
        let promise = promised_of(&group, &steps, &trial(&steps, &[(0, 1_500)]));
        (promise.is_given, promise.reason)
    };
    let slow = Deed::SlowLinks(between(), Duration::from_secs(1));
    assert_eq!(with(slow), (true, Reason::HeldByMajority));
    let cut = Deed::CutLinks(between());
    assert_eq!(with(cut), (false, Reason::MajorityGone));
}

#[test]
fn a_group_that_is_begun_anew_holds_what_its_first_disk_does() {
    let all = |first: &'static [u8]| -> Vec<Did<'static>> {
        vec![
            (power_cut(), THREE),
            (restart(), THREE),
            (Deed::Bootstrap(WHO), first),
            (Deed::Rejoin(WHO), OTHERS),
        ]
    };
    let strict = terms(GROUP, 3, STRICT);
    is_given(&strict, &all(&[0]), Reason::Flushed);
    is_not(&strict, &all(&[1]), Reason::WrongMember);
    is_not(&strict, &all(&[]), Reason::Unclear);
    is_not(&terms(GROUP, 3, LOOSE), &all(&[0]), Reason::NotFlushed);
    let mut destroyed = all(&[1]);
    destroyed.insert(1, (Deed::DestroyDisk(WHO), FIRST));
    is_not(&strict, &destroyed, Reason::DiskGone);
}

#[test]
fn galera_holds_it_everywhere_in_memory() {
    let all = |flush_log| {
        let durability = Durability {
            flush_log,
            sync_binlog: 0,
        };
        PromiseTerms {
            has_binary_log: false,
            ..terms(GALERA, 3, durability)
        }
    };
    is_given(&all(0), &[(power_cut(), &[0])], Reason::HeldByAllNodes);
    let killed: [Did; 3] = [
        (kill(), &[0, 1, 2]),
        (restart(), &[0, 1, 2]),
        (Deed::Bootstrap(WHO), &[0]),
    ];
    is_not(&all(0), &killed, Reason::NotHandedOver);
    is_given(&all(2), &killed, Reason::HandedOver);
    // Begun anew with another node, which was seen to be as far.
    let other = [killed[0], killed[1], (Deed::Bootstrap(WHO), &[2][..])];
    is_not(&all(2), &other, Reason::WrongMember);
    let with = |executed| {
        let mut trial = trial(&other, &[(0, 500)]);
        let candidate = |node, executed| Candidate {
            node,
            executed,
            ..Candidate::default()
        };
        trial.candidates = vec![candidate(0, 7), candidate(2, executed)];
        let promise = promised_of(&all(2), &other, &trial);
        (promise.is_given, promise.reason)
    };
    assert_eq!(with(7), (true, Reason::HandedOver));
    assert_eq!(with(6), (false, Reason::WrongMember));
}

/// Both sides of a forced split: who is not of the last membership is nobody's promise.
#[test]
fn a_side_that_was_left_behind_by_force_is_exempt() {
    let group = terms(GROUP, 3, STRICT);
    let steps: [Did; 2] = [(cut(), &[0]), (Deed::ForceMembers(WHO), &[1, 2])];
    let told = [(0, 500), (1, 2_500), (0, 2_600)];
    let promise = promised_of(&group, &steps, &trial(&steps, &told));
    // What the first had acknowledged before is with the majority; but by force nobody knows.
    assert_eq!((promise.is_given, promise.reason), (false, Reason::Forced));
    // A minority that acknowledges by itself has no excuse.
    let cut_off: [Did; 1] = [(cut(), &[0])];
    let told = [(0, 500), (0, 1_500), (1, 1_600)];
    let promise = promised_of(&group, &cut_off, &trial(&cut_off, &told));
    assert!(promise.is_given && promise.exempt.is_empty());
}

fn mirror(ack: Ack, when_short: WhenShort) -> Mode {
    Mode::Mirror {
        ack,
        when_short,
        timeout: Duration::from_secs(1),
    }
}

fn quorum(write_quorum: u32) -> Mode {
    Mode::Quorum {
        copies: 6,
        write_quorum,
        ack: Ack::Write,
    }
}

#[test]
fn a_volume_promises_what_copies_that_are_left_hold() {
    let of = |write_quorum| terms(quorum(write_quorum), 6, STRICT);
    let lost =
        |nodes: &'static [u8]| -> [Did<'static>; 2] { [(power_cut(), nodes), (most(), &[1])] };
    is_given(&of(4), &lost(&[0, 3]), Reason::HeldElsewhere);
    is_given(&of(4), &lost(&[0, 3, 5]), Reason::HeldElsewhere);
    is_not(&of(3), &lost(&[0, 3, 5]), Reason::CopiesGone);
    let loose = terms(quorum(4), 6, LOOSE);
    is_not(&loose, &lost(&[0]), Reason::NotFlushed);
    // A flush may be done at four others before it is at the server's own.
    let same: [Did; 2] = [(power_cut(), &[0]), (restart(), &[0])];
    is_given(&of(4), &same, Reason::HeldElsewhere);
    is_given(
        &loose,
        &[(kill(), &[0]), (restart(), &[0])],
        Reason::HandedOver,
    );
}

/// After all have lost their power the copies choose another head than the old one.
#[test]
fn copies_that_have_lost_their_head_may_choose_another() {
    let strict = terms(quorum(4), 6, STRICT);
    let all: &[u8] = &[0, 1, 2, 3, 4, 5];
    let steps: [Did; 2] = [(power_cut(), all), (restart(), all)];
    let at = |head: u8, told: &[(u8, u64)]| {
        let held = Held {
            node: head,
            ..Held::default()
        };
        let trial = Trial {
            serving: vec![held],
            ..trial(&steps, told)
        };
        let promise = promised_of(&strict, &steps, &trial);
        (promise.is_given, promise.reason, promise.exempt.len())
    };
    let held = (true, Reason::HeldElsewhere, 0);
    assert_eq!(at(0, &[(0, 500)]), held);
    assert_eq!(at(2, &[(0, 500)]), held, "read there");
    assert_eq!(at(2, &[(0, 500), (2, 2_500)]), held, "and written to");
}

#[test]
fn a_mirror_promises_by_its_rule() {
    let of = |ack, when_short| terms(mirror(ack, when_short), 2, STRICT);
    let moved: [Did; 2] = [(power_cut(), &[0]), (most(), &[1])];
    let block = WhenShort::Block;
    is_given(&of(Ack::Write, block), &moved, Reason::HeldElsewhere);
    is_given(&of(Ack::ProtocolC, block), &moved, Reason::ReceivedByCopy);
    // With DRBD's rule the other copy may have it in memory only.
    let both: [Did; 3] = [(power_cut(), &[0, 1]), (restart(), &[1]), (most(), &[1])];
    is_given(&of(Ack::Write, block), &both, Reason::HeldElsewhere);
    is_not(&of(Ack::ProtocolC, block), &both, Reason::CopiesGone);
    let back: [Did; 2] = [(power_cut(), &[0, 1]), (restart(), &[0, 1])];
    is_given(&of(Ack::ProtocolC, block), &back, Reason::Flushed);
    let degrading = of(Ack::Write, WhenShort::Degrade);
    let hangs = |terms: &PromiseTerms, steps: &[Did<'_>]| {
        promised_of(terms, steps, &trial(steps, &[(0, 500)])).hangs_on_alone
    };
    assert!(hangs(&degrading, &moved) && !hangs(&degrading, &back));
    assert!(!hangs(&of(Ack::Write, block), &moved));
}

/// Behind a proxy nobody knows who acknowledged: of one writer all the same, of two no more.
#[test]
fn who_is_not_known_to_have_acknowledged_has_no_promise_once_another_takes_over() {
    let semisync = terms(semisync(1), 2, STRICT);
    let with = |steps: &[Did<'_>]| {
        let promise = promised_of(&semisync, steps, &trial(steps, &[(u8::MAX, 500)]));
        (promise.is_given, promise.reason)
    };
    let back: [Did; 2] = [(kill(), &[0]), (restart(), &[0])];
    assert_eq!(with(&back), (true, Reason::HandedOver));
    let moved: [Did; 2] = [(kill(), &[0]), (most(), &[1])];
    assert_eq!(with(&moved), (false, Reason::Unclear));
}

/// Steps may stand in a record that its fault does not have, and nodes that the mode does not.
#[test]
fn a_record_that_does_not_fit_is_no_promise_and_no_panic() {
    let single = terms(Mode::Single, 1, STRICT);
    let steps: [Did; 1] = [(kill(), &[7])];
    let mut trial = trial(&steps, &[(0, 500)]);
    trial.steps.push(Done {
        step: 9,
        ..Done::default()
    });
    assert!(promised_of(&single, &steps, &trial).is_given);
    let nowhere = PromiseTerms {
        sites: vec![],
        ..single
    };
    assert!(!promised_of(&nowhere, &steps, &trial).is_given);
}
