//! A copy, one thing at a time; its head is played by the test.

use std::time::Duration;

use super::cluster::{BLOCKS, BYTES};
use super::head::{NOW, sent, store, ticket};
use super::shape::{Shape, TIMEOUT, VOLUME};
use super::world::newest;
use crate::lab::disk::copies::book::Reign;
use crate::lab::disk::copies::promote::Touch;
use crate::lab::disk::copies::wire::{Hello, Message};
use crate::lab::disk::copies::{Ack, Action, Book, Copy, Link, Role};
use crate::lab::disk::pace::Kind;
use crate::lab::disk::store::Store;
use crate::study::disk::PowerCut;

/// A copy, with a head played by the test.
struct Follower {
    store: Store,
    copy: Copy,
}

const HEAD: Link = Link::Caller(1);

impl Follower {
    fn new() -> Follower {
        Follower {
            store: store(),
            copy: Copy::new(Book::blank(BYTES)),
        }
    }

    fn hears(&mut self, message: Message) -> Vec<Action> {
        self.copy.heard(&mut self.store, NOW, HEAD, message)
    }

    fn is_told(&mut self, messages: impl IntoIterator<Item = Message>) {
        for message in messages {
            let actions = self.hears(message);
            for action in actions {
                if let Action::Begin {
                    ticket: Some(ticket),
                    ..
                } = action
                {
                    self.copy.over(&mut self.store, ticket);
                }
            }
        }
    }

    /// Up to date with an empty volume of that generation.
    fn whole(generation: u64) -> Follower {
        let mut follower = Follower::new();
        follower.is_told([
            hello(generation, 0),
            Message::Resync { is_full: true },
            Message::Synced { seq: 0 },
            Message::Flush { epoch: 1 },
            Message::Counted,
        ]);
        assert!(follower.copy.is_whole());
        follower
    }
}

fn hello(generation: u64, sealed: u64) -> Message {
    Message::Hello(Hello {
        reign: Reign {
            volume: VOLUME,
            generation,
            before: Vec::new(),
        },
        sealed,
        bytes: BYTES,
        timeout: TIMEOUT,
        answer_bytes: 1,
    })
}

fn write(seq: u64, block: u64, byte: u8) -> Message {
    Message::Write {
        seq,
        offset: block * 4096,
        data: [byte; 4096].into(),
    }
}

fn refused(generation: u64) -> [Action; 2] {
    let message = Message::Refused { generation };
    [
        Action::Send { to: HEAD, message },
        Action::HangUp { link: HEAD },
    ]
}

#[test]
fn a_copy_says_what_it_received_and_what_is_durable() {
    let mut follower = Follower::whole(1);
    let actions = follower.hears(write(5, 2, 9));
    let begun = Action::Begin {
        ticket: None,
        kind: Kind::Write,
        bytes: 4096,
    };
    let message = Message::Received {
        seq: 5,
        bytes: 4096,
    };
    assert_eq!(actions, [begun, Action::Send { to: HEAD, message }]);
    let actions = follower.hears(Message::Flush { epoch: 2 });
    let ticket = ticket(&actions);
    assert_eq!(follower.copy.book().durable().1, 1);
    let actions = follower.copy.over(&mut follower.store, ticket);
    let message = Message::Durable { epoch: 2 };
    assert_eq!(actions, [Action::Send { to: HEAD, message }]);
    assert_eq!(follower.copy.book().durable().1, 2);
}

#[test]
fn a_copy_refuses_an_older_head_and_leaves_it_for_a_newer_one() {
    let mut follower = Follower::whole(3);
    assert_eq!(follower.hears(hello(2, 0)), refused(3));
    let newer = Link::Caller(2);
    let store = &mut follower.store;
    let actions = follower.copy.heard(store, NOW, newer, hello(4, 1));
    assert_eq!(actions[0], Action::HangUp { link: HEAD });
    assert!(matches!(sent(&actions)[..], [(Link::Caller(2), _)]));
    // What the older one says goes nowhere.
    let actions = follower.hears(write(9, 0, 1));
    assert_eq!(actions, [Action::HangUp { link: HEAD }]);
    assert_eq!(newest(&follower.store)[0], 0);
}

