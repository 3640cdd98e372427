//! The drivers that have joined a run, asked as if they were one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::door::{Caller, Door};
use super::remote::{Lost, Remote};
use super::seconds::Seconds;
use super::tls::SILENCE_LIMIT;
use crate::error::{Error, Result, breakdown};
use crate::lab::node::pause;
use crate::lab::sandbox::stop_asked;
use crate::load::clock::{Clock, Exchange, Offset};
use crate::load::job::{Command, Job, Reply, Snapshot};
use crate::load::merge::merge;
use crate::load::split::split;
use crate::load::workload::has_unique_numbers;

/// How often each is asked what time it is: the quickest answer counts.
const EXCHANGES: usize = 8;
const CLOCK_LIMIT: Duration = Duration::from_secs(5);
/// A driver gives up connecting after a minute.
const START_LIMIT: Duration = Duration::from_secs(70);
/// Answering after the moment that was asked for.
const MARK_LIMIT: Duration = Duration::from_secs(10);
/// Transactions under way have ten seconds to end.
const STOP_LIMIT: Duration = Duration::from_secs(20);
/// A moment that all can keep: so long from now, so long more for each driver, and so many times
/// the longest round trip.
const LEAD: Duration = Duration::from_millis(20);
const LEAD_OF_EACH: Duration = Duration::from_micros(500);
const LEAD_ROUND_TRIPS: u32 = 4;
/// Which unique numbers a lost driver has used is not known: those of the next load begin so far
/// ahead of the last that was told. No servers take as many rows in a window.
const UNKNOWN_NUMBERS: u64 = 1 << 28;
/// A driver that began its load, or ended its window, later than this was late.
const LATE_S: f64 = 0.1;

/// Whoever falls silent notices it as we do, or when it asks the next time.
const SILENCE: Duration = SILENCE_LIMIT.saturating_add(Duration::from_secs(5));
/// A request to stop is looked for as often meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Whoever is told of drivers that come and go, in whole words.
pub type Telling<'t> = dyn FnMut(String) + 't;

/// For how many drivers a run waits, and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    pub drivers: u32,
    pub within: Duration,
    /// The command that starts one.
    pub command: String,
}

/// All drivers of a run, of which some may be missing.
pub struct Joined {
    door: Door,
    patience: Patience,
    clock: Clock,
    places: Vec<Place>,
    /// Those at work in the load that runs.
    at_work: Vec<usize>,
    /// Who was lost or late in it, and how.
    missing: Vec<String>,
    marked: Instant,
    /// Those that not all have told.
    seconds: Seconds,
    /// The first unique number that nobody has told to have used, of a load that has them.
    unique_next: Option<u64>,
    /// Somebody fell silent under load, and knows it by then.
    silent_until: Option<Instant>,
    /// How long that may take.
    silence: Duration,
}

/// What is known of a driver, here or not.
#[derive(Default)]
struct Place {
    remote: Option<Remote>,
    offset: Offset,
    /// CPU time of its thread, when it last told.
    cpu_us: f64,
    /// Why it is not here.
    gone: Option<String>,
}

impl Joined {
    /// Nobody has come yet.
    pub fn new(door: Door, patience: Patience) -> Joined {
        let places = (0..patience.drivers).map(|_| Place::default());
        Joined {
            places: places.collect(),
            door,
            patience,
            clock: Clock::new(),
            at_work: Vec::new(),
            missing: Vec::new(),
            marked: Instant::now(),
            seconds: Seconds::default(),
            unique_next: None,
            silent_until: None,
            silence: SILENCE,
        }
    }

    /// As if whoever falls silent noticed it in so long.
    #[cfg(test)]
    pub fn noticing_within(mut self, silence: Duration) -> Joined {
        self.silence = silence;
        self
    }

    /// Sets all clocks against this one, and waits for drivers in place of those that are missing.
    ///
    /// # Errors
    /// A breakdown that says who is missing after the time that was given; an interruption if the
    /// user asks to stop.
    pub fn gather(&mut self, tell: &mut Telling) -> Result<()> {
        self.wait_for_silent(tell)?;
        let (mut begun, mut is_told) = (Instant::now(), false);
        loop {
            if self.set_clocks(tell)? {
                // The wait for another in its place is a new one.
                (begun, is_told) = (Instant::now(), false);
            }
            if self.places.iter().all(|place| place.remote.is_some()) {
                self.missing.clear();
                return Ok(());
            }
            if !std::mem::replace(&mut is_told, true) {
                tell(self.invitation());
            }
            while let Some(index) = self.first_free() {
                if stop_asked() {
                    return Err(Error::Interrupted);
                }
                self.admit(index, tell)?;
                if self.first_free().is_some() && begun.elapsed() >= self.patience.within {
                    return Err(self.too_few());
                }
            }
        }
    }

