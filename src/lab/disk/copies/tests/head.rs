//! A head, one thing at a time; its peers are played by the test.

use std::time::Duration;

use super::cluster::BYTES;
use super::shape::{Shape, TIMEOUT, VOLUME};
use super::world::newest;
use crate::lab::disk::copies::journal::tests::COMMIT;
use crate::lab::disk::copies::promote::Touch;
use crate::lab::disk::copies::wire::{Message, Welcome};
use crate::lab::disk::copies::{
    Ack, Action, Book, Change, Copy, Head, Link, Reach, Terms, Ticket, WhenShort,
};
use crate::lab::disk::store::Store;
use crate::study::disk::PowerCut;

pub const NOW: Duration = Duration::ZERO;

/// A head alone with its store; its peers are played by the test.
struct Stage {
    store: Store,
    head: Head,
}

impl Stage {
    fn new(terms: Terms) -> Stage {
        let mut store = store();
        let head = Copy::new(Book::blank(BYTES)).promote(&mut store, NOW, terms, 1);
        Stage { store, head }
    }

    fn of(shape: Shape) -> Stage {
        Stage::new(shape.terms())
    }

    fn heard(&mut self, peer: usize, message: Message) -> Vec<Action> {
        self.head.heard(&mut self.store, NOW, peer, message)
    }

    /// A blank peer connects and is caught up.
    fn join(&mut self, peer: usize) {
        let whole = self.head.whole_copies();
        self.head.connected(NOW, peer);
        self.heard(peer, Message::Welcome(blank()));
        let epoch = self.head.sealed();
        self.heard(peer, Message::Durable { epoch });
        assert_eq!(self.head.whole_copies(), whole + 1);
    }

    fn write(&mut self, request: u64) -> (Ticket, Vec<Action>) {
        let actions = self.head.write(&mut self.store, request, 0, &[7; 512]);
        (ticket(&actions), actions)
    }

    fn flush(&mut self, request: u64) -> (Ticket, Vec<Action>) {
        let actions = self.head.flush(&mut self.store, request);
        (ticket(&actions), actions)
    }

    fn over(&mut self, ticket: Ticket) -> Vec<Action> {
        self.head.over(&mut self.store, ticket, false)
    }
}

pub fn store() -> Store {
    Store::in_memory(BYTES).expect("memory")
}

fn blank() -> Welcome {
    Welcome {
        volume: 0,
        generation: 0,
        epoch: 0,
        is_exact: true,
    }
}

pub fn ticket(actions: &[Action]) -> Ticket {
    let begun = actions.iter().find_map(|action| match action {
        Action::Begin { ticket, .. } => *ticket,
        _ => None,
    });
    begun.expect("a request that begins")
}

pub fn sent(actions: &[Action]) -> Vec<(Link, &Message)> {
    let sent = actions.iter().filter_map(|action| match action {
        Action::Send { to, message } => Some((*to, message)),
        _ => None,
    });
    sent.collect()
}

fn is_done(actions: &[Action], request: u64) -> bool {
    actions.contains(&Action::Complete { request })
}

#[test]
fn a_write_waits_for_its_own_disk_and_for_being_received() {
    let mut stage = Stage::of(Shape::mirror(Ack::Write, WhenShort::Block));
    stage.join(0);
    let (first, _) = stage.write(1);
    assert!(!is_done(&stage.over(first), 1));
    let (seq, bytes) = (first.0, 512);
    let received = Message::Received { seq, bytes };
    assert!(is_done(&stage.heard(0, received), 1));

    let (second, _) = stage.write(2);
    let (seq, bytes) = (second.0, 1024);
    let received = Message::Received { seq, bytes };
    assert!(!is_done(&stage.heard(0, received), 2));
    assert!(is_done(&stage.over(second), 2));
}

#[test]
fn with_ack_flush_a_write_waits_for_its_own_disk_only() {
    let mut stage = Stage::of(Shape::mirror(Ack::Flush, WhenShort::Block));
    let (ticket, actions) = stage.write(1);
    assert!(!is_done(&actions, 1));
    assert!(is_done(&stage.over(ticket), 1));
}

