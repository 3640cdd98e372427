//! Drivers that join a run from elsewhere: the run's options, and `acklab drive --join`.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::needs::read_file;
use super::values::span;
use crate::error::{Mistake, Result};
use crate::load::join::{
    self, Door, Entry, Joined, Patience, StudyName, TOKEN_VARIABLE, Ticket, TicketFile, TicketFrom,
};
use crate::plan::Plan;
use crate::run::Order;
use crate::run::endpoint::Drivers;
use crate::study::builtin::no_such_study;
use crate::study::{Study, Workload, builtin, limits};

/// Loopback: nobody from elsewhere comes in unless an address is given.
const LISTEN: &str = "127.0.0.1:7000";
/// How long each side waits for the other.
const WITHIN: Duration = Duration::from_secs(600);

/// Options of a run that others drive.
#[derive(Args, Default)]
pub struct JoinOptions {
    /// Endpoints: wait for so many drivers, started elsewhere by `acklab drive --join`
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    drivers: Option<u32>,
    /// Where they join: an address of this host [default: 127.0.0.1:7000]
    #[arg(long, value_name = "ADDRESS", requires = "drivers")]
    listen: Option<String>,
    /// The file to write the run's token into, for them [default: RECORD.token]
    #[arg(long, value_name = "FILE", requires = "drivers")]
    token: Option<PathBuf>,
    /// How long to wait for them, and for another in place of one that is lost [default: 10min]
    #[arg(long, value_name = "TIME", value_parser = span, requires = "drivers")]
    join_within: Option<Duration>,
}

impl JoinOptions {
    /// Whether others are to drive.
    pub fn is_given(&self) -> bool {
        self.drivers.is_some()
    }

    /// # Errors
    /// A mistake if drivers are asked for that a study has no use for.
    pub fn check(&self, study: &Study, plan: &Plan) -> Result<()> {
        let Some(count) = self.drivers else {
            return Ok(());
        };
        let wrong = |allowed: &str| -> Result<()> {
            let given = count.to_string();
            Err(Mistake::new("command line", "--drivers", &given, allowed).into())
        };
        if !study.is_of_endpoints() {
            return wrong(
                "is for studies of endpoints: in a lab the drivers stand in its sites; leave it \
                 out",
            );
        }
        if !limits::DRIVERS.holds(u64::from(count)) {
            return wrong(&limits::DRIVERS.whole_number());
        }
        let workloads = || plan.cells.iter().map(|cell| &cell.workload);
        if workloads().any(|workload| matches!(workload, Workload::Mysqlslap { .. })) {
            return wrong(
                "is not for mysqlslap's loads: mysqlslap is one program on one machine; leave the \
                 option out, or these workloads",
            );
        }
        let most = plan.cells.iter().map(|cell| cell.connections).max();
        match most.filter(|most| *most < count) {
            None => Ok(()),
            Some(most) => wrong(&format!(
                "must be at most {most}, the largest number of connections in this study: a \
                 driver has one at least"
            )),
        }
    }

    /// One driver on this host, or a door for those that come; the file of their token is there for
    /// as long as its value.
    ///
    /// # Errors
    /// A mistake if nobody can listen there, or the file cannot be written.
    pub fn drivers(&self, order: &Order, file: &str) -> Result<(Drivers, Option<TicketFile>)> {
        let Some(drivers) = self.drivers else {
            return Ok((Drivers::own()?, None));
        };
        let address = address(self.listen.as_deref().unwrap_or(LISTEN))?;
        let door = Door::open(address, StudyName::of(file, &order.study_text))?;
        let beside = || PathBuf::from(format!("{}.token", order.record.display()));
        let path = self.token.clone().unwrap_or_else(beside);
        let token = TicketFile::write(&path, door.ticket())?;
        let command = command(door.address(), token.path());
        eprintln!("each driver is started with: {command}");
        let patience = Patience {
            drivers,
            within: self.join_within.unwrap_or(WITHIN),
            command,
        };
        let joined = Joined::new(door, patience);
        Ok((Drivers::Joined(Box::new(joined)), Some(token)))
    }
}

fn address(text: &str) -> Result<SocketAddr> {
    let found = text.to_socket_addrs().map(|mut all| all.next());
    found.ok().flatten().ok_or_else(|| {
        let allowed = "must be an address or a name of this host with a port: 127.0.0.1:7000";
        Mistake::new("command line", "--listen", text, allowed).into()
    })
}

/// Where all addresses are listened at, drivers come by this host's name.
fn command(address: SocketAddr, token: &Path) -> String {
    let host = nix::unistd::gethostname().ok();
    let host = host.filter(|_| address.ip().is_unspecified());
    let place = match host {
        Some(host) => format!("{}:{}", host.to_string_lossy(), address.port()),
        None => address.to_string(),
    };
    let token = std::path::absolute(token).unwrap_or(token.to_owned());
    format!("acklab drive --join {place} --token {}", token.display())
}

