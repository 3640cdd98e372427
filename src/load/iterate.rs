//! mysqlslap's manner: reload, then a fixed number of queries, connecting inside the clock.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use super::input::{Input, turn};
use super::job::{Iterations, Job, Snapshot};
use super::merge::merge;
use super::pool::Pool;
use super::workload::mysqlslap::{SCHEMA, Slap};
use crate::error::{Error, Result, Tried, breakdown};
use crate::lab::endpoint::Authorities;
use crate::record::Iteration;

/// Of the reload's statements, which insert one row each: less than every server allows.
const PACKET_BYTES_MAX: usize = 1 << 20;
/// An iteration in which nothing is answered for so long has failed: longer than any of its
/// statements takes, even over a slow link.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);
/// How often an iteration looks up when nothing happens.
const LOOK_UP: Duration = Duration::from_secs(1);

/// A freshly loaded table, ready for one iteration.
pub struct Loaded {
    job: Job,
    slap: Slap,
    ids: Vec<u64>,
}

/// Drops and loads mysqlslap's schema anew over one plain connection: not part of the clock.
pub fn reload(job: &Job) -> Result<Loaded> {
    let slap = checked(job)?;
    let ids = fill(&mut connect(job)?, &slap, job)?;
    Ok(Loaded {
        job: job.clone(),
        slap,
        ids,
    })
}

/// Runs one iteration on a freshly loaded table.
pub fn iterate<I: AsFd>(input: &mut Input<I>, loaded: Loaded) -> Result<Iterations> {
    let Loaded { job, slap, ids } = loaded;
    let (iteration, snapshot) = one_iteration(input, &job, &slap, ids)?;
    Ok(Iterations {
        iterations: vec![iteration],
        snapshot,
    })
}

/// One iteration after the other, as one result.
pub fn in_a_row(parts: Vec<Iterations>) -> Result<Iterations> {
    let iterations = parts
        .iter()
        .flat_map(|part| part.iterations.clone())
        .collect();
    let snapshots = parts.into_iter().map(|part| part.snapshot).collect();
    Ok(Iterations {
        iterations,
        snapshot: join_snapshots(snapshots)?,
    })
}

fn checked(job: &Job) -> Result<Slap> {
    let tried = || format!("run {} in iterations", job.workload.label());
    let Some(slap) = Slap::of(&job.workload) else {
        return Err(breakdown(
            tried(),
            "only mysqlslap's workloads run in iterations",
        ));
    };
    if job.rate_per_s.is_some() {
        return Err(breakdown(tried(), "mysqlslap has no rate"));
    }
    if job.pace.is_some() || job.slowdown.is_some() {
        return Err(breakdown(tried(), "mysqlslap does not pause"));
    }
    if !slap.is_runnable() {
        let status = "mysqlslap's key load needs its auto-increment column";
        return Err(breakdown(tried(), status));
    }
    if slap.int_cols + slap.char_cols == 0 {
        return Err(breakdown(tried(), "the table needs a column"));
    }
    Ok(slap)
}

/// The reload runs over one connection to the first server, outside the clock: a plain one, but a
/// guest's is encrypted as its load's are.
fn connect(job: &Job) -> Result<Conn> {
    let target = job.targets.first().copied();
    let Some(target) = target else {
        return Err(breakdown("run iterations", "no server was given"));
    };
    let options = OptsBuilder::new()
        .ip_or_hostname(Some(target.ip().to_string()))
        .tcp_port(target.port())
        .prefer_socket(false)
        .tcp_connect_timeout(Some(ANSWER_LIMIT))
        .read_timeout(Some(ANSWER_LIMIT))
        // Given, it is not asked for: the tool sends no such query.
        .max_allowed_packet(Some(PACKET_BYTES_MAX))
        .user(Some(job.user.clone()))
        .pass(Some(job.password.to_string()));
    let guest = job.guest.as_ref().filter(|_| job.tls);
    let ca_pem = guest.and_then(|guest| guest.ca_pem.as_deref());
    let authorities = Authorities::of(ca_pem)?;
    let options = match guest {
        Some(guest) => options
            .ip_or_hostname(Some(guest.server_name.clone()))
            .ssl_opts(authorities.options()),
        None => options,
    };
    Conn::new(options).tried(|| format!("connect to {target} to load mysqlslap's table"))
}

