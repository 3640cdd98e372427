//! The machines over TCP, on a simulated network with delays, cut links, power cuts and
//! promotions: a story for each seed, and the same one each time.
//!
//! `ACKLAB_COPIES_SEEDS` plays more of them than a normal test has time for.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use turmoil::net::{TcpListener, TcpStream};
use turmoil::{Builder, Sim};

use super::cluster::{BYTES, Cluster, node_of};
use super::shape::{Shape, TIMEOUT};
use crate::lab::disk::copies::promote::Survey;
use crate::lab::disk::copies::wire::{Inbox, Message};
use crate::lab::disk::copies::{Ack, Action, Link, WhenShort};
use crate::lab::disk::pace::Kind;
use crate::study::disk::PowerCut;

const SEEDS: u64 = 200;
const PORT: u16 = 7000;
const TICK: Duration = Duration::from_millis(1);
const BACK_OFF: Duration = Duration::from_millis(20);
/// How long whoever promotes waits for promises.
const ASK_TIMEOUT: Duration = Duration::from_millis(60);
/// When copies are formed, when the faults are over, when the writers rest, and when all must be
/// well.
const FORMED_MS: u64 = 150;
const FAULTS_END_MS: u64 = 700;
const QUIET_MS: u64 = 1100;
const END_MS: u64 = 1300;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// What all hosts and the story share.
struct Lab {
    cluster: RefCell<Cluster>,
    /// Open connections, by node and link.
    lines: RefCell<BTreeMap<(usize, Link), UnboundedSender<Message>>>,
    /// How long disks take.
    chance: RefCell<ChaCha8Rng>,
    /// Nodes to be asked for a promise, when there is something to promote.
    to_ask: RefCell<Option<Vec<usize>>>,
    /// The writers rest.
    is_quiet: RefCell<bool>,
    /// Nodes whose disks are slow.
    slow: BTreeSet<usize>,
}

fn name(node: usize) -> String {
    format!("node{node}")
}

impl Lab {
    /// Does something with the cluster at the right time, and then what its machines want done.
    fn with<T>(self: &Rc<Lab>, act: impl FnOnce(&mut Cluster) -> T) -> T {
        let (result, actions) = {
            let cluster = &mut *self.cluster.borrow_mut();
            cluster.now = turmoil::sim_elapsed().unwrap_or(cluster.now);
            let result = act(cluster);
            let actions = cluster.outbox.replace(Vec::new());
            (result, actions.unwrap_or_default())
        };
        for (at, action) in actions {
            self.carry_out(at, action);
        }
        result
    }

    fn carry_out(self: &Rc<Lab>, at: usize, action: Action) {
        match action {
            Action::Send { to, message } => {
                if let Some(line) = self.lines.borrow().get(&(at, to)) {
                    // A connection that has ended takes nothing.
                    let _ = line.send(message);
                }
            }
            Action::HangUp { link } => {
                self.lines.borrow_mut().remove(&(at, link));
            }
            Action::Begin {
                ticket: Some(ticket),
                kind,
                ..
            } => {
                let span = self.draw_span(at, kind);
                let lab = self.clone();
                spawn_local(async move {
                    sleep(span).await;
                    lab.with(|cluster| cluster.over_by_ticket(at, ticket));
                });
            }
            _ => (),
        }
    }

    fn draw_span(&self, at: usize, kind: Kind) -> Duration {
        let most_ms = match kind {
            Kind::Flush if self.slow.contains(&at) => 40,
            Kind::Flush => 6,
            Kind::Read | Kind::Write => 2,
        };
        Duration::from_millis(self.chance.borrow_mut().random_range(0..=most_ms))
    }

    /// A pause, and where and how much is written after it.
    fn draw_write(&self) -> (u64, u64, usize) {
        let chance = &mut *self.chance.borrow_mut();
        let offset = chance.random_range(0..BYTES);
        let bytes = chance.random_range(1..6000).min(BYTES - offset);
        (chance.random_range(1..8), offset, bytes as usize)
    }

