//! What was taken for a request, written down so that it can be settled later.
//!
//! What a request really costs is often known only afterwards: a login that succeeded should not
//! count, a model answered with more tokens than were reserved. To remember every admitted request
//! until then would be state without a bound, so the caller keeps it: a ticket says which counters
//! were charged, how much and when. It is authenticated, so nobody can invent or alter one, and
//! numbered, so a store can see to it that each is settled at most once.
//!
//! A ticket is text for `Authorization`-like places: base64url without padding. It is encrypted, because
//! clients may get to see it: the names of counters tell who is counted together with whom, and anyone
//! who knew their digests could look for keys that collide. The nonce is made from what is encrypted, so
//! the same claim makes the same ticket, and no two different claims ever share a nonce.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};

use arrayvec::ArrayVec;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::Aead as _;
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use siphasher::sip::SipHasher13;

use crate::address::{Prefix, PrefixLength};
use crate::charge::MAX_LIMITS;
use crate::cost::Cost;
use crate::decision::Decision;
use crate::key::{KeyNames, MAX_KEY};
use crate::policy::Mode;
use crate::secret::{debug_as, hmac};
use crate::time::{Span, Timestamp};

/// A sealed note of what was taken for one admitted request. Hand it back to settle the request.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket(String);

/// The contents of a ticket: what was taken for a request, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The id of the ticket.
    pub id: TicketId,
    /// When the request was decided, by the clock of the store.
    pub decided_at: Timestamp,
    /// The mode in which the request was decided. What was taken in one mode is not given back in
    /// another.
    pub mode: Mode,
    /// The [network](crate::Batch::network) of the request, for stores that count by it.
    pub network: Option<Prefix>,
    /// What was taken from each limit that settles.
    pub holds: ArrayVec<Hold, MAX_LIMITS>,
}

/// The id of a ticket, which no other ticket has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TicketId {
    /// The number that tells the engine that made the ticket from all others.
    pub maker: u64,
    /// The number of the ticket: how many numbers its maker had given out before.
    pub number: u64,
}

/// What was taken from one counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The [identity](crate::Limit::id) of the limit.
    pub limit: u64,
    /// The [digest](crate::Charge::digest) of the counter.
    pub digest: u64,
    /// The [role](crate::Charge::role) of the subject.
    pub role: u32,
    /// For a quota, a hash that tells the kind and length of its period from others; for a limit that
    /// counts distinct values, the [member](crate::Charge::member) of the attempt; otherwise zero.
    pub period: u64,
    /// The units that were taken.
    pub taken: Cost,
    /// The name of the counter, if the store goes by names.
    pub key: Option<Box<str>>,
}

/// Makes tickets and tells its own from all others.
#[derive(Clone)]
pub struct Seal {
    cipher: XChaCha20Poly1305,
    mac: Hmac<Sha256>,
    /// Unmasks the digests in tickets of the previous form, which are still opened.
    mask: SipHasher13,
}

/// Why a ticket cannot be settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// The text is not that of any ticket.
    #[error("this is not the text of a ticket; pass it back exactly as it was given out")]
    Malformed,
    /// The ticket was altered, or made under another secret.
    #[error(
        "the ticket was altered, or made under another secret; it can be settled only where the \
         request was decided, or by nodes that share the secret"
    )]
    Altered,
    /// The ticket is too old.
    #[error("the ticket has expired; what it took stays taken until the limits forget it")]
    Expired,
    /// The ticket was settled already.
    #[error("the ticket was settled before; nothing was changed")]
    Settled,
}

/// The first byte of every ticket of the present form.
const VERSION: u8 = 3;
/// The first byte of tickets of the previous form, which show the names of their counters. None is made
/// any more, and none lives for longer than [`Ticket::LIFE`].
const FORMER: u8 = 2;
const NONCE: usize = 24;
const HEAD: usize = 3 * 8 + 1 + 1 + 17;
const HOLD: usize = 4 * 8 + 4 + 2;
const MAC: usize = 16;
const MAX_BYTES: usize = 1 + NONCE + HEAD + MAX_LIMITS * (HOLD + MAX_KEY) + MAC;

