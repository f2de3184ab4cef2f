//! The policies of the simulated fleet: one of each kind that the contract of failure tells apart.

use tidegate_core::{
    Bucket, Counts, Dimension, FailureMode, Limit, Name, PolicySet, PolicySetBuilder, PolicySpec,
    Preset, Protects, Rate, Scope, Shape, Span, Window,
};

use super::checks::{Kind, Law};
use super::hub::{DEADLINES, POLICIES};

/// Their names, in order.
pub(super) const NAMES: [&str; POLICIES] = ["login", "otp", "api", "admin", "read", "spend"];

/// All of them are in force.
pub(super) const ALL: u32 = (1 << POLICIES) - 1;

/// What is left of the rate of `read` to one node: a tenth.
const READ_CEILING: u64 = 4;

/// What is left of the window of `spend` to one node, for each address prefix: a tenth.
const SPEND_TENTH: u64 = 4;

/// What the checks have to know of them.
#[must_use]
pub fn laws() -> Vec<Law> {
    let kinds = [
        Kind::Login,
        Kind::Otp,
        Kind::Guarded,
        Kind::Closed,
        Kind::Ceilings { per_second: READ_CEILING },
        Kind::Spend { per_minute: SPEND_TENTH },
    ];
    let law = |place| Law { name: NAMES[place], kind: kinds[place], deadline: DEADLINES[place] };
    (0..POLICIES).map(law).collect()
}

/// Those with their bits set.
pub(super) fn builder(in_force: u32) -> PolicySetBuilder {
    let mut builder = PolicySet::builder();
    for (place, _) in NAMES.iter().enumerate().filter(|(place, _)| in_force >> place & 1 == 1) {
        builder = builder.policy(spec(place));
    }
    builder
}

/// All of them, checked.
pub(super) fn set(in_force: u32) -> PolicySet {
    builder(in_force).build(None).expect("the policies of the simulation are valid")
}

fn spec(place: usize) -> PolicySpec {
    let name = name(NAMES[place]);
    match place {
        0 => Preset::Login.policy(name, FailureMode::FailClosed),
        1 => Preset::Otp.policy(name, FailureMode::FailClosed),
        2 => PolicySpec::new(name, FailureMode::FailOpen)
            .protecting(Protects::ApiHeavy)
            .limit(limit("api-prefix", &[Dimension::Ip], 1_000))
            .limit(limit("api-account", &[Dimension::Account], 500))
            .limit(limit("api-all", &[], 100_000)),
        3 => PolicySpec::new(name, FailureMode::FailClosed)
            .protecting(Protects::Admin)
            .limit(limit("admin-prefix", &[Dimension::Ip], 100))
            .limit(limit("admin-all", &[], 1_000)),
        4 => PolicySpec::new(name, FailureMode::Degraded)
            .protecting(Protects::Read)
            .limit(limit("read-prefix", &[Dimension::Ip], 10 * READ_CEILING))
            .limit(limit("read-account", &[Dimension::Account], 10)),
        _ => PolicySpec::new(name, FailureMode::FailClosed)
            .protecting(Protects::Spend)
            .limit(window("spend-prefix", &[Dimension::Ip], 10 * SPEND_TENTH + 9))
            .limit(limit("spend-all", &[], 100_000)),
    }
}

fn limit(text: &str, by: &[Dimension], per_second: u64) -> Limit {
    let rate = Rate::per_second(per_second).expect("a rate");
    let bucket = Bucket::try_new(rate, 2 * per_second).expect("a bucket");
    Limit::new(name(text), Scope::of(by.iter().copied()), Shape::Bucket(bucket)).with_named_key()
}

fn window(text: &str, by: &[Dimension], per_minute: u64) -> Limit {
    let window = Window::try_new(per_minute, Span::MINUTE, Counts::Admitted).expect("a window");
    Limit::new(name(text), Scope::of(by.iter().copied()), Shape::Window(window)).with_named_key()
}

fn name(text: &str) -> Name {
    Name::try_new(text).expect("a name")
}
