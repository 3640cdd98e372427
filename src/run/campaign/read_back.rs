//! What serves at the end, and what other nodes hold.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::stage::{Stage, TRANSFERS, byte};
use crate::error::{Error, Result, Tried, breakdown};
use crate::lab::Lab;
use crate::lab::mode::Gtids;
use crate::lab::mode::component::Component;
use crate::lab::mode::members::{State, View};
use crate::lab::mode::{faults, regroup};
use crate::lab::node::{Node, pause};
use crate::lab::servers::datadir::{DATABASE, USER};
use crate::lab::sql;
use crate::load::ledgers::{select_balances, select_transfers};
use crate::observe::binary_log;
use crate::record::history::{Held, Row, Token};
use crate::record::trials::{Delivered, Trial};
use crate::study::mode::Family;

/// How long members may take until all have applied what any of them has, and have come to rest.
const LEVEL_LIMIT: Duration = Duration::from_secs(120);
/// A member that executes nothing for so long rests.
const REST: Duration = Duration::from_millis(100);
/// How long clients' sessions at members may take to end: a COMMIT may wait until a member is put
/// out.
const MEMBERS_SESSIONS_LIMIT: Duration = Duration::from_secs(60);
/// How long a cluster may take until all of its members are whole.
const WHOLE_LIMIT: Duration = Duration::from_secs(30);
/// How long a replica may take to come level with the writer: one that does not is not held
/// against it.
const REPLICA_LIMIT: Duration = Duration::from_secs(5);
/// How long a client's session may take to end after its client: the binary log of a server where
/// one is still at work is not held against its tables.
const SESSIONS_LIMIT: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(20);
/// Whether rows stand in a server's binary log as they can be read.
const HAS_ROWS_LOGGED: &str = "SELECT @@GLOBAL.log_bin = 1 AND @@GLOBAL.binlog_format = 'ROW'";

/// Reads all nodes whose servers answer, into a trial: those that serve, and others. These first:
/// what a replica has then its source has later, too.
///
/// # Errors
/// A breakdown if members do not come to hold the same; [`Error::Interrupted`] if the user asked to
/// stop. A node that cannot be read is none: it is told.
pub fn read_back(stage: &mut Stage<'_, '_>, trial: &mut Trial) -> Result<()> {
    let serving = serving(stage)?;
    wait_level(stage, &serving)?;
    for i in 0..stage.count() {
        if !serving.contains(&i) && stage.lab().nodes[i].answers() {
            trial.others.push(held(stage, i, serving.first().copied())?);
        }
    }
    let before = logged(stage, &serving)?;
    for &i in &serving {
        trial.serving.push(held(stage, i, None)?);
    }
    if stage.family() == Family::Replication {
        note_ahead(trial);
    }
    let after = logged(stage, &serving)?;
    trial.logged = before.zip(after).map(|(before, after)| {
        let sent = trial.history.transfers.iter().map(|it| it.token).collect();
        let held = trial.serving.iter().flat_map(|held| &held.rows);
        at_one_moment(&before, after, &sent, &held.map(|row| row.token).collect())
    });
    Ok(())
}

/// What replicas have by their GTIDs, and nobody who serves: these were read later.
fn note_ahead(trial: &mut Trial) {
    let serving = trial.serving.iter().map(|held| &held.executed[..]);
    let serving: Vec<&str> = serving.collect();
    for held in &mut trial.others {
        held.ahead = match held.unread {
            None => Gtids::ahead(&held.executed, &serving),
            Some(_) => None,
        };
    }
}

/// A log as it was when rows were read. It was read before them and after: what came into it in
/// between may have come to be seen too late, and what stands in it of other trials is not told.
fn at_one_moment(
    before: &Delivered,
    mut after: Delivered,
    sent: &BTreeSet<Token>,
    held: &BTreeSet<Token>,
) -> Delivered {
    let before: BTreeSet<Token> = before.tokens.iter().copied().collect();
    let is_told =
        |token: &Token| held.contains(token) || sent.contains(token) && before.contains(token);
    after.tokens.retain(is_told);
    after
}

