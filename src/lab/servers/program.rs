//! A server program that can be started: paths, loader, version.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::catalogue::{Catalogue, Dialect, Flavour, Part, Source, Version, first_existing};
use crate::error::{Result, breakdown};

/// What is kept beside a fetched server, in `server.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub name: String,
    pub flavour: Flavour,
    /// What the program itself says.
    pub version: String,
    /// The exact package version or the file it came from.
    pub origin: String,
    #[serde(flatten)]
    pub source: Source,
}

/// A server program.
#[derive(Debug, Clone)]
pub struct Program {
    pub kept: Kept,
    /// Loader, its options and the server: to be followed by the server's own options.
    argv: Vec<String>,
    /// Options that say where the server's files are.
    place: Vec<String>,
    /// Root of the unpacked files; `/` for an installed server.
    pub root: PathBuf,
    pub galera: Option<PathBuf>,
    /// Where scripts for a new data directory may be, best first.
    pub scripts: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
    dialect: Dialect,
    pub terms: Vec<(String, String, String)>,
    pub modes: Vec<String>,
}

impl Program {
    /// Finds the files of an unpacked server below `root`.
    ///
    /// # Errors
    /// A breakdown that names the root if it holds no server of that flavour.
    pub fn locate(catalogue: &Catalogue, kept: Kept, root: &Path) -> Result<Program> {
        let layout = catalogue.layout(kept.flavour);
        let find = |candidates: &[String]| first_existing(root, candidates);
        let Some(server) = find(&layout.program) else {
            let status = format!("none of {} exists", layout.program.join(", "));
            return Err(breakdown(
                format!("find a server in {}", root.display()),
                status,
            ));
        };
        let has_loader = kept.source.has_loader();
        let libraries = library_folders(root, &layout.libraries);
        let base = match kept.source {
            Source::Apt { .. } => root.join("usr"),
            _ => root.to_owned(),
        };
        let place = [
            ("plugin-dir", find(&layout.plugins)),
            ("lc-messages-dir", find(&layout.messages)),
            ("character-sets-dir", find(&layout.charsets)),
            ("basedir", Some(base)),
        ];
        let option = |(name, path): &(&str, Option<PathBuf>)| {
            path.as_ref()
                .map(|path| format!("--{name}={}", path.display()))
        };
        let galera = find(&layout.galera);
        let version = Version::parse(&kept.version);
        let has = |part| match part {
            Part::Galera => galera.is_some(),
            Part::Plugins => find(&layout.plugins).is_some(),
        };
        Ok(Program {
            argv: through_loader(root, &server, &libraries, has_loader),
            place: place.iter().filter_map(option).collect(),
            scripts: layout.messages.iter().map(|path| root.join(path)).collect(),
            root: root.to_owned(),
            libraries,
            dialect: catalogue.dialect(kept.flavour, &version, has),
            terms: catalogue.terms(kept.flavour, &version),
            modes: catalogue.modes(kept.flavour, &version, has),
            galera,
            kept,
        })
    }

    /// What this server calls things.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// The version as numbers.
    pub fn version(&self) -> Version {
        Version::parse(&self.kept.version)
    }

    /// Starts the server's command line: program and places, then the caller adds options. The
    /// first option must be `--no-defaults` or `--defaults-file`, so the caller gives it here.
    pub fn command(&self, defaults: &str) -> Command {
        let mut command = self.command_of(&self.argv);
        command.arg(defaults).args(&self.place);
        command
    }

    /// Any other program of the same server (its client, its slap), run with its own libraries.
    pub fn tool(&self, path: &Path) -> Command {
        let has_loader = self.kept.source.has_loader();
        let argv = through_loader(&self.root, path, &self.libraries, has_loader);
        self.command_of(&argv)
    }

    fn command_of(&self, argv: &[String]) -> Command {
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]);
        command
    }

    /// A PATH on which the server's own scripts find its tools: see `wrap_tools`.
    pub fn path(&self) -> String {
        let system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        let own = ["usr/bin", "bin"].map(|folder| self.root.join(folder).display().to_string());
        format!("{}:{system}", own.join(":"))
    }

    /// The `SELECT VERSION()`-like text that `--version` prints.
    pub fn ask_version(&self) -> Result<String> {
        let output = self.command("--no-defaults").arg("--version").output();
        let output =
            output.map_err(|error| breakdown("ask a server its version", error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        version_in(&text).ok_or_else(|| {
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            breakdown(
                format!("ask {} its version", self.argv.join(" ")),
                text + &errors,
            )
        })
    }
}

/// The word after `Ver` in what `--version` prints.
fn version_in(text: &str) -> Option<String> {
    let mut words = text.split_whitespace().skip_while(|word| *word != "Ver");
    words.nth(1).map(str::to_owned)
}

/// Folders of libraries that exist, with those directly below them that hold more.
pub(super) fn library_folders(root: &Path, candidates: &[String]) -> Vec<PathBuf> {
    let paths = candidates.iter().map(|candidate| root.join(candidate));
    paths.filter(|path| path.is_dir()).collect()
}

/// A server that brought a loader runs through it, so that the machine's own C library does not
/// matter; any other runs as it is.
pub(super) fn through_loader(
    root: &Path,
    program: &Path,
    libs: &[PathBuf],
    has_loader: bool,
) -> Vec<String> {
    let text = |path: &Path| path.display().to_string();
    let candidates = [
        "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
        "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
        "usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1",
        "lib/aarch64-linux-gnu/ld-linux-aarch64.so.1",
    ]
    .map(str::to_owned);
    match first_existing(root, &candidates).filter(|_| has_loader) {
        None => vec![text(program)],
        Some(loader) => {
            let path: Vec<String> = libs.iter().map(|lib| text(lib)).collect();
            let library_path = "--library-path".to_owned();
            vec![text(&loader), library_path, path.join(":"), text(program)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_from_what_servers_print() {
        let mysql = "/x/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))";
        let mariadb = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64";
        assert_eq!(version_in(mysql).as_deref(), Some("9.7.4-2"));
        assert_eq!(
            version_in(mariadb).as_deref(),
            Some("10.11.19-MariaDB-0+deb12u1")
        );
        assert_eq!(version_in("no such thing"), None);
    }
}
