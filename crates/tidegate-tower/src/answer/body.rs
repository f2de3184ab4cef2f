//! Bodies of refusals: the same facts in three forms.
//!
//! Each is made by serde from a struct, so that no name or id can break out of its quotes.

use serde::Serialize;

use super::code::Code;
use super::compact::{ErrorCode, ErrorResponse};
use super::figures::Figures;
use super::profile::{BodyProfile, Profile};
use super::refusal::Refused;
use super::{is_about_identity, rfc3339};

/// What a refusal tells, whatever form it has.
pub(super) struct Told<'a> {
    code: Code,
    /// Whether attempts at something about identity were refused.
    attempts: bool,
    message: String,
    details: Details<'a>,
    refused: &'a Refused<'a>,
}

/// What clients can do without, and are glad to know. At entrances no more than when to come back.
#[derive(Serialize)]
struct Details<'a> {
    /// What the limit that refused is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a str>,
    /// What it counts by.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(flatten)]
    numbers: Option<Numbers>,
    /// In whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

#[derive(Serialize)]
struct Numbers {
    capacity: u64,
    /// In whole seconds.
    window: u64,
    remaining: u64,
    /// In whole seconds since the Unix epoch.
    reset: u64,
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: Enveloped<'a>,
}

#[derive(Serialize)]
struct Enveloped<'a> {
    code: &'static str,
    message: &'a str,
    details: &'a Details<'a>,
    request_id: &'a str,
    timestamp: String,
}

#[derive(Serialize)]
struct Problem<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: &'a str,
    code: &'static str,
    request_id: &'a str,
    timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

// === impl Told ===

impl<'a> Told<'a> {
    pub(super) fn new(
        profile: &Profile,
        refused: &'a Refused<'a>,
        figures: Option<&Figures>,
    ) -> Self {
        let policy = refused.decision.map(|decision| decision.policy());
        let attempts = policy.is_some_and(|policy| is_about_identity(policy.protects()));
        let told = figures.and_then(|figures| figures.retry_after(profile));
        let retry_after = told.or(refused.code.retry_after());
        let mut details = Details { limit: None, scope: None, numbers: None, retry_after };
        if !attempts {
            details.numbers = figures.and_then(Numbers::of);
            // The one that has numbers: a shadow refuses nobody.
            let limit = refused.decision.and_then(|decision| Some(decision.binding()?.limit));
            if let Some(limit) = limit.filter(|_| details.numbers.is_some()) {
                details.limit = Some(limit.name().as_str());
                details.scope = Some(limit.scope().to_string());
            }
        }
        let hopeless = figures.is_some_and(Figures::is_hopeless);
        let message = message(refused.code, attempts, retry_after, hopeless);
        Self { code: refused.code, attempts, message, details, refused }
    }

    /// What happened, in a sentence or two.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The media type and the text.
    pub(super) fn body(&self, profile: BodyProfile) -> (&'static str, Vec<u8>) {
        match profile {
            BodyProfile::Problem => ("application/problem+json", json(&self.problem())),
            BodyProfile::Envelope => ("application/json", json(&self.envelope())),
            BodyProfile::Compact => ("application/json", self.compact().to_json()),
        }
    }

    fn envelope(&self) -> Envelope<'_> {
        Envelope {
            error: Enveloped {
                code: self.code.name(),
                message: &self.message,
                details: &self.details,
                request_id: self.refused.request_id.as_str(),
                timestamp: rfc3339(self.refused.at),
            },
        }
    }

    fn problem(&self) -> Problem<'_> {
        Problem {
            r#type: self.code.urn(),
            title: self.code.title(),
            status: self.code.status().as_u16(),
            detail: &self.message,
            code: self.code.name(),
            request_id: self.refused.request_id.as_str(),
            timestamp: rfc3339(self.refused.at),
            retry_after: self.details.retry_after,
        }
    }

    fn compact(&self) -> ErrorResponse {
        let response = ErrorResponse::new(ErrorCode::of(self.code, self.attempts))
            .with_message(self.message.as_str())
            .with_request(self.refused.request_id, self.refused.at);
        match self.details.retry_after {
            Some(seconds) => response.with_retry_after(seconds),
            None => response,
        }
    }
}

// === impl Numbers ===

impl Numbers {
    fn of(figures: &Figures) -> Option<Self> {
        let binding = figures.binding()?;
        Some(Self {
            capacity: binding.limit.capacity,
            window: binding.limit.window,
            remaining: binding.remaining,
            reset: binding.reset_at,
        })
    }
}

fn message(code: Code, attempts: bool, retry_after: Option<u64>, hopeless: bool) -> String {
    let what = match code {
        Code::RateLimitExceeded if attempts => "Too many attempts.",
        code => code.message(),
    };
    match retry_after {
        Some(1) => format!("{what} Try again in 1 second."),
        Some(seconds) => format!("{what} Try again in {seconds} seconds."),
        None if hopeless => format!("{what} A request of this size never passes."),
        None => what.to_owned(),
    }
}

/// Texts and numbers under fixed names: nothing that JSON does not have.
fn json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).unwrap_or_default()
}
