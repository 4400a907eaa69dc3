//! The same drawing as a PNG file: light, twice as fine as it is wide, letters included.

mod letters;
mod mask;

use super::style::light;
use super::svg::{MARGIN, Shape, Svg};
use mask::{At, Mask, dashed, disc, stroke};

/// Pixels of the file per pixel of the drawing.
const SCALE: f32 = 2.0;

/// Red, green, blue and how opaque.
type Colour = [f32; 4];

/// The PNG file of a drawing; its title and its description are in it as text.
pub(crate) fn encode(svg: &Svg, size: (f64, f64), title: &str, description: &str) -> Vec<u8> {
    let side = |x: f64| (((x + 2.0 * MARGIN) as f32 * SCALE).ceil() as usize).clamp(1, 16_384);
    let mut canvas = Canvas::new(side(size.0), side(size.1));
    for shape in svg.shapes() {
        canvas.shape(shape);
    }
    canvas.finish(title, description).unwrap_or_default()
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<[f32; 3]>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Self {
        let paper = light("paper");
        let pixels = vec![[paper[0], paper[1], paper[2]]; width * height];
        Self { width, height, pixels }
    }

    fn shape(&mut self, shape: &Shape) {
        let at = |(x, y): (f64, f64)| ((x + MARGIN) as f32 * SCALE, (y + MARGIN) as f32 * SCALE);
        let has = |class: &str, name: &str| class.split(' ').any(|part| part == name);
        match shape {
            Shape::Text { class, at: place, text } => {
                let size = SCALE * if has(class, "t") { 14.0 } else { 12.0 };
                let colour = light(if has(class, "s") { "soft" } else { "ink" });
                let (x, y) = at(*place);
                let width = letters::width(text, size);
                let x = match (has(class, "e"), has(class, "m")) {
                    (true, _) => x - width,
                    (_, true) => x - width / 2.0,
                    _ => x,
                };
                let mut polygons = letters::outlines(text, (x, y), size);
                if has(class, "t") {
                    // Bolder: the letters once more, a little to the right.
                    polygons.extend(letters::outlines(text, (x + 0.045 * size, y), size));
                }
                self.fill(&polygons, colour);
            }
            Shape::Rect { class, at: place, size } => {
                let Some(colour) = filled(class) else { return };
                let ((x, y), (w, h)) = (at(*place), (size.0 as f32 * SCALE, size.1 as f32 * SCALE));
                self.fill(&[vec![(x, y), (x + w, y), (x + w, y + h), (x, y + h)]], colour);
            }
            Shape::Dot { class, at: place, radius } => {
                let Some(colour) = filled(class) else { return };
                self.fill(&[disc(at(*place), *radius as f32 * SCALE)], colour);
            }
            Shape::Path { class, dash, points } => {
                let runs = points.split(Option::is_none);
                let runs: Vec<Vec<At>> =
                    runs.map(|run| run.iter().flatten().map(|p| at(*p)).collect()).collect();
                match filled(class) {
                    Some(colour) => self.fill(&runs, colour),
                    None => self.line(class, dash, &runs),
                }
            }
        }
    }

    fn line(&mut self, class: &str, dash: &str, runs: &[Vec<At>]) {
        let (colour, width) = stroked(class);
        let dash = if class == "rule" { "3 3" } else { dash };
        let pattern: Vec<f32> =
            dash.split(' ').filter_map(|d| d.parse::<f32>().ok()).map(|d| d * SCALE).collect();
        let mut polygons = Vec::new();
        for run in runs {
            for piece in dashed(run, &pattern) {
                polygons.extend(stroke(&piece, width));
                // Round corners; thin lines have none to see.
                if width > 2.0 {
                    polygons.extend(piece.iter().map(|&at| disc(at, width / 2.0)));
                }
            }
        }
        self.fill(&polygons, colour);
    }

    fn fill(&mut self, polygons: &[Vec<At>], colour: Colour) {
        let mask = Mask::of(polygons, (self.width, self.height));
        mask.each(|x, y, covered| {
            let opaque = covered * colour[3];
            for (below, above) in self.pixels[y * self.width + x].iter_mut().zip(colour) {
                *below += (above - *below) * opaque;
            }
        });
    }

    fn finish(&self, title: &str, description: &str) -> Result<Vec<u8>, png::EncodingError> {
        let byte = |x: &f32| (x * 255.0).round().clamp(0.0, 255.0) as u8;
        let bytes: Vec<u8> = self.pixels.iter().flatten().map(byte).collect();
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.add_itxt_chunk("Title".into(), title.into())?;
        encoder.add_itxt_chunk("Description".into(), description.into())?;
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&bytes)?;
        writer.finish()?;
        Ok(out)
    }
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
        ["zero"] => ("mute", 1.0),
        ["whisker"] => ("ink", 1.5),
        ["l", "mute"] => ("mute", 1.0),
        ["l", colour] => (*colour, 2.0),
        _ => ("ink", 1.0),
    };
    (light(name), width * SCALE)
}
