//! What a policy may do while its store fails, and what then decides.

mod entrances;
mod lower;

use super::*;
use crate::shape::{Rate, Shape};
use crate::{Bucket, Scope};

fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

fn spec(failure: FailureMode) -> PolicySpec {
    let bucket = Bucket::try_new(Rate::per_second(1).unwrap(), 1).unwrap();
    let limit = Limit::new(name("l"), Scope::GLOBAL, Shape::Bucket(bucket));
    PolicySpec::new(name("p"), failure).limit(limit)
}

fn built(spec: PolicySpec) -> Result<Policy, PolicyError> {
    let set = PolicySet::builder().policy(spec).build(None)?;
    Ok(set.get("p").unwrap().clone())
}

#[test]
fn a_policy_has_twelve_limits_and_a_thirteenth_is_refused() {
    let with = |limits: u64| {
        (1..limits).fold(spec(FailureMode::FailOpen), |spec, burst| {
            let bucket = Bucket::try_new(Rate::per_second(1).unwrap(), burst).unwrap();
            let limit =
                Limit::new(name(&format!("l{burst}")), Scope::GLOBAL, Shape::Bucket(bucket));
            spec.limit(limit.with_named_key())
        })
    };
    assert_eq!(built(with(12)).unwrap().limits().len(), 12);
    let refused = built(with(13)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "policy `p` has more than 12 limits, the most one decision can charge"
    );
}

#[test]
fn a35_only_entrances_and_spend_may_fail_closed() {
    let said = |protects: Option<Protects>| {
        let spec = spec(FailureMode::FailClosed);
        built(protects.iter().fold(spec, |spec, what| spec.protecting(*what)))
    };
    let rows = [
        (Some(Protects::Login), true),
        (Some(Protects::Otp), true),
        (Some(Protects::Auth), true),
        (Some(Protects::StepUp), true),
        (Some(Protects::Admin), true),
        (Some(Protects::Spend), true),
        (Some(Protects::ApiHeavy), false),
        (Some(Protects::Read), false),
        (Some(Protects::Write), false),
        (Some(Protects::Bulk), false),
        (Some(Protects::Health), false),
        (Some(Protects::Outbound), false),
        (None, false),
    ];
    assert_eq!(rows.len(), Protects::ALL.len() + 1);
    for (protects, allowed) in rows {
        match said(protects) {
            Ok(policy) => assert!(allowed, "{:?}", policy.protects()),
            Err(error) => {
                assert!(!allowed, "{error}");
                let expected = match protects {
                    Some(Protects::Outbound) => PolicyError::NotDegraded(name("p")),
                    _ => PolicyError::NotCritical { policy: name("p"), protects },
                };
                assert_eq!(error, expected);
            }
        }
    }
    assert_eq!(
        said(None).unwrap_err().to_string(),
        "policy `p` is `fail_closed` and protects nothing in particular: only an entrance (`login`, \
         `otp`, `auth`, `step_up`, `admin`) or `spend` may be closed by an outage of the store; write \
         `degraded` or `fail_open`, or `protects: spend` if it guards money or what cannot be undone"
    );
    let written = built(spec(FailureMode::FailClosed).class(name("write"))).unwrap_err();
    assert!(written.to_string().contains("protects `write`: only"), "{written}");
}

#[test]
fn p04_an_entrance_never_lets_pass_what_is_past_its_limits() {
    let degrading = |protects, failure| {
        built(spec(failure).protecting(protects).overflow(Overflow::Degrade)).map(drop)
    };
    for protects in
        [Protects::Login, Protects::Otp, Protects::Auth, Protects::StepUp, Protects::Admin]
    {
        let refused = degrading(protects, FailureMode::FailClosed).unwrap_err();
        assert_eq!(refused, PolicyError::DegradedEntrance { policy: name("p"), protects });
    }
    degrading(Protects::Read, FailureMode::FailOpen).unwrap();
    degrading(Protects::Spend, FailureMode::FailClosed).unwrap();
    let waiting = spec(FailureMode::FailClosed).protecting(Protects::Login);
    built(waiting.overflow(Overflow::Queue)).unwrap();
    // A limit that says so itself is refused as well; one that says otherwise is not.
    let soft = |overflow| {
        let bucket = Bucket::try_new(Rate::per_second(1).unwrap(), 100).unwrap();
        Limit::new(name("l"), Scope::GLOBAL, Shape::Bucket(bucket)).on_overflow(overflow)
    };
    let login = || PolicySpec::new(name("p"), FailureMode::FailClosed).protecting(Protects::Login);
    let refused = built(login().limit(soft(Overflow::Degrade))).unwrap_err();
    let protects = Protects::Login;
    assert_eq!(refused, PolicyError::DegradedEntrance { policy: name("p"), protects });
    built(login().overflow(Overflow::Degrade).limit(soft(Overflow::Reject))).unwrap();
}

