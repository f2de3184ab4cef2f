//! The facts about a request, as they are given on the command line: a flag for each dimension that
//! clients give, made from the table in the core.

use std::net::IpAddr;

use clap::builder::ValueParser;
use clap::{Arg, ArgMatches, Command};
use serde::{Serialize, Serializer};
use tidegate_core::Dimension;

/// The facts about a subject, from flags. Limits count by these facts; a limit that counts by a fact
/// that is not given does not apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SubjectArgs(Vec<(Dimension, String)>);

// === impl SubjectArgs ===

impl SubjectArgs {
    /// The facts that were given, by the names of their dimensions.
    pub(crate) fn facts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(dimension, text)| (dimension.name(), text.as_str()))
    }

    /// Whether no fact was given.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for SubjectArgs {
    /// Writes the object `subject` of a request.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.facts())
    }
}

impl clap::Args for SubjectArgs {
    fn augment_args(command: Command) -> Command {
        let flags = Dimension::told().map(|dimension| {
            let parser = match dimension.prefix_length() {
                Some(_) => ValueParser::new(address),
                None => ValueParser::string(),
            };
            Arg::new(dimension.name())
                .long(dimension.name())
                .value_name(dimension.placeholder())
                .value_parser(parser)
                .help(dimension.meaning())
                .help_heading("Subject")
        });
        command.args(flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for SubjectArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |dimension: Dimension| {
            matches.get_one::<String>(dimension.name()).map(|text| (dimension, text.clone()))
        };
        Ok(Self(Dimension::told().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Parses an address, and gives it its usual spelling.
fn address(text: &str) -> Result<String, std::net::AddrParseError> {
    text.parse::<IpAddr>().map(|address| address.to_string())
}

#[cfg(test)]
mod tests {
    //! A flag for every fact.

    use clap::{Args as _, FromArgMatches as _};
    use serde_json::json;

    use super::*;

    fn parsed(arguments: &[&str]) -> Result<SubjectArgs, clap::Error> {
        let matches =
            SubjectArgs::augment_args(Command::new("try")).try_get_matches_from(arguments)?;
        SubjectArgs::from_arg_matches(&matches)
    }

    #[test]
    fn every_dimension_that_is_told_has_a_flag_that_says_what_it_is() {
        let help = SubjectArgs::augment_args(Command::new("try")).render_long_help().to_string();
        for dimension in Dimension::ALL {
            let (name, example) = (dimension.name(), dimension.example());
            let given = parsed(&["try", &format!("--{name}"), example]);
            if !dimension.is_told() {
                assert!(given.is_err(), "{name} follows from another fact");
                continue;
            }
            assert_eq!(serde_json::to_value(given.unwrap()).unwrap(), json!({ name: example }));
            assert!(help.contains(&format!("--{name} <")), "{help}");
        }
    }

    #[test]
    fn an_address_is_one() {
        assert!(parsed(&["try", "--ip", "203.0.113"]).is_err());
        let given = parsed(&["try", "--ip", "2001:DB8::0:7"]).unwrap();
        assert_eq!(serde_json::to_value(given).unwrap(), json!({ "ip": "2001:db8::7" }));
    }

    #[test]
    fn nothing_given_is_an_empty_object() {
        let given = parsed(&["try"]).unwrap();
        assert!(given.is_empty());
        assert_eq!(serde_json::to_value(given).unwrap(), json!({}));
    }
}
