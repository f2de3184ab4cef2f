//! The two text formats of metrics: `OpenMetrics`, and the older one of Prometheus.
//!
//! Scrapers say which they understand. The formats differ little, but in the older one the description
//! of a counter carries its suffix: without it, a tool that knows only that format takes our counters
//! for undescribed ones.

use std::fmt;

use http::HeaderMap;
use http::header::{ACCEPT, HeaderValue};
use prometheus_client::collector::Collector;
use prometheus_client::registry::Registry;

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `OpenMetrics` 1.0.
    OpenMetrics,
    /// Prometheus 0.0.4.
    Prometheus,
}

// === impl Format ===

impl Format {
    /// The format that a client accepts: `OpenMetrics` if it says so.
    #[must_use]
    pub fn accepted(headers: &HeaderMap) -> Self {
        let named = headers.get_all(ACCEPT).iter().any(|accepted| {
            accepted.to_str().is_ok_and(|text| text.contains("application/openmetrics-text"))
        });
        if named { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// The value of `Content-Type` for this format.
    #[must_use]
    pub const fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        })
    }

    /// Converts `OpenMetrics` text to this format.
    #[must_use]
    pub fn of(self, openmetrics: String) -> String {
        match self {
            Self::OpenMetrics => openmetrics,
            Self::Prometheus => to_prometheus(&openmetrics),
        }
    }
}

/// Everything that a collector has, as `OpenMetrics` text.
///
/// # Errors
///
/// If the text cannot be written, which does not happen.
pub fn encode(collector: impl Collector) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(collector));
    let mut text = String::with_capacity(16 << 10);
    prometheus_client::encoding::text::encode(&mut text, &registry)?;
    Ok(text)
}

/// Converts to the older format: counters are described with their suffix, without units or an end mark.
fn to_prometheus(openmetrics: &str) -> String {
    let counters: Vec<&str> = openmetrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut text = String::with_capacity(openmetrics.len() + 256);
    for line in openmetrics.lines() {
        let mut words = line.splitn(4, ' ');
        let (mark, keyword, name) = (words.next(), words.next(), words.next());
        match (mark, keyword, name) {
            (Some("#"), Some("UNIT" | "EOF"), _) => continue,
            (Some("#"), Some(keyword), Some(name)) => {
                let suffix = if counters.contains(&name) { "_total" } else { "" };
                let rest = words.next().unwrap_or_default();
                text.extend(["# ", keyword, " ", name, suffix, " ", rest]);
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    //! The differences, and who gets which.

    use super::*;

    #[test]
    fn counters_are_described_with_their_suffix() {
        let openmetrics = "# HELP a Some a.\n# TYPE a counter\na_total{x=\"y\"} 1\n\
                           # HELP b Some # of b.\n# TYPE b gauge\n# UNIT b bytes\nb 2\n# EOF\n";
        assert_eq!(
            Format::Prometheus.of(openmetrics.to_owned()),
            "# HELP a_total Some a.\n# TYPE a_total counter\na_total{x=\"y\"} 1\n\
             # HELP b Some # of b.\n# TYPE b gauge\nb 2\n"
        );
        assert_eq!(Format::OpenMetrics.of(openmetrics.to_owned()), openmetrics);
    }

    #[test]
    fn who_accepts_openmetrics_gets_it() {
        let accepting = |accepted: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accepted));
            Format::accepted(&headers)
        };
        assert_eq!(Format::accepted(&HeaderMap::new()), Format::Prometheus);
        assert_eq!(accepting("*/*"), Format::Prometheus);
        assert_eq!(accepting("text/plain;version=0.0.4"), Format::Prometheus);
        let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5,*/*;q=0.1";
        assert_eq!(accepting(prometheus), Format::OpenMetrics);
    }
}
