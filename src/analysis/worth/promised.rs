//! What acknowledged commits are promised, and what a promise hangs on: plain types.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::history::Transfer;
use crate::study::fault::Durability;
use crate::study::{Flavour, Mode, ModeSpec, Variables, nodes};

/// `sync_relay_log` where nobody says otherwise, in MySQL and MariaDB.
const SYNC_RELAY_LOG: u32 = 10_000;

/// Server variables, and values in upper case, with which a loss of power may leave a page half old
/// and half new, or not there at all ("innodb_doublewrite" and "innodb_flush_method" in the MySQL
/// Reference Manual and the MariaDB documentation).
const TEARS_PAGES: [(&str, &[&str]); 2] = [
    ("innodb_doublewrite", &["OFF", "0", "DETECT_ONLY", "FAST"]),
    (
        "innodb_flush_method",
        &["NOSYNC", "LITTLESYNC", "O_DIRECT_NO_FSYNC"],
    ),
];
/// Words of `wsrep_provider_options` with which two parts of a cluster may both go on ("Galera
/// Parameters" in its documentation).
const PARTS_GO_ON: [&str; 2] = ["pc.ignore_sb", "pc.ignore_quorum"];
/// How much a node counts there; otherwise than alike, a part with fewer nodes may be the whole.
const WEIGHT: &str = "pc.weight";

/// What a promise hangs on. What is not known is taken for what promises less.
#[derive(Debug, Clone, PartialEq)]
pub struct PromiseTerms {
    pub mode: Mode,
    /// The site of each node.
    pub sites: Vec<String>,
    /// As the servers are set: those of the loosest node.
    pub durability: Durability,
    pub has_binary_log: bool,
    /// After so many events a replica flushes its relay log; 0 is never.
    pub sync_relay_log: u32,
    /// Whether a replica that starts anew throws its relay log away, to ask its source again:
    /// `relay_log_recovery` in MySQL, and MariaDB with GTIDs always ("Global Transaction ID" in the
    /// MariaDB documentation: relay logs are deleted when replication starts).
    pub relay_log_recovery: bool,
    /// Whether a replica that dies knows afterwards what it has applied: by GTIDs, and not by a
    /// file of its own.
    pub are_replicas_crash_safe: bool,
    /// Whether a server that comes back is told that it is a replica now: `init_rpl_role = SLAVE`
    /// in MariaDB. Its recovery cuts off its binary log's end where InnoDB does not hold it as
    /// committed (MDEV-21117, MDEV-33465), and with a binary log InnoDB writes that later.
    pub comes_back_as_replica: bool,
    /// Whether a node that loses its power may find pages that are neither old nor new.
    pub may_tear_pages: bool,
    /// Whether parts of a cluster that are cut off from each other may both go on.
    pub may_both_go_on: bool,
}

impl PromiseTerms {
    /// Those of a mode whose writer is set so, as long as nobody knows more of its servers.
    pub fn of(spec: &ModeSpec, sites: &[String], durability: Durability) -> PromiseTerms {
        PromiseTerms {
            mode: spec.mode,
            sites: nodes::sites_of(sites, spec.nodes),
            durability: spec.node_variables.values().fold(durability, loosest),
            has_binary_log: spec.binary_log,
            sync_relay_log: SYNC_RELAY_LOG,
            relay_log_recovery: true,
            are_replicas_crash_safe: false,
            comes_back_as_replica: false,
            may_tear_pages: false,
            may_both_go_on: false,
        }
    }

