//! One ruling: may this request pass?

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, Method, Response};
use tidegate_core::{
    Case, Cost, Decision, Dimension, Fallback, Mode, Policy, Span, Store, Subject, Timestamp,
    Verdict,
};
use tidegate_engine::DecideError;
use tracing::error;

use super::{Gate, Places, receive};
use crate::answer::{Code, Figures, Listings, Refused};
use crate::identity::Identity;
use crate::layer::Side;
use crate::outcome::Pending;
use crate::report::{Ruled, Stage};
use crate::request_id::RequestId;
use crate::visit::Visit;

/// The result of ruling on a request.
pub(crate) enum Ruling {
    /// The request may pass.
    Pass(Passage),
    /// The request is refused with this response.
    Refuse(Box<Response<Bytes>>),
}

/// The data that a request that may pass takes along until there is a response.
#[derive(Debug, Default)]
pub(crate) struct Passage {
    pub(crate) figures: Option<Figures>,
    /// The charge that is given back unless the outcome counts.
    pub(crate) pending: Option<Pending>,
    /// Whether the request passes with a lower quality of service.
    pub(crate) degraded: bool,
    /// The request id, if the early layer has to write it into the response.
    pub(crate) name: Option<RequestId>,
    /// Whether no other layer of the gate is around this one, so that this one writes the header fields.
    pub(crate) outermost: bool,
}

/// One request or job that a policy is asked about.
pub(super) struct Asked<'a> {
    pub(super) stage: Stage,
    pub(super) visit: &'a Visit,
    pub(super) identity: Option<&'a Identity>,
    /// The method of the request; none for a job.
    pub(super) method: Option<&'a Method>,
    pub(super) grpc: bool,
    /// When this layer began to handle the request.
    pub(super) since: Timestamp,
}

// === impl Gate ===

impl<S: Store> Gate<S> {
    /// Rules on a request, on this side of authentication.
    #[inline]
    pub(crate) async fn rule_on(&self, side: Side, head: &mut Parts) -> Ruling {
        match side {
            Side::Early => self.rule_early(head).await,
            Side::Org => self.rule_org(head).await,
        }
    }

    /// Rules on a request before authentication.
    async fn rule_early(&self, head: &mut Parts) -> Ruling {
        let grpc = speaks_grpc(&head.headers);
        let visit = match self.receive(head, Side::Early) {
            Ok(visit) => visit,
            Err((code, request_id, at)) => {
                return Ruling::Refuse(Box::new(self.refuse_unseen(code, &request_id, at, grpc)));
            }
        };
        let (stage, method, since) = (Stage::Early, Some(&head.method), visit.at);
        let asked = Asked { stage, visit: &visit, identity: None, method, grpc, since };
        let agent = receive::agent(&head.headers);
        self.rule(&asked, subject(&visit).agent(agent), |places| places.early, visit.endpoint.cost)
            .await
    }

    /// Rules on a request behind authentication.
    async fn rule_org(&self, head: &mut Parts) -> Ruling {
        let grpc = speaks_grpc(&head.headers);
        let seen = head.extensions.get::<Visit>().cloned();
        let since = seen.is_some().then(|| self.0.clock.now());
        let visit = match seen.map_or_else(|| self.receive(head, Side::Org), Ok) {
            Ok(visit) => visit,
            Err((code, request_id, at)) => {
                return Ruling::Refuse(Box::new(self.refuse_unseen(code, &request_id, at, grpc)));
            }
        };
        let identity = head.extensions.get::<Identity>();
        let (stage, method) = (Stage::Org, Some(&head.method));
        let since = since.unwrap_or(visit.at);
        let asked = Asked { stage, visit: &visit, identity, method, grpc, since };
        let Some(identity) = identity else { return self.rule_unknown(&asked) };
        let agent = receive::agent(&head.headers);
        let subject = identity.describe(subject(&visit).agent(agent));
        self.rule_known(&asked, identity, subject, visit.endpoint.cost).await
    }

    /// Rules on a job that somebody wants to enqueue.
    pub(crate) async fn rule_on_job(
        &self,
        job: &str,
        identity: &Identity,
        visit: &Visit,
    ) -> Ruling {
        let mut visit = visit.clone();
        let declared = self.0.routes.job(job);
        if let Some(job) = declared {
            visit.endpoint = Arc::clone(job);
        }
        let (stage, grpc, since) = (Stage::Enqueue, false, self.0.clock.now());
        let (asker, method) = (Some(identity), None);
        let asked = Asked { stage, visit: &visit, identity: asker, method, grpc, since };
        if declared.is_none() {
            error!(job, "a job that was not declared is not enqueued; declare it with its class");
            return self.refuse(&asked, Code::Misconfigured, None);
        }
        let subject = identity.describe(subject(&visit));
        self.rule_known(&asked, identity, subject, visit.endpoint.cost).await
    }

