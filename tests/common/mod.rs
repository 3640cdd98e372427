//! What all lab tests share. They need root, namespaces and TUN, and run one at a time.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use acklab::lab::link::{LinkNode, Switch, SwitchOptions};
use acklab::lab::netns::Netns;
use nix::fcntl::{Flock, FlockArg};

/// One for the whole machine, whatever the working copy.
const LOCK_FILE: &str = "/tmp/acklab-lab-tests.lock";

/// Held by a lab test while it runs.
pub struct LabLock {
    _file: Flock<File>,
}

/// Waits until no other lab test runs on this machine.
///
/// # Panics
/// If this machine cannot run lab tests: a test that cannot be run has not passed.
pub fn lab_lock() -> LabLock {
    let missing = missing();
    assert!(
        missing.is_empty(),
        "this machine cannot run lab tests; missing: {}. \
         To leave them out: cargo test --release -- --skip lab_",
        missing.join("; ")
    );
    let file = File::create(LOCK_FILE).expect(LOCK_FILE);
    let locked = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error);
    LabLock {
        _file: locked.expect(LOCK_FILE),
    }
}

fn missing() -> Vec<&'static str> {
    let needs = [
        (nix::unistd::geteuid().is_root(), "root"),
        (Path::new("/dev/net/tun").exists(), "/dev/net/tun"),
        (
            Path::new("/proc/self/ns/net").exists(),
            "network namespaces",
        ),
    ];
    let missing = needs.into_iter().filter(|(is_there, _)| !is_there);
    missing.map(|(_, what)| what).collect()
}

/// The acklab program that was built for these tests.
pub fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_acklab"))
}

/// Nodes `a`, `b`, `c`… linked by a switch.
pub struct Links {
    pub switch: Switch,
    pub nodes: Vec<Netns>,
}

impl Links {
    /// Nodes with nothing between them yet.
    pub fn between(count: usize) -> Links {
        let names = ["a", "b", "c", "d", "e", "f"];
        let make = |name: &&str| Netns::create(name).expect("a network namespace");
        let nodes: Vec<Netns> = names[..count].iter().map(make).collect();
        let link = |(at, netns): (usize, &Netns)| LinkNode {
            name: netns.name().to_owned(),
            address: address(at),
            tun: netns.open_tun("ack0", address(at)).expect("a TUN device"),
        };
        let link_nodes = nodes.iter().enumerate().map(link).collect();
        let options = SwitchOptions {
            program: program(),
            seed: 7,
        };
        let switch = Switch::start_with(&options, link_nodes).expect("a link switch");
        Links { switch, nodes }
    }
}

/// The address of the node at this place, from 0.
pub fn address(at: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, at as u8 + 1)
}