    /// With the effective variables of each node: the loosest counts.
    pub fn with_settings(
        self,
        flavour: Flavour,
        of_nodes: &BTreeMap<String, Variables>,
    ) -> PromiseTerms {
        let is_mariadb = flavour == Flavour::Mariadb;
        let flush = |of: &Variables| of.get("sync_relay_log")?.parse::<u32>().ok();
        let flushes: Option<Vec<u32>> = of_nodes.values().map(flush).collect();
        let loosest = flushes.into_iter().flatten();
        let loosest = loosest.max_by_key(|events| (*events == 0, *events));
        let says = |of: &Variables, name: &str, words: &[&str]| {
            let value = of.get(name).map(|value| value.to_ascii_uppercase());
            value.is_some_and(|value| words.contains(&&value[..]))
        };
        let all_say = |name: &str, words: &[&str]| {
            !of_nodes.is_empty() && of_nodes.values().all(|of| says(of, name, words))
        };
        let any_says = |(name, words): &(&str, &[&str])| {
            let mut nodes = of_nodes.values();
            nodes.any(|of| says(of, name, words))
        };
        PromiseTerms {
            sync_relay_log: loosest.unwrap_or(SYNC_RELAY_LOG),
            relay_log_recovery: is_mariadb || !all_say("relay_log_recovery", &["OFF", "0"]),
            are_replicas_crash_safe: is_mariadb || all_say("gtid_mode", &["ON", "1"]),
            comes_back_as_replica: any_says(&("init_rpl_role", &["SLAVE", "REPLICA"])),
            may_tear_pages: TEARS_PAGES.iter().any(any_says),
            may_both_go_on: of_nodes.values().any(may_both_go_on),
            ..self
        }
    }

    /// Whether all is flushed before a client is told. With a binary log both logs must be: a
    /// commit that recovery finds in the redo log alone, prepared only, is rolled back. MariaDB's 3
    /// flushes the redo log twice.
    pub fn flushes(&self) -> bool {
        let Durability {
            flush_log,
            sync_binlog,
        } = self.durability;
        matches!(flush_log, 1 | 3) && (sync_binlog == 1 || !self.has_binary_log)
    }
}

fn may_both_go_on(of: &Variables) -> bool {
    let options = of.get("wsrep_provider_options").map_or("", String::as_str);
    let options = options.split(';').filter_map(|one| one.split_once('='));
    let mut options = options.map(|(name, value)| (name.trim(), value.trim()));
    options.any(|(name, value)| match name {
        WEIGHT => value != "1",
        _ => PARTS_GO_ON.contains(&name) && !["false", "no", "0", "off"].contains(&value),
    })
}

/// The looser of each of both logs' settings: what is known, and what a node has of its own.
fn loosest(known: Durability, own: &Variables) -> Durability {
    let value = |name: &str| {
        let found = own.iter().find(|(own, _)| own.replace('-', "_") == name);
        found.and_then(|(_, value)| value.trim().parse::<u32>().ok())
    };
    let flush_log = value("innodb_flush_log_at_trx_commit").unwrap_or(known.flush_log);
    let sync_binlog = value("sync_binlog").unwrap_or(known.sync_binlog);
    // 1 and MariaDB's 3 flush at each commit, 2 hands over, 0 does neither.
    let looseness = |log: &u32| [1, 2, 0].iter().position(|other| other == log);
    let logs = [known.flush_log, flush_log];
    let binlogs = [known.sync_binlog, sync_binlog];
    Durability {
        flush_log: logs.into_iter().max_by_key(looseness).unwrap_or(0),
        sync_binlog: looser_interval(binlogs),
    }
}

/// Of two numbers of writes after which a file is flushed: the greater one, or 0, which is never.
fn looser_interval([one, other]: [u32; 2]) -> u32 {
    match one.min(other) {
        0 => 0,
        _ => one.max(other),
    }
}

/// What is promised of the commits that were acknowledged in a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Promise {
    pub is_given: bool,
    /// Why, or why not.
    pub reason: Reason,
    /// It holds for what was acknowledged before this; µs of the history's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_us: Option<u64>,
    /// Why it ends then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<Reason>,
    /// Nodes whose acknowledgements it does not hold for from some time on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exempt: Vec<Exempt>,
    /// What a reader has seen is promised as well,
    pub covers_reads: bool,
    /// but for what these nodes showed from some time on, when another had taken over.
    #[serde(skip)]
    pub unheeded: Vec<Exempt>,
    /// No node came back short of what others take for granted that it has. Rows twice, torn ones
    /// and balances that do not fit are nobody's right then,
    pub is_whole: bool,
    /// but balances that clients read without a lock and wrote back: that others have written
    /// meanwhile may be overwritten. InnoDB does so at REPEATABLE READ ("Consistent Nonlocking
    /// Reads" in the MySQL Reference Manual).
    pub covers_balances: bool,
    /// No server came back, and none took over: then a replica has what it says it has.
    pub covers_replicas: bool,
    /// Tables and binary log of the only server agree: where all that it acknowledged is promised,
    /// it has flushed both as it had to ("Binary Logging Options" in the MySQL Reference Manual).
    /// One whose disk was full may have gone on without its log (`binlog_error_action`).
    pub covers_log: bool,
    /// It hangs on whether a source or a head went on alone, and when.
    pub hangs_on_alone: bool,
    /// Pages are old or new: a server that refuses its data, and tables that fail their check, are
    /// nobody's right.
    #[serde(skip)]
    pub covers_pages: bool,
}

