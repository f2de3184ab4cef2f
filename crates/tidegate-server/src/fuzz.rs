//! Functions for fuzz targets: every place where bytes from the network are read.
//!
//! Each function takes any bytes, and must neither panic nor take long.

use tidegate_core::{Cost, CostRule, MAX_EXACT, Policy};
use tidegate_engine::file::{File, NoDoor};

use crate::admin::requests as operators;
use crate::wire::{query, requests};
use tidegate_tower::answer::Problem;

/// Reads a body as every kind of request.
///
/// # Errors
///
/// If the body is no request of any kind: the problem it has as a request for a decision.
pub fn request_body(bytes: &[u8]) -> Result<(), Problem> {
    let settled = requests::settle(bytes).map(drop);
    let batch = requests::batch(bytes).map(drop);
    let asked = requests::ask(bytes).map(|ask| {
        let _ = ask.facts.subject();
    });
    let ordered = operators::block(bytes).map(drop);
    let ordered = ordered.or(operators::unblock(bytes).map(drop));
    let ordered = ordered.or(operators::reset(bytes).map(drop));
    asked.or_else(|problem| settled.or(batch).or(ordered).map_err(|_| problem))
}

/// Reads a query, as one that gives facts and as one for a page of blocks.
///
/// # Errors
///
/// If the query is neither: the problem it has as one that gives facts.
pub fn request_query(bytes: &[u8]) -> Result<(), Problem> {
    let query = String::from_utf8_lossy(bytes);
    let listing = operators::listing(&query).map(drop);
    query::facts(&query).map(drop).or_else(|problem| listing.map_err(|_| problem))
}

/// Reads a text wherever a cost can be written: in a request, in a settlement and in a policy file.
/// Returns whether every cost that was read, and every number of units reckoned from it, is sound: never
/// zero, and never wrapped around.
#[must_use]
pub fn cost(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let asked = format!(r#"{{"policy":"api","cost":{text}}}"#);
    let settled = format!(r#"{{"ticket":"AQ","cost":{text}}}"#);
    let quoted = format!(r#"{{"policy":"api","cost":{}}}"#, serde_json::Value::from(&*text));
    let asked = requests::ask(asked.as_bytes()).map(|ask| ask.cost);
    let rules = written(&text);
    let weights = [text.parse().ok(), asked.ok(), Some(Cost::ONE), Cost::try_new(MAX_EXACT).ok()];
    let weights = weights.into_iter().flatten();
    let mut units = weights.clone().flat_map(|weight| {
        let plain =
            weights.clone().flat_map(|by| [CostRule::PerRequest(by), CostRule::PerUnit(by)]);
        plain.chain(rules.iter().copied()).map(move |rule| (rule, weight))
    });
    units.all(|(rule, weight)| is_exact(rule, weight))
        && requests::settle(settled.as_bytes()).map_or(true, |settle| settle.cost <= MAX_EXACT)
        && requests::ask(quoted.as_bytes()).is_err()
}

/// The cost rules of a policy file with `text` for a cost; none if the file cannot be read.
fn written(text: &str) -> Vec<CostRule> {
    let file = format!(
        "version: 1\npolicies:\n  - name: api\n    failure_mode: fail_open\n    limits:\n      - name: \
         burst\n        by: org\n        bucket: {{ rate: 1000/s, burst: 1000000 }}\n        cost: {text}\n"
    );
    let Ok(file) = File::<NoDoor>::parse("fuzz.yaml", &file) else { return Vec::new() };
    let Ok(set) = file.policies().clone().build(None) else { return Vec::new() };
    let limits = set.policies().iter().flat_map(Policy::limits);
    limits.map(|limit| limit.cost()).collect()
}

/// Whether the units of a request are not zero, and the same as in numbers that cannot overflow, with
/// [`MAX_EXACT`] as the most.
fn is_exact(rule: CostRule, weight: Cost) -> bool {
    let exact = match rule {
        CostRule::PerRequest(units) => u128::from(units.get()),
        CostRule::PerUnit(units) => u128::from(units.get()) * u128::from(weight.get()),
    };
    let units = rule.units(weight).get();
    units > 0 && u128::from(units) == exact.min(MAX_EXACT.into())
}

#[cfg(test)]
mod tests {
    //! That they reach what they are for.

    use super::*;

    #[test]
    fn every_kind_of_body_is_read() {
        for body in [
            r#"{"policy":"api"}"#,
            r#"{"ticket":"AQ","cost":0}"#,
            r#"{"requests":[{"policy":"api"}]}"#,
        ] {
            assert!(request_body(body.as_bytes()).is_ok(), "{body}");
        }
        assert!(request_body(b"\xff").is_err());
        assert!(request_query(b"org=acme").is_ok());
        assert!(request_query(b"%").is_err());
    }

    #[test]
    fn p89_a_cost_is_read_in_every_place() {
        for text in ["1", "7", "9007199254740991", "0", "-1", "1e3", "\"1\"", "{ per_unit: 3 }"] {
            assert!(cost(text.as_bytes()), "{text}");
        }
        assert!(matches!(*written("5"), [CostRule::PerUnit(units)] if units.get() == 5));
        assert!(matches!(*written("{ per_request: 5 }"), [CostRule::PerRequest(_)]));
        assert!(written("0").is_empty());
    }
}
