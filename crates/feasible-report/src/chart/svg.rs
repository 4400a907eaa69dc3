//! An SVG document as text, deterministic to the byte.

use std::fmt::Write;

use feasible_data::disk::MARK;

use super::style::css;
use super::text::{coordinate, escape};

/// Paper around a drawing that is a file of its own, in pixels.
const MARGIN: f64 = 14.0;

/// A drawing under construction.
#[derive(Debug, Default)]
pub(crate) struct Svg {
    body: String,
}

impl Svg {
    /// Markup whose text parts are already escaped.
    pub(crate) fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// A line of text at (x, y).
    pub(crate) fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = &*feasible_data::visible(text);
        let (x, y) = (coordinate(x), coordinate(y));
        // Writing to a String cannot fail.
        let _ =
            write!(self.body, r#"<text class="{class}" x="{x}" y="{y}">{}</text>"#, escape(text));
    }

    /// A straight line.
    pub(crate) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(coordinate);
        let _ = write!(self.body, r#"<path class="{class}" d="M{x1} {y1}L{x2} {y2}"/>"#);
    }

    /// A rectangle; `inside` is markup such as a title.
    pub(crate) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), inside: &str) {
        let [x, y, w, h] = [at.0, at.1, size.0.max(0.0), size.1.max(0.0)].map(coordinate);
        let _ = write!(
            self.body,
            r#"<rect class="{class}" x="{x}" y="{y}" width="{w}" height="{h}">{inside}</rect>"#
        );
    }

    /// A dot.
    pub(crate) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64, inside: &str) {
        let [x, y, r] = [x, y, radius].map(coordinate);
        let _ = write!(
            self.body,
            r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}">{inside}</circle>"#
        );
    }

    /// Lines through points, broken where there is `None`.
    pub(crate) fn path(&mut self, class: &str, dash: &str, points: &[Option<(f64, f64)>]) {
        let mut d = String::new();
        let mut down = false;
        for point in points {
            match point {
                Some((x, y)) => {
                    let (x, y) = (coordinate(*x), coordinate(*y));
                    let _ = write!(d, "{}{x} {y}", if down { 'L' } else { 'M' });
                    down = true;
                }
                None => down = false,
            }
        }
        if d.is_empty() {
            return;
        }
        let dash =
            if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dash}""#) };
        let _ = write!(self.body, r#"<path class="{class}"{dash} d="{d}"/>"#);
    }

    /// The document. `id` keeps names of several charts on a page apart; with `style` it stands
    /// on its own.
    pub(crate) fn finish(
        self,
        id: &str,
        size: (f64, f64),
        title: &str,
        description: &str,
        style: bool,
    ) -> String {
        let id = escape(id);
        // A page has margins of its own, a file needs them.
        let margin = if style { MARGIN } else { 0.0 };
        let corner = coordinate(-margin);
        let (w, h) = (coordinate(size.0 + 2.0 * margin), coordinate(size.1 + 2.0 * margin));
        let (style, paper) = match style {
            true => (
                format!("<metadata>{MARK}</metadata><style>{}</style>", css()),
                format!(
                    r#"<rect x="{corner}" y="{corner}" width="{w}" height="{h}" style="fill:var(--paper)"/>"#
                ),
            ),
            false => (String::new(), String::new()),
        };
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="{corner} {corner} {w} {h}" role="img" aria-labelledby="{id}-t {id}-d"><title id="{id}-t">{}</title><desc id="{id}-d">{}</desc>{style}{paper}{}</svg>"#,
            escape(title),
            escape(description),
            self.body
        )
    }
}

/// A `<title>`, which browsers show on hover and screen readers read.
pub(crate) fn title(text: &str) -> String {
    format!("<title>{}</title>", escape(text))
}
