//! A37: what a probe charges, under which names, and for how long that has to be kept.

use super::*;
use crate::block::Ladder;
use crate::key::KeyNames;
use crate::name::Name;
use crate::policy::{FailureMode, PolicySet, PolicySpec};
use crate::shape::{
    Attempts, Backoff, Bucket, Calendar, Counts, Period, Quota, Rate, Shape, Threshold, Unit,
    Window,
};
use crate::subject::{Dimension, Scope};

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn shapes() -> Vec<(&'static str, Shape)> {
    let quota = |period| Shape::Quota(Quota::try_new(9, period, Counts::Admitted).unwrap());
    let window = |count, counts| Shape::Window(Window::try_new(count, Span::DAY, counts).unwrap());
    let backoff = Counts::Attempts(Some(Backoff::exponential(Span::SECOND, 2, Span::HOUR)));
    let threshold = |block_at, per| Threshold { block_at, per, block: Span::DAY };
    let log = |long| Shape::Attempts(Attempts::try_new(threshold(3, Span::MINUTE), long).unwrap());
    let climbing = Attempts::climbing(3, Span::DAY, Ladder::default()).unwrap();
    vec![
        (
            "bucket",
            Shape::Bucket(Bucket::try_new(Rate::try_new(1, Span::DAY).unwrap(), 2).unwrap()),
        ),
        ("ring", window(3, Counts::Admitted)),
        ("grid", window(3_000, Counts::Admitted)),
        ("backoff", window(3, backoff)),
        ("fixed", quota(Period::Fixed(Span::DAY))),
        ("first-use", quota(Period::FirstUse(Span::DAY))),
        ("month", quota(Period::Calendar(Calendar::try_new(Unit::Month, "UTC", None).unwrap()))),
        ("temp", log(None)),
        ("dual", log(Some(threshold(5, Span::HOUR)))),
        ("ladder", Shape::Attempts(climbing)),
    ]
}

fn set(limits: Vec<Limit>) -> PolicySet {
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen);
    let spec = limits.into_iter().fold(spec, PolicySpec::limit);
    PolicySet::builder().policy(spec).build(None).unwrap()
}

fn limit(name: &str, by: &[Dimension], shape: Shape) -> Limit {
    let scope = Scope::of(by.iter().copied());
    Limit::new(Name::try_new(name).unwrap(), scope, shape).with_named_key()
}

#[test]
fn a37_every_limit_is_charged_whomever_it_exempts_and_whatever_it_counts() {
    let log = || Shape::Attempts(Attempts::climbing(3, Span::DAY, Ladder::default()).unwrap());
    let set = set(vec![
        limit("unvouched", &[Dimension::Account], log()).unless(Dimension::Device),
        limit("vouched", &[Dimension::Account, Dimension::Device], log()),
        limit("spray", &[Dimension::Ip], log()).distinct(Dimension::Account),
        limit("quota", &[Dimension::Org], shapes().remove(4).1),
    ]);
    let trial = Trial::new(&set.policies()[0], 0xAB, NOW);
    let batch = trial.batch();
    let names = batch.charges().iter().map(|charge| charge.limit().name().as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["unvouched", "vouched", "spray", "quota"]);
    let members = batch.charges().iter().map(Charge::member);
    assert_eq!(members.collect::<Vec<_>>(), [0, 0, 1, 0]);
    assert_eq!(batch.deadline(), set.policies()[0].deadline());
}

