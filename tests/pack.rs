//! Packs: what is in them, what must never be, and the way back to a run.

#[path = "common/fixtures.rs"]
mod fixtures;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output};

use acklab::plan::plan;
use acklab::record::store::{Record, Store, server_logs};
use acklab::record::{Header, Measurement};
use acklab::study::{Capabilities, written};
use fixtures::unpacked;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

/// What no pack may hold: it stands in every secret that is planted.
const PLANTED: &str = "s3cret";
/// The name of whoever runs the tests, as their environment has it.
const USER: &str = "zoe-planted";

fn acklab(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acklab"));
    command
        .args(words)
        .current_dir(folder)
        .env("ACKLAB_CACHE", folder.join("cache"))
        .env("ACKLAB_PASSWORD", "pl4in-s3cret-of-environment")
        .env("AWS_SECRET_ACCESS_KEY", "aws-s3cret")
        .env("HOME", format!("/home/{USER}"))
        .env("USER", USER);
    command.output().expect("the program")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Packs a record of that folder, and gives its files by their names below the pack's folder.
fn packed(folder: &Path, record: &str) -> (Output, BTreeMap<String, Vec<u8>>) {
    let output = acklab(folder, &["pack", record, "-o", "out.zip"]);
    let files = match output.status.success() {
        true => files(&folder.join("out.zip")),
        false => BTreeMap::new(),
    };
    (output, files)
}

fn files(pack: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut zip = ZipArchive::new(File::open(pack).unwrap()).unwrap();
    let count = zip.len();
    let read = |index| {
        let mut entry = zip.by_index(index).unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let name = entry.name().unwrap().into_owned();
        let (_, name) = name.split_once('/').expect("a folder");
        (name.to_owned(), bytes)
    };
    (0..count).map(read).collect()
}

#[test]
fn a_pack_holds_all_that_is_needed_and_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let record = unpacked("compare", folder.path());
    let output = acklab(folder.path(), &["pack", "compare.acklab"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "compare.pack.zip\n");
    let files = files(&folder.path().join("compare.pack.zip"));
    for name in [
        "README.txt",
        "record.acklab",
        "study.toml",
        "run.json",
        "report.txt",
        "report.csv",
        "report.html",
        "histograms/cells.csv",
        "histograms/cell-0000.hlog",
        "histograms/cell-0017.hlog",
    ] {
        assert!(files.contains_key(name), "{name}: {:?}", files.keys());
    }
    let list = text(&files["MANIFEST.sha256"]);
    assert_eq!(list.lines().count(), files.len() - 1);
    for line in list.lines() {
        let (digest, name) = line.split_once("  ").unwrap();
        let own = Sha256::digest(&files[name]);
        let own: String = own.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, own, "{name}");
    }
    let copy = folder.path().join("copy.acklab");
    fs::write(&copy, &files["record.acklab"]).unwrap();
    let (copy, record) = (Record::open(&copy).unwrap(), Record::open(&record).unwrap());
    assert_eq!(copy.measurements, record.measurements);
    assert_eq!(copy.header.study, record.header.study);
    assert_eq!(text(&files["study.toml"]), record.header.study_text);
    let log = text(&files["histograms/cell-0000.hlog"]);
    let intervals = log.lines().filter(|line| line.contains(",HISTF")).count();
    assert!(intervals >= record.header.study.rounds as usize, "{log}");
    let readme = text(&files["README.txt"]);
    assert!(readme.contains("acklab run --again"), "{readme}");
    // There is nothing in it that would have to be left out but the machine's name.
    let told = text(&output.stderr);
    let left_out = told
        .lines()
        .find_map(|line| line.strip_prefix("left out: "));
    assert!(
        left_out.unwrap().ends_with(" names of the machine"),
        "{told}"
    );
    assert!(!left_out.unwrap().contains(", "), "{told}");
    // Once more: it is replaced.
    let output = acklab(folder.path(), &["pack", "compare.acklab"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_record_of_trials_is_packed_whole() {
    let folder = tempfile::tempdir().unwrap();
    let record = unpacked("power-cut", folder.path());
    let (output, files) = packed(folder.path(), "power-cut.acklab");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let copy = folder.path().join("copy.acklab");
    fs::write(&copy, &files["record.acklab"]).unwrap();
    let (copy, record) = (Record::open(&copy).unwrap(), Record::open(&record).unwrap());
    assert_eq!(copy.campaigns, record.campaigns);
    assert!(!files.contains_key("report.csv") && files.contains_key("report.txt"));
}

/// Secrets wherever a record has words, each with its own way of being found.
fn plant(record: &Path) {
    let connection = rusqlite::Connection::open(record).unwrap();
    let set = |path: &str, value: &str| {
        let sql = "UPDATE run SET header = json_set(header, ?1, ?2)";
        assert_eq!(connection.execute(sql, [path, value]).unwrap(), 1);
    };
    // What was overwritten: in pages of the file that are free by now.
    set("$.study_text", &"old-s3cret ".repeat(50_000));
    set(
        "$.study_text",
        "# password: s3cret-of-a-comment\nwriter = \"mysql://me:s3cret-of-a-url@db\"\n\
         sql = \"CREATE USER a IDENTIFIED BY 's3cret-of-sql'\"\nseed = 7\n",
    );
    set(
        "$.study.my_cnf",
        "[client]\npassword = s3cret of a client\n[mysqld]\nwsrep-sst-auth=u:s3cret\nport = 1\n",
    );
    set(
        "$.study.modes[0].variables.report_password",
        "s3cret-of-a-variable",
    );
    set("$.servers[0].source", "/home/zoe-planted/mysql.tar.xz");
    set("$.command_line[0]", "/srv/zoe-planted/bin/acklab");
    set("$.command_line[1]", "--set=report_password=s3cret-of-words");
    set("$.remarks[0]", "logged in with pl4in-s3cret-of-environment");
    set(
        "$.remarks[1]",
        "-----BEGIN EC PRIVATE KEY-----\ns3cret\n-----END EC PRIVATE KEY-----",
    );
    let server = "$.labs[0].variables.z";
    set(&format!("{server}.hostname"), "planted-host");
    set(&format!("{server}.general_log_file"), "planted-host.log");
    set(&format!("{server}.wsrep_sst_auth"), "u:s3cret");
    let sql = "UPDATE measurement SET body = json_set(body, '$.errors', json(?1))";
    let error = "[{\"number\": 1045, \"sqlstate\": \"28000\", \"count\": 1, \"message\": \
                 \"pwd=s3cret-of-an-error\"}]";
    connection.execute(sql, [error]).unwrap();
    let sql = "CREATE TABLE server_log (lab TEXT, node TEXT, log TEXT)";
    connection.execute(sql, []).unwrap();
    let log = "[Note] on planted-host\nA temporary password is generated for root@localhost: \
               s3cret!\n";
    let sql = "INSERT INTO server_log VALUES ('mysql replication', 'a', ?1)";
    connection.execute(sql, [log]).unwrap();
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes
        .windows(word.len())
        .any(|part| part == word.as_bytes())
}

#[test]
fn no_secret_is_in_a_pack() {
    let folder = tempfile::tempdir().unwrap();
    let record = unpacked("compare", folder.path());
    plant(&record);
    let planted = fs::read(&record).unwrap();
    let words = [PLANTED, USER, "planted-host"];
    for word in words.into_iter().chain(["old-s3cret"]) {
        assert!(holds(&planted, word), "{word} was not planted");
    }
    assert_eq!(Record::open(&record).unwrap().header.study.modes.len(), 6);
    let (output, files) = packed(folder.path(), "compare.acklab");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(files.contains_key("logs/mysql-replication.a.log"));
    assert!(files.contains_key("my.cnf"));
    let mut found = Vec::new();
    for (name, bytes) in &files {
        let there = words.iter().filter(|word| holds(bytes, word));
        found.extend(there.map(|word| format!("{word} in {name}")));
    }
    assert_eq!(found, [""; 0]);
    let out = text(&output.stdout) + &text(&output.stderr);
    assert!(
        !out.contains(PLANTED) && out.contains("private key"),
        "{out}"
    );
    // What is no secret is there still.
    assert!(text(&files["study.toml"]).ends_with("seed = 7\n"));
    assert!(text(&files["my.cnf"]).ends_with("port = 1\n"));
    let copy = folder.path().join("copy.acklab");
    fs::write(&copy, &files["record.acklab"]).unwrap();
    let logs = server_logs(&copy).unwrap();
    assert_eq!(logs[0].log.lines().next(), Some("[Note] on <host>"));
    // The record itself is as it was.
    assert_eq!(fs::read(&record).unwrap(), planted);
}

/// A record of somebody else's server at which nobody listens.
fn of_an_endpoint(path: &Path) {
    let study = "name = \"mine\"\nseed = 77\n[[mode]]\nmode = \"endpoint\"\n\
                 writer = \"mysql://someone@127.0.0.1:1\"\npassword_file = \"gone\"\n\
                 [[sweep]]\nworkload = \"point_select\"\n";
    let no_file = |_: &str| Err(String::new());
    let meant = written::parse(study, "study.toml", &Capabilities::default(), &no_file).unwrap();
    let header = Header {
        cells: plan(&meant).cells,
        study: meant,
        study_text: study.to_owned(),
        acklab_version: "0.0.9".to_owned(),
        command_line: vec!["acklab".to_owned(), "run".to_owned()],
        ..Header::default()
    };
    let mut store = Store::create(path, &header).unwrap();
    let measurement = Measurement {
        round: 1,
        window_s: 2.0,
        ..Measurement::default()
    };
    store.append(&measurement).unwrap();
    store.finish().unwrap();
}

#[test]
fn a_record_and_its_pack_are_run_again_and_what_differs_is_said_first() {
    let folder = tempfile::tempdir().unwrap();
    of_an_endpoint(&folder.path().join("mine.acklab"));
    let (output, _) = packed(folder.path(), "mine.acklab");
    assert!(output.status.success(), "{}", text(&output.stderr));
    for file in ["mine.acklab", "out.zip"] {
        let output = acklab(
            folder.path(),
            &["run", "--again", file, "--record", "new.acklab"],
        );
        let err = text(&output.stderr);
        // It goes as far as to the server, at which nobody listens.
        assert_eq!(output.status.code(), Some(4), "{file}: {err}");
        for part in [
            "again: mine, as of 1970-01-01 00:00 UTC, seed 77\n",
            "differs here: acklab: 0.0.9 → ",
            "record: ",
            "127.0.0.1:1",
        ] {
            assert!(err.contains(part), "{file}: {part} is not in {err}");
        }
        assert!(!err.contains(PLANTED) && !folder.path().join("new.acklab").exists());
    }
}

/// A zip archive of these files.
fn zipped(to: &Path, files: &[(&str, &[u8])]) {
    let mut zip = ZipWriter::new(File::create(to).unwrap());
    for (name, bytes) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

#[test]
fn what_is_no_pack_or_not_whole_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    of_an_endpoint(&at("mine.acklab"));
    let (_, files) = packed(folder.path(), "mine.acklab");
    let whole = fs::read(at("out.zip")).unwrap();
    fs::write(at("cut.zip"), &whole[..whole.len() / 2]).unwrap();
    let named: Vec<(String, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (format!("x/{name}"), &bytes[..]))
        .collect();
    let all: Vec<(&str, &[u8])> = named
        .iter()
        .map(|(name, bytes)| (&name[..], *bytes))
        .collect();
    zipped(&at("good.zip"), &all);
    let mut changed = all.clone();
    let readme = changed
        .iter()
        .position(|(name, _)| *name == "x/README.txt")
        .unwrap();
    changed[readme].1 = b"another";
    zipped(&at("changed.zip"), &changed);
    zipped(
        &at("more.zip"),
        &[&all[..], &[("x/../../more", &b"more"[..])]].concat(),
    );
    let less: Vec<_> = all
        .iter()
        .filter(|one| one.0 != "x/run.json")
        .copied()
        .collect();
    zipped(&at("less.zip"), &less);
    zipped(&at("other.zip"), &[("x/a", b"a")]);
    fs::write(at("text.zip"), "no zip").unwrap();
    for (file, why) in [
        ("cut.zip", "damaged pack"),
        ("changed.zip", "README.txt is not what MANIFEST.sha256 says"),
        ("more.zip", "more is not in MANIFEST.sha256"),
        ("less.zip", "run.json"),
        ("other.zip", "without MANIFEST.sha256"),
        ("text.zip", "another kind of file"),
        ("absent.zip", "absent.zip"),
    ] {
        let output = acklab(folder.path(), &["run", "--again", file]);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(
            (output.status.code(), &out[..]),
            (Some(2), ""),
            "{file}: {err}"
        );
        assert!(
            err.contains(why) && err.lines().count() == 1,
            "{file}: {err}"
        );
    }
    let output = acklab(folder.path(), &["run", "--again", "good.zip"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_packed_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    unpacked("compare", folder.path());
    fs::write(folder.path().join("none.acklab"), "no record").unwrap();
    fs::create_dir(folder.path().join("there")).unwrap();
    for (words, why) in [
        (&["absent.acklab"][..], "absent.acklab"),
        (&["none.acklab"], "another kind of file"),
        (&["compare.acklab", "-o", "there"], "is a folder"),
        (
            &["compare.acklab", "-o", "absent/x.zip"],
            "in a folder that is there",
        ),
        (
            &["compare.acklab", "-o", "./compare.acklab"],
            "the record itself",
        ),
    ] {
        let output = acklab(folder.path(), &[&["pack"][..], words].concat());
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(
            (output.status.code(), &out[..]),
            (Some(2), ""),
            "{words:?}: {err}"
        );
        assert!(err.contains(why), "{words:?}: {err}");
    }
    let names = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["compare.acklab", "none.acklab", "there"]);
}
