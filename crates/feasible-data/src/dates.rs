//! Dates and times as text: ISO 8601, in the Gregorian calendar, years 1 to 9999.
//!
//! A date is a number of days since 1970-01-01, its time of day the fraction. `2024-03-31`, and with a time of day after `T`
//! or a space: `2024-03-31T12:30`, `2024-03-31 12:30:15.25`, `…Z`, `…+02:00`. A time with an offset is taken to UTC, one
//! without is as it stands. Dates in other orders (`03/04/2024`) are not read: which one is the month cannot be known.

/// Days of the months before each month, in a year without a leap day.
const BEFORE: [i64; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];
/// Days from 0001-01-01 to 1970-01-01.
const EPOCH: i64 = 719_162;
const SECONDS: i64 = 86_400;
const NANOS: i64 = 1_000_000_000;

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of the year before the first of a month (from 1; month 13 is the next year's first).
fn before_month(year: i64, month: i64) -> i64 {
    BEFORE[month as usize - 1] + i64::from(month > 2 && is_leap(year))
}

/// Days from 0001-01-01 to the first day of a year.
fn before_year(year: i64) -> i64 {
    let past = year - 1;
    365 * past + past / 4 - past / 100 + past / 400
}

/// Days since 1970-01-01 of a date that exists.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let valid = (1..=9999).contains(&year) && (1..=12).contains(&month) && day >= 1;
    let length = valid.then(|| before_month(year, month + 1) - before_month(year, month))?;
    (day <= length).then(|| before_year(year) + before_month(year, month) + day - 1 - EPOCH)
}

/// The year and the day in it, from 0, of days since 1970-01-01.
fn year_and_day(days: i64) -> (i64, i64) {
    let since = days + EPOCH;
    // At most one year off: a year has 365 or 366 days.
    let mut year = (since as f64 / 365.2425).floor() as i64 + 1;
    while before_year(year) > since {
        year -= 1;
    }
    while before_year(year + 1) <= since {
        year += 1;
    }
    (year, since - before_year(year))
}

/// Digits, exactly so many.
fn digits(text: &[u8], count: usize) -> Option<(i64, &[u8])> {
    let (number, rest) = text.split_at_checked(count)?;
    let value = number.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0'))
    })?;
    Some((value, rest))
}

/// Hours, minutes, seconds and their fraction as seconds, and what follows.
fn time(text: &[u8]) -> Option<(f64, &[u8])> {
    let (hour, rest) = digits(text, 2)?;
    let (minute, mut rest) = digits(rest.strip_prefix(b":")?, 2)?;
    let mut seconds = 0.0;
    if let Some(after) = rest.strip_prefix(b":") {
        let (whole, after) = digits(after, 2)?;
        (seconds, rest) = (whole as f64, after);
        if let Some(after) = rest.strip_prefix(b".") {
            let count = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let fraction = std::str::from_utf8(&after[..count]).ok().filter(|f| !f.is_empty())?;
            seconds += format!("0.{fraction}").parse::<f64>().ok()?;
            rest = &after[count..];
        }
    }
    let valid = hour <= 23 && minute <= 59 && seconds < 61.0;
    valid.then(|| ((hour * 3600 + minute * 60) as f64 + seconds, rest))
}

/// Seconds by which a clock is ahead of UTC: nothing, `Z`, `+02`, `+0200` or `+02:00`.
fn offset(text: &[u8]) -> Option<f64> {
    let sign = match text {
        [] | b"Z" | b"z" => return Some(0.0),
        [b'+', ..] => 1.0,
        [b'-', ..] => -1.0,
        _ => return None,
    };
    let (hours, rest) = digits(&text[1..], 2)?;
    let minutes = match rest {
        [] => 0,
        _ => match digits(rest.strip_prefix(b":").unwrap_or(rest), 2)? {
            (minutes, []) => minutes,
            _ => return None,
        },
    };
    (hours <= 23 && minutes <= 59).then(|| sign * (hours * 3600 + minutes * 60) as f64)
}

/// Days since 1970-01-01 of a date or a date and time; `None` if the text is neither.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let (year, rest) = digits(text.as_bytes(), 4)?;
    let (month, rest) = digits(rest.strip_prefix(b"-")?, 2)?;
    let (day, rest) = digits(rest.strip_prefix(b"-")?, 2)?;
    let days = days(year, month, day)? as f64;
    let Some(rest) = rest.strip_prefix(b"T").or_else(|| rest.strip_prefix(b" ")) else {
        return rest.is_empty().then_some(days);
    };
    let (seconds, zone) = time(rest)?;
    // A space may stand before the offset.
    let zone = zone.strip_prefix(b" ").filter(|zone| !zone.is_empty()).unwrap_or(zone);
    Some(days + (seconds - offset(zone)?) / SECONDS as f64)
}

/// Whether a text is a date, or a date and time, as columns of dates hold them.
pub fn is_date(text: &str) -> bool {
    parse(text).is_some()
}

