//! How two runs differ, but for their figures: servers, settings, machines, acklab itself.

use std::collections::{BTreeMap, BTreeSet};

use super::told::Difference;
use crate::analysis::terms::PRINTED;
use crate::record::store::Record;
use crate::record::{Header, Host, LabFacts, ServerFacts};
use crate::study::cpus::Cpus;
use crate::study::{ModeSpec, Study, Varied, units};

/// Times of the host's disk and of bare links must differ by so many times to be worth a line:
/// they are of a few probes.
const TIMES_APART: f64 = 1.5;
const GIB: f64 = (1_u64 << 30) as f64;

/// Where a value of some rows of modes is not the same in both: these rows, by what A calls them.
type ByValues = BTreeMap<(String, String, String), BTreeSet<String>>;

/// All of it; `rows` are the pairs of rows of modes that are compared.
pub fn differs([a, b]: [&Record; 2], rows: &BTreeSet<(usize, usize)>) -> Vec<Difference> {
    let (a, b) = (&a.header, &b.header);
    let mut found = of_rows([a, b], rows);
    found.extend(host(&a.host, &b.host));
    found.extend(study(&a.study, &b.study));
    found.extend(acklab(a, b));
    found
}

/// Servers and their settings of two runs of one study, all its rows of modes being compared.
pub fn settings([a, b]: [&Header; 2]) -> Vec<Difference> {
    let rows = (0..a.study.modes.len()).map(|row| (row, row));
    of_rows([a, b], &rows.collect())
}

fn of_rows([a, b]: [&Header; 2], rows: &BTreeSet<(usize, usize)>) -> Vec<Difference> {
    let mut found = servers(a, b, rows);
    found.extend(endpoints(a, b, rows));
    found.extend(variables(a, b, rows));
    found
}

/// What a run stands on besides its study: servers, machine, acklab. Servers that B lacks are told.
pub fn surroundings(a: &Header, b: &Header) -> Vec<Difference> {
    let differs = |of_a: &ServerFacts| {
        let mut all = b.servers.iter();
        match all.find(|of_b| of_b.name == of_a.name) {
            Some(of_b) => server(&of_a.name, of_a, of_b),
            None => unless_same(&of_a.name, [of_a.version.clone(), "none".to_owned()]),
        }
    };
    let mut found: Vec<Difference> = a.servers.iter().filter_map(differs).collect();
    found.extend(host(&a.host, &b.host));
    found.extend(acklab(a, b));
    found
}

fn acklab(a: &Header, b: &Header) -> Option<Difference> {
    let version = |header: &Header| header.acklab_version.clone();
    unless_same("acklab", [version(a), version(b)])
}

/// By their versions, or where these are the same by where they came from.
fn server(what: &str, a: &ServerFacts, b: &ServerFacts) -> Option<Difference> {
    let told: fn(&ServerFacts) -> &String = match a.version == b.version {
        true => |facts| &facts.source,
        false => |facts| &facts.version,
    };
    unless_same(what, [told(a).clone(), told(b).clone()])
}

fn unless_same(what: &str, [a, b]: [String; 2]) -> Option<Difference> {
    let what = what.to_owned();
    (a != b).then_some(Difference { what, a, b })
}

/// Servers of rows that are compared, and what else of a name both have: routers, proxies.
fn servers(a: &Header, b: &Header, rows: &BTreeSet<(usize, usize)>) -> Vec<Difference> {
    let name = |header: &Header, row: usize| header.study.modes[row].server.clone();
    let of_rows = rows
        .iter()
        .map(|(one, other)| (name(a, *one), name(b, *other)));
    let mut names: BTreeSet<(String, String)> = of_rows.collect();
    let fronts = a.servers.iter().filter(|one| !is_of_modes(a, &one.name));
    names.extend(fronts.map(|one| (one.name.clone(), one.name.clone())));
    let known = |header: &Header, name: &str| {
        let found = header.servers.iter().find(|server| server.name == name);
        found.cloned()
    };
    let version = |(one, other): (String, String)| {
        let (of_a, of_b) = (known(a, &one)?, known(b, &other)?);
        let what = match one == other {
            true => one,
            false => format!("{one} → {other}"),
        };
        server(&what, &of_a, &of_b)
    };
    names.into_iter().filter_map(version).collect()
}

fn is_of_modes(header: &Header, server: &str) -> bool {
    let mut modes = header.study.modes.iter();
    modes.any(|spec| spec.server == server)
}

/// Servers that somebody else runs.
fn endpoints(a: &Header, b: &Header, rows: &BTreeSet<(usize, usize)>) -> Vec<Difference> {
    let facts = |header: &Header, row: usize| {
        let label = &header.study.modes[row].label;
        let mut all = header.endpoints.iter();
        all.find(|one| one.label == *label).cloned()
    };
    let of_rows = rows.iter().filter_map(|(one, other)| {
        let (of_a, of_b) = (facts(a, *one)?, facts(b, *other)?);
        let places = [of_a.places.join(", "), of_b.places.join(", ")];
        Some([
            unless_same("endpoint", places),
            unless_same("endpoint's version", [of_a.version, of_b.version]),
            unless_same("endpoint's TLS", [of_a.tls, of_b.tls]),
        ])
    });
    of_rows.flatten().flatten().collect()
}

