//! Servers from Debian packages, unpacked beside the system: apt with private lists, cache and an
//! empty dpkg status, so that nothing is installed and every library comes along.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::error::{Breakdown, Result, Tried, breakdown};

/// One line of a source list: mirror, suite, component.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SourceLine {
    site: String,
    suite: String,
}

/// Fetches `packages` with all they depend on and unpacks them into `root`; `work` is a scratch
/// folder. Returns the first package's name and version.
///
/// # Errors
/// A breakdown with apt's last lines: no apt, no mirror, no such package, no space.
pub fn fetch(
    suite: &str,
    packages: &[String],
    work: &Path,
    root: &Path,
    say: &dyn Fn(&str),
) -> Result<String> {
    let lines = source_lines(suite)?;
    write_state(work, &lines)?;
    say("reading package lists");
    apt(
        work,
        &["update"],
        &format!("read the package lists of suite {suite}"),
    )?;
    say("downloading packages");
    let mut download = vec!["--yes", "--download-only", "install"];
    download.extend(packages.iter().map(String::as_str));
    apt(
        work,
        &download,
        &format!("fetch {} from suite {suite}", packages.join(", ")),
    )?;
    say("unpacking");
    unpack_all(&work.join("archives"), root)?;
    package_version(&work.join("archives"), &packages[0])
}

/// The mirror lines for a suite, taken from the machine's own configuration.
fn source_lines(suite: &str) -> Result<Vec<SourceLine>> {
    let mut command = Command::new("apt-get");
    command.args([
        "indextargets",
        "--format",
        "$(SITE) $(RELEASE) $(COMPONENT)",
    ]);
    command.arg("Created-By: Packages");
    let output = command
        .output()
        .tried(|| "ask apt-get for the machine's mirror".into())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let own = own_lines(&text, &codename(&release));
    let Some(main) = own.first().cloned() else {
        let status = "apt knows no `main` component of this machine's own suite";
        return Err(breakdown("find a package mirror", status));
    };
    Ok(if suite == "own" {
        own
    } else {
        vec![SourceLine {
            suite: suite.into(),
            ..main
        }]
    })
}

fn codename(os_release: &str) -> String {
    let line = os_release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    line.unwrap_or_default().trim_matches('"').to_owned()
}

/// The machine's own suite first, then its updates and security suites.
fn own_lines(targets: &str, codename: &str) -> Vec<SourceLine> {
    let mut lines: Vec<SourceLine> = Vec::new();
    for target in targets.lines() {
        let fields: Vec<&str> = target.split_whitespace().collect();
        let [site, suite, "main"] = fields[..] else {
            continue;
        };
        let line = SourceLine {
            site: site.into(),
            suite: suite.into(),
        };
        if !codename.is_empty() && suite.starts_with(codename) && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.sort_by_key(|line| line.suite != codename);
    lines
}

fn write_state(work: &Path, lines: &[SourceLine]) -> Result<()> {
    for folder in ["lists/partial", "archives/partial", "root"] {
        let path = work.join(folder);
        fs::create_dir_all(&path).tried(|| format!("make {}", path.display()))?;
    }
    let keyring = Path::new("/usr/share/keyrings/debian-archive-keyring.gpg");
    let signed = if keyring.exists() {
        format!("[signed-by={}] ", keyring.display())
    } else {
        String::new()
    };
    let row = |line: &SourceLine| format!("deb {signed}{} {} main\n", line.site, line.suite);
    let text: String = lines.iter().map(row).collect();
    fs::write(work.join("status"), "").tried(|| "write an empty dpkg status".into())?;
    fs::write(work.join("sources.list"), text).tried(|| "write a source list".into())
}

fn apt(work: &Path, arguments: &[&str], tried: &str) -> Result<()> {
    let at = |name: &str| work.join(name).display().to_string();
    let settings = [
        ("Dir::State", at("")),
        ("Dir::State::lists", at("lists")),
        ("Dir::State::status", at("status")),
        ("Dir::Cache", at("")),
        ("Dir::Cache::archives", at("archives")),
        ("Dir::Etc::sourcelist", at("sources.list")),
        ("Dir::Etc::sourceparts", "-".into()),
        ("APT::Install-Recommends", "false".into()),
        ("APT::Sandbox::User", "root".into()),
        ("Acquire::Retries", "3".into()),
    ];
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("LC_ALL", "C");
    for (name, value) in settings {
        command.arg("-o").arg(format!("{name}={value}"));
    }
    let output = command
        .args(arguments)
        .output()
        .tried(|| tried.to_owned())?;
    succeeded(&output, tried)
}

/// Turns a failed program's last lines into a breakdown.
pub fn succeeded(output: &Output, tried: &str) -> Result<()> {
    if output.status.success() {
        return Ok(());
    }
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let last = lines.len().saturating_sub(6);
    Err(Breakdown {
        tried: tried.to_owned(),
        status: output.status.to_string(),
        log: lines[last..].to_vec(),
    }
    .into())
}

fn unpack_all(archives: &Path, root: &Path) -> Result<()> {
    let entries = fs::read_dir(archives).tried(|| format!("read {}", archives.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            let mut command = Command::new("dpkg-deb");
            let tried = format!("unpack {}", path.display());
            let output = command.arg("-x").arg(&path).arg(root).output();
            succeeded(&output.tried(|| tried.clone())?, &tried)?;
        }
    }
    Ok(())
}

/// `NAME VERSION` of the package called `package` among the downloaded ones.
fn package_version(archives: &Path, package: &str) -> Result<String> {
    let entries = fs::read_dir(archives).tried(|| format!("read {}", archives.display()))?;
    let names = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let prefix = format!("{package}_");
    let found = names.into_iter().find(|name| name.starts_with(&prefix));
    let name =
        found.ok_or_else(|| breakdown(format!("find {package}"), "it was not downloaded"))?;
    let version = name
        .split('_')
        .nth(1)
        .unwrap_or_default()
        .replace("%3a", ":");
    Ok(format!("{package} {version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_suite_comes_first_and_foreign_repositories_are_left_out() {
        let targets = "http://m/security bookworm-security main\n\
                       http://m/debian bookworm main\n\
                       http://m/debian bookworm contrib\n\
                       http://other/x nodistro main\n\
                       http://m/debian bookworm main\n";
        let lines = own_lines(targets, "bookworm");
        let suites: Vec<&str> = lines.iter().map(|line| line.suite.as_str()).collect();
        assert_eq!(suites, ["bookworm", "bookworm-security"]);
        assert_eq!(lines[0].site, "http://m/debian");
    }

    #[test]
    fn codename_is_read_quoted_or_not() {
        assert_eq!(
            codename("ID=debian\nVERSION_CODENAME=bookworm\n"),
            "bookworm"
        );
        assert_eq!(codename("VERSION_CODENAME=\"trixie\"\n"), "trixie");
        assert_eq!(codename(""), "");
    }

    #[test]
    fn failure_keeps_the_last_lines() {
        let output = Command::new("sh")
            .args(["-c", "echo no such package >&2; exit 100"])
            .output();
        let error = succeeded(&output.expect("sh runs"), "fetch x").expect_err("it failed");
        assert!(error.to_string().contains("no such package"), "{error}");
    }
}
