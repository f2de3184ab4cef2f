//! Rulings as spans of OpenTelemetry, exported by OTLP.
//!
//! Each ruling is one span, [`SPAN`], in the trace of the request: below the span that is current where
//! the layer is called, if the host makes spans of its own, and otherwise below the one that the
//! request's `traceparent` names. The span is made once the ruling is there, with the instants at which
//! it began and ended, so nothing is carried through the decision and a host without spans pays nothing.
//! The host's log can be exported beside it by any bridge of `tracing`.
//!
//! Whether a span is recorded is decided by the sampler of the provider; the one of [`pipeline`] does as
//! the caller's trace says, and records nothing of requests without one. To record those too, begin the
//! trace outside of the layers, or bring a provider with another sampler.
//!
//! ```no_run
//! use tidegate_tower::report::{Reporter, otel};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let provider = otel::pipeline("http://localhost:4317", "reports-api")?;
//! let reporter = Reporter::default().tracing(otel::Spans::new(&provider));
//! // … build a gate with the reporter, serve, and in the end:
//! tokio::task::spawn_blocking(move || provider.shutdown()).await??;
//! # drop(reporter);
//! # Ok(())
//! # }
//! ```

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{
    Span as _, SpanContext, SpanId, SpanKind, TraceContextExt as _, TraceFlags, TraceId,
    TraceState, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracer, SdkTracerProvider,
};
use tidegate_core::{Decision, Timestamp};

use super::Ruled;
use super::escape::escaped;
use crate::answer::Code;
use crate::trace::TraceContext;

/// The name of every span.
pub const SPAN: &str = "tidegate.decide";

/// Makes a span of each ruling.
#[derive(Clone, Debug)]
pub struct Spans {
    tracer: SdkTracer,
    /// Whether spans say who asked.
    says_ids: bool,
}

/// The most spans that wait to be sent. Further ones are lost, and the provider says so in its own log.
pub const MAX_WAITING: usize = 2048;

const SENT_TOGETHER: usize = 512;
const SENT_EVERY: Duration = Duration::from_secs(1);
/// How long a collector may take to answer; meanwhile spans wait.
const DEADLINE: Duration = Duration::from_secs(5);

/// A provider that sends spans to a collector in batches, by gRPC without TLS: the collector is on the
/// same host or behind a proxy. For anything else build a provider with `opentelemetry_otlp`.
///
/// Call it within a tokio runtime, which does the sending. Nothing waits for the collector, and without
/// one spans are lost, not requests. Before the end, `shutdown` sends what is left; it waits, so on a
/// runtime it belongs into `spawn_blocking`.
///
/// # Errors
///
/// If the endpoint is no address, or needs TLS.
pub fn pipeline(
    endpoint: &str,
    service_name: &str,
) -> Result<SdkTracerProvider, ExporterBuildError> {
    let exporter =
        SpanExporter::builder().with_tonic().with_endpoint(endpoint).with_timeout(DEADLINE);
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(MAX_WAITING)
        .with_max_export_batch_size(SENT_TOGETHER)
        .with_scheduled_delay(SENT_EVERY);
    let processor =
        BatchSpanProcessor::builder(exporter.build()?).with_batch_config(batches.build());
    // Settings from the environment are left out: a library is told its settings.
    let resource = Resource::builder_empty().with_service_name(service_name.to_owned());
    Ok(SdkTracerProvider::builder()
        .with_span_processor(processor.build())
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::AlwaysOff)))
        .with_resource(resource.build())
        .build())
}

// === impl Spans ===

impl Spans {
    /// Makes spans with this provider, which say nothing about who asked.
    #[must_use]
    pub fn new(provider: &SdkTracerProvider) -> Self {
        Self { tracer: provider.tracer("tidegate"), says_ids: false }
    }

    /// Lets spans say which organisation, user and token asked, and the id of the request. Ids are
    /// personal data in many places; ask those who keep the traces.
    #[must_use]
    pub const fn saying_ids(mut self) -> Self {
        self.says_ids = true;
        self
    }

    pub(super) fn ruled(&self, ruled: &Ruled<'_>) {
        let builder = self
            .tracer
            .span_builder(SPAN)
            .with_kind(SpanKind::Internal)
            .with_start_time(instant(ruled.began));
        let mut span = builder.start_with_context(&self.tracer, &parent(ruled.visit.trace));
        if span.is_recording() {
            span.set_attributes(attributes(ruled));
            if self.says_ids {
                span.set_attributes(ids(ruled));
            }
        }
        span.end_with_timestamp(instant(ruled.began.after(ruled.took)));
    }
}

/// The parent of a span: the host's own span, or else the caller's, if there is one.
fn parent(trace: Option<TraceContext>) -> Context {
    let current = Context::current();
    let Some(trace) = trace.filter(|_| !current.span().span_context().is_valid()) else {
        return current;
    };
    let flags = if trace.is_sampled() { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
    let (trace_id, parent_id) = (TraceId::from(trace.trace_id()), SpanId::from(trace.parent_id()));
    let caller = SpanContext::new(trace_id, parent_id, flags, true, TraceState::NONE);
    current.with_remote_span_context(caller)
}

/// The attributes of a span, all from closed sets: names of the configuration, and of cases.
fn attributes(ruled: &Ruled<'_>) -> impl Iterator<Item = KeyValue> {
    let decision = ruled.decision.as_ref();
    let limit = decision.and_then(Decision::binding).map(|binding| binding.limit.name());
    let named = |key, name: &str| KeyValue::new(key, name.to_owned());
    [
        Some(KeyValue::new("tidegate.stage", ruled.stage.name())),
        Some(named("tidegate.endpoint_class", ruled.class().as_str())),
        decision.map(|decision| named("tidegate.policy", decision.policy().name().as_str())),
        limit.map(|limit| named("tidegate.limit", limit.as_str())),
        decision.map(|decision| KeyValue::new("tidegate.verdict", decision.verdict().name())),
        decision.map(|decision| KeyValue::new("tidegate.mode", decision.mode().name())),
        ruled.code.map(|code| KeyValue::new("tidegate.error_code", Code::name(code))),
    ]
    .into_iter()
    .flatten()
}

fn ids(ruled: &Ruled<'_>) -> impl Iterator<Item = KeyValue> {
    let identity = ruled.identity;
    let said = |key, id: &str| KeyValue::new(key, escaped(id).into_owned());
    [
        identity.map(|identity| said("tidegate.org_id", identity.org_id())),
        identity.and_then(|identity| identity.user_id()).map(|id| said("tidegate.user_id", id)),
        identity.and_then(|identity| identity.token_id()).map(|id| said("tidegate.token_id", id)),
        Some(said("tidegate.request_id", ruled.visit.request_id.as_str())),
    ]
    .into_iter()
    .flatten()
}

fn instant(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(at.as_micros())
}
