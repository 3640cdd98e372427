//! `run --again`: the study of a record, or of a pack, once more.

use std::path::{Path, PathBuf};

use super::breaking;
use super::measure::{self, Question, RunOptions, capabilities, fetch_missing};
use super::needs::{need_root, need_tun};
use crate::analysis::diff::surroundings;
use crate::error::{Mistake, Result, Tried};
use crate::lab::servers::{Cache, Catalogue};
use crate::observe::host;
use crate::pack::again::Again;
use crate::pack::{is_pack, take_out};
use crate::record::store::Record;
use crate::record::{Header, ServerFacts};
use crate::report::numbers::utc;
use crate::study::{Capabilities, Study};

/// Runs it, and says before what differs from then.
///
/// # Errors
/// A mistake if the file is neither a record nor a pack, or its study cannot be run here; else what
/// ended the run early.
pub fn run(file: &Path, options: &RunOptions, words: &[String]) -> Result<u8> {
    let place = file.display().to_string();
    let header = open(file)?.header;
    let Again { study, not_set } = Again::of(&header, &place)?;
    if breaking::is_broken(&header) && options.resume.is_some() {
        let allowed = "is for studies: go on with `acklab break --resume RECORD`";
        return Err(Mistake::new("command line", "--resume", "", allowed).into());
    }
    if breaking::is_broken(&header) && options.join.is_given() {
        let allowed = "is for studies of endpoints: faults are injected in a lab; leave it out";
        return Err(Mistake::new("command line", "--drivers", "", allowed).into());
    }
    if breaking::is_broken(&header) && options.part.is_some() {
        let allowed = "is for studies: `acklab break` has no parts";
        return Err(Mistake::new("command line", "--part", "", allowed).into());
    }
    if breaking::is_broken(&header) && options.beside.is_some() {
        let allowed = "is for studies: a record of `acklab break` has no anatomy";
        return Err(Mistake::new("command line", "--beside", "", allowed).into());
    }
    let cache = Cache::of_user()?;
    let catalogue = Catalogue::builtin();
    if !study.is_of_endpoints() {
        check_servers(&study, &header, &capabilities(&cache, &catalogue)?, &place)?;
        need_root("run")?;
        need_tun("run")?;
        fetch_missing(&study, &cache, &catalogue)?;
        check_servers(&study, &header, &capabilities(&cache, &catalogue)?, &place)?;
    }
    for line in told(&header, &here(&header, &cache, &catalogue)?, &not_set) {
        eprintln!("{line}");
    }
    let text = header.study_text.clone();
    if breaking::is_broken(&header) {
        return breaking::run_again((study, text), options, words);
    }
    let read =
        |_: &Cache, _: &Catalogue| -> Result<(Study, String)> { Ok((study.clone(), text.clone())) };
    let question = Question {
        read: &read,
        folder: PathBuf::new(),
        file: place,
    };
    measure::carry_out(&question, options, words)
}

/// A record, or the one in a pack.
fn open(file: &Path) -> Result<Record> {
    if !is_pack(file) {
        return Record::open(file);
    }
    let folder = tempfile::tempdir().tried(|| "make a folder for a record".to_owned())?;
    Record::open(&take_out(file, folder.path())?)
}

/// Its servers must be known here, and can what they are asked for.
fn check_servers(study: &Study, then: &Header, known: &Capabilities, place: &str) -> Result<()> {
    for spec in &study.modes {
        let (server, mode) = (&spec.server, spec.mode.name());
        let mistake =
            |given: &str, allowed: &str| Err(Mistake::new(place, server, given, allowed).into());
        let Some(can) = known.get(server) else {
            let mut all = then.servers.iter();
            let from = all.find(|one| one.name == *server);
            let from = from.map_or("", |one| &one.source[..]);
            let allowed = format!(
                "was a server of yours, from {from}: `acklab servers add FILE --name {server}` \
                 first"
            );
            return mistake("no such server here", &allowed);
        };
        if !can.modes.iter().any(|known| known == mode) {
            let given = can.version.as_deref().unwrap_or("the one here");
            let allowed = format!("cannot do {mode}, which {} asks for", spec.label);
            return mistake(given, &allowed);
        }
    }
    Ok(())
}

/// What the same run would stand on here. Bare links are measured in the lab alone.
fn here(then: &Header, cache: &Cache, catalogue: &Catalogue) -> Result<Header> {
    let found = |one: &ServerFacts| server_here(one, cache, catalogue).transpose();
    let servers = then.servers.iter().filter_map(found);
    Ok(Header {
        servers: servers.collect::<Result<_>>()?,
        host: host::facts(&cache.path, then.host.link_floor_us_p50)?,
        acklab_version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Header::default()
    })
}

