//! The live view of a real run on a terminal: of servers that somebody else runs, so that no lab is
//! needed. What stands at the port never answers, or goes away.

#[path = "common/terminal.rs"]
mod terminal;

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use nix::sys::termios::{LocalFlags, tcgetattr};
use terminal::at_terminal;

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";
/// Nothing here takes so long.
const LIMIT: Duration = Duration::from_secs(60);

/// A run on a terminal.
struct OnTerminal {
    child: Child,
    terminal: File,
    parts: Receiver<Vec<u8>>,
    shown: String,
}

impl OnTerminal {
    fn run(folder: &Path, port: u16, options: &[&str]) -> OnTerminal {
        let text = format!(
            "title = \"At a port\"\n[[mode]]\nmode = \"endpoint\"\n\
             writer = \"mysql://someone@127.0.0.1:{port}\"\n\
             [[sweep]]\nworkload = \"point_select\"\n"
        );
        std::fs::write(folder.join("study.toml"), text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_acklab"));
        command.args(["run", "study.toml"]).args(options);
        command.env("ACKLAB_CACHE", folder).current_dir(folder);
        command.env("ACKLAB_PASSWORD", "x").env("TERM", "xterm");
        let (child, terminal) = at_terminal(command);
        let mut read = terminal.try_clone().unwrap();
        let (send, parts) = channel();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            // Fails when the other end is closed, which is when all has been read.
            while let Ok(count @ 1..) = read.read(&mut part) {
                if send.send(part[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        OnTerminal {
            child,
            terminal,
            parts,
            shown: String::new(),
        }
    }

    fn wait_for(&mut self, text: &str) {
        while !self.shown.contains(text) {
            let part = self.parts.recv_timeout(LIMIT);
            let part = part.unwrap_or_else(|_| panic!("no {text:?} in {:?}", self.shown));
            self.shown += &String::from_utf8_lossy(&part);
        }
    }

    fn type_in(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).unwrap();
    }

    fn is_echoed(&self) -> bool {
        let settings = tcgetattr(&self.terminal).unwrap();
        settings.local_flags.contains(LocalFlags::ECHO)
    }

    /// The exit code, and all that was shown.
    fn end(mut self) -> (Option<i32>, String) {
        while let Ok(part) = self.parts.recv_timeout(LIMIT) {
            self.shown += &String::from_utf8_lossy(&part);
        }
        (self.child.wait().unwrap().code(), self.shown)
    }
}

/// The header of a packet of 60,000 bytes: of a greeting that takes longer than anybody waits.
const HEADER: [u8; 4] = [0x60, 0xea, 0, 0];

/// A port at which whoever connects is greeted by a byte at a time, so that no limit for an answer
/// is met; once that port is left, by nothing but an end.
fn slow() -> (Sender<()>, u16) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    let (leave, left) = channel::<()>();
    std::thread::spawn(move || {
        let mut greeted = Vec::new();
        while left.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
            for connection in &mut greeted {
                // Whoever is gone need not be greeted.
                let _ = Write::write_all(connection, b"-");
            }
            while let Ok((mut connection, _)) = listener.accept() {
                let _ = connection.write_all(&HEADER);
                greeted.push(connection);
            }
        }
    });
    (leave, port)
}

#[test]
fn a_breakdown_is_told_when_the_terminal_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let (leave, port) = slow();
    let mut run = OnTerminal::run(folder.path(), port, &[]);
    run.wait_for("At a port");
    run.wait_for(ENTER);
    run.wait_for("Ctrl-C");
    assert!(!run.is_echoed());
    drop(leave);
    let (code, shown) = run.end();
    assert_eq!(code, Some(4), "{shown:?}");
    let back = shown.rfind(LEAVE).expect("the first screen again");
    assert!(shown[back..].contains("could not"), "{shown:?}");
    assert_eq!(shown.matches(ENTER).count(), shown.matches(LEAVE).count());
}

#[test]
fn two_ctrl_c_give_the_terminal_back() {
    let folder = tempfile::tempdir().unwrap();
    let (_leave, port) = slow();
    let mut run = OnTerminal::run(folder.path(), port, &[]);
    run.wait_for(ENTER);
    run.wait_for("Ctrl-C");
    run.type_in("\u{3}");
    run.wait_for("stopping");
    run.type_in("\u{3}");
    let (code, shown) = run.end();
    assert_eq!(code, Some(130), "{shown:?}");
    assert!(shown.rfind(LEAVE) > shown.rfind(ENTER), "{shown:?}");
}

#[test]
fn plain_lines_leave_the_terminal_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (leave, port) = slow();
    drop(leave);
    let run = OnTerminal::run(folder.path(), port, &["--plain"]);
    let (code, shown) = run.end();
    assert_eq!(code, Some(4), "{shown:?}");
    assert!(
        shown.contains("connecting to") && !shown.contains(ENTER),
        "{shown:?}"
    );
}
