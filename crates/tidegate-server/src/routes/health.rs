//! `/livez` and `/readyz`: what the server says about itself.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use http::StatusCode;
use http::header::HeaderValue;
use serde::Serialize;
use tidegate_core::Mode;
use utoipa::ToSchema;

use crate::answer::{self, Answer};
use crate::state::ServerState;
use crate::wire::answers::modes;
use tidegate_core::Store;

/// What is running, and whether it takes requests.
#[derive(Serialize, ToSchema)]
#[schema(as = Readiness)]
pub(crate) struct ReadyAnswer {
    /// `ready`; `degraded` while some policy is not in its normal mode; `draining` while the server
    /// stops.
    status: &'static str,
    /// The version of the server.
    version: &'static str,
    /// The number of policies in force.
    policies: usize,
    /// Where counters are kept.
    store: &'static str,
    /// The mode of the policy that is worst off: `normal` while the store decides under all of them.
    #[schema(schema_with = modes)]
    mode: &'static str,
    /// The modes of the policies that are not in their normal one.
    #[schema(value_type = std::collections::HashMap<String, String>)]
    modes: BTreeMap<String, &'static str>,
    /// Seconds since the server was started.
    uptime_seconds: u64,
    /// Open connections, this one included.
    connections: usize,
}

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Says that the process lives.
pub(crate) fn livez() -> Answer {
    answer::typed(StatusCode::OK, TEXT, Bytes::from_static(b"ok\n"))
}

/// Says whether the server takes requests: 503 while it stops, so that load balancers leave.
///
/// A server whose store fails takes requests, and decides them as its policies say. So do all other
/// servers that share the store: if load balancers left them, the outage would be a total one. The store
/// is not asked: clients that poll this must not be able to put load on it.
pub(crate) fn readyz<S: Store + 'static>(shared: &ServerState<S>) -> Answer {
    let set = shared.engine.policies();
    let standing = set.policies().iter().filter_map(|policy| {
        let mode = shared.engine.standing(policy.name().as_str())?.mode;
        (mode != Mode::Normal).then(|| (policy.name().to_string(), mode))
    });
    let modes: BTreeMap<_, _> = standing.collect();
    let worst = modes.values().copied().max_by_key(|mode| badness(*mode));
    let (status, code) = match worst {
        _ if shared.draining.load(Relaxed) => ("draining", StatusCode::SERVICE_UNAVAILABLE),
        Some(_) => ("degraded", StatusCode::OK),
        None => ("ready", StatusCode::OK),
    };
    let mut answer = answer::document(&ReadyAnswer {
        status,
        version: env!("CARGO_PKG_VERSION"),
        policies: set.policies().len(),
        store: shared.engine.store().name(),
        mode: worst.unwrap_or(Mode::Normal).name(),
        modes: modes.into_iter().map(|(policy, mode)| (policy, mode.name())).collect(),
        uptime_seconds: shared.uptime().as_micros() / 1_000_000,
        connections: shared.serve.open(),
    });
    *answer.status_mut() = code;
    answer
}

/// How bad a mode is for clients: the higher the number, the more it refuses.
const fn badness(mode: Mode) -> u8 {
    match mode {
        Mode::Normal => 0,
        Mode::FailOpen => 1,
        Mode::Degraded => 2,
        Mode::FailClosed => 3,
    }
}
