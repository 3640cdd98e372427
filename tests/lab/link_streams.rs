//! Streams that the switch keeps.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use acklab::lab::link::{Keep, LinkSetting, Stream};

use super::link::{PATIENCE, PORT, both, delay_us, is_breakdown, one, pair_once};
use crate::common::{Links, address, lab_lock};

/// A connection between two nodes: the end of the one that listens, and the other's.
fn connected(links: &Links, listening: usize, other: usize) -> (TcpStream, TcpStream) {
    let listen = || TcpListener::bind((address(listening), PORT));
    let listener = links.nodes[listening].run(listen).unwrap().unwrap();
    let connect = || TcpStream::connect((address(listening), PORT));
    let there = links.nodes[other].run(connect).unwrap().unwrap();
    there.set_read_timeout(Some(PATIENCE)).unwrap();
    (listener.accept().unwrap().0, there)
}

fn keep(links: &Links, from: &str, to: &str) {
    let wanted = Keep {
        from: from.into(),
        to: to.into(),
        port_from: PORT,
    };
    links.switch.keep(&[wanted]).unwrap();
}

fn only_stream(links: &Links) -> Stream {
    let mut kept = links.switch.kept().unwrap();
    assert_eq!((kept.streams.len(), &kept.lost), (1, &None));
    kept.streams.remove(0)
}

#[test]
fn lab_a_stream_is_kept_as_its_reader_reads_it() {
    const BYTES: usize = 200_000;
    let _lock = lab_lock();
    let links = Links::between(2);
    let lossy = LinkSetting {
        loss: 0.02,
        jitter: Duration::from_millis(1),
        ..delay_us(500)
    };
    links.switch.set(&both("a", "b", lossy)).unwrap();
    assert!(links.switch.kept().unwrap().streams.is_empty());
    keep(&links, "a", "b");
    let (ours, mut theirs) = connected(&links, 0, 1);
    let data: Vec<u8> = (0..BYTES).map(|at| (at * 7 + at / 251) as u8).collect();
    let mut got = vec![0; BYTES];
    thread::scope(|scope| {
        scope.spawn(|| (&ours).write_all(&data).unwrap());
        theirs.read_exact(&mut got).unwrap();
    });
    assert!(got == data);
    let stream = only_stream(&links);
    assert!(
        stream.bytes == data,
        "{} of {BYTES} bytes",
        stream.bytes.len()
    );
    assert!(stream.is_from_start && !stream.has_gap);
    let ends = [stream.from, stream.to].map(|end| end.to_string());
    let asked = [&ours, &theirs].map(|socket| socket.local_addr().unwrap().to_string());
    assert_eq!(ends, asked);
    // What a reader answers comes from another port.
    keep(&links, "b", "a");
    theirs.write_all(b"thank you").unwrap();
    (&ours).read_exact(&mut [0; 9]).unwrap();
    assert!(links.switch.kept().unwrap().streams.is_empty());
}

/// Not a byte more, nor less: what is kept is what the other side can still read.
#[test]
fn lab_of_a_stream_that_is_cut_its_reader_has_what_was_kept() {
    let _lock = lab_lock();
    let links = Links::between(2);
    links.switch.set(&both("a", "b", delay_us(5_000))).unwrap();
    keep(&links, "a", "b");
    let (ours, mut theirs) = connected(&links, 0, 1);
    ours.set_nonblocking(true).unwrap();
    let deadline = Instant::now() + 2 * PATIENCE;
    let is_over = AtomicBool::new(false);
    let mut got = vec![0; 50_000];
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut sent = 0;
            while !is_over.load(Ordering::Relaxed) && Instant::now() < deadline {
                match (&ours).write(&usize::to_le_bytes(sent)) {
                    Ok(bytes) => sent += bytes,
                    Err(_) => thread::yield_now(),
                }
            }
        });
        theirs.read_exact(&mut got).unwrap();
        let cut = LinkSetting {
            is_cut: true,
            ..delay_us(5_000)
        };
        links.switch.set(&[one("a", "b", cut)]).unwrap();
        pair_once(&links, "a", "b", |p| p.dropped_by_cut > 0);
        pair_once(&links, "a", "b", |p| p.released == p.packets);
        is_over.store(true, Ordering::Relaxed);
    });
    let kept = only_stream(&links).bytes;
    theirs.set_nonblocking(true).unwrap();
    let mut is_all = false;
    while !is_all && Instant::now() < deadline {
        // The kernel may take a moment to sort in what its device was given.
        is_all = got.len() >= kept.len();
        // Ends with an error: there is no more for now, and no end.
        assert!(theirs.read_to_end(&mut got).is_err());
    }
    assert!(got == kept, "{} bytes read, {} kept", got.len(), kept.len());
}

#[test]
fn lab_a_stream_of_an_unknown_node_is_not_kept() {
    let _lock = lab_lock();
    let links = Links::between(2);
    let unknown = Keep {
        from: "a".into(),
        to: "x".into(),
        port_from: PORT,
    };
    assert!(is_breakdown(&links.switch.keep(&[unknown])));
}
