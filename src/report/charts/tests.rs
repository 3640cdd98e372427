use super::*;
use crate::analysis::example::{Example, kept};
use crate::analysis::summarise;
use crate::analysis::summary::CellSummary;
use crate::record::Second;
use crate::study::{SysbenchLoad, Workload};

fn of(record: &Record) -> Vec<Chart> {
    charts(record, &summarise(record))
}

fn named<'c>(charts: &'c [Chart], name: &str) -> &'c str {
    let names: Vec<&str> = charts.iter().map(|chart| &chart.name[..]).collect();
    let found = charts.iter().find(|chart| chart.name == name);
    &found
        .unwrap_or_else(|| panic!("{name} is not in {names:?}"))
        .svg
}

/// An element's attribute as a number.
fn number(element: &str, attribute: &str) -> f64 {
    let after = element
        .split(&format!(" {attribute}=\""))
        .nth(1)
        .unwrap_or_else(|| panic!("{element}"));
    after.split('"').next().unwrap().parse().unwrap()
}

/// All elements of that kind that hold a piece of text.
fn elements<'s>(svg: &'s str, kind: &str, part: &str) -> Vec<&'s str> {
    let all = svg
        .split('<')
        .filter(|element| element.starts_with(&format!("{kind} ")));
    all.filter(|element| element.contains(part)).collect()
}

