//! Requests that were refused for what their heads say, before anybody looked at what they ask for.
//!
//! Counted for the whole process and not by thread: such requests do no other work, and are rare unless
//! somebody attacks.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::collect::{Snapshot, counter};

/// Why the head of a request was enough to refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadRefusal {
    /// The request names another server.
    Host,
    /// A web page of another origin has sent the request.
    CrossSite,
    /// A request to the admin listener had a token, and not the right one.
    WrongToken,
}

/// How many requests were refused for each [`HeadRefusal`].
#[derive(Debug, Default)]
pub(crate) struct HeadRefusals([AtomicU64; HeadRefusal::ALL.len()]);

// === impl HeadRefusal ===

impl HeadRefusal {
    pub(crate) const ALL: [Self; 3] = [Self::Host, Self::CrossSite, Self::WrongToken];

    /// The label in metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::CrossSite => "cross_site",
            Self::WrongToken => "wrong_token",
        }
    }
}

// === impl HeadRefusals ===

impl HeadRefusals {
    /// Counts one more request.
    #[cold]
    pub(crate) fn count(&self, refusal: HeadRefusal) {
        self.0[refusal as usize].fetch_add(1, Relaxed);
    }

    /// The counts, in the order of [`HeadRefusal::ALL`].
    pub(crate) fn counts(&self) -> [u64; HeadRefusal::ALL.len()] {
        self.0.each_ref().map(|count| count.load(Relaxed))
    }
}

// === impl Snapshot ===

impl Snapshot {
    /// Encodes the requests that were refused for their heads.
    pub(super) fn head_refusals(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "tidegate_http_requests_refused",
            "Requests refused for what their heads say, by reason",
            None,
            MetricType::Counter,
        )?;
        for (refusal, count) in HeadRefusal::ALL.into_iter().zip(self.head_refusals) {
            counter(&mut metric, &[("reason", refusal.name().to_owned())], count)?;
        }
        Ok(())
    }
}
