//! `up`, `status`, `exec`, `sql`, `down`: a lab that stays.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::IsTerminal;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use comfy_table::{Table, presets};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use serde::{Deserialize, Serialize};

use super::measure::{capabilities, fetch_missing};
use super::needs::{need_disks, need_root, need_tun, read_file};
use super::progress::Lines;
use super::unknown_variable::Given;
use crate::error::{Error, Mistake, Result, Tried, breakdown};
use crate::lab::run_folder;
use crate::lab::sandbox::{self, INSIDE, Inside, Lifetime};
use crate::lab::servers::datadir::{DATABASE, PASSWORD, USER};
use crate::lab::servers::{Cache, Catalogue};
use crate::lab::sql::Admin;
use crate::plan::labs;
use crate::run::Rig;
use crate::study::{Mode, Study, my_cnf, written};

/// What `up` was asked for.
#[derive(Args)]
pub struct UpOptions {
    /// single, async, semisync, group, group-multi, galera, mirror or quorum
    mode: String,
    /// Server of the catalogue; by default the first that can do the mode
    #[arg(long)]
    server: Option<String>,
    /// Round-trip time between the sites
    #[arg(long, default_value = "0.25ms", allow_hyphen_values = true)]
    rtt: String,
    /// Number of nodes
    #[arg(long)]
    nodes: Option<u32>,
    /// TLS on every connection
    #[arg(long)]
    tls: bool,
    /// The user's own server settings
    #[arg(long, value_name = "FILE")]
    my_cnf: Option<PathBuf>,
}

/// What is kept in the run folder while a detached lab is up.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Standing {
    label: String,
    server: String,
    version: String,
    rtt: String,
    ready_seconds: f64,
    /// The sandbox's pid 1 as the host sees it.
    #[serde(skip)]
    pid: i32,
    /// Folder and namespace of each node below the run folder: `a` → `mysql-group.a`.
    places: BTreeMap<String, (String, Ipv4Addr)>,
}

/// Starts a detached lab.
pub fn up(options: &UpOptions) -> Result<u8> {
    let cache = Cache::of_user()?;
    let catalogue = Catalogue::builtin();
    let study = study_of(options, &cache, &catalogue)?;
    need_root("up")?;
    need_tun("up")?;
    if let Ok((folder, _)) = find(&cache) {
        let up = format!("a lab is up already ({})", folder.display());
        return Err(Mistake::state(&format!("{up}: end it first with `acklab down`")).into());
    }
    need_disks(&study)?;
    fetch_missing(&study, &cache, &catalogue)?;
    let start = Instant::now();
    sandbox::run(&cache.path, Lifetime::Detached, |inside| {
        match stand(&study, options, inside, start) {
            Ok(rig) => {
                inside.release_front_end(0);
                loop {
                    std::thread::park(); // until `down`
                    let _ = &rig;
                }
            }
            Err(error) => {
                let given = Given {
                    file: "acklab up",
                    text: "",
                    study: &study,
                    my_cnf: options.my_cnf.as_deref(),
                };
                let error = given.mistake_in(error);
                eprintln!("acklab: {error}");
                error.exit_code()
            }
        }
    })
}

/// The options as a study of one cell, so that it is checked like any other.
fn study_of(options: &UpOptions, cache: &Cache, catalogue: &Catalogue) -> Result<Study> {
    if options.mode == Mode::Endpoint.name() {
        let allowed = "is of servers that somebody else runs: there is nothing to be started";
        return Err(Mistake::new("acklab up", "MODE", &options.mode, allowed).into());
    }
    let capabilities = capabilities(cache, catalogue)?;
    let can = |name: &&String| {
        let capability = capabilities.get(name);
        capability.is_some_and(|c| c.modes.contains(&options.mode))
    };
    let known = cache.names(catalogue);
    let server = options
        .server
        .clone()
        .or_else(|| known.iter().find(can).cloned());
    let server = server.unwrap_or_else(|| "mysql".into());
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let nodes = options
        .nodes
        .map_or(String::new(), |nodes| format!("nodes = {nodes}\n"));
    let text = format!(
        "name = \"up\"\ntitle = \"detached lab\"\nrounds = 1\ntls = {}\n[[mode]]\nserver = {}\n\
         mode = {}\n{nodes}[[sweep]]\nworkload = [\"update_index\"]\n\
         connections = [1]\nrtt = [{}]\n",
        options.tls,
        quoted(&server),
        quoted(&options.mode),
        quoted(&options.rtt),
    );
    let parsed = written::parse(&text, "acklab up", &capabilities, &|_| Err(String::new()));
    let mut study = parsed.map_err(by_options)?;
    if let Some(path) = &options.my_cnf {
        study.my_cnf = Some(my_cnf::of_servers(&read_file("--my-cnf", path)?));
    }
    Ok(study)
}

