//! The image as a file: a FUSE file system of one directory with one file in it.
//!
//! It is not mounted anywhere: the mount is a descriptor (`fsmount`), so there is no place where
//! it could be left behind. The loop device opens the file by way of that descriptor, which is then
//! closed; the file system goes with its last user, and the session ends.
//!
//! What makes a loop device's direct I/O work at depth (each found by trying without it):
//! `FUSE_ASYNC_DIO`, or the kernel sends one request after the other; a high number of background
//! requests, which is what asynchronous I/O counts as; an open with `FOPEN_DIRECT_IO` and
//! `FOPEN_PARALLEL_DIRECT_WRITES`, or writes take the inode's lock in turn. There is no write-back
//! caching: it would hide what was never flushed in the host's memory. fsync is answered for good:
//! one ENOSYS, and the kernel reports success ever after.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, SessionACL, WriteFlags,
};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen,
};

use super::desk::{Desk, Reply};
use super::engine::Request;
use super::punctual;

/// The file's name.
pub const IMAGE: &str = "image";

/// Largest request, as large as the kernel's own bound for FUSE (256 pages).
const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// Requests under way at once: twice what a loop device's queue holds.
const BACKGROUND_MAX: u16 = 256;
const ROOT: INodeNo = INodeNo::ROOT;
const FILE: INodeNo = INodeNo(2);
/// Nothing ever changes behind the kernel's back.
const EVER: Duration = Duration::from_secs(u32::MAX as u64);

/// A file being served. Dropped, it is served until its last user has gone.
pub struct Session {
    mount: Option<OwnedFd>,
    end: Receiver<()>,
}

impl Session {
    /// Begins to serve the image.
    ///
    /// # Errors
    /// When the kernel refuses the mount, or the thread.
    pub fn begin(desk: Arc<Desk>) -> io::Result<Session> {
        let device = File::options().read(true).write(true).open("/dev/fuse")?;
        let device = OwnedFd::from(device);
        let mount = detached_mount(&device)?;
        let bytes = desk.lock().bytes();
        let session = fuser::Session::from_fd(
            Image { desk, bytes },
            device,
            SessionACL::All,
            Config::default(),
        )?;
        let (tell, end) = sync_channel(1);
        thread::Builder::new()
            .name("fuse".to_owned())
            .spawn(move || {
                punctual::take_priority();
                if let Err(error) = session.run() {
                    eprintln!("acklab volume: the FUSE session ended: {error}");
                }
                // Nobody may be waiting.
                let _ = tell.send(());
            })?;
        Ok(Session {
            mount: Some(mount),
            end,
        })
    }

    /// The mount whose root holds the file, until [`Session::let_go`].
    pub fn mount_fd(&self) -> Option<RawFd> {
        self.mount.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Gives up the mount: what has been opened of it stays open.
    pub fn let_go(&mut self) {
        self.mount = None;
    }

    /// Waits until the last user has let go of the file. False when that takes longer.
    pub fn wait_end(&mut self, at_most: Duration) -> bool {
        self.mount = None;
        self.end.recv_timeout(at_most) != Err(RecvTimeoutError::Timeout)
    }
}

/// A FUSE mount that is nowhere in the tree.
fn detached_mount(device: &OwnedFd) -> io::Result<OwnedFd> {
    let context = fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let device = device.as_raw_fd().to_string();
    let options = [
        ("source", "acklab"),
        ("fd", &device),
        ("rootmode", "40000"),
        ("user_id", "0"),
        ("group_id", "0"),
    ];
    for (name, value) in options {
        fsconfig_set_string(&context, name, value)?;
    }
    fsconfig_create(&context)?;
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    Ok(fsmount(&context, flags, MountAttrFlags::empty())?)
}

/// The file system.
struct Image {
    desk: Arc<Desk>,
    bytes: u64,
}

impl Image {
    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match inode {
            ROOT => (FileType::Directory, 0o700, 0),
            FILE => (FileType::RegularFile, 0o600, self.bytes),
            _ => return None,
        };
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

impl Filesystem for Image {
    fn init(&mut self, _: &fuser::Request, config: &mut KernelConfig) -> io::Result<()> {
        let refused = |what: &str| io::Error::other(format!("this kernel's FUSE has no {what}"));
        config
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| refused("asynchronous direct I/O (FUSE_ASYNC_DIO)"))?;
        config
            .set_max_write(REQUEST_BYTES_MAX)
            .map_err(|_| refused("writes of 1 MiB"))?;
        config
            .set_max_background(BACKGROUND_MAX)
            .and_then(|_| config.set_congestion_threshold(BACKGROUND_MAX))
            .map_err(|_| refused("background requests"))?;
        Ok(())
    }

    fn lookup(&self, _: &fuser::Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(FILE) {
            Some(file) if parent == ROOT && name == IMAGE => {
                reply.entry(&EVER, &file, Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &fuser::Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&EVER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &fuser::Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &fuser::Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let bytes = size as usize;
        let request = Request::Read { offset, bytes };
        self.desk.take(request, Reply::Data(reply));
    }

    fn write(
        &self,
        _: &fuser::Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let request = Request::Write { offset, data };
        self.desk.take(request, Reply::Written(reply));
    }

    fn fsync(&self, _: &fuser::Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.desk.take(Request::Flush, Reply::Done(reply));
    }

    /// Called when a descriptor is closed: nothing is flushed by that.
    fn flush(
        &self,
        _: &fuser::Request,
        _: INodeNo,
        _: FileHandle,
        _: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }
}
