//! Traces that break one property each: a check that cannot fail checks nothing.

use tidegate_core::{Alarm, Cause, Level, Mode, Signal, Span, Standing, Timestamp};
use tidegate_test::sim::trace::{
    Counters, OpKind, RequestAnswer, SimClient, StoreErrand, StoreOutcome, Truth, What,
};

use crate::again;
use crate::trace::{
    ADMIN, API, LOGIN, OTP, READ, SECOND, SPEND, Trace, admitted, denied, flapped, who,
};

/// A trace, up to what is wrong with it.
pub(crate) type Bad = fn() -> Trace;

/// Every check, with a trace it has to complain about.
const TABLE: &[(&str, &str, Bad)] = &[
    ("P01", "the store is not asked although it is trusted", || {
        let mut trace = Trace::proven(LOGIN);
        trace.admit(who(1), 2);
        trace
    }),
    ("P01", "a change that goes where it cannot", || {
        let mut trace = Trace::of(LOGIN);
        trace.probe(StoreOutcome::Good);
        trace.change(Cause::Proven, Mode::Degraded);
        trace
    }),
    ("P08", "decided as if all were well", || {
        let mut trace = Trace::proven(LOGIN);
        let request = trace.fails();
        trace.suspected(Mode::FailClosed);
        trace.decide(request, RequestAnswer { mode: Mode::Normal, ..admitted(0) });
        trace
    }),
    ("P09", "decided late", || {
        let mut trace = Trace::degraded(LOGIN);
        let request = trace.ask(who(1));
        trace.at += 300_001;
        trace.decide(request, admitted(2));
        trace
    }),
    ("P09", "never decided", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.ask(who(1));
        trace.at += 300_001;
        trace.finish();
        trace
    }),
    ("P11", "denied without a wait", || {
        let mut trace = Trace::of(LOGIN);
        let request = trace.fails();
        trace.decide(request, RequestAnswer { wait: None, ..denied(Mode::FailClosed, 0) });
        trace
    }),
    ("P12", "the store is asked twice", || {
        let mut trace = Trace::proven(API);
        let request = trace.fails();
        trace.sent(StoreErrand::Request(request), OpKind::Charge);
        trace
    }),
    ("P13", "admitted although the store has failed", || {
        let mut trace = Trace::of(OTP);
        let request = trace.fails();
        let answer = RequestAnswer { mode: Mode::FailClosed, left: None, ..admitted(0) };
        trace.decide(request, answer);
        trace
    }),
    ("P13", "admitted where nothing passes", || {
        let mut trace = Trace::degraded(ADMIN);
        let request = trace.ask(who(1));
        trace.decide(request, RequestAnswer { mode: Mode::FailClosed, left: None, ..admitted(0) });
        trace
    }),
    ("P14", "closed for longer than ten seconds", || {
        let mut trace = Trace::of(LOGIN);
        for _ in 0..3 {
            trace.fail();
            trace.at += 6 * SECOND;
        }
        trace
    }),
    ("P15", "a wait that is not what remains", || {
        let mut trace = Trace::flapped(LOGIN);
        let request = trace.ask(who(1));
        trace.decide(request, flapped(601 * SECOND));
        trace
    }),
    ("P17", "one too many of one agent", || {
        let mut trace = Trace::degraded(API);
        (0..=60).rev().for_each(|left| trace.admit(who(1), left.max(1) - 1));
        trace
    }),
    ("P22", "a decision that observers are not told", || {
        let mut trace = Trace::degraded(LOGIN);
        let request = trace.ask(who(1));
        trace.push(What::Decided { request, answer: admitted(2) });
        trace
    }),
    ("P22", "a first failure that was none", || {
        let mut trace = Trace::proven(LOGIN);
        trace.suspected(Mode::FailClosed);
        trace
    }),
    ("P22", "a decision that observers are told twice", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.push(What::Observed { mode: Mode::Degraded, admitted: true });
        trace.push(What::Observed { mode: Mode::Degraded, admitted: true });
        trace
    }),
    ("P24", "a fourth login, a microsecond early", || {
        let mut trace = Trace::degraded(LOGIN);
        (0..3).rev().for_each(|left| trace.admit(who(1), left));
        trace.at += 600 * SECOND - 1;
        trace.admit(who(1), 0);
        trace
    }),
    ("P25", "a twenty-first login of one prefix", || {
        let mut trace = Trace::degraded(LOGIN);
        for account in 0..=20 {
            let left = 2.min(19 - account.min(19));
            trace.admit(SimClient { account: Some(account), ..who(1) }, left);
        }
        trace
    }),
    ("P26", "a third one-time password", || {
        let mut trace = Trace::degraded(OTP);
        [1, 0, 0].into_iter().for_each(|left| trace.admit(who(1), left));
        trace
    }),
    ("P27", "an eleventh one of one prefix", || {
        let mut trace = Trace::degraded(OTP);
        for account in 0..=10 {
            let left = 1.min(9 - account.min(9));
            trace.admit(SimClient { account: Some(account), ..who(1) }, left);
        }
        trace
    }),
    ("P34", "a count that has been forgotten", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.admit(who(1), 2);
        trace.admit(who(1), 2);
        trace
    }),
    ("P38", "a wait that a refusal has made longer", || {
        let mut trace = Trace::degraded(OTP);
        [1, 0].into_iter().for_each(|left| trace.admit(who(1), left));
        trace.at += SECOND;
        trace.refuse(who(1), 900 * SECOND);
        trace
    }),
    ("P39", "refused with room on every key", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.refuse(who(1), SECOND);
        trace
    }),
    ("P39", "refused by account where accounts do not count", || {
        let mut trace = Trace::degraded(API);
        (0..60).rev().for_each(|left| trace.admit(who(1), left));
        trace.refuse(SimClient { account: Some(1), ..who(2) }, SECOND);
        trace
    }),
    ("P41", "a block of the third level", || {
        let mut trace = Trace::degraded(LOGIN);
        let request = trace.ask(who(1));
        let block = Some(Some(Level::L3));
        trace.decide(request, RequestAnswer { block, ..denied(Mode::Degraded, SECOND) });
        trace
    }),
    ("P47", "a block that is forgotten", || {
        let mut trace = blocked();
        let request = trace.ask(who(1));
        trace.decide(request, RequestAnswer { counters: counters(0), ..admitted(2) });
        trace
    }),
    ("P47", "a block that does not end", || {
        let mut trace = blocked();
        trace.at += 60 * SECOND;
        let request = trace.ask(who(1));
        let answer = RequestAnswer { block: Some(None), ..denied(Mode::Degraded, SECOND) };
        trace.decide(request, RequestAnswer { counters: counters(0), ..answer });
        trace
    }),
    ("P48", "two failures are not three", || {
        let mut trace = Trace::proven(LOGIN);
        trace.probe(StoreOutcome::Failed);
        trace.suspected(Mode::FailClosed);
        trace.probe(StoreOutcome::Failed);
        trace.change(Cause::Tripped, Mode::Degraded);
        trace
    }),
    ("P48", "three failures, the last of them late", || {
        let mut trace = Trace::of(LOGIN);
        [0, 5 * SECOND, 5 * SECOND + 1].into_iter().for_each(|pause| {
            trace.at += pause;
            trace.probe(StoreOutcome::Failed);
        });
        trace.change(Cause::Tripped, Mode::Degraded);
        trace
    }),
    ("P52", "a charge while the store is not asked", || {
        let mut trace = Trace::degraded(API);
        let request = trace.ask(who(1));
        trace.sent(StoreErrand::Request(request), OpKind::Charge);
        trace
    }),
    ("P52", "probes too close to each other", || {
        let mut trace = Trace::degraded(API);
        trace.probes(5);
        trace.at += 5 * SECOND - 1;
        trace.probe(StoreOutcome::Good);
        trace
    }),
    ("P53", "a stay too short", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.recover(295);
        trace
    }),
    ("P54", "health that was not sustained", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.probes(200);
        trace.at += 5 * SECOND;
        trace.probe(StoreOutcome::Failed);
        trace.recover(115);
        trace
    }),
    ("P54", "a gap among the probes", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.probes(250);
        trace.at += 6 * SECOND;
        trace.recover(60);
        trace
    }),
    ("P55", "a healthy store that is not asked again", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.truth(Truth::Good);
        trace.probes(315);
        trace
    }),
    ("P56", "entered a fourth time", || {
        let mut trace = Trace::proven(LOGIN);
        for _ in 0..3 {
            trace.trip(Cause::Tripped);
            trace.recover(300);
        }
        trace.trip(Cause::Tripped);
        trace
    }),
    ("P57", "an outage that one request has met", || {
        let mut trace = Trace::proven(LOGIN);
        trace.truth(Truth::Bad);
        let request = trace.fails();
        trace.suspected(Mode::FailClosed);
        trace.decide(request, denied(Mode::FailClosed, 10 * SECOND));
        trace.at += 10 * SECOND + 1;
        trace.finish();
        trace
    }),
    ("P48", "a late answer that counts", || {
        let mut trace = Trace::proven(LOGIN);
        let late = trace.sent(StoreErrand::Probe, OpKind::Probe);
        trace.trip(Cause::Tripped);
        trace.recover(300);
        trace.probe(StoreOutcome::Failed);
        trace.suspected(Mode::FailClosed);
        trace.probe(StoreOutcome::Failed);
        trace.done(late, StoreOutcome::Failed);
        trace.change(Cause::Tripped, Mode::Degraded);
        trace
    }),
    ("P59", "a signal of another time", || {
        let mut trace = Trace::proven(LOGIN);
        trace.probe(StoreOutcome::Failed);
        trace.push(What::Told(Signal::Suspected { mode: Mode::FailClosed, at: Timestamp::MAX }));
        trace
    }),
    ("P61", "nothing passes although it is the second time", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.recover(300);
        trace.trip(Cause::Flapped);
        trace
    }),
    ("P61", "a backoff too short", || {
        let mut trace = Trace::flapped(LOGIN);
        trace.probes(595);
        trace.change(Cause::BackoffOver, Mode::Normal);
        trace
    }),
    ("P61", "a backoff too long", || {
        let mut trace = Trace::flapped(LOGIN);
        trace.probes(605);
        trace
    }),
    ("P62", "a denial without the alarm", || {
        let mut trace = Trace::flapped(API);
        let request = trace.ask(who(1));
        trace.decide(request, denied(Mode::FailClosed, 600 * SECOND));
        trace
    }),
    ("P64", "health that is not believed", || {
        let mut trace = Trace::flapped(LOGIN);
        trace.probes(600);
        trace.change(Cause::BackoffOverUnhealthy, Mode::Degraded);
        trace
    }),
    ("P64", "one backoff after the other", || {
        let mut trace = Trace::flapped(LOGIN);
        trace.probes(600);
        trace.change(Cause::BackoffOver, Mode::Normal);
        trace.trip(Cause::Flapped);
        trace
    }),
    ("P79", "a change that nobody is told", || {
        let mut trace = Trace::of(LOGIN);
        (0..3).for_each(|_| trace.probe(StoreOutcome::Failed));
        trace.at += 1;
        trace.finish();
        trace
    }),
    ("P79", "a refusal that nobody is told", || {
        let mut trace = Trace::of(LOGIN);
        trace.probe(StoreOutcome::Refused);
        trace.at += 1;
        trace.finish();
        trace
    }),
    ("P79", "a refusal that is told twice", || {
        let mut trace = Trace::of(LOGIN);
        trace.probe(StoreOutcome::Refused);
        let at = Timestamp::from_micros(trace.at);
        (0..2).for_each(|_| trace.push(What::Told(Signal::Refused { at })));
        trace
    }),
    ("P79", "a long stay that nobody is told", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.at += 1_800 * SECOND + 1;
        trace.finish();
        trace
    }),
    ("P79", "a long stay that is none", || {
        let mut trace = Trace::degraded(LOGIN);
        let (since, at) = (Timestamp::ZERO, Timestamp::from_micros(trace.at));
        trace.push(What::Told(Signal::Prolonged { since, epoch: 1, at }));
        trace
    }),
    ("P80", "a mode that was not told", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.stood(Standing { mode: Mode::Normal, ..STANDS });
        trace
    }),
    ("P80", "failures that nobody has seen", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.stood(Standing { failures: 1, ..STANDS });
        trace
    }),
    ("P80", "a wait where there is none", || {
        let mut trace = Trace::degraded(LOGIN);
        trace.stood(Standing { denies_for: Some(Span::SECOND), ..STANDS });
        trace
    }),
    ("P86", "more than the ceiling in a second", || {
        let mut trace = Trace::degraded(READ);
        (0..9).for_each(|taken| trace.admit(who(1), 59 - taken));
        trace
    }),
    ("A35", "administrators let in before half an hour is over", || {
        let mut trace = Trace::degraded(ADMIN);
        trace.admit(who(1), 1);
        trace
    }),
    ("A35", "administrators kept out after it", || {
        let mut trace = Trace::prolonged(ADMIN);
        let request = trace.ask(who(1));
        trace.decide(request, denied(Mode::FailClosed, SECOND));
        trace
    }),
    ("A35", "a wait that is longer than they are kept out", || {
        let mut trace = Trace::degraded(ADMIN);
        let request = trace.ask(who(1));
        trace.decide(request, denied(Mode::FailClosed, 1_800 * SECOND + 1));
        trace
    }),
    ("A35", "let in, and nobody was told", || {
        let mut trace = Trace::prolonged(ADMIN);
        let request = trace.ask(who(1));
        trace.decide(request, RequestAnswer { alarm: Some(Alarm::Reopened), ..admitted(1) });
        trace
    }),
    ("A35", "let in without the alarm", || {
        let mut trace = Trace::prolonged(ADMIN);
        trace.reopened();
        trace.admit(who(1), 1);
        trace
    }),
    ("A35", "told twice that they are let in", || {
        let mut trace = Trace::prolonged(ADMIN);
        (0..2).for_each(|_| trace.reopened());
        trace
    }),
    ("A35", "told before half an hour is over", || {
        let mut trace = Trace::degraded(ADMIN);
        trace.reopened();
        trace
    }),
    ("A35", "told of what was never closed", || {
        let mut trace = Trace::prolonged(LOGIN);
        trace.reopened();
        trace
    }),
    ("A35", "more than a tenth of what may be spent", || {
        let mut trace = Trace::degraded(SPEND);
        [3, 2, 1, 0, 0].into_iter().for_each(|left| trace.admit(who(1), left));
        trace
    }),
];

