//! Round-trip time as got: ICMP echoes sent inside a node's namespace. An echo is answered by the
//! other node's kernel, and its return is stamped by this node's kernel, so that neither a busy
//! server nor the prober's own waking up counts.

use std::collections::BTreeSet;
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn,
    recvmsg, sendto, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

use crate::error::{Result, Tried, breakdown};
use crate::lab::netns::Netns;

/// How long to wait for one echo.
pub const ECHO_TIMEOUT: Duration = Duration::from_secs(2);
/// After so many unanswered echoes in a row there is no link.
const UNANSWERED_MAX: usize = 3;
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
/// As `ping` sends by default.
const PAYLOAD_BYTES: usize = 56;

/// Sends echoes from one node.
#[derive(Debug)]
pub struct Probe {
    from: String,
    socket: OwnedFd,
    identifier: u16,
}

impl Probe {
    /// A probe inside `netns`, the namespace of node `from`.
    pub fn new(netns: &Netns, from: &str) -> Result<Probe> {
        let socket = netns
            .run(open_socket)?
            .tried(|| format!("open a raw socket in node {from}"))?;
        Ok(Probe {
            from: from.to_owned(),
            identifier: socket.as_raw_fd() as u16 ^ std::process::id() as u16,
            socket,
        })
    }

    /// Round-trip times of `count` echoes to a node, one after another, begun at least `interval`
    /// apart, in µs. Echoes lost on the way are left out.
    ///
    /// # Errors
    /// A breakdown if several in a row, or all, stay unanswered.
    pub fn rtts_us(&self, to: Ipv4Addr, count: usize, interval: Duration) -> Result<Vec<f64>> {
        let tried = || format!("probe the link from {} to {to}", self.from);
        let mut rtts_us = Vec::with_capacity(count);
        let mut unanswered_in_a_row = 0;
        for sequence in 0..count {
            let began = Instant::now();
            let rtt = self.echo(to, sequence as u16, ECHO_TIMEOUT).tried(tried)?;
            unanswered_in_a_row = if rtt.is_some() {
                0
            } else {
                unanswered_in_a_row + 1
            };
            if unanswered_in_a_row == UNANSWERED_MAX {
                let waited_s = ECHO_TIMEOUT.as_secs();
                let status = format!("{UNANSWERED_MAX} echoes unanswered, each for {waited_s} s");
                return Err(breakdown(tried(), status));
            }
            rtts_us.extend(rtt);
            if sequence + 1 < count {
                thread::sleep(interval.saturating_sub(began.elapsed()));
            }
        }
        if rtts_us.is_empty() {
            return Err(breakdown(tried(), "no echo was answered"));
        }
        Ok(rtts_us)
    }

    /// Whether an echo to a node is answered within that time.
    ///
    /// # Errors
    /// A breakdown if it cannot be sent.
    pub fn is_answered(&self, to: Ipv4Addr, within: Duration) -> Result<bool> {
        let tried = || format!("probe the link from {} to {to}", self.from);
        Ok(self.echo(to, 0, within).tried(tried)?.is_some())
    }

    /// Sends so many echoes to a node, one right after the other, and waits for no answer: see
    /// [`Probe::answers`].
    ///
    /// # Errors
    /// A breakdown if they cannot be sent.
    pub fn send(&self, to: Ipv4Addr, count: u16) -> Result<()> {
        let mut packets = (0..count).map(|sequence| echo_request(self.identifier, sequence));
        let sent = packets.try_for_each(|packet| self.transmit(to, &packet));
        sent.tried(|| format!("probe the link from {} to {to}", self.from))
    }

    /// How many of `count` echoes that were sent so have been answered by a moment.
    ///
    /// # Errors
    /// A breakdown if nothing can be received.
    pub fn answers(&self, count: u16, until: Instant) -> Result<usize> {
        let mut answered = BTreeSet::new();
        while answered.len() < usize::from(count) {
            let is_over = Instant::now() >= until;
            let flags = match is_over {
                true => MsgFlags::MSG_DONTWAIT,
                false => MsgFlags::empty(),
            };
            let is_ours = |packet: &[u8], of: u16| is_reply(packet, self.identifier, of);
            match receive(&self.socket, flags) {
                Ok((packet, _)) => answered.extend((0..count).filter(|&of| is_ours(&packet, of))),
                Err(Errno::EAGAIN) if is_over => break,
                Err(Errno::EAGAIN | Errno::EINTR) => (),
                Err(error) => return Err(error).tried(|| format!("probe from {}", self.from)),
            }
        }
        Ok(answered.len())
    }

