//! Faults: what is done to servers, links and disks under load, step by step.
//!
//! A fault is a schedule, and a schedule is data: a list of steps, each with a moment or an event
//! that it waits for, a deed, and a target that is named by its role. The catalogue's faults are
//! written in the same TOML as a study's own.

pub mod fit;
pub mod row;
pub mod words;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::disk::PowerCut;
use super::front::Proxy;

/// What a power cut leaves of writes that were never flushed.
pub use super::fault::Leaves;

/// A named schedule. Clients are at work from its beginning to its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// As a command line names it: lower case, digits and hyphens.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What is done, one after the other.
    pub steps: Vec<Step>,
    /// How clients find who takes their writes.
    #[serde(default)]
    pub finding: Finding,
    /// Where they stand.
    #[serde(default)]
    pub clients_at: ClientsAt,
    /// How they change balances.
    #[serde(default)]
    pub writing: Writing,
    /// From a client's last word until it takes its connection for dead.
    pub client_timeout: Duration,
    /// How long clients go on after the last step, so that the rate after it can be seen.
    pub afterwards: Duration,
    /// They go on no longer, once they have been served for so long after it without a break.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_for: Option<Duration>,
    /// What must have been seen of it; a trial that has not shown it is undecided.
    #[serde(default)]
    pub reach: Vec<Reach>,
    /// A control: what it must come to wherever the check is awake.
    #[serde(default)]
    pub control: Option<Control>,
}

/// One deed, when its moment has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub when: When,
    /// No longer than this is an event waited for; then the trial is undecided.
    pub limit: Duration,
    pub deed: Deed,
}

/// When a step is done. All of it counts from the step before, the first from the first
/// acknowledged commit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// So long after; drawn evenly between both by the trial's seed.
    After { min: Duration, max: Duration },
    /// After so many acknowledged commits.
    Commits(u64),
    /// When a node applies nothing though it has received more: so many transactions.
    Behind(Target, u64),
    /// When the group or cluster has put that node out.
    Expelled(Target),
    /// When a semi-synchronous source, or a mirror's head, goes on alone by its own counters.
    FellBack,
    /// When no commit has been acknowledged for so long.
    Silent(Duration),
    /// When commits are acknowledged again.
    Served,
    /// When a member gives or takes a state transfer: Galera's Donor and Joiner, a group's
    /// RECOVERING.
    Transfer,
}

/// Whom a deed befalls, by role. Roles are looked up when the step is done; the numbers of nodes
/// are fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Who takes the clients' writes now, or took them last. In a multi-writer mode: the first node
    /// that is alive and in.
    Writer,
    /// Who took them when the trial began.
    FirstWriter,
    /// The replica or member of that number, from 1 on, in the order of nodes; not the writer.
    Replica(u32),
    /// All nodes but the writer.
    Replicas,
    /// Of the replicas that are alive, the one that has received most, or least. While nobody is
    /// alive, of all whose disk is left, the writer's too, by what that holds.
    MostReceived,
    LeastReceived,
    /// All nodes in the first writer's site, and the clients there.
    Site,
    /// All nodes.
    All,
    /// All nodes that are not alive, or were put out, and whose disk is left.
    Lost,
    /// The first writer and the nodes after it, so many in all.
    First(u32),
    /// The most of those that are fewer than half: the side of a cut that must not go on.
    Minority,
    /// The fewest of those that are more than half.
    Majority,
    /// The member that gives a state transfer now.
    Donor,
}

/// In which directions a link is touched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    #[default]
    Both,
    /// Only what goes from the first to the second.
    There,
    /// Only what comes back.
    Back,
}

/// Links between two sets of places: from each of the first to each of the second. To a site belong
/// the clients in it: they stay with it, and those elsewhere are cut off from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Between {
    pub from: Target,
    /// `None`: everybody who is not one of the first.
    pub to: Option<Target>,
    #[serde(default)]
    pub way: Way,
    /// Whether the clients' links to the first are touched too.
    #[serde(default)]
    pub with_clients: bool,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// Nothing enters these links any more.
    CutLinks(Between),
    /// This share of packets is lost, above 0 and below 1.
    LoseOnLinks(Between, f64),
    /// So much is added to the delay each way.
    SlowLinks(Between, Duration),
    /// All links are as they were before the trial.
    HealLinks,
    /// Requests to the disks wait, and go on at `ResumeDisk`.
    StallDisk(Target),
    ResumeDisk(Target),
    /// Flushes take so long; until `ResumeDisk`.
    SlowDisk(Target, Duration),
    /// The file system is filled but for so many bytes; until `ResumeDisk`.
    FillDisk(Target, u64),
    /// Every request is answered with an I/O error, before anything is killed.
    FailDisk(Target),
    /// Kills the server and throws its disk away: it does not come back.
    DestroyDisk(Target),
    /// SIGKILL.
    Kill(Target),
    /// SIGSTOP, and SIGCONT.
    Pause(Target),
    Resume(Target),
    /// Nodes fall silent and lose their power, all at one moment.
    PowerCut(Target, Leaves),
    /// The server is started on what its disk holds. It joins nobody by that.
    Restart(Target),
    /// A session holds a lock that the appliers wait for; until `FreeAppliers`.
    BlockAppliers(Target),
    FreeAppliers(Target),
    /// A replica takes over.
    Promote(Promotion),
    /// The cluster or group is begun anew with that node alone, whose server is started if it does
    /// not run; the others are to rejoin.
    Bootstrap(Target),
    /// Those who are alive there are made the whole group or cluster by force.
    ForceMembers(Target),
    /// Nodes come back as replicas or members of whoever writes now; servers that do not run are
    /// started. Done when they are there.
    Rejoin(Target),
    /// The same, but nobody waits for them.
    BeginRejoin(Target),
}

