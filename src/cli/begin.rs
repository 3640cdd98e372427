//! Before a run: what it goes on with, how its rounds end, where it is kept, what is said of it.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::analysis::sequential::{self, Sequential};
use crate::error::{Mistake, Result};
use crate::live::ends_by_itself;
use crate::observe::host;
use crate::plan::{Cell, PartOf, Plan, Schedule, estimate, forming, plan};
use crate::record::store::{Record, Store};
use crate::run::{Order, whole_rounds};
use crate::study::{Study, limits, units};

/// A record that a run is to go on with. One that is whole can be looked at; any other must be free
/// to be added to, which is told before labs are formed.
///
/// # Errors
/// A mistake if it is no record, was merged from parts, or is being written to.
pub fn open_kept(path: &Path) -> Result<Record> {
    let record = Record::open(path)?;
    if !record.header.parts.is_empty() {
        let given = path.display().to_string();
        let allowed =
            "was merged from parts: go on with the part that is not whole, and merge anew";
        return Err(Mistake::new("command line", "--resume", &given, allowed).into());
    }
    if !record.finished {
        Store::resume(path)?;
    }
    Ok(record)
}

/// Whether nothing of this study is left to measure, which is told: whoever starts a part again and
/// again, as schedulers do, need not look first.
///
/// # Errors
/// A mistake if the record is of another study, of other options, or of another acklab.
pub fn is_whole(
    path: Option<&Path>,
    earlier: Option<&Record>,
    asked: (&Study, &Plan),
) -> Result<bool> {
    let (Some(path), Some(earlier)) = (path, earlier.filter(|earlier| earlier.finished)) else {
        return Ok(false);
    };
    check_same(path, earlier, asked)?;
    eprintln!("{} is whole: nothing is left to measure", path.display());
    Ok(true)
}

/// One record is of one study, asked by one acklab.
pub fn check_same(path: &Path, earlier: &Record, (study, plan): (&Study, &Plan)) -> Result<()> {
    let header = &earlier.header;
    let is_same = header.study == *study && header.cells.starts_with(&plan.cells);
    let version = env!("CARGO_PKG_VERSION");
    let allowed = match header.acklab_version == version {
        true if is_same => return Ok(()),
        true => format!(
            "is of another study, or of other options: it was begun by `{}`",
            header.command_line.join(" ")
        ),
        false => format!(
            "was begun by acklab {}, and this is {version}: begin a new record",
            header.acklab_version
        ),
    };
    let given = path.display().to_string();
    Err(Mistake::new("command line", "--resume", &given, &allowed).into())
}

/// Rounds that end by themselves if the study asks for that, else all of them.
pub fn schedule<'p>(study: &'p Study, plan: &'p Plan) -> Box<dyn Schedule + 'p> {
    match ends_by_itself(study) {
        true => Box::new(Sequential::of(study, plan)),
        false => Box::new(plan.schedule()),
    }
}

/// What is to be run, in a new record or in the one that it goes on with; command line and the
/// lab's test of itself are still to be told.
pub fn order(
    (study, study_text): (Study, String),
    plan: Plan,
    (place, earlier): (Option<&Path>, Option<Record>),
) -> Result<Order> {
    let machine = host::machine();
    let record = match (&earlier, place) {
        (Some(earlier), Some(path)) => {
            check_same(path, earlier, (&study, &plan))?;
            std::path::absolute(path).unwrap_or(path.to_owned())
        }
        _ => record_path(place, &study.name)?,
    };
    let from_there = |earlier| {
        let schedule = &mut *schedule(&study, &plan);
        whole_rounds(earlier, schedule, machine.as_deref())
    };
    let (earlier, round_left_out) = earlier.map(from_there).unzip();
    Ok(Order {
        record,
        study_text,
        study,
        plan,
        earlier,
        round_left_out: round_left_out.flatten(),
        machine,
        whole: None,
        command_line: vec![],
        self_test: vec![],
    })
}

/// The plan of a study, or of the part that is asked for or gone on with.
///
/// # Errors
/// A mistake if that part is another than its record's, or has nothing to measure, or if nobody
/// knows beforehand how many rounds there are.
pub fn part(study: &Study, asked: Option<PartOf>, earlier: Option<&Record>) -> Result<Plan> {
    let plan = plan(study);
    let kept = earlier.map(|record| record.header.part);
    let Some(part) = kept.unwrap_or(asked) else {
        return match asked {
            Some(asked) => wrong_part(asked, "the record is of the whole study: leave --part out"),
            None => Ok(plan),
        };
    };
    if asked.is_some_and(|asked| asked != part) {
        let allowed = format!("the record is of part {part}, which need not be said: leave it out");
        return wrong_part(asked.unwrap_or(part), &allowed);
    }
    if ends_by_itself(study) {
        let allowed = "parts have rounds that are known beforehand, and with `until` or `budget` \
                       nobody knows how many: say how many by --rounds instead, and leave both out";
        return wrong_part(part, allowed);
    }
    let rounds = plan.rounds_measured();
    if part.of > rounds {
        let allowed = format!(
            "{} has {rounds} rounds, and each part one or more of them: at most {rounds} parts, or \
             more rounds by --rounds",
            study.name
        );
        return wrong_part(part, &allowed);
    }
    Ok(plan.of_part(Some(part)))
}

fn wrong_part(part: PartOf, allowed: &str) -> Result<Plan> {
    Err(Mistake::new("command line", "--part", &part.to_string(), allowed).into())
}

