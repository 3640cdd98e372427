//! How a report begins: on what terms it was measured.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::numbers::{count, numbered, time, utc};
use super::page::Block;
use crate::analysis::Summary;
use crate::analysis::summary::{CellSummary, LabSummary, Machine, Machines, PartOf, own_numbers};
use crate::record::self_test::Part;
use crate::record::{Host, Resumed};
use crate::study::units::{show, show_percent};

/// Settings of the modes that belong to the terms.
const SETTINGS: [&str; 3] = [TLS, APPLIERS, "binary_log"];
const TLS: &str = "TLS";
const APPLIERS: &str = "appliers";

/// What precedes the tables.
pub fn head(summary: &Summary) -> Vec<Block> {
    let title = format!("acklab {}: {}", summary.study, summary.title);
    let mut facts = vec![fact("run", run(summary))];
    facts.extend(
        summary
            .part
            .map(|part| fact("part", of_study(summary, part))),
    );
    if !summary.finished {
        facts.insert(0, fact("PARTIAL", partial(summary)));
    }
    facts.extend(one_round(summary).map(|said| fact("one round", said.to_owned())));
    facts.extend(summary.servers.iter().map(|server| {
        let said = format!("{} {} ({})", server.name, server.version, server.source);
        fact("server", said)
    }));
    facts.extend(endpoints(summary));
    facts.extend(hosts(summary));
    facts.extend(
        summary
            .self_test
            .as_deref()
            .map(|parts| fact("self-test", self_test(parts))),
    );
    let (alike, unlike) = terms(summary);
    facts.push(fact("alike", alike.join(", ")));
    facts.extend(unlike.into_iter().map(|said| fact("not alike", said)));
    facts.extend(labs(summary));
    facts.extend(
        summary
            .remarks
            .iter()
            .map(|remark| fact("remark", remark.clone())),
    );
    facts.extend((summary.resumed.iter()).map(|one| fact("remark", went_on(summary, one))));
    if summary.measurements_made_again > 0 {
        facts.push(fact("remark", made_again(summary)));
    }
    vec![Block::Title(title), Block::Facts(facts)]
}

/// `driver 20 of 21 hold (2026-11-23 10:00), open-loop 6 of 6 (…)`. What was run whole says more
/// than the same in short.
fn self_test(parts: &[Part]) -> String {
    let is_whole = |part: &Part, name: &str| !part.is_quick && part.name == name;
    let is_told =
        |part: &&Part| !part.is_quick || !parts.iter().any(|other| is_whole(other, &part.name));
    let one = |part: &Part| {
        let held = part.checks.iter().filter(|check| check.holds).count();
        let short = if part.is_quick { "in short, " } else { "" };
        let (name, all, at) = (&part.name, part.checks.len(), utc(part.started_unix_ms));
        format!("{name} {held} of {all} hold ({short}{at})")
    };
    match parts.is_empty() {
        true => "not run on this host: `acklab self-test` measures what is known".to_owned(),
        false => {
            let told: Vec<String> = parts.iter().filter(is_told).map(one).collect();
            told.join(", ")
        }
    }
}

fn went_on(summary: &Summary, resumed: &Resumed) -> String {
    let measurements = count(resumed.measurements as u64, "measurement");
    let at = utc(resumed.started_unix_ms);
    let part = resumed.part.map(|part| format!("part {part} was "));
    let is_other = !resumed.host.is_same_machine(&summary.host);
    let machines = summary.machines.as_ref();
    let machine = machines.and_then(|all| number_of(all, &resumed.host));
    let where_to = match (machine, is_other) {
        (Some(number), _) => format!(", on machine {number}"),
        (None, true) => ", on another host".to_owned(),
        (None, false) => String::new(),
    };
    let anew = match resumed.measurements_left_out {
        0 => String::new(),
        left_out => format!(
            "; {} of a half round, made by the machine before, {} left out; that round was \
             measured anew",
            count(left_out as u64, "measurement"),
            if left_out == 1 { "was" } else { "were" }
        ),
    };
    format!(
        "{}stopped after {measurements}, gone on with {at}{where_to}, on servers formed anew{anew}",
        part.unwrap_or_default()
    )
}

/// Of a machine that the report tells; `None` where it did nothing that is here.
fn number_of(machines: &Machines, host: &Host) -> Option<u32> {
    let mut all = machines.machines.iter();
    let own = all.find(|machine| machine.host.is_same_machine(host));
    own.map(|own| own.number)
}

/// `3/8: rounds 3 and 11 of 16; acklab merge joins all parts`
fn of_study(summary: &Summary, part: PartOf) -> String {
    let own: Vec<u32> = own_numbers(Some(part), summary.rounds_asked).collect();
    format!(
        "{part}: {} of {}; `acklab merge` makes one record of all parts",
        numbered("round", &own),
        summary.rounds_asked
    )
}

