//! `merge`: the record of a whole study, of those of its parts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::analysis::diff::{settings, unlike_variables};
use crate::error::{Error, Mistake, Result};
use crate::plan::{PartOf, own_numbers, plan, trials_in};
use crate::record::store::{Holdings, merge};
use crate::record::{Header, PartFacts, Resumed};
use crate::report::numbers::{count, numbered};

/// So many settings that are not alike are told.
const SETTINGS_TOLD: usize = 5;

/// What is merged, and where to.
#[derive(Args)]
pub struct MergeOptions {
    /// Records of `acklab run STUDY --part K/N`, in any order
    #[arg(required = true, value_name = "FILE")]
    parts: Vec<PathBuf>,
    /// The record to write; nothing is ever overwritten
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Merge what is there though some is missing: a machine is lost for good
    #[arg(long)]
    partial: bool,
}

/// A record, and which part of the study it is of.
struct Own<'p> {
    path: &'p Path,
    part: PartOf,
    holds: Holdings,
}

/// Merges them, and tells what came of it.
///
/// # Errors
/// A mistake if they are no parts of one study, or not all of it is there.
pub fn run(options: &MergeOptions) -> Result<u8> {
    let parts = options.parts.iter().map(|path| open(path));
    let mut parts = parts.collect::<Result<Vec<Own>>>()?;
    parts.sort_by_key(|own| own.part);
    check_alike(&parts)?;
    let missing = missing(&parts);
    if !missing.is_empty() && !options.partial {
        return Err(incomplete(&missing));
    }
    let header = header(&parts);
    let paths: Vec<&Path> = parts.iter().map(|own| own.path).collect();
    merge(&paths, &header, missing.is_empty(), &options.output)?;
    missing.iter().for_each(|one| eprintln!("missing: {one}"));
    say!("{}", told(&parts, &header, &options.output));
    Ok(0)
}

fn open(path: &Path) -> Result<Own<'_>> {
    let holds = Holdings::at(path)?;
    let part = match holds.header.part {
        Some(part) => part,
        None if holds.header.parts.is_empty() => {
            let given = "a record of a whole study";
            return refused(path, given, "name records of `acklab run STUDY --part K/N`");
        }
        None => {
            let given = "a record that was merged already";
            return refused(path, given, "name the records of its parts, all of them");
        }
    };
    let rounds = holds.cells.keys().map(|round| ("round", *round));
    let trials = holds.trials.values().flatten();
    let trials = trials.map(|number| ("trial", *number));
    if let Some((what, foreign)) = rounds.chain(trials).find(|(_, number)| !part.has(*number)) {
        let given = format!("{what} {foreign} in a record of part {part}");
        let allowed = "is of another part: the record was changed by hand";
        return refused(path, &given, allowed);
    }
    Ok(Own { path, part, holds })
}

fn refused<T>(path: &Path, given: &str, allowed: &str) -> Result<T> {
    Err(Mistake::new(&path.display().to_string(), "", given, allowed).into())
}

/// All must be of one study, run by one acklab on servers set alike; each part once.
fn check_alike(parts: &[Own]) -> Result<()> {
    let Some((first, others)) = parts.split_first() else {
        return Ok(());
    };
    check_settings(first, first)?;
    for other in others {
        check_same(first, other)?;
    }
    let mut pairs = parts.windows(2);
    if let Some(pair) = pairs.find(|pair| pair[0].part == pair[1].part) {
        let given = format!("part {} once more", pair[1].part);
        let allowed = format!("{} has it: name each part once", pair[0].path.display());
        return refused(pair[1].path, &given, &allowed);
    }
    Ok(())
}

fn check_same(first: &Own, other: &Own) -> Result<()> {
    let (a, b) = (&first.holds.header, &other.holds.header);
    let place = first.path.display();
    if a.acklab_version != b.acklab_version {
        let given = format!("a record of acklab {}", b.acklab_version);
        let allowed = format!(
            "{place} is of {}: all parts are to be run by one acklab",
            a.acklab_version
        );
        return refused(other.path, &given, &allowed);
    }
    let is_same_study = (&a.study, &a.cells) == (&b.study, &b.cells);
    if !is_same_study || a.bounds_sha256 != b.bounds_sha256 {
        let [this, that] = [b, a].map(|head| head.command_line.join(" "));
        let given = format!("a part of another study, or of one with other options: `{this}`");
        let allowed = format!("{place} was begun by `{that}`: name parts of one study");
        return refused(other.path, &given, &allowed);
    }
    if first.part.of != other.part.of {
        let given = format!("part {}", other.part);
        let allowed = format!("{place} is part {}: name parts of as many", first.part);
        return refused(other.path, &given, &allowed);
    }
    check_settings(first, other)
}

