//! The name of one counter: limit × scope × subject.
//!
//! A [`Key`] is only a view of a limit and a subject. Shared stores spell it out as text
//! ([`KeyNames`]); the in-memory store uses a keyed 64-bit digest ([`Digests`]) and never builds
//! the text.
//!
//! The text looks like `rl:{acme}:user:u7:class:write:w60s` for bursts, `rq:{acme}:w1d` for
//! quotas. The braces are real: they are the hash tag of Redis Cluster, so that all limits of one
//! organisation live in one slot and can be charged together. Where a scope has no organisation
//! its first part takes that place, as `{ip:…}`; `{*}` is everybody.
//!
//! Joining strings with a separator is how other limiters let user `a:b` share the counter of
//! somebody else. Every part here is tagged with its dimension and percent-escaped, so different
//! subjects have different keys. Accounts, addresses, devices and agents appear only as keyed hashes,
//! and so does anything longer than 128 bytes.

use core::fmt;
use core::hash::Hasher as _;

use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use siphasher::sip::SipHasher13;

use crate::limit::{Limit, Names};
use crate::secret::{Secret, debug_as, hmac};
use crate::subject::{Dimension, Fact, Facts, Scope, Values};

/// The longest part of a key, in bytes once escaped; longer ones are hashed by [`KeyNames`].
pub const MAX_PART: usize = 128;

/// More bytes than the text of any key has: every dimension with its name, and the part about the limit.
pub const MAX_KEY: usize = 2048;

/// The name of one counter, as a view of a limit and the facts it counts by.
///
/// [`Batch::key`](crate::Batch::key) makes it and [`KeyNames`] spells it out. Keys of different
/// subjects are different, whatever their values contain.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    pub(crate) limit: &'a Limit,
    pub(crate) facts: Facts<'a>,
}

/// Spells keys out as text, hiding what is private behind a secret.
///
/// The form of the text is explained in [chapter 6](crate::book::ch6_who_is_counted). It is ASCII,
/// and no part of it is longer than [`MAX_PART`].
#[derive(Clone)]
pub struct KeyNames(Hmac<Sha256>);

/// Turns keys into 64-bit digests for one process, under a secret that each process makes anew.
///
/// Two keys with the same digest share a counter, which can refuse too much and never too little.
/// By chance one in 10¹⁹ pairs does, and no client can search for one: digests leave the process only
/// encrypted, in tickets, or for operators, in the list of blocks, and all that shows of a collision is
/// a denial. The hash is keyed but not cryptographic; text that others can read is made with HMAC
/// instead ([`KeyNames`]).
#[derive(Clone)]
pub struct Digests {
    seed: u64,
    shared: SharedSeed,
    whitening: u64,
    /// Digests members of sets, which other nodes have to tell apart in the same way.
    members: SipHasher13,
}

// === impl KeyNames ===

