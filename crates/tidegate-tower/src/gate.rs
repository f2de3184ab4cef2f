//! The gate that all layers share: engine, routes, trusted proxies, profile of answers, and reporter.

mod receive;
mod rule;

use core::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use http::{Extensions, HeaderName};
use tidegate_core::{Clock, PolicyError, PolicySet, PolicySetBuilder, Store};
use tidegate_engine::{Engine, Observer, SystemClock};
use tracing::warn;

use crate::answer::{Listings, Profile};
use crate::client::Trust;
use crate::identity::Identity;
use crate::layer::{GateLayer, Side};
use crate::plan::{LimitSource, Plan};
use crate::report::{self, Reporter};
use crate::request_id::RequestId;
use crate::routes::{Class, Routes, Unfit};
use crate::visit::Peer;

pub(crate) use rule::{Passage, Ruling};

/// Decides HTTP requests: an engine, and everything around it. Clones are the same gate.
pub struct Gate<S>(pub(crate) Arc<Inner<S>>);

/// The parts of a gate before they are checked.
pub struct GateBuilder<S>(Inner<S>);

/// The parts of a gate.
pub(crate) struct Inner<S> {
    engine: Arc<Engine<S>>,
    routes: Routes,
    trust: Trust,
    pub(crate) profile: Profile,
    reporter: Reporter,
    source: Option<Box<dyn LimitSource>>,
    pub(crate) request_id: HeaderName,
    peer: fn(&Extensions) -> Option<IpAddr>,
    clock: Arc<dyn Clock>,
    handles: ArcSwap<Handles>,
}

/// Why a gate cannot be built, or why a reload leaves it as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// Routes and policies do not go together.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The policies themselves are invalid.
    #[error(transparent)]
    Policies(#[from] PolicyError),
}

/// The policies of each class, as indices into one set: names are looked up once for each reload.
struct Handles {
    set: Arc<PolicySet>,
    classes: Vec<Places>,
    /// The header values that are kept for each policy.
    listings: Vec<Listings>,
}

/// The indices of a class's policies. One is `None` if a reload behind the gate's back has removed the
/// policy, or has left an entrance to a policy that guards none.
#[derive(Clone, Copy)]
struct Places {
    early: Option<usize>,
    org: Option<usize>,
    /// Whether the early policy may have the last word about requests without an identity.
    early_suffices: bool,
}

// === impl Gate ===

impl<S: Store> Gate<S> {
    /// Begins a gate for these routes.
    #[must_use]
    pub fn builder(engine: Arc<Engine<S>>, routes: Routes) -> GateBuilder<S> {
        let handles = Handles::of(&engine.policies(), &routes.classes);
        GateBuilder(Inner {
            engine,
            routes,
            trust: Trust::default(),
            profile: Profile::default(),
            reporter: Reporter::default(),
            source: None,
            request_id: RequestId::HEADER,
            peer: |extensions| extensions.get::<Peer>().map(|peer| peer.0.ip()),
            clock: Arc::new(SystemClock::new()),
            handles: ArcSwap::from_pointee(handles),
        })
    }

    /// The layer that stands before authentication.
    #[must_use]
    pub fn early(&self) -> GateLayer<S> {
        GateLayer { gate: self.clone(), side: Side::Early }
    }

    /// The layer that stands behind authentication.
    #[must_use]
    pub fn org(&self) -> GateLayer<S> {
        GateLayer { gate: self.clone(), side: Side::Org }
    }

