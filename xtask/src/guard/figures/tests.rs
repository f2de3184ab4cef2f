//! The figures read, written and judged by value.

use super::*;

fn counts(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
    pairs.iter().map(|(scenario, count)| ((*scenario).to_owned(), *count)).collect()
}

fn compare(committed: &str, now: &[(&str, u64)]) -> Comparison {
    Comparison::new(&parse(committed).unwrap(), &counts(now))
}

fn judged(committed: &str, now: &[(&str, u64)]) -> Vec<Judgement> {
    compare(committed, now).judgements().collect()
}

#[test]
fn what_is_rendered_is_read_back() {
    let now = counts(&[("hot", 120), ("denied", 90)]);
    let figures = parse(&render(&now, "rustc 1.2.3")).unwrap();
    assert_eq!(figures.compiler.as_deref(), Some("rustc 1.2.3"));
    assert_eq!(figures.counts, now.into_iter().collect());
}

#[test]
fn a_line_that_is_not_a_figure_is_named() {
    assert_eq!(parse("# x\nhot many"), Err("line 2: expected `scenario count`: hot many".into()));
    assert_eq!(parse("hot"), Err("line 1: expected `scenario count`: hot".into()));
    assert_eq!(parse("a 1\na 2"), Err("line 2: a appears twice".into()));
}

#[test]
fn three_per_cent_are_tolerated_and_not_one_instruction_more() {
    assert_eq!(judged("a 1000", &[("a", 1030)]), [Judgement::Steady]);
    assert_eq!(judged("a 1000", &[("a", 1031)]), [Judgement::Worse]);
    assert_eq!(judged("a 1000", &[("a", 970)]), [Judgement::Steady]);
    assert_eq!(judged("a 1000", &[("a", 969)]), [Judgement::Better]);
    assert_eq!(judged("a 0", &[("a", 1)]), [Judgement::Worse]);
    assert_eq!(judged("a 18446744073709551615", &[("a", u64::MAX)]), [Judgement::Steady]);
}

#[test]
fn both_sides_must_know_the_same_scenarios() {
    assert_eq!(judged("", &[("a", 1)]), [Judgement::Unknown]);
    assert_eq!(judged("a 1\nb 1", &[("a", 1)]), [Judgement::Steady, Judgement::Gone]);
    assert!(!compare("", &[("a", 1)]).is_accepted());
    assert!(!compare("a 1\nb 1", &[("a", 1)]).is_accepted());
}

#[test]
fn a_gain_is_accepted_and_mentioned() {
    let comparison = compare("a 100", &[("a", 50)]);
    assert!(comparison.is_accepted() && comparison.has_gains());
    assert!(!compare("a 100", &[("a", 97)]).has_gains());
}

#[test]
fn the_table_shows_counts_and_change() {
    let comparison = compare("hot 1000\nold 5", &[("hot", 1234), ("cold", 7)]);
    let expected = "\
scenario  committed        now    change
hot            1000       1234   +23.4 %  WORSE
cold              -          7         -  NOT COMMITTED: bless it
old               5          -         -  GONE: bless to forget it
";
    assert_eq!(comparison.to_string(), expected);
}
