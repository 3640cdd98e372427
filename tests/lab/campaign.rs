//! Faults injected under real clients: what is in the record of each trial.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use acklab::record::history::{Answer, Held, Reader, Token, Transfer};
use acklab::record::store::Record;
use acklab::record::trials::{Campaign, Trial};

use crate::disk::{devices, no_device_is_left_but};
use crate::ground::{Ground, on_ground};
use crate::power::stopped_late;
use crate::studies::TRIES;

static RECORDS: AtomicU32 = AtomicU32::new(0);

/// Nothing is measured but what cannot be left out.
const STUDY: &str = r#"
rounds = 1
warmup = "0.1s"
measure = "0.2s"
sites = ["a", "b", "c"]
[images]
place = "memory"
size = "800MB"
[[sweep]]
workload = "update_index"
rtt = "0.5ms"
"#;

/// The trials of a fault of the catalogue, in a mode of three nodes.
fn broken(ground: &Ground, of: (&str, &str), fault: &str, trials: u32) -> Campaign {
    broken_as(ground, of, (fault, ""), trials)
}

/// The same, with what else is said of the fault.
fn broken_as(ground: &Ground, of: (&str, &str), fault: (&str, &str), trials: u32) -> Campaign {
    broken_in(ground, &lines(of), fault, trials)
}

fn lines((server, mode): (&str, &str)) -> String {
    format!("server = \"{server}\"\nmode = \"{mode}\"\n")
}

/// The same in a mode of these lines. Where disks were stopped too late, for the machine was taken
/// away meanwhile, no loss of power came about: then it is done anew.
fn broken_in(ground: &Ground, mode: &str, fault: (&str, &str), trials: u32) -> Campaign {
    let is_late = |campaign: &Campaign| {
        let mut steps = campaign.trials.iter().flat_map(|trial| &trial.steps);
        steps.any(|done| done.bite == Some(false) && stopped_late(&done.seen))
    };
    for _ in 1..TRIES {
        let campaign = once_broken_in(ground, mode, fault, trials);
        if !is_late(&campaign) {
            return campaign;
        }
    }
    once_broken_in(ground, mode, fault, trials)
}

fn once_broken_in(ground: &Ground, mode: &str, of: (&str, &str), trials: u32) -> Campaign {
    let (fault, more) = of;
    let others = devices();
    let record = format!("broken-{}.acklab", RECORDS.fetch_add(1, Ordering::Relaxed));
    let text = format!(
        "{STUDY}[[mode]]\n{mode}nodes = 3\n\
         [[fault]]\nname = \"{fault}\"\ntrials = {trials}\n{more}"
    );
    let study = ground.file("study.toml", &text);
    ground.run(&["run", study, "--record", &record]).good();
    ground.nothing_left();
    no_device_is_left_but(&others);
    let kept = Record::open(&ground.work.join(&record)).expect("a record");
    let all: Vec<_> = kept.campaigns.values().flatten().collect();
    let [campaign] = all[..] else {
        panic!("{} campaigns were kept", all.len());
    };
    campaign.unpacked().expect("whole trials")
}

/// The one trial, in which all was done, seen to bite, and read back.
fn whole(campaign: &Campaign) -> &Trial {
    let [trial] = &campaign.trials[..] else {
        panic!("{} trials", campaign.trials.len());
    };
    sound(campaign, trial);
    trial
}

