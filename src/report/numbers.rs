//! Figures as people read them: three digits and a unit.

/// Stands where there is no figure.
pub const NOTHING: &str = "–";

/// What a number is a number of: how it is scaled, and how many digits it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// In µs; read as µs, ms or s.
    Time,
    /// In s, and read so.
    Seconds,
    /// Decimal; read as B, kB, MB or GB.
    Bytes,
    /// 0 to 1; read as per cent.
    Share,
    /// Three digits, with so many decimals at most; a column's title says of what.
    Number(usize),
    /// Something that is counted one by one.
    Count,
    /// Round trips or flushes of a commit: two decimals, whatever the size.
    Trips,
    /// Two decimals, three below a tenth.
    Ratio,
    /// US dollars.
    Dollars,
}

impl Unit {
    /// What a number of that size is divided by, and the unit to stand behind it.
    pub fn scale(self, number: f64) -> (f64, &'static str) {
        let units: &[(f64, &str)] = match self {
            Unit::Time => &[(1e6, " s"), (1e3, " ms"), (1.0, " µs")],
            Unit::Seconds => &[(1.0, " s")],
            Unit::Bytes => &[(1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")],
            _ => &[(1.0, "")],
        };
        let fits = |(size, _): &&(f64, &str)| number.abs() >= *size * 0.9995;
        *units.iter().find(fits).unwrap_or(&units[units.len() - 1])
    }

    /// The digits of a number once it is scaled. Each end of an interval of shares has its `%`.
    pub fn digits(self, scaled: f64) -> String {
        match self {
            Unit::Time | Unit::Seconds | Unit::Bytes => digits(scaled, 2),
            Unit::Share => format!("{} %", digits(scaled * 100.0, 1)),
            Unit::Number(most) => digits(scaled, most),
            Unit::Count => format!("{scaled:.0}"),
            Unit::Trips => without_minus_zero(format!("{scaled:.2}")),
            Unit::Ratio if scaled < 0.0995 => format!("{scaled:.3}"),
            Unit::Ratio => format!("{scaled:.2}"),
            Unit::Dollars => format!("{scaled:.4}"),
        }
    }

    fn text(self, number: f64) -> String {
        let (size, unit) = self.scale(number);
        self.digits(number / size) + unit
    }
}

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

/// A time in µs, as µs, ms or s.
pub fn time(us: f64) -> String {
    Unit::Time.text(us)
}

/// An amount of bytes, decimal.
pub fn bytes(bytes: f64) -> String {
    Unit::Bytes.text(bytes)
}

/// A share as per cent.
pub fn percent(share: f64) -> String {
    Unit::Share.text(share)
}

/// A ratio: two decimals, three below a tenth.
pub fn ratio(value: f64) -> String {
    Unit::Ratio.text(value)
}

/// What `format` makes of a figure, or a dash.
pub fn or_nothing(figure: Option<f64>, format: impl Fn(f64) -> String) -> String {
    figure.map_or_else(|| NOTHING.to_owned(), format)
}

/// The middle one of those that differ; of an even number the larger of the two in the middle.
pub fn middle(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = figures.collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all.get(all.len() / 2).copied()
}

/// `1 round`, `2 rounds`
pub fn count(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

/// `no round`, `round 3`, `rounds 3, 7 and 11`
pub fn numbered(noun: &str, numbers: &[u32]) -> String {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match &words[..] {
        [] => format!("no {noun}"),
        [one] => format!("{noun} {one}"),
        [first @ .., last] => format!("{noun}s {} and {last}", first.join(", ")),
    }
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
        assert_eq!(Unit::Trips.text(-0.001), "0.00");
        assert_eq!([0.034, 0.98, 1.0].map(ratio), ["0.034", "0.98", "1.00"]);
    }

    #[test]
    fn the_middle_is_one_of_those_that_differ() {
        assert_eq!(middle([8.0, 0.25, 2.0, 2.0, 0.25].into_iter()), Some(2.0));
        assert_eq!(middle([].into_iter()), None);
    }

    #[test]
    fn days_become_dates() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_827_696_000), "2000-02-29 12:34 UTC");
        assert_eq!(utc(1_790_000_000_000), "2026-09-21 14:13 UTC");
    }
}