/// Who takes over from a writer, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promotion {
    pub choose: Choose,
    /// The old writer is kept from writing first, as far as it can be reached.
    pub is_fenced: bool,
    /// Before it takes over the chosen one is given what other replicas have received besides:
    /// MHA's principle.
    pub is_given_others: bool,
}

/// Which replica takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choose {
    /// The one that has received most; of several the first.
    MostReceived,
    /// The one that has executed most, whatever it has received.
    MostExecuted,
    /// The first in the order of nodes that is alive.
    First,
}

/// How clients find who takes their writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// They ask each node in turn whether it may be written to.
    #[default]
    Asking,
    /// They try each node in turn and stay where one takes their write.
    List,
    /// They stay with the first writer, whatever happens.
    Staying,
    /// An HAProxy beside them checks the nodes' health and sends them on.
    Proxy,
    /// A MySQL Router beside them, which has bootstrapped itself, looks a group's primary up.
    Router,
}

impl Finding {
    /// What runs beside the clients for it.
    pub fn proxy(self) -> Option<Proxy> {
        match self {
            Finding::Asking | Finding::List | Finding::Staying => None,
            Finding::Proxy => Some(Proxy::Haproxy),
            Finding::Router => Some(Proxy::RouterBootstrapped),
        }
    }
}

/// Where clients stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientsAt {
    /// All in the first writer's site.
    #[default]
    FirstSite,
    /// Half of them there, half in the site of the last node.
    BothSides,
    /// One at each node, which it writes to and stays with; all of them where there is one node.
    EveryNode,
}

/// How a client moves an amount from one balance to another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writing {
    /// One statement adds it where the balances stand.
    #[default]
    InPlace,
    /// It reads both, and writes back what they come to. What another has written since is
    /// overwritten, unless the server refuses.
    ReadFirst,
    /// The same, and it locks what it reads (`SELECT ... FOR UPDATE`).
    ReadForUpdate,
}

/// What must have been seen of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// Commits were on their way when the step of that number, from 0 on, was in force.
    InFlight(usize),
    /// So many were acknowledged before it.
    AcknowledgedBefore(usize, u64),
    /// The source or head went on alone.
    FellBack,
    /// The one that took over had received less than another, or executed less.
    Behind,
    /// Both sides of a cut took writes.
    BothWrote,
}

/// What a control must come to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// Nothing at all is wrong.
    Nothing,
    /// Something is lost in this share of its trials at least.
    Loses(f64),
    /// Exactly those transactions are lost that the links had not delivered.
    LosesUndelivered,
}

/// A fault in a study: injected so often in each of these modes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Injection {
    pub fault: Fault,
    pub trials: u32,
    /// Labels, in the order of the study; never none.
    pub modes: Vec<String>,
}

impl Fault {
    /// Whether nothing is done, and clients do what they usually do: what is measured then is the
    /// mode's own.
    pub fn is_no_fault(&self) -> bool {
        let is_usual = self.writing == Writing::InPlace && self.clients_at != ClientsAt::EveryNode;
        self.steps.is_empty() && is_usual
    }
}

impl Injection {
    /// At most so many trials, in those of its modes that are left; `None` if nothing remains.
    pub fn shortened(&self, trials: u32, is_left: impl Fn(&str) -> bool) -> Option<Injection> {
        let modes = self.modes.iter().filter(|label| is_left(label));
        let short = Injection {
            fault: self.fault.clone(),
            trials: self.trials.min(trials),
            modes: modes.cloned().collect(),
        };
        (short.trials > 0 && !short.modes.is_empty()).then_some(short)
    }
}

