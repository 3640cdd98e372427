use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::analysis::example::{Example, equal};
use crate::analysis::summarise;
use crate::analysis::worth::Verdict;
use crate::analysis::worth::tests::made::{Made, Setting};
use crate::analysis::worth::tests::planted::Planted;
use crate::record::packed::PackedCampaign;
use crate::study::faults::{Control, Injection, Writing};
use crate::study::{Sweep, Varied};

/// A campaign of made-up trials, one of each of these anomalies, under that name.
fn campaign(name: &str, setting: Setting, planted: &[Planted]) -> Campaign {
    let made = |(seed, planted): (u64, &Planted)| {
        let mut made = Made::legal(setting, &mut ChaCha8Rng::seed_from_u64(seed));
        planted.plant(&mut made);
        made.trial.seed = seed;
        made.trial.started_unix_ms = 1_790_000_000_000 + 60_000 * seed;
        made.trial.recovery = Duration::from_millis(900);
        made.trial.steps[0].seen = "the process is gone".to_owned();
        made
    };
    let made: Vec<Made> = (1..).zip(planted).map(made).collect();
    let mut fault = made[0].fault.clone();
    fault.name = name.to_owned();
    fault.title = format!("As {name} has it");
    Campaign {
        durability: made[0].terms.durability,
        fault,
        trials: made.into_iter().map(|made| made.trial).collect(),
    }
}

/// Nothing is done.
fn quiet(control: Control) -> Campaign {
    let mut quiet = campaign("no-fault", Setting::Unpromised, &[Planted::Nothing; 3]);
    quiet.fault.steps.clear();
    quiet.fault.reach.clear();
    quiet.fault.control = Some(control);
    for trial in &mut quiet.trials {
        trial.steps.clear();
        trial.candidates.clear();
    }
    quiet
}

/// Six modes, what their paced commits cost, and what some of them were worth: of each verdict one.
pub fn example() -> Record {
    let mut record = Example::default().record();
    record.header.study.name = "break".to_owned();
    record.header.study.sweeps = vec![Sweep {
        distances: vec![equal(2.15)],
        ..Sweep::default()
    }];
    for cell in &mut record.header.cells {
        cell.pace = Some(Duration::from_millis(10));
    }
    let (legal, lost) = (Planted::Nothing, Planted::Lost);
    let mut killed = campaign("killed", Setting::Killed, &[legal; 5]);
    killed.fault.control = Some(Control::Nothing);
    let alone = [legal, Planted::LostAfterItWentAlone, legal];
    let tail = campaign("writer-dies", Setting::Unpromised, &[lost, legal, lost]);
    let kept = campaign("writer-dies", Setting::Promoted, &[legal; 20]);
    let fell_back = campaign("fall-back", Setting::Promoted, &alone);
    let broken = campaign("member-dies", Setting::Elected, &[legal, Planted::Phantom]);
    let open = campaign(
        "member-dies",
        Setting::Elected,
        &[legal, Planted::NotBitten],
    );
    let of_modes = [
        (0, vec![killed]),
        (1, vec![tail, quiet(Control::Nothing)]),
        (2, vec![kept, fell_back]),
        (3, vec![broken]),
        (5, vec![open]),
    ];
    record.campaigns = of_modes
        .into_iter()
        .map(|(mode, all)| (mode, all.iter().map(PackedCampaign::of).collect()))
        .collect();
    record
}

fn of<'w>(all: &'w [ModeWorth], label: &str, fault: &str) -> &'w ModeWorth {
    let mut all = all.iter();
    let found = all.find(|one| one.label == label && one.worth.fault == fault);
    found.unwrap_or_else(|| panic!("no {fault} of {label}"))
}

#[test]
fn each_campaign_has_its_verdict_and_its_price() {
    let all = summarise(&example()).worth;
    let verdict = |label, fault| of(&all, label, fault).worth.verdict;
    assert_eq!(
        verdict("mysql async", "writer-dies"),
        Verdict::LostNoPromise
    );
    assert_eq!(verdict("mysql semisync", "writer-dies"), Verdict::Kept);
    assert_eq!(
        verdict("mysql semisync", "fall-back"),
        Verdict::LostNoPromise
    );
    assert_eq!(verdict("mysql group", "member-dies"), Verdict::Broken);
    assert_eq!(verdict("mariadb galera", "member-dies"), Verdict::Undecided);
    let kept = of(&all, "mysql semisync", "writer-dies");
    let price = kept.price.as_ref().expect("it was measured");
    assert_eq!((&kept.distances[..], kept.nodes.len()), ("2.15 ms", 3));
    let ratio = price.rate_ratio.expect("against single").median;
    assert!((0.3..0.8).contains(&ratio), "{ratio}");
    let trips = price.round_trips.expect("three distances").value;
    assert!((trips - 1.0).abs() < 0.2, "{trips}");
    assert!(!kept.is_control && all.iter().rev().take(2).all(|one| one.is_control));
}

#[test]
fn a_course_has_its_steps_and_what_clients_had_of_it() {
    let all = summarise(&example()).worth;
    let dies = of(&all, "mysql async", "writer-dies");
    assert_eq!(dies.courses.len(), 3);
    let course = &dies.courses[1];
    assert_eq!((course.seed, course.steps.len()), (2, 2));
    let step = &course.steps[0];
    assert_eq!((step.step, step.begun_s, step.nodes.len()), (1, 0.05, 1));
    assert_eq!(step.nodes, ["a"]);
    assert!(step.deed.starts_with("power cut: writer"), "{}", step.deed);
    let acknowledged: u32 = course.acknowledged_per_100_ms.iter().sum();
    assert_eq!(
        acknowledged as usize,
        dies.worth.each[1].counts.acknowledged
    );
    let quiet = of(&all, "mysql async", "no-fault");
    assert_eq!(quiet.fresh.len(), 2);
    assert!(dies.fresh.is_empty() && quiet.schedule.is_empty());
}

