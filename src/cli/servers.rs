//! `servers`: list, fetch, add.

use std::path::Path;

use comfy_table::{ContentArrangement, Table, presets};

use crate::error::Result;
use crate::lab::servers::cache::on_path;
use crate::lab::servers::{Cache, Catalogue, Source};

/// All servers with version, source and state.
pub fn list() -> Result<u8> {
    let cache = Cache::of_user()?;
    let catalogue = Catalogue::builtin();
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(100);
    table.set_header(["server", "version", "source", "state", "modes"]);
    for name in cache.names(&catalogue) {
        table.add_row(row(&cache, &catalogue, &name)?);
    }
    println!("{table}");
    println!("\nacklab servers install NAME fetches one; a study fetches what it lacks.");
    Ok(0)
}

fn row(cache: &Cache, catalogue: &Catalogue, name: &str) -> Result<[String; 5]> {
    if let Some(program) = cache.program(catalogue, name)? {
        let state = if cache.data(name).exists() {
            "ready"
        } else {
            "fetched"
        };
        let modes = program.modes.join(" ");
        let source = program.kept.source.label();
        return Ok([
            name.into(),
            program.kept.version,
            source,
            state.into(),
            modes,
        ]);
    }
    let Some(entry) = catalogue.entry(name) else {
        return Ok([
            name.into(),
            "–".into(),
            "–".into(),
            "gone".into(),
            String::new(),
        ]);
    };
    let state = match &entry.source {
        Source::Installed { program } if on_path(program).is_err() => "absent",
        Source::Installed { .. } => "installed",
        _ => "not fetched",
    };
    let modes = catalogue.modes_of_newest(entry.flavour).join(" ");
    Ok([
        name.into(),
        "–".into(),
        entry.source.label(),
        state.into(),
        modes,
    ])
}

/// Fetches one.
pub fn install(name: &str) -> Result<u8> {
    let cache = Cache::of_user()?;
    let program = cache.install(&Catalogue::builtin(), name, &|text| {
        eprintln!("{name}: {text}")
    })?;
    println!(
        "{name} {} from {}",
        program.kept.version, program.kept.origin
    );
    Ok(0)
}

/// Adds one from a tarball.
pub fn add(file: &Path, name: &str) -> Result<u8> {
    let cache = Cache::of_user()?;
    let program = cache.add(&Catalogue::builtin(), name, file)?;
    println!(
        "{name} {} can do {}",
        program.kept.version,
        program.modes.join(", ")
    );
    Ok(0)
}
