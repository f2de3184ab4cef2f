//! Words, names, numbers and durations.

use tidegate_core::text::nearest;
use tidegate_core::{Name, Span, SpanError};

use super::Check;
use crate::file::MAX_TEXT;
use crate::file::place::{FilePlace, Placed};
use crate::file::written::scalar::{DurationText, NameText, WrittenNumber};
use crate::file::written::word::{Word, Words};
use crate::file::wrong::Wrong;
use crate::file::yaml::short;

impl Check {
    /// The value that a word stands for; a word that is not known is reported.
    pub(super) fn word<W: Words>(&mut self, word: &Placed<Word<W>>) -> Option<W> {
        let meaning = word.value.meaning();
        if meaning.is_none() {
            let known: Vec<&str> = W::all().into_iter().map(|(word, ..)| word).collect();
            let (text, meant) = (&word.value.text, known.iter().copied());
            let suggestion = nearest(text, meant.filter(|_| self.suggests()));
            self.say(word.place, Wrong::unknown_word(W::WHAT, text, suggestion, &known));
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

    /// The name of a policy or limit, where errors about it point, and what they call it.
    pub(super) fn named(
        &mut self,
        what: &str,
        place: FilePlace,
        name: Option<&Placed<NameText>>,
        example: &'static str,
    ) -> (Option<Name>, FilePlace, String) {
        match self.required(name, (&format!("a {what}"), place), "name", example) {
            Some(at) => (self.name(at), at.place, format!("{what} `{}`", short(&at.value.0))),
            None => (None, place, format!("this {what}")),
        }
    }

    pub(super) fn name(&mut self, name: &Placed<NameText>) -> Option<Name> {
        let text = name.value.0.as_str();
        if !self.fits(text, name.place) {
            return None;
        }
        let checked = Name::try_new(text).ok();
        if checked.is_none() {
            self.say(name.place, Wrong::bad_name(similar_name(text).as_deref()));
        }
        checked
    }

    pub(super) fn number(
        &mut self,
        number: &Placed<WrittenNumber>,
        field: &'static str,
    ) -> Option<u64> {
        let wrong = match number.value {
            WrittenNumber::Whole(whole) if self.is_decimal(number.place) => return Some(whole),
            WrittenNumber::TooLarge => Wrong::number_too_large(),
            WrittenNumber::Whole(_) | WrittenNumber::Other => Wrong::not_a_number(field),
        };
        self.refuse(number.place, wrong)
    }

    /// Whether a number is written in digits alone. YAML readers disagree about `0x10`, `1_000` and
    /// `+5`, and nobody should have to know which of them reads this file. A number with an anchor
    /// before it is accepted as it is.
    fn is_decimal(&self, place: FilePlace) -> bool {
        let place = place.within(&self.text);
        let written = &self.text[place.start..place.end];
        written.starts_with('&') || written.bytes().all(|byte| byte.is_ascii_digit())
    }

    pub(super) fn duration(&mut self, duration: &Placed<DurationText>) -> Option<Span> {
        self.duration_text(&duration.value.0, duration.place)
    }

    pub(super) fn duration_text(&mut self, text: &str, place: FilePlace) -> Option<Span> {
        let parsed = text.parse();
        let bad = |advice: SpanError| Wrong::bad_duration(text, &advice.to_string());
        self.right(place, parsed.map_err(bad))
    }

    /// A value that has to be there; if it is missing, that is reported.
    pub(super) fn required<'v, T>(
        &mut self,
        value: Option<&'v T>,
        owner: (&str, FilePlace),
        field: &'static str,
        example: &'static str,
    ) -> Option<&'v T> {
        if value.is_none() {
            self.say(owner.1, Wrong::missing_field(owner.0, field, example));
        }
        value
    }

    /// Whether a missing section is there under a misspelt name.
    pub(super) fn is_misspelt(&self, section: &str) -> bool {
        self.misspelt.contains(&section)
    }

    /// Whether a text is short enough to be a fact of a request; if not, that is reported.
    pub(super) fn fits(&mut self, text: &str, place: FilePlace) -> bool {
        let fits = text.len() <= MAX_TEXT;
        if !fits {
            self.say(place, Wrong::text_too_long(text.len()));
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
