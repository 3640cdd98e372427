//! Who drives the load of a study of endpoints: one driver on this host, or many that were started
//! elsewhere.

use std::process::Command;

use crate::error::{Result, breakdown};
use crate::load::join::Joined;
use crate::load::{Driver, Iterations, Job, Snapshot};
use crate::run::events::{Event, Events};
use crate::run::window::Accounts;

/// The variable that a password may be given in. No child of ours gets it.
pub const PASSWORD_VARIABLE: &str = "ACKLAB_PASSWORD";
/// What a listener hears them by.
const NAME: &str = "drivers";

/// The drivers of a study.
pub enum Drivers {
    Own(Driver),
    Joined(Box<Joined>),
}

impl Drivers {
    /// One driver on the host's own network. It ends when its input does, however we end.
    ///
    /// # Errors
    /// A breakdown if it cannot be started.
    pub fn own() -> Result<Drivers> {
        let mut command = Command::new("/proc/self/exe");
        command.arg("drive").env_remove(PASSWORD_VARIABLE);
        Driver::spawn(command).map(Drivers::Own)
    }

    /// Waits until all are here.
    ///
    /// # Errors
    /// A breakdown that says who is missing; an interruption if the user asks to stop.
    pub fn gather(&mut self, events: &dyn Events) -> Result<()> {
        let Drivers::Joined(joined) = self else {
            return Ok(());
        };
        let tell = |text| {
            let of = NAME.to_owned();
            events.tell(Event::Words { of, text });
        };
        joined.gather(&mut { tell })
    }

    pub fn start(&mut self, job: &Job) -> Result<f64> {
        match self {
            Drivers::Own(driver) => driver.start(job),
            Drivers::Joined(joined) => joined.start(job),
        }
    }

    pub fn mark(&mut self) -> Result<Snapshot> {
        match self {
            Drivers::Own(driver) => driver.mark(),
            Drivers::Joined(joined) => joined.mark(),
        }
    }

    pub fn stop(&mut self) -> Result<Snapshot> {
        match self {
            Drivers::Own(driver) => driver.stop(),
            Drivers::Joined(joined) => joined.stop(),
        }
    }

    /// mysqlslap is one program: studies with its loads are refused where there are several
    /// drivers.
    pub fn reload(&mut self, job: &Job) -> Result<()> {
        match self {
            Drivers::Own(driver) => driver.reload(job),
            Drivers::Joined(_) => Err(of_one_driver()),
        }
    }

    pub fn iterate(&mut self) -> Result<Iterations> {
        match self {
            Drivers::Own(driver) => driver.iterate(),
            Drivers::Joined(_) => Err(of_one_driver()),
        }
    }

    pub fn accounts(&self) -> Accounts {
        match self {
            Drivers::Own(driver) => Accounts::of_client(driver),
            Drivers::Joined(joined) => Accounts::of_joined(joined.cpu_us()),
        }
    }

    /// Who was lost or late since the load began; told once.
    pub fn take_missing(&mut self) -> Vec<String> {
        match self {
            Drivers::Own(_) => vec![],
            Drivers::Joined(joined) => joined.take_missing(),
        }
    }

    /// What is to be known of those that have joined.
    pub fn remark(&self) -> Option<String> {
        match self {
            Drivers::Own(_) => None,
            Drivers::Joined(joined) => Some(joined.told()),
        }
    }
}

fn of_one_driver() -> crate::error::Error {
    breakdown("run mysqlslap's load", "it has one driver")
}
