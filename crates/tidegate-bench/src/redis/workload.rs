//! The workloads of a shared store: two policies, and requests that neither of them refuses.

use std::sync::{Arc, Mutex, PoisonError};

use clap::ValueEnum;
use tidegate_core::{Case, Dimension, Period, PolicySet, Secret, Span, Subject};
use tidegate_engine::{Engine, ready};
use tidegate_stores::redis::RedisStore;

use super::asker::secret;
use crate::Fallible;
use crate::policy::{bucket, limit, policy, quota};
use crate::workload::push_key;

/// A policy, which is also written as a script that does the same and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// One bucket for each organisation.
    Bucket,
    /// Buckets for organisation, user and token, and a quota per day for the organisation.
    ThreeAndQuota,
}

/// The subject of a request, and the names of its counters.
#[derive(Debug)]
pub(crate) struct BenchSubject {
    pub(crate) org: String,
    pub(crate) user: String,
    pub(crate) token: String,
    /// The counters' names as our store spells them, so that all contenders send the same bytes for
    /// keys.
    pub(crate) names: Vec<String>,
    /// Whether the request has to be admitted (true) or refused (false); `None` if either is fine.
    pub(crate) passes: Option<bool>,
}

/// Number of different requests. Some thousand keys are more than fit the caches of a core, and few
/// enough to meet all of them before the first round.
const REQUESTS: u64 = 4096;
/// Requests that share an organisation, in the workload that also limits users and tokens.
const PER_ORG: u64 = 8;
/// Requests that share a user, in the workload that also limits users and tokens; each has its own
/// token.
const PER_USER: u64 = 2;

/// The rate per minute of each bucket, and its burst. No run reaches it: of 40,000 decisions per
/// second on all four counters an organisation makes 80.
const PER_MINUTE: u64 = 6000;
const A_DAY: u64 = 1 << 40;

// === impl Workload ===

impl Workload {
    /// The text of the script for this policy alone.
    pub(crate) const fn script(self) -> &'static str {
        match self {
            Self::Bucket => include_str!("baseline/bucket.lua"),
            Self::ThreeAndQuota => include_str!("baseline/three_buckets_quota.lua"),
        }
    }

    /// The arguments of [`Self::script`]: the same numbers as in [`Self::policies`].
    pub(crate) fn script_args(self) -> Vec<String> {
        let (emission, burst) = (60_000_000 / PER_MINUTE, PER_MINUTE);
        let numbers = match self {
            Self::Bucket => vec![emission, burst, 1],
            Self::ThreeAndQuota => {
                vec![emission, burst, emission, burst, emission, burst, A_DAY, 86_400, 1]
            }
        };
        numbers.iter().map(ToString::to_string).collect()
    }

    /// The set that contains this policy alone.
    pub(crate) fn policies(self) -> Fallible<PolicySet> {
        const ORG: &[Dimension] = &[Dimension::Org];
        let bucket = || bucket(PER_MINUTE, Span::MINUTE, PER_MINUTE);
        policy(match self {
            Self::Bucket => vec![limit("burst", ORG, bucket()?)?],
            Self::ThreeAndQuota => vec![
                limit("org", ORG, bucket()?)?,
                limit("user", &[Dimension::Org, Dimension::User], bucket()?)?,
                limit("token", &[Dimension::Org, Dimension::Token], bucket()?)?,
                limit("daily", ORG, quota(A_DAY, Period::Fixed(Span::DAY))?)?,
            ],
        })
    }

    /// All requests of this workload, with the names of their counters.
    pub(crate) fn requests(self) -> Fallible<Arc<[BenchSubject]>> {
        let mut requests: Vec<BenchSubject> =
            (0..REQUESTS).map(|rank| self.request(rank)).collect();
        spell(&mut requests, &self.policies()?)?;
        Ok(requests.into())
    }

    fn request(self, rank: u64) -> BenchSubject {
        let (org, user) = match self {
            Self::Bucket => (rank, rank),
            Self::ThreeAndQuota => (rank / PER_ORG, rank / PER_USER),
        };
        BenchSubject::new(org, user, rank)
    }
}

/// Gives the requests the names of their counters under the one policy of this set.
pub(crate) fn spell(requests: &mut [BenchSubject], policies: &PolicySet) -> Fallible<()> {
    let secret = secret()?;
    for request in requests {
        request.names = names(request, policies, &secret)?;
    }
    Ok(())
}

/// The names of the counters of one request.
fn names(request: &BenchSubject, policies: &PolicySet, secret: &Secret) -> Fallible<Vec<String>> {
    let spelled = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&spelled);
    // A store that answers nothing: it only records the names it is asked about.
    let run = move |_: &str, names: &[&str], _: &[u8]| {
        let names = names.iter().map(ToString::to_string).collect();
        *heard.lock().unwrap_or_else(PoisonError::into_inner) = names;
        Vec::new()
    };
    // A new engine for each request: an engine soon stops asking a store that does not answer.
    let store = RedisStore::scripted(secret, false, Box::new(run));
    let engine = Engine::new(store, policies.clone());
    let (policies, subject) = (engine.policies(), request.subject());
    let mut case = Case::new(&policies.policies()[0], &subject);
    let decision = ready(engine.decide(&mut case));
    if decision.is_some_and(|it| it.is_ok_and(|decision| decision.failsafe().is_none())) {
        return Err("nobody answered, and yet the store has decided".into());
    }
    let names = spelled.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(names)
}

// === impl BenchSubject ===

impl BenchSubject {
    /// A request of the organisation, user and token with these ranks, which has to be admitted.
    pub(crate) fn new(org: u64, user: u64, token: u64) -> Self {
        let [org, user, token] = [org, user, token].map(key);
        Self { org, user, token, names: Vec::new(), passes: Some(true) }
    }

    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject::new().org(&self.org).user(&self.user).token(&self.token)
    }
}

fn key(rank: u64) -> String {
    let mut text = String::new();
    push_key(rank, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn requests_of_one_organisation_share_its_counters_and_no_others() {
        let distinct = |workload: Workload, place: usize| {
            let requests = workload.requests().unwrap();
            let names: BTreeSet<String> =
                requests.iter().map(|request| request.names[place].clone()).collect();
            names.len()
        };
        assert_eq!(distinct(Workload::Bucket, 0), 4096);
        let all: Vec<usize> =
            (0..4).map(|place| distinct(Workload::ThreeAndQuota, place)).collect();
        assert_eq!(all, [512, 2048, 4096, 512]);
    }
}
