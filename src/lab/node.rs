//! A node: one server process with its namespace, address and data directory.

mod answers;
mod signals;

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::affinity;
use super::disk::Volume;
use super::ended::how_ended;
use super::memory::MemoryLimit;
use super::netns::Place;
use super::options::Settings;
use super::recovery::{self, telling_lines};
use super::sandbox::{SERVER_UID, drop_to_server_user, stop_asked};
use super::servers::datadir::{PASSWORD, USER};
use super::servers::{Cache, Program, datadir};
use super::sql::{Admin, Ask, Row};
use crate::error::{Breakdown, Error, Mistake, Result, Tried};

/// Port of every server: each has an address of its own.
pub const PORT: u16 = 3306;

/// How long a server may take until it accepts connections.
const START_LIMIT: Duration = Duration::from_secs(120);
/// How long it may take to end when it is asked to.
const STOP_LIMIT: Duration = Duration::from_secs(120);

/// A server in its place.
pub struct Node {
    pub place: Place,
    folder: PathBuf,
    process: Option<Child>,
    admin: Option<Admin>,
    /// The emulated disk that its data directory stands on; dropped after its server has ended.
    pub volume: Option<Volume>,
    /// The CPUs that its server has for itself; none: it shares those of whoever starts it.
    pub cpus: Vec<u32>,
    /// The memory that its server may use, where that is limited.
    memory: Option<MemoryLimit>,
    /// How long its log was when its server was last started.
    log_bytes_before: usize,
}

impl Node {
    /// A node without data and without a server process.
    pub fn create(place: Place, run: &Path) -> Result<Node> {
        let folder = run.join(&place.name);
        fs::create_dir_all(&folder).tried(|| format!("make {}", folder.display()))?;
        chown(&folder, Some(SERVER_UID), Some(SERVER_UID)).tried(|| "hand over a folder".into())?;
        Ok(Node {
            place,
            folder,
            process: None,
            admin: None,
            volume: None,
            cpus: vec![],
            memory: None,
            log_bytes_before: 0,
        })
    }

    /// Limits the memory of every server that is started here from now on.
    pub fn limit_memory(&mut self, bytes: u64, run: &Path) -> Result<()> {
        self.memory = Some(MemoryLimit::make(&self.place.name, bytes, run)?);
        Ok(())
    }

    /// Where an emulated disk of this node is mounted.
    pub fn mount_point(&self) -> PathBuf {
        self.folder.join("disk")
    }

    /// Its data directory: on its emulated disk, if it has one.
    pub fn data(&self) -> PathBuf {
        let disk = self.volume.as_ref().map(Volume::mount_point);
        disk.unwrap_or(&self.folder).join("data")
    }

    /// Copies the data directory from the cache. On an emulated disk all of it is durable then.
    pub fn fill(&self, cache: &Cache, program: &Program) -> Result<()> {
        datadir::copy(cache, program, &self.data())?;
        self.flush_disk()
    }

    /// Makes durable on its emulated disk what its server has handed to the operating system.
    ///
    /// # Errors
    /// A breakdown if the disk does not answer.
    pub fn flush_disk(&self) -> Result<()> {
        let Some(volume) = &self.volume else {
            return Ok(());
        };
        let tried = || format!("flush {}", volume.mount_point().display());
        let folder = fs::File::open(volume.mount_point()).tried(tried)?;
        nix::unistd::syncfs(&folder).tried(tried)
    }

    /// Its short name, unique within its lab: its site's, with a number where several stand there.
    pub fn name(&self) -> &str {
        let name = &self.place.name;
        name.rsplit_once('.').map_or(name, |(_, short)| short)
    }

    /// Its site.
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
            ("datadir", self.data().display().to_string()),
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

    /// Ends the server as an operator would, and waits until it has ended, with all that it
    /// knows in its files.
    ///
    /// # Errors
    /// A breakdown with its last log lines if it does not end, or not well.
    pub fn stop(&mut self) -> Result<()> {
        self.ask_to_stop()?;
        self.wait_stopped()
    }

