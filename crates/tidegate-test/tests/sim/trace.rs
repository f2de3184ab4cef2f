//! Traces by hand: a node as it should be, to be spoilt at one place.

use tidegate_core::{Alarm, Cause, Mode, Signal, Standing, Timestamp, Transition};
use tidegate_test::sim::checks::{Broken, Checks};
use tidegate_test::sim::trace::{
    Counters, Observation, OpKind, RequestAnswer, SimClient, StoreErrand, StoreOutcome, Truth, What,
};
use tidegate_test::sim::{QUOTA, laws};

pub(crate) const SECOND: u64 = 1_000_000;

/// Login, one-time passwords, an interface, administration, reading, spending.
pub(crate) const LOGIN: u8 = 0;
pub(crate) const OTP: u8 = 1;
pub(crate) const API: u8 = 2;
pub(crate) const ADMIN: u8 = 3;
pub(crate) const READ: u8 = 4;
pub(crate) const SPEND: u8 = 5;

/// A trace that grows.
pub(crate) struct Trace {
    checks: Checks,
    pub(crate) policy: u8,
    pub(crate) at: u64,
    numbers: u32,
    epoch: u64,
    mode: Mode,
    pub(crate) broken: Option<Broken>,
}

impl Trace {
    /// A node that has just started, as one policy sees it.
    pub(crate) fn of(policy: u8) -> Self {
        let mode = match policy {
            API => Mode::FailOpen,
            READ => Mode::Degraded,
            _ => Mode::FailClosed,
        };
        let checks = Checks::new(laws(), 1, 0).counting(QUOTA);
        let mut trace = Self { checks, policy, at: 0, numbers: 0, epoch: 0, mode, broken: None };
        trace.push(What::Started);
        trace
    }

    /// One whose store has answered.
    pub(crate) fn proven(policy: u8) -> Self {
        let mut trace = Self::of(policy);
        trace.probe(StoreOutcome::Good);
        trace.change(Cause::Proven, Mode::Normal);
        trace
    }

    /// One whose store is not asked any more.
    pub(crate) fn degraded(policy: u8) -> Self {
        let mut trace = Self::proven(policy);
        trace.trip(Cause::Tripped);
        trace
    }

    /// One whose store has not been asked for half an hour.
    pub(crate) fn prolonged(policy: u8) -> Self {
        let mut trace = Self::degraded(policy);
        trace.at += 1_800 * SECOND;
        let (since, at) = (Timestamp::ZERO, Timestamp::from_micros(trace.at));
        trace.push(What::Told(Signal::Prolonged { since, epoch: 1, at }));
        trace
    }

    pub(crate) fn reopened(&mut self) {
        let (since, at) = (Timestamp::ZERO, Timestamp::from_micros(self.at));
        self.push(What::Told(Signal::Reopened { since, epoch: 1, at }));
    }

    /// One for which nothing passes.
    pub(crate) fn flapped(policy: u8) -> Self {
        let mut trace = Self::proven(policy);
        for _ in 0..3 {
            trace.trip(Cause::Tripped);
            trace.recover(300);
            trace.at += SECOND;
        }
        trace.trip(Cause::Flapped);
        trace
    }

    pub(crate) fn push(&mut self, what: What) {
        let record = Observation { at: self.at, node: 0, policy: self.policy, what };
        if self.broken.is_none() {
            self.broken = self.checks.push(&record).err();
        }
    }

    pub(crate) fn finish(&mut self) {
        if self.broken.is_none() {
            self.broken = self.checks.finish(self.at).err();
        }
    }

    pub(crate) fn sent(&mut self, by: StoreErrand, kind: OpKind) -> u32 {
        self.numbers += 1;
        self.push(What::Sent { op: self.numbers, by, kind });
        self.numbers
    }

    pub(crate) fn done(&mut self, op: u32, outcome: StoreOutcome) {
        self.push(What::Done { op, outcome });
    }

    pub(crate) fn probe(&mut self, outcome: StoreOutcome) {
        let op = self.sent(StoreErrand::Probe, OpKind::Probe);
        self.done(op, outcome);
    }

