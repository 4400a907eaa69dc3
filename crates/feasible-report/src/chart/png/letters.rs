//! Letters as outlines, so that figures look the same wherever they are drawn. The outlines are
//! those of DejaVu Sans; see `glyphs/LICENSE.txt`, and `glyphs/make.py` for the format.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::mask::At;

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

/// The outlines of a text that starts at (x, y) on its base line.
pub(super) fn outlines(text: &str, (x, y): At, size: f32) -> Vec<Vec<At>> {
    let mut pen = x;
    let mut polygons = Vec::new();
    for glyph in text.chars().filter_map(glyph) {
        let place = |(px, py): (f32, f32)| (pen + px * size, y - py * size);
        polygons.extend(
            glyph.contours.iter().map(|c| flattened(c, size).into_iter().map(place).collect()),
        );
        pen += glyph.advance * size;
    }
    polygons
}

/// A contour of quadratic curves as a polygon.
fn flattened(contour: &[(f32, f32, bool)], size: f32) -> Vec<(f32, f32)> {
    let n = contour.len();
    // Between two control points lies a point of the curve.
    let mut points: Vec<(f32, f32, bool)> = Vec::new();
    for (at, &(x, y, on)) in contour.iter().enumerate() {
        points.push((x, y, on));
        let (nx, ny, next_on) = contour[(at + 1) % n];
        if !on && !next_on {
            points.push(((x + nx) / 2.0, (y + ny) / 2.0, true));
        }
    }
    let Some(start) = points.iter().position(|p| p.2) else { return Vec::new() };
    points.rotate_left(start);
    let steps = if size > 20.0 { 6 } else { 4 };
    let mut polygon = Vec::new();
    let mut at = 0;
    while at < points.len() {
        let (x, y, _) = points[at];
        polygon.push((x, y));
        let (cx, cy, on) = points[(at + 1) % points.len()];
        if on {
            at += 1;
            continue;
        }
        let (ex, ey, _) = points[(at + 2) % points.len()];
        for k in 1..steps {
            let t = k as f32 / steps as f32;
            let (a, b, c) = ((1.0 - t) * (1.0 - t), 2.0 * t * (1.0 - t), t * t);
            polygon.push((a * x + b * cx + c * ex, a * y + b * cy + c * ey));
        }
        at += 2;
    }
    polygon
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
    fn an_outline_has_the_area_of_its_letter() {
        // The letter l is a bar of 185 by 1556 of 2048.
        let [bar] = outlines("l", (0.0, 0.0), 2048.0).try_into().unwrap();
        let area: f32 = (0..bar.len())
            .map(|k| (bar[k], bar[(k + 1) % bar.len()]))
            .map(|(a, b): (At, At)| (a.0 * b.1 - b.0 * a.1) / 2.0)
            .sum();
        // Outlines are rounded to 4 of 2048.
        assert!((area.abs() / (184.0 * 1556.0) - 1.0).abs() < 0.03, "{area}");
    }
}
