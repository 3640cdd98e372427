//! The link switch on real network namespaces.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, Links, address, lab_lock};
use acklab::error::{Error, Result};
use acklab::lab::link::path::QUEUE_WAIT_MAX;
use acklab::lab::link::{
    Change, LinkChange, LinkSetting, PairCounters, PairSetting, Probe, SwitchCounters, Way, change,
    median, seen,
};
use acklab::lab::netns::{CONGESTION_CONTROLS, Netns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub const PORT: u16 = 4000;
const UDP_AND_IP_HEADER_BYTES: usize = 28;
/// Far longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn one(from: &str, to: &str, setting: LinkSetting) -> PairSetting {
    PairSetting {
        from: from.into(),
        to: to.into(),
        setting,
    }
}

pub fn both(a: &str, b: &str, setting: LinkSetting) -> Vec<PairSetting> {
    vec![one(a, b, setting), one(b, a, setting)]
}

pub fn delay_us(us: u64) -> LinkSetting {
    LinkSetting {
        one_way_delay: Duration::from_micros(us),
        ..LinkSetting::default()
    }
}

/// Round trips from one node to another, in µs.
fn rtts_us(links: &Links, from: usize, to: usize) -> Vec<f64> {
    let netns = &links.nodes[from];
    let probe = Probe::new(netns, netns.name()).unwrap();
    let interval = Duration::from_millis(1);
    probe.rtts_us(address(to), 21, interval).unwrap()
}

fn rtt_us(links: &Links, from: usize, to: usize) -> f64 {
    median(&rtts_us(links, from, to)).unwrap()
}

/// So much longer than asked is the fastest of many echoes at most: less than one way of the
/// shortest round trip that is tested, so that a way too many, or a wrong one, shows.
const SLOWER_US_MAX: f64 = 200.0;
/// A clock is read before and after: an echo seems that much too early at most.
const EARLIER_US_MAX: f64 = 20.0;
/// Of [`rtts_us`]: a host that is never quiet for one echo in a thousand fails.
const TRIES: usize = 50;

/// The fastest echo of many; no more are made once one was that fast.
fn fastest_us(links: &Links, from: usize, to: usize, enough_us: f64) -> f64 {
    let mut least_us = f64::INFINITY;
    for _ in 0..TRIES {
        let tried_us = rtts_us(links, from, to).into_iter();
        least_us = tried_us.fold(least_us, f64::min);
        if least_us <= enough_us {
            break;
        }
    }
    least_us
}

/// No echo of all comes before its time, on whatever host. A busy host makes echoes late, but not
/// the fastest of many, which a wrong delay makes late as well.
fn takes_what_was_asked(links: &Links, from: usize, to: usize, asked_us: f64) {
    let least_us = fastest_us(links, from, to, asked_us + SLOWER_US_MAX);
    let allowed_us = asked_us - EARLIER_US_MAX..=asked_us + SLOWER_US_MAX;
    assert!(
        allowed_us.contains(&least_us),
        "{from}→{to}: asked {asked_us} µs, the fastest echo took {least_us} µs"
    );
}

fn udp(links: &Links, node: usize) -> UdpSocket {
    let bind = || UdpSocket::bind((address(node), PORT));
    let socket = links.nodes[node].run(bind).unwrap().unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn send(socket: &UdpSocket, to: usize, datagrams: usize, bytes: usize) {
    for _ in 0..datagrams {
        let sent = socket
            .send_to(&vec![0x55; bytes], (address(to), PORT))
            .unwrap();
        assert_eq!(sent, bytes);
    }
}

fn pair(counters: &SwitchCounters, from: &str, to: &str) -> PairCounters {
    counters.pair(from, to).unwrap().clone()
}

/// Counters of a direction as soon as they satisfy a condition.
pub fn pair_once(
    links: &Links,
    from: &str,
    to: &str,
    is_enough: impl Fn(&PairCounters) -> bool,
) -> PairCounters {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let counted = pair(&links.switch.counters().unwrap(), from, to);
        if is_enough(&counted) {
            return counted;
        }
        assert!(
            Instant::now() < deadline,
            "counters never got there: {counted:?}"
        );
        thread::yield_now();
    }
}

pub fn is_breakdown<T>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error::Breakdown(_)))
}

