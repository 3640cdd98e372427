//! CPUs that are slower than the host gives them. A process of its own (`acklab slow-cpus`, hidden)
//! holds each of them for a share of the time, at a priority above all that runs on it: whoever
//! else is there has the rest, as if the CPU took so much longer for everything.
//!
//! It takes JSON lines over the socket that is its input and output, and lets go of all CPUs when
//! that ends.

mod duty;

use std::hint;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::affinity;
use super::child::{Child, Manner};
use super::link::realtime::{
    SLOW_CPUS_PRIORITY, now_ns, set_realtime, thread_cpu_ns, try_realtime,
};
use crate::error::{Error, Mistake, Result, Tried};
use duty::{Account, Duty};

const TRIED: &str = "slow CPUs";
/// It answers within a millisecond unless it is starved on a CPU that it holds itself.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// A CPU, and the share of its time that is left to others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SlowCpu {
    pub cpu: u32,
    /// Above 0, below 1.
    pub speed: f64,
}

/// For how long a CPU was held, of how long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    pub cpu: u32,
    pub held_us: f64,
    pub elapsed_us: f64,
}

impl Held {
    /// The share of its time that was left to others.
    pub fn speed(&self) -> f64 {
        match self.elapsed_us > 0.0 {
            true => 1.0 - self.held_us / self.elapsed_us,
            false => 1.0,
        }
    }

    /// With what came of the same CPU besides.
    pub fn add(&mut self, more: &Held) {
        self.held_us += more.held_us;
        self.elapsed_us += more.elapsed_us;
    }
}

/// What came of each CPU between two readings. One that the first does not have counts from its
/// beginning.
pub fn between(from: &[Held], to: &[Held]) -> Vec<Held> {
    let since = |later: &Held| {
        let earlier = from.iter().find(|earlier| earlier.cpu == later.cpu);
        let earlier = earlier.copied().unwrap_or_default();
        Held {
            cpu: later.cpu,
            held_us: later.held_us - earlier.held_us,
            elapsed_us: later.elapsed_us - earlier.elapsed_us,
        }
    };
    to.iter().map(since).collect()
}

/// One line to the process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Request {
    /// Hold these CPUs from now on.
    Slow(Vec<SlowCpu>),
    /// For how long was each held?
    Tell,
}

/// One line from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reply {
    Slowed,
    Told(Vec<Held>),
    /// The kernel's words where it refuses the real-time class.
    NoRealtime(String),
    Failed(String),
}

/// CPUs that are slow for as long as this lives, and no longer than this process.
#[derive(Debug)]
pub struct SlowCpus(Child);

impl SlowCpus {
    /// Slows these CPUs; `command` runs `acklab slow-cpus`.
    ///
    /// # Errors
    /// A mistake if the kernel refuses the real-time class, a breakdown if the process does not
    /// come up or may not run on one of the CPUs.
    pub fn start(command: Command, cpus: &[SlowCpu]) -> Result<SlowCpus> {
        let manner = Manner {
            name: "the holder of CPUs".to_owned(),
            answer_limit: Some(ANSWER_LIMIT),
            ends_itself: false,
        };
        let mut child = Child::spawn(command, manner)?;
        match child.ask(TRIED, &Request::Slow(cpus.to_vec()))? {
            Reply::Slowed => Ok(SlowCpus(child)),
            Reply::NoRealtime(reason) => Err(refused(&reason)),
            Reply::Failed(reason) => Err(child.refused(TRIED, reason)),
            other @ Reply::Told(_) => Err(child.unexpected(TRIED, &other)),
        }
    }

    /// For how long each CPU was held since it was slowed.
    ///
    /// # Errors
    /// A breakdown if the process has ended.
    pub fn held(&mut self) -> Result<Vec<Held>> {
        match self.0.ask(TRIED, &Request::Tell)? {
            Reply::Told(held) => Ok(held),
            other => Err(self.0.unexpected(TRIED, &other)),
        }
    }
}

/// Whether this process may slow CPUs.
///
/// # Errors
/// A mistake that says who refuses, and what to do.
pub fn check_allowed() -> Result<()> {
    try_realtime(SLOW_CPUS_PRIORITY).map_err(|error| refused(&error.to_string()))
}

fn refused(reason: &str) -> Error {
    let allowed = format!(
        "needs the real-time class SCHED_FIFO, which the kernel refuses here ({reason}): run \
         acklab with the capability CAP_SYS_NICE (of a container, --cap-add SYS_NICE), or do \
         without slower CPUs"
    );
    Mistake::new("this machine", "cpu_speed", "", &allowed).into()
}

/// Holds CPUs as it is asked to; requests come from `stdin`, one reply to each goes to `stdout`,
/// both JSON lines. Returns when `stdin` ends: with this process all CPUs are let go of.
///
/// # Errors
/// A breakdown if the parent cannot be read or answered.
pub fn serve(stdin: impl Read, mut stdout: impl Write) -> Result<()> {
    let mut holders: Vec<Arc<Holder>> = Vec::new();
    for line in BufReader::new(stdin).lines() {
        let line = line.tried(|| "read the input of slow-cpus".to_owned())?;
        let reply = match serde_json::from_str(&line) {
            Ok(request) => answer(&mut holders, request),
            Err(error) => Reply::Failed(error.to_string()),
        };
        let mut text = serde_json::to_string(&reply).tried(|| "write an answer".to_owned())?;
        text.push('\n');
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
            .tried(|| "answer".to_owned())?;
    }
    Ok(())
}

fn answer(holders: &mut Vec<Arc<Holder>>, request: Request) -> Reply {
    match request {
        Request::Slow(_) if !holders.is_empty() => Reply::Failed("it holds some already".into()),
        Request::Slow(cpus) => match hold_all(&cpus) {
            Ok(started) => {
                *holders = started;
                Reply::Slowed
            }
            Err(reply) => reply,
        },
        Request::Tell => Reply::Told(holders.iter().map(|holder| holder.told()).collect()),
    }
}

