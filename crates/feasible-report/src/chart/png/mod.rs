//! The same drawing as a PNG file: light, twice as fine as it is wide, letters included.

mod letters;

use feasible_data::disk::MARK;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};

use super::style::light;
use super::svg::{MARGIN, Svg, SvgShape};

/// Pixels of the file per pixel of the drawing.
const SCALE: f32 = 2.0;

/// Red, green, blue and how opaque.
type Colour = [f32; 4];

/// The PNG file of a drawing; its title and its description are in it as text.
pub(crate) fn encode(svg: &Svg, size: (f64, f64), title: &str, description: &str) -> Vec<u8> {
    let side = |x: f64| (((x + 2.0 * MARGIN) as f32 * SCALE).ceil() as u32).clamp(1, 16_384);
    let Some(pixels) = Pixmap::new(side(size.0), side(size.1)) else { return Vec::new() };
    let mut canvas = Canvas { pixels };
    canvas.pixels.fill(colour(light("paper")));
    for shape in svg.shapes() {
        canvas.shape(shape);
    }
    canvas.finish(title, description).unwrap_or_default()
}

struct Canvas {
    pixels: Pixmap,
}

impl Canvas {
    fn shape(&mut self, shape: &SvgShape) {
        let has = |class: &str, name: &str| class.split(' ').any(|part| part == name);
        let mut path = PathBuilder::new();
        match shape {
            SvgShape::Text { class, at: (x, y), text } => {
                let size = if has(class, "t") { 14.0 } else { 12.0 };
                let (x, y, width) = (*x as f32, *y as f32, letters::width(text, size));
                let x = match (has(class, "e"), has(class, "m")) {
                    (true, _) => x - width,
                    (_, true) => x - width / 2.0,
                    _ => x,
                };
                letters::outline(&mut path, text, (x, y), size);
                if has(class, "t") {
                    // Bolder: the letters once more, a little to the right.
                    letters::outline(&mut path, text, (x + 0.045 * size, y), size);
                }
                let plain = light(if has(class, "s") { "soft" } else { "ink" });
                self.fill(path, filled(class).unwrap_or(plain));
            }
            SvgShape::Rect { class, at: (x, y), size: (w, h) } => {
                let rect = Rect::from_xywh(*x as f32, *y as f32, *w as f32, *h as f32);
                let (Some(colour), Some(rect)) = (filled(class), rect) else { return };
                path.push_rect(rect);
                self.fill(path, colour);
            }
            SvgShape::Dot { class, at: (x, y), radius } => {
                let Some(colour) = filled(class) else { return };
                path.push_circle(*x as f32, *y as f32, *radius as f32);
                self.fill(path, colour);
            }
            SvgShape::Path { class, dash, points } => {
                for run in points.split(Option::is_none) {
                    for (at, &(x, y)) in run.iter().flatten().enumerate() {
                        match at {
                            0 => path.move_to(x as f32, y as f32),
                            _ => path.line_to(x as f32, y as f32),
                        }
                    }
                }
                match filled(class) {
                    Some(colour) => self.fill(path, colour),
                    None => self.line(path, class, dash),
                }
            }
        }
    }

    fn line(&mut self, path: PathBuilder, class: &str, dash: &str) {
        let (colour, width) = stroked(class);
        let dash = if class == "rule" { "3 3" } else { dash };
        let dash = dash.split(' ').filter_map(|d| d.parse().ok()).collect();
        let (line_cap, line_join) = (LineCap::Round, LineJoin::Round);
        // Thin lines have no corners to see.
        let stroke = Stroke { width, dash: StrokeDash::new(dash, 0.0), ..Stroke::default() };
        let stroke = if width > 1.0 { Stroke { line_cap, line_join, ..stroke } } else { stroke };
        if let Some(path) = path.finish() {
            self.pixels.stroke_path(&path, &paint(colour), &stroke, placed(), None);
        }
    }

    fn fill(&mut self, path: PathBuilder, colour: Colour) {
        if let Some(path) = path.finish() {
            self.pixels.fill_path(&path, &paint(colour), FillRule::Winding, placed(), None);
        }
    }

    fn finish(&self, title: &str, description: &str) -> Result<Vec<u8>, png::EncodingError> {
        // The paper is opaque, and so is every pixel.
        let rgb = self.pixels.pixels().iter().flat_map(|p| [p.red(), p.green(), p.blue()]);
        let bytes: Vec<u8> = rgb.collect();
        let mut out = Vec::new();
        let (width, height) = (self.pixels.width(), self.pixels.height());
        let mut encoder = png::Encoder::new(&mut out, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.add_text_chunk("Software".into(), MARK.into())?;
        encoder.add_itxt_chunk("Title".into(), title.into())?;
        encoder.add_itxt_chunk("Description".into(), description.into())?;
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&bytes)?;
        writer.finish()?;
        Ok(out)
    }
}

/// From the drawing to the pixels of the file.
fn placed() -> Transform {
    let margin = MARGIN as f32;
    Transform::from_translate(margin, margin).post_scale(SCALE, SCALE)
}

fn colour([red, green, blue, opaque]: Colour) -> Color {
    Color::from_rgba(red, green, blue, opaque).unwrap_or(Color::BLACK)
}

fn paint(of: Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(colour(of));
    paint
}

/// The colour of what is filled; `None` of what is a line or is not seen.
fn filled(class: &str) -> Option<Colour> {
    let parts: Vec<&str> = class.split(' ').collect();
    if parts.contains(&"shade") {
        return Some(light("shade"));
    }
    if !parts.contains(&"f") {
        return None;
    }
    let mut colour = light(parts.iter().find(|p| **p == "mute" || is_colour(p)).unwrap_or(&"ink"));
    if parts.contains(&"band") {
        colour[3] = 0.2;
    }
    Some(colour)
}

fn is_colour(part: &str) -> bool {
    part.len() == 2 && part.starts_with('c') && part.ends_with(|c: char| c.is_ascii_digit())
}

/// Colour and width of a line.
fn stroked(class: &str) -> (Colour, f32) {
    let parts: Vec<&str> = class.split(' ').collect();
    let (name, width) = match parts.as_slice() {
        ["grid"] => ("grid", 1.0),
        ["zero" | "join"] => ("mute", 1.0),
        ["whisker"] => ("ink", 1.5),
        ["l", "mute"] => ("mute", 1.0),
        ["l", colour] => (*colour, 2.0),
        _ => ("ink", 1.0),
    };
    (light(name), width)
}
