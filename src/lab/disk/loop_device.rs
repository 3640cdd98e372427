//! A loop device: a file as a block device. By ioctls of our own: see loop(4).
//!
//! It clears itself when its last user has gone (`LO_FLAGS_AUTOCLEAR`), in whatever way they went:
//! nobody has to take it down.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};

use crate::error::{Error, Mistake, Result, breakdown};

const CONTROL: &str = "/dev/loop-control";
/// Of block devices `/dev/loopN`.
const LOOP_MAJOR: u64 = 7;
/// As most cloud disks do, and as torn writes want it: a database may write single sectors, and
/// a sector is what a disk writes whole or not at all.
const BLOCK_BYTES: u32 = 512;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// How often another may snatch the free device that we were told of.
const TRIES_MAX: u32 = 64;

nix::ioctl_none_bad!(loop_ctl_get_free, 0x4c82);
nix::ioctl_write_ptr_bad!(loop_configure, 0x4c0a, LoopConfig);
nix::ioctl_read_bad!(loop_get_status, 0x4c05, LoopInfo);

/// `struct loop_info64` of `linux/loop.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config` of `linux/loop.h`.
#[repr(C)]
pub struct LoopConfig {
    fd: u32,
    block_bytes: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// A loop device that is open, and so in use. Dropped, it lasts as long as it is mounted.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    _file: File,
}

impl LoopDevice {
    /// Attaches a free device to `image`, with direct I/O; `losetup` shows `name`.
    ///
    /// # Errors
    /// A mistake if this machine has no free device or does not let us use any; a breakdown if the
    /// kernel would only do it through its cache.
    pub fn attach(image: &File, name: &str) -> Result<LoopDevice> {
        let mut error = Errno::EBUSY;
        for _ in 0..TRIES_MAX {
            match try_attach(image, name) {
                Ok(device) => return device.checked(),
                Err(Errno::EBUSY) => (),
                Err(other) => {
                    error = other;
                    break;
                }
            }
        }
        Err(none_free(error))
    }

    /// The device that would be taken next: it is free, and we may use it.
    ///
    /// # Errors
    /// A mistake, as of [`LoopDevice::attach`].
    pub fn next_free() -> Result<PathBuf> {
        open_free().map(|(path, _)| path).map_err(none_free)
    }

    /// Where it is: `/dev/loop7`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kernel falls back to its own cache without a word, where a flush means something else.
    fn checked(self) -> Result<LoopDevice> {
        let mut info = no_info();
        // SAFETY: the structure is as the kernel knows it, and outlives the call.
        let told = unsafe { loop_get_status(self._file.as_raw_fd(), &raw mut info) };
        let is_direct = told.is_ok() && info.flags & LO_FLAGS_DIRECT_IO != 0;
        if is_direct {
            return Ok(self);
        }
        let tried = format!("attach {} with direct I/O", self.path.display());
        Err(breakdown(tried, "the kernel uses its page cache instead"))
    }
}

/// A device that nobody has taken yet, opened.
fn open_free() -> nix::Result<(PathBuf, File)> {
    let control = open(Path::new(CONTROL))?;
    // SAFETY: no pointers are involved.
    let number = unsafe { loop_ctl_get_free(control.as_raw_fd()) }?;
    let path = PathBuf::from(format!("/dev/loop{number}"));
    let file = open_node(&path, number as u64)?;
    Ok((path, file))
}

fn try_attach(image: &File, name: &str) -> nix::Result<LoopDevice> {
    let (path, file) = open_free()?;
    let mut info = no_info();
    info.flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
    // The last byte stays zero.
    let room = info.file_name.len() - 1;
    for (place, byte) in info.file_name[..room].iter_mut().zip(name.bytes()) {
        *place = byte;
    }
    let config = LoopConfig {
        fd: image.as_raw_fd() as u32,
        block_bytes: BLOCK_BYTES,
        info,
        reserved: [0; 8],
    };
    // SAFETY: the structure is as the kernel knows it, and outlives the call.
    unsafe { loop_configure(file.as_raw_fd(), &raw const config) }?;
    Ok(LoopDevice { path, _file: file })
}

/// In a container `/dev` may be a plain folder, in which nothing appears by itself.
fn open_node(path: &Path, number: u64) -> nix::Result<File> {
    match open(path) {
        Err(Errno::ENOENT) => {
            let owner_only = Mode::S_IRUSR | Mode::S_IWUSR;
            match mknod(
                path,
                SFlag::S_IFBLK,
                owner_only,
                makedev(LOOP_MAJOR, number),
            ) {
                Ok(()) | Err(Errno::EEXIST) => open(path),
                Err(error) => Err(error),
            }
        }
        other => other,
    }
}

fn open(path: &Path) -> nix::Result<File> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.map_err(|error: io::Error| error.try_into().unwrap_or(Errno::EIO))
}

fn no_info() -> LoopInfo {
    // SAFETY: all zero is a valid value of this plain structure.
    unsafe { std::mem::zeroed() }
}

fn none_free(error: Errno) -> Error {
    let allowed = match error {
        Errno::ENOENT | Errno::ENODEV | Errno::ENXIO => {
            "load the kernel's `loop` module, or give this container /dev/loop-control and \
             the block devices of major number 7"
        }
        Errno::EPERM | Errno::EACCES => {
            "let this container use /dev/loop-control and the block devices of major number 7"
        }
        _ => "free a loop device (`losetup -a` lists them), or let the kernel have more",
    };
    Mistake::new("this machine", "loop devices", error.desc(), allowed).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_as_long_as_the_kernels() {
        assert_eq!(size_of::<LoopInfo>(), 232);
        assert_eq!(size_of::<LoopConfig>(), 304);
    }

    #[test]
    fn every_refusal_says_what_to_do() {
        let text = |error| none_free(error).to_string();
        assert!(text(Errno::ENOENT).contains("`loop` module"));
        assert!(text(Errno::EPERM).contains("let this container"));
        assert!(text(Errno::EBUSY).contains("losetup -a"));
        assert_eq!(none_free(Errno::EBUSY).exit_code(), 2);
    }
}
