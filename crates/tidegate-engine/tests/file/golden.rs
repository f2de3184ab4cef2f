//! Every error as it is shown.
//!
//! A case is a file `cases/<name>.yaml`, or one that is [made](crate::made), and the text it is
//! refused with, `cases/<name>.txt`. Names begin with the code of the error. After a change that is
//! meant, write the texts anew and read the difference:
//!
//! ```text
//! cargo test -p tidegate-engine --test file -- --ignored bless
//! git diff crates/tidegate-engine/tests/file/cases
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use tidegate_engine::file::{File, Wrong};

use crate::door::Sections;
use crate::{folder, made, texts};

const CASES: &str = "tests/file/cases";

/// All cases: their names, and the text each is refused with.
fn shown() -> BTreeMap<String, String> {
    let made = made::files().into_iter().map(|(name, text)| (name.to_owned(), text));
    let cases = texts(CASES, "yaml").into_iter().chain(made);
    let refused = cases.map(|(name, text)| {
        let refused = File::<Sections>::parse(&format!("{name}.yaml"), &text);
        let shown = match refused {
            Ok(_) => "accepted\n".to_owned(),
            Err(error) => format!("{error}\n"),
        };
        (name, shown)
    });
    refused.collect()
}

#[test]
fn every_error_is_shown_as_expected() {
    let expected: BTreeMap<String, String> = texts(CASES, "txt").into_iter().collect();
    let shown = shown();
    for (name, shown) in &shown {
        let expected = expected.get(name).map_or("", String::as_str);
        assert_eq!(shown, expected, "{name}; see the top of golden.rs for how to bless a change");
    }
    assert!(expected.keys().eq(shown.keys()), "an expected text without a case");
}

#[test]
#[ignore = "rewrites the expected texts; run it after a change that is meant"]
fn bless() {
    for (name, _) in texts(CASES, "yaml") {
        let _ = fs::remove_file(folder(CASES).join(format!("{name}.txt")));
    }
    for (name, shown) in shown() {
        fs::write(folder(CASES).join(format!("{name}.txt")), shown).unwrap();
    }
}

#[test]
fn every_error_there_is_has_a_case() {
    let shown: String = shown().into_values().collect();
    let missing: Vec<_> =
        Wrong::CODES.iter().filter(|code| !shown.contains(&format!("error[{code}]"))).collect();
    assert!(missing.is_empty(), "no case shows {missing:?}");
}

#[test]
fn a_case_shows_the_error_it_is_named_after() {
    for (name, shown) in shown() {
        let codes = Wrong::CODES.iter().filter(|code| name.starts_with(*code));
        let named = codes.max_by_key(|code| code.len());
        assert!(
            named.is_none_or(|code| shown.contains(&format!("error[{code}]"))),
            "{name} shows\n{shown}"
        );
    }
}

#[test]
fn every_problem_says_where_and_what_to_do() {
    for (name, _) in shown() {
        let text = texts(CASES, "yaml").into_iter().find(|(case, _)| *case == name);
        let Some((_, text)) = text else { continue };
        let refused = File::<Sections>::parse("f.yaml", &text).unwrap_err();
        for problem in refused.problems() {
            let (line, column) = (problem.line(), problem.column());
            let said = problem.wrong();
            let shown = refused.to_string();
            assert!(shown.contains(&format!("--> f.yaml:{line}:{column}\n")), "{name}: {shown}");
            // What a door says is its own, advice included.
            let advised = said.advice().is_some() || said.to_string().contains([';', '?']);
            let advised = advised || said.code() == "bad-value";
            assert!(advised, "{name}: what to do about {said:?}?");
        }
    }
}

#[test]
fn problems_are_told_once_and_in_the_order_of_the_file() {
    for (name, text) in texts(CASES, "yaml") {
        let Err(refused) = File::<Sections>::parse("f.yaml", &text) else { continue };
        let places: Vec<(usize, usize)> =
            refused.problems().iter().map(|one| (one.line(), one.column())).collect();
        assert!(places.is_sorted(), "{name}: {places:?}");
        let said: BTreeSet<String> =
            refused.problems().iter().map(|one| format!("{} {one}", one.line())).collect();
        assert_eq!(said.len(), places.len(), "{name}: {said:?}");
    }
}

#[test]
fn of_very_many_problems_the_first_are_told_and_the_others_counted() {
    let text = format!("version: 1\npolicies:\n{}", "  - {}\n".repeat(400));
    let refused = File::<Sections>::parse("f.yaml", &text).unwrap_err();
    assert_eq!((refused.problems().len(), refused.more()), (50, 950));
    assert!(refused.to_string().ends_with("f.yaml: 1000 problems; 950 of them are not shown"));
}

/// What a host needs that shows errors in its own way.
#[test]
fn a_problem_has_a_code_a_place_and_advice() {
    let text = "version: 1\npolicies:\n  - name: api\n";
    let refused = File::<Sections>::parse("f.yaml", text).unwrap_err();
    let problem = &refused.problems()[0];
    assert_eq!(problem.wrong().code(), "no-failure-mode");
    assert!(problem.wrong().advice().unwrap().contains("fail_closed"));
    assert_eq!((problem.line(), problem.column()), (3, 11));
}
