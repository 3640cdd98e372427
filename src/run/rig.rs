//! Everything that runs for the length of a study: labs, the network between them, drivers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::progress::Progress;
use super::window::server_cpu_us;
use crate::error::{Result, breakdown};
use crate::lab::network::{Network, Wanted};
use crate::lab::node::{PORT, Place, pause};
use crate::lab::servers::datadir::{DATABASE, PASSWORD, USER};
use crate::lab::servers::{Cache, Catalogue, Program, datadir};
use crate::lab::{Lab, LabSpec};
use crate::load::{Driver, Job, setup_statements};
use crate::plan::{LabPlan, labs};
use crate::study::{Distances, ModeSpec, Study, SysbenchLoad, Workload};

/// Running labs, network and drivers.
pub struct Rig {
    pub network: Network,
    labs: Vec<Lab>,
    plans: Vec<LabPlan>,
    /// One in each site, in the order of the sites.
    pub drivers: Vec<Driver>,
    sites: Vec<String>,
    /// CPU rate without load, by lab's index and node: µs/s.
    idle: BTreeMap<usize, BTreeMap<String, f64>>,
    /// By lab's index: where a workload's unique numbers go on, for its rows stay in the tables.
    unique_next: BTreeMap<usize, u64>,
}

impl Rig {
    /// Starts everything. Servers must have been fetched.
    pub fn build(
        study: &Study,
        catalogue: &Catalogue,
        cache: &Cache,
        run_folder: &Path,
        progress: &Progress,
    ) -> Result<Rig> {
        let plans = labs(study);
        let programs = programs(&plans, catalogue, cache, progress)?;
        let specs: Vec<LabSpec> = plans.iter().map(|plan| lab_spec(plan, study)).collect();
        let wanted: Vec<Wanted> = specs
            .iter()
            .map(|spec| (spec.name.clone(), spec.sites.clone()))
            .collect();
        let (network, places) = Network::build(&wanted, &study.sites, study.network)?;
        let mut formed = Vec::new();
        for ((spec, places), program) in specs.into_iter().zip(places).zip(programs) {
            progress.say(&format!(
                "starting {} ({} nodes)",
                spec.name,
                spec.sites.len()
            ));
            let lab = Lab::form(spec, program, places, cache, run_folder)?;
            progress.say(&format!(
                "{} ready in {:.1} s",
                lab.spec.name,
                lab.ready.as_secs_f64()
            ));
            formed.push(lab);
        }
        let drivers = study
            .sites
            .iter()
            .map(|site| spawn_driver(&network.clients[site]));
        Ok(Rig {
            drivers: drivers.collect::<Result<_>>()?,
            network,
            labs: formed,
            plans,
            sites: study.sites.clone(),
            idle: BTreeMap::new(),
            unique_next: BTreeMap::new(),
        })
    }

    /// All labs.
    pub fn labs(&mut self) -> &mut [Lab] {
        &mut self.labs
    }

    /// A lab by its own index.
    pub fn lab_at(&self, index: usize) -> &Lab {
        &self.labs[index]
    }

    /// Index of the lab that serves a mode of the study.
    pub fn lab_index(&self, mode: usize) -> usize {
        let serves = |plan: &LabPlan| plan.modes.contains(&mode);
        self.plans
            .iter()
            .position(serves)
            .expect("every mode has a lab")
    }

    /// The lab that serves a mode of the study, by the mode's index.
    pub fn lab(&mut self, mode: usize) -> &mut Lab {
        let index = self.lab_index(mode);
        &mut self.labs[index]
    }

    /// The idle CPU rate of the nodes of a mode's lab.
    pub fn idle_us_per_s(&self, mode: usize) -> BTreeMap<String, f64> {
        self.idle
            .get(&self.lab_index(mode))
            .cloned()
            .unwrap_or_default()
    }

    /// Creates and fills the tables of all the study's workloads in every lab.
    pub fn load_tables(&mut self, study: &Study) -> Result<()> {
        let workloads = distinct_tables(study);
        for lab in &mut self.labs {
            for workload in &workloads {
                load(lab, workload, study.seed)?;
            }
        }
        Ok(())
    }

    /// Switches a lab to a mode at these distances and watches its idle servers for a while.
    pub fn enter(
        &mut self,
        mode: usize,
        spec: &ModeSpec,
        distances: &Distances,
        idle_watch: Duration,
    ) -> Result<()> {
        self.network.set_distances(distances)?;
        let index = self.lab_index(mode);
        self.labs[index].enter(spec)?;
        let before = server_cpu_us(&self.labs[index]);
        pause(idle_watch)?;
        let after = server_cpu_us(&self.labs[index]);
        let rate = |(node, us): (&String, &f64)| {
            let used = us - before.get(node).copied().unwrap_or(0.0);
            (node.clone(), used / idle_watch.as_secs_f64())
        };
        self.idle.insert(index, after.iter().map(rate).collect());
        Ok(())
    }

