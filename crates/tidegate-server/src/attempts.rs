//! Log lines and metrics of decisions that count attempts: the counts, the requests that a block keeps
//! out, and the blocks that begin.
//!
//! This is no observer of the engine: the beginning of a block is reported whatever the log level, and an
//! observer has its price for every decision. Lines name limits and what they count by, never subjects.

use tidegate_core::{Block, Decision, Dimension, Explanation, Tally as Counts};
use tracing::{debug, info, warn};

use crate::metrics::ThreadCounters;

/// The target of these log lines, which filters go by.
const TARGET: &str = "tidegate::attempts";

/// Logs and counts a decision, if its policy counts attempts.
#[inline]
pub(crate) fn note(tally: &ThreadCounters, decision: &Decision<'_>) {
    if decision.policy().counts_attempts() {
        note_each(tally, decision);
    }
}

fn note_each(tally: &ThreadCounters, decision: &Decision<'_>) {
    if let Some(block) = decision.block() {
        tally.kept_out(block.scope);
    }
    for said in decision.explain() {
        let Some(counts) = said.reading.attempts else { continue };
        log_counts(decision, &said, &counts);
        if let Some(block) = counts.block.filter(|_| counts.begins) {
            log_block(decision, &said, &block);
        }
    }
}

fn log_counts(decision: &Decision<'_>, said: &Explanation<'_>, counts: &Counts) {
    debug!(
        target: TARGET,
        policy = %decision.policy().name(),
        limit = %said.limit.name(),
        by = %said.limit.scope(),
        temp = counts.temp,
        long = counts.long,
        block = counts.block.map_or("", |block| block.scope.name()),
        decision = decision.verdict().name(),
        wait_us = said.reading.wait.as_micros(),
        shadow = said.limit.is_shadow(),
        "counted"
    );
}

/// Logs that a block has begun. If many accounts or many addresses have led to it, somebody has a plan,
/// and the line is a warning.
fn log_block(decision: &Decision<'_>, said: &Explanation<'_>, block: &Block) {
    let (policy, limit) = (decision.policy().name(), said.limit.name());
    let scope = block.scope.name();
    let block_level = block.level.map(|level| level.to_string()).unwrap_or_default();
    let seconds = block.until.since(decision.decided_at()).as_secs_ceil();
    match said.limit.counted() {
        None => {
            info!(target: TARGET, %policy, %limit, scope, block_level, seconds, "too many attempts: blocked");
        }
        Some(distinct) => {
            let (pattern, distinct) = (pattern(distinct), distinct.name());
            warn!(
                target: TARGET, %policy, %limit, scope, block_level, seconds, distinct, "{pattern}: blocked"
            );
        }
    }
}

/// The kind of attack that too many distinct values of a dimension are a sign of.
const fn pattern(distinct: Dimension) -> &'static str {
    match distinct {
        Dimension::Account | Dimension::User => {
            "password spraying, too many accounts tried from one place"
        }
        Dimension::Ip | Dimension::Ip56 | Dimension::Ip48 => {
            "distributed guessing, one account tried from too many addresses"
        }
        _ => "too many different attempts on one counter",
    }
}
