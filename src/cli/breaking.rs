//! `break`: faults injected into servers under load, lab by lab, and what became of acknowledged
//! commits.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::begin::{check_same, open_kept, record_path};
use super::judge;
use super::measure::{RunOptions, capabilities, fetch_missing, run_in_sandbox, span};
use super::needs::{need_disks, need_root, need_tun};
use super::unknown_variable::Given;
use super::view::Look;
use crate::error::{Error, Mistake, Result, breakdown};
use crate::lab::servers::{Cache, Catalogue};
use crate::observe::host;
use crate::plan::{Plan, StudyPart, forming, injected, parts, plan, steps};
use crate::record::Header;
use crate::record::store::Record;
use crate::report::faults;
use crate::report::worth::FORMATS;
use crate::run::{Order, Whole, trials};
use crate::self_test;
use crate::study::breaking::choose::{ALL, MODES, PLACE, Rows};
use crate::study::breaking::{Breaking, NAME};
use crate::study::fault::Leaves;
use crate::study::{Study, limits, units};

/// Exit code of a part whose lab broke down: the others are tried all the same.
const BREAKDOWN: u8 = 4;
/// Modes of a lab that are named when it begins.
const NAMED_MAX: usize = 3;

/// What stands below the options.
pub const EXAMPLES: &str = "\
Examples:
  acklab break --list                              all faults, with their numbers and modes
  acklab break site-lost --list                    its steps, and what it shows in which settings
  acklab break                                     the writer's machine dies, in every mode
  acklab break --mode semisync,group               ... in these modes
  acklab break site-lost --distances ab=2ms,ac=30ms,bc=30ms
  acklab break power-cut --set sync_binlog=0       with a server variable of yours
  acklab break 4                                   a known anomaly, and what makes it vanish
  acklab break --quick                             is all of it sound on this machine?";

/// Which faults, where, and how often.
#[derive(Args)]
pub struct BreakOptions {
    /// Names of faults, numbers of known anomalies, or `all`; without any: the writer's machine
    /// dies, in every mode
    #[arg(value_name = "FAULT")]
    faults: Vec<String>,
    /// Only in these modes
    #[arg(long, value_name = "MODE", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(MODES))]
    mode: Vec<String>,
    /// Only on these servers of the catalogue [default: mysql,mariadb]
    #[arg(long, value_name = "SERVER", value_delimiter = ',')]
    server: Vec<String>,
    /// Round-trip times between your sites, e.g. ab=2ms,ac=30ms,bc=30ms; the writer stands in a
    /// [default: 2 ms between all]
    #[arg(long, value_name = "TIMES")]
    distances: Option<String>,
    /// Trials of each fault in each mode [default: 5; with `all` 5 of each fault]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    trials: Option<u32>,
    /// How long a site that is cut off goes on serving its clients before its power goes
    /// [default: 0.3s]
    #[arg(long, value_name = "TIME", value_parser = span)]
    window: Option<Duration>,
    /// A server variable that all nodes have, but those of controls; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// What a power cut leaves of writes that were not flushed; controls lose them all
    /// [default: as each fault has it: drop-all]
    #[arg(long, value_name = "WHAT",
          value_parser = PossibleValuesParser::new(Leaves::ALL.map(|(name, _)| name)))]
    leaves: Option<String>,
    /// Of the moments, and of what is drawn by chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// At most 20 trials in about 10 minutes: each kind of step and each mode once, all controls
    #[arg(long, conflicts_with_all = ["faults", "trials", "set", "leaves"])]
    quick: bool,
    /// Do not measure what a commit costs beforehand; `all` and --quick never do
    #[arg(long)]
    no_price: bool,
    /// List all faults, what is done, and where; with FAULT its steps, and what it shows where
    #[arg(long)]
    list: bool,
    /// Go on with this record, whose run was cut short, as it was begun
    #[arg(long, value_name = "RECORD",
          conflicts_with_all = ["record", "faults", "mode", "server", "distances", "trials",
                                "window", "set", "leaves", "quick",
                                "no_price"])]
    resume: Option<PathBuf>,
    /// Where each trial is kept as it ends [default: a new file in this folder]
    #[arg(long, value_name = "PATH")]
    record: Option<PathBuf>,
    /// Say in lines how far it is, also on a terminal
    #[arg(long)]
    plain: bool,
    /// How the result is written
    #[arg(long, default_value = "text", value_parser = PossibleValuesParser::new(FORMATS))]
    format: String,
}