#[test]
fn lab_links_without_settings_pass_everything() {
    let _lock = lab_lock();
    let links = Links::between(2);
    let rtts_us = Probe::new(&links.nodes[0], "a").unwrap();
    let interval = Duration::from_millis(1);
    let rtts_us = rtts_us.rtts_us(address(1), 50, interval).unwrap();
    assert_eq!(rtts_us.len(), 50);
    let counters = links.switch.counters().unwrap();
    // 20 bytes of IP header, 8 of ICMP header, 56 of payload.
    for (from, to) in [("a", "b"), ("b", "a")] {
        let counted = pair(&counters, from, to);
        assert_eq!(
            (counted.packets, counted.bytes),
            (50, 50 * 84),
            "{from}→{to}"
        );
    }
    assert_eq!(counters.packets, 100);
}

/// Whatever the host has, which keeps it.
#[test]
fn lab_links_carry_tcp_as_linux_has_it_by_default() {
    let _lock = lab_lock();
    let of_host = || fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    let before = of_host();
    let netns = Netns::create("tcp").unwrap();
    let inside = netns.congestion_control().unwrap();
    assert!(CONGESTION_CONTROLS.contains(&&inside[..]), "{inside}");
    assert_eq!(of_host(), before);
}

#[test]
fn lab_link_delay_changes_while_running() {
    let _lock = lab_lock();
    let links = Links::between(2);
    for asked_us in [2_000, 20_000, 500] {
        links
            .switch
            .set(&both("a", "b", delay_us(asked_us / 2)))
            .unwrap();
        takes_what_was_asked(&links, 0, 1, asked_us as f64);
    }
}

#[test]
fn lab_each_link_has_its_own_delay() {
    let _lock = lab_lock();
    let links = Links::between(3);
    let mut settings = both("a", "b", delay_us(1_000));
    settings.extend(both("a", "c", delay_us(4_000)));
    // Unequal ways: what counts is their sum.
    settings.extend([
        one("b", "c", delay_us(9_000)),
        one("c", "b", delay_us(1_000)),
    ]);
    links.switch.set(&settings).unwrap();
    for (from, to, asked_us) in [(0, 1, 2_000.0), (0, 2, 8_000.0), (1, 2, 10_000.0)] {
        for (from, to) in [(from, to), (to, from)] {
            takes_what_was_asked(&links, from, to, asked_us);
        }
    }
}

#[test]
fn lab_link_floor_is_taken_off() {
    let _lock = lab_lock();
    let links = Links::between(2);
    links
        .switch
        .measure_floor(&links.nodes[0], "a", "b")
        .unwrap();
    assert!(
        rtt_us(&links, 0, 1) < 1_500.0,
        "a link without a setting has none again"
    );
    links.switch.set(&both("a", "b", delay_us(5_000))).unwrap();
    // A host may become slower right after its floor was measured: then that is measured again.
    let mut outcomes = Vec::new();
    let is_taken_off = (0..FLOORS).any(|_| {
        let (floor_us, least_us) = floor_and_fastest_us(&links);
        outcomes.push((floor_us, least_us));
        (10_000.0 - floor_us - EARLIER_US_MAX..10_000.0).contains(&least_us)
    });
    assert!(is_taken_off, "{outcomes:?}");
}

/// How often the floor is measured at most.
const FLOORS: usize = 3;

/// The setting of 10 ms is in force again after the floor was measured, less the floor: without
/// that no echo could take less than was asked, and with it none comes earlier than by so much.
fn floor_and_fastest_us(links: &Links) -> (f64, f64) {
    let floor = links
        .switch
        .measure_floor(&links.nodes[0], "a", "b")
        .unwrap();
    assert!((1..3_000).contains(&floor.as_micros()), "{floor:?}");
    assert_eq!(links.switch.floor(), floor);
    let least_us = fastest_us(links, 0, 1, 9_999.0);
    (floor.as_secs_f64() * 1e6, least_us)
}

#[test]
fn lab_a_cut_stops_one_direction_only() {
    let _lock = lab_lock();
    let links = Links::between(2);
    let cut = LinkSetting {
        is_cut: true,
        ..LinkSetting::default()
    };
    links.switch.set(&[one("a", "b", cut)]).unwrap();
    let (a, b) = (udp(&links, 0), udp(&links, 1));
    send(&a, 1, 10, 100);
    send(&b, 0, 10, 100);
    let mut buffer = [0; 200];
    for _ in 0..10 {
        assert_eq!(a.recv(&mut buffer).unwrap(), 100);
    }
    let counted = pair_once(&links, "a", "b", |p| p.dropped_by_cut == 10);
    assert_eq!(counted.packets, 0);
    b.set_nonblocking(true).unwrap();
    assert!(b.recv(&mut buffer).is_err(), "a packet crossed a cut link");
    links
        .switch
        .set(&[one("a", "b", LinkSetting::default())])
        .unwrap();
    b.set_nonblocking(false).unwrap();
    send(&a, 1, 1, 100);
    assert_eq!(b.recv(&mut buffer).unwrap(), 100);
}

