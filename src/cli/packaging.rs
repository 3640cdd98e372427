//! `completions`, `man`: what shells and man(1) want to know of the verbs.

use std::fs;
use std::io::Write;
use std::path::Path;

use clap::Command;
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use crate::error::{Mistake, Result, Tried};

/// What the pages say that they are of.
const SOURCE: &str = concat!("acklab ", env!("CARGO_PKG_VERSION"));

/// Prints the completions of all verbs for that shell.
pub fn completions(shell: Shell, mut command: Command) -> Result<u8> {
    let mut script = Vec::new();
    generate(shell, &mut command, "acklab", &mut script);
    // A reader that stops reading early (`| head`) is no fault.
    let _ = std::io::stdout().write_all(&script);
    Ok(0)
}

/// Writes `acklab.1` and a page for each verb into a folder, made if it does not exist.
///
/// # Errors
/// A mistake if the folder cannot be made, a breakdown if a page cannot be written.
pub fn man(folder: &Path, mut command: Command) -> Result<u8> {
    fs::create_dir_all(folder).map_err(|error| {
        let given = format!("{} ({error})", folder.display());
        Mistake::new("acklab man", "DIR", &given, "a folder that can be made")
    })?;
    command.build();
    pages(&command, folder)?;
    Ok(0)
}

fn pages(command: &Command, folder: &Path) -> Result<()> {
    let verbs = command.get_subcommands();
    // What clap adds by itself tells nothing of acklab.
    for verb in verbs.filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        pages(verb, folder)?;
    }
    let page = Man::new(command.clone()).source(SOURCE).manual("acklab");
    let name = page.get_filename();
    let written = page.generate_to(folder).map(drop);
    written.tried(|| format!("write {}", folder.join(name).display()))
}
