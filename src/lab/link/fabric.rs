//! Ports, paths and the packets between them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::unistd::{read, write};

use super::keep::Keeper;
use super::path::{Fate, Path};
use super::realtime::now_ns;
use super::unread::{Unread, Waited};
use super::{Keep, LATE_BOUND_US, PairCounters, PairSetting, SwitchCounters};

/// Packets fetched from one port, or released, before the others get their turn.
const BATCH_PACKETS: usize = 32;
const PACKET_BYTES_MAX: usize = 65_536;

/// One node's device.
pub struct Port {
    pub name: String,
    pub address: Ipv4Addr,
    pub tun: OwnedFd,
}

/// A packet under way. Ordered by due time, then by arrival.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct UnderWay {
    due_ns: u64,
    number: u64,
    /// When it was stamped.
    sent_ns: u64,
    path: usize,
    packet: Box<[u8]>,
    /// How long it waited before it was read.
    unread: Waited,
}

/// Everything between the nodes.
pub struct Fabric {
    ports: Vec<Port>,
    port_of_address: HashMap<Ipv4Addr, usize>,
    /// Of the pair (from, to) at `from * ports + to`; the diagonal is never used.
    paths: Vec<Path>,
    /// At the same places.
    carried: Vec<PairCounters>,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    floor: Duration,
    arrivals: u64,
    totals: SwitchCounters,
    buffer: Vec<u8>,
    keeper: Keeper,
    /// How long packets wait to be read.
    pub unread: Unread,
}

impl Fabric {
    /// All paths do nothing at first.
    pub fn new(ports: Vec<Port>, keeper: Keeper, seed: u64) -> Fabric {
        let count = ports.len();
        let place = |(at, port): (usize, &Port)| (port.address, at);
        let carried = |pair: usize| PairCounters {
            from: ports[pair / count].name.clone(),
            to: ports[pair % count].name.clone(),
            ..PairCounters::default()
        };
        Fabric {
            port_of_address: ports.iter().enumerate().map(place).collect(),
            paths: (0..count * count)
                .map(|pair| Path::new(seed, pair as u64))
                .collect(),
            carried: (0..count * count).map(carried).collect(),
            under_way: BinaryHeap::new(),
            floor: Duration::ZERO,
            arrivals: 0,
            totals: SwitchCounters::default(),
            buffer: vec![0; PACKET_BYTES_MAX],
            keeper,
            unread: Unread::new(count, now_ns()),
            ports,
        }
    }