/// What the binary log of the only server holds. `None` without one of rows, and while a client's
/// session is at work: a COMMIT that nobody waits for any more may stand in the log alone.
fn logged(stage: &mut Stage<'_, '_>, serving: &[usize]) -> Result<Option<Delivered>> {
    let (&[i], true) = (serving, stage.subject.spec.mode.has_one_server()) else {
        return Ok(None);
    };
    let node = &mut stage.lab().nodes[i];
    let has_rows = node.value(HAS_ROWS_LOGGED)?.as_deref() == Some("1");
    if !has_rows || !clients_have_gone(node, SESSIONS_LIMIT)? {
        return Ok(None);
    }
    binary_log::logged(byte(i), &node.data(), TRANSFERS).map(Some)
}

/// Waits a while for it. Not by a table of sessions, which a server may write to its disk.
///
/// A session that rests is ended: across links that were cut for a minute its client's last word
/// may take another minute, and one that came late would change what is being read.
fn clients_have_gone(node: &mut Node, limit: Duration) -> Result<bool> {
    let begun = Instant::now();
    loop {
        let sessions = node.rows("SHOW PROCESSLIST")?;
        let clients = sessions.iter().filter(|it| said(it, "User") == USER);
        let clients: Vec<&sql::Row> = clients.collect();
        if clients.is_empty() {
            return Ok(true);
        }
        if begun.elapsed() > limit {
            return Ok(false);
        }
        let rests = |it: &&sql::Row| said(it, "Command") == "Sleep";
        for session in clients.into_iter().filter(rests) {
            // It may have ended by itself meanwhile.
            node.refusal_of(&format!("KILL {}", said(session, "Id")))?;
        }
        pause(STEP)?;
    }
}

/// The nodes whose state is the database's: nobody, where nobody takes writes.
fn serving(stage: &mut Stage<'_, '_>) -> Result<Vec<usize>> {
    match stage.family() {
        Family::Group => {
            let writer = stage.writer();
            Ok(group_of(&regroup::views(stage.lab()), writer))
        }
        Family::Galera => cluster(stage),
        _ => {
            let writer = stage.state.writer;
            let answers = stage.lab().nodes[writer].answers();
            Ok(answers.then_some(writer).into_iter().collect())
        }
    }
}

/// The members that are ONLINE in the group of whoever writes; of another that goes on where that
/// one is in none.
fn group_of(views: &[View], writer: usize) -> Vec<usize> {
    let able = || views.iter().filter(|view| view.has_majority());
    let of_writer = able().find(|view| view.by == writer);
    let view = of_writer.or_else(|| able().next());
    let members = view.map(|view| view.members.iter());
    let online = members.into_iter().flatten();
    let online = online.filter(|(_, seen)| seen.state == State::Online);
    online.map(|(&node, _)| node).collect()
}

/// Waits a while for all members of the component to be whole, as one that gives its state is not.
fn cluster(stage: &mut Stage<'_, '_>) -> Result<Vec<usize>> {
    let begun = Instant::now();
    loop {
        let writer = stage.writer();
        let (nodes, is_whole) = component_of(&stage.components(), writer);
        if is_whole || begun.elapsed() > WHOLE_LIMIT {
            return Ok(nodes);
        }
        pause(STEP)?;
    }
}

/// The nodes that are synced in the primary component of whoever writes, or in another where that
/// one is in none; and whether these are all that it counts. Of two components of one size nobody
/// says who is in which: then that node alone is taken.
fn component_of(all: &[(usize, Component)], writer: usize) -> (Vec<usize>, bool) {
    let synced = || all.iter().filter(|(_, one)| one.is_synced());
    let of_writer = synced().find(|(i, _)| *i == writer);
    let Some((own, reference)) = of_writer.or_else(|| synced().next()) else {
        return (vec![], false);
    };
    let beside = synced().filter(|(_, one)| one.size == reference.size);
    let beside: Vec<usize> = beside.map(|(i, _)| *i).collect();
    match beside.len() > reference.size {
        true => (vec![*own], true),
        false => {
            let is_whole = beside.len() == reference.size;
            (beside, is_whole)
        }
    }
}

