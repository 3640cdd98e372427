//! Real connections on this machine.

use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::lab::disk::copies::Link;
use crate::lab::disk::copies::transport::{Event, Hear, Sender, dial, listen};
use crate::lab::disk::copies::wire::Message;

/// Only a test that fails waits so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// What one side is told.
struct Side(mpsc::Receiver<Event>);

impl Side {
    fn new() -> (Hear, Side) {
        let (told, events) = mpsc::channel();
        let hear = move |event| {
            // A test that has ended hears nothing more.
            let _ = told.send(event);
        };
        (Arc::new(hear), Side(events))
    }

    fn next(&self) -> Event {
        self.0.recv_timeout(PATIENCE).expect("something happens")
    }

    fn connected(&self) -> (Link, Sender) {
        match self.next() {
            Event::Connected { link, sender } => (link, sender),
            Event::Heard { message, .. } => panic!("{message:?}"),
            Event::Lost { why, .. } => panic!("{why}"),
        }
    }

    fn heard(&self) -> (Link, Message) {
        match self.next() {
            Event::Heard { link, message } => (link, message),
            Event::Connected { link, .. } => panic!("{link:?}"),
            Event::Lost { why, .. } => panic!("{why}"),
        }
    }

    fn lost(&self) -> (Link, String) {
        match self.next() {
            Event::Lost { link, why } => (link, why),
            Event::Connected { link, .. } => panic!("{link:?}"),
            Event::Heard { message, .. } => panic!("{message:?}"),
        }
    }
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    (listener, address)
}

const PEER: Link = Link::Peer(4);

#[test]
fn messages_go_both_ways_and_a_lost_connection_is_made_again() {
    let (listener, address) = listener();
    let ((hear_calls, callee), (hear_answers, caller)) = (Side::new(), Side::new());
    let _listening = listen(listener, hear_calls).expect("threads");
    let _calling = dial(address, PEER, hear_answers);
    for number in 0..3 {
        let (link, sender) = caller.connected();
        assert_eq!(link, PEER);
        let (called, answer) = callee.connected();
        assert_eq!(called, Link::Caller(number));
        sender.send(&Message::Ping { token: 7 });
        assert_eq!(callee.heard(), (called, Message::Ping { token: 7 }));
        answer.send(&Message::Pong { token: 7 });
        assert_eq!(caller.heard(), (PEER, Message::Pong { token: 7 }));
        match number {
            0 => sender.hang_up(),
            _ => answer.hang_up(),
        }
        assert_eq!(caller.lost().0, PEER);
        assert_eq!(callee.lost().0, called);
    }
}

#[test]
fn a_peer_that_does_not_read_keeps_nobody_waiting() {
    let (listener, address) = listener();
    let (hear, caller) = Side::new();
    let calling = dial(address, PEER, hear);
    let (_, sender) = caller.connected();
    let (mut lazy, _) = listener.accept().expect("the call");
    let (seq, offset) = (1, 0);
    let data: Arc<[u8]> = vec![5; 1 << 20].into();
    let message = Message::Write { seq, offset, data };
    // Far more than sockets hold: this would block for ever if sending could.
    for _ in 0..64 {
        sender.send(&message);
    }
    let mut frame = Vec::new();
    message.encode(&mut frame);
    let mut found = vec![0; frame.len()];
    for _ in 0..64 {
        lazy.read_exact(&mut found)
            .expect("all of it comes in the end");
        assert!(found == frame);
    }
    drop(calling);
    sender.hang_up();
    caller.lost();
}

#[test]
fn bytes_that_are_no_message_end_the_connection() {
    use std::io::Write;
    let (listener, address) = listener();
    let (hear, callee) = Side::new();
    let _listening = listen(listener, hear).expect("threads");
    let mut stranger = std::net::TcpStream::connect(address).expect("an answer");
    stranger.write_all(b"GET / HTTP/1.1\r\n").expect("a socket");
    callee.connected();
    let (_, why) = callee.lost();
    assert!(why.contains("beyond all bounds"), "{why}");
}

#[test]
fn nobody_answers_after_the_end() {
    let (listener, address) = listener();
    let (hear, callee) = Side::new();
    let listening = listen(listener, hear).expect("threads");
    let first = std::net::TcpStream::connect(address).expect("an answer");
    let (_, sender) = callee.connected();
    drop(listening);
    let mut patience = 0;
    while std::net::TcpStream::connect(address).is_ok() {
        patience += 1;
        assert!(patience < 100_000, "still listening");
    }
    // What was there goes on.
    sender.send(&Message::Counted);
    let mut byte = [0; 1];
    (&first).read_exact(&mut byte).expect("a message");
}
