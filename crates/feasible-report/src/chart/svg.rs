//! An SVG document as text, deterministic to the byte.

use std::fmt::Write;

use feasible_data::disk::MARK;

use super::style::css;
use super::text::{coordinate, escape};

/// Paper around a drawing that is a file of its own, in pixels.
pub(crate) const MARGIN: f64 = 14.0;

/// A drawing under construction: as text, and as shapes for other back ends.
#[derive(Debug, Default)]
pub(crate) struct Svg {
    body: String,
    shapes: Vec<SvgShape>,
    /// Shapes that are seen only when pointed at are not kept.
    hidden: bool,
}

/// What is seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SvgShape {
    Text { class: String, at: (f64, f64), text: String },
    Rect { class: String, at: (f64, f64), size: (f64, f64) },
    Dot { class: String, at: (f64, f64), radius: f64 },
    Path { class: String, dash: String, points: Vec<Option<(f64, f64)>> },
}

impl Svg {
    /// What is seen, in order.
    pub(crate) fn shapes(&self) -> &[SvgShape] {
        &self.shapes
    }

    /// From now on, draws what is seen only when pointed at.
    pub(crate) fn hide(&mut self) {
        self.hidden = true;
    }

    fn keep(&mut self, shape: impl FnOnce() -> SvgShape) {
        if !self.hidden {
            self.shapes.push(shape());
        }
    }

    /// Markup whose text parts are already escaped.
    pub(crate) fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// A line of text at (x, y).
    pub(crate) fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = &*feasible_data::visible(text);
        self.keep(|| SvgShape::Text { class: class.into(), at: (x, y), text: text.into() });
        let (x, y) = (coordinate(x), coordinate(y));
        // Writing to a String cannot fail.
        let _ =
            write!(self.body, r#"<text class="{class}" x="{x}" y="{y}">{}</text>"#, escape(text));
    }

    /// A straight line.
    pub(crate) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.keep(|| SvgShape::Path {
            class: class.into(),
            dash: String::new(),
            points: vec![Some((x1, y1)), Some((x2, y2))],
        });
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(coordinate);
        let _ = write!(self.body, r#"<path class="{class}" d="M{x1} {y1}L{x2} {y2}"/>"#);
    }

    /// A rectangle; `inside` is markup such as a title.
    pub(crate) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), inside: &str) {
        self.keep(|| SvgShape::Rect { class: class.into(), at, size });
        let [x, y, w, h] = [at.0, at.1, size.0.max(0.0), size.1.max(0.0)].map(coordinate);
        let _ = write!(
            self.body,
            r#"<rect class="{class}" x="{x}" y="{y}" width="{w}" height="{h}">{inside}</rect>"#
        );
    }

    /// A dot.
    pub(crate) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64, inside: &str) {
        self.keep(|| SvgShape::Dot { class: class.into(), at: (x, y), radius });
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
        self.keep(|| SvgShape::Path {
            class: class.into(),
            dash: dash.into(),
            points: points.to_vec(),
        });
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
