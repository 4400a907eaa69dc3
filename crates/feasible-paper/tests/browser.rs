//! The page where it will be read: headless Chromium opens it, finds no error and no request, and
//! a chart shows its values when pointed at.
//!
//! ```text
//! cargo test -p feasible-paper --test browser -- --ignored
//! ```
//!
//! Needs `chromium` (or what CHROMIUM names) and a POSIX shell. Screenshots, light and dark, wide
//! and narrow, go to SCREENSHOTS if that names a directory. The browser is spoken to through two
//! pipes, a JSON message each way, without any library.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use feasible_paper::{Reproduction, compas};
use feasible_problem::spec::Override;
use feasible_problem::{Plan, ProblemSource};
use feasible_report::Report;
use feasible_run::{FitOptions, SweepOptions, fit, sweep};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Browser {
    process: Child,
    to: File,
    from: BufReader<File>,
    session: Option<String>,
    messages: u64,
    /// What the page did on its own.
    events: Vec<Value>,
}

impl Browser {
    fn start(scratch: &Path) -> Self {
        let [to, from] = ["to", "from"].map(|name| scratch.join(name));
        for pipe in [&to, &from] {
            assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        }
        let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".into());
        // Descriptors 3 and 4 are where the browser listens and speaks.
        let script = r#"exec "$0" --headless --no-sandbox --disable-gpu --hide-scrollbars \
            --remote-debugging-pipe --user-data-dir="$1/profile" about:blank 3<"$1/to" 4>"$1/from""#;
        let process = Command::new("sh")
            .args(["-c", script, &program])
            .arg(scratch)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = File::options().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let mut browser =
            Self { process, to, from, session: None, messages: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", target);
        browser.session = session["sessionId"].as_str().map(String::from);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert!(bytes.pop() == Some(0), "the browser has gone");
        serde_json::from_slice(&bytes).unwrap()
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.messages += 1;
        let mut message = json!({ "id": self.messages, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == self.messages {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Opens a page and waits until it is there.
    fn open(&mut self, page: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": format!("file://{}", page.display()) }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive();
            self.events.push(event);
        }
    }

    fn evaluate(&mut self, expression: &str) -> Value {
        let answer = self
            .call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// As wide as a window or a phone, light or dark.
    fn look(&mut self, width: u32, scheme: &str) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    fn screenshot(&mut self, file: &str) {
        if std::env::var_os("SCREENSHOTS").is_none() {
            return;
        }
        let whole = json!({ "captureBeyondViewport": true });
        let answer = self.call("Page.captureScreenshot", whole);
        self.keep(file, &base64(answer["data"].as_str().unwrap()));
    }

    fn keep(&self, file: &str, bytes: &[u8]) {
        let Some(directory) = std::env::var_os("SCREENSHOTS") else { return };
        fs::create_dir_all(&directory).unwrap();
        fs::write(Path::new(&directory).join(file), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Our own child, by its id.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|byte| DIGITS.iter().position(|&d| d == byte));
    let digits: Vec<u32> = digits.map(|digit| digit as u32).collect();
    let bytes = |chunk: &[u32]| {
        let bits = chunk.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - chunk.len()));
        let whole = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
        whole[..chunk.len() * 6 / 8].to_vec()
    };
    digits.chunks(4).flat_map(bytes).collect()
}

impl Browser {
    /// Opens a page wide and narrow, light and dark: no message, no request, nothing too wide.
    fn inspect(&mut self, page: &Path, name: &str) {
        for (width, scheme) in [(1120, "light"), (1120, "dark"), (390, "light"), (390, "dark")] {
            self.look(width, scheme);
            self.open(page);
            let of = |event: &&Value, method: &str| event["method"] == method;
            let requests: Vec<&Value> =
                self.events.iter().filter(|e| of(e, "Network.requestWillBeSent")).collect();
            assert_eq!(requests.len(), 1, "the page itself and nothing else: {requests:?}");
            for wrong in ["Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"] {
                assert_eq!(self.events.iter().find(|e| of(e, wrong)), None, "{name}");
            }
            // Nothing is wider than the screen but what scrolls on its own.
            let wide = self.evaluate("document.documentElement.scrollWidth - window.innerWidth");
            assert!(wide.as_i64().unwrap() <= 0, "{name}, {width}: {wide} pixels too wide");
            let ink = self.evaluate("getComputedStyle(document.body).color");
            assert_eq!(ink == "rgb(29, 35, 48)", scheme == "light", "{ink}");
            // Every table has a head, every chart a name for those who do not see it.
            let bare = "document.querySelectorAll('table:not(:has(thead th[scope=col]))').length \
                        + document.querySelectorAll('svg[role=img]:not(:has(title)):not(:has(desc))').length";
            assert_eq!(self.evaluate(bare), 0, "{name}");
            self.screenshot(&format!("{name}-{width}-{scheme}.png"));
        }
        // On paper it is light, and nothing is cut off: A4 without its margins is 718 pixels wide.
        let size = json!({ "width": 718, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
        assert_eq!(self.evaluate("getComputedStyle(document.body).color"), "rgb(29, 35, 48)");
        let cut = "[...document.querySelectorAll('table')].map(t => Math.round(t.getBoundingClientRect().right)).filter(x => x > 719)";
        assert_eq!(self.evaluate(cut), json!([]), "{name}: tables wider than the paper");
        self.screenshot(&format!("{name}-paper.png"));
        let printed = self.call("Page.printToPDF", json!({ "printBackground": true }));
        let printed = base64(printed["data"].as_str().unwrap());
        assert!(printed.starts_with(b"%PDF"), "{name}");
        self.keep(&format!("{name}.pdf"), &printed);
        self.call("Emulation.setEmulatedMedia", json!({ "media": "" }));
    }

    /// What a chart shows when its middle is pointed at; nothing before.
    fn hover(&mut self, page: &Path, figure: &str) -> String {
        self.look(1120, "light");
        self.open(page);
        let place = self.evaluate(&format!(
            "(() => {{ const strips = document.querySelectorAll('{figure} .tip .hit'); \
             const strip = strips[Math.floor(strips.length / 2)]; strip.scrollIntoView({{ block: 'center' }}); \
             const box = strip.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2] }})()",
        ));
        let shown = "[...document.querySelectorAll('.tip .on')].filter(e => getComputedStyle(e).visibility == 'visible').map(e => e.textContent)";
        assert_eq!(self.evaluate(shown), json!([]));
        let at = json!({ "type": "mouseMoved", "x": place[0], "y": place[1] });
        self.call("Input.dispatchMouseEvent", at);
        let values = self.evaluate(shown);
        let [text] = values.as_array().unwrap().as_slice() else { panic!("{values}") };
        text.as_str().unwrap().to_string()
    }
}

#[test]
#[ignore = "needs Chromium"]
fn the_page_opens_without_errors_or_requests_and_shows_values_on_hover() {
    let scratch = TempDir::new().unwrap();
    let mut browser = Browser::start(scratch.path());
    let mut runs = Vec::new();
    for (problem, requirements) in [("adult", 1), ("compas", 13)] {
        let run = scratch.path().join(problem);
        let plan = Plan::check(&ProblemSource::open(problem).unwrap()).unwrap();
        let options = FitOptions { directory: Some(run.clone()), ..FitOptions::default() };
        fit(&plan, &options, &|_| {}).unwrap();
        let page = run.join("report.html");
        Report::of(&run).unwrap().write(&page).unwrap();
        browser.inspect(&page, problem);
        let rows = browser
            .evaluate("document.querySelectorAll('#requirements ~ .scroll tbody tr').length");
        assert_eq!(rows, requirements);
        let verdicts = browser.evaluate(
            "document.querySelectorAll('#requirements ~ .scroll tbody td:nth-child(2) .pill.yes').length",
        );
        assert_eq!(verdicts, requirements);
        let text = browser.hover(&page, "#training ~ .figures figure:first-child");
        assert!(text.starts_with("epoch ") && text.contains("training rows0."), "{text}");
        browser.screenshot(&format!("{problem}-hover.png"));
        runs.push(run);
    }
    let page = scratch.path().join("comparison.html");
    Report::compare(&runs).unwrap().write(&page).unwrap();
    browser.inspect(&page, "comparison");
    let text = browser.hover(&page, "#curves ~ .figures figure:first-child");
    assert!(text.contains("adult0.") && text.contains("compas0."), "{text}");
}

#[test]
#[ignore = "needs Chromium"]
fn the_pages_of_sweeps_and_reproductions_open_too() {
    let scratch = TempDir::new().unwrap();
    let mut browser = Browser::start(scratch.path());
    let quick = ["training.epochs=4".to_string()];
    let source = ProblemSource::open("compas").unwrap().with_overrides(&quick);
    let options = SweepOptions {
        limits: vec![1e-5, 1e-4, 1e-3],
        seeds: vec![1, 2],
        ..SweepOptions::new("invariance")
    };
    let frontier = sweep(&source, &options, &|_| {}).unwrap();
    let page = scratch.path().join("sweep.html");
    Report::of_sweep(&frontier, "feasible sweep compas").unwrap().write(&page).unwrap();
    browser.inspect(&page, "sweep");
    assert_eq!(browser.evaluate("document.querySelectorAll('tbody tr').length"), 3);
    let text = browser.hover(&page, "#frontier ~ .figures figure:first-child");
    assert!(text.contains("limit of") && text.contains("training rows0."), "{text}");
    let how = Reproduction {
        seeds: vec![1, 2],
        overrides: quick.map(Override::Text).to_vec(),
        ..Reproduction::default()
    };
    let table = compas(&how, &|_| {}).unwrap();
    let page = scratch.path().join("compas.html");
    table.report("feasible reproduce compas").unwrap().write(&page).unwrap();
    browser.inspect(&page, "reproduction");
    assert_eq!(
        browser.evaluate("document.querySelectorAll('#table-1 ~ .scroll tbody tr').length"),
        13
    );
}
