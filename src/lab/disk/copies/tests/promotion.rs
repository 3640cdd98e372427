//! Which copy is chosen, without any machine.

use proptest::prelude::*;

use crate::lab::disk::copies::promote::{
    Choice, Refusal, Rule, Survey, Touch, choose, next_generation,
};
use crate::lab::disk::copies::{Ack, WhenShort};

const VOLUME: u64 = 3;

fn rule(copies: usize, write_quorum: usize) -> Rule {
    Rule {
        volume: VOLUME,
        copies,
        write_quorum,
        ack: Ack::Write,
        when_short: WhenShort::Block,
        alone_generation: 0,
        is_forced: false,
        followers: 0,
    }
}

fn holds(generation: u64, epoch: u64) -> Survey {
    Survey {
        volume: VOLUME,
        generation,
        sealed: epoch,
        seq: 0,
        durable_epoch: epoch,
        led: 0,
        touch: Touch::Unsure,
    }
}

fn takes(chosen: usize) -> Result<Choice, Refusal> {
    let is_alone = false;
    Ok(Choice { chosen, is_alone })
}

fn alone() -> Result<Choice, Refusal> {
    let is_alone = true;
    Ok(Choice {
        chosen: 0,
        is_alone,
    })
}

#[test]
fn the_newest_generation_wins_then_the_epoch_then_the_writes() {
    let received = Survey {
        seq: 5,
        ..holds(2, 3)
    };
    let rule = rule(3, 2);
    assert_eq!(choose(&rule, &[holds(1, 9), holds(2, 3)]), takes(1));
    assert_eq!(choose(&rule, &[holds(2, 4), received]), takes(0));
    assert_eq!(choose(&rule, &[holds(2, 3), received]), takes(1));
    assert_eq!(choose(&rule, &[holds(2, 3), holds(2, 3)]), takes(0));
}

#[test]
fn blank_and_foreign_copies_know_nothing_but_can_promise() {
    let blank = Survey {
        volume: 0,
        ..holds(0, 0)
    };
    let foreign = Survey {
        volume: 4,
        ..holds(9, 9)
    };
    let rule = rule(6, 4);
    let too_few = |have| Err(Refusal::TooFewToRead { have, need: 3 });
    assert_eq!(choose(&rule, &[]), too_few(0));
    assert_eq!(choose(&rule, &[blank; 6]), too_few(0));
    let two = [foreign, blank, holds(1, 1), holds(1, 2)];
    assert_eq!(choose(&rule, &two), too_few(2));
    let three = [blank, holds(1, 1), holds(1, 2), holds(1, 1)];
    assert_eq!(choose(&rule, &three), takes(2));
}

#[test]
fn three_of_six_know_all_but_may_not_write() {
    let refusal = Refusal::TooFewToWrite {
        chosen: 1,
        have: 3,
        need: 4,
    };
    let three = [holds(1, 1), holds(1, 2), holds(1, 1)];
    assert_eq!(choose(&rule(6, 4), &three), Err(refusal));
    // With a fourth that follows they may, and still one of them leads.
    let with_another = Rule {
        followers: 1,
        ..rule(6, 4)
    };
    assert_eq!(choose(&with_another, &three), takes(1));
    let too_few = Refusal::TooFewToRead { have: 2, need: 3 };
    assert_eq!(choose(&with_another, &three[..2]), Err(too_few));
}

#[test]
fn a_lone_copy_of_a_mirror_that_blocks_has_all() {
    assert_eq!(choose(&rule(2, 2), &[holds(1, 1)]), alone());
    assert_eq!(choose(&rule(2, 2), &[holds(1, 1), holds(1, 2)]), takes(1));
}

#[test]
fn a_lone_copy_of_a_mirror_that_degrades_has_to_show_it() {
    let rule = Rule {
        when_short: WhenShort::Degrade,
        ..rule(2, 2)
    };
    let forced = Rule {
        is_forced: true,
        ..rule
    };
    let touch = |touch| Survey {
        touch,
        ..holds(1, 1)
    };
    // That it led once shows nothing: another may have led since.
    let led = Survey {
        led: 1,
        touch: Touch::Unsure,
        ..holds(1, 1)
    };
    assert_eq!(choose(&rule, &[touch(Touch::Proven)]), alone());
    assert_eq!(choose(&rule, &[led]), Err(Refusal::Unsure));
    for (of, refusal) in [
        (Touch::Unsure, Refusal::Unsure),
        (Touch::Behind, Refusal::Behind),
    ] {
        assert_eq!(choose(&rule, &[touch(of)]), Err(refusal));
        assert_eq!(choose(&forced, &[touch(of)]), alone());
        // With both copies there, nothing has to be shown.
        assert_eq!(choose(&rule, &[touch(of), holds(1, 2)]), takes(1));
    }
}

