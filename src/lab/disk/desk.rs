//! Where the threads of a volume meet: those that take requests, the one that answers when a
//! request's time has come, and those that hear from other copies.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};

use super::copies::Link;
use super::copies::promote::Survey;
use super::copies::transport::{Event, Running};
use super::engine::{Answer, Engine, Request};
use super::punctual;
use super::replica::Lead;
use crate::lab::link::pace::{Pace as Alarm, Step};
use crate::lab::link::realtime::now_ns;

/// How a request is answered.
pub enum Reply {
    Data(ReplyData),
    Written(ReplyWrite),
    Done(ReplyEmpty),
}

/// The engine and its lock. It outlives the file that is served: after a power cut another file
/// shows what is left.
pub struct Desk {
    engine: Mutex<Engine<Reply>>,
    /// Told when something is due sooner than all else.
    sooner: Condvar,
    calls: Mutex<Calls>,
}

/// Calls to peers, for as long as the volume leads.
#[derive(Default)]
struct Calls {
    /// How often it has led: what comes from calls made before means nothing any more.
    reigns: u64,
    running: Vec<Running>,
}

impl Desk {
    /// Nobody answers what is due until somebody calls [`Desk::answer_for_ever`].
    pub fn new(engine: Engine<Reply>) -> Desk {
        Desk {
            engine: Mutex::new(engine),
            sooner: Condvar::new(),
            calls: Mutex::default(),
        }
    }

    /// The engine, for as long as the guard lives.
    pub fn lock(&self) -> MutexGuard<'_, Engine<Reply>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a request, and answers it if nothing makes it wait.
    pub fn take(&self, request: Request, reply: Reply) {
        self.with(|engine| ((), engine.submit(now(), request, reply)));
    }

    /// The power fails, and nobody is told: see [`Engine::halt`]. Copies hear and say nothing.
    pub fn halt(&self) {
        self.with(|engine| {
            engine.halt();
            ((), Vec::new())
        });
        self.end_calls();
    }

    /// The power fails: see [`Engine::freeze`].
    pub fn freeze(&self) {
        self.with(|engine| ((), engine.freeze()));
        self.end_calls();
    }

    /// Stalls: see [`Engine::stall`].
    ///
    /// # Errors
    /// As there.
    pub fn stall(&self) -> Result<(), String> {
        self.with(|engine| (engine.stall(now()), Vec::new()))
    }

    /// Goes on: see [`Engine::go_on`].
    pub fn go_on(&self) {
        self.with(|engine| ((), engine.go_on(now())));
    }

    /// Fails from now on: see [`Engine::fail_requests`].
    pub fn fail_requests(&self) {
        self.with(|engine| ((), engine.fail_requests()));
        self.end_calls();
    }

    /// The disk is gone: see [`Engine::destroy`].
    pub fn destroy(&self) {
        self.with(|engine| ((), engine.destroy()));
        self.end_calls();
    }

    /// Leads: see [`Engine::lead`]. Peers are to be called by [`Desk::call`].
    ///
    /// # Errors
    /// As there.
    pub fn lead(&self, lead: &Lead) -> Result<(), String> {
        self.end_calls();
        self.with(|engine| match engine.lead(now(), lead) {
            Ok(answers) => (Ok(()), answers),
            Err(reason) => (Err(reason), Vec::new()),
        })
    }

    /// Has peers called for as long as it leads; `dial` is given the number of the reign, with
    /// which [`Desk::heard_from_peer`] wants to be told.
    pub fn call(&self, dial: impl FnOnce(u64) -> Vec<Running>) {
        let mut calls = self.calls();
        calls.running = dial(calls.reigns);
    }

    /// Promises: see [`Engine::promise`].
    ///
    /// # Errors
    /// As there.
    pub fn promise(&self, generation: u64) -> Result<Survey, String> {
        let promised = self.with(|engine| match engine.promise(now(), generation) {
            Ok((survey, answers)) => (Ok(survey), answers),
            Err(reason) => (Err(reason), Vec::new()),
        });
        self.end_calls_of_no_head();
        promised
    }

    /// Something happened on a connection that this volume has called for in that reign.
    pub fn heard_from_peer(&self, reign: u64, event: Event) {
        if self.calls().reigns == reign {
            self.heard(event);
        } else if let Event::Connected { sender, .. } = event {
            sender.hang_up();
        }
    }