    fn leads(&self, at: usize) -> bool {
        let cluster = self.cluster.borrow();
        cluster.head(at).is_some_and(|head| !head.is_fenced())
    }
}

/// Carries one connection until one side ends it.
async fn carry(lab: Rc<Lab>, at: usize, link: Link, stream: TcpStream) {
    let (mut incoming, outgoing) = stream.into_split();
    let (line, messages) = unbounded_channel();
    lab.lines.borrow_mut().insert((at, link), line.clone());
    spawn_local(write(outgoing, messages));
    lab.with(|cluster| cluster.connected(at, link));
    let mut inbox = Inbox::default();
    let mut bytes = vec![0; 16 * 1024];
    let is_hung_up = || {
        let lines = lab.lines.borrow();
        let own = lines.get(&(at, link));
        !own.is_some_and(|own| own.same_channel(&line))
    };
    while !is_hung_up() {
        let count = match timeout(BACK_OFF, incoming.read(&mut bytes)).await {
            // Nothing has come, but the connection may have been hung up.
            Err(_) => continue,
            Ok(Ok(count @ 1..)) => count,
            Ok(_) => break,
        };
        inbox.extend(&bytes[..count]);
        while let (false, Some(message)) = (
            is_hung_up(),
            inbox.next_message().expect("our own messages"),
        ) {
            lab.with(|cluster| cluster.heard(at, link, message));
        }
    }
    if !is_hung_up() {
        lab.lines.borrow_mut().remove(&(at, link));
        lab.with(|cluster| cluster.lost(at, link));
    }
}

