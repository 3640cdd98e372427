use super::*;
use crate::report::markup::check::{balanced, values};

/// All numbers of a picture's attributes.
fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
    let all = values(svg, attribute).into_iter();
    all.map(|value| value.parse().unwrap_or_else(|_| panic!("{value}")))
        .collect()
}

/// Well-formed, of numbers alone, and within its own frame.
fn is_sound(svg: &str) {
    assert_eq!(balanced(svg), Ok(()), "{svg}");
    for nonsense in ["NaN", "inf", "-0 ", "\"-0\""] {
        assert!(!svg.contains(nonsense), "{nonsense}: {svg}");
    }
    let view = values(svg, "viewBox")[0];
    let view: Vec<f64> = view.split(' ').map(|it| it.parse().unwrap()).collect();
    let (wide, high) = (view[2], view[3]);
    for (attribute, most) in [("x", wide), ("cx", wide), ("y", high), ("cy", high)] {
        for number in numbers(svg, attribute) {
            assert!(
                (-6.0..=most).contains(&number),
                "{attribute}={number}: {svg}"
            );
        }
    }
    assert!(
        svg.contains("<title>") || svg.contains("<title id="),
        "{svg}"
    );
    assert!(svg.contains("<desc"), "{svg}");
}

/// As it is seen.
fn read(text: &str) -> String {
    let angles = text.replace("&lt;", "<").replace("&gt;", ">");
    angles.replace("&amp;", "&")
}

/// A box around each text, as wide as it is thought to be.
fn boxes(svg: &str) -> Vec<(String, [f64; 4])> {
    let texts = svg.split("<text").skip(1);
    let of_text = |text: &str| {
        let (tag, rest) = text.split_once('>').unwrap();
        let number = |name: &str, usual: f64| {
            let found = values(tag, name);
            found.first().map_or(usual, |value| value.parse().unwrap())
        };
        let said = read(rest.split('<').next().unwrap());
        let size = number("font-size", letters::TEXT);
        let (x, y) = (number("x", 0.0), number("y", 0.0));
        let wide = letters::width(&said, size);
        let left = match values(tag, "text-anchor")[..] {
            ["middle"] => x - wide / 2.0,
            ["end"] => x - wide,
            _ => x,
        };
        (said, [left, y - 0.75 * size, left + wide, y + 0.2 * size])
    };
    texts.map(of_text).collect()
}

/// No text lies on another one.
fn texts_lie_apart(svg: &str) {
    // What stands above a whole file is shifted: only the rest is compared with itself.
    let boxes = boxes(svg);
    for (index, (one, a)) in boxes.iter().enumerate() {
        for (other, b) in &boxes[index + 1..] {
            let apart = a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
            assert!(apart, "{one:?} {a:?} lies on {other:?} {b:?}: {svg}");
        }
    }
}

fn point(across: f64, up: f64) -> Point {
    Point {
        across,
        up,
        ends: Some((up * 0.9, up * 1.1)),
        told: format!("{across} connections: {up} commits/s"),
    }
}

fn plot() -> Plot {
    let names = [
        "mysql single",
        "mysql <semisync> & friends",
        "mariadb galera",
    ];
    let series = |(index, name): (usize, &&str)| Series {
        name: (*name).to_owned(),
        way: Way::Line,
        points: [1.0, 4.0, 16.0, 64.0]
            .map(|across| point(across, 100.0 * across.sqrt() * (index + 1) as f64))
            .into(),
    };
    let span = |from: f64| Span {
        from,
        to: from + 3.0,
        name: "nobody served".to_owned(),
    };
    let upright = |(at, number): (f64, usize)| Upright {
        at,
        number: number.to_string(),
        name: "power cut: writer, drop-all".to_owned(),
    };
    Plot {
        across: Axis {
            title: "connections".to_owned(),
            ..Axis::default()
        },
        up: Axis {
            title: "commits/s".to_owned(),
            ..Axis::default()
        },
        series: names.iter().enumerate().map(series).collect(),
        spans: vec![span(10.0), span(30.0)],
        uprights: [(10.0, 1), (10.1, 2), (10.2, 3), (40.0, 4)]
            .map(upright)
            .into(),
    }
}

