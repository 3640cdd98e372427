//! Anomalies to be planted in legal trials, one each, and what must be said of them.

use super::made::{BACK_US, Made, Setting, add, held, remove, shift, transfer};
use crate::analysis::worth::{Counts, Doubt, Verdict};
use crate::record::history::{Answer, Held, Token, Transfer};
use crate::record::trials::Delivered;
use crate::study::faults::Reach;

/// One of each kind of count, verdict and doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    Nothing,
    Lost,
    Hole,
    LostAfterItWentAlone,
    LostJustBefore,
    Forked,
    RefusedPresent,
    RefusedSeen,
    NeverSent,
    Doubled,
    DoubledRowOnly,
    Torn,
    LostUpdate,
    DroppedTransfer,
    Phantom,
    Flickered,
    Errant,
    GtidReused,
    Skipped,
    Drifted,
    CorruptReplica,
    Diverged,
    Corrupt,
    LogHasLess,
    LogHasMore,
    RefusesItsData,
    Unread,
    LogUnread,
    NotChecked,
    StepMissing,
    NotBitten,
    NotReached,
    AloneUnknown,
    WrongChoice,
    Undone,
}

impl Planted {
    pub const ALL: [Planted; 35] = [
        Planted::Nothing,
        Planted::Lost,
        Planted::Hole,
        Planted::LostAfterItWentAlone,
        Planted::LostJustBefore,
        Planted::Forked,
        Planted::RefusedPresent,
        Planted::RefusedSeen,
        Planted::NeverSent,
        Planted::Doubled,
        Planted::DoubledRowOnly,
        Planted::Torn,
        Planted::LostUpdate,
        Planted::DroppedTransfer,
        Planted::Phantom,
        Planted::Flickered,
        Planted::Errant,
        Planted::GtidReused,
        Planted::Skipped,
        Planted::Drifted,
        Planted::CorruptReplica,
        Planted::Diverged,
        Planted::Corrupt,
        Planted::LogHasLess,
        Planted::LogHasMore,
        Planted::RefusesItsData,
        Planted::Unread,
        Planted::LogUnread,
        Planted::NotChecked,
        Planted::StepMissing,
        Planted::NotBitten,
        Planted::NotReached,
        Planted::AloneUnknown,
        Planted::WrongChoice,
        Planted::Undone,
    ];

    /// Whether it can be in such a trial.
    pub fn fits(self, setting: Setting) -> bool {
        let has_candidates = matches!(setting, Setting::Promoted | Setting::Unpromised);
        match self {
            Planted::LostAfterItWentAlone | Planted::LostJustBefore | Planted::AloneUnknown => {
                setting == Setting::Promoted
            }
            Planted::Forked | Planted::WrongChoice => has_candidates,
            Planted::Skipped | Planted::Drifted | Planted::CorruptReplica => has_candidates,
            Planted::Errant | Planted::GtidReused => setting != Setting::Killed,
            Planted::StepMissing => setting != Setting::Elected,
            Planted::Diverged => setting == Setting::Elected,
            Planted::RefusesItsData
            | Planted::LogHasLess
            | Planted::LogHasMore
            | Planted::LogUnread => setting == Setting::Killed,
            _ => true,
        }
    }

    /// Plants it, and says what must come of it.
    pub fn plant(self, made: &mut Made) {
        match self {
            Planted::Nothing => {}
            Planted::Lost => {
                let lost = last(made);
                lose(made, lost);
            }
            Planted::Hole => {
                let first = made.told_before().into_iter().min_by_key(|it| it.ended_us);
                lose(made, first.expect("some were told"));
                made.counts.holes = 1;
            }
            Planted::LostAfterItWentAlone => lose_around(made, 0),
            Planted::LostJustBefore => lose_around(made, 1),
            Planted::Forked => fork(made),
            Planted::Phantom => phantom(made),
            Planted::Flickered => {
                let token = last(made).token;
                let looks = &mut made.trial.history.readers[0].looks;
                looks[20].gone.push(token);
                made.counts.flickered = 1;
            }
            Planted::Errant => {
                let [there, absent] = [last(made), made.absent(Answer::Unanswered)];
                made.trial.others = vec![held(0, [&there, &absent])];
                made.trial.others[0].ahead = Some(1);
                made.counts.errant = 1;
            }
            Planted::GtidReused => {
                Planted::Errant.plant(made);
                made.trial.others[0].ahead = Some(0);
                made.counts.gtids_reused = 1;
            }
            Planted::Skipped => skip(made),
            Planted::Drifted => drift(made),
            Planted::CorruptReplica => {
                let mut replica = replica(made);
                replica.tables_ok = Some(false);
                made.trial.others = vec![replica];
                made.counts.corrupt = 1;
                made.verdict = Verdict::Broken;
            }
            _ => self.plant_what_nothing_allows(made),
        }
    }