/// Options of a driver.
#[derive(Args)]
pub struct DriveOptions {
    /// The run to join: HOST:PORT, as the run prints it
    #[arg(long, value_name = "ADDRESS")]
    join: String,
    /// The file that the run wrote its token into; without it ACKLAB_TOKEN holds what is in it
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// Drive no other study than this: file or name
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    /// How long to wait for the run, and for a place in it [default: 10min]
    #[arg(long, value_name = "TIME", value_parser = span)]
    within: Option<Duration>,
}

/// Joins a run, and drives its load until it is over.
///
/// # Errors
/// A mistake if an option is wrong or the run does not take this driver; a breakdown if there is no
/// run in time, or it is cut off.
pub fn drive(options: DriveOptions) -> Result<u8> {
    let has_port = options.join.rsplit_once(':');
    if !has_port.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok()) {
        let allowed = "must be the run's address and port, as it prints them: db1.example.com:7000";
        return Err(Mistake::new("command line", "--join", &options.join, allowed).into());
    }
    let entry = Entry {
        address: options.join,
        ticket: ticket(options.token)?,
        study: options.study.as_deref().map(study).transpose()?,
        within: options.within.unwrap_or(WITHIN),
    };
    join::join(&entry, &mut |words| eprintln!("{words}"))?;
    eprintln!("the run is over");
    Ok(0)
}

fn ticket(file: Option<PathBuf>) -> Result<TicketFrom> {
    if let Some(file) = file {
        return Ok(TicketFrom::File(file));
    }
    let wrong = |allowed: &str| Mistake::new("environment", TOKEN_VARIABLE, "", allowed);
    let missing = "is missing: give the file that the run wrote by --token, or what is in it in \
                   this variable";
    let text = std::env::var(TOKEN_VARIABLE).map_err(|_| wrong(missing))?;
    let allowed = "must hold what is in the file that the run wrote, as it is";
    let ticket = Ticket::read(&text).ok_or_else(|| wrong(allowed))?;
    Ok(TicketFrom::Variable(ticket))
}

fn study(name: &str) -> Result<StudyName> {
    let path = Path::new(name);
    let text = match builtin(name) {
        Some(text) if !path.is_file() => text.to_owned(),
        _ if path.is_file() => read_file("--study", path)?,
        _ => return Err(no_such_study("command line", name).into()),
    };
    Ok(StudyName::of(name, &text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::study::written::sample;

    const ENDPOINT: &str = "[[mode]]\nmode = \"endpoint\"\nwriter = \"mysql://u@127.0.0.1\"\n\
                            [[sweep]]\nworkload = \"update_index\"\nconnections = [1, 8]\n";

    fn check(count: u32, text: &str) -> String {
        let options = JoinOptions {
            drivers: Some(count),
            ..JoinOptions::default()
        };
        let study = sample(text);
        let checked = options.check(&study, &plan(&study));
        checked.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn drivers_are_refused_where_they_would_have_nothing_to_do() {
        assert_eq!((check(1, ENDPOINT), check(8, ENDPOINT)), Default::default());
        let told = check(9, ENDPOINT);
        let start = "command line: --drivers: given 9; must be at most 8, ";
        assert!(told.starts_with(start), "{told}");
        assert!(
            check(0, ENDPOINT).contains("from 1 to"),
            "{}",
            check(0, ENDPOINT)
        );
        let slap = ENDPOINT.replace("update_index", "mysqlslap write");
        assert!(check(2, &slap).contains("mysqlslap is one program"));
        let lab = ENDPOINT.replace(
            "mode = \"endpoint\"\nwriter = \"mysql://u@127.0.0.1\"",
            "server = \"mysql\"\nmode = \"single\"",
        ) + "rtt = [\"1ms\"]\n";
        assert!(
            check(2, &lab).contains("is for studies of endpoints"),
            "{}",
            check(2, &lab)
        );
    }

    #[test]
    fn the_command_for_drivers_names_where_they_are_to_come() {
        let token = Path::new("/home/dba/x.acklab.token");
        let loopback = command("127.0.0.1:7000".parse().unwrap(), token);
        assert_eq!(
            loopback,
            "acklab drive --join 127.0.0.1:7000 --token /home/dba/x.acklab.token"
        );
        let everywhere = command("0.0.0.0:7001".parse().unwrap(), token);
        assert!(!everywhere.contains("0.0.0.0") && everywhere.contains(":7001"));
        let wrong = address("7000").unwrap_err().to_string();
        assert!(
            wrong.contains("--listen: given 7000; must be an address"),
            "{wrong}"
        );
    }
}
