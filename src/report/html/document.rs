//! What stands around everything: head, heading, the list of sections, foot.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::section::Section;
use crate::analysis::Summary;
use crate::report::head;
use crate::report::markup::Element;
use crate::report::numbers::{count, utc};
use crate::report::worth;

/// How a page looks.
pub const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(
    include_str!("model.js"),
    include_str!("foretell.js"),
    include_str!("page.js")
);

/// The whole file.
pub fn whole(summary: &Summary, sections: Vec<Section>) -> String {
    let links = sections.iter().map(Section::link);
    let nav = Element::new("nav").with("aria-label", "Sections");
    let nav = nav.child(Element::new("ul").children(links));
    let main = Element::new("main").children(sections.into_iter().map(Section::element));
    let skip = Element::new("a")
        .with("class", "skip")
        .with("href", "#answer");
    let body = Element::new("body")
        .child(skip.text("To the answer"))
        .child(header(summary))
        .child(nav)
        .child(main)
        .child(footer(summary))
        .child(Element::new("script").ours(SCRIPT));
    let html = Element::new("html").with("lang", "en");
    let html = html.child(head(summary)).child(body);
    format!("<!DOCTYPE html>\n{html}\n")
}

fn title(summary: &Summary) -> String {
    match summary.cells.is_empty() {
        true => worth::TITLE.to_owned(),
        false => format!("acklab {}: {}", summary.study, summary.title),
    }
}

fn head(summary: &Summary) -> Element {
    let meta = |name: &str, content: &str| {
        let meta = Element::new("meta").with("name", name);
        meta.with("content", content)
    };
    let csp = Element::new("meta").with("http-equiv", "Content-Security-Policy");
    let icon = Element::new("link")
        .with("rel", "icon")
        .with("href", "data:,");
    Element::new("head")
        .child(Element::new("meta").with("charset", "utf-8"))
        .child(csp.with("content", policy()))
        .child(meta("viewport", "width=device-width, initial-scale=1"))
        .child(meta("color-scheme", "light dark"))
        .child(meta(
            "generator",
            &format!("acklab {}", summary.acklab_version),
        ))
        .child(icon)
        .child(Element::new("title").text(title(summary)))
        .child(Element::new("style").ours(STYLE))
}

/// The page may load nothing, and run nothing but its own script.
pub fn policy() -> String {
    let digest = STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    format!(
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
         script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
}

fn header(summary: &Summary) -> Element {
    let servers = summary.servers.iter();
    let mut about: Vec<String> = servers
        .map(|server| format!("{} {}", server.name, server.version))
        .collect();
    about.push(machines(summary));
    about.push(utc(summary.started_unix_ms));
    about.push(format!("acklab {}", summary.acklab_version));
    let about = Element::new("p")
        .with("class", "about")
        .text(about.join("; "));
    let heading = Element::new("h1").text(title(summary));
    let header = Element::new("header").child(heading).child(about);
    let bad = |said: String| Element::new("p").with("class", "bad").text(said);
    let partial = (!summary.finished).then(|| {
        let said = "PARTIAL: the run did not go through to its end. What is here was finished \
                    before.";
        said.to_owned()
    });
    let one_round = head::one_round(summary).map(|said| format!("One round: {said}."));
    header.children(partial.into_iter().chain(one_round).map(bad))
}

/// `2 CPUs`, or of several machines `3 machines of 2 to 8 CPUs`.
fn machines(summary: &Summary) -> String {
    let cpus = |cpus: u32| count(cpus.into(), "CPU");
    let Some(machines) = &summary.machines else {
        return cpus(summary.host.cpus);
    };
    let each = machines.machines.iter().map(|machine| machine.host.cpus);
    let (least, most) = (each.clone().min().unwrap_or(0), each.max().unwrap_or(0));
    let of = count(machines.machines.len() as u64, "machine");
    match least == most {
        true => format!("{of} of {}", cpus(most)),
        false => format!("{of} of {least} to {}", cpus(most)),
    }
}

fn footer(summary: &Summary) -> Element {
    let told = format!(
        "Made by acklab {} from one record. The file is whole: it asks nobody for anything.",
        summary.acklab_version
    );
    Element::new("footer").child(Element::new("p").text(told))
}