    fn plant_what_nothing_allows(self, made: &mut Made) {
        let (told, refused) = (last(made), made.absent(Answer::Refused));
        let counts = &mut made.counts;
        match self {
            Planted::RefusedPresent => {
                counts.refused_present = 1;
                made.each_serving(|held| add(held, &refused));
            }
            Planted::RefusedSeen => {
                counts.refused_present = 1;
                made.see(refused.token);
            }
            Planted::NeverSent => {
                counts.never_sent = 1;
                made.each_serving(|held| add(held, &transfer(7, 0, 0)));
            }
            Planted::Doubled => {
                counts.doubled = 1;
                made.each_serving(|held| add(held, &told));
            }
            Planted::DoubledRowOnly => {
                (counts.doubled, counts.unbalanced) = (1, 2);
                made.each_serving(|held| {
                    add(held, &told);
                    shift(held, &told, -1);
                });
            }
            Planted::Torn => {
                counts.torn = 1;
                let amount = told.amount + 7;
                made.each_serving(|held| {
                    remove(held, &told);
                    add(held, &Transfer { amount, ..told });
                });
            }
            Planted::LostUpdate => {
                counts.unbalanced = 1;
                made.each_serving(|held| held.balances[1] += 13);
            }
            Planted::DroppedTransfer => {
                lose(made, told);
                made.counts.unbalanced = 2;
                made.each_serving(|held| shift(held, &told, 1));
            }
            Planted::Diverged => {
                (counts.recovered, counts.diverged) = (2, 1);
                let absent = made.absent(Answer::Unanswered);
                add(&mut made.trial.serving[1], &absent);
            }
            Planted::Corrupt => {
                counts.corrupt = 1;
                made.trial.serving[0].tables_ok = Some(false);
            }
            Planted::LogHasLess => {
                counts.only_in_tables = 1;
                log(made).retain(|token| *token != told.token);
            }
            Planted::LogHasMore => {
                counts.only_in_log = 1;
                let absent = made.absent(Answer::Unanswered);
                log(made).push(absent.token);
            }
            Planted::RefusesItsData => refuse(made),
            _ => return self.plant_doubt(made),
        }
        made.verdict = Verdict::Broken;
    }

    fn plant_doubt(self, made: &mut Made) {
        let Made {
            trial,
            counts,
            setting,
            ..
        } = made;
        let node = trial.serving[0].node;
        let doubt = match self {
            Planted::Unread => {
                let why = "no connection".to_owned();
                trial.serving[0].unread = Some(why.clone());
                if *setting != Setting::Elected {
                    *counts = Counts {
                        acknowledged: counts.acknowledged,
                        promised: counts.promised,
                        ..Counts::default()
                    };
                }
                Doubt::Unread { node, why }
            }
            Planted::LogUnread => {
                let why = "it is encrypted".to_owned();
                trial.logged = Some(Delivered {
                    unread: Some(why.clone()),
                    ..Delivered::default()
                });
                Doubt::LogUnread(why)
            }
            Planted::NotChecked => {
                trial.serving[0].tables_ok = None;
                Doubt::NotChecked(node)
            }
            Planted::StepMissing => {
                trial.steps.pop();
                // Who took over is not known any more, nor what that promised.
                if *setting == Setting::Promoted {
                    counts.promised = 0;
                }
                Doubt::StepMissing(1)
            }
            Planted::NotBitten => {
                let step = &mut trial.steps[0];
                (step.bite, step.seen) = (Some(false), "it still answers".to_owned());
                let seen = step.seen.clone();
                Doubt::NotBitten { step: 0, seen }
            }
            Planted::NotReached => {
                made.fault.reach.push(Reach::FellBack);
                Doubt::NotSeen(Reach::FellBack)
            }
            Planted::AloneUnknown => {
                trial.alone_known = false;
                Doubt::AloneUnknown
            }
            Planted::WrongChoice => {
                trial.candidates[1].received = 99;
                Doubt::WrongChoice
            }
            _ => {
                let why = "a disk of the lab's own was full".to_owned();
                trial.undecided = Some(why.clone());
                Doubt::Undone(why)
            }
        };
        made.doubts = vec![doubt];
        made.verdict = Verdict::Undecided;
    }
}

