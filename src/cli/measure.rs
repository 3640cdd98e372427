//! `compare`, `run`, `limits`, `report`: from a study's text to a printed report.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;

use super::begin::{announce, is_whole, need_time, open_kept, order, part, record_path, schedule};
use super::endpoint;
pub use super::fetch::fetch_missing;
use super::join::JoinOptions;
use super::needs::{need_cpus, need_disks, need_memory, need_root, need_tun, read_file};
use super::progress::Lines;
use super::unknown_variable::Given;
pub use super::values::span;
use super::view::{self, Look, Prepared};
use crate::analysis;
use crate::analysis::beside::put_beside;
use crate::analysis::summary::Anatomy;
use crate::error::{Error, Mistake, Result, breakdown};
use crate::lab::sandbox::{self, Lifetime, stop_asked};
use crate::lab::servers::{Cache, Catalogue};
use crate::observe::host;
use crate::plan::{PartOf, Schedule, plan};
use crate::record::store::Record;
use crate::report::{Format, render, worth};
use crate::run::{self, Events, Order};
use crate::self_test;
use crate::study::cpus::Cpus;
use crate::study::{
    Asked, Capabilities, Capability, Overrides, Study, builtin, limits, units, written,
};

/// Exit code of a run that the user stopped.
const INTERRUPTED: u8 = 130;

/// Options of every verb that measures.
#[derive(Args)]
pub struct RunOptions {
    /// How often every cell is measured
    #[arg(long, allow_hyphen_values = true)]
    rounds: Option<u32>,
    /// Seed of the order of cells and of the load
    #[arg(long)]
    seed: Option<u64>,
    /// Load before each measured window, e.g. 500ms
    #[arg(long, value_parser = span, allow_hyphen_values = true)]
    warmup: Option<Duration>,
    /// Length of each measured window, e.g. 2s
    #[arg(long, value_parser = span, allow_hyphen_values = true)]
    measure: Option<Duration>,
    /// The user's own server settings: an option file
    #[arg(long, value_name = "FILE")]
    my_cnf: Option<PathBuf>,
    /// TLS on every connection, replication included
    #[arg(long)]
    tls: bool,
    /// CPUs that each node has for itself: a number, `writer` or `shared`
    #[arg(long, value_name = "CPUS", allow_hyphen_values = true)]
    cpus: Option<Cpus>,
    /// Measure until figures are as narrow as this, e.g. 5%: at least 4 rounds, at most 16
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    until: Option<f64>,
    /// Begin no round that would end later than this, e.g. 30min
    #[arg(long, value_name = "TIME", value_parser = span, allow_hyphen_values = true)]
    budget: Option<Duration>,
    #[command(flatten)]
    pub join: JoinOptions,
    /// Where the record is kept; by default STUDY-TIME.acklab in this folder
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Go on with this record, whose run was cut short: the same study, the same options
    #[arg(long, value_name = "RECORD", conflicts_with = "record")]
    pub resume: Option<PathBuf>,
    /// Measure some rounds and trials alone, e.g. 3/8: the third of eight parts, to be merged
    #[arg(long, value_name = "K/N", allow_hyphen_values = true)]
    pub part: Option<PartOf>,
    /// Another record, whose figures stand beside those of the anatomy
    #[arg(long, value_name = "RECORD")]
    pub beside: Option<PathBuf>,
    /// Say in lines how far it is, also on a terminal
    #[arg(long)]
    pub plain: bool,
    /// text, markdown, csv or json
    #[arg(long, default_value = "text")]
    pub format: String,
}

/// The anatomy of another record, and what that is called.
pub struct Other {
    name: String,
    anatomy: Vec<Anatomy>,
}

impl Other {
    /// # Errors
    /// A mistake if it is no record, or has no anatomy.
    pub fn open(path: &Path) -> Result<Other> {
        let anatomy = analysis::anatomy::summarise(&Record::open(path)?);
        let name = path.display().to_string();
        if !anatomy.iter().any(Anatomy::has_line) {
            let allowed = "has no anatomy to put beside; give a record with two distances or two \
                           flush times at 1 connection, as `acklab run anatomy` makes it";
            return Err(Mistake::new("command line", "--beside", &name, allowed).into());
        }
        Ok(Other { name, anatomy })
    }
}

