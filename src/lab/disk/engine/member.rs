//! What a disk that is one of several copies holds besides its blocks.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::lab::disk::copies::transport::Sender;
use crate::lab::disk::copies::wire::Message;
use crate::lab::disk::copies::{Book, Change, Link, Role};
use crate::lab::disk::pace::Kind;
use crate::lab::disk::replica::Standing;
use crate::lab::disk::store::{CutReport, Store};
use crate::study::disk::PowerCut;

/// The sending side of a connection.
pub trait Speak: Send {
    /// Must not block.
    fn send(&self, message: &Message);
    fn hang_up(&self);
}

impl Speak for Sender {
    fn send(&self, message: &Message) {
        Sender::send(self, message);
    }

    fn hang_up(&self) {
        Sender::hang_up(self);
    }
}

/// A node's part in a volume of several copies.
pub struct Member<R> {
    pub(super) role: Role,
    /// What the writer waits for.
    pub(super) asked: BTreeMap<u64, Asked<R>>,
    pub(super) requests: u64,
    /// Connections that have not been hung up.
    pub(super) senders: BTreeMap<Link, Box<dyn Speak>>,
    /// When time's passing matters to the role next.
    pub(super) pass_due: Option<Duration>,
    /// When the last write is over whose end nobody was promised to hear of.
    pub(super) written_at: Duration,
    pub(super) changes: Vec<Change>,
    pub(super) fenced_by: Option<u64>,
    /// What it knew of its copy when the image was kept.
    kept: Option<Book>,
}

pub(super) struct Asked<R> {
    pub(super) arrived: Duration,
    pub(super) kind: Kind,
    pub(super) bytes: u64,
    pub(super) reply: R,
}

impl<R> Member<R> {
    pub(super) fn new(bytes: u64) -> Member<R> {
        Member {
            role: Role::new(Book::blank(bytes)),
            asked: BTreeMap::new(),
            requests: 0,
            senders: BTreeMap::new(),
            pass_due: None,
            written_at: Duration::ZERO,
            changes: Vec::new(),
            fenced_by: None,
            kept: None,
        }
    }

    pub(super) fn pass_due(&self) -> Option<Duration> {
        self.pass_due
    }

    pub(super) fn cut(&mut self, store: &mut Store, cut: PowerCut) -> CutReport {
        self.written_at = Duration::ZERO;
        self.role.power_cut(store, cut)
    }

    pub(super) fn keep(&mut self) {
        self.kept = Some(self.role.book().clone());
    }

    /// The blocks are those that were there when it was kept.
    pub(super) fn go_back(&mut self) {
        if let Some(kept) = &self.kept {
            let book = kept.gone_back_to(self.role.book());
            self.begin_anew(book);
        }
    }

    /// The blocks are all zeros, of another disk.
    pub(super) fn replace(&mut self) {
        let lost = self.role.book();
        let book = Book::blank(lost.bytes()).gone_back_to(lost);
        self.begin_anew(book);
    }

    fn begin_anew(&mut self, book: Book) {
        self.role = Role::new(book);
        self.written_at = Duration::ZERO;
        self.changes.clear();
        self.fenced_by = None;
    }

    pub(super) fn leads(&self) -> bool {
        matches!(&self.role, Role::Head(head) if !head.is_fenced())
    }

    pub(super) fn hang_up_all(&mut self) {
        for sender in std::mem::take(&mut self.senders).into_values() {
            sender.hang_up();
        }
    }

    pub(super) fn note(&mut self, change: Change) {
        if let Change::Fenced { generation, .. } = change {
            self.fenced_by = Some(generation);
        }
        self.changes.push(change);
    }

    pub(super) fn stands(&self, now: Duration) -> Standing {
        let (_, durable_epoch) = self.role.book().durable();
        let standing = Standing {
            promised: self.role.book().promised(),
            durable_epoch,
            fenced_by: self.fenced_by,
            ..Standing::default()
        };
        match &self.role {
            Role::Head(head) if !head.is_fenced() => Standing {
                is_head: true,
                reach: Some(head.reach()),
                whole_copies: head.whole_copies(),
                sealed_epoch: head.sealed(),
                ..standing
            },
            Role::Head(head) => Standing {
                sealed_epoch: head.sealed(),
                ..standing
            },
            Role::Copy(copy) => {
                let survey = copy.survey(now);
                Standing {
                    is_whole: copy.is_whole(),
                    touch: Some(survey.touch),
                    sealed_epoch: survey.sealed,
                    ..standing
                }
            }
        }
    }
}
