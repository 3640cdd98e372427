//! Some nodes, and the wires between them, in one place: every step is chosen from outside.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::shape::Shape;
use super::world::{World, newest};
use crate::lab::disk::copies::journal::tests::COMMIT;
use crate::lab::disk::copies::wire::{Inbox, Message};
use crate::lab::disk::copies::{Ack, Action, Book, Change, Head, Link, Reach, Role, Ticket};
use crate::lab::disk::pace::Kind;
use crate::lab::disk::store::Store;
use crate::study::disk::PowerCut;

pub const BLOCKS: u64 = 24;
/// The last block is short.
pub const BYTES: u64 = BLOCKS * 4096 - 512;

pub struct Node {
    pub store: Store,
    pub role: Role,
    /// Requests to its disk that are not over.
    pub begun: Vec<Ticket>,
    pub is_up: bool,
    /// The last write it had received, by generation, whatever happened since.
    received: BTreeMap<u64, u64>,
    /// As a head, in its generation: the last write that was reported done, and the first epoch
    /// with all that commit a journal.
    done_seq: u64,
    commit_epoch: u64,
    /// What a cut left that is no epoch's.
    odd_image: Option<Vec<u8>>,
    /// Of disks that it lost: what was durable there, others may have been told of before.
    lost_books: Vec<Book>,
    callers: usize,
}

/// A connection from a head to a copy.
struct Wire {
    head: usize,
    peer: usize,
    copy: usize,
    caller: Link,
    /// `None` is the end of the connection.
    to_copy: VecDeque<Option<Message>>,
    to_head: VecDeque<Option<Message>>,
}

/// What a writer waits for.
#[derive(Debug, Clone, Copy)]
enum Request {
    Write {
        generation: u64,
        seq: u64,
    },
    Flush {
        generation: u64,
        epoch: u64,
        /// What must be durable at all copies that are needed.
        durable_epoch: u64,
        /// The last write that was done before it.
        seq: u64,
    },
}

impl Node {
    /// What its disk holds, and what those held that it lost.
    pub fn books(&self) -> impl Iterator<Item = &Book> {
        self.lost_books.iter().chain([self.role.book()])
    }
}

pub struct Cluster {
    pub shape: Shape,
    pub nodes: Vec<Node>,
    wires: Vec<Wire>,
    pub world: World,
    pub now: Duration,
    requests: BTreeMap<u64, Request>,
    last_request: u64,
    pub completed: Vec<u64>,
    pub failed: Vec<u64>,
    pub alone_generation: u64,
    is_replaced: bool,
    /// What others carry out, and at which node: messages, hanging up, times of disks. `None` if
    /// it is done here.
    pub outbox: Option<Vec<(usize, Action)>>,
    /// Promotions that came about, and heads that were fenced.
    pub promotions: usize,
    pub fenced: usize,
}

impl Cluster {
    /// Blank copies, the first of which leads.
    pub fn new(shape: Shape) -> Cluster {
        let node = |_| Node {
            store: Store::in_memory(BYTES).expect("memory"),
            role: Role::new(Book::blank(BYTES)),
            begun: Vec::new(),
            is_up: true,
            received: BTreeMap::new(),
            done_seq: 0,
            commit_epoch: 0,
            odd_image: None,
            lost_books: Vec::new(),
            callers: 0,
        };
        let mut cluster = Cluster {
            shape,
            nodes: (0..shape.copies).map(node).collect(),
            wires: Vec::new(),
            world: World::new(BYTES),
            now: Duration::ZERO,
            requests: BTreeMap::new(),
            last_request: 0,
            completed: Vec::new(),
            failed: Vec::new(),
            alone_generation: 0,
            is_replaced: false,
            outbox: None,
            promotions: 0,
            fenced: 0,
        };
        cluster.lead(0, 1);
        cluster
    }

    /// The node that leads the newest generation, if it is up.
    pub fn newest_head(&self) -> Option<usize> {
        let newest = self.world.newest();
        self.heads()
            .into_iter()
            .find(|at| self.generation(*at) == newest)
    }

    pub fn heads(&self) -> Vec<usize> {
        let leads = |at: &usize| self.nodes[*at].is_up && self.nodes[*at].role.is_head();
        (0..self.nodes.len()).filter(leads).collect()
    }

    pub fn head(&self, node: usize) -> Option<&Head> {
        match &self.nodes[node].role {
            Role::Head(head) => Some(head),
            Role::Copy(_) => None,
        }
    }

    fn generation(&self, node: usize) -> u64 {
        self.head(node).map_or(0, |head| head.reign().generation)
    }

    fn needed(&self, node: usize) -> usize {
        match self.head(node).map(Head::reach) {
            Some(Reach::Alone) => 1,
            _ => self.shape.write_quorum,
        }
    }

