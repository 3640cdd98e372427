//! What passes lines on between a driver and the run: a thread beside the driver's, which never
//! waits for the network.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustls::ClientConnection;

const BUFFER_BYTES: usize = 64 << 10;

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The run said that it is over.
    Over,
    /// The run is gone without a word.
    Cut,
    /// The driver has ended.
    Driver,
}

/// Both ends, and what is on its way between them.
pub struct Relay {
    tls: ClientConnection,
    socket: TcpStream,
    driver: UnixStream,
    /// From the run, not taken by the driver yet.
    commands: Vec<u8>,
}

impl Relay {
    /// Between a run, whose handshake is done and who may have said more already, and the other end
    /// of the driver's socket.
    ///
    /// # Errors
    /// The system refuses not to wait.
    pub fn between(
        mut tls: ClientConnection,
        socket: TcpStream,
        (driver, commands): (UnixStream, Vec<u8>),
    ) -> io::Result<Relay> {
        socket.set_nonblocking(true)?;
        driver.set_nonblocking(true)?;
        // Whatever the driver says is taken at once, however slow the network.
        tls.set_buffer_limit(None);
        let mut relay = Relay {
            tls,
            socket,
            driver,
            commands,
        };
        relay.take_plain()?;
        Ok(relay)
    }

    /// Passes lines on until one end is gone.
    pub fn run(mut self) -> End {
        loop {
            let turned = self.turn();
            match turned {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(_) => return End::Cut,
            }
        }
    }

    fn turn(&mut self) -> io::Result<Option<End>> {
        let wants = |flag, is_wanted| if is_wanted { flag } else { PollFlags::empty() };
        let out = PollFlags::POLLOUT;
        let to_run = wants(out, self.tls.wants_write());
        let to_driver = wants(out, !self.commands.is_empty());
        let mut files = [
            PollFd::new(self.socket.as_fd(), PollFlags::POLLIN | to_run),
            PollFd::new(self.driver.as_fd(), PollFlags::POLLIN | to_driver),
        ];
        match poll(&mut files, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if let Some(end) = self.hear_run()? {
            return Ok(Some(end));
        }
        if self.hear_driver()? {
            return Ok(Some(End::Driver));
        }
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if is_later(&error) => break,
                Err(error) => return Err(error),
            }
        }
        let taken = match self.driver.write(&self.commands) {
            Ok(count) => count,
            Err(error) if is_later(&error) => 0,
            Err(_) => return Ok(Some(End::Driver)),
        };
        self.commands.drain(..taken);
        Ok(None)
    }

    fn hear_run(&mut self) -> io::Result<Option<End>> {
        loop {
            match self.tls.read_tls(&mut self.socket) {
                Ok(0) => return Ok(Some(End::Cut)),
                Ok(_) => {}
                Err(error) if is_later(&error) => return Ok(None),
                Err(error) => return Err(error),
            }
            if self.take_plain()? {
                return Ok(Some(End::Over));
            }
        }
    }

    /// Takes what the run has said; tells whether it said that it is over.
    fn take_plain(&mut self) -> io::Result<bool> {
        let state = self.tls.process_new_packets().map_err(io::Error::other)?;
        let mut plain = vec![0; state.plaintext_bytes_to_read()];
        self.tls.reader().read_exact(&mut plain)?;
        self.commands.extend_from_slice(&plain);
        Ok(state.peer_has_closed())
    }

    /// Whether it is gone.
    fn hear_driver(&mut self) -> io::Result<bool> {
        let mut buffer = [0; BUFFER_BYTES];
        loop {
            match self.driver.read(&mut buffer) {
                Ok(0) => return Ok(true),
                Ok(count) => self.tls.writer().write_all(&buffer[..count])?,
                Err(error) if is_later(&error) => return Ok(false),
                Err(_) => return Ok(true),
            }
        }
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
