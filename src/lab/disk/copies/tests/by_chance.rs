//! Every order of events that chance finds, on nodes in one place, with all the faults there are.

use std::time::Duration;

use proptest::prelude::*;

use super::cluster::{BYTES, Cluster};
use super::shape::Shape;
use crate::lab::disk::copies::{Ack, WhenShort};
use crate::study::disk::PowerCut;

/// One step. Numbers choose among what there is, round and round.
#[derive(Debug, Clone)]
enum Step {
    Write {
        head: usize,
        offset: u64,
        bytes: usize,
    },
    Flush {
        head: usize,
    },
    /// Some messages of one connection arrive.
    Deliver {
        wire: usize,
        is_to_copy: bool,
        count: usize,
    },
    /// Some requests to disks are over.
    Over {
        node: usize,
        which: usize,
        count: usize,
    },
    Connect {
        head: usize,
        peer: usize,
    },
    ConnectAll,
    /// All that is under way arrives, all that was begun is over.
    Settle,
    CutWire {
        wire: usize,
    },
    Pass {
        ms: u64,
    },
    PowerCut {
        node: usize,
        cut: PowerCut,
    },
    Start {
        node: usize,
    },
    Replace {
        node: usize,
    },
    /// The nodes whose bits are set are asked for a promise.
    Promote {
        reachable: u32,
    },
}

