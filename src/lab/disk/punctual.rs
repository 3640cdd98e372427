//! What makes a volume punctual and safe from its own burden: priority, timers without slack,
//! memory that stays, and no waiting for a disk that is itself.

use std::io;

use nix::sys::mman::{MlockAllFlags, mlockall};

use crate::lab::link::realtime::{DISK_PRIORITY, set_realtime};

/// `prctl(2)`: this process writes back for others. Not in the libc crate for Linux.
const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// To be called before the first thread and before the image is made. What was refused comes back
/// as notes: the volume works without.
pub fn prepare() -> Vec<String> {
    let outcomes = [
        ("memory locking", lock_memory()),
        // Else an allocation could wait for memory that only this very disk can free.
        ("freedom from write-back (PR_SET_IO_FLUSHER)", be_flusher()),
        ("real-time priority (SCHED_FIFO)", try_priority()),
    ];
    let note = |(what, outcome): (&str, io::Result<()>)| {
        let error = outcome.err()?;
        Some(format!("a volume runs without {what}: {error}"))
    };
    outcomes.into_iter().filter_map(note).collect()
}

/// Puts this thread before everything ordinary, and wakes it when it asks to be. A refusal shows in
/// the notes and in lateness.
pub fn take_priority() {
    // Means nothing to a real-time thread, and all to one that was refused it.
    let _ = nix::sys::prctl::set_timerslack(1);
    let _ = set_realtime(Some(DISK_PRIORITY));
}

/// The program as a whole; of what comes later only the pages that are touched, or a sparse image
/// would take its whole size.
fn lock_memory() -> io::Result<()> {
    mlockall(MlockAllFlags::MCL_CURRENT)?;
    let on_fault = MlockAllFlags::from_bits_retain(libc::MCL_ONFAULT);
    Ok(mlockall(MlockAllFlags::MCL_FUTURE | on_fault)?)
}

/// Threads inherit it.
fn be_flusher() -> io::Result<()> {
    // SAFETY: no pointers are involved.
    if unsafe { libc::prctl(PR_SET_IO_FLUSHER, 1 as libc::c_ulong, 0, 0, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn try_priority() -> io::Result<()> {
    set_realtime(Some(DISK_PRIORITY))?;
    set_realtime(None)
}
