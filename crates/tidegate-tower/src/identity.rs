//! Who asks, once authentication has found out.

use std::sync::Arc;

use tidegate_core::Subject;

/// The caller, as the host's authentication has found it out and vouches for it. The host puts it into
/// the request's extensions, between the two layers.
///
/// Ids are public names of things, never secrets: they appear in keys, logs and audit records. A token
/// is named by its id, so that a rotated one starts its own bucket.
///
/// ```
/// use tidegate_tower::Identity;
///
/// let identity = Identity::new("acme").user("u7").token("tok_3").scopes(["reports:read"]);
/// assert!(identity.may("reports:read"));
/// assert!(!identity.may("reports:write"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity(Arc<Known>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    org: Box<str>,
    user: Option<Box<str>>,
    token: Option<Box<str>>,
    roles: Vec<Box<str>>,
    scopes: Vec<Box<str>>,
}

// === impl Identity ===

impl Identity {
    /// An identity of this organisation.
    #[must_use]
    pub fn new(org: impl Into<Box<str>>) -> Self {
        Self(Arc::new(Known { org: org.into(), ..Known::default() }))
    }

    /// Sets the user, if a person or somebody acting for one asks.
    #[must_use]
    pub fn user(mut self, id: impl Into<Box<str>>) -> Self {
        Arc::make_mut(&mut self.0).user = Some(id.into());
        self
    }

    /// Sets the token or API key, by its public id. A service credential has a token and no user.
    #[must_use]
    pub fn token(mut self, id: impl Into<Box<str>>) -> Self {
        Arc::make_mut(&mut self.0).token = Some(id.into());
        self
    }

    /// Sets the roles, for the host's own use.
    #[must_use]
    pub fn roles<T: Into<Box<str>>>(mut self, roles: impl IntoIterator<Item = T>) -> Self {
        Arc::make_mut(&mut self.0).roles = roles.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the scopes that were granted.
    #[must_use]
    pub fn scopes<T: Into<Box<str>>>(mut self, scopes: impl IntoIterator<Item = T>) -> Self {
        Arc::make_mut(&mut self.0).scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// The id of the organisation.
    #[must_use]
    pub fn org_id(&self) -> &str {
        &self.0.org
    }

    /// The id of the user, if one is known.
    #[must_use]
    pub fn user_id(&self) -> Option<&str> {
        self.0.user.as_deref()
    }

    /// The public id of the token, if there is one.
    #[must_use]
    pub fn token_id(&self) -> Option<&str> {
        self.0.token.as_deref()
    }

    /// The id of the actor: the user, or else the token.
    #[must_use]
    pub fn actor_id(&self) -> Option<&str> {
        self.user_id().or(self.token_id())
    }

    /// Whether this role was given.
    #[must_use]
    pub fn has_role(&self, role: &str) -> bool {
        self.0.roles.iter().any(|given| **given == *role)
    }

    /// Whether this scope was granted.
    #[must_use]
    pub fn may(&self, scope: &str) -> bool {
        self.0.scopes.iter().any(|granted| **granted == *scope)
    }

    /// Adds the facts of this identity to a subject.
    pub(crate) fn describe<'a>(&'a self, subject: Subject<'a>) -> Subject<'a> {
        let known = &*self.0;
        let subject = subject.org(&*known.org);
        let subject = known.user.iter().fold(subject, |subject, id| subject.user(&**id));
        known.token.iter().fold(subject, |subject, id| subject.token(&**id))
    }
}
