//! CPUs that were slower than the host gives them.

use super::interval::median;
use crate::record::Measurement;
use crate::study::CpuSpeed;

/// How slow they were, part by part: medians over rounds; `None` where none was to be slower.
pub fn got(measurements: &[&Measurement]) -> Option<CpuSpeed> {
    let of = |pick: fn(&CpuSpeed) -> f64| {
        let speeds = measurements.iter().filter_map(|m| m.cpu_speed);
        let speeds: Vec<f64> = speeds.map(|speed| pick(&speed.got)).collect();
        median(&speeds)
    };
    Some(CpuSpeed {
        writer: of(|speed| speed.writer)?,
        replicas: of(|speed| speed.replicas)?,
        rest: of(|speed| speed.rest)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SpeedGot;

    #[test]
    fn the_middle_round_tells_how_slow_each_part_was() {
        let round = |writer| Measurement {
            cpu_speed: Some(SpeedGot {
                got: CpuSpeed {
                    writer,
                    ..CpuSpeed::default()
                },
                ..SpeedGot::default()
            }),
            ..Measurement::default()
        };
        let rounds = [round(0.79), round(0.81), round(0.8)];
        let found = got(&rounds.iter().collect::<Vec<_>>());
        assert_eq!(found.map(|speed| speed.parts()), Some([0.8, 1.0, 1.0]));
        assert_eq!(got(&[&Measurement::default()]), None);
    }
}