/// What stands for which key of a study.
const OPTIONS: [(&str, &str); 5] = [
    ("mode[1].mode", "MODE"),
    ("mode[1].server", "--server"),
    ("mode[1].nodes", "--nodes"),
    ("sweep[1].rtt", "--rtt"),
    ("tls", "--tls"),
];

/// Mistakes in a text that the user has not written, told by what the user did write.
fn by_options(error: Error) -> Error {
    let Error::Mistakes(mistakes) = error else {
        return error;
    };
    let told = mistakes.into_iter().map(|mistake| {
        let option = OPTIONS.iter().find(|(key, _)| mistake.key.starts_with(key));
        let key = option.map_or(mistake.key.as_str(), |(_, option)| option);
        Mistake::new("acklab up", key, &mistake.given, &mistake.allowed)
    });
    Error::Mistakes(told.collect())
}

/// Builds the lab inside the sandbox and tells where everything is.
fn stand(study: &Study, options: &UpOptions, inside: &Inside, start: Instant) -> Result<Rig> {
    let cache = Cache::at(&Path::new(INSIDE).join("cache"))?;
    let events = Lines::new();
    let mut rig = Rig::build(study, &Catalogue::builtin(), &cache, &inside.run, &events)?;
    let distances = &study.sweeps[0].distances[0];
    rig.enter(0, &study.modes[0], distances)?;
    let lab = &labs(study)[0];
    let prefix = format!("{}.", crate::study::slug(&lab.name));
    let short = |name: &str| match name.strip_prefix(&prefix) {
        Some(site) => site.to_owned(),
        None if name == format!("client.{}", study.sites[0]) => "client".to_owned(),
        None => name.to_owned(),
    };
    let place =
        |m: &crate::lab::network::Whereabouts| (short(&m.name), (m.name.clone(), m.address));
    let standing = Standing {
        label: study.modes[0].label.clone(),
        server: study.modes[0].server.clone(),
        version: rig.lab(0).program.kept.version.clone(),
        rtt: options.rtt.clone(),
        ready_seconds: start.elapsed().as_secs_f64(),
        pid: 0,
        places: rig.network.members().iter().map(place).collect(),
    };
    name_hosts(&standing)?;
    let text = serde_json::to_string_pretty(&standing).tried(|| "describe the lab".into())?;
    let beside = inside.run.join("lab.json.part");
    fs::write(&beside, text).tried(|| "write lab.json".into())?;
    fs::rename(&beside, inside.run.join("lab.json")).tried(|| "write lab.json".into())?;
    describe(&standing);
    Ok(rig)
}

/// Programs inside the lab may call nodes by name: `mysql -h a`.
fn name_hosts(standing: &Standing) -> Result<()> {
    let path = Path::new(INSIDE).join("hosts");
    let mut text = fs::read_to_string("/etc/hosts").unwrap_or_default();
    for (name, (_, address)) in &standing.places {
        text += &format!("{address} {name}\n");
    }
    fs::write(&path, text).tried(|| "write a hosts file".into())?;
    let none: Option<&str> = None;
    nix::mount::mount(
        Some(&path),
        "/etc/hosts",
        none,
        nix::mount::MsFlags::MS_BIND,
        none,
    )
    .tried(|| "bind a hosts file into the sandbox".into())
}

fn describe(standing: &Standing) {
    let Standing {
        label,
        version,
        rtt,
        ready_seconds,
        ..
    } = standing;
    say!("{label} ({version}), sites {rtt} apart, ready {ready_seconds:.1} s after the command");
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["node", "address"]);
    for (name, (_, address)) in &standing.places {
        table.add_row([name.clone(), address.to_string()]);
    }
    say!("{table}");
    say!("user {USER}, password {PASSWORD}, database {DATABASE}; nodes go by their names inside:");
    say!("  acklab exec client -- mysql -h a -u{USER} -p{PASSWORD} {DATABASE}");
    say!("  acklab sql a \"SHOW STATUS\"      acklab down");
}

/// The run folder of the lab that is up.
fn find(cache: &Cache) -> Result<(PathBuf, Standing)> {
    let parent = cache.path.join("run");
    run_folder::sweep(&parent);
    let entries = fs::read_dir(&parent).into_iter().flatten().flatten();
    for entry in entries {
        let folder = entry.path();
        let text = fs::read_to_string(folder.join("lab.json"));
        let standing = text
            .ok()
            .and_then(|text| serde_json::from_str::<Standing>(&text).ok());
        if let (Some(standing), Some(pid)) = (standing, run_folder::first_pid(&folder)) {
            return Ok((folder, Standing { pid, ..standing }));
        }
    }
    Err(Mistake::state("no lab is up: start one first with `acklab up MODE`").into())
}

fn place<'s>(verb: &str, standing: &'s Standing, node: &str) -> Result<&'s (String, Ipv4Addr)> {
    standing.places.get(node).ok_or_else(|| {
        let names: Vec<&str> = standing.places.keys().map(String::as_str).collect();
        let allowed = format!("one of {}", names.join(", "));
        Mistake::new(verb, "NODE", node, &allowed).into()
    })
}

