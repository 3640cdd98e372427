//! Everything that runs for the length of a study: labs, the network between them, drivers.

use std::collections::BTreeMap;
use std::net::{SocketAddr, SocketAddrV4};
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::activity::Look;
use super::cpus;
use super::events::{Event, Events};
use super::fronts::{self, Fronts};
use super::schemas;
use super::slowed::Slowed;
use crate::error::{Result, breakdown};
use crate::lab::affinity;
use crate::lab::netns::Place;
use crate::lab::network::{Network, Wanted};
use crate::lab::node::{PORT, pause};
use crate::lab::servers::datadir::{PASSWORD, USER};
use crate::lab::servers::{Cache, Catalogue, Program, datadir};
use crate::lab::{Lab, LabSpec};
use crate::load::{Driver, Job, setup_statements, share};
use crate::plan::{Cell, LabPlan, Placement, labs};
use crate::record::Activity;
use crate::study::{
    CpuSpeed, Distances, ModeSpec, Study, SysbenchLoad, Variables, Workload, nodes,
};

/// Running labs, network and drivers.
pub struct Rig {
    labs: Vec<Lab>,
    plans: Vec<LabPlan>,
    pub placement: Placement,
    /// All that the run may use.
    cpus: Vec<u32>,
    /// One in each site, in the order of the sites.
    pub drivers: Vec<Driver>,
    pub fronts: Fronts,
    sites: Vec<String>,
    /// What each node did without load, by lab's index and the variables in force.
    idle: BTreeMap<(usize, Variables), Vec<Activity>>,
    /// By lab's index: where a workload's unique numbers go on, for its rows stay in the tables.
    unique_next: BTreeMap<usize, u64>,
    /// Ended last: what still has connections over it would keep its devices.
    pub network: Network,
}