/// Both ends of a line drawn between two points.
fn ends(polyline: &str) -> [(f64, f64); 2] {
    let points = polyline
        .split("points=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let point = |text: &str| {
        let (x, y) = text.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    let all: Vec<(f64, f64)> = points.split_whitespace().map(point).collect();
    all.try_into().unwrap_or_else(|all| panic!("{all:?}"))
}

/// All lines between two points that hold a piece of text.
fn straight<'s>(svg: &'s str, part: &'s str) -> impl Iterator<Item = [(f64, f64); 2]> + 's {
    let points = |line: &str| line.matches(',').count();
    let lines = elements(svg, "polyline", part).into_iter();
    lines.filter(move |line| points(line) == 2).map(ends)
}

fn texts(svg: &str) -> Vec<&str> {
    let after = svg.split("<text ").skip(1);
    after
        .filter_map(|rest| Some(rest.split_once('>')?.1.split('<').next()?.trim()))
        .collect()
}

/// The blue of bars.
const BAR: &str = "fill=\"#0072B2\"";

#[test]
fn bars_have_their_figures_lengths_and_intervals() {
    let record = Example::default().record();
    let charts = of(&record);
    let summary = summarise(&record);
    let svg = named(&charts, "bars-update_index-1c-2.15-ms");
    let bars = elements(svg, "rect", BAR);
    let cells: Vec<&CellSummary> = summary
        .cells
        .iter()
        .filter(|cell| cell.distances == "2.15 ms")
        .collect();
    assert_eq!((bars.len(), cells.len()), (6, 6));
    let zero = number(bars[0], "x");
    let scale = number(bars[0], "width") / cells[0].throughput_per_s.unwrap().median;
    let lines: Vec<[(f64, f64); 2]> = straight(svg, "#000000")
        .filter(|[from, to]| from.1 == to.1 && from.0 > zero && to.0 - from.0 < 600.0)
        .collect();
    for (bar, cell) in bars.iter().zip(&cells) {
        let estimate = cell.throughput_per_s.unwrap();
        let length = number(bar, "width");
        assert!(
            (length - estimate.median * scale).abs() <= 1.5,
            "{bar} {estimate:?}"
        );
        let middle = number(bar, "y") + number(bar, "height") / 2.0;
        let mine = lines
            .iter()
            .find(|[from, _]| (from.1 - middle).abs() <= 3.0);
        let [from, to] = mine.unwrap_or_else(|| panic!("{bar} has no interval in {lines:?}"));
        let (low, high) = (estimate.low.unwrap(), estimate.high.unwrap());
        assert!(
            (from.0 - zero - low * scale).abs() <= 2.0,
            "{from:?} {estimate:?}"
        );
        assert!(
            (to.0 - zero - high * scale).abs() <= 2.0,
            "{to:?} {estimate:?}"
        );
    }
    let said = texts(svg);
    for cell in &cells {
        assert!(said.contains(&&cell.label[..]), "{said:?}");
    }
    assert!(said.contains(&"commits/s"), "{said:?}");
}

#[test]
fn the_first_bar_is_the_first_mode() {
    let charts = of(&Example::default().record());
    let svg = named(&charts, "bars-update_index-1c-8-ms");
    let y_of = |name: &str| {
        let found = svg
            .split("<text ")
            .find(|text| text.contains(&format!("\n{name}\n")));
        number(&format!(" {}", found.unwrap()), "y")
    };
    assert!(y_of("mysql single") < y_of("mariadb galera"));
}

#[test]
fn lines_have_a_mark_for_each_cell_and_their_axes() {
    let charts = of(&Example::default().record());
    let svg = named(&charts, "distance-update_index-1c");
    assert_eq!(elements(svg, "circle", "").len(), 18);
    let said = texts(svg);
    for what in [
        "round-trip time between sites, got, ms",
        "ms per commit of each connection",
    ] {
        assert!(said.contains(&what), "{said:?}");
    }
    assert!(said.contains(&"mysql semisync"), "{said:?}");
    let charts = of(&kept("group-commit"));
    let svg = named(&charts, "connections-update_index-4-ms-disks-flush-0-ms");
    let cells = summarise(&kept("group-commit")).cells;
    let at_4_ms = cells.iter().filter(|cell| cell.distances == "4 ms").count();
    assert_eq!(elements(svg, "circle", "").len(), at_4_ms);
    let said = texts(svg);
    assert!(
        said.contains(&"connections") && said.contains(&"16"),
        "{said:?}"
    );
}

#[test]
fn intervals_of_a_line_end_where_they_should() {
    let record = Example::default().record();
    let summary = summarise(&record);
    let charts = of(&record);
    let svg = named(&charts, "distance-update_index-1c");
    // The first mode's marks, nearest first, and its intervals: from the same colour.
    let marks = elements(svg, "circle", BAR);
    let single: Vec<&CellSummary> = summary
        .cells
        .iter()
        .filter(|cell| cell.label == "mysql single")
        .collect();
    assert_eq!(marks.len(), 3);
    let uprights: Vec<[(f64, f64); 2]> = straight(svg, "stroke=\"#0072B2\"")
        .filter(|[from, to]| from.0 == to.0)
        .collect();
    assert_eq!(uprights.len(), 3);
    let galera = elements(svg, "circle", "").into_iter().next_back().unwrap();
    let far = summary.cells.last().unwrap();
    let ms = |rate: f64| 1e3 / rate;
    let (y_low, y_high) = (number(marks[0], "cy"), number(galera, "cy"));
    let (low, high) = (
        ms(single[0].throughput_per_s.unwrap().median),
        ms(far.throughput_per_s.unwrap().median),
    );
    let pixel = |value: f64| y_low + (value - low) / (high - low) * (y_high - y_low);
    for (upright, cell) in uprights.iter().zip(&single) {
        let rate = cell.throughput_per_s.unwrap();
        let [from, to] = [rate.high.unwrap(), rate.low.unwrap()].map(|rate| pixel(ms(rate)));
        assert!(
            (upright[0].1 - from).abs() <= 2.0,
            "{upright:?} {from} {to}"
        );
        assert!((upright[1].1 - to).abs() <= 2.0, "{upright:?} {from} {to}");
    }
}

/// A cell whose rate falls to a fifth for three seconds in every sixty.
fn record_with_dips() -> Record {
    let mut record = Example::default().record();
    let second = |second: u32| Second {
        second,
        commits: if second % 60 < 3 && second > 9 {
            200
        } else {
            1_000
        },
        ..Second::default()
    };
    record.header.cells[0].measure = Some(std::time::Duration::from_secs(200));
    record.measurements[0].timeline = (0..200).map(second).collect();
    record
}

#[test]
fn dips_are_marked() {
    let record = record_with_dips();
    let charts = of(&record);
    let svg = named(
        &charts,
        "seconds-mysql-single-update_index-1c-0.25-ms-200-s",
    );
    let dips = elements(svg, "rect", "#CC0000");
    assert_eq!(dips.len(), 3);
    let apart = number(dips[1], "x") - number(dips[0], "x");
    let wide = number(dips[0], "width");
    assert!(
        (apart / wide - 20.0).abs() < 2.0,
        "60 s apart, 3 s wide: {apart} {wide}"
    );
    assert!(texts(svg).contains(&"seconds from the start of the load"));
    let is_marked = |svg: &str| {
        let mut said = texts(svg).into_iter();
        said.any(|text| text.ends_with("; dips shaded"))
    };
    assert!(is_marked(svg), "{svg}");
    // Too short to be looked through.
    let mut short = record_with_dips();
    short.header.cells[0].measure = Some(std::time::Duration::from_secs(20));
    short.measurements[0].timeline.truncate(20);
    let charts = of(&short);
    let svg = named(&charts, "seconds-mysql-single-update_index-1c-0.25-ms-20-s");
    assert!(!is_marked(svg), "{svg}");
    let without = of(&Example::default().record());
    assert!(
        !without
            .iter()
            .any(|chart| chart.name.starts_with("seconds"))
    );
}

#[test]
fn names_are_unique_and_the_ground_is_white() {
    for record in [
        Example::default().record(),
        Example::anatomy().record(),
        kept("group-commit"),
    ] {
        let charts = of(&record);
        assert!(charts.len() > 3);
        let mut names: Vec<&str> = charts.iter().map(|chart| &chart.name[..]).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), charts.len());
        for Chart { svg, .. } in &charts {
            let ground = elements(svg, "rect", "#FFFFFF");
            assert!(ground.iter().any(|rect| number(rect, "width") >= 900.0));
        }
    }
}