/// The tokens of a binary log that has what the only server has.
fn log(made: &mut Made) -> &mut Vec<Token> {
    let rows = made.trial.serving[0].rows.iter();
    let logged = Delivered {
        tokens: rows.map(|row| row.token).collect(),
        ..Delivered::default()
    };
    &mut made.trial.logged.insert(logged).tokens
}

/// Of those that were acknowledged before the blow the one that was begun last: nothing follows it.
pub fn last(made: &Made) -> Transfer {
    *made.told_before().last().expect("some were told")
}

/// It is not there, and nobody has seen it.
fn lose(made: &mut Made, lost: Transfer) {
    made.each_serving(|held| remove(held, &lost));
    made.unsee(lost.token);
    made.counts.lost = 1;
    made.counts.lost_promised = usize::from(made.is_promised());
    made.verdict = match made.is_promised() {
        true => Verdict::Broken,
        false => Verdict::LostNoPromise,
    };
}

/// It went on alone so many µs after the lost one was acknowledged.
fn lose_around(made: &mut Made, later_us: u64) {
    let lost = last(made);
    lose(made, lost);
    let alone_us = lost.ended_us + later_us;
    made.trial.alone_us = Some(alone_us);
    let told = made.told_before();
    let promised = told.iter().filter(|it| it.ended_us < alone_us);
    made.counts.promised = promised.count();
    if later_us == 0 {
        made.counts.lost_promised = 0;
        made.verdict = Verdict::LostNoPromise;
    }
}

/// A replica that says that it has executed all, and has.
fn replica(made: &Made) -> Held {
    let mut replica = made.trial.serving[0].clone();
    (replica.node, replica.is_level) = (2, true);
    replica
}

/// A replica says that it has executed all, and lacks one.
fn skip(made: &mut Made) {
    let mut replica = replica(made);
    remove(&mut replica, &last(made));
    made.trial.others = vec![replica];
    made.counts.skipped = 1;
    made.verdict = Verdict::LostNoPromise;
}

/// A replica has all transfers, and one of them moved its balances twice.
fn drift(made: &mut Made) {
    let mut replica = replica(made);
    shift(&mut replica, &last(made), 1);
    made.trial.others = vec![replica];
    made.counts.drifted = 1;
    made.verdict = Verdict::LostNoPromise;
}

/// The old writer acknowledged one while the new one took writes too.
fn fork(made: &mut Made) {
    let all = &mut made.trial.history.transfers;
    all.push(transfer(9, 0, BACK_US + 5_000));
    made.counts.acknowledged += 1;
    (made.counts.lost, made.counts.forked) = (1, 1);
    made.verdict = Verdict::LostNoPromise;
}

/// Somebody saw what was never answered, and is not there.
fn phantom(made: &mut Made) {
    let absent = made.absent(Answer::Unanswered);
    made.see(absent.token);
    made.counts.phantom_reads = 1;
    made.counts.phantom_promised = usize::from(made.is_promised());
    made.verdict = match made.is_promised() {
        true => Verdict::Broken,
        false => Verdict::LostNoPromise,
    };
}

/// The server does not come up with what it has.
fn refuse(made: &mut Made) {
    made.trial.serving.clear();
    made.trial.history.readers.clear();
    made.trial.refused = Some("a page is corrupted".to_owned());
    let counts = &mut made.counts;
    (counts.lost, counts.recovered) = (counts.acknowledged, 0);
    counts.lost_promised = counts.promised;
}
