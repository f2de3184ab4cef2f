//! Covering the values that an error about a file must not show.
//!
//! An error shows the line it is about, and errors end up on terminals, in logs and in tickets. A value
//! is shown if its type is known and is no secret: fields of the type [`Hidden`](super::Hidden) are
//! covered, and so are sections that this program does not read, whose types it does not know. The
//! schema has both. The veil works on lines and not on YAML, because a file that is no YAML is shown as
//! well, and it covers too much rather than too little. Every byte keeps its place.

use std::collections::BTreeSet;

use schemars::Schema;
use serde_json::Value;

use super::place::{FilePlace, Placed};

/// The setting in the query of a URL whose value is a secret.
const SETTING: &str = "password=";

/// The keys whose values are covered.
pub(super) struct Veil {
    /// Names of keys, wherever they stand.
    names: BTreeSet<String>,
    /// Where single keys stand, in the order of the file.
    places: Vec<FilePlace>,
}

/// A covered value that goes on in the next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    /// The indentation of its key.
    key: usize,
    form: Form,
}

/// What tells where a covered value ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Nothing of the value has come yet.
    Awaited,
    /// It ends before a line that is indented no further than its key.
    Indented,
    /// It is a list, whose items may be indented no further than its key.
    Listed,
    /// It is a text in these quotes, which ends where they are closed.
    Quoted(char),
}

// === impl Veil ===

impl Veil {
    /// Covers what the schema says, and the values of sections that are in nobody's schema.
    pub(super) fn new(schema: &Schema, strangers: &[Placed<String>]) -> Self {
        let mut names = BTreeSet::new();
        note_secrets(schema.as_value(), &mut names);
        let mut places: Vec<FilePlace> = strangers.iter().map(|key| key.place).collect();
        places.sort_unstable();
        Self { names, places }
    }

    /// The text with covered values as stars.
    pub(super) fn over(&self, text: &str) -> String {
        let mut veiled = String::with_capacity(text.len());
        let (mut open, mut places) = (None, self.places.as_slice());
        for line in text.split_inclusive('\n') {
            let start = veiled.len();
            let end = line.trim_end_matches(['\r', '\n']).len();
            let (line, end_of_line) = line.split_at(end);
            let here = places.iter().take_while(|key| key.start < start + line.len());
            let (here, later) = places.split_at(here.count());
            places = later;
            let goes_on = open.filter(|open: &Open| open.goes_on(line));
            let value = match goes_on {
                Some(_) => Some(0),
                None => self.value_in(line, here.first().map(|key| key.end.saturating_sub(start))),
            };
            let shown = value.map_or(line.len(), |value| shown_before(line, value));
            open = value.map(|_| Open::after(goes_on, line, shown));
            within_urls(&mut veiled, &line[..shown]);
            cover(&mut veiled, &line[shown..]);
            veiled.push_str(end_of_line);
        }
        veiled
    }

    /// Where a covered value begins, if its key stands in this line: quoted or not, in a comment or
    /// not, with the space that YAML wants after the colon or without. `stranger` is the end of a key
    /// that is covered in this line alone.
    fn value_in(&self, line: &str, stranger: Option<usize>) -> Option<usize> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let word = |text: &str| {
            let text = text.trim_end().trim_end_matches(['"', '\'']);
            let start = text.len()
                - text.chars().rev().take_while(|c| is_part(*c)).map(char::len_utf8).sum::<usize>();
            self.names.contains(&text[start..])
        };
        let after_colon = |(at, _): (usize, &str)| word(&line[..at]).then_some(at + 1);
        let named = line.match_indices(':').find_map(after_colon);
        // A key after a question mark has its value in the next line.
        let asked = || (line.trim_start().starts_with('?') && word(line)).then_some(line.len());
        let stranger = stranger.map(|end| {
            let end = line.floor_char_boundary(end.min(line.len()));
            let rest = line[end..].trim_start();
            line.len() - rest.strip_prefix(':').unwrap_or(rest).len()
        });
        named.or_else(asked).into_iter().chain(stranger).min()
    }
}

/// Collects the names of properties whose values are not to be shown: anywhere within them is a
/// secret, or nothing is known about them.
fn note_secrets(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object {
                if let ("properties", Value::Object(properties)) = (key.as_str(), value) {
                    let secret = properties.iter().filter(|(_, value)| is_secret(value));
                    names.extend(secret.map(|(name, _)| name.clone()));
                }
                note_secrets(value, names);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| note_secrets(value, names)),
        _ => {}
    }
}

