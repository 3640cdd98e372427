//! Losing a head and going on with a copy, one step at a time.

use std::time::Duration;

use super::cluster::Cluster;
use super::shape::{Shape, TIMEOUT};
use super::world::newest;
use crate::lab::disk::copies::promote::Refusal;
use crate::lab::disk::copies::{Ack, Head, Reach, WhenShort};
use crate::study::disk::PowerCut;

// A mirror that lost one node, and what may be made of the other.

fn joined(when_short: WhenShort) -> Cluster {
    let mut cluster = Cluster::new(Shape::mirror(Ack::Write, when_short));
    cluster.connect_all();
    cluster.settle();
    cluster.pass(Duration::from_millis(1));
    cluster.settle();
    cluster.write(0, 0, 4096);
    cluster.flush(0);
    cluster.settle();
    cluster
}

#[test]
fn a_mirrors_copy_begins_alone_and_takes_the_other_back() {
    for when_short in [WhenShort::Block, WhenShort::Error, WhenShort::Degrade] {
        let mut cluster = joined(when_short);
        cluster.power_cut(0, PowerCut::DropAll);
        assert_eq!(cluster.promote(&[1]), Ok(1));
        cluster.write(1, 4096, 4096);
        cluster.flush(1);
        cluster.settle();
        let is_done = cluster.completed.len() == 4;
        // A copy that degrades first waits for one timeout. The others go on at once.
        assert_eq!(is_done, when_short != WhenShort::Degrade);
        cluster.pass(TIMEOUT);
        assert_eq!(cluster.completed.len(), 4);
        cluster.start(0);
        cluster.connect_all();
        cluster.settle();
        assert_eq!(cluster.head(1).map(Head::reach), Some(Reach::Enough));
        assert_eq!(newest(&cluster.nodes[0].store)[4096], 3);
        cluster.end_well();
        assert_eq!(cluster.world.complaints, [] as [String; 0]);
    }
}

#[test]
fn what_was_received_outlives_the_heads_node_without_a_flush() {
    let mut cluster = joined(WhenShort::Block);
    cluster.write(0, 8192, 4096);
    cluster.settle();
    assert_eq!(cluster.completed, [1, 2, 3]);
    cluster.power_cut(0, PowerCut::DropAll);
    assert_eq!(cluster.promote(&[1]), Ok(1));
    assert_eq!(newest(&cluster.nodes[1].store)[8192], 3);
}

/// It promises less than the strict rule: a flush was done, and the copy alone has not got it.
#[test]
fn under_drbds_rule_a_copy_that_lost_its_power_lacks_what_was_flushed() {
    for ack in [Ack::Write, Ack::ProtocolC] {
        let mut cluster = Cluster::new(Shape::mirror(ack, WhenShort::Block));
        cluster.connect_all();
        cluster.settle();
        cluster.write(0, 0, 4096);
        cluster.settle();
        cluster.flush(0);
        // The copy hears of the flush, but is slow to carry it out.
        while cluster.deliver(0, true) {}
        cluster.over(0, 0);
        assert!(cluster.completed.contains(&1));
        let is_done = cluster.completed.contains(&2);
        assert_eq!(is_done, ack == Ack::ProtocolC);
        // With its memory it has all.
        assert_eq!(newest(&cluster.nodes[1].store)[0], 1);
        cluster.power_cut(0, PowerCut::DropAll);
        cluster.power_cut(1, PowerCut::DropAll);
        assert_eq!(newest(&cluster.nodes[1].store)[0], 0);
        cluster.start(1);
        match ack {
            Ack::ProtocolC => assert_eq!(cluster.promote(&[1]), Err(Refusal::DurableOnly)),
            _ => assert_eq!(cluster.promote(&[1]), Ok(1)),
        }
        cluster.start(0);
        if ack == Ack::ProtocolC {
            assert_eq!(cluster.promote(&[0, 1]), Ok(0));
            assert_eq!(newest(&cluster.nodes[0].store)[0], 1);
        }
        cluster.end_well();
        assert_eq!(cluster.world.complaints, [] as [String; 0]);
    }
}

#[test]
fn under_drbds_rule_the_copy_takes_over_with_what_is_in_its_memory() {
    let mut cluster = Cluster::new(Shape::mirror(Ack::ProtocolC, WhenShort::Block));
    cluster.connect_all();
    cluster.settle();
    cluster.write(0, 0, 4096);
    cluster.settle();
    cluster.flush(0);
    cluster.over(0, 0);
    assert_eq!(cluster.completed, [1, 2]);
    // Not even the flush has come to it.
    cluster.power_cut(0, PowerCut::DropAll);
    assert_eq!(cluster.promote(&[1]), Ok(1));
    assert_eq!(newest(&cluster.nodes[1].store)[0], 1);
    cluster.start(0);
    cluster.end_well();
    assert_eq!(cluster.world.complaints, [] as [String; 0]);
}

