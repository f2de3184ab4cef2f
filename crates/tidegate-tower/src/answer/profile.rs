//! Which header fields and which body clients are answered with.

use schemars::JsonSchema;
use serde::Deserialize;

/// How clients are answered: which header fields, which body.
///
/// ```
/// use tidegate_tower::answer::{BodyProfile, HeaderProfile, Profile, Reset, RetryAfter};
///
/// let profile = Profile::default()
///     .headers([HeaderProfile::XRatelimit])
///     .reset(Reset::Delta)
///     .retry_after(RetryAfter::Always)
///     .body(BodyProfile::Problem);
/// # assert_ne!(profile, Profile::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    pub(super) headers: Headers,
    pub(super) reset: Reset,
    pub(super) retry_after: RetryAfter,
    pub(super) body: BodyProfile,
}

/// A set of families of header fields; it may be empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers(u8);

/// A family of header fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderProfile {
    /// `RateLimit-Policy` and `RateLimit`, structured fields of the IETF's draft.
    Ratelimit,
    /// `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`.
    Triple,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`.
    XRatelimit,
}

/// How `RateLimit-Reset` and `X-RateLimit-Reset` say when a limit starts anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reset {
    /// Seconds since the Unix epoch.
    #[default]
    Epoch,
    /// Seconds from now.
    Delta,
}

/// Which refusals have a `Retry-After`. A refusal that no wait helps never has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RetryAfter {
    /// Refusals by anything but a quota: a retry that waits for the end of a month is no retry.
    #[default]
    Burst,
    /// All refusals that a wait helps.
    Always,
}

/// The form of the body of a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BodyProfile {
    /// A problem document (RFC 9457).
    Problem,
    /// `{"error":{"code","message","details","request_id","timestamp"}}`.
    #[default]
    Envelope,
    /// `{"code","message","context","request_id","timestamp"}`.
    Compact,
}

// === impl Profile ===

impl Profile {
    /// Sets the families of header fields that are written; no others are.
    #[must_use]
    pub fn headers(mut self, headers: impl IntoIterator<Item = HeaderProfile>) -> Self {
        self.headers = headers.into_iter().collect();
        self
    }

    /// Sets how the fields say when a limit starts anew.
    #[must_use]
    pub const fn reset(mut self, reset: Reset) -> Self {
        self.reset = reset;
        self
    }

    /// Sets which refusals have a `Retry-After`.
    #[must_use]
    pub const fn retry_after(mut self, retry_after: RetryAfter) -> Self {
        self.retry_after = retry_after;
        self
    }

    /// Sets the form of the body of a refusal.
    #[must_use]
    pub const fn body(mut self, body: BodyProfile) -> Self {
        self.body = body;
        self
    }
}

impl Default for Profile {
    /// The draft's fields and the triple with epoch times, `Retry-After` but for quotas, and envelopes.
    fn default() -> Self {
        Self {
            headers: [HeaderProfile::Ratelimit, HeaderProfile::Triple].into_iter().collect(),
            reset: Reset::default(),
            retry_after: RetryAfter::default(),
            body: BodyProfile::default(),
        }
    }
}

// === impl Headers ===

impl Headers {
    /// No header fields at all.
    pub const NONE: Self = Self(0);

    /// Whether a family is in this set.
    #[must_use]
    #[inline]
    pub const fn contains(self, headers: HeaderProfile) -> bool {
        self.0 & headers.bit() != 0
    }
}

impl FromIterator<HeaderProfile> for Headers {
    fn from_iter<I: IntoIterator<Item = HeaderProfile>>(headers: I) -> Self {
        Self(headers.into_iter().fold(0, |bits, headers| bits | headers.bit()))
    }
}

impl IntoIterator for Headers {
    type Item = HeaderProfile;
    type IntoIter = core::iter::Flatten<core::array::IntoIter<Option<HeaderProfile>, 3>>;

    fn into_iter(self) -> Self::IntoIter {
        let known = HeaderProfile::ALL.map(|headers| self.contains(headers).then_some(headers));
        known.into_iter().flatten()
    }
}

// === impl HeaderProfile ===

impl HeaderProfile {
    /// All families of header fields.
    pub const ALL: [Self; 3] = [Self::Ratelimit, Self::Triple, Self::XRatelimit];

    /// The name used in configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ratelimit => "ratelimit",
            Self::Triple => "triple",
            Self::XRatelimit => "x-ratelimit",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Ratelimit => 1,
            Self::Triple => 2,
            Self::XRatelimit => 4,
        }
    }
}

// === impl BodyProfile ===

impl BodyProfile {
    /// All forms of a body.
    pub const ALL: [Self; 3] = [Self::Problem, Self::Envelope, Self::Compact];

    /// The name used in configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Envelope => "envelope",
            Self::Compact => "compact",
        }
    }
}
