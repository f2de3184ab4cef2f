//! Whatever says that a policy guards an entrance, it can only fail closed.

use super::*;
use crate::preset::Preset;

/// The table of what loads, which other crates hold their doors to as well.
const TABLE: &str = include_str!("entrances.txt");

/// The rows of the table: a class, what is protected, and what comes of it.
fn rows() -> Vec<(Option<&'static str>, Option<Protects>, &'static str)> {
    let mut lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let columns: Vec<&str> = lines.next().unwrap().split_whitespace().skip(1).collect();
    let said = |name: &&str| Protects::ALL.into_iter().find(|what| what.name() == *name);
    assert_eq!(columns.iter().filter_map(said).count(), columns.len() - 1, "all but `nothing`");
    let mut rows = Vec::new();
    for line in lines {
        let mut cells = line.split_whitespace();
        let class = cells.next().filter(|class| *class != "-");
        rows.extend(columns.iter().zip(cells).map(|(column, cell)| (class, said(column), cell)));
    }
    assert_eq!(rows.len(), 13 * 12, "every cell");
    rows
}

fn of(class: Option<&str>, protects: Option<Protects>, failure: FailureMode) -> PolicySpec {
    let spec = class.into_iter().fold(spec(failure), |spec, class| spec.class(name(class)));
    protects.into_iter().fold(spec, PolicySpec::protecting)
}

/// What the builder says, in the words of the table.
fn word(result: &Result<Policy, PolicyError>) -> &'static str {
    match result {
        Ok(_) => "loads",
        Err(PolicyError::NotFailClosed { .. }) => "not fail-closed",
        Err(PolicyError::Milder { .. }) => "milder",
        Err(PolicyError::NotCritical { .. }) => "not critical",
        Err(PolicyError::OpenSpend(_)) => "open spend",
        Err(_) => "refused otherwise",
    }
}

#[test]
fn p04_a34_what_the_builder_takes_for_each_class_and_word_and_failure_mode() {
    for (class, protects, cell) in rows() {
        let told = |failure| word(&built(of(class, protects, failure)));
        let closed = told(FailureMode::FailClosed);
        for failure in [FailureMode::FailOpen, FailureMode::Degraded] {
            let (of_closed, of_other) = match cell {
                "entrance" => ("loads", "not fail-closed"),
                "milder" => ("milder", "milder"),
                "ordinary" => ("not critical", "loads"),
                "spend" if failure == FailureMode::FailOpen => ("loads", "open spend"),
                "spend" => ("loads", "loads"),
                other => panic!("{other}"),
            };
            assert_eq!(closed, of_closed, "{class:?} {protects:?}");
            assert_eq!(told(failure), of_other, "{class:?} {protects:?} {failure:?}");
        }
    }
}

#[test]
fn a34_a_refusal_names_both_words_and_says_what_to_write() {
    let spec = of(Some("auth"), Some(Protects::ApiHeavy), FailureMode::FailOpen);
    let refused = built(spec).unwrap_err();
    let (policy, protects, than) = (name("p"), Protects::ApiHeavy, Protects::Auth);
    assert_eq!(refused, PolicyError::Milder { policy, protects, than });
    assert_eq!(
        refused.to_string(),
        "policy `p` cannot protect `api_heavy`: its class, its preset or an earlier call says `auth`, \
         which is stricter in an outage, and may be made stricter only; protect `auth`, or change what \
         says so"
    );
    let refused = built(of(Some("login"), None, FailureMode::Degraded)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "policy `p` protects `login` and must not be `degraded`: an outage of the store would be a way \
         in; write `fail_closed`"
    );
}

#[test]
fn p04_a34_a_preset_cannot_be_talked_out_of_what_it_is_for() {
    use FailureMode::{Degraded, FailClosed, FailOpen};
    for (preset, protects, failure, told) in [
        (Preset::Login, None, FailClosed, "loads"),
        (Preset::Login, None, FailOpen, "not fail-closed"),
        (Preset::Login, None, Degraded, "not fail-closed"),
        (Preset::Login, Some(Protects::ApiHeavy), FailOpen, "milder"),
        (Preset::Login, Some(Protects::Health), FailOpen, "milder"),
        (Preset::Login, Some(Protects::Otp), FailClosed, "loads"),
        (Preset::Login, Some(Protects::Otp), FailOpen, "not fail-closed"),
        (Preset::Otp, None, FailClosed, "loads"),
        (Preset::Otp, None, FailOpen, "not fail-closed"),
        (Preset::Otp, Some(Protects::Login), FailClosed, "milder"),
        (Preset::Otp, Some(Protects::Read), Degraded, "milder"),
        (Preset::Otp, Some(Protects::Admin), FailClosed, "loads"),
    ] {
        let spec = preset.policy(name("p"), failure);
        let spec = protects.into_iter().fold(spec, PolicySpec::protecting);
        assert_eq!(word(&built(spec)), told, "{preset:?} {protects:?} {failure:?}");
    }
    let bound = Preset::Login.policy(name("p"), FailClosed).class(name("auth"));
    assert_eq!(word(&built(bound)), "milder", "a class may say more than a preset");
}

#[test]
fn p04_a34_no_later_word_takes_an_earlier_one_back() {
    use Protects::{Admin, ApiHeavy, Login, Otp, Read};
    let said = |words: &[Protects], failure| {
        word(&built(words.iter().copied().fold(spec(failure), PolicySpec::protecting)))
    };
    assert_eq!(said(&[Login, ApiHeavy], FailureMode::FailOpen), "milder");
    assert_eq!(said(&[Login, ApiHeavy, Read], FailureMode::FailOpen), "milder");
    assert_eq!(said(&[Otp, Read, Login], FailureMode::FailClosed), "milder");
    assert_eq!(said(&[Read, Login, Otp, Admin], FailureMode::FailClosed), "loads");
    assert_eq!(said(&[ApiHeavy, Read], FailureMode::FailOpen), "loads");
}