    pub fn lead(&mut self, at: usize, generation: u64) {
        self.drop_wires(at);
        let (terms, now) = (self.shape.terms(), self.now);
        let node = &mut self.nodes[at];
        let legal = self.world.legal_images(&node.role);
        let received = match &node.role {
            Role::Copy(copy) => copy.survey(now),
            Role::Head(_) => panic!("a head that promised is a copy"),
        };
        let received = (received.generation, received.seq);
        node.role.promote(&mut node.store, now, terms, generation);
        node.begun.clear();
        (node.done_seq, node.commit_epoch) = (0, 0);
        // It stays so until something is made durable, however often the node leads until then.
        let is_exact = node.role.book().is_exact;
        node.odd_image = node.odd_image.take().filter(|_| !is_exact);
        let found = newest(&node.store);
        if !legal
            .iter()
            .chain(&node.odd_image)
            .any(|image| *image == found)
        {
            let complaint = format!("node {at} leads with what was never there");
            self.world.complaints.push(complaint);
        }
        let Role::Head(head) = &node.role else {
            panic!("a promoted copy leads");
        };
        self.world
            .began(head.reign(), head.sealed(), received, &node.store);
    }

    /// The node's writer writes some blocks' worth of a pattern that never comes again.
    pub fn write(&mut self, at: usize, offset: u64, bytes: usize) {
        let generation = self.generation(at);
        self.last_request += 1;
        let request = self.last_request;
        let pattern = request.to_le_bytes();
        let mut data: Vec<u8> = pattern.into_iter().cycle().take(bytes).collect();
        let sealed = self.head(at).map_or(0, Head::sealed);
        let node = &mut self.nodes[at];
        if self.shape.ack == Ack::ProtocolC && request.is_multiple_of(3) && bytes > COMMIT.len() {
            data[..COMMIT.len()].copy_from_slice(&COMMIT);
            node.commit_epoch = sealed + 1;
        }
        let actions = node.role.write(&mut node.store, request, offset, &data);
        if let Some(Action::Begin { ticket, .. }) = actions.first() {
            let seq = ticket.expect("a head's write has an end").0;
            self.world.wrote(generation, seq, offset, &data);
            let write = Request::Write { generation, seq };
            self.requests.insert(request, write);
            self.note_received(at, generation, seq);
        }
        self.act(at, actions);
    }

    pub fn flush(&mut self, at: usize) {
        let generation = self.generation(at);
        self.last_request += 1;
        let request = self.last_request;
        let epoch = self.head(at).map_or(0, |head| head.sealed() + 1);
        let node = &mut self.nodes[at];
        let flush = Request::Flush {
            generation,
            epoch,
            durable_epoch: match self.shape.ack {
                Ack::Write | Ack::Flush => epoch,
                Ack::ProtocolC => node.commit_epoch,
            },
            seq: node.done_seq,
        };
        self.requests.insert(request, flush);
        let actions = node.role.flush(&mut node.store, request);
        self.act(at, actions);
    }

    /// A request to a node's disk is over.
    pub fn over(&mut self, at: usize, which: usize) {
        let ticket = self.nodes[at].begun.remove(which);
        self.over_by_ticket(at, ticket);
    }

    pub fn over_by_ticket(&mut self, at: usize, ticket: Ticket) {
        let node = &mut self.nodes[at];
        let actions = node.role.over(&mut node.store, ticket, false);
        self.act(at, actions);
    }

    pub fn pass(&mut self, span: Duration) {
        self.now += span;
        for at in 0..self.nodes.len() {
            if self.nodes[at].is_up {
                self.pass_at(at);
            }
        }
    }

    pub fn pass_at(&mut self, at: usize) {
        let actions = self.nodes[at].role.passed(self.now);
        self.act(at, actions);
    }

    pub fn connected(&mut self, at: usize, link: Link) {
        let actions = self.nodes[at].role.connected(self.now, link);
        self.act(at, actions);
    }

    pub fn lost(&mut self, at: usize, link: Link) {
        let actions = self.nodes[at].role.lost(self.now, link);
        self.act(at, actions);
    }

    pub fn heard(&mut self, at: usize, link: Link, message: Message) {
        let node = &mut self.nodes[at];
        let actions = node.role.heard(&mut node.store, self.now, link, message);
        self.act(at, actions);
    }

    /// A number for a call that the node answers.
    pub fn answer_call(&mut self, at: usize) -> Link {
        self.nodes[at].callers += 1;
        Link::Caller(self.nodes[at].callers)
    }

    /// A head calls a copy, if it does not yet.
    pub fn connect(&mut self, head: usize, peer: usize) {
        let copy = node_of(head, peer);
        let is_there = |wire: &Wire| wire.head == head && wire.peer == peer;
        if self.wires.iter().any(is_there) || !self.nodes[copy].is_up {
            return;
        }
        let caller = self.answer_call(copy);
        self.wires.push(Wire {
            head,
            peer,
            copy,
            caller,
            to_copy: VecDeque::new(),
            to_head: VecDeque::new(),
        });
        self.connected(head, Link::Peer(peer));
    }