/// A node that acknowledges, or shows, without a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Exempt {
    pub node: u8,
    /// µs of the history's clock.
    pub from_us: u64,
    pub reason: Reason,
}

impl Promise {
    /// None, for that reason.
    pub fn none(reason: Reason) -> Promise {
        Promise {
            is_given: false,
            reason,
            until_us: None,
            ended_by: None,
            exempt: vec![],
            covers_reads: false,
            unheeded: vec![],
            is_whole: true,
            covers_balances: true,
            covers_log: false,
            covers_replicas: true,
            hangs_on_alone: false,
            covers_pages: true,
        }
    }

    /// Whether it holds for what this node said at that time.
    fn covers(&self, node: u8, at_us: u64) -> bool {
        let in_time = self.until_us.is_none_or(|until_us| at_us < until_us);
        self.is_given && in_time && !is_among(&self.exempt, node, at_us)
    }

    /// Whether it holds for an acknowledged transfer.
    pub fn covers_transfer(&self, transfer: &Transfer) -> bool {
        self.covers(transfer.node, transfer.ended_us)
    }

    /// Whether it holds for what this node has shown by that time.
    pub fn covers_read(&self, node: u8, by_us: u64) -> bool {
        self.covers_reads && self.covers(node, by_us) && !is_among(&self.unheeded, node, by_us)
    }
}

fn is_among(exempt: &[Exempt], node: u8, at_us: u64) -> bool {
    let is_it = |one: &Exempt| one.node == node && one.from_us <= at_us;
    exempt.iter().any(is_it)
}

/// Why a promise is given, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    Untouched,
    HandedOver,
    Flushed,
    ReceivedElsewhere,
    HeldByMajority,
    HeldByAllNodes,
    HeldElsewhere,
    ReceivedByCopy,
    NotHandedOver,
    NotFlushed,
    DiskGone,
    NotReceivedElsewhere,
    ReceiversGone,
    RelayLogNotFlushed,
    RelayLogDropped,
    ChosenMayLack,
    MajorityGone,
    Forced,
    WrongMember,
    CopiesGone,
    NotTheWriter,
    CameBackShort,
    CutOff,
    DiskFull,
    DiskFailed,
    WentAlone,
    Unheard,
    TornPages,
    BothGoOn,
    Unclear,
    NotBuilt,
}

impl Reason {
    /// Whether settings give away what would be promised otherwise.
    pub fn is_of_settings(self) -> bool {
        matches!(self, Reason::TornPages | Reason::BothGoOn)
    }