impl KeyNames {
    /// The names under `secret`, which must be the same on every node that shares a store: under another
    /// secret, accounts, addresses, devices and agents have other keys and so start anew.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(hmac(secret))
    }

    /// Writes the text of `key`, without allocating.
    ///
    /// # Errors
    ///
    /// Those of `out`, and no others: every key has a text.
    pub fn write(&self, key: &Key<'_>, out: &mut impl fmt::Write) -> fmt::Result {
        match key.limit.trial {
            Some(node) => self.write_trial(key.limit, node, out),
            None => self.write_facts(key.limit, |by| key.facts.get(by), out),
        }
    }

    fn write_facts<'f>(
        &self,
        limit: &Limit,
        fact: impl Fn(Dimension) -> Option<Fact<'f>>,
        out: &mut impl fmt::Write,
    ) -> fmt::Result {
        let mut dimensions = limit.scope().dimensions();
        write!(out, "{}:{{", limit.family())?;
        let first = if limit.row.is_some() { None } else { dimensions.next() };
        match first {
            Some(Dimension::Org) => self.part(Dimension::Org, fact(Dimension::Org), out)?,
            Some(first) => {
                write!(out, "{}:", first.name())?;
                self.part(first, fact(first), out)?;
            }
            None => out.write_str(limit.row.as_ref().map_or("*", |row| row.tag()))?,
        }
        out.write_char('}')?;
        for dimension in dimensions {
            write!(out, ":{}:", dimension.name())?;
            self.part(dimension, fact(dimension), out)?;
        }
        limit.write_key_suffix(out)
    }

    /// Writes the key of a probe, as `rl:{!org}:00000000000000ab:00000000000000cd`: the family and the
    /// first dimension of the limit, the node, the limit. No value of a subject is ever spelled with a
    /// `!`. Where the limit counts by something private the node is hashed, so that the key changes with
    /// the secret as those of subjects do.
    fn write_trial(&self, limit: &Limit, node: u64, out: &mut impl fmt::Write) -> fmt::Result {
        let first = limit.scope().dimensions().next().map_or("*", Dimension::name);
        write!(out, "{}:{{!{first}}}:", limit.family())?;
        match limit.scope().dimensions().find(|it| it.values() != Values::Text) {
            Some(dimension) => self.hash(dimension, &node.to_be_bytes(), out)?,
            None => write!(out, "{node:016x}")?,
        }
        write!(out, ":{:016x}", limit.id())
    }

    /// The text of `key`, as [`write`](Self::write) writes it.
    #[must_use]
    pub fn text(&self, key: &Key<'_>) -> String {
        let mut text = String::with_capacity(64);
        // Writing to a string cannot fail.
        let _ = self.write(key, &mut text);
        text
    }

    /// All names of the counter of `key`: its text as [`write`](Self::write) writes it, and the names it
    /// had before reloads and before the present release.
    #[must_use]
    pub fn names(&self, key: &Key<'_>) -> Names {
        let mut names = key.limit.names(self.text(key));
        if let Some(shown) = self.shown(key) {
            names.older.extend(key.limit.names(shown).in_order().map(str::to_owned));
        }
        names
    }

    /// The text that `key` had when devices and agents were not yet hashed; `None` if it was the same.
    /// Stores look under it during one release, so that nobody's count starts anew with the upgrade. A
    /// key that begins with a device or an agent lies elsewhere on a cluster, and has none.
    fn shown(&self, key: &Key<'_>) -> Option<String> {
        const SHOWN: [Dimension; 2] = [Dimension::Device, Dimension::Agent];
        let Key { limit, facts } = key;
        let later = limit.dimensions.get(1..)?;
        // Rows are younger than the change.
        if limit.trial.is_some()
            || limit.row.is_some()
            || !later.iter().any(|by| SHOWN.contains(by))
        {
            return None;
        }
        let fact = |by: Dimension| match facts.get(by)? {
            Fact::Private(value) if SHOWN.contains(&by) => Some(Fact::Plain(value)),
            fact => Some(fact),
        };
        let mut text = String::with_capacity(64);
        // Writing to a string cannot fail.
        let _ = self.write_facts(limit, fact, &mut text);
        Some(text)
    }

    fn part(
        &self,
        dimension: Dimension,
        fact: Option<Fact<'_>>,
        out: &mut impl fmt::Write,
    ) -> fmt::Result {
        match fact {
            Some(Fact::Plain(value)) if escaped_len(value) <= MAX_PART => escape(value, out),
            // '#' is never the result of escaping, so a hash cannot pass for a value.
            Some(Fact::Plain(value)) => {
                out.write_char('#')?;
                self.hash(dimension, value, out)
            }
            Some(Fact::Private(value)) => self.hash(dimension, value, out),
            Some(Fact::Address(prefix)) => self.hash(dimension, &prefix.to_bytes(), out),
            None => Ok(()),
        }
    }

    /// Writes half of the MAC of `value`, in hex: 128 bits are enough to keep values apart and hidden.
    fn hash(&self, dimension: Dimension, value: &[u8], out: &mut impl fmt::Write) -> fmt::Result {
        let mac = self.0.clone().chain_update([dimension as u8]).chain_update(value);
        let bytes = mac.finalize().into_bytes();
        bytes.iter().take(16).try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

debug_as!(KeyNames, "KeyNames(secret)");

// === impl Digests ===

impl Digests {
    /// Digests under `secret`, which must be unpredictable: anyone who knows it can make others share
    /// a counter.
    #[must_use]
    pub fn new(secret: [u64; 2]) -> Self {
        // SipHash spreads the secret over all seeds, whatever it looks like.
        let sip = SipHasher13::new_with_keys(secret[0], secret[1]);
        Self {
            seed: sip.hash(b"seed"),
            shared: SharedSeed::from_u64(sip.hash(b"shared seed")),
            whitening: sip.hash(b"whitening") | 1,
            members: SipHasher13::new_with_keys(sip.hash(b"members"), sip.hash(b"of sets")),
        }
    }

    /// Digests members of sets under `secret`, as every node with this secret does.
    #[must_use]
    pub fn sharing(mut self, secret: &Secret) -> Self {
        let [first, second] = secret.members();
        self.members = SipHasher13::new_with_keys(first, second);
        self
    }

    /// The digest of one fact as the member of a set; never zero.
    pub(crate) fn member(&self, fact: Fact<'_>, dimension: Dimension) -> Option<u64> {
        let mut sip = self.members;
        sip.write_u8(dimension as u8);
        match fact {
            Fact::Plain(value) | Fact::Private(value) => sip.write(value),
            Fact::Address(prefix) => sip.write(&prefix.to_bytes()),
        }
        // The scripts of the Redis store have exact integers of 53 bits.
        Some((sip.finish() >> 11).max(1))
    }

    /// The digest of a limit's key, or `None` if the subject lacks a dimension of its scope.
    ///
    /// A fact that several limits count by is hashed for each of them: that is quicker than
    /// remembering it.
    #[inline(always)]
    pub(crate) fn key(&self, limit: &Limit, facts: Facts<'_>) -> Option<u64> {
        let mut digest = limit.id();
        let (mut value, rest) = match &*limit.dimensions {
            [first, rest @ ..] => (self.fact(facts, *first)?, rest),
            [] => (0, [].as_slice()),
        };
        for dimension in rest {
            digest = self.fold(digest, value);
            value = self.fact(facts, *dimension)?;
        }
        Some(self.fold(digest, value).max(1))
    }

    /// The digest of the facts that `scope` counts by, or `None` if one of them is unknown. It belongs to
    /// no limit.
    pub(crate) fn scope(&self, scope: Scope, facts: Facts<'_>) -> Option<u64> {
        scope.dimensions().try_fold(self.seed, |digest, dimension| {
            Some(self.fold(digest, self.fact(facts, dimension)?))
        })
    }

    /// The digest of the facts that `scope` counts by, where an unknown fact is a value of its own.
    pub(crate) fn partly(&self, scope: Scope, facts: Facts<'_>) -> u64 {
        scope.dimensions().fold(self.seed, |digest, dimension| {
            let unknown = self.bytes(&[]).rotate_left(5 * dimension as u32) ^ self.whitening;
            self.fold(digest, self.fact(facts, dimension).unwrap_or(unknown))
        })
    }

    /// The digest of one fact of a subject. It depends on the dimension: `org=x` and `user=x` differ.
    #[inline(always)]
    fn fact(&self, facts: Facts<'_>, dimension: Dimension) -> Option<u64> {
        let digest = match facts.text(dimension) {
            Some(text) => self.bytes(text),
            None => self.bytes(&facts.address(dimension)?.to_bytes()),
        };
        Some(digest.rotate_left(5 * dimension as u32))
    }

    #[inline]
    fn bytes(&self, value: &[u8]) -> u64 {
        let mut hasher = FoldHasher::with_seed(self.seed, &self.shared);
        hasher.write(value);
        hasher.finish()
    }

    /// Folds `value` into `digest`. Both are already unpredictable, so one multiplication mixes
    /// them well enough.
    #[inline]
    fn fold(&self, digest: u64, value: u64) -> u64 {
        let product = u128::from(digest ^ value) * u128::from(self.whitening);
        #[expect(clippy::cast_possible_truncation, reason = "both halves are wanted")]
        let halves = (product as u64, (product >> 64) as u64);
        halves.0 ^ halves.1
    }
}

debug_as!(Digests, "Digests(secret)");

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn escaped_len(value: &[u8]) -> usize {
    value.iter().map(|byte| if is_plain(*byte) { 1 } else { 3 }).sum()
}

fn escape(value: &[u8], out: &mut impl fmt::Write) -> fmt::Result {
    value.iter().try_for_each(|&byte| match is_plain(byte) {
        true => out.write_char(char::from(byte)),
        false => write!(out, "%{byte:02X}"),
    })
}
