//! A node: one server process with its namespace, address and data directory.

use std::fs;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::netns::Netns;
use super::options::Settings;
use super::sandbox::{SERVER_UID, stop_asked};
use super::servers::datadir::{PASSWORD, USER};
use super::servers::{Cache, Program, datadir};
use super::sql::{Admin, Row};
use crate::error::{Breakdown, Error, Result, Tried};

/// Port of every server: each has an address of its own.
pub const PORT: u16 = 3306;

/// How long a server may take until it accepts connections.
const START_LIMIT: Duration = Duration::from_secs(120);

/// A place in the network: a namespace with one TUN device into the switch.
pub struct Place {
    /// Unique in the sandbox: `galera.a`, `client.a`.
    pub name: String,
    pub site: String,
    pub address: Ipv4Addr,
    pub netns: Netns,
}

impl Place {
    /// Makes the namespace and its device; the device's descriptor is for the switch.
    pub fn create(name: &str, site: &str, address: Ipv4Addr) -> Result<(Place, OwnedFd)> {
        let folder = Path::new(super::sandbox::INSIDE).join("netns");
        let netns = Netns::create_in(name, &folder)?;
        let tun = netns.open_tun("tun0", address)?;
        let place = Place {
            name: name.to_owned(),
            site: site.to_owned(),
            address,
            netns,
        };
        Ok((place, tun))
    }

    /// Makes `command` run in this place, as whoever runs it.
    pub fn enter(&self, command: &mut Command) -> Result<()> {
        self.netns.enter_on_exec(command)
    }
}

/// A server in its place.
pub struct Node {
    pub place: Place,
    folder: PathBuf,
    process: Option<Child>,
    admin: Option<Admin>,
}

impl Node {
    /// A node without a server process yet; its data directory is copied from the cache.
    pub fn create(place: Place, cache: &Cache, program: &Program, run: &Path) -> Result<Node> {
        let folder = run.join(&place.name);
        fs::create_dir_all(&folder).tried(|| format!("make {}", folder.display()))?;
        chown(&folder, Some(SERVER_UID), Some(SERVER_UID)).tried(|| "hand over a folder".into())?;
        datadir::copy(cache, program, &folder.join("data"))?;
        Ok(Node {
            place,
            folder,
            process: None,
            admin: None,
        })
    }

    /// Its site, which is its short name within its lab.
    pub fn site(&self) -> &str {
        &self.place.site
    }

