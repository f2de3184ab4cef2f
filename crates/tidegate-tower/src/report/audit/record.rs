//! One record of the audit.

use serde::{Serialize, Serializer};
use tidegate_core::{Decision, Name, Prefix, Timestamp};

use super::pending::AuditEvent;
use crate::report::Ruled;
use crate::report::escape::escaped;

/// The kind of event that a record tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A known caller was refused many times in a row.
    RepeatedThrottling,
    /// An address was refused at an entrance, such as a login.
    AddressBlocked,
}

tidegate_core::names!(RecordKind {
    RepeatedThrottling: "repeated_throttling",
    AddressBlocked: "address_blocked"
});

/// One record of the audit. It describes the first of the events it stands for; text that a client can
/// choose is escaped and cut as in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditRecord {
    /// The kind of event.
    pub kind: RecordKind,
    /// When the first event was decided, by the clock of the store.
    #[serde(serialize_with = "time")]
    pub at: Timestamp,
    /// The id of the organisation.
    pub org_id: Option<Box<str>>,
    /// The id of the actor: the user, or else the token.
    pub actor_id: Option<Box<str>>,
    /// The public id of the token.
    pub token_id: Option<Box<str>>,
    /// The id of the request.
    pub request_id: Option<Box<str>>,
    /// The trace that the request belongs to, or else its own id.
    pub correlation_id: Option<Box<str>>,
    /// The endpoint class.
    #[serde(serialize_with = "name")]
    pub endpoint_class: Option<Name>,
    /// The template of the route.
    pub route: Option<Box<str>>,
    /// The policy that decided.
    #[serde(serialize_with = "name")]
    pub policy: Option<Name>,
    /// The limit that decided.
    #[serde(serialize_with = "name")]
    pub limit: Option<Name>,
    /// The prefix of the client's address, if an address was refused.
    pub client: Option<Box<str>>,
    /// Refusals of the actor in a row, up to the last of these events.
    pub run: Option<u64>,
    /// Whether this record stands for several actors or addresses, because there were too many.
    pub other: bool,
    /// How many events this record stands for.
    pub count: u64,
    /// When the first of these events was decided.
    #[serde(serialize_with = "time")]
    pub first_at: Timestamp,
    /// When the last of these events was decided.
    #[serde(serialize_with = "time")]
    pub last_at: Timestamp,
}

// === impl AuditRecord ===

impl AuditRecord {
    /// The record of one event.
    pub(super) fn of(event: &AuditEvent, ruled: &Ruled<'_>) -> Self {
        let (visit, identity, decision) = (ruled.visit, ruled.identity, ruled.decision);
        let binding = decision.as_ref().and_then(Decision::binding);
        let shown = |text: &str| Some(Box::from(&*escaped(text)));
        let client = || Prefix::of(visit.client).to_string().into_boxed_str();
        Self {
            org_id: identity.and_then(|identity| shown(identity.org_id())),
            actor_id: identity.and_then(|identity| shown(identity.actor_id()?)),
            token_id: identity.and_then(|identity| shown(identity.token_id()?)),
            request_id: shown(visit.request_id.as_str()),
            correlation_id: shown(&visit.correlation_id()),
            endpoint_class: Some(visit.endpoint.class.clone()),
            route: shown(&visit.endpoint.template),
            policy: decision.map(|decision| decision.policy().name().clone()),
            limit: binding.map(|binding| binding.limit.name().clone()),
            client: (event.kind == RecordKind::AddressBlocked).then(client),
            run: (event.kind == RecordKind::RepeatedThrottling).then_some(event.run),
            other: false,
            ..Self::other(event.kind, event.at)
        }
    }

    /// A record that stands for all events for which there is no room.
    pub(super) const fn other(kind: RecordKind, at: Timestamp) -> Self {
        Self {
            kind,
            at,
            org_id: None,
            actor_id: None,
            token_id: None,
            request_id: None,
            correlation_id: None,
            endpoint_class: None,
            route: None,
            policy: None,
            limit: None,
            client: None,
            run: None,
            other: true,
            count: 0,
            first_at: at,
            last_at: at,
        }
    }

    /// Adds further events to this record, by their number and the times of the first and the last.
    pub(super) fn absorb(&mut self, count: u64, first_at: Timestamp, last_at: Timestamp) {
        self.count = self.count.saturating_add(count);
        self.first_at = self.first_at.min(first_at);
        self.last_at = self.last_at.max(last_at);
    }
}

fn time<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(at.rfc3339().as_str())
}

fn name<S: Serializer>(name: &Option<Name>, serializer: S) -> Result<S::Ok, S::Error> {
    name.as_ref().map(Name::as_str).serialize(serializer)
}