/// The heads of a part, one for each machine that it has gone on on with labs of its own.
fn heads(own: &Own) -> Vec<Header> {
    let head = &own.holds.header;
    let elsewhere = head.resumed.iter().filter(|one| !one.labs.is_empty());
    let elsewhere = elsewhere.map(|one| Header {
        labs: one.labs.clone(),
        ..head.clone()
    });
    [head.clone()].into_iter().chain(elsewhere).collect()
}

/// On whatever machine a part was measured, its servers are set as those of the first.
fn check_settings(first: &Own, other: &Own) -> Result<()> {
    let place = first.path.display();
    let heads = heads(other);
    let mut apart = heads
        .iter()
        .map(|head| settings([&first.holds.header, head]));
    let Some(apart) = apart.find(|apart| !apart.is_empty()) else {
        return Ok(());
    };
    let told = apart.iter().take(SETTINGS_TOLD);
    let told: Vec<String> = told
        .map(|one| format!("{} {} → {}", one.what, one.a, one.b))
        .collect();
    let more = match apart.len().saturating_sub(SETTINGS_TOLD) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let given = format!(
        "other servers or settings than in {place}: {}{more}",
        told.join(", ")
    );
    let allowed = "what is not alike would be held against each other: fetch the same servers on \
                   all machines, set in the study what differs, and run this part anew";
    refused(other.path, &given, allowed)
}

/// What is not there, each in words.
fn missing(parts: &[Own]) -> Vec<String> {
    let Some(first) = parts.first() else {
        return vec![];
    };
    let absent = PartOf::all(first.part.of).filter(|part| {
        let mut known = parts.iter();
        !known.any(|own| own.part == *part)
    });
    let of_part = |part: PartOf| {
        let study = &first.holds.header.study;
        let rounds: Vec<u32> = own_numbers(Some(part), study.rounds).collect();
        format!(
            "part {part}: no record of it is named; it has {}",
            numbered("round", &rounds)
        )
    };
    let halves = parts.iter().filter_map(half);
    halves.chain(absent.map(of_part)).collect()
}

/// What a part lacks.
fn half(own: &Own) -> Option<String> {
    let (none, some) = rounds_lacking(own);
    let asked = trials_asked(own);
    let is_there = |(of, number): &&(Of, u32)| {
        let known = own.holds.trials.get(of);
        known.is_some_and(|known| known.contains(number))
    };
    let there = asked.iter().filter(is_there).count();
    let asked = asked.len();
    let lacks = [
        (!none.is_empty())
            .then(|| format!("{} missing", are(&numbered("round", &none), none.len()))),
        (!some.is_empty())
            .then(|| format!("{} half done", are(&numbered("round", &some), some.len()))),
        (there < asked).then(|| format!("{there} of {asked} trials are there")),
        (!own.holds.finished).then(|| "its run did not go through to its end".to_owned()),
    ];
    let lacks: Vec<String> = lacks.into_iter().flatten().collect();
    let told = || {
        format!(
            "part {} ({}): {}",
            own.part,
            own.path.display(),
            lacks.join("; ")
        )
    };
    (!lacks.is_empty()).then(told)
}

/// A mode, by its index, and the name of a fault.
type Of = (usize, String);

/// All trials that a part has, by their numbers.
fn trials_asked(own: &Own) -> Vec<(Of, u32)> {
    let study = &own.holds.header.study;
    let of_mode = |(mode, spec)| {
        let all = trials_in(study, Some(own.part), spec);
        all.map(move |(fault, number)| ((mode, fault.name.clone()), number))
    };
    study.modes.iter().enumerate().flat_map(of_mode).collect()
}

/// Rounds of which nothing is there, and of which not all is.
fn rounds_lacking(own: &Own) -> (Vec<u32>, Vec<u32>) {
    let (mut none, mut some) = (vec![], vec![]);
    let Header { study, cells, .. } = &own.holds.header;
    let planned = plan(study).of_part(Some(own.part));
    // Another acklab's plan may be another; then its own word is all there is.
    if !cells.starts_with(&planned.cells) {
        return (none, some);
    }
    // What a search for a knee measures follows from what it has found.
    let is_certain = |cell: &usize| planned.cells[*cell].knee.is_none();
    for (round, cells) in (1..).zip(&planned.rounds) {
        match own.holds.cells.get(&round) {
            None if cells.is_empty() => {}
            None => none.push(round),
            Some(there) => {
                let mut certain = cells.iter().filter(|cell| is_certain(cell));
                some.extend(certain.any(|cell| !there.contains(cell)).then_some(round));
            }
        }
    }
    (none, some)
}

fn are(what: &str, count: usize) -> String {
    format!("{what} {}", if count == 1 { "is" } else { "are" })
}

