//! Who may use the admin listener: whoever presents the token, always.
//!
//! A guard that stops listening after some wrong tokens is a weapon: whoever can send from an operator's
//! address, or from enough addresses, keeps the operator out while an attack is on. So the token is
//! compared first, in constant time, and the right one gets in whatever has come before it. What makes
//! guessing hopeless is the length of the token ([`AdminToken::SHORTEST`]), not the patience of the guard.
//!
//! Wrong tokens are counted all the same, by the address of the peer and in total, with the rule of a
//! window that limits are made of. Within both counts a wrong token is answered with 401 and logged;
//! beyond either it is answered with 429 and not logged, so that guessing cannot fill a disk. No header
//! says who the peer is. A request without a token is no guess and is not counted.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use tidegate_core::{Cost, Counts, Prefix, Room, ShapeError, Span, Timestamp, Window, WindowState};

use super::token::AdminToken;
use crate::answer::{self, Answer};
use crate::metrics::{HeadRefusal, HeadRefusals};
use crate::problem::Kind;

/// Stands before the admin listener.
pub(crate) struct Guard {
    token: AdminToken,
    /// Wrong tokens of one address that are answered with 401 and logged.
    of_one: Window,
    /// Wrong tokens of all addresses together that are.
    of_all: Window,
    /// Held from the look at the counts to their change, so that guesses at once are all counted.
    wrong: Mutex<Wrong>,
}

/// The wrong tokens of the last minute.
#[derive(Default)]
struct Wrong {
    by_peer: HashMap<Prefix, WindowState>,
    total: Option<WindowState>,
}

/// Why a request may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// It has no token, or two.
    Missing,
    /// Its token is not the right one.
    Wrong,
    /// Its token is not the right one, and neither were too many others; how long they count.
    TooMany(Span),
}

/// Wrong tokens of one address, in any minute.
const MOST_WRONG: u64 = 10;

/// Wrong tokens of all addresses, in any minute.
const MOST_WRONG_IN_TOTAL: u64 = 60;

/// Addresses that are counted each by itself. Every one of them has had a wrong token within the minute,
/// and the total bounds those, so there is a place for each as long as time does not go back.
const MOST_PEERS: usize = 64;

const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"tidegate admin\"");

// === impl Guard ===

impl Guard {
    /// # Errors
    ///
    /// Never: its numbers are constants.
    pub(crate) fn try_new(token: AdminToken) -> Result<Self, ShapeError> {
        let rule = |most| Window::try_new(most, Span::MINUTE, Counts::Admitted);
        let (of_one, of_all) = (rule(MOST_WRONG)?, rule(MOST_WRONG_IN_TOTAL)?);
        Ok(Self { token, of_one, of_all, wrong: Mutex::default() })
    }

    /// The answer to a request that may not; `None` to one that may.
    pub(crate) fn refuse(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        now: Timestamp,
        refusals: &HeadRefusals,
    ) -> Option<Answer> {
        let refusal = self.admit(peer, headers, now).err()?;
        if refusal != Refusal::Missing {
            refusals.count(HeadRefusal::WrongToken);
        }
        if refusal == Refusal::Wrong {
            tracing::warn!(%peer, "a request to the admin listener had a wrong token");
        }
        Some(refusal.answer())
    }

    fn admit(&self, peer: IpAddr, headers: &HeaderMap, now: Timestamp) -> Result<(), Refusal> {
        let presented = bearer(headers).ok_or(Refusal::Missing)?;
        // Before anything is looked up or waited for: no history keeps the right token out.
        if self.token.is(presented) {
            return Ok(());
        }
        Err(self.count_wrong(Prefix::of(peer), now))
    }

    /// Counts a wrong token, unless one of the counts is full.
    fn count_wrong(&self, peer: Prefix, now: Timestamp) -> Refusal {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = wrong.by_peer.get(&peer);
        let rooms = [
            self.of_one.room(of_one, Cost::ONE, now),
            self.of_all.room(wrong.total.as_ref(), Cost::ONE, now),
        ];
        for room in rooms {
            match room {
                Room::Now => {}
                Room::After(wait) => return Refusal::TooMany(wait),
                Room::Never => return Refusal::TooMany(Span::MINUTE),
            }
        }
        let (of_one, _) = self.of_one.take(of_one, Cost::ONE, now);
        let (total, _) = self.of_all.take(wrong.total.as_ref(), Cost::ONE, now);
        wrong.total = Some(total);
        wrong.keep(peer, of_one, &self.of_one, now);
        Refusal::Wrong
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
    /// Keeps the count of an address, in the place of one that counts no more if there are too many.
    fn keep(&mut self, peer: Prefix, count: WindowState, rule: &Window, now: Timestamp) {
        if !self.by_peer.contains_key(&peer) && self.by_peer.len() >= MOST_PEERS {
            self.by_peer.retain(|_, count| now < rule.fresh_at(count));
            if self.by_peer.len() >= MOST_PEERS {
                // In the total it is counted.
                return;
            }
        }
        self.by_peer.insert(peer, count);
    }
}

// === impl Refusal ===

impl Refusal {
    #[cold]
    fn answer(self) -> Answer {
        let problem = match self {
            Self::Missing => Kind::Unauthorized
                .problem("send `authorization: Bearer` and the admin token"),
            Self::Wrong => Kind::Unauthorized.problem("this is not the admin token"),
            Self::TooMany(_) => Kind::TooManyRequests.problem(
                "this is not the admin token, and too many wrong ones came within a minute; the right \
                 one is admitted at any time",
            ),
        };
        let mut refusal = answer::problem(&problem);
        match self {
            Self::Missing | Self::Wrong => {
                refusal.headers_mut().insert(WWW_AUTHENTICATE, CHALLENGE);
            }
            Self::TooMany(wait) => answer::retry_after(&mut refusal, wait),
        }
        refusal
    }
}

#[cfg(test)]
mod tests;
