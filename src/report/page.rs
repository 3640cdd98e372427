//! A page of headings, lines and tables, and how it looks as text and as Markdown.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table as Grid, presets};

use super::entry::Entry;

/// Text is never wider.
pub const WIDTH: usize = 100;

/// A column of words may wrap down to this width, so that no number is broken.
const WORDS_WIDTH_MIN: usize = 10;

/// In a table that is short of room a longer word is broken where a name may be, as
/// `innodb_flush_log_at_trx_commit=2` behind an underscore.
const WORD_WIDTH_MAX: usize = 16;
const NAMES_BREAK_AT: [char; 4] = ['_', '=', '/', '-'];

/// What must not stand apart from its number.
const UNITS: [&str; 9] = [
    "s", "ms", "µs", "%", "GiB", "CPU", "CPUs", "round", "rounds",
];

/// A part of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Title(String),
    Heading(String),
    /// Paragraphs, wrapped where text is narrow.
    Lines(Vec<String>),
    /// What concerns the table above.
    Notes(Vec<String>),
    /// A name and a paragraph each.
    Facts(Vec<(String, String)>),
    Table(Table),
    /// An empty line between two tables.
    Space,
}

/// A table of entries; the first column is a name, the others are figures unless said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Entry>>,
}

/// A column's title, with a line break where text may break it, and whether it holds words.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub title: String,
    pub is_words: bool,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[(&str, bool)]) -> Table {
        let column = |(title, is_words): &(&str, bool)| Column {
            title: (*title).to_owned(),
            is_words: *is_words,
        };
        Table {
            columns: columns.iter().map(column).collect(),
            rows: vec![],
        }
    }

    /// Without the columns that hold nothing at all.
    pub fn without_empty_columns(mut self) -> Table {
        let says = |column: usize| self.rows.iter().any(|row| !row[column].is_nothing());
        let keep: Vec<bool> = (0..self.columns.len()).map(|i| i == 0 || says(i)).collect();
        retain(&mut self.columns, &keep);
        self.rows.iter_mut().for_each(|row| retain(row, &keep));
        self
    }

    fn grid(&self, title: impl Fn(&Column) -> String, text: impl Fn(&Entry) -> String) -> Grid {
        let mut grid = Grid::new();
        grid.set_header(self.columns.iter().map(title));
        grid.add_rows(self.rows.iter().map(|row| row.iter().map(&text)));
        for (index, column) in self.columns.iter().enumerate() {
            if let Some(shown) = grid.column_mut(index).filter(|_| !column.is_words) {
                shown.set_cell_alignment(CellAlignment::Right);
            }
        }
        grid
    }

    fn text(&self) -> String {
        let title = |column: &Column| column.title.clone();
        let mut grid = self.grid(title, Entry::to_string);
        let widths = grid.column_max_content_widths();
        let of = |is_words: bool| {
            let columns = self.columns.iter().zip(&widths);
            columns.filter(move |(column, _)| column.is_words == is_words)
        };
        let sum = |is_words| of(is_words).map(|(_, w)| usize::from(*w)).sum::<usize>();
        let gaps = 2 + self.columns.len();
        let is_roomy = sum(true) + sum(false) + gaps + self.columns.len() <= WIDTH;
        let are_numbers_whole = sum(false) + gaps + WORDS_WIDTH_MIN * of(true).count() <= WIDTH;
        if !is_roomy {
            grid = self.grid(title, |entry| names_broken(&entry.to_string()));
        }
        grid.load_style(presets::NOTHING);
        grid.set_content_arrangement(ContentArrangement::Dynamic);
        grid.set_width(WIDTH as u16);
        for index in 0..self.columns.len() {
            let before = if index == 0 || is_roomy { 2 } else { 1 };
            let gap = (before, u16::from(index == 0));
            if let Some(column) = grid.column_mut(index) {
                column.set_padding(gap);
                if are_numbers_whole && !self.columns[index].is_words {
                    column.set_constraint(ColumnConstraint::ContentWidth);
                }
            }
        }
        grid.lines()
            .map(|line| line.trim_end().to_owned() + "\n")
            .collect()
    }

    fn markdown(&self) -> String {
        let title = |column: &Column| column.title.replace('\n', " ");
        let mut grid = self.grid(title, |entry| escaped(&entry.to_string()));
        grid.load_style(presets::ASCII_MARKDOWN);
        grid.set_content_arrangement(ContentArrangement::Disabled);
        let mut lines: Vec<String> = grid.lines().collect();
        lines[1] = self.columns.iter().map(rule).collect::<String>() + "|";
        lines.join("\n") + "\n"
    }
}

fn rule(column: &Column) -> &'static str {
    if column.is_words { "|---" } else { "|---:" }
}

fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut index = 0;
    items.retain(|_| {
        index += 1;
        keep[index - 1]
    });
}

/// The same, with long words on several lines.
fn names_broken(text: &str) -> String {
    let words = text.split(' ').map(name_broken);
    words.collect::<Vec<String>>().join(" ")
}

fn name_broken(word: &str) -> String {
    let mut lines = vec![String::new()];
    for part in word.split_inclusive(NAMES_BREAK_AT) {
        let last = lines.last_mut().filter(|line| {
            line.is_empty() || line.chars().count() + part.chars().count() <= WORD_WIDTH_MAX
        });
        match last {
            Some(line) => line.push_str(part),
            None => lines.push(part.to_owned()),
        }
    }
    lines.join("\n")
}

