//! The policies of the simulated fleet: one of each kind that the failure contract distinguishes.

use std::sync::Arc;

use tidegate_core::{
    Bucket, Bundle, Calendar, Counts, Dimension, FailureMode, FleetSize, Limit, Name, Period,
    PolicySet, PolicySetBuilder, PolicySpec, Preset, Protects, Quota, Rate, RowId, Scope, Shape,
    Span, Unit, Window,
};

use super::checks::{FallbackKind, Law};
use super::hub::{DEADLINES, POLICIES};

/// The names of the policies, by index.
pub(super) const NAMES: [&str; POLICIES] =
    ["login", "otp", "api", "admin", "read", "spend", "outbound"];

/// The bits of all policies.
pub(super) const ALL: u32 = (1 << POLICIES) - 1;

/// The rate of `read` that is left to one node: a tenth.
const READ_CEILING: u64 = 4;

/// Requests that one account may make under `api` in an hour.
const HOURLY: u64 = 20;

/// The index of the policy with a quota, and the size of the quota; for the checks.
pub const QUOTA: (u8, u64) = (2, HOURLY);

/// The share of the window of `spend` that is left to one node, for each address prefix: a tenth.
const SPEND_TENTH: u64 = 4;

/// The share of the row of `outbound` that is left to one node, for each address prefix: one part in as
/// many as the fleet is said to have nodes.
const OUTBOUND_PART: u64 = 5;
const FLEET_SIZE: u32 = 6;

/// The facts about the policies that the checks need.
#[must_use]
pub fn laws() -> Vec<Law> {
    let kinds = [
        FallbackKind::Login,
        FallbackKind::Otp,
        FallbackKind::Guarded,
        FallbackKind::Closed,
        FallbackKind::Ceilings { per_second: READ_CEILING },
        FallbackKind::Spend { per_minute: SPEND_TENTH },
        FallbackKind::Outbound { per_minute: OUTBOUND_PART },
    ];
    let law = |place| Law { name: NAMES[place], kind: kinds[place], deadline: DEADLINES[place] };
    (0..POLICIES).map(law).collect()
}

/// A builder with the policies whose bits are set.
pub(super) fn builder(in_force: u32) -> PolicySetBuilder {
    let mut builder = PolicySet::builder();
    for (place, _) in NAMES.iter().enumerate().filter(|(place, _)| in_force >> place & 1 == 1) {
        builder = builder.policy(spec(place));
    }
    builder
}

/// The set of the policies whose bits are set.
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
            .limit(limit("api-all", &[], 100_000))
            .limit(hourly("api-hour", &[Dimension::Account])),
        3 => PolicySpec::new(name, FailureMode::FailClosed)
            .protecting(Protects::Admin)
            .limit(limit("admin-prefix", &[Dimension::Ip], 100))
            .limit(limit("admin-all", &[], 1_000)),
        4 => PolicySpec::new(name, FailureMode::Degraded)
            .protecting(Protects::Read)
            .limit(limit("read-prefix", &[Dimension::Ip], 10 * READ_CEILING))
            .limit(limit("read-account", &[Dimension::Account], 10)),
        6 => PolicySpec::stance(name, FailureMode::Degraded)
            .protecting(Protects::Outbound)
            .fleet_size(FleetSize::new(FLEET_SIZE).expect("it has nodes")),
        _ => PolicySpec::new(name, FailureMode::FailClosed)
            .protecting(Protects::Spend)
            .limit(window("spend-prefix", &[Dimension::Ip], 10 * SPEND_TENTH + 9))
            .limit(limit("spend-all", &[], 100_000)),
    }
}

/// The rows that requests under `outbound`, which has no limits of its own, are charged to.
pub(super) fn rows() -> Bundle {
    let most = OUTBOUND_PART * u64::from(FLEET_SIZE) + 3;
    let limits = [window("prefix", &[Dimension::Ip], most), limit("all", &[], 100_000)];
    let row = |(limit, id): (Limit, u128)| {
        Arc::new(limit.as_row(RowId::from_u128(id), &"top".into()).expect("a row"))
    };
    Bundle::try_new(limits.into_iter().zip(1..).map(row).collect()).expect("two rows")
}

fn limit(text: &str, by: &[Dimension], per_second: u64) -> Limit {
    let rate = Rate::per_second(per_second).expect("a rate");
    let bucket = Bucket::try_new(rate, 2 * per_second).expect("a bucket");
    Limit::new(name(text), Scope::of(by.iter().copied()), Shape::Bucket(bucket)).with_named_key()
}

/// A quota for each calendar hour, whose bounds only the store's clock determines.
fn hourly(text: &str, by: &[Dimension]) -> Limit {
    let hours = Calendar::try_new(Unit::Hour, "UTC", None).expect("a calendar");
    let quota = Quota::try_new(HOURLY, Period::Calendar(hours), Counts::Admitted).expect("a quota");
    Limit::new(name(text), Scope::of(by.iter().copied()), Shape::Quota(quota)).with_named_key()
}

fn window(text: &str, by: &[Dimension], per_minute: u64) -> Limit {
    let window = Window::try_new(per_minute, Span::MINUTE, Counts::Admitted).expect("a window");
    Limit::new(name(text), Scope::of(by.iter().copied()), Shape::Window(window)).with_named_key()
}

fn name(text: &str) -> Name {
    Name::try_new(text).expect("a name")
}
