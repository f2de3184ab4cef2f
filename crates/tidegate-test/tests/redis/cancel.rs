//! T44, P76: a call that nobody waits for any more leaves its reply to nobody else.
//!
//! Many callers share one connection, and some of them go away at any moment. Each counts its own
//! key by a cost of its own, so what it reads is a multiple of that, and a reply meant for somebody
//! else is not. The store compares a number that goes with each call as well: then it would be an
//! error, and there is none.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;
use std::sync::Arc;

use tidegate_core::{Case, Cost, Subject};
use tidegate_test::proxy::Proxy;

use crate::node::{Node, PATIENT, policies, quota};
use crate::place;

const CALLERS: u64 = 100;
const CALLS: u64 = 1_000;

/// As much as there can be; nothing here is refused.
const FULL: u64 = 9_000_000_000_000;

/// A generator without a seed from outside: the same run each time, as far as the calls go.
struct Dice(u64);

// === impl Dice ===

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % sides
    }
}

/// The output, if it comes within so many polls; else the future is dropped as it is. Between two
/// polls everybody else has a turn, so that a call is given up before it is sent, on its way, or when
/// its reply is already there.
async fn within<F: Future>(polls: u64, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut polled = 0;
    poll_fn(|context| {
        polled += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if polled >= polls => Poll::Ready(None),
            Poll::Pending => {
                if polls < u64::MAX {
                    context.waker().wake_by_ref();
                }
                Poll::Pending
            }
        }
    })
    .await
}

/// Calls and sometimes goes away; tells how often.
async fn caller(node: &Node, number: u64) -> u64 {
    // Odd and far apart, so that no small sum of one is a multiple of another.
    let (org, cost) = (format!("o{number}"), 1_000_003 + 2 * number);
    let (set, subject) = (Arc::clone(&node.engine().policies()), Subject::new().org(&org));
    let (mut dice, mut left, mut gone, mut unknown) = (Dice(number), FULL, 0, 0);
    for _ in 0..CALLS {
        let polls = if dice.roll(100) < 12 { 1 + dice.roll(12) } else { u64::MAX };
        let mut case =
            Case::new(&set.policies()[0], &subject).weighing(Cost::try_new(cost).unwrap());
        let Some(decision) = within(polls, node.engine().decide_by_store(&mut case)).await else {
            (gone, unknown) = (gone + 1, unknown + 1);
            continue;
        };
        let decision = decision.unwrap_or_else(|error| panic!("{error}: {}", node.trouble()));
        let said = decision.explain().next().unwrap().reading.remaining;
        let said = u64::try_from(said).unwrap();
        let (taken, rest) = ((left - said) / cost, (left - said) % cost);
        assert_eq!(rest, 0, "{org} was answered {said} after {left}, at {cost} each");
        assert!((1..=1 + unknown).contains(&taken), "{org}: {taken} counted, {unknown} unknown");
        (left, unknown) = (said, 0);
    }
    gone
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t44_p76_a_cancelled_call_leaves_its_reply_to_nobody_else() {
    let server = place::server().await;
    let proxy = Proxy::start(server.addr()).await;
    let limits = || policies([("quota", quota(FULL))]);
    let node = Arc::new(Node::with(&place::url(proxy.addr()), PATIENT, limits()));
    node.store().check().await.unwrap();
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..CALLERS {
        let node = Arc::clone(&node);
        callers.spawn(async move { caller(&node, number).await });
    }
    let gone: u64 = callers.join_all().await.iter().sum();
    println!("{gone} of {} calls were given up", CALLERS * CALLS);
    assert!(gone * 100 >= 8 * CALLERS * CALLS, "only {gone} were given up");
    assert_eq!(proxy.connections(), 1, "all on one connection");
}
