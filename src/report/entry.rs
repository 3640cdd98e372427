//! What stands in a table's cell: a quantity with its unit and interval, words, or nothing and why.
//! Text and Markdown show it as it displays, CSV takes its numbers.

use std::fmt;

use super::numbers::{NOTHING, Unit};
use crate::analysis::interval::Estimate;
use crate::analysis::summary::Value;

/// An interval whose ends are more than so many times apart tells no figure.
pub const APART_MAX: f64 = 3.0;

/// One cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    Absent(Absent),
    Words(String),
    Quantity(Quantity),
    /// Things that belong together, and what stands between them.
    Several(Vec<Entry>, &'static str),
    Marked(Box<Entry>, Mark),
}

/// Why there is no figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// There is nothing to measure, or too little of it.
    Nothing,
    /// It was measured, and all measurements are void.
    Void,
    NotMeasured,
    /// Nobody here can know it: it is somebody else's server's, or its interval is too wide.
    Unknown,
    /// A ratio's own baseline.
    Baseline,
}

/// A doubt about what stands there, or what more there is to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Flags tell why, below the table.
    Doubt,
    /// The interval holds 1.
    NoDifference,
    /// The interval lies within what was asked of 1: they are alike.
    Alike,
    /// It tells of a host that was waited for, and of no mode.
    Shared,
    /// It may be more.
    AtLeast,
    /// The line that it comes from is no straight one.
    Bent,
    /// So much less, or more, than something else.
    Less,
    More,
    /// It is zero since there is no such thing: people are shown a dash.
    NoSuchThing,
    /// Its interval is too wide to tell anything.
    Unknown,
}

/// A number, what it is a number of, and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    pub number: f64,
    pub unit: Unit,
    /// Both ends of its interval; none where none can be given, or none belongs to it.
    pub ends: Option<(f64, f64)>,
    pub style: Style,
}

/// How a quantity is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// It has no interval.
    Alone,
    /// `752 742–761`
    Range,
    /// `1.02 ±0.03`, of figures that may be zero.
    PlusMinus,
    /// The same where room is short: `1.02 ±?` without an interval.
    Brief,
}

impl Quantity {
    /// With the interval as a range.
    pub fn range(estimate: Estimate, unit: Unit) -> Quantity {
        Quantity::new(estimate.into(), unit, Style::Range)
    }

    /// With the interval as ±.
    pub fn plus_minus(value: Value, unit: Unit) -> Quantity {
        Quantity::new(value, unit, Style::PlusMinus)
    }

    fn new(value: Value, unit: Unit, style: Style) -> Quantity {
        Quantity {
            number: value.value,
            unit,
            ends: value.low.zip(value.high),
            style,
        }
    }
}

impl Quantity {
    /// Whether its interval is so wide that nobody knows the figure. One that may be zero is known
    /// by its ±.
    fn is_unknown(&self) -> bool {
        let is_wide = |(low, high): (f64, f64)| low > 0.0 && high > APART_MAX * low;
        self.style == Style::Range && self.ends.is_some_and(is_wide)
    }
}

impl fmt::Display for Quantity {
    /// An interval shares the unit of its number.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.is_unknown() {
            return Absent::Unknown.fmt(f);
        }
        let (size, unit) = self.unit.scale(self.number);
        let told = |number: f64| self.unit.digits(number / size);
        let number = told(self.number);
        match (self.style, self.ends) {
            (Style::Alone, _) => write!(f, "{number}{unit}"),
            (Style::Range, Some((low, high))) => {
                write!(f, "{number} {}–{}{unit}", told(low), told(high))
            }
            (Style::Range, None) => write!(f, "{number} no interval{unit}"),
            (_, Some((low, high))) => {
                let half = (self.number - low).max(high - self.number);
                write!(f, "{number} ±{}{unit}", told(half))
            }
            (Style::PlusMinus, None) => write!(f, "{number}{unit} no interval"),
            (Style::Brief, None) => write!(f, "{number}{unit} ±?"),
        }
    }
}

impl Entry {
    /// Nothing to show.
    pub const NOTHING: Entry = Entry::Absent(Absent::Nothing);

    /// A number without an interval, if there is one.
    pub fn number(number: Option<f64>, unit: Unit) -> Entry {
        let quantity = |number| Quantity {
            number,
            unit,
            ends: None,
            style: Style::Alone,
        };
        number.map(quantity).into()
    }

    /// A number with the interval as a range, if there is one.
    pub fn range(estimate: Option<Estimate>, unit: Unit) -> Entry {
        let quantity = |estimate| Quantity::range(estimate, unit);
        estimate.map(quantity).into()
    }

    /// A number with the interval as ±, if there is one.
    pub fn plus_minus(value: Option<Value>, unit: Unit) -> Entry {
        let quantity = |value| Quantity::plus_minus(value, unit);
        value.map(quantity).into()
    }

    /// So many.
    pub fn count(count: usize) -> Entry {
        Entry::number(Some(count as f64), Unit::Count)
    }

    /// With a mark, where it is to have one.
    pub fn marked(self, is_marked: bool, mark: Mark) -> Entry {
        match is_marked {
            true => Entry::Marked(Box::new(self), mark),
            false => self,
        }
    }

