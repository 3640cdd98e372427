//! The driver's side: `acklab drive` reads commands on its standard input and answers on its
//! standard output, both JSON lines, while its sessions run in the same loop. One that has joined a
//! run from elsewhere does the same over a socket to whoever passes both on ([`super::join`]).

use std::io::Write;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::time::TimeValLike;

use super::clock::Clock;
use super::input::{Input, turn};
use super::iterate::{Loaded, iterate, reload};
use super::job::{Command, Job, Reply, Snapshot};
use super::ledgers::Crew;
use super::pool::Pool;
use super::priority;
use super::workload::{UniqueNumbers, script};
use crate::error::{Error, Result, Tried, breakdown};

/// All sessions of a closed-loop load must be connected by then.
const CONNECT_LIMIT: Duration = Duration::from_secs(60);
/// Transactions in flight have this long to end after a stop.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// An event loop wakes up to a millisecond late: so long before the moment at which a load is to
/// begin, it is waited for alone.
const ALONE: Duration = Duration::from_millis(2);
/// Descriptors besides the sessions' sockets.
const SPARE_DESCRIPTORS: u64 = 64;

/// What a driver holds between commands.
#[derive(Default)]
struct State {
    clock: Clock,
    /// The running load.
    pool: Option<Pool>,
    /// A table loaded for mysqlslap's next iteration.
    loaded: Option<Loaded>,
    /// Those who keep a ledger, or read one.
    crew: Option<Crew>,
}

/// Serves commands until the input ends.
pub fn serve(stdin: impl AsFd, mut stdout: impl Write) -> Result<()> {
    raise_descriptor_limit();
    let mut input = Input::new(stdin);
    let mut state = State::default();
    while !input.is_closed() {
        if let Some(line) = input.next_line() {
            match answer(&mut stdout, &mut input, &mut state, &line) {
                // The input ended in the middle of something: the parent is gone.
                Err(Error::Interrupted) => return Ok(()),
                other => other?,
            }
            continue;
        }
        let can_read = match (&mut state.pool, &mut state.crew) {
            (Some(pool), _) => pool.turn(None)?,
            (None, Some(crew)) => crew.turn()?,
            (None, None) => true,
        };
        if can_read {
            input.read()?;
        }
    }
    Ok(())
}

/// As many descriptors as the machine allows: 2,000 sessions are more than the usual 1,024.
fn raise_descriptor_limit() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // A refusal shows when sockets run out, with the number that were connected.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

fn answer<I: AsFd>(
    stdout: &mut impl Write,
    input: &mut Input<I>,
    state: &mut State,
    line: &str,
) -> Result<()> {
    let reply = match handle(input, state, line) {
        Ok(reply) => reply,
        Err(Error::Breakdown(breakdown)) => Reply::Failed {
            tried: breakdown.tried,
            status: breakdown.status,
        },
        Err(other) => return Err(other),
    };
    let mut text = serde_json::to_string(&reply).tried(|| "write an answer".to_owned())?;
    text.push('\n');
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .tried(|| "answer".to_owned())
}

fn handle<I: AsFd>(input: &mut Input<I>, state: &mut State, line: &str) -> Result<Reply> {
    let heard_ns = state.clock.now_ns();
    // Not with the line, which may hold a password.
    let what = || format!("read a command of {} bytes", line.len());
    let command: Command = serde_json::from_str(line).tried(what)?;
    if let Some(crew) = &mut state.crew {
        if command != Command::Stop {
            return Err(breakdown("do anything else", "a ledger is being kept"));
        }
        end(input, crew)?;
        state.crew = None;
        return Ok(Reply::Stopped);
    }
    match (command, &mut state.pool) {
        (
            Command::Start(_) | Command::Reload(_) | Command::Iterate | Command::Ledger(_),
            Some(_),
        ) => Err(breakdown("start a load", "one is running already")),
        (Command::Ledger(task), None) => {
            let crew = Crew::of(*task)?;
            crew.watch(input.source())?;
            state.crew = Some(crew);
            Ok(Reply::Started { connected_s: 0.0 })
        }
        (Command::Start(job), None) => {
            let (started, connected_s) = start(input, &job)?;
            state.pool = Some(started);
            Ok(Reply::Started { connected_s })
        }
        (Command::Reload(job), None) => {
            prepare_process(&job)?;
            state.loaded = Some(reload(&job)?);
            Ok(Reply::Reloaded)
        }
        (Command::Iterate, None) => {
            let missing = || breakdown("run an iteration", "its table was not loaded");
            let loaded = state.loaded.take().ok_or_else(missing)?;
            Ok(Reply::Iterations(Box::new(iterate(input, loaded)?)))
        }
        (Command::Clock, _) => Ok(Reply::Clock {
            heard_ns,
            answered_ns: state.clock.now_ns(),
        }),
        (Command::Begin { at_ns }, Some(pool)) => {
            let late_s = begin(input, pool, state.clock.moment(at_ns))?;
            Ok(Reply::Begun { late_s })
        }
        (Command::Mark, Some(pool)) => Ok(Reply::Snapshot(Box::new(marked(pool)))),
        (Command::MarkAt { at_ns }, Some(pool)) => {
            let snapshot = mark_at(input, pool, state.clock.moment(at_ns))?;
            Ok(Reply::Snapshot(Box::new(snapshot)))
        }
        (Command::Stop, Some(running)) => {
            let snapshot = stop(input, running)?;
            state.pool = None;
            Ok(Reply::Snapshot(Box::new(snapshot)))
        }
        (Command::Begin { .. } | Command::Mark | Command::MarkAt { .. } | Command::Stop, None) => {
            Err(breakdown("begin, mark or stop the load", "none is running"))
        }
    }
}