    /// Something happened on a connection.
    pub fn heard(&self, event: Event) {
        match event {
            Event::Connected { link, sender } => {
                punctual::take_priority();
                self.with(|engine| ((), engine.connected(now(), link, Box::new(sender))));
            }
            Event::Heard { link, message } => {
                self.with(|engine| ((), engine.heard(now(), link, message)));
            }
            Event::Lost { link, .. } => self.lost(link),
        }
    }

    /// Whoever leads no more has its connections hung up: here it is seen that they need not be
    /// made again.
    fn lost(&self, link: Link) {
        self.with(|engine| ((), engine.lost(now(), link)));
        self.end_calls_of_no_head();
    }

    fn end_calls_of_no_head(&self) {
        if !self.lock().leads() {
            self.end_calls();
        }
    }

    fn end_calls(&self) {
        let mut calls = self.calls();
        calls.reigns += 1;
        calls.running.clear();
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the engine, and answers what that makes due.
    fn with<T>(&self, act: impl FnOnce(&mut Engine<Reply>) -> (T, Vec<(Reply, Answer)>)) -> T {
        let mut engine = self.lock();
        let due_before = engine.next_due();
        let (result, answers) = act(&mut engine);
        let is_sooner = engine.next_due() != due_before;
        drop(engine);
        if is_sooner {
            self.sooner.notify_one();
        }
        send_all(answers);
        result
    }

    /// Answers whatever is due, when it is due. To be called on one thread, a punctual one.
    ///
    /// It never spins: a disk that has a delay is slower by far than a wake-up, and every node has
    /// one. It aims instead, as the link switch does: it asks to be woken as much earlier as it is
    /// woken late on the average.
    pub fn answer_for_ever(&self) -> ! {
        let mut alarm = Alarm::new(now_ns());
        let mut engine = self.lock();
        loop {
            let now_ns = now_ns();
            let due = engine.next_due();
            let step = due.map(|due| (due, alarm.step(now_ns, due.as_nanos() as u64)));
            engine = match step {
                None => wait(&self.sooner, engine),
                Some((due, Step::Release)) => self.release(engine, due),
                Some((_, Step::SleepUntil(wake_ns))) => {
                    let (engine, is_over) = wait_at_most(&self.sooner, engine, wake_ns - now_ns);
                    if is_over {
                        alarm.woke_late(self::now_ns().saturating_sub(wake_ns));
                    }
                    engine
                }
                Some((_, Step::Spin)) => engine,
            };
        }
    }

    /// Sends what is due by then; the lock is free meanwhile.
    fn release<'d>(
        &'d self,
        mut engine: MutexGuard<'d, Engine<Reply>>,
        due: Duration,
    ) -> MutexGuard<'d, Engine<Reply>> {
        let now = now();
        let answers = engine.release(due.max(now), now);
        drop(engine);
        send_all(answers);
        self.lock()
    }
}

fn wait<'d, T>(condition: &Condvar, guard: MutexGuard<'d, T>) -> MutexGuard<'d, T> {
    condition
        .wait(guard)
        .unwrap_or_else(PoisonError::into_inner)
}

/// Whether the time was over comes with it.
fn wait_at_most<'d, T>(
    condition: &Condvar,
    guard: MutexGuard<'d, T>,
    at_most_ns: u64,
) -> (MutexGuard<'d, T>, bool) {
    let waited = condition.wait_timeout(guard, Duration::from_nanos(at_most_ns));
    let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
    (guard, timeout.timed_out())
}

fn send_all(answers: Vec<(Reply, Answer)>) {
    for (reply, answer) in answers {
        send(reply, answer);
    }
}

/// Who asked may be gone by now: that is no error of ours.
fn send(reply: Reply, answer: Answer) {
    match (reply, answer) {
        (Reply::Data(reply), Answer::Data(data)) => reply.data(&data),
        (Reply::Written(reply), Answer::Written(bytes)) => reply.written(bytes),
        (Reply::Done(reply), Answer::Flushed) => reply.ok(),
        (Reply::Data(reply), _) => reply.error(Errno::EIO),
        (Reply::Written(reply), _) => reply.error(Errno::EIO),
        (Reply::Done(reply), _) => reply.error(Errno::EIO),
    }
}

/// Time of the monotonic clock.
pub fn now() -> Duration {
    Duration::from_nanos(now_ns())
}