    /// Rules on a request of a known caller: the scope first, then what the caller has left.
    pub(super) async fn rule_known(
        &self,
        asked: &Asked<'_>,
        identity: &Identity,
        subject: Subject<'_>,
        cost: Cost,
    ) -> Ruling {
        let endpoint = &asked.visit.endpoint;
        if let Some(scope) = &endpoint.scope
            && !identity.may(scope)
        {
            return self.rule_unauthorised(asked, subject).await;
        }
        if self.0.routes.classes[endpoint.place].policy.is_none() {
            // The class has no policy for known callers: the early layer has decided.
            return self.pass_after_early(asked);
        }
        match &self.plan(identity) {
            None => self.rule(asked, subject, |places| places.org, cost).await,
            Some(plan) => {
                let subject = subject.plan(plan.name());
                self.rule(asked, subject, |places| places.org, cost).await
            }
        }
    }

    /// Refuses a request that lacks a scope. Only limits that count such refusals are charged; a caller
    /// that is past one of them is told to wait instead.
    #[cold]
    async fn rule_unauthorised(&self, asked: &Asked<'_>, subject: Subject<'_>) -> Ruling {
        let handles = self.handles();
        let place = handles.classes[asked.visit.endpoint.place].org;
        let policy = place.and_then(|place| handles.set.policies().get(place));
        let forbidden = Code::InsufficientScope.status().as_u16();
        let counts = |policy: &&Policy| {
            policy.outcomes().is_some_and(|outcomes| outcomes.contains(forbidden))
        };
        if let Some(policy) = policy.filter(counts) {
            let mut case = Case::new(policy, &subject).only_outcomes();
            match self.0.engine.decide(&mut case).await {
                Ok(decision) => {
                    if let Some(code) = code(&decision) {
                        return self.refuse(asked, code, Some(decision));
                    }
                }
                // No limit that counts outcomes applies, so there is nothing to charge.
                Err(DecideError::NothingApplies { .. }) => {}
                Err(error @ DecideError::Overloaded) => {
                    return self.undecided(asked, &error);
                }
            }
        }
        self.refuse(asked, Code::InsufficientScope, None)
    }

    /// Rules on a request without an identity. Where none is needed, the early layer has decided; at an
    /// entrance only if its policy fails closed.
    fn rule_unknown(&self, asked: &Asked<'_>) -> Ruling {
        let endpoint = &asked.visit.endpoint;
        if endpoint.scope.is_some() || !self.handles().classes[endpoint.place].early_suffices {
            return self.refuse(asked, Code::AuthenticationRequired, None);
        }
        self.pass_after_early(asked)
    }

    /// Lets a request pass that only the early layer decides about; refuses it if there was none.
    fn pass_after_early(&self, asked: &Asked<'_>) -> Ruling {
        if asked.visit.was_early {
            return Ruling::Pass(Passage::default());
        }
        error!(
            "a request that only an early layer limits has reached the org layer and no early layer \
             before it, so it is refused. Put the early layer around authentication, or let \
             authentication refuse requests without an Identity"
        );
        self.refuse(asked, Code::Misconfigured, None)
    }

    async fn rule(
        &self,
        asked: &Asked<'_>,
        subject: Subject<'_>,
        place: impl Fn(Places) -> Option<usize>,
        cost: Cost,
    ) -> Ruling {
        let handles = self.handles();
        let place = place(handles.classes[asked.visit.endpoint.place]);
        let known =
            |place: usize| Some((handles.set.policies().get(place)?, handles.listings.get(place)?));
        let Some((policy, listings)) = place.and_then(known) else { return self.lost(asked) };
        let mut case = Case::new(policy, &subject).weighing(cost);
        match self.0.engine.decide(&mut case).await {
            Ok(decision) => {
                let took = self.0.clock.now().since(asked.since);
                self.ruled(asked, &decision, listings, took)
            }
            Err(error) => self.undecided(asked, &error),
        }
    }

    fn ruled(
        &self,
        asked: &Asked<'_>,
        decision: &Decision<'_>,
        listings: &Listings,
        took: Span,
    ) -> Ruling {
        let Asked { stage, visit, identity, .. } = *asked;
        let spared = S::FALLIBLE && is_no_read_of_health(asked, decision);
        let code = if spared { Some(Code::Unavailable) } else { code(decision) };
        self.0.reporter.ruled(&Ruled {
            stage,
            visit,
            identity,
            decision: Some(*decision),
            code,
            began: asked.since,
            took,
        });
        if let Some(code) = code {
            // What is left of a budget that is not for this request is not told to its client.
            let decision = (!spared).then_some(*decision);
            return Ruling::Refuse(Box::new(self.refusal(asked, code, decision)));
        }
        Ruling::Pass(Passage {
            figures: Some(Figures::of(decision, Some(listings))),
            pending: Pending::of(&self.0.engine, decision),
            degraded: decision.verdict() == Verdict::Degrade,
            name: (stage == Stage::Early).then(|| visit.request_id.clone()),
            outermost: stage == Stage::Early || !visit.was_early,
        })
    }

