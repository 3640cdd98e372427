//! The list of a folder's records, and the page of a run that goes on.

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::told::{State, Told, What};
use crate::live::{Live, Row, Trial, lags, minutes_and_seconds};
use crate::report::html::STYLE;
use crate::report::markup::Element;
use crate::report::numbers::{NOTHING, count, digits, or_nothing, time, utc};
use crate::report::picture::{Axis, Plot, Point, Series, Way};

/// These pages load nothing but our own script, and ask nobody else.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; \
                          connect-src 'self'; img-src data:; base-uri 'none'; \
                          form-action 'none'; frame-ancestors 'none'";
/// What the page of a run does.
pub const SCRIPT: &str = include_str!("live.js");
const OWN_STYLE: &str = include_str!("serve.css");
/// Rows of what was measured last; all of it is on the record's page.
const ROWS_MAX: usize = 20;
/// What stands in an address as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// The list.
pub fn list(folder: &str, all: &[Told]) -> String {
    let heading = Element::new("h1").text(format!("Records of {folder}"));
    let about = Element::new("p")
        .with("class", "about")
        .text(match all.len() {
            0 => "none yet".to_owned(),
            records => format!("{}, the newest first", count(records as u64, "record")),
        });
    let header = Element::new("header").child(heading).child(about);
    let main = Element::new("main");
    let main = match all.is_empty() {
        true => main.children(nothing_yet()),
        false => {
            let records = all.iter().map(record);
            main.child(
                Element::new("ul")
                    .with("class", "records")
                    .children(records),
            )
        }
    };
    document("acklab: records", vec![], vec![header, main])
}

fn nothing_yet() -> Vec<Element> {
    let first = "No record is in this folder yet. A run makes one with its first finished \
                 measurement, in the folder that it is started in, or where --record says:";
    let command = Element::new("code").text("acklab compare --quick");
    vec![
        Element::new("p").text(first),
        Element::new("p").child(command),
        Element::new("p").text("Load this page again then."),
    ]
}

fn record(told: &Told) -> Element {
    let item = Element::new("li");
    let paragraph = |class: &str, text: String| Element::new("p").with("class", class).text(text);
    match &told.what {
        What::Record {
            title,
            sentence,
            state,
        } => {
            let name = encoded(&told.name);
            let leads = |to: String, text: &str| Element::new("a").with("href", to).text(text);
            let title = Element::new("h2").child(leads(record_at(&told.name), title));
            let about = format!("{}, begun {}", told.name, utc(told.unix_ms));
            let (class, said) = match state {
                State::Finished => ("about", "finished"),
                State::Running => ("running", "running now: "),
                State::Open => ("open", "not finished, and nobody writes to it at present: "),
            };
            let said = Element::new("p").with("class", class).text(said);
            let said = match state {
                State::Finished => said,
                _ => said.child(leads(format!("/live/{name}"), "how far it is")),
            };
            item.child(title)
                .child(paragraph("sentence", sentence.clone()))
                .child(said)
                .child(paragraph("about", about))
        }
        What::Unreadable(why) => {
            let title = Element::new("h2").text(&told.name[..]);
            item.child(title)
                .child(paragraph("bad", format!("cannot be read: {why}")))
        }
    }
}

/// The page of a run. Without a script it is loaded anew now and then.
pub fn live(name: &str, state: Element) -> String {
    let address = encoded(name);
    let refresh = Element::new("meta").with("http-equiv", "refresh");
    let refresh = Element::new("noscript").child(refresh.with("content", "5"));
    let script = Element::new("script").with("src", "/live.js");
    let script = script.with("defer", "defer");
    let leads = |to: String, text: &str| {
        let link = Element::new("a").with("href", to).text(text);
        Element::new("li").child(link)
    };
    let links = Element::new("ul").children([
        leads("/".to_owned(), "all records"),
        leads(
            record_at(name),
            "its page as far as it is: works out everything anew, on this machine's CPUs",
        ),
    ]);
    let nav = Element::new("nav").with("aria-label", "Pages").child(links);
    let about = Element::new("p").with("class", "about").text(name);
    let said = Element::new("p").with("id", "said").with("role", "status");
    let now = Element::new("div").with("id", "now").child(state);
    let main = Element::new("main").with("data-record", address);
    let main = main.child(said).child(now);
    document(
        &format!("acklab: {name}"),
        vec![refresh, script],
        vec![nav, about, main],
    )
}

/// Words where there is nothing else to show.
pub fn words(title: &str, said: &str) -> String {
    let heading = Element::new("h1").text(title);
    let said = Element::new("p").text(said);
    let back = Element::new("a").with("href", "/").text("all records");
    let back = Element::new("p").child(back);
    let main = Element::new("main").children([heading, said, back]);
    document(title, vec![], vec![main])
}

/// Where the page of that record is.
pub fn record_at(name: &str) -> String {
    format!("/record/{}", encoded(name))
}

