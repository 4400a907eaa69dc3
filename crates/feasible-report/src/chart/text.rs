//! Text and numbers inside SVG: escaped, of bounded length and of fixed precision.

use feasible_data::visible_lines;

/// Text that is safe between tags and in attributes: markup is escaped, hidden characters are written out, and
/// what else XML does not allow becomes U+FFFD.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible_lines(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// At most `most` columns of text, the last being … if it was longer.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if columns(text) <= most as f64 {
        return text.to_string();
    }
    let (mut out, mut used) = (String::new(), 1.0);
    for c in text.chars() {
        used += column(c);
        if used > most as f64 {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// About how many digits wide a text is.
pub(crate) fn columns(text: &str) -> f64 {
    text.chars().map(column).sum()
}

/// The width of a character, roughly: SVG has no way to ask.
fn column(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '(' | ')' => 0.55,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.45,
        'A'..='Z' | '↔' | '×' | '→' => 1.2,
        c if (c as u32) >= 0x1100 => 1.9,
        _ => 1.0,
    }
}

/// A coordinate: a tenth of a pixel, no trailing zero, no negative zero.
pub(crate) fn coordinate(x: f64) -> String {
    let text = format!("{x:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.into() }
}

/// A value for people: four significant digits, a true minus, powers of ten where they read
/// better.
///
/// ```
/// use feasible_report::chart::number;
/// assert_eq!([0.35251, -12.0, 1e-5, 32_561.0, 1.5e9].map(number),
///            ["0.3525", "−12", "10⁻⁵", "32,561", "1.5 × 10⁹"]);
/// ```
pub fn number(x: f64) -> String {
    if x.is_nan() {
        return "not a number".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "∞".into() } else { "−∞".into() };
    }
    let (sign, size) = (if x < 0.0 { "−" } else { "" }, x.abs());
    if size == 0.0 {
        return "0".into();
    }
    if (1e-3..1e6).contains(&size) {
        let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{size:.digits$}");
        let text = match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => text,
        };
        return format!("{sign}{}", grouped(&text));
    }
    let scientific = format!("{size:.2e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    let power = power_of_ten(exponent.parse().unwrap_or(0));
    match mantissa {
        "1" => format!("{sign}{power}"),
        mantissa => format!("{sign}{mantissa} × {power}"),
    }
}

/// `10⁻⁵`.
pub(crate) fn power_of_ten(exponent: i32) -> String {
    let superscript = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + (digit as u32 - '0' as u32)).unwrap_or(digit),
    };
    format!("10{}", exponent.to_string().chars().map(superscript).collect::<String>())
}

/// Thousands apart: `32,561`.
pub(crate) fn grouped(digits: &str) -> String {
    let (whole, rest) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (digits, String::new()),
    };
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + &rest
}