#[test]
fn a_copy_left_behind_is_not_promoted_alone() {
    let mut cluster = joined(WhenShort::Degrade);
    cluster.cut_wire(0);
    cluster.settle();
    cluster.pass(TIMEOUT);
    cluster.write(0, 4096, 4096);
    cluster.flush(0);
    cluster.settle();
    cluster.power_cut(0, PowerCut::DropAll);
    assert_eq!(cluster.promote(&[1]), Err(Refusal::Unsure));
    cluster.start(0);
    assert_eq!(cluster.promote(&[0, 1]), Ok(0));
    cluster.end_well();
    assert_eq!(cluster.world.complaints, [] as [String; 0]);
}

#[test]
fn the_promoter_remembers_who_was_alone() {
    let mut cluster = joined(WhenShort::Block);
    cluster.power_cut(0, PowerCut::DropAll);
    assert_eq!(cluster.promote(&[1]), Ok(1));
    cluster.write(1, 4096, 4096);
    cluster.flush(1);
    cluster.settle();
    cluster.power_cut(1, PowerCut::DropAll);
    cluster.start(0);
    assert_eq!(cluster.promote(&[0]), Err(Refusal::Outdated));
    cluster.start(1);
    assert_eq!(cluster.promote(&[1]), Ok(1));
    assert_eq!(cluster.world.complaints, [] as [String; 0]);
}

#[test]
fn a_control_with_too_small_a_quorum_is_caught() {
    let mut shape = Shape::quorum(6, 4, Ack::Flush);
    shape.write_quorum = 3;
    let mut cluster = Cluster::new(shape);
    cluster.connect_all();
    cluster.settle();
    for _ in 0..3 {
        // The wires to peers 2, 3 and 4.
        cluster.cut_wire(2);
        cluster.deliver(2, true);
    }
    cluster.write(0, 0, 4096);
    cluster.flush(0);
    cluster.settle();
    assert_eq!(cluster.completed, [1, 2]);
    for node in 0..3 {
        cluster.power_cut(node, PowerCut::DropAll);
    }
    // R of W = 4 is 3, so that it is thought that one of these knows all.
    assert!(cluster.promote(&[3, 4, 5]).is_ok());
    assert!(!cluster.world.complaints.is_empty());
}

/// A head that gave way has promised another generation: whoever got that may have gone on alone
/// since, and be lost now.
#[test]
fn a_former_head_that_promised_another_is_not_taken_for_the_newest() {
    let mut cluster = Cluster::new(Shape::mirror(Ack::Flush, WhenShort::Degrade));
    cluster.connect_all();
    cluster.settle();
    cluster.write(0, 0, 1);
    cluster.deliver(0, true);
    // The copy has what the head has, and a write more that is durable nowhere.
    assert_eq!(cluster.promote(&[0, 1]), Ok(1));
    cluster.flush(1);
    cluster.pass(TIMEOUT);
    cluster.over(1, 0);
    assert_eq!(cluster.completed.len(), 1, "it went on alone");
    cluster.replace(1);
    assert_eq!(cluster.promote(&[0, 1]), Err(Refusal::Unsure));
    assert_eq!(cluster.world.complaints, [] as [String; 0]);
}

/// A head that took over what another one had reported done alone, and lost it before it was
/// durable here too.
#[test]
fn a_head_with_nothing_durable_of_its_own_is_not_taken_for_the_newest() {
    let mut cluster = Cluster::new(Shape::mirror(Ack::Flush, WhenShort::Degrade));
    cluster.connect_all();
    cluster.settle();
    cluster.write(0, 0, 1);
    cluster.flush(0);
    cluster.deliver(0, true);
    cluster.deliver(0, true);
    cluster.over(0, 0);
    cluster.over(0, 0);
    cluster.pass(TIMEOUT + Duration::from_millis(1));
    assert_eq!(cluster.completed.len(), 2, "it went on alone");
    assert_eq!(cluster.promote(&[0, 1]), Ok(1));
    cluster.power_cut(1, PowerCut::DropAll);
    cluster.start(1);
    cluster.replace(0);
    assert_eq!(cluster.promote(&[0, 1]), Err(Refusal::Unsure));
    assert_eq!(cluster.world.complaints, [] as [String; 0]);
}

/// A head that began alone completes flushes alone until it knows that its copy has all; the copy
/// is durable before that is known.
#[test]
fn a_copy_that_has_caught_up_with_a_lone_head_leads_only_once_it_counts() {
    let caught_up = |is_counted: bool| {
        let mut cluster = joined(WhenShort::Block);
        assert_eq!(cluster.promote(&[1]), Ok(1));
        cluster.connect(1, 0);
        if is_counted {
            cluster.settle();
        } else {
            while cluster.nodes[0].begun.is_empty() {
                cluster.deliver(0, true);
                cluster.deliver(0, false);
            }
            cluster.flush(1);
            cluster.cut_wire(0);
            cluster.over(0, 0);
        }
        let outcome = cluster.promote(&[0]);
        cluster.settle();
        assert_eq!(cluster.world.complaints, [] as [String; 0]);
        outcome
    };
    assert_eq!(caught_up(false), Err(Refusal::Behind));
    assert_eq!(caught_up(true), Ok(0));
}
