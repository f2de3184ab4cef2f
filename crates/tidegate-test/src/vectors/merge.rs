//! The vectors of merges and prefixes, which need no store.

use tidegate_core::{Allowance, Bucket, Cost, CostRule, Prefix, Rate, Sharing, Span, effective};

use super::written::{AllowanceText, SharingText, Vector};
use super::{Section, Vectors};

// === impl Vectors ===

impl Vectors {
    /// Checks every vector of merges, and returns the names of those checked.
    ///
    /// # Errors
    ///
    /// The first merge with another result.
    pub fn check_merges(&self) -> Result<Vec<&str>, String> {
        self.of(Section::Merge).map(|vector| check_merge(vector).map(|()| &*vector.name)).collect()
    }

    /// Checks every vector of prefixes, and returns the names of those checked.
    ///
    /// # Errors
    ///
    /// The first address with another prefix.
    pub fn check_prefixes(&self) -> Result<Vec<&str>, String> {
        self.of(Section::Prefixes)
            .map(|vector| check_prefixes(vector).map(|()| &*vector.name))
            .collect()
    }
}

fn check_merge(vector: &Vector) -> Result<(), String> {
    let (Some(merge), Some(expected)) = (&vector.merge, &vector.effective) else {
        return Err(format!("{}: nothing is merged", vector.name));
    };
    let ancestors: Vec<(Sharing, Allowance)> = merge
        .ancestors
        .iter()
        .map(|ancestor| {
            let sharing = match ancestor.sharing {
                SharingText::Private => Sharing::Private,
                SharingText::Inherit => Sharing::Inherit,
                SharingText::Enforce => Sharing::Enforce,
            };
            (sharing, allowance(ancestor.rate, ancestor.per.0, ancestor.burst, None))
        })
        .collect();
    let of = |text: &AllowanceText| allowance(text.rate, text.per.0, text.burst, text.cost);
    let route = merge.route.as_ref().map(of);
    let upstream = merge.upstream.as_ref().map(of);
    let merged = effective(route, upstream, &ancestors);
    match merged == Some(of(expected)) {
        true => Ok(()),
        false => Err(format!("{}: {merged:?} instead of {expected:?}", vector.name)),
    }
}

fn allowance(rate: u64, per: Span, burst: u64, cost: Option<u64>) -> Allowance {
    let rate = Rate::try_new(rate, per).expect("vectors have valid rates");
    let cost = Cost::try_new(cost.unwrap_or(1)).expect("vectors have valid costs");
    let bucket = Bucket::try_new(rate, burst).expect("vectors have valid bursts");
    Allowance { bucket, cost: CostRule::PerRequest(cost) }
}

fn check_prefixes(vector: &Vector) -> Result<(), String> {
    for text in vector.prefixes.iter().flatten() {
        let ip = text.ip.parse().map_err(|error| format!("{:?}: {error}", text.ip))?;
        let prefix = Prefix::of(ip).to_string();
        if prefix != text.prefix {
            return Err(format!(
                "{}: {} counts as {prefix}, not {}",
                vector.name, text.ip, text.prefix
            ));
        }
    }
    Ok(())
}
