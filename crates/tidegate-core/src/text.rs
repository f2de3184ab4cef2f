//! Text from outside, on its way to people.
//!
//! Whatever a file, a peer or a server has sent may end up on a terminal or in a log. How a character that
//! does something is shown differs from place to place; which characters these are is the same everywhere.
//! The same holds for words that are misspelt, and what may have been meant.

/// The longest word for which a near one is looked for; a longer one is no slip of the finger.
const LONGEST: usize = 64;

/// Whether a character does something instead of showing something (threat T40): a terminal obeys it, a
/// line ends with it, or it changes the direction of text or has no width.
#[must_use]
pub fn is_hazard(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The known word nearest to `typed`, if it is near enough to be what was meant. A third of the letters may
/// be wrong; case, and the choice between `-`, `_` and a space, do not matter.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if typed.is_empty() || typed.len() > LONGEST {
        return None;
    }
    let plain = |word: &str| word.to_lowercase().replace(['-', ' '], "_");
    let typed = plain(typed);
    let tolerated = typed.chars().count().div_ceil(3);
    known
        .into_iter()
        .filter(|word| word.len() <= LONGEST)
        .map(|word| (strsim::osa_distance(&typed, &plain(word)), word))
        .filter(|(distance, word)| {
            *distance <= tolerated || (typed.len() > 2 && word.starts_with(&typed))
        })
        .min()
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    //! Which characters are hazards, and what is taken for a slip.

    use super::*;

    #[test]
    fn t40_a_character_that_does_something_is_a_hazard() {
        let hazards = "\0\t\n\r\u{1b}\u{7f}\u{85}\u{9b}\u{61c}\u{200b}\u{200e}\u{2028}\u{202e}\u{2066}\u{206f}\
                       \u{feff}\u{fff9}\u{e0001}\u{e007f}";
        assert!(hazards.chars().all(is_hazard));
        assert!(!"aZ09 ~\"\\é世\u{a0}\u{fffd}😀".chars().any(is_hazard));
    }

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let words = ["fail_open", "fail_closed", "degraded"];
        assert_eq!(nearest("fail-open", words), Some("fail_open"));
        assert_eq!(nearest("Fail_Clsoed", words), Some("fail_closed"));
        assert_eq!(nearest("degrade", words), Some("degraded"));
        assert_eq!(nearest("usr", ["org", "user"]), Some("user"));
        assert_eq!(nearest("Login", ["api", "login"]), Some("login"));
        assert_eq!(nearest("pasword-reset", ["password-reset"]), Some("password-reset"));
        assert_eq!(nearest("zebra", words), None);
        assert_eq!(nearest("", words), None);
        assert_eq!(nearest(&"fail_open".repeat(1000), words), None);
    }
}