#[test]
fn a_promise_shuts_the_old_head_out_for_good() {
    let mut follower = Follower::whole(3);
    follower.is_told([write(5, 0, 1)]);
    let promoter = Link::Caller(2);
    let promise = |generation| Message::Promise { generation };
    let store = &mut follower.store;
    let actions = follower.copy.heard(store, NOW, promoter, promise(4));
    assert_eq!(actions[..2], refused(4));
    let messages = sent(&actions);
    let Message::Promised(survey) = messages[1].1 else {
        panic!("{messages:?}");
    };
    // What was received counts, durable or not.
    assert_eq!((survey.generation, survey.sealed, survey.seq), (3, 1, 5));
    assert_eq!(follower.hears(hello(3, 1)), refused(4));
    let again = follower
        .copy
        .heard(&mut follower.store, NOW, promoter, promise(4));
    assert_eq!(
        sent(&again),
        [(promoter, &Message::Refused { generation: 4 })]
    );
}

#[test]
fn a_promise_outlives_a_power_cut() {
    let mut follower = Follower::whole(3);
    follower.hears(Message::Promise { generation: 4 });
    follower
        .copy
        .power_cut(&mut follower.store, PowerCut::DropAll);
    assert_eq!(follower.hears(hello(3, 1)), refused(4));
}

#[test]
fn a_copy_of_another_size_says_so() {
    let mut follower = Follower::new();
    follower.copy = Copy::new(Book::blank(BYTES + 4096));
    let actions = follower.hears(hello(1, 0));
    let message = Message::Unfit {
        bytes: BYTES + 4096,
    };
    assert_eq!(sent(&actions), [(HEAD, &message)]);
}

#[test]
fn a_head_that_talks_nonsense_is_hung_up_on() {
    let block = |offset| Message::Block {
        epoch: 1,
        offset,
        data: [1; 4096].into(),
    };
    let past_the_end = Message::Write {
        seq: 1,
        offset: BYTES - 4095,
        data: [1; 4096].into(),
    };
    for message in [
        block(0),
        past_the_end,
        Message::Synced { seq: 1 },
        Message::Resync { is_full: true },
        Message::Durable { epoch: 1 },
    ] {
        let mut follower = Follower::whole(1);
        let actions = follower.hears(message);
        assert_eq!(actions, [Action::HangUp { link: HEAD }]);
    }
    let mut follower = Follower::new();
    follower.is_told([hello(1, 0), Message::Resync { is_full: true }]);
    for message in [write(1, 0, 1), block(BLOCKS * 4096)] {
        let actions = follower.hears(message);
        assert_eq!(actions, [Action::HangUp { link: HEAD }]);
    }
}

#[test]
fn what_a_copy_gets_to_catch_up_is_durable_in_one_step() {
    let mut follower = Follower::whole(1);
    follower.is_told([write(5, 0, 1), Message::Flush { epoch: 2 }]);
    follower.copy.lost(HEAD);
    follower.is_told([hello(1, 9), Message::Resync { is_full: false }]);
    let block = Message::Block {
        epoch: 3,
        offset: 0,
        data: [3; 4096].into(),
    };
    follower.is_told([block]);
    assert_eq!(newest(&follower.store)[0], 3);
    // Whatever the cut would leave.
    follower
        .copy
        .power_cut(&mut follower.store, PowerCut::KeepAll);
    assert_eq!(newest(&follower.store)[0], 1);
    let (reign, epoch) = follower.copy.book().durable();
    assert_eq!((reign.generation, epoch), (1, 2));
}

