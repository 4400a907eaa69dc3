//! What a chart shows: points, and how they are marked.

/// How points are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Straight lines between points, in the order of x.
    Line,
    /// Horizontal from each point to the next x, then up or down.
    Step,
    /// A dot for each point.
    Dots,
    /// A line, and a dot for each point.
    LineAndDots,
    /// A bar from 0 to each point, as wide as the step of x: a histogram.
    Bars,
}

/// Named points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub(crate) name: String,
    pub(crate) mark: Mark,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) band: Vec<(f64, f64, f64)>,
    pub(crate) muted: bool,
    /// What is said of each point on hover, in place of its numbers.
    pub(crate) notes: Vec<String>,
}

impl Series {
    /// A line.
    pub fn line(name: &str, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, Mark::Line, points)
    }

    /// Steps.
    pub fn step(name: &str, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, Mark::Step, points)
    }

    /// Dots.
    pub fn dots(name: &str, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, Mark::Dots, points)
    }

    /// Points with a mark.
    pub fn new(name: &str, mark: Mark, mut points: Vec<(f64, f64)>) -> Self {
        if mark != Mark::Dots {
            // Stable, and NaN goes to the end, where it is dropped.
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        Self {
            name: name.to_string(),
            mark,
            points,
            band: Vec::new(),
            muted: false,
            notes: Vec::new(),
        }
    }

    /// A band around the line, such as a confidence interval: (x, lower end, upper end).
    pub fn with_band(mut self, mut band: Vec<(f64, f64, f64)>) -> Self {
        band.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.band = band;
        self
    }

    /// Thin and grey, without a place in the legend: one of many.
    pub fn muted(mut self) -> Self {
        self.muted = true;
        self
    }

    /// What is said of each point on hover, in the order of the points.
    pub(crate) fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }
}
