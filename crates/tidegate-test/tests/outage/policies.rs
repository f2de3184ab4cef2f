//! The policies of these nodes: one of each way in which a policy can do without its store.

use tidegate_core::{
    Bucket, Dimension, FailureMode, Limit, Name, Policy, PolicySet, PolicySetBuilder, PolicySpec,
    Preset, Protects, Rate, Scope, Shape, Span,
};
use tidegate_test::document::is_update;
use tidegate_test::sim::checks::{FallbackKind, Law};

/// Their names, in order.
pub(crate) const NAMES: [&str; 4] = ["login", "otp", "api", "admin"];
/// Their places.
pub(crate) const LOGIN: u8 = 0;
pub(crate) const OTP: u8 = 1;
pub(crate) const API: u8 = 2;
pub(crate) const ADMIN: u8 = 3;
/// Every policy of these tests, in order.
pub(crate) const ALL: [u8; 4] = [LOGIN, OTP, API, ADMIN];

const KINDS: [FallbackKind; 4] =
    [FallbackKind::Login, FallbackKind::Otp, FallbackKind::Guarded, FallbackKind::Closed];

/// Longer than the usual one: a healthy server on a busy machine must not look like a sick one.
const PATIENT: Span = Span::from_millis(600);

/// The policies, with the usual deadlines where figures are written down and patient ones otherwise.
pub(crate) fn set() -> PolicySet {
    within((!is_update()).then_some(PATIENT))
}

/// The same with the longest deadlines there are, where nothing is made to stall.
pub(crate) fn set_without_haste() -> PolicySet {
    within(Some(*PolicySpec::DEADLINES.end()))
}

fn within(deadline: Option<Span>) -> PolicySet {
    let specs = ALL.map(|place| match deadline {
        Some(deadline) => spec(place).deadline(deadline),
        None => spec(place),
    });
    specs.into_iter().fold(PolicySet::builder(), PolicySetBuilder::policy).build(None).unwrap()
}

/// What the checks have to know of them.
pub(crate) fn laws(set: &PolicySet) -> Vec<Law> {
    let law = |place: u8| {
        let (name, kind) = (NAMES[usize::from(place)], KINDS[usize::from(place)]);
        Law { name, kind, deadline: set.get(name).unwrap().deadline().as_micros() }
    };
    ALL.into_iter().map(law).collect()
}

/// The longest deadline: what the store may take at most, whatever it is asked.
pub(crate) fn longest(set: &PolicySet) -> Span {
    set.policies().iter().map(Policy::deadline).max().unwrap()
}

fn spec(place: u8) -> PolicySpec {
    let name = name(NAMES[usize::from(place)]);
    match place {
        LOGIN => Preset::Login.policy(name, FailureMode::FailClosed),
        OTP => Preset::Otp.policy(name, FailureMode::FailClosed),
        API => PolicySpec::new(name, FailureMode::FailOpen)
            .protecting(Protects::ApiHeavy)
            .limit(limit("api-prefix", Dimension::Ip))
            .limit(limit("api-account", Dimension::Account)),
        _ => PolicySpec::new(name, FailureMode::FailClosed)
            .protecting(Protects::Admin)
            .limit(limit("admin-prefix", Dimension::Ip)),
    }
}

/// A bucket that fills so slowly that no test sees it: what is read of it is what was counted.
fn limit(text: &str, by: Dimension) -> Limit {
    let rate = Rate::try_new(1, Span::HOUR).unwrap();
    let bucket = Shape::Bucket(Bucket::try_new(rate, 9_000).unwrap());
    Limit::new(name(text), Scope::of([by]), bucket).with_named_key()
}

pub(crate) fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}
