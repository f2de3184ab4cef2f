//! The log of the process: one line for each event, to standard error.
//!
//! Two formats, one rule: whatever a value contains, an event is one line of the log, and a terminal
//! obeys none of it. The formatter of `tracing-subscriber` escapes characters that move the cursor but
//! lets line breaks through, so the lines are made here.
//!
//! Nothing about a subject is ever logged: no event carries one.

mod line;
mod writer;

pub(crate) use writer::LogWriter;

use std::io;
use std::panic;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tidegate_core::Clock;
use tracing::{Event, Subscriber, error};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use line::Line;

/// How lines of the log look.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// For people: time, level, message, fields.
    #[default]
    Human,
    /// For machines: one JSON object on each line.
    Json,
}

/// How much is logged.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    /// Only what somebody has to act on.
    Error,
    /// Errors, and what may need attention.
    Warn,
    /// Errors, warnings, starts, stops and reloads.
    #[default]
    Info,
    /// As `info`, and every decision, by policy, limit and verdict.
    Debug,
    /// Everything.
    Trace,
}

/// The tracing layer that writes a line for each event.
struct Lines<C, W> {
    format: LogFormat,
    clock: C,
    write: W,
}

/// Starts logging to standard error, for the whole process. [Finish](LogWriter::finish) the writer that this
/// returns before the process ends.
pub(crate) fn start(
    format: LogFormat,
    level: LogLevel,
    clock: impl Clock + 'static,
) -> io::Result<LogWriter> {
    let writer = LogWriter::to_stderr()?;
    let lines = writer.clone();
    let lines = Lines { format, clock, write: move |line| lines.line(line) };
    // A second start is a mistake that changes nothing.
    let _ = tracing_subscriber::registry().with(lines.with_filter(filter(level))).try_init();
    // A panic ends one connection at most, and is logged like everything else.
    panic::set_hook(Box::new(|panicked| {
        let what = panicked.payload_as_str().unwrap_or_default();
        let place = panicked.location().map(ToString::to_string).unwrap_or_default();
        error!(what, place, "a thread panicked: this is a bug");
    }));
    Ok(writer)
}

/// The filter of the log: the chosen level for Tidegate, and only errors for the libraries below it.
/// Those warn of what clients do, and so would let clients fill the log.
fn filter(level: LogLevel) -> Targets {
    let level = LevelFilter::from(level);
    Targets::new().with_default(level.min(LevelFilter::ERROR)).with_target("tidegate", level)
}

// === impl LogLevel ===

impl From<LogLevel> for LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
            LogLevel::Trace => Self::TRACE,
        }
    }
}

// === impl Lines ===

impl<S, C, W> Layer<S> for Lines<C, W>
where
    S: Subscriber,
    C: Clock + 'static,
    W: Fn(String) + 'static,
{
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::new(self.clock.now(), event.metadata());
        event.record(&mut line);
        (self.write)(match self.format {
            LogFormat::Human => line.human(),
            LogFormat::Json => line.json(),
        });
    }
}

#[cfg(test)]
mod tests;
