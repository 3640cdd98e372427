//! Proxies in the cache: fetched as servers are, unpacked beside the system, and run by the loader
//! that came with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::apt;
use super::cache::Cache;
use super::catalogue::{Catalogue, ProxyEntry, Source, first_existing};
use super::program::{library_folders, through_loader};
use crate::error::{Mistake, Result, Tried, breakdown};

/// What is kept beside a fetched proxy: its folder is whole if and only if this exists.
const KEPT: &str = "proxy.toml";

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptProxy {
    /// What the program itself says, on one line.
    says: String,
    /// Version of its package.
    version: String,
    /// The exact package and its suite.
    origin: String,
}

/// A proxy that can be started.
#[derive(Debug, Clone)]
pub struct ProxyProgram {
    pub name: String,
    pub version: String,
    /// Where it came from, with the exact package version.
    pub origin: String,
    /// The folder of its plugins, if it has such.
    pub plugins: Option<PathBuf>,
    argv: Vec<String>,
}

impl ProxyProgram {
    /// Its command line, to be followed by its options.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.argv[0]);
        command.args(&self.argv[1..]);
        command
    }

    /// One that cannot be started, for texts.
    #[cfg(test)]
    pub fn example(plugins: Option<&str>) -> ProxyProgram {
        ProxyProgram {
            name: "router".into(),
            version: "1".into(),
            origin: "router 1".into(),
            plugins: plugins.map(PathBuf::from),
            argv: vec!["/nonexistent/router".into()],
        }
    }

    fn locate(entry: &ProxyEntry, kept: KeptProxy, root: &Path) -> Result<ProxyProgram> {
        let found = first_existing(root, &entry.program);
        let program = found.ok_or_else(|| {
            let status = format!("none of {} exists", entry.program.join(", "));
            breakdown(format!("find {} in {}", entry.name, root.display()), status)
        })?;
        let libraries = library_folders(root, &entry.libraries);
        Ok(ProxyProgram {
            name: entry.name.clone(),
            version: kept.version,
            origin: kept.origin,
            plugins: first_existing(root, &entry.plugins),
            argv: through_loader(root, &program, &libraries, entry.source.has_loader()),
        })
    }
}

impl Cache {
    /// The proxy of that name, if it is here whole.
    pub fn proxy(&self, catalogue: &Catalogue, name: &str) -> Result<Option<ProxyProgram>> {
        let folder = self.folder(name);
        let Some(entry) = catalogue.proxy(name) else {
            return Ok(None);
        };
        let Ok(text) = fs::read_to_string(folder.join(KEPT)) else {
            return Ok(None);
        };
        let tried = || format!("read {}", folder.join(KEPT).display());
        let kept: KeptProxy = toml::from_str(&text).tried(tried)?;
        ProxyProgram::locate(entry, kept, &folder.join("root")).map(Some)
    }

    /// Fetches a proxy of the catalogue unless it is here already.
    ///
    /// # Errors
    /// A mistake for an unknown name, a breakdown if its source cannot deliver or what it delivers
    /// does not run.
    pub fn install_proxy(
        &self,
        catalogue: &Catalogue,
        name: &str,
        say: &dyn Fn(&str),
    ) -> Result<ProxyProgram> {
        let _lock = self.lock()?;
        if let Some(program) = self.proxy(catalogue, name)? {
            return Ok(program);
        }
        let Some(entry) = catalogue.proxy(name) else {
            let names: Vec<&str> = catalogue.proxies.iter().map(|e| &e.name[..]).collect();
            let allowed = format!("one of {}", names.join(", "));
            return Err(Mistake::new("servers", "proxy", name, &allowed).into());
        };
        let part = self.folder(&format!(".{name}.part"));
        let outcome = build(entry, &part, say).and_then(|()| {
            let target = self.folder(name);
            fs::rename(&part, &target).tried(|| format!("put {} in place", target.display()))
        });
        let _ = fs::remove_dir_all(&part);
        outcome?;
        let program = self.proxy(catalogue, name)?;
        program.ok_or_else(|| breakdown(format!("fetch {name}"), "it vanished from the cache"))
    }
}

/// Builds a proxy's folder beside its place: fetched, unpacked, and once asked for its version.
fn build(entry: &ProxyEntry, part: &Path, say: &dyn Fn(&str)) -> Result<()> {
    let _ = fs::remove_dir_all(part);
    fs::create_dir_all(part).tried(|| format!("make {}", part.display()))?;
    let Source::Apt { suite, packages } = &entry.source else {
        let status = format!("its source is {}, not apt", entry.source.label());
        return Err(breakdown(format!("fetch {}", entry.name), status));
    };
    let (work, root) = (part.join("work"), part.join("root"));
    let package = apt::fetch(suite, packages, &work, &root, say)?;
    let _ = fs::remove_dir_all(&work);
    let version = package.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut kept = KeptProxy {
        says: String::new(),
        version,
        origin: format!("{package} ({})", entry.source.label()),
    };
    let program = ProxyProgram::locate(entry, kept.clone(), &root)?;
    kept.says = ask_version(&program, &entry.says_version)?;
    let text = toml::to_string(&kept).tried(|| "describe a proxy".into())?;
    fs::write(part.join(KEPT), text).tried(|| format!("write {KEPT}"))
}

/// The first line of what it says of itself: proof that it runs.
fn ask_version(program: &ProxyProgram, option: &str) -> Result<String> {
    let tried = format!("ask {} its version", program.name);
    let output = program.command().arg(option).output();
    let output = output.tried(|| tried.clone())?;
    apt::succeeded(&output, &tried)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn a_fetched_proxy_runs_through_the_loader_that_came_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path()).expect("a cache");
        let catalogue = Catalogue::builtin();
        let proxy = |cache: &Cache| cache.proxy(&catalogue, "haproxy").expect("readable");
        let root = folder.path().join("servers/haproxy/root");
        let loader = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
        put(&root, "usr/sbin/haproxy", "");
        put(&root, loader, "");
        assert!(proxy(&cache).is_none(), "not whole yet");
        let kept = "says = \"x\"\nversion = \"2.6\"\norigin = \"haproxy 2.6 (apt)\"\n";
        put(&root, "../proxy.toml", kept);
        let found = proxy(&cache).expect("whole");
        assert_eq!((&found.version[..], found.plugins.as_ref()), ("2.6", None));
        let command = found.command();
        assert_eq!(command.get_program(), root.join(loader).as_os_str());
        let last = command.get_args().last().expect("the program");
        assert_eq!(last, root.join("usr/sbin/haproxy").as_os_str());
        // It is no server, and no server may take its name.
        assert!(
            cache
                .program(&catalogue, "haproxy")
                .expect("readable")
                .is_none()
        );
        let added = cache.add(&catalogue, "router", Path::new("x.tar.gz"));
        assert!(added.expect_err("taken").to_string().contains("not taken"));
    }

    #[test]
    fn a_proxy_without_its_program_is_a_breakdown() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path()).expect("a cache");
        let root = folder.path().join("servers/router/root");
        put(
            &root,
            "../proxy.toml",
            "says = \"\"\nversion = \"\"\norigin = \"\"\n",
        );
        let found = cache.proxy(&Catalogue::builtin(), "router");
        let told = found.expect_err("no program").to_string();
        assert!(told.contains("usr/bin/mysqlrouter"), "{told}");
        let unknown = cache.install_proxy(&Catalogue::builtin(), "envoy", &|_| {});
        let told = unknown.expect_err("no such proxy").to_string();
        assert!(told.contains("router, haproxy"), "{told}");
    }
}
