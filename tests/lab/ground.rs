//! What a lab test stands on: a folder and mounts of its own, the program, and a look at what a
//! command left behind.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use acklab::lab::servers::Cache;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::common::{lab_lock, program};

/// Far longer than anything that is waited for takes.
pub const PATIENCE: Duration = Duration::from_secs(180);
/// Longer than any command here takes, the first fetch of a server included; for each power cut
/// that is asked for.
const COMMAND_LIMIT: Duration = Duration::from_secs(1_200);
/// Where the test's own files are: the machine-wide lock makes one place enough.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/lab");

/// A folder of the test's own, seen by this test and its children only.
pub struct Ground {
    /// `ACKLAB_CACHE` of all its commands: run folders are here, servers are the user's.
    pub cache: PathBuf,
    /// Current folder of all its commands.
    pub work: PathBuf,
    before: Host,
}

/// What commands must leave as it was.
#[derive(Debug, PartialEq, Eq)]
struct Host {
    mounts: BTreeSet<String>,
    interfaces: BTreeSet<String>,
}

/// Runs a test on a ground whose cache holds the user's servers, and tells how long it took.
///
/// The test's thread has mounts of its own. They are shared with whatever its children split off,
/// so that a sandbox which forgot to make its mounts private would be seen here.
pub fn on_ground(name: &str, test: impl FnOnce(&Ground) + Send) {
    on(name, true, test);
}

/// The same with an empty cache.
pub fn on_bare_ground(name: &str, test: impl FnOnce(&Ground) + Send) {
    on(name, false, test);
}

