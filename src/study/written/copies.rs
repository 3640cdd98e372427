//! The keys of modes whose volume is copied block by block: `mirror` and `quorum`.

use std::time::Duration;

use super::defaults::for_modes;
use super::walk::{Node, Table};
use crate::study::mode::COPY_TIMEOUT;
use crate::study::{Ack, Mode, WhenShort, limits, units};

/// Copies of a quorum's volume, if the study does not say: two in each of three sites.
const DEFAULT_COPIES: u32 = 6;
/// Copies of a mirrored volume, the writer's own among them.
const MIRROR_COPIES: u32 = 2;

const COPIED: &[&str] = &["mirror", "quorum"];
const MIRROR: &[&str] = &["mirror"];
const QUORUM: &[&str] = &["quorum"];

const ACKS: [(&str, Ack); 3] = [
    ("write", Ack::Write),
    ("flush", Ack::Flush),
    ("protocol-c", Ack::ProtocolC),
];
const WHEN_SHORT: [(&str, WhenShort); 3] = [
    ("block", WhenShort::Block),
    ("degrade", WhenShort::Degrade),
    ("error", WhenShort::Error),
];

/// What the keys say, or their defaults.
pub struct Copies {
    /// Nodes that hold a copy; `None` for other modes.
    pub nodes: Option<u32>,
    copies: u32,
    write_quorum: u32,
    ack: Ack,
    when_short: WhenShort,
    timeout: Duration,
}

/// Reads the keys. In other modes each of them is a mistake.
pub fn read(table: &Table<'_>, kind: Option<&str>, sites: &[String]) -> Copies {
    let ack = for_modes(table, "ack", kind, COPIED);
    let when_short = for_modes(table, "when_short", kind, MIRROR);
    let (copies, write_quorum) = quorum(table, kind);
    // In which modes it is none is told where semi-sync's is read.
    let timeout = table.get("timeout").filter(|_| kind == Some("mirror"));
    let nodes = kind
        .filter(|kind| COPIED.contains(kind))
        .map(|kind| nodes(table, kind, copies, sites));
    Copies {
        nodes,
        copies,
        write_quorum,
        ack: ack
            .and_then(|node| ack_of(&node, kind))
            .unwrap_or(Ack::Write),
        when_short: when_short
            .and_then(|node| node.one_of(&WHEN_SHORT))
            .unwrap_or(WhenShort::Block),
        timeout: timeout
            .and_then(|node| node.time(limits::COPY_TIMEOUT))
            .unwrap_or(COPY_TIMEOUT),
    }
}

/// DRBD's rule has one peer; with several, what W of N hold would not be what was acknowledged.
fn ack_of(node: &Node<'_>, kind: Option<&str>) -> Option<Ack> {
    let acks = if kind == Some("quorum") {
        &ACKS[..2]
    } else {
        &ACKS
    };
    node.one_of(acks)
}

/// How many copies there are, and how many must hold what is acknowledged.
fn quorum(table: &Table<'_>, kind: Option<&str>) -> (u32, u32) {
    let given = for_modes(table, "copies", kind, QUORUM);
    let copies = given.and_then(|node| node.count(limits::COPIES));
    let copies = copies
        .or_else(|| nodes_given(table, kind))
        .unwrap_or(DEFAULT_COPIES);
    let write_quorum = for_modes(table, "write_quorum", kind, QUORUM);
    let write_quorum = write_quorum.and_then(|node| at_most(&node, copies));
    (copies, write_quorum.unwrap_or(copies / 2 + 1))
}

/// A quorum of so many nodes has as many copies. Whether they are too many is told elsewhere.
fn nodes_given(table: &Table<'_>, kind: Option<&str>) -> Option<u32> {
    let node = table.get("nodes").filter(|_| kind == Some("quorum"))?;
    let nodes = node
        .as_integer()
        .and_then(|nodes| u64::try_from(nodes).ok());
    let nodes = nodes.filter(|nodes| limits::COPIES.holds(*nodes))?;
    u32::try_from(nodes).ok()
}

fn at_most(node: &Node<'_>, copies: u32) -> Option<u32> {
    let count = node.integer()?;
    if !(1..=i64::from(copies)).contains(&count) {
        node.wrong(&format!("must be from 1 to {copies}, the number of copies"));
        return None;
    }
    u32::try_from(count).ok()
}

/// Each node holds one copy.
fn nodes(table: &Table<'_>, kind: &str, copies: u32, sites: &[String]) -> u32 {
    if (sites.len() as u64) < limits::NODES.low {
        table.wrong(
            "",
            "needs at least two sites, for its copies stand in different ones",
        );
    }
    let given = table.get("nodes");
    if kind == "mirror" {
        let only = u64::from(MIRROR_COPIES);
        given.and_then(|node| node.count(limits::Range::new(only, only)));
        return MIRROR_COPIES;
    }
    let Some(nodes) = given.as_ref().and_then(|node| node.count(limits::COPIES)) else {
        return copies;
    };
    match table.get("copies") {
        Some(node) if copies > nodes => node.wrong(&format!(
            "must be at most {nodes}, the number of nodes: each holds one copy"
        )),
        _ if copies < nodes => given.iter().for_each(|node| {
            node.wrong(&format!(
                "must be {copies}, the number of copies: each node holds one"
            ))
        }),
        _ => {}
    }
    copies
}

impl Copies {
    /// The mode `mirror`.
    pub fn mirror(&self) -> Mode {
        Mode::Mirror {
            ack: self.ack,
            when_short: self.when_short,
            timeout: self.timeout,
        }
    }

    /// The mode `quorum`.
    pub fn quorum(&self) -> Mode {
        Mode::Quorum {
            copies: self.copies,
            write_quorum: self.write_quorum,
            ack: self.ack,
        }
    }
}

/// What a default label says beside server and mode.
pub fn words(mode: &Mode) -> Vec<String> {
    let ack = |ack: Ack| (ack != Ack::Write).then(|| ack.word().to_owned());
    match *mode {
        Mode::Mirror {
            ack: waits,
            when_short,
            timeout,
        } => {
            let short = when_short != WhenShort::Block;
            let short = short.then(|| when_short.word().to_owned());
            let words = ack(waits).into_iter().chain(short);
            let own =
                (timeout != COPY_TIMEOUT).then(|| format!("timeout {}", units::show(timeout)));
            words.chain(own).collect()
        }
        Mode::Quorum {
            copies,
            write_quorum,
            ack: waits,
        } => {
            let quorum = format!("{write_quorum}/{copies}");
            [quorum].into_iter().chain(ack(waits)).collect()
        }
        _ => vec![],
    }
}