    pub(crate) fn change(&mut self, cause: Cause, to: Mode) {
        self.epoch += u64::from(cause == Cause::Tripped);
        let at = Timestamp::from_micros(self.at);
        let transition = Transition { from: self.mode, to, cause, epoch: self.epoch, at };
        self.mode = to;
        self.push(What::Told(Signal::Changed(transition)));
    }

    pub(crate) fn suspected(&mut self, mode: Mode) {
        let at = Timestamp::from_micros(self.at);
        self.push(What::Told(Signal::Suspected { mode, at }));
    }

    pub(crate) fn ask(&mut self, who: SimClient) -> u32 {
        self.numbers += 1;
        self.push(What::Asked { request: self.numbers, who, counted: true });
        self.numbers
    }

    pub(crate) fn decide(&mut self, request: u32, answer: RequestAnswer) {
        let RequestAnswer { mode, admitted, .. } = answer;
        self.push(What::Observed { mode, admitted });
        self.push(What::Decided { request, answer });
    }

    /// A request that the store admits and counts.
    pub(crate) fn charged(&mut self, who: SimClient) {
        let request = self.ask(who);
        let op = self.sent(StoreErrand::Request(request), OpKind::Charge);
        self.done(op, StoreOutcome::Good);
        self.decide(request, RequestAnswer { mode: Mode::Normal, left: None, ..admitted(0) });
    }

    /// A request that the store fails, up to its decision.
    pub(crate) fn fails(&mut self) -> u32 {
        let request = self.ask(who(90));
        let op = self.sent(StoreErrand::Request(request), OpKind::Charge);
        self.done(op, StoreOutcome::Failed);
        request
    }

    /// A request that the store fails, denied as it should be.
    pub(crate) fn fail(&mut self) {
        let request = self.fails();
        self.decide(request, denied(Mode::FailClosed, 10 * SECOND));
    }

    /// Three failures, and what follows.
    pub(crate) fn trip(&mut self, cause: Cause) {
        for number in 0..3 {
            let op = self.sent(StoreErrand::Probe, OpKind::Probe);
            self.done(op, StoreOutcome::Failed);
            if number == 0 {
                self.suspected(self.primary());
            }
        }
        let to = if cause == Cause::Flapped { Mode::FailClosed } else { Mode::Degraded };
        self.change(cause, to);
    }

    /// So many seconds of good probes, and the store is asked again.
    pub(crate) fn recover(&mut self, seconds: u64) {
        self.probes(seconds);
        self.change(Cause::Recovered, Mode::Normal);
    }

    pub(crate) fn probes(&mut self, seconds: u64) {
        for _ in 0..seconds / 5 {
            self.at += 5 * SECOND;
            self.probe(StoreOutcome::Good);
        }
    }

    /// A request that local caps admit, with so many left.
    pub(crate) fn admit(&mut self, who: SimClient, left: u64) {
        let request = self.ask(who);
        self.decide(request, admitted(left));
    }

    pub(crate) fn refuse(&mut self, who: SimClient, wait: u64) {
        let request = self.ask(who);
        self.decide(request, RequestAnswer { left: Some(0), ..denied(Mode::Degraded, wait) });
    }

    pub(crate) fn truth(&mut self, truth: Truth) {
        self.push(What::Truth(truth));
    }

    pub(crate) const fn primary(&self) -> Mode {
        match self.policy {
            API => Mode::FailOpen,
            READ => Mode::Degraded,
            _ => Mode::FailClosed,
        }
    }

    pub(crate) fn stood(&mut self, standing: Standing) {
        self.push(What::Stood(standing));
    }
}

pub(crate) fn who(number: u64) -> SimClient {
    SimClient { account: Some(number), prefix: Some(number), agent: Some(1) }
}

pub(crate) fn denied(mode: Mode, wait: u64) -> RequestAnswer {
    RequestAnswer { admitted: false, wait: Some(wait), left: None, mode, ..admitted(0) }
}

pub(crate) fn flapped(wait: u64) -> RequestAnswer {
    RequestAnswer { alarm: Some(Alarm::Flapped), ..denied(Mode::FailClosed, wait) }
}

pub(crate) fn admitted(left: u64) -> RequestAnswer {
    RequestAnswer {
        mode: Mode::Degraded,
        admitted: true,
        wait: None,
        left: Some(left),
        block: None,
        alarm: None,
        counters: Counters::default(),
    }
}
