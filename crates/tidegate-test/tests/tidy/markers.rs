//! Nothing is left for later in a comment, and no test is switched off without saying why.

use crate::demand_none;
use crate::tree::{self, File};

/// A text that must not occur, put together so that this file does not contain it.
const UNFINISHED: &[&str] =
    &[concat!("todo", "!("), concat!("unimplemented", "!("), concat!("FIX", "ME")];

/// The attribute without `= "reason"`.
const SWITCHED_OFF: &[&str] = &[concat!("#[ig", "nore]"), concat!("#[ig", "nore = \"\"]")];

#[test]
fn nothing_is_unfinished_or_switched_off() {
    demand_none(&tree::rust_files().iter().flat_map(complaints).collect::<Vec<_>>());
}

fn complaints(file: &File) -> Vec<String> {
    let advice = |line: &str| {
        let holds = |texts: &[&'static str]| texts.iter().copied().find(|text| line.contains(text));
        holds(UNFINISHED)
            .map(|text| (text, "finish it, or open an issue and say what is missing"))
            .or_else(|| holds(SWITCHED_OFF).map(|text| (text, "give the reason: `= \"…\"`")))
    };
    file.lines()
        .filter_map(|(number, line)| Some((number, advice(line)?)))
        .map(|(number, (text, advice))| format!("{}:{number}: `{text}`; {advice}", file.path))
        .collect()
}

#[cfg(test)]
mod self_test {
    use super::*;

    #[test]
    fn every_marker_is_found() {
        for text in UNFINISHED.iter().chain(SWITCHED_OFF) {
            let said = complaints(&File::new("a.rs", &format!("fn a() {{}}\n// {text}")));
            assert!(said[0].starts_with("a.rs:2: "), "{text}: {said:?}");
        }
    }

    #[test]
    fn a_reason_is_enough() {
        let text = format!("{} = \"needs a cluster\"]", concat!("#[ig", "nore"));
        assert!(complaints(&File::new("a.rs", &text)).is_empty());
    }
}