    /// Without its marks.
    pub fn plain(&self) -> &Entry {
        match self {
            Entry::Marked(entry, _) => entry.plain(),
            _ => self,
        }
    }

    /// Whether its interval is too wide to tell anything.
    fn is_unknown(&self) -> bool {
        match self {
            Entry::Quantity(quantity) => quantity.is_unknown(),
            Entry::Marked(entry, mark) => *mark == Mark::Unknown || entry.is_unknown(),
            _ => false,
        }
    }

    /// Whether people are shown nothing but a dash.
    pub fn is_nothing(&self) -> bool {
        matches!(
            self,
            Entry::Absent(Absent::Nothing) | Entry::Marked(_, Mark::NoSuchThing)
        )
    }
}

impl From<Option<Quantity>> for Entry {
    fn from(quantity: Option<Quantity>) -> Entry {
        quantity.map_or(Entry::NOTHING, Entry::Quantity)
    }
}

impl From<String> for Entry {
    fn from(words: String) -> Entry {
        Entry::Words(words)
    }
}

impl From<&str> for Entry {
    fn from(words: &str) -> Entry {
        Entry::Words(words.to_owned())
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Absent::Nothing => NOTHING,
            Absent::Void => "void",
            Absent::NotMeasured => "not measured",
            Absent::Unknown => "unknown",
            Absent::Baseline => "1",
        })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Entry::Absent(why) => why.fmt(f),
            Entry::Words(words) => f.write_str(words),
            Entry::Quantity(quantity) => quantity.fmt(f),
            Entry::Several(all, between) => {
                let all: Vec<String> = all.iter().map(Entry::to_string).collect();
                f.write_str(&all.join(between))
            }
            Entry::Marked(..) if self.is_unknown() => Absent::Unknown.fmt(f),
            Entry::Marked(entry, mark) => match (mark, &**entry) {
                (Mark::Doubt, Entry::Words(name)) => write!(f, "{name} !"),
                (Mark::Doubt, figure) => write!(f, "{figure}!"),
                (Mark::NoDifference, ratio) => write!(f, "{ratio} ~"),
                (Mark::Alike, ratio) => write!(f, "{ratio} ="),
                (Mark::Shared, ratio) => write!(f, "({ratio}) shared"),
                (Mark::AtLeast, figure) => write!(f, "≥{figure}"),
                (Mark::Bent, figure) => write!(f, "{figure} bent"),
                (Mark::Less, figure) => write!(f, "−{figure}"),
                (Mark::More, figure) => write!(f, "+{figure}"),
                (Mark::NoSuchThing, _) => f.write_str(NOTHING),
                (Mark::Unknown, _) => Absent::Unknown.fmt(f),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_interval_is_said_in_words() {
        let mut estimate = Estimate {
            median: 752.0,
            low: Some(742.0),
            high: Some(761.4),
        };
        let told = |estimate: Estimate| {
            let half = Quantity::plus_minus(estimate.into(), Unit::Number(0));
            let range = Quantity::range(estimate, Unit::Number(0));
            let brief = Quantity {
                style: Style::Brief,
                ..half
            };
            [range, half, brief].map(|quantity| quantity.to_string())
        };
        assert_eq!(told(estimate), ["752 742–761", "752 ±10", "752 ±10"]);
        estimate.low = None;
        let without = ["752 no interval", "752 no interval", "752 ±?"];
        assert_eq!(told(estimate), without);
    }

    #[test]
    fn an_interval_of_more_than_threefold_tells_no_figure() {
        let range = |low, high| {
            let estimate = Estimate {
                median: 1_500.0,
                low: Some(low),
                high: Some(high),
            };
            Entry::range(Some(estimate), Unit::Number(0))
        };
        assert_eq!(range(1_000.0, 3_000.0).to_string(), "1500 1000–3000");
        assert_eq!(range(631.0, 4_751.0).to_string(), "unknown");
        let marked = range(631.0, 4_751.0).marked(true, Mark::NoDifference);
        assert_eq!(marked.to_string(), "unknown");
        let half = Value {
            value: 10.0,
            low: Some(1.0),
            high: Some(19.0),
        };
        let half = Entry::plus_minus(Some(half), Unit::Number(0));
        assert_eq!(half.to_string(), "10 ±9");
        assert_eq!(half.marked(true, Mark::Unknown).to_string(), "unknown");
    }

    #[test]
    fn marks_stand_where_they_are_read() {
        let figure = |number| Entry::number(Some(number), Unit::Ratio);
        let told = |entry: Entry, mark| entry.marked(true, mark).to_string();
        assert_eq!(told("a".into(), Mark::Doubt), "a !");
        assert_eq!(told(figure(1.0), Mark::Doubt), "1.00!");
        assert_eq!(told(figure(1.0), Mark::NoDifference), "1.00 ~");
        assert_eq!(told(figure(1.0), Mark::Alike), "1.00 =");
        assert_eq!(told(figure(1.0), Mark::AtLeast), "≥1.00");
        assert_eq!(told(figure(0.66), Mark::Shared), "(0.66) shared");
        let none = figure(0.0).marked(true, Mark::NoSuchThing);
        assert!(none.is_nothing());
        assert_eq!(none.plain(), &figure(0.0));
        assert_eq!(none.to_string(), NOTHING);
        assert_eq!(figure(2.0).marked(false, Mark::Bent), figure(2.0));
    }
}
