//! The ordinary clients of package managers: found on the PATH, or the user is told how to get
//! them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::error::{Breakdown, Mistake, Result, Tried};

/// Lines of a failed client that are shown: the first, for what follows them is advice.
const LINES: usize = 6;

/// A client program that fetches servers.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    pub program: &'static str,
    /// The Debian package that it comes in.
    pub package: &'static str,
}

/// The client of the npm registry.
pub const NPM: Client = Client {
    program: "npm",
    package: "npm",
};
/// The client of Maven repositories.
pub const MVN: Client = Client {
    program: "mvn",
    package: "maven",
};

impl Client {
    /// Runs it in the folder `work`, whatever the user's own folder holds, with the mirror and the
    /// proxies that the machine is set up for.
    ///
    /// # Errors
    /// A mistake if it is not installed; a breakdown with its first lines if it fails.
    pub fn run(self, work: &Path, arguments: &[String], tried: &str) -> Result<()> {
        self.require()?;
        let mut command = Command::new(self.program);
        command.args(arguments).current_dir(work);
        let output = command.output().tried(|| tried.to_owned())?;
        if output.status.success() {
            return Ok(());
        }
        let status = output.status.to_string();
        Err(Breakdown {
            tried: tried.to_owned(),
            status,
            log: telling_lines(&output),
        }
        .into())
    }

    /// A mistake that names its package if it is not installed.
    pub fn require(self) -> Result<()> {
        if on_path(self.program).is_ok() {
            return Ok(());
        }
        let Client { program, package } = self;
        let allowed = format!("install it: apt-get install {package}; or choose another server");
        Err(Mistake::new("servers", program, "no such program on the PATH", &allowed).into())
    }
}

/// Where a program lies that is on the PATH or in a system folder.
pub fn on_path(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let found = folders
        .iter()
        .map(|folder| folder.join(program))
        .find(|path| path.is_file());
    found.ok_or_else(|| {
        let allowed = "install it, put its folder on the PATH, or choose another server";
        Mistake::new("servers", program, "no such program on the PATH", allowed).into()
    })
}

/// The first lines that say anything.
fn telling_lines(output: &Output) -> Vec<String> {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let is_telling = |line: &&str| !["", "[ERROR]"].contains(line);
    let lines = text.lines().map(str::trim).filter(is_telling);
    lines.take(LINES).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSENT: Client = Client {
        program: "acklab-no-such-client",
        package: "no-such-package",
    };

    #[test]
    fn an_absent_client_is_told_with_its_package() {
        let error = ABSENT.run(Path::new("/"), &[], "fetch x");
        let error = error.expect_err("there is no such program");
        assert_eq!(error.exit_code(), 2);
        let told = error.to_string();
        for part in ["acklab-no-such-client", "apt-get install no-such-package"] {
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn a_failed_client_is_told_with_what_was_tried() {
        let shell = Client {
            program: "sh",
            package: "dash",
        };
        let script = "echo E404 >&2; echo '[ERROR] '; seq 1 20; pwd; exit 1";
        let arguments = ["-c", script].map(str::to_owned);
        let error = shell.run(Path::new("/"), &arguments, "fetch x with npm");
        let told = error.expect_err("it failed").to_string();
        let lines: Vec<&str> = told.lines().map(str::trim).collect();
        assert!(
            lines[0].contains("could not fetch x with npm: exit status: 1"),
            "{told}"
        );
        assert_eq!(lines[1..], ["1", "2", "3", "4", "5", "6"], "{told}");
        let brief = ["-c", "pwd; echo E404 >&2; exit 1"].map(str::to_owned);
        let error = shell.run(Path::new("/usr"), &brief, "fetch x");
        let told = error.expect_err("it failed").to_string();
        assert!(told.ends_with("\n    /usr\n    E404"), "{told}");
    }
}
