//! All figures of all cells as a file that the page itself holds.

use std::io::{Cursor, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::analysis::Summary;
use crate::report::csv;
use crate::report::markup::Element;
use crate::report::numbers::count;
use crate::study::slug;

/// A longer one is packed, so that the page stays below 3 MB.
const PLAIN_MAX: usize = 400_000;

/// A link to it, with every cell of the record.
pub fn csv(summary: &Summary) -> Element {
    let text = csv::render(summary);
    let name = format!("{}.csv", slug(&summary.study));
    let packed = (text.len() > PLAIN_MAX)
        .then(|| packed(&name, &text))
        .flatten();
    let (name, kind, bytes) = match packed {
        Some(packed) => (format!("{name}.zip"), "application/zip", packed),
        None => (name, "text/csv;charset=utf-8", text.into_bytes()),
    };
    let href = format!("data:{kind};base64,{}", STANDARD.encode(&bytes));
    let cells = count(summary.cells.len() as u64, "cell");
    let told = format!("{name}: every figure of {cells}, {}", size(bytes.len()));
    let link = Element::new("a")
        .with("href", href)
        .with("download", &name[..]);
    Element::new("p").child(link.text(told))
}

fn size(bytes: usize) -> String {
    crate::report::numbers::bytes(bytes as f64)
}

/// `None` where it cannot be packed, which memory alone could be the reason of.
fn packed(name: &str, text: &str) -> Option<Vec<u8>> {
    let mut file = ZipWriter::new(Cursor::new(Vec::new()));
    file.start_file(name, SimpleFileOptions::default()).ok()?;
    file.write_all(text.as_bytes()).ok()?;
    Some(file.finish().ok()?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::analysis::example::Example;
    use crate::analysis::summarise;
    use crate::report::markup::check::values;

    fn held(summary: &Summary) -> (String, Vec<u8>) {
        let told = csv(summary).to_string();
        let href = values(&told, "href")[0].to_owned();
        let (kind, rest) = href.split_once(";base64,").expect("a file");
        (kind.to_owned(), STANDARD.decode(rest).expect("base64"))
    }

    #[test]
    fn the_file_is_what_the_report_prints_and_a_long_one_is_packed() {
        let mut summary = summarise(&Example::default().record());
        let (kind, bytes) = held(&summary);
        assert_eq!(kind, "data:text/csv;charset=utf-8");
        assert_eq!(bytes, csv::render(&summary).into_bytes());
        let cells = summary.cells.clone();
        while csv::render(&summary).len() <= PLAIN_MAX {
            summary.cells.extend(cells.clone());
        }
        let (kind, bytes) = held(&summary);
        assert_eq!(kind, "data:application/zip");
        assert!(bytes.len() < PLAIN_MAX, "{}", bytes.len());
        let mut packed = zip::ZipArchive::new(Cursor::new(bytes)).expect("an archive");
        let mut text = String::new();
        packed
            .by_index(0)
            .expect("one file")
            .read_to_string(&mut text)
            .expect("text");
        assert_eq!(text, csv::render(&summary));
    }
}