fn run(admin: &mut Conn, sql: &str) -> Result<()> {
    let short: String = sql.chars().take(60).collect();
    admin.query_drop(sql).tried(|| format!("run `{short}`"))
}

/// The ids of the rows, if there are any to be named by. All rows come in one transaction: a commit
/// for each, as the tool makes, would take most of a study's time, and no figure has it.
fn fill(admin: &mut Conn, slap: &Slap, job: &Job) -> Result<Vec<u64>> {
    let own = job.guest.as_ref().and(job.databases.first());
    let own = own.map(String::as_str);
    run(admin, "SET SESSION autocommit = 0")?;
    for sql in slap.reload(job.seed, own) {
        run(admin, &sql)?;
    }
    run(admin, "COMMIT")?;
    if !slap.autoincrement {
        return Ok(Vec::new());
    }
    let ids = admin.query("SELECT id from t1");
    ids.tried(|| "read the ids of mysqlslap's rows".to_owned())
}

fn one_iteration<I: AsFd>(
    input: &mut Input<I>,
    job: &Job,
    slap: &Slap,
    ids: Vec<u64>,
) -> Result<(Iteration, Snapshot)> {
    let quota = slap.queries_per_session(job.connections);
    let script = slap.script(job.seed, ids);
    let mut job = job.clone();
    if job.guest.is_none() {
        job.databases = vec![SCHEMA.to_owned()];
    }
    let begin = Instant::now();
    let mut pool = Pool::new(&job, script, Some(quota), begin)?;
    pool.watch(input.source())?;
    let (mut answered, mut since) = (0, begin);
    while !pool.all_finished() {
        turn(input, &mut pool, Instant::now() + LOOK_UP)?;
        if let Some(failure) = pool.take_failure() {
            return Err(failure);
        }
        if pool.answered() != answered {
            (answered, since) = (pool.answered(), Instant::now());
        }
        if since.elapsed() >= ANSWER_LIMIT {
            return Err(silence(&pool, &job));
        }
    }
    let snapshot = pool.mark();
    let iteration = Iteration {
        seconds: snapshot.window_s,
        connect_seconds: snapshot.connected_s,
        queries: quota * u64::from(job.connections),
    };
    Ok((iteration, snapshot))
}

fn silence(pool: &Pool, job: &Job) -> Error {
    let status = format!(
        "no answer for {} s: of {} sessions {} had connected, {} had finished",
        ANSWER_LIMIT.as_secs(),
        job.connections,
        pool.connected(),
        pool.finished()
    );
    breakdown(format!("run {}", job.workload.label()), status)
}

/// Snapshots of one iteration after the other: like drivers side by side, but windows add up and
/// seconds follow each other.
fn join_snapshots(mut snapshots: Vec<Snapshot>) -> Result<Snapshot> {
    let window_s = snapshots.iter().map(|one| one.window_s).sum();
    let seconds = snapshots.iter_mut().flat_map(|one| &mut one.timeline);
    for (number, second) in (0..).zip(seconds) {
        second.second.second = number;
    }
    let mut all = merge(snapshots)?;
    all.window_s = window_s;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::job::DriverSecond;

    #[test]
    fn iterations_follow_each_other() {
        let snapshot = |window_s| Snapshot {
            window_s,
            commits: 5,
            timeline: vec![DriverSecond::default()],
            ..Snapshot::default()
        };
        let all = join_snapshots(vec![snapshot(1.5), snapshot(1.25)]).unwrap();
        assert_eq!((all.window_s, all.commits), (2.75, 10));
        let seconds: Vec<u32> = all.timeline.iter().map(|s| s.second.second).collect();
        assert_eq!(seconds, [0, 1]);
    }
}
