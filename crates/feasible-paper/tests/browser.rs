//! The pages where they will be read, in every state a run can be in: headless Chromium opens them, finds no error and
//! no request, nothing is cut off on a wide screen, a phone or paper, and a chart shows its values when pointed at.
//!
//! ```text
//! cargo test -p feasible-paper --test suite browser:: -- --ignored
//! ```
//!
//! Needs `chromium` (or what CHROMIUM names) and a POSIX shell. Screenshots, light and dark, wide
//! and narrow, go to SCREENSHOTS if that names a directory. Where AXE names the file `axe.min.js` of the npm package
//! `axe-core`, the pages are held against its rules of accessibility. The browser is spoken to through two
//! pipes, a JSON message each way, without any library.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use feasible_data::{DataSet, Table};
use feasible_paper::{Reproduction, compas};
use feasible_problem::spec::{CertifySpec, Override};
use feasible_problem::{Plan, ProblemSource};
use feasible_report::Report;
use feasible_run::{FitOptions, Monitor, SweepOptions, TuneOptions, fit, sweep, tune};
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
        let how = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", how);
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

    /// A part of the page, light, at 1440 pixels: left, top, width and height.
    fn picture(&mut self, page: &Path, file: &Path, [x, y, width, height]: [f64; 4]) {
        self.look(1440, "light");
        self.open(page);
        let clip = json!({ "x": x, "y": y, "width": width, "height": height, "scale": 1 });
        let how = json!({ "captureBeyondViewport": true, "clip": clip });
        let answer = self.call("Page.captureScreenshot", how);
        fs::write(file, base64(answer["data"].as_str().unwrap())).unwrap();
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
    /// Opens a page wide and narrow, light and dark: no message, no request, nothing too wide, nothing that the rules
    /// of accessibility object to.
    fn inspect(&mut self, page: &Path, name: &str) {
        let axe = std::env::var_os("AXE").map(|file| fs::read_to_string(file).unwrap());
        for (width, scheme) in [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")] {
            self.look(width, scheme);
            self.open(page);
            let of = |event: &&Value, method: &str| event["method"] == method;
            // A picture inside the page is no request.
            let sent = |event: &&Value| {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                of(event, "Network.requestWillBeSent") && !url.starts_with("data:")
            };
            let requests: Vec<&Value> = self.events.iter().filter(sent).collect();
            assert_eq!(requests.len(), 1, "the page itself and nothing else: {requests:?}");
            for wrong in ["Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"] {
                assert_eq!(self.events.iter().find(|e| of(e, wrong)), None, "{name}");
            }
            // Nothing is wider than the screen but what scrolls on its own.
            let wide = self.evaluate("document.documentElement.scrollWidth - window.innerWidth");
            assert!(wide.as_i64().unwrap() <= 0, "{name}, {width}: {wide} pixels too wide");
            // Nor does anything have to scroll, the values of charts aside: every column is in view.
            let cut = "[...document.querySelectorAll('.scroll')].filter(e => !e.closest('figure')).filter(e => e.scrollWidth > e.clientWidth + 1) \
                       .map(e => e.getAttribute('aria-label') + ' ' + (e.scrollWidth - e.clientWidth))";
            assert_eq!(self.evaluate(cut), json!([]), "{name}, {width}: tables that are cut off");
            let ink = self.evaluate("getComputedStyle(document.body).color");
            assert_eq!(ink == "rgb(29, 35, 48)", scheme == "light", "{ink}");
            // Every table has a head, every chart a name for those who do not see it.
            let bare = "document.querySelectorAll('table:not(:has(thead th[scope=col]))').length \
                        + document.querySelectorAll('svg[role=img]:not(:has(title)):not(:has(desc))').length";
            assert_eq!(self.evaluate(bare), 0, "{name}");
            // Every link of the page leads somewhere on it; every chart has its values in a table.
            let nowhere = "[...document.querySelectorAll('a')].filter(a => !document.getElementById(a.hash.slice(1))).length \
                           + document.querySelectorAll('figure:not(:has(details table)):not(:has(.s.m))').length";
            assert_eq!(self.evaluate(nowhere), 0, "{name}");
            self.screenshot(&format!("{name}-{width}-{scheme}.png"));
            if let Some(axe) = &axe {
                self.evaluate(&format!("{axe}; undefined"));
                let found = "axe.run(document).then(found => found.violations.map(v => v.id + ': ' + v.nodes[0].html))";
                assert_eq!(self.evaluate(found), json!([]), "{name}, {width}, {scheme}");
            }
        }
        // On paper it is light, and nothing is cut off: A4 without its margins is 718 pixels wide.
        let size = json!({ "width": 718, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
        assert_eq!(self.evaluate("getComputedStyle(document.body).color"), "rgb(29, 35, 48)");
        let cut = "[...document.querySelectorAll('table')].map(t => Math.round(t.getBoundingClientRect().right)).filter(x => x > 719)";
        assert_eq!(self.evaluate(cut), json!([]), "{name}: tables wider than the paper");
        // What is folded on the screen is not folded on paper.
        let folded = "[...document.querySelectorAll('main > section > details:not([open]) > :not(summary)')] \
                      .filter(e => e.getBoundingClientRect().height == 0 || !e.checkVisibility({ contentVisibilityAuto: true })).length";
        assert_eq!(self.evaluate(folded), 0, "{name}: folded on paper");
        self.screenshot(&format!("{name}-paper.png"));
        let printed = self.call("Page.printToPDF", json!({ "printBackground": true }));
        let printed = base64(printed["data"].as_str().unwrap());
        assert!(printed.starts_with(b"%PDF"), "{name}");
        self.keep(&format!("{name}.pdf"), &printed);
        self.call("Emulation.setEmulatedMedia", json!({ "media": "" }));
    }

    /// What a chart shows when its middle is pointed at; nothing before.
    fn hover(&mut self, page: &Path, figure: &str) -> String {
        self.look(1440, "light");
        self.open(page);
        let place = self.evaluate(&format!(
            "(() => {{ const strips = document.querySelectorAll('{figure} .tip .hit'); \
             const strip = strips[Math.floor(strips.length / 2)]; strip.scrollIntoView({{ behavior: 'instant', block: 'center' }}); \
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

/// Trains a problem and writes its page.
fn page_of(source: &ProblemSource, run: &Path) -> PathBuf {
    let plan = Plan::check(source).unwrap();
    let options = FitOptions { directory: Some(run.into()), ..FitOptions::default() };
    fit(&plan, &options, &|_| {}).unwrap();
    let page = run.join("report.html");
    Report::of(run).unwrap().write(&page).unwrap();
    page
}

#[test]
#[ignore = "needs Chromium"]
fn the_page_opens_without_errors_or_requests_and_shows_values_on_hover() {
    let scratch = TempDir::new().unwrap();
    let mut browser = Browser::start(scratch.path());
    let mut runs = Vec::new();
    for (problem, requirements) in [("adult", 1), ("compas", 13)] {
        let run = scratch.path().join(problem);
        let page = page_of(&ProblemSource::open(problem).unwrap(), &run);
        browser.inspect(&page, problem);
        let rows = browser
            .evaluate("document.querySelectorAll('#requirements ~ .scroll tbody.entry').length");
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
    for problem in ["adult-unconstrained", "compas-unconstrained"] {
        let quick = ["training.epochs=3".to_string()];
        let source = ProblemSource::open(problem).unwrap().with_overrides(&quick);
        runs.push(scratch.path().join(problem));
        let page = page_of(&source, &scratch.path().join(problem));
        browser.inspect(&page, problem);
        assert_eq!(
            browser.evaluate("document.querySelector('.verdict p').textContent"),
            "No requirements were stated."
        );
    }
    let page = scratch.path().join("comparison.html");
    Report::compare(&runs).unwrap().write(&page).unwrap();
    browser.inspect(&page, "comparison");
    let shown = browser.evaluate("document.querySelectorAll('#runs ~ .scroll tbody.entry').length");
    assert_eq!(shown, 4);
    let text = browser.hover(&page, "#curves ~ .figures figure:first-child");
    // In the middle only the longest training has a value.
    assert!(text.contains("compas0."), "{text}");
}

/// Four requirements of which some are not met, one of them pointwise.
const SEVERAL: &str = r#"
title = "Income over 50,000 dollars, fair to women and to older people"
[data]
source = "adult"
[model]
kind = "mlp"
hidden = [16]
[[requirement]]
name = "error of older"
rate = "error"
where = "age > 52"
at_most = 0.35
[[requirement]]
name = "recall of women"
rate = "tpr"
where = "gender = 'Female'"
at_least = 0.99
[[requirement]]
name = "false alarms"
rate = "fpr"
at_most = 0.001
[[requirement]]
name = "gender"
loss = "kl"
kind = "pointwise"
at_most = 0.02
counterfactual = { swap = { gender = ["Male", "Female"] } }
[training]
epochs = 4
"#;

#[test]
#[ignore = "needs Chromium"]
fn every_state_of_a_run_has_a_page_that_can_be_read() {
    let scratch = TempDir::new().unwrap();
    let mut browser = Browser::start(scratch.path());
    let text = "document.querySelector('main').textContent";
    // Some requirements fail: named in the banner, first in the table, each with a next step.
    let run = scratch.path().join("several");
    let page = page_of(&ProblemSource::new("several.toml", SEVERAL), &run);
    browser.inspect(&page, "several");
    let banner = browser.evaluate("document.querySelector('.verdict.missed p').textContent");
    assert!(banner.as_str().unwrap().contains("recall of women"), "{banner}");
    let first = browser
        .evaluate("document.querySelector('#requirements ~ .scroll tbody.entry').textContent");
    assert!(
        first.as_str().unwrap().contains("not met")
            && first.as_str().unwrap().contains("Next step.")
    );
    // In use.
    let (table, split) = DataSet::adult().load().unwrap();
    let mut monitor = Monitor::open(&run, &CertifySpec::default(), None).unwrap();
    let format = monitor.format();
    for (at, rows) in split.test.chunks(4_000).enumerate() {
        let head: Vec<&str> = table.columns().iter().map(|c| c.name.as_str()).collect();
        let mut csv = format!("{}\n", head.join(","));
        for &row in rows {
            let cells: Vec<String> =
                table.columns().iter().map(|c| c.text(row as usize).unwrap_or_default()).collect();
            csv += &format!("{}\n", cells.join(","));
        }
        let file = scratch.path().join(format!("2026-{:02}.csv", at + 1));
        fs::write(&file, csv).unwrap();
        let read = Table::read(&file, &format).unwrap();
        monitor.add(&read, Some(&file), &format!("2026-{:02}", at + 1)).unwrap();
    }
    monitor.commit().unwrap();
    drop(monitor);
    Report::of(&run).unwrap().write(&page).unwrap();
    browser.inspect(&page, "monitored");
    let banner = browser.evaluate("document.querySelector('.verdict.missed p').textContent");
    assert!(banner.as_str().unwrap().starts_with("In use: 'recall of women'"), "{banner}");
    assert!(
        browser.evaluate("document.querySelectorAll('#monitor ~ .figures figure').length").as_u64()
            > Some(0)
    );
    // Certified, or not.
    let certified = format!(
        "{}\n[certify]\nconfidence = 0.95\n",
        SEVERAL.replace("0.99\n", "0.4\n").replace("0.001", "0.2")
    );
    let page = page_of(
        &ProblemSource::new("certified.toml", certified),
        &scratch.path().join("certified"),
    );
    browser.inspect(&page, "certified");
    let said = browser.evaluate("document.querySelector('.verdict p').textContent");
    assert!(said.as_str().unwrap().contains("ertified"), "{said}");
    // An early epoch: nobody is called hard.
    let quick = ["training.epochs=2".to_string()];
    let source = ProblemSource::open("adult").unwrap().with_overrides(&quick);
    let page = page_of(&source, &scratch.path().join("early"));
    browser.inspect(&page, "early");
    let all = browser.evaluate(text);
    assert!(
        all.as_str().unwrap().contains("Nobody stands out")
            && !all.as_str().unwrap().contains("of the hardest")
    );
    // Numbers are predicted.
    let csv = scratch.path().join("houses.csv");
    let towns = ["North", "South", "West"];
    let house = |n: usize| {
        format!(
            "{},{},{},{}\n",
            40 + n * 37 % 180,
            1 + n % 6,
            towns[n % 3],
            90 + n * 37 % 180 + n * n % 41
        )
    };
    fs::write(&csv, format!("area,rooms,town,price\n{}", (0..900).map(house).collect::<String>()))
        .unwrap();
    let houses = format!(
        "title = \"House prices\"\n[data]\nfile = \"{}\"\ntarget = \"price\"\ntask = \"regress\"\n[model]\nkind = \"linear\"\n\
         [[requirement]]\nname = \"South\"\nloss = \"squared\"\nwhere = \"town = 'South'\"\nat_most = 100.0\n[training]\nepochs = 3\n",
        csv.display()
    );
    let page = page_of(&ProblemSource::new("houses.toml", houses), &scratch.path().join("houses"));
    browser.inspect(&page, "houses");
    // A search.
    let source =
        ProblemSource::open("compas").unwrap().with_overrides(&["training.epochs=6".to_string()]);
    let run = scratch.path().join("tuned");
    let options =
        TuneOptions { trials: Some(4), directory: Some(run.clone()), ..TuneOptions::default() };
    tune(&source, &options, &|_| {}).unwrap();
    let page = run.join("report.html");
    Report::of(&run).unwrap().write(&page).unwrap();
    browser.inspect(&page, "tuned");
    assert_eq!(
        browser.evaluate("document.querySelectorAll('#search ~ details tbody tr').length"),
        4
    );
}

/// A few small images, and a requirement under attack.
const IMAGES: &str = r#"
title = "Clothes, robust to small changes"
[data]
source = "fashion-mnist-sample"
per_class = { train = 30, validation = 5, test = 20 }
[model]
kind = "cnn"
[[requirement]]
name = "robust"
loss = "cross-entropy"
at_most = 1.0
adversary = { norm = "linf", epsilon = 0.04, steps = 3, step = "ε/2" }
[training]
epochs = 3
batch_size = 50
[evaluation]
attack = { steps = 5, restarts = 1 }
"#;

#[test]
#[ignore = "needs Chromium"]
fn images_under_attack_are_shown_beside_the_originals() {
    let scratch = TempDir::new().unwrap();
    let mut browser = Browser::start(scratch.path());
    let run = scratch.path().join("images");
    let page = page_of(&ProblemSource::new("images.toml", IMAGES), &run);
    browser.inspect(&page, "images");
    let shown = "[...document.querySelectorAll('.examples img')].map(i => [i.complete, i.naturalWidth, i.naturalHeight])";
    let first = browser.evaluate(shown);
    let first = first.as_array().unwrap();
    assert!((1..=10).contains(&first.len()), "{first:?}");
    assert!(first.iter().all(|one| *one == json!([true, 84, 28])), "{first:?}");
    let rows = "document.querySelectorAll('#attacked ~ .rates tbody tr').length";
    assert_eq!(browser.evaluate(rows), 10);
    // With an attack of one's own beside it.
    let model = feasible_run::SavedModel::open(&run).unwrap();
    let gallery = feasible_problem::Gallery::named("fashion-mnist-sample", None).unwrap();
    let options = feasible_run::AttackOptions {
        epsilons: vec![0.0, 0.02, 0.05, 0.1, 0.2, 0.3],
        steps: 5,
        step: 1.0 / 3.0,
        restarts: 1,
        ..Default::default()
    };
    let rows = gallery.images().at_most(&gallery.test_rows(), 10, 0).unwrap();
    let curve = model.attack_images(&gallery, &rows, &options, 1, &mut |_, _| true).unwrap();
    fs::write(run.join("attack.json"), serde_json::to_vec(&curve).unwrap()).unwrap();
    fs::write(run.join("attack.png"), curve.examples.unwrap().sheet).unwrap();
    Report::of(&run).unwrap().write(&page).unwrap();
    browser.inspect(&page, "attacked");
    let both = browser.evaluate(shown);
    assert!(both.as_array().unwrap().len() > first.len(), "{both}");
    let size = fs::metadata(&page).unwrap().len();
    assert!(size < 400_000, "{size} bytes");
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
    assert_eq!(
        browser.evaluate("document.querySelectorAll('#table ~ .scroll tbody tr').length"),
        3
    );
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

/// `PICTURES=docs cargo test -p feasible-paper --test suite browser::pictures -- --ignored` makes those of the book again; without
/// PICTURES it makes them of a few epochs, and only looks at them.
#[test]
#[ignore = "needs Chromium"]
fn the_pictures_of_the_book_are_made_of_pages() {
    let scratch = TempDir::new().unwrap();
    let mut browser = Browser::start(scratch.path());
    let named = std::env::var_os("PICTURES").map(|named| PathBuf::from("../..").join(named));
    let quick = if named.is_some() { vec![] } else { vec!["training.epochs=12".to_string()] };
    let directory = named.unwrap_or_else(|| scratch.path().into());
    let source = ProblemSource::open("adult").unwrap().with_overrides(&quick);
    let run = scratch.path().join("adult");
    let page = page_of(&source, &run);
    browser.picture(&page, &directory.join("report.png"), [0.0, 0.0, 1440.0, 1300.0]);
    let head = "document.getElementById('who-1').getBoundingClientRect().top + window.scrollY";
    let top = browser.evaluate(head).as_f64().unwrap() - 12.0;
    browser.picture(&page, &directory.join("report-hard.png"), [310.0, top, 1060.0, 760.0]);
    let options = SweepOptions {
        limits: vec![1e-4, 3.162e-4, 1e-3, 3.162e-3, 0.01, 0.03162, 0.1],
        seeds: if quick.is_empty() { vec![0, 1, 2] } else { vec![0] },
        ..SweepOptions::new("gender")
    };
    let frontier = sweep(&source, &options, &|_| {}).unwrap();
    let page = scratch.path().join("sweep.html");
    let command = "feasible sweep adult --requirement gender --limits 1e-4..1e-1 --seeds 3";
    Report::of_sweep(&frontier, command).unwrap().write(&page).unwrap();
    browser.picture(&page, &directory.join("frontier.png"), [0.0, 0.0, 1440.0, 1300.0]);
    for (name, size) in
        [("report", (1440, 1300)), ("report-hard", (1060, 760)), ("frontier", (1440, 1300))]
    {
        let bytes = fs::read(directory.join(format!("{name}.png"))).unwrap();
        let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((side(16), side(20)), size, "{name}");
    }
}