/// Members that serve have all applied what any of them has, and nothing more comes: they are read
/// one after the other.
fn wait_level(stage: &mut Stage<'_, '_>, serving: &[usize]) -> Result<()> {
    if !stage.is_cluster() {
        return Ok(());
    }
    for &i in serving {
        if !clients_have_gone(&mut stage.lab().nodes[i], MEMBERS_SESSIONS_LIMIT)? {
            let tried = format!("see clients' sessions at {} end", stage.names(&[i]));
            let status = format!("not so within {} s", MEMBERS_SESSIONS_LIMIT.as_secs());
            return Err(breakdown(tried, status));
        }
    }
    let begun = Instant::now();
    loop {
        bring_level(stage, serving)?;
        let before = executed(stage, serving)?;
        pause(REST)?;
        if executed(stage, serving)? == before {
            return Ok(());
        }
        if begun.elapsed() > LEVEL_LIMIT {
            let tried = "see members come to rest";
            let status = format!("not so within {} s", LEVEL_LIMIT.as_secs());
            return Err(breakdown(tried, status));
        }
    }
}

fn executed(stage: &mut Stage<'_, '_>, nodes: &[usize]) -> Result<Vec<Gtids>> {
    let of = |&i: &usize| faults::executed(stage.lab(), i);
    nodes.iter().map(of).collect()
}

fn bring_level(stage: &mut Stage<'_, '_>, serving: &[usize]) -> Result<()> {
    for &i in serving {
        for &other in serving.iter().filter(|other| **other != i) {
            if let Some(words) = faults::level(stage.lab(), i, other, LEVEL_LIMIT)? {
                let tried = format!("see {} level with the others", stage.names(&[i]));
                return Err(breakdown(tried, words));
            }
        }
        wait_applied(stage, i)?;
    }
    Ok(())
}

fn wait_applied(stage: &mut Stage<'_, '_>, i: usize) -> Result<()> {
    let begun = Instant::now();
    loop {
        let behind = faults::behind(stage.lab(), i)?;
        if behind == 0 {
            return Ok(());
        }
        if begun.elapsed() > LEVEL_LIMIT {
            let tried = format!("see {} apply what it has received", stage.names(&[i]));
            return Err(breakdown(tried, format!("it lacks {behind} transactions")));
        }
        pause(STEP)?;
    }
}

/// What node `i` holds, or why that cannot be read; of a replica also whether it was level with the
/// node that it may follow.
fn held(stage: &mut Stage<'_, '_>, i: usize, follows: Option<usize>) -> Result<Held> {
    let mut held = Held {
        node: byte(i),
        ..Held::default()
    };
    match read(stage.lab(), i, follows, &mut held) {
        Err(Error::Breakdown(told)) => held.unread = Some(told.to_string()),
        told => told?,
    }
    Ok(held)
}

fn read(lab: &mut Lab, i: usize, follows: Option<usize>, held: &mut Held) -> Result<()> {
    if let Some(writer) = follows {
        held.is_level = faults::is_level_replica(lab, i, writer, REPLICA_LIMIT)?;
    }
    let node = &mut lab.nodes[i];
    if held.is_level {
        for statement in COMMITS_END {
            node.run(statement)?;
        }
    }
    for statement in calm(lab.spec.family) {
        node.run(statement)?;
    }
    for statement in ONE_MOMENT {
        // Where it is refused, rows and balances can be read all the same.
        node.refusal_of(statement)?;
    }
    let rows = node.rows(&select_transfers(DATABASE))?;
    let balances = node.rows(&select_balances(DATABASE))?;
    node.refusal_of("COMMIT")?;
    held.rows = rows.iter().map(transfer).collect::<Result<_>>()?;
    let balance = |row: &sql::Row| number(row, "balance");
    held.balances = balances.iter().map(balance).collect::<Result<_>>()?;
    let check = format!("CHECK TABLE {DATABASE}.accounts, {DATABASE}.transfers");
    // One that cannot be checked can be read all the same.
    held.tables_ok = node.rows(&check).ok().map(|rows| are_ok(&rows));
    held.executed = faults::executed_text(lab, i)?;
    Ok(())
}