impl Deed {
    /// Whether it may take from a node what that holds, or change who serves. What is none passes,
    /// and leaves all copies of a commit as they were.
    pub fn is_blow(self) -> bool {
        match self {
            Deed::Kill(_)
            | Deed::PowerCut(..)
            | Deed::DestroyDisk(_)
            | Deed::FailDisk(_)
            | Deed::Restart(_)
            | Deed::Rejoin(_)
            | Deed::BeginRejoin(_)
            | Deed::Promote(_)
            | Deed::Bootstrap(_)
            | Deed::ForceMembers(_) => true,
            Deed::CutLinks(_)
            | Deed::LoseOnLinks(..)
            | Deed::SlowLinks(..)
            | Deed::HealLinks
            | Deed::StallDisk(_)
            | Deed::ResumeDisk(_)
            | Deed::SlowDisk(..)
            | Deed::FillDisk(..)
            | Deed::Pause(_)
            | Deed::Resume(_)
            | Deed::BlockAppliers(_)
            | Deed::FreeAppliers(_) => false,
        }
    }

    /// Whom it befalls; `None` of links, and of a promotion, which chooses for itself.
    pub fn target(&self) -> Option<Target> {
        match *self {
            Deed::CutLinks(_)
            | Deed::LoseOnLinks(..)
            | Deed::SlowLinks(..)
            | Deed::HealLinks
            | Deed::Promote(_) => None,
            Deed::StallDisk(target)
            | Deed::ResumeDisk(target)
            | Deed::SlowDisk(target, _)
            | Deed::FillDisk(target, _)
            | Deed::FailDisk(target)
            | Deed::DestroyDisk(target)
            | Deed::Kill(target)
            | Deed::Pause(target)
            | Deed::Resume(target)
            | Deed::PowerCut(target, _)
            | Deed::Restart(target)
            | Deed::BlockAppliers(target)
            | Deed::FreeAppliers(target)
            | Deed::Bootstrap(target)
            | Deed::ForceMembers(target)
            | Deed::Rejoin(target)
            | Deed::BeginRejoin(target) => Some(target),
        }
    }

    /// The links that it touches; healing touches all.
    pub fn links(&self) -> Option<Between> {
        match *self {
            Deed::CutLinks(links) | Deed::LoseOnLinks(links, _) | Deed::SlowLinks(links, _) => {
                Some(links)
            }
            _ => None,
        }
    }
}

impl Leaves {
    /// A cut of this kind for one of several disks: each draws by itself.
    pub fn cut_of(self, seed: u64, disk: usize) -> PowerCut {
        self.cut(seed).drawn_anew(disk as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injection(trials: u32) -> Injection {
        Injection {
            fault: Fault::default(),
            trials,
            modes: ["one", "two"].map(str::to_owned).to_vec(),
        }
    }

    #[test]
    fn a_short_run_has_no_more_trials_and_no_other_modes() {
        let short = |trials, left: &str| injection(5).shortened(trials, |label| label == left);
        let found = short(3, "two").expect("something is left");
        assert_eq!(
            (found.trials, &found.modes[..]),
            (3, &["two".to_owned()][..])
        );
        assert_eq!(short(9, "one").map(|found| found.trials), Some(5));
        assert_eq!((short(0, "one"), short(3, "three")), (None, None));
    }

    #[test]
    fn every_deed_has_a_target_or_links_or_chooses() {
        let links = Between {
            from: Target::Writer,
            to: None,
            way: Way::Both,
            with_clients: false,
        };
        let cut = Deed::CutLinks(links);
        assert_eq!((cut.target(), cut.links()), (None, Some(links)));
        let kill = Deed::Kill(Target::Site);
        assert_eq!((kill.target(), kill.links()), (Some(Target::Site), None));
        assert_eq!(Deed::HealLinks.links(), None);
    }

    #[test]
    fn a_fault_survives_the_record() {
        let step = |when, deed| Step {
            when,
            limit: Duration::from_secs(30),
            deed,
        };
        let promotion = Promotion {
            choose: Choose::MostExecuted,
            is_fenced: true,
            is_given_others: false,
        };
        let fault = Fault {
            name: "x".to_owned(),
            steps: vec![
                step(
                    When::Commits(5),
                    Deed::PowerCut(Target::First(3), Leaves::Torn(512)),
                ),
                step(
                    When::Behind(Target::Replica(1), 9),
                    Deed::Promote(promotion),
                ),
                step(When::Transfer, Deed::BeginRejoin(Target::Donor)),
            ],
            clients_at: ClientsAt::BothSides,
            control: Some(Control::Loses(0.8)),
            ..Fault::default()
        };
        let text = serde_json::to_string(&fault).expect("plain");
        assert_eq!(
            serde_json::from_str::<Fault>(&text).expect("a fault"),
            fault
        );
    }
}
