//! TCP connections of a machine that loses its power. Its kernel lives on here: what it had sent
//! and nobody had acknowledged it would send once more when its links work again, long after its
//! server was killed. So its connections are ended while nothing gets out: `SOCK_DESTROY` of
//! sock_diag(7), as `ss --kill` does.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

use super::netns::Netns;
use crate::error::{Result, Tried};

/// Of `linux/netlink.h`: before each message, its type at 4 and its length at 0.
const HEADER_BYTES: usize = 16;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST: u16 = 0x1;
const ACK: u16 = 0x4;
const DUMP: u16 = 0x300;
/// Of `linux/sock_diag.h`.
const BY_FAMILY: u16 = 20;
const DESTROY: u16 = 21;
/// Of `linux/inet_diag.h`: a socket's addresses, ports and cookie, behind four bytes of a message.
const ID_BYTES: usize = 48;
const ID_AT: usize = HEADER_BYTES + 4;
const STATE_AT: usize = HEADER_BYTES + 1;
const LISTENS: u8 = 10;
const TCP: u8 = 6;
/// IPv4, and sockets for both.
const FAMILIES: [u8; 2] = [2, 10];
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// A socket's family and identity.
type Connection = (u8, [u8; ID_BYTES]);

/// Ends all connections to a port of a namespace's, without a word to the other end if nothing gets
/// out; how many these were. `None` where the kernel cannot (`CONFIG_INET_DIAG_DESTROY`).
///
/// # Errors
/// A breakdown if the kernel does not tell of its sockets.
pub fn end_connections(netns: &Netns, port: u16) -> Result<Option<usize>> {
    let tried = || format!("end connections in {}", netns.name());
    let ended = netns.run(|| end_here(port))?;
    match ended {
        Err(Errno::EOPNOTSUPP) => Ok(None),
        ended => ended.map(Some).map_err(std::io::Error::from).tried(tried),
    }
}

fn end_here(port: u16) -> nix::Result<usize> {
    let kernel = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkSockDiag,
    )?;
    let mut ended = 0;
    for family in FAMILIES {
        for connection in connections(&kernel, family, port)? {
            match destroy(&kernel, connection) {
                Ok(()) => ended += 1,
                // It has ended by itself.
                Err(Errno::ENOENT) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(ended)
}

/// All that is no listener.
fn connections(kernel: &OwnedFd, family: u8, port: u16) -> nix::Result<Vec<Connection>> {
    let all = (family, [0; ID_BYTES]);
    ask(kernel, (BY_FAMILY, REQUEST | DUMP), all)?;
    let mut found = Vec::new();
    loop {
        for message in answer(kernel)? {
            match kind(&message) {
                DONE => return Ok(found),
                ERROR => return Err(error(&message)),
                _ => found.extend(connection(&message, family, port)),
            }
        }
    }
}

fn connection(message: &[u8], family: u8, port: u16) -> Option<Connection> {
    let id: [u8; ID_BYTES] = message.get(ID_AT..ID_AT + ID_BYTES)?.try_into().ok()?;
    let is_its = id[..2] == port.to_be_bytes() && message[STATE_AT] != LISTENS;
    is_its.then_some((family, id))
}

fn destroy(kernel: &OwnedFd, connection: Connection) -> nix::Result<()> {
    ask(kernel, (DESTROY, REQUEST | ACK), connection)?;
    let answers = answer(kernel)?;
    match answers.iter().find(|message| kind(message) == ERROR) {
        Some(message) if error(message) != Errno::UnknownErrno => Err(error(message)),
        _ => Ok(()),
    }
}

/// A `nlmsghdr` and an `inet_diag_req_v2`, of sockets in any state.
fn ask(kernel: &OwnedFd, (kind, flags): (u16, u16), (family, id): Connection) -> nix::Result<()> {
    let mut words = vec![0; HEADER_BYTES];
    words.extend([family, TCP, 0, 0]);
    words.extend(u32::MAX.to_ne_bytes());
    words.extend(id);
    let length = u32::try_from(words.len()).unwrap_or_default();
    words[..4].copy_from_slice(&length.to_ne_bytes());
    words[4..6].copy_from_slice(&kind.to_ne_bytes());
    words[6..8].copy_from_slice(&flags.to_ne_bytes());
    send(kernel.as_raw_fd(), &words, MsgFlags::empty()).map(drop)
}

/// The messages of one datagram.
fn answer(kernel: &OwnedFd) -> nix::Result<Vec<Vec<u8>>> {
    let mut bytes = vec![0; ANSWER_BYTES_MAX];
    let count = recv(kernel.as_raw_fd(), &mut bytes, MsgFlags::empty())?;
    let mut rest = &bytes[..count];
    let mut all = Vec::new();
    while rest.len() >= HEADER_BYTES {
        let length = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        if !(HEADER_BYTES..=rest.len()).contains(&length) {
            break;
        }
        all.push(rest[..length].to_vec());
        rest = &rest[length.next_multiple_of(4).min(rest.len())..];
    }
    Ok(all)
}

fn kind(message: &[u8]) -> u16 {
    u16::from_ne_bytes([message[4], message[5]])
}

/// Of an error message; `UnknownErrno` where it says that all is well.
fn error(message: &[u8]) -> Errno {
    let code = message.get(HEADER_BYTES..HEADER_BYTES + 4);
    let code = code.and_then(|bytes| Some(i32::from_ne_bytes(bytes.try_into().ok()?)));
    Errno::from_raw(code.map_or(0, |code| -code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_connections_of_the_port_are_found_in_an_answer() {
        let message = |state: u8, port: u16| {
            let mut message = vec![0; HEADER_BYTES + 72];
            message[STATE_AT] = state;
            message[ID_AT..ID_AT + 2].copy_from_slice(&port.to_be_bytes());
            message[ID_AT + 4] = 127;
            message
        };
        let found = connection(&message(1, 3306), 2, 3306).expect("it is established");
        assert_eq!((found.0, &found.1[..5]), (2, &[0x0c, 0xea, 0, 0, 127][..]));
        assert_eq!(connection(&message(LISTENS, 3306), 2, 3306), None);
        assert_eq!(connection(&message(1, 3307), 2, 3306), None);
        assert_eq!(connection(&message(1, 3306)[..40], 2, 3306), None, "torn");
    }

    #[test]
    fn an_error_is_told_by_its_number_and_zero_is_none() {
        let message = |code: i32| [vec![0; HEADER_BYTES], code.to_ne_bytes().to_vec()].concat();
        assert_eq!(error(&message(-95)), Errno::EOPNOTSUPP);
        assert_eq!(error(&message(0)), Errno::UnknownErrno);
    }
}
