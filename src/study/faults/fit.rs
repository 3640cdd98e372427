//! Whether a fault can be injected into a mode: told before anything is started.

mod standing;

use std::time::Duration;

use super::{Choose, ClientsAt, Control, Deed, Fault, Finding, Reach, Target, When};
use crate::study::mode::Family;
use crate::study::{Mode, ModeSpec, WhenShort, nodes, units};
use standing::Standing;

/// Fewer nodes than these have no minority.
const NODES_OF_MINORITY_MIN: u32 = 3;

/// Why a fault cannot be injected into a mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Index of the step concerned; `None` if it is the whole.
    pub step: Option<usize>,
    /// In words that go on from "mode X:".
    pub why: String,
}

/// Everything about a fault that cannot be in a mode whose nodes stand in these sites; nothing if
/// it fits. What each step asks of the mode comes first; where that is sound, the first step that
/// comes to nothing, and whether anybody is left.
pub fn misfits(fault: &Fault, spec: &ModeSpec, sites: &[String]) -> Vec<Misfit> {
    if spec.mode == Mode::Endpoint {
        return vec![whole("nothing is done to somebody else's servers")];
    }
    if spec.nodes == 0 || sites.is_empty() {
        return vec![whole("it has no nodes")];
    }
    let steps = fault.steps.iter().enumerate();
    let asked = steps.filter_map(|(index, step)| {
        let why = of_event(step.when, step.limit, spec).or_else(|| of_deed(&step.deed, spec))?;
        Some(at(index, why))
    });
    let mut found: Vec<Misfit> = asked.collect();
    found.extend(of_whole(fault, spec, sites).into_iter().map(whole));
    if found.is_empty() {
        found.extend(undergone(fault, spec, sites));
    }
    found
}

fn at(index: usize, why: String) -> Misfit {
    Misfit {
        step: Some(index),
        why,
    }
}

fn whole(why: impl Into<String>) -> Misfit {
    Misfit {
        step: None,
        why: why.into(),
    }
}

/// The first step that comes to nothing; else whether anybody is left in the end.
fn undergone(fault: &Fault, spec: &ModeSpec, sites: &[String]) -> Option<Misfit> {
    let mut standing = Standing::of(spec, sites);
    for (index, step) in fault.steps.iter().enumerate() {
        if let Err(why) = standing.undergo(&step.deed) {
            return Some(at(index, why));
        }
    }
    standing.left().err().map(whole)
}

fn is_cluster(spec: &ModeSpec) -> bool {
    matches!(spec.mode.family(), Family::Group | Family::Galera)
}

fn has_appliers(spec: &ModeSpec) -> bool {
    is_cluster(spec) || matches!(spec.mode, Mode::Async | Mode::Semisync { .. })
}

/// Why a mode never has an event, or not in time.
fn of_event(when: When, limit: Duration, spec: &ModeSpec) -> Option<String> {
    let mode = spec.mode.name();
    let never = |why: &str| Some(format!("never comes in {mode}: {why}"));
    match when {
        When::Behind(..) if !has_appliers(spec) => never("it has no appliers"),
        When::Expelled(_) if !is_cluster(spec) => never("nobody is put out there"),
        When::Transfer if !is_cluster(spec) => never("it has no state transfers"),
        When::Behind(target, _) | When::Expelled(target) => of_target(target, spec),
        When::FellBack => match goes_on_alone_after(spec) {
            None => never("it never goes on alone"),
            Some(timeout) if timeout >= limit => Some(format!(
                "would come after {}, the mode's timeout, and is waited for no longer than {}",
                units::show(timeout),
                units::show(limit)
            )),
            Some(_) => None,
        },
        When::After { .. } | When::Commits(_) | When::Silent(_) | When::Served | When::Transfer => {
            None
        }
    }
}

/// The timeout after which a mode goes on without the others; `None` if it never does.
fn goes_on_alone_after(spec: &ModeSpec) -> Option<Duration> {
    match spec.mode {
        Mode::Semisync { timeout, .. } => Some(timeout),
        Mode::Mirror {
            when_short: WhenShort::Degrade,
            timeout,
            ..
        } => Some(timeout),
        _ => None,
    }
}

/// Why a mode cannot have a deed.
fn of_deed(deed: &Deed, spec: &ModeSpec) -> Option<String> {
    let mode = spec.mode.name();
    let is_copied = spec.mode.family().copies_volume();
    let why = match deed {
        Deed::Promote(_) if spec.nodes < 2 => "there is no replica that could take over",
        Deed::Promote(_) if is_cluster(spec) => {
            "it chooses who writes by itself: leave the promotion out"
        }
        Deed::Promote(promotion) if is_copied && promotion.is_given_others => {
            "its copies have no logs that could be given: leave given_others out"
        }
        Deed::Promote(promotion) if is_copied && promotion.choose == Choose::MostExecuted => {
            "its copies execute nothing: choose most received or first"
        }
        Deed::Bootstrap(_) | Deed::ForceMembers(_) if !is_cluster(spec) => {
            "it has no members: this is for group, group-multi and galera"
        }
        Deed::Rejoin(_) | Deed::BeginRejoin(_) if spec.nodes < 2 => "there is nobody to rejoin",
        Deed::BlockAppliers(_) | Deed::FreeAppliers(_) if !has_appliers(spec) => {
            "it has no appliers"
        }
        _ => return of_targets(deed, spec),
    };
    Some(format!("cannot be in {mode}: {why}"))
}