fn cut() -> impl Strategy<Value = PowerCut> {
    prop_oneof![
        4 => Just(PowerCut::DropAll),
        1 => Just(PowerCut::KeepAll),
        1 => any::<u64>().prop_map(|seed| PowerCut::Random { seed }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let any_node = 0..6_usize;
    prop_oneof![
        10 => (any_node.clone(), 0..BYTES, 1..9000_usize)
            .prop_map(|(head, offset, bytes)| Step::Write { head, offset, bytes }),
        6 => any_node.clone().prop_map(|head| Step::Flush { head }),
        25 => (0..12_usize, any::<bool>(), 1..8_usize).prop_map(|(wire, is_to_copy, count)| {
            Step::Deliver { wire, is_to_copy, count }
        }),
        12 => (any_node.clone(), 0..8_usize, 1..6_usize)
            .prop_map(|(node, which, count)| Step::Over { node, which, count }),
        4 => (any_node.clone(), 0..5_usize).prop_map(|(head, peer)| Step::Connect { head, peer }),
        2 => Just(Step::ConnectAll),
        2 => Just(Step::Settle),
        2 => (0..12_usize).prop_map(|wire| Step::CutWire { wire }),
        4 => (1..120_u64).prop_map(|ms| Step::Pass { ms }),
        2 => (any_node.clone(), cut()).prop_map(|(node, cut)| Step::PowerCut { node, cut }),
        3 => any_node.clone().prop_map(|node| Step::Start { node }),
        1 => any_node.prop_map(|node| Step::Replace { node }),
        2 => any::<u32>().prop_map(|reachable| Step::Promote { reachable }),
    ]
}

/// Lets as many steps happen as are given.
fn play(shape: Shape, steps: &[Step]) -> Cluster {
    let mut cluster = Cluster::new(shape);
    cluster.connect_all();
    cluster.settle();
    for step in steps {
        take(&mut cluster, step);
    }
    cluster
}

fn take(cluster: &mut Cluster, step: &Step) {
    let heads = cluster.heads();
    let head_of = |which: usize| heads.get(which % heads.len().max(1)).copied();
    let copies = cluster.shape.copies;
    match *step {
        Step::Write {
            head,
            offset,
            bytes,
        } => {
            if let Some(head) = head_of(head) {
                let bytes = bytes.min((BYTES - offset) as usize);
                cluster.write(head, offset, bytes);
            }
        }
        Step::Flush { head } => {
            if let Some(head) = head_of(head) {
                cluster.flush(head);
            }
        }
        Step::Connect { head, peer } => {
            if let Some(head) = head_of(head) {
                cluster.connect(head, peer % (copies - 1));
            }
        }
        Step::Promote { reachable } => {
            let is_reachable = |at: &usize| reachable >> at & 1 == 1;
            let reachable: Vec<usize> = (0..copies).filter(is_reachable).collect();
            // A refusal is as good an outcome as a promotion.
            let _ = cluster.promote(&reachable);
        }
        Step::ConnectAll => cluster.connect_all(),
        Step::Settle => cluster.settle(),
        Step::Pass { ms } => cluster.pass(Duration::from_millis(ms)),
        Step::PowerCut { node, cut } => cluster.power_cut(node % copies, cut),
        Step::Start { node } => cluster.start(node % copies),
        Step::Replace { node } => cluster.replace(node % copies),
        _ => go_on(cluster, step),
    }
}

/// Steps of what is under way.
fn go_on(cluster: &mut Cluster, step: &Step) {
    match *step {
        Step::Deliver {
            wire,
            is_to_copy,
            count,
        } => {
            for _ in 0..count {
                if cluster.wires() > 0 {
                    cluster.deliver(wire % cluster.wires(), is_to_copy);
                }
            }
        }
        Step::Over { node, which, count } => {
            let node = node % cluster.shape.copies;
            for _ in 0..count {
                let begun = cluster.nodes[node].begun.len();
                if begun > 0 && cluster.nodes[node].is_up {
                    cluster.over(node, which % begun);
                }
            }
        }
        Step::CutWire { wire } if cluster.wires() > 0 => {
            cluster.cut_wire(wire % cluster.wires());
        }
        _ => (),
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    let ack = prop_oneof![Just(Ack::Write), Just(Ack::Flush)];
    let size = prop_oneof![Just((6, 4)), Just((3, 2)), Just((5, 3)), Just((2, 2))];
    (size, ack).prop_map(|((copies, write_quorum), ack)| Shape::quorum(copies, write_quorum, ack))
}

/// What a cut left of writes that were not durable stays under a head that makes nothing durable.
#[test]
fn what_an_odd_cut_left_may_lead_twice() {
    let deliver = Step::Deliver {
        wire: 0,
        is_to_copy: true,
        count: 1,
    };
    let write = Step::Write {
        head: 0,
        offset: 0,
        bytes: 1,
    };
    let cut = Step::PowerCut {
        node: 0,
        cut: PowerCut::KeepAll,
    };
    let steps = [
        write,
        deliver.clone(),
        cut,
        Step::Start { node: 0 },
        Step::Promote { reachable: 0b01 },
        Step::Promote { reachable: 0b11 },
        Step::Connect { head: 0, peer: 0 },
        Step::Promote { reachable: 0b10 },
        deliver,
    ];
    let mut cluster = play(Shape::mirror(Ack::Flush, WhenShort::Degrade), &steps);
    assert!(cluster.promotions >= 2, "{}", cluster.promotions);
    cluster.end_well();
    assert_eq!(cluster.world.complaints, [] as [String; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_was_acknowledged_is_lost(
        shape in shapes(),
        steps in prop::collection::vec(step(), 1..160),
    ) {
        let mut cluster = play(shape, &steps);
        cluster.end_well();
        prop_assert_eq!(&cluster.world.complaints, &[] as &[String]);
    }

    #[test]
    fn drbds_rule_loses_nothing_that_a_copy_with_its_memory_is_left_of(
        may_degrade in any::<bool>(),
        steps in prop::collection::vec(step(), 1..160),
    ) {
        let when_short = if may_degrade { WhenShort::Degrade } else { WhenShort::Block };
        let mut cluster = play(Shape::mirror(Ack::ProtocolC, when_short), &steps);
        cluster.end_well();
        prop_assert_eq!(&cluster.world.complaints, &[] as &[String]);
    }

    #[test]
    fn a_mirror_that_goes_on_alone_never_lets_its_stale_copy_lead(
        steps in prop::collection::vec(step(), 1..160),
    ) {
        let shape = Shape::mirror(Ack::Flush, WhenShort::Degrade);
        let mut cluster = play(shape, &steps);
        cluster.end_well();
        prop_assert_eq!(&cluster.world.complaints, &[] as &[String]);
    }
}
