//! Servers from an official binary tarball that the user has.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::apt::succeeded;
use super::catalogue::{Catalogue, Flavour, first_existing};
use crate::error::{Mistake, Result, Tried};

/// Unpacks `file` into `root`, without the tarball's own top folder.
///
/// # Errors
/// A mistake if the file cannot be read or is no tarball.
pub fn unpack(file: &Path, root: &Path) -> Result<()> {
    let output = untar(file, root)?;
    succeeded(&output, "unpack").map_err(|_| {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let given = format!(
            "{} ({})",
            file.display(),
            errors.lines().next().unwrap_or("unreadable")
        );
        let allowed = "a binary tarball of MySQL, Percona Server or MariaDB (.tar.gz, .tar.xz)";
        Mistake::new("acklab servers add", "FILE", &given, allowed).into()
    })
}

/// Runs tar; its output tells whether it could unpack.
pub fn untar(file: &Path, root: &Path) -> Result<Output> {
    fs::create_dir_all(root).tried(|| format!("make {}", root.display()))?;
    let mut command = Command::new("tar");
    command.arg("-xf").arg(file).arg("-C").arg(root);
    let output = command.arg("--strip-components=1").output();
    output.tried(|| "run tar".into())
}

/// Which flavour's server lies below `root`.
pub fn flavour(catalogue: &Catalogue, root: &Path) -> Option<Flavour> {
    let is_mariadb = root.join("bin/mariadbd").exists() || root.join("bin/mariadb").exists();
    let flavour = if is_mariadb {
        Flavour::Mariadb
    } else {
        Flavour::Mysql
    };
    first_existing(root, &catalogue.layout(flavour).program).map(|_| flavour)
}
