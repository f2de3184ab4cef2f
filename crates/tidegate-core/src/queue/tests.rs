//! The fair queue, held to its definitions: by examples, by a slow model, and by what follows from them.

mod bounds;
mod heads;
mod leaving;
mod model;
mod rounds;
mod same;
mod work;

use super::*;
use crate::shape::Rate;
use crate::time::Span;

/// A queue whose tenants are numbers.
type Lanes = FairQueue<u8>;

/// The instant so many milliseconds after the start.
fn at(millis: u64) -> Timestamp {
    Timestamp::ZERO.after(Span::from_millis(millis))
}

fn cost(units: u64) -> Cost {
    Cost::try_new(units).expect("a cost")
}

/// Bounds of so many places and milliseconds.
fn bounds(places: usize, millis: u64) -> QueueBounds {
    let bytes = QueueBounds::EACH * u64::try_from(places).expect("few");
    QueueBounds::try_new(places, bytes, Span::from_millis(millis)).expect("bounds")
}

fn queue(places: usize) -> Lanes {
    FairQueue::new(bounds(places, 5_000), Cost::ONE)
}

/// A told wait in milliseconds, of a limit that refills so many units a second.
fn told(millis: u64, per_second: u64) -> Forecast {
    let pace = Some(Rate::per_second(per_second).expect("a rate"));
    Forecast { wait: Span::from_millis(millis), pace }
}

/// An arrival that costs one unit and must get a seat.
fn sit(queue: &mut Lanes, tenant: u8, now: Timestamp) -> Seat {
    queue.arrive(Arrival::new(tenant, Cost::ONE), now).0.expect("a seat")
}

/// So many arrivals of one tenant at the start, each of one unit.
fn sit_down(queue: &mut Lanes, count: usize, tenant: u8) {
    for _ in 0..count {
        sit(queue, tenant, at(0));
    }
}

/// Lets the head go, and says whom.
fn go(queue: &mut Lanes, now: Timestamp) -> Option<Seat> {
    let seat = queue.ask(now).0?;
    let _ = queue.admitted(seat, now);
    Some(seat)
}

/// Lets everybody go, and says in which order.
fn go_all(queue: &mut Lanes, now: Timestamp) -> Vec<Seat> {
    std::iter::from_fn(|| go(queue, now)).collect()
}

fn head(queue: &Lanes) -> Option<Seat> {
    queue.armed().map(|armed| armed.seat)
}

fn due(queue: &Lanes) -> Option<Timestamp> {
    queue.armed().and_then(|armed| armed.due)
}
