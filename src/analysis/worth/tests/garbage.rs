//! Trials of which nothing is right: both checkers still count alike, and neither falls over.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::made::{fault, promotion, semisync, terms};
use crate::analysis::worth::{Doubt, agrees, judge, promise};
use crate::record::history::{Answer, Held, History, Look, Reader, Row, Token, Transfer};
use crate::record::trials::{Done, Trial};
use crate::study::fault::{Durability, Leaves};
use crate::study::faults::{Between, Deed, Target, Way};
use crate::study::{Ack, Consistency, Mode, WhenShort};

/// Few enough to meet.
const TOKENS: u64 = 12;

fn transfer(random: &mut ChaCha8Rng, token: Token) -> Transfer {
    let begun_us = random.random_range(0..1_000);
    let answers = [Answer::Acknowledged, Answer::Refused, Answer::Unanswered];
    Transfer {
        token,
        from: random.random_range(0..4),
        to: random.random_range(0..4),
        amount: random.random_range(0..3),
        node: random.random_range(0..4),
        begun_us,
        commit_us: random.random_bool(0.9).then_some(begun_us + 10),
        ended_us: begun_us + random.random_range(0..500_u64),
        answer: answers[random.random_range(0..3_usize)],
    }
}

fn row(random: &mut ChaCha8Rng, sent: &[Transfer]) -> Row {
    let of = sent[random.random_range(0..sent.len())];
    let is_torn = random.random_bool(0.2);
    Row {
        token: match random.random_bool(0.2) {
            true => random.random_range(0..TOKENS + 3),
            false => of.token,
        },
        from: of.from,
        to: if is_torn { 9 } else { of.to },
        amount: of.amount,
    }
}

fn held(random: &mut ChaCha8Rng, sent: &[Transfer]) -> Held {
    let rows = random.random_range(0..10_usize);
    let accounts = random.random_range(3..6_usize);
    let oks = [Some(true), Some(false), None];
    Held {
        node: random.random_range(0..4),
        rows: (0..rows).map(|_| row(random, sent)).collect(),
        balances: (0..accounts)
            .map(|_| random.random_range(98..102))
            .collect(),
        tables_ok: oks[random.random_range(0..3_usize)],
        unread: random.random_bool(0.2).then(|| "no".to_owned()),
        is_level: random.random_bool(0.5),
        ..Held::default()
    }
}

fn reader(random: &mut ChaCha8Rng) -> Reader {
    let mut tokens = |most: usize| -> Vec<Token> {
        let count = random.random_range(0..most);
        (0..count)
            .map(|_| random.random_range(0..TOKENS + 2))
            .collect()
    };
    let look = |number: u64| Look {
        begun_us: 100 * number,
        ended_us: (!number.is_multiple_of(3)).then_some(100 * number + 5),
        new: tokens(4),
        gone: tokens(2),
    };
    Reader {
        looks: (0..8).map(look).collect(),
        ..Reader::default()
    }
}

fn deeds() -> Vec<Deed> {
    let between = |to| Between {
        from: Target::Writer,
        to,
        way: Way::Both,
        with_clients: true,
    };
    let all = Target::All;
    vec![
        Deed::Kill(all),
        Deed::PowerCut(all, Leaves::Nothing),
        Deed::Restart(all),
        Deed::Promote(promotion()),
        Deed::Bootstrap(all),
        Deed::ForceMembers(all),
        Deed::Rejoin(all),
        Deed::CutLinks(between(None)),
        Deed::CutLinks(between(Some(all))),
        Deed::HealLinks,
        Deed::Pause(all),
        Deed::Resume(all),
        Deed::FillDisk(all, 1),
        Deed::FailDisk(all),
        Deed::DestroyDisk(all),
        Deed::StallDisk(all),
        Deed::ResumeDisk(all),
        Deed::BlockAppliers(all),
        Deed::FreeAppliers(all),
    ]
}

fn modes() -> [Mode; 9] {
    let consistency = Consistency::Eventual;
    let ack = Ack::Write;
    [
        Mode::Single,
        Mode::Async,
        semisync(1),
        Mode::Group { consistency },
        Mode::GroupMulti {
            consistency: Consistency::After,
        },
        Mode::Galera,
        Mode::Mirror {
            ack: Ack::ProtocolC,
            when_short: WhenShort::Degrade,
            timeout: Duration::from_secs(1),
        },
        Mode::Quorum {
            copies: 3,
            write_quorum: 2,
            ack,
        },
        Mode::Endpoint,
    ]
}

fn trial(random: &mut ChaCha8Rng, deeds: usize) -> Trial {
    let sent: Vec<Transfer> = (0..TOKENS).map(|token| transfer(random, token)).collect();
    let serving = random.random_range(0..3_usize);
    let steps = random.random_range(0..6_usize);
    let step = |random: &mut ChaCha8Rng, at: usize| {
        let begun_us = 200 * at as u64;
        let count = random.random_range(0..3_usize);
        Done {
            step: random.random_range(0..deeds + 1),
            begun_us,
            ended_us: begun_us + random.random_range(0..200_u64),
            nodes: (0..count).map(|_| random.random_range(0..4)).collect(),
            ..Done::default()
        }
    };
    Trial {
        steps: (0..steps).map(|at| step(random, at)).collect(),
        serving: (0..serving).map(|_| held(random, &sent)).collect(),
        others: vec![held(random, &sent)],
        alone_us: random.random_bool(0.3).then_some(600),
        refused: random.random_bool(0.2).then(|| "no".to_owned()),
        history: History {
            start_balance: 100,
            accounts: 4,
            readers: vec![reader(random), reader(random)],
            transfers: sent,
            ..History::default()
        },
        ..Trial::default()
    }
}

#[test]
fn both_checkers_count_alike_whatever_the_trial() {
    let deeds = deeds();
    let fault = fault(&deeds);
    for seed in 0..4_000 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let trial = trial(&mut random, deeds.len());
        let modes = modes();
        let mode = modes[random.random_range(0..modes.len())];
        let terms = terms(mode, 3, Durability::STRICT);
        let promise = promise(&terms, &fault, &trial);
        let judged = judge(&fault, &trial, &promise);
        assert_eq!(agrees(&trial, &judged), Ok(()), "seed {seed}: {promise:?}");
        let disagrees = |doubt: &Doubt| matches!(doubt, Doubt::Disagreement(_));
        assert!(!judged.doubts.iter().any(disagrees), "seed {seed}");
        assert!(
            judged.counts.lost_promised <= judged.counts.lost,
            "seed {seed}"
        );
        assert!(judged.counts.holes <= judged.counts.lost, "seed {seed}");
    }
}

#[test]
fn a_count_that_is_off_by_one_is_told() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let trial = trial(&mut random, 0);
    let fault = fault(&[]);
    let terms = terms(Mode::Single, 1, Durability::STRICT);
    let mut judged = judge(&fault, &trial, &promise(&terms, &fault, &trial));
    assert_eq!(agrees(&trial, &judged), Ok(()));
    judged.counts.acknowledged += 1;
    let said = agrees(&trial, &judged).unwrap_err();
    let (one, other) = (judged.counts.acknowledged, judged.counts.acknowledged - 1);
    assert_eq!(said, format!("acknowledged: {one} and {other}"));
}
