//! `predict`: what a record says of a place where nothing was measured.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::measure::span;
use crate::error::{Error, Mistake, Result};
use crate::model::{At, CONNECTIONS_MAX, Cpus, Model};
use crate::record::store::Record;
use crate::report::Format;
use crate::report::predict::{FORMATS, Names, render};
use crate::study::Distances;
use crate::study::asked::read_distances;
use crate::study::limits::{self, Range};

const PLACE: &str = "command line";
const CONNECTIONS: Range<u64> = Range::new(1, CONNECTIONS_MAX as u64);

/// The place, and the record that tells of it.
#[derive(Args)]
pub struct PredictOptions {
    /// A record of `compare`, or of a study that moves distances at one connection
    record: PathBuf,
    /// Round-trip times between the record's sites, e.g. ab=2ms,ac=30ms,bc=30ms; the writer in a
    #[arg(long, value_name = "TIMES")]
    distances: Option<String>,
    /// Flush time of each node's disk, e.g. 0.5ms; the record's own if it is not said
    #[arg(long, value_name = "TIME", value_parser = span, allow_hyphen_values = true)]
    flush: Option<Duration>,
    /// CPUs of each node's own machine
    #[arg(long, value_name = "CPUS", default_value_t = 2)]
    cpu: u32,
    /// Client connections: one rests between its commits, several never do
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    connections: u32,
    /// A record of another day, each cell of which is foretold: intervals hold what it was off by;
    /// may be given several times
    #[arg(long, value_name = "RECORD")]
    check: Vec<PathBuf>,
    /// text, markdown or json
    #[arg(long, default_value = "text")]
    format: String,
}

/// Prints what a record foretells; the exit code.
///
/// # Errors
/// Mistakes: what is no record, tells of no other place, or is asked wrongly.
pub fn run(options: &PredictOptions) -> Result<u8> {
    let format = format(&options.format)?;
    let record = Record::open(&options.record)?;
    let others = options.check.iter().map(|path| Record::open(path));
    let others = others.collect::<Result<Vec<Record>>>()?;
    let at = at(options, &record.header.study.sites)?;
    let model = Model::of(&record).map_err(|refusal| {
        let given = shown(&options.record);
        Mistake::new(PLACE, "RECORD", &given, refusal.words())
    })?;
    let prediction = model.with_days(&others).predict(&at);
    let checks: Vec<String> = options.check.iter().map(|path| shown(path)).collect();
    let names = Names {
        record: &shown(&options.record),
        checks: &checks,
    };
    let text = render(&prediction, names, format);
    // A reader that stops reading early (`| head`) is no fault.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(0)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn format(name: &str) -> Result<Format> {
    let is_known = FORMATS.contains(&name);
    let named = Format::named(name).filter(|_| is_known);
    named.ok_or_else(|| {
        let allowed = format!("one of {}", FORMATS.join(", "));
        Mistake::new(PLACE, "--format", name, &allowed).into()
    })
}

/// The place that is asked for, of a record with these sites.
///
/// # Errors
/// All that is wrong with it.
fn at(options: &PredictOptions, sites: &[String]) -> Result<At> {
    let mut mistakes = Vec::new();
    let distances = distances(options.distances.as_deref(), sites);
    let distances = distances.map_err(|wrong| mistakes.extend(wrong)).ok();
    mistakes.extend(wrong_flush(options.flush));
    mistakes.extend(wrong_count("--cpu", options.cpu, limits::CPUS));
    let connections = options.connections;
    mistakes.extend(wrong_count("--connections", connections, CONNECTIONS));
    if !mistakes.is_empty() {
        return Err(Error::Mistakes(mistakes));
    }
    let pairs = distances.unwrap_or_default().pairs;
    let us = |span: Duration| span.as_secs_f64() * 1e6;
    let rtts_us = pairs
        .into_iter()
        .map(|(one, other, rtt)| (one, other, us(rtt)));
    Ok(At {
        rtts_us: rtts_us.collect(),
        flush_us: options.flush.map(us),
        connections,
        cpus: Cpus::Own(options.cpu),
    })
}

fn distances(
    given: Option<&str>,
    sites: &[String],
) -> std::result::Result<Distances, Vec<Mistake>> {
    match given {
        Some(given) if sites.len() < 2 => {
            let allowed = "the record has one site: leave it out";
            Err(vec![Mistake::new(PLACE, "--distances", given, allowed)])
        }
        None if sites.len() < 2 => Ok(Distances::default()),
        // What is missing is told as what is given in part.
        given => read_distances(given.unwrap_or(""), sites),
    }
}

fn wrong_flush(flush: Option<Duration>) -> Option<Mistake> {
    let flush = flush.filter(|flush| !limits::DISK_DELAY.holds(*flush))?;
    let given = crate::study::units::show(flush);
    let allowed = limits::DISK_DELAY.time();
    Some(Mistake::new(PLACE, "--flush", &given, &allowed))
}

fn wrong_count(option: &str, count: u32, allowed: Range<u64>) -> Option<Mistake> {
    let is_wrong = !allowed.holds(count.into());
    is_wrong.then(|| {
        let allowed = allowed.whole_number();
        Mistake::new(PLACE, option, &count.to_string(), &allowed)
    })
}
