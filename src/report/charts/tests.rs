use super::lines::{Along, Up, over};
use super::*;
use crate::analysis::example::{Example, kept};
use crate::analysis::summarise;
use crate::analysis::summary::CellSummary;
use crate::record::Second;
use crate::report::markup::check::{balanced, values};
use crate::study::{SysbenchLoad, Workload};

fn of(record: &Record) -> Vec<Chart> {
    charts(record, &summarise(record))
}

fn named<'c>(charts: &'c [Chart], name: &str) -> &'c Chart {
    let names: Vec<&str> = charts.iter().map(|chart| &chart.name[..]).collect();
    let found = charts.iter().find(|chart| chart.name == name);
    found.unwrap_or_else(|| panic!("{name} is not in {names:?}"))
}

fn drawn(charts: &[Chart], name: &str) -> String {
    named(charts, name).svg()
}

/// An element's attribute as a number.
fn number(element: &str, attribute: &str) -> f64 {
    let all = values(element, attribute);
    all.first().expect(element).parse().expect(element)
}

/// All parts of a picture that begin with an element of that class, up to the next one.
fn of_class<'s>(svg: &'s str, class: &str) -> Vec<&'s str> {
    let start = format!(" class=\"{class}\"");
    let places: Vec<usize> = svg.match_indices(&start).map(|(at, _)| at).collect();
    let begin = |at: usize| svg[..at].rfind('<').expect("a tag");
    let ends = places.iter().skip(1).map(|at| begin(*at));
    let ends = ends.chain([svg.len()]);
    let begins = places.iter().map(|at| begin(*at));
    begins.zip(ends).map(|(from, to)| &svg[from..to]).collect()
}

fn texts(svg: &str) -> Vec<String> {
    let after = svg.split("<text").skip(1);
    let text = |rest: &str| Some(rest.split_once('>')?.1.split('<').next()?.to_owned());
    after.filter_map(text).collect()
}

fn says(svg: &str, text: &str) -> bool {
    texts(svg).iter().any(|said| said == text)
}

/// Where an interval begins and ends, along the axis on which it lies: `M12,9 H34 …`.
fn interval(part: &str, letter: char) -> (f64, f64) {
    let path = of_class(part, "interval")[0];
    let path = values(path, "d")[0];
    let (start, rest) = path[1..].split_once(' ').unwrap();
    let (x, y) = start.split_once(',').unwrap();
    let from = if letter == 'H' { x } else { y };
    let to = rest
        .strip_prefix(letter)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    (from.parse().unwrap(), to.parse().unwrap())
}

#[test]
fn bars_have_their_figures_lengths_and_intervals() {
    let record = Example::default().record();
    let charts = of(&record);
    let summary = summarise(&record);
    let chart = named(&charts, "bars-update_index-1c-2.15-ms");
    let svg = chart.svg();
    let bars = of_class(&svg, "bar");
    let here = |cell: &&CellSummary| cell.distances == "2.15 ms";
    let cells: Vec<&CellSummary> = summary.cells.iter().filter(here).collect();
    assert_eq!((bars.len(), cells.len()), (6, 6));
    let part = |bar: &str, attribute: &str| number(of_class(bar, "part")[0], attribute);
    let zero = part(bars[0], "x");
    let scale = part(bars[0], "width") / cells[0].throughput_per_s.unwrap().median;
    for (bar, cell) in bars.iter().zip(&cells) {
        let estimate = cell.throughput_per_s.unwrap();
        let length = part(bar, "width");
        let is_near = |got: f64, figure: f64| (got - figure * scale).abs() <= 1.0;
        assert!(is_near(length, estimate.median), "{bar} {estimate:?}");
        let (from, to) = interval(bar, 'H');
        assert!(is_near(from - zero, estimate.low.unwrap()), "{bar}");
        assert!(is_near(to - zero, estimate.high.unwrap()), "{bar}");
        assert!(says(bar, &cell.label), "{bar}");
    }
    assert!(says(&svg, "commits/s"), "{svg}");
    assert_eq!((chart.table.rows.len(), chart.table.columns.len()), (6, 2));
}

#[test]
fn the_first_bar_is_the_first_mode() {
    let charts = of(&Example::default().record());
    let svg = drawn(&charts, "bars-update_index-1c-8-ms");
    let at = |name: &str| svg.find(&format!(">{name}<")).expect("a name");
    assert!(at("mysql single") < at("mariadb galera"));
}

