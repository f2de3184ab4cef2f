//! What every door counts with: counters that threads do not fight over, a histogram of durations, and
//! the text that a scraper reads.
//!
//! | you look for | it is in |
//! |---|---|
//! | a counter, a histogram, copies of them for threads | [`Counter`], [`Histogram`], [`Stripes`] |
//! | families of metrics, written for a scrape | [`Families`] |
//! | the metrics of policies and their store, which all doors show | [`Families::standings`] |
//! | which text format a scraper gets | [`Format`] |
//!
//! Counting takes no lock and allocates nothing. Names of metrics and labels are constants, and label
//! values come from closed sets (threat T39).

mod counter;
mod exposition;
mod families;

pub use counter::{Counter, Histogram, Stripes};
pub use exposition::{Format, encode};
pub use families::Families;