/// A name as part of an address.
fn encoded(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

fn document(title: &str, more: Vec<Element>, inside: Vec<Element>) -> String {
    let meta = |name: &str, content: &str| {
        let meta = Element::new("meta").with("name", name);
        meta.with("content", content)
    };
    let icon = Element::new("link").with("rel", "icon");
    let head = Element::new("head")
        .child(Element::new("meta").with("charset", "utf-8"))
        .child(meta("viewport", "width=device-width, initial-scale=1"))
        .child(meta("color-scheme", "light dark"))
        .child(icon.with("href", "data:,"))
        .child(Element::new("title").text(title))
        .child(Element::new("style").ours(STYLE))
        .child(Element::new("style").ours(OWN_STYLE))
        .children(more);
    let body = Element::new("body").children(inside);
    let html = Element::new("html").with("lang", "en");
    format!("<!DOCTYPE html>\n{}\n", html.child(head).child(body))
}

/// What is known of a run at that moment.
pub fn state(live: &Live, now: Duration, is_written: bool) -> Element {
    let (done, all) = live.ahead.done_of();
    let left = minutes_and_seconds(live.left(now));
    let said = match (is_written, all) {
        (false, _) => format!(
            "{done} of {all} steps are done; nobody writes to it at present: the run was stopped, \
             or forms its next servers"
        ),
        (true, _) if live.ends_by_itself => {
            format!("{done} steps are done; it ends by itself when it knows enough")
        }
        (true, _) => format!("{done} of {all} steps, about {left} left"),
    };
    let bar = Element::new("progress").with("max", all.max(1).to_string());
    let bar = bar.with("value", done.to_string());
    let bar = bar.with("aria-label", "steps that are done");
    let paragraph = |class: &str, text: String| Element::new("p").with("class", class).text(text);
    let mut inside = vec![
        Element::new("h1").text(&live.title[..]),
        paragraph("far", said),
        bar,
    ];
    if !live.now.is_empty() && is_written {
        inside.push(paragraph("doing", live.now.clone()));
    }
    inside.extend(measured(live));
    inside.extend(injected(live));
    inside.extend(seconds(live));
    if !live.preliminary.is_empty() {
        inside.push(Element::new("h2").text("First rows"));
        let lines = live.preliminary.join("\n");
        inside.push(Element::new("pre").with("tabindex", "0").text(lines));
    }
    Element::new("div").children(inside)
}

fn table(titles: &[(&str, bool)], rows: Vec<Vec<String>>) -> Element {
    let class = |cell: Element, is_text: bool| match is_text {
        true => cell,
        false => cell.with("class", "n"),
    };
    let head = titles.iter().map(|(title, is_text)| {
        let cell = Element::new("th").with("scope", "col");
        class(cell, *is_text).text(*title)
    });
    let head = Element::new("thead").child(Element::new("tr").children(head));
    let row = |row: Vec<String>| {
        let cells = row
            .into_iter()
            .zip(titles)
            .map(|(text, (_, is_text))| class(Element::new("td"), *is_text).text(text));
        Element::new("tr").children(cells)
    };
    let body = Element::new("tbody").children(rows.into_iter().map(row));
    let table = Element::new("table").child(head).child(body);
    Element::new("div").with("class", "scroll").child(table)
}

fn measured(live: &Live) -> Vec<Element> {
    if live.rows.is_empty() {
        return vec![];
    }
    let titles = [
        ("round", true),
        ("mode", true),
        ("load", true),
        ("sites", true),
        ("commits/s", false),
        ("p50", false),
        ("p99", false),
        ("lag", true),
        ("flags", true),
    ];
    let latency = |us: Option<u64>| or_nothing(us.map(|us| us as f64), time);
    let row = |row: &Row| {
        let flags: Vec<&str> = row.flags.iter().map(|flag| flag.name()).collect();
        let void = if row.is_void { "void: " } else { "" };
        vec![
            row.round.to_string(),
            row.label.clone(),
            row.load.clone(),
            row.distances.clone(),
            digits(row.commits_per_s, 1),
            latency(row.latency_us_p50),
            latency(row.latency_us_p99),
            lags(&row.lags),
            format!("{void}{}", flags.join(" ")),
        ]
    };
    let rows = live.rows.iter().take(ROWS_MAX).map(row).collect();
    let heading = Element::new("h2").text("Measured last");
    vec![heading, table(&titles, rows)]
}

fn injected(live: &Live) -> Vec<Element> {
    if live.trials.is_empty() {
        return vec![];
    }
    let titles = [
        ("trial", true),
        ("mode", true),
        ("fault", true),
        ("acknowledged", false),
        ("missing", false),
        ("not to be judged", true),
    ];
    let row = |trial: &Trial| {
        vec![
            trial.number.to_string(),
            trial.label.clone(),
            trial.fault.clone(),
            trial.acknowledged.to_string(),
            trial.missing.map_or(NOTHING.to_owned(), |n| n.to_string()),
            trial.trouble.clone().unwrap_or_default(),
        ]
    };
    let rows = live.trials.iter().take(ROWS_MAX).map(row).collect();
    let said = "Missing: acknowledged, and not on every node that serves. A first look; whether \
                a promise was broken is judged on the record's page.";
    vec![
        Element::new("h2").text("Faults injected last"),
        Element::new("p").with("class", "about").text(said),
        table(&titles, rows),
    ]
}

/// The load that was measured last, second by second.
fn seconds(live: &Live) -> Vec<Element> {
    let Some(last) = live.rows.front().filter(|_| live.seconds.len() > 1) else {
        return vec![];
    };
    // A second's rate stands at its middle.
    let points = live.seconds.iter().map(|(second, commits)| Point {
        across: f64::from(*second) + 0.5,
        up: *commits as f64,
        ..Point::default()
    });
    let axis = |title: &str| Axis {
        title: title.to_owned(),
        ..Axis::default()
    };
    let name = format!("{}, {}, {}", last.label, last.load, last.distances);
    let plot = Plot {
        across: axis("seconds from the start of the load"),
        up: axis("commits/s"),
        series: vec![Series {
            name,
            way: Way::Thin,
            points: points.collect(),
        }],
        ..Plot::default()
    };
    let title = "Commits in each second of what was measured last";
    let caption = Element::new("figcaption").text(title);
    let picture = plot.picture(title).inline("seconds");
    vec![Element::new("figure").child(caption).child(picture)]
}

#[cfg(test)]
mod tests;
