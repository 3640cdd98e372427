//! Tools that a server's own scripts call (Galera's state transfer), as wrappers that run them
//! through the loader that came with them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::program::Program;
use crate::error::{Result, Tried};

const TOOLS: [&str; 2] = ["rsync", "my_print_defaults"];

/// Puts a wrapper in each tool's place in `usr/bin`, where the server looks for it first.
pub fn wrap_tools(program: &Program) -> Result<()> {
    let bin = program.root.join("usr/bin");
    let tried = || format!("wrap the tools in {}", bin.display());
    for name in TOOLS {
        let place = bin.join(name);
        let real = bin.join(format!("{name}.real"));
        if place.exists() {
            fs::rename(&place, &real).tried(tried)?;
            let loader = bin.join(format!("{name}-loader"));
            fs::write(&place, wrapper(program, &real, &loader)?).tried(tried)?;
            fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).tried(tried)?;
        }
    }
    Ok(())
}

/// A script that finds the server's root from its own place, for the cache may move. It runs the
/// loader under the tool's own name, because the state transfer looks for a process called `rsync`.
fn wrapper(program: &Program, tool: &Path, loader: &Path) -> Result<String> {
    let command = program.tool(tool);
    let original = Path::new(command.get_program());
    fs::copy(original, loader).tried(|| format!("copy {}", original.display()))?;
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
