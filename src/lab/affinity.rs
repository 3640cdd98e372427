//! CPUs that a process may run on. Its children inherit them, and nothing outlives it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::error::{Result, Tried};

/// CPUs that the calling thread may run on.
///
/// # Errors
/// A breakdown if the kernel does not tell.
pub fn allowed() -> Result<Vec<u32>> {
    let set = sched_getaffinity(Pid::from_raw(0)).tried(|| "ask for this run's CPUs".into())?;
    let has = |cpu: &usize| set.is_set(*cpu).unwrap_or(false);
    Ok((0..CpuSet::count())
        .filter(has)
        .map(|cpu| cpu as u32)
        .collect())
}

/// Keeps the calling thread to these CPUs, and all that it starts from now on.
///
/// # Errors
/// A breakdown if the kernel refuses.
pub fn keep_to(cpus: &[u32]) -> Result<()> {
    let tried = || format!("run on the CPUs {cpus:?}");
    let set = set_of(cpus).tried(tried)?;
    sched_setaffinity(Pid::from_raw(0), &set).tried(tried)
}

/// Makes `command` start its program on these CPUs; with none of its own, on those of whoever
/// starts it.
///
/// # Errors
/// A breakdown if there can be no such CPU.
pub fn enter(command: &mut Command, cpus: &[u32]) -> Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let set = set_of(cpus).tried(|| format!("start a server on the CPUs {cpus:?}"))?;
    let keep = move || sched_setaffinity(Pid::from_raw(0), &set).map_err(io::Error::from);
    // SAFETY: only a system call on a value made before the fork.
    unsafe { command.pre_exec(keep) };
    Ok(())
}

fn set_of(cpus: &[u32]) -> nix::Result<CpuSet> {
    let mut set = CpuSet::new();
    cpus.iter().try_for_each(|cpu| set.set(*cpu as usize))?;
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_runs_where_it_is_told_to() {
        let last = *allowed().unwrap().last().unwrap();
        let mut command = Command::new("grep");
        command.args(["Cpus_allowed_list", "/proc/self/status"]);
        enter(&mut command, &[last]).unwrap();
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.split_whitespace().last(), Some(&last.to_string()[..]));
        assert!(enter(&mut command, &[u32::MAX]).is_err());
    }
}
