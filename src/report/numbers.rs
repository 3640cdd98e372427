//! Figures as people read them: three digits, a unit, an interval beside what is compared.

use crate::analysis::interval::Estimate;
use crate::analysis::summary::Value;

/// Stands where there is no figure.
pub const NOTHING: &str = "–";

/// Three significant digits, never fewer than the whole part, never more than `most` decimals.
pub fn digits(value: f64, most: usize) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ => 2,
    };
    without_minus_zero(format!("{value:.*}", decimals.min(most)))
}

/// "-0.00" says no more than "0.00".
fn without_minus_zero(text: String) -> String {
    let is_zero = text.chars().all(|c| "-0.".contains(c));
    if is_zero {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    }
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fits = |(size, _): &&(f64, &str)| value.abs() >= *size * 0.9995;
    let (size, unit) = units.iter().find(fits).unwrap_or(&units[units.len() - 1]);
    format!("{} {unit}", digits(value / size, 2))
}

/// A time in µs, as µs, ms or s.
pub fn time(us: f64) -> String {
    scaled(us, &[(1e6, "s"), (1e3, "ms"), (1.0, "µs")])
}

/// An amount of bytes, decimal.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

/// A share as per cent.
pub fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0, 1))
}

/// What `format` makes of a figure, or a dash.
pub fn or_nothing(figure: Option<f64>, format: impl Fn(f64) -> String) -> String {
    figure.map_or_else(|| NOTHING.to_owned(), format)
}

/// `752 742–761`
pub fn with_interval(estimate: Estimate, format: impl Fn(f64) -> String) -> String {
    let median = format(estimate.median);
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!("{median} {}–{}", format(low), format(high)),
        _ => format!("{median} no interval"),
    }
}

/// `1.50 1.42–1.61 s`
pub fn seconds(estimate: Estimate) -> String {
    with_interval(estimate, |seconds| digits(seconds, 2)) + " s"
}

/// `1.02 ±0.03`, for figures that may be zero.
pub fn plus_minus(value: Value, format: impl Fn(f64) -> String) -> String {
    let middle = format(value.value);
    match half_width(value) {
        Some(half) => format!("{middle} ±{}", format(half)),
        None => format!("{middle} no interval"),
    }
}

/// The same where room is short: `1.02 ±?` without an interval.
pub fn plus_minus_short(value: Value, format: impl Fn(f64) -> String) -> String {
    plus_minus(value, format).replace("no interval", "±?")
}

fn half_width(value: Value) -> Option<f64> {
    let (low, high) = (value.low?, value.high?);
    Some((value.value - low).max(high - value.value))
}

/// A time in µs with one unit for both: `1.30 ±0.02 ms`.
pub fn time_plus_minus(us: Value) -> String {
    let (size, unit) = match us.value.abs() {
        value if value >= 999.5e3 => (1e6, "s"),
        value if value >= 999.5 => (1e3, "ms"),
        _ => (1.0, "µs"),
    };
    let scaled = |us: f64| digits(us / size, 2);
    match half_width(us) {
        Some(half) => format!("{} ±{} {unit}", scaled(us.value), scaled(half)),
        None => format!("{} {unit} no interval", scaled(us.value)),
    }
}

/// Round trips: two decimals.
pub fn trips(trips: f64) -> String {
    without_minus_zero(format!("{trips:.2}"))
}

/// A ratio: two decimals, three below a tenth.
pub fn ratio(value: f64) -> String {
    let decimals = if value < 0.0995 { 3 } else { 2 };
    format!("{value:.decimals$}")
}

/// `1 round`, `2 rounds`
pub fn count(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

/// The time in UTC, to the minute. Days to dates after Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms".
pub fn utc(unix_ms: u64) -> String {
    let minutes = unix_ms / 60_000;
    let days = minutes / 1440 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leap = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (minutes / 60 % 24, minutes % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        let times = [0.0, 7.25, 310.4, 999.7, 1300.0, 45_200.0, 2e6].map(time);
        let expected = [
            "0.00 µs", "7.25 µs", "310 µs", "1.00 ms", "1.30 ms", "45.2 ms", "2.00 s",
        ];
        assert_eq!(times, expected);
        assert_eq!(
            [0.0, 640.0, 1520.0, 2.5e6].map(bytes),
            ["0.00 B", "640 B", "1.52 kB", "2.50 MB"]
        );
        assert_eq!(digits(99.96, 2), "100");
        assert_eq!(digits(-0.001, 2), "0.00");
        assert_eq!([0.034, 0.98, 1.0].map(ratio), ["0.034", "0.98", "1.00"]);
    }

    #[test]
    fn no_interval_is_said_in_words() {
        let mut estimate = Estimate {
            median: 752.0,
            low: Some(742.0),
            high: Some(761.4),
        };
        let whole = |value: f64| digits(value, 0);
        assert_eq!(with_interval(estimate, whole), "752 742–761");
        assert_eq!(plus_minus(estimate.into(), whole), "752 ±10");
        estimate.low = None;
        assert_eq!(with_interval(estimate, whole), "752 no interval");
        assert_eq!(plus_minus(estimate.into(), whole), "752 no interval");
        assert_eq!(plus_minus_short(estimate.into(), whole), "752 ±?");
    }

    #[test]
    fn an_interval_shares_its_unit() {
        let value = |value, low, high| Value {
            value,
            low: Some(low),
            high: Some(high),
        };
        assert_eq!(
            time_plus_minus(value(1300.0, 1280.0, 1310.0)),
            "1.30 ±0.02 ms"
        );
        assert_eq!(time_plus_minus(value(310.0, 307.5, 311.0)), "310 ±2.50 µs");
        assert_eq!(trips(-0.001), "0.00");
    }

    #[test]
    fn days_become_dates() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_827_696_000), "2000-02-29 12:34 UTC");
        assert_eq!(utc(1_790_000_000_000), "2026-09-21 14:13 UTC");
    }
}
