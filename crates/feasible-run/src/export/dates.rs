//! Dates and times as text, read by the graph itself: the grammar of `feasible_data`'s dates, in operators on text that
//! ONNX has from set 20 on.
//!
//! `2024-03-31`, `2024-03-31T12:30`, `2024-03-31 12:30:15.25`, `…Z`, `…+02:00`, `… -0200`. Text that is no date is put aside
//! (it is not [`valid`](Days::valid)) and 1970-01-01 computed with in its place, so that every row has all parts.

use feasible_data::Cycle;

use super::graph::{Attribute, Constant, Element, Graph, Value};

/// What a date may look like; that its day exists in its month is seen from the numbers.
const PATTERN: &str = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])\
    ([T ]([01][0-9]|2[0-3]):[0-5][0-9](:([0-5][0-9]|60)(\\.[0-9]+)?)?\
    ( ?([Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?))?)?";
/// An offset of hours and minutes without a colon.
const FOUR_DIGITS: &str = "[0-9]{4}";
/// Days of the months before each month, in a year without a leap day.
const BEFORE: [f64; 13] = [0., 31., 59., 90., 120., 151., 181., 212., 243., 273., 304., 334., 365.];
/// Days from 0001-01-01 to 1970-01-01.
const EPOCH: f64 = 719_162.0;

/// A column of dates.
pub(super) struct Days {
    /// Days since 1970-01-01, N × 1, in double precision.
    pub(super) days: Value,
    /// Whether the cell is a date.
    pub(super) valid: Value,
}

impl Days {
    /// Reads text cells, N × 1.
    pub(super) fn read(graph: &mut Graph, cells: &Value) -> Self {
        graph.needs(20);
        let looks = matches(graph, cells, PATTERN);
        let stand_in = graph.constant(Constant::texts(&[1, 1], vec!["1970-01-01".into()]));
        let cells = graph.op("Where", &[&looks, cells, &stand_in]);
        // One row more, that there is a text to split where there are no rows; it is taken off at the end.
        let axis = [("axis", Attribute::Int(0))];
        let cells = graph.op_with("Concat", &[&stand_in, &cells], &axis);
        let [year, month, rest] = split(graph, &cells, "-", 2);
        // The time after a space, whether it came after T or a space; then the offset, which may have one before it, too.
        let rest = follow(graph, &rest, "T");
        let [day, time] = split(graph, &rest, "T", -1);
        let day = follow(graph, &day, " ");
        let rest = graph.op("StringConcat", &[&day, &time]);
        let rest = follow(graph, &rest, "   ");
        let [day, clock, offset] = split(graph, &rest, " ", -1);
        let clock = graph.op("StringConcat", &[&clock, &offset]);
        let [clock, east] = cut(graph, &clock, "+");
        let [clock, west] = cut(graph, &clock, "-");
        let [clock, _] = cut(graph, &clock, "Z");
        let [clock, _] = cut(graph, &clock, "z");
        let clock = follow(graph, &clock, "::");
        let [hour, minute, second] = split(graph, &clock, ":", -1).map(|text| number(graph, &text));
        let seconds = in_seconds(graph, &hour, &minute);
        let seconds = graph.op("Add", &[&seconds, &second]);
        let ahead = ahead_of_utc(graph, &east, &west);
        let seconds = graph.op("Sub", &[&seconds, &ahead]);

        let [year, month, day] = [year, month, day].map(|text| number(graph, &text));
        let leap = leap_day(graph, &year);
        let length = month_length(graph, &month, &leap);
        let exists = graph.op("LessOrEqual", &[&day, &length]);
        let one = double(graph, 1.0);
        let counted = graph.op("GreaterOrEqual", &[&year, &one]);
        let exists = graph.op("And", &[&exists, &counted]);
        let exists = without_first(graph, &exists);
        let valid = graph.op("And", &[&looks, &exists]);

        let years = before_year(graph, &year);
        let months = before_month(graph, &month, &leap);
        let days = graph.op("Add", &[&years, &months]);
        let days = graph.op("Add", &[&days, &day]);
        let epoch = double(graph, EPOCH + 1.0);
        let days = graph.op("Sub", &[&days, &epoch]);
        let a_day = double(graph, 86_400.0);
        let share = graph.op("Div", &[&seconds, &a_day]);
        let days = graph.op("Add", &[&days, &share]);
        let days = without_first(graph, &days);
        Self { days, valid }
    }

    /// Sine and cosine of where the dates stand in a cycle.
    pub(super) fn cycle(&self, graph: &mut Graph, cycle: Cycle) -> [Value; 2] {
        let share = match cycle {
            Cycle::Day => {
                let whole = graph.op("Floor", &[&self.days]);
                graph.op("Sub", &[&self.days, &whole])
            }
            Cycle::Week => self.in_week(graph),
            Cycle::Year => self.in_year(graph),
        };
        let tau = double(graph, std::f64::consts::TAU);
        let angle = graph.op("Mul", &[&share, &tau]);
        // The cosine as a sine: older versions of onnxruntime have no other in double precision.
        let quarter = double(graph, std::f64::consts::FRAC_PI_2);
        let ahead = graph.op("Add", &[&angle, &quarter]);
        [angle, ahead].map(|angle| graph.op("Sin", &[&angle]))
    }

    /// Monday is 0.
    fn in_week(&self, graph: &mut Graph) -> Value {
        let (three, seven) = (double(graph, 3.0), double(graph, 7.0));
        let day = graph.op("Floor", &[&self.days]);
        let day = graph.op("Add", &[&day, &three]);
        let weeks = graph.op("Div", &[&day, &seven]);
        let weeks = graph.op("Floor", &[&weeks]);
        let whole = graph.op("Mul", &[&weeks, &seven]);
        let day = graph.op("Sub", &[&day, &whole]);
        graph.op("Div", &[&day, &seven])
    }

    fn in_year(&self, graph: &mut Graph) -> Value {
        let (one, epoch) = (double(graph, 1.0), double(graph, EPOCH));
        let since = graph.op("Floor", &[&self.days]);
        let since = graph.op("Add", &[&since, &epoch]);
        // At most one year off: a year has 365 or 366 days.
        let length = double(graph, 365.2425);
        let year = graph.op("Div", &[&since, &length]);
        let year = graph.op("Floor", &[&year]);
        let year = graph.op("Add", &[&year, &one]);
        let starts = before_year(graph, &year);
        let early = graph.op("Greater", &[&starts, &since]);
        let early = graph.cast(&early, Element::Double);
        let year = graph.op("Sub", &[&year, &early]);
        let next = graph.op("Add", &[&year, &one]);
        let ends = before_year(graph, &next);
        let late = graph.op("LessOrEqual", &[&ends, &since]);
        let late = graph.cast(&late, Element::Double);
        let year = graph.op("Add", &[&year, &late]);
        let starts = before_year(graph, &year);
        let day = graph.op("Sub", &[&since, &starts]);
        let leap = leap_day(graph, &year);
        let usual = double(graph, 365.0);
        let length = graph.op("Add", &[&leap, &usual]);
        graph.op("Div", &[&day, &length])
    }
}

fn double(graph: &mut Graph, x: f64) -> Value {
    graph.constant(Constant::double(x))
}

fn matches(graph: &mut Graph, text: &Value, pattern: &str) -> Value {
    let pattern = [("pattern", Attribute::Text(pattern.into()))];
    graph.op_with("RegexFullMatch", &[text], &pattern)
}

/// Text with this after it.
fn follow(graph: &mut Graph, text: &Value, after: &str) -> Value {
    let after = graph.constant(Constant::text(after));
    graph.op("StringConcat", &[text, &after])
}

/// The first parts between separators, of which every row must have as many; −1 splits at all of them.
fn split<const K: usize>(graph: &mut Graph, text: &Value, at: &str, most: i64) -> [Value; K] {
    let mut attributes = vec![("delimiter", Attribute::Text(at.into()))];
    if most >= 0 {
        attributes.push(("maxsplit", Attribute::Int(most)));
    }
    let parts = graph.parts(text, &attributes);
    std::array::from_fn(|part| {
        let part = graph.constant(Constant::int(part as i64));
        graph.op_with("Gather", &[&parts, &part], &[("axis", Attribute::Int(2))])
    })
}

/// What is before and after a separator, which need not be there.
fn cut(graph: &mut Graph, text: &Value, at: &str) -> [Value; 2] {
    let text = follow(graph, text, at);
    split(graph, &text, at, -1)
}

/// Digits as a number; none are 0.
fn number(graph: &mut Graph, digits: &Value) -> Value {
    let zero = graph.constant(Constant::text("0"));
    let digits = graph.op("StringConcat", &[&zero, digits]);
    graph.cast(&digits, Element::Double)
}

fn in_seconds(graph: &mut Graph, hours: &Value, minutes: &Value) -> Value {
    let (hour, minute) = (double(graph, 3600.0), double(graph, 60.0));
    let hours = graph.op("Mul", &[hours, &hour]);
    let minutes = graph.op("Mul", &[minutes, &minute]);
    graph.op("Add", &[&hours, &minutes])
}

/// Seconds ahead of UTC: `02`, `0200` or `02:00`, east or west.
fn ahead_of_utc(graph: &mut Graph, east: &Value, west: &Value) -> Value {
    let text = graph.op("StringConcat", &[east, west]);
    let [hours, minutes] = cut(graph, &text, ":");
    let together = matches(graph, &hours, FOUR_DIGITS);
    let [hours, minutes] = [hours, minutes].map(|text| number(graph, &text));
    let hundred = double(graph, 100.0);
    let first = graph.op("Div", &[&hours, &hundred]);
    let first = graph.op("Floor", &[&first]);
    let whole = graph.op("Mul", &[&first, &hundred]);
    let last = graph.op("Sub", &[&hours, &whole]);
    let hours = graph.op("Where", &[&together, &first, &hours]);
    let minutes = graph.op("Where", &[&together, &last, &minutes]);
    let seconds = in_seconds(graph, &hours, &minutes);
    let none = graph.constant(Constant::text(""));
    let east = graph.op("Equal", &[west, &none]);
    let behind = graph.op("Neg", &[&seconds]);
    graph.op("Where", &[&east, &seconds, &behind])
}

/// Days from 0001-01-01 to the first day of a year.
fn before_year(graph: &mut Graph, year: &Value) -> Value {
    let one = double(graph, 1.0);
    let past = graph.op("Sub", &[year, &one]);
    let usual = double(graph, 365.0);
    let mut days = graph.op("Mul", &[&past, &usual]);
    for (operator, every) in [("Add", 4.0), ("Sub", 100.0), ("Add", 400.0)] {
        let every = double(graph, every);
        let leaps = graph.op("Div", &[&past, &every]);
        let leaps = graph.op("Floor", &[&leaps]);
        days = graph.op(operator, &[&days, &leaps]);
    }
    days
}

/// 1 in leap years, else 0.
fn leap_day(graph: &mut Graph, year: &Value) -> Value {
    let (one, usual) = (double(graph, 1.0), double(graph, 365.0));
    let next = graph.op("Add", &[year, &one]);
    let [starts, ends] = [year, &next].map(|year| before_year(graph, year));
    let length = graph.op("Sub", &[&ends, &starts]);
    graph.op("Sub", &[&length, &usual])
}

/// Days of a table of months, the month counted from 1, and the leap day where the month is beyond a number.
fn of_month(
    graph: &mut Graph,
    month: &Value,
    table: &[f64],
    leap: &Value,
    when: (&str, f64),
) -> Value {
    let place = graph.cast(month, Element::Int64);
    let first = graph.constant(Constant::int(1));
    let place = graph.op("Sub", &[&place, &first]);
    let table = graph.constant(Constant::double_list(table));
    let days = graph.op_with("Gather", &[&table, &place], &[("axis", Attribute::Int(0))]);
    let (operator, number) = when;
    let number = double(graph, number);
    let here = graph.op(operator, &[month, &number]);
    let here = graph.cast(&here, Element::Double);
    let leap = graph.op("Mul", &[&here, leap]);
    graph.op("Add", &[&days, &leap])
}

/// Days of the year before the first of a month.
fn before_month(graph: &mut Graph, month: &Value, leap: &Value) -> Value {
    of_month(graph, month, &BEFORE[..12], leap, ("Greater", 2.0))
}

fn month_length(graph: &mut Graph, month: &Value, leap: &Value) -> Value {
    let lengths: Vec<f64> = BEFORE.windows(2).map(|ends| ends[1] - ends[0]).collect();
    of_month(graph, month, &lengths, leap, ("Equal", 2.0))
}

/// All rows but the one that was put before them.
fn without_first(graph: &mut Graph, rows: &Value) -> Value {
    let start = graph.constant(Constant::ints(&[1]));
    let end = graph.constant(Constant::ints(&[i64::MAX]));
    let axis = graph.constant(Constant::ints(&[0]));
    graph.op("Slice", &[rows, &start, &end, &axis])
}
