//! `studies`: what comes built in, and how long it takes.

use std::io::Write;

use super::measure::capabilities;
use crate::error::{Mistake, Result};
use crate::lab::servers::{Cache, Catalogue};
use crate::plan::{estimate, plan};
use crate::study::builtin::other_name;
use crate::study::{Capabilities, Overrides, Study, builtin, builtin_names, written};

/// Prints a line for each built-in study, with the minutes that the plan estimates.
pub fn list() -> Result<u8> {
    let capabilities = capabilities(&Cache::of_user()?, &Catalogue::builtin())?;
    say!("{:<26}{:>6}{:>8}  title", "study", "whole", "--quick");
    for name in builtin_names() {
        say!("{}", line(name, &capabilities)?);
    }
    say!("\nMinutes, estimated, with servers fetched. `acklab run NAME [--quick]`");
    Ok(0)
}

/// Prints a built-in study's file.
///
/// # Errors
/// A mistake if there is none of that name.
pub fn show(name: &str) -> Result<u8> {
    let Some(text) = builtin(name) else {
        let allowed = written::walk::one_of_names(name, &builtin_names());
        return Err(Mistake::new("acklab studies", "", name, &allowed).into());
    };
    // A reader that stops reading early (`| head`) is no fault.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(0)
}

fn line(name: &str, capabilities: &Capabilities) -> Result<String> {
    let text = builtin(name).unwrap_or_default();
    let no_file = |file: &str| Err(format!("no file {file}"));
    let study = written::parse(text, &format!("{name}.toml"), capabilities, &no_file)?;
    let whole = minutes(study.clone(), false)?;
    let quick = match study.quick.is_some() {
        true => minutes(study.clone(), true)?,
        false => "–".to_owned(),
    };
    let also = other_name(name).map(|also| format!(" (also {also})"));
    let title = study.title + &also.unwrap_or_default();
    Ok(format!("{name:<26}{whole:>6}{quick:>8}  {title}"))
}

fn minutes(study: Study, is_quick: bool) -> Result<String> {
    let study = study.apply(&Overrides {
        is_quick,
        ..Overrides::default()
    })?;
    let seconds = estimate(&study, &plan(&study)).as_secs_f64();
    Ok(format!("{:.1}", seconds / 60.0))
}
