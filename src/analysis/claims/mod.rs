//! What published articles claimed, held against a record of the same question asked again: rows of
//! `studies/articles/`, judged by a few rules that know no article.
//!
//! Only ratios and orders are judged: an absolute figure belongs to the machine it came from.

mod counts;
mod figure;
mod rule;
mod select;
mod table;
mod tell;
mod unseen;
mod verdict;

use crate::analysis::interval::{Risk, holm};
pub use crate::analysis::summary::claims::{
    Article, Claim, Figure, Grid, GridRow, PublishedFigure, Verdict,
};
use crate::study::articles;
pub use select::Material;
use select::Points;
use verdict::Outcome;

/// An article and its claims, judged by what was measured.
pub fn judge(article: &articles::Article, material: &Material) -> (Article, Vec<Claim>) {
    let risk = material.risk;
    let points = Points {
        article,
        material,
        risk,
    };
    let claims = article.claim.iter();
    let claims = claims.map(|row| claim(points, row)).collect();
    let figure = |(name, value): (&String, &toml::Value)| PublishedFigure {
        name: name.clone(),
        value: value.to_string(),
    };
    let tables = article.table.iter();
    let unseen = article.unseen.iter();
    let judged = Article {
        key: article.key.clone(),
        title: article.title.clone(),
        servers: article.servers.clone(),
        tool: article.tool.clone(),
        measure: article.measure.clone(),
        figures: article.figures.iter().map(figure).collect(),
        are_bounds_kept: (material.bounds_sha256)
            .map(|kept| articles::bounds_digest(&article.key).as_deref() == Some(kept)),
        tables: tables.filter_map(|row| table::grid(points, row)).collect(),
        unseen: unseen
            .flat_map(|row| unseen::sentences(points, row))
            .collect(),
    };
    (judged, claims)
}

fn claim(points: Points, row: &articles::Claim) -> Claim {
    let judged = |risk| {
        let points = Points { risk, ..points };
        let parts = row.part.iter();
        parts.map(|part| rule::judge(points, part)).collect()
    };
    let mut parts = as_parts_of_one(points.risk, judged);
    if let Some(needs) = &row.needs {
        parts.push(Outcome::new(Verdict::Untestable, format!("needs {needs}")));
    }
    let verdicts: Vec<Verdict> = parts.iter().map(|part| part.verdict).collect();
    let verdict = Verdict::of_parts(&verdicts);
    let beside = row.beside.iter();
    let beside = beside.flat_map(|compared| rule::compared(points, compared));
    let figures = parts.iter().flat_map(|part| part.figures.clone());
    Claim {
        claim: row.text.clone(),
        verdict,
        figures: figures.chain(beside).collect(),
        reason: reason(row, &parts, verdict, points.material.is_quick),
    }
}

/// The parts of a claim that are there. If they differ, one that refutes it must do so as one of so
/// many: of twenty parts one would by chance.
fn as_parts_of_one(risk: Risk, judged: impl Fn(Risk) -> Vec<Option<Outcome>>) -> Vec<Outcome> {
    let mut parts = judged(risk);
    let refutes = |part: &Outcome| part.verdict == Verdict::Contradicted;
    let many = parts.iter().flatten().count();
    if !parts.iter().flatten().all(refutes) {
        let at = |risk| {
            let parts = judged(risk).into_iter();
            parts
                .map(|part| part.as_ref().is_some_and(refutes))
                .collect()
        };
        let shown = holm(many, risk, at);
        for (part, shown) in parts.iter_mut().zip(shown) {
            let part = part.as_mut().filter(|part| refutes(part) && !shown);
            if let Some(part) = part {
                part.verdict = Verdict::Undecided;
                let note = format!("a part is contradicted alone, not as one of {many}");
                part.notes.push(note);
            }
        }
    }
    parts.into_iter().flatten().collect()
}

/// What its words are taken as, why it is judged so, what came out beside the figures.
fn reason(row: &articles::Claim, parts: &[Outcome], verdict: Verdict, is_quick: bool) -> String {
    let words = row.part.iter().filter(|part| !part.is.is_empty());
    let mut said: Vec<String> = words.map(|part| verdict::word(&part.is).said).collect();
    said.push(row.note.clone());
    said.extend(parts.iter().flat_map(|part| part.notes.clone()));
    if is_quick && verdict == Verdict::Undecided {
        said.push("this is the short run: the whole one measures more".to_owned());
    }
    let mut reason: Vec<String> = Vec::new();
    for sentence in said {
        if !sentence.is_empty() && !reason.contains(&sentence) {
            reason.push(sentence);
        }
    }
    reason.join("; ")
}

#[cfg(test)]
mod tests;
