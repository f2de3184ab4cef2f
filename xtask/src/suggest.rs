//! "Did you mean …?" for words typed at a prompt.

/// The known word nearest to `typed`, if it is near enough to be what was meant.
pub(crate) fn nearest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let tolerated = typed.chars().count().div_ceil(3).max(1);
    known
        .into_iter()
        .map(|word| (strsim::osa_distance(typed, word), word))
        .filter(|(distance, word)| *distance <= tolerated || word.starts_with(typed))
        .min()
        .map(|(_, word)| word)
}

/// ` (did you mean …?)`, or nothing when no known word is near.
pub(crate) fn hint<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, known).map_or_else(String::new, |word| format!(" (did you mean `{word}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        assert_eq!(nearest("tset", ["test", "bench"]), Some("test"));
        assert_eq!(nearest("form", ["format", "loom"]), Some("format"));
        assert_eq!(nearest("zebra", ["test", "bench"]), None);
    }
}