fn made_again(summary: &Summary) -> String {
    let times = u64::from(summary.measurements_made_again);
    let measurements = count(times, "disturbed measurement");
    let why = match summary.endpoints.is_empty() {
        true => "links late, or CPU time stolen",
        false => "a driver missing, or CPU time stolen",
    };
    format!("{measurements} ({why}) made again")
}

fn fact(name: &str, said: String) -> (String, String) {
    (name.to_owned(), said)
}

fn run(summary: &Summary) -> String {
    let short = if summary.is_quick {
        "short run (--quick), "
    } else {
        ""
    };
    format!(
        "{short}{}, seed {}; each cell {} s warm-up, {} s measured; {}; acklab {}",
        rounds(summary),
        summary.seed,
        summary.warmup_s,
        summary.measure_s,
        utc(summary.started_unix_ms),
        summary.acklab_version
    )
}

/// `4 rounds`, or where these end by themselves `8 of at most 16 rounds (until 5%)`.
fn rounds(summary: &Summary) -> String {
    let asked = count(summary.rounds_asked.into(), "round");
    let until = summary
        .until
        .map(|share| format!("until {}", show_percent(share)));
    let span = |s: f64| show(Duration::from_secs_f64(s));
    let budget = summary.budget_s.map(|s| format!("in at most {}", span(s)));
    let why: Vec<String> = until.into_iter().chain(budget).collect();
    match why.is_empty() {
        true => asked,
        false => format!(
            "{} of at most {asked} ({})",
            summary.rounds_measured,
            why.join(", ")
        ),
    }
}

fn partial(summary: &Summary) -> String {
    let of = match ends_by_itself(summary) {
        true => String::new(),
        false => format!(" of {}", summary.measurements_asked),
    };
    let here = summary.measurements;
    format!("the run did not go through to its end: {here}{of} measurements are here")
}

/// What a single round leaves open.
pub fn one_round(summary: &Summary) -> Option<&'static str> {
    let rounds = summary.cells.iter().map(|cell| cell.rounds).max();
    (rounds == Some(1)).then_some(
        "nothing has an interval, so no difference is shown: measure again with --rounds 4",
    )
}

/// Whether it was open beforehand how many rounds there would be.
fn ends_by_itself(summary: &Summary) -> bool {
    summary.until.is_some() || summary.budget_s.is_some() || !summary.knees.is_empty()
}

/// One line, or one for each of several machines.
fn hosts(summary: &Summary) -> Vec<(String, String)> {
    let Some(machines) = &summary.machines else {
        return vec![fact("host", host(summary, &summary.host))];
    };
    let machine = |one: &Machine| {
        let rounds = (!one.rounds.is_empty()).then(|| numbered("round", &one.rounds));
        let trials = (one.trials > 0).then(|| count(one.trials as u64, "trial"));
        let done: Vec<String> = rounds.into_iter().chain(trials).collect();
        let said = format!("{}; {}", host(summary, &one.host), done.join(", "));
        fact(&format!("machine {}", one.number), said)
    };
    machines.machines.iter().map(machine).collect()
}

fn host(summary: &Summary, host: &Host) -> String {
    let machine = format!(
        "{}, {}, {:.1} GiB, kernel {}",
        host.cpu_model,
        count(host.cpus.into(), "CPU"),
        host.memory_bytes as f64 / f64::from(1 << 30),
        host.kernel
    );
    if !summary.endpoints.is_empty() {
        return format!("{machine}; the client's: of the servers' nothing is known");
    }
    format!(
        "{machine}; fsync {} and links' own round trip {} (medians)",
        time(host.fsync_us_p50),
        time(host.link_floor_us_p50)
    )
}

/// Servers that somebody else runs: where they are, and what a lab would have set there.
fn endpoints(summary: &Summary) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    for endpoint in &summary.endpoints {
        let places = endpoint.places.join(", ");
        let said = format!("{}: {places}; TLS {}", endpoint.label, endpoint.tls);
        facts.push(fact("endpoint", said));
        let advice = endpoint.advice.iter();
        let advice = advice.map(|said| fact("advice", format!("{}: {said}", endpoint.label)));
        facts.extend(advice);
    }
    facts
}

/// What all servers and modes share, and what they do not.
fn terms(summary: &Summary) -> (Vec<String>, Vec<String>) {
    let (mut alike, mut unlike) = (vec![], vec![]);
    let settings = SETTINGS.map(|name| (name.to_owned(), by_setting(summary, name)));
    let settings = settings.iter().map(|(name, values)| (name, values));
    for (name, values) in settings.chain(&summary.terms) {
        let mut each = values.iter();
        match (each.next(), values.len()) {
            (Some((value, _)), 1) => alike.push(format!("{name} {value}")),
            (Some(_), _) => unlike.push(format!("{name} {}", by_value(values))),
            (None, _) => {}
        }
    }
    (alike, unlike)
}