#[test]
fn lab_what_was_under_way_survives_a_cut() {
    let _lock = lab_lock();
    let links = Links::between(2);
    links
        .switch
        .set(&both("a", "b", delay_us(300_000)))
        .unwrap();
    let (a, b) = (udp(&links, 0), udp(&links, 1));
    send(&a, 1, 5, 100);
    pair_once(&links, "a", "b", |p| p.packets == 5);
    let cut = LinkSetting {
        is_cut: true,
        ..delay_us(300_000)
    };
    links.switch.set(&[one("a", "b", cut)]).unwrap();
    send(&a, 1, 1, 100);
    pair_once(&links, "a", "b", |p| p.dropped_by_cut == 1);
    let mut buffer = [0; 200];
    for _ in 0..5 {
        assert_eq!(b.recv(&mut buffer).unwrap(), 100);
    }
}

#[test]
fn lab_half_of_the_packets_are_lost() {
    let _lock = lab_lock();
    let links = Links::between(2);
    let lossy = LinkSetting {
        loss: 0.5,
        ..LinkSetting::default()
    };
    links.switch.set(&[one("a", "b", lossy)]).unwrap();
    let a = udp(&links, 0);
    let _b = udp(&links, 1);
    send(&a, 1, 1_000, 50);
    let counted = pair_once(&links, "a", "b", |p| p.packets + p.dropped_by_loss == 1_000);
    // Mean 500, standard deviation 16.
    assert!(
        (420..=580).contains(&counted.dropped_by_loss),
        "{counted:?}"
    );
}

#[test]
fn lab_a_rate_lets_so_many_bytes_through_per_second() {
    let _lock = lab_lock();
    let links = Links::between(2);
    let slow = LinkSetting {
        rate_bits_per_s: Some(8_000_000),
        ..LinkSetting::default()
    };
    links.switch.set(&[one("a", "b", slow)]).unwrap();
    let (a, b) = (udp(&links, 0), udp(&links, 1));
    // 80 packets of 1,000 bytes at 1 MB/s fit the queue, and take 80 ms.
    let began = Instant::now();
    send(&a, 1, 80, 1_000 - UDP_AND_IP_HEADER_BYTES);
    let mut buffer = [0; 2_000];
    for _ in 0..80 {
        b.recv(&mut buffer).unwrap();
    }
    let took_ms = began.elapsed().as_secs_f64() * 1e3;
    // They may take longer on a busy machine, but no shorter.
    assert!(took_ms >= 75.0, "{took_ms} ms");
    assert_eq!(
        pair(&links.switch.counters().unwrap(), "a", "b").dropped_by_queue,
        0
    );
    // Three times what the queue holds, at once: the tail is dropped.
    let queue_packets = QUEUE_WAIT_MAX.as_millis() as u64;
    send(
        &a,
        1,
        3 * queue_packets as usize,
        1_000 - UDP_AND_IP_HEADER_BYTES,
    );
    let all = 80 + 3 * queue_packets;
    let counted = pair_once(&links, "a", "b", |p| p.packets + p.dropped_by_queue == all);
    assert!(counted.packets >= 80 + queue_packets, "{counted:?}");
    assert!(counted.dropped_by_queue > 0, "{counted:?}");
}

#[test]
fn lab_link_counters_are_exact() {
    let _lock = lab_lock();
    let links = Links::between(3);
    let (a, b) = (udp(&links, 0), udp(&links, 1));
    let before = links.switch.counters().unwrap();
    send(&a, 1, 100, 333);
    let mut buffer = [0; 2_000];
    for _ in 0..100 {
        assert_eq!(b.recv(&mut buffer).unwrap(), 333);
    }
    // A node that there is not: counted, and nobody's traffic.
    send(&a, 77, 3, 10);
    pair_once(&links, "a", "b", |p| p.packets == 100);
    let deadline = Instant::now() + PATIENCE;
    while links.switch.counters().unwrap().unroutable_packets < before.unroutable_packets + 3 {
        assert!(Instant::now() < deadline);
    }
    let counters = links.switch.counters().unwrap().since(&before);
    assert_eq!(counters.unroutable_packets, 3);
    assert_eq!(counters.packets, 100);
    assert_eq!(counters.pairs.len(), 6);
    for counted in &counters.pairs {
        let is_ours = counted.from == "a" && counted.to == "b";
        let packets = if is_ours { 100 } else { 0 };
        let bytes = packets * (333 + UDP_AND_IP_HEADER_BYTES) as u64;
        assert_eq!(
            (counted.packets, counted.bytes),
            (packets, bytes),
            "{counted:?}"
        );
    }
    assert!(counters.cpu_ns > 0);
}