/// What `compare` can be asked besides.
#[derive(Args)]
pub struct CompareOptions {
    /// Round-trip times between your sites, e.g. ab=2ms,ac=30ms,bc=30ms; the writer stands in a
    #[arg(long, value_name = "TIMES")]
    distances: Option<String>,
    /// Numbers of client connections, e.g. 1,32: one is paced, more are a closed loop
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', value_parser = count)]
    connections: Vec<u32>,
    /// Hold all others against this row, e.g. "mysql async": what you run today
    #[arg(long, value_name = "ROW")]
    baseline: Option<String>,
    /// Servers' files on this host's disk, not on an emulated disk for each node
    #[arg(long)]
    host_disk: bool,
}

impl From<CompareOptions> for Asked {
    fn from(options: CompareOptions) -> Asked {
        Asked {
            distances: options.distances,
            connections: options.connections,
            baseline: options.baseline,
            is_on_host_disk: options.host_disk,
        }
    }
}

/// Whether it is within its limits is said with all other mistakes.
fn count(text: &str) -> std::result::Result<u32, String> {
    let number = text.trim().parse();
    number.map_err(|_| limits::CONNECTIONS.whole_number())
}

pub fn share(text: &str) -> std::result::Result<f64, String> {
    units::percent(text).ok_or_else(|| "a share in per cent: 5%, 2.5%".to_owned())
}

/// A study and its text.
pub type Written = (Study, String);

/// What is to be run: a study and its text, read when it is known what servers can do.
pub struct Question<'q> {
    pub read: &'q dyn Fn(&Cache, &Catalogue) -> Result<Written>,
    /// Where the files are that the study names.
    pub folder: PathBuf,
    /// What its text is called.
    pub file: String,
}

/// Runs a study by file or name, whole or in short, as `turn` has it, and prints its report.
pub fn run(
    chosen: (&str, bool),
    turn: &dyn Fn(Study) -> Result<Study>,
    options: &RunOptions,
    words: &[String],
) -> Result<u8> {
    let read = |cache: &Cache, catalogue: &Catalogue| -> Result<Written> {
        let (study, text) = read_study(chosen, options, cache, catalogue)?;
        Ok((turn(study)?, text))
    };
    let question = Question {
        read: &read,
        folder: folder_of(chosen.0),
        file: file_name(chosen.0),
    };
    carry_out(&question, options, words)
}

/// Runs what is asked, and prints its report.
pub fn carry_out(question: &Question, options: &RunOptions, words: &[String]) -> Result<u8> {
    let format = format(&options.format)?;
    // What is wrong with it is told before the run, not after.
    let beside = options.beside.as_deref().map(Other::open).transpose()?;
    let earlier = options.resume.as_deref().map(open_kept).transpose()?;
    let cache = Cache::of_user()?;
    let catalogue = Catalogue::builtin();
    let read = || (question.read)(&cache, &catalogue);
    let (mut study, mut text) = read()?;
    let of_part = |study: &Study| part(study, options.part, earlier.as_ref());
    options.join.check(&study, &of_part(&study)?)?;
    let is_of_endpoints = study.is_of_endpoints();
    if !is_of_endpoints {
        let verb = words.get(1).map_or("run", String::as_str);
        need_root(verb)?;
        need_tun(verb)?;
        need_disks(&study)?;
        need_memory(&study)?;
        need_cpus(&study)?;
        // Before anybody waits for a download.
        need_time(&study, &plan(&study))?;
        fetch_missing(&study, &cache, &catalogue)?;
        // Once more: now the servers' versions, and so what they can do, are known for certain.
        (study, text) = read()?;
    }
    let plan = of_part(&study)?;
    if is_whole(options.resume.as_deref(), earlier.as_ref(), (&study, &plan))? {
        return Ok(0);
    }
    let place = options.resume.as_deref().or(options.record.as_deref());
    let order = Order {
        command_line: words.to_vec(),
        self_test: self_test::kept(&cache.path),
        ..order((study, text), plan, (place, earlier))?
    };
    need_time(&order.study, &order.plan)?;
    let mut schedule = schedule(&order.study, &order.plan);
    announce(&order);
    let given = Given {
        file: &question.file,
        text: &order.study_text,
        study: &order.study,
        my_cnf: options.my_cnf.as_deref(),
    };
    let code = match is_of_endpoints {
        true => run_at_endpoints((&order, &mut *schedule), question, &cache, options)?,
        false => {
            let explain = |error| given.mistake_in(error);
            let look = Look::of(options.plain);
            run_in_sandbox((&order, &mut *schedule), &cache, look, explain)?
        }
    };
    print_kept(&order.record, format, beside.as_ref())?;
    let is_open = |path: &Path| Record::open(path).is_ok_and(|record| !record.finished);
    if code != 0 && is_open(&order.record) {
        let record = order.record.display();
        eprintln!("to go on: the same words, with --resume {record} in place of --record");
    }
    Ok(code)
}

