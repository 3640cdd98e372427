//! A program on a terminal of its own.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::pty::{Winsize, openpty};
use nix::unistd::setsid;

/// Starts a program at a terminal that nobody else is at; that terminal's other end.
pub fn at_terminal(mut command: Command) -> (Child, File) {
    let size = Winsize {
        ws_row: 24,
        ws_col: 100,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(Some(&size), None).expect("a terminal");
    let own = || pty.slave.try_clone().expect("a descriptor");
    command.stdin(own()).stdout(own()).stderr(own());
    // SAFETY: both only make a system call, which is allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            setsid()?;
            match libc::ioctl(0, libc::TIOCSCTTY, 0) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    };
    (command.spawn().expect("the program"), pty.master.into())
}
