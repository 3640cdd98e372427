//! Trials made up: legal ones, with all that must be counted in them.

use std::collections::BTreeSet;
use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::analysis::worth::{Counts, Doubt, Judged, PromiseTerms, Verdict, judge, promise};
use crate::record::history::{Answer, Held, History, Look, Reader, Row, Token, Transfer};
use crate::record::trials::{Candidate, Done, Trial};
use crate::study::fault::{Durability, Leaves};
use crate::study::faults::{
    Choose, ClientsAt, Deed, Fault, Finding, Promotion, Reach, Step, Target, When, Writing,
};
use crate::study::{Consistency, Mode, WaitPoint};

/// When the first step is begun, and when clients are served again.
pub const BLOW_US: u64 = 50_000;
pub const BACK_US: u64 = 80_000;
const START: i64 = 1_000;
const ACCOUNTS: u16 = 4;

/// A schedule of these deeds.
pub fn fault(deeds: &[Deed]) -> Fault {
    let step = |deed: &Deed| Step {
        when: When::Commits(1),
        limit: Duration::from_secs(1),
        deed: *deed,
    };
    Fault {
        name: "made-up".to_owned(),
        title: "made up".to_owned(),
        steps: deeds.iter().map(step).collect(),
        finding: Finding::Asking,
        clients_at: ClientsAt::FirstSite,
        writing: Writing::InPlace,
        client_timeout: Duration::from_secs(1),
        afterwards: Duration::ZERO,
        served_for: None,
        reach: vec![],
        control: None,
    }
}

/// One that is acknowledged 100 µs after its beginning; its COMMIT is sent after 50.
pub fn transfer(token: Token, node: u8, begun_us: u64) -> Transfer {
    Transfer {
        token,
        from: 0,
        to: 1,
        amount: 5,
        node,
        begun_us,
        commit_us: Some(begun_us + 50),
        ended_us: begun_us + 100,
        answer: Answer::Acknowledged,
    }
}

/// Servers that are set so, with all else as good as it gets but for relay logs.
pub fn terms(mode: Mode, nodes: usize, durability: Durability) -> PromiseTerms {
    PromiseTerms {
        mode,
        sites: (0..nodes).map(|node| node.to_string()).collect(),
        durability,
        has_binary_log: true,
        sync_relay_log: 10_000,
        relay_log_recovery: false,
        are_replicas_crash_safe: true,
        comes_back_as_replica: false,
        may_tear_pages: false,
        may_both_go_on: false,
    }
}

pub fn semisync(wait_for: u32) -> Mode {
    Mode::Semisync {
        wait_for,
        wait_point: WaitPoint::AfterSync,
        timeout: Duration::from_secs(1),
    }
}

/// The one that has received most takes over.
pub fn promotion() -> Promotion {
    Promotion {
        choose: Choose::MostReceived,
        is_fenced: true,
        is_given_others: false,
    }
}

/// A node that has these, and nothing else.
pub fn held<'t>(node: u8, all: impl IntoIterator<Item = &'t Transfer>) -> Held {
    let mut held = Held {
        node,
        balances: vec![START; usize::from(ACCOUNTS)],
        tables_ok: Some(true),
        ..Held::default()
    };
    for transfer in all {
        add(&mut held, transfer);
    }
    held
}

/// A transfer comes to a node, row and balances.
pub fn add(held: &mut Held, transfer: &Transfer) {
    held.rows.push(Row {
        token: transfer.token,
        from: transfer.from,
        to: transfer.to,
        amount: transfer.amount,
    });
    shift(held, transfer, 1);
}

/// It leaves a node, row and balances.
pub fn remove(held: &mut Held, transfer: &Transfer) {
    held.rows.retain(|row| row.token != transfer.token);
    shift(held, transfer, -1);
}

/// Balances move as if it came so many times.
pub fn shift(held: &mut Held, transfer: &Transfer, times: i64) {
    let amount = times * i64::from(transfer.amount);
    held.balances[usize::from(transfer.from)] -= amount;
    held.balances[usize::from(transfer.to)] += amount;
}

/// What is done to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// A single server is killed, and started anew.
    Killed,
    /// A semi-synchronous source loses its power, and a replica takes over.
    Promoted,
    /// A group's primary is killed.
    Elected,
    /// As `Promoted`, without semi-synchronous replication.
    Unpromised,
}

impl Setting {
    pub const ALL: [Setting; 4] = [
        Setting::Killed,
        Setting::Promoted,
        Setting::Elected,
        Setting::Unpromised,
    ];

