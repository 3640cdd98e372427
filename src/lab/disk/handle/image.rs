//! All that a volume holds: kept, gone back to, destroyed, replaced.

use std::time::{Duration, Instant};

use super::{Stand, UNMOUNT_LIMIT, Volume};
use crate::error::{Result, breakdown};
use crate::lab::disk::condition::Condition;
use crate::lab::disk::copies::promote::next_generation;
use crate::lab::disk::ext4;
use crate::lab::disk::replica::CopySet;
use crate::lab::disk::wire::{Reply, Request, Trouble, Turn};

/// Between two looks at whether copies are level.
const LOOK_STEP: Duration = Duration::from_millis(2);

impl Volume {
    /// Remembers what the disk holds, for [`Volume::go_back`], instead of anything kept before. To
    /// be called when the server has been stopped: the file system is unmounted, checked, and
    /// mounted again. From then on the volume sets aside each block before it changes for the first
    /// time, in memory.
    ///
    /// # Errors
    /// A breakdown if files are still open, if the disk does not work, if e2fsck finds anything,
    /// or of one of several copies: see [`Volume::keep_copies`].
    pub fn keep_image(&self) -> Result<()> {
        let tried = "keep the image";
        self.check_alone(tried)?;
        self.at_rest(tried, || self.turn(tried, Turn::Keep).map(|_| ()))
    }

    /// Puts the disk back to what it held when it was kept, in whatever condition it is, and shows
    /// its file system; how many blocks of 4 KiB were put back. To be called when the server has
    /// been killed: until its files are closed they get errors. How fast the disk is stays as it
    /// was [`Volume::set`].
    ///
    /// # Errors
    /// A breakdown if files stay open, if nothing was kept, or of one of several copies: see
    /// [`Volume::restore_copies`].
    pub fn go_back(&self) -> Result<u64> {
        self.check_alone("go back to the image")?;
        self.freeze()?;
        let mut stand = self.stand();
        let blocks = self.put_back(&mut stand)?;
        let device = self.attach()?;
        self.mount(&mut stand, &device)?;
        self.set_upkeep(false)?;
        Ok(blocks)
    }

    /// As [`Volume::keep_image`], of all copies of a volume: the head's, and those that follow it,
    /// which have to become whole first, and to hold the very same.
    ///
    /// # Errors
    /// As there; and if none leads, or they are not level within the limit.
    pub fn keep_copies(copies: &[&Volume], limit: Duration) -> Result<()> {
        let tried = "keep the image";
        let head = head_of(copies)?;
        head.wait_whole(copies.len(), limit)?;
        head.at_rest(tried, || {
            wait_level(head, copies, limit)?;
            let keep = |copy: &&Volume| copy.turn(tried, Turn::Keep).map(|_| ());
            copies.iter().try_for_each(keep)
        })
    }

    /// As [`Volume::go_back`], of all copies of a volume that were kept together; the first one
    /// leads then, under a generation that nobody had before, and all are whole. The links between
    /// them have to work again.
    ///
    /// All go back or none: what one copy has said that it holds, the others count on. And all fall
    /// silent before the first one goes back: none may hear of what another has left behind.
    ///
    /// # Errors
    /// As there; and if they are not whole within the limit.
    pub fn restore_copies(copies: &[&Volume], group: &CopySet, limit: Duration) -> Result<u64> {
        copies.iter().try_for_each(|copy| copy.freeze())?;
        let put_back = |copy: &&Volume| {
            let blocks = copy.put_back(&mut copy.stand())?;
            copy.set_upkeep(false)?;
            Ok(blocks)
        };
        let blocks = copies.iter().map(put_back).sum::<Result<u64>>()?;
        let promised = copies.iter().map(|copy| copy.promised());
        let promised: Vec<u64> = promised.collect::<Result<_>>()?;
        let none = || breakdown("restore a volume with copies", "it has none");
        let head = copies.first().ok_or_else(none)?;
        let generation = next_generation(promised);
        head.lead(&group.lead(head.address()?, generation, false, limit))?;
        head.wait_whole(copies.len(), limit)?;
        Ok(blocks)
    }