impl Rig {
    /// Starts everything. Servers must have been fetched.
    pub fn build(
        study: &Study,
        catalogue: &Catalogue,
        cache: &Cache,
        run_folder: &Path,
        events: &dyn Events,
    ) -> Result<Rig> {
        let plans = labs(study);
        let programs = programs(&plans, catalogue, cache, events)?;
        let placement = cpus::placement(study)?;
        let cpus = affinity::allowed()?;
        if let Placement::Own { rest, .. } = &placement {
            // Links, disks, drivers and fronts inherit it.
            affinity::keep_to(rest)?;
        }
        let spec = |plan: &LabPlan| LabSpec {
            cpus: (0..plan.nodes as usize)
                .map(|i| placement.of_node(i).to_vec())
                .collect(),
            ..lab_spec(plan, study)
        };
        let specs: Vec<LabSpec> = plans.iter().map(spec).collect();
        let wanted: Vec<Wanted> = specs
            .iter()
            .map(|spec| (spec.name.clone(), spec.sites.clone()))
            .collect();
        let fronts_at = fronts::sites(study);
        let terms = (study.network, study.seed);
        let (network, places) = Network::build(&wanted, &study.sites, &fronts_at, terms)?;
        let mut formed = Vec::new();
        let started = specs.into_iter().zip(places).zip(programs);
        for (((spec, places), program), plan) in started.zip(&plans) {
            events.tell(Event::LabStarting {
                lab: spec.name.clone(),
                nodes: spec.sites.len(),
            });
            let mut lab = Lab::form(spec, program, places, cache, run_folder)?;
            lab.prepare(&plan.variants(study).collect::<Vec<_>>())?;
            events.tell(Event::LabReady {
                lab: lab.spec.name.clone(),
                after: lab.ready,
            });
            formed.push(lab);
        }
        let drivers = study
            .sites
            .iter()
            .map(|site| spawn_driver(&network.clients[site]));
        Ok(Rig {
            drivers: drivers.collect::<Result<_>>()?,
            fronts: Fronts::of(study, catalogue, cache, run_folder)?,
            network,
            labs: formed,
            plans,
            placement,
            cpus,
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

    /// What each node of a mode's lab did without load, with the mode's variables in force.
    pub fn idle(&self, mode: usize, spec: &ModeSpec) -> &[Activity] {
        let idle = self
            .idle
            .get(&(self.lab_index(mode), spec.variables.clone()));
        idle.map_or(&[], Vec::as_slice)
    }

    /// Watches the servers of a mode's lab for so long while no load runs. The mode is in force.
    /// Once for all modes that the same servers serve with the same variables.
    pub fn watch_idle(&mut self, mode: usize, spec: &ModeSpec, span: Duration) -> Result<()> {
        let index = self.lab_index(mode);
        let key = (index, spec.variables.clone());
        if self.idle.contains_key(&key) {
            return Ok(());
        }
        let lab = &self.labs[index];
        let before = Look::now(lab)?;
        pause(span)?;
        let done = before.until(&Look::now(lab)?, lab, lab.nodes.len(), None);
        self.idle.insert(key, done);
        Ok(())
    }

    /// Creates and fills the tables of the study's workloads, in each lab those that it is to have,
    /// in all its schemas.
    pub fn load_tables(&mut self, study: &Study) -> Result<()> {
        let workloads = distinct_tables(study);
        for (lab, plan) in self.labs.iter_mut().zip(&self.plans) {
            let schemas = schemas::names(plan.schemas(study));
            let wanted = workloads.iter().filter(|one| has_tables(study, plan, one));
            let mut loaded = schemas::make(lab, &schemas);
            for workload in wanted {
                loaded = loaded.and_then(|()| load(lab, workload, &schemas, study.seed));
            }
            lab.blame(loaded)?;
        }
        Ok(())
    }

    /// Has CPUs be slower, for as long as what is returned lives; `None` at full speed.
    pub fn slow(&self, speed: CpuSpeed) -> Result<Option<Slowed>> {
        Slowed::begin(&self.placement, &self.cpus, speed)
    }

    /// Switches a lab to a mode and its variables at these distances. Fronts of other modes end.
    pub fn enter(&mut self, mode: usize, spec: &ModeSpec, distances: &Distances) -> Result<()> {
        self.fronts.end_others(mode);
        self.network.set_distances(distances)?;
        let lab = self.lab(mode);
        let tuned = lab.tune(&spec.variables);
        let entered = tuned.and_then(|()| lab.enter(spec));
        lab.blame(entered)
    }

    /// Fills the tables of a cell's workload anew where running it uses them up.
    pub fn renew_tables(&mut self, cell: &Cell, seed: u64) -> Result<()> {
        let schemas = schemas::names(cell.schemas);
        match uses_up_tables(&cell.workload) {
            true => load(self.lab(cell.mode), &cell.workload, &schemas, seed),
            false => Ok(()),
        }
    }

    /// Has what a cell's clients connect to run and answer, where that is not a server. Its mode is
    /// in force.
    pub fn raise_front(&mut self, study: &Study, cell: &Cell) -> Result<()> {
        let index = self.lab_index(cell.mode);
        let lab = &mut self.labs[index];
        self.fronts.raise(study, cell, lab, &self.network)
    }

    /// A breakdown if the switch, a server of a cell's lab, or its front has ended.
    pub fn check_alive(&mut self, cell: &Cell) -> Result<()> {
        self.network.switch.check_alive()?;
        self.lab(cell.mode).check_alive()?;
        self.fronts.check_alive(cell)
    }

    /// Remembers which unique numbers a load has used on a mode's lab.
    pub fn used_numbers(&mut self, mode: usize, unique_next: u64) {
        let index = self.lab_index(mode);
        let next = self.unique_next.entry(index).or_default();
        *next = (*next).max(unique_next);
    }

    /// The drivers of a cell, as a range, and what each is to do.
    pub fn jobs(&mut self, study: &Study, cell: &Cell, round: u32) -> (Range<usize>, Vec<Job>) {
        let spec = &study.modes[cell.mode];
        let index = self.lab_index(cell.mode);
        let unique_from = self.unique_next.get(&index).copied().unwrap_or(0);
        let lab = &self.labs[index];
        let server =
            |i: usize| -> SocketAddr { SocketAddrV4::new(lab.nodes[i].place.address, PORT).into() };
        // A front deals out the connections of one driver to the servers.
        let writers: Vec<SocketAddr> = match self.fronts.address(cell) {
            Some(front) => vec![front.into()],
            None => lab.writers(spec).map(server).collect(),
        };
        let parts = deal(&writers, &cell.workload, cell.connections);
        let here = self
            .sites
            .iter()
            .position(|site| *site == cell.client_site)
            .unwrap_or(0);
        let drivers = match parts.len() {
            1 => here..here + 1,
            count => 0..count,
        };
        let count = parts.len() as u32;
        let job = |(driver, (targets, connections)): (u32, (Vec<SocketAddr>, u32))| Job {
            targets,
            user: USER.into(),
            password: PASSWORD.into(),
            databases: schemas::names(cell.schemas),
            tls: study.has_tls(spec),
            workload: cell.workload.clone(),
            connections,
            seed: study.seed ^ (u64::from(round) << 32),
            driver,
            drivers: count,
            unique_from,
            rate_per_s: cell.rate_per_s.map(|rate| {
                f64::from(rate) * f64::from(connections) / f64::from(cell.connections.max(1))
            }),
            pace: cell.pace,
            slowdown: spec.slowdown,
            waits: false,
            guest: None,
        };
        let jobs = (0..count).zip(parts).map(job).collect();
        (drivers, jobs)
    }
}

/// Whether running a workload leaves its tables other than they were.
pub(super) fn uses_up_tables(workload: &Workload) -> bool {
    matches!(
        workload,
        Workload::Sysbench {
            load: SysbenchLoad::Insert | SysbenchLoad::Delete,
            ..
        }
    )
}

/// The servers of each driver, and its number of connections. mysqlslap is one program, which loads
/// its table and runs its queries: one driver deals its connections out to all servers.
fn deal(
    writers: &[SocketAddr],
    workload: &Workload,
    connections: u32,
) -> Vec<(Vec<SocketAddr>, u32)> {
    if matches!(workload, Workload::Mysqlslap { .. }) {
        return vec![(writers.to_vec(), connections)];
    }
    let count = u32::try_from(writers.len())
        .unwrap_or(1)
        .min(connections.max(1));
    let part = |(i, writer): (u32, &SocketAddr)| (vec![*writer], share(connections, count, i));
    (0..count).zip(writers).map(part).collect()
}

/// One workload of each set of tables.
pub(super) fn distinct_tables(study: &Study) -> Vec<Workload> {
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

/// Whether a lab has a workload's tables. Those of a study's own SQL may be many rows: what comes
/// after the last that one of the lab's modes is measured with is not set up. What comes before may
/// be built on.
fn has_tables(study: &Study, plan: &LabPlan, workload: &Workload) -> bool {
    let is_measured = |workload: &Workload| {
        study.sweeps.iter().any(|sweep| {
            let mut modes = plan.modes.iter();
            sweep.workloads.contains(workload)
                && modes.any(|&mode| sweep.has_mode(&study.modes[mode].label))
        })
    };
    let all = distinct_tables(study);
    let from = all.iter().position(|one| one == workload).unwrap_or(0);
    !matches!(workload, Workload::Custom { .. }) || all[from..].iter().any(is_measured)
}

fn load(lab: &mut Lab, workload: &Workload, schemas: &[String], seed: u64) -> Result<()> {
    let writer = &mut lab.nodes[0];
    // The first is the last: what is in memory then is its rows, as without the others.
    for schema in schemas.iter().rev() {
        writer.run(&format!("USE {schema}"))?;
        for statement in setup_statements(workload, seed) {
            writer.run(&statement)?;
        }
    }
    Ok(())
}

fn programs(
    plans: &[LabPlan],
    catalogue: &Catalogue,
    cache: &Cache,
    events: &dyn Events,
) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for plan in plans {
        let missing = || breakdown(format!("start {}", plan.server), "it was not fetched");
        let program = cache
            .program(catalogue, &plan.server)?
            .ok_or_else(missing)?;
        let words = |text: &str| {
            let (of, text) = (plan.server.clone(), text.to_owned());
            events.tell(Event::Words { of, text });
        };
        datadir::ensure(cache, &program, &words)?;
        programs.push(program);
    }
    Ok(programs)
}

fn lab_spec(plan: &LabPlan, study: &Study) -> LabSpec {
    let modes = plan.modes.iter().map(|&mode| &study.modes[mode]);
    let spread = modes.into_iter().any(|spec| study.is_spread(spec));
    // Modes of copied volumes share no lab.
    let copied = study.modes[plan.modes[0]].mode;
    LabSpec {
        name: crate::study::slug(&plan.name),
        family: plan.family,
        sites: nodes::sites_of(&study.sites, plan.nodes),
        binary_log: plan.binary_log,
        appliers: plan.appliers,
        cpus: vec![],
        memory_bytes: plan.memory_bytes,
        spread,
        tls: plan.tls,
        images: plan.images(study),
        copied: plan.family.copies_volume().then_some(copied),
        seed: study.seed,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{MysqlslapLoad, builtin, written};

    fn dealt(workload: &Workload, connections: u32) -> Vec<(usize, u32)> {
        let writers = [1, 2, 3].map(|port| SocketAddr::from(([198, 18, 0, 1], port)));
        let parts = deal(&writers, workload, connections);
        let all: Vec<SocketAddr> = parts.iter().flat_map(|part| part.0.clone()).collect();
        assert_eq!(all, writers[..all.len()]);
        parts.iter().map(|part| (part.0.len(), part.1)).collect()
    }

    #[test]
    fn drivers_share_the_connections_and_mysqlslap_has_one_for_all() {
        let sysbench = Workload::default();
        assert_eq!(dealt(&sysbench, 50), [(1, 17), (1, 17), (1, 16)]);
        assert_eq!(dealt(&sysbench, 2), [(1, 1), (1, 1)]);
        let mysqlslap = Workload::mysqlslap(MysqlslapLoad::Write);
        assert_eq!(dealt(&mysqlslap, 50), [(3, 50)]);
    }

    /// Or keys that the nodes give would collide.
    #[test]
    fn nodes_that_all_have_clients_give_keys_of_their_own() {
        let step = |clients: &str| {
            let text = format!(
                "sites = [\"a\", \"b\", \"c\"]\ndisk = {{ flush = \"1ms\" }}\n[[mode]]\n\
                 server = \"mariadb\"\nmode = \"galera\"\n[[fault]]\nname = \"quiet\"\n\
                 finding = \"staying\"\nclients = \"{clients}\"\nstep = []\n[[sweep]]\n\
                 workload = \"update_index\"\nrtt = \"1ms\"\n"
            );
            let study = written::sample(&text);
            lab_spec(&labs(&study)[0], &study).auto_increment_step()
        };
        assert_eq!((step("first site"), step("every node")), (1, 3));
    }

    #[test]
    fn own_sql_is_set_up_up_to_the_last_that_a_mode_runs_and_sysbench_tables_everywhere() {
        let study = written::sample(builtin("clouds-2015").expect("a study"));
        let mut workloads = distinct_tables(&study);
        workloads.push(Workload::default());
        let labs = labs(&study);
        let of_mode = |label: &str| -> Vec<String> {
            let serves = |mode: &usize| study.modes[*mode].label == label;
            let lab = labs.iter().find(|lab| lab.modes.iter().any(serves));
            let lab = lab.expect("a lab");
            let had = workloads.iter().filter(|one| has_tables(&study, lab, one));
            had.map(Workload::label).collect()
        };
        let sysbench = Workload::default().label();
        assert_eq!(of_mode("4 of 6"), ["reads", "updates", &sysbench[..]]);
        // What comes before may be built on.
        let starved = [
            "reads",
            "updates",
            "starved reads",
            "starved updates",
            &sysbench[..],
        ];
        assert_eq!(of_mode("16 MB pool"), starved);
    }
}
