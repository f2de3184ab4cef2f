//! The log: one event for every request that was refused, degraded or passed only because its policy
//! fails open, and for some of the others. Requests that were shed have none: the engine reports them
//! once a second.
//!
//! An event says who asked, what about, which limit decided and when to come back, in the words of
//! `docs/observability.md`. Text that a client can choose freely is escaped; anything that could be a
//! secret or a person, such as header fields, the path as it was sent or the address, is left out: a log
//! goes further than anybody remembers.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use tidegate_core::{Decision, Fallback, Mode, Retry, Verdict};
use tracing::{Level, enabled, event};

use super::Ruled;
use super::escape::escaped;
use crate::answer::Code;
use crate::identity::Identity;
use crate::request_id::RequestId;

/// The `tracing` target of all events about requests.
pub const TARGET: &str = "tidegate::throttle";

/// The log of rulings. Of the requests that simply pass it tells one in `one_in`, or none.
#[derive(Debug, Default)]
pub(super) struct Log {
    one_in: Option<NonZeroU32>,
    passed: AtomicU32,
}

/// Writes an event of this level. It is a macro because `tracing` fixes the level at each place of use.
macro_rules! tell {
    ($level:expr, $ruled:expr, $message:literal) => {
        if enabled!(target: TARGET, $level) {
            let Ruled { visit, identity, decision, code, .. } = *$ruled;
            let binding = decision.as_ref().and_then(Decision::binding);
            let (scope, bucket) = decision.as_ref().and_then(bucket).unzip();
            event!(
                target: TARGET,
                $level,
                stage = $ruled.stage.name(),
                org_id = identity.map(|identity| escaped(identity.org_id())).as_deref(),
                user_id = identity.and_then(Identity::user_id).map(escaped).as_deref(),
                token_id = identity.and_then(Identity::token_id).map(escaped).as_deref(),
                endpoint_class = visit.endpoint.class.as_str(),
                route = &*escaped(&visit.endpoint.template),
                policy = decision.map(|decision| decision.policy().name().as_str()),
                limit = binding.map(|binding| binding.limit.name().as_str()),
                scope = scope.flatten().as_deref(),
                bucket = bucket.as_deref(),
                request_id = &*escaped(visit.request_id.as_str()),
                correlation_id = &*escaped(&visit.correlation_id()),
                error_code = code.map(Code::name),
                status = code.map(|code| code.status().as_u16()),
                verdict = decision.map(|decision| decision.verdict().name()),
                mode = decision.map(|decision| decision.mode().name()),
                block = decision.and_then(|it| it.block()).map(|block| block.scope.name()),
                retry_after_ms = decision.and_then(|it| retry_after_ms(it.verdict())),
                server_time = $ruled.at().rfc3339().as_str(),
                $message
            );
        }
    };
}

// === impl Log ===

impl Log {
    pub(super) fn sampling(one_in: NonZeroU32) -> Self {
        Self { one_in: Some(one_in), passed: AtomicU32::new(0) }
    }

    /// Logs a ruling, if it is one to log.
    #[inline]
    pub(super) fn ruled(&self, ruled: &Ruled<'_>) {
        if ruled.is_refused() || ruled.is_degraded() || ruled.is_open() {
            tell_unusual(ruled);
        } else if let Some(one_in) = self.one_in {
            self.passed(ruled, one_in);
        }
    }

    #[inline(never)]
    fn passed(&self, ruled: &Ruled<'_>, one_in: NonZeroU32) {
        if enabled!(target: TARGET, Level::DEBUG)
            && self.passed.fetch_add(1, Ordering::Relaxed).is_multiple_of(one_in.get())
        {
            tell!(Level::DEBUG, ruled, "request admitted");
        }
    }

    /// Logs a refused request of which only the code and the id are known.
    #[cold]
    pub(super) fn unseen(&self, code: Code, request_id: &RequestId) {
        let request_id = escaped(request_id.as_str());
        let (request_id, error_code, status) = (&*request_id, code.name(), code.status().as_u16());
        match level(code, None) {
            Level::ERROR => {
                event!(target: TARGET, Level::ERROR, request_id, error_code, status, "request refused");
            }
            _ => {
                event!(target: TARGET, Level::INFO, request_id, error_code, status, "request refused");
            }
        }
    }
}

#[cold]
fn tell_unusual(ruled: &Ruled<'_>) {
    match ruled.code.map(|code| level(code, ruled.decision.as_ref())) {
        None if ruled.is_open() => {
            tell!(Level::WARN, ruled, "request admitted without the store");
        }
        None => tell!(Level::INFO, ruled, "request degraded"),
        Some(Level::ERROR) => tell!(Level::ERROR, ruled, "request refused"),
        Some(Level::WARN) => tell!(Level::WARN, ruled, "request refused"),
        Some(Level::INFO) => tell!(Level::INFO, ruled, "request refused"),
        Some(_) => {}
    }
}

/// How serious a refusal is: INFO if only the client's habits are to blame, WARN if a block or a failing
/// store is, and ERROR if only an operator can mend it.
fn level(code: Code, decision: Option<&Decision<'_>>) -> Level {
    let unusual = |decision: &Decision<'_>| {
        decision.block().is_some() || !matches!(decision.mode(), Mode::Normal)
    };
    match code {
        Code::Misconfigured => Level::ERROR,
        Code::EnforcementDegraded | Code::Unavailable => Level::WARN,
        // Not logged: a line for each would be one more load, and the engine reports it once a second.
        Code::Overloaded => Level::DEBUG,
        _ if decision.is_some_and(unusual) => Level::WARN,
        _ => Level::INFO,
    }
}

/// The scope and the name of the limit or cap that decided; the name begins with that of the policy. A
/// ceiling has no scope: it is known only to belong to one of the policy's limits.
fn bucket(decision: &Decision<'_>) -> Option<(Option<String>, String)> {
    let policy = decision.policy();
    if let Some(binding) = decision.binding() {
        let scope = binding.limit.scope().to_string();
        let name = format!("{}/{}/{scope}", policy.name(), binding.limit.name());
        return Some((Some(scope), name));
    }
    let guarded = decision.guarded()?;
    let has_room = guarded.remaining > 0 && !guarded.admits();
    if policy.fallback() == Fallback::Ceilings && has_room {
        return Some((None, format!("{}/ceiling", policy.name())));
    }
    let scope = guarded.cap?.by.to_string();
    let name = format!("{}/guardrail/{scope}", policy.name());
    Some((Some(scope), name))
}

/// The wait before a retry, in milliseconds, rounded up; none if it does not help or is not needed.
fn retry_after_ms(verdict: Verdict) -> Option<u64> {
    let wait = match verdict {
        Verdict::Queue(wait) => wait,
        Verdict::Deny(denial) => match denial.retry {
            Retry::After(wait) => wait,
            Retry::Never => return None,
        },
        Verdict::Admit | Verdict::Degrade => return None,
    };
    Some(wait.as_micros().div_ceil(1_000))
}