impl BreakOptions {
    fn asked(&self) -> Result<Breaking> {
        if let Some(window) = self.window.filter(|it| !limits::FAULT_AFTER.holds(*it)) {
            let given = units::show_compact(window);
            let allowed = limits::FAULT_AFTER.time();
            return Err(Mistake::new("command line", "--window", &given, &allowed).into());
        }
        let is_all = self.faults.iter().any(|name| name == ALL);
        Ok(Breaking {
            faults: self.faults.clone(),
            servers: self.server.clone(),
            modes: self.mode.clone(),
            distances: self.distances.clone(),
            trials: self.trials,
            window: self.window,
            variables: self.set.iter().cloned().collect(),
            leaves: self.leaves.as_deref().and_then(Leaves::named),
            seed: self.seed,
            is_quick: self.quick,
            has_price: !(self.no_price || self.quick || is_all),
        })
    }

    /// The study and its text, with servers fetched: as asked, or as it was begun.
    fn study(&self, earlier: Option<&Record>, cache: &Cache) -> Result<(Study, String)> {
        let catalogue = Catalogue::builtin();
        let asked = self.asked()?;
        let read = || match earlier {
            Some(record) => {
                let header = &record.header;
                Ok((header.study.clone(), header.study_text.clone()))
            }
            None => asked.study(&capabilities(cache, &catalogue)?),
        };
        let (study, _) = read()?;
        need_root("break")?;
        need_tun("break")?;
        for part in parts(&study) {
            need_disks(&part.study)?;
        }
        fetch_missing(&study, cache, &catalogue)?;
        // Once more: now the servers' versions, and so what they can do, are known for certain.
        read()
    }
}

/// `sync_binlog=0`
fn assignment(text: &str) -> std::result::Result<(String, String), String> {
    let given = text
        .split_once('=')
        .map(|(name, value)| (name.trim(), value.trim()));
    let is_name = |name: &str| {
        let mut letters = name.chars();
        !name.is_empty() && letters.all(|it| it.is_ascii_alphanumeric() || "_.".contains(it))
    };
    let given = given.filter(|(name, value)| is_name(name) && !value.is_empty());
    let owned = given.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    owned.ok_or_else(|| "must be a server variable and its value, such as sync_binlog=0".to_owned())
}

/// Prints the catalogue of faults; or injects what is asked, keeps each trial in a record, and
/// prints what they came to.
pub fn run(options: &BreakOptions, words: &[String]) -> Result<u8> {
    if options.list {
        let told = match Rows::of(&options.faults).map_err(Error::Mistakes)? {
            Rows::Named(rows) => faults::details(&rows),
            Rows::First | Rows::All => faults::list(),
        };
        // A reader that stops reading early (`| head`) is no fault.
        let _ = std::io::stdout().write_all(told.as_bytes());
        return Ok(0);
    }
    let cache = Cache::of_user()?;
    let earlier = options.resume.as_deref().map(open_broken).transpose()?;
    let (study, text) = options.study(earlier.as_ref(), &cache)?;
    let plan = plan(&study);
    let record = match (&earlier, &options.resume) {
        (Some(earlier), Some(path)) => {
            check_same(path, earlier, (&study, &plan))?;
            std::path::absolute(path).unwrap_or(path.clone())
        }
        _ => record_path(options.record.as_deref(), &study.name)?,
    };
    let resumed = earlier.map(|record| (record.measurements.len(), trials(&record)));
    let work = Work {
        whole: (study, text, plan),
        record,
        words,
        cache: &cache,
        resumed,
    };
    carry_out(work, &options.format, Look::of(options.plain))
}

/// Runs the study of a record of this verb's, and its text, once more.
///
/// # Errors
/// Mistakes: what the machine lacks, a format or a place that is wrong; else what ended it early.
pub fn run_again(
    (study, text): (Study, String),
    options: &RunOptions,
    words: &[String],
) -> Result<u8> {
    judge::format(&options.format)?;
    for part in parts(&study) {
        need_disks(&part.study)?;
    }
    let (plan, cache) = (plan(&study), Cache::of_user()?);
    let work = Work {
        record: record_path(options.record.as_deref(), &study.name)?,
        whole: (study, text, plan),
        words,
        cache: &cache,
        resumed: None,
    };
    carry_out(work, &options.format, Look::of(options.plain))
}

/// Does what is left of the work, and prints what was found; the exit code.
fn carry_out(mut work: Work, format: &str, look: Look) -> Result<u8> {
    let parts = parts(&work.whole.0);
    let ahead = work.ahead(&parts)?;
    work.announce(&ahead);
    let code = work.run(&parts, &ahead, look)?;
    finish(&work.record, format, code)
}

