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
/// MySQL's redo log in a data directory, from 8.0.30 on,
pub const REDO_FOLDER: &str = "#innodb_redo";
/// and how the names of files end there that are reserved and hold nothing yet.
pub const REDO_RESERVED: &str = "_tmp";

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
        return drop_reserve(&target);
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
    drop_reserve(&part)?;
    fs::rename(&part, &target).tried(|| format!("put {} in place", target.display()))
}

/// What MySQL reserves for its redo log it makes anew at each start: a copy of it would only take
/// room, 100 MB a node.
fn drop_reserve(data: &Path) -> Result<()> {
    let Ok(entries) = fs::read_dir(data.join(REDO_FOLDER)) else {
        return Ok(());
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.to_string_lossy().ends_with(REDO_RESERVED) {
            fs::remove_file(&path).tried(|| format!("remove {}", path.display()))?;
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_is_not_kept_and_all_else_is() {
        let data = tempfile::tempdir().unwrap();
        drop_reserve(data.path()).unwrap();
        let redo = data.path().join(REDO_FOLDER);
        fs::create_dir(&redo).unwrap();
        for name in ["#ib_redo6", "#ib_redo7_tmp", "#ib_redo8_tmp"] {
            fs::write(redo.join(name), "x").unwrap();
        }
        drop_reserve(data.path()).unwrap();
        let left = fs::read_dir(&redo).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["#ib_redo6"]);
    }
}
