//! What is in a pack, in words.

use super::file::File;
use super::marks::Mark;
use super::{RECORD, manifest};
use crate::record::store::Record;
use crate::record::{Header, Host};
use crate::report::numbers::utc;

/// Its name.
pub const NAME: &str = "README.txt";

/// What there is of each kind of file: the name or what it begins with, and what is in it.
const FILES: [(&str, &str); 12] = [
    (
        "report.html",
        "the answer, charts, every figure: open it in a browser",
    ),
    ("report.txt", "the same as text"),
    ("report.csv", "the same as a table: a row for each cell"),
    (RECORD, "all that happened: an SQLite database"),
    ("study.toml", "what was asked, as it was written"),
    ("my.cnf", "the server settings that it was run with"),
    ("ca-", "certificates that servers were verified by"),
    (
        "run.json",
        "machine, versions, the servers' own variables, the study as meant",
    ),
    ("histograms/cells.csv", "which histogram is of which cell"),
    (
        "histograms/",
        "latency of each measurement, as HdrHistogram's tools read it",
    ),
    ("logs/", "the end of each server's error log"),
    (
        manifest::NAME,
        "digests of all these files: sha256sum -c MANIFEST.sha256",
    ),
];

const WHAT_IT_IS: &str = "\
One run of acklab: what was asked, what was measured, and all that is needed to look at it and to
run it again.
";

const AGAIN: &str = "\
To run it again, as root, on a machine of your own:

    acklab run --again PACK.zip

PACK.zip is the file that this came in. What differs on your machine is said first: acklab, servers,
the machine itself. No servers are in it: acklab fetches them.
";

const WHAT_NOT: &str = "\
Passwords, private keys, names of users in paths and the machine's own name are not in it. Where one
stood is one of ";

const WHAT_IS: &str = "\
What is in it: the study's own words, comments too; addresses and account names of servers that were
somebody else's; versions, kernel and CPU. Look through it before you give it away.";

/// The whole text.
pub fn text(record: &Record, files: &[File], left_out: &[String]) -> String {
    let Header {
        study,
        command_line,
        ..
    } = &record.header;
    let machines: Vec<String> = record.header.hosts().into_iter().map(machine).collect();
    let parts = [
        study.title.clone(),
        WHAT_IT_IS.to_owned(),
        run(record),
        machines.join("\n"),
        servers(&record.header),
        format!("command   {}\n", command_line.join(" ")),
        AGAIN.to_owned(),
        format!("Its files:\n\n{}", listed(files)),
        what_is_left_out(left_out),
    ];
    parts.join("\n") + "\n"
}

fn run(record: &Record) -> String {
    let Header {
        study,
        started_unix_ms,
        acklab_version,
        ..
    } = &record.header;
    let end = match record.finished {
        true => "went through to its end",
        false => "was cut short",
    };
    let measured = record.measurements.len();
    let trials = record.campaigns.values().flatten();
    let trials: usize = trials.map(|one| one.light.trials.len()).sum();
    format!(
        "study     {}, seed {}\nrun       {}, by acklab {acklab_version}; {end}\n\
         holds     {measured} measurements, {trials} trials of faults",
        study.name,
        study.seed,
        utc(*started_unix_ms),
    )
}

fn machine(host: &Host) -> String {
    let gib = host.memory_bytes as f64 / (1_u64 << 30) as f64;
    let Host {
        cpus,
        cpu_model,
        kernel,
        ..
    } = host;
    format!("machine   {cpus} CPUs ({cpu_model}), {gib:.1} GiB, Linux {kernel}")
}

fn servers(header: &Header) -> String {
    let line = |(server, title): (&crate::record::ServerFacts, &str)| {
        let (name, version, source) = (&server.name, &server.version, &server.source);
        format!("{title:<10}{name} {version} ({source})")
    };
    let titles = ["servers"].into_iter().chain(std::iter::repeat(""));
    let lines: Vec<String> = header.servers.iter().zip(titles).map(line).collect();
    lines.join("\n")
}

/// A line for each kind of file that there is.
fn listed(files: &[File]) -> String {
    let line = |(start, what): &(&str, &str)| {
        let is_there = |file: &File| file.name.starts_with(start);
        let is_it = *start == manifest::NAME || files.iter().any(is_there);
        is_it.then(|| format!("  {start:<22} {what}\n"))
    };
    FILES.iter().filter_map(line).collect()
}

fn what_is_left_out(left_out: &[String]) -> String {
    let marks = Mark::ALL.map(Mark::text).join(" ");
    let told = match left_out {
        [] => "Nothing was found that had to be left out.".to_owned(),
        all => format!("Left out: {}.", all.join(", ")),
    };
    format!("{told}\n{WHAT_NOT}{marks}.\n{WHAT_IS}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::Example;
    use crate::record::Resumed;

    #[test]
    fn each_machine_has_its_line() {
        let mut record = Example::default().record();
        let lines = |record: &Record| text(record, &[], &[]).matches("\nmachine   ").count();
        assert_eq!(lines(&record), 1);
        let other = Host {
            cpus: 8,
            ..record.header.host.clone()
        };
        record.header.resumed = vec![Resumed {
            host: other,
            ..Resumed::default()
        }];
        assert_eq!(lines(&record), 2);
        assert!(text(&record, &[], &[]).contains("machine   8 CPUs"));
    }
}
