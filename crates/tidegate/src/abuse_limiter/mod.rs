//! A guard for one call site: too many attempts, and the call returns an error that is a response.
//!
//! ```
//! use tidegate::abuse_limiter::{LimiterConfig, Limits, limiter};
//! use tidegate::memory::{Budget, MemoryStore};
//! use tidegate::{Engine, FailureMode, PolicySet, Span, SystemClock, Threshold};
//!
//! # async fn guarded() -> Result<(), Box<dyn std::error::Error>> {
//! let config = LimiterConfig::new("email-verification", "verification code");
//! let limits = Limits {
//!     temp: Threshold { block_at: 3, per: Span::MINUTE, block: Span::from_secs(30) },
//!     long: Some(Threshold { block_at: 6, per: Span::from_secs(600), block: Span::HOUR }),
//! };
//! let policies = PolicySet::builder().policy(config.policy(limits, FailureMode::FailClosed)?);
//! let store = MemoryStore::new(Budget::default(), SystemClock::new());
//! let engine = Engine::new(store, policies.build(None)?);
//!
//! // At the call site:
//! limiter(&engine, "email_verification:u7", &config).await?;
//! limiter(&engine, "email_verification:u7", &config).await?;
//! let refused = limiter(&engine, "email_verification:u7", &config).await.unwrap_err();
//! assert_eq!(refused.status(), 429);
//! assert_eq!(refused.message(), "Too many attempts for verification code. Try again in 60 seconds.");
//! # Ok(())
//! # }
//! # tidegate::ready(guarded()).ok_or("memory never waits")??;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! To roll it out, put the policy [into shadow](LimiterConfig::in_shadow) first: every call passes and
//! the log says which calls would have been refused. Nothing else changes at the call site.
//!
//! A call site that answers [`ErrorCode::TooManyAttempts`] is an entrance: its policy protects
//! [`Protects::Auth`], or what [`PolicySpec::protecting`] says, and can be built only with
//! [`FailureMode::FailClosed`]. With another code it is an ordinary call site.
//!
//! With the feature `axum` the error is what a handler returns: `limiter(…).await?` needs nothing around
//! it. Blocks are counted in `limiter_blocked_total` if the call site has
//! [metrics](LimiterConfig::measured_by), and every decision is logged at the level `DEBUG`.
//!
//! The `key_prefix` of a call is counted as an account is: normalised, and in keys only as a keyed hash.

pub use tidegate_tower::answer::{ErrorCode, ErrorResponse};
pub use tidegate_tower::report::Metrics;

use tidegate_core::{
    Account, Attempts, BlockScope, Case, Decision, Dimension, FailureMode, Limit, Mode, Name,
    NameError, PolicySpec, Protects, Scope, Shape, ShapeError, Span, Store, StoreError, Subject,
    Tally, Threshold, TooManyRequests,
};
use tidegate_engine::{DecideError, Engine};

/// The guard of one call site: the policy that counts, and the words of a refusal.
#[derive(Clone, Debug)]
pub struct LimiterConfig {
    policy: String,
    action: String,
    code: ErrorCode,
    shadow: bool,
    metrics: Option<Metrics>,
}

/// When attempts become too many, in a short window and in a long one.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The short window.
    pub temp: Threshold,
    /// The long window, if there is one.
    pub long: Option<Threshold>,
}

/// The outcome of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimiterDecision {
    /// The attempt may go on, and has been counted.
    Allowed,
    /// The attempt may not go on.
    Blocked {
        /// Which window is full, or that an operator set the block.
        scope: BlockScope,
        /// How long to stay away, in whole seconds rounded up.
        retry_after_secs: u64,
        /// Attempts in the short window.
        short_count: u64,
        /// Attempts in the long window.
        long_count: u64,
    },
}

/// Why the policy of a call site cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The name of the policy is not valid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The numbers of the windows are not valid.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

