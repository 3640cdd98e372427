//! The fronts of a study: each is started for the first cell of a block that needs it, and ends
//! when its mode is left. A Router that has bootstrapped itself looks its cluster up twice a
//! second, and writes to it.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::error::{Result, Tried, breakdown};
use crate::lab::front::{Front, PORTS, Route};
use crate::lab::netns::Place;
use crate::lab::network::Network;
use crate::lab::node::PORT;
use crate::lab::servers::{Cache, Catalogue, ProxyProgram};
use crate::lab::{Lab, cluster_metadata};
use crate::plan::Cell;
use crate::study::{FrontAt, Proxy, Study};

/// Port of the first front; the others follow, for several may stand at one place.
const FIRST_PORT: u16 = 6446;

/// All that run, and what more can be made of.
pub struct Fronts {
    /// By the proxy that the catalogue knows.
    programs: BTreeMap<Proxy, ProxyProgram>,
    /// By the index of the mode and the site of its clients.
    running: BTreeMap<(usize, String), Front>,
    /// The number that each has had since it was started first: its ports and its folder.
    numbers: BTreeMap<(usize, String), u16>,
    run_folder: PathBuf,
}

/// Proxies of the catalogue that a study needs, each once: those of its modes, and what clients
/// find the writer by while faults are injected.
pub fn proxies(study: &Study) -> Vec<Proxy> {
    let fronts = study.modes.iter().filter_map(|spec| spec.front);
    let mut proxies: Vec<Proxy> = fronts.map(|front| front.proxy.program()).collect();
    let faults = study.injections.iter().map(|injection| &injection.fault);
    let beside = faults.filter_map(|fault| fault.finding.proxy());
    proxies.extend(beside.map(Proxy::program));
    proxies.sort();
    proxies.dedup();
    proxies
}

/// Sites in which fronts have places of their own: those of clients, where any mode asks for it.
pub fn sites(study: &Study) -> Vec<String> {
    let mut fronts = study.modes.iter().filter_map(|spec| spec.front);
    if fronts.all(|front| front.at == FrontAt::Client) {
        return Vec::new();
    }
    let has_clients = |site: &&String| {
        let mut sweeps = study.sweeps.iter();
        sweeps.any(|sweep| sweep.client_sites.contains(site))
    };
    study.sites.iter().filter(has_clients).cloned().collect()
}

impl Fronts {
    /// None runs yet. What the study needs must have been fetched.
    pub fn of(
        study: &Study,
        catalogue: &Catalogue,
        cache: &Cache,
        run_folder: &Path,
    ) -> Result<Fronts> {
        let program = |proxy: Proxy| {
            let program = cache.proxy(catalogue, proxy.name())?;
            let missing = || breakdown(format!("start {}", proxy.name()), "it was not fetched");
            Ok((proxy, program.ok_or_else(missing)?))
        };
        let programs = proxies(study).into_iter().map(program);
        Ok(Fronts {
            programs: programs.collect::<Result<_>>()?,
            running: BTreeMap::new(),
            numbers: BTreeMap::new(),
            run_folder: run_folder.to_owned(),
        })
    }

    /// The programs of all fronts.
    pub fn programs(&self) -> impl Iterator<Item = &ProxyProgram> {
        self.programs.values()
    }

    /// Starts the front that a cell's clients connect to, if there is one and it does not run yet.
    /// One that runs must answer: a Router that looks its primaries up does not know all at once
    /// what a change of the mode has made of them. The cell's mode must be in force.
    ///
    /// # Errors
    /// A breakdown with its last log lines.
    pub fn raise(
        &mut self,
        study: &Study,
        cell: &Cell,
        lab: &mut Lab,
        network: &Network,
    ) -> Result<()> {
        let spec = &study.modes[cell.mode];
        let Some(asked) = spec.front else {
            return Ok(());
        };
        let client = &network.clients[&cell.client_site];
        let key = (cell.mode, cell.client_site.clone());
        if let Some(front) = self.running.get_mut(&key) {
            return front.wait_answering(client, "connect through");
        }
        let known = self.numbers.len() as u16;
        let number = *self.numbers.entry(key.clone()).or_insert(known);
        if number == known && asked.proxy == Proxy::RouterBootstrapped {
            cluster_metadata::write(lab)?;
        }
        let place = match asked.at {
            FrontAt::Client => client,
            FrontAt::Own => &network.fronts[&cell.client_site],
        };
        let server = |i: usize| SocketAddrV4::new(lab.nodes[i].place.address, PORT);
        let route = Route {
            listen: SocketAddrV4::new(place.address, FIRST_PORT + PORTS * number),
            servers: lab.writers(spec).map(server).collect(),
            socket: lab.nodes[0].socket(),
            checks: None,
        };
        let folder = self.run_folder.join(format!("front.{number}"));
        let program = &self.programs[&asked.proxy.program()];
        let front = Front::start(asked.proxy, program, (place, client), route, folder)?;
        self.running.insert(key, front);
        Ok(())
    }

    /// Starts a proxy beside the clients of a trial, which knows nothing of an earlier one: an
    /// HAProxy that checks the servers of its route, or a Router that bootstraps itself. Of several
    /// at a time each has a number of its own.
    ///
    /// # Errors
    /// A breakdown with its last log lines, also if it finds no server that takes writes.
    pub fn raise_for_trial(
        &self,
        proxy: Proxy,
        client: &Place,
        route: Route,
        number: usize,
    ) -> Result<Front> {
        let tried = || format!("start {}", proxy.name());
        let missing = || breakdown(tried(), "it was not fetched");
        let program = self.programs.get(&proxy.program()).ok_or_else(missing)?;
        let folder = self.run_folder.join(format!("front.trial.{number}"));
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).tried(tried)?,
            _ => {}
        }
        Front::start(proxy, program, (client, client), route, folder)
    }

    /// Ends those of all modes but the one that is entered.
    pub fn end_others(&mut self, mode: usize) {
        self.running.retain(|(of, _), _| *of == mode);
    }

    /// Where a cell's clients connect to, if not to its servers themselves.
    pub fn address(&self, cell: &Cell) -> Option<SocketAddrV4> {
        let front = self.running.get(&(cell.mode, cell.client_site.clone()));
        front.map(|front| front.route.listen)
    }

    /// A breakdown if the front of a cell has ended.
    pub fn check_alive(&mut self, cell: &Cell) -> Result<()> {
        let front = self.running.get_mut(&(cell.mode, cell.client_site.clone()));
        front.map_or(Ok(()), |front| front.check_alive("connect through"))
    }

    /// The process of a cell's front, for its CPU account; `None` where there is no front.
    pub fn pid(&self, cell: &Cell) -> Option<u32> {
        let front = self.running.get(&(cell.mode, cell.client_site.clone()))?;
        Some(front.pid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::faults::{Fault, Finding, Injection};

    #[test]
    fn a_study_needs_the_proxy_that_clients_find_the_writer_by() {
        let with = |finding| Study {
            injections: vec![Injection {
                fault: Fault {
                    finding,
                    ..Fault::default()
                },
                trials: 1,
                modes: vec!["mysql async".to_owned()],
            }],
            ..Study::default()
        };
        assert_eq!(proxies(&with(Finding::Proxy)), [Proxy::Haproxy]);
        assert_eq!(proxies(&with(Finding::Router)), [Proxy::Router]);
        assert!(proxies(&with(Finding::Asking)).is_empty());
    }
}
