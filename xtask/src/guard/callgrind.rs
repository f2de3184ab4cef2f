//! Reads the output files of callgrind.

/// The total of instructions in a callgrind output file.
///
/// The format has a `summary:` line in the head and a `totals:` line at the end, either of which may
/// be absent; the first number is the count of instructions unless other events were asked for.
pub(crate) fn total(text: &str) -> Option<u64> {
    let line = |name| text.lines().rev().find_map(move |line| line.strip_prefix(name));
    let counts = line("totals:").or_else(|| line("summary:"))?;
    counts.split_whitespace().next()?.parse().ok()
}

/// Instructions per decision, given two runs that differ by `decisions` decisions.
///
/// Rounded to the nearest whole instruction; `None` if the longer run was not longer.
pub(crate) fn per_decision(few: u64, many: u64, decisions: u64) -> Option<u64> {
    let difference = many.checked_sub(few).filter(|difference| *difference > 0)?;
    difference.checked_add(decisions / 2)?.checked_div(decisions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_either_line() {
        let both = "version: 1\nevents: Ir\nsummary: 120\n\nfn=(1) main\n3 120\n\ntotals: 123\n";
        assert_eq!(total(both), Some(123));
        assert_eq!(total("events: Ir\nsummary: 120 7\n"), Some(120));
        assert_eq!(total("events: Ir\nfn=(1) main\n"), None);
        assert_eq!(total("totals: many"), None);
    }

    #[test]
    fn start_up_cancels_out() {
        assert_eq!(per_decision(1_000_000, 1_200_000, 2_000), Some(100));
        assert_eq!(per_decision(0, 2_999, 2_000), Some(1));
        assert_eq!(per_decision(0, 3_000, 2_000), Some(2));
    }

    #[test]
    fn runs_that_do_not_differ_measure_nothing() {
        assert_eq!(per_decision(5, 5, 2_000), None);
        assert_eq!(per_decision(6, 5, 2_000), None);
        assert_eq!(per_decision(5, 6, 0), None);
    }
}
