//! Vectors as they are written in the file. Unknown fields are errors.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Section;
use super::time::{Instant, VectorSpan};

/// One vector. Its optional fields determine the section it belongs to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vector {
    pub(crate) name: String,
    #[serde(default, rename = "why")]
    _why: Option<String>,
    pub(crate) bucket: Option<BucketText>,
    pub(crate) guardrail: Option<GuardrailText>,
    pub(crate) limits: Option<BTreeMap<String, LimitText>>,
    pub(crate) attempts: Option<AttemptsText>,
    pub(crate) failover: Option<String>,
    pub(crate) merge: Option<MergeText>,
    pub(crate) effective: Option<AllowanceText>,
    pub(crate) keys: Option<Vec<KeyText>>,
    pub(crate) prefixes: Option<Vec<PrefixText>>,
    pub(crate) steps: Option<Vec<StepText>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BucketText {
    pub(crate) rate: u64,
    pub(crate) per: VectorSpan,
    pub(crate) burst: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuardrailText {
    pub(crate) cap: u64,
    pub(crate) per: VectorSpan,
}

/// One limit: exactly one of the shapes, and its options.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitText {
    pub(crate) bucket: Option<BucketText>,
    pub(crate) window: Option<WindowText>,
    pub(crate) quota: Option<QuotaText>,
    #[serde(default)]
    pub(crate) shadow: bool,
    pub(crate) stage: Option<StageText>,
    pub(crate) counts: Option<CountsText>,
    pub(crate) backoff: Option<BackoffText>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WindowText {
    pub(crate) count: u64,
    pub(crate) per: VectorSpan,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuotaText {
    pub(crate) count: u64,
    /// A length of time, or `hour`, `day`, `week`, `month`.
    pub(crate) per: String,
    pub(crate) zone: Option<String>,
    pub(crate) anchor_day: Option<u8>,
    pub(crate) from: Option<FromText>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromText {
    FirstUse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StageText {
    Global,
    Action,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CountsText {
    Attempts,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackoffText {
    pub(crate) base: VectorSpan,
    pub(crate) factor: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VerdictText {
    Admit,
    Deny,
}

/// The remaining units: of the only limit, or of each.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum RemainingText {
    One(i64),
    Each(BTreeMap<String, i64>),
}

/// One step of a trace: a request or a reload, and its outcome.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepText {
    pub(crate) at: Instant,
    pub(crate) cost: Option<u64>,
    pub(crate) user: Option<String>,
    pub(crate) reload: Option<BTreeMap<String, LimitText>>,
    pub(crate) verdict: Option<VerdictText>,
    pub(crate) remaining: Option<RemainingText>,
    pub(crate) retry_after: Option<VectorSpan>,
    pub(crate) reset_after: Option<VectorSpan>,
    pub(crate) backoff: Option<VectorSpan>,
    #[serde(default)]
    pub(crate) never: bool,
    pub(crate) binding: Option<String>,
    pub(crate) source: Option<StageText>,
    pub(crate) shadow: Option<BTreeMap<String, VerdictText>>,
    #[serde(default, rename = "note")]
    _note: Option<String>,
    pub(crate) scope: Option<String>,
    pub(crate) temp_count: Option<u16>,
    pub(crate) long_count: Option<u16>,
    pub(crate) block_ends_in: Option<VectorSpan>,
    // The fields from here on occur only in vectors of failures.
    pub(crate) store: Option<String>,
    pub(crate) probes: Option<String>,
    pub(crate) decision: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) trips: Option<bool>,
    pub(crate) after: Option<String>,
    pub(crate) requests: Option<u64>,
    pub(crate) ip: Option<String>,
    pub(crate) agent: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttemptsText {
    pub(crate) temp: BlockText,
    pub(crate) long: BlockText,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlockText {
    pub(crate) block_at: u16,
    pub(crate) per: VectorSpan,
    pub(crate) block: VectorSpan,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MergeText {
    pub(crate) route: Option<AllowanceText>,
    pub(crate) upstream: Option<AllowanceText>,
    #[serde(default)]
    pub(crate) ancestors: Vec<AncestorText>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AllowanceText {
    pub(crate) rate: u64,
    pub(crate) per: VectorSpan,
    pub(crate) burst: u64,
    pub(crate) cost: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AncestorText {
    pub(crate) sharing: SharingText,
    pub(crate) rate: u64,
    pub(crate) per: VectorSpan,
    pub(crate) burst: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SharingText {
    Private,
    Inherit,
    Enforce,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyText {
    pub(crate) org: String,
    pub(crate) user: Option<String>,
    pub(crate) class: Option<String>,
    pub(crate) limit: KindText,
    pub(crate) per: VectorSpan,
    pub(crate) key: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KindText {
    Burst,
    Quota,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrefixText {
    pub(crate) ip: String,
    pub(crate) prefix: String,
}

// === impl Vector ===

impl Vector {
    /// The section of this vector: the only one whose fields it has.
    pub(crate) fn section(&self) -> Result<Section, String> {
        let limits = [self.bucket.is_some(), self.guardrail.is_some(), self.limits.is_some()];
        let said = [
            (limits.iter().filter(|said| **said).count() == 1).then_some(Section::Limits),
            self.merge.is_some().then_some(Section::Merge),
            self.keys.is_some().then_some(Section::Keys),
            self.prefixes.is_some().then_some(Section::Prefixes),
            self.attempts.is_some().then_some(Section::Attempts),
            self.failover.is_some().then_some(Section::Failover),
        ];
        let sections: Vec<Section> = said.into_iter().flatten().collect();
        let [section] = sections[..] else {
            return Err(format!("vector `{}` belongs to {sections:?}", self.name));
        };
        let has_steps = matches!(section, Section::Limits | Section::Attempts | Section::Failover);
        if self.steps.is_some() != has_steps {
            return Err(format!("vector `{}`: steps do not go with {section:?}", self.name));
        }
        if self.effective.is_some() != (section == Section::Merge) {
            return Err(format!("vector `{}`: what is effective is that of a merge", self.name));
        }
        Ok(section)
    }
}

// === impl StepText ===

impl StepText {
    /// The fields of this step that only vectors of failures may have.
    pub(crate) fn of_failures(&self) -> Vec<&'static str> {
        let fields = [
            ("store", self.store.is_some()),
            ("probes", self.probes.is_some()),
            ("decision", self.decision.is_some()),
            ("mode", self.mode.is_some()),
            ("event", self.event.is_some()),
            ("trips", self.trips.is_some()),
            ("after", self.after.is_some()),
            ("requests", self.requests.is_some()),
            ("ip", self.ip.is_some()),
            ("agent", self.agent.is_some()),
        ];
        fields.into_iter().filter(|(_, said)| *said).map(|(name, _)| name).collect()
    }

    /// The fields of this step that only vectors of limits and of attempts may have.
    pub(crate) fn of_limits(&self) -> Vec<&'static str> {
        let fields = [
            ("cost", self.cost.is_some()),
            ("user", self.user.is_some()),
            ("reload", self.reload.is_some()),
            ("remaining", self.remaining.is_some()),
            ("reset_after", self.reset_after.is_some()),
            ("backoff", self.backoff.is_some()),
            ("never", self.never),
            ("binding", self.binding.is_some()),
            ("source", self.source.is_some()),
            ("shadow", self.shadow.is_some()),
            ("scope", self.scope.is_some()),
            ("temp_count", self.temp_count.is_some()),
            ("long_count", self.long_count.is_some()),
            ("block_ends_in", self.block_ends_in.is_some()),
        ];
        fields.into_iter().filter(|(_, said)| *said).map(|(name, _)| name).collect()
    }
}