    pub fn wires(&self) -> usize {
        self.wires.len()
    }

    /// What is under way is lost, and both ends see that the connection has ended.
    pub fn cut_wire(&mut self, which: usize) {
        let wire = &mut self.wires[which];
        wire.to_copy = [None].into();
        wire.to_head = [None].into();
    }

    /// Hands over the next message of one direction of a connection. False if there is none.
    pub fn deliver(&mut self, which: usize, is_to_copy: bool) -> bool {
        let wire = &mut self.wires[which];
        let (at, link) = match is_to_copy {
            true => (wire.copy, wire.caller),
            false => (wire.head, Link::Peer(wire.peer)),
        };
        let queue = match is_to_copy {
            true => &mut wire.to_copy,
            false => &mut wire.to_head,
        };
        let Some(message) = queue.pop_front() else {
            return false;
        };
        match message {
            Some(message) => self.heard(at, link, through_bytes(message)),
            None => {
                self.wires.remove(which);
                self.lost(at, link);
            }
        }
        true
    }

    /// Does what a machine wants done.
    pub fn act(&mut self, at: usize, actions: Vec<Action>) {
        for action in actions {
            if let Some(outbox) = &mut self.outbox {
                outbox.push((at, action.clone()));
            }
            match action {
                Action::Send { to, message } => self.send(at, to, message),
                Action::HangUp { link } => self.hang_up(at, link),
                Action::Begin { ticket, kind, .. } => self.begin(at, ticket, kind),
                Action::Complete { request } => self.complete(at, request),
                Action::Fail { request } => self.failed.push(request),
                Action::Report(Change::Fenced { .. }) => self.fenced += 1,
                Action::Report(_) => (),
            }
        }
        let role = &self.nodes[at].role;
        if let Role::Copy(copy) = role
            && copy.is_whole()
        {
            let survey = copy.survey(self.now);
            self.note_received(at, survey.generation, survey.seq);
        }
    }

    fn begin(&mut self, at: usize, ticket: Option<Ticket>, kind: Kind) {
        self.nodes[at].begun.extend(ticket);
        if kind == Kind::Flush && self.nodes[at].role.is_head() {
            self.world.sealed(self.generation(at));
        }
    }

    fn note_received(&mut self, at: usize, generation: u64, seq: u64) {
        let last = self.nodes[at].received.entry(generation).or_default();
        *last = seq.max(*last);
    }

    fn wire_of(&mut self, at: usize, link: Link) -> Option<usize> {
        let is_of = |wire: &Wire| match link {
            Link::Peer(peer) => wire.head == at && wire.peer == peer,
            Link::Caller(_) => wire.copy == at && wire.caller == link,
        };
        self.wires.iter().position(is_of)
    }

    fn send(&mut self, at: usize, to: Link, message: Message) {
        if let Some(which) = self.wire_of(at, to) {
            let wire = &mut self.wires[which];
            match to {
                Link::Peer(_) => wire.to_copy.push_back(Some(message)),
                Link::Caller(_) => wire.to_head.push_back(Some(message)),
            }
        }
    }

    /// What is under way to the other side still arrives there, then the end.
    fn hang_up(&mut self, at: usize, link: Link) {
        if let Some(which) = self.wire_of(at, link) {
            let wire = &mut self.wires[which];
            match link {
                Link::Peer(_) => {
                    wire.to_head.clear();
                    wire.to_copy.push_back(None);
                }
                Link::Caller(_) => {
                    wire.to_copy.clear();
                    wire.to_head.push_back(None);
                }
            }
        }
    }

    fn complete(&mut self, at: usize, request: u64) {
        self.completed.push(request);
        let needed = self.needed(at);
        match self.requests[&request] {
            Request::Flush {
                generation,
                epoch,
                durable_epoch,
                seq,
            } => {
                let nodes = &self.nodes;
                self.world.held(generation, epoch, 1, nodes);
                self.world.held(generation, durable_epoch, needed, nodes);
                let seq = (self.shape.ack == Ack::ProtocolC).then_some(seq);
                self.world.flushed(generation, epoch, seq);
            }
            Request::Write { generation, seq } => {
                let node = &mut self.nodes[at];
                node.done_seq = node.done_seq.max(seq);
                let commits = self.world.commits(generation, seq);
                let waits = match self.shape.ack {
                    Ack::Write => true,
                    Ack::ProtocolC => !commits,
                    Ack::Flush => false,
                };
                let needed = if waits { needed } else { 1 };
                let has = |node: &&Node| node.received.get(&generation) >= Some(&seq);
                let have = self.nodes.iter().filter(has).count();
                self.world.written(generation, seq, needed, have);
            }
        }
    }

