//! What emulated disks need of this machine, to be looked at before anything is begun.

use std::fs;
use std::path::Path;

use nix::sys::statvfs::statvfs;

use super::ext4;
use crate::error::{Error, Mistake, Result, Tried};
use crate::study::disk::ImagePlace;

/// Everything that this machine lacks.
pub fn missing() -> Vec<Mistake> {
    let lack = |key: &str, given: &str, allowed: &str| {
        Some(Mistake::new("this machine", key, given, allowed))
    };
    let is_root = nix::unistd::geteuid().is_root();
    let programs = ext4::PROGRAMS.map(|name| ext4::needed_program(name).err());
    let programs = programs.into_iter().flatten().flat_map(mistakes_of);
    let needs = [
        (
            is_root,
            "user",
            "not root",
            "run as root: emulated disks are mounted",
        ),
        (
            Path::new("/dev/fuse").exists(),
            "/dev/fuse",
            "no such device",
            "load the kernel's `fuse` module, or give this container the device /dev/fuse",
        ),
        (
            Path::new("/dev/loop-control").exists(),
            "/dev/loop-control",
            "no such device",
            "load the kernel's `loop` module, or give this container /dev/loop-control and the \
             block devices of major number 7",
        ),
    ];
    let lacking = needs.into_iter().filter(|(is_there, ..)| !is_there);
    let devices = lacking.filter_map(|(_, key, given, allowed)| lack(key, given, allowed));
    devices.chain(programs).collect()
}

fn mistakes_of(error: Error) -> Vec<Mistake> {
    match error {
        Error::Mistakes(mistakes) => mistakes,
        Error::Breakdown(_) | Error::Interrupted => Vec::new(),
    }
}

/// Whether images of these sizes, in bytes, have room where they are to be kept; looks at the
/// machine.
///
/// # Errors
/// A mistake if they have not, a breakdown if it cannot be told.
pub fn check_room(place: &ImagePlace, sizes: &[u64]) -> Result<()> {
    let free_bytes = match place {
        ImagePlace::Memory => free_memory_bytes()?,
        ImagePlace::Folder(folder) => {
            need_folder(folder)?;
            free_disk_bytes(folder)?
        }
    };
    too_large(place, sizes, free_bytes).map_or(Ok(()), |mistake| Err(mistake.into()))
}

fn need_folder(folder: &str) -> Result<()> {
    if Path::new(folder).is_dir() {
        return Ok(());
    }
    let allowed = "a folder that is there, or \"memory\"";
    Err(Mistake::new("study", "images.place", folder, allowed).into())
}

/// A mistake if these images, wholly written, are more than there is.
pub fn too_large(place: &ImagePlace, sizes: &[u64], free_bytes: u64) -> Option<Mistake> {
    let all_bytes = sizes.iter().copied().fold(0, u64::saturating_add);
    if all_bytes <= free_bytes {
        return None;
    }
    let (place, key, elsewhere) = match place {
        ImagePlace::Memory => (
            "this machine's memory".to_owned(),
            "images of emulated disks",
            "smaller images, fewer nodes, or images in a folder",
        ),
        ImagePlace::Folder(folder) => (
            folder.clone(),
            "images of emulated disks",
            "smaller images, fewer nodes, or another folder",
        ),
    };
    let given = format!("{}, {} in all", sizes.len(), mib(all_bytes));
    let allowed = format!("{} are free: {elsewhere}", mib(free_bytes));
    Some(Mistake::new(&place, key, &given, &allowed))
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// What the kernel would give to new programs without swapping.
fn free_memory_bytes() -> Result<u64> {
    let tried = || "read /proc/meminfo".to_owned();
    let text = fs::read_to_string("/proc/meminfo").tried(tried)?;
    available_bytes(&text)
        .ok_or("it does not tell MemAvailable")
        .tried(tried)
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn free_disk_bytes(folder: &str) -> Result<u64> {
    let found = statvfs(folder).tried(|| format!("tell how much is free in {folder}"))?;
    Ok(found.blocks_available() * found.fragment_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn images_are_summed_up() {
        let too_large = |sizes: &[u64], free| too_large(&ImagePlace::Memory, sizes, free);
        assert_eq!(too_large(&[GIB, 3 * GIB], 4 * GIB), None);
        let mistake = too_large(&[GIB, GIB, 3 * GIB], 4 * GIB).unwrap();
        let mistake = mistake.to_string();
        for part in ["3, 5120 MiB in all", "4096 MiB are free", "memory"] {
            assert!(mistake.contains(part), "{mistake}");
        }
        assert!(too_large(&[u64::MAX, GIB], u64::MAX - 1).is_some());
    }

    #[test]
    fn the_folder_is_named() {
        let place = ImagePlace::Folder("/data".to_owned());
        let mistake = too_large(&place, &[GIB], 1).unwrap().to_string();
        assert!(mistake.starts_with("/data: "), "{mistake}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_a_mistake() {
        let place = ImagePlace::Folder("/no/such/folder".to_owned());
        let error = check_room(&place, &[GIB]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let told = error.to_string();
        assert!(
            told.contains("images.place") && told.contains("/no/such/folder"),
            "{told}"
        );
    }

    #[test]
    fn free_memory_is_found() {
        let text = "MemTotal: 9 kB\nMemAvailable:   2048 kB\n";
        assert_eq!(available_bytes(text), Some(2 << 20));
        assert_eq!(available_bytes("MemTotal: 9 kB\n"), None);
        assert!(free_memory_bytes().unwrap() > 0);
    }

    #[test]
    fn free_disk_space_is_found() {
        assert!(free_disk_bytes("/").is_ok());
        assert!(free_disk_bytes("/no/such/folder").is_err());
    }
}
