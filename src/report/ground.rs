//! What a cell's servers stand on, where it is not as usual: slower CPUs, several schemas.

use super::figure::{Figures, count, number, words};
use super::numbers::Unit::Share;
use crate::analysis::summary::CellSummary;
use crate::study::CpuSpeed;

/// Columns of speeds asked and got.
pub fn speeds() -> Figures<'static> {
    type OfSpeed = fn(&CpuSpeed) -> f64;
    let parts: [(&str, OfSpeed); 3] = [
        ("writer", |speed| speed.writer),
        ("replicas", |speed| speed.replicas),
        ("rest", |speed| speed.rest),
    ];
    let pair = |(part, pick): (&str, OfSpeed)| {
        let asked = move |cell: &CellSummary| Some(pick(&cell.cpu_speed));
        let got = move |cell: &CellSummary| cell.cpu_speed_got.as_ref().map(pick);
        [
            number(&format!("cpu_speed_{part}"), Share, asked),
            number(&format!("cpu_speed_got_{part}"), Share, got),
        ]
    };
    parts.into_iter().flat_map(pair).collect()
}

/// The column of what is moved.
pub fn moved() -> Figures<'static> {
    let thing = |cell: &CellSummary| cell.moved.map(|moved| moved.thing.word().to_owned());
    vec![words("moved", move |cell| thing(cell).unwrap_or_default())]
}

/// The column of schemas.
pub fn schemas() -> Figures<'static> {
    vec![count("schemas", |cell| cell.schemas.max(1).into())]
}

/// `, got writer's CPUs at 79.9%`: how fast slower CPUs really were.
pub fn speed_got(cell: &CellSummary) -> String {
    let Some(got) = cell.cpu_speed_got else {
        return String::new();
    };
    let [writer, replicas, rest] = got.parts().map(|speed| (speed * 1e3).round() / 1e3);
    let shown = CpuSpeed {
        writer,
        replicas,
        rest,
    };
    match shown.is_full() {
        true => ", got CPUs at 100%".to_owned(),
        false => format!(", got {}", shown.words()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_got_is_told_to_a_tenth_of_a_per_cent() {
        let told = |got| {
            speed_got(&CellSummary {
                cpu_speed_got: got,
                ..CellSummary::default()
            })
        };
        assert_eq!(told(None), "");
        let writer = CpuSpeed {
            writer: 0.79912,
            ..CpuSpeed::default()
        };
        assert_eq!(told(Some(writer)), ", got writer's CPUs at 79.9%");
        let all = told(Some(CpuSpeed::of_all(0.50049)));
        assert_eq!(all, ", got CPUs at 50%");
        let none = told(Some(CpuSpeed::of_all(0.9999)));
        assert_eq!(none, ", got CPUs at 100%");
    }
}
