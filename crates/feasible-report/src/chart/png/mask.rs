//! How much of each pixel a shape covers, exactly.
//!
//! Every edge adds to the pixels it crosses the signed area to the right of it; the running sum
//! along a row is then the coverage. Shapes that overlap themselves in one direction sum to more
//! than 1 and count as 1.

/// A point, in pixels.
pub(super) type At = (f32, f32);

/// The coverage of a rectangle of pixels.
pub(super) struct Mask {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
    /// One more column than pixels: an edge may add to the right of the last.
    sums: Vec<f32>,
}

impl Mask {
    /// For closed polygons, within a canvas of this size.
    pub(super) fn of(polygons: &[Vec<At>], canvas: (usize, usize)) -> Self {
        let points = || polygons.iter().flatten().filter(|p| p.0.is_finite() && p.1.is_finite());
        let low = |of: fn(&At) -> f32| points().map(of).fold(f32::INFINITY, f32::min);
        let high = |of: fn(&At) -> f32| points().map(of).fold(f32::NEG_INFINITY, f32::max);
        let clamp = |x: f32, most: usize| (x.max(0.0) as usize).min(most);
        let (left, top) =
            (clamp(low(|p| p.0).floor(), canvas.0), clamp(low(|p| p.1).floor(), canvas.1));
        let (right, bottom) =
            (clamp(high(|p| p.0).ceil(), canvas.0), clamp(high(|p| p.1).ceil(), canvas.1));
        let (width, height) = (right.saturating_sub(left), bottom.saturating_sub(top));
        let mut mask = Self { left, top, width, height, sums: vec![0.0; (width + 2) * height] };
        for polygon in polygons {
            for (at, &from) in polygon.iter().enumerate() {
                let to = polygon[(at + 1) % polygon.len()];
                mask.edge(from, to);
            }
        }
        mask
    }

    /// Adds an edge, cut at the rows.
    fn edge(&mut self, from: At, to: At) {
        let finite = [from.0, from.1, to.0, to.1].iter().all(|x| x.is_finite());
        if from.1 == to.1 || !finite || self.width == 0 {
            return;
        }
        let (sign, from, to) = if from.1 < to.1 { (1.0, from, to) } else { (-1.0, to, from) };
        let slope = (to.0 - from.0) / (to.1 - from.1);
        let (left, top) = (self.left as f32, self.top as f32);
        let first = (from.1 - top).max(0.0);
        let last = (to.1 - top).min(self.height as f32);
        let mut row = first as usize;
        while (row as f32) < last {
            let (y0, y1) = (first.max(row as f32), last.min(row as f32 + 1.0));
            let x =
                |y: f32| (from.0 + (y + top - from.1) * slope - left).clamp(0.0, self.width as f32);
            self.span(row, sign * (y1 - y0), x(y0), x(y1));
            row += 1;
        }
    }

    /// Within one row, from x0 to x1: an edge of height `dy`.
    fn span(&mut self, row: usize, dy: f32, x0: f32, x1: f32) {
        if dy == 0.0 {
            return;
        }
        let (low, high) = (x0.min(x1), x0.max(x1));
        let start = row * (self.width + 2);
        let (first, last) = (low.floor() as usize, high.ceil() as usize);
        if last <= first + 1 {
            // Within one pixel: what is to the right of the middle of the edge.
            let covered = dy * (1.0 - ((low + high) / 2.0 - first as f32));
            self.sums[start + first] += covered;
            self.sums[start + first + 1] += dy - covered;
            return;
        }
        // Over several pixels: the area to the right of a slanted edge, pixel by pixel.
        let per = dy / (high - low);
        let mut before = 0.0;
        for at in first..last {
            let (a, b) = (low.max(at as f32), high.min(at as f32 + 1.0));
            // What of the edge lies left of this pixel is covered whole, what is in it in part.
            let inside = per * (b - a);
            let right = at as f32 + 1.0 - (a + b) / 2.0;
            let covered = per * (a - low) + inside * right;
            self.sums[start + at] += covered - before;
            before = covered;
        }
        self.sums[start + last] += dy - before;
    }

    /// Every pixel that is covered, with how much of it.
    pub(super) fn each(&self, mut paint: impl FnMut(usize, usize, f32)) {
        for row in 0..self.height {
            let mut sum = 0.0;
            for at in 0..self.width {
                sum += self.sums[row * (self.width + 2) + at];
                let covered = sum.abs().min(1.0);
                // Rounding of a sum that is 0.
                if covered > 1e-4 {
                    paint(self.left + at, self.top + row, covered);
                }
            }
        }
    }
}