    /// Refuses a request without asking its limits, and reports it. There is a decision only if a limit
    /// that counts refusals was asked.
    #[cold]
    fn refuse(&self, asked: &Asked<'_>, code: Code, decision: Option<Decision<'_>>) -> Ruling {
        let Asked { stage, visit, identity, .. } = *asked;
        let (began, took) = (asked.since, Span::ZERO);
        let ruled = Ruled { stage, visit, identity, decision, code: Some(code), began, took };
        self.0.reporter.ruled(&ruled);
        Ruling::Refuse(Box::new(self.refusal(asked, code, decision)))
    }

    fn refusal(
        &self,
        asked: &Asked<'_>,
        code: Code,
        decision: Option<Decision<'_>>,
    ) -> Response<Bytes> {
        let at = decision.map_or(asked.visit.at, |decision| decision.decided_at());
        let request_id = &asked.visit.request_id;
        let refused = Refused { code, decision, request_id, at, grpc: asked.grpc };
        let mut response = self.written(&refused);
        response.extensions_mut().insert(code);
        response
    }

    /// Refuses a request of which too little is known for a full report.
    #[cold]
    fn refuse_unseen(
        &self,
        code: Code,
        request_id: &RequestId,
        at: Timestamp,
        grpc: bool,
    ) -> Response<Bytes> {
        self.0.reporter.unseen(code, request_id);
        self.written(&Refused { code, decision: None, request_id, at, grpc })
    }

    /// The response of a refusal, with the request id: there may be no layer around this one to add it.
    fn written(&self, refused: &Refused<'_>) -> Response<Bytes> {
        let mut response = self.0.profile.refusal(refused);
        let name = refused.request_id.header_value();
        response.headers_mut().insert(self.0.request_id.clone(), name);
        response
    }

    /// Refuses because the policy is gone or must not decide: the engine was reloaded behind the gate.
    #[cold]
    fn lost(&self, asked: &Asked<'_>) -> Ruling {
        let class = asked.visit.endpoint.class.as_str();
        error!(
            class,
            "the policy of a class is gone, or guards no entrance although the class is one, so its \
             requests are refused; use Gate::reload"
        );
        self.refuse(asked, Code::Misconfigured, None)
    }

    #[cold]
    fn undecided(&self, asked: &Asked<'_>, error: &DecideError) -> Ruling {
        match error {
            DecideError::NothingApplies { .. } => {
                error!(%error, "a request could not be decided, and is refused");
                self.refuse(asked, Code::Misconfigured, None)
            }
            // The engine counts and reports these once a second: a line for each would be more load.
            DecideError::Overloaded => self.refuse(asked, Code::Overloaded, None),
        }
    }
}

/// The facts that are known of every request.
fn subject(visit: &Visit) -> Subject<'_> {
    let endpoint = &*visit.endpoint;
    Subject::new()
        .ip(visit.client)
        .class(endpoint.class.as_str())
        .with(Dimension::Route, endpoint.template.as_bytes())
}

/// The reason why a decision refuses; none if it does not.
fn code(decision: &Decision<'_>) -> Option<Code> {
    match (decision.verdict(), decision.mode()) {
        (Verdict::Admit | Verdict::Degrade, _) => None,
        // An outage says nothing about the client, so this is no refusal for what the client did.
        (_, Mode::FailClosed) => Some(Code::Unavailable),
        _ if is_degraded_for_long(decision) => Some(Code::EnforcementDegraded),
        _ => Some(Code::RateLimitExceeded),
    }
}

/// Whether a request has met the small budget that is left to reads of health and metadata while the
/// store fails, although it is no such read: by its method it may change something.
fn is_no_read_of_health(asked: &Asked<'_>, decision: &Decision<'_>) -> bool {
    decision.failsafe().is_some()
        && decision.policy().fallback() == Fallback::Health
        && !asked.method.is_some_and(Method::is_safe)
}

fn is_degraded_for_long(decision: &Decision<'_>) -> bool {
    decision.failsafe().is_some_and(|failsafe| failsafe.prolonged)
        && by_guardrails(decision.policy())
}

/// Whether local guardrails decide for a policy while its store fails, and may say so.
fn by_guardrails(policy: &Policy) -> bool {
    matches!(
        policy.fallback(),
        Fallback::Guarded | Fallback::Ceilings | Fallback::Health | Fallback::Spend
    )
}

fn speaks_grpc(headers: &HeaderMap) -> bool {
    let declared = headers.get(CONTENT_TYPE).map(http::HeaderValue::as_bytes);
    declared.is_some_and(|declared| declared.starts_with(b"application/grpc"))
}
