//! The queue and the slow model do the same, whatever happens.

use proptest::prelude::*;
use proptest::sample::Index;

use super::model::{Gone, Slow};
use super::*;

/// Something that happens to a queue.
#[derive(Clone, Debug)]
enum Deed {
    Arrive { tenant: u8, units: u64, told: Option<Forecast> },
    Cancel(Index),
    Ask,
    Admit(Option<Index>),
    Refuse(Option<Forecast>, Option<Index>),
    Wake,
    Wait(u64),
    WaitUntilDue,
    Close(Closing),
}

/// Both queues, and the seats in the order in which they were given.
struct Both {
    queue: Lanes,
    slow: Slow,
    seats: Vec<Seat>,
    now: u64,
}

fn forecast() -> impl Strategy<Value = Forecast> {
    let pace = proptest::option::weighted(0.8, (1..20_u64, 1..3_000_u64));
    (0..6_000_u64, pace).prop_map(|(wait, pace)| {
        let rate = |(tokens, per)| Rate::try_new(tokens, Span::from_micros(per)).expect("a rate");
        Forecast { wait: Span::from_micros(wait), pace: pace.map(rate) }
    })
}

fn deed() -> impl Strategy<Value = Deed> {
    let arrive = (0..5_u8, 1..13_u64, proptest::option::weighted(0.3, forecast()));
    let closing = prop_oneof![
        6 => Just(Closing::CircuitOpen),
        1 => Just(Closing::Shutdown),
        1 => Just(Closing::Removed),
    ];
    let other = || proptest::option::weighted(0.1, any::<Index>());
    prop_oneof![
        30 => arrive.prop_map(|(tenant, units, told)| Deed::Arrive { tenant, units, told }),
        8 => any::<Index>().prop_map(Deed::Cancel),
        12 => Just(Deed::Ask),
        14 => other().prop_map(Deed::Admit),
        10 => (proptest::option::weighted(0.8, forecast()), other())
            .prop_map(|(told, other)| Deed::Refuse(told, other)),
        4 => Just(Deed::Wake),
        6 => (0..2_000_u64).prop_map(Deed::Wait),
        10 => Just(Deed::WaitUntilDue),
        1 => closing.prop_map(Deed::Close),
    ]
}

impl Both {
    fn new(places: usize, age: u64, quantum: u64) -> Self {
        let bytes = QueueBounds::EACH * u64::try_from(places).expect("few");
        let bounds = QueueBounds::try_new(places, bytes, Span::from_micros(age)).expect("bounds");
        let queue = FairQueue::new(bounds, cost(quantum));
        Self { queue, slow: Slow::new(places, age, quantum), seats: Vec::new(), now: 0 }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.now)
    }

    fn number(&self, seat: Seat) -> usize {
        self.seats.iter().position(|it| *it == seat).expect("a seat that was given")
    }

    fn pick(&self, index: &Index) -> Option<usize> {
        (!self.seats.is_empty()).then(|| index.index(self.seats.len()))
    }

    /// The head, or somebody else who is not asked for.
    fn answered(&self, other: Option<&Index>) -> Option<usize> {
        other.map_or(self.slow.head(), |index| self.pick(index))
    }

    fn does(&mut self, deed: &Deed) -> Result<(), TestCaseError> {
        match deed {
            Deed::Wait(span) => self.now += span,
            Deed::WaitUntilDue => self.now = self.slow.due().unwrap_or(0).max(self.now),
            _ => {}
        }
        let mut expected = self.slow.pass(self.now);
        let now = self.now();
        let (after, more) = match deed {
            Deed::Arrive { tenant, units, told } => self.arrive(*tenant, *units, *told)?,
            Deed::Cancel(index) => {
                let Some(number) = self.pick(index) else { return Ok(()) };
                self.slow.cancel(number);
                (self.queue.cancel(self.seats[number], now), Vec::new())
            }
            Deed::Admit(other) => {
                let Some(number) = self.answered(other.as_ref()) else { return Ok(()) };
                self.slow.admitted(number);
                (self.queue.admitted(self.seats[number], now), Vec::new())
            }
            Deed::Refuse(told, other) => {
                let Some(number) = self.answered(other.as_ref()) else { return Ok(()) };
                let more = self.slow.refused(number, *told);
                (self.queue.refused(self.seats[number], *told, now), more)
            }
            Deed::Wake => {
                self.slow.wake();
                (self.queue.wake(now), Vec::new())
            }
            Deed::Close(why) => (self.queue.close(*why, now), self.slow.close(*why)),
            Deed::Ask | Deed::Wait(_) | Deed::WaitUntilDue => {
                let (asks, after) = self.queue.ask(now);
                prop_assert_eq!(asks.map(|seat| self.number(seat)), self.slow.ask());
                (after, Vec::new())
            }
        };
        expected.extend(more);
        self.compare(&after, &expected)
    }

    fn arrive(
        &mut self,
        tenant: u8,
        units: u64,
        told: Option<Forecast>,
    ) -> Result<(Aftermath, Gone), TestCaseError> {
        let arrival = Arrival { tenant, cost: cost(units), told };
        let (seat, after) = self.queue.arrive(arrival, self.now());
        let (expected, gone) = self.slow.arrive(tenant, units, told);
        match (seat, expected) {
            (Ok(seat), Ok(())) => self.seats.push(seat),
            (Err(TurnedAway::TooLong { wait }), Err(TurnedAway::TooLong { wait: all })) => {
                let age = Span::from_micros(self.slow.age);
                prop_assert!(age <= wait && wait <= all, "{age} <= {wait} <= {all}");
            }
            (seat, expected) => prop_assert_eq!(seat.map(|_| ()), expected),
        }
        Ok((after, gone))
    }

    fn compare(&self, after: &Aftermath, expected: &Gone) -> Result<(), TestCaseError> {
        let departed: Gone =
            after.departed.iter().map(|it| (self.number(it.seat), it.why)).collect();
        prop_assert_eq!(&departed, expected);
        prop_assert_eq!(after.armed, self.queue.armed());
        prop_assert_eq!(head(&self.queue).map(|seat| self.number(seat)), self.slow.head());
        prop_assert_eq!(due(&self.queue).map(Timestamp::as_micros), self.slow.due());
        let held = |number: &usize| self.queue.holds(self.seats[*number]);
        let everybody: Vec<usize> = (0..self.seats.len()).filter(held).collect();
        prop_assert_eq!(&everybody, &self.slow.everybody());
        prop_assert_eq!(everybody.len(), self.queue.len());
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn g7_the_queue_does_what_the_slow_model_does(
        places in 1..12_usize,
        age in 1..12_000_u64,
        quantum in 1..9_u64,
        deeds in proptest::collection::vec(deed(), 0..150),
    ) {
        let mut both = Both::new(places, age, quantum);
        for deed in &deeds {
            both.does(deed)?;
        }
    }
}