/// A record of this verb's, whose run did not go through to its end.
fn open_broken(path: &Path) -> Result<Record> {
    let record = open_kept(path)?;
    check_is_broken(path, &record.header)?;
    if record.finished {
        let given = path.display().to_string();
        let allowed = "is whole: its run went through to its end";
        return Err(Mistake::new("command line", "--resume", &given, allowed).into());
    }
    Ok(record)
}

/// Whether a record was begun by this verb.
pub fn is_broken(header: &Header) -> bool {
    header.study.name == NAME && !header.study.injections.is_empty()
}

/// Others are gone on with by the verb that began them: their labs stand at the same time.
fn check_is_broken(path: &Path, header: &Header) -> Result<()> {
    if is_broken(header) {
        return Ok(());
    }
    let given = path.display().to_string();
    let begun = header.command_line.join(" ");
    let allowed = format!("is none of `acklab break`: it was begun by `{begun}`");
    Err(Mistake::new("command line", "--resume", &given, &allowed).into())
}

/// How long what is left of a part takes: its lab, what is to be measured, its trials.
fn time_left(study: &Study, plan: &Plan, own: Option<&Record>) -> Duration {
    let done = own.map_or((0, 0), |own| (own.measurements.len(), trials(own)));
    let steps = steps(study, plan);
    let turns: usize = plan.rounds.iter().map(Vec::len).sum();
    let (measuring, breaking) = steps.split_at(turns.min(steps.len()));
    let measuring = measuring.iter().skip(done.0);
    let left: Vec<&Duration> = measuring.chain(breaking.iter().skip(done.1)).collect();
    match left.is_empty() {
        true => Duration::ZERO,
        false => forming(study) + left.into_iter().sum::<Duration>(),
    }
}

fn minutes(span: Duration) -> String {
    format!("{:.0} min", (span.as_secs_f64() / 60.0).ceil())
}

/// `lab 2 of 6 (mysql async, mysql semisync and 4 more): about 4 min; in all about 9 min are left`
fn lab_line(place: (usize, usize), part: &StudyPart, ahead: &[Duration]) -> String {
    let labels = part.study.modes.iter().map(|spec| &spec.label[..]);
    let named: Vec<&str> = labels.take(NAMED_MAX).collect();
    let more = match part.modes.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let own = ahead.first().copied().unwrap_or_default();
    format!(
        "lab {} of {} ({}{more}): about {}; in all about {} are left",
        place.0,
        place.1,
        named.join(", "),
        minutes(own),
        minutes(ahead.iter().sum())
    )
}

/// Prints what was found; the exit code.
fn finish(record: &Path, format: &str, code: u8) -> Result<u8> {
    if !record.exists() {
        return Ok(code);
    }
    let kept = Record::open(record)?;
    let verdict = match kept.campaigns.is_empty() {
        // It ended before its first trial did.
        true => code,
        false => judge::print(&kept, format)?,
    };
    eprintln!("\nrecord: {}", record.display());
    if !kept.finished {
        eprintln!("to go on: acklab break --resume {}", record.display());
    }
    Ok(if code == 0 { verdict } else { code })
}

/// A study, part by part, in one record.
struct Work<'w> {
    /// The study, its text and its plan.
    whole: (Study, String, Plan),
    record: PathBuf,
    words: &'w [String],
    cache: &'w Cache,
    /// How many measurements and trials there were before, until a part has gone on with them.
    resumed: Option<(usize, usize)>,
}