/// Runs a study of endpoints; the exit code.
fn run_at_endpoints(
    (order, schedule): (&Order, &mut dyn Schedule),
    question: &Question,
    cache: &Cache,
    options: &RunOptions,
) -> Result<u8> {
    // The token goes when the run does.
    let (drivers, _token) = options.join.drivers(order, &question.file)?;
    let look = Look::of(options.plain);
    let place = (cache, drivers);
    let ran = endpoint::run((order, schedule), &question.folder, place, look);
    Ok(exit_code(ran))
}

/// Runs a study of ours by its name and text, turned into another, on servers of its own; its
/// record stays in this folder.
pub fn run_text(
    (name, text): (&str, &str),
    words: &[String],
    turn: &dyn Fn(&Study) -> Result<Study>,
) -> Result<Record> {
    need_root("self-test")?;
    need_tun("self-test")?;
    let (cache, catalogue) = (Cache::of_user()?, Catalogue::builtin());
    let no_file = |_: &str| Err("no file belongs to it".to_owned());
    let read = || {
        let servers = capabilities(&cache, &catalogue)?;
        written::parse(text, &format!("{name}.toml"), &servers, &no_file)
    };
    fetch_missing(&read()?, &cache, &catalogue)?;
    let study = turn(&read()?)?;
    need_cpus(&study)?;
    let order = Order {
        plan: plan(&study),
        study_text: text.to_owned(),
        command_line: words.to_vec(),
        record: record_path(None, name)?,
        study,
        earlier: None,
        round_left_out: None,
        machine: host::machine(),
        whole: None,
        self_test: self_test::kept(&cache.path),
    };
    announce(&order);
    let mut schedule = order.plan.schedule();
    let lines = Look::default();
    let code = run_in_sandbox((&order, &mut schedule), &cache, lines, |error| error)?;
    match code {
        0 => Record::open(&order.record),
        INTERRUPTED => Err(Error::Interrupted),
        _ => Err(breakdown(
            "run a study of the self-test",
            "it ended early: see above",
        )),
    }
}

/// Runs an order on servers of its own; the exit code. What ended it early is told as `explain`
/// has it.
pub fn run_in_sandbox(
    (order, schedule): (&Order, &mut dyn Schedule),
    cache: &Cache,
    look: Look,
    explain: impl Fn(Error) -> Error,
) -> Result<u8> {
    let run = |schedule: &mut dyn Schedule, run_folder: &Path, events: &dyn Events| {
        let cache = Cache::at(&Path::new(sandbox::INSIDE).join("cache"));
        let ran = cache.and_then(|cache| run::run((order, schedule), &cache, run_folder, events));
        exit_code(ran.map_err(&explain))
    };
    if !look.is_live {
        return sandbox::run(&cache.path, Lifetime::FrontEnd, |inside| {
            run(schedule, &inside.run, &Lines::of(order))
        });
    }
    let start = Instant::now();
    let (mouth, ear) = view::pipes()?;
    let work = |inside: &mut sandbox::Inside| {
        let _standing_in = mouth.stand_in();
        let events = mouth.listener(look.begin(order), start);
        run(schedule, &inside.run, &events)
    };
    let prepared = Prepared::of(ear)?;
    let watch = || prepared.begin(start);
    sandbox::run_watched(&cache.path, Lifetime::FrontEnd, work, watch)
}

/// Prints a record and where it is, if a run came so far that it has one.
pub fn print_kept(record: &Path, format: Format, beside: Option<&Other>) -> Result<()> {
    if record.exists() {
        print(Record::open(record)?, format, beside)?;
        eprintln!("\nrecord: {}", record.display());
    }
    Ok(())
}

/// Prints what ended a run early; the exit code. What fails when the user has asked to stop is that
/// request's doing: a scheduler ends servers and drivers together with us.
fn exit_code(outcome: Result<()>) -> u8 {
    let Err(error) = outcome else { return 0 };
    eprintln!("acklab: {error}");
    if !stop_asked() || error == Error::Interrupted {
        return error.exit_code();
    }
    eprintln!("acklab: {}", Error::Interrupted);
    INTERRUPTED
}

