//! Lives of models: months whose populations are known, and how often what is said about them is wrong.
//!
//! Shared by `tests/monitor_validity.rs`, which draws a few hundred lives, and by the example `monitor_validity`,
//! which draws thousands and prints the table of the book.
#![allow(dead_code, clippy::unwrap_used)]

use feasible::certificate::{Count, Delta, Values};
use feasible::monitor::{MonitorPlan, MonitorVerdict, Track, Wager, Wealth};
use feasible::requirement::Sense;
use feasible::{Purpose, Stream};

/// δ of every life.
pub const DELTA: f64 = 0.05;
/// Months of a life.
pub const MONTHS: usize = 60;

/// A kind of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// A share that is at the limit, 10 %, in every month; so many rows each.
    AtLimit { rows: u64 },
    /// 1 % at the limit of 1 %, as pointwise requirements have it.
    RareAtLimit,
    /// 5 % and 15 % in turn, 10 % on average.
    InTurn,
    /// 13 % after lucky months, 7 % after others.
    Reacting,
    /// Good for two years, then slowly worse.
    Creeping,
    /// A group that has no rows in two months of three.
    Absent,
    /// The mean of skewed losses at the limit.
    Skewed,
    /// The mean of losses that are small and rarely B, at the limit.
    RarelyB,
    /// At least 80 %, which is what it is.
    AtLeast,
    /// The difference of two groups at the limit, 5 %; base rates and sizes change from month to month.
    Groups,
    /// A group against everyone at the limit, 5 %.
    Everyone,
}

pub const LIVES: [Life; 12] = [
    Life::AtLimit { rows: 20 },
    Life::AtLimit { rows: 500 },
    Life::RareAtLimit,
    Life::InTurn,
    Life::Reacting,
    Life::Creeping,
    Life::Absent,
    Life::Skewed,
    Life::RarelyB,
    Life::AtLeast,
    Life::Groups,
    Life::Everyone,
];

/// Of so many lives, so many in which something was wrong at some time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Errors {
    pub lives: u64,
    /// CERTIFIED although the average so far was not below the limit.
    pub certified: u64,
    /// DRIFTED although the average over the tables named was not above the limit.
    pub drifted: u64,
    /// An average so far outside its bounds.
    pub bounds: u64,
    /// Any verdict.
    pub any: u64,
}

impl Errors {
    /// Whether as many wrong lives would be a surprise of less than one in a million if each were wrong with
    /// probability `delta`.
    pub fn refutes(wrong: u64, lives: u64, delta: f64) -> bool {
        Count::new(wrong, lives).unwrap().ln_p_at_most(delta) < 1e-6f64.ln()
    }
}

/// A month: what is kept of its table, and its true number with the weight it has in averages.
struct Month {
    wealth: Option<Wealth>,
    truth: f64,
    weight: f64,
}

fn hits(stream: &mut Stream, rows: u64, rate: f64) -> u64 {
    (0..rows).filter(|_| stream.uniform() < rate).count() as u64
}

impl Life {
    pub fn name(self) -> String {
        match self {
            Self::AtLimit { rows } => format!("share at the limit, {rows} rows a month"),
            Self::RareAtLimit => "1 % at the limit, 300 rows a month".into(),
            Self::InTurn => "5 % and 15 % in turn, limit 10 %".into(),
            Self::Reacting => "13 % after lucky months, else 7 %".into(),
            Self::Creeping => "good for 24 months, then slowly worse".into(),
            Self::Absent => "a group without rows in two months of three".into(),
            Self::Skewed => "mean of skewed losses at the limit".into(),
            Self::RarelyB => "mean of losses that are rarely B, at the limit".into(),
            Self::AtLeast => "at least 80 %, at the limit".into(),
            Self::Groups => "difference of two groups at the limit, base rates drift".into(),
            Self::Everyone => "a group against everyone at the limit".into(),
        }
    }

    fn sense(self) -> Sense {
        if self == Self::AtLeast { Sense::AtLeast } else { Sense::AtMost }
    }

    fn wager(self) -> Wager {
        match self {
            Self::RareAtLimit => Wager::share(0.01),
            Self::Skewed => Wager::mean(2.0 / 9.0, 2.0),
            Self::RarelyB => Wager::mean(0.05, 1.0),
            Self::AtLeast => Wager::share(0.8),
            Self::Groups | Self::Everyone => Wager::difference(0.05, 1.0),
            _ => Wager::share(0.1),
        }
    }