    fn first_free(&self) -> Option<usize> {
        self.places.iter().position(|place| place.remote.is_none())
    }

    fn admit(&mut self, index: usize, tell: &mut Telling) -> Result<()> {
        let (number, of) = (index as u32 + 1, self.patience.drivers);
        match self.door.next((number, of))? {
            None => {}
            Some(Caller::Refused { from, why }) => {
                tell(format!("a driver from {from} was not let in: {why}"));
            }
            Some(Caller::Admitted(remote)) => {
                self.places[index] = Place {
                    remote: Some(*remote),
                    ..Place::default()
                };
                if self.set_clock(index, tell)? {
                    let place = &self.places[index];
                    let name = place.remote.as_ref().map_or("", |remote| &remote.name);
                    tell(format!("{name} has joined; {}", place.offset.told()));
                }
            }
        }
        Ok(())
    }

    fn invitation(&self) -> String {
        let missing = self.places.iter().filter(|place| place.remote.is_none());
        let (missing, of) = (missing.count(), self.patience.drivers);
        let waiting = match missing as u32 == of {
            true => format!("waiting for {of} drivers"),
            false => format!("waiting for {missing} of {of} drivers"),
        };
        format!("{waiting}; each is started with: {}", self.patience.command)
    }

    fn too_few(&self) -> Error {
        let of = self.patience.drivers;
        let here = self.places.iter().filter(|place| place.remote.is_some());
        let gone = self.places.iter().zip(1..).filter_map(|(place, number)| {
            let never = || format!("driver {number}: it never came");
            place
                .remote
                .is_none()
                .then(|| place.gone.clone().unwrap_or_else(never))
        });
        let status = format!(
            "{} of {of} are here after {:.0} s: {}",
            here.count(),
            self.patience.within.as_secs_f64(),
            gone.collect::<Vec<_>>().join("; ")
        );
        breakdown(format!("gather {of} drivers"), status)
    }

    /// A driver that does not answer is lost; tells whether one was.
    fn set_clocks(&mut self, tell: &mut Telling) -> Result<bool> {
        let mut is_one_lost = false;
        for index in 0..self.places.len() {
            let was_here = self.places[index].remote.is_some();
            is_one_lost |= was_here && !self.set_clock(index, tell)?;
        }
        Ok(is_one_lost)
    }

    /// Whether it is here.
    fn set_clock(&mut self, index: usize, tell: &mut Telling) -> Result<bool> {
        let Some(remote) = &mut self.places[index].remote else {
            return Ok(false);
        };
        match exchanges(remote, &self.clock)? {
            Ok(exchanges) => {
                self.places[index].offset = Offset::of(&exchanges).unwrap_or_default();
                Ok(true)
            }
            Err(lost) => {
                self.lose(index, lost);
                tell(self.places[index].gone.clone().unwrap_or_default());
                Ok(false)
            }
        }
    }

    fn lose(&mut self, index: usize, lost: Lost) {
        let place = &mut self.places[index];
        if let Some(remote) = place.remote.take() {
            let gone = format!("{}: {}", remote.name, lost.why);
            place.gone = Some(gone.clone());
            self.missing.push(gone);
        }
        if lost.is_silent && self.at_work.contains(&index) {
            self.silent_until = Some(Instant::now() + self.silence);
        }
    }

    /// Waits until whoever fell silent under load has noticed it too, and loads the servers no
    /// more.
    fn wait_for_silent(&mut self, tell: &mut Telling) -> Result<()> {
        let Some(until) = self.silent_until else {
            return Ok(());
        };
        let left = || until.saturating_duration_since(Instant::now());
        if !left().is_zero() {
            tell(format!(
                "nobody is let in for {:.0} s: a driver that fell silent may go on for so long",
                left().as_secs_f64()
            ));
        }
        while !left().is_zero() {
            pause(LOOK_EVERY.min(left()))?;
        }
        self.silent_until = None;
        Ok(())
    }