/// What the thread that holds a CPU tells the one that answers.
struct Holder {
    cpu: u32,
    held_ns: AtomicU64,
    elapsed_ns: AtomicU64,
}

impl Holder {
    fn tell(&self, account: Account) {
        self.held_ns.store(account.held_ns, Ordering::Relaxed);
        self.elapsed_ns.store(account.elapsed_ns, Ordering::Relaxed);
    }

    fn told(&self) -> Held {
        Held {
            cpu: self.cpu,
            held_us: self.held_ns.load(Ordering::Relaxed) as f64 / 1e3,
            elapsed_us: self.elapsed_ns.load(Ordering::Relaxed) as f64 / 1e3,
        }
    }
}

/// What became of a thread's preparations: the reply if it cannot hold its CPU.
type Ready = std::result::Result<(), Reply>;

/// A thread for each CPU; all hold theirs when this returns.
fn hold_all(cpus: &[SlowCpu]) -> std::result::Result<Vec<Arc<Holder>>, Reply> {
    let (ready, outcomes) = channel();
    let mut holders = Vec::new();
    for &slow in cpus {
        let holder = Arc::new(Holder {
            cpu: slow.cpu,
            held_ns: AtomicU64::new(0),
            elapsed_ns: AtomicU64::new(0),
        });
        let (own, ready) = (Arc::clone(&holder), ready.clone());
        thread::spawn(move || hold(&own, slow.speed, ready));
        holders.push(holder);
    }
    // The last of them has its own thread, so that there is an end to outcomes.
    drop(ready);
    outcomes.into_iter().collect::<Ready>()?;
    Ok(holders)
}

/// Holds a CPU for the share of its time that is not to be left to others, for ever.
fn hold(holder: &Holder, speed: f64, ready: Sender<Ready>) {
    let prepared = prepare(holder.cpu);
    let can_hold = prepared.is_ok();
    let _ = ready.send(prepared);
    drop(ready);
    if !can_hold {
        return;
    }
    let duty = Duty::leaving(speed);
    let mut begun_ns = now_ns();
    let used_ns = thread_cpu_ns();
    let mut before = Account::default();
    for number in 0.. {
        // Falling asleep and waking up keep others from the CPU too.
        let mut account = Account {
            held_ns: thread_cpu_ns() - used_ns,
            elapsed_ns: now_ns() - begun_ns,
        };
        let forgiven_ns = duty::standstill_ns(before, account);
        begun_ns += forgiven_ns;
        account.elapsed_ns -= forgiven_ns;
        before = account;
        holder.tell(account);
        let turn = duty.turn(account, number);
        spin(turn.hold_ns);
        thread::sleep(Duration::from_nanos(turn.rest_ns));
    }
}

/// This thread runs on that CPU alone, and before all others there.
fn prepare(cpu: u32) -> Ready {
    affinity::keep_to(&[cpu]).map_err(|error| Reply::Failed(error.to_string()))?;
    set_realtime(Some(SLOW_CPUS_PRIORITY)).map_err(|error| Reply::NoRealtime(error.to_string()))
}

/// Looks at the clock for so long.
fn spin(span_ns: u64) {
    let begun_ns = now_ns();
    while now_ns() - begun_ns < span_ns {
        hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(cpu: u32, held_us: f64, elapsed_us: f64) -> Held {
        Held {
            cpu,
            held_us,
            elapsed_us,
        }
    }

    #[test]
    fn what_was_held_counts_from_one_reading_to_another() {
        let from = [held(0, 100.0, 1_000.0)];
        let to = [held(0, 300.0, 2_000.0), held(1, 50.0, 500.0)];
        let spent = between(&from, &to);
        assert_eq!(spent, [held(0, 200.0, 1_000.0), held(1, 50.0, 500.0)]);
        assert_eq!((spent[0].speed(), spent[1].speed()), (0.8, 0.9));
        assert_eq!(Held::default().speed(), 1.0);
        let mut sum = spent[0];
        sum.add(&spent[0]);
        assert_eq!(sum, held(0, 400.0, 2_000.0));
    }

    #[test]
    fn requests_and_replies_are_the_lines_that_were_agreed() {
        let slow = SlowCpu { cpu: 1, speed: 0.8 };
        let line = |request: &Request| serde_json::to_string(request).unwrap();
        let expected = r#"{"slow":[{"cpu":1,"speed":0.8}]}"#;
        assert_eq!(line(&Request::Slow(vec![slow])), expected);
        assert_eq!(line(&Request::Tell), "\"tell\"");
        let mut out = Vec::new();
        serve(&b"\"tell\"\nnonsense\n"[..], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let replies: Vec<Reply> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(replies[0], Reply::Told(vec![]), "it holds none yet");
        assert!(matches!(replies[1], Reply::Failed(_)));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_told_and_not_held() {
        let nowhere = SlowCpu {
            cpu: u32::MAX,
            speed: 0.8,
        };
        let told = hold_all(&[nowhere]).err();
        assert!(matches!(told, Some(Reply::Failed(_))));
    }

    #[test]
    fn a_refused_class_says_who_refuses_and_what_to_do() {
        let text = refused("EPERM").to_string();
        for part in [
            "this machine",
            "the kernel refuses",
            "CAP_SYS_NICE",
            "EPERM",
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert_eq!(refused("").exit_code(), 2);
    }

    #[test]
    fn a_spin_is_never_too_short() {
        let begun_ns = now_ns();
        spin(20_000);
        assert!(now_ns() - begun_ns >= 20_000);
    }
}
