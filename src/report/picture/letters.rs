//! Texts in a picture, and how much room they take.

use crate::report::markup::Element;

/// Height of usual texts, and of figures at axes, in pixels.
pub const TEXT: f64 = 14.0;
pub const SMALL: f64 = 12.0;
/// From a line to the next.
pub const LINE: f64 = 18.0;

/// Shares of a font's height that letters take, in a wide font (DejaVu Sans): the reader's own may
/// be narrower.
const NARROW: f64 = 0.34;
const SLIM: f64 = 0.43;
const USUAL: f64 = 0.64;
const CAPITAL: f64 = 0.74;
const WIDE: f64 = 1.0;

/// On which side of its place a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn word(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A line of text, at its foot.
pub fn line(text: &str, (x, y): (f64, f64), size: f64, anchor: Anchor) -> Element {
    let mut element = Element::new("text").at("x", x).at("y", y);
    if size != TEXT {
        element = element.at("font-size", size);
    }
    if anchor != Anchor::Start {
        element = element.with("text-anchor", anchor.word());
    }
    element.text(text)
}

/// How wide a text is at most, in pixels.
pub fn width(text: &str, size: f64) -> f64 {
    let share = |c: char| match c {
        'i' | 'j' | 'l' | '|' | '!' | '.' | ',' | ':' | ';' | '\'' | ' ' => NARROW,
        'f' | 'r' | 't' | 'I' | '(' | ')' | '[' | ']' | '-' | '/' | '"' => SLIM,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '—' | '…' => WIDE,
        c if c.is_uppercase() => CAPITAL,
        // Letters of East Asia are as wide as they are high.
        c if c as u32 >= 0x2E80 => WIDE,
        _ => USUAL,
    };
    size * text.chars().map(share).sum::<f64>()
}

/// A text in lines that are no wider than that, in pixels. Words break only where one alone is
/// wider.
pub fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text
        .split_whitespace()
        .flat_map(|word| parts(word, size, most))
    {
        let fits = |line: &&mut String| width(&format!("{line} {word}"), size) <= most;
        match lines.last_mut().filter(fits) {
            Some(line) => {
                line.push(' ');
                line.push_str(&word);
            }
            None => lines.push(word),
        }
    }
    lines
}

/// A word, in pieces if it is too wide.
fn parts(word: &str, size: f64, most: f64) -> Vec<String> {
    let mut all = vec![String::new()];
    for c in word.chars() {
        let last = all.last().map_or("", String::as_str);
        if !last.is_empty() && width(&format!("{last}{c}"), size) > most {
            all.push(String::new());
        }
        if let Some(last) = all.last_mut() {
            last.push(c);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_lose_nothing() {
        let text = "mysql semisync innodb_flush_log_at_trx_commit=2 sync_binlog=0 and so on";
        for most in [40.0, 120.0, 400.0] {
            let lines = wrapped(text, TEXT, most);
            assert!(
                lines.iter().all(|line| width(line, TEXT) <= most),
                "{lines:?}"
            );
            let told: String = lines.concat();
            let letters = |text: &str| text.replace(' ', "");
            assert_eq!(letters(&told), letters(text));
        }
        assert_eq!(wrapped("", TEXT, 100.0), [] as [&str; 0]);
        assert_eq!(wrapped("a b", TEXT, 100.0), ["a b"]);
    }

    #[test]
    fn wide_letters_take_more_room() {
        assert!(width("MMM", TEXT) > 2.0 * width("iii", TEXT));
        assert!((width("aa", 10.0) - 12.8).abs() < 1e-9);
    }
}
