//! The time of the hot decision, as a multiple of the least that any limiter can do.
//!
//! Instructions do not show everything: a build with a tenth more of them once took a third more
//! time, because results were stored in pieces and read back whole immediately. Time on a shared
//! machine swings, but the floor, measured in turns with the decision, swings with it. The multiple
//! is printed, and saved beside the counts for comparing runs. It fails the run only if it is
//! absurd.

use std::fmt;

/// The name of the row that the others are compared with.
const FLOOR: &str = "floor";

/// A multiple of the floor that no noise explains: three times the one measured when this was set.
const ABSURD: u64 = 24;

/// The times of one run of `guard time`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Times {
    floor: Time,
    rows: Vec<Time>,
}

/// The time per decision of one contender.
#[derive(Debug, PartialEq, Eq)]
struct Time {
    name: String,
    /// The median over all turns, in picoseconds.
    median: u64,
    /// The quickest turn, in picoseconds.
    least: u64,
}

// === impl Times ===

impl Times {
    /// Reads lines of `name median least`, in picoseconds; one of them is the floor.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let times = text.lines().map(|line| {
            Time::parse(line).ok_or_else(|| format!("expected `name median least`: {line}"))
        });
        let times = times.collect::<Result<Vec<_>, _>>()?;
        let (floor, rows): (Vec<_>, Vec<_>) = times.into_iter().partition(|it| it.name == FLOOR);
        match <[Time; 1]>::try_from(floor) {
            Ok([floor]) if floor.median > 0 && !rows.is_empty() => Ok(Self { floor, rows }),
            _ => Err("expected one floor that took time, and decisions to compare with it".into()),
        }
    }

    /// The first row whose multiple of the floor is more than noise can explain.
    pub(crate) fn absurd(&self) -> Option<&str> {
        let bound = self.floor.median.saturating_mul(ABSURD);
        self.rows.iter().find(|row| row.median > bound).map(|row| row.name.as_str())
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<8} {:>10} {:>10} {:>9}", "hot", "median ns", "least ns", "to floor")?;
        for row in [&self.floor].into_iter().chain(&self.rows) {
            let hundredths = u128::from(row.median) * 100 / u128::from(self.floor.median);
            let multiple = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            let (median, least) = (nanos(row.median), nanos(row.least));
            writeln!(f, "{:<8} {median:>10} {least:>10} {multiple:>9}", row.name)?;
        }
        Ok(())
    }
}

// === impl Time ===

impl Time {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        let (median, least) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        words.next().is_none().then_some(Self { name, median, least })
    }
}

/// Picoseconds as nanoseconds with one decimal, without floats.
fn nanos(picos: u64) -> String {
    format!("{}.{}", picos / 1_000, picos % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: &str = "floor 9625 9593\nawaited 75250 73990\ncalled 48100 47999\n";

    #[test]
    fn the_table_shows_multiples_of_the_floor() {
        let expected = "\
hot       median ns   least ns  to floor
floor           9.6        9.5      1.00
awaited        75.2       73.9      7.81
called         48.1       47.9      4.99
";
        assert_eq!(Times::parse(MEASURED).unwrap().to_string(), expected);
    }

    #[test]
    fn only_a_multiple_that_no_noise_explains_is_absurd() {
        assert_eq!(Times::parse(MEASURED).unwrap().absurd(), None);
        assert_eq!(Times::parse("floor 10 1\na 240 9").unwrap().absurd(), None);
        assert_eq!(Times::parse("floor 10 1\na 1 1\nb 241 9").unwrap().absurd(), Some("b"));
    }

    #[test]
    fn what_is_not_a_measurement_is_refused() {
        for text in ["", "floor 9 8", "a 1 1", "floor 0 0\na 1 1", "floor 1 1\nfloor 1 1\na 1 1"] {
            assert!(Times::parse(text).is_err(), "{text:?}");
        }
        for line in ["a 1", "a 1 x", "a 1 1 1", "a 1.5 1"] {
            let text = format!("floor 1 1\n{line}");
            assert_eq!(Times::parse(&text), Err(format!("expected `name median least`: {line}")));
        }
    }
}
