//! The rim: messages over TCP. One thread reads each connection, another writes what the socket
//! does not take at once, so that a slow peer keeps nobody waiting.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::socket::{self, MsgFlags};

use super::Link;
use super::wire::{Inbox, Message};

/// Pause after a connection was lost or refused.
const BACK_OFF: Duration = Duration::from_millis(50);
/// A connection attempt gives up after this: behind a cut link nobody answers.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
const READ_BYTES: usize = 256 * 1024;

/// What happened on a connection. Those of one link come one after the other.
pub enum Event {
    Connected { link: Link, sender: Sender },
    Heard { link: Link, message: Message },
    Lost { link: Link, why: String },
}

/// Who is told, on the threads of the connections.
pub type Hear = Arc<dyn Fn(Event) + Send + Sync>;

/// The sending side of a connection. Clones share it.
#[derive(Clone)]
pub struct Sender(Arc<Outlet>);

struct Outlet {
    socket: TcpStream,
    queue: Mutex<Queue>,
    is_filled: Condvar,
}

#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    /// The writer thread is writing: nobody may overtake it.
    is_writing: bool,
    is_closed: bool,
}

impl Sender {
    /// Sends at once what the socket takes; the rest waits in memory. Never blocks. What is sent
    /// on a lost connection is gone.
    pub fn send(&self, message: &Message) {
        let mut queue = self.0.lock();
        if queue.is_closed {
            return;
        }
        let was_empty = queue.bytes.is_empty() && !queue.is_writing;
        message.encode(&mut queue.bytes);
        if was_empty {
            // An error comes again to the writer thread, which knows what to do with it.
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            let sent = socket::send(self.0.socket.as_raw_fd(), &queue.bytes, flags);
            queue.bytes.drain(..sent.unwrap_or(0));
        }
        if !queue.bytes.is_empty() {
            self.0.is_filled.notify_one();
        }
    }

    /// Ends the connection. The event that it is lost follows.
    pub fn hang_up(&self) {
        self.0.lock().is_closed = true;
        self.0.is_filled.notify_one();
        let _ = self.0.socket.shutdown(Shutdown::Both);
    }
}

impl Outlet {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what waits, until the connection ends.
    fn write(&self) {
        loop {
            let mut queue = self.lock();
            queue.is_writing = false;
            while queue.bytes.is_empty() && !queue.is_closed {
                let woken = self.is_filled.wait(queue);
                queue = woken.unwrap_or_else(PoisonError::into_inner);
            }
            if queue.is_closed {
                return;
            }
            queue.is_writing = true;
            let bytes = std::mem::take(&mut queue.bytes);
            drop(queue);
            if (&self.socket).write_all(&bytes).is_err() {
                self.lock().is_closed = true;
                let _ = self.socket.shutdown(Shutdown::Both);
            }
        }
    }
}

/// Carries one connection until it ends.
fn carry(socket: TcpStream, link: Link, hear: &Hear) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let outlet = Arc::new(Outlet {
        socket: socket.try_clone()?,
        queue: Mutex::default(),
        is_filled: Condvar::new(),
    });
    let sender = Sender(outlet.clone());
    let writer = thread::spawn(move || outlet.write());
    let own = sender.clone();
    hear(Event::Connected { link, sender });
    let read = read(socket, link, hear);
    own.hang_up();
    let _ = writer.join();
    let why = read.map_or_else(|error| error.to_string(), |()| "it was closed".into());
    hear(Event::Lost { link, why });
    Ok(())
}

fn read(mut socket: TcpStream, link: Link, hear: &Hear) -> io::Result<()> {
    let mut inbox = Inbox::default();
    let mut bytes = vec![0; READ_BYTES];
    loop {
        let count = match socket.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        inbox.extend(&bytes[..count]);
        while let Some(message) = inbox.next_message().map_err(io::Error::other)? {
            hear(Event::Heard { link, message });
        }
    }
}

/// A thread that goes on until this is dropped.
pub struct Running {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    listener: Option<TcpListener>,
}

/// Answers connections, each under a new link, in the namespace where the listener was made.
/// Dropping ends the listening; connections go on until they are hung up.
///
/// # Errors
/// When the listener cannot be shared between threads.
pub fn listen(listener: TcpListener, hear: Hear) -> io::Result<Running> {
    let is_over = Arc::new(AtomicBool::new(false));
    let (own, is_ending) = (listener.try_clone()?, is_over.clone());
    let answer = move || {
        for (number, socket) in listener.incoming().enumerate() {
            let link = Link::Caller(number);
            if is_ending.load(Ordering::Acquire) {
                return;
            }
            let (Ok(socket), hear) = (socket, hear.clone()) else {
                continue;
            };
            thread::spawn(move || carry(socket, link, &hear));
        }
    };
    Ok(Running {
        is_over,
        thread: thread::spawn(answer),
        listener: Some(own),
    })
}

/// Connects to a peer, again and again, until this is dropped; each connection is the same link.
/// One that stands then goes on until it is hung up.
pub fn dial(address: SocketAddr, link: Link, hear: Hear) -> Running {
    let is_over = Arc::new(AtomicBool::new(false));
    let is_ending = is_over.clone();
    let call = move || {
        while !is_ending.load(Ordering::Acquire) {
            if let Ok(socket) = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                let _ = carry(socket, link, &hear);
            }
            thread::park_timeout(BACK_OFF);
        }
    };
    Running {
        is_over,
        thread: thread::spawn(call),
        listener: None,
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        if let Some(listener) = &self.listener {
            // Wakes the thread that waits for connections.
            let _ = socket::shutdown(listener.as_raw_fd(), socket::Shutdown::Both);
        }
    }
}