#[test]
fn lab_a_stream_arrives_intact_through_delay_and_jitter() {
    const BYTES: usize = 5_000_000;
    let _lock = lab_lock();
    let links = Links::between(2);
    let setting = LinkSetting {
        jitter: Duration::from_millis(2),
        ..delay_us(1_000)
    };
    links.switch.set(&both("a", "b", setting)).unwrap();
    let listen = || TcpListener::bind((address(1), PORT));
    let listener = links.nodes[1].run(listen).unwrap().unwrap();
    let connect = || TcpStream::connect((address(1), PORT));
    let data: Vec<u8> = (0..BYTES).map(|at| (at * 7 + at / 251) as u8).collect();
    let got = thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = links.nodes[0].run(connect).unwrap().unwrap();
            stream.write_all(&data).unwrap();
        });
        let mut got = Vec::new();
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_to_end(&mut got).unwrap();
        got
    });
    assert!(got == data, "{} of {BYTES} bytes", got.len());
    let counters = links.switch.counters().unwrap();
    assert!(pair(&counters, "a", "b").bytes > BYTES as u64);
    assert_eq!(counters.undelivered_packets, 0);
}

fn changed(links: &Links, changes: &[Change]) {
    let mut settings = both("a", "b", delay_us(500));
    let change = |change: &Change| LinkChange {
        from: vec!["a".into()],
        to: vec!["b".into()],
        change: *change,
    };
    let changes: Vec<LinkChange> = changes.iter().map(change).collect();
    change::apply(&mut settings, &changes).unwrap();
    links.switch.set(&settings).unwrap();
}

/// Each is seen where it is and nowhere else, and no more when it has gone.
#[test]
fn lab_changes_of_links_can_be_seen() {
    let _lock = lab_lock();
    let links = Links::between(2);
    let there = Way {
        from: &links.nodes[0],
        to: "b",
        address: address(1),
    };
    let back = Way {
        from: &links.nodes[1],
        to: "a",
        address: address(0),
    };
    let see = |change: Change, way: Way| seen::see(&links.switch, change, &[way]).unwrap();
    let is_undone = |change: Change, way: Way| {
        let whole = (delay_us(500), delay_us(500));
        seen::is_undone(&links.switch, change, &way, whole).unwrap()
    };
    for change in [
        Change::Cut,
        Change::Lose(0.2),
        Change::Slower(Duration::from_millis(20)),
    ] {
        changed(&links, &[change]);
        let seen = see(change, there);
        assert!(seen.bite, "{change:?}: {seen:?}");
        let seen = see(change, back);
        assert!(!seen.bite, "{change:?}: {seen:?}");
        // A hundredth of the losses of so few echoes is none.
        let mut looks = (0..3).map(|_| is_undone(change, there));
        assert!(looks.any(|is_undone| !is_undone), "{change:?}");
        changed(&links, &[]);
        let seen = see(change, there);
        assert!(!seen.bite, "{change:?}: {seen:?}");
        assert!(is_undone(change, there), "{change:?}");
    }
    assert!(is_breakdown(&seen::see(&links.switch, Change::Cut, &[])));
}

#[test]
fn lab_a_setting_for_an_unknown_node_changes_nothing() {
    let _lock = lab_lock();
    let links = Links::between(2);
    let settings = [one("a", "b", delay_us(50_000)), one("a", "x", delay_us(1))];
    let outcome = links.switch.set(&settings);
    assert!(is_breakdown(&outcome), "{outcome:?}");
    assert!(rtt_us(&links, 0, 1) < 25_000.0);
}

