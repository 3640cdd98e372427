//! Records of a folder on loopback: a list of them, each one's page, and a run as its record grows.
//!
//! Nothing can be changed through it: it answers GET and HEAD, opens records to read alone, and
//! knows files only by their names in the folder's own list.
//!
//! - `guard`: whose requests are answered; `shelf`: the folder; `told`: what is said of a record
//! - `pages`: the list, and the page of a run; `follow`: what comes on that while it goes on
//! - `site`: which address leads where

mod follow;
mod guard;
mod pages;
mod shelf;
mod site;
mod told;

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use crate::error::{Mistake, Result, Tried};
use shelf::Shelf;

/// A folder's records, and where they are served.
pub struct Server {
    listener: TcpListener,
    shelf: Arc<Shelf>,
}

impl Server {
    /// Stands ready at that port of this machine's own address; 0: at any that is free.
    ///
    /// # Errors
    /// A mistake if the folder is none or cannot be read, or the port cannot be had.
    pub fn at(folder: &Path, port: u16) -> Result<Server> {
        let shelf = Arc::new(Shelf::of(folder)?);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listener = listener.map_err(|error| {
            let allowed = match error.kind() {
                ErrorKind::AddrInUse => {
                    "another program has it: give another, or 0 for any that \
                                         is free"
                }
                ErrorKind::PermissionDenied => {
                    "it is kept for root: give one from 1024 on, or 0 \
                                                for any that is free"
                }
                _ => "give another, or 0 for any that is free",
            };
            let given = match error.kind() {
                ErrorKind::AddrInUse | ErrorKind::PermissionDenied => port.to_string(),
                _ => format!("{port} ({error})"),
            };
            Mistake::new("command line", "--port", &given, allowed)
        })?;
        Ok(Server { listener, shelf })
    }

    /// Where it is.
    ///
    /// # Errors
    /// A breakdown if the system does not tell.
    pub fn address(&self) -> Result<SocketAddr> {
        let address = self.listener.local_addr();
        address.tried(|| "ask for the server's own address".to_owned())
    }

    /// How many records there are at present, those that cannot be read among them.
    pub fn records(&self) -> usize {
        self.shelf.files().map_or(0, |files| files.len())
    }

    /// Serves until Ctrl-C or SIGTERM.
    ///
    /// # Errors
    /// A breakdown if the system refuses what a server needs.
    pub fn run(self) -> Result<()> {
        let what = || "serve records".to_owned();
        self.listener.set_nonblocking(true).tried(what)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            // One record is worked on at a time: a measurement may go on beside us.
            .max_blocking_threads(1)
            .build()
            .tried(what)?;
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener).tried(what)?;
            let mut terminate = signal(SignalKind::terminate()).tried(what)?;
            let mut interrupt = signal(SignalKind::interrupt()).tried(what)?;
            let server = axum::serve(listener, site::routes(self.shelf));
            tokio::select! {
                served = std::future::IntoFuture::into_future(server) => served.tried(what),
                _ = terminate.recv() => Ok(()),
                _ = interrupt.recv() => Ok(()),
            }
        });
        // Nobody waits for a page that is being worked out.
        runtime.shutdown_background();
        served
    }
}
