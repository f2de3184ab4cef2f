//! The workloads of a shared store: two policies, and requests that neither of them refuses.

use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::{
    Bucket, Case, Counts, Dimension, FailureMode, Limit, Name, Period, PolicySet, PolicySpec,
    Quota, Rate, Scope, Secret, Shape, Span, Subject,
};
use tidegate_engine::{Engine, ready};
use tidegate_stores::redis::RedisStore;

use crate::Fallible;
use crate::workload::push_key;

/// A policy, which is also written as a script that does the same and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// One bucket for each organisation.
    Bucket,
    /// Buckets for organisation, user and token, and a quota per day for the organisation.
    ThreeAndQuota,
}

/// The subject of a request, and the names of its counters.
#[derive(Debug)]
pub(crate) struct Request {
    org: String,
    user: String,
    token: String,
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

const POLICY: &str = "bench";

// === impl Workload ===

impl Workload {
    pub(crate) const ALL: [Self; 2] = [Self::Bucket, Self::ThreeAndQuota];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bucket => "bucket",
            Self::ThreeAndQuota => "three-and-quota",
        }
    }

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

    /// The policies in force, and the index of this workload's policy.
    pub(crate) fn policies(self) -> Fallible<(PolicySet, usize)> {
        const ORG: &[Dimension] = &[Dimension::Org];
        let limits = match self {
            Self::Bucket => vec![limit("burst", ORG, bucket()?)?],
            Self::ThreeAndQuota => vec![
                limit("org", ORG, bucket()?)?,
                limit("user", &[Dimension::Org, Dimension::User], bucket()?)?,
                limit("token", &[Dimension::Org, Dimension::Token], bucket()?)?,
                limit("daily", ORG, daily()?)?,
            ],
        };
        policy(limits)
    }

    /// All requests of this workload, with the names of their counters.
    pub(crate) fn requests(self, secret: &Secret) -> Fallible<Arc<[Request]>> {
        let mut requests: Vec<Request> = (0..REQUESTS).map(|rank| self.request(rank)).collect();
        spell(&mut requests, self.policies()?, secret)?;
        Ok(requests.into())
    }

    fn request(self, rank: u64) -> Request {
        let (org, user) = match self {
            Self::Bucket => (rank, rank),
            Self::ThreeAndQuota => (rank / PER_ORG, rank / PER_USER),
        };
        Request::new(org, user, rank)
    }
}

/// Gives the requests the names of their counters under this policy.
pub(crate) fn spell(
    requests: &mut [Request],
    (set, place): (PolicySet, usize),
    secret: &Secret,
) -> Fallible<()> {
    for request in requests {
        request.names = names(request, &set, place, secret)?;
    }
    Ok(())
}

/// The names of the counters of one request.
fn names(
    request: &Request,
    set: &PolicySet,
    place: usize,
    secret: &Secret,
) -> Fallible<Vec<String>> {
    let spelled = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&spelled);
    // A store that answers nothing: it only records the names it is asked about.
    let run = move |_: &str, names: &[&str], _: &[u8]| {
        let names = names.iter().map(ToString::to_string).collect();
        *heard.lock().unwrap_or_else(PoisonError::into_inner) = names;
        Vec::new()
    };
    // A new engine for each request: an engine soon stops asking a store that does not answer.
    let engine = Engine::new(RedisStore::scripted(secret, false, Box::new(run)), set.clone());
    let policies = engine.policies();
    let subject = request.subject();
    let mut case = Case::new(&policies.policies()[place], &subject);
    let decision = ready(engine.decide(&mut case));
    if decision.is_some_and(|it| it.is_ok_and(|decision| decision.failsafe().is_none())) {
        return Err("nobody answered, and yet the store has decided".into());
    }
    let names = spelled.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(names)
}

// === impl Request ===

impl Request {
    /// A request of the organisation, user and token with these ranks, which has to be admitted.
    pub(crate) fn new(org: u64, user: u64, token: u64) -> Self {
        let [org, user, token] = [org, user, token].map(key);
        Self { org, user, token, names: Vec::new(), passes: Some(true) }
    }

    pub(crate) fn org(&self) -> &str {
        &self.org
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

/// A policy with these limits: returns the set that contains it, and its index there.
pub(crate) fn policy(limits: Vec<Limit>) -> Fallible<(PolicySet, usize)> {
    // The deadline is the longest allowed, so that slow requests are measured, not cut off.
    let spec = PolicySpec::new(Name::try_new(POLICY)?, FailureMode::FailOpen)
        .deadline(*PolicySpec::DEADLINES.end());
    let spec = limits.into_iter().fold(spec, PolicySpec::limit);
    let set = PolicySet::builder().policy(spec).build(None)?;
    let place = set.place(POLICY).ok_or("the policy is missing from its set")?;
    Ok((set, place))
}

pub(crate) fn limit(name: &str, scope: &[Dimension], shape: Shape) -> Fallible<Limit> {
    Ok(Limit::new(Name::try_new(name)?, Scope::of(scope.iter().copied()), shape))
}

fn bucket() -> Fallible<Shape> {
    Ok(Shape::Bucket(Bucket::try_new(Rate::try_new(PER_MINUTE, Span::MINUTE)?, PER_MINUTE)?))
}

fn daily() -> Fallible<Shape> {
    Ok(Shape::Quota(Quota::try_new(A_DAY, Period::Fixed(Span::DAY), Counts::Admitted)?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn requests_of_one_organisation_share_its_counters_and_no_others() {
        let secret = Secret::try_new("a secret for this test, long enough").unwrap();
        let distinct = |workload: Workload, place: usize| {
            let requests = workload.requests(&secret).unwrap();
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