async fn write(
    mut outgoing: turmoil::net::tcp::OwnedWriteHalf,
    mut messages: UnboundedReceiver<Message>,
) {
    while let Some(message) = messages.recv().await {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        if outgoing.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// One node, from its start to its power cut.
async fn live(lab: Rc<Lab>, at: usize) -> Outcome {
    for peer in 0..lab.cluster.borrow().shape.copies - 1 {
        spawn_local(call(lab.clone(), at, peer));
    }
    spawn_local(pass(lab.clone(), at));
    spawn_local(work(lab.clone(), at));
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let link = lab.with(|cluster| cluster.answer_call(at));
        spawn_local(carry(lab.clone(), at, link, stream));
    }
}

/// Calls a peer as long as the node leads.
async fn call(lab: Rc<Lab>, at: usize, peer: usize) {
    loop {
        if lab.leads(at) {
            let address = (name(node_of(at, peer)), PORT);
            let stream = timeout(TIMEOUT, TcpStream::connect(address)).await;
            if let Ok(Ok(stream)) = stream
                && lab.leads(at)
            {
                carry(lab.clone(), at, Link::Peer(peer), stream).await;
            }
        }
        sleep(BACK_OFF).await;
    }
}

async fn pass(lab: Rc<Lab>, at: usize) {
    loop {
        sleep(TIMEOUT / 4).await;
        lab.with(|cluster| cluster.pass_at(at));
    }
}

/// Writes and flushes as long as the node leads; before it rests, flushes a last time.
async fn work(lab: Rc<Lab>, at: usize) {
    loop {
        let is_last = *lab.is_quiet.borrow();
        let (pause_ms, offset, bytes) = lab.draw_write();
        sleep(Duration::from_millis(pause_ms)).await;
        if lab.cluster.borrow().nodes[at].role.is_head() {
            let is_flush = is_last || lab.chance.borrow_mut().random_bool(0.4);
            lab.with(|cluster| match is_flush {
                true => cluster.flush(at),
                false => cluster.write(at, offset, bytes),
            });
        }
        if is_last {
            return;
        }
    }
}

/// Whoever promotes: asks for promises when told to.
async fn preside(lab: Rc<Lab>) -> Outcome {
    loop {
        sleep(TICK).await;
        let to_ask = lab.to_ask.borrow_mut().take();
        let Some(nodes) = to_ask else {
            continue;
        };
        let generation = lab.cluster.borrow().next_generation();
        let asked: Vec<_> = nodes
            .iter()
            .map(|node| spawn_local(timeout(ASK_TIMEOUT, ask(*node, generation))))
            .collect();
        let mut promised = Vec::new();
        for (node, answer) in nodes.iter().zip(asked) {
            if let Ok(Ok(Some(survey))) = answer.await {
                promised.push((*node, survey));
            }
        }
        let chosen = lab.with(|cluster| cluster.elect(generation, &promised));
        if let Ok(chosen) = chosen {
            lab.lines.borrow_mut().retain(|(at, _), _| *at != chosen);
        }
    }
}

async fn ask(node: usize, generation: u64) -> Option<Survey> {
    let mut stream = TcpStream::connect((name(node), PORT)).await.ok()?;
    let mut bytes = Vec::new();
    Message::Promise { generation }.encode(&mut bytes);
    stream.write_all(&bytes).await.ok()?;
    let mut inbox = Inbox::default();
    let mut bytes = [0; 1024];
    loop {
        let count = stream.read(&mut bytes).await.ok()?;
        if count == 0 {
            return None;
        }
        inbox.extend(&bytes[..count]);
        match inbox.next_message().ok()? {
            Some(Message::Promised(survey)) => return Some(survey),
            Some(_) => return None,
            None => (),
        }
    }
}

/// What befalls the nodes.
#[derive(Debug, Clone)]
enum Fault {
    Crash(usize),
    Restart(usize),
    /// These and the others do not hear each other.
    Part(Vec<usize>),
    /// What these say does not get through; what others say to them does.
    Mute(Vec<usize>),
    Heal,
    /// These are asked for a promise.
    Promote(Vec<usize>),
}

/// What happens when, in milliseconds.
type Story = Vec<(u64, Fault)>;

/// Some faults, and in the end all are well again.
fn write_story(chance: &mut ChaCha8Rng, shape: Shape) -> Story {
    let all: Vec<usize> = (0..shape.copies).collect();
    let mut story = Story::new();
    for _ in 0..chance.random_range(1..=3) {
        let at_ms = chance.random_range(FORMED_MS..FAULTS_END_MS - 200);
        let until_ms = at_ms + chance.random_range(20..300);
        story.extend(draw_faults(chance, shape, at_ms, until_ms));
    }
    story.push((FAULTS_END_MS, Fault::Heal));
    story.extend(at_once(FAULTS_END_MS, &all, Fault::Restart));
    story.push((FAULTS_END_MS + 20, Fault::Promote(all)));
    story.sort_by_key(|(at_ms, _)| *at_ms);
    story
}

/// As many nodes as may be lost have something happen to them, or one more.
fn draw_faults(chance: &mut ChaCha8Rng, shape: Shape, at_ms: u64, until_ms: u64) -> Story {
    let spare = shape.copies - shape.write_quorum;
    let mut nodes: Vec<usize> = (0..shape.copies).collect();
    nodes.shuffle(chance);
    let (some, others) = nodes.split_at(chance.random_range(1..=spare + 1));
    let (some, others) = (some.to_vec(), others.to_vec());
    match chance.random_range(0..5) {
        0 => {
            let mut story = at_once(at_ms, &some, Fault::Crash);
            story.extend(at_once(until_ms, &some, Fault::Restart));
            story
        }
        1 => vec![(at_ms, Fault::Part(some)), (until_ms, Fault::Heal)],
        2 => vec![(at_ms, Fault::Mute(some)), (until_ms, Fault::Heal)],
        3 => {
            // Some are behind when others are lost.
            let (behind, others) = nodes.split_at(spare);
            let lost = &others[..spare.max(1)];
            let lost_ms = at_ms + chance.random_range(10..60);
            let mut story = vec![(at_ms, Fault::Part(behind.to_vec()))];
            story.extend(at_once(lost_ms, lost, Fault::Crash));
            story.push((lost_ms, Fault::Heal));
            story.push((lost_ms + 5, Fault::Promote(nodes.clone())));
            story.extend(at_once(until_ms + 60, lost, Fault::Restart));
            story
        }
        _ => vec![
            (at_ms, Fault::Part(some)),
            (at_ms + 10, Fault::Promote(others)),
            (until_ms + 60, Fault::Heal),
        ],
    }
}

fn at_once(at_ms: u64, nodes: &[usize], fault: fn(usize) -> Fault) -> Story {
    nodes.iter().map(|node| (at_ms, fault(*node))).collect()
}

/// A story being played.
struct Play {
    lab: Rc<Lab>,
    sim: Sim<'static>,
}

impl Play {
    fn new(seed: u64, shape: Shape, chance: &mut ChaCha8Rng) -> Play {
        let mut cluster = Cluster::new(shape);
        cluster.outbox = Some(Vec::new());
        let is_slow = |_: &usize| chance.random_bool(0.2);
        let slow = (0..shape.copies).filter(is_slow).collect();
        let lab = Rc::new(Lab {
            cluster: RefCell::new(cluster),
            lines: RefCell::default(),
            chance: RefCell::new(ChaCha8Rng::seed_from_u64(seed)),
            to_ask: RefCell::default(),
            is_quiet: RefCell::new(false),
            slow,
        });
        let mut sim = Builder::new()
            .rng_seed(seed)
            .simulation_duration(Duration::from_millis(10 * END_MS))
            .tick_duration(TICK)
            .min_message_latency(Duration::from_millis(1))
            .max_message_latency(Duration::from_millis(8))
            .tcp_capacity(1 << 16)
            .enable_random_order()
            .build();
        for at in 0..shape.copies {
            let lab = lab.clone();
            sim.host(name(at), move || live(lab.clone(), at));
        }
        sim.client("promoter", preside(lab.clone()));
        Play { lab, sim }
    }

    fn step_until(&mut self, at_ms: u64) {
        while self.sim.elapsed() < Duration::from_millis(at_ms) {
            self.sim.step().expect("no host fails");
        }
    }

    fn befall(&mut self, fault: &Fault, chance: &mut ChaCha8Rng) {
        match fault {
            Fault::Crash(node) => self.crash(*node, chance),
            Fault::Restart(node) => self.restart(*node),
            Fault::Heal => self.pairs(|sim, a, b| sim.repair(name(a), name(b))),
            Fault::Part(group) => self.pairs(|sim, a, b| {
                if group.contains(&a) && !group.contains(&b) {
                    sim.partition(name(a), name(b));
                }
            }),
            Fault::Mute(group) => self.pairs(|sim, a, b| {
                if group.contains(&a) && !group.contains(&b) {
                    sim.partition_oneway(name(a), name(b));
                }
            }),
            Fault::Promote(nodes) => {
                let to_end = self.lab.cluster.borrow().heads_to_end(nodes);
                for head in to_end {
                    self.crash(head, chance);
                }
                *self.lab.to_ask.borrow_mut() = Some(nodes.clone());
            }
        }
    }

    /// All ordered pairs of nodes.
    fn pairs(&self, act: impl Fn(&Sim, usize, usize)) {
        let copies = self.lab.cluster.borrow().shape.copies;
        for a in 0..copies {
            for b in (0..copies).filter(|b| *b != a) {
                act(&self.sim, a, b);
            }
        }
    }

    fn crash(&mut self, at: usize, chance: &mut ChaCha8Rng) {
        if !self.lab.cluster.borrow().nodes[at].is_up {
            return;
        }
        self.sim.crash(name(at));
        self.lab
            .lines
            .borrow_mut()
            .retain(|(node, _), _| *node != at);
        let cut = match chance.random_range(0..4) {
            0 => PowerCut::KeepAll,
            1 => PowerCut::Random {
                seed: chance.random(),
            },
            _ => PowerCut::DropAll,
        };
        self.lab.cluster.borrow_mut().power_cut(at, cut);
    }

    fn restart(&mut self, at: usize) {
        if !self.lab.cluster.borrow().nodes[at].is_up {
            self.lab.cluster.borrow_mut().start(at);
            self.sim.bounce(name(at));
        }
    }
}

/// What came of a story.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ending {
    complaints: Vec<String>,
    acked: Vec<(u64, u64)>,
    promotions: usize,
    fenced: usize,
}

