//! "Did you mean …?" for words typed at a prompt.

/// The known word nearest to `typed`, if it is near enough to be what was meant.
pub(crate) fn nearest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let tolerated = typed.chars().count().div_ceil(3).max(1);
    known
        .into_iter()
        .map(|word| (distance(typed, word), word))
        .filter(|(distance, word)| *distance <= tolerated || word.starts_with(typed))
        .min()
        .map(|(_, word)| word)
}

/// ` (did you mean …?)`, or nothing when no known word is near.
pub(crate) fn hint<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, known).map_or_else(String::new, |word| format!(" (did you mean `{word}`?)"))
}

/// The Levenshtein distance: how many letters to insert, remove or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = row[j] + usize::from(x != *y);
            next.push(replaced.min(row[j + 1] + 1).min(next[j] + 1));
        }
        row = next;
    }
    row[b.len()]
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

    #[test]
    fn distance_counts_single_letters() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
