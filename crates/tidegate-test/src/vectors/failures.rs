//! The vectors of failures: requests while the store fails, decided by the rules alone.
//!
//! The driver is minimal: it makes a probe whenever one is due, and asks for a decision where the
//! trace says so.

use tidegate_core::{
    Asked, Case, Course, Denial, Digests, Dimension, Failsafe, Failure, FailureMode, Input, Limit,
    Mode, Name, PolicySet, PolicySpec, Protects, Rate, Retry, Scope, Severity, Shape, Signal, Span,
    Standby, StoreError, Subject, Timestamp, Verdict,
};

use super::run::same;
use super::written::{StepText, Vector, VerdictText};
use super::{Section, Vectors};
use crate::drive::digests;

// === impl Vectors ===

impl Vectors {
    /// Checks every vector of failures, and returns the names of those checked.
    ///
    /// # Errors
    ///
    /// The first step with another outcome.
    pub fn check_failures(&self) -> Result<Vec<&str>, String> {
        self.of(Section::Failover).map(|vector| check(vector).map(|()| &*vector.name)).collect()
    }
}

fn check(vector: &Vector) -> Result<(), String> {
    let steps = vector.steps.as_deref().unwrap_or_default();
    let start = steps.first().ok_or("a trace without steps")?.at.0;
    let mut node = Node::new(vector.failover.as_deref().unwrap_or_default(), start)?;
    for (index, step) in steps.iter().enumerate() {
        let told = node.step(step);
        told.map_err(|error| format!("{}, step {}: {error}", vector.name, index + 1))?;
    }
    Ok(())
}

/// One policy on one node, and its store.
struct Node {
    policies: PolicySet,
    standby: Standby,
    digests: Digests,
    /// Whether the store answers requests.
    answers: bool,
    /// Whether the store answers probes.
    healthy: bool,
    /// The signals given since the last step.
    told: Vec<Signal>,
}

/// The answer to a request.
struct Answer {
    mode: Mode,
    verdict: Verdict,
}

// === impl Node ===

impl Node {
    /// A node with a policy whose store has answered before.
    fn new(what: &str, start: Timestamp) -> Result<Self, String> {
        let (protects, failure) = match what {
            "login" => (Protects::Login, FailureMode::FailClosed),
            "api_heavy" => (Protects::ApiHeavy, FailureMode::FailOpen),
            _ => return Err(format!("{what:?} is not what a policy protects")),
        };
        let policies = policies(protects, failure).expect("a policy like this can be built");
        let fallback = policies.policies()[0].fallback();
        let mut standby = Standby::new(failure, fallback, start);
        let Course::Ask(generation) = standby.failover().course() else {
            return Err("a store of which nothing is known is asked".to_owned());
        };
        let _ = standby.step(Input::Answered(generation), start);
        let (digests, told) = (digests(), Vec::new());
        Ok(Self { policies, standby, digests, answers: true, healthy: true, told })
    }

    fn step(&mut self, step: &StepText) -> Result<(), String> {
        same("what goes with limits only", &step.of_limits(), &Vec::new())?;
        let now = step.at.0;
        if let Some(after) = &step.after {
            same("what it comes after", &after.as_str(), &"exit")?;
            self.healthy = true;
        }
        self.probe_until(now);
        if step.after.is_some() {
            same("the mode before", &self.standby.failover().mode(), &Mode::Normal)?;
        }
        self.hear(step)?;
        let trips = step.trips == Some(true);
        let asks = step.decision.is_some() || step.verdict.is_some();
        let is_sent = matches!(step.store.as_deref(), Some("fails" | "answers"));
        let requests = match step.requests {
            Some(requests) => requests,
            None if trips => 3,
            None => u64::from(asks || is_sent),
        };
        let mut last = None;
        for _ in 0..requests {
            let answer = self.ask(step, now);
            check_answer(step, &answer)?;
            last = Some(answer);
        }
        self.check_wait(step, last)?;
        self.check_told(step)?;
        self.told.clear();
        match &step.mode {
            Some(mode) => same("the mode", &text(self.standby.failover().mode()), mode),
            None => Ok(()),
        }
    }

    /// Sets how the store behaves from now on.
    fn hear(&mut self, step: &StepText) -> Result<(), String> {
        let probes = match step.probes.as_deref() {
            None => None,
            Some("answer") => Some(true),
            Some(other) => return Err(format!("probes do not {other:?}")),
        };
        (self.answers, self.healthy) = match (step.store.as_deref(), step.trips) {
            (None, None) => (self.answers, probes.unwrap_or(self.healthy)),
            (None, Some(true)) | (Some("fails" | "down"), None) => (false, probes.unwrap_or(false)),
            (Some("answers" | "heals" | "healthy"), None) => (true, probes.unwrap_or(true)),
            (store, trips) => return Err(format!("no store does {store:?} with {trips:?}")),
        };
        Ok(())
    }