// === impl Ticket ===

impl Ticket {
    /// The longest text of a ticket.
    pub const MAX_TEXT: usize = (MAX_BYTES * 4).div_ceil(3);

    /// How long a ticket can be settled after the decision. A store may have to forget sooner which
    /// tickets were settled, and then refuses them.
    pub const LIFE: Span = Span::from_secs(15 * 60);

    /// The text of the ticket, to be handed back when it is settled.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// Without the text: anyone who has it can settle the ticket once, so logs do not show it.
debug_as!(Ticket, "Ticket(sealed)");

// === impl Claim ===

impl Claim {
    /// What was taken for a request; `None` unless the request may pass, was charged to a limit that
    /// settles, and has been given a [number](crate::Case::number).
    #[must_use]
    pub fn of(decision: &Decision<'_>, maker: u64, names: Option<&KeyNames>) -> Option<Self> {
        let id = TicketId { maker, number: decision.case().ticket_number()? };
        let mut holds = ArrayVec::new();
        let batch = decision.case().batch();
        let settling = |(_, said): &(_, crate::Explanation<'_>)| {
            // A shadow or a soft limit is charged only if it has room.
            said.limit.settles() && said.reading.room.is_now()
        };
        for (charge, _) in batch.charges().iter().zip(decision.explain()).filter(settling) {
            holds.push(Hold {
                limit: charge.limit().id(),
                digest: charge.digest(),
                role: charge.role(),
                period: charge.shape().period_print() | charge.member(),
                taken: charge.cost(),
                key: names.map(|names| names.text(&batch.key(charge)).into()),
            });
        }
        let (decided_at, mode) = (decision.decided_at(), decision.mode());
        let network = if names.is_none() { batch.network() } else { None };
        let taken = decision.verdict().passes() && !holds.is_empty();
        taken.then_some(Self { id, decided_at, mode, network, holds })
    }

    /// The instant from which on it is too late to settle.
    #[must_use]
    pub const fn expires_at(&self) -> Timestamp {
        self.decided_at.after(Ticket::LIFE)
    }
}

// === impl Seal ===

impl Seal {
    /// A seal under `secret`, which must be unpredictable: anyone who knows it can make tickets.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Self {
        let mac = hmac(secret);
        let derived = |what: &[u8]| mac.clone().chain_update(what).finalize().into_bytes();
        let mut key = [0; 16];
        key.copy_from_slice(&derived(b"mask")[..16]);
        let cipher = XChaCha20Poly1305::new(&Key::from(<[u8; 32]>::from(derived(b"cipher"))));
        Self { cipher, mac, mask: SipHasher13::new_with_key(&key) }
    }

    /// The ticket of a claim.
    #[must_use]
    pub fn seal(&self, claim: &Claim) -> Ticket {
        let body = write(claim);
        let nonce = self.mac.clone().chain_update(b"nonce").chain_update(&body).finalize();
        let mut nonce_bytes = [0; NONCE];
        nonce_bytes.copy_from_slice(&nonce.into_bytes()[..NONCE]);
        // No claim is too long for the cipher; if one were, its ticket could not be opened.
        let sealed = self.cipher.encrypt(&XNonce::from(nonce_bytes), &*body).unwrap_or_default();
        let mut bytes = Vec::with_capacity(1 + NONCE + sealed.len());
        bytes.push(VERSION);
        bytes.extend(nonce_bytes);
        bytes.extend(sealed);
        Ticket(URL_SAFE_NO_PAD.encode(&bytes))
    }

    /// Reads a ticket that was made under this seal and has not been altered. Only the store can tell
    /// whether it has expired or was settled.
    ///
    /// # Errors
    ///
    /// [`TicketError::Malformed`] or [`TicketError::Altered`].
    pub fn open(&self, text: &str) -> Result<Claim, TicketError> {
        if text.len() > Ticket::MAX_TEXT {
            return Err(TicketError::Malformed);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| TicketError::Malformed)?;
        match bytes.split_first() {
            Some((&VERSION, sealed)) => {
                let (nonce, sealed) =
                    sealed.split_first_chunk::<NONCE>().ok_or(TicketError::Malformed)?;
                let body = self.cipher.decrypt(&XNonce::from(*nonce), sealed);
                let body = body.map_err(|_| TicketError::Altered)?;
                read(&body, true).ok_or(TicketError::Malformed)
            }
            Some((&FORMER, _)) => self.open_former(&bytes),
            _ => Err(TicketError::Malformed),
        }
    }