    /// Waits for a server that was asked to stop.
    ///
    /// # Errors
    /// A breakdown if it ends otherwise, or not within the time limit.
    pub fn wait_stopped(&mut self) -> Result<()> {
        let start = Instant::now();
        while let Some(child) = &mut self.process {
            match child.try_wait().tried(|| "wait for a server".into())? {
                Some(status) if status.success() => self.process = None,
                Some(status) => return Err(self.breakdown("stop", &status.to_string())),
                None if start.elapsed() > STOP_LIMIT => {
                    let status = format!("not ended after {} s", STOP_LIMIT.as_secs());
                    return Err(self.breakdown("stop", &status));
                }
                None => pause(Duration::from_millis(10))?,
            }
        }
        Ok(())
    }

    /// Starts the server; `extra` are command-line options of this start only.
    pub fn start(&mut self, program: &Program, settings: &Settings, extra: &[&str]) -> Result<()> {
        let tmp = self.folder.join("tmp");
        fs::create_dir_all(&tmp).tried(|| format!("make {}", tmp.display()))?;
        chown(&tmp, Some(SERVER_UID), Some(SERVER_UID)).tried(|| "hand over a folder".into())?;
        self.log_bytes_before = self.log().len();
        let mut command = self.command(program, settings, "my.cnf")?;
        command.args(extra);
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join("out"));
        let log = log.tried(|| "open a server's output file".into())?;
        command.stdout(log.try_clone().tried(|| "copy a descriptor".into())?);
        command.stderr(log);
        self.place.enter(&mut command)?;
        affinity::enter(&mut command, &self.cpus)?;
        if let Some(memory) = &self.memory {
            memory.enter(&mut command)?;
        }
        drop_to_server_user(&mut command);
        let child = command
            .spawn()
            .tried(|| format!("start the server of {}", self.place.name))?;
        self.process = Some(child);
        Ok(())
    }

    /// The server's command line, reading these settings from a file of that name.
    fn command(&self, program: &Program, settings: &Settings, file: &str) -> Result<Command> {
        let file = self.folder.join(file);
        fs::write(&file, settings.option_file()).tried(|| format!("write {}", file.display()))?;
        let mut command = program.command(&format!("--defaults-file={}", file.display()));
        command
            .env("PATH", program.path())
            .env("HOME", "/nonexistent")
            .stdin(Stdio::null())
            .current_dir(&self.folder);
        Ok(command)
    }

    /// Has the server program read these settings, beside the one that runs; `words` are what it
    /// is told so that it does no more.
    ///
    /// # Errors
    /// A mistake with what it says of settings that it refuses.
    pub fn check_options(
        &self,
        program: &Program,
        settings: &Settings,
        words: &[&str],
        label: &str,
    ) -> Result<()> {
        let (status, said) = self.run_through(program, settings, words)?;
        if status.success() && !said.contains("[ERROR]") {
            return Ok(());
        }
        if status.code().is_none() {
            let tried = format!("use the variables of {label}");
            return Err(self.breakdown(&tried, &format!("the server program ended: {status}")));
        }
        let place = format!("node {}", self.place.name);
        let allowed = format!(
            "the server refuses its variables ({status}): {}",
            telling_lines(said.lines()).join("; ")
        );
        Err(Mistake::new(&place, label, "", &allowed).into())
    }

    /// Runs the server program until it ends by itself: how it did, and what it said.
    pub fn run_through(
        &self,
        program: &Program,
        settings: &Settings,
        words: &[&str],
    ) -> Result<(ExitStatus, String)> {
        let log = self.folder.join("check.log");
        let mut settings = settings.clone();
        settings.set("log_error", log.display().to_string());
        let mut command = self.command(program, &settings, "check.cnf")?;
        command.args(words);
        self.place.enter(&mut command)?;
        drop_to_server_user(&mut command);
        let output = command
            .output()
            .tried(|| format!("run the server program of {}", self.place.name))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let said = said + &fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        Ok((output.status, said))
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
        let socket = self.socket();
        Admin::try_login(&socket, "root", None)?;
        Admin::try_login(&socket, USER, Some(PASSWORD))?;
        Admin::connect(&socket)
    }

    /// A breakdown if the server process has ended.
    pub fn check_alive(&mut self, doing: &str) -> Result<()> {
        let Some(status) = self.process.as_mut().and_then(how_ended) else {
            return Ok(());
        };
        let verdict = self.memory.as_ref().and_then(MemoryLimit::verdict);
        let why = verdict.map_or_else(String::new, |why| format!(", {why}"));
        Err(self.breakdown(doing, &format!("the server ended: {status}{why}")))
    }

    /// What its server said since it was last started, of data that it refuses, if it has ended by
    /// itself; `None` where it runs, was killed, or ended for another reason.
    pub fn refusal(&mut self) -> Option<String> {
        let ended = how_ended(self.process.as_mut()?);
        ended.filter(recovery::is_of_itself)?;
        let has_memory = self
            .memory
            .as_ref()
            .and_then(MemoryLimit::verdict)
            .is_none();
        let log = self.log();
        let said = log.get(self.log_bytes_before..).filter(|_| has_memory)?;
        recovery::refusal(said.lines())
    }

    fn log(&self) -> String {
        let log = fs::read(self.folder.join("error.log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// The last lines of its server's log, as many as fit into so many bytes; none where it has
    /// written nothing yet.
    pub fn log_end(&self, bytes: usize) -> String {
        recovery::last_lines(&self.log(), bytes).to_owned()
    }

    /// A breakdown with the last lines of this server's log.
    pub fn breakdown(&self, doing: &str, status: &str) -> Error {
        let text = self.log();
        let output = fs::read_to_string(self.folder.join("out")).unwrap_or_default();
        Breakdown {
            tried: format!("{doing} (node {})", self.place.name),
            status: status.to_owned(),
            log: telling_lines(output.lines().chain(text.lines())),
        }
        .into()
    }

    /// The connection, made anew if there is none.
    fn admin(&mut self) -> Option<&mut Admin> {
        if self.admin.is_none() {
            self.admin = Admin::connect(&self.socket()).ok();
        }
        self.admin.as_mut()
    }

    fn asked<T>(
        &mut self,
        sql: &str,
        ask: impl FnOnce(&mut Admin) -> std::result::Result<T, mysql::Error>,
    ) -> Result<T> {
        let Some(admin) = self.admin() else {
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

    /// The code of the error that a statement ends in; `None` if it ends well, or without one.
    pub fn error_of(&mut self, sql: &str) -> Option<u16> {
        match self.admin()?.run(sql) {
            Err(mysql::Error::MySqlError(error)) => Some(error.code),
            _ => None,
        }
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

impl Ask for Node {
    fn name(&self) -> &str {
        Node::name(self)
    }

    fn run(&mut self, sql: &str) -> Result<()> {
        Node::run(self, sql)
    }

    fn value(&mut self, sql: &str) -> Result<Option<String>> {
        Node::value(self, sql)
    }

    fn pairs(&mut self, sql: &str) -> Result<std::collections::BTreeMap<String, String>> {
        Node::pairs(self, sql)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A server cannot even be killed while its disk waits for copies that have gone.
        if let Some(volume) = &self.volume {
            let _ = volume.freeze();
        }
        self.kill();
    }
}

/// One step of a readiness loop; ends it when the user asked to stop.
pub fn pause(step: Duration) -> Result<()> {
    if stop_asked() {
        return Err(Error::Interrupted);
    }
    std::thread::sleep(step);
    Ok(())
}
