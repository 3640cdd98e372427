//! Figures along an axis: their places in pixels, and round ones to stand there.

/// From figures to pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    is_log: bool,
}

impl Scale {
    /// Even steps, between these figures and these pixels.
    pub fn linear((from, to): (f64, f64), (start, end): (f64, f64)) -> Scale {
        let from = if from.is_finite() { from } else { 0.0 };
        let to = match to.is_finite() && to > from {
            true => to,
            false => from + 1.0,
        };
        Scale {
            from,
            to,
            start,
            end,
            is_log: false,
        }
    }

    /// Equal ratios; of figures that cannot be on it the same as [`Scale::linear`].
    pub fn log((from, to): (f64, f64), pixels: (f64, f64)) -> Scale {
        Scale {
            is_log: from > 0.0 && to > from && to.is_finite(),
            ..Scale::linear((from, to), pixels)
        }
    }

    /// The place of a figure; of one that lies beyond an end that end's.
    pub fn at(&self, figure: f64) -> f64 {
        let figure = figure.clamp(self.from, self.to);
        let share = match self.is_log {
            true => (figure / self.from).ln() / (self.to / self.from).ln(),
            false => (figure - self.from) / (self.to - self.from),
        };
        self.start + share * (self.end - self.start)
    }

    /// Whether a figure lies between its ends.
    pub fn holds(&self, figure: f64) -> bool {
        let slack = (self.to - self.from).abs() * 1e-9;
        figure >= self.from - slack && figure <= self.to + slack
    }

    /// Round figures between its ends, about so many, and what they are called.
    pub fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        match self.is_log {
            true => self.log_ticks(most),
            false => self.linear_ticks(most),
        }
    }

    fn linear_ticks(&self, most: usize) -> Vec<(f64, String)> {
        let step = round_step((self.to - self.from) / most.max(1) as f64);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        let tick = |place: i64| {
            let figure = place as f64 * step;
            (figure, format!("{figure:.decimals$}"))
        };
        (first..=last).map(tick).collect()
    }

    /// Of each power of ten once, or 1, 2 and 5 times it.
    fn log_ticks(&self, most: usize) -> Vec<(f64, String)> {
        let powers = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        let of = |times: &[f64]| -> Vec<(f64, String)> {
            let all = powers.clone().flat_map(|power| {
                let figure = move |times: &f64| times * 10_f64.powi(power);
                times.iter().map(figure).collect::<Vec<f64>>()
            });
            let inside = all.filter(|figure| self.holds(*figure));
            inside.map(|figure| (figure, short(figure))).collect()
        };
        let fine = of(&[1.0, 2.0, 5.0]);
        match fine.len() {
            0 | 1 => self.linear_ticks(most),
            count if count <= most => fine,
            _ => of(&[1.0]),
        }
    }
}

/// The next of 1, 2 and 5 times a power of ten.
fn round_step(rough: f64) -> f64 {
    if !rough.is_finite() || rough <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(rough.log10().floor());
    let times = [1.0, 2.0, 5.0].into_iter();
    let fits = |times: &f64| times * power >= rough * 0.999;
    times.clone().find(fits).unwrap_or(10.0) * power
}

/// A figure with no more digits than it needs.
pub fn short(figure: f64) -> String {
    let text = format!("{figure:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(ticks: &[(f64, String)]) -> Vec<&str> {
        ticks.iter().map(|(_, name)| &name[..]).collect()
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let scale = Scale::linear((0.0, 8.3), (0.0, 100.0));
        assert_eq!(names(&scale.ticks(5)), ["0", "2", "4", "6", "8"]);
        let small = Scale::linear((-0.03, 0.12), (0.0, 100.0));
        assert_eq!(names(&small.ticks(4)), ["0.00", "0.05", "0.10"]);
        let large = Scale::linear((0.0, 12_345.0), (0.0, 100.0));
        assert_eq!(names(&large.ticks(4)), ["0", "5000", "10000"]);
        for (figure, _) in scale.ticks(5) {
            assert!(scale.holds(figure) && (0.0..=100.0).contains(&scale.at(figure)));
        }
    }

    #[test]
    fn equal_ratios_are_equally_far_on_a_log_scale() {
        let scale = Scale::log((1.0, 100.0), (0.0, 200.0));
        assert!((scale.at(10.0) - 100.0).abs() < 1e-9);
        assert_eq!(
            names(&scale.ticks(9)),
            ["1", "2", "5", "10", "20", "50", "100"]
        );
        assert_eq!(names(&scale.ticks(4)), ["1", "10", "100"]);
        assert_eq!(
            names(&Scale::log((0.1, 2.0), (0.0, 1.0)).ticks(9))[0],
            "0.1"
        );
    }

    #[test]
    fn an_end_that_is_none_makes_no_nonsense() {
        for scale in [
            Scale::linear((5.0, 5.0), (10.0, 90.0)),
            Scale::log((0.0, 5.0), (10.0, 90.0)),
            Scale::log((5.0, 5.0), (10.0, 90.0)),
        ] {
            assert!((10.0..=90.0).contains(&scale.at(5.0)), "{scale:?}");
            assert!(!scale.ticks(5).is_empty(), "{scale:?}");
        }
        assert_eq!(round_step(0.0), 1.0);
        assert_eq!(round_step(f64::NAN), 1.0);
    }
}