#[test]
fn a_record_with_nothing_in_it_has_no_charts() {
    let mut record = Example::default().record();
    record.measurements.clear();
    assert_eq!(of(&record), []);
}

/// The summary with a copy of each of its cells, changed.
fn with_twins(record: &Record, change: impl Fn(&mut CellSummary)) -> Summary {
    let mut summary = summarise(record);
    let mut twins = summary.cells.clone();
    twins.iter_mut().for_each(change);
    summary.cells.extend(twins);
    summary
}

fn names(charts: &[Chart]) -> Vec<&str> {
    charts.iter().map(|chart| &chart.name[..]).collect()
}

#[test]
fn cells_that_are_watched_after_their_load_have_charts_of_their_own() {
    let record = Example::default().record();
    let watched = |cell: &mut CellSummary| {
        cell.watch_after_s = Some(60.0);
        cell.point.watch_after = Some(std::time::Duration::from_secs(60));
    };
    let summary = with_twins(&record, watched);
    let bars = bars::charts(&summary);
    let plain = named(&bars, "bars-update_index-1c-2.15-ms");
    let beside = named(&bars, "bars-update_index-1c-2.15-ms-watched-60-s-after");
    for svg in [plain, beside] {
        assert_eq!(elements(svg, "rect", BAR).len(), 6);
    }
    let lines = lines::over_distance(&summary);
    let expected = [
        "distance-update_index-1c",
        "distance-update_index-1c-watched-60-s-after",
    ];
    assert_eq!(names(&lines), expected);
    for chart in &lines {
        assert_eq!(elements(&chart.svg, "circle", "").len(), 18);
    }
    let summary = with_twins(&kept("group-commit"), watched);
    let whole = lines::over_connections(&summarise(&kept("group-commit"))).len();
    assert_eq!(lines::over_connections(&summary).len(), 2 * whole);
}

#[test]
fn workloads_of_one_name_that_differ_have_charts_of_their_own() {
    let record = Example::default().record();
    let summary = with_twins(&record, |cell| {
        cell.point.workload = Workload::Sysbench {
            load: SysbenchLoad::UpdateIndex,
            tables: 2,
            table_size: 10_000,
            prepared: true,
        };
    });
    let bars = bars::charts(&summary);
    assert_eq!(bars.len(), 2 * bars::charts(&summarise(&record)).len());
    let long = named(&bars, "bars-update_index-2-10000-rows-1c-2.15-ms");
    assert_eq!(elements(long, "rect", BAR).len(), 6);
    let of_one = "update_index, 2 × 10000 rows, 1 connection, 2.15 ms";
    assert!(texts(long).contains(&of_one), "{:?}", texts(long));
}

#[test]
fn a_line_has_one_point_of_each_distance_asked_for() {
    let record = Example::default().record();
    // The same distances over slower links.
    let summary = with_twins(&record, |cell| {
        cell.distances += ", 25 Mbit/s";
        cell.rtt_us_got = cell.rtt_us_got.map(|us| us * 1.01);
    });
    let svg = &lines::over_distance(&summary)[0].svg;
    assert_eq!(elements(svg, "circle", "").len(), 18);
    // Two distances, measured at two rates each, are no three.
    let mut two = summary;
    two.cells.retain(|cell| cell.rtt_us_asked != Some(8_000.0));
    assert_eq!(lines::over_distance(&two), []);
}

#[test]
fn trials_are_drawn_with_their_steps_and_worth_against_cost() {
    let charts = of(&crate::analysis::worth::example());
    let svg = named(&charts, "trial-mysql-async-writer-dies");
    let said = texts(svg);
    assert!(said.contains(&"commits/s"), "{said:?}");
    assert!(said.contains(&"1 power cut: writer, drop-all"), "{said:?}");
    // The number of each step stands above its mark.
    assert!(said.contains(&"1") && said.contains(&"2"), "{said:?}");
    let marks = straight(svg, "#0072B2").filter(|[from, to]| from.0 == to.0);
    assert_eq!(marks.count(), 1, "of the first step");
    let svg = named(&charts, "worth-writer-dies");
    assert_eq!(elements(svg, "circle", "").len(), 2, "two modes");
    let ranges = ["#0072B2", "#D55E00"].map(|colour| {
        let upright = straight(svg, colour).filter(|[from, to]| from.0 == to.0);
        upright.map(|[from, to]| (to.1 - from.1).abs()).sum::<f64>()
    });
    // Of two of three with a loss more is open than of none of 20.
    assert!(
        ranges[0] > 2.0 * ranges[1] && ranges[1] > 10.0,
        "{ranges:?}"
    );
    assert!(texts(svg).contains(&"mysql semisync"));
    let is_trial = |chart: &&Chart| chart.name.starts_with("trial-");
    assert_eq!(charts.iter().filter(is_trial).count(), 7);
    let without = of(&Example::default().record());
    assert!(!without.iter().any(|chart| chart.name.starts_with("trial-")));
}
