//! An adversary who can bring the store down and up again at will, and wants to gain something by
//! it.
//!
//! A search over schedules: the best few beginnings are continued in every possible way, and the
//! best results are kept. The goal is either as many attempts at one account as possible, or an
//! owner who is locked out as long as possible. The best schedule is reported; it must not exceed
//! the promised bound.

use core::fmt;
use std::collections::VecDeque;

use tidegate_core::Mode;

use super::checks::Broken;
use super::fault::{Fault, Way};
use super::rng::Rng;
use super::step::{Client, SimStep};
use super::world::{Variant, World};

/// The goal of the adversary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The most attempts at one account, by one node, in any hour in which the store is not asked.
    Harvest,
    /// The most seconds for which an owner is locked out who tries every ten seconds, and whose
    /// account and address nobody else uses.
    Lockout,
}

/// One move of the adversary: the store is down for some seconds, and then up for some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdversaryMove {
    /// Seconds for which the store is down.
    pub down: u64,
    /// Seconds for which the store is up.
    pub up: u64,
}

/// The best schedule that was found.
#[derive(Clone, Debug)]
pub struct BestSchedule {
    /// The goal of the search.
    pub goal: Goal,
    /// How much of the goal the schedule reaches.
    pub score: u64,
    /// The most of the goal that any schedule may reach.
    pub bound: u64,
    /// The schedule that reaches the score.
    pub moves: Vec<AdversaryMove>,
}

/// The value of a schedule: first its score, then how fast it makes the store come and go, which
/// may raise the score later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Worth {
    /// How much of the goal the schedule reaches.
    pub score: u64,
    /// Number of mode changes that the schedule would make up to the end of the search at its
    /// present pace.
    pub pace: u64,
}

/// A schedule being played.
struct Play {
    world: World,
    goal: Goal,
    /// Whether the store stalls when it is down; otherwise it is unavailable at once.
    stalls: bool,
    now: u64,
    /// When the account is tried next, in microseconds.
    next: u64,
    tries: u32,
    score: u64,
    /// Times of the attempts admitted in the last hour.
    admitted: VecDeque<u64>,
    /// When the owner was locked out, if they still are.
    out_since: Option<u64>,
}

/// Length in seconds up to which schedules are extended.
const HORIZON: u64 = 4_500;
/// Number of beginnings that are kept in each round of the search.
const WIDTH: usize = 4;
const SECOND: u64 = 1_000_000;
/// Interval between two tries of the account.
const EVERY: u64 = 10 * SECOND;
/// Time after which an owner who was let in comes back: not so soon as to use up the account's
/// limit.
const COMES_BACK: u64 = 310 * SECOND;
const HOUR: u64 = 3_600 * SECOND;
const DOWN: [u64; 4] = [5, 11, 70, 310];
const UP: [u64; 4] = [60, 125, 300, 590];

/// The bound of [`Goal::Harvest`]: three for each ten minutes of an hour, and three more (P66).
const HARVEST: u64 = 21;
/// The bound of [`Goal::Lockout`]: ten minutes in which nothing passes, ten seconds of failures
/// before and after it, and the interval to the last try that failed (P14, P39, P64).
const LOCKOUT: u64 = 600 + 10 + 10 + 10;

/// Searches for the schedule that reaches most of the goal.
///
/// # Errors
///
/// If the search breaks a property.
pub fn search(goal: Goal, seed: u64) -> Result<BestSchedule, Broken> {
    let mut rng = Rng::new(seed);
    let mut best = BestSchedule { goal, score: 0, bound: goal.bound(), moves: Vec::new() };
    // Begins with nothing, and with the moves that bring a store down most often.
    let mut kept = vec![Vec::new(), vec![AdversaryMove { down: 11, up: 300 }; 3]];
    while !kept.is_empty() {
        let mut next: Vec<(Worth, u64, Vec<AdversaryMove>)> = Vec::new();
        for moves in kept.iter().flat_map(|moves| continued(moves)) {
            let worth = play(goal, seed, &moves)?;
            if worth.score > best.score {
                best = BestSchedule { score: worth.score, moves: moves.clone(), ..best };
            }
            next.push((worth, rng.next(), moves));
        }
        // Among equally good ones, chance decides which are continued.
        next.sort_by_key(|(worth, chance, _)| (core::cmp::Reverse(*worth), *chance));
        next.truncate(WIDTH);
        let unfinished = |moves: &Vec<AdversaryMove>| length(moves) < HORIZON;
        kept = next.into_iter().map(|(_, _, moves)| moves).filter(unfinished).collect();
    }
    Ok(best)
}