fn sound(campaign: &Campaign, trial: &Trial) {
    let steps = &trial.steps;
    assert_eq!(
        (&trial.undecided, &trial.refused),
        (&None, &None),
        "{steps:#?}"
    );
    let done: Vec<usize> = steps.iter().map(|done| done.step).collect();
    let asked: Vec<usize> = (0..campaign.fault.steps.len()).collect();
    assert_eq!(done, asked);
    for done in steps {
        assert_ne!(done.bite, Some(false), "{done:#?}");
        assert!(done.begun_us <= done.ended_us, "{done:#?}");
    }
    assert!(acknowledged(trial).len() >= 10, "{steps:#?}");
    assert!(!trial.serving.is_empty(), "{steps:#?}");
    let sent: BTreeSet<Token> = trial.history.transfers.iter().map(|it| it.token).collect();
    for held in trial.serving.iter().chain(&trial.others) {
        assert_eq!((held.tables_ok, &held.unread), (Some(true), &None));
        // Nothing of an earlier trial is there, and money is only moved.
        assert!(tokens(held).is_subset(&sent), "node {}", held.node);
        let start = trial.history.start_balance * i64::from(trial.history.accounts);
        assert_eq!(held.balances.iter().sum::<i64>(), start);
    }
    let looks = trial
        .history
        .readers
        .iter()
        .map(|reader| reader.looks.len());
    assert!(looks.sum::<usize>() > 100, "readers look");
}

fn acknowledged(trial: &Trial) -> BTreeSet<Token> {
    let all = trial.history.transfers.iter();
    let told = all.filter(|it| it.answer == Answer::Acknowledged);
    told.map(|it| it.token).collect()
}

fn tokens(held: &Held) -> BTreeSet<Token> {
    held.rows.iter().map(|row| row.token).collect()
}

/// Acknowledged, and not on all nodes that serve.
fn lost(trial: &Trial) -> usize {
    let there = trial.serving.iter().map(tokens);
    let there = there.reduce(|all, next| &all & &next).unwrap_or_default();
    (&acknowledged(trial) - &there).len()
}

/// Nodes that acknowledged anything.
fn served(trial: &Trial) -> BTreeSet<u8> {
    let all = trial.history.transfers.iter();
    let told = all.filter(|it| it.answer == Answer::Acknowledged);
    told.map(|it| it.node).collect()
}

/// The same in the order in which they did, each again where it did so after another.
fn in_turn(trial: &Trial) -> Vec<u8> {
    let mut all: Vec<&Transfer> = trial.history.transfers.iter().collect();
    all.retain(|it| it.answer == Answer::Acknowledged);
    all.sort_by_key(|it| it.ended_us);
    let mut turns: Vec<u8> = all.iter().map(|it| it.node).collect();
    turns.dedup();
    turns
}

fn nodes(all: &[Held]) -> Vec<u8> {
    all.iter().map(|held| held.node).collect()
}

/// The source's power is cut, and the replica that has received most takes over.
fn promoted(ground: &Ground, of: (&str, &str), fault: &str) -> Trial {
    // Clients of a slow machine may look for the new source once more than they must.
    let until_served = "afterwards = \"60s\"\nserved_for = \"1s\"\n";
    let campaign = broken_as(ground, of, (fault, until_served), 1);
    let trial = whole(&campaign).clone();
    assert_eq!(trial.steps[0].nodes, [0]);
    assert!(trial.steps[0].dropped_writes > 0 || trial.steps[0].seen.contains("1 of 1 disks"));
    let chosen: Vec<u8> = (trial.candidates.iter())
        .filter(|one| one.is_chosen)
        .map(|one| one.node)
        .collect();
    assert_eq!(
        (&trial.steps[1].nodes, trial.candidates.len()),
        (&chosen, 2)
    );
    assert_eq!(nodes(&trial.serving), chosen);
    let most = trial.candidates.iter().map(|one| one.received).max();
    let of_chosen = trial.candidates.iter().find(|one| one.is_chosen);
    assert_eq!(of_chosen.map(|one| one.received), most);
    // The other replica is read, too; the source's machine stays dead.
    let other: Vec<u8> = [1, 2].into_iter().filter(|i| !chosen.contains(i)).collect();
    assert_eq!(nodes(&trial.others), other);
    // Clients have found who took over.
    assert_eq!(served(&trial), [0, chosen[0]].into());
    assert!(trial.recovery.as_secs() < 60);
    trial
}

#[test]
fn lab_campaign_async_source_dies_and_a_replica_takes_over() {
    on_ground("campaign: async, the writer dies", |ground| {
        for server in ["mysql", "mariadb"] {
            let trial = promoted(ground, (server, "async"), "writer-dies");
            eprintln!("{server} async: {} lost", lost(&trial));
        }
    });
}

