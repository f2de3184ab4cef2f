//! The table of what faults cost in `docs/failure-semantics.md`, written by the tests that make them.
//!
//! A row that the document has otherwise, or not at all, fails its test; run with `UPDATE=1`, it is
//! written instead. Times are only written, never compared: they are true of one machine.

use tidegate_core::Span;
use tidegate_test::document::{DocumentTable, MarkedPart, columns, id};

use crate::figures::{Figures, Spread};

const TABLE: DocumentTable = DocumentTable {
    part: MarkedPart {
        document: "docs/failure-semantics.md",
        begin: "<!-- outages: written by the tests -->",
        end: "<!-- /outages -->",
    },
    head: "| | fault | admitted beyond the caps | added to requests that met it: p50 / p99 / max \
         | decisions after the trip: p50 / p99 / max | trusted again after |\n\
         |---|---|---|---|---|---|\n",
    compared: 3,
};

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
        TABLE.record(&self.line());
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

#[test]
fn every_fault_has_its_row() {
    let told = TABLE.told();
    let ids: Vec<&str> = told.iter().map(|row| id(row)).collect();
    assert_eq!(ids, ["R01", "R03", "R04", "R05", "R08", "R11", "R17", "R22", "W1", "W2"]);
    for row in &told {
        let columns: Vec<&str> = columns(row).collect();
        assert_eq!(columns.len(), 6, "{row}");
        assert!(columns[3..5].iter().all(|times| times.split(" / ").count() == 3), "{row}");
    }
}

#[test]
fn times_are_told_in_the_unit_that_is_read_most_easily() {
    let spread =
        Spread { p50: Span::ZERO, p99: Span::from_micros(999), max: Span::from_micros(250_449) };
    assert_eq!(shown(spread), "< 1 µs / 999 µs / 250.4 ms");
}
