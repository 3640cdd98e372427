//! Whether a process that this one has started still runs.

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use super::run_folder::started_ticks;

/// How long one that is ending may take to give back what it has, gigabytes of memory among it.
const ENDING_LIMIT: Duration = Duration::from_secs(5);
const ENDING_STEP: Duration = Duration::from_millis(1);

/// How a process ended; `None` while it runs.
///
/// One that is ending is waited for. The kernel closes its files first and tells its parent last:
/// whoever has lost a connection to it may ask in between, and is to hear why.
pub fn how_ended(process: &mut Child) -> Option<ExitStatus> {
    let deadline = Instant::now() + ENDING_LIMIT;
    loop {
        let ended = process.try_wait().ok()?;
        let is_ending = || started_ticks(process.id() as i32).is_none();
        if ended.is_some() || Instant::now() >= deadline || !is_ending() {
            return ended;
        }
        std::thread::sleep(ENDING_STEP);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn one_whose_files_are_closed_has_ended() {
        for _ in 0..100 {
            let mut command = Command::new("sleep");
            let mut child = command.arg("100").stdout(Stdio::piped()).spawn().unwrap();
            assert_eq!(how_ended(&mut child), None);
            child.kill().unwrap();
            let mut output = child.stdout.take().unwrap();
            assert_eq!(output.read_to_end(&mut Vec::new()).unwrap(), 0);
            let status = how_ended(&mut child).expect("it has ended");
            assert_eq!(status.to_string(), "signal: 9 (SIGKILL)");
            assert_eq!(how_ended(&mut child), Some(status), "it is told again");
        }
    }
}