fn of_targets(deed: &Deed, spec: &ModeSpec) -> Option<String> {
    let links = deed.links();
    let of_links = links.map(|links| [Some(links.from), links.to]);
    let all = [deed.target()]
        .into_iter()
        .chain(of_links.into_iter().flatten());
    all.flatten().find_map(|target| of_target(target, spec))
}

/// Why there is nobody of that role, whatever happens.
fn of_target(target: Target, spec: &ModeSpec) -> Option<String> {
    let (nodes, mode) = (spec.nodes, spec.mode.name());
    let others = nodes.saturating_sub(1);
    let is_copied = spec.mode.family().copies_volume();
    match target {
        Target::Replica(_) | Target::Replicas | Target::MostReceived | Target::LeastReceived
            if others == 0 =>
        {
            Some(format!(
                "there is no {} in {mode}, which has one node",
                target.words()
            ))
        }
        Target::Replica(number) if !(1..=others).contains(&number) => Some(format!(
            "there is no replica {number}: {nodes} nodes have replicas 1 to {others}"
        )),
        Target::First(number) if !(1..=nodes).contains(&number) => {
            Some(format!("there are {nodes} nodes, and not {number}"))
        }
        Target::MostReceived | Target::LeastReceived if is_copied => Some(format!(
            "the copies of a {mode} do not tell what they have received: name one by its number"
        )),
        Target::Minority if nodes < NODES_OF_MINORITY_MIN => {
            Some(format!("{nodes} nodes have no minority"))
        }
        Target::Donor if !is_cluster(spec) => {
            Some(format!("there are no state transfers in {mode}"))
        }
        _ => None,
    }
}

/// What is wrong with a fault beside its steps.
fn of_whole(fault: &Fault, spec: &ModeSpec, sites: &[String]) -> Vec<String> {
    let stand = nodes::sites_of(sites, spec.nodes);
    let is_apart = stand.iter().any(|site| Some(site) != stand.first());
    let mut found = Vec::new();
    if fault.clients_at == ClientsAt::BothSides && !is_apart {
        found.push("all nodes stand in one site: clients cannot be on both sides".to_owned());
    }
    found.extend(of_every_node(fault, spec));
    found.extend(of_router(fault, spec));
    let reach = fault
        .reach
        .iter()
        .filter_map(|reach| of_reach(*reach, fault, spec));
    found.extend(reach);
    found.extend(of_control(fault, spec));
    found
}

/// Why a Router finds no writer. By its account's default plugin, `caching_sha2_password`, it can
/// log in without TLS only where it has done so before: at the primary that is gone.
fn of_router(fault: &Fault, spec: &ModeSpec) -> Option<String> {
    let why = match fault.finding {
        Finding::Router if spec.mode.family() != Family::Group => {
            "a Router finds the primaries of a group: say finding = \"proxy\""
        }
        Finding::Router if spec.tls != Some(true) => {
            "a Router logs in to the other members over TLS alone: say tls = true in the [[mode]]"
        }
        _ => return None,
    };
    Some(why.to_owned())
}

/// Why clients cannot stand at every node, and stay there.
fn of_every_node(fault: &Fault, spec: &ModeSpec) -> Option<String> {
    let is_asked = fault.clients_at == ClientsAt::EveryNode;
    let why = match fault.finding {
        _ if !is_asked => return None,
        _ if spec.nodes > 1 && !spec.mode.is_multi_writer() => {
            "not every node takes writes: clients cannot write to each"
        }
        Finding::Staying => return None,
        _ => "clients of every node stay with it: say finding = \"staying\"",
    };
    Some(why.to_owned())
}

/// Why something can never be seen of a fault, as far as its steps tell.
fn of_reach(reach: Reach, fault: &Fault, spec: &ModeSpec) -> Option<String> {
    let count = fault.steps.len();
    let has = |is_it: fn(&Deed) -> bool| fault.steps.iter().any(|step| is_it(&step.deed));
    let why = match reach {
        Reach::InFlight(step) | Reach::AcknowledgedBefore(step, _) if step >= count => {
            return Some(format!(
                "there are {count} steps: none has the number {}",
                step + 1
            ));
        }
        Reach::FellBack if goes_on_alone_after(spec).is_none() => "such a mode never goes on alone",
        Reach::Behind if !has(|deed| matches!(deed, Deed::Promote(_) | Deed::Bootstrap(_))) => {
            "nobody takes over, who could be behind"
        }
        Reach::BothWrote if !has(|deed| matches!(deed, Deed::CutLinks(_))) => {
            "no step makes two sides that could both write"
        }
        _ => return None,
    };
    Some(why.to_owned())
}

/// Why a control can tell nothing.
fn of_control(fault: &Fault, spec: &ModeSpec) -> Option<String> {
    if fault.control != Some(Control::LosesUndelivered) {
        return None;
    }
    let is_cut = |deed: &Deed| matches!(deed, Deed::CutLinks(_));
    let why = if !matches!(spec.mode, Mode::Async | Mode::Semisync { .. }) {
        "what its links deliver is no stream of transactions"
    } else if spec.tls == Some(true) {
        "what its links deliver cannot be read with TLS"
    } else if !fault.steps.iter().any(|step| is_cut(&step.deed)) {
        "no step cuts links, so that nothing would be undelivered"
    } else {
        return None;
    };
    Some(format!("cannot lose exactly what was undelivered: {why}"))
}

#[cfg(test)]
mod tests;
