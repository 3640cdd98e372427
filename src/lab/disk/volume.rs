//! The volume's own process: it holds one image, serves it as a file, and obeys until its input
//! ends.
//!
//! It never touches the file it serves, nor the file system on it: a process that waits for itself
//! cannot even be killed. Opening, mounting and checking are pid 1's.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use super::copies::Link;
use super::copies::transport::{self, Hear, Running};
use super::desk::{self, Desk};
use super::engine::Engine;
use super::fuse::Session;
use super::parent;
use super::punctual;
use super::replica::Lead;
use super::store::Store;
use super::wire::{Opening, Reply, Request, Trouble, Turn};
use crate::error::{Result, Tried};
use crate::lab::link::realtime::{cpu_ns, now_ns};

/// How long a file that was let go of may take to go. The kernel does it at once, unless somebody
/// else has the loop device open.
const END_LIMIT: Duration = Duration::from_secs(10);

/// Serves a volume; requests come from `stdin`, one reply to each goes to `stdout`, both JSON
/// lines. Returns when `stdin` ends: whatever still uses the disk then finds it gone.
///
/// # Errors
/// A breakdown if the parent cannot be read or answered.
pub fn serve(stdin: impl Read, mut stdout: impl Write) -> Result<()> {
    let notes = punctual::prepare();
    // Before the first thread: each has mounts of its own to hold.
    leave_mounts().tried(|| "leave the mounts of the other nodes".to_owned())?;
    parent::end_with_parent();
    let mut volume = Volume {
        notes,
        desk: None,
        session: None,
        listening: None,
    };
    for line in BufReader::new(stdin).lines() {
        let line = line.tried(|| "read the volume's input".to_owned())?;
        let reply = serde_json::from_str(&line)
            .map_err(|error| error.to_string())
            .and_then(|request| volume.answer(request));
        let reply = reply.unwrap_or_else(Reply::Refused);
        let mut text = serde_json::to_string(&reply).tried(|| "write an answer".to_owned())?;
        text.push('\n');
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
            .tried(|| "answer".to_owned())?;
    }
    Ok(())
}

