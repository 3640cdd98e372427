//! Whether a change of links can be seen: by echoes over them, and by what the switch counts.
//!
//! An echo goes out the way that was changed, and comes back another: so each direction is probed
//! from where it begins.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::error::{Result, breakdown};
use crate::lab::netns::Netns;

use super::change::Change;
use super::handle::Switch;
use super::probe::Probe;
use super::{LinkSetting, PairCounters, SwitchCounters};

/// Sent into each way that was cut.
const CUT_ECHOES: u16 = 3;
/// An echo that takes so much longer than its distance is taken for unanswered.
const ANSWER_MARGIN: Duration = Duration::from_millis(200);
/// Sent at a time into each way that loses packets, until one was lost; and for how long at most.
const LOSS_ECHOES: u16 = 20;
const LOSS_LIMIT: Duration = Duration::from_secs(5);
const LOSS_INTERVAL: Duration = Duration::from_millis(2);
/// Sent into each way that was made slower; the fastest tells. A clock is read before and after:
/// an echo seems that much too fast at most, besides the switch's floor.
const SLOW_ECHOES: usize = 3;
const SLOW_INTERVAL: Duration = Duration::from_millis(1);
const EARLIER_US_MAX: f64 = 30.0;
/// An echo over a link that is whole again may take so much longer than its distance: what had
/// waited for that link goes first.
const WHOLE_MARGIN: Duration = Duration::from_secs(3);
/// So many are tried at most; one that is answered is enough.
const WHOLE_ECHOES: usize = 3;
/// Loss that is left would take one of the echoes in all but so many cases, which are at most so
/// many echoes.
const LOSS_UNSEEN_SHARE: f64 = 0.01;
const UNLOST_ECHOES_MAX: f64 = 500.0;

/// One direction of a link, and where it begins.
#[derive(Debug, Clone, Copy)]
pub struct Way<'n> {
    /// Named as the switch names the node.
    pub from: &'n Netns,
    pub to: &'n str,
    pub address: Ipv4Addr,
}

/// Where a way begins and ends, by name.
type Ends = (String, String);

/// What was seen of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSeen {
    /// Whether every way shows it.
    pub bite: bool,
    /// What was looked at, and what it said; one line.
    pub seen: String,
}