/// Server variables of the writer's lab: those that every report prints, and those that either
/// study asks for.
fn variables(a: &Header, b: &Header, rows: &BTreeSet<(usize, usize)>) -> Vec<Difference> {
    let mut apart: ByValues = BTreeMap::new();
    for (one, other) in rows {
        let specs = (&a.study.modes[*one], &b.study.modes[*other]);
        for name in asked_of(specs) {
            let values = (value(a, specs.0, &name), value(b, specs.1, &name));
            if let (Some(of_a), Some(of_b)) = values
                && of_a != of_b
            {
                let labels = apart.entry((name, of_a, of_b)).or_default();
                labels.insert(specs.0.label.clone());
            }
        }
    }
    let is_of_all = |labels: &BTreeSet<String>| labels.len() == rows.len();
    let difference = |((name, a, b), labels): ((String, String, String), BTreeSet<String>)| {
        let named: Vec<String> = labels.iter().cloned().collect();
        let what = match is_of_all(&labels) {
            true => name,
            false => format!("{name} ({})", named.join(", ")),
        };
        Difference { what, a, b }
    };
    apart.into_iter().map(difference).collect()
}

fn asked_of((a, b): (&ModeSpec, &ModeSpec)) -> BTreeSet<String> {
    let of_one = |spec: &ModeSpec| {
        let all = spec.node_variables.values().flat_map(|of| of.keys());
        let all = all.chain(spec.variables.keys());
        let names = all.map(|name| name.replace('-', "_"));
        names.collect::<Vec<String>>()
    };
    let asked = of_one(a).into_iter().chain(of_one(b));
    asked.chain(PRINTED.map(str::to_owned)).collect()
}

/// As its servers have it, one after the other where they differ; what no server tells of, as it
/// was asked. A variant's is what it changes: it has its servers from another mode.
fn value(header: &Header, spec: &ModeSpec, name: &str) -> Option<String> {
    let is_it = |(known, _): &(&String, &String)| known.replace('-', "_") == name;
    let asked = spec
        .variables
        .iter()
        .find(is_it)
        .map(|(_, value)| value.clone());
    let changes = |varied: &Varied| {
        let mut names = varied.changed.keys();
        names.any(|known| known.replace('-', "_") == name)
    };
    if spec.varied.as_ref().is_some_and(changes) {
        return asked;
    }
    let mut labs = header.labs.iter();
    let lab = labs.find(|lab| lab.modes.contains(&spec.label));
    lab.and_then(|lab| in_force(lab, name)).or(asked)
}

/// Who a server is and what it has executed: its own in every run.
const OF_ONE_SERVER: [&str; 8] = [
    "server_uuid",
    "gtid_executed",
    "gtid_purged",
    "gtid_owned",
    "gtid_current_pos",
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_slave_pos",
];

/// Names of all variables that a server of two runs of one study does not have alike.
pub fn unlike_variables([a, b]: [&Header; 2]) -> BTreeSet<String> {
    let of_lab = |one: &LabFacts| {
        let other = b.labs.iter().find(|other| other.modes == one.modes);
        let nodes = one.variables.iter().filter_map(|(node, of_a)| {
            let of_b = other?.variables.get(node)?;
            let apart = of_a.iter().filter(|(name, value)| {
                let known = of_b.get(*name);
                known.is_some_and(|known| known != *value)
            });
            Some(apart.map(|(name, _)| name.clone()).collect::<Vec<String>>())
        });
        nodes.flatten().collect::<Vec<String>>()
    };
    let all = a.labs.iter().flat_map(of_lab);
    all.filter(|name| !OF_ONE_SERVER.contains(&&name[..]))
        .collect()
}

fn in_force(lab: &LabFacts, name: &str) -> Option<String> {
    let of_nodes = lab.variables.values().filter_map(|node| node.get(name));
    let mut values: Vec<String> = of_nodes.cloned().collect();
    values.dedup();
    let shown = |value: &String| match value.is_empty() {
        true => "none".to_owned(),
        false => value.clone(),
    };
    let shown: Vec<String> = values.iter().map(shown).collect();
    (!shown.is_empty()).then(|| shown.join(" / "))
}