#[test]
fn p05_a_failure_mode_is_never_a_default() {
    // There is no way to a specification without one; what was said is what holds.
    for failure in FailureMode::ALL {
        let protects = match failure {
            FailureMode::FailClosed => Protects::Login,
            FailureMode::FailOpen | FailureMode::Degraded => Protects::Read,
        };
        assert_eq!(built(spec(failure).protecting(protects)).unwrap().failure(), failure);
    }
}

#[test]
fn a_class_says_what_is_guarded_unless_the_policy_does() {
    let of_class = |class, failure| built(spec(failure).class(name(class))).unwrap();
    let usual = [
        ("read", Protects::Read, FailureMode::FailOpen),
        ("write", Protects::Write, FailureMode::FailOpen),
        ("bulk", Protects::Bulk, FailureMode::FailOpen),
        ("admin", Protects::Admin, FailureMode::FailClosed),
        ("auth", Protects::Auth, FailureMode::FailClosed),
        ("login", Protects::Login, FailureMode::FailClosed),
        ("otp", Protects::Otp, FailureMode::FailClosed),
        ("step_up", Protects::StepUp, FailureMode::FailClosed),
        ("step-up", Protects::StepUp, FailureMode::FailClosed),
        ("health", Protects::Health, FailureMode::FailOpen),
        ("metadata", Protects::Health, FailureMode::FailOpen),
    ];
    for (class, protects, failure) in usual {
        assert_eq!(of_class(class, failure).protects(), Some(protects), "{class}");
    }
    for class in ["reads", "api_heavy"] {
        assert_eq!(of_class(class, FailureMode::FailOpen).protects(), None, "{class}");
    }
    let said = spec(FailureMode::FailOpen).class(name("read")).protecting(Protects::Bulk);
    assert_eq!(built(said).unwrap().protects(), Some(Protects::Bulk));
    assert_eq!(built(spec(FailureMode::FailOpen)).unwrap().protects(), None);
}

#[test]
fn what_decides_without_a_store_follows_from_the_kind_and_the_mode() {
    use FailureMode::{Degraded, FailClosed, FailOpen};
    let fallbacks = |protects: Option<Protects>| {
        FailureMode::ALL.map(|failure| {
            let spec = spec(failure);
            let spec = protects.iter().fold(spec, |spec, what| spec.protecting(*what));
            built(spec).ok().map(|policy| policy.fallback())
        })
    };
    assert_eq!(FailureMode::ALL, [FailClosed, FailOpen, Degraded], "the order of the rows below");
    let (closed, none) = (Some(Fallback::Closed), None);
    let ceilings = Some(Fallback::Ceilings);
    for protects in Protects::ALL {
        let expected = match protects {
            Protects::Login => [Some(Fallback::Login), none, none],
            Protects::Otp | Protects::StepUp => [Some(Fallback::Otp), none, none],
            Protects::Auth | Protects::Admin => [closed, none, none],
            Protects::ApiHeavy => [none, Some(Fallback::Guarded), ceilings],
            Protects::Read | Protects::Write | Protects::Bulk => [none, ceilings, ceilings],
            Protects::Health => [none, Some(Fallback::Health), Some(Fallback::Health)],
            Protects::Spend => [Some(Fallback::Spend), none, Some(Fallback::Spend)],
            Protects::Outbound => [none, none, Some(Fallback::Outbound(FleetSize::USUAL))],
        };
        assert_eq!(fallbacks(Some(protects)), expected, "{protects:?}");
    }
    assert_eq!(fallbacks(None), [none, Some(Fallback::Guarded), ceilings]);
}

#[test]
fn p09_every_policy_has_a_deadline() {
    for protects in Protects::ALL {
        let (failure, millis) = match protects.is_entrance() {
            true => (FailureMode::FailClosed, 250),
            false => (FailureMode::Degraded, 100),
        };
        let policy = built(spec(failure).protecting(protects)).unwrap();
        assert_eq!(policy.deadline(), Span::from_millis(millis), "{protects:?}");
    }
    assert_eq!(built(spec(FailureMode::FailOpen)).unwrap().deadline(), Span::from_millis(100));
    let admin = spec(FailureMode::FailClosed).class(name("admin"));
    assert_eq!(built(admin).unwrap().deadline(), Span::from_millis(250));
}

#[test]
fn p14_a_deadline_is_short_enough_for_an_outage_to_be_noticed() {
    let with = |micros| {
        let deadline = Span::from_micros(micros);
        (built(spec(FailureMode::FailOpen).deadline(deadline)), deadline)
    };
    for micros in [1_000, 1_001, 2_000_000] {
        let (policy, deadline) = with(micros);
        assert_eq!(policy.unwrap().deadline(), deadline);
    }
    for micros in [0, 999, 2_000_001, u64::MAX] {
        let (policy, deadline) = with(micros);
        let refused = policy.unwrap_err();
        assert!(refused.to_string().contains("at least 1ms and at most 2s"), "{refused}");
        assert_eq!(refused, PolicyError::Deadline { policy: name("p"), deadline });
    }
}
