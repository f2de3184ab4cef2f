//! Probes whether the servers work, with the charge of a probe on every server that keeps counters.
//!
//! A probe runs the very scripts that the charges of its policy run, so that a right, a command or a
//! server that those would miss is missed here, too. On a cluster these are the scripts of its groups,
//! each of them on every master. Each is sent twice: a counter is written whole when it is new and in
//! part afterwards, with different commands. All calls are under way at once, so that a probe takes as
//! long as a charge and not as long as all masters together.
//!
//! A probe needs every right that its scripts may need, even if a counter such as a bucket of one token
//! in an hour happens to be written whole every time.
//!
//! A probe does not try the text of a script that no server was sent yet. That the right to `EVAL` is
//! missing shows only with the first request whose facts select other limits than all of them.

use core::future::{Future, poll_fn};
use core::task::Poll;
use std::sync::Arc;

use tidegate_core::{Batch, Names, StoreError};

use super::args::ScriptArgs;
use super::carry;
use super::group::{self, Group, GroupPlaces, NamesOfAll, tag_of};
use super::signature::ScriptVerb;
use super::store::Connected;

pub(super) async fn probe(store: &Arc<Connected>, trial: &Batch<'_>) -> Result<(), StoreError> {
    let tags = match store.servers() {
        Some(servers) => servers.tag_for_each().await?,
        None => vec!["!0".to_owned()],
    };
    let names = group::names(&store.names, trial);
    let groups = store.groups(group::present(names.iter()));
    let there: Vec<NamesOfAll> = tags.iter().map(|tag| moved(&names, tag)).collect();
    if let Some(previous) = &store.previous {
        let former = group::names(previous, trial);
        let mut carried = Vec::with_capacity(tags.len());
        for (names, tag) in there.iter().zip(&tags) {
            let former = moved(&former, tag);
            carried.push(async move { carry::over(store, &former, names).await });
        }
        all(carried).await?;
    }
    let mut charged = Vec::with_capacity(2 * there.len() * groups.len());
    for names in &there {
        for places in &groups {
            charged.extend([(); 2].map(|()| charge(store, trial, names, places)));
        }
    }
    all(charged).await
}

/// Charges the counters of one group. If the server finds calendar periods stale, they are sent again,
/// as those of a request are.
async fn charge(
    store: &Connected,
    trial: &Batch<'_>,
    names: &[Names],
    places: &GroupPlaces,
) -> Result<(), StoreError> {
    let mut stale = None;
    loop {
        let group = Group::of_batch(store.nonce(), trial, names, places, ScriptVerb::Charge, None);
        let mut args = ScriptArgs::new(group.nonce);
        places.iter().for_each(|place| args.charge(&trial.charges()[*place]));
        let reply = store.run(&group, &args).await?;
        return match group.done(reply) {
            // A refusal is fine: it comes from what other probes of this node have written in the last
            // second.
            Ok(_) => Ok(()),
            Err(StoreError::Stale { now, .. }) if stale.is_none() => {
                places.iter().for_each(|place| trial.charges()[*place].refresh(now));
                stale = Some(now);
                continue;
            }
            Err(error) => Err(error),
        };
    }
}

/// The same names with `tag` as their hash tag.
fn moved(names: &[Names], tag: &str) -> NamesOfAll {
    let moved = |name: &str| name.replacen(tag_of(name), tag, 1);
    names.iter().map(|names| names.map(moved)).collect()
}

