//! Everything that stands for the length of a study of somebody else's servers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use super::drivers::Drivers;
use crate::error::{Result, breakdown};
use crate::lab::endpoint::{Access, Claims, Connection, HEARTBEAT, Owned, drop_left, handshakes};
use crate::lab::node::pause;
use crate::lab::sql::Ask;
use crate::load::{Job, setup_statements};
use crate::observe::counting;
use crate::plan::Cell;
use crate::run::events::{Event, Events};
use crate::study::{ModeSpec, Study, Workload};

/// How one gets in at each mode of a study: the writer first, then its replicas.
pub type Accesses = Vec<Vec<Access>>;

/// How long replicas may take until they show what was made on their writer.
const SHOW_LIMIT: Duration = Duration::from_secs(60);
/// Between two looks at them.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A writer of somebody else's, with its replicas.
pub struct Endpoint {
    pub writer: Connection,
    /// Those that show what is written there.
    pub replicas: Vec<Connection>,
    /// What is to be known of those that do not: whole sentences.
    pub remarks: Vec<String>,
    /// Status counters, and whether they count there.
    pub counters: BTreeMap<String, bool>,
    /// Where the writer's name led last.
    pub target: SocketAddr,
    /// From the first connection until all were ready.
    pub ready: Duration,
    accesses: Vec<Access>,
    unique_next: u64,
    owned: Owned,
}

/// All endpoints of a study, and the drivers of their load.
pub struct Endpoints<'s> {
    pub study: &'s Study,
    /// Any folder that can be written to.
    pub folder: &'s Path,
    pub drivers: Drivers,
    pub events: &'s dyn Events,
    /// In the order of the modes.
    pub all: Vec<Endpoint>,
}

impl<'s> Endpoints<'s> {
    /// Connects everywhere, drops what killed runs have left, and makes a database at each writer.
    ///
    /// # Errors
    /// A mistake or a breakdown of the first endpoint that cannot be worked on; nothing is left at
    /// the others.
    pub fn visit(
        study: &'s Study,
        accesses: &Accesses,
        (cache, drivers): (&'s Path, Drivers),
        events: &'s dyn Events,
    ) -> Result<Endpoints<'s>> {
        let claims = Claims::of(cache)?;
        let mut all = Vec::new();
        for (spec, accesses) in study.modes.iter().zip(accesses) {
            let label = spec.label.clone();
            events.tell(Event::Connecting { label });
            let endpoint = Endpoint::visit(spec, accesses, &claims, events)?;
            events.tell(Event::EndpointReady {
                label: spec.label.clone(),
                after: endpoint.ready,
                database: endpoint.owned.name().to_owned(),
            });
            all.push(endpoint);
        }
        Ok(Endpoints {
            study,
            folder: cache,
            drivers,
            events,
            all,
        })
    }

    /// Ends the drivers, then drops all databases: not one can be with sessions at work in it.
    ///
    /// # Errors
    /// A breakdown that names one that could not be dropped; others are told.
    pub fn leave(self, events: &dyn Events) -> Result<()> {
        drop(self.drivers);
        let mut outcome: Result<()> = Ok(());
        for endpoint in self.all {
            let dropped = endpoint.owned.give_back();
            if let (Err(earlier), Err(_)) = (&outcome, &dropped) {
                events.tell(Event::AlsoFailed(earlier.clone()));
            }
            outcome = dropped.and(outcome);
        }
        outcome
    }
}

impl Endpoint {
    fn visit(
        spec: &ModeSpec,
        accesses: &[Access],
        claims: &Claims,
        events: &dyn Events,
    ) -> Result<Endpoint> {
        let start = Instant::now();
        let access = accesses.first();
        let access = access.ok_or_else(|| breakdown("visit an endpoint", "it has no writer"))?;
        let mut writer = Connection::open(access)?;
        let replicas = accesses[1..].iter().map(Connection::open);
        let replicas = replicas.collect::<Result<Vec<_>>>()?;
        for text in drop_left(&mut writer, claims)? {
            let of = spec.label.clone();
            events.tell(Event::Words { of, text });
        }
        let asked = spec.endpoint.as_ref().and_then(|e| e.database.as_deref());
        let owned = Owned::make(&mut writer, asked, claims)?;
        writer.run(&format!("USE {}", owned.name()))?;
        let mut endpoint = Endpoint {
            counters: counting::provoke(&mut writer, owned.name())?,
            target: handshakes(access)?.target,
            writer,
            replicas: Vec::new(),
            remarks: Vec::new(),
            ready: Duration::ZERO,
            accesses: accesses.to_vec(),
            unique_next: 0,
            owned,
        };
        endpoint.keep_those_that_show(replicas)?;
        endpoint.ready = start.elapsed();
        Ok(endpoint)
    }

