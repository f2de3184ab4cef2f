//! The past attempts on a key before it is asked about, and the limit that every contender
//! enforces.

use std::sync::Arc;

use tidegate_core::{Attempts, Dimension, PolicySet, Shape, Span, Threshold};

use super::super::workload::{BenchSubject, spell};
use super::LogLimiter;
use crate::Fallible;
use crate::policy::{limit, policy};

/// The number of past attempts on each key, all within both windows, and the number of keys.
///
/// Every call is an attempt, and the seed's log keeps it. So each key is asked about only a few
/// times, compared with its history, before all keys are laid out anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct History {
    pub(crate) attempts: u32,
    keys: u64,
}

/// The thresholds of both windows, each as `[window, attempt that is refused, block]`; times are in
/// seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogThresholds {
    temp: [u64; 3],
    long: [u64; 3],
}

/// The numbers of the test vectors: the window in seconds, the attempt that is refused, and the
/// seconds of the block.
pub(crate) const NUMBERS: LogThresholds =
    LogThresholds { temp: [60, 3, 30], long: [600, 6, 3_600] };

/// The thresholds of [`NUMBERS`] with short windows and short blocks, for measurements that wait
/// for their end.
pub(crate) const BRIEF: LogThresholds = LogThresholds { temp: [1, 3, 1], long: [2, 6, 2] };

// === impl History ===

impl History {
    /// New keys, keys with one attempt, keys under a short block, and keys under a long one.
    pub(crate) const ALL: [Self; 6] = [
        Self { attempts: 0, keys: 16_384 },
        Self { attempts: 1, keys: 16_384 },
        Self { attempts: 4, keys: 16_384 },
        Self { attempts: 10, keys: 4_096 },
        Self { attempts: 1_000, keys: 256 },
        Self { attempts: 100_000, keys: 4 },
    ];

    /// Whether a key with this history is blocked.
    pub(crate) const fn is_blocked(self) -> bool {
        self.attempts as u64 >= NUMBERS.temp[1]
    }

    /// Makes `count` requests that go round the keys in turn.
    pub(crate) fn requests(self, who: LogLimiter, count: u64) -> Fallible<Arc<[BenchSubject]>> {
        let passes = (who != LogLimiter::Nothing).then_some(!self.is_blocked());
        requests(who, (0..count).map(|at| at % self.keys), passes)
    }

    /// How many of the first `count` requests are about different keys.
    pub(crate) fn distinct(self, count: usize) -> usize {
        count.min(usize::try_from(self.keys).unwrap_or(usize::MAX))
    }
}

/// One request about a key that no other request uses.
pub(crate) fn apart(who: LogLimiter, passes: Option<bool>) -> Fallible<Arc<[BenchSubject]>> {
    requests(who, [u64::MAX], passes)
}

/// Requests about the keys with these ranks. They have to be admitted or refused as `passes` says.
fn requests(
    who: LogLimiter,
    ranks: impl IntoIterator<Item = u64>,
    passes: Option<bool>,
) -> Fallible<Arc<[BenchSubject]>> {
    let subject = |rank| BenchSubject { passes, ..BenchSubject::new(rank, rank, rank) };
    let mut requests: Vec<BenchSubject> = ranks.into_iter().map(subject).collect();
    if who == LogLimiter::Tidegate {
        spell(&mut requests, &NUMBERS.policy()?)?;
    } else {
        for request in &mut requests {
            let name = |kind| format!("abuse_limiter:{kind}:{{{}}}", request.org);
            request.names = ["attempts", "block", "seq"].map(name).to_vec();
        }
    }
    Ok(requests.into())
}

// === impl LogThresholds ===

impl LogThresholds {
    /// Tidegate's policy with these numbers.
    pub(crate) fn policy(self) -> Fallible<PolicySet> {
        let threshold = |[per, at, block]: [u64; 3]| -> Fallible<Threshold> {
            let [per, block] = [per, block].map(Span::from_secs);
            Ok(Threshold { block_at: u16::try_from(at)?, per, block })
        };
        let log = Attempts::try_new(threshold(self.temp)?, Some(threshold(self.long)?))?;
        policy(vec![limit("login", &[Dimension::Org], Shape::Attempts(log))?])
    }

    /// These numbers as arguments of the seed's script; its keys live as long as the long window.
    pub(crate) fn script_args(self) -> Vec<String> {
        let numbers = self.temp.iter().chain(&self.long).chain(&self.long[..1]);
        numbers.map(ToString::to_string).collect()
    }

    /// Length of the long window in seconds.
    pub(crate) const fn long(self) -> u64 {
        self.long[0]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_key_is_asked_about_seldom_next_to_what_it_has_been_through() {
        for history in History::ALL {
            for (who, each) in [(LogLimiter::Tidegate, 1), (LogLimiter::Seed, 3)] {
                let requests = history.requests(who, super::super::CALLS).unwrap();
                let names: BTreeSet<&String> = requests.iter().flat_map(|it| &it.names).collect();
                let keys = names.len() / each;
                assert_eq!(keys, history.distinct(requests.len()));
                assert!(!names.contains(&apart(who, None).unwrap()[0].names[0]));
                let more = requests.len() / keys;
                // Those that pass still do after that, and a history is not half as long again.
                assert!(match history.is_blocked() {
                    false => more == 1 && history.attempts + 1 < 3,
                    true => more * 2 < history.attempts as usize,
                });
            }
        }
    }

    #[test]
    fn both_are_given_the_same_numbers() {
        assert_eq!(NUMBERS.script_args().join(" "), "60 3 30 600 6 3600 600");
        let set = NUMBERS.policy().unwrap();
        let shape = set.policies()[0].limits()[0].shape();
        let Shape::Attempts(log) = shape else { panic!("{shape:?}") };
        let long = log.long().unwrap();
        assert_eq!((log.temp().block_at, log.temp().per), (3, Span::MINUTE));
        assert_eq!((long.block_at, long.per, long.block), (6, Span::from_secs(600), Span::HOUR));
    }
}
