//! A part of the page with its heading.

use crate::report::markup::Element;

/// One part.
pub struct Section {
    id: &'static str,
    title: &'static str,
    inside: Vec<Element>,
}

impl Section {
    /// `None` where there is nothing to say: no heading stands alone.
    pub fn of(id: &'static str, title: &'static str, inside: Vec<Element>) -> Option<Section> {
        (!inside.is_empty()).then_some(Section { id, title, inside })
    }

    /// Its line in the list of all.
    pub fn link(&self) -> Element {
        let link = Element::new("a").with("href", format!("#{}", self.id));
        Element::new("li").child(link.text(self.title))
    }

    pub fn element(self) -> Element {
        let heading = format!("{}-heading", self.id);
        let section = Element::new("section").with("id", self.id);
        let section = section.with("aria-labelledby", &heading[..]);
        let title = Element::new("h2").with("id", heading).text(self.title);
        section.child(title).children(self.inside)
    }
}