/// The lock is given when all commits that are under way have ended. Without it a level replica of
/// MySQL 5.6 lacked a row in each of some trials: it says that it has executed what cannot be read
/// yet.
const COMMITS_END: [&str; 2] = ["FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"];

/// Rows and balances are of one moment. Without that they would not fit where a commit ends between
/// them: of a replica that still applies, or of a client who has gone and left its COMMIT waiting.
const ONE_MOMENT: [&str; 2] = [
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
];

/// What is run first, so that nothing waits for others, who may be gone: neither for a group, at
/// whatever level its sessions are, nor for a cluster, also at a node outside of it.
fn calm(family: Family) -> &'static [&'static str] {
    match family {
        Family::Group => &["SET SESSION group_replication_consistency = 'EVENTUAL'"],
        Family::Galera => &[
            "SET SESSION wsrep_sync_wait = 0",
            "SET SESSION wsrep_dirty_reads = ON",
        ],
        _ => &[],
    }
}

/// Nothing, where there is no such column.
fn said<'r>(row: &'r sql::Row, column: &str) -> &'r str {
    row.get(column).map_or("", String::as_str)
}

fn transfer(row: &sql::Row) -> Result<Row> {
    let token = said(row, "token");
    Ok(Row {
        token: Token::from_str_radix(token, 16).tried(|| unreadable("token", token))?,
        from: number(row, "debit")?,
        to: number(row, "credit")?,
        amount: number(row, "amount")?,
    })
}

fn number<N: std::str::FromStr<Err = std::num::ParseIntError>>(
    row: &sql::Row,
    column: &str,
) -> Result<N> {
    let text = said(row, column);
    text.parse::<N>().tried(|| unreadable(column, text))
}

fn unreadable(column: &str, text: &str) -> String {
    format!("read the ledger, whose {column} is `{text}`")
}

