//! A client: one transfer after the other, each sent once.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use super::draw::{Drawing, Drawn};
use super::find::{Finder, Found, Question};
use super::memory::{Memory, Slot};
use super::plan::{ClientsPlan, us};
use super::sql;
use super::talk::{Next, Talk};
use crate::load::wire::rows::fields;
use crate::record::history::{Answer, UNKNOWN_NODE};
use crate::study::faults::Writing;

/// Errors in answer to COMMIT that say that the transaction was rolled back, and why that is sure:
/// "InnoDB Error Handling" and "Server Error Message Reference" in the MySQL Reference Manual, and
/// "Galera Cluster: Certification-Based Replication". After any other error the transaction may be
/// there or not: 1180 (`ER_ERROR_DURING_COMMIT`), 1317 (interrupted), 1053 (shutdown), 3100 (the
/// hook of a group), 3101 (a group's certification, but also of a member that is put out while its
/// transaction waits, which the others may have), 1047 (a Galera node that is not ready). Errors
/// that roll back a statement and not its transaction, as 1062 (duplicate key), 1114 (table full)
/// and 1205 (lock wait timeout), say nothing of a COMMIT either.
///
/// Before COMMIT every error is a refusal: none is sent then, and without one nothing is committed.
/// So a deadlock (1213) and a Galera node that is not ready (1047) are no doubt there.
const REFUSALS: [(u16, &str); 3] = [
    (1213, "deadlock, or certification in Galera: rolled back"),
    (1290, "read_only: the commit is refused and rolled back"),
    (1836, "read-only mode: the same"),
];

/// Errors of a node that takes no writes: others may.
const TAKES_NO_WRITES: [(u16, &str); 3] = [
    (1047, "a Galera node that is not ready, or has no quorum"),
    (1290, "read_only or super_read_only"),
    (1836, "read-only mode"),
];

/// Errors for which the next transfer need not wait: others were at the same rows.
const CONFLICTS: [(u16, &str); 4] = [
    (
        1020,
        "MariaDB's snapshot isolation: another has changed what was read",
    ),
    (1205, "lock wait timeout, which was a rest itself"),
    (1213, "deadlock, or certification in Galera"),
    (3101, "certification in a group"),
];

/// One client, as a machine.
pub struct Client {
    nodes: Vec<SocketAddr>,
    /// In place of a node.
    proxy: Option<SocketAddr>,
    finder: Finder,
    drawing: Drawing,
    memory: Arc<Memory>,
    reconnect_us: u64,
    /// Where it is connected to.
    node: Option<u8>,
    phase: Phase,
    drawn: Drawn,
    writing: Writing,
    /// The one value that it was answered.
    told: Option<Vec<u8>>,
    /// Balances that it was answered, by account.
    read: BTreeMap<u16, i64>,
    is_stopping: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Without a connection, or resting.
    Idle,
    Asking(Question),
    Moving(Slot, Statement),
    /// After an error, and whether it rests then.
    RollingBack(bool),
}

/// What was sent of a transfer last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Statement {
    Begin,
    Read,
    Update,
    Insert,
    Commit,
}

impl Client {
    /// The client of that number. The plan has been checked.
    pub fn new(plan: &ClientsPlan, number: u8, memory: Arc<Memory>) -> Self {
        let nodes = u8::try_from(plan.nodes.len()).unwrap_or(UNKNOWN_NODE);
        Client {
            nodes: plan.nodes.clone(),
            proxy: plan.proxy.filter(|_| plan.finding.proxy().is_some()),
            finder: Finder::new(plan.finding, nodes, plan.first_writer),
            drawing: Drawing::new(plan.seed, number, plan.accounts.clone()),
            memory,
            reconnect_us: us(plan.reconnect_every),
            node: None,
            phase: Phase::Idle,
            drawn: Drawn::default(),
            writing: plan.writing,
            told: None,
            read: BTreeMap::new(),
            is_stopping: false,
        }
    }

