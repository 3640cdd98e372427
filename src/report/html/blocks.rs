//! Blocks of a report as elements.

use super::tables;
use crate::report::markup::Element;
use crate::report::page::Block;

/// All of them, one after the other; tables are called after the heading above them.
pub fn elements(blocks: &[Block]) -> Vec<Element> {
    let mut heading = "";
    let mut elements = Vec::new();
    for block in blocks {
        if let Block::Title(text) | Block::Heading(text) = block {
            heading = text;
        }
        elements.extend(element(block, heading));
    }
    elements
}

/// A section with a name, that a link can lead to.
pub fn part(id: &str, blocks: &[Block]) -> Element {
    let section = Element::new("section").with("id", id).with("class", "part");
    section.children(elements(blocks))
}

/// A section for each heading, numbered from 1 on.
pub fn parts(name: &str, blocks: &[Block]) -> Vec<Element> {
    let begins = |_: &Block, next: &Block| !matches!(next, Block::Heading(_));
    let groups = blocks.chunk_by(begins);
    (1..)
        .zip(groups)
        .map(|(number, blocks): (usize, _)| part(&format!("{name}-{number}"), blocks))
        .collect()
}

fn element(block: &Block, heading: &str) -> Option<Element> {
    Some(match block {
        Block::Title(text) | Block::Heading(text) => Element::new("h3").text(&text[..]),
        Block::Lines(lines) => list("lines", lines),
        Block::Notes(lines) => list("notes", lines),
        Block::Facts(facts) => terms(facts),
        Block::Table(table) => tables::element(table, heading),
        Block::Space => return None,
    })
}

fn list(class: &str, lines: &[String]) -> Element {
    let line = |line: &String| Element::new("li").text(&line[..]);
    let list = Element::new("ul").with("class", class);
    list.children(lines.iter().map(line))
}

fn terms(facts: &[(String, String)]) -> Element {
    let both = facts.iter().flat_map(|(name, said)| {
        let name = Element::new("dt").text(&name[..]);
        [name, Element::new("dd").text(&said[..])]
    });
    Element::new("dl").children(both)
}
