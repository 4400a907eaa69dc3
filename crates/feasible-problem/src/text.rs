//! Numbers and tables as plain text.

use feasible_data::visible;

/// What text is laid out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Characters in a line; a table that is wider loses columns, then is stacked.
    pub width: usize,
    /// Whether verdicts are coloured.
    pub color: bool,
    /// Whether long lists are printed whole, or their first entries and those that matter.
    pub whole: bool,
}

impl Default for Page {
    /// Everything, as wide as it is, without colours.
    fn default() -> Self {
        Self { width: usize::MAX, color: false, whole: true }
    }
}

/// Green.
pub const GOOD: &str = "\u{1b}[32m";
/// Bold and red.
pub const BAD: &str = "\u{1b}[1m\u{1b}[31m";
/// Yellow.
pub const UNDECIDED: &str = "\u{1b}[33m";
/// As before.
pub const PLAIN: &str = "\u{1b}[0m";

impl Page {
    /// Text in a colour, if there are colours.
    pub fn paint(&self, color: &str, text: &str) -> String {
        match self.color && !text.is_empty() {
            true => format!("{color}{text}{PLAIN}"),
            false => text.to_string(),
        }
    }

    /// A verdict in its colour.
    pub fn verdict(&self, word: &str) -> String {
        let color = match word {
            "met" | "CERTIFIED" | "feasible" => GOOD,
            "NOT MET" | "VIOLATED" | "DRIFTED" | "not feasible" => BAD,
            "MET" | "OPEN" => UNDECIDED,
            _ if word.contains("CERTIFIED") => GOOD,
            _ => return word.to_string(),
        };
        self.paint(color, word)
    }
}

/// Lines of at most `width` characters: a line that is longer is broken between words, and goes on below where its
/// text begins.
///
/// ```
/// use feasible_problem::text::wrapped;
/// assert_eq!(wrapped("- one two three\n", 10), "- one two\n  three\n");
/// assert_eq!(wrapped("rows     all that there are\n", 18), "rows     all that\n         there are\n");
/// ```
pub fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match columns(line.trim_end_matches('\n')) > width {
            true => wrap_line(line, width, &mut out),
            false => out += line,
        }
    }
    out
}

fn wrap_line(line: &str, width: usize, out: &mut String) {
    let (line, end) = match line.strip_suffix('\n') {
        Some(line) => (line, "\n"),
        None => (line, ""),
    };
    let start = line.len() - line.trim_start().len();
    let body = &line[start..];
    // Below the text of an entry, `- text` or `name   text`.
    let hang = match body.rfind("  ") {
        _ if body.starts_with("- ") => start + 2,
        Some(gap) => columns(line) - columns(&body[gap + 2..]),
        None => start,
    };
    let hang = if 2 * hang > width { start + 2 } else { hang };
    let mut used = 0;
    // What stands before the hanging text keeps its spaces.
    let head: String = line.chars().take(hang).collect();
    out.push_str(&head);
    used += columns(&head);
    for (at, words) in unbroken(&line[head.len()..]).iter().enumerate() {
        if at > 0 && used + 1 + columns(words) > width {
            out.push('\n');
            out.push_str(&" ".repeat(hang));
            used = hang;
        } else if at > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(words);
        used += columns(words);
    }
    out.push_str(end);
}

/// The words of a text, each with what must not begin a line: `5 %`, `y positive ]`.
fn unbroken(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match all.last_mut() {
            Some(last) if word.starts_with(['%', ']', '}']) => *last = format!("{last} {word}"),
            _ => all.push(word.to_string()),
        }
    }
    all
}

/// How many characters are seen: colours are not.
fn columns(text: &str) -> usize {
    let mut count = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                let _ = chars.by_ref().find(|c| c.is_ascii_alphabetic());
            }
            _ => count += 1,
        }
    }
    count
}

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the left.
    Left,
    /// At the right.
    Right,
}

