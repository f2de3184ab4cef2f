//! "Did you mean …?" for words typed into a file.

/// The longest word for which a suggestion is looked for; a longer one is no slip of the finger.
const LONGEST: usize = 64;

/// The known word nearest to `typed`, if it is near enough to be what was meant.
pub(super) fn nearest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if typed.is_empty() || typed.len() > LONGEST {
        return None;
    }
    let typed = typed.to_lowercase().replace(['-', ' '], "_");
    let tolerated = typed.chars().count().div_ceil(3);
    known
        .into_iter()
        .filter(|word| word.len() <= LONGEST)
        .map(|word| (distance(&typed, &word.replace('-', "_")), word))
        .filter(|(distance, word)| {
            *distance <= tolerated || (typed.len() > 2 && word.starts_with(&typed))
        })
        .min()
        .map(|(_, word)| word)
}

/// How many letters have to be inserted, removed, replaced or swapped with their neighbour to make
/// `b` of `a`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let replaced = row[j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = core::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    //! What is understood, and what is not taken for a slip.

    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let words = ["fail_open", "fail_closed", "degraded"];
        assert_eq!(nearest("fail-open", words), Some("fail_open"));
        assert_eq!(nearest("Fail_Clsoed", words), Some("fail_closed"));
        assert_eq!(nearest("degrade", words), Some("degraded"));
        assert_eq!(nearest("usr", ["org", "user"]), Some("user"));
        assert_eq!(nearest("zebra", words), None);
        assert_eq!(nearest("", words), None);
        assert_eq!(nearest(&"fail_open".repeat(1000), words), None);
    }

    #[test]
    fn distance_counts_single_letters_and_swaps() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("tset", "test"), 1);
        assert_eq!(distance("same", "same"), 0);
    }
}