/// Plays one seed's story.
fn play(seed: u64, shape: Shape) -> Ending {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut play = Play::new(seed, shape, &mut chance);
    for (at_ms, fault) in write_story(&mut chance, shape) {
        play.step_until(at_ms);
        play.befall(&fault, &mut chance);
    }
    play.step_until(QUIET_MS);
    *play.lab.is_quiet.borrow_mut() = true;
    play.step_until(END_MS);
    let lab = play.lab.clone();
    let head = lab.cluster.borrow().newest_head();
    let cluster = &mut *lab.cluster.borrow_mut();
    match head {
        Some(head) => cluster.compare_all(head),
        None => cluster.check(false, "nobody leads in the end"),
    }
    Ending {
        complaints: std::mem::take(&mut cluster.world.complaints),
        acked: std::mem::take(&mut cluster.world.acked),
        promotions: cluster.promotions,
        fenced: cluster.fenced,
    }
}

fn seeds(normally: u64) -> u64 {
    let given = std::env::var("ACKLAB_COPIES_SEEDS").ok();
    given.map_or(normally, |given| given.parse().expect("a number of seeds"))
}

/// The shape that a seed's story is played with.
fn shape(seed: u64) -> Shape {
    let ack = [Ack::Write, Ack::Flush][(seed % 2) as usize];
    match seed / 2 % 6 {
        0 => Shape::quorum(6, 4, ack),
        1 => Shape::quorum(3, 2, ack),
        2 => Shape::mirror(ack, WhenShort::Block),
        3 => Shape::mirror(ack, WhenShort::Degrade),
        4 => Shape::mirror(ack, WhenShort::Error),
        _ => Shape::mirror(
            Ack::ProtocolC,
            [WhenShort::Block, WhenShort::Degrade][(seed % 2) as usize],
        ),
    }
}

