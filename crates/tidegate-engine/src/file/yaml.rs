//! From text to the types as written, within bounds, and what the parser's errors mean here.

use serde::de::DeserializeOwned;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, Options};

use tidegate_core::text::nearest;

use super::place::FilePlace;
use super::written::top::Top;
use super::wrong::Wrong;

/// Reads a text into the file as it is written, the first of two stages.
///
/// # Errors
///
/// What is wrong, and where. Parsing ends there.
pub(super) fn read<D: DeserializeOwned>(text: &str) -> Result<Top<D>, (FilePlace, Wrong)> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| explain(&error, text))
}

/// The bounds, far above what a file of [`MAX_BYTES`](super::MAX_BYTES) needs and far below what
/// would hurt. Aliases are welcome; what they unfold to is counted.
pub(super) fn options() -> Options {
    let budget = serde_saphyr::budget! {
        max_depth: 16,
        flow_nesting_limit: 64,
        max_events: 400_000,
        max_nodes: 300_000,
        max_aliases: 10_000,
        max_anchors: 1_000,
        max_merge_keys: 1_000,
        max_documents: 2,
        max_total_scalar_bytes: 2 << 20,
        max_recorded_anchor_events: 200_000,
        max_recorded_anchor_bytes: 2 << 20,
        enforce_alias_anchor_ratio: false,
    };
    let alias_limits = serde_saphyr::alias_limits! {
        max_total_replayed_events: 200_000,
        max_replay_stack_depth: 8,
        max_alias_expansions_per_anchor: 10_000,
    };
    serde_saphyr::options! {
        budget: budget,
        alias_limits: alias_limits,
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

/// What an error of the parser means to the author of the file, and where it is.
fn explain(error: &Error, text: &str) -> (FilePlace, Wrong) {
    if let Error::WithSnippet { error, .. } | Error::AliasError { error, .. } = error {
        return explain(error, text);
    }
    let place = error
        .location()
        .map_or_else(FilePlace::default, |location| FilePlace::of_error(&location, text));
    let place = tab_after(error, place, text).unwrap_or(place);
    (place.within(text), meaning(error, place, text))
}

/// The place of the tab that an error is about. The parser reports where the value before the tab
/// begins.
fn tab_after(error: &Error, place: FilePlace, text: &str) -> Option<FilePlace> {
    if !without_location(error).ends_with("found a tab") {
        return None;
    }
    let (mut start, from) = (place.start, text.get(place.start..)?);
    for (number, line) in from.split_inclusive('\n').enumerate() {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(tab) = line[..blank].find('\t').filter(|_| number > 0) {
            return Some(FilePlace { start: start + tab, end: start + tab + 1 });
        }
        start += line.len();
    }
    None
}

fn meaning(error: &Error, place: FilePlace, text: &str) -> Wrong {
    match error {
        Error::SerdeUnknownField { field, expected, .. } => {
            Wrong::unknown_field(field, nearest(field, expected.iter().copied()), expected)
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            let suggestion = nearest(variant, expected.iter().copied());
            Wrong::unknown_word("a known word", variant, suggestion, expected)
        }
        Error::SerdeMissingField { field, .. } => Wrong::missing_field("this", field, field),
        Error::DuplicateMappingKey { key, .. } => {
            let here = place.within(text);
            Wrong::duplicate_key(key.as_deref().unwrap_or(&text[here.start..here.end]))
        }
        Error::MultipleDocuments { .. } => Wrong::several_documents(),
        Error::Unexpected { expected, .. } => Wrong::other_type(match *expected {
            "mapping start" => "a mapping of fields to values",
            "sequence start" => "a list",
            "string scalar" => "a single text",
            expected => expected,
        }),
        Error::InvalidScalar { ty, .. } => Wrong::other_type(&format!("a value of the type {ty}")),
        Error::InvalidBooleanStrict { .. } => Wrong::other_type("`true` or `false`"),
        Error::NullIntoString { .. } => {
            Wrong::bad_value("this is left blank; write a value, or remove the field")
        }
        Error::SerdeInvalidType { expected, .. }
        | Error::SerdeInvalidValue { expected, .. }
        | Error::SerdeInvalidLength { expected, .. } => Wrong::other_type(&short(expected)),
        Error::UnsupportedTag { tag, .. } => {
            let message = format!("the tag `{}` means nothing here; remove it", short(tag));
            Wrong::bad_value(&message)
        }
        Error::UnknownAnchor { .. } => Wrong::bad_value(
            "nothing before this alias has its anchor; write `&name` where it is defined",
        ),
        Error::Message { msg, .. } => Wrong::bad_value(&short(msg)),
        _ => match excess(error) {
            Some(what) => Wrong::too_complex(what),
            None => Wrong::syntax(&without_location(error)),
        },
    }
}

/// Which bound was broken, if the error is about a bound.
fn excess(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::Budget { breach, .. } => match breach {
            BudgetBreach::Depth { .. } => TOO_DEEP,
            BudgetBreach::Aliases { .. }
            | BudgetBreach::Anchors { .. }
            | BudgetBreach::MergeKeys { .. }
            | BudgetBreach::RecordedAnchorEvents { .. }
            | BudgetBreach::RecordedAnchorBytes { .. } => TOO_MANY_ALIASES,
            _ => "it has more parts than any policy file needs",
        },
        Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => TOO_MANY_ALIASES,
        Error::RecursiveReferencesRequireWeakTypes { .. } => "an alias refers to itself",
        Error::ExternalMessage { msg, .. } if msg.contains("recursion limit") => TOO_DEEP,
        _ => return None,
    })
}

const TOO_DEEP: &str = "it is nested more than 16 levels deep";
const TOO_MANY_ALIASES: &str = "its aliases unfold to more than any policy file needs";

/// The parser's words, without the place, which is shown anyway.
fn without_location(error: &Error) -> String {
    let said = error.to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
    short(said)
}

/// Shortens a text that is echoed: it may come from a hostile file.
pub(super) fn short(text: &str) -> String {
    const LONGEST: usize = 160;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
