//! TCP connections of a machine that loses its power. Its kernel lives on here: what it had sent
//! and nobody had acknowledged it would send once more when its links work again, long after its
//! server was killed. So its connections are ended while nothing gets out: `SOCK_DESTROY` of
//! sock_diag(7), as `ss --kill` does. All of them: a server's to clients, replicas and members, and
//! those over which copies of a volume pass on what was written.

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
/// States of sockets that have nothing to send.
const AT_REST: [u8; 2] = [TIME_WAIT, LISTEN];
const TIME_WAIT: u8 = 6;
const LISTEN: u8 = 10;
const TCP: u8 = 6;
/// IPv4, and sockets for both.
const FAMILIES: [u8; 2] = [2, 10];
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// A socket's family and identity.
type Connection = (u8, [u8; ID_BYTES]);

/// Ends all connections of a namespace, without a word to the other end if nothing gets out; how
/// many sockets these were. `None` where the kernel cannot
/// (`CONFIG_INET_DIAG_DESTROY`).
///
/// # Errors
/// A breakdown if the kernel does not tell of its sockets.
pub fn end_connections(netns: &Netns) -> Result<Option<usize>> {
    let tried = || format!("end connections in {}", netns.name());
    let ended = netns.run(end_here)?;
    match ended {
        Err(Errno::EOPNOTSUPP | Errno::ENOENT | Errno::EPROTONOSUPPORT) => Ok(None),
        ended => ended.map(Some).map_err(std::io::Error::from).tried(tried),
    }
}

fn end_here() -> nix::Result<usize> {
    let kernel = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkSockDiag,
    )?;
    let (mut ended, mut spared) = (0, None);
    for family in FAMILIES {
        for connection in connections(&kernel, family)? {
            match destroy(&kernel, connection) {
                Ok(()) => ended += 1,
                // It has ended by itself.
                Err(Errno::ENOENT) => {}
                // One that only waits for its end cannot be ended, others can.
                Err(Errno::EOPNOTSUPP) => spared = Some(Errno::EOPNOTSUPP),
                Err(error) => return Err(error),
            }
        }
    }
    match spared.filter(|_| ended == 0) {
        Some(error) => Err(error),
        None => Ok(ended),
    }
}

/// All of a family: the kernel looks for what is not zero in a request.
fn connections(kernel: &OwnedFd, family: u8) -> nix::Result<Vec<Connection>> {
    ask(kernel, (BY_FAMILY, REQUEST | DUMP), (family, [0; ID_BYTES]))?;
    let mut found = Vec::new();
    loop {
        for message in answer(kernel)? {
            match kind(&message) {
                DONE | ERROR => return error(&message).map_or(Ok(found), Err),
                _ => found.extend(connection(&message, family)),
            }
        }
    }
}

fn connection(message: &[u8], family: u8) -> Option<Connection> {
    let id: [u8; ID_BYTES] = message.get(ID_AT..ID_AT + ID_BYTES)?.try_into().ok()?;
    (!AT_REST.contains(&message[STATE_AT])).then_some((family, id))
}

fn destroy(kernel: &OwnedFd, connection: Connection) -> nix::Result<()> {
    ask(kernel, (DESTROY, REQUEST | ACK), connection)?;
    let answers = answer(kernel)?;
    let refused = answers.iter().filter(|message| kind(message) == ERROR);
    refused
        .filter_map(|message| error(message))
        .next()
        .map_or(Ok(()), Err)
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

/// Of a message that ends an answer; `None` where it says that all is well.
fn error(message: &[u8]) -> Option<Errno> {
    let code = message.get(HEADER_BYTES..HEADER_BYTES + 4)?;
    let code = i32::from_ne_bytes(code.try_into().ok()?);
    (code != 0).then(|| Errno::from_raw(-code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_listens_or_is_over_is_no_connection() {
        let message = |state: u8| {
            let mut message = vec![0; HEADER_BYTES + 72];
            message[STATE_AT] = state;
            message[ID_AT..ID_AT + 2].copy_from_slice(&3306_u16.to_be_bytes());
            message
        };
        let (family, id) = connection(&message(1), 2).expect("it is established");
        assert_eq!((family, &id[..3]), (2, &[0x0c, 0xea, 0][..]));
        assert_eq!(connection(&message(LISTEN), 2), None);
        assert_eq!(connection(&message(TIME_WAIT), 2), None);
        assert_eq!(connection(&message(1)[..40], 2), None, "torn");
    }

    #[test]
    fn an_error_is_told_by_its_number_and_zero_is_none() {
        let message = |code: i32| [vec![0; HEADER_BYTES], code.to_ne_bytes().to_vec()].concat();
        assert_eq!(error(&message(-95)), Some(Errno::EOPNOTSUPP));
        assert_eq!(error(&message(0)), None);
        assert_eq!(error(&[0; HEADER_BYTES]), None, "the end of a list");
    }
}
