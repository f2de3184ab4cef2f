//! Text for people: escaped, bounded, in columns, and lengths of time in words.
//!
//! Whatever a file, a peer or a server sent may end up on a terminal. A terminal obeys some
//! characters, and a log reader takes a line break for a new entry; so every such character is shown
//! as its number, in one place, for logs and for answers alike.

use std::fmt::{self, Write};

use tidegate_core::text::is_hazard;

/// The mark at the end of a text that was cut.
const CUT: &str = "…";

/// Collects text up to a bound, and drops the rest.
#[derive(Debug)]
pub(crate) struct Capped {
    text: String,
    /// The most bytes kept.
    most: usize,
    cut: bool,
}

/// Rows whose columns line up.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
}

/// The text with every hazard written as its number, on one line.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hazard(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// The text with every hazard but line breaks written as its number: for diagnostics of several lines.
pub(crate) fn escaped_lines(text: &str) -> String {
    text.lines().map(escaped).collect::<Vec<_>>().join("\n")
}

/// JSON with every hazard in its strings escaped as JSON does it. Only strings can hold one; the old
/// controls are escaped in valid JSON already.
pub(crate) fn escaped_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if !is_hazard(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// A wait in words, never shorter than it is: `350 µs`, `12 ms`, `59.98 s`, `4 min 59 s`,
/// `23 h 5 min`, `3 d 4 h`.
pub(crate) fn in_words(micros: u64) -> String {
    const SECOND: u64 = 1_000_000;
    const MINUTE: u64 = 60 * SECOND;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let two = |unit: u64, name: &str, part: u64, part_name: &str| {
        let parts = micros.div_ceil(part);
        let (whole, rest) = (parts / (unit / part), parts % (unit / part));
        if rest == 0 {
            format!("{whole} {name}")
        } else {
            format!("{whole} {name} {rest} {part_name}")
        }
    };
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..=999_000 => format!("{} ms", micros.div_ceil(1_000)),
        999_001..MINUTE => {
            let hundredths = micros.div_ceil(10_000);
            let (whole, rest) = (hundredths / 100, hundredths % 100);
            if rest == 0 { format!("{whole} s") } else { format!("{whole}.{rest:02} s") }
        }
        MINUTE..HOUR => two(MINUTE, "min", SECOND, "s"),
        HOUR..DAY => two(HOUR, "h", MINUTE, "min"),
        DAY.. => two(DAY, "d", HOUR, "h"),
    }
}

/// A count with its noun: `1 policy`, `3 policies`.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

// === impl Capped ===

impl Capped {
    /// Keeps at most `most` bytes.
    pub(crate) const fn new(most: usize) -> Self {
        Self { text: String::new(), most, cut: false }
    }

    /// What was kept, with a mark if there was more.
    pub(crate) fn finish(mut self) -> String {
        if self.cut {
            self.text.push_str(CUT);
        }
        self.text
    }
}

impl Write for Capped {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.cut {
            return Ok(());
        }
        let room = self.most.saturating_sub(self.text.len());
        let kept = if text.len() <= room { text } else { &text[..text.floor_char_boundary(room)] };
        self.cut = kept.len() < text.len();
        self.text.push_str(kept);
        Ok(())
    }
}

// === impl TextTable ===

impl TextTable {
    /// A table with these headings.
    pub(crate) fn headed<const N: usize>(headings: [&str; N]) -> Self {
        let mut table = Self::default();
        table.row(&headings.map(str::to_owned));
        table
    }

    /// Adds a row; its cells are escaped.
    pub(crate) fn row<const N: usize>(&mut self, cells: &[String; N]) {
        self.rows.push(cells.iter().map(|cell| escaped(cell)).collect());
    }
}

impl fmt::Display for TextTable {
    /// Writes the columns two spaces apart, with a margin of two.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |cell: &String| cell.chars().count();
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column| self.rows.iter().filter_map(|row| row.get(column)).map(width).max();
        let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, wide) in row.iter().zip(&widths) {
                let missing = wide.saturating_sub(width(cell));
                write!(line, "  {cell}{:missing$}", "")?;
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p84_no_character_that_a_terminal_obeys_survives() {
        for c in ('\0'..=char::MAX).filter(|c| c.is_control() || is_hazard(*c)) {
            let shown = escaped(&format!("a{c}b"));
            assert!(!shown.contains(is_hazard), "{c:?} became {shown:?}");
            assert!(shown.starts_with("a\\") && shown.ends_with('b'), "{c:?} became {shown:?}");
        }
        assert_eq!(escaped("Grüße, 世界"), "Grüße, 世界", "text stays text");
        assert_eq!(escaped_lines("a\x1b[2J\r\nb"), "a\\u{1b}[2J\nb");
    }

    #[test]
    fn text_is_cut_at_a_character_and_says_so() {
        let mut capped = Capped::new(4);
        for part in ["a", "ßß", "more"] {
            capped.write_str(part).unwrap();
        }
        assert_eq!(capped.finish(), "aß…");
        let mut capped = Capped::new(4);
        capped.write_str("four").unwrap();
        assert_eq!(capped.finish(), "four");
    }

    #[test]
    fn waits_are_told_in_words_and_never_too_short() {
        for (micros, words) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (1_001, "2 ms"),
            (999_001, "1 s"),
            (1_000_000, "1 s"),
            (59_971_001, "59.98 s"),
            (60_000_000, "1 min"),
            (299_000_001, "5 min"),
            (90_000_000, "1 min 30 s"),
            (7_260_000_001, "2 h 2 min"),
            (86_400_000_000, "1 d"),
            (100_000_000_000, "1 d 4 h"),
        ] {
            assert_eq!(in_words(micros), words);
        }
    }

    #[test]
    fn columns_line_up() {
        let mut table = TextTable::headed(["limit", "left"]);
        table.row(&["größe\n".to_owned(), "3".to_owned()]);
        assert_eq!(table.to_string(), "  limit    left\n  größe\\n  3\n");
    }
}