/// Days since 1970-01-01 as text; `None` beyond the years 1 to 9999.
pub fn date_text(days: i64) -> Option<String> {
    if !(-EPOCH..before_year(10_000) - EPOCH).contains(&days) {
        return None;
    }
    let (year, in_year) = year_and_day(days);
    let month = (1..=12).rev().find(|&month| before_month(year, month) <= in_year)?;
    let day = in_year - before_month(year, month) + 1;
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

/// Whole units since 1970-01-01T00:00:00, so many a second, as text; `None` beyond the years 1 to 9999.
pub fn time_text(units: i64, a_second: i64) -> Option<String> {
    let (seconds, part) = (units.div_euclid(a_second), units.rem_euclid(a_second));
    let mut text = date_text(seconds.div_euclid(SECONDS))?;
    let of_day = seconds.rem_euclid(SECONDS);
    text += &format!("T{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
    if part != 0 {
        let nanos = format!("{:09}", part * (NANOS / a_second));
        text += &format!(".{}", nanos.trim_end_matches('0'));
    }
    Some(text)
}

/// Where a date stands in its week (Monday is 0), as a share of it.
pub(crate) fn in_week(days: f64) -> f64 {
    (days.floor() + 3.0).rem_euclid(7.0) / 7.0
}

/// Where a date stands in its year, as a share of it.
pub(crate) fn in_year(days: f64) -> f64 {
    let (year, day) = year_and_day(days.floor() as i64);
    day as f64 / (365 + i64::from(is_leap(year))) as f64
}

/// The time of day, as a share of it.
pub(crate) fn in_day(days: f64) -> f64 {
    days - days.floor()
}

/// Whether a text looks like a date in an order that is not read: `03/04/2024`, `31.3.24`.
pub(crate) fn is_of_other_order(text: &str) -> bool {
    let date = text.split([' ', 'T']).next().unwrap_or(text);
    ['/', '.', '-'].into_iter().any(|between| {
        let parts: Vec<&str> = date.split(between).collect();
        let number = |part: &&str| {
            (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        parts.len() == 3 && parts.iter().all(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        // Python: (datetime.date(y, m, d) - datetime.date(1970, 1, 1)).days
        for (text, days) in [
            ("0001-01-01", -719_162.0),
            ("1899-12-31", -25_568.0),
            ("1970-01-01", 0.0),
            ("2000-02-29", 11_016.0),
            ("2024-03-31", 19_813.0),
            ("9999-12-31", 2_932_896.0),
            ("2024-03-31T12:00", 19_813.5),
            ("2024-03-31 06:00:00", 19_813.25),
            ("2024-03-31T12:00:00Z", 19_813.5),
            ("2024-03-31T12:00:00.000+06:00", 19_813.25),
            ("2024-03-31 12:00:00 -0600", 19_813.75),
        ] {
            assert_eq!(parse(text), Some(days), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_not_read() {
        for text in [
            "",
            "2024",
            "2024-03",
            "2024-3-31",
            "2024-13-01",
            "2023-02-29",
            "0000-01-01",
            "2024-03-31T",
            "2024-03-31T24:00",
            "2024-03-31x",
            "2024-03-31T12:00:00.",
            "2024-03-31T12:00+",
            "2024-03-31T12:00+2",
            "31.03.2024",
            "20240331",
            "2024-03-31T12",
            "２０２４-03-31",
            "2024-03-31T12:00:00+02:000",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert!(is_of_other_order("03/04/2024") && is_of_other_order("31.3.24 12:00"));
        assert!(!is_of_other_order("10.5") && !is_of_other_order("a/b/c"));
    }

    #[test]
    fn every_day_is_written_and_read_again() {
        for days in (-719_162..2_932_897).step_by(97).chain(10_000..12_000) {
            let text = date_text(days).unwrap();
            assert_eq!(parse(&text), Some(days as f64), "{text}");
        }
        assert_eq!(date_text(-719_163), None);
        assert_eq!(date_text(2_932_897), None);
        assert_eq!(time_text(i64::MAX, 1000), None);
    }

    #[test]
    fn times_are_written_with_the_digits_they_have() {
        assert_eq!(time_text(0, 1000).unwrap(), "1970-01-01T00:00:00");
        assert_eq!(time_text(-1, 1_000_000).unwrap(), "1969-12-31T23:59:59.999999");
        assert_eq!(time_text(1_711_886_400_500, 1000).unwrap(), "2024-03-31T12:00:00.5");
    }

    #[test]
    fn cycles_begin_where_they_should() {
        assert_eq!(in_week(parse("2024-01-01").unwrap()), 0.0); // a Monday
        assert_eq!(in_week(parse("2024-01-07T23:59").unwrap()), 6.0 / 7.0);
        assert_eq!(in_year(parse("2024-01-01").unwrap()), 0.0);
        assert_eq!(in_year(parse("2024-12-31").unwrap()), 365.0 / 366.0);
        assert_eq!(in_day(parse("1960-01-01T18:00").unwrap()), 0.75);
    }
}