fn on(name: &str, has_servers: bool, test: impl FnOnce(&Ground) + Send) {
    let _lock = lab_lock();
    let start = Instant::now();
    let outcome = std::thread::scope(|scope| {
        let stand = || {
            let ground = Ground::lay(has_servers);
            test(&ground);
            ground.is_as_before();
        };
        scope.spawn(stand).join()
    });
    // Not by eprintln!, which the test harness captures.
    let took_s = start.elapsed().as_secs_f64();
    let _ = writeln!(std::io::stderr(), "{name}: {took_s:.1} s");
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

impl Ground {
    fn lay(has_servers: bool) -> Ground {
        let folder = PathBuf::from(FOLDER);
        let none: Option<&str> = None;
        unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace");
        for kind in [MsFlags::MS_PRIVATE, MsFlags::MS_SHARED] {
            mount(none, "/", none, MsFlags::MS_REC | kind, none).expect("mounts of our own");
        }
        remove_folder();
        let (cache, work) = (folder.join("cache"), folder.join("work"));
        fs::create_dir_all(cache.join("servers")).expect("a cache folder");
        fs::create_dir_all(&work).expect("a working folder");
        if has_servers {
            bind_servers(&cache);
        }
        Ground {
            cache,
            work,
            before: Host::now(),
        }
    }

    /// The program with this ground's cache, in this ground's folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(&self.work);
        command
            .env("ACKLAB_CACHE", &self.cache)
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.command(arguments);
        outcome(&mut command, arguments)
    }

    /// Writes a file into the working folder; its name, for a command line.
    pub fn file<'n>(&self, name: &'n str, text: &str) -> &'n str {
        fs::write(self.work.join(name), text).expect(name);
        name
    }

    /// All processes that were started with this ground's cache, and theirs.
    pub fn processes(&self) -> Vec<i32> {
        let marker = format!("ACKLAB_CACHE={}\0", self.cache.display()).into_bytes();
        let has_marker = |pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(marker.len()).any(|part| part == marker)
        };
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
        pids.filter(has_marker).collect()
    }

    /// Folders of runs.
    pub fn run_folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.cache.join("run"))
            .into_iter()
            .flatten()
            .flatten();
        let folders = entries.map(|entry| entry.path());
        folders.filter(|path| path.is_dir()).collect()
    }

    /// Pid 1 of the run in that folder, as the host sees it.
    pub fn first_pid(&self, folder: &Path) -> Option<i32> {
        let text = fs::read_to_string(folder.join("pid")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    }

    /// Waits until no process, run folder, mount or interface of a command is left.
    pub fn nothing_left(&self) {
        self.nothing_left_but_mounts();
        self.is_as_before();
    }

    /// The same while a mount of the test's own is there.
    pub fn nothing_left_but_mounts(&self) {
        let start = Instant::now();
        loop {
            let mut processes = self.processes();
            processes.extend(ending());
            let folders = self.run_folders();
            if processes.is_empty() && folders.is_empty() {
                break;
            }
            let left: Vec<String> = processes.iter().map(|pid| described(*pid)).collect();
            assert!(
                start.elapsed() < PATIENCE,
                "left behind: {left:?} {folders:?}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn is_as_before(&self) {
        assert_eq!(
            Host::now(),
            self.before,
            "mounts or interfaces were left behind"
        );
    }

    /// Rows of a statement on a node, by column name.
    pub fn rows(&self, node: &str, sql: &str) -> Vec<Vec<(String, String)>> {
        let text = self.run(&["sql", node, sql]).good();
        let mut lines = text.lines().map(|line| line.split('\t'));
        let columns: Vec<&str> = lines.next().into_iter().flatten().collect();
        let pair = |(name, value): (&&str, &str)| ((*name).to_owned(), value.to_owned());
        lines
            .map(|values| columns.iter().zip(values).map(pair).collect())
            .collect()
    }

    /// The first column of the first row.
    pub fn value(&self, node: &str, sql: &str) -> String {
        let rows = self.rows(node, sql);
        let first = rows.first().and_then(|row| row.first());
        first.map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// A named server variable or status counter; `show` is `VARIABLES` or `STATUS`.
    pub fn shown(&self, node: &str, show: &str, name: &str) -> String {
        let rows = self.rows(node, &format!("SHOW GLOBAL {show} LIKE '{name}'"));
        let row = rows
            .first()
            .unwrap_or_else(|| panic!("{node} has no {name} in its {show}"));
        row[1].1.clone()
    }

    /// Waits until a statement's first value on a node is this one.
    pub fn wait_for_value(&self, node: &str, sql: &str, wanted: &str) {
        let start = Instant::now();
        loop {
            let got = self.value(node, sql);
            if got == wanted {
                return;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "{node}: {sql}: {got}, not {wanted}"
            );
        }
    }

    /// A report of a record as JSON.
    pub fn json(&self, record: &str) -> Value {
        let text = self.run(&["report", record, "--format", "json"]).good();
        serde_json::from_str(&text).expect("JSON")
    }
}

/// A detached lab for the length of `test`, then its end, after which nothing may be left.
pub fn with_lab(ground: &Ground, up: &[&str], test: impl FnOnce()) {
    let up: Vec<&str> = std::iter::once("up").chain(up.iter().copied()).collect();
    let told = ground.run(&up).good();
    assert!(
        told.contains("ready") && told.contains("198.18.0.1"),
        "{told}"
    );
    // The look at what is left must be able to see something.
    assert!(ground.processes().len() > 2 && ground.run_folders().len() == 1);
    test();
    let told = ground.run(&["down"]).good();
    assert!(told.contains("has ended"), "{told}");
    ground.nothing_left();
}

/// Makes the user's servers visible in a cache of our own, for as long as this thread lives. The
/// lock goes with them: it guards fetching and initialising.
fn bind_servers(cache: &Path) {
    let user = Cache::of_user().expect("the user's cache");
    for path in [user.path.join("lock"), cache.join("lock")] {
        File::options()
            .create(true)
            .append(true)
            .open(path)
            .expect("a lock file");
    }
    let none: Option<&str> = None;
    for name in ["servers", "lock"] {
        let (source, target) = (user.path.join(name), cache.join(name));
        mount(Some(&source), &target, none, MsFlags::MS_BIND, none).expect("a bind mount");
    }
}

impl Host {
    fn now() -> Host {
        let mounts = fs::read_to_string("/proc/thread-self/mountinfo").expect("mountinfo");
        let devices = fs::read_to_string("/proc/thread-self/net/dev").expect("net/dev");
        let names = devices.lines().filter_map(|line| line.split_once(':'));
        // Without the first two columns, which are numbers; where, and what.
        let place = |line: &str| {
            line.split(' ')
                .skip(3)
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        };
        Host {
            mounts: mounts.lines().map(place).collect(),
            interfaces: names.map(|(name, _)| name.trim().to_owned()).collect(),
        }
    }
}

fn described(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    format!(
        "{pid} {}",
        String::from_utf8_lossy(&words).replace('\0', " ")
    )
}

impl Drop for Ground {
    /// Only a failed test has anything left to be ended here.
    fn drop(&mut self) {
        let start = Instant::now();
        while !self.processes().is_empty() && start.elapsed() < PATIENCE {
            for pid in self.processes() {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
        // The user's servers must be out of reach before anything is removed.
        for name in ["servers", "lock"] {
            let _ = umount2(&self.cache.join(name), MntFlags::MNT_DETACH);
        }
        remove_folder();
    }
}

/// Removes all files of a test, unless the user's servers can still be reached through them.
fn remove_folder() {
    let identity = |path: PathBuf| {
        fs::metadata(path)
            .map(|found| (found.dev(), found.ino()))
            .ok()
    };
    let ours = identity(Path::new(FOLDER).join("cache/servers"));
    let users = Cache::of_user().expect("the user's cache");
    if ours.is_none() || ours != identity(users.path.join("servers")) {
        let _ = fs::remove_dir_all(FOLDER);
    }
}

/// How often a server is ended in each way: as a test says, or as often as `ACKLAB_CUTS` asks.
pub fn cuts(otherwise: u32) -> u32 {
    let asked = std::env::var("ACKLAB_CUTS").ok();
    asked.map_or(otherwise, |asked| asked.parse().expect("a number"))
}

/// Runs a command until it has ended and nobody holds its output any more.
pub fn outcome(command: &mut Command, arguments: &[&str]) -> Outcome {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    let pid = Pid::from_raw(child.id() as i32);
    let out = Told::by(child.stdout.take().expect("its output"));
    let err = Told::by(child.stderr.take().expect("its errors"));
    let begin = Instant::now();
    while !(out.is_over() && err.is_over()) {
        if begin.elapsed() >= COMMAND_LIMIT * cuts(1) {
            let (there, logs) = (all_processes(), last_lines_of_logs());
            let _ = kill(pid, Signal::SIGKILL);
            let (out, err) = (out.text(), err.text());
            let arguments = arguments.join(" ");
            // What it said last comes last: a long log is often cut in its midst.
            panic!("{there}\n{logs}\nacklab {arguments} did not end\n{out}\n{err}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Outcome {
        command: arguments.join(" "),
        code: child.wait().expect("its end").code(),
        out: out.text(),
        err: err.text(),
    }
}

/// What is read from a pipe, as it comes.
struct Told {
    text: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Told {
    fn by(mut pipe: impl Read + Send + 'static) -> Told {
        let text = Arc::new(Mutex::new(Vec::new()));
        let into = text.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                into.lock().expect("a reader").extend(&buffer[..count]);
            }
        });
        Told { text, reader }
    }

    fn is_over(&self) -> bool {
        self.reader.is_finished()
    }

    fn text(&self) -> String {
        let bytes = self.text.lock().expect("a reader");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// All processes with what they wait for: to find out why one did not end.
fn all_processes() -> String {
    let columns = "pid,ppid,stat,wchan:24,etime,time,args";
    told_by(Command::new("ps").args(["-ww", "--ppid", "2", "-N", "-o", columns]))
}

/// What servers and fronts of a lab that is still there said last.
fn last_lines_of_logs() -> String {
    let mut find = Command::new("find");
    find.args([FOLDER, "-path", "*/run/*", "(", "-name", "error.log", "-o"]);
    told_by(find.args([
        "-path",
        "*/front*/out",
        ")",
        "-exec",
        "tail",
        "-vn8",
        "{}",
        "+",
    ]))
}

fn told_by(command: &mut Command) -> String {
    command.output().map_or_else(
        |error| error.to_string(),
        |told| String::from_utf8_lossy(&told.stdout).into_owned(),
    )
}

/// What a command came to.
#[derive(Debug)]
pub struct Outcome {
    command: String,
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Outcome {
    /// What it printed; it must have ended well.
    pub fn good(self) -> String {
        assert_eq!(
            self.code,
            Some(0),
            "acklab {}\n{}{}",
            self.command,
            self.out,
            self.err
        );
        self.out
    }

    /// It must have ended with this code and a message that holds all these parts.
    pub fn fails(&self, code: i32, parts: &[&str]) {
        let Outcome {
            command, out, err, ..
        } = self;
        assert_eq!(self.code, Some(code), "acklab {command}\n{out}{err}");
        for part in parts {
            assert!(
                err.contains(part),
                "acklab {command}: no {part:?} in\n{err}"
            );
        }
        assert!(err.contains("acklab: "), "{err}");
    }
}

/// Processes of acklab's that have lost their memory, and with it all words, but have not ended: one
/// that waits for a disk which has gone stays so for ever.
fn ending() -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    let is_ending = |pid: &i32| {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}"));
        let name = read("comm").unwrap_or_default();
        let is_ours = ["acklab", "exe"].contains(&name.trim_end());
        is_ours && read("cmdline").is_ok_and(|words| words.is_empty()) && has_live_thread(*pid)
    };
    pids.filter(is_ending).collect()
}

/// A dead process that only waits to be reaped has none.
fn has_live_thread(pid: i32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    let stats = tasks
        .flatten()
        .map(|task| fs::read_to_string(task.path().join("stat")));
    let is_live = |stat: String| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    stats.flatten().any(is_live)
}
