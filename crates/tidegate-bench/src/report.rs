//! The reports: Markdown, as it stands in `docs/benchmarks.md`.

use std::fmt;

use crate::machine;
use crate::measure::{ratio, spread};

/// The text of a report: facts about the run, then tables.
pub(crate) struct BenchReport(String);

// === impl BenchReport ===

impl BenchReport {
    /// A report that begins with facts about the machine and the command that measured.
    pub(crate) fn new(command: &str) -> Self {
        Self(format!("{}- command: `cargo xtask bench {command}`\n", machine::facts()))
    }

    /// Adds another fact; to be called before any table is added.
    pub(crate) fn fact(&mut self, fact: &str) {
        self.0 += &format!("- {fact}\n");
    }

    /// Adds a paragraph.
    pub(crate) fn say(&mut self, text: &str) {
        self.0 += &format!("\n{text}\n");
    }

    /// Adds a table, unless it has no rows. Titles and cells are separated by ` | `; a column whose
    /// title ends with a colon is aligned right.
    pub(crate) fn table(&mut self, titles: &str, rows: impl IntoIterator<Item = String>) {
        let rows: String = rows.into_iter().map(|row| format!("| {row} |\n")).collect();
        if !rows.is_empty() {
            let column = |title| match str::strip_suffix(title, ":") {
                Some(number) => (number, "---:"),
                None => (title, "---"),
            };
            let (titles, lines): (Vec<&str>, Vec<&str>) = titles.split(" | ").map(column).unzip();
            self.0 += &format!("\n| {} |\n|{}|\n{rows}", titles.join(" | "), lines.join("|"));
        }
    }

    /// Adds the table of bars, whose rows are made by [`Bound::verdict`](crate::bars::Bound::verdict).
    pub(crate) fn bars(&mut self, about: &str, rows: impl IntoIterator<Item = String>) {
        self.table(&format!("{about} | bar | measured: | "), rows);
    }
}

impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Formats a figure, or a dash if there is none.
pub(crate) fn shown(figure: Option<f64>, digits: usize) -> String {
    let figure = figure.filter(|figure| figure.is_finite());
    figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.digits$}"))
}

/// The ratio of the medians and its spread over the rounds, as two columns.
pub(crate) fn compared(figures: &[f64], base: Option<&[f64]>) -> String {
    let Some(base) = base else { return "– | –".to_owned() };
    let (low, high) = spread(figures, base);
    format!("{:.2} | {low:.2}–{high:.2}", ratio(figures, base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_are_aligned_right_and_an_empty_table_is_left_out() {
        let mut report = BenchReport(String::new());
        report.table("who | per second: | ", ["us | 7 | met".to_owned()]);
        report.table("who", []);
        assert_eq!(
            report.to_string(),
            "\n| who | per second |  |\n|---|---:|---|\n| us | 7 | met |\n"
        );
    }
}