#[test]
fn a_silent_control_leaves_all_undecided() {
    let mut record = example();
    let silent = quiet(Control::Loses(0.8));
    record
        .campaigns
        .insert(4, vec![PackedCampaign::of(&silent)]);
    let all = summarise(&record).worth;
    assert!(
        all.iter()
            .all(|one| one.worth.verdict == Verdict::Undecided)
    );
}

#[test]
fn a_control_that_did_not_run_leaves_open_where_nothing_was_found() {
    let with = |trials: u32, has_run: bool| {
        let mut record = example();
        let fault = record.campaigns[&0][0].light.fault.clone();
        let modes = vec![record.header.study.modes[0].label.clone()];
        record.header.study.injections = vec![Injection {
            fault,
            trials,
            modes,
        }];
        if !has_run {
            record.campaigns.remove(&0);
        }
        summarise(&record).worth
    };
    let kept = |all: &[ModeWorth]| of(all, "mysql semisync", "writer-dies").worth.clone();
    let whole = kept(&with(5, true));
    assert_eq!(whole.verdict, Verdict::Kept);
    assert!(whole.loss_share_max.is_some());
    for (all, has) in [(with(6, true), "5 of 6"), (with(5, false), "0 of 5")] {
        let open = kept(&all);
        assert_eq!(
            (open.verdict, open.loss_share_max),
            (Verdict::Undecided, None)
        );
        let told = format!("the control killed in mysql single has {has} trials");
        assert!(open.missing.contains(&told), "{:?}", open.missing);
        let found = |label, fault| of(&all, label, fault).worth.verdict;
        assert_eq!(found("mysql group", "member-dies"), Verdict::Broken);
        assert_eq!(found("mysql async", "writer-dies"), Verdict::LostNoPromise);
    }
}

/// Reads beside clients who read and write back at every node tell of these.
#[test]
fn fresh_reads_are_told_where_clients_do_what_they_usually_do() {
    let rows = |writing| {
        let mut record = example();
        let mut quiet = quiet(Control::Nothing);
        quiet.fault.writing = writing;
        record.campaigns.insert(4, vec![PackedCampaign::of(&quiet)]);
        let all = summarise(&record).worth;
        let label = &record.header.study.modes[4].label;
        of(&all, label, "no-fault").fresh.len()
    };
    assert!(rows(Writing::InPlace) > 0);
    assert_eq!(rows(Writing::ReadFirst), 0);
}

#[test]
fn servers_are_judged_by_the_settings_that_they_had() {
    let mut header = example().header;
    let spec = header.study.modes[2].clone();
    let terms = |header: &Header| promise_terms(header, &spec, Durability::STRICT);
    assert!(terms(&header).relay_log_recovery, "not known");
    header.labs[0].modes = vec![spec.label.clone()];
    for of_node in header.labs[0].variables.values_mut() {
        of_node.insert("relay_log_recovery".to_owned(), "OFF".to_owned());
    }
    assert!(!terms(&header).relay_log_recovery);
    for of_node in header.labs[0].variables.values_mut() {
        of_node.insert(terms::OF_MARIADB.to_owned(), "0".to_owned());
    }
    assert!(terms(&header).relay_log_recovery, "MariaDB always does");
}

/// Its servers are those of the mode that it is a variant of, and were asked as those of that.
#[test]
fn a_variant_is_judged_by_what_it_changes() {
    let mut header = example().header;
    let mut spec = header.study.modes[2].clone();
    header.labs[0].modes = vec![spec.label.clone()];
    for of_node in header.labs[0].variables.values_mut() {
        of_node.insert("sync_relay_log".to_owned(), "1".to_owned());
    }
    let flushes = |spec: &ModeSpec| promise_terms(&header, spec, Durability::STRICT).sync_relay_log;
    assert_eq!(flushes(&spec), 1);
    spec.varied = Some(Varied {
        of: "its base".to_owned(),
        changed: [("sync_relay_log".to_owned(), "10000".to_owned())].into(),
    });
    assert_eq!(flushes(&spec), 10_000);
}

#[test]
fn an_option_that_no_running_server_tells_of_is_taken_as_it_was_asked() {
    let mut header = example().header;
    let mut spec = header.study.modes[2].clone();
    header.labs[0].modes = vec![spec.label.clone()];
    let is_replica =
        |spec: &ModeSpec| promise_terms(&header, spec, Durability::STRICT).comes_back_as_replica;
    assert!(!is_replica(&spec));
    for name in ["init_rpl_role", "init-rpl-role"] {
        spec.variables = [(name.to_owned(), "SLAVE".to_owned())].into();
        assert!(is_replica(&spec), "{name}");
    }
    // What a server tells of counts.
    for of_node in header.labs[0].variables.values_mut() {
        of_node.insert("init_rpl_role".to_owned(), "MASTER".to_owned());
    }
    let terms = promise_terms(&header, &spec, Durability::STRICT);
    assert!(!terms.comes_back_as_replica);
}
