use proptest::prelude::*;

use super::*;
use crate::record::history::History;
use crate::record::trials::{Candidate, Delivered, Done};
use crate::study::fault::Durability;
use crate::study::faults::Fault;

fn campaign(trials: Vec<Trial>) -> Campaign {
    Campaign {
        durability: Durability::STRICT,
        fault: Fault {
            name: "made-up".to_owned(),
            ..Fault::default()
        },
        trials,
    }
}

fn transfer(token: Token, begun_us: u64) -> Transfer {
    Transfer {
        token,
        from: 0,
        to: 63,
        amount: 100,
        node: 2,
        begun_us,
        commit_us: Some(begun_us + 400),
        ended_us: begun_us + 900,
        answer: Answer::Acknowledged,
    }
}

fn row(of: &Transfer) -> Row {
    Row {
        token: of.token,
        from: of.from,
        to: of.to,
        amount: of.amount,
    }
}

/// Random, as tokens are.
fn token(number: u64) -> Token {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A trial of so many transfers, that are on two nodes, and have been seen.
fn trial(count: u64) -> Trial {
    let transfers: Vec<Transfer> = (0..count).map(|n| transfer(token(n), 500 * n)).collect();
    let held = |node| Held {
        node,
        rows: transfers.iter().map(row).collect(),
        balances: vec![1_000; 64],
        tables_ok: Some(true),
        ..Held::default()
    };
    let look = |it: &Transfer| Look {
        begun_us: it.ended_us,
        ended_us: Some(it.ended_us + 200),
        new: vec![it.token],
        gone: vec![],
    };
    let reader = Reader {
        node: 1,
        beside: Some(0),
        level: Some("SET SESSION x = 1".to_owned()),
        looks: transfers.iter().map(look).collect(),
    };
    Trial {
        seed: 7,
        steps: vec![Done::default()],
        serving: vec![held(1)],
        others: vec![held(0)],
        candidates: vec![Candidate::default()],
        delivered: vec![Delivered {
            node: 1,
            tokens: transfers.iter().map(|it| it.token).collect(),
            unread: None,
        }],
        logged: Some(Delivered {
            node: 1,
            tokens: transfers.iter().skip(1).map(|it| it.token).collect(),
            unread: None,
        }),
        history: History {
            start_balance: 1_000,
            accounts: 64,
            transfers,
            readers: vec![reader],
            ..History::default()
        },
        ..Trial::default()
    }
}

#[test]
fn ten_thousand_transfers_take_half_a_megabyte() {
    let whole = campaign(vec![trial(10_000)]);
    let packed = PackedCampaign::of(&whole);
    let bytes = packed.packed[0].len();
    assert!(bytes < 500_000, "{bytes}");
    let text = serde_json::to_string(&packed.light).expect("plain");
    assert!(text.len() < 5_000, "{}", text.len());
    assert_eq!(packed.unpacked().as_ref(), Ok(&whole));
    assert_eq!(packed.whole(), whole);
}

#[test]
fn trials_are_taken_in_one_after_the_other() {
    let [one, two] = [3, 4].map(|count| campaign(vec![trial(count)]));
    let mut packed = PackedCampaign::of(&one);
    packed.extend(PackedCampaign::of(&two));
    let trials = [one, two].map(|mut of| of.trials.remove(0));
    assert_eq!(packed.unpacked().map(|all| all.trials), Ok(trials.into()));
}

#[test]
fn what_is_damaged_is_seen() {
    let whole = campaign(vec![trial(3)]);
    let told = |change: fn(&mut PackedCampaign)| {
        let mut packed = PackedCampaign::of(&whole);
        change(&mut packed);
        let why = packed.unpacked().expect_err("damaged");
        let undecided = packed.whole().trials.remove(0).undecided;
        assert_eq!(undecided, Some(format!("the record is damaged: {why}")));
        why
    };
    let cut = told(|packed| {
        packed.packed[0].pop();
    });
    assert!(cut.contains("ends too early"), "{cut}");
    let longer = told(|packed| packed.packed[0].push(0));
    assert!(longer.contains("too late"), "{longer}");
    let other = told(|packed| packed.packed[0][0] = 9);
    assert!(other.contains("of form 9"), "{other}");
    assert_eq!(told(|packed| packed.packed[0].clear()), "nothing is packed");
    let none = told(|packed| packed.packed.clear());
    assert_eq!(none, "1 trials have 0 packed parts");
}

fn any_answer() -> impl Strategy<Value = Answer> {
    (0..ANSWERS.len()).prop_map(|at| ANSWERS[at])
}

/// Few tokens, so that some are met twice and some belong to no transfer.
fn any_token() -> impl Strategy<Value = Token> {
    prop_oneof![0..12_u64, Just(u64::MAX)]
}

fn any_transfer() -> impl Strategy<Value = Transfer> {
    let plain = (any_token(), any::<u16>(), any::<u16>(), any::<u32>());
    let times = (any::<u64>(), any::<Option<u64>>(), any::<u64>());
    (plain, any::<u8>(), times, any_answer()).prop_map(|(plain, node, times, answer)| {
        let (token, from, to, amount) = plain;
        let (begun_us, commit_us, ended_us) = times;
        Transfer {
            token,
            from,
            to,
            amount,
            node,
            begun_us,
            commit_us,
            ended_us,
            answer,
        }
    })
}

fn any_tokens() -> impl Strategy<Value = Vec<Token>> {
    prop::collection::vec(any_token(), 0..4)
}

fn any_look() -> impl Strategy<Value = Look> {
    let times = (any::<u64>(), any::<Option<u64>>());
    (times, any_tokens(), any_tokens()).prop_map(|((begun_us, ended_us), new, gone)| Look {
        begun_us,
        ended_us,
        new,
        gone,
    })
}

fn any_held() -> impl Strategy<Value = Held> {
    let row = (any_token(), any::<u16>(), any::<u16>(), any::<u32>());
    let row = row.prop_map(|(token, from, to, amount)| Row {
        token,
        from,
        to,
        amount,
    });
    prop::collection::vec(row, 0..6).prop_map(|rows| Held {
        rows,
        ..Held::default()
    })
}

proptest! {
    #[test]
    fn whatever_clients_noted_is_read_back(
        transfers in prop::collection::vec(any_transfer(), 0..12),
        looks in prop::collection::vec(prop::collection::vec(any_look(), 0..5), 0..3),
        serving in prop::collection::vec(any_held(), 0..3),
        others in prop::collection::vec(any_held(), 0..3),
        delivered in any_tokens(),
    ) {
        let reader = |looks| Reader { looks, ..Reader::default() };
        // Some rows as they were sent.
        let mut serving = serving;
        if let Some(held) = serving.first_mut() {
            held.rows.extend(transfers.iter().map(row));
        }
        let trial = Trial {
            history: History {
                transfers,
                readers: looks.into_iter().map(reader).collect(),
                ..History::default()
            },
            serving,
            others,
            delivered: vec![Delivered { tokens: delivered, ..Delivered::default() }],
            ..Trial::default()
        };
        let whole = campaign(vec![trial]);
        prop_assert_eq!(PackedCampaign::of(&whole).unpacked(), Ok(whole));
    }
}