/// Rows of cells that become aligned text.
///
/// On a page that is too narrow, columns of the highest rank are left out first; if those of rank 0 still do not fit,
/// every row becomes a block of lines, named by the first row.
///
/// ```
/// use feasible_problem::text::{Align, Grid, Page};
/// let mut grid = Grid::new().ranked(&[0, 0, 1]);
/// grid.row(["name", "limit", "multiplier"].map(String::from));
/// grid.row(["older", "0.15", "1.25"].map(String::from));
/// let on = |width| grid.on(&Page { width, ..Page::default() }, &[Align::Left]);
/// assert_eq!(on(30), "name   limit  multiplier\nolder  0.15   1.25\n");
/// assert_eq!(on(20), "name   limit\nolder  0.15\n");
/// assert_eq!(on(11), "older\n  limit       0.15\n  multiplier  1.25\n");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Grid {
    rows: Vec<Vec<String>>,
    ranks: Vec<u8>,
    prose: bool,
}

impl Grid {
    /// Without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a rank for each column: the higher, the sooner it is left out. Columns without one have 0.
    #[must_use]
    pub fn ranked(mut self, ranks: &[u8]) -> Self {
        self.ranks = ranks.to_vec();
        self
    }

    /// With a last column of sentences, which [`wrapped`] breaks.
    #[must_use]
    pub fn with_prose(mut self) -> Self {
        self.prose = true;
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let one_line = |cell: String| visible(&cell).into_owned();
        self.rows.push(cells.into_iter().map(one_line).collect());
    }

    /// Aligned columns as wide as they are; see [`Grid::on`].
    pub fn to_text(&self, align: &[Align]) -> String {
        self.on(&Page::default(), align)
    }

    /// Aligned columns, two spaces apart; the last of `align` holds for all further columns.
    pub fn on(&self, page: &Page, align: &[Align]) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![0; columns];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let rank = |c: usize| self.ranks.get(c).copied().unwrap_or(0);
        let mut highest = (0..columns).map(rank).max().unwrap_or(0);
        loop {
            let shown: Vec<usize> = (0..columns).filter(|&c| rank(c) <= highest).collect();
            // Sentences need half of the page.
            let prose = self.prose && widths[columns - 1] > page.width / 2;
            let width =
                |c: usize| if prose && c == columns - 1 { page.width / 2 } else { widths[c] };
            let total = shown.iter().fold(0usize, |sum, &c| sum.saturating_add(width(c) + 2));
            if total <= page.width.saturating_add(2) {
                return self.aligned(page, &shown, &widths, align);
            }
            if highest == 0 {
                return self.stacked(page);
            }
            highest -= 1;
        }
    }

    fn aligned(&self, page: &Page, shown: &[usize], widths: &[usize], align: &[Align]) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for &c in shown.iter().filter(|&&c| c < row.len()) {
                let pad = " ".repeat(widths[c] - row[c].chars().count());
                // The first is a name, whatever it says.
                let cell = if c == 0 { row[c].clone() } else { page.verdict(&row[c]) };
                let side = align.get(c).or(align.last()).copied().unwrap_or(Align::Left);
                if c != shown[0] {
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

    /// Every row but the first as a block of lines.
    fn stacked(&self, page: &Page) -> String {
        let Some((head, rows)) = self.rows.split_first() else { return String::new() };
        let label = head.iter().skip(1).map(|cell| cell.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for row in rows {
            text += row.first().map_or("", String::as_str);
            for (at, cell) in row.iter().enumerate().skip(1).filter(|(_, cell)| !cell.is_empty()) {
                let cell = page.verdict(cell);
                text += &match head.get(at).map_or("", String::as_str) {
                    "" => format!("  {cell}"),
                    name => format!("\n  {name:<label$}  {cell}"),
                };
            }
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

/// A number that is only known roughly, rounded up to two digits.
///
/// ```
/// use feasible_problem::text::roughly;
/// assert_eq!([7, 691, 4_100, 915_144].map(roughly), ["7", "700", "4,100", "920,000"]);
/// ```
pub fn roughly(n: u64) -> String {
    grouped(round_up(n) as usize)
}

/// A number that is only known roughly, rounded up to two digits.
pub fn round_up(n: u64) -> u64 {
    let unit = 10_u64.pow(n.max(1).ilog10().saturating_sub(1));
    n.div_ceil(unit).saturating_mul(unit)
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
