//! Many threads at once; every interleaving of two of them is in `tests/loom.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tidegate_core::{Cause, Mode, Signal, StoreError};

use crate::world::World;

const HERE: [u8; 4] = [203, 0, 113, 9];

#[test]
fn p45_of_sixty_four_threads_exactly_three_get_in() {
    let world = World::proven();
    world.trip("login");
    let admitted = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                for _ in 0..20 {
                    if world.ask("login", "ann", HERE).admits() {
                        admitted.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(admitted.into_inner(), 3);
}

#[test]
fn p60_however_many_fail_at_once_it_trips_once() {
    let world = World::proven();
    let _ = world.signals();
    world.fail(Some(StoreError::Unavailable));
    thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert!(!world.ask("admin", "ann", HERE).admits());
                }
            });
        }
    });
    let changed: Vec<_> = world
        .signals()
        .into_iter()
        .filter_map(|(_, signal)| match signal {
            Signal::Changed(change) => Some((change.from, change.to, change.cause)),
            _ => None,
        })
        .collect();
    assert_eq!(changed, [(Mode::Normal, Mode::Degraded, Cause::Tripped)]);
}
