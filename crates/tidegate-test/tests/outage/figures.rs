//! What an outage has cost: time, requests too many, and how long it was felt.

use std::collections::HashMap;

use tidegate_core::{Mode, Span};
use tidegate_test::sim::trace::{Observation, SimClient, What};

use crate::policies::{API, LOGIN, OTP};

/// The figures of one outage.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// How long decisions took before it.
    pub(crate) healthy: Vec<Span>,
    /// Of those whose store failed them.
    pub(crate) met: Vec<Span>,
    /// Of those that were decided without asking it.
    pub(crate) after: Vec<Span>,
    /// Admitted beyond the local caps.
    pub(crate) over: u64,
    /// From the end of the fault to the last policy that trusts its store again, in virtual time.
    pub(crate) back: Span,
    /// From the trip to that.
    pub(crate) stayed: Span,
}

/// The middle one, the one of a hundred, and the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    pub(crate) p50: Span,
    pub(crate) p99: Span,
    pub(crate) max: Span,
}

// === impl Figures ===

impl Figures {
    /// What the fault has added to the decisions that met it.
    pub(crate) fn added(&self) -> Spread {
        let usual = Spread::of(&self.healthy).p50;
        let more =
            |took: &Span| Span::from_micros(took.as_micros().saturating_sub(usual.as_micros()));
        Spread::of(&self.met.iter().map(more).collect::<Vec<_>>())
    }
}

// === impl Spread ===

impl Spread {
    pub(crate) fn of(times: &[Span]) -> Self {
        let mut times = times.to_vec();
        times.sort_unstable();
        let at = |hundredths: usize| {
            let place = (times.len() * hundredths).div_ceil(100).saturating_sub(1);
            times.get(place).copied().unwrap_or(Span::ZERO)
        };
        Self { p50: at(50), p99: at(99), max: at(100) }
    }
}

/// What is counted together: on which node, under which policy, by which cap, for whom.
type Key = (u8, u8, Cap, [Option<u64>; 2]);

/// A cap as the contract has it: so many, in any span of so many seconds.
type Cap = (u64, u64);

/// How many requests were admitted beyond the caps, counted once more and apart from the checks: for
/// each key, those that found it full in the span before them.
pub(crate) fn beyond_caps(records: &[Observation]) -> u64 {
    let mut asked: HashMap<u32, SimClient> = HashMap::new();
    let mut admitted: HashMap<Key, Vec<u64>> = HashMap::new();
    for record in records {
        match record.what {
            What::Asked { request, who, .. } => drop(asked.insert(request, who)),
            What::Decided { request, answer } if answer.admitted && answer.mode != Mode::Normal => {
                let who = asked[&request];
                for (cap, key) in keys(record.policy, &who) {
                    let of = (record.node, record.policy, cap, key);
                    admitted.entry(of).or_default().push(record.at);
                }
            }
            _ => {}
        }
    }
    let beyond = |((.., (most, secs), _), times): (&Key, &Vec<u64>)| {
        let full = |(place, at): &(usize, &u64)| {
            let from = at.saturating_sub(secs * 1_000_000);
            let before = times[..*place].iter().filter(|time| **time > from).count();
            before as u64 >= *most
        };
        times.iter().enumerate().filter(full).count() as u64
    };
    admitted.iter().map(beyond).sum()
}

fn keys(policy: u8, who: &SimClient) -> Vec<(Cap, [Option<u64>; 2])> {
    let SimClient { account, prefix, agent } = *who;
    match policy {
        LOGIN => vec![((3, 600), [account, None]), ((20, 600), [None, prefix])],
        OTP => vec![((2, 900), [account, None]), ((10, 900), [None, prefix])],
        API => vec![((120, 60), [None, prefix]), ((60, 60), [agent, prefix])],
        _ => Vec::new(),
    }
}

#[test]
fn spreads_and_requests_too_many_are_counted_as_defined() {
    use tidegate_test::sim::trace::{Counters, RequestAnswer};
    let times: Vec<Span> = (1..=200).map(Span::from_micros).collect();
    let spread = Spread::of(&times);
    assert_eq!([spread.p50, spread.p99, spread.max].map(Span::as_micros), [100, 198, 200]);
    let answer = RequestAnswer {
        mode: Mode::Degraded,
        admitted: true,
        wait: None,
        left: None,
        block: None,
        alarm: None,
        counters: Counters::default(),
    };
    let who = SimClient { account: Some(1), prefix: Some(2), agent: None };
    let at = |secs: [u64; 5]| {
        let pairs = secs.into_iter().zip(0..).flat_map(|(at, request)| {
            let asked = What::Asked { request, who, counted: true };
            [asked, What::Decided { request, answer }].map(|what| Observation {
                at: at * 1_000_000,
                node: 0,
                policy: LOGIN,
                what,
            })
        });
        beyond_caps(&pairs.collect::<Vec<_>>())
    };
    assert_eq!(at([1, 2, 3, 601, 602]), 0);
    assert_eq!(at([1, 2, 3, 600, 602]), 1);
}