fn bars() -> Bars {
    let bar = |(index, name): (usize, &str)| Bar {
        name: name.to_owned(),
        parts: vec![750.0 - 200.0 * index as f64],
        ends: Some((700.0 - 200.0 * index as f64, 790.0 - 200.0 * index as f64)),
        told: "752 (742 to 761)".to_owned(),
    };
    let long = "mysql semisync innodb_flush_log_at_trx_commit=2 sync_binlog=0 wait_for=2 and more \
                of the same";
    Bars {
        unit: "commits/s".to_owned(),
        parts: vec![],
        bars: ["mysql single", long, "x"]
            .into_iter()
            .enumerate()
            .map(bar)
            .collect(),
    }
}

#[test]
fn a_plot_has_every_series_span_step_and_figure() {
    let picture = plot().picture("Commits against connections");
    for svg in [picture.file(), picture.inline("p1").to_string()] {
        is_sound(&svg);
        assert_eq!(svg.matches("class=\"series\"").count(), 3);
        assert_eq!(svg.matches("class=\"point\"").count(), 12);
        assert_eq!(svg.matches("class=\"interval\"").count(), 12);
        assert_eq!(svg.matches("class=\"span\"").count(), 2);
        assert_eq!(svg.matches("class=\"number\"").count(), 4);
        assert!(
            svg.contains("mysql &lt;semisync&gt; &amp; friends"),
            "{svg}"
        );
        assert!(svg.contains("16 connections: 400 commits/s"), "{svg}");
        assert_eq!(svg.matches(">nobody served<").count(), 1);
    }
    texts_lie_apart(&picture.inline("p1").to_string());
}

#[test]
fn a_log_axis_has_its_figures_where_they_were_asked_for() {
    let mut plot = plot();
    (plot.spans, plot.uprights) = (vec![], vec![]);
    plot.across.is_log = true;
    let ticks = [1.0_f64, 4.0, 16.0, 64.0, 777.0];
    plot.across.ticks = Some(ticks.map(|figure| (figure, figure.to_string())).into());
    let svg = plot.picture("x").inline("p").to_string();
    is_sound(&svg);
    texts_lie_apart(&svg);
    let first = svg.split("class=\"series\"").nth(1).unwrap();
    let x = numbers(first.split("class=\"series\"").next().unwrap(), "cx");
    let apart: Vec<f64> = x.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((apart[0] - apart[1]).abs() < 0.3 && (apart[1] - apart[2]).abs() < 0.3);
    let told: Vec<String> = boxes(&svg).into_iter().map(|(said, _)| said).collect();
    assert!(told.contains(&"64".to_owned()) && !told.contains(&"777".to_owned()));
}

#[test]
fn bars_have_their_names_figures_and_intervals() {
    let picture = bars().picture("Modes");
    for svg in [picture.file(), picture.inline("b").to_string()] {
        is_sound(&svg);
        assert_eq!(svg.matches("class=\"part\"").count(), 3);
        assert_eq!(svg.matches("class=\"interval\"").count(), 3);
    }
    let svg = picture.inline("b").to_string();
    texts_lie_apart(&svg);
    let wide = numbers(&svg, "width");
    let ratio = (wide[0] - wide[1]) / (wide[1] - wide[2]);
    assert!((ratio - 1.0).abs() < 0.01, "{wide:?}");
}

