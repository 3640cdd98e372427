//! Tools that a server's own scripts call (Galera's state transfer), as wrappers that run them
//! through the loader that came with them.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::program::Program;
use crate::error::{Result, Tried};

/// The state transfer looks for a process of this very name, so its loader must bear it.
const SOUGHT_BY_NAME: &str = "rsync";

/// Puts a wrapper in the place of each program in `usr/bin`, where the server looks first.
pub fn wrap_tools(program: &Program) -> Result<()> {
    let bin = program.root.join("usr/bin");
    let tried = || format!("wrap the tools in {}", bin.display());
    // All names first: what is put there meanwhile is not to be wrapped again.
    let entries: Vec<fs::DirEntry> = fs::read_dir(&bin).tried(tried)?.flatten().collect();
    for entry in entries {
        let place = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_file()) && is_elf(&place) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let real = bin.join(format!("{name}.real"));
            fs::rename(&place, &real).tried(tried)?;
            fs::write(&place, wrapper(program, &real, &name)?).tried(tried)?;
            fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).tried(tried)?;
        }
    }
    Ok(())
}

/// Whether a file is a program or a library.
pub fn is_elf(path: &Path) -> bool {
    let mut magic = [0u8; 4];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"\x7fELF"
}

/// A script that finds the server's root from its own place, for the cache may move.
fn wrapper(program: &Program, tool: &Path, name: &str) -> Result<String> {
    let command = program.tool(tool);
    let mut loader = Path::new(command.get_program()).to_owned();
    if name == SOUGHT_BY_NAME {
        let own = tool.with_file_name(format!("{name}-loader"));
        fs::copy(&loader, &own).tried(|| format!("copy {}", loader.display()))?;
        loader = own;
    }
    let root = program.root.display().to_string();
    let words = std::iter::once(loader.as_os_str()).chain(command.get_args());
    let quoted = words.map(|word| {
        let word = word.to_string_lossy().replace(&root, "$root");
        format!("\"{word}\"")
    });
    let line = quoted.collect::<Vec<String>>().join(" ");
    let find_root = "root=$(dirname \"$(dirname \"$(dirname \"$0\")\")\")";
    Ok(format!("#!/bin/sh\n{find_root}\nexec {line} \"$@\"\n"))
}