fn is_secret(property: &Value) -> bool {
    let Value::Object(object) = property else { return *property == Value::Bool(true) };
    let within = |(key, value): (&String, &Value)| match value {
        // The fields of an object are looked at one by one.
        _ if key == "properties" => false,
        Value::Bool(true) => key == "writeOnly",
        Value::Array(list) => list.iter().any(|value| value.is_object() && is_secret(value)),
        value => value.is_object() && is_secret(value),
    };
    object.iter().any(within)
}

/// How much of a line is shown that has a covered value: all before it, its opening quote included;
/// nothing of a line that is all value.
fn shown_before(line: &str, value: usize) -> usize {
    if value == 0 {
        return 0;
    }
    let rest = &line[value..];
    let blank = rest.len() - rest.trim_start().len();
    value + blank + usize::from(rest[blank..].starts_with(['"', '\'']))
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

// === impl Open ===

impl Open {
    /// Whether a line belongs to the value that was open before it.
    fn goes_on(self, line: &str) -> bool {
        let is_deeper = line.trim().is_empty() || indentation(line) > self.key;
        match self.form {
            Form::Awaited | Form::Quoted(_) => true,
            Form::Indented => is_deeper,
            Form::Listed => is_deeper || line.trim_start().starts_with('-'),
        }
    }

    /// What is open after a line with a covered value, of which the first `shown` bytes are shown.
    fn after(before: Option<Self>, line: &str, shown: usize) -> Self {
        let key = before.map_or_else(|| indentation(line), |before| before.key);
        let before = before.map(|before| before.form);
        let value = line[shown..].trim();
        let opened = line[..shown].chars().next_back().filter(|c| matches!(c, '"' | '\''));
        let quote = match before {
            Some(Form::Quoted(quote)) => Some(quote),
            Some(Form::Awaited) => value.chars().next().filter(|c| matches!(c, '"' | '\'')),
            Some(_) => None,
            None => opened,
        };
        let is_blank = value.is_empty() || value.starts_with('#');
        let form = match (before, quote) {
            (Some(Form::Awaited), Some(quote)) if value.matches(quote).count() < 2 => {
                Form::Quoted(quote)
            }
            (Some(Form::Quoted(_)) | None, Some(quote)) if !value.contains(quote) => {
                Form::Quoted(quote)
            }
            (None | Some(Form::Awaited), _) if is_blank => Form::Awaited,
            (Some(Form::Awaited), _) if value.starts_with('-') => Form::Listed,
            (Some(Form::Listed), _) => Form::Listed,
            _ => Form::Indented,
        };
        Self { key, form }
    }
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

    use schemars::json_schema;

    use super::*;

    /// Covers `store` because of its type, `server` because nothing is known about it, and the key of
    /// a stranger where it stands.
    fn veiled(text: &str) -> String {
        let store = json_schema!({ "type": "string", "writeOnly": true });
        let keys = json_schema!({ "type": "array", "items": { "$ref": "#", "writeOnly": true } });
        let open = json_schema!({ "type": "string", "description": "stores" });
        let schema = json_schema!({
            "properties": { "store": store, "server": true, "version": { "type": "integer" } },
            "$defs": { "Deep": { "properties": { "keys": keys, "open": open } } },
        });
        let key = |start| FilePlace { start, end: start + "stranger".len() };
        let strangers = text
            .match_indices("stranger")
            .map(|(at, word)| Placed { value: word.to_owned(), place: key(at) });
        Veil::new(&schema, &strangers.collect::<Vec<_>>()).over(text)
    }

    #[test]
    fn t41_a_secret_is_covered_however_it_is_written() {
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
            "store: \"a \\\"\n canary\"\nversion: 1",
            "store: '\n\n canary'",
            "store: >-\n  redis://:\n\n  canary@host\nversion: 1",
            "store:\n  redis://:canary@host\nversion: 1",
            "store:\n- canary\n- canary\nversion: 1",
            "store: # which\n\n  'a\ncanary'\nversion: 1",
            "store: redis://:\n  canary@host",
            "store: [canary,\n  canary]",
            "{ store:\n\"canary\" }",
            "store: { url:\n canary }\r\nversion: 1",
            "x: &s redis://u:canary@host\ny: https://a:b@c/d e redis://canary@host",
            "x: redis+sentinel://h/m?sentinel_password=canary, z",
            "? store\n: canary",
            "store: \u{1f512}canary",
            "server: { token: canary,\n  password: canary }",
            "server:\n  admin:\n    token: canary",
            "http: { deep: { keys: [canary] } }",
            "stranger: canary\nversion: 1",
            "'stranger' : [\n canary ]",
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
            "datastore: x\nstores: y\nre-store: z\nstored in the store\nopen: x\n",
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