    /// One round trip in µs; `None` if no answer came in time.
    fn echo(&self, to: Ipv4Addr, sequence: u16, within: Duration) -> io::Result<Option<f64>> {
        let packet = echo_request(self.identifier, sequence);
        let sent = clock_gettime(ClockId::CLOCK_REALTIME)?;
        self.transmit(to, &packet)?;
        let deadline = Instant::now() + within;
        while Instant::now() < deadline {
            match receive(&self.socket, MsgFlags::empty()) {
                Ok((bytes, stamp)) if is_reply(&bytes, self.identifier, sequence) => {
                    return Ok(Some(us_between(sent, stamp)));
                }
                Ok(_) | Err(Errno::EAGAIN | Errno::EINTR) => (),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    fn transmit(&self, to: Ipv4Addr, packet: &[u8]) -> nix::Result<()> {
        let address = SockaddrIn::from(SocketAddrV4::new(to, 0));
        let socket = self.socket.as_raw_fd();
        sendto(socket, packet, &address, MsgFlags::empty())?;
        Ok(())
    }
}

/// The middle value; the mean of the middle two; `None` of none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

fn open_socket() -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::Inet, SockType::Raw);
    let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::Icmp)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    // Wakes up often enough to see its own deadline among other nodes' echoes.
    let timeout = nix::sys::time::TimeVal::new(0, 100_000);
    setsockopt(&socket, sockopt::ReceiveTimeout, &timeout)?;
    Ok(socket)
}

/// A packet and the time at which the kernel got it.
fn receive(socket: &OwnedFd, flags: MsgFlags) -> nix::Result<(Vec<u8>, TimeSpec)> {
    let mut bytes = vec![0; 512];
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let fd = socket.as_raw_fd();
    let message = recvmsg::<()>(fd, &mut parts, Some(&mut control), flags)?;
    let stamp = message.cmsgs()?.find_map(|part| match part {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
        _ => None,
    });
    let length = message.bytes;
    bytes.truncate(length);
    Ok((bytes, stamp.ok_or(Errno::ENOMSG)?))
}

fn echo_request(identifier: u16, sequence: u16) -> Vec<u8> {
    let mut packet = vec![ECHO_REQUEST, 0, 0, 0];
    packet.extend(identifier.to_be_bytes());
    packet.extend(sequence.to_be_bytes());
    packet.resize(packet.len() + PAYLOAD_BYTES, 0xac);
    let sum = checksum(&packet);
    packet[2..4].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Whether an IP packet is the answer to our echo.
fn is_reply(packet: &[u8], identifier: u16, sequence: u16) -> bool {
    let header_bytes = packet
        .first()
        .map_or(0, |first| usize::from(first & 0x0f) * 4);
    let Some(icmp) = packet.get(header_bytes..header_bytes + 8) else {
        return false;
    };
    icmp[0] == ECHO_REPLY
        && icmp[4..6] == identifier.to_be_bytes()
        && icmp[6..8] == sequence.to_be_bytes()
}

/// RFC 1071: the complement of the sum of 16-bit words, carries added in.
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn us_between(earlier: TimeSpec, later: TimeSpec) -> f64 {
    let seconds = (later.tv_sec() - earlier.tv_sec()) as f64;
    let nanoseconds = (later.tv_nsec() - earlier.tv_nsec()) as f64;
    seconds * 1e6 + nanoseconds / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_packet_with_its_checksum_sums_to_zero() {
        let packet = echo_request(0x1234, 7);
        assert_eq!(checksum(&packet), 0);
        // The example of RFC 1071, section 3.
        assert_eq!(
            checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]),
            !0xddf2
        );
    }

    #[test]
    fn only_our_own_reply_counts() {
        let mut packet = vec![0x45; 20];
        packet.extend(echo_request(9, 3));
        assert!(!is_reply(&packet, 9, 3), "a request is no reply");
        packet[20] = ECHO_REPLY;
        assert!(is_reply(&packet, 9, 3));
        assert!(!is_reply(&packet, 8, 3));
        assert!(!is_reply(&packet, 9, 4));
        assert!(!is_reply(&packet[..24], 9, 3));
        assert!(!is_reply(&[], 9, 3));
    }

    #[test]
    fn time_between_crosses_seconds() {
        let (earlier, later) = (TimeSpec::new(1, 999_999_000), TimeSpec::new(2, 1_000));
        assert_eq!(us_between(earlier, later), 2.0);
    }
}
