//! The rules of Tidegate. (The book follows.)

mod address;
mod case;
mod charge;
mod cost;
mod decision;
mod key;
mod limit;
mod name;
mod overrides;
mod policy;
mod shape;
mod store;
mod subject;
mod tighten;
mod time;

pub use address::{Prefix, PrefixLength};
pub use case::Case;
pub use charge::{Batch, Charge, MAX_LIMITS, Plan, Readings, plan};
pub use cost::{Cost, CostError, CostRule};
pub use decision::{Decision, Denial, Explanation, Retry, Verdict, fold};
pub use key::{Digests, Key, KeyNames, MAX_PART};
pub use limit::{Limit, LimitError, Stage, Stamp};
pub use name::{Name, NameError};
pub use overrides::{Override, OverrideError};
pub use policy::{
    FailureMode, Overflow, Policy, PolicyError, PolicySet, PolicySetBuilder, PolicySpec,
};
pub use shape::{
    Backoff, Bucket, BucketState, Calendar, CalendarError, Counts, EXACT_WINDOW, Grid, Kind,
    Period, Periods, Quota, QuotaState, Rate, Reading, Ring, Room, SUB_COUNTS, Shape, ShapeError,
    Stale, Unit, Window, WindowState,
};
pub use store::{Store, StoreError};
pub use subject::{Dimension, Fact, Scope, Subject};
pub use tighten::{Allowance, Sharing, effective, tighten};
pub use time::{Clock, MAX_EXACT, ManualClock, Span, Timestamp};
