//! Hiding the secrets of a file: the URL of a store has a password in it.
//!
//! An error shows the line it is about, and errors end up on terminals, in logs and in tickets. So
//! errors show a veiled copy of the text, made before anything is known to be wrong. It is made
//! from lines and not from YAML, because a file that is no YAML is shown as well, and it covers too
//! much rather than too little. Every byte keeps its place.

/// The section whose value is a secret, whichever part of the program owns it.
const SECTION: &str = "store";

/// The setting in the query of a URL whose value is a secret.
const SETTING: &str = "password=";

/// A secret value that goes on in the next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// The value of a key with this indentation; it ends before a line that is indented no further.
    Indented(usize),
    /// A text in these quotes; it ends where they are closed.
    Quoted(char),
}

/// The text with secrets covered by stars.
pub(super) fn veiled(text: &str) -> String {
    let mut veiled = String::with_capacity(text.len());
    let mut open = None;
    for line in text.split_inclusive('\n') {
        let end = line.trim_end_matches(['\r', '\n']).len();
        let (line, end_of_line) = line.split_at(end);
        let shown = if open.is_some_and(|open| goes_on(open, line)) { 0 } else { shown_of(line) };
        open = next(open.filter(|_| shown == 0), line, shown);
        let (shown, hidden) = line.split_at(shown);
        within_urls(&mut veiled, shown);
        cover(&mut veiled, hidden);
        veiled.push_str(end_of_line);
    }
    veiled
}

/// Whether a line belongs to the secret value that was open before it.
fn goes_on(open: Open, line: &str) -> bool {
    match open {
        Open::Indented(key) => line.trim().is_empty() || indentation(line) > key,
        Open::Quoted(_) => true,
    }
}

/// The secret value that is open after `line`, of which the first `shown` bytes are shown.
fn next(before: Option<Open>, line: &str, shown: usize) -> Option<Open> {
    match before {
        Some(Open::Quoted(quote)) if line.contains(quote) => None,
        Some(open) => Some(open),
        None if shown == line.len() && !ends_in_section(line) => None,
        None => {
            let quote = line[..shown].chars().next_back().filter(|c| matches!(c, '"' | '\''));
            match quote {
                Some(quote) if !line[shown..].contains(quote) => Some(Open::Quoted(quote)),
                _ => Some(Open::Indented(indentation(line))),
            }
        }
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// How much of a line is shown: up to the value of the section, its opening quote included.
fn shown_of(line: &str) -> usize {
    let Some(start) = value_of_section(line) else { return line.len() };
    let value = &line[start..];
    let blank = value.len() - value.trim_start().len();
    let quote = usize::from(value[blank..].starts_with(['"', '\'']));
    start + blank + quote
}

/// Whether the line has the key of the section, so that its value may come in the next lines.
fn ends_in_section(line: &str) -> bool {
    value_of_section(line).is_some()
}

/// Where the value of the section begins, if its key stands in this line; quoted or not, in a
/// comment or not, with the space that YAML wants after the colon or without.
fn value_of_section(line: &str) -> Option<usize> {
    line.match_indices(SECTION).find_map(|(at, _)| {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if line[..at].ends_with(is_part) {
            return None;
        }
        let rest = &line[at + SECTION.len()..];
        let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
        let value = rest.trim_start().strip_prefix(':')?;
        Some(line.len() - value.len())
    })
}

/// Covers the login and the password setting of URLs in the shown part of a line, such as a
/// comment.
fn within_urls(veiled: &mut String, line: &str) {
    let mut rest = line;
    while let Some(at) = rest.find("://") {
        let (before, url) = rest.split_at(at + 3);
        let end = url.find(|c: char| c.is_whitespace() || "\"'".contains(c)).unwrap_or(url.len());
        let login = url[..end].rfind('@').unwrap_or(0);
        let (login, tail) = url.split_at(login);
        veiled.push_str(before);
        cover(veiled, login);
        rest = tail;
        if let Some(at) = tail[..end - login.len()].find(SETTING) {
            let (before, secret) = tail.split_at(at + SETTING.len());
            let (secret, after) = secret.split_at(end - login.len() - before.len());
            veiled.push_str(before);
            cover(veiled, secret);
            rest = after;
        }
    }
    veiled.push_str(rest);
}

/// Adds as many stars as there are bytes to hide.
fn cover(veiled: &mut String, hidden: &str) {
    veiled.extend(core::iter::repeat_n('*', hidden.len()));
}

#[cfg(test)]
mod tests {
    //! However it is written, the canary does not sing.

    use super::*;

    #[test]
    fn the_store_is_covered_however_it_is_written() {
        for text in [
            "store: redis://:canary@host",
            "store: redis://:ca nary@host # canary",
            "store:redis://:canary@host",
            "store : canary",
            "  store:\tcanary",
            "\"store\": \"redis://:canary@host\", policies: []",
            "{ version: 1, 'store': 'canary' }",
            "# store: redis://:canary@host",
            "store: \"redis://:\ncanary@host\"\nversion: 1",
            "store: '\n\n canary'",
            "store: >-\n  redis://:\n\n  canary@host\nversion: 1",
            "store:\n  redis://:canary@host\nversion: 1",
            "store: redis://:\n  canary@host",
            "store: [canary,\n  canary]",
            "store: { url:\n canary }\r\nversion: 1",
            "x: &s redis://u:canary@host\ny: https://a:b@c/d e redis://canary@host",
            "x: redis+sentinel://h/m?sentinel_password=canary, z",
            "? store\n: redis://:canary@host",
            "store: \u{1f512}canary",
        ] {
            let veiled = veiled(text);
            assert!(!veiled.contains("canary"), "{veiled}");
            assert_eq!(veiled.len(), text.len(), "places stay: {veiled}");
            assert_eq!(veiled.matches('\n').count(), text.matches('\n').count());
        }
    }

    #[test]
    fn everything_else_is_shown_as_it_is() {
        for text in [
            "version: 1\npolicies:\n  - name: store\n    by: [org, user]\n",
            "datastore: x\nstores: y\nre-store: z\nstored in the store\n",
            "# see https://example.com/a?b=c#d\n# a@b\n",
            "",
            "\r\n\n",
        ] {
            assert_eq!(veiled(text), text);
        }
        let after = "store: \"a\nb\"\nversion: 1\nstore:\n  a\n b\nlog: x\nstore: 'a'\nmemory: {}";
        let shown = "store: \"*\n**\nversion: 1\nstore:\n***\n**\nlog: x\nstore: '**\nmemory: {}";
        assert_eq!(veiled(after), shown);
        let url = "x: redis://user:canary@host:6379/0";
        assert_eq!(veiled(url), "x: redis://***********@host:6379/0");
    }
}
