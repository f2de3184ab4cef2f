//! What is read, what is refused, and what never shows.

use core::time::Duration;

use proptest::prelude::*;

use super::{Address, ServersKind, Target, TargetError, TlsFiles};

fn parse(text: &str) -> Target {
    Target::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn shown_with_every_part_but_the_password() {
    for (text, shown) in [
        ("redis://localhost", "redis://localhost:6379/0"),
        ("redis://localhost/", "redis://localhost:6379/0"),
        ("redis://10.0.0.1:7000/3", "redis://10.0.0.1:7000/3"),
        ("redis://[::1]", "redis://[::1]:6379/0"),
        ("rediss://[2001:db8::1]:7000/2", "rediss://[2001:db8::1]:7000/2"),
        ("redis://:hunter2@h", "redis://:***@h:6379/0"),
        ("redis://app:hunter2@h/1", "redis://app:***@h:6379/1"),
        ("redis://app:hun:ter@2@h", "redis://app:***@h:6379/0"),
        ("redis://hunter2@h", "redis://***@h:6379/0"),
        ("redis+sentinel://a,b:1,[::1]:2/main", "redis+sentinel://a:26379,b:1,[::1]:2/main/0"),
        ("rediss+sentinel://u:p@a/main/4", "rediss+sentinel://u:***@a:26379/main/4"),
        ("redis+sentinel://a/my%2Fmain", "redis+sentinel://a:26379/my/main/0"),
        ("redis+cluster://a,b:7001", "redis+cluster://a:6379,b:7001"),
        ("rediss+cluster://u:p@a/0", "rediss+cluster://u:***@a:6379"),
    ] {
        let target = parse(text);
        assert_eq!(target.to_string(), shown, "{text}");
        assert_eq!(format!("{target:?}"), format!("Target({shown}, timeout 250ms)"), "{text}");
    }
}

#[test]
fn user_and_password_are_decoded() {
    let target = parse("redis://a%40b:p%2F%3f%25+%C3%A9@h");
    assert_eq!(target.login.user.as_deref(), Some("a@b"));
    assert_eq!(target.login.password.map(|secret| secret.reveal().to_owned()).unwrap(), "p/?%+é");
    let nobody = parse("redis://:@h").login;
    assert!(nobody.user.is_none() && nobody.password.is_none());
}

#[test]
fn settings_are_read() {
    assert_eq!(parse("redis://h").timeout(), Duration::from_millis(250));
    for (text, timeout_ms) in [("1ms", 1), ("80ms", 80), ("2s", 2000), ("60s", 60_000)] {
        let target = parse(&format!("redis://h?timeout={text}"));
        assert_eq!(target.timeout(), Duration::from_millis(timeout_ms), "{text}");
    }
    let target = parse("rediss://h/0?ca=/etc/my%20ca.pem&cert=c.pem&key=k.pem&timeout=9ms");
    let identity = Some(("c.pem".into(), "k.pem".into()));
    assert_eq!(target.tls, Some(TlsFiles { ca: Some("/etc/my ca.pem".into()), identity }));
    assert_eq!(parse("rediss://h").tls, Some(TlsFiles::default()));
    assert_eq!(parse("redis://h").tls, None);

    let target = parse("redis+sentinel://h/main?sentinel_user=s&sentinel_password=p%26w");
    let ServersKind::Sentinel { master, login } = target.kind else { panic!("not Sentinel") };
    assert_eq!((master.as_str(), login.user.as_deref()), ("main", Some("s")));
    assert_eq!(login.password.unwrap().reveal(), "p&w");
}

#[test]
fn a_timeout_stays_within_its_bounds() {
    let target = parse("redis://h");
    for (asked, got) in [(0, 1), (1, 1), (5000, 5000), (90_000, 60_000)] {
        let target = target.clone().with_timeout(Duration::from_millis(asked));
        assert_eq!(target.timeout(), Duration::from_millis(got));
    }
}

#[test]
fn mistakes_are_told_apart() {
    for (text, error) in [
        ("", TargetError::Scheme),
        ("localhost:6379", TargetError::Scheme),
        ("http://h", TargetError::Scheme),
        ("redis+sentinels://h/m", TargetError::Scheme),
        ("REDIS://h", TargetError::Scheme),
        ("redis://", TargetError::Host),
        ("redis://:6379", TargetError::Host),
        ("redis://u:p@", TargetError::Host),
        ("redis://::1", TargetError::Host),
        ("redis://[::1", TargetError::Host),
        ("redis://[localhost]", TargetError::Host),
        ("redis://[::1]6379", TargetError::Host),
        ("redis://a b", TargetError::Host),
        ("redis://höst", TargetError::Host),
        ("redis+cluster://a,,b", TargetError::Host),
        ("redis://h:", TargetError::Port),
        ("redis://h:0", TargetError::Port),
        ("redis://h:65536", TargetError::Port),
        ("redis://h:x", TargetError::Port),
        ("redis://a,b", TargetError::Hosts),
        ("redis+sentinel://h", TargetError::Master),
        ("redis+sentinel://h//0", TargetError::Master),
        ("redis://h/x", TargetError::Database),
        ("redis://h/-1", TargetError::Database),
        ("redis://h/+1", TargetError::Database),
        ("redis://h/4294967296", TargetError::Database),
        ("redis+sentinel://h/m/0/1", TargetError::Database),
        ("redis+cluster://h/1", TargetError::ClusterDatabase),
        ("redis://u:pass/word@h", TargetError::Encoding),
        ("redis://u:pass?word@h", TargetError::Encoding),
        ("redis://u:pass#word@h", TargetError::Encoding),
        ("redis://u:100%@h", TargetError::Encoding),
        ("redis://u:%f@h", TargetError::Encoding),
        ("redis://u:%ff@h", TargetError::Encoding),
        ("redis://u:%+1@h", TargetError::Encoding),
        ("redis://h?timeouts=1s", TargetError::Setting),
        ("redis://h?timeout", TargetError::Setting),
        ("redis://h?timeout=", TargetError::Setting),
        ("redis://h?timeout=1s&timeout=1s", TargetError::Setting),
        ("redis://h?timeout=0ms", TargetError::Timeout),
        ("redis://h?timeout=61s", TargetError::Timeout),
        ("redis://h?timeout=250", TargetError::Timeout),
        ("redis://h?timeout=+5s", TargetError::Timeout),
        ("redis://h?timeout=s", TargetError::Timeout),
        ("redis://h?timeout=99999999999999999999s", TargetError::Timeout),
        ("redis://h?ca=/ca.pem", TargetError::WithoutTls),
        ("redis://h?cert=c&key=k", TargetError::WithoutTls),
        ("rediss://h?cert=c", TargetError::Identity),
        ("redis://h?sentinel_user=u", TargetError::WithoutSentinel),
        ("redis+cluster://h?sentinel_password=p", TargetError::WithoutSentinel),
    ] {
        assert_eq!(Target::parse(text), Err(error), "{text}");
    }
}

#[test]
fn announced_addresses_are_read() {
    let asked = Address::new("asked", 1);
    for (text, expected) in [
        ("10.0.0.1:7000", Some(Address::new("10.0.0.1", 7000))),
        ("::1:7000", Some(Address::new("::1", 7000))),
        (":7000", Some(Address::new("asked", 7000))),
        ("h:0", None),
        ("h:x", None),
        ("h", None),
    ] {
        assert_eq!(Address::announced(text, &asked), expected, "{text}");
    }
}

/// Nothing a person would not also find in the rest of the text: the marker is long and odd.
const MARKER: &str = "Zq7Zq7";

fn assert_hidden(text: &str) -> Result<(), TestCaseError> {
    let shown = match Target::parse(text) {
        Ok(target) => format!("{target} {target:?} {:?}", target.login.password),
        Err(error) => format!("{error} {error:?}"),
    };
    prop_assert!(!shown.contains(MARKER), "{text} shows as {shown}");
    Ok(())
}

proptest! {
    #[test]
    fn no_password_shows_whatever_surrounds_it(
        scheme in "(redis|rediss)(\\+sentinel|\\+cluster)?",
        user in "[a-z:/?#%@,\\[\\]]{0,3}",
        before in "[a-z0-9:/?#%@,&=\\[\\]]{0,8}",
        after in "[a-z0-9:/?#%@,&=\\[\\]]{0,8}",
        rest in "[a-z0-9:/?#%,&=\\[\\]]{0,12}",
    ) {
        assert_hidden(&format!("{scheme}://{user}:{before}{MARKER}{after}@h{rest}"))?;
        // A password in the place of the user; before a colon it would be one.
        let after = after.replace(':', "");
        assert_hidden(&format!("{scheme}://{before}{MARKER}{after}@h{rest}"))?;
        let query = format!("?sentinel_password={before}{MARKER}{after}");
        assert_hidden(&format!("{scheme}://h/{rest}{query}"))?;
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
        let _ = Target::parse(&text);
        let _ = Target::parse(&format!("redis://{text}"));
    }
}
