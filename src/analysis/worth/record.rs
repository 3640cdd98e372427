//! From a record to what its modes' commits were worth.

use std::time::Duration;

use super::campaign::{CampaignWorth, summarise, under_controls, without_controls};
use super::disaster::Disaster;
use super::expected::{Foretold, foretold};
use super::fresh_reads::{Places, fresh_reads, name};
use super::modes::{Course, CourseStep, ModeWorth};
use super::price::price;
use super::promised::PromiseTerms;
use super::service::acknowledged_per;
use crate::analysis::interval::{Noise, Risk, estimate, median};
use crate::analysis::summary::{Anatomy, CellSummary};
use crate::analysis::terms;
use crate::record::Header;
use crate::record::history::Answer;
use crate::record::store::Record;
use crate::record::trials::{Campaign, Done, Trial};
use crate::study::fault::Durability;
use crate::study::faults::Fault;
use crate::study::{ModeSpec, Variables, nodes};

/// Windows in which acknowledgements are counted.
const WINDOW_US: u64 = 100_000;

/// What is kept of a campaign when its trials have been judged: they are long.
struct Told {
    mode: usize,
    fault: Fault,
    courses: Vec<Course>,
    foretold: Vec<Foretold>,
    /// What a commit took in each trial, in µs.
    commits_us: Vec<f64>,
}

/// All campaigns of a record, controls last; with what commits cost, where that was measured.
pub fn of_record(record: &Record, measured: (&[CellSummary], &[Anatomy])) -> Vec<ModeWorth> {
    let header = &record.header;
    let packed = record.campaigns.iter();
    let packed = packed.flat_map(|(mode, all)| all.iter().map(move |one| (*mode, one)));
    let judged = packed.map(|(mode, one)| judged(header, mode, &one.whole()));
    let (told, mut worths): (Vec<Told>, Vec<CampaignWorth>) = judged.unzip();
    under_controls(&mut worths);
    without_controls(&mut worths, &controls_not_run(record));
    let both = told.into_iter().zip(worths);
    let mut all: Vec<ModeWorth> = both
        .map(|(told, worth)| of_mode(header, told, worth, measured))
        .collect();
    all.sort_by_key(|one| one.is_control);
    all
}

/// Controls that were asked for, and have fewer trials than that. A sentence each.
fn controls_not_run(record: &Record) -> Vec<String> {
    let study = &record.header.study;
    let trials = |label: &String, fault: &Fault| {
        let mode = study.modes.iter().position(|spec| spec.label == *label)?;
        let mut there = record.campaigns.get(&mode)?.iter();
        let campaign = there.find(|one| one.light.fault == *fault)?;
        Some(campaign.light.trials.len())
    };
    let controls = study
        .injections
        .iter()
        .filter(|one| one.fault.control.is_some());
    let cases = controls.flat_map(|one| one.modes.iter().map(move |label| (one, label)));
    let not_run = cases.filter_map(|(one, label)| {
        let (name, asked) = (&one.fault.name, one.trials as usize);
        let done = trials(label, &one.fault).unwrap_or(0);
        let said = format!("the control {name} in {label} has {done} of {asked} trials");
        (done < asked).then_some(said)
    });
    not_run.collect()
}

fn judged(header: &Header, mode: usize, campaign: &Campaign) -> (Told, CampaignWorth) {
    let spec = &header.study.modes[mode];
    let worth = summarise(campaign, &promise_terms(header, spec, campaign.durability));
    let nodes = names(header, spec);
    let course = |trial: &Trial| course(&campaign.fault, trial, &nodes);
    let told = Told {
        mode,
        courses: campaign.trials.iter().map(course).collect(),
        foretold: foretold(spec, campaign, &worth.each),
        commits_us: campaign.trials.iter().filter_map(commit_us).collect(),
        fault: campaign.fault.clone(),
    };
    (told, worth)
}

