//! `serve`: the records of a folder in a browser, on this machine alone.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::error::Result;
use crate::report::numbers::count;
use crate::serve::Server;

/// Which records, and where.
#[derive(Args)]
pub struct ServeOptions {
    /// The folder that they are in
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Port at 127.0.0.1; 0 is any that is free
    #[arg(long, default_value_t = 8808, value_name = "N")]
    port: u16,
}

/// Serves until Ctrl-C.
pub fn run(options: &ServeOptions) -> Result<u8> {
    let server = Server::at(&options.folder, options.port)?;
    // Whoever started it may read the address there, and stop reading then.
    let mut output = std::io::stdout();
    let _ = writeln!(output, "http://{}/", server.address()?);
    let _ = output.flush();
    let folder = options.folder.display();
    let records = match server.records() {
        0 => format!("no record is in {folder} yet: the list shows those that come"),
        records => format!("{} in {folder}", count(records as u64, "record")),
    };
    let _ = writeln!(
        std::io::stderr(),
        "{records}; for this machine alone; Ctrl-C ends it"
    );
    server.run()?;
    Ok(0)
}
