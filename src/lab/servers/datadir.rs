//! Data directories: initialised once per server, copied for every node.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

use super::apt::succeeded;
use super::bootstrap;
use super::cache::Cache;
use super::program::Program;
use crate::error::{Result, Tried};
use crate::lab::sandbox::{SERVER_UID, as_server_user};

/// The account that load and replication use. Servers can be reached from inside the sandbox only.
pub const USER: &str = "acklab";
/// Its password: it makes the handshake the one that real clients pay for.
pub const PASSWORD: &str = "acklab";
/// The database of the load's tables.
pub const DATABASE: &str = "acklab";

/// Statements that every new data directory gets: accounts, the load's database, the heartbeat.
fn first_statements() -> Vec<String> {
    [
        format!("CREATE USER '{USER}'@'%' IDENTIFIED BY '{PASSWORD}'"),
        format!("GRANT ALL ON {DATABASE}.* TO '{USER}'@'%'"),
        format!("GRANT ALL ON mysqlslap.* TO '{USER}'@'%'"),
        format!("CREATE USER 'repl'@'%' IDENTIFIED BY '{PASSWORD}'"),
        "GRANT ALL ON *.* TO 'repl'@'%'".into(),
        format!("CREATE DATABASE {DATABASE}"),
        "CREATE DATABASE acklab_lab".into(),
        "CREATE TABLE acklab_lab.heartbeat (id INT PRIMARY KEY, beat BIGINT NOT NULL) \
         ENGINE=InnoDB"
            .into(),
        "INSERT INTO acklab_lab.heartbeat VALUES (1, 0)".into(),
    ]
    .into()
}

/// Makes sure that the server's initialised data directory exists. Call inside the sandbox only:
/// the server runs as the lab's own user.
///
/// # Errors
/// A breakdown with the server's last log lines.
pub fn ensure(cache: &Cache, program: &Program, say: &dyn Fn(&str)) -> Result<()> {
    let _lock = cache.lock()?;
    let target = cache.data(&program.kept.name);
    if target.exists() {
        return Ok(());
    }
    say(&format!(
        "initialising {} {}",
        program.kept.name, program.kept.version
    ));
    let part = target.with_extension("part");
    let _ = fs::remove_dir_all(&part);
    fs::create_dir_all(&part).tried(|| format!("make {}", part.display()))?;
    chown(&part, Some(SERVER_UID), Some(SERVER_UID)).tried(|| "hand over a folder".into())?;
    let outcome = match program.dialect().optional("bootstrap_scripts") {
        Some(scripts) => bootstrap::run(program, scripts, &part, &first_statements()),
        None => initialise(program, &part),
    };
    if let Err(error) = outcome {
        let _ = fs::remove_dir_all(&part);
        return Err(error);
    }
    // Each node makes its own identity at its first start.
    let _ = fs::remove_file(part.join("auto.cnf"));
    fs::rename(&part, &target).tried(|| format!("put {} in place", target.display()))
}

/// Lets a server initialise its data directory by itself.
fn initialise(program: &Program, data: &Path) -> Result<()> {
    let sql = data.with_extension("sql");
    let text: String = first_statements()
        .iter()
        .map(|line| format!("{line};\n"))
        .collect();
    fs::write(&sql, text).tried(|| format!("write {}", sql.display()))?;
    let mut command = program.command("--no-defaults");
    command
        .arg("--initialize-insecure")
        .arg(format!("--datadir={}", data.display()));
    command.arg(format!("--init-file={}", sql.display()));
    for (name, value, _) in &program.terms {
        // The redo log is laid out here; the rest is for running servers.
        if name.starts_with("innodb_redo_log") || name.starts_with("innodb_log_file") {
            command.arg(format!("--{name}={value}"));
        }
    }
    command.arg("--innodb-flush-log-at-trx-commit=0");
    let output = as_server_user(&mut command).output();
    let output = output.tried(|| format!("initialise {}", program.kept.name))?;
    let _ = fs::remove_file(&sql);
    succeeded(&output, &format!("initialise {}", program.kept.name))
}

/// Copies a data directory for a node, sharing blocks where the file system can.
pub fn copy(cache: &Cache, program: &Program, target: &Path) -> Result<()> {
    let tried = format!("copy a data directory to {}", target.display());
    let mut command = Command::new("cp");
    command
        .args(["-a", "--reflink=auto"])
        .arg(cache.data(&program.kept.name))
        .arg(target);
    let output = command.output().tried(|| tried.clone())?;
    succeeded(&output, &tried)
}
