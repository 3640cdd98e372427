//! What really happened: the writers' own log, which no machine sees, and what does not agree
//! with it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::cluster::Node;
use crate::lab::disk::copies::book::{BLOCK_BYTES, Reign};
use crate::lab::disk::copies::journal::is_committed_by;
use crate::lab::disk::copies::{Book, Role};
use crate::lab::disk::store::Store;

/// The log of one reign.
struct Log {
    reign: Reign,
    /// What its head began with.
    base: Vec<u8>,
    ops: Vec<Op>,
    sealed: u64,
    /// Of which generation its head held the writes up to which, in memory at least.
    received: (u64, u64),
}

/// A flush that was reported done.
#[derive(Debug, Clone, Copy)]
struct Done {
    generation: u64,
    epoch: u64,
    /// Whoever has these writes has it too; `None` if it must be an epoch.
    seq: Option<u64>,
}

enum Op {
    Write {
        seq: u64,
        offset: usize,
        data: Vec<u8>,
    },
    Seal {
        epoch: u64,
    },
}

/// All reigns, and all that was found wrong.
pub struct World {
    bytes: u64,
    logs: BTreeMap<u64, Log>,
    /// Flushes reported done: generation and epoch.
    pub acked: Vec<(u64, u64)>,
    done: Vec<Done>,
    pub complaints: Vec<String>,
}

impl World {
    pub fn new(bytes: u64) -> World {
        World {
            bytes,
            logs: BTreeMap::new(),
            acked: Vec::new(),
            done: Vec::new(),
            complaints: Vec::new(),
        }
    }

    fn complain(&mut self, complaint: String) {
        self.complaints.push(complaint);
    }

    /// The newest generation that was ever led.
    pub fn newest(&self) -> u64 {
        self.logs.keys().next_back().copied().unwrap_or(0)
    }

    /// A copy leads from now on, with what its store holds.
    pub fn began(&mut self, reign: &Reign, sealed: u64, received: (u64, u64), store: &Store) {
        let log = Log {
            reign: reign.clone(),
            base: newest(store),
            ops: Vec::new(),
            sealed,
            received,
        };
        assert!(self.logs.insert(reign.generation, log).is_none());
        let new = reign.generation;
        let lacks = |done: &Done| !self.has(new, done);
        let lacking: Vec<Done> = self.done.iter().filter(|of| lacks(of)).copied().collect();
        for Done {
            generation, epoch, ..
        } in lacking
        {
            self.complain(format!(
                "generation {new} lacks epoch {epoch} of generation {generation}"
            ));
        }
    }

    /// Whether a generation holds what a flush has made safe: as an epoch, or because it, or one
    /// that it comes from, began with the writes.
    fn has(&self, generation: u64, done: &Done) -> bool {
        let Log { reign, sealed, .. } = &self.logs[&generation];
        let began_with = |generation: u64| {
            let log = self.logs.get(&generation);
            let (of, seq) = log.map_or((0, 0), |log| log.received);
            of == done.generation && done.seq.is_some_and(|least| seq >= least)
        };
        let before = reign.before.iter().map(|past| past.generation);
        reign.holds(reign.volume, done.generation, done.epoch, *sealed)
            || before.chain([generation]).any(began_with)
    }

    /// Whether a write of that generation commits a journal.
    pub fn commits(&self, generation: u64, number: u64) -> bool {
        let ops = self.logs[&generation].ops.iter();
        let mut of_write = ops.filter_map(|op| match op {
            Op::Write { seq, data, .. } if *seq == number => Some(data),
            _ => None,
        });
        of_write.next().is_some_and(|data| is_committed_by(data))
    }

    /// The head of that generation has written.
    pub fn wrote(&mut self, generation: u64, seq: u64, offset: u64, data: &[u8]) {
        let log = self.logs.get_mut(&generation).expect("a head that began");
        log.ops.push(Op::Write {
            seq,
            offset: offset as usize,
            data: data.to_vec(),
        });
    }

    /// It has begun a flush.
    pub fn sealed(&mut self, generation: u64) -> u64 {
        let log = self.logs.get_mut(&generation).expect("a head that began");
        log.sealed += 1;
        let epoch = log.sealed;
        log.ops.push(Op::Seal { epoch });
        epoch
    }

