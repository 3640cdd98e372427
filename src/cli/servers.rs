//! `servers`: list, fetch, add.

use std::path::Path;

use comfy_table::{ContentArrangement, Table, presets};

use crate::error::Result;
use crate::lab::servers::client::on_path;
use crate::lab::servers::{Cache, Catalogue, ProxyEntry, Source};

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
    for entry in &catalogue.proxies {
        table.add_row(proxy_row(&cache, &catalogue, entry)?);
    }
    say!("{table}");
    say!("\nacklab servers install NAME fetches one; a study fetches what it lacks.");
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
    let modes = catalogue.modes_of_entry(entry).join(" ");
    Ok([
        name.into(),
        entry.version.clone().unwrap_or_else(|| "–".into()),
        entry.source.label(),
        state.into(),
        modes,
    ])
}

/// A proxy, which is no server: in place of modes, what it is good for.
fn proxy_row(cache: &Cache, catalogue: &Catalogue, entry: &ProxyEntry) -> Result<[String; 5]> {
    let program = cache.proxy(catalogue, &entry.name)?;
    let state = match program {
        Some(_) => "ready",
        None => "not fetched",
    };
    Ok([
        entry.name.clone(),
        program.map_or_else(|| "–".into(), |program| program.version),
        entry.source.label(),
        state.into(),
        "as a front".into(),
    ])
}

/// Fetches a server or a proxy.
pub fn install(name: &str) -> Result<u8> {
    let cache = Cache::of_user()?;
    let catalogue = Catalogue::builtin();
    let say = |text: &str| eprintln!("{name}: {text}");
    if catalogue.proxy(name).is_some() {
        let program = cache.install_proxy(&catalogue, name, &say)?;
        say!("{name} {} from {}", program.version, program.origin);
        return Ok(0);
    }
    let program = cache.install(&catalogue, name, &say)?;
    say!(
        "{name} {} from {}",
        program.kept.version,
        program.kept.origin
    );
    Ok(0)
}

/// Adds one from a tarball.
pub fn add(file: &Path, name: &str) -> Result<u8> {
    let cache = Cache::of_user()?;
    let program = cache.add(&Catalogue::builtin(), name, file)?;
    say!(
        "{name} {} can do {}",
        program.kept.version,
        program.modes.join(", ")
    );
    Ok(0)
}
