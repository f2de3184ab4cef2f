//! Traces that break one property each: about what is asked again, what operators do, and what a store
//! has forgotten.

use tidegate_core::{Cause, Mode};
use tidegate_test::sim::trace::{Counters, OpKind, RequestAnswer, StoreErrand, StoreOutcome, What};

use crate::bad::Bad;
use crate::trace::{API, LOGIN, OTP, SECOND, Trace, admitted, denied, who};

/// Checks, each with a trace it has to complain about.
pub(crate) const TABLE: &[(&str, &str, Bad)] = &[
    ("P09", "given up late", || {
        let mut trace = Trace::degraded(LOGIN);
        let request = trace.ask(who(1));
        trace.at += 300_001;
        trace.push(What::Gone { request });
        trace
    }),
    ("P12", "periods are sent again without end", || {
        let mut trace = Trace::proven(API);
        let request = trace.ask(who(1));
        for _ in 0..7 {
            let op = trace.sent(StoreErrand::Request(request), OpKind::Charge);
            trace.done(op, StoreOutcome::Stale);
        }
        trace
    }),
    ("P12", "periods are sent again when it is too late", || {
        let mut trace = Trace::proven(API);
        let request = trace.ask(who(1));
        let op = trace.sent(StoreErrand::Request(request), OpKind::Charge);
        trace.at += 100_000;
        trace.done(op, StoreOutcome::Stale);
        trace.suspected(Mode::FailOpen);
        trace.sent(StoreErrand::Request(request), OpKind::Charge);
        trace
    }),
    ("P47", "an operator's block that is forgotten", || {
        let mut trace = Trace::proven(LOGIN);
        trace.push(What::Amended { counter: 7, blocked: 900 * SECOND });
        trace.trip(Cause::Tripped);
        let mut counters = Counters::default();
        counters.push(7, 0);
        let request = trace.ask(who(1));
        trace.decide(request, RequestAnswer { counters, ..admitted(2) });
        trace
    }),
    ("P47", "a block that an operator has lifted", || {
        let mut trace = Trace::proven(LOGIN);
        trace.push(What::Amended { counter: 7, blocked: 900 * SECOND });
        trace.push(What::Amended { counter: 7, blocked: 0 });
        trace.trip(Cause::Tripped);
        let mut counters = Counters::default();
        counters.push(7, 0);
        let request = trace.ask(who(1));
        let blocked =
            RequestAnswer { counters, block: Some(None), ..denied(Mode::Degraded, 900 * SECOND) };
        trace.decide(request, blocked);
        trace
    }),
    ("P52", "an operator's verb is sent to a store that is not asked", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.sent(StoreErrand::Operator, OpKind::Amend);
        trace
    }),
    ("P52", "blocks are listed while one of their policies does not ask", || {
        let mut trace = Trace::degraded(OTP);
        trace.policy = LOGIN;
        trace.sent(StoreErrand::Operator, OpKind::List);
        trace
    }),
    ("P75", "more than the quota of an hour from a store that forgot nothing", || {
        let mut trace = Trace::proven(API);
        (0..21).for_each(|_| trace.charged(who(1)));
        trace
    }),
    ("P75", "three limits from two primaries, of which one is left", || {
        let mut trace = Trace::proven(API);
        trace.push(What::Primaries(2));
        (0..40).for_each(|_| trace.charged(who(1)));
        trace.push(What::Primaries(1));
        trace.charged(who(1));
        trace
    }),
    ("P75", "two more limits from a store that forgot once", || {
        let mut trace = Trace::proven(API);
        trace.charged(who(1));
        trace.push(What::Forgets);
        (0..40).for_each(|_| trace.charged(who(1)));
        trace
    }),
];