    fn begin(&mut self, now_us: u64) -> Next {
        self.phase = Phase::Idle;
        if self.is_stopping {
            return Next::End;
        }
        self.drawn = self.drawing.draw();
        let node = self.node.unwrap_or(UNKNOWN_NODE);
        match self.memory.begin(&self.drawn, node, now_us) {
            Some(slot) => self.send(slot, Statement::Begin, sql::BEGIN.to_owned()),
            None => Next::End,
        }
    }

    fn send(&mut self, slot: Slot, statement: Statement, sql: String) -> Next {
        self.phase = Phase::Moving(slot, statement);
        Next::Ask(sql)
    }

    /// What follows a statement that ended well.
    fn moved(&mut self, slot: Slot, statement: Statement, now_us: u64) -> Next {
        match statement {
            Statement::Begin => self.change(slot),
            Statement::Read => match self.were() {
                Some(were) => {
                    self.send(slot, Statement::Update, sql::write_back(&self.drawn, were))
                }
                // Without an account nothing can be moved.
                None => self.refused(slot, statement, (0, now_us)),
            },
            Statement::Update => self.send(slot, Statement::Insert, sql::insert(&self.drawn)),
            Statement::Insert => {
                self.memory.commit(slot, now_us);
                self.send(slot, Statement::Commit, sql::COMMIT.to_owned())
            }
            Statement::Commit => {
                self.memory.end(slot, Answer::Acknowledged, now_us);
                self.begin(now_us)
            }
        }
    }

    /// Begins to change both balances.
    fn change(&mut self, slot: Slot) -> Next {
        let read = |is_locking| sql::select_both(&self.drawn, is_locking);
        let (statement, sql) = match self.writing {
            Writing::InPlace => (Statement::Update, sql::update(&self.drawn)),
            Writing::ReadFirst => (Statement::Read, read(false)),
            Writing::ReadForUpdate => (Statement::Read, read(true)),
        };
        self.read.clear();
        self.send(slot, statement, sql)
    }

    /// The balances that it has read.
    fn were(&self) -> Option<sql::Balances> {
        Some(sql::Balances {
            from: *self.read.get(&self.drawn.from)?,
            to: *self.read.get(&self.drawn.to)?,
        })
    }

    fn refused(&mut self, slot: Slot, statement: Statement, (number, now_us): (u16, u64)) -> Next {
        let answer = match statement {
            Statement::Commit => after_commit(number),
            _ => Answer::Refused,
        };
        self.memory.end(slot, answer, now_us);
        if is_among(&TAKES_NO_WRITES, number) {
            return self.leave();
        }
        self.phase = Phase::RollingBack(!is_among(&CONFLICTS, number));
        Next::Ask(sql::ROLLBACK.to_owned())
    }

    fn asked(&mut self, question: Question, now_us: u64) -> Next {
        let value = self.told.take();
        match self.finder.told(question, value.as_deref()) {
            Found::Here(node) => {
                self.node = node;
                self.begin(now_us)
            }
            Found::Elsewhere => self.leave(),
        }
    }

    fn leave(&mut self) -> Next {
        self.finder.go_on();
        self.phase = Phase::Idle;
        Next::Leave
    }
}

impl Talk for Client {
    fn target(&self) -> SocketAddr {
        let node = self.nodes[usize::from(self.finder.at())];
        self.proxy.unwrap_or(node)
    }

    fn ready(&mut self, now_us: u64) -> Next {
        self.told = None;
        self.node = Some(self.finder.at());
        match self.finder.question() {
            Some(question) => {
                self.phase = Phase::Asking(question);
                Next::Ask(question.sql().to_owned())
            }
            None => self.begin(now_us),
        }
    }

    fn row(&mut self, row: &[u8]) {
        match self.phase {
            Phase::Moving(..) => self.read.extend(balance(row)),
            _ => self.told = fields::<1>(row).map(|[value]| value.to_vec()),
        }
    }

    fn well(&mut self, now_us: u64) -> Next {
        match self.phase {
            Phase::Idle | Phase::RollingBack(false) => self.begin(now_us),
            Phase::Asking(question) => self.asked(question, now_us),
            Phase::Moving(slot, statement) => self.moved(slot, statement, now_us),
            Phase::RollingBack(true) => {
                self.phase = Phase::Idle;
                Next::Rest(now_us + self.reconnect_us)
            }
        }
    }

