//! One ruling: may this request pass?

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Response};
use tidegate_core::{
    Case, Decision, Dimension, Fallback, Policy, Span, Store, Subject, Timestamp, Verdict,
};
use tidegate_engine::DecideError;
use tracing::error;

use super::{Gate, Places, receive};
use crate::answer::{Code, Figures, Listings, Refused};
use crate::identity::Identity;
use crate::layer::Side;
use crate::outcome::PendingCharge;
use crate::report::{Ruled, RulingStage};
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
    pub(crate) pending: Option<PendingCharge>,
    /// Whether the request passes with a lower quality of service.
    pub(crate) degraded: bool,
    /// The request id, if the early layer has to write it into the response.
    pub(crate) name: Option<RequestId>,
    /// Whether no other layer of the gate is around this one, so that this one writes the header fields.
    pub(crate) outermost: bool,
}

/// One request or job that a policy is asked about.
pub(super) struct RulingRequest<'a> {
    pub(super) stage: RulingStage,
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
        let seen = match side {
            Side::Early => None,
            Side::Org => head.extensions.get::<Visit>().cloned(),
        };
        let since = seen.is_some().then(|| self.0.clock.now());
        let visit = match seen.map_or_else(|| self.receive(head, side), Ok) {
            Ok(visit) => visit,
            Err(response) => return Ruling::Refuse(response),
        };
        let (stage, identity) = match side {
            Side::Early => (RulingStage::Early, None),
            Side::Org => (RulingStage::Org, head.extensions.get::<Identity>()),
        };
        let (method, since) = (Some(&head.method), since.unwrap_or(visit.at));
        let grpc = receive::speaks_grpc(&head.headers);
        let asked = RulingRequest { stage, visit: &visit, identity, method, grpc, since };
        let subject = || subject(&visit).agent(receive::agent(&head.headers));
        match (side, identity) {
            (Side::Early, _) => self.rule(&asked, subject(), |places| places.early).await,
            (Side::Org, None) => self.rule_unknown(&asked),
            (Side::Org, Some(identity)) => {
                self.rule_known(&asked, identity, identity.describe(subject())).await
            }
        }
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
        let (stage, grpc, since) = (RulingStage::Enqueue, false, self.0.clock.now());
        let (asker, method) = (Some(identity), None);
        let asked = RulingRequest { stage, visit: &visit, identity: asker, method, grpc, since };
        if declared.is_none() {
            error!(job, "a job that was not declared is not enqueued; declare it with its class");
            return self.refuse(&asked, Code::Misconfigured, None);
        }
        self.rule_known(&asked, identity, identity.describe(subject(&visit))).await
    }

    /// Rules on a request of a known caller: the scope first, then what the caller has left.
    async fn rule_known(
        &self,
        asked: &RulingRequest<'_>,
        identity: &Identity,
        subject: Subject<'_>,
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
        let (plan, mut subject) = (self.plan(identity), subject);
        if let Some(plan) = &plan {
            subject = subject.plan(plan.name());
        }
        self.rule(asked, subject, |places| places.org).await
    }

    /// Refuses a request that lacks a scope. Only limits that count such refusals are charged; a caller
    /// that is past one of them is told to wait instead.
    #[cold]
    async fn rule_unauthorised(&self, asked: &RulingRequest<'_>, subject: Subject<'_>) -> Ruling {
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
                    if let Some(code) = Code::of(&decision) {
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
    fn rule_unknown(&self, asked: &RulingRequest<'_>) -> Ruling {
        let endpoint = &asked.visit.endpoint;
        if endpoint.scope.is_some() || !self.handles().classes[endpoint.place].early_suffices {
            return self.refuse(asked, Code::AuthenticationRequired, None);
        }
        self.pass_after_early(asked)
    }

    /// Lets a request pass that only the early layer decides about; refuses it if there was none.
    fn pass_after_early(&self, asked: &RulingRequest<'_>) -> Ruling {
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
        asked: &RulingRequest<'_>,
        subject: Subject<'_>,
        place: impl Fn(Places) -> Option<usize>,
    ) -> Ruling {
        let (handles, endpoint) = (self.handles(), &asked.visit.endpoint);
        let place = place(handles.classes[endpoint.place]);
        let known =
            |place: usize| Some((handles.set.policies().get(place)?, handles.listings.get(place)?));
        let Some((policy, listings)) = place.and_then(known) else { return self.lost(asked) };
        let mut case = Case::new(policy, &subject).weighing(endpoint.cost);
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
        asked: &RulingRequest<'_>,
        decision: &Decision<'_>,
        listings: &Listings,
        took: Span,
    ) -> Ruling {
        let spared = S::FALLIBLE && is_no_read_of_health(asked, decision);
        let code = if spared { Some(Code::Unavailable) } else { Code::of(decision) };
        self.report(asked, Some(*decision), code, took);
        if let Some(code) = code {
            // What is left of a budget that is not for this request is not told to its client.
            let decision = (!spared).then_some(*decision);
            return self.refusal(asked, code, decision);
        }
        let RulingRequest { stage, visit, .. } = *asked;
        Ruling::Pass(Passage {
            figures: Some(Figures::of(decision, Some(listings))),
            pending: PendingCharge::of(&self.0.engine, decision),
            degraded: decision.verdict() == Verdict::Degrade,
            name: (stage == RulingStage::Early).then(|| visit.request_id.clone()),
            outermost: stage == RulingStage::Early || !visit.was_early,
        })
    }

    /// Refuses a request without asking its limits, and reports it. There is a decision only if a limit
    /// that counts refusals was asked.
    #[cold]
    fn refuse(
        &self,
        asked: &RulingRequest<'_>,
        code: Code,
        decision: Option<Decision<'_>>,
    ) -> Ruling {
        self.report(asked, decision, Some(code), Span::ZERO);
        self.refusal(asked, code, decision)
    }

    #[inline]
    fn report(
        &self,
        asked: &RulingRequest<'_>,
        decision: Option<Decision<'_>>,
        code: Option<Code>,
        took: Span,
    ) {
        let RulingRequest { stage, visit, identity, since: began, .. } = *asked;
        self.0.reporter.ruled(&Ruled { stage, visit, identity, decision, code, began, took });
    }

    fn refusal(
        &self,
        asked: &RulingRequest<'_>,
        code: Code,
        decision: Option<Decision<'_>>,
    ) -> Ruling {
        let at = decision.map_or(asked.visit.at, |decision| decision.decided_at());
        let refused = Refused::new(code, &asked.visit.request_id, at);
        let mut response = self.written(&Refused { decision, grpc: asked.grpc, ..refused });
        response.extensions_mut().insert(code);
        Ruling::Refuse(Box::new(response))
    }

    /// Refuses a request of which too little is known for a full report.
    #[cold]
    pub(super) fn refuse_unseen(&self, refused: &Refused<'_>) -> Box<Response<Bytes>> {
        self.0.reporter.unseen(refused.code, refused.request_id);
        Box::new(self.written(refused))
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
    fn lost(&self, asked: &RulingRequest<'_>) -> Ruling {
        let class = asked.visit.endpoint.class.as_str();
        error!(
            class,
            "the policy of a class is gone, or guards no entrance although the class is one, so its \
             requests are refused; use Gate::reload"
        );
        self.refuse(asked, Code::Misconfigured, None)
    }

    #[cold]
    fn undecided(&self, asked: &RulingRequest<'_>, error: &DecideError) -> Ruling {
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

/// Whether a request has met the small budget that is left to reads of health and metadata while the
/// store fails, although it is no such read: by its method it may change something.
fn is_no_read_of_health(asked: &RulingRequest<'_>, decision: &Decision<'_>) -> bool {
    decision.failsafe().is_some()
        && decision.policy().fallback() == Fallback::Health
        && !asked.method.is_some_and(Method::is_safe)
}