/// A budget must hold one round.
pub fn need_time(study: &Study, plan: &Plan) -> Result<()> {
    let needed = sequential::least(study, plan);
    let Some(budget) = study.budget.filter(|budget| *budget < needed) else {
        return Ok(());
    };
    let minutes = |span: Duration| span.as_secs_f64() / 60.0;
    let allowed = format!(
        "forming the labs takes about {:.1} min and a round {:.1} min: give {:.0}min or more, or \
         shorter windows",
        minutes(forming(study)),
        minutes(needed - forming(study)),
        minutes(needed).ceil()
    );
    let given = units::show_compact(budget);
    Err(Mistake::new("command line", "--budget", &given, &allowed).into())
}

pub fn announce(order: &Order) {
    let Order {
        study,
        plan,
        record,
        earlier,
        ..
    } = order;
    let minutes = |span: Duration| span.as_secs_f64() / 60.0;
    let (cells, rounds) = (plan.cells.len(), study.rounds);
    let most = match ends_by_itself(study) {
        true => sequential::most(study, plan),
        false => estimate(study, plan),
    };
    let all = match plan.part {
        Some(part) => format!(
            "{} of {rounds} rounds (part {part})",
            plan.rounds_measured()
        ),
        None => format!("{rounds} rounds"),
    };
    let said = match (study.until, study.budget) {
        (None, None) if plan.cells.iter().any(Cell::is_search) => format!(
            "{all}, about {:.1} min with {} measurements for each search",
            minutes(most),
            limits::KNEE_TRIES
        ),
        (None, None) => format!("{all}, about {:.1} min", minutes(most)),
        (Some(_), None) => {
            let least = sequential::until_first_look(study, plan);
            let [first, most] = [least, most].map(minutes);
            format!("4 to {rounds} rounds, about {first:.1} to {most:.1} min")
        }
        (_, Some(budget)) => format!(
            "up to {rounds} rounds, about {:.1} min at most",
            minutes(budget.min(most))
        ),
    };
    eprintln!("{}: {cells} cells × {said}", study.title);
    if let Some(earlier) = earlier {
        eprintln!("goes on after {} measurements", earlier.measurements.len());
    }
    eprintln!("record: {}", record.display());
}

/// The path that was asked for, or a new one in this folder.
pub fn record_path(asked: Option<&Path>, study: &str) -> Result<PathBuf> {
    let path = match asked {
        Some(path) => path.to_owned(),
        None => PathBuf::from(format!(
            "{}-{}.acklab",
            crate::study::slug(study),
            utc_stamp()
        )),
    };
    let path = std::path::absolute(&path).unwrap_or(path);
    let wrong = |allowed: &str| {
        let given = path.display().to_string();
        Err(Mistake::new("command line", "--record", &given, allowed).into())
    };
    if path.exists() {
        return wrong("a path where no file is yet: a record is never overwritten");
    }
    let folder = path
        .parent()
        .map(|folder| folder.canonicalize().unwrap_or(folder.to_owned()));
    if folder.is_some_and(|folder| folder.starts_with("/run")) {
        // The sandbox has a /run of its own, which ends with it.
        return wrong("a path that is not below /run: the lab has a /run of its own");
    }
    Ok(path)
}

/// `20261121-081500`, in UTC.
fn utc_stamp() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = libc::time_t::try_from(now.as_secs()).unwrap_or(0);
    // SAFETY: gmtime_r only writes to the value it is given.
    let time = unsafe {
        let mut time = std::mem::zeroed::<libc::tm>();
        libc::gmtime_r(&seconds, &mut time);
        time
    };
    format!(
        "{:04}{:02}{:02}-{:02}{:02}{:02}",
        time.tm_year + 1900,
        time.tm_mon + 1,
        time.tm_mday,
        time.tm_hour,
        time.tm_min,
        time.tm_sec
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::record::Header;
    use crate::study::written::sample;

    #[test]
    fn a_budget_that_holds_no_round_is_refused_with_what_one_takes() {
        let study = sample(
            "rounds = 2\nwarmup = \"1s\"\nmeasure = \"30s\"\n[[mode]]\nserver = \"mysql\"\n\
             mode = \"single\"\n[[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n",
        );
        let plan = plan(&study);
        let least = sequential::least(&study, &plan);
        let within = |budget| {
            let study = Study {
                budget: Some(budget),
                ..study.clone()
            };
            need_time(&study, &plan)
        };
        assert_eq!(need_time(&study, &plan), Ok(()), "no budget");
        assert_eq!(within(least), Ok(()));
        let told = within(least - Duration::from_secs(1)).unwrap_err();
        let told = told.to_string();
        assert!(told.starts_with("command line: --budget: given "), "{told}");
        assert!(
            told.contains("a round") && told.contains("min or more"),
            "{told}"
        );
    }

    #[test]
    fn a_whole_record_has_nothing_left_to_measure_of_its_own_study_alone() {
        let study = sample(
            "rounds = 2\n[[mode]]\nserver = \"mysql\"\nmode = \"single\"\n\
             [[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n",
        );
        let plan = plan(&study);
        let header = Header {
            study: study.clone(),
            cells: plan.cells.clone(),
            acklab_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Header::default()
        };
        let mut record = Record {
            header,
            measurements: vec![],
            campaigns: [].into(),
            finished: false,
        };
        let path = Some(Path::new("a.acklab"));
        let asked = (&study, &plan);
        assert_eq!(is_whole(path, Some(&record), asked), Ok(false), "cut short");
        assert_eq!(is_whole(None, None, asked), Ok(false), "begun here");
        record.finished = true;
        assert_eq!(is_whole(path, Some(&record), asked), Ok(true));
        let other = Study {
            seed: 9,
            ..study.clone()
        };
        let told = is_whole(path, Some(&record), (&other, &plan)).unwrap_err();
        assert!(told.to_string().contains("is of another study"), "{told}");
    }
}