fn host(a: &Host, b: &Host) -> Vec<Difference> {
    let gib = |host: &Host| format!("{:.1} GiB", host.memory_bytes as f64 / GIB);
    let us = |us: f64| format!("{us:.0} µs");
    let apart = |what: &str, [a, b]: [f64; 2]| {
        let is_apart = a.max(b) > TIMES_APART * a.min(b);
        unless_same(what, [us(a), us(b)]).filter(|_| is_apart)
    };
    let all = [
        unless_same("CPU", [a.cpu_model.clone(), b.cpu_model.clone()]),
        unless_same("CPUs", [a.cpus.to_string(), b.cpus.to_string()]),
        unless_same("memory", [gib(a), gib(b)]),
        unless_same("kernel", [a.kernel.clone(), b.kernel.clone()]),
        apart("the host's fsync", [a.fsync_us_p50, b.fsync_us_p50]),
        apart("bare links", [a.link_floor_us_p50, b.link_floor_us_p50]),
    ];
    all.into_iter().flatten().collect()
}

/// What both studies ask for otherwise, and no cell has.
fn study(a: &Study, b: &Study) -> Vec<Difference> {
    let both = |of: fn(&Study) -> String| [of(a), of(b)];
    let mut own = both(|study| match study.my_cnf {
        Some(_) => "some".to_owned(),
        None => "none".to_owned(),
    });
    if own[0] == own[1] && a.my_cnf != b.my_cnf {
        own[1] = "others".to_owned();
    }
    let all = [
        unless_same("study", both(|study| study.name.clone())),
        unless_same("settings of one's own (my.cnf)", own),
        unless_same("CPUs of nodes", both(|study| cpus(study.cpus))),
        unless_same("warm-up", both(|study| units::show(study.warmup))),
        unless_same("window", both(|study| units::show(study.measure))),
    ];
    all.into_iter().flatten().collect()
}

fn cpus(cpus: Cpus) -> String {
    match cpus {
        Cpus::Auto => "as the host allows".to_owned(),
        Cpus::Shared => "shared".to_owned(),
        Cpus::Writer => "one for the writer".to_owned(),
        Cpus::Each(count) => format!("{count} for each"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::Example;

    fn told(change: impl Fn(&mut Header)) -> Vec<String> {
        let mut record = Example::default().record();
        for (lab, mode) in record
            .header
            .labs
            .iter_mut()
            .zip(["mysql async", "mariadb galera"])
        {
            lab.modes = vec![mode.to_owned()];
        }
        let mut other = record.clone();
        change(&mut other.header);
        let rows = BTreeSet::from([(1, 1), (5, 5)]);
        let found = differs([&record, &other], &rows);
        let line = |one: &Difference| format!("{}: {} → {}", one.what, one.a, one.b);
        found.iter().map(line).collect()
    }

    #[test]
    fn what_is_the_same_is_not_told() {
        assert_eq!(told(|_| ()), [""; 0]);
        // Such probes stray.
        assert_eq!(told(|header| header.host.fsync_us_p50 *= 1.4), [""; 0]);
    }

    #[test]
    fn servers_machines_settings_and_acklab_are_told() {
        let found = told(|header| {
            header.servers[0].version = "9.8.0".to_owned();
            header.host.cpus = 8;
            header.host.fsync_us_p50 *= 3.0;
            header.acklab_version = "0.2.0".to_owned();
            for node in header.labs[0].variables.values_mut() {
                node.insert("sync_binlog".to_owned(), "0".to_owned());
            }
        });
        let expected = [
            "mysql: 9.7.1 → 9.8.0",
            "sync_binlog (mysql async): 1 → 0",
            "CPUs: 2 → 8",
            "the host's fsync: 310 µs → 930 µs",
            "acklab: 0.1.0 → 0.2.0",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn variables_that_nobody_asked_for_are_held_against_each_other_too() {
        let mut a = Example::default().record().header;
        a.labs.truncate(1);
        let mut b = a.clone();
        assert_eq!(unlike_variables([&a, &b]), BTreeSet::new());
        let node = b.labs[0].variables.values_mut().next().unwrap();
        for name in ["server_uuid", "gtid_executed", "innodb_page_cleaners"] {
            node.insert(name.to_owned(), "b's".to_owned());
        }
        assert_eq!(
            unlike_variables([&a, &b]),
            BTreeSet::new(),
            "A does not tell"
        );
        for node in a.labs[0].variables.values_mut() {
            for name in ["server_uuid", "gtid_executed", "innodb_page_cleaners"] {
                node.insert(name.to_owned(), "a's".to_owned());
            }
        }
        let told: Vec<String> = unlike_variables([&a, &b]).into_iter().collect();
        assert_eq!(told, ["innodb_page_cleaners"]);
    }

    #[test]
    fn another_server_of_the_catalogue_and_a_variable_asked_are_told() {
        let found = told(|header| {
            for mode in &mut header.study.modes[..4] {
                mode.server = "mysql-10".to_owned();
                let asked = ("innodb-log-file-size".to_owned(), "1G".to_owned());
                mode.variables.extend([asked]);
            }
            header.servers[0].name = "mysql-10".to_owned();
            header.servers[0].version = "10.0.0".to_owned();
        });
        assert_eq!(
            found,
            ["mysql → mysql-10: 9.7.1 → 10.0.0"],
            "A does not tell"
        );
    }
}
