//! `[[fault]]` and its steps: a schedule of what is done under load. Its keys are described for
//! people in `docs/study.md`.

use std::time::Duration;

use super::walk::{Node, Table, one_of_names};
use crate::study::faults::fit::Misfit;
use crate::study::faults::words::{
    CHOICES, CLIENTS, CONTROLS, FINDINGS, REACHES, TARGETS, WAYS, WRITINGS,
};
use crate::study::faults::{
    Between, Choose, Control, Deed, Fault, Leaves, Promotion, Reach, Step, Target, When,
};
use crate::study::{limits, units};

/// From a client's last word until it takes its connection for dead, if a fault does not say.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long clients go on after the last step, if a fault does not say.
const AFTERWARDS: Duration = Duration::from_secs(3);
/// How long a step waits for its event, if it does not say.
const LIMIT: Duration = Duration::from_secs(30);

/// Keys of a deed or an event.
type Keys = &'static [&'static str];

const EVENT_KEYS: [&str; 3] = ["of", "by", "for"];
/// Events, each with its keys.
const EVENTS: [(&str, Keys); 6] = [
    ("behind", &["of", "by"]),
    ("expelled", &["of"]),
    ("silent", &["for"]),
    ("fell back", &[]),
    ("served", &[]),
    ("transfer", &[]),
];

const DEED_KEYS: [&str; 12] = [
    "to",
    "from",
    "way",
    "with_clients",
    "share",
    "delay",
    "flush",
    "leave",
    "leaves",
    "choose",
    "fenced",
    "given_others",
];
const TO: Keys = &["to"];
/// Makes a deed of whom it befalls.
type OfNodes = fn(Target) -> Deed;
/// Deeds that say whom they befall, and nothing else.
const OF_NODES: [(&str, OfNodes); 14] = [
    ("kill", Deed::Kill),
    ("pause", Deed::Pause),
    ("resume", Deed::Resume),
    ("restart", Deed::Restart),
    ("stall disk", Deed::StallDisk),
    ("resume disk", Deed::ResumeDisk),
    ("fail disk", Deed::FailDisk),
    ("destroy disk", Deed::DestroyDisk),
    ("block appliers", Deed::BlockAppliers),
    ("free appliers", Deed::FreeAppliers),
    ("bootstrap", Deed::Bootstrap),
    ("force members", Deed::ForceMembers),
    ("rejoin", Deed::Rejoin),
    ("begin rejoin", Deed::BeginRejoin),
];
/// The others, each with its keys.
const OTHERS: [(&str, Keys); 8] = [
    ("power cut", &["to", "leaves"]),
    ("promote", &["choose", "fenced", "given_others"]),
    ("cut links", &["from", "to", "way", "with_clients"]),
    (
        "lose packets",
        &["from", "to", "way", "with_clients", "share"],
    ),
    (
        "slow links",
        &["from", "to", "way", "with_clients", "delay"],
    ),
    ("heal links", &[]),
    ("slow disk", &["to", "flush"]),
    ("fill disk", &["to", "leave"]),
];

/// A fault as it was read, and where it and its steps stand.
pub struct Written<'d> {
    /// `None` if its name or one of its steps is a mistake.
    pub fault: Option<Fault>,
    table: Table<'d>,
    steps: Vec<Table<'d>>,
}

impl Written<'_> {
    /// Notes why it cannot be injected in the mode of that label.
    pub fn note(&self, label: &str, misfits: &[Misfit]) {
        for misfit in misfits {
            let step = misfit.step.and_then(|index| self.steps.get(index));
            let table = step.unwrap_or(&self.table);
            table.wrong(&format!("mode {label:?}"), &misfit.why);
        }
    }
}

/// Reads a fault; one without steps is the one of `known` of its name, with what else it says.
/// Other keys of the table, and [`Table::finish`], are left to the caller.
pub fn read<'d>(table: &Table<'d>, known: &[&Fault]) -> Written<'d> {
    let node = table.need(
        "name",
        "lower-case letters, digits and hyphens must be given",
    );
    let name = node.as_ref().and_then(plain_name);
    let given = table.get("step");
    let steps = step_tables(given.as_ref());
    let read = steps.iter().enumerate();
    let read: Vec<(Option<Step>, Vec<Reach>)> =
        read.map(|(index, table)| step(index, table)).collect();
    let asked = node.as_ref().zip(name);
    let asked = asked.and_then(|asked| of_catalogue(asked, given.is_some(), known));
    let is_whole =
        asked.is_some() || given.is_some() && read.iter().all(|(step, _)| step.is_some());
    let base = asked.unwrap_or_else(|| own(name.unwrap_or_default(), &read));
    let fault = changed(table, base);
    Written {
        fault: (name.is_some() && is_whole).then_some(fault),
        table: table.clone(),
        steps,
    }
}

