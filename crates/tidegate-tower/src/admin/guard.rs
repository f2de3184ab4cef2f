//! The check of the admin token: a request with the right token always gets in.
//!
//! A guard that stops listening after some wrong tokens is a weapon: whoever can send from an operator's
//! address, or from enough addresses, keeps the operator out while an attack is on. So the token is
//! compared first, in constant time, and the right one gets in whatever has come before it. What makes
//! guessing hopeless is the length of the token ([`AdminToken::SHORTEST`]), not the patience of the
//! guard.
//!
//! Wrong tokens are counted all the same, by the address of the peer and in total, with the same windows
//! that limits use. While both counts have room, a wrong token is answered with 401 and logged; after
//! that it is answered with 429 and not logged, so that guessing cannot fill a disk. The peer is the
//! address of the connection, whatever headers say. A request without a token is no guess and is not
//! counted.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use http::{HeaderMap, Response};
use tidegate_core::{Cost, Counts, Prefix, Room, ShapeError, Span, Timestamp, Window, WindowState};

use super::token::AdminToken;
use crate::answer::Code;

/// The guard of the admin listener: it refuses requests without the right token.
pub struct AdminGuard {
    token: AdminToken,
    /// Wrong tokens of one address that are answered with 401 and logged.
    of_one: Window,
    /// Wrong tokens of all addresses together that are answered with 401 and logged.
    of_all: Window,
    /// The counts of wrong tokens, locked from reading them until they are changed, so that guesses that
    /// come at the same time are all counted.
    wrong: Mutex<Wrong>,
}

/// The wrong tokens of the last minute.
#[derive(Default)]
struct Wrong {
    by_peer: HashMap<Prefix, WindowState>,
    total: Option<WindowState>,
}

/// Why a request to the admin listener is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRefusal {
    /// The request does not have exactly one bearer token.
    Missing,
    /// The token is wrong.
    Wrong,
    /// The token is wrong, and so were too many others; with the time until the next one is counted.
    TooMany(Span),
}

/// The most wrong tokens of one address that are counted in any minute.
const MOST_WRONG: u64 = 10;

/// The most wrong tokens of all addresses together that are counted in any minute.
const MOST_WRONG_IN_TOTAL: u64 = 60;

/// The most addresses that have a count of their own. Each of them has sent a wrong token within the
/// minute, and [`MOST_WRONG_IN_TOTAL`] bounds those, so there is room for all unless the clock goes back.
const MOST_PEERS: usize = 64;

const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"tidegate admin\"");

// === impl AdminGuard ===

impl AdminGuard {
    /// A guard that lets in requests with this token.
    ///
    /// # Errors
    ///
    /// Never: the numbers of both windows are constants.
    pub fn try_new(token: AdminToken) -> Result<Self, ShapeError> {
        let rule = |most| Window::try_new(most, Span::MINUTE, Counts::Admitted);
        let (of_one, of_all) = (rule(MOST_WRONG)?, rule(MOST_WRONG_IN_TOTAL)?);
        Ok(Self { token, of_one, of_all, wrong: Mutex::default() })
    }

    /// Lets a request with the right token in. Any other is refused; a wrong token is counted, and logged
    /// while its counts have room.
    ///
    /// # Errors
    ///
    /// If the request does not have the right token.
    pub fn admit(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<(), TokenRefusal> {
        let presented = bearer(headers).ok_or(TokenRefusal::Missing)?;
        // Compared before anything is looked up or waited for: no history keeps the right token out.
        if self.token.is(presented) {
            return Ok(());
        }
        let refusal = self.count_wrong(Prefix::of(peer), now);
        if refusal == TokenRefusal::Wrong {
            tracing::warn!(%peer, "a request to the admin listener had a wrong token");
        }
        Err(refusal)
    }

    /// Counts a wrong token, unless the count of its address or the total is full.
    fn count_wrong(&self, peer: Prefix, now: Timestamp) -> TokenRefusal {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = wrong.by_peer.get(&peer);
        let rooms = [
            self.of_one.room(of_one, Cost::ONE, now),
            self.of_all.room(wrong.total.as_ref(), Cost::ONE, now),
        ];
        for room in rooms {
            match room {
                Room::Now => {}
                Room::After(wait) => return TokenRefusal::TooMany(wait),
                Room::Never => return TokenRefusal::TooMany(Span::MINUTE),
            }
        }
        let (of_one, _) = self.of_one.take(of_one, Cost::ONE, now);
        let (total, _) = self.of_all.take(wrong.total.as_ref(), Cost::ONE, now);
        wrong.total = Some(total);
        wrong.keep(peer, of_one, &self.of_one, now);
        TokenRefusal::Wrong
    }
}

/// The token of a request, if it has exactly one.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let (Some(field), None) = (fields.next(), fields.next()) else { return None };
    let (scheme, token) = field.as_bytes().split_at_checked(b"bearer ".len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

// === impl Wrong ===

impl Wrong {
    /// Stores the count of an address. If there are too many, those that have run out make room for it.
    fn keep(&mut self, peer: Prefix, count: WindowState, rule: &Window, now: Timestamp) {
        if !self.by_peer.contains_key(&peer) && self.by_peer.len() >= MOST_PEERS {
            self.by_peer.retain(|_, count| now < rule.fresh_at(count));
            if self.by_peer.len() >= MOST_PEERS {
                // No room: this wrong token is counted in the total alone.
                return;
            }
        }
        self.by_peer.insert(peer, count);
    }
}

// === impl TokenRefusal ===

impl TokenRefusal {
    /// The response to the refused request.
    #[cold]
    #[must_use]
    pub fn response(self) -> Response<Bytes> {
        let unauthorized = Code::AuthenticationRequired;
        let problem = match self {
            Self::Missing => {
                unauthorized.problem("send `authorization: Bearer` and the admin token")
            }
            Self::Wrong => unauthorized.problem("this is not the admin token"),
            Self::TooMany(wait) => Code::RateLimitExceeded
                .problem(
                    "this is not the admin token, and too many wrong ones came within a minute; the \
                     right one is admitted at any time",
                )
                .retry_after(wait),
        };
        let mut response = problem.response();
        if problem.code() == unauthorized {
            response.headers_mut().insert(WWW_AUTHENTICATE, CHALLENGE);
        }
        response
    }
}

#[cfg(test)]
mod tests;