    fn terms(self) -> PromiseTerms {
        let consistency = Consistency::Eventual;
        let (mode, nodes, durability) = match self {
            Setting::Killed => (Mode::Single, 1, Durability::STRICT),
            Setting::Promoted => (semisync(1), 3, Durability::LOOSE),
            Setting::Elected => (Mode::Group { consistency }, 3, Durability::STRICT),
            Setting::Unpromised => (Mode::Async, 3, Durability::LOOSE),
        };
        terms(mode, nodes, durability)
    }

    fn deeds(self) -> Vec<Deed> {
        let kill = Deed::Kill(Target::Writer);
        match self {
            Setting::Killed => vec![kill, Deed::Restart(Target::FirstWriter)],
            Setting::Elected => vec![kill],
            Setting::Promoted | Setting::Unpromised => vec![
                Deed::PowerCut(Target::Writer, Leaves::Nothing),
                Deed::Promote(promotion()),
            ],
        }
    }

    /// Who takes writes afterwards, and all who serve.
    fn left(self) -> (u8, &'static [u8]) {
        match self {
            Setting::Killed => (0, &[0]),
            Setting::Promoted | Setting::Unpromised => (1, &[1]),
            Setting::Elected => (1, &[1, 2]),
        }
    }
}

/// A trial, and what must come of it.
#[derive(Debug, Clone)]
pub struct Made {
    pub setting: Setting,
    pub terms: PromiseTerms,
    pub fault: Fault,
    pub trial: Trial,
    pub counts: Counts,
    pub verdict: Verdict,
    pub doubts: Vec<Doubt>,
}

impl Made {
    /// Nothing is wrong: two commits were on their way, of which one is there; one was refused.
    pub fn legal(setting: Setting, random: &mut ChaCha8Rng) -> Made {
        let (writer, serving) = setting.left();
        let mut all = before(random);
        all.extend(after(random, writer, all.len()));
        let is_there = |it: &&Transfer| it.answer == Answer::Acknowledged || is_recovered(it);
        let there: Vec<Transfer> = all.iter().filter(is_there).copied().collect();
        let serving = serving.iter().map(|node| held(*node, &there));
        let acknowledged = all.iter().filter(|it| it.answer == Answer::Acknowledged);
        let acknowledged = acknowledged.count();
        let promised = match setting {
            Setting::Unpromised => 0,
            _ => acknowledged,
        };
        let history = History {
            start_balance: START,
            accounts: ACCOUNTS,
            readers: readers(setting, &there),
            transfers: all,
            ..History::default()
        };
        let mut fault = fault(&setting.deeds());
        fault.reach = vec![Reach::InFlight(0), Reach::AcknowledgedBefore(0, 5)];
        Made {
            setting,
            terms: setting.terms(),
            trial: Trial {
                steps: steps(setting, fault.steps.len()),
                history,
                serving: serving.collect(),
                candidates: candidates(setting),
                alone_known: true,
                ..Trial::default()
            },
            fault,
            counts: Counts {
                acknowledged,
                promised,
                recovered: 1,
                ..Counts::default()
            },
            verdict: match setting {
                Setting::Unpromised => Verdict::NoneLostNoPromise,
                _ => Verdict::Kept,
            },
            doubts: vec![],
        }
    }

    pub fn judged(&self) -> Judged {
        let promise = promise(&self.terms, &self.fault, &self.trial);
        judge(&self.fault, &self.trial, &promise)
    }

    pub fn is_promised(&self) -> bool {
        self.counts.promised > 0
    }

    /// Those that were acknowledged before the blow, in the order of their beginnings.
    pub fn told_before(&self) -> Vec<Transfer> {
        let all = self.trial.history.transfers.iter();
        let told = all.filter(|it| it.answer == Answer::Acknowledged && it.ended_us < BLOW_US);
        told.copied().collect()
    }

    /// The one with this answer that is not there.
    pub fn absent(&self, answer: Answer) -> Transfer {
        let mut all = self.trial.history.transfers.iter();
        let found = all.find(|it| it.answer == answer && !is_recovered(it));
        *found.expect("each trial has one")
    }

    pub fn each_serving(&mut self, change: impl Fn(&mut Held)) {
        self.trial.serving.iter_mut().for_each(change);
    }

    /// No reader has seen it.
    pub fn unsee(&mut self, token: Token) {
        let readers = self.trial.history.readers.iter_mut();
        for look in readers.flat_map(|reader| &mut reader.looks) {
            look.new.retain(|seen| *seen != token);
        }
    }

    /// The first reader saw it shortly before the blow.
    pub fn see(&mut self, token: Token) {
        let looks = &mut self.trial.history.readers[0].looks;
        let before = looks.iter_mut().rev();
        let mut before = before.filter(|look| look.begun_us < BLOW_US);
        before.next().expect("a look").new.push(token);
    }
}