/// A line of some width through points, as polygons that all turn the same way: a bar for each piece
/// and a disc at each point, so that corners and ends are round.
pub(super) fn stroke(points: &[At], width: f32) -> Vec<Vec<At>> {
    let half = width / 2.0;
    let mut polygons = Vec::new();
    for pair in points.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let length = (b.0 - a.0).hypot(b.1 - a.1);
        if length > 0.0 {
            let n = (-(b.1 - a.1) / length * half, (b.0 - a.0) / length * half);
            polygons.push(vec![
                (a.0 + n.0, a.1 + n.1),
                (b.0 + n.0, b.1 + n.1),
                (b.0 - n.0, b.1 - n.1),
                (a.0 - n.0, a.1 - n.1),
            ]);
        }
    }
    polygons
}

/// A disc.
pub(super) fn disc(at: At, radius: f32) -> Vec<At> {
    let sides = ((radius * 6.0) as usize).clamp(12, 60);
    // Turns as the bars of a stroke do.
    let corner = |k: usize| {
        let angle = -std::f32::consts::TAU * k as f32 / sides as f32;
        (at.0 + radius * angle.cos(), at.1 + radius * angle.sin())
    };
    (0..sides).map(corner).collect()
}

/// A line cut into dashes: lengths of dash and gap in turn.
pub(super) fn dashed(points: &[At], pattern: &[f32]) -> Vec<Vec<At>> {
    let total: f32 = pattern.iter().sum();
    if pattern.is_empty() || total <= 0.0 {
        return vec![points.to_vec()];
    }
    let (mut pieces, mut piece): (Vec<Vec<At>>, Vec<At>) = (Vec::new(), Vec::new());
    let (mut at, mut left) = (0, pattern[0]);
    for pair in points.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let length = (b.0 - a.0).hypot(b.1 - a.1);
        let mut gone = 0.0;
        let place = |t: f32| (a.0 + (b.0 - a.0) * t / length, a.1 + (b.1 - a.1) * t / length);
        if at % 2 == 0 && piece.is_empty() {
            piece.push(a);
        }
        while length - gone > left {
            gone += left;
            if at % 2 == 0 {
                piece.push(place(gone));
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece.push(place(gone));
            }
            at += 1;
            left = pattern[at % pattern.len()];
        }
        left -= length - gone;
        if at % 2 == 0 {
            piece.push(b);
        }
    }
    if piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(polygons: &[Vec<At>]) -> f32 {
        let mut sum = 0.0;
        Mask::of(polygons, (100, 100)).each(|_, _, c| sum += c);
        sum
    }

    #[test]
    fn coverage_is_area() {
        let square = vec![(10.25, 10.5), (20.75, 10.5), (20.75, 15.25), (10.25, 15.25)];
        assert!((covered(&[square]) - 10.5 * 4.75).abs() < 1e-3);
        let triangle = vec![(3.3, 2.1), (40.7, 11.9), (17.2, 60.4)];
        let area = ((40.7f32 - 3.3) * (60.4 - 2.1) - (17.2 - 3.3) * (11.9 - 2.1)) / 2.0;
        assert!((covered(&[triangle]) - area).abs() < 0.05, "{area}");
        let circle = covered(&[disc((50.0, 50.0), 20.0)]);
        // A polygon of 60 sides has 0.2 % less than the circle.
        assert!((circle - std::f32::consts::PI * 400.0).abs() < 3.0, "{circle}");
    }

    #[test]
    fn what_overlaps_is_covered_once_and_what_is_outside_not_at_all() {
        let bar = || vec![(10.0, 10.0), (30.0, 10.0), (30.0, 20.0), (10.0, 20.0)];
        assert!((covered(&[bar(), bar()]) - 200.0).abs() < 1e-3);
        let outside = vec![(-50.0, -50.0), (-10.0, -50.0), (-10.0, 200.0), (-50.0, 200.0)];
        assert!(covered(&[outside]) < 1e-3);
        // Half in, half out.
        let across = vec![(90.0, 90.0), (110.0, 90.0), (110.0, 110.0), (90.0, 110.0)];
        assert!((covered(&[across]) - 100.0).abs() < 1e-3);
        assert_eq!(covered(&[vec![(f32::NAN, 1.0), (2.0, f32::INFINITY), (3.0, 3.0)]]), 0.0);
    }

    #[test]
    fn a_stroke_is_as_long_and_wide_as_it_says() {
        let line = [(10.0, 10.0), (60.0, 10.0)];
        assert!((covered(&stroke(&line, 4.0)) - 200.0).abs() < 1e-2);
        let dashes = dashed(&line, &[6.0, 4.0]);
        assert_eq!(dashes.len(), 5);
        let lengths: f32 = dashes.iter().map(|d| d[d.len() - 1].0 - d[0].0).sum();
        assert!((lengths - 30.0).abs() < 1e-3, "{dashes:?}");
        let corner = dashed(&[(0.0, 0.0), (5.0, 0.0), (5.0, 5.0)], &[7.0, 1.0]);
        assert_eq!(corner[0], [(0.0, 0.0), (5.0, 0.0), (5.0, 2.0)]);
    }
}