    fn failed(&mut self, number: u16, now_us: u64) -> Next {
        match self.phase {
            Phase::Moving(slot, statement) => self.refused(slot, statement, (number, now_us)),
            _ => self.leave(),
        }
    }

    fn rested(&mut self, now_us: u64) -> Next {
        self.begin(now_us)
    }

    fn lost(&mut self, now_us: u64) {
        if let Phase::Moving(slot, statement) = self.phase {
            let answer = match statement {
                Statement::Commit => Answer::Unanswered,
                // The server rolls back with the connection.
                _ => Answer::Refused,
            };
            self.memory.end(slot, answer, now_us);
        }
        self.leave();
    }

    fn stop(&mut self) {
        self.is_stopping = true;
    }

    fn is_at_work(&self) -> bool {
        matches!(self.phase, Phase::Moving(..))
    }
}

/// A row of [`sql::select_both`].
fn balance(row: &[u8]) -> Option<(u16, i64)> {
    let [account, balance] = fields::<2>(row)?.map(|field| std::str::from_utf8(field).ok());
    Some((account?.parse().ok()?, balance?.parse().ok()?))
}

/// What an error in answer to COMMIT tells.
fn after_commit(number: u16) -> Answer {
    match is_among(&REFUSALS, number) {
        true => Answer::Refused,
        false => Answer::Unanswered,
    }
}

