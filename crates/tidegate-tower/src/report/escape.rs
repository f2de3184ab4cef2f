//! Text from outside, made harmless (threat T40).
//!
//! An id with a line end forges the next line; one that begins with ESC writes on the operator's
//! terminal; one that turns the direction of writing looks like another; one of a megabyte fills the
//! disk. None of these characters is needed to know who it was.

use std::borrow::Cow;
use std::fmt::Write as _;

use tidegate_core::text::is_hazard;

/// The most characters of one value that are shown.
pub(crate) const MAX_CHARS: usize = 128;

/// The text with every character that does something instead of showing something written as `\u{1b}`,
/// cut after [`MAX_CHARS`] with `…`. Two texts that look alike in this form are alike, up to the cut.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let kept = match text.char_indices().nth(MAX_CHARS) {
        None if !text.chars().any(is_escaped) => return Cow::Borrowed(text),
        None => text,
        Some((end, _)) => &text[..end],
    };
    let mut shown = String::with_capacity(kept.len() + 16);
    for char in kept.chars() {
        match char {
            '\\' => shown.push_str("\\\\"),
            char if is_escaped(char) => {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(char));
            }
            char => shown.push(char),
        }
    }
    if kept.len() < text.len() {
        shown.push('…');
    }
    Cow::Owned(shown)
}

/// Whether a text is shown as it is.
pub(crate) fn is_harmless(text: &str) -> bool {
    matches!(escaped(text), Cow::Borrowed(_))
}

fn is_escaped(char: char) -> bool {
    char == '\\' || is_hazard(char)
}

#[cfg(test)]
mod tests {
    //! What is shown, and what is not.

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_shows_something_is_left() {
        for text in ["", "acme", "org_7:a.b-c", "Größe 3", "日本", "a\"b", &"x".repeat(MAX_CHARS)]
        {
            assert_eq!(escaped(text), text);
            assert!(is_harmless(text));
        }
    }

    #[test]
    fn t40_what_does_something_is_written_out() {
        let cases = [
            ("a\nb", "a\\u{a}b"),
            ("\r\0\t", "\\u{d}\\u{0}\\u{9}"),
            ("\u{1b}[31m", "\\u{1b}[31m"),
            ("\u{7f}\u{85}\u{9b}", "\\u{7f}\\u{85}\\u{9b}"),
            ("\u{2028}\u{2029}\u{202e}", "\\u{2028}\\u{2029}\\u{202e}"),
            ("\u{2066}x\u{2069}\u{feff}", "\\u{2066}x\\u{2069}\\u{feff}"),
            ("\\u{a}", "\\\\u{a}"),
        ];
        for (text, shown) in cases {
            assert_eq!(escaped(text), shown);
            assert!(!is_harmless(text));
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let text = "é".repeat(10_000);
        assert_eq!(escaped(&text), format!("{}…", "é".repeat(MAX_CHARS)));
        assert!(!is_harmless(&text));
    }

    proptest! {
        #[test]
        fn p84_nothing_that_is_shown_does_anything(text in any::<String>()) {
            let shown = escaped(&text);
            prop_assert!(!shown.chars().any(|char| char != '\\' && is_escaped(char)));
            let longest = "\\u{10ffff}".len();
            prop_assert!(shown.chars().count() <= MAX_CHARS * longest + 1);
        }

        #[test]
        fn different_texts_are_shown_differently(a in ".{0,20}", b in ".{0,20}") {
            prop_assert_eq!(a == b, escaped(&a) == escaped(&b));
        }
    }
}
