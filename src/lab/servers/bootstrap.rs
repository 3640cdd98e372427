//! Data directories of servers that do not initialise themselves: MariaDB, and MySQL before 5.7.
//! The server reads its system tables' statements from its standard input (`--bootstrap`), as the
//! scripts `mariadb-install-db` and `mysql_install_db` make it do.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::apt::succeeded;
use super::program::Program;
use crate::error::{Result, Tried, breakdown};
use crate::lab::sandbox::as_server_user;

/// Makes the data directory `data` with the server's own scripts: the names in `names`, in order;
/// for each, the first that is there of those parted by `|`. The server runs `first` after them.
///
/// # Errors
/// A breakdown with what the server said.
pub fn run(program: &Program, names: &str, data: &Path, first: &[String]) -> Result<()> {
    let tried = format!("initialise {}", program.kept.name);
    let output = feed(
        &mut command(program, data),
        &script(program, names, first)?,
        data,
        &tried,
    )?;
    succeeded(&output, &tried)?;
    // It ends well even after a statement that failed.
    if data.join("acklab_lab/heartbeat.frm").exists() {
        return Ok(());
    }
    let log = String::from_utf8_lossy(&output.stdout).into_owned();
    Err(breakdown(
        tried,
        format!("its bootstrap ended early: {log}"),
    ))
}

fn command(program: &Program, data: &Path) -> Command {
    let mut command = program.command("--no-defaults");
    command
        .arg("--bootstrap")
        .arg(format!("--datadir={}", data.display()));
    command.args(["--loose-wsrep-on=OFF", "--innodb-flush-log-at-trx-commit=0"]);
    for (name, value, _) in &program.terms {
        // The redo log is laid out here; the rest is for running servers.
        if name.starts_with("innodb_log_file") {
            command.arg(format!("--{name}={value}"));
        }
    }
    command
}

/// Runs the server on the script; all that it says is in the output.
fn feed(command: &mut Command, script: &str, data: &Path, tried: &str) -> Result<Output> {
    let tried = || tried.to_owned();
    // Into a file, for nobody would read a pipe while the script is written.
    let path = data.with_extension("log");
    let log = File::create(&path).tried(tried)?;
    command.stderr(log.try_clone().tried(tried)?).stdout(log);
    command.stdin(Stdio::piped());
    let mut child = as_server_user(command).spawn().tried(tried)?;
    let stdin = child.stdin.take();
    let mut stdin = stdin.ok_or_else(|| breakdown(tried(), "no standard input"))?;
    let written = stdin.write_all(script.as_bytes());
    drop(stdin);
    let mut output = child.wait_with_output().tried(tried)?;
    output.stdout = fs::read(&path).unwrap_or_default();
    let _ = fs::remove_file(&path);
    if output.status.success() {
        written.tried(tried)?;
    }
    Ok(output)
}

/// What the install script feeds to a bootstrapping server, then our own statements.
fn script(program: &Program, names: &str, first: &[String]) -> Result<String> {
    let dialect = program.dialect();
    let mut script = String::from("CREATE DATABASE mysql;\nUSE mysql;\n");
    script += dialect.optional("bootstrap_first").unwrap_or_default();
    script += "\n";
    for name in names.split_whitespace() {
        script += &text(program, name)?;
        script += "\n";
    }
    script += dialect.optional("bootstrap_last").unwrap_or_default();
    // From here on accounts can be made.
    script += "\nFLUSH PRIVILEGES;\n";
    for statement in first {
        script += &format!("{statement};\n");
    }
    Ok(script)
}

/// The text of one of the server's scripts: of the first that exists.
fn text(program: &Program, names: &str) -> Result<String> {
    let folders = program.scripts.iter();
    let mut paths = folders.flat_map(|folder| names.split('|').map(|name| folder.join(name)));
    let found = paths.find(|path| path.exists());
    let path = found.ok_or_else(|| {
        let folders: Vec<String> = program
            .scripts
            .iter()
            .map(|f| f.display().to_string())
            .collect();
        let status = format!("none in {}", folders.join(", "));
        breakdown(
            format!("find script {names} of {}", program.kept.name),
            status,
        )
    })?;
    fs::read_to_string(&path).tried(|| format!("read {}", path.display()))
}