/// Keeps no file system mounted that stands on a volume, its own to come included: whoever is the
/// last to hold a mount takes it down as it ends, and one that is killed would then wait for the
/// disk that it has been itself, for ever, before the kernel lets go of its `/dev/fuse`.
fn leave_mounts() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let nothing = None::<&str>;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(nothing, "/", nothing, private, nothing)?;
    let mounts = fs::read_to_string("/proc/thread-self/mounts")?;
    let on_loops = mounts.lines().filter(|line| line.starts_with("/dev/loop"));
    for mount_point in on_loops.filter_map(|line| line.split(' ').nth(1)) {
        match umount2(&unescaped(mount_point)[..], MntFlags::MNT_DETACH) {
            // Gone with another below which it was, or out of sight: nobody can reach it here.
            Ok(()) | Err(Errno::ENOENT | Errno::EINVAL) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// A path as `/proc/mounts` has it: blanks and the like are their octal numbers after a backslash.
fn unescaped(path: &str) -> Vec<u8> {
    let mut found = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        let digits = others
            .get(..3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match byte.filter(|_| first == b'\\') {
            Some(byte) => {
                found.push(byte);
                rest = &others[3..];
            }
            None => {
                found.push(first);
                rest = others;
            }
        }
    }
    found
}

/// What became of a request: a reason if nothing.
type Outcome<T> = std::result::Result<T, String>;

struct Volume {
    notes: Vec<String>,
    desk: Option<Arc<Desk>>,
    session: Option<Session>,
    /// For calls of heads.
    listening: Option<Running>,
}

impl Volume {
    fn answer(&mut self, request: Request) -> Outcome<Reply> {
        match request {
            Request::Open(opening) => self.open(&opening),
            Request::Serve => self.serve(),
            Request::LetGo => {
                self.session.iter_mut().for_each(Session::let_go);
                Ok(Reply::Done)
            }
            Request::Set(disk) => {
                self.desk()?.lock().set(disk);
                Ok(Reply::Done)
            }
            Request::Upkeep(is_upkeep) => {
                self.desk()?.lock().set_upkeep(is_upkeep);
                Ok(Reply::Done)
            }
            Request::Counters => {
                let mut counters = self.desk()?.lock().read_counters();
                counters.cpu_ns = cpu_ns();
                Ok(Reply::Counters(counters))
            }
            Request::Freeze => {
                self.desk()?.freeze();
                Ok(Reply::Done)
            }
            Request::HaltAt(at_ns) => {
                let desk = self.desk()?;
                // A thread that waits its turn would stop the disk late.
                let halted_ns = thread::scope(|scope| {
                    let halt = || {
                        punctual::take_priority();
                        let left_ns = at_ns.saturating_sub(now_ns());
                        thread::sleep(Duration::from_nanos(left_ns));
                        desk.halt();
                        now_ns()
                    };
                    scope.spawn(halt).join()
                });
                let panicked = |_| "the thread that cuts the power has panicked".to_owned();
                Ok(Reply::Halted(halted_ns.map_err(panicked)?))
            }
            Request::Cut(cut) => {
                self.end_session()?;
                let mut engine = self.desk()?.lock();
                engine.check_there()?;
                Ok(Reply::Cut(engine.cut(cut)))
            }
            Request::Befall(trouble) => {
                self.befall(trouble)?;
                Ok(Reply::Done)
            }
            Request::Turn(turn) => Ok(Reply::Turned(self.turn(turn)?)),
            Request::Condition => Ok(Reply::Condition(self.desk()?.lock().condition())),
            Request::Lead(lead) => {
                self.lead(&lead)?;
                Ok(Reply::Done)
            }
            Request::Promise(generation) => Ok(Reply::Promised(self.desk()?.promise(generation)?)),
            Request::Stand => Ok(Reply::Stands(self.desk()?.lock().standing(desk::now())?)),
        }
    }

    fn open(&mut self, opening: &Opening) -> Outcome<Reply> {
        if self.desk.is_some() {
            return Err("it has an image already".to_owned());
        }
        let store = make_store(opening)?;
        let mut engine = Engine::new(store, opening.disk, opening.seed);
        if opening.listen.is_some() {
            engine.follow();
        }
        let desk = Arc::new(Desk::new(engine));
        if let Some(address) = opening.listen {
            self.listening = Some(listen(address, Arc::clone(&desk))?);
        }
        self.desk = Some(Arc::clone(&desk));
        thread::Builder::new()
            .name("timer".to_owned())
            .spawn(move || {
                punctual::take_priority();
                desk.answer_for_ever();
            })
            .map_err(|error| format!("start a thread: {error}"))?;
        Ok(Reply::Ready(std::mem::take(&mut self.notes)))
    }

    fn befall(&self, trouble: Trouble) -> Outcome<()> {
        let desk = self.desk()?;
        match trouble {
            Trouble::Stall => return desk.stall(),
            Trouble::GoOn => desk.go_on(),
            Trouble::Fail => desk.fail_requests(),
            Trouble::Destroy => desk.destroy(),
        }
        Ok(())
    }

    /// How many blocks were put back.
    fn turn(&mut self, turn: Turn) -> Outcome<u64> {
        if turn != Turn::Keep {
            self.end_session()?;
        }
        let mut engine = self.desk()?.lock();
        match turn {
            Turn::GoBack => return engine.go_back(),
            Turn::Keep => engine.keep()?,
            Turn::Mend => engine.mend()?,
            Turn::Renew => engine.renew()?,
        }
        Ok(0)
    }

    fn lead(&mut self, lead: &Lead) -> Outcome<()> {
        let desk = self.desk()?;
        desk.lead(lead)?;
        desk.call(|reign| {
            let numbered = (0..).zip(&lead.peers);
            let dial = |(peer, address): (usize, &SocketAddr)| {
                let desk = Arc::clone(desk);
                let hear: Hear = Arc::new(move |event| desk.heard_from_peer(reign, event));
                transport::dial(*address, Link::Peer(peer), hear)
            };
            numbered.map(dial).collect()
        });
        Ok(())
    }

    fn serve(&mut self) -> Outcome<Reply> {
        self.end_session()?;
        let desk = Arc::clone(self.desk()?);
        let session = Session::begin(desk).map_err(|error| format!("serve by FUSE: {error}"))?;
        let mount = session.mount_fd();
        self.session = Some(session);
        mount
            .map(Reply::Serving)
            .ok_or_else(|| "the mount has gone".to_owned())
    }

    /// Waits until nobody has the file open.
    fn end_session(&mut self) -> Outcome<()> {
        let is_over = |session: &mut Session| session.wait_end(END_LIMIT);
        if self.session.as_mut().is_none_or(is_over) {
            self.session = None;
            return Ok(());
        }
        let seconds = END_LIMIT.as_secs();
        Err(format!(
            "somebody still has the image open after {seconds} s"
        ))
    }

    fn desk(&self) -> Outcome<&Arc<Desk>> {
        self.desk
            .as_ref()
            .ok_or_else(|| "it has no image".to_owned())
    }
}

fn listen(address: SocketAddrV4, desk: Arc<Desk>) -> Outcome<Running> {
    let hear: Hear = Arc::new(move |event| desk.heard(event));
    let listener = TcpListener::bind(address);
    let listening = listener.and_then(|listener| transport::listen(listener, hear));
    listening.map_err(|error| format!("listen at {address}: {error}"))
}

/// A file takes its whole size at once: the host's storage cannot become full under it later.
fn make_store(opening: &Opening) -> Outcome<Store> {
    let bytes = opening.bytes;
    let Some(folder) = &opening.folder else {
        let refused = |error| format!("make an image of {bytes} bytes in memory: {error}");
        return Store::in_memory(bytes).map_err(refused);
    };
    let shown = folder.display();
    let refused = |error| format!("make an image of {bytes} bytes in {shown}: {error}");
    // It lives as long as it is mapped.
    let file = tempfile::tempfile_in(folder).map_err(refused)?;
    let reserved = nix::fcntl::posix_fallocate(&file, 0, bytes as i64);
    reserved.map_err(|errno| refused(errno.into()))?;
    Store::in_file(&file, bytes).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_as_it_was_before_it_was_written_into_a_list() {
        let of = |path| String::from_utf8(unescaped(path)).expect("text");
        assert_eq!(of(r"/media/me/My\040Disc\134x"), r"/media/me/My Disc\x");
        assert_eq!(of(r"/a\04"), r"/a\04", "no number");
        assert_eq!(of("/plain"), "/plain");
    }
}
