//! The vectors of keys: the text that the key of a counter must have.

use tidegate_core::{
    Bucket, Case, Counts, Dimension, FailureMode, KeyNames, Limit, Name, Period, PolicySet,
    PolicySpec, Quota, Rate, Scope, Shape, Subject,
};

use super::written::{KeyText, KindText, Vector};
use super::{Section, Vectors};
use crate::drive::digests;

// === impl Vectors ===

impl Vectors {
    /// Checks every vector of keys, and returns the names of those checked.
    ///
    /// # Errors
    ///
    /// The first key with another text.
    pub fn check_keys(&self) -> Result<Vec<&str>, String> {
        self.of(Section::Keys).map(|vector| check(vector).map(|()| &*vector.name)).collect()
    }
}

fn check(vector: &Vector) -> Result<(), String> {
    for text in vector.keys.iter().flatten() {
        let key = key(text);
        if key != text.key || !key.is_ascii() {
            return Err(format!("{}: {key} instead of {}", vector.name, text.key));
        }
    }
    Ok(())
}

fn key(text: &KeyText) -> String {
    let KeyText { org, user, class, limit, per, key: _ } = text;
    let shape = match limit {
        KindText::Burst => {
            let rate = Rate::try_new(1, per.0).expect("vectors have valid periods");
            Shape::Bucket(Bucket::try_new(rate, 1).expect("a burst of one is valid"))
        }
        KindText::Quota => {
            let quota = Quota::try_new(1, Period::Fixed(per.0), Counts::Admitted);
            Shape::Quota(quota.expect("vectors have valid periods"))
        }
    };
    let mut subject = Subject::new().org(org);
    let mut dimensions = vec![Dimension::Org];
    for (dimension, value) in [(Dimension::User, user), (Dimension::Class, class)] {
        if let Some(value) = value {
            subject = subject.with(dimension, value.as_bytes());
            dimensions.push(dimension);
        }
    }
    let name = |text| Name::try_new(text).expect("the name is valid");
    let limit = Limit::new(name("limit"), Scope::of(dimensions), shape);
    let spec = PolicySpec::new(name("policy"), FailureMode::FailOpen).limit(limit);
    let set = PolicySet::builder().policy(spec).build(None).expect("one limit makes a policy");
    let mut case = Case::new(&set.policies()[0], &subject);
    case.resolve(&digests());
    let batch = case.batch();
    KeyNames::new(&[1; 32]).text(&batch.key(&batch.charges()[0]))
}
