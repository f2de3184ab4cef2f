//! What each rule does, and what holds for every path.

use proptest::prelude::*;

use super::*;

#[test]
fn every_rule_of_the_table() {
    for (written, expected) in [
        ("/", "/"),
        ("/login", "/login"),
        ("/v1/reports/42", "/v1/reports/42"),
        // Escapes.
        ("/%6cog%49n", "/logIn"),
        ("/%7euser%2Dx%5f%2e1", "/~user-x_.1"),
        ("/a%3ab%2cc%20d", "/a%3Ab%2Cc%20d"),
        ("/100%25", "/100%25"),
        ("/50%25off", "/50%25off"),
        ("/1%25%2a", "/1%25%2A"),
        ("/caf%c3%a9", "/caf%C3%A9"),
        ("/%f0%9f%8c%8a", "/%F0%9F%8C%8A"),
        // Characters that may not stand there.
        ("/caf\u{e9}", "/caf%C3%A9"),
        ("/\u{1f30a}", "/%F0%9F%8C%8A"),
        ("/{id}|\"<x>^`[] ", "/%7Bid%7D%7C%22%3Cx%3E%5E%60%5B%5D%20"),
        // What may stays as it is, escaped or not.
        ("/!$&'()*+,=:@-._~", "/!$&'()*+,=:@-._~"),
        // Slashes and dots.
        ("//", "/"),
        ("//login", "/login"),
        ("/v1///reports//42", "/v1/reports/42"),
        ("/login/", "/login"),
        ("/login//", "/login"),
        ("/./login", "/login"),
        ("/login/.", "/login"),
        ("/login/./", "/login"),
        ("/x/../login", "/login"),
        ("/x/y/../../login", "/login"),
        ("/x//../login", "/login"),
        ("/x/%2e%2E/login", "/login"),
        ("/x/.%2e/login", "/login"),
        ("/login/x/..", "/login"),
        ("/x/..", "/"),
        ("/.", "/"),
        ("/...", "/..."),
        ("/.well-known/x", "/.well-known/x"),
        ("/..x/x..", "/..x/x.."),
        // No paths.
        ("", ""),
        ("*", "*"),
    ] {
        assert_eq!(canonical(written).as_deref(), Ok(expected), "{written:?}");
    }
}

#[test]
fn what_is_refused_says_by_which_rule() {
    use PathError::*;
    for (written, expected) in [
        ("login", NotAbsolute),
        ("**", NotAbsolute),
        ("http://a/", NotAbsolute),
        ("/..", AboveRoot),
        ("/../login", AboveRoot),
        ("/a/../..", AboveRoot),
        ("/a/%2e%2e/%2e%2e/login", AboveRoot),
        ("/%", BadEscape),
        ("/%6", BadEscape),
        ("/%6/", BadEscape),
        ("/%zz", BadEscape),
        ("/%%32f", BadEscape),
        ("/%u002f", BadEscape),
        ("/%+1", BadEscape),
        ("/%\u{e9}", BadEscape),
        ("/%c0%af", NotUtf8),
        ("/%c3", NotUtf8),
        ("/%c3x", NotUtf8),
        ("/%c3\u{a9}", NotUtf8),
        ("/%a9", NotUtf8),
        ("/%ed%a0%80", NotUtf8),
        ("/%f4%90%80%80", NotUtf8),
        ("/%ff", NotUtf8),
        ("/%252f", EscapedTwice),
        ("/%256c", EscapedTwice),
        ("/%25%32%66", EscapedTwice),
        ("/%252%46", EscapedTwice),
        ("/%2525", EscapedTwice),
        ("/a%2fb", HiddenSlash),
        ("/a%2Fb", HiddenSlash),
        ("/a\\b", HiddenSlash),
        ("/a%5cb", HiddenSlash),
        ("/a%5Cb", HiddenSlash),
        ("/a;b=c", Parameter),
        ("/a%3bb", Parameter),
        ("/..;/login", Parameter),
        ("/a%00", Control),
        ("/a\0", Control),
        ("/a%0d%0aX:y", Control),
        ("/a\n", Control),
        ("/a%7f", Control),
        ("/a%c2%85", Control),
        ("/a\u{85}", Control),
        ("/a?b", Delimiter),
        ("/a#b", Delimiter),
    ] {
        assert_eq!(canonical(written), Err(expected), "{written:?}");
    }
}