#[test]
fn parts_of_a_bar_stand_in_a_row_and_are_named() {
    let bar = |name: &str, parts: [f64; 3]| Bar {
        name: name.to_owned(),
        parts: parts.into(),
        ends: None,
        told: "6 ms".to_owned(),
    };
    let bars = Bars {
        unit: "ms".to_owned(),
        parts: ["work", "distance", "flushes"].map(str::to_owned).into(),
        bars: vec![
            bar("single", [1.0, -0.1, 3.0]),
            bar("group", [1.0, 4.0, 3.0]),
        ],
    };
    let svg = bars.picture("Anatomy").inline("a").to_string();
    is_sound(&svg);
    texts_lie_apart(&svg);
    for name in ["work", "distance", "flushes"] {
        assert_eq!(svg.matches(&format!(">{name}<")).count(), 1, "{svg}");
    }
    let parts: Vec<&str> = svg
        .split("<rect")
        .filter(|it| it.contains("\"part\""))
        .collect();
    let place = |part: &str, name: &str| numbers(&format!(" {part}"), name)[0];
    assert_eq!(place(parts[1], "width"), 0.0, "below zero it has no length");
    let end = place(parts[3], "x") + place(parts[3], "width");
    assert!((end - place(parts[4], "x")).abs() < 0.2);
}

#[test]
fn what_is_below_zero_is_drawn_to_the_left() {
    let bar = |name: &str, length: f64| Bar {
        name: name.to_owned(),
        parts: vec![length],
        ends: Some((length - 0.05, length + 0.05)),
        told: length.to_string(),
    };
    let bars = Bars {
        unit: "elasticity".to_owned(),
        parts: vec![],
        bars: vec![bar("flush", 0.8), bar("distance", -0.1)],
    };
    let svg = bars.picture("x").inline("e").to_string();
    is_sound(&svg);
    let parts: Vec<&str> = svg
        .split("<rect")
        .filter(|it| it.contains("\"part\""))
        .collect();
    let place = |part: &str, name: &str| numbers(&format!(" {part}"), name)[0];
    let end = place(parts[1], "x") + place(parts[1], "width");
    assert!((end - place(parts[0], "x")).abs() < 0.2);
}

#[test]
fn without_a_figure_there_are_words_and_no_axes() {
    let mut none = plot();
    for series in &mut none.series {
        series.points = vec![point(1.0, f64::NAN), point(f64::INFINITY, 1.0)];
    }
    let no_bars = Bars {
        bars: vec![Bar {
            parts: vec![f64::NAN],
            ..Bar::default()
        }],
        ..bars()
    };
    for picture in [
        none.picture("x"),
        Plot::default().picture("x"),
        no_bars.picture("x"),
        Bars::default().picture("x"),
    ] {
        let svg = picture.inline("n").to_string();
        is_sound(&svg);
        assert!(svg.contains("could be drawn"), "{svg}");
        assert!(!svg.contains("class=\"axis\""), "{svg}");
    }
}

#[test]
fn extreme_figures_stay_in_the_picture() {
    for up in [0.0, 1e-12, 1e12, -5.0] {
        let mut plot = plot();
        for (index, series) in plot.series.iter_mut().enumerate() {
            // No minus sign where it is zero.
            let other = up * index as f64 + 0.0;
            series.points = vec![point(1.0, up), point(2.0, other)];
        }
        let svg = plot.picture("x").inline("x").to_string();
        is_sound(&svg);
        texts_lie_apart(&svg);
    }
}

#[test]
fn a_file_has_a_light_ground_and_a_dark_one_for_who_asks() {
    let svg = bars().picture("Modes & figures").file();
    assert!(svg.starts_with("<svg xmlns="), "{svg}");
    assert!(svg.contains("prefers-color-scheme:dark"), "{svg}");
    assert!(svg.contains("fill=\"currentColor\""), "{svg}");
    assert!(svg.contains("class=\"ground\""), "{svg}");
    assert!(svg.contains("Modes &amp; figures"), "{svg}");
    let part = bars().picture("Modes").inline("b").to_string();
    assert!(!part.contains("class=\"ground\"") && !part.contains("<style"));
}