impl Work<'_> {
    /// How long what is left of each part takes.
    fn ahead(&self, parts: &[StudyPart]) -> Result<Vec<Duration>> {
        let kept = match self.record.exists() {
            true => Some(Record::open(&self.record)?),
            false => None,
        };
        let of_part = |part: &StudyPart| -> Result<Duration> {
            let (plan, whole) = self.place(part)?;
            let own = kept.as_ref().map(|kept| whole.own(kept));
            Ok(time_left(&part.study, &plan, own.as_ref()))
        };
        parts.iter().map(of_part).collect()
    }

    /// What is to be done, what is done already, and how long the rest takes.
    fn announce(&self, ahead: &[Duration]) {
        let (study, ..) = &self.whole;
        let (trials, modes) = (injected(study, None).len(), study.modes.len());
        let done = match self.resumed {
            Some((_, done)) => format!(", {done} of them done"),
            None => String::new(),
        };
        eprintln!(
            "{}: {trials} trials in {modes} modes{done}; {} labs one after the other, about {}",
            study.title,
            ahead.len(),
            minutes(ahead.iter().sum())
        );
        eprintln!("record: {}", self.record.display());
    }

    /// Runs all parts that are not done; the exit code. A lab that breaks down leaves its part
    /// open, and the others go on.
    fn run(&mut self, parts: &[StudyPart], ahead: &[Duration], look: Look) -> Result<u8> {
        let mut worst = 0;
        for (index, part) in parts.iter().enumerate() {
            let is_last = index + 1 == parts.len() && worst == 0;
            let order = self.order(part, is_last)?;
            if !is_last
                && order
                    .earlier
                    .as_ref()
                    .is_some_and(|own| is_done(own, &order))
            {
                continue;
            }
            let left = ahead.get(index..).unwrap_or_default();
            eprintln!("{}", lab_line((index + 1, parts.len()), part, left));
            let schedule = &mut order.plan.schedule();
            let given = Given {
                file: PLACE,
                text: "",
                study: &order.study,
                my_cnf: None,
            };
            let explain = |error| given.mistake_in(error);
            let later = left.iter().skip(1).sum();
            let look = Look { later, ..look };
            let code = run_in_sandbox((&order, schedule), self.cache, look, explain)?;
            match code {
                0 => self.resumed = None,
                BREAKDOWN => worst = BREAKDOWN,
                code => return Ok(code),
            }
        }
        Ok(worst)
    }

    /// A part's own plan, and where it stands in the whole.
    fn place(&self, part: &StudyPart) -> Result<(Plan, Whole)> {
        let (study, _, all) = &self.whole;
        let own = plan(&part.study);
        let places = part.places(&own.cells, &all.cells);
        let nowhere = || breakdown("part a study", "one of its cells is in no part of it");
        let whole = Whole {
            study: study.clone(),
            cells: all.cells.clone(),
            modes: part.modes.clone(),
            places: places.ok_or_else(nowhere)?,
            resumed: self.resumed,
            is_last: false,
        };
        Ok((own, whole))
    }

    fn order(&self, part: &StudyPart, is_last: bool) -> Result<Order> {
        let (plan, whole) = self.place(part)?;
        let whole = Whole { is_last, ..whole };
        let earlier = match self.record.exists() {
            true => Some(whole.own(&Record::open(&self.record)?)),
            false => None,
        };
        Ok(Order {
            study: part.study.clone(),
            study_text: self.whole.1.clone(),
            plan,
            command_line: self.words.to_vec(),
            record: self.record.clone(),
            self_test: self_test::kept(&self.cache.path),
            earlier,
            round_left_out: None,
            machine: host::machine(),
            whole: Some(whole),
        })
    }
}

