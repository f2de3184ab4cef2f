//! Which header fields and which body clients are answered with.

use schemars::JsonSchema;
use serde::Deserialize;

/// How clients are answered: which header fields, which body. By default they get the draft's fields and
/// the triple with epoch times, `Retry-After` but for quotas, and envelopes.
///
/// ```
/// use tidegate_tower::answer::{BodyProfile, HeaderProfile, Profile, Reset, RetryAfter};
///
/// let profile = Profile {
///     headers: [HeaderProfile::XRatelimit].into_iter().collect(),
///     reset: Reset::Delta,
///     retry_after: RetryAfter::Always,
///     body: BodyProfile::Problem,
/// };
/// # assert_ne!(profile, Profile::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The families of header fields that are written; no others are.
    pub headers: Headers,
    /// How the fields say when a limit starts anew.
    pub reset: Reset,
    /// Which refusals have a `Retry-After`.
    pub retry_after: RetryAfter,
    /// The form of the body of a refusal.
    pub body: BodyProfile,
}

/// A set of families of header fields; it may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

tidegate_core::names!(HeaderProfile {
    Ratelimit: "ratelimit",
    Triple: "triple",
    XRatelimit: "x-ratelimit"
});

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Deserialize, JsonSchema)]
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

tidegate_core::names!(BodyProfile { Problem: "problem", Envelope: "envelope", Compact: "compact" });

// === impl Headers ===

impl Headers {
    /// No header fields at all.
    pub const NONE: Self = Self(0);

    /// Whether a family is in this set.
    #[must_use]
    #[inline]
    pub const fn contains(self, headers: HeaderProfile) -> bool {
        self.0 >> headers as u8 & 1 == 1
    }
}

impl Default for Headers {
    /// The draft's fields and the triple.
    fn default() -> Self {
        [HeaderProfile::Ratelimit, HeaderProfile::Triple].into_iter().collect()
    }
}

impl FromIterator<HeaderProfile> for Headers {
    fn from_iter<I: IntoIterator<Item = HeaderProfile>>(headers: I) -> Self {
        Self(headers.into_iter().fold(0, |bits, headers| bits | 1 << headers as u8))
    }
}

impl IntoIterator for Headers {
    type Item = HeaderProfile;
    type IntoIter = core::iter::Flatten<
        core::array::IntoIter<Option<HeaderProfile>, { HeaderProfile::ALL.len() }>,
    >;

    fn into_iter(self) -> Self::IntoIter {
        let known = HeaderProfile::ALL.map(|headers| self.contains(headers).then_some(headers));
        known.into_iter().flatten()
    }
}
