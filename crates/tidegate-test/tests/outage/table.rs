//! The table of what faults cost in `docs/failure-semantics.md`, written by the tests that make them.
//!
//! A row that the document has otherwise, or not at all, fails its test; run with `UPDATE=1`, it is
//! written instead. Times are only written, never compared: they are true of one machine.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use tidegate_core::Span;

use crate::figures::{Figures, Spread};

/// Around the rows.
const BEGIN: &str = "<!-- outages: written by the tests -->";
const END: &str = "<!-- /outages -->";
const HEAD: &str = "| | fault | admitted beyond the caps | added to requests that met it: p50 / p99 / max \
     | decisions after the trip: p50 / p99 / max | trusted again after |\n|---|---|---|---|---|---|\n";

/// How many columns are compared.
const COMPARED: usize = 3;

/// What a test has found out about one fault.
#[derive(Debug)]
pub(crate) struct Row<'f> {
    /// As in the table of faults in `docs/stores.md`; those of the wire begin with W.
    pub(crate) id: &'static str,
    pub(crate) fault: &'static str,
    /// What was admitted too much, in words.
    pub(crate) over: String,
    pub(crate) figures: &'f Figures,
}

// === impl Row ===

impl Row<'_> {
    /// Holds the document to what was found.
    ///
    /// # Panics
    ///
    /// If it says something else.
    pub(crate) fn record(&self) {
        println!("{}", self.line());
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
        let (is, should) = (columns(line), self.line());
        let should = columns(&should);
        assert_eq!(is.len(), should.len(), "{}: the row is missing: run with UPDATE=1", self.id);
        assert_eq!(is[..=COMPARED], should[..=COMPARED], "out of date: run this with UPDATE=1");
    }

    fn line(&self) -> String {
        let Self { id, fault, over, figures } = self;
        let Figures { back, stayed, .. } = figures;
        let (met, after) = (figures.added(), Spread::of(&figures.after));
        let secs = |span: &Span| span.as_secs_ceil();
        let trusted = format!("{} s, {} s from the trip", secs(back), secs(stayed));
        format!("| {id} | {fault} | {over} | {} | {} | {trusted} |", shown(met), shown(after))
    }
}

/// In the unit that is read most easily.
fn shown(Spread { p50, p99, max }: Spread) -> String {
    let one = |span: Span| match span.as_micros() {
        0 => "< 1 µs".to_owned(),
        micros @ 1..1_000 => format!("{micros} µs"),
        micros => format!("{}.{} ms", micros / 1_000, micros / 100 % 10),
    };
    format!("{} / {} / {}", one(p50), one(p99), one(max))
}

/// The document that operators read.
fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/failure-semantics.md")
}

/// Whether the document is to be written instead of compared.
#[allow(clippy::disallowed_methods, reason = "how a person asks a test to write what it found")]
pub(crate) fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

fn rows(text: &str) -> impl Iterator<Item = &str> {
    let inside = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
    let (table, _) = inside.unwrap_or_else(|| panic!("no `{BEGIN}` and `{END}` in the document"));
    table.lines().filter(|line| !id_of(line).is_empty() && !line.starts_with("|---"))
}

fn with_line(text: &str, line: &str) -> String {
    let others = rows(text).filter(|other| id_of(other) != id_of(line));
    let mut all: Vec<&str> = others.chain([line]).collect();
    all.sort_by_key(|line| id_of(line));
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    format!("{before}{BEGIN}\n{HEAD}{}\n{END}{after}", all.join("\n"))
}

fn columns(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).collect()
}

fn id_of(line: &str) -> &str {
    line.split('|').nth(1).unwrap_or_default().trim()
}

#[test]
fn every_fault_has_its_row() {
    let text = std::fs::read_to_string(document()).unwrap();
    let told: Vec<&str> = rows(&text).map(id_of).collect();
    assert_eq!(told, ["R01", "R03", "R04", "R05", "R08", "R11", "R17", "R22", "W1", "W2"]);
    for row in rows(&text) {
        let columns = columns(row);
        assert_eq!(columns.len(), 8, "{row}");
        assert!(columns[4..6].iter().all(|times| times.split(" / ").count() == 3), "{row}");
    }
}

#[test]
fn a_row_is_replaced_in_its_place() {
    let text = format!("a\n{BEGIN}\n{HEAD}| R01 | x | 0 | t | t | t |\n{END}\nb\n");
    let more = with_line(&text, "| W1 | x | 0 | t | t | t |");
    let more = with_line(&more, "| R03 | x | 0 | t | t | t |");
    assert_eq!(rows(&more).map(id_of).collect::<Vec<_>>(), ["R01", "R03", "W1"]);
    assert_eq!(with_line(&more, "| R03 | x | 0 | t | t | t |"), more);
    assert!(more.starts_with("a\n") && more.ends_with("\nb\n"));
    let spread =
        Spread { p50: Span::ZERO, p99: Span::from_micros(999), max: Span::from_micros(250_449) };
    assert_eq!(shown(spread), "< 1 µs / 999 µs / 250.4 ms");
}
