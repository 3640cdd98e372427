//! The cache: fetched servers and their initialised data directories.
//!
//! ```text
//! CACHE/servers/NAME/server.toml   what it is: the folder is whole if and only if this exists
//!                    root/         the unpacked files
//!                    data/         an initialised data directory, copied for every node
//! CACHE/servers/NAME/proxy.toml    the same of a proxy: see `proxies`
//! ```
//! Everything is built in a folder beside and renamed, so a half-finished one is never taken for
//! a whole one.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::catalogue::{Catalogue, Entry, Libraries, Source};
use super::client::{Client, MVN, NPM, on_path};
use super::program::{Kept, Program};
use super::{apt, maven, npm, tarball, wrap};
use crate::error::{Mistake, Result, Tried, breakdown};

/// The cache folder.
#[derive(Debug, Clone)]
pub struct Cache {
    pub path: PathBuf,
}

impl Cache {
    /// The user's cache: `$ACKLAB_CACHE`, `$XDG_CACHE_HOME/acklab` or `~/.cache/acklab`.
    pub fn of_user() -> Result<Cache> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let path = variable("ACKLAB_CACHE").map(PathBuf::from);
        let xdg = || variable("XDG_CACHE_HOME").map(|path| PathBuf::from(path).join("acklab"));
        let home = || variable("HOME").map(|path| PathBuf::from(path).join(".cache/acklab"));
        let path = path.or_else(xdg).or_else(home);
        let path = path.unwrap_or_else(|| PathBuf::from("/var/cache/acklab"));
        Cache::at(&std::path::absolute(&path).unwrap_or(path))
    }

    /// A cache in that folder, made if it does not exist.
    pub fn at(path: &Path) -> Result<Cache> {
        let servers = path.join("servers");
        fs::create_dir_all(&servers).tried(|| format!("make {}", servers.display()))?;
        for folder in [path, &servers] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
                .tried(|| format!("make {} readable for servers", folder.display()))?;
        }
        Ok(Cache {
            path: path.to_owned(),
        })
    }

    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.path.join("servers").join(name)
    }

    /// Folder of a server's initialised data directory.
    pub fn data(&self, name: &str) -> PathBuf {
        self.folder(name).join("data")
    }

    /// Held while something is fetched or initialised, so that two commands do not do it at once.
    pub fn lock(&self) -> Result<Flock<File>> {
        let path = self.path.join("lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let file = file.tried(|| format!("open {}", path.display()))?;
        Flock::lock(file, FlockArg::LockExclusive)
            .map_err(|(_, error)| breakdown(format!("lock {}", path.display()), error.desc()))
    }

    /// The server of that name, if it is here whole.
    pub fn program(&self, catalogue: &Catalogue, name: &str) -> Result<Option<Program>> {
        let folder = self.folder(name);
        let Ok(text) = fs::read_to_string(folder.join("server.toml")) else {
            return Ok(None);
        };
        let kept: Kept = toml::from_str(&text)
            .tried(|| format!("read {}", folder.join("server.toml").display()))?;
        if let Source::Installed { .. } = kept.source {
            // The user may have removed or replaced it since.
            let version = kept.version.clone();
            let program = Program::locate(catalogue, kept, Path::new("/")).ok();
            return Ok(program.filter(|program| program.ask_version() == Ok(version)));
        }
        Program::locate(catalogue, kept, &folder.join("root")).map(Some)
    }

    /// Names of all servers: the catalogue's and those the user added.
    pub fn names(&self, catalogue: &Catalogue) -> Vec<String> {
        let mut names: Vec<String> = catalogue.servers.iter().map(|e| e.name.clone()).collect();
        let entries = fs::read_dir(self.path.join("servers"))
            .into_iter()
            .flatten()
            .flatten();
        let added = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_whole = |name: &String| self.folder(name).join("server.toml").exists();
        let mut added: Vec<String> = added.filter(is_whole).collect();
        added.sort();
        added.retain(|name| !names.contains(name));
        names.extend(added);
        names
    }

    /// Fetches a server of the catalogue unless it is here already.
    ///
    /// # Errors
    /// A mistake for an unknown name, a breakdown if its source cannot deliver.
    pub fn install(
        &self,
        catalogue: &Catalogue,
        name: &str,
        say: &dyn Fn(&str),
    ) -> Result<Program> {
        let _lock = self.lock()?;
        if let Some(program) = self.program(catalogue, name)? {
            return Ok(program);
        }
        let Some(entry) = catalogue.entry(name) else {
            let names = self.names(catalogue).join(", ");
            return Err(Mistake::new("servers", "server", name, &format!("one of {names}")).into());
        };
        // What is left of an installed server that has been replaced since.
        let _ = fs::remove_dir_all(self.folder(name));
        let fetched = |part: &Path| fetch(entry, part, say);
        self.build(catalogue, name, fetched)?;
        let program = self.program(catalogue, name)?;
        program.ok_or_else(|| breakdown(format!("fetch {name}"), "it vanished from the cache"))
    }

    /// Adds a server from the user's own tarball.
    ///
    /// # Errors
    /// A mistake if the name is taken or the file is no server's tarball.
    pub fn add(&self, catalogue: &Catalogue, name: &str, file: &Path) -> Result<Program> {
        let _lock = self.lock()?;
        let place = "acklab servers add";
        let good = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(good) {
            let allowed = "letters, digits, `-`, `.` and `_`, not starting with a dot";
            return Err(Mistake::new(place, "--name", name, allowed).into());
        }
        let is_known = catalogue.entry(name).is_some() || catalogue.proxy(name).is_some();
        if is_known || self.folder(name).exists() {
            return Err(Mistake::new(place, "--name", name, "a name that is not taken yet").into());
        }
        self.build(catalogue, name, |part| {
            tarball::unpack(file, &part.join("root"))?;
            let flavour = tarball::flavour(catalogue, &part.join("root"));
            let not_a_server = || {
                let given = file.display().to_string();
                Mistake::new(
                    place,
                    "FILE",
                    &given,
                    "a tarball with bin/mysqld or bin/mariadbd",
                )
            };
            Ok(Kept {
                name: name.to_owned(),
                flavour: flavour.ok_or_else(not_a_server)?,
                version: String::new(),
                origin: called(file),
                source: Source::Tarball {
                    file: file.to_owned(),
                },
            })
        })?;
        let program = self.program(catalogue, name)?;
        program.ok_or_else(|| breakdown(format!("add {name}"), "it vanished from the cache"))
    }

    /// Builds a server's folder beside its place, asks the server its version, renames.
    fn build(
        &self,
        catalogue: &Catalogue,
        name: &str,
        fill: impl FnOnce(&Path) -> Result<Kept>,
    ) -> Result<()> {
        let part = self.folder(&format!(".{name}.part"));
        let _ = fs::remove_dir_all(&part);
        fs::create_dir_all(&part).tried(|| format!("make {}", part.display()))?;
        let outcome = finish(catalogue, &part, fill).and_then(|()| {
            let target = self.folder(name);
            fs::rename(&part, &target).tried(|| format!("put {} in place", target.display()))
        });
        if outcome.is_err() {
            let _ = fs::remove_dir_all(&part);
        }
        outcome
    }
}