#[test]
fn lines_have_a_mark_for_each_cell_and_their_axes() {
    let charts = of(&Example::default().record());
    let chart = named(&charts, "distance-update_index-1c");
    let svg = chart.svg();
    assert_eq!(of_class(&svg, "point").len(), 18);
    assert_eq!(of_class(&svg, "series").len(), 6);
    assert_eq!(chart.table.rows.len(), 18);
    for what in [
        "round-trip time between sites, got, ms",
        "ms per commit of each connection",
        "mysql semisync",
    ] {
        assert!(says(&svg, what), "{what}: {svg}");
    }
    let charts = of(&kept("group-commit"));
    let svg = drawn(&charts, "connections-update_index-4-ms-disks-flush-0-ms");
    let cells = summarise(&kept("group-commit")).cells;
    let at_4_ms = cells.iter().filter(|cell| cell.distances == "4 ms").count();
    assert_eq!(of_class(&svg, "point").len(), at_4_ms);
    assert!(says(&svg, "connections") && says(&svg, "16"), "{svg}");
}

#[test]
fn intervals_of_a_line_end_where_they_should() {
    let record = Example::default().record();
    let summary = summarise(&record);
    let charts = of(&record);
    let svg = drawn(&charts, "distance-update_index-1c");
    let series = of_class(&svg, "series");
    // The first mode's marks are circles.
    let points = of_class(series[0], "point");
    let of_single = |cell: &&CellSummary| cell.label == "mysql single";
    let single: Vec<&CellSummary> = summary.cells.iter().filter(of_single).collect();
    assert_eq!((points.len(), single.len()), (3, 3));
    let ms = |rate: f64| 1e3 / rate;
    let figure = |cell: &CellSummary| ms(cell.throughput_per_s.unwrap().median);
    // The fifth mode's are circles, too.
    let mariadb = of_class(series[4], "point");
    let far = summary
        .cells
        .iter()
        .find(|cell| cell.label == "mariadb single");
    let (y_one, y_other) = (number(points[0], "cy"), number(mariadb[0], "cy"));
    let (one, other) = (figure(single[0]), figure(far.unwrap()));
    let pixel = |value: f64| y_one + (value - one) / (other - one) * (y_other - y_one);
    for (point, cell) in points.iter().zip(&single) {
        let rate = cell.throughput_per_s.unwrap();
        let (from, to) = interval(point, 'V');
        let [low, high] = [rate.high.unwrap(), rate.low.unwrap()].map(|rate| pixel(ms(rate)));
        assert!((from - low).abs() <= 2.0, "{point} {low} {high}");
        assert!((to - high).abs() <= 2.0, "{point} {low} {high}");
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
    let name = "seconds-mysql-single-update_index-1c-0.25-ms-200-s";
    let chart = named(&charts, name);
    let svg = chart.svg();
    let dips = of_class(&svg, "span");
    assert_eq!(dips.len(), 3);
    let apart = number(dips[1], "x") - number(dips[0], "x");
    let wide = number(dips[0], "width");
    assert!(
        (apart / wide - 20.0).abs() < 0.5,
        "60 s apart, 3 s wide: {apart} {wide}"
    );
    assert!(says(&svg, "seconds from the start of the load"));
    assert!(says(&svg, "dip") && chart.title.ends_with("; dips shaded"));
    let rows = chart.table.rows.len();
    assert!((50..=60).contains(&rows), "{rows}");
    // Too short to be looked through.
    let mut short = record_with_dips();
    short.header.cells[0].measure = Some(std::time::Duration::from_secs(20));
    short.measurements[0].timeline.truncate(20);
    let charts = of(&short);
    let chart = named(&charts, "seconds-mysql-single-update_index-1c-0.25-ms-20-s");
    assert!(!chart.title.contains("shaded"), "{}", chart.title);
    assert_eq!(chart.table.rows.len(), 19);
    let without = of(&Example::default().record());
    let is_course = |chart: &Chart| chart.subject == Subject::Seconds;
    assert!(!without.iter().any(is_course));
}

#[test]
fn names_are_unique_and_every_chart_is_whole() {
    for record in [
        Example::default().record(),
        Example::anatomy().record(),
        kept("group-commit"),
        crate::analysis::worth::example(),
    ] {
        let charts = of(&record);
        assert!(charts.len() > 3);
        let mut names: Vec<&str> = charts.iter().map(|chart| &chart.name[..]).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), charts.len());
        for chart in &charts {
            let svg = chart.svg();
            assert_eq!(balanced(&svg), Ok(()), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("could be drawn"));
            assert!(svg.contains("class=\"ground\"") && svg.contains("class=\"axis\""));
            assert!(!chart.table.rows.is_empty(), "{}", chart.name);
            let columns = chart.table.columns.len();
            assert!(chart.table.rows.iter().all(|row| row.len() == columns));
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
    let plain = drawn(&bars, "bars-update_index-1c-2.15-ms");
    let beside = drawn(&bars, "bars-update_index-1c-2.15-ms-watched-60-s-after");
    for svg in [plain, beside] {
        assert_eq!(of_class(&svg, "bar").len(), 6);
    }
    let lines = over(&summary, Along::Distance, Up::Each);
    let expected = [
        "distance-update_index-1c",
        "distance-update_index-1c-watched-60-s-after",
    ];
    assert_eq!(names(&lines), expected);
    for chart in &lines {
        assert_eq!(of_class(&chart.svg(), "point").len(), 18);
    }
    let summary = with_twins(&kept("group-commit"), watched);
    let whole = over(
        &summarise(&kept("group-commit")),
        Along::Connections,
        Up::Rate,
    )
    .len();
    assert_eq!(
        over(&summary, Along::Connections, Up::Rate).len(),
        2 * whole
    );
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
    assert_eq!(of_class(&long.svg(), "bar").len(), 6);
    let of_one = "update_index, 2 × 10000 rows, 1 connection, 2.15 ms";
    assert!(long.title.contains(of_one), "{}", long.title);
}

#[test]
fn a_line_has_one_point_of_each_distance_asked_for() {
    let record = Example::default().record();
    // The same distances over slower links.
    let summary = with_twins(&record, |cell| {
        cell.distances += ", 25 Mbit/s";
        cell.rtt_us_got = cell.rtt_us_got.map(|us| us * 1.01);
    });
    let svg = over(&summary, Along::Distance, Up::Each)[0].svg();
    assert_eq!(of_class(&svg, "point").len(), 18);
    // Two distances, measured at two rates each, are no three.
    let mut two = summary;
    two.cells.retain(|cell| cell.rtt_us_asked != Some(8_000.0));
    assert_eq!(over(&two, Along::Distance, Up::Each), []);
}

#[test]
fn trials_are_drawn_with_their_steps_and_worth_against_cost() {
    let charts = of(&crate::analysis::worth::example());
    let chart = named(&charts, "trial-mysql-async-writer-dies");
    let svg = chart.svg();
    assert!(
        says(&svg, "commits/s") && says(&svg, "nobody served"),
        "{svg}"
    );
    assert!(says(&svg, "power cut: writer, drop-all"), "{svg}");
    // The number of each step stands above its line.
    let numbers: Vec<String> = of_class(&svg, "number")
        .iter()
        .flat_map(|it| texts(it))
        .collect();
    assert!(numbers.contains(&"1".to_owned()) && numbers.contains(&"2".to_owned()));
    assert!(of_class(&svg, "fault").len() >= 2);
    let worth = named(&charts, "worth-the-writer-s-machine-dies");
    let svg = worth.svg();
    let points = of_class(&svg, "point");
    assert_eq!(points.len(), 3, "two modes, one of them by two faults");
    let ranges: Vec<f64> = points
        .iter()
        .map(|point| {
            let (low, high) = interval(point, 'V');
            low - high
        })
        .collect();
    // Of two of three with a loss more is open than of none of 20.
    assert!(
        ranges[0] > 2.0 * ranges[1] && ranges[1] > 10.0,
        "{ranges:?}"
    );
    for name in [
        "mysql async",
        "mysql semisync, writer-dies",
        "mysql semisync, fall-back",
    ] {
        assert!(says(&svg, name), "{name}: {svg}");
    }
    assert_eq!(worth.table.rows[1][2].to_string(), "0 of 20");
    let is_trial = |chart: &&Chart| matches!(chart.subject, Subject::Trial(_));
    assert_eq!(charts.iter().filter(is_trial).count(), 7);
    let without = of(&Example::default().record());
    assert!(!without.iter().any(|chart| is_trial(&chart)));
}