    /// A flush was reported done, while these nodes stood so: have enough of them that epoch?
    pub fn held(&mut self, generation: u64, epoch: u64, needed: usize, nodes: &[Node]) {
        let holds = |book: &&Book| {
            let (reign, durable) = book.durable();
            reign.holds(reign.volume, generation, epoch, durable)
        };
        let has_held = |node: &&Node| node.books().any(|book| holds(&book));
        let have = nodes.iter().filter(has_held).count();
        if have < needed {
            self.complain(format!(
                "epoch {epoch} of {generation} done with {have} durable copies, not {needed}"
            ));
        }
    }

    /// A flush was reported done. With DRBD's rule `seq` is the last write done before it.
    pub fn flushed(&mut self, generation: u64, epoch: u64, seq: Option<u64>) {
        let done = Done {
            generation,
            epoch,
            seq,
        };
        let mut newer = self.logs.range(generation + 1..).map(|(newer, _)| *newer);
        if let Some(newer) = newer.find(|newer| !self.has(*newer, &done)) {
            self.complain(format!(
                "epoch {epoch} of {generation} done, and not in generation {newer}"
            ));
        }
        self.acked.push((generation, epoch));
        self.done.push(done);
    }

    /// A write was reported done, while so many copies had received it.
    pub fn written(&mut self, generation: u64, seq: u64, needed: usize, have: usize) {
        if have < needed {
            self.complain(format!(
                "write {seq} of {generation} done with {have} copies, not {needed}"
            ));
        }
    }

    /// The image at the start of an epoch's flush; zeros for a copy of nothing.
    pub fn image(&self, generation: u64, epoch: u64) -> Vec<u8> {
        let Some(log) = self.logs.get(&generation) else {
            return vec![0; self.bytes as usize];
        };
        let mut image = log.base.clone();
        for op in &log.ops {
            match op {
                Op::Write { offset, data, .. } => lay(&mut image, *offset, data),
                Op::Seal { epoch: sealed } if *sealed == epoch => return image,
                Op::Seal { .. } => (),
            }
        }
        panic!("epoch {epoch} of generation {generation} was never begun");
    }

    /// After a write.
    pub fn image_at(&self, generation: u64, last_seq: u64) -> Vec<u8> {
        let log = &self.logs[&generation];
        let mut image = log.base.clone();
        for op in &log.ops {
            match op {
                Op::Write { seq, offset, data } if *seq <= last_seq => {
                    lay(&mut image, *offset, data);
                }
                _ => (),
            }
        }
        image
    }

    /// After a power cut that dropped all that was volatile: is that what the book says?
    pub fn compare(&mut self, node: usize, book: &Book, store: &Store) {
        let (reign, epoch) = book.durable();
        let (generation, expected) = (reign.generation, self.image(reign.generation, epoch));
        self.compare_images(
            &expected,
            &newest(store),
            &format!("node {node}: durable epoch {epoch} of {generation}"),
        );
    }

    /// What a node may hold when it begins to lead: all that it received as a whole copy, or all
    /// that it wrote as the last head, or else what is durable.
    pub fn legal_images(&self, role: &Role) -> Vec<Vec<u8>> {
        if let Role::Copy(copy) = role
            && copy.is_whole()
        {
            let survey = copy.survey(Duration::ZERO);
            return vec![self.image_at(survey.generation, survey.seq)];
        }
        let book = role.book();
        let (reign, epoch) = book.durable();
        let mut legal = vec![self.image(reign.generation, epoch)];
        if self.logs.contains_key(&book.led) {
            legal.push(self.image_at(book.led, u64::MAX));
        }
        legal
    }

    pub fn compare_images(&mut self, expected: &[u8], found: &[u8], what: &str) {
        let blocks = |image: &[u8]| -> Vec<Vec<u8>> {
            let blocks = image.chunks(BLOCK_BYTES as usize);
            blocks.map(<[u8]>::to_vec).collect()
        };
        let pairs = blocks(expected).into_iter().zip(blocks(found));
        for (block, (expected, found)) in pairs.enumerate() {
            if let Some(at) = (0..expected.len()).find(|at| expected[*at] != found[*at]) {
                let (wanted, is) = (expected[at], found[at]);
                self.complain(format!(
                    "{what}: block {block} byte {at}: {is}, not {wanted}"
                ));
                return;
            }
        }
    }
}

fn lay(image: &mut [u8], offset: usize, data: &[u8]) {
    image[offset..offset + data.len()].copy_from_slice(data);
}

/// All that a store shows.
pub fn newest(store: &Store) -> Vec<u8> {
    let mut image = vec![0; store.bytes() as usize];
    store.read(0, &mut image);
    image
}