/// As text of at most [`WIDTH`] columns.
pub fn text(blocks: &[Block]) -> String {
    blocks.iter().map(text_of).collect()
}

fn text_of(block: &Block) -> String {
    match block {
        Block::Title(title) => wrapped(title, ""),
        Block::Heading(heading) => format!("\n{}", wrapped(heading, "    ")),
        Block::Lines(lines) => lines.iter().map(|line| wrapped(line, "    ")).collect(),
        Block::Notes(notes) => {
            let indented = |note: &String| wrapped(&format!("  {note}"), "      ");
            notes.iter().map(indented).collect()
        }
        Block::Facts(facts) => {
            let fact = |(name, said): &(String, String)| {
                wrapped(&format!("{name:<12}{said}"), &" ".repeat(12))
            };
            facts.iter().map(fact).collect()
        }
        Block::Table(table) => table.text(),
        Block::Space => "\n".to_owned(),
    }
}

/// Breaks at spaces so that no line is wider than [`WIDTH`], if words allow; later lines start with
/// `indent`. Lines that it has of its own, as of a server's log, stay lines.
fn wrapped(line: &str, indent: &str) -> String {
    let mut text = String::new();
    let mut width = 0;
    let begin_anew = |text: &mut String| {
        text.truncate(text.trim_end().len());
        text.push('\n');
        text.push_str(indent);
        indent.len()
    };
    for (number, part) in line.lines().enumerate() {
        let mut part = part;
        if number > 0 {
            width = begin_anew(&mut text);
            part = part.trim_start();
        }
        for word in glued(part) {
            let letters = word.trim_end().chars().count();
            if width + letters > WIDTH && width > indent.len() {
                width = begin_anew(&mut text);
            }
            text.push_str(&word);
            width += word.chars().count();
        }
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// Words with their trailing space; a number and its unit are one word.
fn glued(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in line.split_inclusive(' ') {
        let bare = word.trim_end_matches(|c: char| !c.is_alphabetic() && c != '%');
        match words.last_mut() {
            Some(last) if UNITS.contains(&bare) => last.push_str(word),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// As Markdown.
pub fn markdown(blocks: &[Block]) -> String {
    let parts: Vec<String> = blocks.iter().map(markdown_of).collect();
    parts.join("\n")
}

fn markdown_of(block: &Block) -> String {
    let list = |lines: &[String]| {
        lines
            .iter()
            .map(|line| format!("- {}\n", escaped(line)))
            .collect()
    };
    match block {
        Block::Title(title) => format!("# {}\n", escaped(title)),
        Block::Heading(heading) => format!("## {}\n", escaped(heading)),
        Block::Lines(lines) | Block::Notes(lines) => list(lines),
        Block::Facts(facts) => facts
            .iter()
            .map(|(name, said)| format!("- **{name}:** {}\n", escaped(said)))
            .collect(),
        Block::Table(table) => table.markdown(),
        Block::Space => String::new(),
    }
}

/// A name may hold what Markdown takes for markup.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('_', "\\_")
        .replace('*', "\\*")
        .replace('~', "\\~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_and_long_words_kept() {
        let line = "word ".repeat(50);
        let text = wrapped(&line, "    ");
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert_eq!(text.split_whitespace().count(), 50);
        let long = "x".repeat(150);
        assert_eq!(wrapped(&long, "  "), format!("{long}\n"));
    }

    #[test]
    fn lines_within_a_line_stay_lines() {
        let told = format!("it ended:\n    first {}\n    second", "word ".repeat(25));
        let text = wrapped(&told, "  ");
        let starts: Vec<&str> = text.lines().map(|line| &line[..7]).collect();
        assert_eq!(starts, ["it ende", "  first", "  word ", "  secon"]);
    }

    #[test]
    fn a_long_name_is_broken_where_a_name_may_be() {
        let name = "galera innodb_flush_log_at_trx_commit=2";
        let broken = names_broken(name);
        assert_eq!(broken, "galera innodb_flush_\nlog_at_trx_\ncommit=2");
        assert_eq!(
            names_broken("half-a-word and 1.2 ±0.3 ms"),
            "half-a-word and 1.2 ±0.3 ms"
        );
        let mut table = Table::new(&[("mode", true), ("what it is", true)]);
        table.rows = vec![vec![name.into(), "words ".repeat(30).into()]];
        assert!(!table.text().contains("commi\n"), "{}", table.text());
        assert!(table.text().contains("log_at_trx_"), "{}", table.text());
    }

    #[test]
    fn a_column_without_a_figure_is_left_out() {
        let mut table = Table::new(&[("mode", true), ("a", false), ("b", false)]);
        table.rows = vec![vec!["x".into(), Entry::NOTHING, "1".into()]];
        let table = table.without_empty_columns();
        assert_eq!((table.columns.len(), &table.rows[0][1]), (2, &"1".into()));
    }

    #[test]
    fn markdown_is_not_broken_by_names() {
        let mut table = Table::new(&[("mode", true), ("rate\nper s", false)]);
        table.rows = vec![vec!["a|b_c".into(), "1".into()]];
        let text = markdown(&[Block::Table(table)]);
        assert!(
            text.contains("| a\\|b\\_c |") && text.contains("|---|---:|"),
            "{text}"
        );
        assert!(text.contains("rate per s"));
    }
}
