//! What a terminal shows of a run.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Gauge, Paragraph, Row as Cells, Sparkline, Table};

use super::state::{Live, NodeLag, Row, Trial};
use super::words::minutes_and_seconds;
use crate::report::numbers::{NOTHING, count, digits, or_nothing, time};

const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
const SOFT: Style = Style::new().add_modifier(Modifier::DIM);
const DOUBT: Style = Style::new().fg(Color::Yellow);
const BAD: Style = Style::new().fg(Color::Red);

const FOOT: &str = "Ctrl-C ends the run after its next step; what is finished is kept";
const STOPPING: &str = "stopping after this step; Ctrl-C again ends it at once";
/// Rows of the bars of seconds, and of what was said last.
const BARS: u16 = 3;
const SAID: usize = 3;
/// Columns of the lag of all replicas.
const LAG_MAX: usize = 34;

/// Draws all that is known at that moment; `is_stopping`: the user has asked to stop.
pub fn draw(frame: &mut Frame, live: &Live, now: Duration, is_stopping: bool) {
    let said = live.words.len().min(SAID) as u16;
    let has = |is_there: bool, rows: u16| Constraint::Length(if is_there { rows } else { 0 });
    let first = live.preliminary.len() as u16;
    let fill = |is_there: bool, share: u16| match is_there {
        true => Constraint::Fill(share),
        false => Constraint::Length(0),
    };
    let all_rows = !live.rows.is_empty() || live.trials.is_empty();
    let parts: [Rect; 8] = Layout::vertical([
        Constraint::Length(4),
        has(!live.seconds.is_empty(), BARS + 2),
        fill(all_rows, 2),
        fill(!live.trials.is_empty(), 1),
        has(first > 0, first + 1),
        has(said > 0, said + 1),
        Constraint::Length(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    head(frame, parts[0], live, now);
    seconds(frame, parts[1], live);
    if !live.rows.is_empty() {
        frame.render_widget(rows(live), parts[2]);
    }
    if !live.trials.is_empty() {
        frame.render_widget(trials(live), parts[3]);
    }
    let preliminary = live.preliminary.iter().map(|line| Line::from(&line[..]));
    frame.render_widget(Paragraph::new(preliminary.collect::<Vec<_>>()), parts[4]);
    let words = live.words.iter().rev().take(SAID).rev();
    let words = words.map(|line| Line::styled(&line[..], SOFT));
    frame.render_widget(Paragraph::new(words.collect::<Vec<_>>()), parts[5]);
    let foot = match is_stopping {
        true => Line::styled(STOPPING, DOUBT),
        false => Line::styled(FOOT, SOFT),
    };
    frame.render_widget(foot, parts[7]);
}

/// Title, progress and time left, what is done now.
fn head(frame: &mut Frame, area: Rect, live: &Live, now: Duration) {
    let [title, bar, doing, _]: [Rect; 4] =
        Layout::vertical([Constraint::Length(1); 4]).areas(area);
    let since = format!("{} since the start", minutes_and_seconds(now));
    let [name, clock] = Layout::horizontal([
        Constraint::Fill(1),
        Constraint::Length(since.chars().count() as u16),
    ])
    .areas(title);
    frame.render_widget(Line::styled(&live.title[..], STRONG), name);
    frame.render_widget(Line::from(since), clock);
    let (done, all) = live.ahead.done_of();
    let share = done as f64 / all.max(1) as f64;
    let left = minutes_and_seconds(live.left(now));
    let label = match all {
        0 => "steps are not known yet".to_owned(),
        _ if live.ends_by_itself => format!("{done} of {all} steps or more, {left} left or more"),
        _ => format!("{done} of {all} steps, about {left} left"),
    };
    let gauge = Gauge::default().ratio(share.clamp(0.0, 1.0)).label(label);
    frame.render_widget(gauge, bar);
    let doing_for = minutes_and_seconds(now.saturating_sub(live.since));
    let line = Line::from(vec![
        Span::styled(&live.now[..], STRONG),
        Span::styled(format!("  for {doing_for}"), SOFT),
    ]);
    frame.render_widget(line, doing);
}

/// Commits of each second, as far as the driver has given account.
fn seconds(frame: &mut Frame, area: Rect, live: &Live) {
    let commits: Vec<u64> = live.seconds.iter().map(|(_, commits)| *commits).collect();
    let (Some(last), Some(most)) = (commits.last(), commits.iter().max()) else {
        return;
    };
    let [title, bars, _] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(BARS),
        Constraint::Length(1),
    ])
    .areas(area);
    let said = format!(
        "commits in each of {}: last {last}, most {most}",
        count(commits.len() as u64, "second")
    );
    frame.render_widget(Line::styled(said, SOFT), title);
    // The newest stand at the right end.
    let from = commits.len().saturating_sub(bars.width.into());
    frame.render_widget(Sparkline::default().data(&commits[from..]), bars);
}

fn rows(live: &Live) -> Table<'_> {
    let widest = |least: usize, text: fn(&Row) -> &str| {
        let widths = live.rows.iter().map(|row| text(row).chars().count());
        Constraint::Length(widths.max().unwrap_or(0).max(least) as u16)
    };
    let lag = live.rows.iter().map(|row| lags(&row.lags).chars().count());
    let lag = lag.max().unwrap_or(0).clamp(3, LAG_MAX) as u16;
    let widths = [
        Constraint::Length(5),
        widest(4, |row| &row.label),
        widest(4, |row| &row.load),
        widest(5, |row| &row.distances),
        Constraint::Length(9),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(lag),
        Constraint::Fill(1),
    ];
    let titles = [
        "round",
        "mode",
        "load",
        "sites",
        "commits/s",
        "p50",
        "p99",
        "lag",
        "flags",
    ];
    let titles = titles.iter().enumerate().map(|(column, title)| {
        let line = Line::from(*title);
        Cell::from(if (4..7).contains(&column) {
            line.right_aligned()
        } else {
            line
        })
    });
    let titles = Cells::new(titles).style(SOFT);
    Table::new(live.rows.iter().map(row), widths).header(titles)
}