#[test]
fn under_drbds_rule_a_lone_copy_must_have_kept_its_memory() {
    let touch = |touch| Survey {
        touch,
        ..holds(1, 1)
    };
    for when_short in [WhenShort::Block, WhenShort::Degrade] {
        let rule = Rule {
            ack: Ack::ProtocolC,
            when_short,
            ..rule(2, 2)
        };
        assert_eq!(choose(&rule, &[touch(Touch::Proven)]), alone());
        for (of, refusal) in [
            (Touch::DurableOnly, Refusal::DurableOnly),
            (Touch::Behind, Refusal::Behind),
        ] {
            assert_eq!(choose(&rule, &[touch(of)]), Err(refusal));
            assert_eq!(choose(&rule, &[touch(of), holds(1, 2)]), takes(1));
        }
        let unsure = choose(&rule, &[touch(Touch::Unsure)]);
        let may_lead = when_short == WhenShort::Block;
        assert_eq!(unsure.is_ok(), may_lead, "{unsure:?}");
    }
    // Under the strict rule all flushes that were done are durable at each copy.
    assert_eq!(choose(&rule(2, 2), &[touch(Touch::DurableOnly)]), alone());
}

#[test]
fn a_copy_that_missed_a_lone_promotion_is_outdated() {
    let rule = Rule {
        alone_generation: 2,
        ..rule(2, 2)
    };
    assert_eq!(choose(&rule, &[holds(1, 9)]), Err(Refusal::Outdated));
    assert_eq!(choose(&rule, &[holds(2, 9)]), alone());
    // It was the lone one itself, and never made anything durable.
    let led = Survey {
        led: 2,
        ..holds(1, 9)
    };
    assert_eq!(choose(&rule, &[led]), alone());
}

#[test]
fn generations_rise() {
    assert_eq!(next_generation([]), 1);
    assert_eq!(next_generation([3, 7, 5]), 8);
}

/// Copies with their epochs, and which of them answer.
fn epochs(copies: usize) -> impl Strategy<Value = (Vec<u64>, Vec<bool>)> {
    let epochs = prop::collection::vec(1..20_u64, copies);
    let answers = prop::collection::vec(prop::bool::weighted(0.7), copies);
    (epochs, answers)
}

/// Whether the copy chosen has the last flush that W of them have; `None` without a choice.
fn is_safe(served: &Rule, rule: &Rule, epochs: &[u64], answers: &[bool]) -> Option<bool> {
    let mut sorted = epochs.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let acknowledged = sorted[served.write_quorum - 1];
    let answering = epochs.iter().zip(answers).filter(|(_, answers)| **answers);
    let surveys: Vec<Survey> = answering.map(|(epoch, _)| holds(1, *epoch)).collect();
    let chosen = match choose(rule, &surveys) {
        Ok(Choice { chosen, .. }) | Err(Refusal::TooFewToWrite { chosen, .. }) => chosen,
        Err(_) => return None,
    };
    Some(surveys[chosen].sealed >= acknowledged)
}

proptest! {
    #[test]
    fn the_chosen_copy_has_all_that_was_acknowledged(
        write_quorum in 1..=6_usize,
        (epochs, answers) in epochs(6),
    ) {
        let rule = rule(6, write_quorum);
        prop_assert_ne!(is_safe(&rule, &rule, &epochs, &answers), Some(false));
    }

    #[test]
    fn losing_two_of_six_never_loses_the_choice(
        (epochs, _) in epochs(6),
        first in 0..6_usize,
        second in 0..6_usize,
    ) {
        let rule = rule(6, 4);
        let answers: Vec<bool> = (0..6).map(|at| at != first && at != second).collect();
        prop_assert_eq!(is_safe(&rule, &rule, &epochs, &answers), Some(true));
    }
}

#[test]
fn a_smaller_write_quorum_than_thought_loses() {
    let answers = [false, false, false, true, true, true];
    let epochs = [5, 5, 5, 4, 4, 4];
    let (served, thought) = (rule(6, 3), rule(6, 4));
    assert_eq!(is_safe(&served, &thought, &epochs, &answers), Some(false));
    assert_eq!(is_safe(&thought, &thought, &epochs, &answers), Some(true));
}
