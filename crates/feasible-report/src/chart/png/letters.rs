//! Letters as outlines, so that figures look the same wherever they are drawn. The outlines are
//! those of DejaVu Sans; see `glyphs/LICENSE.txt`, and `glyphs/make.py` for the format.

use std::collections::HashMap;
use std::sync::OnceLock;

use tiny_skia::PathBuilder;

/// Units of outlines per size of the letters.
const UNITS: f32 = 512.0;

struct Glyph {
    advance: f32,
    /// Contours of points, each on the curve or a control point.
    contours: Vec<Vec<(f32, f32, bool)>>,
}

fn glyphs() -> &'static HashMap<char, Glyph> {
    static GLYPHS: OnceLock<HashMap<char, Glyph>> = OnceLock::new();
    GLYPHS.get_or_init(|| read(include_bytes!("../../../glyphs/glyphs.bin")).unwrap_or_default())
}

/// `None` if the bytes end too early.
fn read(bytes: &[u8]) -> Option<HashMap<char, Glyph>> {
    let mut rest = bytes;
    let mut take = |n: usize| {
        let (head, tail) = rest.split_at_checked(n)?;
        rest = tail;
        Some(head.iter().rev().fold(0u32, |value, &byte| value << 8 | u32::from(byte)))
    };
    let mut glyphs = HashMap::new();
    for _ in 0..take(2)? {
        let code = take(4)?;
        let advance = take(2)? as f32 / UNITS;
        let mut contours = Vec::new();
        for _ in 0..take(1)? {
            let mut contour = Vec::new();
            for _ in 0..take(1)? {
                let (x, y) = (take(2)? as u16 as i16, take(2)? as u16 as i16);
                contour.push((f32::from(x >> 1) / UNITS, f32::from(y) / UNITS, x & 1 == 1));
            }
            contours.push(contour);
        }
        glyphs.insert(char::from_u32(code)?, Glyph { advance, contours });
    }
    Some(glyphs)
}

/// What stands for a letter that is not there.
const UNKNOWN: char = '\u{fffd}';

fn glyph(c: char) -> Option<&'static Glyph> {
    glyphs().get(&c).or_else(|| glyphs().get(&UNKNOWN))
}

/// How wide a text is at a size.
pub(super) fn width(text: &str, size: f32) -> f32 {
    text.chars().filter_map(glyph).map(|glyph| glyph.advance * size).sum()
}

/// Adds the outlines of a text that starts at (x, y) on its base line.
pub(super) fn outline(path: &mut PathBuilder, text: &str, (x, y): (f32, f32), size: f32) {
    let mut pen = x;
    for glyph in text.chars().filter_map(glyph) {
        for contour in &glyph.contours {
            let place = |(px, py, on)| (pen + px * size, y - py * size, on);
            curves(path, contour.iter().copied().map(place).collect());
        }
        pen += glyph.advance * size;
    }
}

/// A contour of quadratic curves.
fn curves(path: &mut PathBuilder, contour: Vec<(f32, f32, bool)>) {
    // Between two control points lies a point of the curve.
    let mut points = Vec::new();
    for (at, &(x, y, on)) in contour.iter().enumerate() {
        points.push((x, y, on));
        let (nx, ny, next_on) = contour[(at + 1) % contour.len()];
        if !on && !next_on {
            points.push(((x + nx) / 2.0, (y + ny) / 2.0, true));
        }
    }
    let Some(start) = points.iter().position(|p| p.2) else { return };
    points.rotate_left(start);
    path.move_to(points[0].0, points[0].1);
    let mut control = None;
    for &(x, y, on) in points[1..].iter().chain(&points[..1]) {
        match control.take() {
            Some((cx, cy)) => path.quad_to(cx, cy, x, y),
            None if on => path.line_to(x, y),
            None => control = Some((x, y)),
        }
    }
    path.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_letters_of_the_charts_are_there() {
        for c in "abcABC012 .,:;%−×·±≤≥↔→λμεθρδΔ∞⁻⁰¹⁵⁹…‘’'<>|()[]{}éüßñçЖд".chars()
        {
            assert!(glyphs().contains_key(&c), "{c}");
        }
        assert!(width("mm", 12.0) > 2.0 * width("i", 12.0));
        // DejaVu's digits are 1303 of 2048 wide.
        assert!((width("0", 2048.0) - 1303.0).abs() < 3.0, "{}", width("0", 2048.0));
        assert_eq!(width("漢", 10.0), width("\u{fffd}", 10.0));
    }

    #[test]
    fn an_outline_has_the_size_of_its_letter() {
        // The letter l is a bar of 185 by 1556 of 2048; outlines are rounded to 4.
        let mut path = PathBuilder::new();
        outline(&mut path, "l", (0.0, 0.0), 2048.0);
        let bar = path.finish().unwrap().bounds();
        assert!((bar.width() - 185.0).abs() < 5.0, "{bar:?}");
        assert!((bar.height() - 1556.0).abs() < 5.0 && bar.bottom() == 0.0, "{bar:?}");
    }
}
