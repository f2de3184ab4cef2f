//! The admin listener: it lists, sets and lifts blocks, resets counters, and shows what an organisation
//! has left of its quotas.
//!
//! It is a listener of its own and not a path on the other one: whoever may ask for decisions must not
//! thereby be able to lift a block, and a proxy that forwards too much must not reach it (threat T43).
//! Without a token there is no such listener, and the only token is the one that was handed in.
//! Connections have the same bounds as elsewhere, and pages in browsers are refused as elsewhere; beyond
//! that, anybody who knows the token is trusted.

pub(crate) mod answers;
mod guard;
mod quotas;
pub(crate) mod requests;
mod token;
mod verbs;

pub(crate) use guard::Guard;
pub(crate) use quotas::quotas;
pub use token::{AdminToken, AdminTokenError};
pub(crate) use verbs::{block, blocks, reset, unblock};

use http::Method;

/// The endpoint of the admin listener that a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdminRoute {
    Blocks,
    Block,
    Unblock,
    Reset,
    Quotas,
}

// === impl AdminRoute ===

impl AdminRoute {
    const ALL: [Self; 5] = [Self::Blocks, Self::Block, Self::Unblock, Self::Reset, Self::Quotas];

    /// The route of a path, compared byte by byte.
    pub(crate) fn of(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|route| route.path() == path)
    }

    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Blocks => "/admin/blocks",
            Self::Block => "/admin/block",
            Self::Unblock => "/admin/unblock",
            Self::Reset => "/admin/reset",
            Self::Quotas => "/admin/quotas",
        }
    }

    /// The methods that this endpoint answers, as the header `Allow` lists them.
    pub(crate) const fn methods(self) -> &'static str {
        match self {
            Self::Blocks | Self::Quotas => "GET, HEAD",
            Self::Block | Self::Unblock | Self::Reset => "POST",
        }
    }

    /// Whether this endpoint answers `method`.
    pub(crate) fn answers(self, method: &Method) -> bool {
        match self {
            Self::Blocks | Self::Quotas => method == Method::GET || method == Method::HEAD,
            Self::Block | Self::Unblock | Self::Reset => method == Method::POST,
        }
    }
}
