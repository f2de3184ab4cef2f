//! Whether an account exists cannot be learnt: neither from answers nor from how long they take.

use tidegate_core::{Clock as _, Mode, Status};
use tidegate_engine::SystemClock;
use tidegate_test::servers::RunningServer;

use crate::figures::Spread;
use crate::people::Person;
use crate::policies::LOGIN;
use crate::speed::Plain;

/// Each is asked for so often.
const ATTEMPTS: u32 = 4;
/// So many accounts of each kind: ten thousand decisions.
const ACCOUNTS: u32 = 2_500;

/// What may be seen of a decision from outside. The times of servers pass by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    admitted: bool,
    blocked: bool,
    limit: u64,
    remaining: i64,
    /// In seconds, as headers have it.
    wait: Option<u64>,
}

/// Who has succeeded before, and nobody.
#[derive(Clone, Copy)]
struct Pair {
    known: Person,
    unknown: Person,
}

// === impl Pair ===

impl Pair {
    const fn of(number: u32) -> Self {
        let known = Person::other(10_000 + 2 * number);
        Self {
            known,
            unknown: Person { account: known.account + 1, ..Person::other(60_000 + 2 * number) },
        }
    }
}

/// Lets everybody who exists log in once, with success.
async fn succeed(plain: &Plain) {
    for number in 0..ACCOUNTS {
        let ticket = plain.ask(LOGIN, Pair::of(number).known, |decision| {
            assert!(decision.is_admitted() && decision.mode() == Mode::Normal);
            plain.engine.ticket(decision).unwrap().as_str().to_owned()
        });
        plain.engine.settle(&ticket.await, 0).await.unwrap();
    }
}

/// Asks for both of every pair in turn, and compares.
async fn compare(plain: &Plain, mode: Mode) {
    let real = SystemClock::new();
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..ACCOUNTS {
        let Pair { known, unknown } = Pair::of(number);
        for attempt in 0..ATTEMPTS {
            let mut seen = [None; 2];
            // Neither is always the first.
            let first = usize::from((number + attempt) % 2 == 0);
            for place in [first, 1 - first] {
                let person = [known, unknown][place];
                let began = real.now();
                let told = plain
                    .ask(LOGIN, person, |decision| (look(&decision.status()), decision.mode()));
                let (status, met) = told.await;
                times[place].push(real.now().since(began));
                assert_eq!(met, mode);
                seen[place] = Some(status);
            }
            assert_eq!(seen[0], seen[1], "p85: attempt {attempt} of pair {number}");
        }
    }
    let [known, unknown] = times.map(|times| Spread::of(&times));
    println!("{mode:?}: known {known:?}, unknown {unknown:?}");
    let apart = known.p50.as_micros().abs_diff(unknown.p50.as_micros());
    let near = apart < 50 || apart * 20 < known.p50.as_micros();
    assert!(near, "p85: {known:?} and {unknown:?}");
}

fn look(status: &Status) -> Seen {
    let wait = match status.retry {
        Some(tidegate_core::Retry::After(wait)) => Some(wait.as_secs_ceil()),
        _ => None,
    };
    let Status { limit, remaining, blocked, .. } = *status;
    Seen { admitted: !blocked, blocked, limit, remaining, wait }
}

#[tokio::test]
async fn p85_known_and_unknown_accounts_are_answered_alike_in_both_modes() {
    let server = RunningServer::start().await;
    let plain = Plain::at(&format!("redis://{}", server.addr()));
    plain.probe().await;
    succeed(&plain).await;
    compare(&plain, Mode::Normal).await;
    plain.trip(&server).await;
    // Of four attempts the caps admit three; the fourth is told to wait, both alike.
    compare(&plain, Mode::Degraded).await;
    plain.pass(60).await;
    compare(&plain, Mode::Degraded).await;
}
