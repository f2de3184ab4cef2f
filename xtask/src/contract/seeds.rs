//! The requests of the seeds, sentence by sentence, with the code that fulfils them and the tests
//! that hold them.
//!
//! The seeds are the documents this project was made from. Each of their sentences that asks for
//! something is a line of `xtask/seeds.txt`, in our own words. A line without a test has to say why.

use std::path::Path;

use super::promises::PropertyNumber;
use super::scan::Proof;

/// A section of a seed document, such as `§3.1 Fail closed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeedSection {
    /// The number and the subject of the document: `000 Failure semantics`.
    pub(crate) document: String,
    pub(crate) title: String,
    pub(crate) sentences: Vec<Sentence>,
}

/// What one sentence of a seed asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// The line of the sentence in its document.
    pub(crate) line: u16,
    pub(crate) says: String,
    /// The files that fulfil the sentence, relative to the root of the repository.
    pub(crate) code: Vec<String>,
    pub(crate) held: HeldBy,
}

/// The tests that hold a sentence, or the reason why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeldBy {
    /// Names of tests and numbers of properties.
    By(Vec<String>),
    /// No test, for this reason.
    Not(String),
}

/// The word that begins a reason, in the place of the tests' names.
const WITHOUT: &str = "without: ";

// === reading ===

/// Parses the sections of all documents; the error names the first mistake and its line.
pub(crate) fn parse(text: &str) -> Result<Vec<SeedSection>, String> {
    let mut sections: Vec<SeedSection> = Vec::new();
    let (mut document, mut last) = (None, 0);
    for (index, line) in text.lines().enumerate() {
        let wrong = |what: &str| format!("line {}: {what}: `{line}`", index + 1);
        if let Some(title) = line.strip_prefix("## ") {
            (document, last) = (Some(title.to_owned()), 0);
        } else if let Some(title) = line.strip_prefix("### ") {
            let document = document.clone().ok_or_else(|| wrong("before any document"))?;
            sections.push(SeedSection { document, title: title.to_owned(), sentences: Vec::new() });
        } else if !line.is_empty() && !line.starts_with('#') {
            let sentence = Sentence::parse(line).map_err(wrong)?;
            if sentence.line < last {
                return Err(wrong("not in order"));
            }
            last = sentence.line;
            let section = sections.last_mut().filter(|it| Some(&it.document) == document.as_ref());
            section.ok_or_else(|| wrong("before any section"))?.sentences.push(sentence);
        }
    }
    Ok(sections)
}

// === impl Sentence ===

impl Sentence {
    fn parse(line: &str) -> Result<Self, &'static str> {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [line, says, code, held] = parts[..] else { return Err("does not have four parts") };
        let line = line.parse().map_err(|_| "begins with no line")?;
        let list = |text: &str| text.split(", ").map(ToOwned::to_owned).collect::<Vec<_>>();
        let held = match held.strip_prefix(WITHOUT) {
            Some(reason) if reason.len() > 3 => HeldBy::Not(reason.to_owned()),
            Some(_) => return Err("has no reason"),
            None => HeldBy::By(list(held)),
        };
        let code = if code == "-" {
            Vec::new()
        } else {
            list(code).iter().map(|short| path(short)).collect()
        };
        if code.is_empty() && matches!(held, HeldBy::By(_)) {
            return Err("names no code");
        }
        Ok(Self { line, says: says.to_owned(), code, held })
    }
}

/// The full path of a file; one in a crate may be shortened, as in `core:key.rs`.
fn path(short: &str) -> String {
    match short.split_once(':') {
        Some(("tidegate", rest)) => format!("crates/tidegate/src/{rest}"),
        Some((name, rest)) => format!("crates/tidegate-{name}/src/{rest}"),
        None => short.to_owned(),
    }
}

// === checking ===

/// All sentences, each with the title of its document.
pub(crate) fn sentences(sections: &[SeedSection]) -> impl Iterator<Item = (&str, &Sentence)> {
    sections.iter().flat_map(|section| {
        section.sentences.iter().map(move |sentence| (section.document.as_str(), sentence))
    })
}

/// A complaint for each name without a meaning: tests and properties that do not exist or have no
/// test, and missing files.
pub(crate) fn stray(sections: &[SeedSection], proofs: &[Proof], root: &Path) -> Vec<String> {
    let complaints = sentences(sections).flat_map(|(title, sentence)| {
        let named = match &sentence.held {
            HeldBy::By(names) => names.as_slice(),
            HeldBy::Not(_) => &[],
        };
        let untested = named.iter().filter(|name| places(name, proofs).next().is_none());
        let missing = sentence.code.iter().filter(|path| !root.join(path).is_file());
        let complaint = move |name: &String| format!("  {title}, line {}: {name}", sentence.line);
        untested.chain(missing).map(complaint).collect::<Vec<_>>()
    });
    complaints.collect()
}

