//! The identities that tokens stand for.

use std::collections::HashMap;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};
use tidegate_tower::Identity;

/// Tokens, kept by their hashes: reading the memory or timing the search reveals none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens(HashMap<[u8; 32], Identity>);

/// What a request says about who sends it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BearerClaim<'a> {
    /// The request says nothing.
    Nobody,
    /// The request has this bearer token.
    Bearer(&'a [u8]),
    /// The request cannot be understood: of two tokens, nobody knows which one counts.
    Unclear,
}

// === impl Tokens ===

impl Tokens {
    /// The tokens of three people and a service, in two organisations.
    pub(crate) fn example() -> Self {
        let ada = Identity::new("acme").user("ada").roles(["admin"]).scopes([
            "reports:read",
            "reports:write",
            "reports:export",
            "users:delete",
        ]);
        let bob = Identity::new("acme").user("bob").token("tok-3").scopes(["reports:read"]);
        let robot = Identity::new("acme").token("svc-1");
        let cleo = Identity::new("globex").user("cleo").token("tok-1");
        let both = ["reports:read", "reports:export"];
        Self::default()
            .with("ada-laptop", ada.clone().token("tok-1"))
            // The same person with a newer token: a rotated token starts its own bucket.
            .with("ada-rotated", ada.token("tok-2"))
            .with("bob-laptop", bob)
            // A service has no user, and so a budget of its own.
            .with("acme-robot", robot.scopes(both))
            // The same token id as Ada's, in another organisation.
            .with("cleo-laptop", cleo.scopes(["reports:read", "reports:write", "reports:export"]))
    }

    pub(crate) fn with(mut self, secret: &str, identity: Identity) -> Self {
        self.0.insert(hash(secret.as_bytes()), identity);
        self
    }

    pub(crate) fn find(&self, secret: &[u8]) -> Option<&Identity> {
        self.0.get(&hash(secret))
    }
}

fn hash(secret: &[u8]) -> [u8; 32] {
    Sha256::digest(secret).into()
}

// === impl BearerClaim ===

impl<'a> BearerClaim<'a> {
    pub(crate) fn of(headers: &'a HeaderMap) -> Self {
        let mut claims = headers.get_all(AUTHORIZATION).iter();
        match (claims.next(), claims.next()) {
            (None, _) => Self::Nobody,
            (Some(claim), None) => {
                claim.as_bytes().strip_prefix(b"Bearer ").map_or(Self::Unclear, Self::Bearer)
            }
            _ => Self::Unclear,
        }
    }
}
