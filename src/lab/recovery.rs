//! What a server's log tells: its last words, and why it did not come up. That is for what it found
//! in its own data, or for want of something that the lab owes it. Only the first is a finding.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::sys::signal::Signal;

/// What servers say, in lower case, of data that they refuse.
const OF_DATA: [&str; 10] = [
    "corrupt",
    "checksum",
    "assertion failure",
    "doublewrite",
    "log sequence number",
    "redo log",
    "recover",
    "data dictionary",
    "tc log",
    "tablespace",
];

/// In what they say of being a member, which is nothing of their data.
const OF_MEMBERS: [&str; 2] = ["wsrep:", "plugin group_replication"];

/// What they say of a machine that has too little, or a disk that fails them.
const OF_THE_MACHINE: [&str; 9] = [
    "no space left",
    "cannot allocate memory",
    "can't allocate",
    "out of memory",
    "too many open files",
    "permission denied",
    "input/output error",
    "resource temporarily unavailable",
    "address already in use",
];

/// The lines, of what a server said as it ended by itself, in which it refuses its data; `None` if
/// there is none, or if it says that the machine failed it.
pub fn refusal<'l>(lines: impl Iterator<Item = &'l str>) -> Option<String> {
    let lines: Vec<(&str, String)> = lines.map(|line| (line, line.to_lowercase())).collect();
    let says = |words: &[&str], line: &str| words.iter().any(|word| line.contains(word));
    if lines.iter().any(|(_, line)| says(&OF_THE_MACHINE, line)) {
        return None;
    }
    let is_error = |line: &str| {
        let is_one = line.contains("[error]") || line.contains("assertion failure");
        is_one && !says(&OF_MEMBERS, line)
    };
    let telling = lines
        .iter()
        .filter(|(_, line)| is_error(line) && says(&OF_DATA, line));
    let telling: Vec<&str> = telling.map(|(line, _)| *line).collect();
    (!telling.is_empty()).then(|| telling.join("\n    "))
}

/// Whether a server ended by itself: nobody killed it, nor did the kernel for want of memory.
pub fn is_of_itself(ended: &ExitStatus) -> bool {
    let failed = [Signal::SIGABRT, Signal::SIGSEGV].map(|signal| signal as i32);
    ended.code().is_some()
        || ended
            .signal()
            .is_some_and(|signal| failed.contains(&signal))
}

/// The last whole lines of a text that fit into so many bytes.
pub(super) fn last_lines(text: &str, bytes: usize) -> &str {
    let Some(from) = text.len().checked_sub(bytes).filter(|from| *from > 0) else {
        return text;
    };
    // One that begins right there is whole.
    let line_end = |(at, c): (usize, char)| (c == '\n' && at + 1 >= from).then_some(at + 1);
    let start = text.char_indices().find_map(line_end);
    &text[start.unwrap_or(text.len())..]
}

/// The last errors of a log, then its very last lines.
pub(super) fn telling_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lines: Vec<&str> = lines.collect();
    let (early, late) = lines.split_at(lines.len().saturating_sub(6));
    let errors: Vec<&str> = early
        .iter()
        .filter(|line| line.contains("[ERROR]"))
        .copied()
        .collect();
    let (_, errors) = errors.split_at(errors.len().saturating_sub(6));
    errors
        .iter()
        .chain(late)
        .map(|line| (*line).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(lines: &[&str]) -> Option<String> {
        refusal(lines.iter().copied())
    }

    #[test]
    fn of_a_long_log_the_last_whole_lines_are_told() {
        let text = "one\ntwø\nthree\n";
        for (bytes, told) in [
            (text.len(), text),
            (100, text),
            (11, "twø\nthree\n"),
            (10, "three\n"),
            (6, "three\n"),
            (5, ""),
            (0, ""),
        ] {
            assert_eq!(last_lines(text, bytes), told, "{bytes}");
        }
    }

    const CORRUPT: &str = "1 [ERROR] [MY-012224] Database page corruption on disk";

    #[test]
    fn a_server_that_finds_its_data_corrupt_refuses_them() {
        let told = refused(&["1 [Note] starting", CORRUPT, "2 [Note] bye"]);
        assert_eq!(told.as_deref(), Some(CORRUPT));
        let failed = "InnoDB: Assertion failure in thread 7 in file buf0buf.cc";
        assert!(refused(&[failed]).is_some());
    }

    /// A Galera node whose state transfer ended in the midst, and a member that could not join.
    #[test]
    fn what_a_server_says_of_being_a_member_is_no_refusal() {
        for said in [
            "0 [ERROR] WSREP: Failed to handle state message: -131 (State not recoverable)",
            "0 [ERROR] [Repl] Plugin group_replication reported: 'Fatal error in recovery'",
        ] {
            assert_eq!(refused(&[said]), None);
            assert_eq!(refused(&[said, CORRUPT]).as_deref(), Some(CORRUPT));
        }
    }

    #[test]
    fn who_was_killed_did_not_end_by_itself() {
        let exit = ExitStatus::from_raw(1 << 8);
        let by = |signal| ExitStatus::from_raw(signal as i32);
        assert!(is_of_itself(&exit) && is_of_itself(&by(Signal::SIGABRT)));
        assert!(!is_of_itself(&by(Signal::SIGKILL)));
    }

    /// A full image, too little memory, a spawn that failed.
    #[test]
    fn what_the_machine_lacks_is_no_refusal() {
        let full = "2 [ERROR] InnoDB: Error number 28 means 'No space left on device'";
        assert_eq!(refused(&[CORRUPT, full]), None);
        assert_eq!(
            refused(&["1 [ERROR] Cannot allocate memory for the buffer pool"]),
            None
        );
        assert_eq!(refused(&["1 [ERROR] unknown variable"]), None);
        assert_eq!(refused(&["1 [Note] recovery has begun"]), None);
        assert_eq!(refused(&[]), None);
    }
}
