//! CPUs of servers: that they are where they were asked to be, and who waited for one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use acklab::record::Role;
use acklab::record::store::Record;

use crate::ground::{Ground, on_ground};
use crate::kills::{ENDLESS, Victim, kill_at, start_study, wait_for_record};
use crate::report::{check_cell, check_no_errors, number};
use crate::studies::report_of;

fn study(cpus: &str) -> String {
    format!(
        "sites = [\"a\", \"b\"]\nwarmup = \"0.1s\"\nmeasure = \"0.5s\"\ncpus = {cpus}\n\
         [[mode]]\nserver = \"mariadb\"\nmode = \"single\"\n\
         [[mode]]\nserver = \"mariadb\"\nmode = \"async\"\n\
         [[sweep]]\nworkload = \"update_index\"\nconnections = 4\nrtt = \"0.25ms\"\n"
    )
}

/// The CPUs of each of this ground's servers, by the end of its data directory's node.
fn allowed(ground: &Ground) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for pid in ground.processes() {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}"));
        let line = read("cmdline").unwrap_or_default();
        let words: Vec<&str> = line.split('\0').collect();
        let folder = words.iter().find_map(|word| {
            let file = word.strip_prefix("--defaults-file=")?;
            file.strip_suffix("/my.cnf")?.rsplit('/').next()
        });
        let who = match (folder, words.get(1)) {
            (Some(node), _) => node.to_owned(),
            (None, Some(&verb @ ("switch" | "drive"))) => verb.to_owned(),
            _ => continue,
        };
        let status = read("status").unwrap_or_default();
        let list = status
            .lines()
            .find_map(|l| l.strip_prefix("Cpus_allowed_list:"));
        let cpus = list.map(|list| list.trim().to_owned());
        found.entry(who).or_default().extend(cpus);
    }
    found
}

#[test]
fn lab_writer_has_a_cpu_for_itself_and_the_others_share_the_rest() {
    let cpus = acklab::lab::affinity::allowed().expect("CPUs").len();
    assert!(cpus > 1, "this test needs two CPUs");
    on_ground("cpus: the writer alone", |ground| {
        let mut child = start_study(ground, &study("\"writer\""), "r.acklab", ENDLESS);
        wait_for_record(ground, &mut child, "r.acklab");
        let found = allowed(ground);
        kill_at(ground, child, Duration::ZERO, Victim::Everyone);
        let of = |who: &str| {
            let mut named = found.iter().filter(|(name, _)| name.ends_with(who));
            named
                .next()
                .map(|(_, cpus)| cpus.clone())
                .unwrap_or_default()
        };
        let writer = of("replication.a");
        assert!(writer.len() == 1, "{found:?}");
        for other in ["replication.b", "switch", "drive"] {
            let other = of(other);
            assert!(other.len() == 1 && other != writer, "{found:?}");
        }
    });
}

#[test]
fn lab_contention_of_each_role_is_in_the_report() {
    on_ground("cpus: contention", |ground| {
        let report = report_of(ground, &study("\"shared\""), &["--rounds", "1"]);
        assert_eq!(report.cells().len(), 2);
        for cell in report.cells() {
            check_cell(cell);
            check_no_errors(cell);
            let contention = &cell["contention"];
            for role in ["all", "writer", "client", "links", "emulators_cpu_share"] {
                let share = number(&contention[role]);
                assert!((0.0..1.0).contains(&share), "{role}: {contention}");
            }
            let has_replica = cell["mode"] == "async";
            assert_eq!(
                !contention["replicas"].is_null(),
                has_replica,
                "{contention}"
            );
            assert!(contention["disks"].is_null() && contention["own_cpus"].is_null());
        }
        let record = Record::open(&ground.work.join("r.acklab")).expect("a record");
        for measurement in &record.measurements {
            let writers = measurement
                .scheduled
                .iter()
                .filter(|p| p.role == Role::Writer);
            let run_us: f64 = writers.map(|process| process.run_us).sum();
            let account_us = measurement.cpu.writer_us.expect("an account");
            // Two ways to count the same.
            assert!(
                (run_us / account_us - 1.0).abs() < 0.2,
                "{run_us} {account_us}"
            );
        }
    });
}