/// The tests with this name, or those of the property with this number.
fn places<'a>(name: &'a str, proofs: &'a [Proof]) -> impl Iterator<Item = &'a Proof> {
    let number = PropertyNumber::written(name);
    proofs.iter().filter(move |proof| match number {
        Some(number) => proof.numbers.contains(&number),
        None => proof.name() == name,
    })
}

// === writing ===

/// Renders the whole page.
pub(crate) fn render(sections: &[SeedSection], proofs: &[Proof]) -> String {
    let held = sentences(sections).filter(|(_, it)| matches!(it.held, HeldBy::By(_))).count();
    let mut page = format!(
        "# The seeds: sentence → code and test\n\n\
         Made by `cargo xtask contract` from `{}` and the names of the tests; do not edit it by hand.\n\n\
         The seeds are the five documents Tidegate was made from. What each of their sentences asks for \
         stands here\nin our own words, with the line it is on. Numbers like P24 are properties, whose \
         tests are in\n[the contract](contract.md). Of {} sentences, {held} have a test; the others say why \
         not.\n",
        super::SEEDS,
        sentences(sections).count(),
    );
    for document in sections.chunk_by(|one, next| one.document == next.document) {
        page.push_str(&format!("\n## Seed {}\n", document[0].document));
        for section in document {
            page.push_str(&format!("\n### {}\n\n", section.title));
            page.push_str("| line | says | code | held by |\n|---|---|---|---|\n");
            page.extend(section.sentences.iter().map(|sentence| row(sentence, proofs)));
        }
    }
    page
}

fn row(sentence: &Sentence, proofs: &[Proof]) -> String {
    let code: Vec<String> = sentence.code.iter().map(|path| format!("`{path}`")).collect();
    let of = |name: &String| match PropertyNumber::written(name) {
        Some(_) => name.clone(),
        None => {
            let places = places(name, proofs).map(|proof| format!("`{}`", proof.place));
            places.collect::<Vec<_>>().join("<br>")
        }
    };
    let held = match &sentence.held {
        HeldBy::By(names) => names.iter().map(of).collect::<Vec<_>>().join("<br>"),
        HeldBy::Not(reason) => format!("*{reason}*"),
    };
    format!("| {} | {} | {} | {held} |\n", sentence.line, sentence.says, code.join("<br>"))
}

#[cfg(test)]
mod self_test {
    use super::*;

    fn one(line: &str) -> Vec<SeedSection> {
        parse(&format!("## 000 A\n### §1 B\n{line}")).unwrap()
    }

    fn proofs() -> [Proof; 2] {
        let proof = |numbers: &[u8], place: &str| Proof {
            numbers: numbers.iter().copied().map(PropertyNumber::P).collect(),
            place: place.into(),
        };
        [proof(&[1], "a.rs::p01_x"), proof(&[], "b.rs::it_is_so")]
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, what) in [
            ("3 | a | - | without: nothing to do", "line 1: before any section"),
            ("### §1", "line 1: before any document"),
            ("## 0\n### §1\n3 | a | b", "line 3: does not have four parts"),
            ("## 0\n### §1\nx | a | c | P01", "line 3: begins with no line"),
            ("## 0\n### §1\n3 | a | - | P01", "line 3: names no code"),
            ("## 0\n### §1\n3 | a | - | without: ", "line 3: has no reason"),
            ("## 0\n### §1\n3 | a | c | P01\n2 | a | c | P01", "line 4: not in order"),
        ] {
            let mistake = parse(text).unwrap_err();
            assert!(mistake.starts_with(what), "{text}: {mistake}");
        }
    }

    #[test]
    fn names_of_nothing_are_told() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (line, complaints) in [
            ("3 | a | Cargo.toml | P01, it_is_so", vec![]),
            ("3 | a | Cargo.toml | P02", vec!["  000 A, line 3: P02"]),
            ("3 | a | Cargo.toml | it_is_not", vec!["  000 A, line 3: it_is_not"]),
            ("3 | a | gone.rs | P01", vec!["  000 A, line 3: gone.rs"]),
            ("3 | a | - | without: nobody does it", vec![]),
        ] {
            assert_eq!(stray(&one(line), &proofs(), root), complaints, "{line}");
        }
    }

    #[test]
    fn rows_say_what_holds_them_or_why_nothing_does() {
        for (line, row) in [
            (
                "3 | a | core:key.rs, x.rs | P01, it_is_so",
                "| 3 | a | `crates/tidegate-core/src/key.rs`<br>`x.rs` | P01<br>`b.rs::it_is_so` |\n",
            ),
            ("3 | a | - | without: not built", "| 3 | a |  | *not built* |\n"),
        ] {
            let page = render(&one(line), &proofs());
            assert!(page.ends_with(row), "{page}");
        }
        assert!(render(&one("3 | a | x | P01"), &proofs()).contains("Of 1 sentences, 1 have"));
    }
}