#[test]
fn a37_the_keys_are_in_the_families_of_the_limits_and_nobodys() {
    let mut shapes = shapes();
    let set = set(vec![
        limit("log", &[Dimension::Ip], shapes.remove(9).1),
        limit("quota", &[Dimension::Org, Dimension::User], shapes.remove(4).1),
        limit("bucket", &[], shapes.remove(0).1),
    ]);
    let policy = &set.policies()[0];
    let keys = |secret: u8, node| {
        let (names, trial) = (KeyNames::new(&[secret; 32]), Trial::new(policy, node, NOW));
        let batch = trial.batch();
        batch.charges().iter().map(|charge| names.text(&batch.key(charge))).collect::<Vec<_>>()
    };
    let ids: Vec<String> =
        policy.limits().iter().map(|limit| format!("{:016x}", limit.id())).collect();
    let found = keys(1, 0xAB);
    assert!(found[0].starts_with("abuse_limiter:attempts:{!ip}:"), "{}", found[0]);
    assert!(found[0].ends_with(&ids[0]), "{}", found[0]);
    assert_eq!(found[1], format!("rq:{{!org}}:00000000000000ab:{}", ids[1]));
    assert_eq!(found[2], format!("rl:{{!*}}:00000000000000ab:{}", ids[2]));
    assert!(keys(1, 0xAC).iter().all(|key| !found.contains(key)), "each node has its own");
    let other = keys(2, 0xAB);
    let changed: Vec<bool> = found.iter().zip(&other).map(|(one, two)| one != two).collect();
    assert_eq!(changed, [true, false, false], "with the secret, where something is private");
    // Whatever a subject is called, no part of its key has a `!`.
    let subject = Subject::new().org("!org").user("00000000000000ab");
    let mut case = crate::case::Case::new(policy, &subject);
    case.resolve(&crate::key::Digests::new([1, 2]));
    let charge = case.batch().charges()[0];
    let text = KeyNames::new(&[1; 32]).text(&case.batch().key(&charge));
    assert_eq!(text, "rq:{%21org}:user:00000000000000ab:limit:quota:w1d");
}

#[test]
fn a37_nothing_of_a_probe_has_to_be_kept_for_five_seconds() {
    for (what, shape) in shapes() {
        let brief = shape.brief(NOW);
        assert_ne!(brief, shape, "{what} has other numbers");
        assert_eq!(brief.counts_attempts(), shape.counts_attempts(), "{what}");
        let set = set(vec![limit("limit", &[], shape)]);
        let trial = Trial::new(&set.policies()[0], 7, NOW);
        let (batch, mut kept) = (trial.batch(), None);
        let charge = batch.charges()[0];
        for probe in 0..20 {
            let now = NOW.after(Span::from_millis(100 * probe));
            let (state, reading) = charge.take(kept.as_ref(), now).unwrap();
            assert!(reading.attempts.is_none_or(|tally| tally.block.is_none()), "{what}");
            assert!(reading.reset_after <= Span::from_secs(5), "{what}: {:?}", reading.reset_after);
            kept = Some(state);
        }
        // A clock that is nowhere near the node's: other periods, as short as these.
        let far = NOW.after(Span::DAY);
        charge.refresh(far);
        let (_, reading) = charge.take(None, far).unwrap();
        assert!(reading.reset_after <= Span::from_secs(5), "{what}: {:?}", reading.reset_after);
    }
}

#[test]
fn a37_the_probe_of_a_stance_charges_every_shape_that_a_row_can_have() {
    let stance = PolicySpec::stance(Name::try_new("calls").unwrap(), FailureMode::Degraded);
    let stance = stance.protecting(crate::policy::Protects::Outbound);
    let set = PolicySet::builder().policy(stance).build(None).unwrap();
    let trial = Trial::new(set.get("calls").unwrap(), 7, NOW);
    let batch = trial.batch();
    let kinds: Vec<_> = batch.charges().iter().map(|charge| charge.shape().kind().name()).collect();
    assert_eq!(kinds, ["bucket", "window", "window", "quota"]);
    let is_exact =
        |charge: &Charge<'_>| matches!(charge.shape(), Shape::Window(it) if it.is_exact());
    let exact: Vec<_> = batch.charges().iter().map(is_exact).collect();
    assert_eq!(exact, [false, true, false, false], "both forms of a window");
    let names = KeyNames::new(&[7; 32]);
    let mut keys: Vec<_> = batch.charges().iter().map(|it| names.text(&batch.key(it))).collect();
    assert!(keys.iter().all(|key| key.contains("{!*}")), "no subject has such a key: {keys:?}");
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 4);
}