/// Counts an attempt under `key_prefix`, and says whether it may go on.
///
/// # Errors
///
/// [`ErrorCode::ServiceUnavailable`] if the policy fails closed and its store does not decide: that says
/// nothing about the client. The error names the seconds until the store may decide again.
/// [`ErrorCode::InternalServerError`] if the policy is missing, or guards no entrance although the call
/// site is one. The reason is logged, and told to clients of debug builds only.
pub async fn check<S: Store>(
    engine: &Engine<S>,
    key_prefix: &str,
    config: &LimiterConfig,
) -> Result<LimiterDecision, ErrorResponse> {
    let (policies, account) = (engine.policies(), Account::new(key_prefix));
    let Some(policy) = policies.get(&config.policy) else {
        return Err(misconfigured(format!("there is no policy `{}`", config.policy)));
    };
    if config.is_entrance() && !policy.protects().is_some_and(Protects::is_entrance) {
        return Err(misconfigured(format!(
            "policy `{}` guards `{}`, which is an entrance, but does not say so; write \
             `failure_mode: fail_closed` and `protects: auth`",
            config.policy, config.action
        )));
    }
    let subject = Subject::new().account(&account);
    let mut case = Case::new(policy, &subject);
    let line = Line { config, key_prefix };
    let undecided = match engine.decide(&mut case).await {
        Ok(decision) => match decision.passed() {
            Err(refused) if config.shadow || decision.mode() == Mode::FailClosed => {
                let trouble = decision.trouble().map(StoreError::to_string);
                line.undecided(decision.mode().name(), trouble, refused.retry_after())
            }
            passed => return Ok(line.told(&decision, passed)),
        },
        Err(error @ DecideError::Overloaded) => {
            let wait = Some(DecideError::RETRY_AFTER);
            line.undecided("overloaded", Some(error.to_string()), wait)
        }
        Err(error @ DecideError::NothingApplies { .. }) => Some(misconfigured(error.to_string())),
    };
    undecided.map_or(Ok(LimiterDecision::Allowed), Err)
}

/// Counts an attempt as [`check`] does; a refusal is an error that names the action and the seconds.
///
/// # Errors
///
/// If the attempt may not go on, and whenever [`check`] returns an error.
pub async fn limiter<S: Store>(
    engine: &Engine<S>,
    key_prefix: &str,
    config: &LimiterConfig,
) -> Result<(), ErrorResponse> {
    match check(engine, key_prefix, config).await? {
        LimiterDecision::Allowed => Ok(()),
        LimiterDecision::Blocked { retry_after_secs, .. } => {
            let (action, unit) = (&config.action, if retry_after_secs == 1 { "" } else { "s" });
            let message = format!(
                "Too many attempts for {action}. Try again in {retry_after_secs} second{unit}."
            );
            let refused = ErrorResponse::new(config.code);
            Err(refused.with_message(message).with_retry_after(retry_after_secs))
        }
    }
}

// === impl LimiterConfig ===

impl LimiterConfig {
    /// A call site guarded by this policy; messages call it `action`.
    #[must_use]
    pub fn new(policy: &str, action: &str) -> Self {
        Self {
            policy: policy.to_owned(),
            action: action.to_owned(),
            code: ErrorCode::TooManyAttempts,
            shadow: false,
            metrics: None,
        }
    }

    /// Refuses with another code, such as [`ErrorCode::RateLimited`] where the call is not about
    /// identity.
    #[must_use]
    pub const fn with_code(mut self, code: ErrorCode) -> Self {
        self.code = code;
        self
    }

    /// Lets every call pass, and logs which ones would have been refused.
    #[must_use]
    pub const fn in_shadow(mut self) -> Self {
        self.shadow = true;
        self
    }

    /// Counts blocks in these metrics, which may be those of a gate, as `limiter_blocked_total`.
    #[must_use]
    pub fn measured_by(mut self, metrics: &Metrics) -> Self {
        self.metrics = Some(metrics.clone());
        self
    }

    /// The policy for this call site, to be put into the engine's set. If the call site is an entrance,
    /// the policy protects [`Protects::Auth`], so that its set is refused unless `failure` is
    /// [`FailureMode::FailClosed`]. A policy of the same name from a file does as well, if it has a limit
    /// of the shape `attempts` by `account`, and protects an entrance if the call site is one.
    ///
    /// # Errors
    ///
    /// If the name or the numbers are not valid.
    pub fn policy(&self, limits: Limits, failure: FailureMode) -> Result<PolicySpec, ConfigError> {
        let name = Name::try_new(&self.policy)?;
        let attempts = Shape::Attempts(Attempts::try_new(limits.temp, limits.long)?);
        let limit = Limit::new(name.clone(), Scope::of([Dimension::Account]), attempts);
        let limit = if self.shadow { limit.in_shadow() } else { limit };
        let spec = PolicySpec::new(name, failure).limit(limit);
        Ok(if self.is_entrance() { spec.protecting(Protects::Auth) } else { spec })
    }