/// Plays one schedule and returns its value; also used to replay a schedule that was found.
///
/// # Errors
///
/// If the schedule breaks a property.
pub fn play(goal: Goal, seed: u64, moves: &[AdversaryMove]) -> Result<Worth, Broken> {
    let mut play = Play::new(goal, seed);
    for step in moves {
        play.make(step)?;
    }
    let entries: u64 = play.world.log.changes.iter().sum();
    let pace = entries * HORIZON / length(moves).max(1);
    Ok(Worth { score: play.score, pace })
}

fn length(moves: &[AdversaryMove]) -> u64 {
    moves.iter().map(|step| step.down + step.up).sum()
}

/// The schedule with each possible move appended.
fn continued(moves: &[AdversaryMove]) -> impl Iterator<Item = Vec<AdversaryMove>> {
    let all = DOWN.into_iter().flat_map(|down| UP.map(|up| AdversaryMove { down, up }));
    all.map(move |step| moves.iter().copied().chain([step]).collect())
}

// === impl Goal ===

impl Goal {
    /// Both goals.
    pub const ALL: [Self; 2] = [Self::Harvest, Self::Lockout];

    /// The most of this goal that any schedule may reach.
    #[must_use]
    pub const fn bound(self) -> u64 {
        match self {
            Self::Harvest => HARVEST,
            Self::Lockout => LOCKOUT,
        }
    }
}

// === impl BestSchedule ===

impl BestSchedule {
    /// Whether the score is within the bound.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.score <= self.bound
    }
}

impl fmt::Display for BestSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.goal {
            Goal::Harvest => "attempts at one account in an hour",
            Goal::Lockout => "seconds in which an owner is kept out",
        };
        write!(f, "{} {what}, where {} may be; seconds down/up:", self.score, self.bound)?;
        for step in &self.moves {
            write!(f, " {}/{}", step.down, step.up)?;
        }
        Ok(())
    }
}

// === impl Play ===

impl Play {
    fn new(goal: Goal, seed: u64) -> Self {
        Self {
            world: World::new(seed, 1, Variant::default()),
            goal,
            stalls: seed % 2 == 1,
            now: 0,
            next: 0,
            tries: 0,
            score: 0,
            admitted: VecDeque::new(),
            out_since: None,
        }
    }

    fn make(&mut self, step: &AdversaryMove) -> Result<(), Broken> {
        let way = if self.stalls { Way::Stalls } else { Way::Unavailable };
        self.phase(Fault::of(way), step.down)?;
        self.phase(Fault::NONE, step.up)
    }

    fn phase(&mut self, fault: Fault, seconds: u64) -> Result<(), Broken> {
        self.world.step(&SimStep::Break { nodes: 1, policies: 1, fault })?;
        let end = self.now + seconds * SECOND;
        // Requests for another account come first, so that the outage is noticed at once.
        let other = Client { account: Some(99), prefix: Some(99), agent: None, vouched: false };
        for _ in 0..3 {
            self.world.step(&SimStep::Ask { node: 0, policy: 0, client: other, peek: false })?;
        }
        while self.next <= end {
            self.wait(self.next)?;
            self.attempt()?;
        }
        self.wait(end)
    }

    fn wait(&mut self, until: u64) -> Result<(), Broken> {
        let pause = until.saturating_sub(self.now);
        self.now += pause;
        self.world.step(&SimStep::Wait(pause))
    }

    /// Tries the account once, and updates the score.
    fn attempt(&mut self) -> Result<(), Broken> {
        self.tries += 1;
        // A harvester has as many addresses as it needs.
        let prefix = if self.goal == Goal::Harvest { self.tries % 500 } else { 7 };
        let client =
            Client { account: Some(1), prefix: Some(prefix), agent: Some(1), vouched: false };
        self.world.step(&SimStep::Ask { node: 0, policy: 0, client, peek: false })?;
        // By then a request to a store that stalls has been answered.
        let asked = self.now;
        self.wait(asked + SECOND)?;
        let answer = self.world.log.last;
        let admitted = answer.is_some_and(|answer| answer.admitted);
        self.next = asked + EVERY;
        match self.goal {
            Goal::Harvest => {
                if admitted && answer.is_some_and(|answer| answer.mode != Mode::Normal) {
                    self.harvest(asked);
                }
            }
            Goal::Lockout if admitted => {
                self.world.step(&SimStep::Settle(0))?;
                let out = self.out_since.take().map_or(0, |since| asked - since);
                self.score = self.score.max(out.div_ceil(SECOND));
                self.next = asked + COMES_BACK;
            }
            Goal::Lockout => {
                let since = *self.out_since.get_or_insert(asked);
                self.score = self.score.max((asked - since).div_ceil(SECOND));
            }
        }
        Ok(())
    }

    fn harvest(&mut self, at: u64) {
        while self.admitted.front().is_some_and(|first| at - first >= HOUR) {
            self.admitted.pop_front();
        }
        self.admitted.push_back(at);
        self.score = self.score.max(self.admitted.len() as u64);
    }
}
