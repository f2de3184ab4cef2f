//! Instructions, counted by valgrind's callgrind: other load on the machine does not change them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Fallible;

/// Whether valgrind is installed.
pub(crate) fn is_installed() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok()
}

/// The arguments of valgrind, before those of a program whose instructions are counted into the
/// file `out`.
pub(crate) fn args(out: &Path) -> [String; 3] {
    let out = format!("--callgrind-out-file={}", out.display());
    ["--quiet".to_owned(), "--tool=callgrind".to_owned(), out]
}

/// The instructions that were counted into the file `out`, which is removed.
pub(crate) fn total(out: &Path) -> Fallible<u64> {
    let text = fs::read_to_string(out).map_err(|error| format!("{}: {error}", out.display()))?;
    fs::remove_file(out)?;
    parse(&text).ok_or_else(|| "callgrind has written no total".into())
}

fn parse(text: &str) -> Option<u64> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix("totals:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read() {
        assert_eq!(parse("events: Ir\nfn=(1) main\n3 120\n\ntotals: 123456\n"), Some(123_456));
        assert_eq!(parse("events: Ir\n"), None);
    }
}