    /// Fills a workload's tables anew where running it uses them up; tells whether it did.
    pub fn renew_tables(&mut self, mode: usize, workload: &Workload, seed: u64) -> Result<bool> {
        let uses_up = matches!(
            workload,
            Workload::Sysbench {
                load: SysbenchLoad::Insert | SysbenchLoad::Delete,
                ..
            }
        );
        if uses_up {
            load(self.lab(mode), workload, seed)?;
        }
        Ok(uses_up)
    }

    /// Remembers which unique numbers a load has used on a mode's lab.
    pub fn used_numbers(&mut self, mode: usize, unique_next: u64) {
        let index = self.lab_index(mode);
        let next = self.unique_next.entry(index).or_default();
        *next = (*next).max(unique_next);
    }

    /// The drivers of a cell, as a range, and what each is to do.
    pub fn jobs(
        &mut self,
        study: &Study,
        cell: &crate::plan::Cell,
        round: u32,
    ) -> (Range<usize>, Vec<Job>) {
        let spec = &study.modes[cell.mode];
        let index = self.lab_index(cell.mode);
        let unique_from = self.unique_next.get(&index).copied().unwrap_or(0);
        let lab = self.lab(cell.mode);
        let writers: Vec<_> = lab
            .writers(spec)
            .map(|i| lab.nodes[i].place.address)
            .collect();
        let here = self
            .sites
            .iter()
            .position(|site| *site == cell.client_site)
            .unwrap_or(0);
        let count = u32::try_from(writers.len())
            .unwrap_or(1)
            .min(cell.connections.max(1));
        let drivers = if count > 1 {
            0..count as usize
        } else {
            here..here + 1
        };
        let job = |(i, address): (u32, &std::net::Ipv4Addr)| Job {
            targets: vec![(*address, PORT).into()],
            user: USER.into(),
            password: PASSWORD.into(),
            database: DATABASE.into(),
            tls: study.tls,
            workload: cell.workload.clone(),
            connections: share(cell.connections, count, i),
            seed: study.seed ^ (u64::from(round) << 32),
            driver: i,
            drivers: count,
            unique_from,
        };
        let jobs = (0..count).zip(&writers).map(job).collect();
        (drivers, jobs)
    }
}

/// Part `i` of `total` connections over `count` drivers.
fn share(total: u32, count: u32, i: u32) -> u32 {
    total / count + u32::from(i < total % count)
}

/// One workload of each set of tables.
fn distinct_tables(study: &Study) -> Vec<Workload> {
    let mut chosen: Vec<Workload> = Vec::new();
    for workload in study.sweeps.iter().flat_map(|sweep| &sweep.workloads) {
        let is_same = |other: &Workload| match (workload, other) {
            (
                Workload::Sysbench {
                    tables, table_size, ..
                },
                Workload::Sysbench {
                    tables: t,
                    table_size: s,
                    ..
                },
            ) => tables == t && table_size == s,
            (a, b) => a == b,
        };
        if !chosen.iter().any(is_same) {
            chosen.push(workload.clone());
        }
    }
    chosen
}

fn load(lab: &mut Lab, workload: &Workload, seed: u64) -> Result<()> {
    let writer = &mut lab.nodes[0];
    writer.run(&format!("USE {DATABASE}"))?;
    for statement in setup_statements(workload, seed) {
        writer.run(&statement)?;
    }
    Ok(())
}

fn programs(
    plans: &[LabPlan],
    catalogue: &Catalogue,
    cache: &Cache,
    progress: &Progress,
) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for plan in plans {
        let missing = || breakdown(format!("start {}", plan.server), "it was not fetched");
        let program = cache
            .program(catalogue, &plan.server)?
            .ok_or_else(missing)?;
        datadir::ensure(cache, &program, &|text| progress.say(text))?;
        programs.push(program);
    }
    Ok(programs)
}

fn lab_spec(plan: &LabPlan, study: &Study) -> LabSpec {
    let spread = plan.modes.iter().any(|&mode| study.modes[mode].spread);
    LabSpec {
        name: crate::study::slug(&plan.name),
        family: plan.family,
        sites: study.sites[..plan.nodes as usize].to_vec(),
        binary_log: plan.binary_log,
        appliers: plan.appliers,
        spread,
        tls: study.tls,
        my_cnf: study.my_cnf.clone(),
        variables: plan.variables.clone(),
        node_variables: plan.node_variables.clone(),
    }
}

fn spawn_driver(place: &Place) -> Result<Driver> {
    let mut command = Command::new("/proc/self/exe");
    command.arg("drive");
    place.enter(&mut command)?;
    Driver::spawn(command)
}