    /// The files to wait on, in the order of the ports.
    pub fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.ports.iter().map(|port| port.tun.as_fd())
    }

    /// How many nodes there are.
    pub fn port_count(&self) -> usize {
        self.ports.len()
    }

    /// When the next packet is due.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.under_way.peek().map(|Reverse(next)| next.due_ns)
    }

    /// Applies all settings, or none if one names an unknown pair.
    pub fn set(&mut self, settings: &[PairSetting]) -> Result<(), String> {
        let pairs: Option<Vec<usize>> =
            settings.iter().map(|s| self.pair(&s.from, &s.to)).collect();
        let pairs = pairs.ok_or("a setting names a node that the switch does not have")?;
        for (pair, setting) in pairs.into_iter().zip(settings) {
            self.paths[pair].set(setting.setting, self.floor);
        }
        Ok(())
    }

    /// Keeps these streams from now on, and no others; or changes nothing, if one names an unknown
    /// pair.
    pub fn keep(&mut self, wanted: &[Keep]) -> Result<(), String> {
        let path = |keep: &Keep| Some((self.pair(&keep.from, &keep.to)?, keep.port_from));
        let paths: Option<BTreeSet<(usize, u16)>> = wanted.iter().map(path).collect();
        let paths =
            paths.ok_or("a stream to be kept is of a node that the switch does not have")?;
        self.keeper.begin(paths)
    }

    /// How many bytes were kept, and why not all, if so.
    pub fn kept(&self) -> (u64, Option<String>) {
        self.keeper.kept()
    }

    /// From now on half of `floor` is taken off every one-way delay.
    pub fn set_floor(&mut self, floor: Duration) {
        self.floor = floor;
        for path in &mut self.paths {
            path.set(path.setting(), floor);
        }
    }

    /// The counters so far; the largest lateness begins anew.
    pub fn read_counters(&mut self) -> SwitchCounters {
        let is_link = |pair: &&PairCounters| pair.from != pair.to;
        let mut counters = self.totals.clone();
        counters.pairs = self.carried.iter().filter(is_link).cloned().collect();
        self.totals.lateness_us_max = 0;
        counters
    }

    /// Fetches what the node at `port` has sent. Whatever is fetched is stamped at once, before
    /// anything else is done: the stamp is what its delay counts from.
    pub fn fetch(&mut self, port: usize) -> Result<(), Errno> {
        let mut read_at_ns = None;
        for _ in 0..BATCH_PACKETS {
            match read(&self.ports[port].tun, &mut self.buffer) {
                Ok(bytes) => read_at_ns = Some(self.accept(port, bytes)),
                Err(Errno::EAGAIN) => {
                    if let Some(read_at_ns) = read_at_ns {
                        self.unread.seen_empty(port, read_at_ns);
                    }
                    break;
                }
                Err(Errno::EINTR) => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Hands over what is due at `until_ns`, which may lie a little ahead. Whether any was.
    pub fn release_due(&mut self, until_ns: u64) -> bool {
        let mut released = 0;
        while released < BATCH_PACKETS && self.next_due_ns().is_some_and(|due| due <= until_ns) {
            let Some(Reverse(next)) = self.under_way.pop() else {
                break;
            };
            self.deliver(&next);
            released += 1;
        }
        released > 0
    }

    /// Returns the packet's stamp.
    fn accept(&mut self, from: usize, bytes: usize) -> u64 {
        let arrived_ns = now_ns();
        self.route(from, bytes, arrived_ns);
        arrived_ns
    }

    fn route(&mut self, from: usize, bytes: usize, arrived_ns: u64) {
        let to = destination(&self.buffer[..bytes])
            .and_then(|address| self.port_of_address.get(&address))
            .filter(|to| **to != from);
        let Some(to) = to else {
            self.totals.unroutable_packets += 1;
            return;
        };
        let path = from * self.ports.len() + to;
        let carried = &mut self.carried[path];
        match self.paths[path].accept(arrived_ns, bytes) {
            Fate::Cut => carried.dropped_by_cut += 1,
            Fate::Lost => carried.dropped_by_loss += 1,
            Fate::QueueFull => carried.dropped_by_queue += 1,
            Fate::Due(due_ns) => {
                carried.packets += 1;
                carried.bytes += bytes as u64;
                let unread = self.unread.waited(from, arrived_ns);
                self.send_off((arrived_ns, due_ns), path, bytes, unread);
            }
        }
    }

    fn send_off(
        &mut self,
        (sent_ns, due_ns): (u64, u64),
        path: usize,
        bytes: usize,
        unread: Waited,
    ) {
        self.arrivals += 1;
        self.under_way.push(Reverse(UnderWay {
            due_ns,
            number: self.arrivals,
            sent_ns,
            path,
            packet: self.buffer[..bytes].into(),
            unread,
        }));
    }

    fn deliver(&mut self, packet: &UnderWay) {
        let now_ns = now_ns();
        let late_ns = now_ns.saturating_sub(packet.due_ns);
        self.note_lateness(
            late_ns + packet.unread.run_delay_ns,
            packet.unread.at_work_ns,
        );
        self.paths[packet.path].release();
        let carried = &mut self.carried[packet.path];
        carried.released += 1;
        carried.delay_ns_sum += delay_ns(now_ns.saturating_sub(packet.sent_ns), self.floor);
        let to = packet.path % self.ports.len();
        match write(&self.ports[to].tun, &packet.packet) {
            Ok(_) => self.keeper.take(packet.path, &packet.packet),
            Err(_) => self.totals.undelivered_packets += 1,
        }
    }

    /// What is only known on the average is in the sum, and makes no single packet late.
    fn note_lateness(&mut self, lateness_ns: u64, average_ns: u64) {
        let lateness_us = lateness_ns / 1_000;
        self.totals.packets += 1;
        self.totals.lateness_ns_sum += lateness_ns + average_ns;
        self.totals.lateness_us_max = self.totals.lateness_us_max.max(lateness_us);
        self.totals.late_packets += u64::from(lateness_us > LATE_BOUND_US);
    }

    fn pair(&self, from: &str, to: &str) -> Option<usize> {
        let find = |name: &str| self.ports.iter().position(|port| port.name == name);
        let (from, to) = (find(from)?, find(to)?);
        (from != to).then_some(from * self.ports.len() + to)
    }
}

/// The one-way delay of a packet that the switch held for so long.
fn delay_ns(held_ns: u64, floor: Duration) -> u64 {
    held_ns + (floor / 2).as_nanos() as u64
}

/// The destination of an IPv4 packet; `None` for anything else.
fn destination(packet: &[u8]) -> Option<Ipv4Addr> {
    let is_ipv4 = packet.first()? >> 4 == 4;
    let address: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
    is_ipv4.then(|| Ipv4Addr::from(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ipv4_has_a_destination() {
        let mut packet = [0; 20];
        packet[16..].copy_from_slice(&[198, 18, 0, 2]);
        assert_eq!(destination(&packet), None);
        packet[0] = 0x60;
        assert_eq!(destination(&packet), None);
        packet[0] = 0x45;
        assert_eq!(destination(&packet), Some(Ipv4Addr::new(198, 18, 0, 2)));
        assert_eq!(destination(&packet[..19]), None);
        assert_eq!(destination(&[]), None);
    }

    #[test]
    fn half_of_the_floor_is_part_of_a_delay() {
        assert_eq!(delay_ns(3_960_000, Duration::from_micros(80)), 4_000_000);
        assert_eq!(delay_ns(0, Duration::from_micros(80)), 40_000);
    }

    #[test]
    fn the_packet_due_first_comes_first_and_ties_keep_their_order() {
        let packet = |due_ns, number| UnderWay {
            due_ns,
            number,
            sent_ns: 0,
            path: 0,
            packet: Box::default(),
            unread: Waited::default(),
        };
        let mut heap: BinaryHeap<_> = [packet(9, 1), packet(5, 3), packet(5, 2)]
            .into_iter()
            .map(Reverse)
            .collect();
        let numbers: Vec<u64> = std::iter::from_fn(|| heap.pop())
            .map(|p| p.0.number)
            .collect();
        assert_eq!(numbers, [2, 3, 1]);
    }
}
