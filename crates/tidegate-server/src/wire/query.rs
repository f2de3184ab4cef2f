//! Queries: `org=acme&user=u7&cost=1`, as strict as bodies.

use std::borrow::Cow;

use tidegate_core::{Cost, Dimension};

use super::ask::{AskedFacts, UnfitFact, fact_names};
use tidegate_tower::answer::{Code, Problem};
use tidegate_tower::json::pointer;

/// Reads the facts and the cost from a query.
pub(crate) fn facts(query: &str) -> Result<(AskedFacts<'_>, Cost), Problem> {
    let (mut facts, mut cost) = (AskedFacts::default(), None);
    for pair in pairs(query) {
        let (name, value) = pair?;
        if name == "cost" {
            let units = value.parse::<Cost>().map_err(|error| wrong(&name, error.to_string()))?;
            once(&mut cost, units, &name)?;
            continue;
        }
        let Some(fact) = Dimension::told_as(&name) else {
            let known = fact_names();
            let known = format!("there is no such parameter; there are {known} and `cost`");
            return Err(wrong(&name, known));
        };
        facts.tell(fact, value).map_err(|unfit| wrong(&name, unfit.detail("parameter")))?;
    }
    Ok((facts, cost.unwrap_or(Cost::ONE)))
}

/// The names and values of a query, decoded as forms are.
pub(crate) fn pairs(
    query: &str,
) -> impl Iterator<Item = Result<(Cow<'_, str>, Cow<'_, str>), Problem>> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match (decoded(name), decoded(value)) {
            (Some(name), Some(value)) => Ok((name, value)),
            (name, _) => {
                Err(wrong(&name.unwrap_or_default(), "this is not valid percent-encoded UTF-8"))
            }
        }
    })
}

/// Keeps the value of a parameter, which must not have been there before.
pub(crate) fn once<T>(kept: &mut Option<T>, value: T, name: &str) -> Result<(), Problem> {
    match kept.replace(value) {
        Some(_) => Err(wrong(name, UnfitFact::Twice.detail("parameter"))),
        None => Ok(()),
    }
}

fn wrong(name: &str, detail: impl Into<Cow<'static, str>>) -> Problem {
    Code::InvalidField.problem(detail).about(pointer("", name))
}

/// Decodes percent signs and pluses; `None` if they are wrong, or the result is not UTF-8.
fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => 16 * hex(rest.next()?)? + hex(rest.next()?)?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    //! Forms that are read, and what is said about the others.

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn facts_are_decoded() {
        let (facts, cost) =
            facts("org=acme&user=J%C3%BCrgen+W&ip=2001%3Adb8%3A%3A1&cost=7").unwrap();
        let subject = facts.subject();
        let user = subject.get(Dimension::User);
        assert_eq!(user, Some(tidegate_core::Fact::Plain("Jürgen W".as_bytes())));
        assert!(subject.get(Dimension::Ip).is_some());
        assert_eq!(cost.get(), 7);
        assert_eq!(super::facts("").unwrap().1, Cost::ONE);
    }

    #[test]
    fn every_fact_that_is_told_is_read_from_a_query_and_no_other() {
        for dimension in Dimension::ALL {
            let example = dimension.example().replace('/', "%2F");
            let query = format!("{}={example}", dimension.name());
            let read = facts(&query);
            let known = read.is_ok_and(|(facts, _)| facts.subject().get(dimension).is_some());
            assert_eq!(known, dimension.is_told(), "{}", dimension.name());
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let long = format!("user={}", "x".repeat(257));
        for (query, field) in [
            ("organisation=acme", "/organisation"),
            ("org=a&org=b", "/org"),
            ("ip=localhost", "/ip"),
            ("cost=0", "/cost"),
            ("cost=-1", "/cost"),
            ("cost=1e3", "/cost"),
            ("cost=9007199254740992", "/cost"),
            ("cost=1&cost=1", "/cost"),
            ("user=%", "/user"),
            ("user=%zz", "/user"),
            ("user=%ff", "/user"),
            ("a%2Fb=1", "/a~1b"),
            (&long, "/user"),
        ] {
            let problem = serde_json::to_value(facts(query).unwrap_err()).unwrap();
            assert_eq!(problem["field"], field, "{query}");
            assert_eq!(problem["status"], 400, "{query}");
        }
    }

    proptest! {
        #[test]
        fn no_query_is_too_strange(query in "\\PC*") {
            let _ = facts(&query);
        }
    }
}
