//! Numbers and tables as plain text.

use feasible_data::visible;

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the left.
    Left,
    /// At the right.
    Right,
}

/// Rows of cells that become aligned text.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// Without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let one_line = |cell: String| visible(&cell).into_owned();
        self.rows.push(cells.into_iter().map(one_line).collect());
    }

    /// Aligned columns, two spaces apart; the last of `align` holds for all further columns.
    pub fn to_text(&self, align: &[Align]) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![0; columns];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (c, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[c] - cell.chars().count());
                let side = align.get(c).or(align.last()).copied().unwrap_or(Align::Left);
                if c > 0 {
                    line += "  ";
                }
                match side {
                    Align::Left => line += &format!("{cell}{pad}"),
                    Align::Right => line += &format!("{pad}{cell}"),
                }
            }
            text += line.trim_end();
            text += "\n";
        }
        text
    }
}

/// What stands where a number is none.
const NOT_FINITE: &str = "not finite";

/// `82.41 %`.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return NOT_FINITE.into();
    }
    format!("{:.2} %", 100.0 * share)
}

/// `0.0184 %`: as many digits as a small share needs.
pub fn precise_percent(share: f64) -> String {
    // 95.00000000000001 is 95.
    let points = (share * 1e14).round() / 1e12;
    format!(
        "{} %",
        if points.abs() < 1e-3 && points != 0.0 { format!("{points:.1e}") } else { short(points) }
    )
}

/// A count that is expected, to the row; of less than one, the digits.
pub fn about(count: f64) -> String {
    if count < 1.0 { short(count) } else { grouped(count.round() as usize) }
}

/// Four significant digits, without an exponent where that is readable.
pub fn short(x: f64) -> String {
    let size = x.abs();
    if !x.is_finite() {
        NOT_FINITE.into()
    } else if x == 0.0 {
        "0".into()
    } else if (1e-3..1e4).contains(&size) {
        let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{x:.digits$}");
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        } else {
            text
        }
    } else {
        format!("{x:.2e}")
    }
}

/// `12,345`.
pub fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `3.1 MB`.
pub fn bytes(n: usize) -> String {
    match n {
        0..1_000 => format!("{n} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.1} GB", n as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_keep_their_digits() {
        let shown = [0.0, 0.5, 1.0, 12.345_67, 1e-3, 5e-4, -0.25, 123_456.0].map(short);
        assert_eq!(shown, ["0", "0.5", "1", "12.35", "0.001", "5.00e-4", "-0.25", "1.23e5"]);
        assert_eq!([f64::NAN, f64::INFINITY].map(short), ["not finite"; 2]);
        assert_eq!(percent(f64::NAN), "not finite");
        assert_eq!(grouped(32_561), "32,561");
        assert_eq!(bytes(2_345_678), "2.3 MB");
    }

    #[test]
    fn columns_align_by_characters() {
        let mut grid = Grid::new();
        grid.row(["a".into(), "1".into()]);
        grid.row(["Male ↔ Female".into(), "10".into()]);
        let text = grid.to_text(&[Align::Left, Align::Right]);
        assert_eq!(text, "a               1\nMale ↔ Female  10\n");
    }
}