#[test]
fn a_path_is_bounded_as_written_and_as_it_goes_on() {
    let long = format!("/{}", "a".repeat(MAX_LEN));
    assert_eq!(canonical(&long), Err(PathError::TooLong));
    assert!(canonical(&long[..MAX_LEN]).is_ok());
    let grows = format!("/{}", "\u{e9}".repeat(MAX_LEN / 4));
    assert!(grows.len() < MAX_LEN);
    assert_eq!(canonical(&grows), Err(PathError::TooLong));
    let shrinks = format!("/{}", "%61".repeat(MAX_LEN / 3));
    assert_eq!(canonical(&shrinks).map(|path| path.len()), Ok(MAX_LEN / 3 + 1));
}

#[test]
fn what_is_canonical_is_not_copied() {
    for path in ["/", "/v1/reports/42", "/.well-known/a", "/caf%C3%A9", "/a%3Ab/...", "", "*"] {
        assert!(matches!(canonical(path), Ok(Cow::Borrowed(same)) if same == path), "{path:?}");
    }
    for path in ["/login/", "/login/.", "/x/..", "//"] {
        assert!(matches!(canonical(path), Ok(Cow::Owned(_))), "a change is told: {path:?}");
    }
}

#[test]
fn different_resources_stay_different() {
    let paths = [
        "/login",
        "/Login",
        "/LOGIN",
        "/logins",
        "/logi",
        "/login.",
        "/login...",
        "/.login",
        "/login%3Fx",
        "/login%23x",
        "/login%20",
        "/login+",
        "/login%2B",
        "/login%25",
        "/login@",
        "/login%40",
        "/login/x",
        "/login/X",
        "/x/login",
        "/login,x",
        "/login%2Cx",
        "/login~",
        "/login!",
        "/login%21",
        "/log%C3%ADn",
        "/logi%CC%81n",
        "/l%C3%B3gin",
        "/%EF%BC%8Flogin",
        "/login:x",
        "/login%3Ax",
        "/log-in",
        "/log_in",
        "/login*",
        "/login%2A",
        "/login%7B",
    ];
    for (place, path) in paths.iter().enumerate() {
        let form = canonical(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        for other in &paths[..place] {
            assert_ne!(canonical(other).as_deref(), Ok(&*form), "{path} and {other}");
        }
    }
}

/// What paths are made of, so that the rules meet each other.
fn pieces() -> impl Strategy<Value = String> {
    let pieces = [
        "/",
        "/",
        "//",
        ".",
        "..",
        "/./",
        "/../",
        "%2e",
        "%2E",
        "%2f",
        "%25",
        "%",
        "2",
        "f",
        "6c",
        "%32",
        "%66",
        "%41",
        "a",
        "login",
        "\u{e9}",
        "%c3",
        "%a9",
        "%C3%A9",
        ";",
        "\\",
        "?",
        "%3f",
        "%0a",
        "%00",
        " ",
        "{",
        "%7B",
        ":",
        "%3a",
        "*",
        "\u{1f30a}",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..12)
        .prop_map(|parts| format!("/{}", parts.concat()))
}

fn holds(path: &str) -> Result<(), TestCaseError> {
    let Ok(form) = canonical(path) else { return Ok(()) };
    let again = canonical(&form);
    prop_assert!(matches!(&again, Ok(Cow::Borrowed(same)) if *same == form), "{again:?}");
    prop_assert_eq!(matches!(form, Cow::Borrowed(_)), form == path);
    if !form.starts_with('/') {
        prop_assert!(matches!(&*form, "" | "*"));
        return Ok(());
    }
    prop_assert!(form.len() == 1 || !form.ends_with('/'));
    prop_assert!(form.len() <= MAX_LEN);
    for segment in form[1..].split('/') {
        prop_assert!(!matches!(segment, "." | "..") && (form.len() == 1 || !segment.is_empty()));
    }
    prop_assert!(form.bytes().all(|byte| is_pchar(byte) || matches!(byte, b'/' | b'%')));
    // Whoever comes after can carry it.
    let target = http::uri::PathAndQuery::try_from(&*form);
    prop_assert_eq!(target.map(|target| target.path().to_owned()).ok(), Some(form.into_owned()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn t05_the_canonical_form_is_its_own_canonical_form(path in pieces()) {
        holds(&path)?;
    }

    #[test]
    fn t05_so_it_is_for_any_text(path in "/?\\PC{0,40}") {
        holds(&path)?;
    }
}
