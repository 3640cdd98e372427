//! The page in a real browser: what it says, what it asks for, what its sliders and switches do, and
//! whether its model is the program's. Without a Chromium these tests say so, and pass; the model is
//! then held against the program's by node, if that is there.
//!
//! What the browser showed is kept in the folder `page` of the target's `tmp`, to be looked at.

#[path = "page/axe.rs"]
mod axe;
#[path = "page/browser.rs"]
mod browser;
#[path = "common/fixtures.rs"]
mod fixtures;
#[path = "page/points.rs"]
mod points;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use browser::Browser;
use fixtures::unpacked;

/// Kept records of each kind.
const KEPT: [&str; 5] = [
    "compare",
    "group-replication-2017",
    "power-cut",
    "anatomy-short",
    "group-commit",
];

/// Where what was seen is kept.
fn seen() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Records and pages that are there, by name: each is made once.
static MADE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The packed record of that name, unpacked, and its page as the program writes it.
fn record_and_page(name: &str) -> (PathBuf, PathBuf) {
    let page = seen().join(format!("{name}.html"));
    let record = page.with_extension("acklab");
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if made.contains(name) {
        return (record, page);
    }
    unpacked(name, &seen());
    let mut command = Command::new(env!("CARGO_BIN_EXE_acklab"));
    command.arg("report").arg(&record).arg("--html").arg(&page);
    let output = command.output().expect("the program");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    made.insert(name.to_owned());
    (record, page)
}

fn page(name: &str) -> PathBuf {
    record_and_page(name).1
}

fn address(page: &Path) -> String {
    format!("file://{}", page.display())
}

/// A browser, or words to those who look why there is none.
fn browser() -> Option<Browser> {
    let browser = Browser::start();
    if browser.is_none() {
        println!("skipped: no Chromium is installed");
    }
    browser
}

const DESK: (u32, u32) = (1280, 900);
const PHONE: (u32, u32) = (400, 800);

/// Texts of pictures that reach beyond them, and what is wider than the window.
const CUT: &str = "(function () {
    const wrong = [];
    const wide = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > wide) {
        wrong.push('the page is ' + document.documentElement.scrollWidth + ' wide');
    }
    document.querySelectorAll('svg.picture').forEach(function (picture) {
        const frame = picture.getBoundingClientRect();
        if (frame.width === 0) return;
        picture.querySelectorAll('text').forEach(function (text) {
            const box = text.getBoundingClientRect();
            const isOut = box.left < frame.left - 1 || box.right > frame.right + 1 ||
                box.top < frame.top - 2 || box.bottom > frame.bottom + 2;
            if (isOut) wrong.push('cut: ' + text.textContent);
        });
        const texts = Array.from(picture.querySelectorAll('text'), function (text) {
            return [text.textContent, text.getBoundingClientRect()];
        });
        texts.forEach(function (one, place) {
            texts.slice(place + 1).forEach(function (other) {
                const a = one[1];
                const b = other[1];
                const isApart = a.right <= b.left + 1 || b.right <= a.left + 1 ||
                    a.bottom <= b.top + 4 || b.bottom <= a.top + 4;
                if (!isApart) wrong.push(one[0] + ' lies on ' + other[0]);
            });
        });
    });
    document.querySelectorAll('h1, h2, h3, p, li, figcaption, label, button').forEach(function (it) {
        const box = it.getBoundingClientRect();
        const isHidden = box.width <= 1 || it.closest('.scroll') || it.closest('.skip');
        if (!isHidden && box.right > wide + 1) wrong.push('beyond the window: ' + it.textContent);
    });
    return wrong;
}())";

/// Shows a page of a whole, in pieces that can be looked at.
fn keep_whole(browser: &mut Browser, name: &str) {
    let height = browser.tell("document.documentElement.scrollHeight");
    let height = height.as_f64().expect("a height");
    let piece = 1_800.0;
    for place in 0..6 {
        let from = f64::from(place) * piece;
        if from < height {
            let path = seen().join(format!("{name}-{place}.png"));
            browser.keep(&path, (from, piece.min(height - from)));
        }
    }
}

#[test]
fn no_page_asks_anybody_complains_or_is_cut() {
    let Some(mut browser) = browser() else { return };
    for name in KEPT {
        let page = page(name);
        for (size, look) in [(DESK, "1280"), (PHONE, "400")] {
            for (is_dark, ground) in [(false, "light"), (true, "dark")] {
                browser.open(&address(&page), size, is_dark);
                let wrong = browser.tell(CUT);
                assert_eq!(wrong, serde_json::json!([]), "{name}, {look}");
                keep_whole(&mut browser, &format!("{name}-{look}-{ground}"));
                let said = browser.complaints();
                assert_eq!(said, [""; 0], "{name}, {look}, {ground}");
            }
        }
        browser.print(&seen().join(format!("{name}.pdf")));
    }
}