    /// Whether the call site is about identity, as the code of its refusals says.
    const fn is_entrance(&self) -> bool {
        matches!(self.code, ErrorCode::TooManyAttempts)
    }
}

/// The decision that is logged for a call that passes only because of the shadow.
const IN_SHADOW: &str = "allowed in shadow";

/// The line in the log about one call.
struct Line<'a> {
    config: &'a LimiterConfig,
    key_prefix: &'a str,
}

// === impl Line ===

impl Line<'_> {
    /// Turns a decision into a [`LimiterDecision`], logs it, and counts a block.
    fn told(
        &self,
        decision: &Decision<'_>,
        passed: Result<(), TooManyRequests>,
    ) -> LimiterDecision {
        let tally = decision.explain().find_map(|said| said.reading.attempts);
        let (short_count, long_count) =
            tally.map_or((0, 0), |tally| (u64::from(tally.temp), u64::from(tally.long)));
        let (said, wait, told) = match passed {
            Err(refused) => {
                // An attempt that never passes is told to come back in a day: a number is expected here.
                let wait = refused.retry_after().unwrap_or(Span::DAY);
                let scope = decision.block().map_or(BlockScope::Temp, |block| block.scope);
                if let Some(metrics) = &self.config.metrics {
                    metrics.blocked(scope);
                }
                let retry_after_secs = wait.as_secs_ceil();
                let told =
                    LimiterDecision::Blocked { scope, retry_after_secs, short_count, long_count };
                ("blocked", wait, told)
            }
            Ok(()) => match decision.explain().find(|said| !said.reading.room.is_now()) {
                Some(would) => (IN_SHADOW, would.reading.wait, LimiterDecision::Allowed),
                None => ("allowed", Span::ZERO, LimiterDecision::Allowed),
            },
        };
        self.log(tally, said, decision.mode().name(), wait);
        told
    }

    /// The response when nobody can tell whether an attempt may go on, so that it may not; `None` in
    /// shadow, where the call passes whatever decided: an outage is no reason to refuse in earnest.
    fn undecided(
        &self,
        mode: &str,
        detail: Option<String>,
        wait: Option<Span>,
    ) -> Option<ErrorResponse> {
        let said = if self.config.shadow { IN_SHADOW } else { "unavailable" };
        self.log(None, said, mode, wait.unwrap_or(Span::ZERO));
        if self.config.shadow {
            return None;
        }
        let mut response = ErrorResponse::new(ErrorCode::ServiceUnavailable);
        if let Some(detail) = detail {
            response = response.with_detail(detail);
        }
        if let Some(wait) = wait {
            response = response.with_retry_after(wait.as_secs_ceil());
        }
        Some(response)
    }

    /// Logs the call. The counts are left out if the store did not decide.
    fn log(&self, tally: Option<Tally>, decision: &str, mode: &str, wait: Span) {
        tracing::debug!(
            target: "tidegate::attempts",
            policy = self.config.policy,
            key_prefix = namespace(self.key_prefix),
            short_count = tally.map(|tally| tally.temp),
            long_count = tally.map(|tally| tally.long),
            decision,
            mode,
            retry_after_secs = wait.as_secs_ceil(),
        );
    }
}

/// The longest namespace that is logged; a longer one was not written by the host.
const LONGEST_NAMESPACE: usize = 64;

/// The part of a key prefix that a log may show: everything before the first colon, which the host has
/// written. A later colon may be in an address or a name.
fn namespace(key_prefix: &str) -> &str {
    let namespace = key_prefix.split_once(':').map_or("", |(namespace, _)| namespace);
    if namespace.len() > LONGEST_NAMESPACE { "" } else { namespace }
}

/// The response when the policies do not fit the call site; the reason is logged.
fn misconfigured(detail: String) -> ErrorResponse {
    tracing::error!(
        target: "tidegate::attempts", detail,
        "an attempt is refused because the policies do not fit the call site"
    );
    ErrorResponse::new(ErrorCode::InternalServerError).with_detail(detail)
}

#[cfg(test)]
mod tests;
