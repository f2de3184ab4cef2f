//! The table of faults in `docs/stores.md`, written by the tests that make them.
//!
//! Each test of a fault ends by recording its [`Row`]. A row that the document has otherwise, or not
//! at all, fails the test; run with `UPDATE=1`, it is written instead. How long it took is only
//! written, never compared: it is true of one machine.

use core::time::Duration;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};

use crate::place::document;

/// Around the rows.
const BEGIN: &str = "<!-- faults: written by the tests -->";
const END: &str = "<!-- /faults -->";
const HEAD: &str = "| | fault | the caller sees | then | back after |\n|---|---|---|---|---|\n";

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
        let mut file = File::options().read(true).write(true).open(document()).unwrap();
        // Tests run at once, in processes of their own.
        file.lock().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        if is_update() {
            let text = with_line(&text, &self.line());
            file.rewind().unwrap();
            file.set_len(0).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            return;
        }
        let line = rows(&text).find(|line| id_of(line) == self.id).unwrap_or_default();
        let (is, should) = (untimed(line), self.line());
        assert_eq!(is, untimed(&should), "docs/stores.md is out of date: run this with UPDATE=1");
    }

    fn line(&self) -> String {
        let Self { id, fault, seen, then, back } = self;
        let back = back.map_or_else(|| "–".to_owned(), told);
        format!("| {id} | {fault} | {seen} | {then} | {back} |")
    }
}

/// Whether documents and golden files are to be written instead of compared.
#[allow(clippy::disallowed_methods, reason = "how a person asks a test to write what it found")]
pub(crate) fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// Two digits are all that is true of a time.
fn told(time: Duration) -> String {
    match time.as_millis() {
        0..100 => "< 0.1 s".to_owned(),
        ms => format!("{}.{} s", (ms + 50) / 1_000, (ms + 50) / 100 % 10),
    }
}

fn rows(text: &str) -> impl Iterator<Item = &str> {
    let inside = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
    let (table, _) = inside.unwrap_or_else(|| panic!("no `{BEGIN}` and `{END}` in the document"));
    table.lines().filter(|line| line.starts_with("| R"))
}

fn with_line(text: &str, line: &str) -> String {
    let others = rows(text).filter(|other| id_of(other) != id_of(line));
    let mut all: Vec<&str> = others.chain([line]).collect();
    all.sort_by_key(|line| id_of(line));
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    format!("{before}{BEGIN}\n{HEAD}{}\n{END}{after}", all.join("\n"))
}

fn id_of(line: &str) -> &str {
    line.split('|').nth(1).unwrap_or_default().trim()
}

/// All columns but the last.
fn untimed(line: &str) -> Vec<&str> {
    let mut columns: Vec<&str> = line.split('|').map(str::trim).collect();
    columns.truncate(5);
    columns
}

#[test]
fn every_row_has_its_test_and_every_test_its_row() {
    let text = std::fs::read_to_string(document()).unwrap();
    let mut told: Vec<String> = rows(&text).map(|line| id_of(line).to_owned()).collect();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/redis/faults");
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
fn a_row_is_replaced_in_its_place_and_its_time_is_not_compared() {
    let text = format!("a\n{BEGIN}\n{HEAD}| R01 | x | y | z | 1.0 s |\n{END}\nb\n");
    let more = with_line(&text, "| R03 | x | y | z | – |");
    let more = with_line(&more, "| R02 | x | y | z | – |");
    let ids: Vec<&str> = rows(&more).map(id_of).collect();
    assert_eq!(ids, ["R01", "R02", "R03"]);
    assert_eq!(with_line(&more, "| R02 | x | y | z | – |"), more);
    assert_eq!(untimed("| R01 | x | y | z | 1.0 s |"), untimed("| R01 | x | y | z | 2.0 s |"));
    assert_ne!(untimed("| R01 | x | y | z | 1 |"), untimed("| R01 | x | y | other | 1 |"));
    let times = [20, 99, 100, 1_449, 1_450].map(|ms| told(Duration::from_millis(ms)));
    assert_eq!(times, ["< 0.1 s", "< 0.1 s", "0.1 s", "1.4 s", "1.5 s"]);
}