#[test]
fn a_complaint_a_request_and_a_cut_text_are_seen() {
    let Some(mut browser) = browser() else { return };
    let path = seen().join("bad.html");
    let bad = "<!DOCTYPE html><title>x</title><img src=\"gone.png\"><script>undefined.x</script>\
               <svg class=\"picture\" viewBox=\"0 0 90 20\"><text x=\"80\" y=\"15\">cut off</text>\
               <text x=\"5\" y=\"15\">on</text><text x=\"8\" y=\"15\">another</text></svg>";
    std::fs::write(&path, bad).expect("a file");
    browser.open(&address(&path), DESK, false);
    let said = browser.complaints().join("\n");
    assert!(
        said.contains("exception: ") && said.contains("gone.png"),
        "{said}"
    );
    let wrong = browser.tell(CUT).to_string();
    assert!(
        wrong.contains("cut: cut off") && wrong.contains("on lies on another"),
        "{wrong}"
    );
}

#[test]
fn nobody_is_kept_out() {
    let Some(mut browser) = browser() else { return };
    let script = match axe::script() {
        Ok(script) => script,
        Err(why) => return println!("skipped: axe-core is not here: {why}"),
    };
    let bad = seen().join("no-names.html");
    std::fs::write(
        &bad,
        "<!DOCTYPE html><title>x</title><img src=\"data:,\"><input>",
    )
    .unwrap();
    browser.open(&address(&bad), DESK, false);
    let faults = axe::faults(&mut browser, &script);
    assert!(
        faults.len() >= 2,
        "axe sees a picture and a field without a name: {faults:?}"
    );
    for name in KEPT {
        let page = page(name);
        let looks = [(DESK, false), (DESK, true), (PHONE, false)];
        // The others are built of the same parts.
        let looks = if name == "compare" {
            &looks[..]
        } else {
            &looks[..2]
        };
        for &(size, is_dark) in looks {
            browser.open(&address(&page), size, is_dark);
            // What is folded is looked at, too.
            browser.tell("document.querySelectorAll('details').forEach(d => { d.open = true; })");
            let faults = axe::faults(&mut browser, &script);
            assert_eq!(faults, [""; 0], "{name}, {size:?}, dark: {is_dark}");
        }
    }
}

const OUTPUT: &str = "document.querySelector('#FIGURE output').textContent";

#[test]
fn what_is_pointed_at_is_told_and_lines_can_be_switched_off() {
    let Some(mut browser) = browser() else { return };
    browser.open(&address(&page("group-replication-2017")), DESK, false);
    let id = |browser: &mut Browser, inside: &str| {
        browser.text(&format!(
            "document.querySelector('{inside}').closest('figure').id"
        ))
    };
    // A mark, by mouse, then by keys.
    let figure = id(&mut browser, "figure .series + .series .point");
    let said = OUTPUT.replace("FIGURE", &figure);
    browser.point_at(&format!("#{figure} .point .mark"), (0.0, 0.0));
    let told = browser.text(&said);
    assert!(told.contains(", ") && told.contains(" to "), "{told}");
    browser.tell(&format!("document.querySelector('#{figure} svg').focus()"));
    browser.press("ArrowRight", 39);
    let next = browser.text(&said);
    assert!(!next.is_empty() && next != told, "{told} {next}");
    // A switch.
    let shown = format!("document.querySelectorAll('#{figure} .series:not(.off)').length");
    let before = browser.tell(&shown).as_u64();
    browser.click(&format!("#{figure} button[aria-pressed]"));
    assert_eq!(browser.tell(&shown).as_u64(), before.map(|count| count - 1));
    browser.click(&format!("#{figure} button[aria-pressed]"));
    assert_eq!(browser.tell(&shown).as_u64(), before);
    assert_eq!(browser.complaints(), [""; 0]);
    // A line without marks.
    browser.open(&address(&page("power-cut")), DESK, false);
    let curve = id(&mut browser, "figure .series[data-figures]");
    browser.point_at(&format!("#{curve} svg"), (20.0, 0.0));
    let told = browser.text(&OUTPUT.replace("FIGURE", &curve));
    assert!(told.contains("commits/s at "), "{told}");
    browser.tell(&format!("document.querySelector('#{curve} svg').focus()"));
    browser.press("ArrowRight", 39);
    let next = browser.text(&OUTPUT.replace("FIGURE", &curve));
    assert!(
        next.contains("commits/s at ") && next != told,
        "{told} {next}"
    );
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_table_is_taken_along() {
    let Some(mut browser) = browser() else { return };
    browser.open(&address(&page("compare")), DESK, false);
    let allow = serde_json::json!({"permissions":
        ["clipboardReadWrite", "clipboardSanitizedWrite"]});
    browser.ask_all("Browser.grantPermissions", allow);
    browser.ask("Page.bringToFront", serde_json::json!({}));
    // The button says so for a moment only.
    browser.text(
        "(function () {
            var button = document.querySelector('#answer .tools button');
            window.said = [];
            new MutationObserver(function () { said.push(button.textContent); })
                .observe(button, {characterData: true, childList: true, subtree: true});
            return '';
        })()",
    );
    browser.click("#answer .tools button");
    let told = browser.text("navigator.clipboard.readText()");
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines.len() == 7 && lines[0].starts_with("mode,"), "{told}");
    assert!(lines[3].starts_with("mysql semisync,"), "{told}");
    assert_eq!(browser.text("said[0]"), "Copied");
}

