//! The promises: sections of numbered sentences, parsed from a file of lines.

use std::fmt;

/// The number of a property, such as `P24` or `G3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PropertyNumber {
    /// A property of the limiter and its failure semantics; two digits.
    P(u8),
    /// A property of the gateway.
    G(u8),
}

/// One promise: a property in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Promise {
    pub(crate) number: PropertyNumber,
    pub(crate) sentence: String,
    /// What the promise waits for, if it cannot be tested before that is built.
    pub(crate) later: Option<String>,
}

/// A section of promises about one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromiseSection {
    pub(crate) title: String,
    pub(crate) promises: Vec<Promise>,
}

/// Parses the sections; the error names the first mistake and its line.
pub(crate) fn parse(text: &str) -> Result<Vec<PromiseSection>, String> {
    let mut sections: Vec<PromiseSection> = Vec::new();
    let mut last = None;
    for (index, line) in text.lines().enumerate() {
        let wrong = |what: &str| format!("line {}: {what}: `{line}`", index + 1);
        if let Some(title) = line.strip_prefix("## ") {
            sections.push(PromiseSection { title: title.to_owned(), promises: Vec::new() });
        } else if !line.is_empty() && !line.starts_with('#') {
            let promise = Promise::parse(line).map_err(wrong)?;
            if last.replace(promise.number).is_some_and(|last| last >= promise.number) {
                return Err(wrong("not in order"));
            }
            let section = sections.last_mut().ok_or_else(|| wrong("before any section"))?;
            section.promises.push(promise);
        }
    }
    Ok(sections)
}

// === impl Promise ===

impl Promise {
    fn parse(line: &str) -> Result<Self, &'static str> {
        let mut parts = line.split(" | ");
        let number =
            parts.next().and_then(PropertyNumber::written).ok_or("does not begin with a number")?;
        let sentence = parts.next().ok_or("has no sentence")?.to_owned();
        let later = parts.next().map(ToOwned::to_owned);
        if parts.next().is_some() {
            return Err("has more than three parts");
        }
        Ok(Self { number, sentence, later })
    }
}

// === impl PropertyNumber ===

impl PropertyNumber {
    /// Parses a number exactly as it is displayed, such as `P24`.
    pub(crate) fn written(word: &str) -> Option<Self> {
        let number = Self::of_name(&word.to_ascii_lowercase())?;
        (number.to_string() == word).then_some(number)
    }

    /// Parses a number as it is in the name of a test, such as `p24`.
    pub(crate) fn of_name(part: &str) -> Option<Self> {
        let digits = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
        let (letter, rest) = part.split_at_checked(1)?;
        let value = Some(rest).filter(|rest| digits(rest))?.parse().ok()?;
        match letter {
            "p" if rest.len() == 2 => Some(Self::P(value)),
            "g" => Some(Self::G(value)),
            _ => None,
        }
    }
}

impl fmt::Display for PropertyNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::P(number) => write!(f, "P{number:02}"),
            Self::G(number) => write!(f, "G{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_hold_numbered_sentences() {
        let text = "# why\n## One\nP01 | It is so.\n\n## Two\nG1 | It will be. | comes later\n";
        let sections = parse(text).unwrap();
        let titles: Vec<&str> = sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["One", "Two"]);
        assert_eq!(sections[0].promises[0].sentence, "It is so.");
        assert_eq!(sections[0].promises[0].later, None);
        assert_eq!(sections[1].promises[0].number, PropertyNumber::G(1));
        assert_eq!(sections[1].promises[0].later.as_deref(), Some("comes later"));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, what) in [
            ("P01 | early", "line 1: before any section"),
            ("## A\nP1 | short", "line 2: does not begin with a number"),
            ("## A\np01 | small", "line 2: does not begin with a number"),
            ("## A\nP01", "line 2: has no sentence"),
            ("## A\nP01 | a | b | c", "line 2: has more than three parts"),
            ("## A\nP02 | a\nP02 | b", "line 3: not in order"),
            ("## A\nG1 | a\nP02 | b", "line 3: not in order"),
        ] {
            let mistake = parse(text).unwrap_err();
            assert!(mistake.starts_with(what), "{text}: {mistake}");
        }
    }

    #[test]
    fn numbers_are_read_from_names() {
        assert_eq!(PropertyNumber::of_name("p07"), Some(PropertyNumber::P(7)));
        assert_eq!(PropertyNumber::of_name("g10"), Some(PropertyNumber::G(10)));
        for part in ["", "p", "p7", "pp1", "t07", "p+7", "p007", "g999", "ü1"] {
            assert_eq!(PropertyNumber::of_name(part), None, "{part}");
        }
    }
}