#[test]
fn a_flush_waits_for_both_disks_of_a_mirror() {
    for ack in [Ack::Write, Ack::Flush] {
        let mut stage = Stage::of(Shape::mirror(ack, WhenShort::Block));
        stage.join(0);
        let (first, _) = stage.flush(1);
        assert!(!is_done(&stage.over(first), 1));
        let epoch = stage.head.sealed();
        assert!(is_done(&stage.heard(0, Message::Durable { epoch }), 1));

        let (second, _) = stage.flush(2);
        let epoch = stage.head.sealed();
        assert!(!is_done(&stage.heard(0, Message::Durable { epoch }), 2));
        assert!(is_done(&stage.over(second), 2));
    }
}

#[test]
fn under_drbds_rule_only_a_flush_behind_a_commit_waits_for_the_copy() {
    let mut stage = Stage::of(Shape::mirror(Ack::ProtocolC, WhenShort::Block));
    stage.join(0);
    let (first, _) = stage.write(1);
    assert!(!is_done(&stage.over(first), 1), "a write waits");
    let (seq, bytes) = (first.0, 512);
    assert!(is_done(
        &stage.heard(0, Message::Received { seq, bytes }),
        1
    ));
    let (empty, actions) = stage.flush(2);
    let epoch = stage.head.sealed();
    let barrier = Message::Flush { epoch };
    assert!(sent(&actions).contains(&(Link::Peer(0), &barrier)));
    assert!(is_done(&stage.over(empty), 2));

    let actions = stage.head.write(&mut stage.store, 3, 0, &COMMIT);
    let commit = ticket(&actions);
    assert!(is_done(&stage.over(commit), 3), "its flush waits for it");
    let (behind, _) = stage.flush(4);
    let epoch = stage.head.sealed();
    let (another, _) = stage.flush(5);
    let actions = [stage.over(behind), stage.over(another)].concat();
    assert!(!is_done(&actions, 4) && !is_done(&actions, 5));
    assert!(is_done(&stage.heard(0, Message::Durable { epoch }), 4));
    let (empty, _) = stage.flush(6);
    let actions = stage.over(empty);
    assert!(is_done(&actions, 6) && !is_done(&actions, 5));
}

#[test]
fn under_drbds_rule_a_flush_waits_while_the_copy_is_lost() {
    let mut stage = Stage::of(Shape::mirror(Ack::ProtocolC, WhenShort::Block));
    stage.join(0);
    stage.head.lost(NOW, 0);
    let (ticket, _) = stage.flush(1);
    assert!(!is_done(&stage.over(ticket), 1));
    stage.join(0);
    let (ticket, _) = stage.flush(2);
    assert!(is_done(&stage.over(ticket), 2));
}

#[test]
fn a_quorum_takes_the_fastest_whoever_they_are() {
    let mut stage = Stage::of(Shape::quorum(4, 2, Ack::Flush));
    (0..3).for_each(|peer| stage.join(peer));
    stage.flush(1);
    let epoch = stage.head.sealed();
    assert!(!is_done(&stage.heard(2, Message::Durable { epoch }), 1));
    // Neither the head's own disk nor the first peer has been heard of.
    assert!(is_done(&stage.heard(1, Message::Durable { epoch }), 1));
}

#[test]
fn later_flushes_stand_for_earlier_ones() {
    let mut stage = Stage::of(Shape::mirror(Ack::Flush, WhenShort::Block));
    stage.join(0);
    stage.flush(1);
    let (second, _) = stage.flush(2);
    stage.over(second);
    let epoch = stage.head.sealed();
    let actions = stage.heard(0, Message::Durable { epoch });
    let done = [1, 2].map(|request| Action::Complete { request });
    assert_eq!(actions, done);
}