    fn month(self, at: usize, past: &[Month], stream: &mut Stream, alpha: Delta) -> Month {
        let wager = self.wager();
        let share = |stream: &mut Stream, rows: u64, rate: f64| {
            let hits = hits(stream, rows, rate);
            let wealth =
                (rows > 0).then(|| Wealth::of_count(Count::new(hits, rows).unwrap(), &wager));
            Month { wealth, truth: rate, weight: rows as f64 }
        };
        match self {
            Self::AtLimit { rows } => share(stream, rows, 0.1),
            Self::RareAtLimit => share(stream, 300, 0.01),
            Self::InTurn => share(stream, 100, if at.is_multiple_of(2) { 0.05 } else { 0.15 }),
            Self::Reacting => {
                // Lucky: those who bet that rates are small gained.
                let last = past.last().and_then(|month| month.wealth.as_ref());
                let lucky = last.is_some_and(|wealth| wealth.down[8] > 0.0);
                share(stream, 100, if lucky { 0.13 } else { 0.07 })
            }
            Self::Creeping => {
                share(stream, 200, if at < 24 { 0.08 } else { 0.08 + 0.001 * (at - 23) as f64 })
            }
            Self::Absent => {
                let rows = if stream.below(3) == 0 { u64::from(stream.below(60)) } else { 0 };
                share(stream, rows, 0.1)
            }
            Self::AtLeast => share(stream, 200, 0.8),
            Self::Skewed | Self::RarelyB => {
                // 2 U⁸ has the mean 2/9.
                let draw = |s: &mut Stream| match self {
                    Self::Skewed => 2.0 * s.uniform().powi(8),
                    _ => {
                        if s.uniform() < 0.04 {
                            1.0
                        } else {
                            0.01 / 0.96
                        }
                    }
                };
                let losses = (0..100).map(|_| draw(stream)).collect();
                let values = Values::new(losses, wager.high).unwrap();
                Month {
                    wealth: Some(Wealth::of_values(&values, &wager)),
                    truth: wager.limit,
                    weight: 100.0,
                }
            }
            Self::Groups => {
                let base = 0.1 + 0.7 * stream.uniform();
                let rows = [10 + u64::from(stream.below(60)), 10 + u64::from(stream.below(200))];
                let a = Count::new(hits(stream, rows[0], base + 0.05), rows[0]).unwrap();
                let b = Count::new(hits(stream, rows[1], base), rows[1]).unwrap();
                let wealth = Wealth::of_counts(a, b, &wager, stream.bits());
                Month { wealth, truth: 0.05, weight: rows[0].min(rows[1]) as f64 }
            }
            Self::Everyone => {
                // p_a − p = (1 − π)(p_a − p_r).
                let (share, rest) = (0.2 + 0.4 * stream.uniform(), 0.2 + 0.4 * stream.uniform());
                let gap = 0.05 / (1.0 - share);
                let inside = hits(stream, 150, share);
                if inside == 0 || inside == 150 {
                    return Month { wealth: None, truth: 0.05, weight: 0.0 };
                }
                let part = Count::new(hits(stream, inside, rest + gap), inside).unwrap();
                let rest = Count::new(hits(stream, 150 - inside, rest), 150 - inside).unwrap();
                let wealth = Wealth::of_part(part, rest, &wager, (alpha, at), stream.bits());
                let units = inside.min(150 - inside) as f64;
                Month { wealth, truth: 0.05, weight: units / (1.0 - share) }
            }
        }
    }

    /// Draws lives and judges each after every month.
    pub fn errors(self, lives: u64) -> Errors {
        let plan = MonitorPlan::new(Delta::new(DELTA).unwrap(), 1);
        let mut errors = Errors { lives, ..Errors::default() };
        for life in 0..lives {
            let mut stream = Stream::new(salt(self), Purpose::View, life, 77);
            let mut months = Vec::new();
            for at in 0..MONTHS {
                months.push(self.month(at, &months, &mut stream, plan.alpha()));
            }
            let tables: Vec<Option<Wealth>> = months.iter().map(|m| m.wealth.clone()).collect();
            let track = plan.judge(self.sense(), &self.wager(), &tables);
            let [certified, drifted, bounds] = self.wrong(&track, &months);
            errors.certified += u64::from(certified);
            errors.drifted += u64::from(drifted);
            errors.bounds += u64::from(bounds);
            errors.any += u64::from(certified || drifted);
        }
        errors
    }