    /// Deals a load out to the drivers, as many as have a connection each, and has them begin at
    /// the same moment.
    ///
    /// # Errors
    /// A breakdown if one of them cannot connect to the servers; the name of who it was is in it.
    pub fn start(&mut self, job: &Job) -> Result<f64> {
        let jobs = split(job, self.patience.drivers);
        self.at_work = (0..jobs.len()).collect();
        let mut jobs = jobs.into_iter();
        let start = |_: &Offset| jobs.next().map(|job| Command::Start(Box::new(job)));
        let connected = self.ask(start, START_LIMIT, |reply| match reply {
            Reply::Started { connected_s } => Some(connected_s),
            _ => None,
        })?;
        let (at_ns, lead) = self.moment();
        let begin = |offset: &Offset| {
            let at_ns = offset.theirs(at_ns);
            Some(Command::Begin { at_ns })
        };
        let begun = self.ask(begin, lead + MARK_LIMIT, |reply| match reply {
            Reply::Begun { late_s } => Some(late_s),
            _ => None,
        })?;
        for (index, late_s) in begun {
            self.note_late(index, late_s, "began");
        }
        self.marked = Instant::now();
        self.seconds = Seconds::default();
        self.unique_next = has_unique_numbers(&job.workload).then_some(job.unique_from);
        let connected = connected.into_iter().map(|(_, seconds)| seconds);
        Ok(connected.fold(0.0, f64::max))
    }

    /// Everything since the last mark, of those that are here; all windows end at the same moment.
    ///
    /// # Errors
    /// A breakdown if an answer is damaged; an interruption if the user asks to stop.
    pub fn mark(&mut self) -> Result<Snapshot> {
        let (at_ns, lead) = self.moment();
        let mark = |offset: &Offset| {
            let at_ns = offset.theirs(at_ns);
            Some(Command::MarkAt { at_ns })
        };
        self.snapshot(mark, lead + MARK_LIMIT)
    }

    /// Ends the load; everything since the last mark.
    ///
    /// # Errors
    /// As [`Joined::mark`].
    pub fn stop(&mut self) -> Result<Snapshot> {
        let last = self.snapshot(|_| Some(Command::Stop), STOP_LIMIT);
        let at_work = std::mem::take(&mut self.at_work);
        let mut last = last?;
        let is_lost = |index: usize| self.places[index].remote.is_none();
        if let Some(next) = self.unique_next
            && at_work.into_iter().any(is_lost)
        {
            last.unique_next = next.saturating_add(UNKNOWN_NUMBERS);
        }
        Ok(last)
    }

    fn snapshot(
        &mut self,
        command: impl FnMut(&Offset) -> Option<Command>,
        limit: Duration,
    ) -> Result<Snapshot> {
        let mut told = self.ask(command, limit, |reply| match reply {
            Reply::Snapshot(snapshot) => Some(*snapshot),
            _ => None,
        })?;
        for (index, snapshot) in &told {
            self.places[*index].cpu_us = snapshot.cpu_us;
            let next = &mut self.unique_next;
            *next = next.map(|next| next.max(snapshot.unique_next));
            self.note_late(*index, snapshot.late_s, "ended its window");
        }
        self.seconds.even_out(&mut told);
        let window_s = self.marked.elapsed().as_secs_f64();
        self.marked = Instant::now();
        if told.is_empty() {
            // A window without anybody is as long as it was.
            return Ok(Snapshot {
                window_s,
                ..Snapshot::default()
            });
        }
        merge(told.into_iter().map(|(_, snapshot)| snapshot).collect())
    }

    fn note_late(&mut self, index: usize, late_s: f64, what: &str) {
        if late_s <= LATE_S {
            return;
        }
        if let Some(remote) = &self.places[index].remote {
            let late = format!("{}: it {what} {late_s:.3} s late", remote.name);
            self.missing.push(late);
        }
    }

    /// A moment by our clock that all can keep, and how far off it is.
    fn moment(&self) -> (u64, Duration) {
        let uncertain = self.places.iter().map(|place| place.offset.uncertain_ns);
        let round_trip = Duration::from_nanos(2 * uncertain.max().unwrap_or(0));
        let lead = LEAD + LEAD_OF_EACH * self.patience.drivers + round_trip * LEAD_ROUND_TRIPS;
        let lead_ns = u64::try_from(lead.as_nanos()).unwrap_or(u64::MAX);
        (self.clock.now_ns().saturating_add(lead_ns), lead)
    }