    fn open_former(&self, bytes: &[u8]) -> Result<Claim, TicketError> {
        let body = bytes.len().checked_sub(MAC).ok_or(TicketError::Malformed)?;
        let (body, mac) = bytes.split_at(body);
        // The MAC is compared in constant time.
        let expected = self.mac.clone().chain_update(body);
        expected.verify_truncated_left(mac).map_err(|_| TicketError::Altered)?;
        let body = body.get(1..).ok_or(TicketError::Malformed)?;
        let mut claim = read(body, false).ok_or(TicketError::Malformed)?;
        for (place, hold) in claim.holds.iter_mut().enumerate() {
            hold.digest ^= self.mask(claim.id, place);
        }
        Ok(claim)
    }

    /// The mask of one hold's digest in a ticket of the previous form: a keystream that is used once,
    /// because ids are.
    fn mask(&self, id: TicketId, place: usize) -> u64 {
        let input = [id.maker, id.number, place as u64].map(u64::to_be_bytes);
        self.mask.hash(input.as_flattened())
    }
}

debug_as!(Seal, "Seal(secret)");

/// The bytes of a claim, which are sealed into a ticket.
fn write(claim: &Claim) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + claim.holds.len() * (HOLD + 64));
    let TicketId { maker, number } = claim.id;
    for word in [maker, number, claim.decided_at.as_micros()] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend([claim.mode as u8, claim.holds.len().to_le_bytes()[0]]);
    bytes.push(u8::from(claim.network.is_some()));
    if let Some(network) = claim.network {
        bytes.extend(&network.to_bytes()[..16]);
    }
    for hold in &claim.holds {
        for word in [hold.limit, hold.digest, hold.taken.get(), hold.period] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(hold.role.to_be_bytes());
        let key = hold.key.as_deref().unwrap_or_default();
        bytes.extend(u16::try_from(key.len()).unwrap_or(u16::MAX).to_be_bytes());
        bytes.extend(key.as_bytes());
    }
    bytes
}

fn read(mut body: &[u8], with_network: bool) -> Option<Claim> {
    let id = TicketId { maker: word(&mut body)?, number: word(&mut body)? };
    let decided_at = Timestamp::from_micros(word(&mut body)?);
    let [mode, count] = chunk(&mut body)?;
    let mode = Mode::ALL.into_iter().find(|known| *known as u8 == mode)?;
    let network = match with_network {
        true if chunk(&mut body)? == [1] => {
            let address = IpAddr::V6(Ipv6Addr::from_octets(chunk(&mut body)?));
            Some(Prefix::rolled_up(address, PrefixLength::P48))
        }
        _ => None,
    };
    let mut holds = ArrayVec::new();
    for _ in 0..count {
        let (limit, digest) = (word(&mut body)?, word(&mut body)?);
        let (taken, period) = (Cost::try_new(word(&mut body)?).ok()?, word(&mut body)?);
        let role = u32::from_be_bytes(chunk(&mut body)?);
        let key = key(&mut body)?;
        holds.try_push(Hold { limit, digest, role, period, taken, key }).ok()?;
    }
    body.is_empty().then_some(Claim { id, decided_at, mode, network, holds })
}

/// Reads the name of a counter; a length of zero means that there is no name.
fn key(bytes: &mut &[u8]) -> Option<Option<Box<str>>> {
    let length = usize::from(u16::from_be_bytes(chunk(bytes)?));
    let (key, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    let key = core::str::from_utf8(key).ok()?;
    Some((!key.is_empty()).then(|| key.into()))
}

fn word(bytes: &mut &[u8]) -> Option<u64> {
    chunk(bytes).map(u64::from_be_bytes)
}

fn chunk<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (chunk, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*chunk)
}

#[cfg(test)]
mod tests;
