//! The formats of a report.

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// At most 100 columns wide.
    Text,
    Markdown,
    /// One row per cell.
    Csv,
    /// The [`Summary`](crate::analysis::Summary), documented in docs/record.md.
    Json,
}

impl Format {
    /// All formats, with the names that a command line takes.
    pub const ALL: [(&str, Format); 4] = [
        ("text", Format::Text),
        ("markdown", Format::Markdown),
        ("csv", Format::Csv),
        ("json", Format::Json),
    ];

    /// The format of that name.
    pub fn named(name: &str) -> Option<Format> {
        let mut all = Format::ALL.iter();
        all.find(|(known, _)| *known == name)
            .map(|(_, format)| *format)
    }
}
