//! What commands need of this machine and its user, looked at before anything is begun.

use std::path::Path;

use crate::error::{Error, Mistake, Result};
use crate::lab::disk::{check_room, missing};
use crate::lab::memory::Controller;
use crate::lab::slow_cpus;
use crate::plan::{LabPlan, labs};
use crate::run::cpus;
use crate::study::Study;

/// A study on emulated disks needs what they are made of, and room for their images.
///
/// # Errors
/// Mistakes that tell all that this machine lacks.
pub fn need_disks(study: &Study) -> Result<()> {
    let Some(images) = &study.images else {
        return Ok(());
    };
    let missing = missing();
    if !missing.is_empty() {
        return Err(Error::Mistakes(missing));
    }
    check_room(&images.place, &image_sizes(study))
}

/// In bytes. Every node of every lab has an image: all labs stand at the same time.
fn image_sizes(study: &Study) -> Vec<u64> {
    let of_lab = |lab: &LabPlan| {
        let bytes = lab.images(study).map(|images| images.bytes);
        std::iter::repeat_n(bytes, lab.nodes as usize)
    };
    labs(study).iter().flat_map(of_lab).flatten().collect()
}

/// A study that limits a server's memory needs the memory controller.
///
/// # Errors
/// A mistake that says what is missing.
pub fn need_memory(study: &Study) -> Result<()> {
    let is_limited = study.modes.iter().any(|spec| spec.memory_bytes.is_some());
    match is_limited {
        true => Controller::find().map(drop),
        false => Ok(()),
    }
}

/// Nodes that are to have CPUs of their own need as many, and CPUs that are to be slower somebody
/// who may hold them.
///
/// # Errors
/// A mistake with the arithmetic, or one that says who refuses.
pub fn need_cpus(study: &Study) -> Result<()> {
    cpus::placement(study)?;
    let mut speeds = study.sweeps.iter().flat_map(|sweep| &sweep.cpu_speeds);
    match speeds.any(|speed| !speed.is_full()) {
        true => slow_cpus::check_allowed(),
        false => Ok(()),
    }
}

/// A file of the user's, as text.
pub fn read_file(option: &str, path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| {
        let given = format!("{} ({error})", path.display());
        Error::from(Mistake::new(
            "command line",
            option,
            &given,
            "a readable text file",
        ))
    })
}

/// Everything that makes namespaces needs root.
pub fn need_root(verb: &str) -> Result<()> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    let allowed = "run it as root: it makes namespaces, network devices and mounts of its own";
    let user = format!("user id {}", nix::unistd::geteuid());
    Err(Mistake::new(&format!("acklab {verb}"), "", &user, allowed).into())
}

/// A TUN device is what links are made of.
pub fn need_tun(verb: &str) -> Result<()> {
    if Path::new("/dev/net/tun").exists() {
        return Ok(());
    }
    let allowed = "load the kernel's `tun` module, or give this container the device /dev/net/tun";
    Err(Mistake::new(
        &format!("acklab {verb}"),
        "/dev/net/tun",
        "no such device",
        allowed,
    )
    .into())
}