fn plain_name<'d>(node: &Node<'d>) -> Option<&'d str> {
    let name = node.words()?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.chars().all(is_plain) {
        node.wrong("must be made of lower-case letters, digits and hyphens only");
        return None;
    }
    Some(name)
}

/// An empty list of them is given too: a fault in which nothing happens.
fn step_tables<'d>(given: Option<&Node<'d>>) -> Vec<Table<'d>> {
    let nodes = given.and_then(Node::list_or_none).unwrap_or_default();
    if let Some(node) = given
        && nodes.len() > limits::FAULT_STEPS
    {
        node.wrong(&format!("must be at most {} steps", limits::FAULT_STEPS));
    }
    nodes.iter().filter_map(Node::table).collect()
}

/// The fault that is asked for by its name alone.
fn of_catalogue(
    (node, name): (&Node<'_>, &str),
    has_steps: bool,
    known: &[&Fault],
) -> Option<Fault> {
    let found = known.iter().copied().find(|fault| fault.name == name);
    match (found, has_steps) {
        (Some(_), true) => node
            .wrong("is a fault of the catalogue: leave its steps out, or give yours another name"),
        (None, false) => {
            let names: Vec<&str> = known.iter().map(|fault| &fault.name[..]).collect();
            node.wrong(&format!(
                "has no step, and a fault of the catalogue {}",
                one_of_names(name, &names)
            ));
        }
        _ => {}
    }
    found.filter(|_| !has_steps).cloned()
}

/// A fault of the study's own, with the defaults of what it need not say.
fn own(name: &str, read: &[(Option<Step>, Vec<Reach>)]) -> Fault {
    let steps = read.iter().filter_map(|(step, _)| step.clone());
    let reach = read.iter().flat_map(|(_, reach)| reach.clone());
    Fault {
        name: name.to_owned(),
        title: name.to_owned(),
        steps: steps.collect(),
        client_timeout: CLIENT_TIMEOUT,
        afterwards: AFTERWARDS,
        reach: reach.collect(),
        ..Fault::default()
    }
}

/// The fault with what its table says besides its steps.
fn changed(table: &Table<'_>, base: Fault) -> Fault {
    let title = table.read("title", Node::words).map(str::to_owned);
    let finding = table.read("finding", |node| node.one_of(&FINDINGS));
    let clients = table.read("clients", |node| node.one_of(&CLIENTS));
    let writing = table.read("writing", |node| node.one_of(&WRITINGS));
    let timeout = table.time(
        "client_timeout",
        limits::CLIENT_TIMEOUT,
        base.client_timeout,
    );
    let served_for = table.read("served_for", |node| node.time(limits::FAULT_AFTER));
    let reach = table.get("reach").map(|node| reaches(&node));
    let reach = reach.into_iter().flatten();
    Fault {
        title: title.unwrap_or(base.title),
        finding: finding.unwrap_or(base.finding),
        clients_at: clients.unwrap_or(base.clients_at),
        writing: writing.unwrap_or(base.writing),
        client_timeout: timeout,
        afterwards: table.time("afterwards", limits::FAULT_AFTER, base.afterwards),
        served_for: served_for.or(base.served_for),
        reach: base.reach.into_iter().chain(reach).collect(),
        control: table.read("control", control).or(base.control),
        ..base
    }
}

/// What must have been seen of a whole fault.
pub fn reaches(node: &Node<'_>) -> Vec<Reach> {
    let nodes = node.list().unwrap_or_default();
    let reach = |node: &Node<'_>| node.one_of(&REACHES);
    nodes.iter().filter_map(reach).collect()
}

/// A word, or `{ loses = SHARE }`.
fn control(node: &Node<'_>) -> Option<Control> {
    if !node.is_table() {
        return node.one_of(&CONTROLS);
    }
    let table = node.table()?;
    let share = table.need(
        "loses",
        "the share of trials that must lose something must be given",
    );
    let share = share.and_then(|node| node.share(limits::CONTROL_SHARE));
    table.finish();
    share.map(Control::Loses)
}

/// A step, and what must have been seen when it is done.
fn step(index: usize, table: &Table<'_>) -> (Option<Step>, Vec<Reach>) {
    let (when, deed) = (when(table), deed(table));
    let limit = table.time("limit", limits::FAULT_LIMIT, LIMIT);
    let in_flight = table.read("in_flight", Node::flag).unwrap_or(false);
    let in_flight = in_flight.then_some(Reach::InFlight(index));
    let acknowledged = table.read("acknowledged", |node| node.whole(limits::FAULT_COMMITS));
    let acknowledged = acknowledged.map(|count| Reach::AcknowledgedBefore(index, count));
    table.finish();
    let step = when
        .zip(deed)
        .map(|(when, deed)| Step { when, limit, deed });
    (step, in_flight.into_iter().chain(acknowledged).collect())
}

/// When a step is done: at once, if it does not say.
fn when(table: &Table<'_>) -> Option<When> {
    let after = table.get("after").or_else(|| table.get_alias("at"));
    let (commits, event) = (table.get("after_commits"), table.get("when"));
    let details = EVENT_KEYS.map(|key| table.get(key));
    let given: Vec<&Node<'_>> = [&after, &commits, &event].into_iter().flatten().collect();
    if let [_, second, ..] = given[..] {
        second.wrong("is a second moment: one of after, after_commits and when must be given");
        return None;
    }
    if event.is_none() {
        let details = details.iter().flatten();
        details.for_each(|node| node.wrong("is for steps with an event: when"));
    }
    match (after, commits, event) {
        (Some(node), _, _) => span(&node),
        (_, Some(node), _) => node.whole(limits::FAULT_COMMITS).map(When::Commits),
        (_, _, Some(node)) => event_of(&node, table),
        (None, None, None) => Some(When::After {
            min: Duration::ZERO,
            max: Duration::ZERO,
        }),
    }
}

/// `300ms`, or `0.2s..1.5s`, from which each trial draws.
fn span(node: &Node<'_>) -> Option<When> {
    let text = node.as_text().unwrap_or_default();
    let (min, max) = text.split_once("..").unwrap_or((text, text));
    let is_held = |time: &Duration| limits::FAULT_AFTER.holds(*time);
    let [min, max] = [min, max].map(|text| units::duration(text).filter(is_held));
    let found = min.zip(max).filter(|(min, max)| min <= max);
    if found.is_none() {
        let allowed = limits::FAULT_AFTER.time();
        node.wrong(&format!(
            "{allowed}, such as \"300ms\", or two from which it is drawn: \"0.2s..1.5s\""
        ));
    }
    found.map(|(min, max)| When::After { min, max })
}

fn event_of(node: &Node<'_>, table: &Table<'_>) -> Option<When> {
    let (name, keys) = node.one_of(&EVENTS.map(|event| (event.0, event)))?;
    refuse(table, name, &EVENT_KEYS, keys);
    match name {
        "behind" => {
            let by = table.need("by", "how many transactions must be given");
            let by = by.and_then(|node| node.whole(limits::FAULT_COMMITS));
            let of = needed_target(table, "of");
            Some(When::Behind(of?, by?))
        }
        "expelled" => needed_target(table, "of").map(When::Expelled),
        "silent" => {
            let span = table.need("for", "for how long must be given");
            let span = span.and_then(|node| node.time(limits::FAULT_SILENCE));
            span.map(When::Silent)
        }
        "fell back" => Some(When::FellBack),
        "served" => Some(When::Served),
        _ => Some(When::Transfer),
    }
}

/// Keys that are others' are mistakes.
fn refuse(table: &Table<'_>, name: &str, all: &[&str], own: &[&str]) {
    let takes = match own.is_empty() {
        true => "nothing more".to_owned(),
        false => own.join(", "),
    };
    for key in all.iter().filter(|key| !own.contains(*key)) {
        if let Some(node) = table.get(key) {
            node.wrong(&format!("is not for {name:?}, which takes {takes}"));
        }
    }
}

/// Names of all deeds, and their keys.
pub fn deeds() -> Vec<(&'static str, Keys)> {
    let of_nodes = OF_NODES.iter().map(|(name, _)| (*name, TO));
    of_nodes.chain(OTHERS).collect()
}

fn deed(table: &Table<'_>) -> Option<Deed> {
    let all: Vec<(&str, (&str, Keys))> = deeds().into_iter().map(|deed| (deed.0, deed)).collect();
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let node = table.need("do", &one_of_names("", &names));
    // Known from now on, whatever comes of it.
    let _given = DEED_KEYS.map(|key| table.get(key));
    let (name, keys) = node?.one_of(&all)?;
    refuse(table, name, &DEED_KEYS, keys);
    match OF_NODES.iter().find(|(known, _)| *known == name) {
        Some((_, deed)) => needed_target(table, "to").map(*deed),
        None => other_deed(table, name),
    }
}

fn other_deed(table: &Table<'_>, name: &str) -> Option<Deed> {
    let to = || needed_target(table, "to");
    let delay = |key: &str| {
        let node = table.need(key, "a time must be given, such as \"50ms\"");
        node.and_then(|node| node.time(limits::FAULT_DELAY))
    };
    match name {
        "power cut" => {
            let leaves = table.read("leaves", |node| node.one_of(&Leaves::ALL));
            let leaves = leaves.unwrap_or(Leaves::Nothing);
            to().map(|to| Deed::PowerCut(to, leaves))
        }
        "promote" => Some(Deed::Promote(promotion(table))),
        "heal links" => Some(Deed::HealLinks),
        "cut links" => links(table).map(Deed::CutLinks),
        "lose packets" => {
            let share = table.need("share", "the share of packets must be given");
            let share = share.and_then(|node| node.share(limits::FAULT_LOSS));
            let links = links(table);
            Some(Deed::LoseOnLinks(links?, share?))
        }
        "slow links" => {
            let (links, delay) = (links(table), delay("delay"));
            Some(Deed::SlowLinks(links?, delay?))
        }
        "slow disk" => {
            let (to, flush) = (to(), delay("flush"));
            Some(Deed::SlowDisk(to?, flush?))
        }
        _ => {
            let leave = table.need("leave", "the room that is left must be given");
            let leave = leave.and_then(|node| bytes(&node));
            let to = to();
            Some(Deed::FillDisk(to?, leave?))
        }
    }
}

fn promotion(table: &Table<'_>) -> Promotion {
    let choose = table.read("choose", |node| node.one_of(&CHOICES));
    Promotion {
        choose: choose.unwrap_or(Choose::MostReceived),
        is_fenced: table.read("fenced", Node::flag).unwrap_or(true),
        is_given_others: table.read("given_others", Node::flag).unwrap_or(false),
    }
}

fn links(table: &Table<'_>) -> Option<Between> {
    let from = needed_target(table, "from");
    let to = table.get("to").map(|node| target(&node));
    let way = table.read("way", |node| node.one_of(&WAYS));
    let with_clients = table.read("with_clients", Node::flag);
    Some(Between {
        from: from?,
        to: match to {
            Some(to) => Some(to?),
            None => None,
        },
        way: way.unwrap_or_default(),
        with_clients: with_clients.unwrap_or(false),
    })
}

fn bytes(node: &Node<'_>) -> Option<u64> {
    let bytes = node.as_text().and_then(units::bytes);
    let bytes = bytes.filter(|bytes| *bytes >= 0.0);
    let bytes = bytes.map(|bytes| bytes.round() as u64);
    let bytes = bytes.filter(|bytes| limits::FAULT_LEAVE_BYTES.holds(*bytes));
    if bytes.is_none() {
        let most = units::show_bytes(limits::FAULT_LEAVE_BYTES.high);
        node.wrong(&format!(
            "must be a size from 0 B to {most}, such as \"1MB\""
        ));
    }
    bytes
}

fn needed_target(table: &Table<'_>, key: &str) -> Option<Target> {
    let node = table.need(key, "a role must be given, such as \"writer\"");
    node.and_then(|node| target(&node))
}

fn target(node: &Node<'_>) -> Option<Target> {
    let text = node.text()?;
    let found = Target::named(text);
    if found.is_none() {
        let plain = TARGETS.iter().map(|(name, _)| *name);
        let names: Vec<&str> = plain.chain(["replica 1", "first 2"]).collect();
        node.wrong(&one_of_names(text, &names));
    }
    found
}