/// Whether all that an order asks for is there.
fn is_done(own: &Record, order: &Order) -> bool {
    let turns: usize = order.plan.rounds.iter().map(Vec::len).sum();
    own.measurements.len() >= turns && trials(own) >= injected(&order.study, None).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::faults::{Fault, Injection};
    use crate::study::written;

    #[derive(clap::Parser)]
    struct CommandLine {
        #[command(flatten)]
        asked: BreakOptions,
    }

    fn parsed(words: &str) -> std::result::Result<BreakOptions, clap::Error> {
        let all = format!("break {words}");
        let parsed = <CommandLine as clap::Parser>::try_parse_from(all.split_whitespace());
        parsed.map(|line| line.asked)
    }

    fn asked(words: &str) -> Breaking {
        let options = parsed(words).unwrap_or_else(|error| panic!("{error}"));
        options.asked().unwrap()
    }

    #[test]
    fn words_are_what_is_asked() {
        let all = asked("link-cut 4 --mode async,semisync --server mysql --trials 3 --window 1s");
        assert_eq!(all.faults, ["link-cut", "4"]);
        assert_eq!(all.modes, ["async", "semisync"]);
        assert_eq!(
            (all.trials, all.window),
            (Some(3), Some(Duration::from_secs(1)))
        );
        assert!(all.has_price && all.seed == 1);
        let own = asked("power-cut --set sync_binlog=0 --set Max_Connections=9 --leaves torn-4k");
        let set: Vec<(&str, &str)> = own
            .variables
            .iter()
            .map(|(a, b)| (&a[..], &b[..]))
            .collect();
        assert_eq!(set, [("max_connections", "9"), ("sync_binlog", "0")]);
        assert_eq!(own.leaves, Some(Leaves::Torn(4096)));
        for words in ["all", "--quick", "--no-price"] {
            assert!(!asked(words).has_price, "{words}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for words in [
            "--mode galerra",
            "--trials 0",
            "--quick link-cut",
            "--resume x --mode async",
            "--resume x link-cut",
            "--window 3",
            "--set sync_binlog",
            "--set sync_binlog=",
            "--set =1",
            "--resume x --set a=1",
            "--leaves half",
            "--format csv",
        ] {
            assert!(parsed(words).is_err(), "{words}");
        }
        let told = parsed("--window 2h")
            .unwrap()
            .asked()
            .unwrap_err()
            .to_string();
        assert!(
            told.contains("--window: given 2h; must be a time from 0 to 10 min"),
            "{told}"
        );
    }

    #[test]
    fn a_part_is_done_when_all_of_it_is_there() {
        let study = written::sample(
            "images = {}\nrounds = 1\n[[mode]]\nserver = \"mysql\"\nmode = \"single\"\n\
             [[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n\
             [[fault]]\nname = \"no-fault\"\ntrials = 2\n",
        );
        let plan = plan(&study);
        let header = Header {
            study: study.clone(),
            cells: plan.cells.clone(),
            ..Header::default()
        };
        let order = Order {
            study,
            study_text: String::new(),
            plan,
            command_line: vec![],
            record: PathBuf::new(),
            self_test: vec![],
            earlier: None,
            round_left_out: None,
            machine: None,
            whole: None,
        };
        let one = crate::record::trials::Campaign {
            durability: crate::study::fault::Durability::STRICT,
            fault: order.study.injections[0].fault.clone(),
            trials: vec![crate::record::trials::Trial::default(); 2],
        };
        let mut own = Record {
            header,
            measurements: vec![],
            campaigns: [].into(),
            finished: false,
        };
        let left = |own: &Record| time_left(&order.study, &order.plan, Some(own));
        let all = left(&own);
        assert_eq!(all, time_left(&order.study, &order.plan, None));
        assert!(!is_done(&own, &order) && all > forming(&order.study));
        own.measurements.push(crate::record::Measurement::default());
        assert!(!is_done(&own, &order) && left(&own) < all);
        let packed = crate::record::packed::PackedCampaign::of(&one);
        own.campaigns.insert(0, vec![packed]);
        assert!(is_done(&own, &order) && left(&own).is_zero());
    }

    #[test]
    fn a_lab_is_told_with_its_time_and_that_of_all_that_are_left() {
        let mode = |label: &str| crate::study::ModeSpec {
            label: label.to_owned(),
            ..crate::study::ModeSpec::default()
        };
        let mut part = StudyPart {
            study: Study {
                modes: ["a", "b", "c"].map(mode).into(),
                ..Study::default()
            },
            modes: vec![0, 1, 2],
        };
        let ahead = [90, 60].map(Duration::from_secs);
        let told = lab_line((2, 3), &part, &ahead);
        let expected = "lab 2 of 3 (a, b, c): about 2 min; in all about 3 min are left";
        assert_eq!(told, expected);
        part.study.modes.push(mode("d"));
        part.modes.push(3);
        let told = lab_line((3, 3), &part, &ahead[1..]);
        let expected = "lab 3 of 3 (a, b, c and 1 more): about 1 min; in all about 1 min are left";
        assert_eq!(told, expected);
    }

    fn foretold(words: &str) -> Duration {
        let capabilities = crate::study::capabilities::sample();
        let (study, _) = asked(words).study(&capabilities).unwrap();
        let parts = parts(&study);
        let times = parts.iter().map(|part| {
            let plan = plan(&part.study);
            time_left(&part.study, &plan, None)
        });
        times.sum()
    }

    #[test]
    fn the_short_run_is_foretold_to_take_ten_minutes_and_the_whole_two_hours() {
        for (words, minutes) in [("--quick", 10), ("all", 125)] {
            let (all, most) = (foretold(words), Duration::from_secs(60 * minutes));
            assert!((most / 3..most).contains(&all), "{words}: {all:?}");
        }
    }

    #[test]
    fn only_a_record_of_this_verb_is_gone_on_with() {
        let mut header = Header {
            command_line: vec!["acklab".to_owned(), "compare".to_owned()],
            ..Header::default()
        };
        let check = |header: &Header| check_is_broken(Path::new("x.acklab"), header);
        let told = check(&header).unwrap_err().to_string();
        let words = "given x.acklab; is none of `acklab break`: it was begun by `acklab compare`";
        assert!(told.contains(words), "{told}");
        header.study.name = NAME.to_owned();
        assert!(check(&header).is_err(), "it injects nothing");
        header.study.injections = vec![Injection {
            fault: Fault::default(),
            trials: 1,
            modes: vec![],
        }];
        assert!(check(&header).is_ok());
    }
}
