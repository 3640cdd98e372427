//! Sliders: each with a field for an exact figure beside it.

use std::time::Duration;

use crate::report::markup::Element;
use crate::study::limits::Range;

/// Steps of a slider within a decade (E24 of IEC 60063): each about a tenth more.
const DECADE: [f64; 24] = [
    1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2.0, 2.2, 2.4, 2.7, 3.0, 3.3, 3.6, 3.9, 4.3, 4.7, 5.1, 5.6,
    6.2, 6.8, 7.5, 8.2, 9.1,
];
/// A slider of times goes from 0 over this, in ms, to that; the field takes all that is allowed.
const LEAST_MS: f64 = 0.05;
const MOST_MS: f64 = 1_000.0;
/// Counts on a slider.
const COUNTS: [u32; 25] = [
    1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 160, 200, 256, 320, 400, 512,
    700, 1_000,
];

/// One.
pub struct Slider {
    name: String,
    label: String,
    /// In ms, or how many.
    value: f64,
    unit: &'static str,
    steps: Vec<f64>,
    least: f64,
    most: f64,
}

impl Slider {
    /// Of a time in µs.
    pub fn time(name: &str, label: &str, us: f64, allowed: Range<Duration>) -> Slider {
        let [least, most] = [allowed.low, allowed.high].map(|span| span.as_secs_f64() * 1e3);
        Slider {
            name: name.to_owned(),
            label: label.to_owned(),
            value: us / 1e3,
            unit: "ms",
            steps: times_ms(),
            least,
            most,
        }
    }

    /// Of how many.
    pub fn count(name: &str, label: &str, value: u32, allowed: Range<u64>) -> Slider {
        let is_allowed = |count: &&u32| allowed.holds(u64::from(**count));
        Slider {
            name: name.to_owned(),
            label: label.to_owned(),
            value: f64::from(value),
            unit: "",
            steps: COUNTS
                .iter()
                .filter(is_allowed)
                .map(|count| f64::from(*count))
                .collect(),
            least: allowed.low as f64,
            most: allowed.high as f64,
        }
    }

    fn element(&self) -> Element {
        let id = format!("place-{}", self.name);
        let label = Element::new("label").with("for", &id[..]);
        let steps: Vec<String> = self.steps.iter().map(f64::to_string).collect();
        let range = Element::new("input").with("type", "range");
        let range = range
            .with("min", "0")
            .with("max", (self.steps.len() - 1).to_string())
            .with("step", "1")
            .with("value", self.nearest().to_string())
            .with("aria-label", format!("{}, slider", self.label));
        let step = if self.unit.is_empty() { "1" } else { "any" };
        let number = Element::new("input").with("type", "number").with("id", id);
        let number = number
            .with("min", self.least.to_string())
            .with("max", self.most.to_string())
            .with("step", step)
            .with("value", self.value.to_string());
        let exact = Element::new("span").with("class", "exact").child(number);
        let slider = Element::new("div").with("class", "slider");
        let slider = slider.with("data-name", &self.name[..]);
        slider
            .with("data-steps", steps.join(" "))
            .child(label.text(&self.label[..]))
            .child(range)
            .child(exact.text(format!(" {}", self.unit)))
    }

    /// The step that is nearest to its value.
    fn nearest(&self) -> usize {
        let apart = |step: usize| (self.steps[step] - self.value).abs();
        let steps = 0..self.steps.len();
        steps
            .min_by(|a, b| apart(*a).total_cmp(&apart(*b)))
            .unwrap_or(0)
    }
}

/// Those that belong together, under one name.
pub fn group(legend: &str, sliders: &[Slider]) -> Element {
    let group = Element::new("fieldset").child(Element::new("legend").text(legend));
    group.children(sliders.iter().map(Slider::element))
}

fn times_ms() -> Vec<f64> {
    let decades = [0.01, 0.1, 1.0, 10.0, 100.0].into_iter();
    let all = decades.flat_map(|decade| DECADE.map(|step| step * decade));
    // No more digits than are meant.
    let round = |ms: f64| (ms * 1e4).round() / 1e4;
    let inside = all.map(round).filter(|ms| (LEAST_MS..MOST_MS).contains(ms));
    std::iter::once(0.0)
        .chain(inside)
        .chain([MOST_MS])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::limits;

    #[test]
    fn steps_rise_and_have_the_digits_that_are_meant() {
        let times = times_ms();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
        let texts: Vec<String> = times.iter().map(f64::to_string).collect();
        assert!(texts.iter().all(|text| text.len() <= 5), "{texts:?}");
        assert_eq!((times[0], times[times.len() - 1]), (0.0, MOST_MS));
        assert!(times.contains(&2.0) && times.contains(&30.0));
    }

    #[test]
    fn a_slider_stands_at_the_step_that_is_nearest() {
        let slider = Slider::time("x", "a–b", 2_150.0, limits::RTT);
        assert_eq!(slider.steps[slider.nearest()], 2.2);
        let text = slider.element().to_string();
        assert!(
            text.contains("value=\"2.15\"") && text.contains("max=\"60000\""),
            "{text}"
        );
        let cpus = Slider::count("cpu", "CPUs", 2, limits::CPUS);
        assert_eq!((cpus.nearest(), cpus.steps.last()), (1, Some(&64.0)));
    }
}