#[test]
fn a_peer_that_is_being_caught_up_counts_for_nothing() {
    let mut stage = Stage::of(Shape::mirror(Ack::Write, WhenShort::Block));
    let (write, _) = stage.write(1);
    stage.over(write);
    stage.head.connected(NOW, 0);
    stage.heard(0, Message::Welcome(blank()));
    let received = Message::Received {
        seq: write.0,
        bytes: 4096,
    };
    assert!(!is_done(&stage.heard(0, received), 1));
    let epoch = stage.head.sealed();
    let actions = stage.heard(0, Message::Durable { epoch });
    assert!(sent(&actions).contains(&(Link::Peer(0), &Message::Counted)));
    assert!(is_done(&actions, 1));
}

#[test]
fn a_slow_peer_is_dropped_and_the_others_go_on() {
    let mut terms = Shape::quorum(3, 2, Ack::Flush).terms();
    terms.unanswered_bytes_max = 1024;
    let mut stage = Stage::new(terms);
    (0..2).for_each(|peer| stage.join(peer));
    for request in 1..=3 {
        let (ticket, actions) = stage.write(request);
        let hangs_up = actions.contains(&Action::HangUp {
            link: Link::Peer(1),
        });
        // Two writes of 512 bytes are as many as may be unanswered.
        assert_eq!(hangs_up, request == 3);
        let received = Message::Received {
            seq: ticket.0,
            bytes: 512 * request,
        };
        stage.heard(0, received);
    }
    let (flush, actions) = stage.flush(4);
    assert_eq!(sent(&actions).len(), 1);
    stage.over(flush);
    let epoch = stage.head.sealed();
    assert!(is_done(&stage.heard(0, Message::Durable { epoch }), 4));
}

#[test]
fn a_silent_peer_is_taken_for_lost() {
    let mut stage = Stage::of(Shape::mirror(Ack::Flush, WhenShort::Block));
    stage.join(0);
    let actions = stage.head.passed(TIMEOUT);
    assert!(matches!(
        sent(&actions)[..],
        [(Link::Peer(0), Message::Ping { .. })]
    ));
    let late = TIMEOUT + Duration::from_micros(1);
    let lost = Action::HangUp {
        link: Link::Peer(0),
    };
    let short = Action::Report(Change::Reach {
        at: late,
        reach: Reach::Short,
    });
    assert_eq!(stage.head.passed(late), [lost, short]);
}

#[test]
fn a_mirror_that_blocks_waits_for_ever() {
    let mut stage = Stage::of(Shape::mirror(Ack::Flush, WhenShort::Block));
    let (flush, _) = stage.flush(1);
    stage.over(flush);
    let actions = stage.head.passed(Duration::from_secs(3600));
    assert!(!is_done(&actions, 1));
    assert_eq!(stage.head.reach(), Reach::Short);
}

#[test]
fn a_mirror_that_is_to_fail_does_so_until_its_copy_is_whole_again() {
    let mut stage = Stage::of(Shape::mirror(Ack::Write, WhenShort::Error));
    stage.join(0);
    let (write, _) = stage.write(1);
    stage.flush(2);
    let lost_at = TIMEOUT / 2;
    stage.head.lost(lost_at, 0);
    // One that answered at the very beginning is missed one timeout after that.
    assert_eq!(stage.head.passed(TIMEOUT - Duration::from_micros(1)), []);
    let failed = [1, 2, 3, 4].map(|request| Action::Fail { request });
    assert_eq!(stage.head.passed(TIMEOUT), failed[..2]);
    assert_eq!(stage.over(write), [], "it has failed");
    let later = stage.head.write(&mut stage.store, 3, 0, &[1]);
    assert_eq!(later, [failed[2].clone()]);
    assert_eq!(stage.head.flush(&mut stage.store, 4), [failed[3].clone()]);
    stage.join(0);
    let (write, _) = stage.write(5);
    stage.over(write);
    let (seq, bytes) = (write.0, u64::MAX);
    assert!(is_done(
        &stage.heard(0, Message::Received { seq, bytes }),
        5
    ));
}