fn server_here(
    then: &ServerFacts,
    cache: &Cache,
    catalogue: &Catalogue,
) -> Result<Option<ServerFacts>> {
    if let Some(program) = cache.program(catalogue, &then.name)? {
        let kept = program.kept;
        return Ok(Some(ServerFacts {
            name: kept.name,
            version: kept.version,
            source: kept.origin,
        }));
    }
    let proxy = cache.proxy(catalogue, &then.name)?;
    Ok(proxy.map(|program| ServerFacts {
        name: program.name,
        version: program.version,
        source: program.origin,
    }))
}

/// What is said before the run.
fn told(then: &Header, here: &Header, not_set: &[String]) -> Vec<String> {
    let Header {
        study,
        started_unix_ms,
        ..
    } = then;
    let begun = utc(*started_unix_ms);
    let mut lines = vec![format!(
        "again: {}, as of {begun}, seed {}",
        study.name, study.seed
    )];
    lines.extend(
        then.part.map(|part| {
            format!("it was part {part}: without --part {part} the whole study is run")
        }),
    );
    let differs = surroundings(then, here);
    let line = |one: &crate::analysis::diff::told::Difference| {
        format!("differs here: {}: {} → {}", one.what, one.a, one.b)
    };
    lines.extend(differs.iter().map(line));
    if differs.is_empty() {
        lines.push("nothing differs here: acklab, servers and machine are the same".to_owned());
    }
    if !not_set.is_empty() {
        let names = not_set.join(", ");
        lines.push(format!(
            "not set, for a pack left out what it was set to: {names}"
        ));
    }
    let endpoints = study.modes.iter();
    let endpoints = endpoints.filter_map(|spec| spec.endpoint.as_ref());
    lines.extend(endpoints.map(|one| {
        let (user, place) = (&one.writer.user, one.writer.place());
        format!("logs in as {user} at {place}, with a password of yours")
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::study::{Capability, Flavour, written};

    fn header() -> Header {
        let server = |name: &str, version: &str| ServerFacts {
            name: name.to_owned(),
            version: version.to_owned(),
            source: "apt".to_owned(),
        };
        Header {
            study: written::sample(
                "name = \"small\"\nseed = 7\n[[mode]]\nserver = \"mysql\"\nmode = \"async\"\n\
                 [[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n",
            ),
            servers: vec![server("mysql", "9.7.1"), server("router", "9.7.1")],
            acklab_version: "0.1.0".to_owned(),
            ..Header::default()
        }
    }

    #[test]
    fn what_differs_is_told_and_what_does_not_is_not() {
        let then = header();
        let told = |here: &Header| told(&then, here, &[])[1..].join("\n");
        assert_eq!(
            told(&then),
            "nothing differs here: acklab, servers and machine are the same"
        );
        let mut here = then.clone();
        here.servers.pop();
        here.servers[0].version = "9.7.4".to_owned();
        here.host.cpus = 8;
        here.acklab_version = "0.2.0".to_owned();
        assert_eq!(
            told(&here),
            "differs here: mysql: 9.7.1 → 9.7.4\ndiffers here: router: 9.7.1 → none\n\
             differs here: CPUs: 0 → 8\ndiffers here: acklab: 0.1.0 → 0.2.0"
        );
        let lines = super::told(&then, &then, &["wsrep_sst_auth".to_owned()]);
        assert_eq!(lines[0], "again: small, as of 1970-01-01 00:00 UTC, seed 7");
        assert!(lines[2].ends_with(": wsrep_sst_auth"), "{lines:?}");
        let part = Header {
            part: "2/3".parse().ok(),
            ..then.clone()
        };
        let lines = super::told(&part, &part, &[]);
        assert!(lines[1].starts_with("it was part 2/3: "), "{lines:?}");
    }

    fn refused(modes: Option<&[&str]>) -> String {
        let header = header();
        let capability = |modes: &[&str]| Capability {
            flavour: Flavour::Mysql,
            version: Some("9.7.4".to_owned()),
            modes: modes.iter().map(|mode| mode.to_string()).collect(),
        };
        let known = modes.map(|modes| ("mysql".to_owned(), capability(modes)));
        let known = Capabilities {
            servers: known.into_iter().collect(),
        };
        let checked = check_servers(&header.study, &header, &known, "x.zip");
        checked
            .err()
            .as_ref()
            .map(Error::to_string)
            .unwrap_or_default()
    }

    #[test]
    fn servers_must_be_known_here_and_can_what_is_asked() {
        assert_eq!(refused(Some(&["single", "async"])), "");
        let told = refused(Some(&["single"]));
        assert!(told.contains("given 9.7.4; cannot do async"), "{told}");
        let told = refused(None);
        assert!(told.contains("servers add FILE --name mysql"), "{told}");
    }
}