    /// The server's Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("sock")
    }

    /// The server's process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// What every server needs to know of its place: these win over all other settings.
    pub fn own_settings(&self, server_id: usize) -> Settings {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let address = self.place.address.to_string();
        [
            ("datadir", path("data")),
            ("socket", path("sock")),
            ("pid_file", path("pid")),
            ("log_error", path("error.log")),
            ("tmpdir", path("tmp")),
            ("port", PORT.to_string()),
            ("bind_address", "0.0.0.0".into()),
            ("report_host", address),
            ("server_id", (server_id + 1).to_string()),
        ]
        .into_iter()
        .collect()
    }

    /// Starts the server; `extra` are command-line options of this start only.
    pub fn start(&mut self, program: &Program, settings: &Settings, extra: &[&str]) -> Result<()> {
        let file = self.folder.join("my.cnf");
        fs::write(&file, settings.option_file()).tried(|| format!("write {}", file.display()))?;
        let tmp = self.folder.join("tmp");
        fs::create_dir_all(&tmp).tried(|| format!("make {}", tmp.display()))?;
        chown(&tmp, Some(SERVER_UID), Some(SERVER_UID)).tried(|| "hand over a folder".into())?;
        let mut command = program.command(&format!("--defaults-file={}", file.display()));
        command
            .args(extra)
            .env("PATH", program.path())
            .env("HOME", "/nonexistent");
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join("out"));
        let log = log.tried(|| "open a server's output file".into())?;
        command.stdout(log.try_clone().tried(|| "copy a descriptor".into())?);
        command
            .stderr(log)
            .stdin(Stdio::null())
            .current_dir(&self.folder);
        self.place.enter(&mut command)?;
        drop_to_server_user(&mut command);
        let child = command
            .spawn()
            .tried(|| format!("start the server of {}", self.place.name))?;
        self.process = Some(child);
        Ok(())
    }

    /// Waits until the server accepts connections, the load's user's too.
    ///
    /// That login makes the server remember its password's digest: with `caching_sha2_password`
    /// every later one is the short one, as on a server in use, and clients that cannot do the
    /// long one get in as well.
    ///
    /// # Errors
    /// A breakdown with its last log lines if it ends or takes too long.
    pub fn wait_accepting(&mut self) -> Result<()> {
        let start = Instant::now();
        loop {
            self.check_alive("start")?;
            let refusal = match self.try_logins() {
                Ok(admin) => {
                    self.admin = Some(admin);
                    return Ok(());
                }
                Err(error) => error,
            };
            if start.elapsed() > START_LIMIT {
                let seconds = START_LIMIT.as_secs();
                let status = format!("no connection after {seconds} s: {refusal}");
                return Err(self.breakdown("start", &status));
            }
            pause(Duration::from_millis(20))?;
        }
    }

    fn try_logins(&self) -> std::result::Result<Admin, mysql::Error> {
        let admin = Admin::connect(&self.socket())?;
        Admin::connect_as(&self.socket(), USER, Some(PASSWORD))?;
        Ok(admin)
    }

    /// A breakdown if the server process has ended.
    pub fn check_alive(&mut self, doing: &str) -> Result<()> {
        let ended = self
            .process
            .as_mut()
            .and_then(|child| child.try_wait().ok().flatten());
        match ended {
            Some(status) => Err(self.breakdown(doing, &format!("the server ended: {status}"))),
            None => Ok(()),
        }
    }

    /// A breakdown with the last lines of this server's log.
    pub fn breakdown(&self, doing: &str, status: &str) -> Error {
        let text = fs::read_to_string(self.folder.join("error.log")).unwrap_or_default();
        let output = fs::read_to_string(self.folder.join("out")).unwrap_or_default();
        Breakdown {
            tried: format!("{doing} (node {})", self.place.name),
            status: status.to_owned(),
            log: telling_lines(output.lines().chain(text.lines())),
        }
        .into()
    }

    fn asked<T>(
        &mut self,
        sql: &str,
        ask: impl FnOnce(&mut Admin) -> std::result::Result<T, mysql::Error>,
    ) -> Result<T> {
        if self.admin.is_none() {
            self.admin = Admin::connect(&self.socket()).ok();
        }
        let Some(admin) = self.admin.as_mut() else {
            self.check_alive(sql)?;
            return Err(self.breakdown(sql, "no connection to the server"));
        };
        ask(admin).map_err(|error| {
            self.admin = None;
            let dead = self.check_alive(sql).err();
            dead.unwrap_or_else(|| self.breakdown(sql, &error.to_string()))
        })
    }

    /// Runs a statement as root over the Unix socket.
    pub fn run(&mut self, sql: &str) -> Result<()> {
        self.asked(sql, |admin| admin.run(sql))
    }

    /// All rows of a statement.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Row>> {
        self.asked(sql, |admin| admin.rows(sql))
    }

    /// The first value of a statement.
    pub fn value(&mut self, sql: &str) -> Result<Option<String>> {
        self.asked(sql, |admin| admin.value(sql))
    }

    /// Names and values of a `SHOW` statement.
    pub fn pairs(&mut self, sql: &str) -> Result<std::collections::BTreeMap<String, String>> {
        self.asked(sql, |admin| admin.pairs(sql))
    }

    /// Waits until `is_ready` says so.
    ///
    /// # Errors
    /// A breakdown that tells what was waited for, with the server's last log lines.
    pub fn wait_until(
        &mut self,
        what: &str,
        limit: Duration,
        mut is_ready: impl FnMut(&mut Node) -> Result<bool>,
    ) -> Result<()> {
        let start = Instant::now();
        while !is_ready(self)? {
            if start.elapsed() > limit {
                let status = format!("not so after {} s", limit.as_secs());
                return Err(self.breakdown(&format!("wait until {what}"), &status));
            }
            pause(Duration::from_millis(20))?;
        }
        Ok(())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(child) = self.process.as_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The last errors of a log, then its very last lines.
fn telling_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lines: Vec<&str> = lines.collect();
    let (early, late) = lines.split_at(lines.len().saturating_sub(6));
    let errors: Vec<&str> = early
        .iter()
        .filter(|line| line.contains("[ERROR]"))
        .copied()
        .collect();
    let (_, errors) = errors.split_at(errors.len().saturating_sub(6));
    errors
        .iter()
        .chain(late)
        .map(|line| (*line).to_owned())
        .collect()
}

/// One step of a readiness loop; ends it when the user asked to stop.
pub fn pause(step: Duration) -> Result<()> {
    if stop_asked() {
        return Err(Error::Interrupted);
    }
    std::thread::sleep(step);
    Ok(())
}

/// Makes `command` run as the lab's own user. Must be the last preparation: entering a namespace
/// needs root, and preparations run in the order in which they were made.
pub fn drop_to_server_user(command: &mut Command) {
    // SAFETY: only async-signal-safe system calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let failed = libc::setgroups(0, std::ptr::null()) != 0
                || libc::setgid(SERVER_UID) != 0
                || libc::setuid(SERVER_UID) != 0;
            if failed {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
}
