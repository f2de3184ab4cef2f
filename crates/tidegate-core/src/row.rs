//! The ids of rows: records of a database, where a policy file has names.
//!
//! Tenants, upstreams, routes and the limits that they carry are rows. A row keeps its id when its
//! name, its numbers or its place in a list change, so counters go by it.

use core::fmt;
use core::str::FromStr;

/// The id of a row: 128 bits, written as a UUID.
///
/// ```
/// use tidegate_core::RowId;
///
/// let id: RowId = "67e55044-10b1-426f-9247-bb680e5fe0c8".parse()?;
/// assert_eq!(id, RowId::from_u128(0x67e55044_10b1_426f_9247_bb680e5fe0c8));
/// assert_eq!(id.to_string(), "67e55044-10b1-426f-9247-bb680e5fe0c8");
/// # Ok::<(), tidegate_core::RowIdError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(u128);

/// The error for text that is not a row id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a row id is a UUID: 8, 4, 4, 4 and 12 hexadecimal digits with hyphens between them")]
pub struct RowIdError;

/// The places of the hyphens in the text of a row id.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// Bytes in the text of a row id.
const LENGTH: usize = 36;

// === impl RowId ===

impl RowId {
    /// The row id with these bits; the first digit of its text is the highest four.
    #[must_use]
    pub const fn from_u128(bits: u128) -> Self {
        Self(bits)
    }

    /// The bits of the row id.
    #[must_use]
    pub const fn to_u128(self) -> u128 {
        self.0
    }
}

impl fmt::Display for RowId {
    /// Writes the row id as a UUID in lower case with hyphens, the one form in which it is ever shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = |down: u32, digits: u32| (self.0 >> (4 * down)) & ((1 << (4 * digits)) - 1);
        let (a, b, c, d, e) =
            (group(24, 8), group(20, 4), group(16, 4), group(12, 4), group(0, 12));
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

impl FromStr for RowId {
    type Err = RowIdError;

    /// Reads a UUID with hyphens, in upper or lower case. Braces, `urn:uuid:` and text without hyphens
    /// are refused, so that one id has one spelling but for case.
    fn from_str(text: &str) -> Result<Self, RowIdError> {
        if text.len() != LENGTH {
            return Err(RowIdError);
        }
        let digits = text.bytes().enumerate().try_fold(0, |bits: u128, (place, byte)| {
            match (HYPHENS.contains(&place), byte) {
                (true, b'-') => Some(bits),
                (false, _) => Some(bits << 4 | u128::from(char::from(byte).to_digit(16)?)),
                (true, _) => None,
            }
        });
        digits.map(Self).ok_or(RowIdError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_row_id_is_written_as_a_uuid() {
        let cases = [
            (0, "00000000-0000-0000-0000-000000000000"),
            (1, "00000000-0000-0000-0000-000000000001"),
            (u128::MAX, "ffffffff-ffff-ffff-ffff-ffffffffffff"),
            (0x0123_4567_89ab_cdef_1032_5476_98ba_dcfe, "01234567-89ab-cdef-1032-547698badcfe"),
        ];
        for (bits, text) in cases {
            assert_eq!(RowId::from_u128(bits).to_string(), text);
            assert_eq!(text.parse(), Ok(RowId::from_u128(bits)));
            assert_eq!(text.to_uppercase().parse(), Ok(RowId::from_u128(bits)));
        }
    }

    #[test]
    fn other_spellings_of_a_row_id_are_refused() {
        for text in [
            "",
            "-",
            "0123456789abcdef1032547698badcfe",
            "{01234567-89ab-cdef-1032-547698badcfe}",
            "01234567-89ab-cdef-1032-547698badcf",
            "01234567-89ab-cdef-1032-547698badcfe0",
            "0123456789ab-cdef-1032-547698badcfe00",
            "01234567-89ab-cdef-1032-547698badcfg",
            "01234567-89ab-cdef-1032-5476-8badcfe",
            "+1234567-89ab-cdef-1032-547698badcfe",
            "01234567_89ab_cdef_1032_547698badcfe",
            "01234567-89ab-cdef-1032-547698badcé",
        ] {
            assert_eq!(text.parse::<RowId>(), Err(RowIdError), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_row_id_is_read_as_it_was_written(bits: u128) {
            let id = RowId::from_u128(bits);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(id.to_u128(), bits);
        }

        #[test]
        fn text_of_any_kind_is_read_without_harm(text in "\\PC{0,40}|[0-9a-f-]{36}") {
            if let Ok(id) = text.parse::<RowId>() {
                prop_assert_eq!(id.to_string(), text.to_lowercase());
            }
        }
    }
}