/// What a mode's servers promise, with the variables that they had.
fn promise_terms(header: &Header, spec: &ModeSpec, durability: Durability) -> PromiseTerms {
    let lab = header
        .labs
        .iter()
        .find(|lab| lab.modes.contains(&spec.label));
    let terms = PromiseTerms::of(spec, &header.study.sites, durability);
    let Some(lab) = lab else {
        return terms;
    };
    let flavour = terms::flavour(lab);
    // A variant shares its servers with the mode that it is one of. They were asked as those of
    // that.
    let changed: Variables = spec
        .varied
        .iter()
        .flat_map(|it| it.changed.clone())
        .collect();
    // Some options are no variables, so that no running server tells of them: MariaDB 10.11 has
    // none called `init_rpl_role`. There what was asked stands.
    let own = |(node, of_node): (&String, &Variables)| {
        let of_one = spec.node_variables.get(node).into_iter().flatten();
        let asked = spec.variables.iter().chain(of_one);
        let asked = asked.map(|(name, value)| (name.replace('-', "_"), value.clone()));
        let all = asked.chain(of_node.clone()).chain(changed.clone());
        (node.clone(), all.collect())
    };
    terms.with_settings(flavour, &lab.variables.iter().map(own).collect())
}

fn names(header: &Header, spec: &ModeSpec) -> Vec<String> {
    nodes::names(&nodes::sites_of(&header.study.sites, spec.nodes))
}

fn of_mode(
    header: &Header,
    told: Told,
    worth: CampaignWorth,
    measured: (&[CellSummary], &[Anatomy]),
) -> ModeWorth {
    let study = &header.study;
    let spec = &study.modes[told.mode];
    let mut sweeps = study.sweeps.iter();
    let sweep = sweeps.find(|sweep| sweep.has_mode(&spec.label));
    let at = sweep.and_then(|sweep| sweep.distances.first());
    let distances = at.map_or_else(String::new, |at| at.label.clone());
    let nodes = names(header, spec);
    let sites = nodes::sites_of(&study.sites, spec.nodes);
    let far = |site: &String| at.and_then(|at| at.rtt(&sites[0], site));
    let far: Vec<Duration> = sites
        .iter()
        .map(|site| far(site).unwrap_or_default())
        .collect();
    let is_left_alone = told.fault.is_no_fault();
    let places = Places {
        nodes: &nodes,
        far: &far,
    };
    ModeWorth {
        label: spec.label.clone(),
        server: spec.server.clone(),
        mode: spec.mode.name().to_owned(),
        settings: terms::settings(spec),
        is_control: told.fault.control.is_some(),
        disaster: Disaster::of(&told.fault),
        schedule: told.fault.steps.iter().map(|step| step.words()).collect(),
        courses: told.courses,
        foretold: told.foretold,
        fresh: match is_left_alone {
            true => fresh_reads(&worth.each, &places),
            false => vec![],
        },
        commit_us: estimate(&told.commits_us, Noise::Multiplies, Risk::ONE_LOOK)
            .filter(|_| is_left_alone),
        price: price(&spec.label, &distances, measured, Risk::of(study)),
        distances,
        nodes,
        worth,
        row: told.mode,
        injected: told.fault,
    }
}

/// The median time from a COMMIT to its acknowledgement, in µs.
fn commit_us(trial: &Trial) -> Option<f64> {
    let transfers = trial.history.transfers.iter();
    let told = transfers.filter(|it| it.answer == Answer::Acknowledged);
    let times = told.filter_map(|it| Some(it.ended_us.saturating_sub(it.commit_us?) as f64));
    median(&times.collect::<Vec<f64>>())
}

fn course(fault: &Fault, trial: &Trial, nodes: &[String]) -> Course {
    let step = |done: &Done| {
        let deed = fault.steps.get(done.step).map(|step| step.deed.words());
        CourseStep {
            step: done.step + 1,
            deed: deed.unwrap_or_default(),
            begun_s: done.begun_us as f64 / 1e6,
            ended_s: done.ended_us as f64 / 1e6,
            nodes: done.nodes.iter().map(|node| name(nodes, *node)).collect(),
            bite: done.bite,
            seen: done.seen.clone(),
            dropped_writes: done.dropped_writes,
        }
    };
    Course {
        seed: trial.seed,
        started_unix_ms: trial.started_unix_ms,
        steps: trial.steps.iter().map(step).collect(),
        acknowledged_per_100_ms: acknowledged_per(&trial.history, WINDOW_US),
        losses: trial.history.losses.clone(),
    }
}

#[cfg(test)]
pub mod tests;