    fn wrong(self, track: &Track, months: &[Month]) -> [bool; 3] {
        let limit = self.wager().limit;
        // What months without a table count for is nothing.
        let average = |months: &[Month]| {
            let some = || months.iter().filter(|month| month.wealth.is_some());
            let weight: f64 = some().map(|month| month.weight).sum();
            (weight > 0.0).then(|| some().map(|m| m.weight * m.truth).sum::<f64>() / weight)
        };
        let violates = |x: f64| self.sense().sign() * (x - limit);
        let mut wrong = [false; 3];
        for (at, look) in track.looks.iter().enumerate() {
            let Some(average) = average(&months[..=at]) else { continue };
            // At the limit neither verdict is right: a certificate says that the average is below.
            wrong[0] |= look.verdict == MonitorVerdict::Certified && violates(average) > -1e-12;
            wrong[2] |= average < look.so_far.0 - 1e-9 || average > look.so_far.1 + 1e-9;
        }
        if let Some((first, last)) = track.drift {
            wrong[1] = average(&months[first..=last]).is_some_and(|x| violates(x) < 1e-12);
        }
        wrong
    }
}

fn salt(life: Life) -> u64 {
    LIVES.iter().position(|one| *one == life).unwrap_or(99) as u64
}

/// Five requirements on the same rows, all at their limits: lives in which any verdict was wrong.
pub fn together(lives: u64) -> u64 {
    let plan = MonitorPlan::new(Delta::new(DELTA).unwrap(), 5);
    let wagers: Vec<Wager> = (1..=5).map(|i| Wager::share(0.06 * f64::from(i))).collect();
    let mut wrong = 0;
    for life in 0..lives {
        let mut stream = Stream::new(1000, Purpose::View, life, 77);
        let mut tables = vec![Vec::new(); 5];
        for _ in 0..MONTHS {
            let rows: Vec<f64> = (0..100).map(|_| stream.uniform()).collect();
            for (tables, wager) in tables.iter_mut().zip(&wagers) {
                let count = Count::of(rows.iter().map(|u| *u < wager.limit)).unwrap();
                tables.push(Some(Wealth::of_count(count, wager)));
            }
        }
        let open = |(tables, wager): (&Vec<_>, &Wager)| {
            let track = plan.judge(Sense::AtMost, wager, tables);
            track.looks.iter().all(|look| look.verdict == MonitorVerdict::Open)
        };
        wrong += u64::from(!tables.iter().zip(&wagers).all(open));
    }
    wrong
}

/// Lives in which one of `months` monthly certificates at 95 % was wrong, at the limit: what monitoring is for.
pub fn monthly_certificates(months: usize, lives: u64) -> u64 {
    let delta = Delta::new(DELTA).unwrap();
    let wrong = |life: &u64| {
        let mut stream = Stream::new(2000, Purpose::View, *life, 77);
        (0..months)
            .any(|_| Count::new(hits(&mut stream, 2000, 0.1), 2000).unwrap().upper(delta) < 0.1)
    };
    (0..lives).filter(wrong).count() as u64
}

/// What happens to a model that has a rate of `before` for 24 months and of `after` since, at a limit of 10 %.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Lives in which it was certified in month 24.
    pub certified: u64,
    /// Months after the change until it was no longer CERTIFIED, and until it was DRIFTED, in each life; a
    /// life in which that did not happen has as many as there were.
    pub lapsed: Vec<usize>,
    pub drifted: Vec<usize>,
    /// Lives in which it was DRIFTED before.
    pub early: u64,
}

pub fn change(before: f64, after: f64, rows: u64, lives: u64) -> Change {
    let plan = MonitorPlan::new(Delta::new(DELTA).unwrap(), 1);
    let wager = Wager::share(0.1);
    let mut change = Change::default();
    for life in 0..lives {
        let mut stream = Stream::new(3000 + rows, Purpose::View, life, (after * 1000.0) as u64);
        let mut month = |at: usize| {
            let rate = if at < 24 { before } else { after };
            let count = Count::new(hits(&mut stream, rows, rate), rows).unwrap();
            Some(Wealth::of_count(count, &wager))
        };
        let tables: Vec<_> = (0..MONTHS).map(&mut month).collect();
        let looks = plan.judge(Sense::AtMost, &wager, &tables).looks;
        change.certified += u64::from(looks[23].verdict == MonitorVerdict::Certified);
        change.early += u64::from(looks[23].verdict == MonitorVerdict::Drifted);
        let after = &looks[24..];
        let until = |is: &dyn Fn(MonitorVerdict) -> bool| {
            after.iter().position(|look| is(look.verdict)).map_or(after.len(), |at| at + 1)
        };
        change.lapsed.push(until(&|verdict| verdict != MonitorVerdict::Certified));
        change.drifted.push(until(&|verdict| verdict == MonitorVerdict::Drifted));
    }
    change
}

/// The middle one.
pub fn median(values: &[usize]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}