    /// In a sentence after "promised:" or "not promised:".
    pub fn words(self) -> &'static str {
        match self {
            Reason::Untouched => "nothing is taken from the node that acknowledged it",
            Reason::HandedOver => "each commit is handed to the operating system first",
            Reason::Flushed => "each commit is flushed first, in both logs where there are two",
            Reason::ReceivedElsewhere => "a replica that is left has received each commit",
            Reason::HeldByMajority => "a majority has received each commit",
            Reason::HeldByAllNodes => "all nodes have received each commit",
            Reason::HeldElsewhere => "a copy that is left holds what is flushed",
            Reason::ReceivedByCopy => "a copy that is left has received what is flushed",
            Reason::NotHandedOver => "with flush_log 0 a commit can be in the server's memory only",
            Reason::NotFlushed => "not every commit is flushed first, in both logs",
            Reason::DiskGone => "the only disk that is sure to hold it is gone",
            Reason::NotReceivedElsewhere => "no replica need have received it",
            Reason::ReceiversGone => "the replicas that have received it may all be gone",
            Reason::RelayLogNotFlushed => "a replica's relay log need not have been flushed",
            Reason::RelayLogDropped => "a replica that starts anew throws its relay log away",
            Reason::ChosenMayLack => "another replica than the chosen one may have received it",
            Reason::MajorityGone => "those who have received it may all be gone",
            Reason::Forced => "the members that are left were made the whole by force",
            Reason::WrongMember => "the node that it was begun anew with need not hold it",
            Reason::CopiesGone => "the copies that hold it may all be gone",
            Reason::NotTheWriter => "another node had taken over",
            Reason::CameBackShort => "a node came back without what it had not flushed",
            Reason::CutOff => "a server that comes back as a replica cuts off its binary log's end",
            Reason::DiskFull => "a disk was full",
            Reason::DiskFailed => "a disk failed",
            Reason::WentAlone => "it went on alone",
            Reason::Unheard => "it last said that it was not alone",
            Reason::TornPages => "with these settings a loss of power may tear pages",
            Reason::BothGoOn => "with these settings parts of a cluster may both go on",
            Reason::Unclear => "the record does not tell who took over",
            Reason::NotBuilt => "what takes over from such a mode is not built",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> PromiseTerms {
        let spec = ModeSpec {
            mode: Mode::Async,
            nodes: 2,
            binary_log: true,
            ..ModeSpec::default()
        };
        PromiseTerms::of(&spec, &["a".to_owned()], Durability::STRICT)
    }

    fn with(flavour: Flavour, nodes: &[&[(&str, &str)]]) -> PromiseTerms {
        let of_node = |(index, all): (usize, &&[(&str, &str)])| {
            let all = all.iter();
            let all = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            (index.to_string(), all.collect::<Variables>())
        };
        let of_nodes = nodes.iter().enumerate().map(of_node).collect();
        terms().with_settings(flavour, &of_nodes)
    }

    fn set(flavour: Flavour, nodes: &[&[(&str, &str)]]) -> (u32, bool, bool) {
        let terms = with(flavour, nodes);
        (
            terms.sync_relay_log,
            terms.relay_log_recovery,
            terms.are_replicas_crash_safe,
        )
    }

    #[test]
    fn the_loosest_node_counts_and_what_is_not_known_promises_less() {
        let strict: &[(&str, &str)] = &[
            ("sync_relay_log", "1"),
            ("relay_log_recovery", "OFF"),
            ("gtid_mode", "ON"),
        ];
        let loose: &[(&str, &str)] = &[
            ("sync_relay_log", "0"),
            ("relay_log_recovery", "ON"),
            ("gtid_mode", "ON"),
        ];
        let (mysql, mariadb) = (Flavour::Mysql, Flavour::Mariadb);
        assert_eq!(set(mysql, &[strict, strict]), (1, false, true));
        assert_eq!(set(mysql, &[strict, loose]), (0, true, true));
        assert_eq!(set(mysql, &[strict, &[]]), (SYNC_RELAY_LOG, true, false));
        assert_eq!(set(mysql, &[]), (SYNC_RELAY_LOG, true, false));
        assert_eq!(set(mariadb, &[strict]), (1, true, true), "relay logs go");
    }

    #[test]
    fn settings_that_give_a_guarantee_away_are_seen_at_any_node() {
        let tears = |name, value| {
            let nodes: [&[(&str, &str)]; 2] = [&[], &[(name, value)]];
            with(Flavour::Mysql, &nodes).may_tear_pages
        };
        for (name, value, expected) in [
            ("innodb_doublewrite", "OFF", true),
            ("innodb_doublewrite", "DETECT_ONLY", true),
            ("innodb_doublewrite", "ON", false),
            ("innodb_doublewrite", "DETECT_AND_RECOVER", false),
            ("innodb_flush_method", "nosync", true),
            ("innodb_flush_method", "O_DIRECT", false),
        ] {
            assert_eq!(tears(name, value), expected, "{name} {value}");
        }
        let goes_on = |options: &str| {
            let nodes: [&[(&str, &str)]; 2] = [&[], &[("wsrep_provider_options", options)]];
            with(Flavour::Mariadb, &nodes).may_both_go_on
        };
        let usual = "gcache.size = 128M; pc.ignore_quorum = false; pc.ignore_sb = no; \
                     pc.weight = 1; ";
        assert!(!goes_on(usual) && !goes_on(""));
        let ignoring = usual.replace("sb = no", "sb = true");
        assert!(goes_on(&ignoring));
        assert!(goes_on("pc.ignore_quorum=yes") && goes_on("a.b = 1; pc.weight = 2"));
    }

    #[test]
    fn one_loose_node_makes_all_loose() {
        let own = |name: &str, value: &str| {
            let variables = Variables::from([(name.to_owned(), value.to_owned())]);
            let spec = ModeSpec {
                mode: Mode::Async,
                nodes: 2,
                binary_log: true,
                node_variables: BTreeMap::from([("b".to_owned(), variables)]),
                ..ModeSpec::default()
            };
            let sites = ["a".to_owned(), "b".to_owned()];
            let of = PromiseTerms::of(&spec, &sites, Durability::STRICT).durability;
            (of.flush_log, of.sync_binlog)
        };
        assert_eq!(own("innodb_flush_log_at_trx_commit", "2"), (2, 1));
        assert_eq!(own("innodb-flush-log-at-trx-commit", "0"), (0, 1));
        assert_eq!(own("sync_binlog", "0"), (1, 0));
        assert_eq!(own("sync_binlog", "100"), (1, 100));
        assert_eq!(own("innodb_io_capacity", "100"), (1, 1));
        let strict = Variables::from([("sync_binlog".to_owned(), "1".to_owned())]);
        assert_eq!(loosest(Durability::LOOSE, &strict), Durability::LOOSE);
    }

    #[test]
    fn who_is_told_to_come_back_as_a_replica_is_known() {
        let with = |role: &str| {
            let of_node = Variables::from([("init_rpl_role".to_owned(), role.to_owned())]);
            let of_nodes = BTreeMap::from([("a".to_owned(), of_node)]);
            let terms = terms().with_settings(Flavour::Mariadb, &of_nodes);
            terms.comes_back_as_replica
        };
        assert!(with("SLAVE") && !with("MASTER"));
    }

    #[test]
    fn both_logs_are_flushed_or_none_is() {
        let with = |flush_log, sync_binlog, has_binary_log| {
            let durability = Durability {
                flush_log,
                sync_binlog,
            };
            PromiseTerms {
                durability,
                has_binary_log,
                ..terms()
            }
            .flushes()
        };
        assert!(with(1, 1, true) && with(1, 0, false));
        assert!(with(3, 1, true), "MariaDB's, which flushes twice");
        assert!(!with(1, 0, true) && !with(2, 1, true) && !with(1, 100, true));
    }

    #[test]
    fn it_ends_at_its_moment_and_for_who_is_exempt() {
        let promise = Promise {
            is_given: true,
            until_us: Some(50),
            exempt: vec![Exempt {
                node: 1,
                from_us: 20,
                reason: Reason::NotTheWriter,
            }],
            ..Promise::none(Reason::ReceivedElsewhere)
        };
        assert!(promise.covers(0, 49) && !promise.covers(0, 50));
        assert!(promise.covers(1, 19) && !promise.covers(1, 20));
        assert!(!Promise::none(Reason::NotBuilt).covers(0, 0));
        assert!(
            !promise.covers_read(0, 10),
            "it is for acknowledgements alone"
        );
        let of_reads = Promise {
            covers_reads: true,
            unheeded: vec![Exempt {
                node: 0,
                from_us: 30,
                reason: Reason::NotTheWriter,
            }],
            ..promise
        };
        assert!(of_reads.covers_read(0, 29) && !of_reads.covers_read(0, 30));
        assert!(of_reads.covers(0, 30) && !of_reads.covers_read(1, 20));
    }
}