    /// The power goes at a node; it comes back when it is [`Cluster::start`]ed.
    pub fn power_cut(&mut self, at: usize, cut: PowerCut) {
        self.drop_wires(at);
        let node = &mut self.nodes[at];
        node.begun.clear();
        node.is_up = false;
        node.role.power_cut(&mut node.store, cut);
        if node.role.book().is_exact {
            node.odd_image = None;
            self.world.compare(at, node.role.book(), &node.store);
        } else if let Some(odd) = node.odd_image.as_ref().filter(|_| cut == PowerCut::DropAll) {
            let what = format!("node {at}: after an odd cut");
            self.world.compare_images(odd, &newest(&node.store), &what);
        } else {
            node.odd_image = Some(newest(&node.store));
        }
    }

    pub fn start(&mut self, at: usize) {
        self.nodes[at].is_up = true;
    }

    /// A node's disk is gone; a blank one takes its place.
    pub fn replace(&mut self, at: usize) {
        self.is_replaced = true;
        self.drop_wires(at);
        let promised = self.nodes.iter().map(|node| node.role.book().promised());
        let promised = promised.max().unwrap_or(0);
        let node = &mut self.nodes[at];
        node.lost_books.push(node.role.book().clone());
        node.store = Store::in_memory(BYTES).expect("memory");
        node.role = Role::new(Book::replaced(BYTES, promised));
        node.begun.clear();
        node.odd_image = None;
    }

    /// All connections of a node end; the others see it.
    fn drop_wires(&mut self, at: usize) {
        let (own, others): (Vec<Wire>, _) = std::mem::take(&mut self.wires)
            .into_iter()
            .partition(|wire| wire.head == at || wire.copy == at);
        self.wires = others;
        for wire in own {
            let (other, link) = match wire.head == at {
                true => (wire.copy, wire.caller),
                false => (wire.head, Link::Peer(wire.peer)),
            };
            self.lost(other, link);
        }
    }

    /// Everything that can happen without further faults happens.
    pub fn settle(&mut self) {
        loop {
            let mut is_quiet = true;
            for which in (0..self.wires.len()).rev() {
                while which < self.wires.len() && self.deliver(which, true) {
                    is_quiet = false;
                }
                while which < self.wires.len() && self.deliver(which, false) {
                    is_quiet = false;
                }
            }
            for at in 0..self.nodes.len() {
                while self.nodes[at].is_up && !self.nodes[at].begun.is_empty() {
                    is_quiet = false;
                    self.over(at, 0);
                }
            }
            if is_quiet {
                return;
            }
        }
    }

    /// Each head calls all its peers.
    pub fn connect_all(&mut self) {
        for head in self.heads() {
            for peer in 0..self.shape.copies - 1 {
                self.connect(head, peer);
            }
        }
    }

    /// In the end, with all nodes up and well connected, everything is as it should be: there is a
    /// head that serves, and all copies are alike.
    pub fn end_well(&mut self) {
        for at in 0..self.nodes.len() {
            self.start(at);
        }
        let all: Vec<usize> = (0..self.nodes.len()).collect();
        let head = match self.promote(&all) {
            Ok(head) => head,
            // With too many disks lost there is nothing to be had.
            Err(refusal) => return self.check(self.is_replaced, &format!("{refusal:?}")),
        };
        self.connect_all();
        self.settle();
        self.connect_all();
        self.settle();
        self.write(head, 0, 4096);
        self.flush(head);
        self.settle();
        self.compare_all(head);
    }

    /// Nothing is under way any more: all copies are whole, durable, and alike.
    pub fn compare_all(&mut self, head: usize) {
        let whole = self.head(head).map_or(0, Head::whole_copies);
        self.check(whole == self.shape.copies, "not all copies are whole");
        let last = self.last_request;
        self.check(self.completed.contains(&last), "the last flush is not done");
        let expected = newest(&self.nodes[head].store);
        for at in 0..self.nodes.len() {
            self.power_cut(at, PowerCut::DropAll);
            let found = newest(&self.nodes[at].store);
            let what = format!("node {at}, in the end");
            self.world.compare_images(&expected, &found, &what);
        }
    }

    pub fn check(&mut self, is_well: bool, complaint: &str) {
        if !is_well {
            self.world.complaints.push(complaint.to_owned());
        }
    }
}

/// The node that is a head's peer of that number.
pub fn node_of(head: usize, peer: usize) -> usize {
    if peer < head { peer } else { peer + 1 }
}

/// Every message crosses the wire as bytes.
fn through_bytes(message: Message) -> Message {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    let mut inbox = Inbox::default();
    inbox.extend(&bytes);
    let read = inbox.next_message().expect("a message").expect("all of it");
    assert_eq!(read, message);
    read
}