    /// The disk is gone, with all that it held; what is mounted of it goes too. It comes back by
    /// [`Volume::go_back`], as it was when it was kept, or is replaced by [`Volume::renew`]. One of
    /// several copies falls silent. To be called when the power is off ([`Volume::freeze`]) and the
    /// server has been killed.
    ///
    /// # Errors
    /// A breakdown if files stay open, or the volume has ended. It is gone all the same.
    pub fn destroy(&self) -> Result<()> {
        self.befall("destroy the disk", Trouble::Destroy)?;
        let mut stand = self.stand();
        match stand.is_mounted {
            true => self.unmount(&mut stand, UNMOUNT_LIMIT),
            false => Ok(()),
        }
    }

    /// A new disk takes the place of one that was destroyed: with an empty file system, or, as one
    /// of several copies, blank. That one obeys no head that the lost one would not have obeyed,
    /// and counts when it has been caught up.
    ///
    /// # Errors
    /// A breakdown if the disk was not destroyed, or no file system can be made.
    pub fn renew(&self) -> Result<()> {
        let mut stand = self.stand();
        self.turn("replace the disk", Turn::Renew)?;
        if self.address.is_none() {
            self.show_new(&mut stand)?;
        }
        self.set_upkeep(false)
    }

    /// The disk that failed works again, with all that it had taken: the journal is replayed, the
    /// file system checked, as after a crash. To be called when the server has been killed. One of
    /// several copies follows afterwards, and shows nothing, even if it was the head.
    ///
    /// # Errors
    /// A breakdown if it did not fail, if files stay open, or if e2fsck finds anything.
    pub fn mend(&self) -> Result<()> {
        let tried = "mend the disk";
        let condition = self.condition()?;
        if condition != Condition::Fails {
            let status = format!("that is not what it lacks: {condition:?}");
            return Err(breakdown(format!("{tried} of {}", self.name), status));
        }
        let mut stand = self.stand();
        if stand.is_mounted {
            self.unmount(&mut stand, UNMOUNT_LIMIT)?;
        }
        self.turn(tried, Turn::Mend)?;
        if self.address.is_none() {
            self.show_recovered(&mut stand)?;
        }
        self.set_upkeep(false)
    }

    /// Unmounts the file system, makes all that it has written durable, does something, and mounts
    /// it again.
    fn at_rest(&self, tried: &str, act: impl FnOnce() -> Result<()>) -> Result<()> {
        self.check_moves(tried)?;
        let mut stand = self.stand();
        self.set_upkeep(true)?;
        if stand.is_mounted {
            self.unmount(&mut stand, UNMOUNT_LIMIT)?;
        }
        let device = self.attach()?;
        self.blame(ext4::check(device.path()))?;
        self.blame(ext4::flush(device.path()))?;
        act()?;
        self.mount(&mut stand, &device)?;
        self.set_upkeep(false)
    }

    /// To be called without power.
    fn put_back(&self, stand: &mut Stand) -> Result<u64> {
        if stand.is_mounted {
            self.unmount(stand, UNMOUNT_LIMIT)?;
        }
        self.turn("go back to the image", Turn::GoBack)
    }

    fn turn(&self, tried: &str, turn: Turn) -> Result<u64> {
        self.ask(tried, &Request::Turn(turn), |reply| match reply {
            Reply::Turned(blocks) => Ok(blocks),
            other => Err(other),
        })
    }

    fn check_alone(&self, tried: &str) -> Result<()> {
        let tried = format!("{tried} of {}", self.name);
        match self.address {
            Some(_) => Err(breakdown(tried, "it is one of several copies")),
            None => Ok(()),
        }
    }
}

fn head_of<'v>(copies: &[&'v Volume]) -> Result<&'v Volume> {
    for &copy in copies {
        if copy.look()?.is_head {
            return Ok(copy);
        }
    }
    Err(breakdown("keep the image of a volume", "no copy leads"))
}

/// Waits until each copy is durable at the last epoch that the head has begun: nothing is asked of
/// it meanwhile.
fn wait_level(head: &Volume, copies: &[&Volume], limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    loop {
        let sealed = head.look()?.sealed_epoch;
        let standings = copies.iter().map(|copy| copy.look());
        let standings = standings.collect::<Result<Vec<_>>>()?;
        let level = standings.iter().filter(|of| of.durable_epoch == sealed);
        let count = level.count();
        if count == copies.len() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let seconds = limit.as_secs_f64();
            let status = format!("{count} are at epoch {sealed} after {seconds} s");
            let tried = format!("see {} copies level", copies.len());
            return Err(breakdown(tried, status));
        }
        std::thread::sleep(LOOK_STEP);
    }
}
