//! Latency histograms as text: HdrHistogram's V2 form in base64, the form that all HdrHistogram
//! tools read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use super::Measurement;
use crate::error::{Result, Tried};

/// Significant decimal digits that every histogram keeps.
pub const DIGITS: u8 = 3;

/// An empty histogram of µs that grows as needed.
pub fn empty() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("3 digits are allowed")
}

/// A histogram as text.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .expect("writing into memory cannot fail");
    STANDARD.encode(bytes)
}

/// The histogram that `text` holds. Empty text stands for an empty histogram.
///
/// # Errors
/// A breakdown if `text` is no histogram: the record is damaged.
pub fn decode(text: &str) -> Result<Histogram<u64>> {
    if text.is_empty() {
        return Ok(empty());
    }
    let what = || "read a latency histogram".to_owned();
    let bytes = STANDARD.decode(text).tried(what)?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .tried(what)
}

/// Latency in µs of all transactions of a measurement; at an offered rate of those that became due
/// in its window, where those that had not ended count with what they had taken at least.
///
/// # Errors
/// A breakdown if the record is damaged.
pub fn at_least(measurement: &Measurement) -> Result<Histogram<u64>> {
    joined(
        &measurement.latency_us,
        measurement.unfinished_us.as_deref(),
    )
}

/// What ended, and what had not.
///
/// # Errors
/// A breakdown if a text holds no histogram.
pub fn joined(ended: &str, unfinished: Option<&str>) -> Result<Histogram<u64>> {
    let mut all = empty();
    for text in [ended, unfinished.unwrap_or("")] {
        let one = decode(text)?;
        all.add(one)
            .tried(|| "join latency histograms".to_owned())?;
    }
    Ok(all)
}

/// The histogram that the text of an opened record holds; [`Record::open`] has checked it.
///
/// # Panics
/// If `text` is no histogram.
///
/// [`Record::open`]: super::store::Record::open
pub fn checked(text: &str) -> Histogram<u64> {
    decode(text).expect("histograms are checked when a record is opened")
}

/// The same of a measurement of an opened record.
///
/// # Panics
/// If one of its histograms is none.
pub fn checked_at_least(measurement: &Measurement) -> Histogram<u64> {
    at_least(measurement).expect("histograms are checked when a record is opened")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_survives_the_way_through_text() {
        let mut histogram = empty();
        for us in [1, 310, 310, 1_300, 45_000_000] {
            histogram.record(us).unwrap();
        }
        let again = decode(&encode(&histogram)).unwrap();
        assert_eq!(again, histogram);
        assert_eq!(again.len(), 5);
    }

    #[test]
    fn empty_text_is_an_empty_histogram_and_nonsense_is_refused() {
        assert_eq!(decode("").unwrap().len(), 0);
        assert!(decode("@@@").is_err());
        assert!(decode("AAAA").is_err());
    }
}