#[test]
fn lab_campaign_semisync_source_dies_and_loses_nothing() {
    on_ground("campaign: semisync, the writer dies", |ground| {
        for server in ["mysql", "mariadb"] {
            let trial = promoted(ground, (server, "semisync"), "writer-dies");
            assert_eq!((trial.alone_us, trial.alone_known), (None, true));
            assert_eq!(lost(&trial), 0);
        }
    });
}

/// As `promote-given-others`, counted in commits: half a second of a new server may have few.
const HEIR: &str = r#"
afterwards = "60s"
served_for = "1s"
step = [
    { after = "0.3s..1s", do = "cut links", from = "writer", to = "replica 1", way = "there",
      acknowledged = 10 },
    { after_commits = 50, do = "power cut", to = "writer", in_flight = true },
    { do = "promote", choose = "first", given_others = true },
]
"#;

/// The first replica hears nothing of the last fifty commits; what the other has received
/// meanwhile, and acknowledged for, is given to it.
#[test]
fn lab_campaign_semisync_heir_is_given_what_the_other_has() {
    on_ground("campaign: semisync, the heir is given the rest", |ground| {
        for server in ["mysql", "mariadb"] {
            let mode = lines((server, "semisync")) + "timeout = \"1h\"\n";
            let campaign = broken_in(ground, &mode, ("heir", HEIR), 1);
            let trial = whole(&campaign);
            assert_eq!(nodes(&trial.serving), [1], "{server}");
            assert!(acknowledged_meanwhile(trial, 0, 1) > 10, "{server}");
            assert_eq!(lost(trial), 0, "{server}");
        }
    });
}

/// Acknowledged by the first writer from the end of one step to the beginning of another.
fn acknowledged_meanwhile(trial: &Trial, from: usize, to: usize) -> usize {
    let (from_us, to_us) = (trial.steps[from].ended_us, trial.steps[to].begun_us);
    let is_between = |it: &&Transfer| {
        let is_told = it.answer == Answer::Acknowledged && it.node == 0;
        is_told && it.begun_us > from_us && it.ended_us < to_us
    };
    trial.history.transfers.iter().filter(is_between).count()
}

/// MySQL 5.6 says that it has executed what cannot be read yet: its replicas are read when that can.
#[test]
fn lab_campaign_level_replicas_of_5_6_have_what_they_say() {
    on_ground("campaign: replicas of MySQL 5.6", |ground| {
        let campaign = broken(ground, ("mysql-5.6", "async"), "link-slow", 5);
        let mut level = 0;
        for trial in &campaign.trials {
            sound(&campaign, trial);
            let there = &acknowledged(trial) & &tokens(&trial.serving[0]);
            for held in trial.others.iter().filter(|held| held.is_level) {
                let lacks = (&there - &tokens(held)).len();
                assert_eq!(lacks, 0, "node {}", held.node);
                level += 1;
            }
        }
        assert!(level > 0, "no replica came level");
    });
}

/// It lacks what the others acknowledged since its links were cut: while they waited to put it out,
/// and after that.
#[test]
fn lab_campaign_group_begun_anew_with_the_wrong_member_loses_what_it_lacked() {
    on_ground("campaign: group, the wrong member begins anew", |ground| {
        let of = ("mysql", "group");
        let campaign = broken(ground, of, "bootstrap-wrong-member", 1);
        let trial = whole(&campaign);
        assert_eq!(nodes(&trial.serving), [2]);
        let meanwhile = acknowledged_meanwhile(trial, 0, 2);
        let lost = lost(trial);
        assert!(meanwhile > 10 && lost >= meanwhile, "{lost} of {meanwhile}");
    });
}