/// Looks for a change on all ways that it has befallen, while traffic goes on as it likes.
///
/// # Errors
/// A breakdown if the switch has died, if no echo can be sent, or if there is no way at all.
pub fn see(switch: &Switch, change: Change, ways: &[Way<'_>]) -> Result<LinkSeen> {
    match change {
        Change::Cut => CutEchoes::send(switch, ways)?.see(switch),
        Change::Lose(_) => see_loss(switch, ways),
        Change::Slower(by) => see_delay(switch, by, ways),
    }
}

/// Echoes into ways that were cut. They are sent at once, so that what takes a while can be done
/// before their answers are looked for.
#[derive(Debug)]
pub struct CutEchoes {
    before: SwitchCounters,
    /// What sent them, of each way,
    probes: Vec<Probe>,
    /// and the names of its two ends.
    ends: Vec<Ends>,
    /// An answer would have come by then.
    until: Instant,
}

impl CutEchoes {
    /// # Errors
    /// A breakdown if the switch has died, if no echo can be sent, or if there is no way at all.
    pub fn send(switch: &Switch, ways: &[Way<'_>]) -> Result<CutEchoes> {
        let before = switch.counters()?;
        let probes = probes(ways)?;
        for (probe, way) in probes.iter().zip(ways) {
            probe.send(way.address, CUT_ECHOES)?;
        }
        let farthest = ways.iter().map(|way| rtt_asked(switch, way)).max();
        Ok(CutEchoes {
            before,
            probes,
            ends: ends(ways),
            until: Instant::now() + farthest.unwrap_or_default() + ANSWER_MARGIN,
        })
    }

    /// Waits until answers would have come. None has, and the switch has dropped at least those.
    ///
    /// # Errors
    /// A breakdown if the switch has died, or if nothing can be received.
    pub fn see(self, switch: &Switch) -> Result<LinkSeen> {
        let answers = |probe: &Probe| probe.answers(CUT_ECHOES, self.until);
        let answers: Vec<usize> = self.probes.iter().map(answers).collect::<Result<_>>()?;
        let counted = counted(&switch.counters()?.since(&self.before), &self.ends);
        let is_seen = |(answered, pair): (&usize, &PairCounters)| {
            *answered == 0 && pair.dropped_by_cut >= u64::from(CUT_ECHOES)
        };
        let sent = self.ends.len() * usize::from(CUT_ECHOES);
        let answered: usize = answers.iter().sum();
        let dropped: u64 = counted.iter().map(|pair| pair.dropped_by_cut).sum();
        let what =
            format!("{answered} of {sent} echoes answered, {dropped} packets dropped at cuts");
        let are_seen = answers.iter().zip(&counted).map(is_seen);
        Ok(told(&self.ends, are_seen, what))
    }
}

/// The switch has lost packets, of these echoes or of others.
fn see_loss(switch: &Switch, ways: &[Way<'_>]) -> Result<LinkSeen> {
    let before = switch.counters()?;
    let probes = probes(ways)?;
    let ends = ends(ways);
    let until = Instant::now() + LOSS_LIMIT;
    let has_lost = |pair: &PairCounters| pair.dropped_by_loss > 0;
    let counted = loop {
        for (probe, way) in probes.iter().zip(ways) {
            probe.send(way.address, LOSS_ECHOES)?;
        }
        std::thread::sleep(LOSS_INTERVAL);
        let counted = counted(&switch.counters()?.since(&before), &ends);
        if counted.iter().all(has_lost) || Instant::now() > until {
            break counted;
        }
    };
    let lost: u64 = counted.iter().map(|pair| pair.dropped_by_loss).sum();
    let passed: u64 = counted.iter().map(|pair| pair.packets).sum();
    let what = format!("{lost} of {} packets lost", lost + passed);
    Ok(told(&ends, counted.iter().map(has_lost), what))
}

/// No echo comes back sooner than the way there and the way back take now. Less than some 0.2 ms
/// cannot be told from nothing so.
fn see_delay(switch: &Switch, by: Duration, ways: &[Way<'_>]) -> Result<LinkSeen> {
    let early_us_max = EARLIER_US_MAX + switch.floor().as_secs_f64() * 1e6;
    let mut are_slow = Vec::new();
    let mut words = Vec::new();
    for (probe, way) in probes(ways)?.iter().zip(ways) {
        let asked_us = rtt_asked(switch, way).as_secs_f64() * 1e6;
        // One that is lost or cut besides shows no delay.
        let rtts_us = probe.rtts_us(way.address, SLOW_ECHOES, SLOW_INTERVAL);
        let fastest_us = rtts_us.unwrap_or_default().into_iter().reduce(f64::min);
        let is_asked = switch.setting(way.from.name(), way.to).one_way_delay >= by;
        let is_slow = fastest_us.is_some_and(|us| us >= asked_us - early_us_max);
        are_slow.push(is_asked && is_slow);
        words.push(match fastest_us {
            Some(us) => format!("{:.2} ms of {:.2} ms asked", us / 1e3, asked_us / 1e3),
            None => "no echo".to_owned(),
        });
    }
    let what = format!("fastest echoes: {}", words.join(", "));
    let ends = ends(ways);
    Ok(told(&ends, are_slow.into_iter(), what))
}

/// Whether one way is as before a change that was undone, its settings those of now. An echo is
/// answered; where the way was slower, sooner than it would be if it still were; where it lost
/// packets, none is lost that would be. Of a way that loses packets at any time, or whose delay
/// swings by as much, that is not asked.
///
/// `there` and `back` are what the way is to be, and the way back.
///
/// # Errors
/// A breakdown if the switch has died, or if no echo can be sent.
pub fn is_undone(
    switch: &Switch,
    change: Change,
    way: &Way<'_>,
    (there, back): (LinkSetting, LinkSetting),
) -> Result<bool> {
    let probe = Probe::new(way.from, way.from.name())?;
    let rtt = there.one_way_delay + back.one_way_delay;
    let within = rtt + WHOLE_MARGIN;
    let mut is_answered = false;
    for _ in 0..WHOLE_ECHOES {
        is_answered = is_answered || probe.is_answered(way.address, within)?;
    }
    let loses = there.loss > 0.0 || back.loss > 0.0;
    match change {
        Change::Slower(by) if is_answered && there.jitter + back.jitter < by => {
            let early_us_max = EARLIER_US_MAX + switch.floor().as_secs_f64() * 1e6;
            let slow_us = (rtt + by).as_secs_f64() * 1e6 - early_us_max;
            // By the kernel's stamps: whoever waits for an echo hears late ones, too.
            let rtts_us = probe.rtts_us(way.address, WHOLE_ECHOES, SLOW_INTERVAL);
            Ok(rtts_us.unwrap_or_default().iter().any(|us| *us < slow_us))
        }
        Change::Lose(share) if is_answered && !loses => {
            let count = unlost_echoes(share);
            let before = switch.counters()?;
            probe.send(way.address, count)?;
            probe.answers(count, Instant::now() + within)?;
            let since = switch.counters()?.since(&before);
            let pair = since.pair(way.from.name(), way.to);
            Ok(pair.is_some_and(|pair| pair.dropped_by_loss == 0))
        }
        _ => Ok(is_answered),
    }
}

/// Of so many echoes a link that loses this share hardly ever delivers all.
fn unlost_echoes(share: f64) -> u16 {
    let count = LOSS_UNSEEN_SHARE.ln() / (1.0 - share).ln();
    count.ceil().clamp(1.0, UNLOST_ECHOES_MAX) as u16
}

/// One for each way, of which there must be one.
fn probes(ways: &[Way<'_>]) -> Result<Vec<Probe>> {
    if ways.is_empty() {
        return Err(breakdown(
            "see whether links are changed",
            "there is no way",
        ));
    }
    let probe = |way: &Way<'_>| Probe::new(way.from, way.from.name());
    ways.iter().map(probe).collect()
}

/// Both ways, as they are set now.
fn rtt_asked(switch: &Switch, way: &Way<'_>) -> Duration {
    let (from, to) = (way.from.name(), way.to);
    switch.setting(from, to).one_way_delay + switch.setting(to, from).one_way_delay
}

fn ends(ways: &[Way<'_>]) -> Vec<Ends> {
    let of = |way: &Way<'_>| (way.from.name().to_owned(), way.to.to_owned());
    ways.iter().map(of).collect()
}

/// Of each way, by its ends; nothing of one that the switch does not have.
fn counted(counters: &SwitchCounters, ways: &[Ends]) -> Vec<PairCounters> {
    let of = |(from, to): &Ends| counters.pair(from, to).cloned();
    ways.iter().map(|way| of(way).unwrap_or_default()).collect()
}

fn told(ways: &[Ends], are_seen: impl Iterator<Item = bool>, what: String) -> LinkSeen {
    let unseen = ways.iter().zip(are_seen).find(|(_, is_seen)| !is_seen);
    sentence(ways.len(), unseen.map(|(way, _)| way), &what)
}

fn sentence(ways: usize, unseen: Option<&Ends>, what: &str) -> LinkSeen {
    let plural = if ways == 1 { "" } else { "s" };
    let but = match unseen {
        Some((from, to)) => format!("; not seen from {from} to {to}"),
        None => String::new(),
    };
    LinkSeen {
        bite: unseen.is_none(),
        seen: format!("{ways} way{plural}: {what}{but}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_that_does_not_show_it_is_told() {
        let all = sentence(1, None, "3 of 7 packets lost");
        assert!(all.bite);
        assert_eq!(all.seen, "1 way: 3 of 7 packets lost");
        let unseen = ("a.1".to_owned(), "a.2".to_owned());
        let not_all = sentence(6, Some(&unseen), "3 of 7 packets lost");
        assert!(!not_all.bite);
        let words = "6 ways: 3 of 7 packets lost; not seen from a.1 to a.2";
        assert_eq!(not_all.seen, words);
    }

    #[test]
    fn loss_that_is_left_is_seen_by_as_many_echoes_as_it_takes() {
        let echoes = [0.05, 0.5, 1.0, 0.001].map(unlost_echoes);
        assert_eq!(echoes, [90, 7, 1, 500]);
    }
}
