//! The story of an outage, the same for every fault.
//!
//! The store is proven, everybody is served, and then something breaks. Two nodes meet it: one with
//! much traffic, which finds out at once, and one that is asked once under each policy and finds out by
//! its probes. For five minutes an owner, an attacker and many others ask. The fault ends, nobody asks
//! any more, and all policies trust their store again, which is as it was.

use tidegate_core::{Clock as _, Mode, Span, Timestamp};
use tidegate_test::proxy::Proxy;
use tidegate_test::servers::RunningServer;
use tidegate_test::sim::trace::{Observation, OpKind, StoreOutcome, Truth, What};

use crate::figures::{self, Figures, Spread};
use crate::kept::{self, Kept, Looker};
use crate::node::{Node, Told};
use crate::people::{ATTACKER, OWNER, Person};
use crate::policies::{self, ADMIN, API, LOGIN, OTP};
use crate::world::{World, all};

/// How long local caps decide at least.
pub(crate) const STAY: Span = Span::from_secs(300);
/// How long a store has to be healthy before it is trusted.
const HEALTHY: Span = Span::from_secs(120);
/// How much later than that it may be.
const LATE: Span = Span::from_secs(10);
/// By how much a decision may come later than its deadline: what a busy machine takes to wake a task.
const MARGIN: Span = Span::from_millis(1_500);
/// How many requests of each policy are under way when a fault begins.
const UNDER_WAY: usize = 8;
/// From one round of requests to the next.
const ROUND: Span = Span::from_secs(5);

/// What the story is about.
pub(crate) struct Story<'s> {
    pub(crate) server: &'s RunningServer,
    pub(crate) proxy: &'s Proxy,
    /// How long the fault lasts, from the trip on.
    pub(crate) lasts: Span,
    /// Whether what was asked may have been counted although nobody was told.
    pub(crate) unknown: bool,
    /// What is known of the store while the fault lasts.
    pub(crate) truth: Truth,
}

/// What was before.
struct Before {
    kept: Kept,
    /// The counters that requests under way may change.
    caught: Vec<Vec<u8>>,
    healthy: Vec<Span>,
}

// === impl Story ===

impl<'s> Story<'s> {
    /// A fault that is seen at once and lasts for five minutes.
    pub(crate) fn of(server: &'s RunningServer, proxy: &'s Proxy) -> Self {
        Self { server, proxy, lasts: STAY, unknown: false, truth: Truth::Bad }
    }

    /// One in which every call takes its whole deadline. It is over after a minute, or the probes of
    /// five would take many real ones.
    pub(crate) fn of_a_stall(server: &'s RunningServer, proxy: &'s Proxy) -> Self {
        Self { lasts: Span::MINUTE, unknown: true, ..Self::of(server, proxy) }
    }

    /// Tells it.
    pub(crate) async fn tell(&self, strike: impl AsyncFn(), heal: impl AsyncFn()) -> Figures {
        let world = World::proven(&format!("redis://{}", self.proxy.addr()), 2).await;
        let before = self.everybody_is_served(&world).await;
        let place = world.tape.place();
        strike().await;
        world.truth(self.truth);
        let met = self.it_is_met(&world).await;
        let unheard = unheard(&world.tape.since(place));
        let tripped = world.clock.now();
        self.proxy.clear_record();
        let mut after = at_low_traffic(&world).await;
        after.extend(self.it_lasts(&world, tripped, &heal).await);
        let healed = tripped.after(self.lasts);
        let back = self.it_is_over(&world, tripped, healed).await;
        self.nothing_but_probes_was_sent(unheard);
        self.nothing_was_changed(&before, unheard).await;
        normal_again(&world).await;
        world.tape.finish();
        let over = figures::beyond_caps(&world.tape.since(place));
        assert_eq!(over, 0, "p24–p27, p17");
        let spread = Spread::of(&after);
        assert!(spread.p50 <= Span::from_micros(20), "nobody waits after the trip: {spread:?}");
        let stayed = healed.since(tripped).as_micros() + back.as_micros();
        let stayed = Span::from_micros(stayed);
        Figures { healthy: before.healthy, met, after, over, back, stayed }
    }

