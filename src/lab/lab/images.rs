//! Images of a whole lab: kept once it has been formed, and gone back to after each fault, without
//! data being copied, loaded or transferred anew.

use std::thread::ScopedJoinHandle;

use super::{Lab, READY_LIMIT};
use crate::error::{Result, breakdown};
use crate::lab::disk::Volume;
use crate::lab::node::Node;
use crate::study::mode::Family;

impl Lab {
    /// Stops all servers, as an operator would, and keeps what their disks hold, for
    /// [`Lab::restore_images`]. Servers are to be started by whoever knows the mode.
    ///
    /// # Errors
    /// A breakdown if a server does not end well, if the nodes have no emulated disks, or if an
    /// image cannot be kept: see [`Volume::keep_image`] and [`Volume::keep_copies`].
    pub fn keep_images(&mut self) -> Result<()> {
        self.volumes()?;
        self.stop_servers()?;
        self.entered = None;
        let volumes = self.volumes()?;
        match self.spec.family.copies_volume() {
            true => Volume::keep_copies(&volumes, READY_LIMIT),
            false => volumes.iter().try_for_each(|volume| volume.keep_image()),
        }
    }

    /// Ends whatever runs, in whatever condition servers and disks are, and puts all disks back to
    /// what they held when they were kept; how many blocks of 4 KiB that were. No server runs then,
    /// and no mode is entered. A volume with copies is led by the first node again; for that the
    /// links have to work. How fast the disks are stays as it was set: see [`Lab::set_disks`].
    ///
    /// What is remembered of fail-overs of copies ([`crate::lab::disk::Remembered`]) ends here.
    ///
    /// # Errors
    /// A breakdown if nothing was kept, or a disk cannot be put back: see [`Volume::go_back`] and
    /// [`Volume::restore_copies`]. The lab is of no use then.
    pub fn restore_images(&mut self) -> Result<u64> {
        // Servers that wait for their disks could not be ended.
        self.volumes()?
            .iter()
            .try_for_each(|volume| volume.freeze())?;
        self.nodes.iter_mut().for_each(Node::kill);
        self.entered = None;
        let volumes = self.volumes()?;
        match self.spec.family.copies_volume() {
            true => Volume::restore_copies(&volumes, &self.copies()?, READY_LIMIT),
            false => go_back_all(&volumes),
        }
    }

    /// Makes durable what all servers have handed to the operating system.
    ///
    /// # Errors
    /// A breakdown if a disk does not answer.
    pub fn flush_disks(&self) -> Result<()> {
        let mut nodes = self.nodes[self.servers()].iter();
        nodes.try_for_each(Node::flush_disk)
    }

    /// Stops all servers, as an operator would. The writer is the last to go: it has all that any
    /// other has. Members of a group go together, once it has: each takes 6 s to leave.
    pub(super) fn stop_servers(&mut self) -> Result<()> {
        let is_group = self.spec.family == Family::Group;
        let writer = 0;
        if is_group && !self.catch_up(writer, READY_LIMIT)? {
            let status = format!("behind the others after {} s", READY_LIMIT.as_secs());
            return Err(self.nodes[writer].breakdown("stop", &status));
        }
        for node in self.nodes.iter_mut().rev() {
            node.ask_to_stop()?;
            if !is_group {
                node.wait_stopped()?;
            }
        }
        self.nodes.iter_mut().try_for_each(Node::wait_stopped)
    }

    fn volumes(&self) -> Result<Vec<&Volume>> {
        (0..self.nodes.len()).map(|i| self.volume(i)).collect()
    }
}

/// All at the same time: most of it is waiting for the kernel.
fn go_back_all(volumes: &[&Volume]) -> Result<u64> {
    std::thread::scope(|scope| {
        let begin = |volume| scope.spawn(move || Volume::go_back(volume));
        let running: Vec<_> = volumes.iter().map(|volume| begin(*volume)).collect();
        let ended = |thread: ScopedJoinHandle<'_, Result<u64>>| {
            let panicked = |_| Err(breakdown("go back to an image", "a thread has panicked"));
            thread.join().unwrap_or_else(panicked)
        };
        running.into_iter().map(ended).sum()
    })
}
