//! A headless Chromium that a test talks to over a pipe, by its DevTools protocol: real keys, real
//! mouse, and what the page asks for and complains of.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// What browsers of that kind are called.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// A busy host is slow; a browser that says nothing for so long is broken.
const PATIENCE: Duration = Duration::from_secs(180);

/// One, with one tab.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
    tab: Option<String>,
    session: String,
    /// What happened in the tab since its page was opened.
    events: Vec<Value>,
    address: String,
    _profile: tempfile::TempDir,
}

/// The program's path, if it is installed.
pub fn installed(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = names
        .iter()
        .flat_map(|name| folders.iter().map(move |it| it.join(name)));
    let mut files = all.filter(|path| path.is_file());
    files.next()
}

impl Browser {
    /// `None` where none is installed.
    pub fn start() -> Option<Browser> {
        let program = installed(&NAMES)?;
        let profile = tempfile::tempdir().expect("a folder");
        // The browser reads its third descriptor and writes its fourth.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(program);
        command.args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a shell");
        let (to, out) = (child.stdin.take(), child.stdout.take());
        let (told, from) = channel();
        let mut out = BufReader::new(out.expect("a pipe"));
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while out.read_until(0, &mut bytes).is_ok_and(|read| read > 0) {
                bytes.pop();
                let message = serde_json::from_slice(&bytes).expect("JSON of the browser");
                if told.send(message).is_err() {
                    return;
                }
                bytes.clear();
            }
        });
        Some(Browser {
            child,
            to: to.expect("a pipe"),
            from,
            next: 0,
            tab: None,
            session: String::new(),
            events: vec![],
            address: String::new(),
            _profile: profile,
        })
    }

    /// Asks the browser as a whole.
    pub fn ask_all(&mut self, method: &str, parameters: Value) -> Value {
        self.send(json!({"method": method, "params": parameters}))
    }

    /// Asks the tab.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        let session = &self.session;
        self.send(json!({"method": method, "params": parameters, "sessionId": session}))
    }

    fn send(&mut self, mut message: Value) -> Value {
        self.next += 1;
        let id = self.next;
        message["id"] = json!(id);
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser reads");
        self.to.flush().expect("the browser reads");
        loop {
            let told = self.hear(&message["method"].to_string());
            if told["id"] == json!(id) {
                let (method, error) = (&message["method"], &told["error"]);
                assert!(error.is_null(), "{method}: {error}");
                return told["result"].clone();
            }
            self.events.push(told);
        }
    }

    fn hear(&mut self, what: &str) -> Value {
        let told = self.from.recv_timeout(PATIENCE);
        told.unwrap_or_else(|_| panic!("the browser said nothing to {what}"))
    }

    /// Opens a file in a tab of its own, and waits until it is there.
    pub fn open(&mut self, address: &str, (width, height): (u32, u32), is_dark: bool) {
        if let Some(old) = self.tab.take() {
            self.ask_all("Target.closeTarget", json!({"targetId": old}));
        }
        let tab = self.ask_all("Target.createTarget", json!({"url": "about:blank"}));
        let target = tab["targetId"].as_str().expect("a tab");
        let attach = json!({"targetId": target, "flatten": true});
        let attached = self.ask_all("Target.attachToTarget", attach);
        self.session = attached["sessionId"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        self.tab = Some(target.to_owned());
        self.events.clear();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.ask(&format!("{domain}.enable"), json!({}));
        }
        self.look(width, height, is_dark);
        self.address = address.to_owned();
        self.ask("Page.navigate", json!({"url": address}));
        self.wait_for("Page.loadEventFired");
    }

    fn wait_for(&mut self, event: &str) {
        let is_it = |told: &Value| told["method"] == json!(event);
        while !self.events.iter().any(is_it) {
            let told = self.hear(event);
            self.events.push(told);
        }
    }

    /// How large the window is, and which ground the reader asks for.
    pub fn look(&mut self, width: u32, height: u32, is_dark: bool) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let scheme = if is_dark { "dark" } else { "light" };
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.ask("Emulation.setEmulatedMedia", json!({"features": [feature]}));
    }

    /// What an expression comes to in the page; promises are waited for.
    pub fn tell(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let told = self.ask("Runtime.evaluate", asked);
        let wrong = &told["exceptionDetails"];
        let start: String = expression.chars().take(120).collect();
        assert!(wrong.is_null(), "{start}: {wrong}");
        told["result"]["value"].clone()
    }

    /// The same as a text.
    pub fn text(&mut self, expression: &str) -> String {
        let told = self.tell(expression);
        told.as_str().unwrap_or_default().to_owned()
    }

    /// Where the middle of an element is seen, brought into sight.
    fn middle(&mut self, selector: &str) -> (f64, f64) {
        let told = self.tell(&format!(
            "(function () {{
                const it = document.querySelector({selector:?});
                it.scrollIntoView({{block: 'center', behavior: 'instant'}});
                const box = it.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            }}())"
        ));
        let number = |place: usize| told[place].as_f64().expect("a place");
        (number(0), number(1))
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1});
        self.ask("Input.dispatchMouseEvent", event);
    }

    /// Points at the middle of an element, or beside it.
    pub fn point_at(&mut self, selector: &str, (right, down): (f64, f64)) {
        let (x, y) = self.middle(selector);
        self.mouse("mouseMoved", (x + right, y + down));
    }

    /// Clicks it.
    pub fn click(&mut self, selector: &str) {
        let place = self.middle(selector);
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            self.mouse(kind, place);
        }
    }

    /// Presses a key on what has the focus.
    pub fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "code": key,
                "windowsVirtualKeyCode": code});
            self.ask("Input.dispatchKeyEvent", event);
        }
    }

    /// Types a text in place of what stands in a field.
    pub fn write(&mut self, selector: &str, text: &str) {
        self.tell(&format!("document.querySelector({selector:?}).select()"));
        self.ask("Input.insertText", json!({"text": text}));
    }

    /// What the page asked others for, and what it complained of.
    pub fn complaints(&self) -> Vec<String> {
        let told = |event: &Value| {
            let is = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(format!("exception: {}", is["exceptionDetails"])),
                "Runtime.consoleAPICalled" => Some(format!("console: {}", is["args"])),
                "Log.entryAdded" => Some(format!("log: {}", is["entry"]["text"])),
                "Network.requestWillBeSent" => {
                    let address = is["request"]["url"].as_str()?;
                    let own = self.address.split('#').next()?;
                    let is_own = address == own || address.starts_with("data:");
                    (!is_own).then(|| format!("request: {address}"))
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(told).collect()
    }

    /// Keeps what is seen between two heights as a PNG.
    pub fn keep(&mut self, path: &Path, (from, height): (f64, f64)) {
        let wide = self.tell("document.documentElement.clientWidth");
        let clip = json!({"x": 0, "y": from, "width": wide, "height": height, "scale": 1});
        let asked = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let shot = self.ask("Page.captureScreenshot", asked);
        self.keep_bytes(path, &shot["data"]);
    }

    /// Keeps the page as it is printed, as a PDF.
    pub fn print(&mut self, path: &Path) {
        let told = self.ask("Page.printToPDF", json!({"printBackground": false}));
        self.keep_bytes(path, &told["data"]);
    }

    fn keep_bytes(&self, path: &Path, data: &Value) {
        let bytes = STANDARD.decode(data.as_str().expect("a picture"));
        std::fs::write(path, bytes.expect("base64")).expect("a file");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let message = json!({"id": 0, "method": "Browser.close"}).to_string();
        let _ = self.to.write_all(message.as_bytes());
        let _ = self.to.write_all(&[0]);
        let _ = self.to.flush();
        // It ends by itself; if it does not, it is ended.
        for _ in 0..100 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