    /// Asks all that are at work, then takes what each answers. Whoever does not is lost.
    fn ask<T>(
        &mut self,
        mut command: impl FnMut(&Offset) -> Option<Command>,
        limit: Duration,
        of: impl Fn(Reply) -> Option<T>,
    ) -> Result<Vec<(usize, T)>> {
        for index in self.at_work.clone() {
            let place = &mut self.places[index];
            // Also for one that is gone: each job is one driver's.
            let command = command(&place.offset);
            if let (Some(remote), Some(command)) = (&mut place.remote, command)
                && let Err(lost) = remote.send(&command)
            {
                self.lose(index, lost);
            }
        }
        let asked = (Instant::now(), limit);
        let (mut answers, mut failure) = (Vec::new(), None);
        for index in self.at_work.clone() {
            let Some(remote) = &mut self.places[index].remote else {
                continue;
            };
            match remote.receive(asked)? {
                Ok(Reply::Failed { tried, status }) => {
                    // Others have answered too: none of it may be left for the next question.
                    let failed = || breakdown(format!("{tried} ({})", remote.name), status);
                    failure.get_or_insert_with(failed);
                }
                Ok(reply) => match of(reply) {
                    Some(answer) => answers.push((index, answer)),
                    None => self.lose(index, other_question()),
                },
                Err(lost) => self.lose(index, lost),
            }
        }
        failure.map_or(Ok(answers), Err)
    }

    /// Who was lost or late since the load began; told once.
    pub fn take_missing(&mut self) -> Vec<String> {
        std::mem::take(&mut self.missing)
    }

    /// CPU time of each driver, in µs, as it was at the last mark.
    pub fn cpu_us(&self) -> Vec<f64> {
        self.places.iter().map(|place| place.cpu_us).collect()
    }

    /// Where they are, and what is known of their clocks: a sentence.
    pub fn told(&self) -> String {
        let remotes = self.places.iter().filter_map(|place| place.remote.as_ref());
        let hosts: BTreeSet<&str> = remotes.map(|remote| &remote.host[..]).collect();
        let ms = |ns: u64| ns as f64 / 1e6;
        let most = |of: fn(&Offset) -> u64| {
            let all = self.places.iter().map(|place| of(&place.offset));
            ms(all.max().unwrap_or(0))
        };
        let hosts = match hosts.len() {
            1 => "one host".to_owned(),
            many => format!("{many} hosts"),
        };
        format!(
            "The load came from {} drivers that had joined, on {hosts}; their clocks were at most \
             {:.3} ms off this host's, known to within {:.3} ms.",
            self.patience.drivers,
            most(|offset| offset.ahead_ns.unsigned_abs()),
            most(|offset| offset.uncertain_ns)
        )
    }
}

impl Drop for Joined {
    /// Those that are here have done their work. Whoever was lost is told nothing: it ends as if
    /// cut off, so that a scheduler starts it again.
    fn drop(&mut self) {
        let remotes = self
            .places
            .iter_mut()
            .filter_map(|place| place.remote.as_mut());
        remotes.for_each(Remote::end);
    }
}

fn other_question() -> Lost {
    Lost::told("it answered another question")
}

/// Asks a driver several times what time it is.
fn exchanges(
    remote: &mut Remote,
    clock: &Clock,
) -> Result<std::result::Result<Vec<Exchange>, Lost>> {
    let mut all = Vec::new();
    for _ in 0..EXCHANGES {
        let (asked, sent_ns) = (Instant::now(), clock.now_ns());
        if let Err(lost) = remote.send(&Command::Clock) {
            return Ok(Err(lost));
        }
        match remote.receive((asked, CLOCK_LIMIT))? {
            Ok(Reply::Clock {
                heard_ns,
                answered_ns,
            }) => all.push(Exchange {
                sent_ns,
                heard_ns,
                answered_ns,
                received_ns: clock.now_ns(),
            }),
            Ok(_) => return Ok(Err(other_question())),
            Err(lost) => return Ok(Err(lost)),
        }
    }
    Ok(Ok(all))
}
