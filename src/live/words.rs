//! Events as people read them.

use std::time::Duration;

use crate::plan::Cell;
use crate::run::{Event, Step};

/// What an event is worth in a line of its own, if it is.
pub fn line(event: &Event) -> Option<String> {
    let seconds = |after: &Duration| format!("{:.1} s", after.as_secs_f64());
    Some(match event {
        Event::Words { text, .. } => text.clone(),
        Event::LabStarting { lab, nodes } => format!("starting {lab} ({nodes} nodes)"),
        Event::LabReady { lab, after } => format!("{lab} ready in {}", seconds(after)),
        Event::Connecting { label } => format!("connecting to {label}"),
        Event::EndpointReady {
            label,
            after,
            database,
        } => format!(
            "{label} ready in {}, in its database {database}",
            seconds(after)
        ),
        Event::LoadingTables => "loading tables".to_owned(),
        Event::Advice(text) => format!("advice: {text}"),
        _ => return None,
    })
}

/// `round 2/4  mysql async, 4 conn., 2 ms`
pub fn step_line(step: &Step) -> String {
    match step {
        Step::Cell {
            round,
            rounds,
            label,
            cell,
            ..
        } => {
            let (load, distances) = (load(cell), &cell.distances.label);
            format!("round {round}/{rounds}  {label}, {load}, {distances}")
        }
        Step::Fault {
            label,
            fault,
            number,
            of,
        } => format!("{label}: {fault} {number}/{of}"),
    }
}

/// `4 conn., 500/s`
pub fn load(cell: &Cell) -> String {
    let rate = cell.rate_per_s.map(|rate| format!(", {rate}/s"));
    let pace = cell.pace.map(|_| ", paced".to_owned());
    let more = rate.or(pace).unwrap_or_default();
    format!("{} conn.{more}", cell.connections)
}

/// `12 min 34 s`
pub fn minutes_and_seconds(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {} s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_minutes() {
        let shown = [59, 60, 754].map(|s| minutes_and_seconds(Duration::from_secs(s)));
        assert_eq!(shown, ["59 s", "1 min 0 s", "12 min 34 s"]);
    }
}
