//! Suggestions for misspelt names.

/// The most names that are compared: a misspelt name must not cost much more than a good one.
const MOST: usize = 200;

/// The most characters that may be wrong in a name that is close.
const TYPOS: usize = 2;

/// The name closest to `wrong`, if one is close.
pub(crate) fn closest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let close = |name: &'n str| {
        // Names are short and ASCII; a text that is neither cannot be close to one.
        let near = name.len().abs_diff(wrong.len()) <= TYPOS;
        let distance = near.then(|| distance(name.as_bytes(), wrong.as_bytes()))?;
        (distance <= TYPOS && distance < name.len()).then_some((distance, name))
    };
    let best = names.take(MOST).filter_map(close).min()?;
    Some(best.1.to_owned())
}

/// How many bytes have to be added, removed or replaced to get from one text to the other (Levenshtein).
fn distance(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, letter) in from.iter().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], above + 1);
        for (place, other) in to.iter().enumerate() {
            let replaced = corner + usize::from(letter != other);
            corner = row[place + 1];
            row[place + 1] = replaced.min(corner + 1).min(row[place] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    //! Close, and not close.

    use super::*;

    #[test]
    fn a_typo_or_two_are_found() {
        let names = ["api", "login", "password-reset"];
        let closest = |wrong| closest(wrong, names.into_iter());
        assert_eq!(closest("apii").as_deref(), Some("api"));
        assert_eq!(closest("Login").as_deref(), Some("login"));
        assert_eq!(closest("pasword-reste"), None, "three letters are wrong");
        assert_eq!(closest("pasword-reset").as_deref(), Some("password-reset"));
        assert_eq!(closest("").as_deref(), None);
        assert_eq!(closest(&"x".repeat(10_000)), None);
    }

    #[test]
    fn distances_are_counted() {
        for (from, to, expected) in
            [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("flaw", "lawn", 2)]
        {
            assert_eq!(distance(from.as_bytes(), to.as_bytes()), expected);
        }
    }
}