    /// Some requests of every policy, admitted by the store; what it has kept then.
    async fn everybody_is_served(&self, world: &World) -> Before {
        let mut healthy = Vec::new();
        let serve = async |person: Person, healthy: &mut Vec<Span>, node: &Node| {
            for policy in policies::ALL {
                let told = node.ask(policy, person).await;
                assert!(told.admitted && told.mode == Mode::Normal, "{}", node.trouble());
                healthy.push(told.took);
            }
        };
        for number in 0..8 {
            serve(Person::other(number), &mut healthy, &world.nodes[0]).await;
        }
        serve(OWNER, &mut healthy, &world.nodes[1]).await;
        let others = kept::all_of(self.server).await;
        for (node, number) in world.nodes.iter().zip(0..) {
            serve(Person::caught(number), &mut healthy, node).await;
        }
        let kept = kept::all_of(self.server).await;
        let caught = kept.keys().filter(|key| !others.contains_key(*key)).cloned().collect();
        assert!(others.iter().all(|(key, value)| kept[key] == *value));
        world.tape.holds();
        Before { kept, caught, healthy }
    }

    /// Many requests of one node are under way together, and one of each policy of the other. How long
    /// those took that the store has failed.
    async fn it_is_met(&self, world: &World) -> Vec<Span> {
        let [busy, quiet] = &world.nodes[..] else { panic!("two nodes") };
        let by_many = (0..UNDER_WAY).flat_map(|_| policies::ALL.map(|policy| (busy, 0, policy)));
        let asked = by_many.chain(policies::ALL.map(|policy| (quiet, 1, policy)));
        let asked = asked.map(|(node, number, policy)| node.ask(policy, Person::caught(number)));
        let told = all(asked.collect()).await;
        world.tape.holds();
        for policy in policies::ALL {
            assert_eq!(busy.mode(policy), Mode::Degraded, "{}", busy.trouble());
        }
        let failed = told.iter().filter(|told| told.mode != Mode::Degraded);
        let met: Vec<Span> = failed.map(|told| told.took).collect();
        assert!(met.len() > 3 * policies::ALL.len(), "{} met it", met.len());
        let deadline = policies::longest(&policies::set());
        let worst = Spread::of(&met).max;
        assert!(worst.as_micros() <= deadline.as_micros() + MARGIN.as_micros(), "p09: {worst}");
        met
    }

    /// Five minutes from the trip on, in the course of which the fault may end.
    async fn it_lasts(
        &self,
        world: &World,
        tripped: Timestamp,
        heal: &impl AsyncFn(),
    ) -> Vec<Span> {
        let (mut after, mut healed, mut round) = (Vec::new(), false, 0);
        while world.since(tripped) < STAY {
            if !healed && world.since(tripped) >= self.lasts {
                self.is_over(world, heal).await;
                healed = true;
            }
            for node in &world.nodes {
                after.extend(requests(node, round).await);
            }
            world.tape.holds();
            world.all_stand(Mode::Degraded);
            round += 1;
            let left = STAY.as_micros() - world.since(tripped).as_micros();
            world.pass(Span::from_micros(left.min(ROUND.as_micros()))).await;
        }
        if !healed {
            self.is_over(world, heal).await;
        }
        after
    }

    async fn is_over(&self, world: &World, heal: &impl AsyncFn()) {
        heal().await;
        world.truth(Truth::Good);
    }

    /// Nobody asks any more, and every policy trusts its store again in time; how long that took from
    /// the end of the fault.
    async fn it_is_over(&self, world: &World, tripped: Timestamp, healed: Timestamp) -> Span {
        let (stay, healthy) = (tripped.after(STAY), healed.after(HEALTHY));
        // The quiet node has tripped some seconds later.
        let latest = stay.after(LATE).max(healthy).after(LATE);
        world.until(Mode::Normal, latest.since(world.clock.now())).await;
        world.since(healed)
    }