fn row(row: &Row) -> Cells<'_> {
    let right = |text: String| Cell::from(Line::from(text).right_aligned());
    let latency = |us: Option<u64>| or_nothing(us.map(|us| us as f64), time);
    let flags: Vec<&str> = row.flags.iter().map(|flag| flag.name()).collect();
    let flags = match row.is_void {
        true => format!("void: {}", flags.join(" ")),
        false => flags.join(" "),
    };
    Cells::new([
        Cell::from(row.round.to_string()),
        Cell::from(&row.label[..]),
        Cell::from(&row.load[..]),
        Cell::from(&row.distances[..]),
        right(digits(row.commits_per_s, 1)),
        right(latency(row.latency_us_p50)),
        right(latency(row.latency_us_p99)),
        Cell::from(lags(&row.lags)),
        Cell::from(flags).style(DOUBT),
    ])
}

/// `b 1.20 ms, c 3.00 ms`
pub fn lags(lags: &[NodeLag]) -> String {
    let lag = |lag: &NodeLag| format!("{} {}", lag.node, or_nothing(lag.ms.map(us), time));
    lags.iter().map(lag).collect::<Vec<_>>().join(", ")
}

fn us(ms: f64) -> f64 {
    ms * 1e3
}

fn trials(live: &Live) -> Table<'_> {
    let widest = |least: usize, text: fn(&Trial) -> &str| {
        let widths = live.trials.iter().map(|trial| text(trial).chars().count());
        Constraint::Length(widths.max().unwrap_or(0).max(least) as u16)
    };
    let widths = [
        Constraint::Length(5),
        widest(4, |trial| &trial.label),
        widest(5, |trial| &trial.fault),
        Constraint::Length(12),
        Constraint::Length(7),
        Constraint::Fill(1),
    ];
    let titles = ["trial", "mode", "fault", "acknowledged", "missing", ""];
    let titles = Cells::new(titles).style(SOFT);
    Table::new(live.trials.iter().map(trial), widths).header(titles)
}

fn trial(trial: &Trial) -> Cells<'_> {
    let missing = trial.missing.map_or(NOTHING.to_owned(), |n| n.to_string());
    let style = match trial.missing {
        Some(1..) => BAD,
        _ => Style::new(),
    };
    let trouble = trial.trouble.as_deref().unwrap_or_default();
    Cells::new([
        Cell::from(trial.number.to_string()),
        Cell::from(&trial.label[..]),
        Cell::from(&trial.fault[..]),
        Cell::from(trial.acknowledged.to_string()),
        Cell::from(missing).style(style),
        Cell::from(trouble).style(DOUBT),
    ])
}
