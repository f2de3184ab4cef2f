//! A bucket computed from its bound instead of step by step.
//!
//! A bucket of `burst` tokens at a rate is the one that never lets more than `burst + rate · d` pass
//! in any interval of length `d` (P86), and otherwise holds back nothing. So what is left at an
//! instant is the least that any interval ending there leaves: for each charge, `burst` and the
//! refill since, less that charge and all after it. The core steps a level from charge to charge.

use tidegate_core::Bucket;

/// All charges since the last time the level was carried over.
#[derive(Clone, Debug, Default)]
pub(super) struct BucketLog {
    /// The level that a reload carried over, and when. A bucket never seen is full.
    carried: Option<(u64, i128)>,
    charges: Vec<(u64, u64)>,
}

/// A rate in lowest terms: a token is `token` units, and each microsecond adds `tick` units.
#[derive(Clone, Copy)]
struct Units {
    tick: i128,
    token: i128,
    full: i128,
}

// === impl Units ===

impl Units {
    fn of(bucket: &Bucket) -> Self {
        let (tokens, per) = rate(bucket);
        let (mut a, mut b) = (tokens, per);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        Self { tick: tokens / a, token: per / a, full: i128::from(bucket.burst()) * per / a }
    }
}

// === impl BucketLog ===

impl BucketLog {
    /// The time of the last write.
    pub(super) fn seen(&self, _: &Bucket) -> u64 {
        let carried = self.carried.map_or(0, |(at, _)| at);
        self.charges.last().map_or(carried, |(at, _)| *at)
    }

    pub(super) fn push(&mut self, _: &Bucket, at: u64, cost: u64) {
        self.charges.push((at, cost));
    }

    pub(super) fn fits(&self, bucket: &Bucket, cost: u64, at: u64) -> bool {
        self.level(bucket, at) >= i128::from(cost) * Units::of(bucket).token
    }

    /// Whole tokens left, rounded down.
    pub(super) fn left(&self, bucket: &Bucket, at: u64) -> i128 {
        self.level(bucket, at) / Units::of(bucket).token
    }

    pub(super) fn is_fresh(&self, bucket: &Bucket, at: u64) -> bool {
        self.level(bucket, at) == Units::of(bucket).full
    }

    /// The log under `stricter`, the stricter of `old`, under which it was written, and the numbers
    /// in force. Tokens stay tokens, and from the last write on refill at the slower rate up to the
    /// smaller burst. `None` once the bucket is full: then it is as good as never seen.
    pub(super) fn inherited(&self, old: &Bucket, stricter: &Bucket, at: u64) -> Option<Self> {
        let log = self.carried_to(old, stricter, self.seen(old));
        (!log.is_fresh(stricter, at)).then_some(log)
    }

    /// The level at `at`, carried over into the units of `to`: in whole tokens, unless the units
    /// are the same.
    pub(super) fn carried_to(&self, from: &Bucket, to: &Bucket, at: u64) -> Self {
        let (level, old, new) = (self.level(from, at), Units::of(from), Units::of(to));
        let level = if old.token == new.token { level } else { level / old.token * new.token };
        Self { carried: Some((at, level.min(new.full))), charges: Vec::new() }
    }

    /// Units in the bucket at `at`.
    fn level(&self, bucket: &Bucket, at: u64) -> i128 {
        let Units { tick, token, full } = Units::of(bucket);
        let refilled = |since: u64| i128::from(at - since) * tick;
        let (mut least, mut taken) = (full, 0);
        for (time, cost) in self.charges.iter().rev() {
            taken += i128::from(*cost) * token;
            least = least.min(full + refilled(*time) - taken);
        }
        match self.carried {
            Some((since, level)) => least.min(level + refilled(since) - taken),
            None => least,
        }
    }
}

fn rate(bucket: &Bucket) -> (i128, i128) {
    (i128::from(bucket.rate().tokens()), i128::from(bucket.rate().per().as_micros()))
}