    /// What the wire has seen between the trip and now: probes, and the first words of connections that
    /// were made for them. What was sent before may still have arrived.
    fn nothing_but_probes_was_sent(&self, unheard: usize) {
        let (mut probes, mut late) = (0, 0);
        for command in self.proxy.record() {
            let word = command[0].to_ascii_uppercase();
            match &word[..] {
                b"AUTH" | b"HELLO" | b"INFO" | b"CLIENT" | b"SELECT" => {}
                b"EVALSHA" | b"EVAL" if kept::is_probe(&command[3]) => probes += 1,
                b"EVALSHA" | b"EVAL" => late += 1,
                _ => panic!("p19, p52: {command:?}"),
            }
        }
        assert!(probes >= 24, "the store was probed {probes} times only");
        let most = if self.unknown { unheard } else { 0 };
        assert!(late <= most, "p19, p52: {late} calls after the trip, {most} were under way");
    }

    /// The store is as it was, but for what was under way at the trip and may have been counted.
    async fn nothing_was_changed(&self, before: &Before, unheard: usize) {
        let kept = kept::all_of(self.server).await;
        assert!(kept.keys().eq(before.kept.keys()), "p42: other counters than before");
        for (key, value) in &before.kept {
            let may = self.unknown && before.caught.contains(key);
            let name = String::from_utf8_lossy(key);
            assert!(may || kept[key] == *value, "p42, p43: {name} has changed");
        }
        let looker = Looker::at(&format!("redis://{}", self.server.addr()));
        for policy in policies::ALL {
            let counted = async |person| looker.counted(policy, person).await;
            assert!(counted(OWNER).await.iter().all(|count| *count == 1), "p43: {policy}");
            // Counters by account are the owner's as well.
            let of_attacker = counted(ATTACKER).await;
            assert!(of_attacker.iter().all(|count| *count <= 1), "p43: {of_attacker:?}");
            for number in 0..2 {
                let counted = counted(Person::caught(number)).await;
                // Too many attempts have become a block, and that may be over.
                let range = if self.unknown { 0..=1 + unheard as u64 } else { 1..=1 };
                assert!(counted.iter().all(|count| range.contains(count)), "{counted:?}");
            }
        }
    }
}

/// On the node that was asked once, time alone brings local caps about.
async fn at_low_traffic(world: &World) -> Vec<Span> {
    let quiet = &world.nodes[1];
    world.pass(Span::from_secs(10)).await;
    for policy in policies::ALL {
        assert_eq!(quiet.mode(policy), Mode::Degraded, "p57: {}", quiet.trouble());
    }
    requests(quiet, 1_000).await
}

/// One round of requests of all kinds, decided without the store; how long each took.
async fn requests(node: &Node, round: u32) -> Vec<Span> {
    let mut told: Vec<Told> = Vec::new();
    for policy in [LOGIN, OTP, ADMIN] {
        told.push(node.ask(policy, OWNER).await);
        for guess in 0..8 {
            told.push(node.ask(policy, ATTACKER).await);
            // Somebody else's account, each once.
            told.push(node.ask(policy, ATTACKER.at(20_000 + 8 * round + guess)).await);
        }
        for number in 0..12 {
            told.push(node.ask(policy, Person::other(12 * (round % 50) + number)).await);
        }
    }
    for number in 0..25 {
        told.push(node.ask(API, OWNER.with_agent(number % 3)).await);
        told.push(node.ask(API, Person::other(u32::from(number))).await);
    }
    assert!(told.iter().all(|told| told.mode != Mode::Normal));
    assert!(told.iter().any(|told| told.admitted) && told.iter().any(|told| !told.admitted));
    told.iter().map(|told| told.took).collect()
}

/// The store decides again.
async fn normal_again(world: &World) {
    world.all_stand(Mode::Normal);
    for node in &world.nodes {
        for policy in policies::ALL {
            let told = node.ask(policy, OWNER).await;
            assert!(told.admitted && told.mode == Mode::Normal, "{}", node.trouble());
        }
    }
    world.tape.holds();
}

/// How many charges were sent that nobody knows the outcome of.
fn unheard(records: &[Observation]) -> usize {
    let sent =
        |record: &&Observation| matches!(record.what, What::Sent { kind: OpKind::Charge, .. });
    let good = |record: &&Observation| {
        matches!(record.what, What::Done { outcome: StoreOutcome::Good, .. })
    };
    records.iter().filter(sent).count() - records.iter().filter(good).count()
}
