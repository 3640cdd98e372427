//! The verbs. This room may call all others; no other calls it.

/// Prints a line. A reader that stops reading early (`| head`) is no fault.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($words)*);
    }};
}

mod again;
mod begin;
mod breaking;
mod charts;
mod check;
mod detached;
mod diff;
mod endpoint;
mod fetch;
mod join;
mod judge;
mod limits;
mod measure;
mod merge;
mod needs;
mod pack;
mod packaging;
mod page;
mod predict;
mod progress;
mod self_test;
mod serve;
mod servers;
mod studies;
mod unknown_variable;
mod values;
mod view;

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand, ValueHint};
use clap_complete::Shell;

use crate::error::Result;
use crate::study::{Asked, Study};
use measure::{CompareOptions, RunOptions};

/// What an acknowledged commit costs in every way of replicating MySQL and MariaDB.
#[derive(Parser)]
#[command(
    name = "acklab",
    version,
    max_term_width = 100,
    disable_help_subcommand = true
)]
struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Compare ways of replicating: cost of a commit at several distances
    Compare {
        /// About 3 minutes: shorter windows, no table of shared CPUs
        #[arg(long, conflicts_with = "full")]
        quick: bool,
        /// At most 45 minutes: more modes, more connections, unequal distances
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        asked: Box<CompareOptions>,
        #[command(flatten)]
        options: RunOptions,
    },
    /// Run a study: a TOML file, or a built-in one by name
    Run {
        /// File or name
        #[arg(required_unless_present = "again", value_hint = ValueHint::FilePath)]
        study: Option<String>,
        /// The study's short run: fewer rounds, modes and points
        #[arg(long)]
        quick: bool,
        /// In place of STUDY: that of this record, or of this pack, once more, as it was run
        #[arg(long, value_name = "FILE",
              conflicts_with_all = ["study", "quick", "rounds", "seed", "warmup", "measure",
                                    "my_cnf", "tls", "cpus", "until", "budget"])]
        again: Option<PathBuf>,
        #[command(flatten)]
        options: RunOptions,
    },
    /// Find what stops each mode of a study from committing more: move one thing after the other
    Limits {
        /// File or name; of closed loops only
        study: String,
        /// The study's short run: fewer rounds, modes and points
        #[arg(long)]
        quick: bool,
        #[command(flatten)]
        options: RunOptions,
    },
    /// List the built-in studies, and how long each takes; or print the file of one, to begin with
    Studies {
        /// Name of a built-in study
        name: Option<String>,
    },
    /// Print a record's report again
    Report {
        record: PathBuf,
        /// text, markdown, csv or json
        #[arg(long, default_value = "text")]
        format: String,
        /// Another record, whose figures stand beside those of the anatomy
        #[arg(long, value_name = "RECORD")]
        beside: Option<PathBuf>,
        /// Hold all others against this row: its name as printed
        #[arg(long, value_name = "ROW", conflicts_with = "charts")]
        baseline: Option<String>,
        /// Draw charts into this folder instead: SVG files, told by name
        #[arg(long, value_name = "DIR", conflicts_with_all = ["format", "beside"])]
        charts: Option<PathBuf>,
        /// Write a page into this file instead: one HTML file that needs no network
        #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "beside", "charts"])]
        html: Option<PathBuf>,
    },
    /// Pack a record with all that is needed to run it again, and no secret, into one file
    Pack {
        record: PathBuf,
        /// The zip archive to write, replaced if it is there [default: RECORD.pack.zip, here]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Merge the records of all parts of a study (`run --part`) into one
    Merge(merge::MergeOptions),
    /// Compare two records: what is better, worse, alike or cannot be told
    #[command(after_help = diff::EXAMPLES)]
    Diff(diff::DiffOptions),
    /// Show the records of a folder in a browser, and runs while they go on; on this machine alone
    Serve(serve::ServeOptions),
    /// Foretell from a record what a commit takes at other distances, on other disks and machines
    Predict {
        #[command(flatten)]
        options: Box<predict::PredictOptions>,
    },
    /// Break servers under load on purpose, and tell what an acknowledged commit is worth
    #[command(after_help = breaking::EXAMPLES)]
    Break {
        #[command(flatten)]
        options: Box<breaking::BreakOptions>,
    },
    /// Drive load for a run on another host, of a study of endpoints, until the run is over
    Drive(join::DriveOptions),
    /// Judge the trials of faults in a record once more, by what it holds alone
    Judge {
        record: PathBuf,
        /// text, markdown or json
        #[arg(long, default_value = "text")]
        format: String,
    },
    /// List, fetch or add servers
    Servers {
        #[command(subcommand)]
        action: Option<ServersAction>,
    },
    /// Tell what this machine can and cannot do
    Check,
    /// Measure what is known beforehand, and tell what comes out
    SelfTest {
        /// Parts to run: all where none is named
        parts: Vec<String>,
        /// Shorter windows: some eight minutes for all, which take two hours without it
        #[arg(long)]
        quick: bool,
    },
    /// Start a detached lab that ends only by `acklab down`
    Up(detached::UpOptions),
    /// Run a program inside a node of the detached lab, or in `client`
    Exec {
        /// a, b, c…, or client
        node: String,
        /// The program and its arguments
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
    /// Run SQL on a node of the detached lab, as root
    Sql { node: String, sql: String },
    /// Show the detached lab
    Status,
    /// End the detached lab
    Down,
    /// Print the completions of a shell, to be kept where it looks for them
    Completions { shell: Shell },
    /// Write man pages into a folder: one for acklab, one for each verb
    #[command(hide = true)]
    Man {
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

#[derive(Subcommand)]
enum ServersAction {
    /// Fetch a server into the cache
    Install { name: String },
    /// Add a server from an official binary tarball
    Add {
        file: PathBuf,
        #[arg(long)]
        name: String,
    },
}

/// Does what the command line says; the value is the exit code. `words` begins with the program.
///
/// # Errors
/// What ends the command early: mistakes, a breakdown, an interruption.
pub fn run(words: &[String]) -> Result<u8> {
    // Five verbs are hidden, and `drive` without words: acklab starts these parts of itself. Who
    // types `drive` at a terminal is told what it wants instead.
    match words.get(1).map(String::as_str) {
        Some("switch") => return crate::lab::link::switch::serve(&words[2..]).map(|()| 0),
        Some("drive") if words.len() == 2 && !std::io::stdin().is_terminal() => {
            let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
            return crate::load::driver::serve(stdin, stdout).map(|()| 0);
        }
        Some("null-server") => {
            let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
            return crate::self_test::null_server::serve(stdin, stdout).map(|()| 0);
        }
        Some("slow-cpus") => {
            let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
            return crate::lab::slow_cpus::serve(stdin, stdout).map(|()| 0);
        }
        Some("health") => {
            let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
            return crate::lab::health::serve(stdin, stdout).map(|()| 0);
        }
        Some("volume") => {
            let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
            return crate::lab::disk::volume::serve(stdin, stdout).map(|()| 0);
        }
        _ => {}
    }
    match CommandLine::try_parse_from(words) {
        Ok(command_line) => obey(command_line.verb, words),
        Err(error) => {
            let _ = error.print();
            Ok(if error.use_stderr() { 2 } else { 0 })
        }
    }
}

fn obey(verb: Verb, words: &[String]) -> Result<u8> {
    match verb {
        Verb::Compare {
            quick,
            full,
            asked,
            options,
        } => compare((quick, full), *asked, &options, words),
        Verb::Run {
            again: Some(file),
            options,
            ..
        } => again::run(&file, &options, words),
        Verb::Run {
            study,
            quick,
            options,
            ..
        } => {
            let turn = |study: Study| study.asked(&Asked::default());
            let study = study.unwrap_or_default();
            measure::run((&study, quick), &turn, &options, words)
        }
        Verb::Limits {
            study,
            quick,
            options,
        } => {
            let turn = |study: Study| limits::of(&study);
            measure::run((&study, quick), &turn, &options, words)
        }
        Verb::Studies { name } => name.map_or_else(studies::list, |name| studies::show(&name)),
        Verb::Report {
            record,
            charts: Some(folder),
            ..
        } => charts::draw(&record, &folder),
        Verb::Report {
            record,
            html: Some(file),
            baseline,
            ..
        } => page::write(&record, baseline.as_deref(), &file),
        Verb::Report {
            record,
            format,
            beside,
            baseline,
            ..
        } => measure::report(&record, &format, beside.as_deref(), baseline.as_deref()).map(|()| 0),
        Verb::Pack { record, output } => pack::run(&record, output.as_deref()),
        Verb::Merge(options) => merge::run(&options),
        Verb::Diff(options) => diff::run(&options),
        Verb::Serve(options) => serve::run(&options),
        Verb::Predict { options } => predict::run(&options),
        Verb::Break { options } => breaking::run(&options, words),
        Verb::Drive(options) => join::drive(options),
        Verb::Judge { record, format } => judge::run(&record, &format),
        Verb::Servers { action } => of_servers(action),
        Verb::Check => check::check(),
        Verb::SelfTest { parts, quick } => self_test::run(&parts, quick, words),
        Verb::Up(options) => detached::up(&options),
        Verb::Exec { node, command } => detached::exec(&node, &command),
        Verb::Sql { node, sql } => detached::sql(&node, &sql),
        Verb::Status => detached::status(),
        Verb::Down => detached::down(),
        Verb::Completions { shell } => packaging::completions(shell, CommandLine::command()),
        Verb::Man { folder } => packaging::man(&folder, CommandLine::command()),
    }
}

/// The built-in comparison: the short one, the full one, or what lies between.
fn compare(
    (is_quick, is_full): (bool, bool),
    asked: CompareOptions,
    options: &RunOptions,
    words: &[String],
) -> Result<u8> {
    let name = match (is_quick, is_full) {
        (true, _) => "compare-quick",
        (_, true) => "compare-full",
        _ => "compare",
    };
    let asked = Asked::from(asked);
    let turn = |study: Study| study.asked(&asked);
    measure::run((name, false), &turn, options, words)
}

/// Lists servers, fetches one or adds one.
fn of_servers(action: Option<ServersAction>) -> Result<u8> {
    match action {
        None => servers::list(),
        Some(ServersAction::Install { name }) => servers::install(&name),
        Some(ServersAction::Add { file, name }) => servers::add(&file, &name),
    }
}
