//! `acklab serve`, asked by real requests on loopback.

#[path = "common/fixtures.rs"]
mod fixtures;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use acklab::plan::plan;
use acklab::record::store::Store;
use acklab::record::{Header, Measurement, Second, histogram};
use acklab::study::{Capabilities, Capability, Flavour, Study, written};
use fixtures::unpacked;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Nothing here takes so long.
const LIMIT: Duration = Duration::from_secs(60);

/// A server of a folder, ended with the value.
struct Served {
    child: Child,
    port: u16,
}

impl Served {
    fn of(folder: &Path) -> Served {
        let mut child = Command::new(env!("CARGO_BIN_EXE_acklab"))
            .args(["serve", ".", "--port", "0"])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let port = line
            .strip_prefix("http://127.0.0.1:")
            .and_then(|rest| rest.trim_end().strip_suffix('/'))
            .and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("no address: {line}"));
        Served { child, port }
    }

    fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// Sends a request with these lines below its first.
    fn ask(&self, first: &str, headers: &[&str]) -> Answer {
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let request = format!("{first} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        let mut bytes = Vec::new();
        let mut stream = self.send(&request);
        stream.read_to_end(&mut bytes).expect("an answer");
        let text = String::from_utf8(bytes).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            status: status.unwrap_or_else(|| panic!("no status: {text}")),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[&self.host()])
    }

    fn host(&self) -> String {
        format!("Host: 127.0.0.1:{}", self.port)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answer {
    status: u16,
    /// In small letters.
    head: String,
    body: String,
}

fn study() -> Study {
    let text = "title = \"Served\"\nrounds = 2\nwarmup = \"1s\"\nmeasure = \"2s\"\n\
                [[mode]]\nserver = \"mysql\"\nmode = \"single\"\n\
                [[sweep]]\nworkload = \"update_index\"\nrtt = [\"1ms\", \"2ms\"]\n";
    let capability = Capability {
        flavour: Flavour::Mysql,
        version: None,
        modes: vec!["single".to_owned()],
    };
    let servers = Capabilities {
        servers: [("mysql".to_owned(), capability)].into(),
    };
    let no_file = |_: &str| Err("no file".to_owned());
    written::parse(text, "served.toml", &servers, &no_file).unwrap()
}

fn measurement(cell: usize, commits: u64) -> Measurement {
    let mut latency = histogram::empty();
    latency.record_n(2_000, 500).unwrap();
    Measurement {
        round: 1,
        cell,
        started_unix_ms: 1_000,
        window_s: 2.0,
        load_s: 3.0,
        commits,
        latency_us: histogram::encode(&latency),
        timeline: vec![Second::default(); 3],
        ..Measurement::default()
    }
}

/// A record that is being written, with one measurement.
fn written_record(folder: &Path) -> (PathBuf, Store) {
    let study = study();
    let header = Header {
        cells: plan(&study).cells,
        study,
        started_unix_ms: 1_000,
        ..Header::default()
    };
    let path = folder.join("now.acklab");
    let mut store = Store::create(&path, &header).unwrap();
    store.append(&measurement(0, 246)).unwrap();
    (path, store)
}

#[test]
fn records_are_listed_and_each_has_its_page() {
    let folder = tempfile::tempdir().unwrap();
    unpacked("compare", folder.path());
    unpacked("power-cut", folder.path());
    std::fs::write(folder.path().join("bad.acklab"), "no record").unwrap();
    let served = Served::of(folder.path());
    let list = served.get("/");
    assert_eq!(list.status, 200, "{}", list.body);
    assert!(
        list.body.contains("href=\"/record/compare.acklab\""),
        "{}",
        list.body
    );
    assert!(list.body.contains("another kind of file"), "{}", list.body);
    for name in ["compare", "power-cut"] {
        let page = served.get(&format!("/record/{name}.acklab"));
        assert_eq!(page.status, 200, "{}", page.body);
        let file = folder.path().join(format!("{name}.html"));
        let made = Command::new(env!("CARGO_BIN_EXE_acklab"))
            .args(["report", &format!("{name}.acklab"), "--html"])
            .arg(&file)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        assert!(
            page.body == std::fs::read_to_string(file).unwrap(),
            "{name}: another page"
        );
        // The page's own policy, that it may run its script; and nobody frames it.
        assert!(page.head.contains("script-src 'sha256-"), "{}", page.head);
        assert!(
            page.head.contains("frame-ancestors 'none'"),
            "{}",
            page.head
        );
    }
    let bad = served.get("/record/bad.acklab");
    assert_eq!(bad.status, 500);
    assert!(bad.body.contains("another kind of file"), "{}", bad.body);
}

#[test]
fn only_this_machine_s_own_pages_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    unpacked("anatomy-short", folder.path());
    let served = Served::of(folder.path());
    let own = served.host();
    for (first, headers, status) in [
        ("GET /", vec!["Host: evil.example"], 403),
        ("GET /", vec![], 400),
        (
            "GET /record/anatomy-short.acklab",
            vec!["Host: 127.0.0.1.evil.example"],
            403,
        ),
        ("GET /", vec![&own[..], "Sec-Fetch-Site: cross-site"], 403),
        ("GET /", vec![&own[..], "Sec-Fetch-Site: same-site"], 403),
        ("GET /", vec![&own[..], "Origin: http://evil.example"], 403),
        ("GET /", vec![&own[..], "Sec-Fetch-Site: same-origin"], 200),
        ("GET /", vec!["Host: localhost:1"], 200),
        ("POST /", vec![&own[..], "Content-Length: 0"], 405),
        ("DELETE /record/anatomy-short.acklab", vec![&own[..]], 405),
        ("HEAD /", vec![&own[..]], 200),
        ("GET /nowhere", vec![&own[..]], 404),
    ] {
        let answer = served.ask(first, &headers);
        let expected = if status == 400 {
            [400, 403]
        } else {
            [status, status]
        };
        assert!(
            expected.contains(&answer.status),
            "{first} {headers:?}: {}",
            answer.status
        );
        let is_head = first.starts_with("HEAD");
        assert_eq!(
            answer.body.is_empty(),
            is_head || answer.status == 400,
            "{first}"
        );
        if answer.status == 400 {
            continue;
        }
        for header in [
            "content-security-policy: default-src 'none'",
            "x-content-type-options: nosniff",
            "cross-origin-resource-policy: same-origin",
            "x-frame-options: deny",
        ] {
            assert!(answer.head.contains(header), "{first}: {}", answer.head);
        }
    }
    assert!(folder.path().join("anatomy-short.acklab").exists());
}