/// Shows the lab and whether its servers answer.
pub fn status() -> Result<u8> {
    let (folder, standing) = find(&Cache::of_user()?)?;
    describe(&standing);
    for (name, (full, _)) in &standing.places {
        if full.starts_with("client.") {
            continue;
        }
        let state = match connect(&folder.join(full)) {
            Ok(_) => "accepts connections".to_owned(),
            Err(error) => format!("does not answer: {error}"),
        };
        say!("{name}: {state}");
    }
    Ok(0)
}

/// Connects through the folder's descriptor: a socket's path may have 107 bytes only.
fn connect(folder: &Path) -> Result<Admin> {
    let tried = || format!("connect to the server in {}", folder.display());
    let open = File::open(folder).tried(tried)?;
    let socket = format!("/proc/self/fd/{}/sock", open.as_raw_fd());
    Admin::connect(Path::new(&socket)).tried(tried)
}

/// Runs SQL on a node and prints its rows.
pub fn sql(node: &str, sql: &str) -> Result<u8> {
    need_root("sql")?;
    let (folder, standing) = find(&Cache::of_user()?)?;
    let (full, _) = place("acklab sql", &standing, node)?;
    if full.starts_with("client.") {
        let allowed = "a node with a server: a, b, c";
        return Err(Mistake::new("acklab sql", "NODE", node, allowed).into());
    }
    let mut admin = connect(&folder.join(full))?;
    let (columns, rows) = match admin.table(sql) {
        Ok(table) => table,
        Err(error) => {
            return Err(Mistake::new("acklab sql", "SQL", sql, &error.to_string()).into());
        }
    };
    if columns.is_empty() {
        return Ok(0);
    }
    if std::io::stdout().is_terminal() {
        let mut table = Table::new();
        table
            .load_style(presets::ASCII_MARKDOWN)
            .set_header(columns);
        table.add_rows(rows);
        say!("{table}");
    } else {
        for row in std::iter::once(columns).chain(rows) {
            say!("{}", row.join("\t"));
        }
    }
    Ok(0)
}

/// Runs a program inside a node; its exit code is ours.
pub fn exec(node: &str, command: &[String]) -> Result<u8> {
    need_root("exec")?;
    let (_, standing) = find(&Cache::of_user()?)?;
    let (full, _) = place("acklab exec", &standing, node)?;
    let root = format!("/proc/{}", standing.pid);
    let open = |path: String| File::open(&path).tried(|| format!("open {path}"));
    let net = open(format!("{root}/root{INSIDE}/netns/{full}"))?;
    let mounts = open(format!("{root}/ns/mnt"))?;
    let pids = open(format!("{root}/ns/pid"))?;
    let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let enter = |file: &File, flag| setns(file, flag).tried(|| format!("enter node {node}"));
    enter(&pids, CloneFlags::CLONE_NEWPID)?;
    enter(&net, CloneFlags::CLONE_NEWNET)?;
    enter(&mounts, CloneFlags::CLONE_NEWNS)?;
    let _ = std::env::set_current_dir(here);
    let path = path_with_tools(&standing.server);
    // SAFETY: the process has a single thread.
    match unsafe { fork() }.tried(|| format!("fork {}", command[0]))? {
        ForkResult::Child => {
            use std::os::unix::process::CommandExt;
            let error = std::process::Command::new(&command[0])
                .args(&command[1..])
                .env("PATH", path)
                .exec();
            eprintln!("acklab: could not run {}: {error}", command[0]);
            std::process::exit(127);
        }
        ForkResult::Parent { child } => Ok(wait_for(child)),
    }
}

/// The caller's PATH, then the server's own tools: its client is always there.
fn path_with_tools(server: &str) -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    format!("{own}:{INSIDE}/cache/servers/{server}/root/usr/bin")
}

/// A Ctrl-C is the program's affair, not ours.
fn wait_for(child: Pid) -> u8 {
    // SAFETY: ignoring a signal runs no code.
    let _ = unsafe { signal(Signal::SIGINT, SigHandler::SigIgn) };
    match waitpid(child, None) {
        Ok(WaitStatus::Exited(_, code)) => u8::try_from(code).unwrap_or(1),
        Ok(WaitStatus::Signaled(_, signal, _)) => 128 + signal as u8,
        _ => 4,
    }
}

/// Ends the lab: kills its pid 1 and waits until the keeper has cleaned up.
pub fn down() -> Result<u8> {
    need_root("down")?;
    let (folder, standing) = find(&Cache::of_user()?)?;
    let tried = || format!("end the lab in {}", folder.display());
    kill(Pid::from_raw(standing.pid), Signal::SIGKILL).tried(tried)?;
    let start = Instant::now();
    while folder.exists() {
        if start.elapsed() > Duration::from_secs(30) {
            return Err(breakdown(tried(), "its folder is still there after 30 s"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    say!("{} has ended", standing.label);
    Ok(0)
}