/// What a server answers to CHECK TABLE: a line with the status of each table, and others with what
/// is wrong.
fn are_ok(rows: &[sql::Row]) -> bool {
    let kind = |row: &sql::Row| said(row, "Msg_type").to_lowercase();
    let mut statuses = Vec::new();
    for row in rows {
        match &kind(row)[..] {
            "status" => statuses.push(said(row, "Msg_text")),
            "error" => return false,
            _ => {}
        }
    }
    !statuses.is_empty() && statuses.iter().all(|text| *text == "OK")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::mode::members::Seen;

    fn row(fields: &[(&str, &str)]) -> sql::Row {
        let fields = fields.iter();
        fields
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn rows_are_read_and_what_is_none_is_told() {
        let whole = [
            ("token", "00ab000000000001"),
            ("debit", "3"),
            ("credit", "63"),
            ("amount", "100"),
        ];
        let read = transfer(&row(&whole)).unwrap();
        let expected = Row {
            token: 0x00ab_0000_0000_0001,
            from: 3,
            to: 63,
            amount: 100,
        };
        assert_eq!(read, expected);
        for (at, wrong) in [(0, "xyz"), (1, "-1"), (2, ""), (3, "1.5")] {
            let mut fields = whole;
            fields[at].1 = wrong;
            let told = transfer(&row(&fields)).unwrap_err().to_string();
            assert!(told.contains(&format!("`{wrong}`")), "{told}");
        }
        assert_eq!(number::<i64>(&row(&[("balance", "-7")]), "balance"), Ok(-7));
    }

    #[test]
    fn tables_are_good_if_each_is_said_to_be() {
        let line = |kind: &str, text: &str| row(&[("Msg_type", kind), ("Msg_text", text)]);
        let (good, note) = (line("status", "OK"), line("note", "whatever"));
        assert!(are_ok(&[good.clone(), note.clone(), good.clone()]));
        assert!(!are_ok(&[note]), "nothing is said");
        let corrupt = line("status", "Corrupt");
        assert!(!are_ok(&[good.clone(), corrupt]));
        assert!(!are_ok(&[good, line("Error", "Table does not exist")]));
    }

    fn view(by: usize, members: &[(usize, State)]) -> View {
        let seen = |(node, state): &(usize, State)| {
            let seen = Seen {
                state: *state,
                is_primary: *node == by,
            };
            (*node, seen)
        };
        View {
            by,
            members: members.iter().map(seen).collect(),
        }
    }

    #[test]
    fn a_group_is_whoever_is_online_where_the_writer_is() {
        let (online, lost) = (State::Online, State::Unreachable);
        let whole = view(1, &[(1, online), (2, online), (0, State::Recovering)]);
        assert_eq!(group_of(std::slice::from_ref(&whole), 1), [1, 2]);
        // The writer was cut off, and hears too few.
        let minority = view(0, &[(0, online), (1, lost), (2, lost)]);
        let majority = view(2, &[(1, online), (2, online)]);
        let both = [minority.clone(), majority.clone()];
        assert_eq!(group_of(&both, 0), [1, 2]);
        // It was forced to be a group of its own.
        let forced = [view(0, &[(0, online)]), majority];
        assert_eq!(group_of(&forced, 0), [0]);
        assert!(group_of(&[minority], 0).is_empty());
    }

    fn component(size: usize) -> Component {
        Component {
            state: "Synced".to_owned(),
            is_primary: true,
            is_ready: true,
            size,
            ..Component::default()
        }
    }

    #[test]
    fn a_cluster_is_whole_when_all_that_it_counts_are_synced() {
        let of = |all: &[(usize, Component)]| component_of(all, 0);
        let three = component(3);
        let whole = [(0, three.clone()), (1, three.clone()), (2, three.clone())];
        assert_eq!(of(&whole), (vec![0, 1, 2], true));
        let donor = Component {
            state: "Donor/Desynced".to_owned(),
            ..three
        };
        let giving = [(0, component(3)), (1, donor.clone()), (2, component(3))];
        assert_eq!(of(&giving), (vec![0, 2], false));
        let away = Component {
            is_primary: false,
            ..component(1)
        };
        let parted = [(0, away), (1, component(2)), (2, component(2))];
        assert_eq!(of(&parted), (vec![1, 2], true), "the writer is outside");
        assert_eq!(of(&[(1, donor)]), (vec![], false));
    }

    #[test]
    fn a_log_is_held_against_rows_as_of_one_moment() {
        let log = |tokens: &[Token]| Delivered {
            tokens: tokens.to_vec(),
            ..Delivered::default()
        };
        // 1 is of another trial; 4 was committed while rows were read, 5 after they had been.
        let (before, after) = (log(&[1, 2, 3]), log(&[1, 2, 3, 4, 5]));
        let (sent, held) = ([2, 3, 4, 5].into(), [2, 4].into());
        let told = at_one_moment(&before, after, &sent, &held);
        assert_eq!(told.tokens, [2, 3, 4], "3 is in the log alone");
    }

    #[test]
    fn of_two_clusters_of_one_size_only_the_writer_is_taken() {
        let forked = [(0, component(1)), (1, component(1))];
        assert_eq!(component_of(&forked, 1), (vec![1], true));
        let uneven = [(0, component(1)), (1, component(2)), (2, component(2))];
        assert_eq!(component_of(&uneven, 0), (vec![0], true));
        assert_eq!(component_of(&uneven, 2), (vec![1, 2], true));
    }
}
