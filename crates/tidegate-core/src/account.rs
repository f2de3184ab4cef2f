//! Login names: every spelling of a name is one account.
//!
//! Every look-up of accounts forgives something: case, spaces around the name, `Ａ` for `A`. Whatever
//! the look-up forgives and the limiter does not is a way around every limit on guesses, with a fresh
//! limit for each spelling (threat T17). So a name is folded once, before anything is counted or hashed,
//! and [`Subject`] takes an [`Account`] and no text: nobody can forget to fold. Look accounts up by
//! [`Account::as_str`], and both sides forgive the same.
//!
//! Folding ends a name at U+0000, as every look-up in C does: what stands behind it would be a fresh
//! limit for each text. It takes out what nobody sees (the other control characters, and Unicode's
//! `Default_Ignorable_Code_Point`: soft hyphens, zero-width spaces and joiners, variation selectors, …),
//! then is NFKC, full case folding and NFKC
//! again, without white space at either end. It is the same in every place: `I` and `i` are one letter,
//! and the Turkish `ı` is another. It joins more than a person would (`straße` and `strasse`). That is
//! meant: two names that share a counter can refuse too much, two counters for one name admit too much.
//!
//! [`Subject`]: crate::Subject

mod invisible;

use std::borrow::Cow;

use caseless::Caseless as _;
use unicode_normalization::UnicodeNormalization as _;

use crate::secret::debug_as;

/// The login name of an account, folded. An ASCII name that is typed in its folded form is borrowed, so
/// it costs no allocation.
///
/// ```
/// use tidegate_core::Account;
///
/// assert_eq!(Account::new("  Ａda\u{a0}"), Account::new("ada"));
/// assert_eq!(Account::new("Groß").as_str(), "gross");
/// assert_eq!(Account::new("a\u{7}da\0guess 17"), Account::new("ada"));
/// assert_ne!(Account::new("ada"), Account::new("a da"));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Account<'a>(Cow<'a, str>);

// === impl Account ===

impl<'a> Account<'a> {
    /// The longest name beyond ASCII that is folded, in bytes, trimmed and without invisible characters.
    ///
    /// Folding can make a text eleven times as long, so it has a bound. Longer names are taken as
    /// they are. That is no way around a limit: no such text folds to less than a fifth of its bytes,
    /// so all of them are spellings of names longer than 254 bytes, the most an e-mail address has. The
    /// server refuses them beforehand.
    pub const MAX_FOLDED: usize = 5 * 256;

    /// The account of a name as it was typed. Every text makes one, even the empty text: whether anybody
    /// has that account is not known here.
    #[must_use]
    #[inline]
    pub fn new(typed: &'a str) -> Self {
        Self(folded(typed))
    }

    /// The folded name: the same for every spelling.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The account with a name of its own, which borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> Account<'static> {
        Account(Cow::Owned(self.0.into_owned()))
    }
}

impl<'a> From<Cow<'a, str>> for Account<'a> {
    fn from(typed: Cow<'a, str>) -> Self {
        match typed {
            Cow::Borrowed(typed) => Self::new(typed),
            Cow::Owned(typed) => Account::new(&typed).into_owned(),
        }
    }
}

debug_as!(Account<'_>, "Account");

fn folded(typed: &str) -> Cow<'_, str> {
    if typed.is_ascii() {
        let name = trimmed(typed);
        if !name.bytes().any(|byte| byte.is_ascii_uppercase() || byte.is_ascii_control()) {
            return Cow::Borrowed(name);
        }
    }
    let typed = typed.split('\0').next().unwrap_or_default();
    let visible: String = typed.chars().filter(|char| !invisible::is_invisible(*char)).collect();
    if visible.is_ascii() {
        return Cow::Owned(trimmed(&visible).to_ascii_lowercase());
    }
    let name = trimmed(&visible);
    if name.len() > Account::MAX_FOLDED {
        return Cow::Owned(name.to_owned());
    }
    let folded: String = name.nfkc().default_case_fold().nfkc().collect();
    // A character that NFKC takes apart may begin or end with a space, as `¨` does.
    match trimmed(&folded) {
        trimmed if trimmed.len() < folded.len() => Cow::Owned(trimmed.to_owned()),
        _ => Cow::Owned(folded),
    }
}

/// The text without white space at either end. The four separators of ASCII are taken for white space,
/// too, because some look-ups do so.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|char: char| char.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&char))
}

#[cfg(test)]
mod tests;