#[test]
fn nothing_outside_the_folder_is_read() {
    let outside = tempfile::tempdir().unwrap();
    unpacked("compare", outside.path());
    let folder = outside.path().join("shown");
    std::fs::create_dir(&folder).unwrap();
    let link = folder.join("link.acklab");
    std::os::unix::fs::symlink(outside.path().join("compare.acklab"), link).unwrap();
    let served = Served::of(&folder);
    for path in [
        "/record/../compare.acklab",
        "/record/..%2fcompare.acklab",
        "/record/%2e%2e%2fcompare.acklab",
        "/record/..%5ccompare.acklab",
        "/record//etc/passwd",
        "/record/%2fetc%2fpasswd",
        "/record/link.acklab",
        "/record/%00",
        "/live/..%2fcompare.acklab",
        "/live/..%2fcompare.acklab/events",
    ] {
        let answer = served.get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
    }
    let list = served.get("/");
    assert!(
        list.body.contains("No record is in this folder yet"),
        "{}",
        list.body
    );
}

/// The lines of the next event of that name, without what stands before them.
fn event(lines: &mut impl Iterator<Item = String>, name: &str) -> String {
    let wanted = format!("event: {name}");
    lines
        .find(|line| *line == wanted)
        .unwrap_or_else(|| panic!("no {name}"));
    let data = lines.take_while(|line| !line.is_empty());
    let data = data.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    data.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_record_that_is_written_is_shown_as_it_grows() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut store) = written_record(folder.path());
    let served = Served::of(folder.path());
    let list = served.get("/");
    assert!(list.body.contains("running now"), "{}", list.body);
    let page = served.get("/live/now.acklab");
    assert_eq!(page.status, 200);
    assert!(
        page.body.contains("1 of 4 steps") && page.body.contains("123"),
        "{}",
        page.body
    );
    assert_eq!(served.get("/live.js").status, 200);
    let host = served.host();
    let request = format!("GET /live/now.acklab/events HTTP/1.0\r\n{host}\r\n\r\n");
    let stream = BufReader::new(served.send(&request));
    let mut lines = stream.lines().map(|line| line.expect("a line"));
    let first = event(&mut lines, "state");
    assert!(first.contains("1 of 4 steps"), "{first}");
    store.append(&measurement(1, 888)).unwrap();
    let next = loop {
        let next = event(&mut lines, "state");
        if next.contains("2 of 4 steps") {
            break next;
        }
    };
    assert!(next.contains("444"), "commits/s of the second: {next}");
    store.finish().unwrap();
    assert_eq!(event(&mut lines, "finished"), "yes");
    assert!(
        lines.next().is_none_or(|line| line.is_empty()),
        "nothing more comes"
    );
    let moved = served.get("/live/now.acklab");
    assert_eq!(moved.status, 303);
    assert!(
        moved.head.contains("location: /record/now.acklab"),
        "{}",
        moved.head
    );
    std::fs::remove_file(path).unwrap();
    assert_eq!(served.get("/live/now.acklab").status, 404);
}

#[test]
fn ctrl_c_ends_it_while_a_page_listens() {
    let folder = tempfile::tempdir().unwrap();
    let (_path, _store) = written_record(folder.path());
    let mut served = Served::of(folder.path());
    let host = served.host();
    let request = format!("GET /live/now.acklab/events HTTP/1.1\r\n{host}\r\n\r\n");
    let stream = BufReader::new(served.send(&request));
    let mut lines = stream.lines().map_while(Result::ok);
    event(&mut lines, "state");
    let pid = Pid::from_raw(served.child.id() as i32);
    kill(pid, Signal::SIGINT).unwrap();
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_cannot_be_served_is_a_mistake() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    for (words, said) in [
        (vec!["serve", "--port", &port], "another program has it"),
        (vec!["serve", "absent"], "name a folder that is there"),
        (vec!["serve", "file"], "is a file"),
        (vec!["serve", "--port", "70000"], "70000"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_acklab"))
            .args(&words)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
        assert!(told.contains(said), "{words:?}: {told}");
    }
}