/// The server that takes the writes is killed; the others go on by themselves.
fn members_go_on(ground: &Ground, mode: &str, more: &str) -> Trial {
    // The catalogue ends it once clients have been served: this is for a slow machine only.
    let more = format!("afterwards = \"60s\"\nserved_for = \"3s\"\n{more}");
    let campaign = broken_in(ground, mode, ("member-killed", &more), 1);
    let trial = whole(&campaign);
    assert_eq!(trial.steps[0].nodes, [0]);
    assert_eq!(nodes(&trial.serving), [1, 2]);
    assert!(trial.others.is_empty(), "a dead server tells nothing");
    assert_eq!(tokens(&trial.serving[0]), tokens(&trial.serving[1]));
    assert_eq!(lost(trial), 0);
    assert!(served(trial).len() > 1, "nobody took over");
    trial.clone()
}

#[test]
fn lab_campaign_group_goes_on_without_its_primary() {
    on_ground("campaign: group, the primary is killed", |ground| {
        members_go_on(ground, &lines(("mysql", "group")), "");
    });
}

#[test]
fn lab_campaign_galera_goes_on_without_a_node() {
    on_ground("campaign: galera, a node is killed", |ground| {
        members_go_on(ground, &lines(("mariadb", "galera")), "");
    });
}

/// They know of no node but the proxy, which has to notice by itself who takes writes.
#[test]
fn lab_campaign_proxy_sends_clients_to_who_took_over() {
    on_ground("campaign: clients behind a proxy", |ground| {
        let trial = promoted(ground, ("mysql", "semisync"), "writer-dies-proxied");
        assert_eq!(lost(&trial), 0);
        for of in [("mysql", "group"), ("mariadb", "galera")] {
            let trial = members_go_on(ground, &lines(of), "finding = \"proxy\"\n");
            // One after the other: of several that take writes the first has all connections.
            let turns = in_turn(&trial);
            assert_eq!(turns.len(), served(&trial).len(), "{of:?}: {turns:?}");
        }
    });
}

/// A Router knows the group's members, and has to notice by itself who is primary now.
#[test]
fn lab_campaign_router_sends_clients_to_the_new_primary() {
    on_ground("campaign: clients behind a Router", |ground| {
        // Without TLS it can log in nowhere but where it has before.
        let mode = lines(("mysql", "group")) + "tls = true\n";
        members_go_on(ground, &mode, "finding = \"router\"\n");
    });
}

/// Longer than the proxy's checks take on a busy machine.
const PAUSED_LONG: &str = r#"
finding = "proxy"
client_timeout = "30s"
step = [
    { after = "0.2s..1.5s", do = "pause", to = "writer" },
    { after = "10s", do = "resume", to = "first writer" },
]
"#;

/// A server that is paused is down for its checks, and up again when it goes on.
#[test]
fn lab_campaign_proxy_takes_a_paused_server_for_down() {
    on_ground("campaign: a paused server behind a proxy", |ground| {
        let of = ("mariadb", "semisync");
        let campaign = broken_as(ground, of, ("paused-long", PAUSED_LONG), 1);
        let trial = whole(&campaign);
        assert_eq!((lost(trial), served(trial)), (0, [0].into()));
        // Connections were ended before it went on, and long before clients give them up.
        let paused_us = trial.steps[0].ended_us;
        let told = trial.history.transfers.iter();
        let meanwhile = paused_us + 1..trial.steps[1].begun_us;
        let mut ended =
            told.filter(|it| it.begun_us < paused_us && meanwhile.contains(&it.ended_us));
        assert!(ended.any(|it| it.answer != Answer::Acknowledged));
    });
}