/// How a policy stands that has just been degraded for the first time.
const STANDS: Standing = Standing {
    mode: Mode::Degraded,
    epoch: 1,
    failures: 0,
    degraded_since: Some(Timestamp::ZERO),
    denies_for: None,
};

/// A node that knows of a block of one minute, and whose store is not asked any more.
fn blocked() -> Trace {
    let mut trace = Trace::proven(LOGIN);
    let request = trace.ask(who(1));
    let op = trace.sent(StoreErrand::Request(request), OpKind::Charge);
    trace.done(op, StoreOutcome::Good);
    let answer = denied(Mode::Normal, 60 * SECOND);
    trace.decide(request, RequestAnswer { counters: counters(60 * SECOND), ..answer });
    trace.trip(Cause::Tripped);
    trace
}

fn counters(blocked: u64) -> Counters {
    let mut counters = Counters::default();
    counters.push(7, blocked);
    counters
}

#[test]
fn each_check_can_fail() {
    for (property, what, bad) in TABLE.iter().chain(again::TABLE) {
        let broken = bad().broken.map(|broken| (broken.property, broken.why));
        let found = broken.as_ref().map(|(property, _)| *property);
        assert_eq!(found, Some(*property), "{what}: {broken:?}");
    }
}

#[test]
fn what_is_as_it_should_be_passes() {
    let mut traces =
        vec![Trace::proven(LOGIN), Trace::degraded(API), Trace::flapped(OTP), blocked()];
    traces[1].recover(300);
    let request = traces[2].ask(who(1));
    traces[2].decide(request, flapped(600 * SECOND));
    traces[2].probes(600);
    traces[2].change(Cause::BackoffOver, Mode::Normal);
    let mut caps = Trace::degraded(LOGIN);
    (0..3).rev().for_each(|left| caps.admit(who(1), left));
    caps.refuse(who(1), 600 * SECOND);
    caps.at += 600 * SECOND;
    caps.admit(who(1), 2);
    caps.stood(STANDS);
    traces.push(caps);
    for mut trace in traces {
        trace.finish();
        assert_eq!(trace.broken, None);
    }
}
