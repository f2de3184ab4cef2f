//! Bodies of refusals: the same facts in three forms.
//!
//! Each is made by serde from a struct, so that no name or id can break out of its quotes.

use std::collections::BTreeMap;

use http::HeaderValue;
use serde::Serialize;
use tidegate_core::Span;

use super::code::Code;
use super::compact::{ErrorCode, ErrorResponse};
use super::figures::Figures;
use super::is_about_identity;
use super::problem::{JSON, MEDIA_TYPE, Problem};
use super::profile::{BodyProfile, Profile};
use super::refusal::Refused;

/// The facts that a refusal tells, before they are put into one of the forms of a body.
pub(super) struct Told<'a> {
    /// Whether the policy guards identity (login, OTP, auth, step-up); the body then tells less.
    attempts: bool,
    message: String,
    details: Details<'a>,
    refused: &'a Refused<'a>,
}

/// Extra facts for clients that want them. If the policy guards identity, only `retry_after` is told.
#[derive(Serialize)]
struct Details<'a> {
    /// The name of the limit that refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a str>,
    /// The dimensions that the limit counts by.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(flatten)]
    numbers: Option<Numbers>,
    /// The wait before a retry, in whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

#[derive(Serialize)]
struct Numbers {
    capacity: u64,
    /// The length of the limit's window, in whole seconds.
    window: u64,
    remaining: u64,
    /// When the limit starts anew, in whole seconds since the Unix epoch.
    reset: u64,
}

#[derive(Serialize)]
struct Enveloped<'a> {
    code: &'static str,
    message: &'a str,
    details: &'a Details<'a>,
    request_id: &'a str,
    timestamp: String,
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
            // Only a limit that has numbers is named: a shadow limit refuses nobody.
            let limit = refused.decision.and_then(|decision| Some(decision.binding()?.limit));
            if let Some(limit) = limit.filter(|_| details.numbers.is_some()) {
                details.limit = Some(limit.name().as_str());
                details.scope = Some(limit.scope().to_string());
            }
        }
        let hopeless = figures.is_some_and(Figures::is_hopeless);
        let message = message(refused.code, attempts, retry_after, hopeless);
        Self { attempts, message, details, refused }
    }

    /// The sentence or two that tell a person what happened.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The media type and the bytes of the body in this form.
    pub(super) fn body(&self, profile: BodyProfile) -> (HeaderValue, Vec<u8>) {
        match profile {
            BodyProfile::Problem => (MEDIA_TYPE, self.problem().to_json()),
            BodyProfile::Envelope => (JSON, json(&BTreeMap::from([("error", self.enveloped())]))),
            BodyProfile::Compact => (JSON, self.compact().to_json()),
        }
    }

    fn enveloped(&self) -> Enveloped<'_> {
        Enveloped {
            code: self.refused.code.name(),
            message: &self.message,
            details: &self.details,
            request_id: self.refused.request_id.as_str(),
            timestamp: self.refused.at.rfc3339().to_string(),
        }
    }

    fn problem(&self) -> Problem {
        let problem = self.refused.code.problem(self.message.clone());
        let problem = problem.with_status(self.refused.status);
        let problem = problem.of_request(self.refused.request_id, self.refused.at);
        match self.details.retry_after {
            Some(seconds) => problem.retry_after(Span::from_secs(seconds)),
            None => problem,
        }
    }

    fn compact(&self) -> ErrorResponse {
        let response = ErrorResponse::new(ErrorCode::of(self.refused.code, self.attempts))
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

/// The body as JSON. This cannot fail: bodies hold only texts and numbers under fixed names.
fn json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).unwrap_or_default()
}