/// All at once, and what to do.
fn incomplete(missing: &[String]) -> Error {
    let each = missing
        .iter()
        .map(|one| Mistake::new("missing", "", "", one));
    let what_to_do = "nothing was written: go on with a part that is not whole by `acklab run \
                      STUDY --resume FILE`, run one that is not there by `--part K/N --record \
                      FILE`, and merge then; or merge what is there by --partial";
    let mut all: Vec<Mistake> = each.collect();
    all.push(Mistake::state(what_to_do));
    Error::Mistakes(all)
}

/// The head of the whole: the first part's, with what the others' say besides.
fn header(parts: &[Own]) -> Header {
    let heads = || parts.iter().map(|own| (own.part, &own.holds.header));
    let facts = heads().map(|(part, head)| PartFacts {
        part,
        command_line: head.command_line.clone(),
        started_unix_ms: head.started_unix_ms,
        host: head.host.clone(),
        self_test: head.self_test.clone(),
        labs: head.labs.clone(),
    });
    let resumed = heads().flat_map(|(part, head)| {
        head.resumed.iter().map(move |one| Resumed {
            part: Some(part),
            ..one.clone()
        })
    });
    let first = parts.first().map(|own| own.holds.header.clone());
    let first = first.unwrap_or_default();
    let started = heads().map(|(_, head)| head.started_unix_ms);
    Header {
        started_unix_ms: started.min().unwrap_or(0),
        remarks: remarks(parts).into_iter().chain(unlike(parts)).collect(),
        resumed: resumed.collect(),
        command_line: of_the_whole(&first.command_line),
        part: None,
        parts: facts.collect(),
        ..first
    }
}

/// The words that run all of it: a part's without its `--part`, and not into the part's record.
fn of_the_whole(words: &[String]) -> Vec<String> {
    let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    let own: &[&str] = match words.iter().any(|word| name(word) == "--part") {
        true => &["--part", "--record"],
        false => &[],
    };
    let mut is_behind = false;
    let is_kept = |word: &&String| {
        let is_own = own.contains(&&name(word)[..]);
        let is_value = std::mem::replace(&mut is_behind, is_own && !word.contains('='));
        !is_value && !is_own
    };
    words.iter().filter(is_kept).cloned().collect()
}

/// What all say, and what some say, with the parts that do.
fn remarks(parts: &[Own]) -> Vec<String> {
    let mut all: Vec<(&String, Vec<String>)> = Vec::new();
    for own in parts {
        for remark in &own.holds.header.remarks {
            let number = own.part.number.to_string();
            match all.iter_mut().find(|(known, _)| *known == remark) {
                Some((_, numbers)) => numbers.push(number),
                None => all.push((remark, vec![number])),
            }
        }
    }
    let told = |(remark, numbers): (&String, Vec<String>)| match numbers.len() {
        count if count == parts.len() => remark.clone(),
        1 => format!("Part {}: {remark}", numbers[0]),
        _ => format!("Parts {}: {remark}", numbers.join(", ")),
    };
    all.into_iter().map(told).collect()
}

/// What no report prints, no study asks for, and parts do not have alike: a server sets some
/// variables by the machine's CPUs and memory.
fn unlike(parts: &[Own]) -> Option<String> {
    let first = parts.first()?;
    let all = parts.iter().flat_map(heads);
    let names = all.flat_map(|head| unlike_variables([&first.holds.header, &head]));
    let names: BTreeSet<String> = names.collect();
    let listed: Vec<String> = names.into_iter().collect();
    (!listed.is_empty()).then(|| {
        format!(
            "Server variables that are not alike in all parts: {}. The records of the parts have \
             their values.",
            listed.join(", ")
        )
    })
}

fn told(parts: &[Own], header: &Header, to: &Path) -> String {
    let rounds = parts.iter().map(|own| own.holds.cells.len()).sum::<usize>();
    let trials = parts.iter().flat_map(|own| own.holds.trials.values());
    let trials: usize = trials.map(Vec::len).sum();
    let trials = match trials {
        0 => String::new(),
        trials => format!(", {}", count(trials as u64, "trial")),
    };
    format!(
        "{}: {}, {}{trials}, measured by {}",
        to.display(),
        count(parts.len() as u64, "part"),
        count(rounds as u64, "round"),
        count(header.hosts().len() as u64, "machine")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_run_by_the_words_of_a_part_without_its_number() {
        let whole = |words: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            of_the_whole(&words).join(" ")
        };
        let plain = "acklab run x.toml --rounds 6";
        assert_eq!(whole(plain), plain);
        assert_eq!(whole("acklab run x.toml --part 1/3 --rounds 6"), plain);
        assert_eq!(whole("acklab run --part=1/3 x.toml --rounds 6"), plain);
        // Run again, it would be over the part's own record.
        let kept = "acklab run x.toml --record p.acklab";
        assert_eq!(whole(kept), kept);
        assert_eq!(whole(&format!("{kept} --rounds 6 --part 1/3")), plain);
        assert_eq!(
            whole("acklab run x.toml --part=1/3 --record=p --rounds 6"),
            plain
        );
    }
}
