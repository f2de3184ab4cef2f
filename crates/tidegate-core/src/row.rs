//! The identity of a limit that is a row of a table.

use core::fmt;
use core::str::FromStr;

/// The id of a row: a UUID, written as `01890a5d-ac96-774b-bcce-b302099a8057`.
///
/// ```
/// use tidegate_core::RowId;
///
/// let id: RowId = "01890a5d-ac96-774b-bcce-b302099a8057".parse()?;
/// assert_eq!(id.to_string(), "01890a5d-ac96-774b-bcce-b302099a8057");
/// # Ok::<(), tidegate_core::RowIdError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(u128);

/// The error for a text that is not the id of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not an id: write a UUID, such as 01890a5d-ac96-774b-bcce-b302099a8057")]
pub struct RowIdError;

/// The places of the hyphens in the text of an id.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

// === impl RowId ===

impl RowId {
    /// The id with this value.
    #[must_use]
    pub const fn from_u128(value: u128) -> Self {
        Self(value)
    }

    /// The value of the id.
    #[must_use]
    pub const fn as_u128(self) -> u128 {
        self.0
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e] = [(96, 8), (80, 4), (64, 4), (48, 4), (0, 12)]
            .map(|(shift, digits)| self.0 >> shift & ((1 << (4 * digits)) - 1));
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

impl fmt::Debug for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowId({self})")
    }
}

impl FromStr for RowId {
    type Err = RowIdError;

    fn from_str(text: &str) -> Result<Self, RowIdError> {
        let is_hyphen = |(place, byte): (usize, u8)| HYPHENS.contains(&place) == (byte == b'-');
        if text.len() != 36 || !text.bytes().enumerate().all(is_hyphen) {
            return Err(RowIdError);
        }
        let digits = text.chars().filter(|char| *char != '-');
        let value = digits
            .map(|char| char.to_digit(16))
            .try_fold(0, |value: u128, digit| Some(value << 4 | u128::from(digit?)));
        value.map(Self).ok_or(RowIdError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_as_a_uuid_and_read_back() {
        let text = "01890a5d-ac96-774b-bcce-b302099a8057";
        let id: RowId = text.parse().unwrap();
        assert_eq!(id.as_u128(), 0x0189_0a5d_ac96_774b_bcce_b302_099a_8057);
        assert_eq!(id.to_string(), text);
        assert_eq!(RowId::from_u128(7).to_string(), "00000000-0000-0000-0000-000000000007");
        assert_eq!(text.to_uppercase().parse(), Ok(id), "either case is read");
    }

    #[test]
    fn what_is_no_uuid_is_refused() {
        for text in [
            "",
            "7",
            "01890a5dac96774bbcceb302099a8057",
            "01890a5d-ac96-774b-bcce-b302099a805",
            "01890a5d-ac96-774b-bcce-b302099a80577",
            "01890a5d-ac96-774b-bccegb302099a8057",
            "01890a5d-ac96-774b-bcce-b302099a805g",
            "01890a5d_ac96_774b_bcce_b302099a8057",
            "{1890a5d-ac96-774b-bcce-b302099a805}",
            "+1890a5d-ac96-774b-bcce-b302099a8057",
        ] {
            assert_eq!(text.parse::<RowId>(), Err(RowIdError), "{text}");
        }
    }
}