#[test]
fn a_full_resync_leaves_nothing_of_what_was_there() {
    let mut follower = Follower::whole(1);
    follower.is_told([write(5, 3, 1), Message::Flush { epoch: 2 }]);
    follower.is_told([
        hello(2, 9),
        Message::Resync { is_full: true },
        Message::Synced { seq: 0 },
    ]);
    assert_eq!(newest(&follower.store), vec![0; BYTES as usize]);
    follower
        .copy
        .power_cut(&mut follower.store, PowerCut::DropAll);
    assert_eq!(newest(&follower.store)[3 * 4096], 1);
}

#[test]
fn an_odd_power_cut_is_admitted() {
    let mut follower = Follower::whole(1);
    follower.is_told([write(5, 3, 1)]);
    follower
        .copy
        .power_cut(&mut follower.store, PowerCut::KeepAll);
    let actions = follower.hears(hello(1, 1));
    let Message::Welcome(welcome) = sent(&actions)[0].1 else {
        panic!("{actions:?}");
    };
    assert_eq!((welcome.epoch, welcome.is_exact), (1, false));
}

#[test]
fn touch_is_proven_for_one_timeout_from_the_ping_on() {
    let mut follower = Follower::whole(1);
    assert_eq!(follower.copy.survey(NOW).touch, Touch::Unsure);
    let asked_at = Duration::from_millis(5);
    let actions = follower.copy.passed(asked_at);
    let Message::Ping { token } = *sent(&actions)[0].1 else {
        panic!("{actions:?}");
    };
    follower.hears(Message::Pong { token });
    let last = asked_at + TIMEOUT - Duration::from_micros(1);
    assert_eq!(follower.copy.survey(last).touch, Touch::Proven);
    assert_eq!(
        follower.copy.survey(asked_at + TIMEOUT).touch,
        Touch::Unsure
    );
    follower.copy.lost(HEAD);
    assert_eq!(follower.copy.survey(last).touch, Touch::Proven);
    follower
        .copy
        .power_cut(&mut follower.store, PowerCut::DropAll);
    assert_eq!(follower.copy.survey(last).touch, Touch::DurableOnly);
}

#[test]
fn a_copy_is_behind_until_it_is_told_that_it_counts() {
    let mut follower = Follower::whole(1);
    follower.is_told([
        hello(1, 9),
        Message::Resync { is_full: false },
        Message::Synced { seq: 0 },
        Message::Flush { epoch: 10 },
        Message::Pong { token: 0 },
    ]);
    assert!(follower.copy.is_whole());
    assert_eq!(follower.copy.survey(NOW).touch, Touch::Behind);
    follower.is_told([Message::Counted]);
    assert_eq!(follower.copy.survey(NOW).touch, Touch::Proven);
}

#[test]
fn a_silent_head_is_given_up() {
    let mut follower = Follower::whole(1);
    let late = TIMEOUT + Duration::from_micros(1);
    assert_eq!(follower.copy.passed(late), [Action::HangUp { link: HEAD }]);
    assert_eq!(follower.copy.passed(late), []);
}

#[test]
fn a_seat_turns_from_head_to_copy_and_back() {
    let mut store = store();
    let mut role = Role::new(Book::blank(BYTES));
    let terms = Shape::quorum(3, 2, Ack::Write).terms();
    assert_eq!(
        role.write(&mut store, 1, 0, &[1]),
        [Action::Fail { request: 1 }]
    );
    role.promote(&mut store, NOW, terms.clone(), 1);
    role.write(&mut store, 2, 0, &[1]);
    let older = role.heard(&mut store, NOW, HEAD, hello(1, 0));
    assert_eq!(older, refused(1));
    let actions = role.heard(&mut store, NOW, HEAD, hello(2, 0));
    assert!(actions.contains(&Action::Fail { request: 2 }));
    assert!(matches!(sent(&actions)[..], [(HEAD, Message::Welcome(_))]));
    assert!(!role.is_head());
    let peer = Link::Peer(0);
    assert_eq!(role.connected(NOW, peer), [Action::HangUp { link: peer }]);
    role.promote(&mut store, NOW, terms, 3);
    assert!(role.is_head());
}