    /// The writer, then its replicas.
    pub fn servers(&mut self) -> impl Iterator<Item = &mut Connection> {
        std::iter::once(&mut self.writer).chain(&mut self.replicas)
    }

    /// Writer, replicas, and the table in which a beat goes from it to them.
    pub fn beat(&mut self) -> (&mut Connection, &mut [Connection], String) {
        let table = format!("{}.{HEARTBEAT}", self.owned.name());
        (&mut self.writer, &mut self.replicas, table)
    }

    /// How one gets in at the writer and at each replica.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// A replica on which our database does not appear follows somebody else, or leaves it out: its
    /// lag is unknown.
    fn keep_those_that_show(&mut self, mut replicas: Vec<Connection>) -> Result<()> {
        let look = format!("SELECT beat FROM {} WHERE id = 1", self.beat().2);
        let shown = come_true(replicas.len(), SHOW_LIMIT, |i| {
            let beat = replicas[i].value_if_there(&look)?;
            Ok(beat.is_some_and(|beat| !beat.is_empty()))
        })?;
        for (replica, is_shown) in replicas.into_iter().zip(shown) {
            if is_shown {
                self.replicas.push(replica);
                continue;
            }
            let place = replica.access().address.place();
            self.remarks.push(format!(
                "{} ({place}) did not show the writer's new database within {} s: its lag is \
                 unknown.",
                replica.name(),
                SHOW_LIMIT.as_secs()
            ));
        }
        Ok(())
    }

    /// Creates and fills a workload's tables.
    pub fn load(&mut self, workload: &Workload, seed: u64) -> Result<()> {
        for statement in setup_statements(workload, seed) {
            pause(Duration::ZERO)?;
            self.writer.run(&statement)?;
        }
        Ok(())
    }

    /// What the driver is to do in a cell.
    pub fn job(&self, study: &Study, cell: &Cell, round: u32) -> Job {
        let access = &self.accesses[0];
        Job {
            targets: vec![self.target],
            user: access.address.user.clone(),
            password: access.password.clone(),
            databases: vec![self.owned.name().to_owned()],
            tls: access.tls.is_on(),
            workload: cell.workload.clone(),
            connections: cell.connections,
            seed: study.seed ^ (u64::from(round) << 32),
            driver: 0,
            drivers: 1,
            unique_from: self.unique_next,
            rate_per_s: cell.rate_per_s.map(f64::from),
            pace: cell.pace,
            slowdown: None,
            waits: false,
            guest: Some(access.guest()),
        }
    }

    /// Remembers which unique numbers a load has used.
    pub fn used_numbers(&mut self, unique_next: u64) {
        self.unique_next = self.unique_next.max(unique_next);
    }
}

/// Which of so many things come true by the limit: all are asked in turn, those that are not true
/// yet again and again, each once at least.
fn come_true(
    count: usize,
    limit: Duration,
    mut ask: impl FnMut(usize) -> Result<bool>,
) -> Result<Vec<bool>> {
    let start = Instant::now();
    let mut all = vec![false; count];
    loop {
        for (i, is_true) in all.iter_mut().enumerate() {
            *is_true = *is_true || ask(i)?;
        }
        if !all.contains(&false) || start.elapsed() >= limit {
            return Ok(all);
        }
        pause(LOOK_EVERY)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_never_shows_takes_no_time_from_the_others() {
        let shown = come_true(3, Duration::ZERO, |i| Ok(i != 0)).unwrap();
        assert_eq!(shown, [false, true, true]);
    }

    #[test]
    fn what_is_true_is_asked_no_more_and_a_failure_is_told() {
        let mut asked = vec![];
        let shown = come_true(2, Duration::MAX, |i| {
            asked.push(i);
            Ok(i == 0 || asked.len() > 3)
        });
        assert_eq!(
            (shown.unwrap(), asked),
            (vec![true, true], vec![0, 1, 1, 1])
        );
        let failed = come_true(1, Duration::MAX, |_| Err(breakdown("look", "refused")));
        assert!(failed.is_err());
    }
}