/// No replica is ever so far behind: what was to follow is not done, and nobody says that commits
/// were kept.
#[test]
fn lab_campaign_event_that_never_comes_leaves_its_trial_undecided() {
    const NEVER: &str = r#"
step = [
    { when = "behind", of = "replica 1", by = 1000000, limit = "1s", do = "kill", to = "writer" },
    { do = "promote", choose = "most received" },
]
"#;
    on_ground("campaign: an event that never comes", |ground| {
        let campaign = broken_as(ground, ("mariadb", "async"), ("never", NEVER), 1);
        let [trial] = &campaign.trials[..] else {
            panic!("{} trials", campaign.trials.len());
        };
        assert!(trial.steps.is_empty(), "{:?}", trial.steps);
        let why = trial.undecided.as_deref().unwrap_or_default();
        assert!(why.contains("did not come within 1 s"), "{why}");
        let record = format!("broken-{}.acklab", RECORDS.load(Ordering::Relaxed) - 1);
        let judged = ground.run(&["judge", &record]);
        assert_eq!(judged.code, Some(3), "{}", judged.out);
        assert!(judged.out.contains("undecided"), "{}", judged.out);
    });
}

/// Nothing is done, and nothing is found, in one trial after the other on the same images.
#[test]
fn lab_campaign_without_a_fault_finds_nothing() {
    on_ground("campaign: no fault", |ground| {
        let patient = ("no-fault", "client_timeout = \"20s\"\n");
        let campaign = broken_as(ground, ("mariadb", "async"), patient, 3);
        assert_eq!(campaign.trials.len(), 3);
        let others = campaign.trials.iter().flat_map(|trial| &trial.others);
        let level = others.filter(|held| held.is_level).map(|held| held.node);
        assert_eq!(level.collect::<BTreeSet<u8>>(), [1, 2].into());
        let seeds: BTreeSet<u64> = campaign.trials.iter().map(|trial| trial.seed).collect();
        assert_eq!(seeds.len(), 3);
        for trial in &campaign.trials {
            sound(&campaign, trial);
            check_nothing_found(trial);
            check_fresh(trial);
        }
    });
}

fn check_nothing_found(trial: &Trial) {
    assert_eq!((lost(trial), nodes(&trial.serving)), (0, vec![0]));
    assert_eq!(
        (nodes(&trial.others), served(trial)),
        (vec![1, 2], [0].into())
    );
    // A replica of a busy machine may not have come level in time: it has nothing of its own.
    let source = tokens(&trial.serving[0]);
    for held in &trial.others {
        let tokens = tokens(held);
        assert!(tokens.is_subset(&source) && (!held.is_level || tokens == source));
    }
    let mut all = trial.history.transfers.iter();
    assert!(!all.any(|it| it.answer == Answer::Unanswered));
    let readers = &trial.history.readers;
    let gone = readers.iter().flat_map(|reader| &reader.looks);
    assert!(gone.flat_map(|look| &look.gone).next().is_none());
}

/// From beside each replica a reader has it wait for the source, and another looks at the source
/// itself: both see all that had been acknowledged before.
fn check_fresh(trial: &Trial) {
    let is_fresh = |reader: &&Reader| reader.level.is_some() || reader.beside.is_some();
    let fresh: Vec<&Reader> = trial.history.readers.iter().filter(is_fresh).collect();
    let mut ways: Vec<(u8, Option<u8>)> = fresh.iter().map(|it| (it.node, it.beside)).collect();
    ways.sort_unstable();
    assert_eq!(ways, [(0, Some(1)), (0, Some(2)), (1, None), (2, None)]);
    let told = trial.history.transfers.iter();
    let told: Vec<&Transfer> = told
        .filter(|it| it.answer == Answer::Acknowledged)
        .collect();
    for reader in fresh {
        let well = reader.looks.iter().filter(|look| look.ended_us.is_some());
        // What came when it had looked for the last time, or so late that it did not look back so
        // far, it never shows. A replica that is a second behind makes most looks fail.
        let ever: BTreeSet<Token> = well.clone().flat_map(|look| look.new.clone()).collect();
        assert!(!ever.is_empty(), "it has shown nothing: {:?}", reader.level);
        let mut shown: BTreeSet<Token> = BTreeSet::new();
        for look in well {
            shown.extend(&look.new);
            let due = told.iter().filter(|it| it.ended_us < look.begun_us);
            let mut due = due.filter(|it| ever.contains(&it.token));
            let is_shown = due.all(|it| shown.contains(&it.token));
            assert!(is_shown, "{:?}", reader.level);
        }
    }
}
