//! Rates as they are written: `10/s`, `100/10s`.

use tidegate_core::{Span, SpanError};

/// The form of a rate as a regular expression.
pub(super) const PATTERN: &str = "^[0-9]+/([0-9]+(us|ms|s|min|h|d)|us|ms|s|min|h|d)$";

/// Reads a rate, such as `100/10s`: so many tokens, and the time in which they come.
///
/// # Errors
///
/// What to write instead.
pub(super) fn parse(text: &str) -> Result<(u64, Span), String> {
    const FORM: &str = "write a whole number, `/`, and a unit or duration, such as `10/s`, \
                        `600/min` or `100/10s`";
    let Some((tokens, per)) = text.split_once('/') else { return Err(FORM.into()) };
    if tokens.is_empty() || !tokens.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(FORM.into());
    }
    let tokens = tokens.parse().map_err(|_| "the number is too large".to_owned())?;
    let per = match per.starts_with(|c: char| c.is_ascii_digit()) {
        true => per.parse(),
        false => format!("1{per}").parse(),
    };
    per.map(|per| (tokens, per)).map_err(|error: SpanError| error.to_string())
}

#[cfg(test)]
mod tests {
    //! What is read, and what is told about the rest.

    use super::*;

    #[test]
    fn rates_are_per_unit_or_per_duration() {
        assert_eq!(parse("10/s"), Ok((10, Span::SECOND)));
        assert_eq!(parse("600/min"), Ok((600, Span::MINUTE)));
        assert_eq!(parse("100/10s"), Ok((100, Span::from_secs(10))));
        for text in ["", "10", "/s", "10/", "s/10", "10/s/s", "1.5/s", "-1/s", "10 /s", "+1/s"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("10/m").unwrap_err().contains("`min`"));
    }
}
