//! A volume that is one of several copies.

use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;
use std::time::{Duration, Instant};

use super::{COPY_PORT, UNMOUNT_LIMIT, Volume, VolumeSpec};
use crate::error::{Result, breakdown};
use crate::lab::disk::copies::Reach;
use crate::lab::disk::copies::promote::Survey;
use crate::lab::disk::replica::{Lead, Standing};
use crate::lab::disk::wire::{Reply, Request};
use crate::lab::netns::Place;

const LOOK_STEP: Duration = Duration::from_millis(2);

impl Volume {
    /// Starts a node's copy of a volume, blank as yet: it listens in that place, obeys whoever
    /// leads, and shows no file system until it leads itself. It begins in upkeep: see
    /// [`Volume::set_upkeep`]. As [`Volume::follow_with`] by this very program.
    ///
    /// One that takes the place of a copy that is lost has to [`Volume::promise`] the newest
    /// generation first, as the lost one may have done.
    pub fn follow(spec: VolumeSpec, place: &Place) -> Result<Volume> {
        Volume::follow_with(Path::new("/proc/self/exe"), spec, place)
    }

    /// The same by another acklab program; tests are none themselves.
    ///
    /// # Errors
    /// A breakdown if the image or the listener cannot be made. Nothing is left then.
    pub fn follow_with(program: &Path, spec: VolumeSpec, place: &Place) -> Result<Volume> {
        let address = SocketAddrV4::new(place.address, COPY_PORT);
        Volume::open(program, &spec, place, Some(address))
    }

    /// Where it listens.
    ///
    /// # Errors
    /// A breakdown if it is not one of several copies.
    pub fn address(&self) -> Result<SocketAddr> {
        let name = &self.name;
        let alone = || breakdown(format!("find the copies of {name}"), "it has none");
        self.address.ok_or_else(alone)
    }

    /// Makes this copy the head, and shows the file system at the mount point: once enough copies
    /// are whole, or none but this one is needed. If it is new, it returns when all copies are.
    ///
    /// The power can be cut meanwhile, which ends the wait.
    ///
    /// # Errors
    /// A breakdown if too few copies obey within the limit, if another copy leads, if its disk
    /// stalls, if the journal cannot be replayed, or if e2fsck finds anything afterwards.
    pub fn lead(&self, lead: &Lead) -> Result<()> {
        self.check_moves("lead with the disk")?;
        let mut stand = self.stand();
        if stand.is_mounted {
            self.unmount(&mut stand, UNMOUNT_LIMIT)?;
        }
        self.tell("lead", &Request::Lead(lead.clone()))?;
        self.set_upkeep(true)?;
        let quorum = lead.terms.write_quorum;
        self.wait_until(quorum, lead.limit, |standing| {
            matches!(standing.reach, Some(Reach::Enough | Reach::Alone))
        })?;
        if lead.is_new {
            self.show_new(&mut stand)?;
            self.wait_whole(1 + lead.peers.len(), lead.limit)?;
        } else {
            self.show_recovered(&mut stand)?;
        }
        self.set_upkeep(false)
    }

    /// Obeys that generation or newer ones only from now on, and says what it holds. A head of an
    /// older one leads no more.
    ///
    /// # Errors
    /// A breakdown if it has promised as much before, has no power, or its disk fails.
    pub fn promise(&self, generation: u64) -> Result<Survey> {
        let tried = "ask a copy for its promise";
        self.ask(tried, &Request::Promise(generation), |reply| match reply {
            Reply::Promised(survey) => Ok(survey),
            other => Err(other),
        })
    }

    /// The newest generation that it has promised to obey.
    ///
    /// # Errors
    /// As [`Volume::standing`].
    pub fn promised(&self) -> Result<u64> {
        Ok(self.look()?.promised)
    }

    /// How it stands, and what befell it since this was last asked.
    ///
    /// # Errors
    /// A breakdown if it is not one of several copies, or has ended.
    pub fn standing(&self) -> Result<Standing> {
        let mut standing = self.look()?;
        standing.changes = std::mem::take(&mut *self.changes());
        Ok(standing)
    }

    /// Waits until so many copies, its own included, are whole under this head.
    ///
    /// # Errors
    /// A breakdown if that takes longer than the limit, or if it does not lead (any more).
    pub fn wait_whole(&self, copies: usize, limit: Duration) -> Result<()> {
        self.wait_until(copies, limit, |standing| standing.whole_copies >= copies)
    }

    fn wait_until(
        &self,
        copies: usize,
        limit: Duration,
        is_so: impl Fn(&Standing) -> bool,
    ) -> Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            let standing = self.look()?;
            let reason = match &standing {
                _ if standing.is_head && is_so(&standing) => return Ok(()),
                Standing {
                    fenced_by: Some(generation),
                    ..
                } => format!("generation {generation} has taken over"),
                _ if !standing.is_head => "it does not lead".to_owned(),
                _ if Instant::now() >= deadline => {
                    let (whole, seconds) = (standing.whole_copies, limit.as_secs_f64());
                    format!("{whole} are after {seconds} s")
                }
                _ => {
                    std::thread::sleep(LOOK_STEP);
                    continue;
                }
            };
            let name = &self.name;
            let tried = format!("see {copies} copies of {name} whole");
            return Err(breakdown(tried, reason));
        }
    }

    /// As [`Volume::standing`], but keeps what befell it for that.
    pub(super) fn look(&self) -> Result<Standing> {
        let tried = "see how a copy stands";
        let mut standing = self.ask(tried, &Request::Stand, |reply| match reply {
            Reply::Stands(standing) => Ok(standing),
            other => Err(other),
        })?;
        self.changes().append(&mut standing.changes);
        Ok(standing)
    }
}