#[test]
fn a_mirror_that_degrades_says_from_when_to_when() {
    let mut stage = Stage::of(Shape::mirror(Ack::Flush, WhenShort::Degrade));
    stage.join(0);
    let (flush, _) = stage.flush(1);
    stage.over(flush);
    let reach = |at, reach| Action::Report(Change::Reach { at, reach });
    let lost_at = TIMEOUT / 2;
    let lost = stage.head.lost(lost_at, 0);
    assert_eq!(lost, [reach(lost_at, Reach::Short)]);
    // It was last heard when it joined.
    assert!(sent(&stage.head.passed(TIMEOUT * 99 / 100)).is_empty());
    let actions = stage.head.passed(TIMEOUT);
    assert_eq!(actions[0], reach(TIMEOUT, Reach::Alone));
    assert!(is_done(&actions, 1));

    let (second, _) = stage.flush(2);
    assert!(is_done(&stage.over(second), 2));
    stage.head.connected(TIMEOUT * 2, 0);
    stage.heard(0, Message::Welcome(blank()));
    let epoch = stage.head.sealed();
    let (store, now) = (&mut stage.store, TIMEOUT * 3);
    let actions = stage.head.heard(store, now, 0, Message::Durable { epoch });
    assert!(actions.contains(&reach(TIMEOUT * 3, Reach::Enough)));
    let (third, _) = stage.flush(3);
    assert!(!is_done(&stage.over(third), 3));
}

#[test]
fn a_fenced_head_fails_all() {
    let mut stage = Stage::of(Shape::quorum(3, 2, Ack::Write));
    let (write, _) = stage.write(1);
    stage.flush(2);
    stage.head.connected(NOW, 0);
    let actions = stage.heard(0, Message::Refused { generation: 9 });
    let failed = [1, 2, 3, 4].map(|request| Action::Fail { request });
    assert!(failed[..2].iter().all(|failed| actions.contains(failed)));
    assert_eq!(stage.over(write), []);
    let later = stage.head.write(&mut stage.store, 3, 0, &[1]);
    assert_eq!(later, [failed[2].clone()]);
    assert_eq!(stage.head.flush(&mut stage.store, 4), [failed[3].clone()]);
    let hang_up = Action::HangUp {
        link: Link::Peer(1),
    };
    assert_eq!(stage.head.connected(NOW, 1), [hang_up]);
}

#[test]
fn a_refusal_by_an_older_generation_is_no_reason_to_stop() {
    let mut stage = Stage::of(Shape::quorum(3, 2, Ack::Write));
    stage.head.connected(NOW, 0);
    stage.heard(0, Message::Refused { generation: 1 });
    assert!(!stage.head.is_fenced());
}

#[test]
fn an_image_of_another_size_is_reported() {
    let mut stage = Stage::of(Shape::mirror(Ack::Write, WhenShort::Block));
    stage.head.connected(NOW, 0);
    let actions = stage.heard(0, Message::Unfit { bytes: 5 });
    let change = Change::Unfit { peer: 0, bytes: 5 };
    assert!(actions.contains(&Action::Report(change)));
}

#[test]
fn without_a_write_cache_a_completed_write_is_durable() {
    let mut stage = Stage::of(Shape::quorum(1, 1, Ack::Write));
    let (kept, _) = stage.write(1);
    stage.head.over(&mut stage.store, kept, true);
    let (dropped, _) = stage.write(2);
    stage.over(dropped);
    assert!(!stage.head.book().is_exact);
    stage.store.cut(PowerCut::DropAll);
    assert_eq!(newest(&stage.store)[..512], [7; 512]);
}

/// Blocks sent to a peer that says it holds that.
fn blocks_for(stage: &mut Stage, welcome: Welcome) -> (bool, Vec<u64>) {
    stage.head.connected(NOW, 0);
    let actions = stage.heard(0, Message::Welcome(welcome));
    let mut is_resync_full = None;
    let mut blocks = Vec::new();
    for (_, message) in sent(&actions) {
        match message {
            Message::Resync { is_full } => is_resync_full = Some(*is_full),
            Message::Block { offset, .. } => blocks.push(offset / 4096),
            _ => (),
        }
    }
    (is_resync_full.expect("a resync"), blocks)
}