#[test]
fn no_story_loses_what_was_acknowledged() {
    let (mut acked, mut promotions, mut fenced) = (0, 0, 0);
    for seed in 0..seeds(SEEDS) {
        let ending = play(seed, shape(seed));
        let complaints: &[String] = &ending.complaints;
        assert_eq!(complaints, [] as [String; 0], "seed {seed}");
        acked += ending.acked.len();
        promotions += ending.promotions;
        fenced += ending.fenced;
    }
    // Otherwise nothing was shown.
    let seeds = seeds(SEEDS) as usize;
    assert!(acked > 20 * seeds, "{acked} flushes");
    assert!(promotions > seeds, "{promotions} promotions");
    assert!(fenced > seeds / 2, "{fenced} fenced heads");
}

#[test]
fn a_seed_tells_the_same_story_twice() {
    for seed in [0, 5] {
        assert_eq!(play(seed, shape(seed)), play(seed, shape(seed)));
    }
}

/// How many of 60 stories lose something when the head waits for less than is thought.
fn losses(shape: Shape) -> usize {
    let is_loss =
        |of: &String| of.contains("lacks epoch") || of.contains("done, and not in generation");
    let is_lost = |seed: &u64| play(*seed, shape).complaints.iter().any(is_loss);
    (0..60).filter(is_lost).count()
}

#[test]
fn too_small_a_quorum_loses_and_is_seen() {
    let shape = Shape {
        write_quorum: 3,
        ..Shape::quorum(6, 4, Ack::Flush)
    };
    assert!(losses(shape) > 0);
}

#[test]
fn a_mirror_that_does_not_wait_loses_and_is_seen() {
    let shape = Shape {
        write_quorum: 1,
        ..Shape::mirror(Ack::Flush, WhenShort::Block)
    };
    assert!(losses(shape) > 0);
}

#[test]
fn drbds_rule_taken_for_the_strict_one_loses_and_is_seen() {
    let shape = Shape {
        promised_ack: Ack::Write,
        ..Shape::mirror(Ack::ProtocolC, WhenShort::Block)
    };
    assert!(losses(shape) > 0);
}
