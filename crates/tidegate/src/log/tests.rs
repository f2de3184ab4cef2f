//! Hostile values in both formats. (The events carry no subjects; that is tested from outside.)

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tidegate_core::{ManualClock, Timestamp};
use tracing::{info, subscriber::with_default};

use super::*;

/// What is logged in `format` while `run` runs.
fn logged(format: LogFormat, run: impl FnOnce()) -> String {
    let lines = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&lines);
    let clock = ManualClock::new(Timestamp::from_micros(1_800_000_000_000_007));
    let write = move |line: String| kept.lock().unwrap().push_str(&line);
    let subscriber = tracing_subscriber::registry()
        .with(Lines { format, clock, write }.with_filter(filter(LogLevel::Info)));
    with_default(subscriber, run);
    lines.lock().unwrap().clone()
}

/// Text that would forge a line, clear the screen, or turn it around.
const HOSTILE: &str = "x\nERROR forged\r\x1b[2J\x07\u{9b}31m\u{202e}\0\u{2028}\"end";

#[test]
fn a_line_for_people_has_time_level_message_and_fields() {
    let line = logged(LogFormat::Human, || info!(policies = 3, store = "in memory", "listening"));
    assert_eq!(
        line,
        "2027-01-15T08:00:00.000007Z INFO  listening policies=3 store=\"in memory\"\n"
    );
}

#[test]
fn t40_a_hostile_value_stays_on_its_line_and_moves_no_cursor() {
    for format in [LogFormat::Human, LogFormat::Json] {
        let log = logged(format, || {
            info!(value = HOSTILE, "{HOSTILE}");
            info!(value = %HOSTILE, "shown");
            info!(value = ?HOSTILE, "debugged");
        });
        assert_eq!(log.lines().count(), 3, "{log:?}");
        assert!(!log.chars().any(|c| c != '\n' && tidegate_core::text::is_hazard(c)), "{log:?}");
    }
}

#[test]
fn t40_json_lines_give_back_what_was_logged() {
    let line = logged(LogFormat::Json, || error!(value = HOSTILE, n = -1, yes = true, "{HOSTILE}"));
    let object: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(object["value"], HOSTILE);
    assert_eq!(object["message"], HOSTILE);
    assert_eq!((&object["n"], &object["yes"]), (&(-1).into(), &true.into()));
    assert_eq!(object["level"], "error");
    assert_eq!(object["at"], "2027-01-15T08:00:00.000007Z");
}

#[test]
fn p84_values_are_capped() {
    let long = "x".repeat(1 << 20);
    for format in [LogFormat::Human, LogFormat::Json] {
        let line = logged(format, || info!(value = %long, "{long}"));
        assert!(line.len() < 8 * 1024, "{}", line.len());
    }
}

#[test]
fn a_diagnostic_is_shown_below_its_line_and_cannot_forge_one() {
    let log =
        logged(LogFormat::Human, || error!(diagnostic = "a\n\x1b[2Jb", path = "f", "refused"));
    let expected = "ERROR refused path=f\n  | a\n  | \\u{1b}[2Jb\n";
    assert!(log.ends_with(expected), "{log:?}");
}

#[test]
fn t40_libraries_are_heard_only_when_they_fail() {
    let log = logged(LogFormat::Human, || {
        tracing::warn!(target: "h2::codec", "what a client has done");
        info!(target: "tidegate_server::door", "ours");
        error!(target: "h2::codec", "trouble");
    });
    assert_eq!(log.lines().count(), 2, "{log}");
    assert!(!log.contains("client"));
}