fn finish(
    catalogue: &Catalogue,
    part: &Path,
    fill: impl FnOnce(&Path) -> Result<Kept>,
) -> Result<()> {
    let mut kept = fill(part)?;
    let root = match kept.source {
        Source::Installed { .. } => PathBuf::from("/"),
        _ => part.join("root"),
    };
    let program = Program::locate(catalogue, kept.clone(), &root)?;
    kept.version = program.ask_version()?;
    if matches!(kept.source, Source::Apt { .. }) {
        wrap::wrap_tools(&program)?;
    }
    let text = toml::to_string(&kept).tried(|| "describe a server".into())?;
    fs::write(part.join("server.toml"), text).tried(|| "write server.toml".into())
}

fn fetch(entry: &Entry, part: &Path, say: &dyn Fn(&str)) -> Result<Kept> {
    let (work, root) = (part.join("work"), part.join("root"));
    let label = entry.source.label();
    // Libraries go first: a server's own files are laid over them.
    let beside = |client: Client, libraries: &Libraries| {
        client.require()?;
        let (suite, packages) = (&libraries.suite, &libraries.packages);
        apt::fetch(suite, packages, &work.join("libraries"), &root, say)?;
        say("downloading the server");
        Result::Ok(())
    };
    let origin = match &entry.source {
        Source::Apt { suite, packages } => {
            let origin = apt::fetch(suite, packages, &work, &root, say)?;
            format!("{origin} ({label})")
        }
        Source::Npm {
            package,
            files,
            libraries,
        } => {
            beside(NPM, libraries)?;
            format!("{} ({label})", npm::fetch(package, files, &work, &root)?)
        }
        Source::Maven {
            artifact,
            files,
            libraries,
        } => {
            beside(MVN, libraries)?;
            format!("{} ({label})", maven::fetch(artifact, files, &work, &root)?)
        }
        Source::Installed { program } => on_path(program)?.display().to_string(),
        Source::Tarball { file } => called(file),
    };
    let _ = fs::remove_dir_all(&work);
    Ok(Kept {
        name: entry.name.clone(),
        flavour: entry.flavour,
        version: String::new(),
        origin,
        source: entry.source.clone(),
    })
}

/// A tarball by its name alone: the same one may stand in another folder on another machine.
fn called(tarball: &Path) -> String {
    let name = tarball.file_name().unwrap_or(tarball.as_os_str());
    name.to_string_lossy().into_owned()
}
