//! The table of faults in `docs/stores.md`, written by the tests that make them.
//!
//! Each test of a fault ends by recording its [`Row`]. A row that the document has otherwise, or not
//! at all, fails the test; run with `UPDATE=1`, it is written instead. How long it took is only
//! written, never compared: it is true of one machine.

use core::time::Duration;
use std::path::Path;

use tidegate_test::document::{DocumentTable, MarkedPart, id};

const TABLE: DocumentTable = DocumentTable {
    part: MarkedPart {
        document: "docs/stores.md",
        begin: "<!-- faults: written by the tests -->",
        end: "<!-- /faults -->",
    },
    head: "| | fault | the caller sees | then | back after |\n|---|---|---|---|---|\n",
    compared: 4,
};

/// What a test has found out about one fault.
#[derive(Debug)]
pub(crate) struct Row {
    /// As in the name of the test.
    pub(crate) id: &'static str,
    /// What was done to the servers.
    pub(crate) fault: &'static str,
    /// What a decision came to meanwhile.
    pub(crate) seen: String,
    /// What ended it, and what was noticed.
    pub(crate) then: &'static str,
    /// From the end of the fault to the next decision, or from its beginning where it ends by itself.
    pub(crate) back: Option<Duration>,
}

// === impl Row ===

impl Row {
    /// Holds the document to what was found.
    ///
    /// # Panics
    ///
    /// If it says something else.
    pub(crate) fn record(&self) {
        println!("{self:?}");
        TABLE.record(&self.line());
    }

    fn line(&self) -> String {
        let Self { id, fault, seen, then, back } = self;
        let back = back.map_or_else(|| "–".to_owned(), told);
        format!("| {id} | {fault} | {seen} | {then} | {back} |")
    }
}

/// Two digits are all that is true of a time.
fn told(time: Duration) -> String {
    match time.as_millis() {
        0..100 => "< 0.1 s".to_owned(),
        ms => format!("{}.{} s", (ms + 50) / 1_000, (ms + 50) / 100 % 10),
    }
}

#[test]
fn every_row_has_its_test_and_every_test_its_row() {
    let mut told: Vec<String> = TABLE.told().iter().map(|row| id(row).to_owned()).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/redis/faults");
    let mut tested = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let names = source.lines().filter_map(|line| line.trim().split_once("fn r"));
        let ids = names.filter_map(|(_, name)| name.split_once('_')).map(|(id, _)| id.to_owned());
        tested.extend(ids.filter(|id| id.starts_with(|c: char| c.is_ascii_digit())));
    }
    let mut tested: Vec<String> = tested.into_iter().map(|id| format!("R{id}")).collect();
    tested.sort();
    tested.dedup();
    told.sort();
    assert_eq!(told, tested);
    // faults.md counts them; R26 to R40 are those of other stores.
    let expected = (1..=25).chain(41..=43).map(|number| format!("R{number:02}"));
    let missing: Vec<String> = expected.filter(|id| !told.contains(id)).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn times_are_told_as_exactly_as_they_are_true() {
    let times = [20, 99, 100, 1_449, 1_450].map(|ms| told(Duration::from_millis(ms)));
    assert_eq!(times, ["< 0.1 s", "< 0.1 s", "0.1 s", "1.4 s", "1.5 s"]);
}
