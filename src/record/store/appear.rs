//! Making a whole file appear at once.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{Error, Result, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The folder that `path` stands in.
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes `bytes` appear at `path`, all at once or not at all, and never over an existing file.
///
/// # Errors
/// Whatever the file system says.
pub fn whole(path: &Path, bytes: &[u8]) -> Result<()> {
    match nameless(path) {
        Ok(file) => {
            fill(&file, bytes)?;
            give_name(&file, path)?;
        }
        Err(error) if is_unsupported(&error) => beside(path, bytes)?,
        Err(error) => return Err(error),
    }
    File::open(folder(path))?.sync_all()
}

/// A file without a name: should we die now, nothing of it stays.
fn nameless(path: &Path) -> Result<File> {
    OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_TMPFILE)
        .mode(0o644)
        .open(folder(path))
}

fn is_unsupported(error: &Error) -> bool {
    let codes = [libc::EOPNOTSUPP, libc::EISDIR, libc::EINVAL];
    error
        .raw_os_error()
        .is_some_and(|code| codes.contains(&code))
}

fn fill(mut file: &File, bytes: &[u8]) -> Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

fn give_name(file: &File, path: &Path) -> Result<()> {
    let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let to = CString::new(path.as_os_str().as_bytes())?;
    let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    // SAFETY: both strings end in a zero byte and outlive the call.
    let done = unsafe { libc::linkat(here, from.as_ptr(), here, to.as_ptr(), follow) };
    if done == 0 {
        Ok(())
    } else {
        Err(Error::last_os_error())
    }
}

/// For file systems that have no nameless files: a hidden file beside, then a link. Only here can
/// a kill leave something, under a name that no reader takes for a record.
fn beside(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = hidden(path);
    let filled = File::create(&temporary).and_then(|file| fill(&file, bytes));
    let linked = filled.and_then(|()| std::fs::hard_link(&temporary, path));
    std::fs::remove_file(&temporary)?;
    linked
}

/// A name beside `path` that no reader takes for a record.
fn hidden(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.unfinished", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(make: fn(&Path, &[u8]) -> Result<()>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        make(&path, b"first").unwrap();
        assert!(
            make(&path, b"second").is_err(),
            "an existing file is never replaced"
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        assert_eq!(
            folder.path().read_dir().unwrap().count(),
            1,
            "nothing stays beside it"
        );
    }

    #[test]
    fn a_file_appears_whole_and_replaces_nothing() {
        check(whole);
    }

    #[test]
    fn so_it_does_without_nameless_files() {
        check(beside);
    }
}