/// Waits for all calls at once. The first error ends the wait.
async fn all<F: Future<Output = Result<(), StoreError>>>(calls: Vec<F>) -> Result<(), StoreError> {
    let mut calls: Vec<_> = calls.into_iter().map(Box::pin).collect();
    poll_fn(move |context| {
        let mut failed = None;
        calls.retain_mut(|call| match call.as_mut().poll(context) {
            Poll::Pending => true,
            Poll::Ready(done) => {
                failed = failed.take().or(done.err());
                false
            }
        });
        match failed {
            Some(error) => Poll::Ready(Err(error)),
            None if calls.is_empty() => Poll::Ready(Ok(())),
            None => Poll::Pending,
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    //! A37: the script of a probe is that of a charge, and masters are not asked one after the other.

    use core::cell::Cell;
    use core::pin::pin;
    use core::task::{Context, Waker};

    use tidegate_core::{
        Attempts, Backoff, Bucket, Calendar, Case, Counts, Digests, FailureMode, Ladder, Limit,
        Name, Period, PolicySet, PolicySpec, Quota, Rate, Scope, Shape, Span, Stage, Subject,
        Threshold, Timestamp, Trial, Unit, Window,
    };

    use super::*;
    use crate::redis::signature::Signature;

    fn shapes() -> Vec<Shape> {
        let quota = |period| Shape::Quota(Quota::try_new(9, period, Counts::Admitted).unwrap());
        let window =
            |count, counts| Shape::Window(Window::try_new(count, Span::DAY, counts).unwrap());
        let backoff = Backoff::exponential(Span::SECOND, 2, Span::HOUR);
        let threshold = |block_at, per| Threshold { block_at, per, block: Span::DAY };
        let log = |long| Attempts::try_new(threshold(3, Span::MINUTE), long).unwrap();
        let month = Calendar::try_new(Unit::Month, "UTC", None).unwrap();
        vec![
            Shape::Bucket(Bucket::try_new(Rate::per_second(1).unwrap(), 2).unwrap()),
            window(3, Counts::Admitted),
            window(3_000, Counts::Admitted),
            window(3, Counts::Attempts(None)),
            window(3, Counts::Attempts(Some(backoff))),
            quota(Period::Fixed(Span::DAY)),
            quota(Period::FirstUse(Span::DAY)),
            quota(Period::Calendar(month)),
            Shape::Attempts(log(None)),
            Shape::Attempts(log(Some(threshold(5, Span::HOUR)))),
            Shape::Attempts(Attempts::climbing(3, Span::DAY, Ladder::default()).unwrap()),
        ]
    }

    #[test]
    fn a37_a_probe_has_the_signature_of_a_charge() {
        let limit = |shape: &Shape| {
            Limit::new(Name::try_new("limit").unwrap(), Scope::GLOBAL, shape.clone())
        };
        let limits = shapes().iter().map(limit).collect::<Vec<_>>();
        let more = limits.iter().map(|limit| limit.clone().in_shadow());
        let global = limits.iter().map(|limit| limit.clone().at_stage(Stage::Global));
        for limit in limits.iter().cloned().chain(more).chain(global) {
            let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen);
            let set = PolicySet::builder().policy(spec.limit(limit)).build(None).unwrap();
            let subject = Subject::new();
            let mut case = Case::new(&set.policies()[0], &subject);
            case.resolve(&Digests::new([1, 2]));
            let trial = Trial::new(&set.policies()[0], 7, Timestamp::ZERO);
            let of = |batch: &Batch<'_>| {
                Signature::of_charges(ScriptVerb::Charge, None, batch.charges().iter())
            };
            assert_eq!(of(&trial.batch()), of(case.batch()));
        }
    }

    #[test]
    fn a37_all_masters_are_asked_before_any_has_answered() {
        let asked = Cell::new(0);
        let masters = (0..40).map(|_| {
            let mut begun = false;
            let asked = &asked;
            poll_fn(move |_| {
                asked.set(asked.get() + u32::from(!begun));
                begun = true;
                if asked.get() < 40 { Poll::Pending } else { Poll::Ready(Ok(())) }
            })
        });
        let mut probed = pin!(all(masters.collect()));
        let context = &mut Context::from_waker(Waker::noop());
        assert!(probed.as_mut().poll(context).is_pending());
        assert_eq!(asked.get(), 40);
        assert_eq!(probed.poll(context), Poll::Ready(Ok(())));
    }
}