/// All cells of the table that the sliders move.
const TABLE: &str = "Array.from(document.querySelectorAll('table.foretold [data-of]'), \
                     function (cell) { return cell.textContent; }).join('|')";

#[test]
fn sliders_move_the_table_and_the_address_holds_their_place() {
    let Some(mut browser) = browser() else { return };
    for name in ["compare", "group-replication-2017"] {
        let page = page(name);
        browser.open(&address(&page), DESK, false);
        let first = browser.text(TABLE);
        assert_eq!(
            first,
            as_it_stood(&mut browser, &page, TABLE),
            "{name}: no slider was moved"
        );
        let lines = "document.getElementById('place-beside').textContent.replace(/\\n/g, '')";
        let told = browser.text(lines);
        assert_eq!(told, as_it_stood(&mut browser, &page, lines));
        browser.click("[data-name=rtt-all] input[type=range]");
        browser.press("ArrowRight", 39);
        let moved = browser.text(TABLE);
        assert!(moved != first, "{name}");
        browser.click("#place-rtt-0");
        browser.write("#place-rtt-0", "30");
        let text = browser.text("document.getElementById('place-told').textContent");
        assert!(text.contains("–b 30.0 ms"), "{text}");
        let told = browser.text(lines);
        assert!(told.contains("outside, ") || name != "compare", "{told}");
        let command = browser.text("document.getElementById('place-command').textContent");
        assert!(command.contains("ab=30ms"), "{command}");
        settle(&mut browser);
        let hash = browser.text("location.hash");
        assert!(hash.starts_with("#foretold?rtt=30,"), "{hash}");
        let there = browser.text(TABLE);
        browser.open(&format!("{}{hash}", address(&page)), DESK, false);
        assert_eq!(
            browser.text(TABLE),
            there,
            "{name}: a link leads to the same place"
        );
        let top = browser.tell("document.getElementById('foretold').getBoundingClientRect().top");
        assert!(top.as_f64().is_some_and(|top| top.abs() < 200.0), "{top}");
        let bars = browser.tell("document.querySelectorAll('#foretold-p50 .bar').length");
        // Of each mode that something is foretold of: two of the second record.
        assert!(bars.as_u64() >= Some(2), "{bars}");
        browser.keep(&seen().join(format!("{name}-sliders.png")), (0.0, 3_000.0));
        assert_eq!(browser.complaints(), [""; 0]);
    }
}

/// What an expression comes to in the file as it is, before any script ran.
fn as_it_stood(browser: &mut Browser, page: &Path, expression: &str) -> String {
    let text = std::fs::read_to_string(page).expect("a page");
    let text = serde_json::json!(text).to_string();
    let inside = expression.replace("document.", "bare.");
    browser.text(&format!(
        "(function (bare) {{ return {inside}; }}(\
         new DOMParser().parseFromString({text}, 'text/html')))"
    ))
}

/// Until the search for the most that can be carried is over, too.
fn settle(browser: &mut Browser) {
    browser.tell("new Promise(function (done) { setTimeout(done, 1000); })");
}

#[test]
fn many_connections_have_commits_per_second_and_nonsense_in_the_address_changes_nothing() {
    let Some(mut browser) = browser() else { return };
    let page = page("group-replication-2017");
    let hash = "#foretold?rtt=1,1,1&cpu=4&connections=32";
    browser.open(&format!("{}{hash}", address(&page)), DESK, false);
    let place = browser.text("document.getElementById('place-told').textContent");
    assert!(
        place.contains("32 connections; 4 CPUs for each node"),
        "{place}"
    );
    let shown = browser.tell("!document.getElementById('foretold-per-s').hidden");
    assert_eq!(shown, serde_json::json!(true));
    browser.open(&address(&page), DESK, false);
    let first = browser.text(TABLE);
    let hash = "#foretold?rtt=x,,-&cpu=&connections=NaN&flush=&a&=&%%";
    browser.open(&format!("{}{hash}", address(&page)), DESK, false);
    assert_eq!(browser.text(TABLE), first);
    let huge = "#foretold?rtt=1e99&connections=1e9&cpu=-3";
    browser.open(&format!("{}{huge}", address(&page)), DESK, false);
    let place = browser.text("document.getElementById('place-told').textContent");
    assert!(
        place.contains("60.0 s") && place.contains("1000 connections; 1 CPU "),
        "{place}"
    );
    assert_eq!(browser.complaints(), [""; 0]);
}
