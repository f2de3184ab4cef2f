//! Parts of the documents that tests write.
//!
//! What a document says of a fault or an attack is what a test found. A part that the document has
//! otherwise, or not at all, fails the test; run with `UPDATE=1`, it is written instead.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// The part of a document between two marks.
#[derive(Clone, Copy, Debug)]
pub struct MarkedPart {
    /// The path of the document in the repository.
    pub document: &'static str,
    /// The line before the part.
    pub begin: &'static str,
    /// The line after the part.
    pub end: &'static str,
}

/// A table that several tests write, each its own row; a row is known by its first column.
#[derive(Clone, Copy, Debug)]
pub struct DocumentTable {
    /// The place of the table.
    pub part: MarkedPart,
    /// The two lines above the rows.
    pub head: &'static str,
    /// How many columns are compared. The columns after them are times, which are only written: they
    /// are true of one machine.
    pub compared: usize,
}

/// Whether documents and golden files are to be written instead of compared.
#[allow(clippy::disallowed_methods, reason = "how a person asks a test to write what it found")]
#[must_use]
pub fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// A file of the repository.
#[must_use]
pub fn path(document: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document)
}

// === impl MarkedPart ===

impl MarkedPart {
    /// Holds the document to what was found: compares it, or with `UPDATE=1` writes it.
    ///
    /// # Panics
    ///
    /// If the document says something else, or has no such part.
    pub fn record(&self, found: &str) {
        let compare = |there: &str| assert_eq!(there, found, "{}", self.outdated());
        self.compare_or_write(compare, |_| found.to_owned());
    }

    fn compare_or_write(&self, compare: impl FnOnce(&str), write: impl FnOnce(&str) -> String) {
        let opened = File::options().read(true).write(is_update()).open(path(self.document));
        let mut file = opened.expect("a document that can be opened");
        // Tests run at once, in processes of their own.
        file.lock().expect("a document that can be locked");
        let mut text = String::new();
        file.read_to_string(&mut text).expect("a document that is text");
        let (before, there, after) = self.split(&text);
        if !is_update() {
            return compare(there);
        }
        let text = format!("{before}{}\n{}{}{after}", self.begin, write(there), self.end);
        let written = file.rewind().and_then(|()| file.set_len(0));
        let written = written.and_then(|()| file.write_all(text.as_bytes()));
        written.expect("a document that can be written");
    }

    /// The text before the part, the part without its marks, and the text after it.
    fn split<'t>(&self, text: &'t str) -> (&'t str, &'t str, &'t str) {
        let Self { document, begin, end } = self;
        let split = text.split_once(begin).and_then(|(before, rest)| {
            let (there, after) = rest.strip_prefix('\n')?.split_once(end)?;
            Some((before, there, after))
        });
        split.unwrap_or_else(|| panic!("no `{begin}` and `{end}` in {document}"))
    }

    fn outdated(&self) -> String {
        format!("{} is out of date: run this with UPDATE=1", self.document)
    }
}

// === impl DocumentTable ===

impl DocumentTable {
    /// Holds the document to one row: compares it, or with `UPDATE=1` writes it.
    ///
    /// # Panics
    ///
    /// If the document has another such row or none, or no such table.
    pub fn record(&self, row: &str) {
        let compare = |there: &str| {
            let told = self.rows(there).find(|told| id(told) == id(row)).unwrap_or_default();
            assert_eq!(self.compared(told), self.compared(row), "{}", self.part.outdated());
        };
        self.part.compare_or_write(compare, |there| self.with(there, row));
    }

    /// The rows that the document has now.
    ///
    /// # Panics
    ///
    /// If it cannot be read, or has no such table.
    #[must_use]
    pub fn told(&self) -> Vec<String> {
        let text = std::fs::read_to_string(path(self.part.document)).expect("a document");
        let (_, there, _) = self.part.split(&text);
        self.rows(there).map(str::to_owned).collect()
    }

    fn rows<'t>(&self, there: &'t str) -> impl Iterator<Item = &'t str> + use<'t> {
        there.strip_prefix(self.head).unwrap_or_default().lines()
    }

    /// The table with this row in its place, in the order of the first column.
    fn with(&self, there: &str, row: &str) -> String {
        let others = self.rows(there).filter(|other| id(other) != id(row));
        let mut all: Vec<&str> = others.chain([row]).collect();
        all.sort_by_key(|row| id(row));
        format!("{}{}\n", self.head, all.join("\n"))
    }

    fn compared<'r>(&self, row: &'r str) -> Vec<&'r str> {
        columns(row).take(self.compared).collect()
    }
}

/// The texts in the columns of a row.
pub fn columns(row: &str) -> impl Iterator<Item = &str> {
    row.trim_matches('|').split('|').map(str::trim)
}

/// The first column of a row, by which it is known.
#[must_use]
pub fn id(row: &str) -> &str {
    columns(row).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: MarkedPart =
        MarkedPart { document: "none", begin: "<!-- a -->", end: "<!-- b -->" };
    const TABLE: DocumentTable =
        DocumentTable { part: PART, head: "| | x | s |\n|---|---|---|\n", compared: 2 };

    #[test]
    fn a_row_is_put_or_replaced_in_its_place() {
        let one = TABLE.with(TABLE.head, "| R02 | x | 1 s |");
        let two = TABLE.with(&one, "| R01 | x | 2 s |");
        assert_eq!(TABLE.rows(&two).map(id).collect::<Vec<_>>(), ["R01", "R02"]);
        assert_eq!(TABLE.with(&two, "| R02 | x | 1 s |"), two);
        assert_eq!(TABLE.with(&two, "| R02 | y | 1 s |"), two.replace("| R02 | x", "| R02 | y"));
    }

    #[test]
    fn times_are_not_compared() {
        assert_eq!(TABLE.compared("| R01 | x | 1 s |"), TABLE.compared("| R01 | x | 2 s |"));
        assert_ne!(TABLE.compared("| R01 | x | 1 s |"), TABLE.compared("| R01 | y | 1 s |"));
    }

    #[test]
    fn a_part_is_what_stands_between_its_marks() {
        let text = "before\n<!-- a -->\nthere\n<!-- b -->\nafter\n";
        assert_eq!(PART.split(text), ("before\n", "there\n", "\nafter\n"));
    }
}