fn is_among(errors: &[(u16, &str)], number: u16) -> bool {
    errors.iter().any(|(known, _)| *known == number)
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::example;
    use super::*;
    use crate::lab::link::realtime::now_ns;
    use crate::record::history::Transfer;
    use crate::study::faults::Finding;

    fn client(plan: &ClientsPlan) -> (Client, Arc<Memory>) {
        let memory = Arc::new(Memory::create(plan.slots, 0, now_ns()).unwrap().1);
        (Client::new(plan, 0, Arc::clone(&memory)), memory)
    }

    /// One that has no questions.
    fn staying() -> (Client, Arc<Memory>) {
        client(&ClientsPlan {
            finding: Finding::Staying,
            ..example(3)
        })
    }

    fn first_word(next: &Next) -> &str {
        match next {
            Next::Ask(sql) => sql.split(' ').next().unwrap_or_default(),
            Next::Rest(_) => "(rest)",
            Next::Leave => "(leave)",
            Next::End => "(end)",
        }
    }

    /// Lets everything end well, µs by µs, until that is said next.
    fn until(client: &mut Client, word: &str, now_us: &mut u64) -> Next {
        let mut next = Next::Ask(String::new());
        while first_word(&next) != word {
            *now_us += 1;
            next = client.well(*now_us);
        }
        next
    }

    fn one(memory: &Memory) -> Transfer {
        let transfers = memory.transfers(1_000_000);
        assert_eq!(transfers.len(), 1);
        transfers[0]
    }

    #[test]
    fn a_transfer_is_noted_before_it_is_sent_and_before_the_next() {
        let (mut client, memory) = staying();
        assert_eq!(client.ready(10), Next::Ask("BEGIN".into()));
        assert_eq!((one(&memory).begun_us, memory.in_flight()), (10, 0));
        assert!(client.is_at_work());
        assert_eq!(first_word(&client.well(11)), "UPDATE");
        let Next::Ask(insert) = client.well(12) else {
            panic!("no insert");
        };
        let token = one(&memory).token;
        assert!(insert.ends_with(&format!("'{token:016x}')")), "{insert}");
        assert_eq!(one(&memory).commit_us, None);
        assert_eq!(client.well(13), Next::Ask("COMMIT".into()));
        assert_eq!((one(&memory).commit_us, memory.in_flight()), (Some(13), 1));
        assert_eq!(client.well(14), Next::Ask("BEGIN".into()));
        let transfers = memory.transfers(99);
        assert_eq!(transfers.len(), 2);
        let told = (transfers[0].answer, transfers[0].ended_us);
        assert_eq!(told, (Answer::Acknowledged, 14));
        assert_eq!((memory.newest(), memory.in_flight()), (Some((14, 0)), 0));
        assert_ne!(transfers[1].token, token);
    }

    #[test]
    fn what_is_read_first_is_written_back_with_the_amount() {
        for (writing, lock) in [(Writing::ReadFirst, false), (Writing::ReadForUpdate, true)] {
            let (mut client, memory) = client(&ClientsPlan {
                finding: Finding::Staying,
                writing,
                ..example(1)
            });
            client.ready(1);
            let Next::Ask(select) = client.well(2) else {
                panic!("nothing is read");
            };
            assert_eq!(select.ends_with(" FOR UPDATE"), lock, "{select}");
            let transfer = one(&memory);
            for account in [transfer.from, transfer.to] {
                let account = account.to_string();
                let row: [&[u8]; 4] =
                    [&[account.len() as u8], account.as_bytes(), b"\x04", b"1000"];
                client.row(&row.concat());
            }
            let Next::Ask(update) = client.well(3) else {
                panic!("nothing is written");
            };
            let expected = format!(
                "UPDATE accounts SET balance = CASE id WHEN {} THEN {} ELSE {} END",
                transfer.from,
                1_000 - transfer.amount,
                1_000 + transfer.amount
            );
            assert!(update.starts_with(&expected), "{update}");
            assert_eq!(first_word(&client.well(4)), "INSERT");
            // What was read for one transfer is none of the next's.
            let mut now_us = 4;
            until(&mut client, "SELECT", &mut now_us);
            assert_eq!(client.well(99), Next::Ask("ROLLBACK".into()));
            let last = memory.transfers(100);
            assert_eq!(last.last().map(|it| it.answer), Some(Answer::Refused));
        }
    }

    #[test]
    fn what_is_lost_is_refused_before_its_commit_and_unanswered_after_it() {
        let cases = [
            ("UPDATE", Answer::Refused),
            ("INSERT", Answer::Refused),
            ("COMMIT", Answer::Unanswered),
        ];
        for (word, expected) in cases {
            let (mut client, memory) = staying();
            let mut now_us = 1;
            client.ready(now_us);
            until(&mut client, word, &mut now_us);
            client.lost(500);
            let transfer = one(&memory);
            assert_eq!((transfer.answer, transfer.ended_us), (expected, 500));
            assert_eq!(memory.in_flight(), 0);
            // Nothing is sent twice.
            let token = transfer.token;
            client.ready(600);
            assert_ne!(memory.transfers(700)[1].token, token);
        }
    }

    /// A row that is there after such an error is no phantom.
    #[test]
    fn only_errors_that_guarantee_a_rollback_are_refusals_of_a_commit() {
        for (number, why) in REFUSALS {
            assert_eq!(after_commit(number), Answer::Refused, "{number}: {why}");
        }
        for number in [1047, 1053, 1062, 1105, 1114, 1180, 1205, 1317, 3100, 9_999] {
            assert_eq!(after_commit(number), Answer::Unanswered, "{number}");
        }
    }

    #[test]
    fn any_error_before_the_commit_is_a_refusal() {
        for number in [1047, 1062, 1180, 1213, 1317, 3100] {
            let (mut client, memory) = staying();
            let mut now_us = 1;
            client.ready(now_us);
            until(&mut client, "INSERT", &mut now_us);
            client.failed(number, 100);
            let transfer = one(&memory);
            let told = (transfer.answer, transfer.commit_us, transfer.ended_us);
            assert_eq!(told, (Answer::Refused, None, 100), "{number}");
        }
    }

    #[test]
    fn after_an_error_it_rolls_back_and_rests_unless_it_was_a_conflict() {
        for (number, rests) in [(1213, false), (3101, false), (1180, true), (1114, true)] {
            let (mut client, memory) = staying();
            let mut now_us = 1;
            client.ready(now_us);
            until(&mut client, "COMMIT", &mut now_us);
            assert_eq!(client.failed(number, 100), Next::Ask("ROLLBACK".into()));
            assert!(!client.is_at_work(), "its outcome is known");
            let next = client.well(101);
            match rests {
                true => {
                    assert_eq!(next, Next::Rest(101 + 100_000));
                    assert_eq!(memory.transfers(102).len(), 1);
                    assert_eq!(client.rested(100_101), Next::Ask("BEGIN".into()));
                }
                false => assert_eq!(next, Next::Ask("BEGIN".into())),
            }
            assert_eq!(memory.transfers(102).len(), 2);
        }
    }

    #[test]
    fn who_asks_stays_where_writes_are_taken_and_goes_on_where_they_are_not() {
        let (mut client, memory) = client(&example(3));
        let node = |last| SocketAddr::from(([198, 18, 0, last], 3306));
        let question = Next::Ask("SELECT @@GLOBAL.read_only".into());
        assert_eq!(client.target(), node(0));
        assert_eq!(client.ready(1), question);
        client.row(b"\x011");
        assert_eq!((client.well(2), client.target()), (Next::Leave, node(1)));
        // Galera, without a quorum.
        assert_eq!(client.ready(3), question);
        let failed = client.failed(1047, 4);
        assert_eq!((failed, client.target()), (Next::Leave, node(2)));
        // One that closes at once.
        client.lost(5);
        assert_eq!((client.target(), memory.transfers(5).len()), (node(0), 0));
        assert_eq!(client.ready(6), question);
        client.row(b"\x010");
        assert_eq!(client.well(7), Next::Ask("BEGIN".into()));
        assert_eq!(one(&memory).node, 0);
        // It takes none any more.
        client.well(8);
        let failed = client.failed(1290, 9);
        assert_eq!((failed, client.target()), (Next::Leave, node(1)));
        assert_eq!(one(&memory).answer, Answer::Refused);
        // An answer of before is none to the next question.
        assert_eq!((client.ready(10), client.well(11)), (question, Next::Leave));
    }

    #[test]
    fn a_list_is_tried_by_transfers() {
        let (mut client, memory) = client(&ClientsPlan {
            finding: Finding::List,
            first_writer: 2,
            ..example(3)
        });
        for (number, node) in [(1290, 2), (1836, 0), (1047, 1)] {
            assert_eq!(client.target(), example(3).nodes[node]);
            assert_eq!(client.ready(1), Next::Ask("BEGIN".into()));
            client.well(2);
            assert_eq!(client.failed(number, 3), Next::Leave);
        }
        client.ready(4);
        let mut now_us = 4;
        until(&mut client, "COMMIT", &mut now_us);
        assert_eq!(client.well(9), Next::Ask("BEGIN".into()));
        let nodes: Vec<u8> = memory.transfers(10).iter().map(|one| one.node).collect();
        assert_eq!(nodes, [2, 0, 1, 2, 2]);
        assert_eq!(memory.newest(), Some((9, 2)));
    }

    #[test]
    fn behind_a_proxy_it_asks_who_is_there() {
        let proxy = SocketAddr::from(([198, 18, 0, 9], 6446));
        let plan = ClientsPlan {
            finding: Finding::Proxy,
            proxy: Some(proxy),
            ..example(3)
        };
        for (row, node) in [(&b"\x013"[..], 2), (b"\x019", UNKNOWN_NODE)] {
            let (mut client, memory) = client(&plan);
            assert_eq!(client.target(), proxy);
            client.ready(1);
            client.row(row);
            assert_eq!(client.well(2), Next::Ask("BEGIN".into()));
            assert_eq!(one(&memory).node, node);
            client.lost(3);
            assert_eq!(client.target(), proxy);
        }
    }

    #[test]
    fn one_that_is_stopped_ends_its_transfer_and_begins_none() {
        let (mut client, memory) = staying();
        client.ready(1);
        client.stop();
        let mut now_us = 1;
        assert_eq!(until(&mut client, "(end)", &mut now_us), Next::End);
        assert_eq!(one(&memory).answer, Answer::Acknowledged);
    }

    #[test]
    fn without_a_slot_it_ends() {
        let (mut client, memory) = client(&ClientsPlan {
            slots: 1,
            finding: Finding::Staying,
            ..example(1)
        });
        client.ready(1);
        let mut now_us = 1;
        assert_eq!(until(&mut client, "(end)", &mut now_us), Next::End);
        assert!(memory.is_full() && one(&memory).answer == Answer::Acknowledged);
    }
}
