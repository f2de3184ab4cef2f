//! The locked numbers, pinned: none of them changes in silence.

use core::fmt::Write as _;

use super::super::contract::*;

/// Every number of the contract, as the golden text has it.
fn text() -> String {
    let mut rows = vec![
        ("version", VERSION.to_string()),
        ("specification", SPEC_DOC.to_owned()),
        ("hardening", HARDENING.to_owned()),
        ("trips on", format!("{TRIP_FAILURES} failures within {}", secs(TRIP_WITHIN))),
        ("degraded at least", secs(MIN_DEGRADED)),
        (
            "healthy at least",
            format!(
                "{}, {HEALTHY_PROBES} probes, no gap over {}",
                secs(MIN_HEALTHY),
                secs(HEALTHY_GAP)
            ),
        ),
        ("enters again at most", format!("{MAX_REENTRIES} times within {}", secs(REENTRY_WITHIN))),
        ("backoff", secs(BACKOFF)),
        ("highest level", format!("{MAX_LEVEL:?}")),
        ("probes when suspected", secs(SUSPECT_PROBE_EVERY)),
        ("probes when degraded", secs(DEGRADED_PROBE_EVERY)),
        ("tells a long outage", secs(PROLONGED_EVERY)),
        ("outage is prolonged after", secs(PROLONGED_AFTER)),
        ("auth and admin closed at most", secs(CLOSED_AT_MOST)),
        ("same outage within", secs(SAME_OUTAGE_WITHIN)),
        ("unreadable counters blamed", CORRUPT_COUNTERS.to_string()),
        ("tells a refusal", secs(REFUSED_EVERY)),
    ];
    let caps: [(&str, &[Cap]); 4] =
        [("login", &LOGIN), ("otp", &OTP), ("api", &API), ("health", &HEALTH)];
    for (name, caps) in caps {
        let told = |cap: &Cap| (name, format!("{} in {} by {}", cap.count, secs(cap.per), cap.by));
        rows.extend(caps.iter().map(told));
    }
    let wider = WIDER.map(|(by, times)| format!("{times} times by {}", by.name())).join(", ");
    rows.push(("by ip, for IPv6 also", wider));
    rows.push(("ceilings", format!("1/{CEILING_SHARE} of the rate")));
    rows.push(("spend", format!("1/{SPEND_SHARE} of count, rate and burst")));
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        writeln!(text, "{name:30}{value}").unwrap();
        text
    })
}

fn secs(span: crate::time::Span) -> String {
    assert!(span.as_micros().is_multiple_of(1_000_000), "{span} is not in whole seconds");
    format!("{}s", span.as_secs_ceil())
}

#[test]
fn p30_a_locked_number_changes_only_with_the_version() {
    let golden = match VERSION {
        2 => include_str!("../contract/v2.txt"),
        other => panic!("version {other} needs a text beside that of version 2"),
    };
    assert_eq!(
        text(),
        golden,
        "what has been promised changes with VERSION, a new text beside the \
         old one and a line in the changelog"
    );
}

#[test]
fn p30_version_2_keeps_every_number_of_version_1() {
    let (first, second) = (include_str!("../contract/v1.txt"), include_str!("../contract/v2.txt"));
    for line in first.lines().filter(|line| !line.starts_with("version")) {
        assert!(second.lines().any(|kept| kept == line), "{line:?} is gone");
    }
    assert_eq!((SPEC_DOC, HARDENING), ("1.0.0", "1.2.0"));
}

#[test]
fn p30_the_version_of_the_contract_is_named_in_the_changelog() {
    let changelog = include_str!("../../../../../CHANGELOG.md");
    let line = format!("failure contract version {VERSION}");
    let named = changelog.lines().any(|written| {
        let after = written.split(&line).nth(1);
        after.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    assert!(named, "no line of CHANGELOG.md says {line:?}");
}

#[test]
fn p35_one_time_passwords_are_guarded_more_strictly_than_logins() {
    for (login, otp) in LOGIN.iter().zip(&OTP) {
        assert_eq!(login.by, otp.by);
        assert!(otp.count < login.count, "fewer in all");
        let rate = |cap: &Cap, other: &Cap| cap.count * other.per.as_micros();
        assert!(rate(otp, login) < rate(login, otp), "and fewer in the same time");
    }
}
