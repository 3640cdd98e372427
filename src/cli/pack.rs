//! `pack`: a record with all that is needed to run it again, as one file that can be given away.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Mistake, Result};
use crate::pack::{Known, Scrubber, write};
use crate::record::Header;
use crate::record::store::Record;
use crate::run::endpoint::PASSWORD_VARIABLE;

/// Where the name of whoever runs this may be.
const USER_VARIABLES: [&str; 4] = ["USER", "LOGNAME", "SUDO_USER", "DOAS_USER"];

/// Packs a record, names the file, and tells what was left out.
pub fn run(record: &Path, output: Option<&Path>) -> Result<u8> {
    let to = match output {
        Some(file) => file.to_owned(),
        None => beside_nothing(record),
    };
    check_place(&to, record)?;
    let header = Record::open(record)?.header;
    let packed = write(record, &to, &Scrubber::new(known(&header, record)))?;
    let left_out = match packed.left_out.is_empty() {
        true => "nothing was found that had to be left out".to_owned(),
        false => format!("left out: {}", packed.left_out.join(", ")),
    };
    say!("{}", to.display());
    let _ = writeln!(
        io::stderr(),
        "{} files\n{left_out}\n\
         look through it before you give it away: its README.txt says what is in it",
        packed.files
    );
    Ok(0)
}

/// In this folder, called as the record is.
fn beside_nothing(record: &Path) -> PathBuf {
    let stem = record.file_stem().unwrap_or(record.as_os_str());
    let mut name = stem.to_owned();
    name.push(".pack.zip");
    PathBuf::from(name)
}

fn check_place(to: &Path, record: &Path) -> Result<()> {
    let wrong = |allowed: &str| {
        let given = to.display().to_string();
        Err(Mistake::new("command line", "--output", &given, allowed).into())
    };
    if to.is_dir() {
        return wrong("is a folder: name the file to write, run.pack.zip in it, say");
    }
    let is_record = to.canonicalize().ok().zip(record.canonicalize().ok());
    match is_record.is_some_and(|(to, record)| to == record) {
        true => wrong("is the record itself: name another file"),
        false => Ok(()),
    }
}

/// What this machine knows that must not be in a pack.
fn known(header: &Header, record: &Path) -> Known {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let mut secrets: Vec<String> = variable(PASSWORD_VARIABLE).into_iter().collect();
    secrets.extend(passwords(header, record));
    let home = variable("HOME").map(PathBuf::from);
    let home = home.as_deref().and_then(Path::file_name);
    let home = home.map(|name| name.to_string_lossy().into_owned());
    let users = USER_VARIABLES.into_iter().filter_map(variable);
    let host = nix::unistd::gethostname().ok();
    let host = host.and_then(|name| name.into_string().ok());
    Known {
        secrets,
        users: users.chain(home).collect(),
        hosts: host.into_iter().collect(),
    }
}

/// Those in the files that the study names, as far as they are still there: beside the study,
/// beside the record, or here.
fn passwords(header: &Header, record: &Path) -> Vec<String> {
    let endpoints = header.study.modes.iter().map(|spec| &spec.endpoint);
    let files = endpoints.flatten().flat_map(|one| &one.password_file);
    let words = header.command_line.iter().map(Path::new);
    let folders = words.chain([record]).filter_map(Path::parent);
    let folders: Vec<&Path> = folders.chain([Path::new("")]).collect();
    let read = |file: &String| {
        let texts = folders
            .iter()
            .map(|folder| fs::read_to_string(folder.join(file)));
        let texts = texts.flatten().map(|text| text.trim_end().to_owned());
        texts.collect::<Vec<String>>()
    };
    files.flat_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::EndpointSpec;
    use crate::study::endpoint::{Address, Tls};

    #[test]
    fn a_pack_is_called_as_its_record() {
        let told = beside_nothing(Path::new("/x/compare-2026.acklab"));
        assert_eq!(told, Path::new("compare-2026.pack.zip"));
    }

    #[test]
    fn passwords_are_known_from_the_files_that_a_study_names() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("pw"), "s3cret\n").expect("a file");
        let study = folder.path().join("study.toml").display().to_string();
        let address = Address {
            user: "me".into(),
            host: "db".into(),
            port: 3306,
        };
        let mut header = Header {
            command_line: ["acklab", "run", &study].map(str::to_owned).into(),
            ..Header::default()
        };
        header.study.modes = vec![crate::study::ModeSpec {
            endpoint: Some(EndpointSpec {
                writer: address,
                replicas: vec![],
                tls: Tls::Off,
                password_file: Some("pw".into()),
                database: None,
            }),
            ..crate::study::ModeSpec::default()
        }];
        let told = passwords(&header, Path::new("/nowhere/x.acklab"));
        assert_eq!(told, ["s3cret"]);
        header.study.modes[0].endpoint = None;
        assert_eq!(passwords(&header, Path::new("x")), [""; 0]);
    }
}