#[test]
fn lab_a_killed_switch_is_a_breakdown() {
    let _lock = lab_lock();
    let links = Links::between(2);
    kill(Pid::from_raw(links.switch.pid() as i32), Signal::SIGKILL).unwrap();
    let outcome = links.switch.counters();
    assert!(is_breakdown(&outcome), "{outcome:?}");
    let message = outcome.unwrap_err().to_string();
    assert!(message.contains("read the link counters"), "{message}");
    assert!(message.contains("signal: 9"), "{message}");
    assert!(is_breakdown(&links.switch.set(&[])), "and it stays one");
}

#[test]
fn lab_a_silent_switch_is_a_breakdown() {
    let _lock = lab_lock();
    let links = Links::between(2);
    kill(Pid::from_raw(links.switch.pid() as i32), Signal::SIGSTOP).unwrap();
    let outcome = links.switch.counters();
    assert!(is_breakdown(&outcome), "{outcome:?}");
    let message = outcome.unwrap_err().to_string();
    assert!(message.contains("no answer"), "{message}");
    assert!(!Path::new(&format!("/proc/{}", links.switch.pid())).exists());
}

#[test]
fn lab_late_packets_are_counted() {
    let _lock = lab_lock();
    let links = Links::between(2);
    links
        .switch
        .set(&both("a", "b", delay_us(2_000_000)))
        .unwrap();
    let (a, b) = (udp(&links, 0), udp(&links, 1));
    send(&a, 1, 5, 100);
    pair_once(&links, "a", "b", |p| p.packets == 5);
    // The fault itself: a switch that is not let run for longer than the delay.
    let switch = Pid::from_raw(links.switch.pid() as i32);
    kill(switch, Signal::SIGSTOP).unwrap();
    thread::sleep(Duration::from_millis(2_500));
    kill(switch, Signal::SIGCONT).unwrap();
    let mut buffer = [0; 200];
    for _ in 0..5 {
        b.recv(&mut buffer).unwrap();
    }
    let counters = links.switch.counters().unwrap();
    assert_eq!(counters.late_packets, 5);
    assert!(counters.lateness_us_max >= 100_000, "{counters:?}");
    let again = links.switch.counters().unwrap();
    assert_eq!((again.late_packets, again.lateness_us_max), (5, 0));
}

#[test]
fn lab_a_switch_that_cannot_start_tells_why() {
    let _lock = lab_lock();
    let output = Command::new(common::program())
        .args(["switch", "7", "a=198.18.0.1=998"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("could not run the link switch"),
        "{message}"
    );
}

#[test]
fn lab_dropping_the_handle_ends_the_switch() {
    let _lock = lab_lock();
    let links = Links::between(2);
    let process = PathBuf::from(format!("/proc/{}", links.switch.pid()));
    assert!(process.exists());
    drop(links);
    assert!(
        !process.exists(),
        "the switch is still there, or was not reaped"
    );
}

/// The parent's death closes its socket, as here; nothing else ends this switch.
#[test]
fn lab_a_switch_does_not_outlive_its_parent() {
    let _lock = lab_lock();
    let netns = Netns::create("a").unwrap();
    let tun = netns.open_tun("ack0", address(0)).unwrap();
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    // 0 and 1 are the files that a child gets without further ado.
    let mut child = Command::new(common::program())
        .args(["switch", "7", "a=198.18.0.1=1"])
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(Stdio::from(tun))
        .spawn()
        .unwrap();
    (&ours).write_all(b"\"Hello\"\n").unwrap();
    let mut answer = [0; 8];
    (&ours).read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"{\"Ready\"");
    assert_eq!(child.try_wait().unwrap(), None);
    drop(ours);
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "the switch outlives its parent");
        thread::yield_now();
    }
    assert!(child.wait().unwrap().success());
}

#[test]
fn lab_a_namespace_can_be_entered_by_path_and_by_a_command() {
    let _lock = lab_lock();
    let directory = tempfile::tempdir().unwrap();
    let netns = Netns::create_in("a", directory.path()).unwrap();
    let _tun = netns.open_tun("ack0", address(0)).unwrap();
    let path = netns.path().unwrap().to_owned();
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
    let by_fd = netns
        .run(|| inode(Path::new("/proc/thread-self/ns/net")))
        .unwrap();
    assert_eq!(inode(&path), by_fd);
    assert_ne!(by_fd, inode(Path::new("/proc/self/ns/net")));
    let mut command = Command::new("cat");
    netns
        .enter_on_exec(command.arg("/proc/self/net/dev"))
        .unwrap();
    let output = command.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("ack0:"));
    drop(netns);
    assert!(!path.exists(), "the bind mount is gone");
}
