//! Words, names, numbers and durations.

use tidegate_core::text::nearest;
use tidegate_core::{Name, Span};

use super::Check;
use crate::file::MAX_TEXT;
use crate::file::place::{Place, Placed};
use crate::file::units;
use crate::file::written::scalar::{DurationText, NameText, Number};
use crate::file::written::word::{Word, Words};
use crate::file::wrong::Wrong;
use crate::file::yaml::short;

impl Check {
    /// The value that a word stands for; a word that is not known is reported.
    pub(super) fn word<W: Words>(&mut self, word: &Placed<Word<W>>) -> Option<W> {
        let meaning = word.value.meaning();
        if meaning.is_none() {
            let known: Vec<&'static str> = W::ALL.iter().map(|(word, ..)| *word).collect();
            let meant = known.iter().copied().filter(|_| self.suggests());
            let suggestion = nearest(&word.value.text, meant);
            let (what, word_) = (W::WHAT, short(&word.value.text));
            self.say(word.place, Wrong::UnknownWord { what, word: word_, suggestion, known });
        }
        meaning
    }

    /// The value that a word stands for, or the usual one if no word is given.
    pub(super) fn word_or<W: Words>(
        &mut self,
        word: Option<&Placed<Word<W>>>,
        usual: W,
    ) -> Option<W> {
        word.map_or(Some(usual), |word| self.word(word))
    }

    pub(super) fn name(&mut self, name: &Placed<NameText>) -> Option<Name> {
        let text = name.value.0.as_str();
        if !self.fits(text, name.place) {
            return None;
        }
        let checked = Name::try_new(text).ok();
        if checked.is_none() {
            let suggestion = similar_name(text);
            self.say(name.place, Wrong::BadName { suggestion });
        }
        checked
    }

    pub(super) fn number(&mut self, number: &Placed<Number>, field: &'static str) -> Option<u64> {
        let wrong = match number.value {
            Number::Whole(whole) if self.is_decimal(number.place) => return Some(whole),
            Number::Whole(_) => Wrong::NotANumber { field },
            Number::TooLarge => Wrong::NumberTooLarge,
            Number::Other => Wrong::NotANumber { field },
        };
        self.say(number.place, wrong);
        None
    }

    /// Whether a number is written in digits alone. YAML readers disagree about `0x10`, `1_000` and
    /// `+5`, and nobody should have to know which of them reads this file. A number with an anchor
    /// before it is accepted as it is.
    fn is_decimal(&self, place: Place) -> bool {
        let place = place.within(&self.text);
        let written = &self.text[place.start..place.end];
        written.starts_with('&') || written.bytes().all(|byte| byte.is_ascii_digit())
    }

    pub(super) fn duration(&mut self, duration: &Placed<DurationText>) -> Option<Span> {
        self.duration_text(&duration.value.0, duration.place)
    }

    pub(super) fn duration_text(&mut self, text: &str, place: Place) -> Option<Span> {
        match units::duration(text) {
            Ok(span) => Some(span),
            Err(advice) => {
                self.say(place, Wrong::BadDuration { text: short(text), advice });
                None
            }
        }
    }

    /// A value that has to be there; if it is missing, that is reported.
    pub(super) fn required<'v, T>(
        &mut self,
        value: Option<&'v T>,
        owner: (&str, Place),
        field: &'static str,
        example: &'static str,
    ) -> Option<&'v T> {
        if value.is_none() {
            let (owner, place) = (owner.0.to_owned(), owner.1);
            self.say(place, Wrong::MissingField { owner, field, example });
        }
        value
    }

    /// Whether a missing section is there under a misspelt name.
    pub(super) fn is_misspelt(&self, section: &str) -> bool {
        self.problems.iter().any(|problem| match &problem.wrong {
            Wrong::UnknownField { suggestion, .. } => suggestion.as_deref() == Some(section),
            _ => false,
        })
    }

    /// Whether a text is short enough to be a fact of a request; if not, that is reported.
    pub(super) fn fits(&mut self, text: &str, place: Place) -> bool {
        let fits = text.len() <= MAX_TEXT;
        if !fits {
            self.say(place, Wrong::TextTooLong { bytes: text.len() });
        }
        fits
    }
}

/// A name that resembles the text: in small letters, with `-` for what a name cannot have.
fn similar_name(text: &str) -> Option<String> {
    let letters = text.trim().chars().map(|c| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '_' | '-' | '.') => c,
        _ => '-',
    });
    let name: String = letters.collect();
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    let name = name.trim_matches('-');
    (plain && Name::try_new(name).is_ok()).then(|| name.to_owned())
}
