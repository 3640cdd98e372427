//! Servers from artifacts of a Maven repository, through the Maven client. Such an artifact is a
//! jar, which may hold further jars.

use std::fs::{self, File};
use std::io::{self, Cursor, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::{ZipError, ZipResult};

use super::catalogue::Files;
use super::client::MVN;
use super::wrap::is_elf;
use crate::error::{Result, Tried};

/// Fetches `artifact` and unpacks `files` of it into their places below `root`; `work` is a scratch
/// folder. Returns the artifact's coordinates.
///
/// # Errors
/// A mistake if Maven is missing, a breakdown with its first lines if it cannot deliver, one that
/// names the file if the artifact does not hold it.
pub fn fetch(artifact: &str, files: &Files, work: &Path, root: &Path) -> Result<String> {
    let repository = work.join("repository");
    fs::create_dir_all(&repository).tried(|| format!("make {}", repository.display()))?;
    MVN.run(
        work,
        &arguments(artifact, &repository),
        &format!("fetch artifact {artifact} with mvn"),
    )?;
    let path = repository.join(jar_path(artifact));
    let jar = File::open(&path).tried(|| format!("open {}", path.display()))?;
    let tried = || format!("read {}", path.display());
    let mut jar = ZipArchive::new(jar).tried(tried)?;
    for (from, to) in files {
        let tried = || format!("unpack {from} of {artifact}");
        unpack(&mut jar, from, &root.join(to)).tried(tried)?;
    }
    Ok(artifact.to_owned())
}

/// A repository of its own keeps the user's as it is. What the artifact depends on is left out.
fn arguments(artifact: &str, repository: &Path) -> Vec<String> {
    [
        "--batch-mode".into(),
        "--quiet".into(),
        "-Dstyle.color=never".into(),
        format!("-Dmaven.repo.local={}", repository.display()),
        "-Dtransitive=false".into(),
        format!("-Dartifact={artifact}"),
        "dependency:get".into(),
    ]
    .into()
}

/// Where a repository keeps the jar of `GROUP:NAME:VERSION`: Maven's default layout.
fn jar_path(artifact: &str) -> PathBuf {
    let mut parts = artifact.split(':');
    let mut next = || parts.next().unwrap_or_default();
    let (group, name, version) = (next(), next(), next());
    let folder = PathBuf::from(group.replace('.', "/"));
    let file = format!("{name}-{version}.jar");
    folder.join(name).join(version).join(file)
}

/// Unpacks the file or folder `from`; jars on the way are entered like folders.
fn unpack<R: Read + Seek>(archive: &mut ZipArchive<R>, from: &str, to: &Path) -> ZipResult<()> {
    if let Some((inner, rest)) = enter_jar(from) {
        let mut bytes = Vec::new();
        archive.by_name(&inner)?.read_to_end(&mut bytes)?;
        return unpack(&mut ZipArchive::new(Cursor::new(bytes))?, rest, to);
    }
    let names = archive.file_names().map(|name| Ok(name?.into_owned()));
    let names = names.collect::<ZipResult<Vec<String>>>()?;
    let mut is_there = false;
    for name in names {
        if let Some(place) = place(&name, from, to) {
            write(&mut archive.by_name(&name)?, &place)?;
            is_there = true;
        }
    }
    is_there.then_some(()).ok_or(ZipError::FileNotFound)
}

/// `a/b.jar/c/d` is `c/d` in `a/b.jar`.
fn enter_jar(from: &str) -> Option<(String, &str)> {
    let (inner, rest) = from.split_once(".jar/")?;
    Some((format!("{inner}.jar"), rest))
}

/// Where the entry `name` belongs, if it is `from` or a file below it.
fn place(name: &str, from: &str, to: &Path) -> Option<PathBuf> {
    let rest = name.strip_prefix(from)?;
    if rest.is_empty() {
        return Some(to.to_owned());
    }
    let below = rest.strip_prefix('/')?;
    let is_file = !below.is_empty() && !below.ends_with('/');
    let is_inside = below.split('/').all(|part| part != "..");
    (is_file && is_inside).then(|| to.join(below))
}

/// Jars keep no permissions: a program is known by what it begins with.
fn write(entry: &mut impl Read, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    io::copy(entry, &mut File::create(to)?)?;
    let mode = if is_elf(to) { 0o755 } else { 0o644 };
    fs::set_permissions(to, fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn jar(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in entries {
            let started = writer.start_file(*name, SimpleFileOptions::default());
            started.expect("an entry");
            writer.write_all(bytes).expect("its bytes");
        }
        writer.finish().expect("a jar").into_inner()
    }

    fn mode(path: &Path) -> u32 {
        let found = fs::metadata(path).expect("a file");
        found.permissions().mode() & 0o777
    }

    #[test]
    fn jars_are_entered_and_programs_can_be_run() {
        let inner = jar(&[("share/english/errmsg.sys", b"no"), ("share-2/x", b"")]);
        let outer = jar(&[("5/Linux/mysqld", b"\x7fELF..."), ("5/share.jar", &inner)]);
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let mut archive = ZipArchive::new(Cursor::new(outer)).expect("a jar");
        unpack(&mut archive, "5/Linux/mysqld", &root.join("bin/mysqld")).expect("a file");
        unpack(&mut archive, "5/share.jar/share", &root.join("share")).expect("a folder");
        assert_eq!(mode(&root.join("bin/mysqld")), 0o755);
        let message = root.join("share/english/errmsg.sys");
        assert_eq!(fs::read(&message).expect("a message file"), b"no");
        assert_eq!(mode(&message), 0o644);
        assert_eq!(
            fs::read_dir(root.join("share")).expect("a folder").count(),
            1
        );
        for absent in ["5/Linux/mysql", "5/share.jar/shar", "6/share.jar/share"] {
            assert!(
                unpack(&mut archive, absent, &root.join("x")).is_err(),
                "{absent}"
            );
        }
    }

    #[test]
    fn nothing_is_written_outside_its_place() {
        let to = Path::new("/to");
        assert_eq!(place("a/b", "a", to), Some(PathBuf::from("/to/b")));
        assert_eq!(place("a/../../b", "a", to), None);
        assert_eq!(place("a/", "a", to), None);
        assert_eq!(place("ab/c", "a", to), None);
    }

    #[test]
    fn a_jar_stands_where_mavens_layout_puts_it() {
        let path = jar_path("com.example.db:files:5.0.12");
        let expected = "com/example/db/files/5.0.12/files-5.0.12.jar";
        assert_eq!(path, Path::new(expected));
    }
}