/// A head that wrote block 1 in epoch 1, 2 in 2, and 3 after that; its generation is the second,
/// and the first one's part ended with epoch 1.
fn three_blocks() -> Stage {
    let terms = Shape::mirror(Ack::Flush, WhenShort::Block).terms();
    let mut stage = Stage::new(terms.clone());
    stage.head.write(&mut stage.store, 1, 4096, &[1; 4096]);
    let (flush, _) = stage.flush(2);
    stage.over(flush);
    let copy = Copy::new(stage.head.retire());
    stage.head = copy.promote(&mut stage.store, NOW, terms, 2);
    stage.head.write(&mut stage.store, 3, 2 * 4096, &[2; 100]);
    let (flush, _) = stage.flush(4);
    stage.over(flush);
    stage.head.write(&mut stage.store, 5, 3 * 4096, &[3; 8]);
    stage
}

#[test]
fn a_copy_gets_what_it_lacks_and_no_more() {
    let held = |generation, epoch| Welcome {
        volume: VOLUME,
        generation,
        epoch,
        is_exact: true,
    };
    let blocks = |welcome| blocks_for(&mut three_blocks(), welcome);
    assert_eq!(blocks(held(2, 2)), (false, vec![3]));
    assert_eq!(blocks(held(1, 1)), (false, vec![2, 3]));
    let full = (true, vec![1, 2, 3]);
    assert_eq!(blocks(blank()), full);
    // Its tail is nobody's.
    assert_eq!(blocks(held(1, 2)), full);
    assert_eq!(blocks(held(7, 1)), full);
    assert_eq!(blocks(held(2, 3)), full);
    let is_exact = false;
    let odd = Welcome {
        is_exact,
        ..held(2, 2)
    };
    assert_eq!(blocks(odd), full);
    let volume = VOLUME + 1;
    let other = Welcome {
        volume,
        ..held(2, 2)
    };
    assert_eq!(blocks(other), full);
}

#[test]
fn blocks_are_sent_as_they_are_answered() {
    let mut terms = Shape::mirror(Ack::Flush, WhenShort::Block).terms();
    terms.unanswered_bytes_max = 4 * 4096;
    let mut stage = Stage::new(terms);
    for block in 0..6 {
        let offset = block * 4096;
        stage
            .head
            .write(&mut stage.store, block, offset, &[1; 4096]);
    }
    let (_, blocks) = blocks_for(&mut stage, blank());
    // Half of what may be unanswered.
    assert_eq!(blocks, [0, 1]);
    let (rewrite, actions) = stage.write(9);
    assert_eq!(sent(&actions), []);
    let answer = |bytes| Message::Received { seq: 0, bytes };
    let offsets = |actions: &[Action]| -> Vec<u64> {
        let messages = sent(actions);
        let blocks = messages.iter().filter_map(|(_, message)| match message {
            Message::Block { offset, .. } => Some(offset / 4096),
            _ => None,
        });
        blocks.collect()
    };
    assert_eq!(offsets(&stage.heard(0, answer(2 * 4096))), [2, 3]);
    assert_eq!(offsets(&stage.heard(0, answer(4 * 4096))), [4, 5]);
    // The block that was written meanwhile comes again, after the rest, and ends it.
    let last = stage.heard(0, answer(6 * 4096));
    assert_eq!(offsets(&last), [0]);
    let messages = sent(&last);
    let ends = messages.iter().map(|(_, message)| (*message).clone());
    let tail: Vec<Message> = ends.skip(1).collect();
    let epoch = stage.head.sealed();
    let seq = rewrite.0;
    assert_eq!(tail, [Message::Synced { seq }, Message::Flush { epoch }]);
}

/// The same if it only heard that its copy had promised another.
#[test]
fn a_head_that_was_refused_does_not_take_itself_for_the_last() {
    let touch = |is_refused: bool| {
        let mut stage = Stage::of(Shape::mirror(Ack::Flush, WhenShort::Degrade));
        stage.join(0);
        let (flush, _) = stage.flush(1);
        stage.over(flush);
        if is_refused {
            stage.heard(0, Message::Refused { generation: 2 });
            assert!(stage.head.is_fenced());
        }
        Copy::new(stage.head.retire()).survey(NOW).touch
    };
    assert_eq!(touch(false), Touch::Proven);
    assert_eq!(touch(true), Touch::DurableOnly);
}