fn by_value(values: &BTreeMap<String, Vec<String>>) -> String {
    let said = |(value, places): (&String, &Vec<String>)| {
        let value = if value.is_empty() { "none" } else { value };
        format!("{value} ({})", places.join(", "))
    };
    let said: Vec<String> = values.iter().map(said).collect();
    said.join("; ")
}

/// Value → labels of the modes that have it. A mode without replicas has no appliers.
fn by_setting(summary: &Summary, name: &str) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let has_it = |cell: &&CellSummary| name != APPLIERS || !cell.point.mode.has_one_server();
    let plain = summary.cells.iter().filter(|cell| cell.moved.is_none());
    for cell in plain.filter(has_it) {
        let of_study = if summary.tls { "on" } else { "off" };
        let value = match name {
            TLS => Some(cell.settings.get("tls").map_or(of_study, String::as_str)),
            _ => cell.settings.get(name).map(String::as_str),
        };
        if let Some(value) = value {
            let labels = values.entry(value.to_owned()).or_default();
            if !labels.contains(&cell.label) {
                labels.push(cell.label.clone());
            }
        }
    }
    values
}

fn labs(summary: &Summary) -> Vec<(String, String)> {
    let ready = |(index, lab): (usize, &LabSummary)| {
        let says_more = lab.modes != [&lab.family[..]];
        let modes = match says_more && is_one_more(summary, index) {
            true => format!(" ({})", lab.modes.join(", ")),
            false => String::new(),
        };
        format!("{}{modes} {:.1} s", lab.family, lab.ready_s)
    };
    let labs: Vec<String> = summary.labs.iter().enumerate().map(ready).collect();
    let overridden = summary.labs.iter().flat_map(|lab| &lab.overridden);
    let overridden: BTreeSet<String> = overridden
        .map(|o| format!("{}: yours {}, used {}", o.name, o.given, o.used))
        .collect();
    let mut facts = Vec::new();
    if !labs.is_empty() {
        facts.push(fact("ready after", labs.join(", ")));
    }
    facts.extend(overridden.into_iter().map(|said| fact("overridden", said)));
    facts
}

/// Whether a lab before it is of the same kind, and has its name without the number: a reader
/// wants to know which it is.
fn is_one_more(summary: &Summary, index: usize) -> bool {
    let kind = |lab: &LabSummary| {
        let mut cells = summary.cells.iter();
        let point = &cells.find(|cell| lab.modes.contains(&cell.label))?.point;
        Some((&point.server, point.mode.family(), point.binary_log))
    };
    let own = kind(&summary.labs[index]);
    let mut before = summary.labs[..index].iter();
    own.is_some() && before.any(|lab| kind(lab) == own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::Example;
    use crate::analysis::summarise;

    fn of_machine(name: &str) -> Host {
        Host {
            machine: Some(name.to_owned()),
            ..Host::default()
        }
    }

    #[test]
    fn going_on_says_where_and_what_was_left_out() {
        let mut record = Example::default().record();
        record.header.host = of_machine("a");
        let told = |record: &_, host: &str, measurements_left_out| {
            let resumed = Resumed {
                measurements: 8,
                measurements_left_out,
                host: of_machine(host),
                ..Resumed::default()
            };
            went_on(&summarise(record), &resumed)
        };
        let same = told(&record, "a", 0);
        assert!(same.starts_with("stopped after 8 measurements, gone on with 1970"));
        assert!(same.ends_with(" UTC, on servers formed anew"), "{same}");
        let one = told(&record, "b", 1);
        assert!(one.contains(" UTC, on another host, on servers"), "{one}");
        let left = "; 1 measurement of a half round, made by the machine before, was left out; \
                    that round was measured anew";
        assert!(one.ends_with(left), "{one}");
        assert!(told(&record, "b", 2).contains("; 2 measurements of a half round, "));
        // Of two that measured each has its number, and of a third nothing is here.
        record.header.resumed = vec![Resumed {
            host: of_machine("b"),
            ..Resumed::default()
        }];
        let last = record.measurements.iter().map(|one| one.round).max();
        for one in &mut record.measurements {
            one.segment = usize::from(Some(one.round) == last);
        }
        assert!(told(&record, "b", 0).contains(" UTC, on machine 2, on servers"));
        assert!(told(&record, "c", 0).contains(" UTC, on another host, on servers"));
    }

    #[test]
    fn a_part_that_was_run_whole_is_not_told_in_short() {
        let part = |name: &str, is_quick| Part {
            name: name.to_owned(),
            is_quick,
            ..Part::default()
        };
        let all = [part("knee", false), part("knee", true), part("same", true)];
        let told = self_test(&all);
        assert_eq!(told.matches("knee").count(), 1, "{told}");
        assert!(told.starts_with("knee 0 of 0 hold (1970"), "{told}");
        assert!(told.contains("same 0 of 0 hold (in short, 1970"), "{told}");
        assert!(self_test(&[]).starts_with("not run on this host"));
    }
}