    /// Makes the probes that are due until `end`.
    fn probe_until(&mut self, end: Timestamp) {
        while let Some(due) = self.standby.failover().due().filter(|due| *due <= end) {
            if let Some(probe) = self.input(Input::Poll, due) {
                let result = if self.healthy { Ok(()) } else { Err(Failure::Backend) };
                self.input(Input::Probed(probe, result), due);
            }
        }
        self.input(Input::Tick, end);
    }

    fn input(&mut self, input: Input, now: Timestamp) -> Option<tidegate_core::Probe> {
        let outputs = self.standby.step(input, now);
        self.told.extend(outputs.signals);
        outputs.probe
    }

    /// Makes one request: with the store if it is asked, or else without.
    fn ask(&mut self, step: &StepText, now: Timestamp) -> Answer {
        let course = self.standby.failover().course();
        if let Course::Ask(generation) = course {
            if self.answers {
                self.input(Input::Answered(generation), now);
                return Answer { mode: Mode::Normal, verdict: Verdict::Admit };
            }
            self.input(Input::Failed(generation, Failure::Backend), now);
        }
        let ip = step.ip.as_deref().unwrap_or("203.0.113.1").parse().expect("an address");
        let mut subject = Subject::new().ip(ip);
        if let Some(agent) = &step.agent {
            subject = subject.agent(agent);
        }
        let mut case = Case::new(&self.policies.policies()[0], &subject);
        case.resolve(&self.digests);
        let asked = Asked::new(case.batch(), &self.digests);
        let failsafe = match course {
            Course::Ask(_) => self.standby.failed(&asked, true, StoreError::Unavailable, now),
            _ => self.standby.decide(&asked, true, now).expect("the store is not asked"),
        };
        Answer::of(&failsafe)
    }

    fn check_wait(&self, step: &StepText, last: Option<Answer>) -> Result<(), String> {
        let Some(expected) = step.retry_after else { return Ok(()) };
        let told = last.and_then(|answer| answer.wait());
        same("the told wait", &told, &Some(expected.0))?;
        match self.standby.standing().denies_for {
            Some(left) => same("the wait of the policy", &left, &expected.0),
            None => Ok(()),
        }
    }

    fn check_told(&self, step: &StepText) -> Result<(), String> {
        let Some(event) = &step.event else { return Ok(()) };
        let is_meant = |signal: &&Signal| match event.as_str() {
            "critical" => signal.severity() == Severity::Critical,
            name => signal.name() == name,
        };
        same(&format!("how often {event} is told"), &self.told.iter().filter(is_meant).count(), &1)
    }
}

// === impl Answer ===

impl Answer {
    fn of(failsafe: &Failsafe) -> Self {
        Self { mode: failsafe.mode, verdict: failsafe.verdict }
    }

    fn wait(&self) -> Option<Span> {
        match self.verdict {
            Verdict::Deny(Denial { retry: Retry::After(wait), .. }) => Some(wait),
            _ => None,
        }
    }
}

fn policies(protects: Protects, failure: FailureMode) -> Option<PolicySet> {
    let bucket = tidegate_core::Bucket::try_new(Rate::per_second(1_000).ok()?, 1_000).ok()?;
    let scope = Scope::of([Dimension::Ip]);
    let limit = Limit::new(Name::try_new("prefix").ok()?, scope, Shape::Bucket(bucket));
    let spec = PolicySpec::new(Name::try_new("policy").ok()?, failure).protecting(protects);
    PolicySet::builder().policy(spec.limit(limit)).build(None).ok()
}

/// The name of a mode, as vectors write it.
fn text(mode: Mode) -> String {
    mode.name().to_uppercase()
}

fn check_answer(step: &StepText, answer: &Answer) -> Result<(), String> {
    if let Some(decision) = &step.decision {
        same("the mode of the decision", &text(answer.mode), decision)?;
    }
    let said = match answer.verdict {
        Verdict::Admit => VerdictText::Admit,
        Verdict::Deny(_) => VerdictText::Deny,
        other => return Err(format!("{other:?} is not what a policy that rejects says")),
    };
    match step.verdict {
        Some(verdict) => same("the verdict", &said, &verdict),
        None => Ok(()),
    }
}
