//! Where drivers come in: the run listens, and looks at each that comes.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustls::ServerConnection;

use super::hello::{Answer, Hello, LINE_MAX, StudyName};
use super::remote::{Lines, Remote};
use super::ticket::Ticket;
use super::tls::{Identity, mind};
use crate::error::{Mistake, Result, Tried, breakdown};

/// Whoever comes has so long to say who it is. Others wait meanwhile; a driver that was too slow
/// comes again.
const HELLO_LIMIT: Duration = Duration::from_secs(2);
/// Nobody is waited for longer at a time.
const LISTEN_MS: u16 = 200;

/// A listening socket with the run's certificate and token.
pub struct Door {
    listener: TcpListener,
    address: SocketAddr,
    identity: Identity,
    ticket: Ticket,
    study: StudyName,
}

/// Somebody who came.
pub enum Caller {
    Admitted(Box<Remote>),
    /// Who it was, and why not.
    Refused {
        from: String,
        why: String,
    },
}

impl Door {
    /// Listens there for drivers of that study.
    ///
    /// # Errors
    /// A mistake if nobody can listen there, else a breakdown.
    pub fn open(address: SocketAddr, study: StudyName) -> Result<Door> {
        let given = address.to_string();
        // Whoever finds us listening is to find a ticket soon.
        let identity = Identity::new()?;
        let ticket = Ticket::to(&identity.fingerprint);
        let listener = TcpListener::bind(address).map_err(|error| {
            let allowed = format!("must be an address of this host with a free port: {error}");
            Mistake::new("command line", "--listen", &given, &allowed)
        })?;
        let tried = || format!("listen for drivers at {given}");
        listener.set_nonblocking(true).tried(tried)?;
        Ok(Door {
            address: listener.local_addr().tried(tried)?,
            listener,
            ticket,
            identity,
            study,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What lets a driver in.
    pub fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// The next that comes, if somebody comes soon; whoever is let in is this one of so many.
    ///
    /// # Errors
    /// A breakdown if the system gives no more connections, an interruption if the user asks to
    /// stop.
    pub fn next(&self, (number, of): (u32, u32)) -> Result<Option<Caller>> {
        let tried = || format!("listen for drivers at {}", self.address);
        let mut files = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
        match poll(&mut files, PollTimeout::from(LISTEN_MS)) {
            Ok(0) | Err(Errno::EINTR) => return Ok(None),
            Ok(_) => {}
            Err(errno) => return Err(breakdown(tried(), errno.desc())),
        }
        let (socket, from) = match self.listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if is_ours(&error) => return Err(breakdown(tried(), error.to_string())),
            // Gone again, or never came: what the network says of whoever knocked.
            Err(_) => return Ok(None),
        };
        let refused = |why| Caller::Refused {
            from: from.ip().to_string(),
            why,
        };
        let looked = self.look_at(socket, from, (number, of))?;
        Ok(Some(looked.unwrap_or_else(refused)))
    }

    fn look_at(
        &self,
        socket: TcpStream,
        from: SocketAddr,
        (number, of): (u32, u32),
    ) -> Result<std::result::Result<Caller, String>> {
        let asked = (Instant::now(), HELLO_LIMIT);
        let mut lines = match self.lines(socket, asked.0 + asked.1) {
            Ok(lines) => lines,
            Err(why) => return Ok(Err(why)),
        };
        let hello: Hello = match lines.receive(asked, LINE_MAX)? {
            Ok(hello) => hello,
            Err(lost) => return Ok(Err(lost.why)),
        };
        if let Some(why) = hello.refusal(&self.ticket.token, &self.study) {
            // It may be gone: then nobody is to be told.
            let _ = lines.send(&Answer::Refused { why: why.clone() });
            lines.end();
            return Ok(Err(why));
        }
        let welcome = Answer::Welcome {
            number,
            of,
            study: self.study.name.clone(),
        };
        let ip = from.ip();
        let name = match &hello.host[..] {
            "" => format!("driver {number} ({ip})"),
            host => format!("driver {number} ({host}, {ip})"),
        };
        lines.let_in();
        let sent = lines.send(&welcome);
        let remote = || Box::new(Remote::of(name, hello.host, lines));
        Ok(match sent {
            Ok(()) => Ok(Caller::Admitted(remote())),
            Err(lost) => Err(lost.why),
        })
    }

    fn lines(&self, socket: TcpStream, until: Instant) -> std::result::Result<Lines, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        // What an accepted socket has of the listener's differs between systems.
        socket
            .set_nonblocking(false)
            .map_err(|error| text(&error))?;
        mind(&socket).map_err(|error| text(&error))?;
        let tls = ServerConnection::new(self.identity.config.clone());
        let lines = Lines::over(tls.map_err(|error| text(&error))?, socket, until);
        lines.map_err(|error| text(&error))
    }
}

/// Whether an error of accepting is of this system, and will come again.
fn is_ours(error: &std::io::Error) -> bool {
    use Errno::{EBADF, EINVAL, EMFILE, ENFILE, ENOBUFS, ENOMEM};
    let errno = error.raw_os_error().map(Errno::from_raw);
    errno.is_some_and(|errno| [EMFILE, ENFILE, ENOMEM, ENOBUFS, EBADF, EINVAL].contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_befell_somebody_who_came_ends_no_run() {
        let is_ours = |errno: Errno| is_ours(&std::io::Error::from(errno));
        for of_whoever_came in [
            Errno::ECONNABORTED,
            Errno::EPROTO,
            Errno::EHOSTUNREACH,
            Errno::ENETDOWN,
            Errno::ETIMEDOUT,
            Errno::EPERM,
            Errno::EAGAIN,
        ] {
            assert!(!is_ours(of_whoever_came), "{of_whoever_came}");
        }
        assert!(is_ours(Errno::EMFILE) && is_ours(Errno::ENOMEM) && is_ours(Errno::EBADF));
    }
}