/// Of those that were on their way, the one that is there.
fn is_recovered(transfer: &Transfer) -> bool {
    transfer.answer == Answer::Unanswered && transfer.token.is_multiple_of(2)
}

/// Unique by its place in the trial; odd, but for the one that is there without an answer.
fn token(random: &mut ChaCha8Rng, place: usize) -> Token {
    let low: u32 = random.random();
    ((place as u64 + 1) << 40) | (u64::from(low) << 1) | 1
}

fn drawn(random: &mut ChaCha8Rng, place: usize, node: u8, begun_us: u64) -> Transfer {
    let from = random.random_range(0..ACCOUNTS);
    let begun_us = begun_us + random.random_range(0..500_u64);
    let sent_us = begun_us + random.random_range(50..300_u64);
    Transfer {
        token: token(random, place),
        from,
        to: (from + random.random_range(1..ACCOUNTS)) % ACCOUNTS,
        amount: random.random_range(1..=50),
        node,
        begun_us,
        commit_us: Some(sent_us),
        ended_us: sent_us + random.random_range(50..3_000_u64),
        answer: Answer::Acknowledged,
    }
}

fn before(random: &mut ChaCha8Rng) -> Vec<Transfer> {
    let count = random.random_range(10..20_usize);
    let mut all: Vec<Transfer> = (0..count)
        .map(|place| drawn(random, place, 0, 2_000 * place as u64))
        .collect();
    let refused = &mut all[random.random_range(3..8_usize)];
    refused.answer = Answer::Refused;
    if random.random_bool(0.5) {
        refused.commit_us = None;
    }
    for place in count..count + 2 {
        let mut open = drawn(random, place, 0, BLOW_US - 1_000);
        open.answer = Answer::Unanswered;
        open.ended_us = BLOW_US + 20_000;
        all.push(open);
    }
    all[count].token -= 1;
    all
}

fn after(random: &mut ChaCha8Rng, writer: u8, place: usize) -> Vec<Transfer> {
    let count = random.random_range(3..6_usize);
    let begun_us = |number: usize| BACK_US + 2_000 * number as u64;
    (0..count)
        .map(|number| drawn(random, place + number, writer, begun_us(number)))
        .collect()
}

fn steps(setting: Setting, count: usize) -> Vec<Done> {
    let (writer, _) = setting.left();
    let all = [
        (BLOW_US, BLOW_US + 1_000, 0),
        (BACK_US - 10_000, BACK_US - 1_000, writer),
    ];
    let done = |(step, (begun_us, ended_us, node)): (usize, (u64, u64, u8))| Done {
        step,
        begun_us,
        ended_us,
        nodes: vec![node],
        bite: Some(true),
        ..Done::default()
    };
    all.into_iter().take(count).enumerate().map(done).collect()
}

fn candidates(setting: Setting) -> Vec<Candidate> {
    let candidate = |node: u8| Candidate {
        node,
        received: 20 - u64::from(node),
        executed: 10,
        is_chosen: node == 1,
    };
    match setting {
        Setting::Promoted | Setting::Unpromised => vec![candidate(1), candidate(2)],
        Setting::Killed | Setting::Elected => vec![],
    }
}

/// Readers that show all that has been acknowledged, as long as their node answers.
fn readers(setting: Setting, there: &[Transfer]) -> Vec<Reader> {
    let nodes: &[u8] = match setting {
        Setting::Killed => &[0],
        _ => &[0, 1],
    };
    let reader = |node: &u8| {
        let is_dead = |us: u64| match (setting, *node) {
            (Setting::Killed, _) => (BLOW_US..BACK_US).contains(&us),
            (_, 0) => us >= BLOW_US,
            _ => false,
        };
        let mut shown: BTreeSet<Token> = BTreeSet::new();
        let look = |number: u64| {
            let begun_us = 4_000 * number;
            let is_new = |it: &&Transfer| {
                let is_recovered = it.answer == Answer::Unanswered && begun_us >= BACK_US;
                let is_told = it.answer == Answer::Acknowledged && it.ended_us <= begun_us;
                (is_recovered || is_told) && !shown.contains(&it.token)
            };
            let new = there.iter().filter(is_new).map(|it| it.token);
            let new: Vec<Token> = new.filter(|_| !is_dead(begun_us)).collect();
            shown.extend(&new);
            Look {
                begun_us,
                ended_us: (!is_dead(begun_us)).then_some(begun_us + 200),
                new,
                gone: vec![],
            }
        };
        Reader {
            node: *node,
            looks: (1..25).map(look).collect(),
            ..Reader::default()
        }
    };
    nodes.iter().map(reader).collect()
}
