//! Quantities as people write them: `2.15ms`, `25Mbit/s`, `0.5%`.

use std::time::Duration;

/// Units of time, longest name first so that `ms` is not taken for `s`.
const TIME_UNITS: [(&str, f64); 8] = [
    ("min", 60e9),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("ns", 1.0),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3_600e9),
];

/// Units of rate in bits per second.
const RATE_UNITS: [(&str, f64); 8] = [
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
    ("bit/s", 1.0),
    ("B/s", 8.0),
];

/// Units of size.
const SIZE_UNITS: [(&str, f64); 7] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("B", 1.0),
];

/// A span of time in nanoseconds, negative ones included so that a caller can name its range;
/// `None` if `text` is not a number with a unit of time (`ns us ms s m min h`).
pub fn nanoseconds(text: &str) -> Option<f64> {
    quantity(text, &TIME_UNITS)
}

/// A span of time such as `2.15ms`, `0.5s` or `3m`; `None` if it is not one, or is negative.
pub fn duration(text: &str) -> Option<Duration> {
    let nanos = nanoseconds(text)?;
    (0.0..1e18)
        .contains(&nanos)
        .then(|| from_nanoseconds(nanos))
}

/// A span of time of so many nanoseconds, to the nearest.
pub fn from_nanoseconds(nanos: f64) -> Duration {
    Duration::from_nanos(nanos.round() as u64)
}

/// A rate in bits per second: `25Mbit/s`, `150MB/s`; `None` if it is not one.
pub fn bits_per_s(text: &str) -> Option<f64> {
    quantity(text, &RATE_UNITS)
}

/// A size in bytes: `512MB`, `1GiB`; `None` if it is not one.
pub fn bytes(text: &str) -> Option<f64> {
    quantity(text, &SIZE_UNITS)
}

/// A number of bytes as tables print it: `150 MB`.
pub fn show_bytes(bytes: u64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
    let bytes = bytes as f64;
    let fits = |(size, _): &&(f64, &str)| bytes >= *size;
    let (size, unit) = units.iter().find(fits).unwrap_or(&(1.0, "B"));
    format!("{} {unit}", (bytes / size * 1e3).round() / 1e3)
}

/// A share from 0 to 1 written as per cent (`0.5%`); `None` if it is not one.
pub fn percent(text: &str) -> Option<f64> {
    quantity(text, &[("%", 0.01)])
}

/// A share as per cent, as command lines and tables have it: `0.5%`.
pub fn show_percent(share: f64) -> String {
    format!("{}%", (share * 1e5).round() / 1e3)
}

/// A span of time as tables print it: `2.15 ms`, `250 µs`, `10 s`, `3 min`.
pub fn show(span: Duration) -> String {
    let (number, unit) = in_natural_unit(span);
    format!("{number} {unit}")
}

/// A span of time without a space and in ASCII, as studies write it: `2.15ms`, `250us`.
pub fn show_compact(span: Duration) -> String {
    let (number, unit) = in_natural_unit(span);
    format!("{number}{}", unit.replace('µ', "u"))
}

/// Milliseconds down to 0.1 ms: that is how round-trip times are spoken of.
fn in_natural_unit(span: Duration) -> (f64, &'static str) {
    let nanos = span.as_nanos() as f64;
    match span.as_nanos() {
        0 => (0.0, "ms"),
        1..1_000 => (nanos, "ns"),
        1_000..100_000 => (nanos / 1e3, "µs"),
        100_000..1_000_000_000 => (nanos / 1e6, "ms"),
        whole if whole % 3_600_000_000_000 == 0 => (nanos / 3_600e9, "h"),
        whole if whole % 60_000_000_000 == 0 => (nanos / 60e9, "min"),
        _ => (nanos / 1e9, "s"),
    }
}

fn quantity(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let (unit, factor) = units.iter().find(|(unit, _)| text.ends_with(unit))?;
    let number = text.strip_suffix(unit)?.trim_end();
    // `inf`, `nan` and `1e3` are numbers to Rust, but nobody means them here.
    if !number
        .chars()
        .all(|c| c.is_ascii_digit() || "+-.".contains(c))
    {
        return None;
    }
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_in_every_unit() {
        assert_eq!(duration("2.15ms"), Some(Duration::from_micros(2150)));
        assert_eq!(duration("250us"), Some(Duration::from_micros(250)));
        assert_eq!(duration("250 µs"), Some(Duration::from_micros(250)));
        assert_eq!(duration("1s"), Some(Duration::from_secs(1)));
        assert_eq!(duration("3m"), Some(Duration::from_secs(180)));
        assert_eq!(duration("3min"), Some(Duration::from_secs(180)));
        assert_eq!(duration("1h"), Some(Duration::from_secs(3600)));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "", "1", "s", "ms", "1.2.3s", "infs", "1e3s", "-1ms", "1 parsec", "1M",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
        assert_eq!(nanoseconds("-1ms"), Some(-1e6));
    }

    #[test]
    fn rates_and_shares_are_read() {
        assert_eq!(bits_per_s("25Mbit/s"), Some(25e6));
        assert_eq!(bits_per_s("150MB/s"), Some(1200e6));
        assert_eq!(bits_per_s("8kB/s"), Some(64e3));
        assert_eq!(bits_per_s("25mbit/s"), None);
        assert_eq!(percent("0.5%"), Some(0.005));
        assert_eq!(percent("0.5"), None);
    }

    #[test]
    fn sizes_are_read_and_shown() {
        assert_eq!(bytes("512MB"), Some(512e6));
        assert_eq!(bytes("1 GiB"), Some(1_073_741_824.0));
        assert_eq!(bytes("1kB"), Some(1e3));
        assert_eq!((bytes("1gb"), bytes("7")), (None, None));
        let shown = [0, 999, 1_500, 150_000_000, 1_073_741_824].map(show_bytes);
        assert_eq!(shown, ["0 B", "999 B", "1.5 kB", "150 MB", "1.074 GB"]);
    }

    #[test]
    fn times_are_shown_as_people_say_them() {
        let shown = [
            "0.25ms", "2.15ms", "75us", "8ms", "1s", "1.5s", "90s", "3m", "2h", "0s",
        ]
        .map(|text| show(duration(text).unwrap()));
        assert_eq!(
            shown,
            [
                "0.25 ms", "2.15 ms", "75 µs", "8 ms", "1 s", "1.5 s", "90 s", "3 min", "2 h",
                "0 ms"
            ]
        );
        assert_eq!(show_compact(Duration::from_micros(75)), "75us");
    }

    proptest! {
        #[test]
        fn compact_form_reads_back(micros in 0u64..10_000_000_000) {
            let span = Duration::from_micros(micros);
            prop_assert_eq!(duration(&show_compact(span)), Some(span));
        }
    }
}