    /// The engine that decides.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine<S>> {
        &self.0.engine
    }

    /// The reporter that receives this gate's log lines, metrics and audit records.
    #[must_use]
    pub fn reporter(&self) -> &Reporter {
        &self.0.reporter
    }

    /// Puts other policies in force if they go together with the routes. Otherwise the present ones
    /// stay.
    ///
    /// # Errors
    ///
    /// If the policies are invalid, or do not go together with the routes.
    pub fn reload(&self, policies: &PolicySetBuilder) -> Result<(), GateError> {
        let present = self.0.engine.policies();
        self.0.routes.check(&policies.clone().build(Some(&present))?)?;
        Ok(self.0.engine.reload(policies)?)
    }

    fn handles(&self) -> Guard<Arc<Handles>> {
        let present = self.0.handles.load();
        let set = self.0.engine.policies();
        if Arc::ptr_eq(&present.set, &set) { present } else { self.renew(&set) }
    }

    /// Looks up the policies of all classes again, after the set was swapped.
    #[cold]
    fn renew(&self, set: &Arc<PolicySet>) -> Guard<Arc<Handles>> {
        let next = Arc::new(Handles::of(set, &self.0.routes.classes));
        self.0.handles.store(Arc::clone(&next));
        Guard::from_inner(next)
    }

    /// The plan of a caller, if a source knows one. Numbers that the policies in force do not know yet
    /// are taught to them first.
    fn plan(&self, identity: &Identity) -> Option<Plan> {
        let plan = self.0.source.as_ref()?.plan(identity)?;
        if !plan.numbers().is_empty() && !self.0.engine.policies().knows_plan(plan.name()) {
            self.teach(&plan);
        }
        Some(plan)
    }

    /// Teaches the policies the numbers of a plan: once for each set of numbers and reload. If they
    /// cannot be learnt, the usual numbers stay in force.
    #[cold]
    fn teach(&self, plan: &Plan) {
        if let Err(error) = self.0.engine.learn(plan.name(), plan.numbers()) {
            warn!(%error, "the numbers of a plan could not be loaded, so the usual numbers apply");
        }
    }
}

impl<S> Clone for Gate<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> fmt::Debug for Gate<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("routes", &self.0.routes).finish_non_exhaustive()
    }
}

// === impl GateBuilder ===

impl<S: Store> GateBuilder<S> {
    /// Sets the proxies that are believed about where a request came from; none unless this is called.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.0.trust = trust;
        self
    }

    /// Sets how clients are answered: which header fields, which body.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.0.profile = profile;
        self
    }

    /// Sets the reporter that receives log lines, metrics and audit records.
    #[must_use]
    pub fn reporter(mut self, reporter: Reporter) -> Self {
        self.0.reporter = reporter;
        self
    }

    /// Sets the source of callers' plans; without one, all numbers come from the policies.
    #[must_use]
    pub fn limits_from(mut self, source: impl LimitSource + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// Sets the header field of the request id; `x-request-id` unless this is called.
    #[must_use]
    pub fn request_id(mut self, header: HeaderName) -> Self {
        self.0.request_id = header;
        self
    }

    /// Sets where the peer's address is found; in [`Peer`] unless this is called. Never take it from a
    /// header: that is what [`trust`](Self::trust) is for.
    #[must_use]
    pub fn peer(mut self, find: fn(&Extensions) -> Option<IpAddr>) -> Self {
        self.0.peer = find;
        self
    }

    /// Sets the clock that tells the time.
    #[must_use]
    pub fn timed_by(mut self, clock: Arc<dyn Clock>) -> Self {
        self.0.clock = clock;
        self
    }

    /// Checks that routes and policies go together, and builds the gate. If the store can fail and no
    /// observer was named ([`Engine::signalled_to`]), how policies stand with it is logged from now on.
    ///
    /// # Errors
    ///
    /// If a request could be without a limit, or meet one that it shares with other organisations, or
    /// if an outage of the store could open an entrance.
    pub fn build(self) -> Result<Gate<S>, GateError> {
        self.0.routes.check(&self.0.engine.policies())?;
        if S::FALLIBLE {
            let told: Vec<Box<dyn Observer>> = vec![Box::new(report::signals::log)];
            if let Err(error) = self.0.engine.signalled_by_default_to(told) {
                warn!(%error, "changes of failure modes are not logged: no thread can be started");
            }
        }
        Ok(Gate(Arc::new(self.0)))
    }
}

impl<S> fmt::Debug for GateBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateBuilder").field("routes", &self.0.routes).finish_non_exhaustive()
    }
}

// === impl Handles ===

impl Handles {
    fn of(set: &Arc<PolicySet>, classes: &[Class]) -> Self {
        let places = classes.iter().map(|class| {
            let may_decide = |place: &usize| class.check_entrance(&set.policies()[*place]).is_ok();
            let early = set.place(class.early.as_str());
            let early_suffices = early.as_ref().is_some_and(may_decide);
            let org = class.policy.as_ref().and_then(|policy| set.place(policy.as_str()));
            Places {
                early: early.filter(|_| early_suffices || class.policy.is_some()),
                org: org.filter(may_decide),
                early_suffices,
            }
        });
        let listings = set.policies().iter().map(|_| Listings::default()).collect();
        Self { set: Arc::clone(set), classes: places.collect(), listings }
    }
}