/// Prints a record's report; if asked with the anatomy of another one beside its own, and with all
/// rows held against one.
pub fn report(
    record: &Path,
    format_name: &str,
    beside: Option<&Path>,
    baseline: Option<&str>,
) -> Result<()> {
    let format = format(format_name)?;
    let beside = beside.map(Other::open).transpose()?;
    let mut record = Record::open(record)?;
    if let Some(label) = baseline {
        record.header.study.hold_against(label)?;
    }
    print(record, format, beside.as_ref())
}

fn print(record: Record, format: Format, beside: Option<&Other>) -> Result<()> {
    use std::io::Write;
    let mut has_anatomy = false;
    let is_of_faults = record.header.cells.is_empty() && !record.campaigns.is_empty();
    let text = match is_of_faults {
        true if format == Format::Csv => {
            let allowed = format!("trials have no cells: one of {}", worth::FORMATS.join(", "));
            return Err(Mistake::new("command line", "--format", "csv", &allowed).into());
        }
        true => worth::render(&analysis::summarise(&record), format),
        false => {
            let mut summary = analysis::summarise(&record);
            has_anatomy = summary.anatomy.iter().any(Anatomy::has_line);
            if let Some(Other { name, anatomy }) = beside
                && has_anatomy
            {
                put_beside(&mut summary.anatomy, anatomy);
                summary.beside = Some(name.clone());
            }
            render(&summary, format)
        }
    };
    if let Some(other) = beside.filter(|_| !has_anatomy) {
        let name = &other.name;
        eprintln!("acklab: the record printed has no anatomy for that of {name} to stand beside");
    }
    // A reader that stops reading early (`| head`) is no fault.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(())
}

pub fn format(name: &str) -> Result<Format> {
    Format::named(name).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|(name, _)| *name).collect();
        let allowed = format!("one of {}", names.join(", "));
        Mistake::new("command line", "--format", name, &allowed).into()
    })
}

/// Where the files are that a study names.
fn folder_of(study: &str) -> PathBuf {
    let folder = Path::new(study).parent();
    folder.unwrap_or(Path::new("")).to_owned()
}

/// What a study's text is called: its file, or a built-in one's.
fn file_name(study: &str) -> String {
    match Path::new(study).is_file() {
        true => study.to_owned(),
        false => format!("{study}.toml"),
    }
}

/// The study as meant, with the command line's values, and its text.
fn read_study(
    (name, is_quick): (&str, bool),
    options: &RunOptions,
    cache: &Cache,
    catalogue: &Catalogue,
) -> Result<(Study, String)> {
    let is_file = Path::new(name).is_file();
    let text = match builtin(name) {
        Some(text) if !is_file => text.to_owned(),
        _ if is_file => read_file("STUDY", Path::new(name))?,
        _ => return Err(crate::study::builtin::no_such_study("command line", name).into()),
    };
    let folder = folder_of(name);
    let read =
        |file: &str| std::fs::read_to_string(folder.join(file)).map_err(|error| error.to_string());
    let study = written::parse(
        &text,
        &file_name(name),
        &capabilities(cache, catalogue)?,
        &read,
    )?;
    let my_cnf = options
        .my_cnf
        .as_deref()
        .map(|path| read_file("--my-cnf", path));
    let study = study.apply(&Overrides {
        rounds: options.rounds,
        seed: options.seed,
        warmup: options.warmup,
        measure: options.measure,
        my_cnf_text: my_cnf.transpose()?,
        tls: options.tls.then_some(true),
        cpus: options.cpus,
        until: options.until,
        budget: options.budget,
        is_quick,
    })?;
    Ok((study, text))
}

/// What each server can do: of those fetched already as their version tells, of the others as the
/// catalogue knows.
pub fn capabilities(cache: &Cache, catalogue: &Catalogue) -> Result<Capabilities> {
    let mut capabilities = Capabilities::default();
    for name in cache.names(catalogue) {
        let program = cache.program(catalogue, &name)?;
        let entry = catalogue.entry(&name);
        let capability = match (program, entry) {
            (Some(program), _) => Capability {
                flavour: program.kept.flavour,
                version: Some(program.kept.version.clone()),
                modes: program.modes.clone(),
            },
            (None, Some(entry)) => Capability {
                flavour: entry.flavour,
                version: entry.version.clone(),
                modes: catalogue.modes_of_entry(entry),
            },
            (None, None) => continue,
        };
        capabilities.servers.insert(name, capability);
    }
    Ok(capabilities)
}
