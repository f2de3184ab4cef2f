//! The keys that are asked for, and their order: the same for every contender.
//!
//! A server has just read the key off the wire when it asks its limiter, so the key is in the cache
//! and the limiter's memory is not. Keys are therefore laid out in the order they are asked for, as
//! one text that is read from front to back. Fetching them from a million places would charge every
//! contender for two cache misses of the benchmark's own.

/// Bytes in a key.
const WIDTH: usize = 20;

/// Keys in the order they are asked for.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    text: String,
}

/// A repeatable source of numbers: splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

// === impl Stream ===

impl Stream {
    /// The keys with the ranks in `order`.
    pub(crate) fn of(order: impl IntoIterator<Item = u32>) -> Self {
        let mut text = String::new();
        for rank in order {
            push_key(u64::from(rank), &mut text);
        }
        Self { text }
    }

    /// A stream in which each of `keys` keys occurs once.
    pub(crate) fn each(keys: u32) -> Self {
        Self::of(0..keys)
    }

    /// The number of requests in the stream.
    pub(crate) const fn len(&self) -> usize {
        self.text.len() / WIDTH
    }

    /// Up to `count` keys from the one at `start`; fewer at the end of the stream.
    pub(crate) fn part(&self, start: usize, count: usize) -> impl Iterator<Item = &str> {
        let end = (start + count).min(self.len());
        (start.min(end)..end).map(|at| &self.text[at * WIDTH..(at + 1) * WIDTH])
    }
}

// === impl Random ===

impl Random {
    /// A generator whose numbers follow from `seed`.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.0)
    }

    /// The next number, scaled to below `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        let scaled = (u128::from(self.next()) * u128::from(end)) >> 64;
        u32::try_from(scaled).unwrap_or_default()
    }

    /// The next number, scaled to [0, 1).
    fn unit(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap_or_default()) / 4_294_967_296.0
    }
}

/// A stream of requests spread evenly over `keys` keys.
pub(crate) fn uniform(keys: u32, requests: usize) -> Stream {
    let mut numbers = Random::new(1);
    Stream::of((0..requests).map(|_| numbers.below(keys)))
}

/// A stream of requests in which the key of rank `k` occurs with a frequency of `1/k`.
pub(crate) fn zipf(keys: u32, requests: usize) -> Stream {
    let mut total = 0.0;
    let sums: Vec<f64> = (1..=keys)
        .map(|rank| {
            total += 1.0 / f64::from(rank);
            total
        })
        .collect();
    let mut numbers = Random::new(2);
    // Shuffled: otherwise popular keys, being met one after another, would be neighbours in memory.
    let mut keys: Vec<u32> = (0..keys).collect();
    for last in (1..keys.len()).rev() {
        let other = numbers.below(u32::try_from(last + 1).unwrap_or(u32::MAX));
        keys.swap(last, other as usize);
    }
    Stream::of((0..requests).map(|_| {
        let point = numbers.unit() * total;
        keys[sums.partition_point(|sum| *sum <= point).min(keys.len() - 1)]
    }))
}

/// Appends the key of a rank: `org_` and sixteen characters that reveal nothing about the rank.
pub(crate) fn push_key(rank: u64, text: &mut String) {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    text.push_str("org_");
    // `mixed` maps different numbers to different ones, and thirteen digits hold all 64 bits, so
    // keys differ.
    let (mut first, mut second) = (mixed(rank), mixed(!rank));
    for _ in 0..13 {
        text.push(char::from(DIGITS[(first % 32) as usize]));
        first /= 32;
    }
    for _ in 0..3 {
        text.push(char::from(DIGITS[(second % 32) as usize]));
        second /= 32;
    }
}

const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
