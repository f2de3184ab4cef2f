//! The metrics of the server: what is counted, and how `/metrics` shows it.
//!
//! Every thread has its own counters, found by their index: no request looks anything up in a map or
//! shares a cache line with another thread ([`Stripes`](tidegate_tower::metrics::Stripes)). `/metrics`
//! adds them up. All labels come from closed sets
//! (threat T39): policies and limits in force, route templates, and names in this program.

mod collect;
mod modes;
mod refusals;
mod tally;

pub(crate) use collect::ServerMetrics;
pub(crate) use refusals::HeadRefusal;
pub(crate) use tally::ThreadCounters;
