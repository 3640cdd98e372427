//! How long a disk was busy, as the kernel counts it for iostat's `%util`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::sys::stat::{major, minor};

/// Milliseconds in which the device under a mounted file system had a request under way, since it
/// came to be; `None` if the kernel does not tell.
pub fn busy_ms(mount_point: &Path) -> Option<u64> {
    let device = fs::metadata(mount_point).ok()?.dev();
    let all = fs::read_to_string("/proc/diskstats").ok()?;
    of_device(&all, major(device), minor(device))
}

/// Major, minor, name, then the counters of the kernel's Documentation/admin-guide/iostats.rst, of
/// which the tenth is meant.
fn of_device(all: &str, major: u64, minor: u64) -> Option<u64> {
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.first()?.parse() == Ok(major) && fields.get(1)?.parse() == Ok(minor);
        fields.get(12).filter(|_| is_it)?.parse().ok()
    };
    all.lines().find_map(of_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tenth_counter_of_that_device_is_told() {
        let all = "   7       0 loop0 1 2 3 4 5 6 7 8 9 2777680 18121817 0\n   \
                   7       1 loop1 1 2 3 4 5 6 7 8 9 1670732 27456204 0\n";
        assert_eq!(of_device(all, 7, 1), Some(1_670_732));
        assert_eq!(of_device(all, 8, 1), None);
        assert_eq!(of_device("7 1 loop1 1 2", 7, 1), None);
    }
}
