//! Who may: those who know the token, and nobody who keeps guessing.
//!
//! Wrong tokens are counted for each address of a peer, by the same rule of a window that limits are
//! made of. Who has had too many is refused before anything is compared, so a right guess among them
//! would not be noticed either; that is what slows guessing down, and it lasts a minute at most. No
//! header says who the peer is. Requests without a token are no guesses and are not counted: a probe
//! that knocks every second keeps no operator out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use tidegate_core::{Cost, Counts, Prefix, Room, ShapeError, Span, Timestamp, Window, WindowState};

use super::token::AdminToken;
use crate::answer::{self, Answer};
use crate::problem::Kind;

/// Stands before the admin listener.
pub(crate) struct Guard {
    token: AdminToken,
    rule: Window,
    /// Held from the look at a count to its change, so that guesses at once are all counted.
    wrong: Mutex<Wrong>,
}

/// The wrong tokens that still count.
#[derive(Default)]
struct Wrong {
    by_peer: HashMap<Prefix, WindowState>,
    /// Of all peers for whom there was no place.
    rest: Option<WindowState>,
}

/// Why a request may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// It has no token, or not one.
    Missing,
    /// It has another one.
    Wrong,
    /// Its peer has had too many others; how long to wait.
    TooMany(Span),
}

/// Wrong tokens of one address, in any minute.
const MOST_WRONG: u64 = 10;

/// Addresses that are counted each by itself; at most a megabyte.
const MOST_PEERS: usize = 1_000;

const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"tidegate admin\"");

// === impl Guard ===

impl Guard {
    /// # Errors
    ///
    /// Never: its numbers are constants.
    pub(crate) fn try_new(token: AdminToken) -> Result<Self, ShapeError> {
        let rule = Window::try_new(MOST_WRONG, Span::MINUTE, Counts::Admitted)?;
        Ok(Self { token, rule, wrong: Mutex::default() })
    }

    /// What to answer to somebody who may not; `None` to those who may.
    pub(crate) fn refuse(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Option<Answer> {
        self.admit(peer, headers, now).err().map(|refusal| {
            // Bounded by the very count; those past it are told, and not logged.
            if refusal == Refusal::Wrong {
                tracing::warn!(%peer, "an operator's request had a wrong token");
            }
            refusal.answer()
        })
    }

    fn admit(&self, peer: IpAddr, headers: &HeaderMap, now: Timestamp) -> Result<(), Refusal> {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let count = wrong.of(Prefix::of(peer));
        match self.rule.room(count, Cost::ONE, now) {
            Room::Now => {}
            Room::After(wait) => return Err(Refusal::TooMany(wait)),
            Room::Never => return Err(Refusal::TooMany(Span::MINUTE)),
        }
        let presented = bearer(headers).ok_or(Refusal::Missing)?;
        if self.token.is(presented) {
            return Ok(());
        }
        let (count, _) = self.rule.take(count, Cost::ONE, now);
        wrong.keep(Prefix::of(peer), count, &self.rule, now);
        Err(Refusal::Wrong)
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
    /// What counts for a peer.
    fn of(&self, peer: Prefix) -> Option<&WindowState> {
        let new = self.by_peer.len() >= MOST_PEERS;
        self.by_peer.get(&peer).or_else(|| self.rest.as_ref().filter(|_| new))
    }

    fn keep(&mut self, peer: Prefix, count: WindowState, rule: &Window, now: Timestamp) {
        if !self.by_peer.contains_key(&peer) && self.by_peer.len() >= MOST_PEERS {
            self.by_peer.retain(|_, count| now < rule.fresh_at(count));
            if self.by_peer.len() >= MOST_PEERS {
                self.rest = Some(count);
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
                .problem("say who you are: `authorization: Bearer`, and the admin token"),
            Self::Wrong => Kind::Unauthorized.problem("this is not the admin token"),
            Self::TooMany(_) => Kind::TooManyRequests
                .problem("too many wrong tokens came from your address; come back later"),
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
