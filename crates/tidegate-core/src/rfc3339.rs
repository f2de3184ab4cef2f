//! Instants as text: RFC 3339 in UTC, always with six digits of fraction, so always of the same length.
//!
//! Every decision of the server has two of them, so they are written by hand: jiff takes ten times as
//! long. A test holds them to what jiff writes.

use core::fmt;

use crate::time::Timestamp;

/// An instant as text: `2026-11-15T11:14:50.123456Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rfc3339([u8; TEXT.len()]);

const TEXT: [u8; 27] = *b"0000-00-00T00:00:00.000000Z";

// === impl Timestamp ===

impl Timestamp {
    /// This instant as text, in UTC.
    ///
    /// ```
    /// use tidegate_core::Timestamp;
    ///
    /// let at = Timestamp::from_micros(1_800_000_000_000_001);
    /// assert_eq!(at.rfc3339().as_str(), "2027-01-15T08:00:00.000001Z");
    /// ```
    #[must_use]
    pub fn rfc3339(self) -> Rfc3339 {
        let (seconds, micros) = (self.as_micros() / 1_000_000, self.as_micros() % 1_000_000);
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = civil(days);
        let mut text = TEXT;
        let pairs = [
            (0, year / 100),
            (2, year % 100),
            (5, month),
            (8, day),
            (11, second / 3600),
            (14, second / 60 % 60),
            (17, second % 60),
            (20, micros / 10_000),
            (22, micros / 100 % 100),
            (24, micros % 100),
        ];
        for (at, number) in pairs {
            let [tens, ones] = pair(number);
            text[at] = tens;
            text[at + 1] = ones;
        }
        Rfc3339(text)
    }
}

// === impl Rfc3339 ===

impl Rfc3339 {
    /// The bytes of the text, digits and punctuation.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Only digits and punctuation, so it is always UTF-8.
        core::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The two digits of a number below a hundred.
#[inline]
fn pair(number: u64) -> [u8; 2] {
    let number = (number % 100) as u8;
    [b'0' + number / 10, b'0' + number % 10]
}

/// The date of a day after 1970-01-01, by counting years from March, so that the leap day comes last
/// (the well-known algorithm of Howard Hinnant, for days that are not before the epoch).
const fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    //! Held to jiff.

    use super::*;
    use crate::time::MAX_EXACT;
    use proptest::prelude::*;

    fn ours(micros: u64) -> String {
        Timestamp::from_micros(micros).rfc3339().to_string()
    }

    fn jiffs(micros: u64) -> String {
        let timestamp = jiff::Timestamp::from_microsecond(micros.try_into().unwrap()).unwrap();
        format!("{timestamp:.6}")
    }

    #[test]
    fn the_edges_are_as_jiff_writes_them() {
        let days = [0, 58, 59, 60, 364, 365, 789, 11_016, 11_017, 47_540, 47_541, 104_248];
        for day in days {
            for micros in [0, 1, 86_399_999_999] {
                let at = day * 86_400_000_000 + micros;
                assert_eq!(ours(at), jiffs(at));
            }
        }
        assert_eq!(ours(MAX_EXACT), jiffs(MAX_EXACT));
    }

    proptest! {
        #[test]
        fn every_instant_is_as_jiff_writes_it(micros in 0..=MAX_EXACT) {
            prop_assert_eq!(ours(micros), jiffs(micros));
        }
    }
}
