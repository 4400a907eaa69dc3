//! Numbers on the command line; what is wrong with one is said without the words of a compiler.

use feasible_problem::text::grouped;

/// A whole number within bounds.
pub fn whole(least: u64, most: u64) -> impl Fn(&str) -> Result<u64, String> + Clone {
    move |text| {
        let number = text.trim().parse().ok().filter(|n| (least..=most).contains(n));
        number.ok_or_else(|| match most {
            u64::MAX => format!("give a whole number, {least} or more"),
            most => format!("give a whole number from {least} to {}", grouped(most as usize)),
        })
    }
}

/// A seed.
pub fn seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| "give a whole number, 0 or more, such as 7".into())
}

/// A number of threads.
pub fn threads(text: &str) -> Result<u64, String> {
    whole(1, 1024)(text)
}

/// A whole number that fits 32 bits, from 1 on.
pub fn count(text: &str) -> Result<u32, String> {
    whole(1, 1_000_000)(text).map(|n| n as u32)
}

/// Any number.
pub fn number(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().parse().ok();
    number.filter(|x| x.is_finite()).ok_or("give a number, such as 0.05 or 1e-3".into())
}

/// A number above 0 and below 1.
pub fn share(text: &str) -> Result<f64, String> {
    let share = number(text).ok().filter(|x| *x > 0.0 && *x < 1.0);
    share.ok_or("give a number above 0 and below 1, such as 0.95".into())
}

/// A number above 0 and at most 1.
pub fn share_or_all(text: &str) -> Result<f64, String> {
    let share = number(text).ok().filter(|x| *x > 0.0 && *x <= 1.0);
    share.ok_or("give a number above 0 and at most 1, such as 0.2".into())
}