fn prepare_process(job: &Job) -> Result<()> {
    priority::choose(job);
    let (soft, _) =
        getrlimit(Resource::RLIMIT_NOFILE).tried(|| "read the limit of open files".to_owned())?;
    if u64::from(job.connections) + SPARE_DESCRIPTORS <= soft {
        return Ok(());
    }
    Err(breakdown(
        format!("open {} connections", job.connections),
        format!("this process may open {soft} files: raise the hard limit (ulimit -Hn)"),
    ))
}

fn start<I: AsFd>(input: &mut Input<I>, job: &Job) -> Result<(Pool, f64)> {
    prepare_process(job)?;
    let unique = UniqueNumbers {
        from: job.unique_from,
        driver: job.driver,
        drivers: job.drivers.max(1),
    };
    let begin = Instant::now();
    let mut pool = Pool::new(job, script(&job.workload, unique)?, None, begin)?;
    pool.watch(input.source())?;
    while !pool.all_connected() {
        turn(input, &mut pool, begin + CONNECT_LIMIT)?;
        if let Some(failure) = pool.take_failure() {
            return Err(failure);
        }
        if begin.elapsed() >= CONNECT_LIMIT {
            let tried = format!("connect {} sessions", job.connections);
            let within = CONNECT_LIMIT.as_secs();
            let status = format!("only {} were ready within {within} s", pool.connected());
            return Err(breakdown(tried, status));
        }
    }
    let connected_s = pool.connected_s();
    Ok((pool, connected_s))
}

fn stop<I: AsFd>(input: &mut Input<I>, pool: &mut Pool) -> Result<Snapshot> {
    let deadline = Instant::now() + STOP_LIMIT;
    pool.begin_stop();
    while pool.is_busy() && Instant::now() < deadline {
        turn(input, pool, deadline)?;
    }
    pool.abandon();
    Ok(marked(pool))
}

/// Has a load that waits begin at a moment; tells how late it did.
fn begin<I: AsFd>(input: &mut Input<I>, pool: &mut Pool, at: Instant) -> Result<f64> {
    while Instant::now() + ALONE < at {
        turn(input, pool, at - ALONE)?;
        if let Some(failure) = pool.take_failure() {
            return Err(failure);
        }
    }
    std::thread::sleep(at.saturating_duration_since(Instant::now()));
    pool.begin();
    Ok(at.elapsed().as_secs_f64())
}

/// Ends the window at a moment.
fn mark_at<I: AsFd>(input: &mut Input<I>, pool: &mut Pool, at: Instant) -> Result<Snapshot> {
    while Instant::now() < at {
        turn(input, pool, at)?;
    }
    let late_s = at.elapsed().as_secs_f64();
    Ok(Snapshot {
        late_s,
        ..marked(pool)
    })
}

fn marked(pool: &mut Pool) -> Snapshot {
    Snapshot {
        cpu_us: cpu_us(),
        ..pool.mark()
    }
}

/// CPU time of this thread, which is the whole driver but for what passes its lines on.
fn cpu_us() -> f64 {
    let used = getrusage(UsageWho::RUSAGE_THREAD);
    used.map_or(0.0, |used| {
        (used.user_time().num_microseconds() + used.system_time().num_microseconds()) as f64
    })
}

/// Lets what is under way in a ledger end; it has a limit of its own.
fn end<I: AsFd>(input: &mut Input<I>, crew: &mut Crew) -> Result<()> {
    crew.begin_stop();
    while crew.is_busy() {
        if crew.turn()? {
            input.read()?;
        }
        if input.is_closed() {
            return Err(Error::Interrupted);
        }
    }
    Ok(())
}
