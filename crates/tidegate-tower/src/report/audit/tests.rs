//! Nothing gets lost, however much there is and whatever the sink does.

mod files;

use std::collections::HashSet;
use std::io;
use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate_core::Span;

use super::pending::{AuditEvent, PendingRecords};
use super::{Audit, AuditBuilder, AuditRecord, RecordKind, Sink};
use crate::answer::Code;
use crate::identity::Identity;
use crate::report::tests::{Ask, CORRELATION, NOW, World};
use crate::report::{Reporter, Ruled};

/// Long enough for anything; nobody waits for it unless something is broken.
const LONG: Duration = Duration::from_secs(60);

/// What was written.
type Written = Arc<Mutex<Vec<AuditRecord>>>;

fn start(builder: &AuditBuilder) -> (Reporter, Audit, Written) {
    let written = Written::default();
    let theirs = Arc::clone(&written);
    let audit = builder.clone().start(move |record: &AuditRecord| {
        theirs.lock().unwrap().push(record.clone());
        Ok(())
    });
    let audit = audit.unwrap();
    (Reporter::default().auditing(audit.clone()), audit, written)
}

fn records(audit: &Audit, written: &Written) -> Vec<AuditRecord> {
    assert!(audit.finish(LONG));
    std::mem::take(&mut written.lock().unwrap())
}

fn count(records: &[AuditRecord]) -> u64 {
    records.iter().map(|record| record.count).sum()
}

fn every(refusals: u32) -> AuditBuilder {
    AuditBuilder { threshold: NonZeroU32::new(refusals).unwrap(), ..Audit::builder() }
}

fn user(id: impl std::fmt::Display) -> Ask {
    Ask::of(Identity::new("acme").user(id.to_string()).token("tok_3"))
}

/// Nobody of the organisation may pass any more.
fn exhausted() -> World {
    let world = World::new();
    while world.ask(&Reporter::default(), &user(0)) {}
    world
}

fn attacker() -> Ask {
    Ask::from("2001:db8:1:2::77".parse::<IpAddr>().unwrap(), "login")
}

#[test]
fn a_record_at_the_threshold_and_at_each_multiple() {
    let (world, (reporter, audit, written)) = (exhausted(), start(&Audit::builder()));
    let ask = user(7);
    for _ in 0..9 {
        world.ask(&reporter, &ask);
    }
    assert_eq!(records(&audit, &written), []);
    world.ask(&reporter, &ask);
    let told = records(&audit, &written);
    let [record] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(record.kind, RecordKind::RepeatedThrottling);
    assert_eq!(record.org_id.as_deref(), Some("acme"));
    assert_eq!(record.actor_id.as_deref(), Some("7"));
    assert_eq!(record.token_id.as_deref(), Some("tok_3"));
    assert_eq!(record.correlation_id.as_deref(), Some(CORRELATION));
    assert_eq!(record.endpoint_class.as_ref().unwrap().as_str(), "read");
    assert_eq!(record.route.as_deref(), Some("/v1/reports/{id}"));
    assert_eq!(record.policy.as_ref().unwrap().as_str(), "api");
    assert_eq!(record.limit.as_ref().unwrap().as_str(), "burst");
    assert_eq!((record.client.as_ref(), record.run, record.count), (None, Some(10), 1));
    assert_eq!((record.at, record.first_at, record.last_at), (NOW, NOW, NOW));
    for _ in 0..25 {
        world.ask(&reporter, &ask);
    }
    let told = records(&audit, &written);
    assert_eq!((count(&told), told.last().unwrap().run), (2, Some(30)));
}

#[test]
fn what_passes_ends_the_run_and_only_that_of_its_actor() {
    let (world, (reporter, audit, written)) = (exhausted(), start(&every(4)));
    let refused = |ask: &Ask, times| {
        for _ in 0..times {
            assert!(!world.ask(&reporter, ask));
        }
    };
    refused(&user(1), 3);
    refused(&user(2), 3);
    world.clock.advance(Span::from_secs(13));
    assert!(world.ask(&reporter, &user(1)), "there is room for one");
    refused(&user(1), 3);
    assert_eq!(records(&audit, &written), [], "three and three is not four in a row");
    refused(&user(2), 1);
    let told = records(&audit, &written);
    assert_eq!((told.len(), told[0].actor_id.as_deref()), (1, Some("2")));
    refused(&user(1), 1);
    assert_eq!(records(&audit, &written)[0].actor_id.as_deref(), Some("1"));
}

#[test]
fn neither_a_lower_quality_nor_another_refusal_ends_or_extends_a_run() {
    let (world, (reporter, audit, written)) = (exhausted(), start(&every(2)));
    world.ask(&reporter, &user(1));
    for _ in 0..5 {
        world.ask(&reporter, &Ask { policy: "soft", ..user(2) });
    }
    world.rule(&user(1), |ruled| {
        let code = Some(Code::InsufficientScope);
        reporter.ruled(&Ruled { code, decision: None, ..*ruled });
    });
    assert_eq!(records(&audit, &written), []);
    world.ask(&reporter, &user(1));
    assert_eq!(count(&records(&audit, &written)), 1);
}

#[test]
fn an_address_that_is_kept_from_an_entrance_is_recorded_by_its_prefix() {
    let (world, (reporter, audit, written)) = (World::new(), start(&Audit::builder()));
    for _ in 0..24 {
        world.ask(&reporter, &attacker());
    }
    let told = records(&audit, &written);
    assert_eq!(count(&told), 3, "{told:?}");
    assert_eq!(told[0].kind, RecordKind::AddressBlocked);
    assert_eq!(told[0].client.as_deref(), Some("2001:db8:1:2::/64"));
    assert_eq!(told[0].policy.as_ref().unwrap().as_str(), "login");
    assert_eq!((told[0].org_id.as_ref(), told[0].run), (None, None));
}

#[test]
fn what_refuses_elsewhere_is_no_matter_of_the_audit() {
    let (world, (reporter, audit, written)) = (World::new(), start(&Audit::builder()));
    let peer = [198, 51, 100, 7].into();
    for _ in 0..5 {
        world.ask(&reporter, &Ask::from(peer, "front"));
    }
    assert_eq!(records(&audit, &written), [], "a public page is no entrance");
    for _ in 0..5 {
        world.ask(&reporter, &Ask { class: "auth", ..Ask::from(peer, "front") });
    }
    assert_eq!(count(&records(&audit, &written)), 2, "but a class `auth` is");
}

#[test]
fn p81_a_flood_of_equal_events_is_few_records_whose_counts_add_up() {
    const FLOOD: u64 = 1_000_000;
    let (world, (reporter, audit, written)) = (World::new(), start(&Audit::builder()));
    while world.ask(&Reporter::default(), &attacker()) {}
    world.rule(&attacker(), |ruled| {
        for _ in 0..FLOOD {
            reporter.ruled(ruled);
        }
    });
    let told = records(&audit, &written);
    assert_eq!(count(&told), FLOOD);
    // One at once, then one a second; the rest is room for a slow machine.
    assert!(told.len() < 100, "{}", told.len());
}

/// A sink that waits to be let go on.
struct Held {
    go: Receiver<()>,
    written: Written,
}

// === impl Held ===

impl Sink for Held {
    fn append(&mut self, record: &AuditRecord) -> io::Result<()> {
        // Fails once nobody holds it any more, which lets it go on too.
        let _ = self.go.recv();
        self.written.lock().unwrap().push(record.clone());
        Ok(())
    }
}

#[test]
fn p81_beyond_so_many_distinct_actors_the_rest_is_counted_together() {
    const ACTORS: u64 = 100_000;
    const MOST: usize = 64;
    let (held, go) = sync_channel(0);
    let written = Written::default();
    let builder = AuditBuilder { most_waiting: NonZeroUsize::new(MOST).unwrap(), ..every(1) };
    let audit = builder.start(Held { go, written: Arc::clone(&written) }).unwrap();
    let reporter = Reporter::default().auditing(audit.clone());
    let world = exhausted();
    for id in 0..ACTORS {
        world.ask(&reporter, &user(id));
        assert!(audit.waiting() <= MOST + 1, "nobody waits for the sink, and memory is bounded");
    }
    drop(held);
    let told = records(&audit, &written);
    assert_eq!(count(&told), ACTORS);
    let own: HashSet<_> = told.iter().filter_map(|record| record.actor_id.clone()).collect();
    assert!(own.len() >= MOST && told.len() <= 2 * MOST + 2, "{} {}", own.len(), told.len());
    let others: Vec<_> = told.iter().filter(|record| record.other).cloned().collect();
    assert!(others.iter().all(|other| other.org_id.is_none() && other.run.is_none()));
    assert_eq!(count(&others), ACTORS - own.len() as u64);
}

#[test]
fn actors_beyond_the_table_of_runs_are_counted_together() {
    let builder = AuditBuilder { most_runs: NonZeroUsize::new(16).unwrap(), ..every(10) };
    let (world, (reporter, audit, written)) = (exhausted(), start(&builder));
    for id in 0..1_016 {
        world.ask(&reporter, &user(id));
    }
    let told = records(&audit, &written);
    assert!(told.iter().all(|record| record.other), "{told:?}");
    assert!((100..=101).contains(&count(&told)), "{}", count(&told));
    // An hour later nobody is in a row any more, and there is room.
    world.clock.advance(Span::HOUR);
    while world.ask(&Reporter::default(), &user(0)) {}
    for _ in 0..10 {
        world.ask(&reporter, &user("late"));
    }
    assert_eq!(records(&audit, &written)[0].actor_id.as_deref(), Some("late"));
}

#[test]
fn p81_what_a_sink_could_not_write_is_written_once_it_can() {
    let broken = Arc::new(AtomicBool::new(true));
    let (written, theirs) = (Written::default(), Arc::clone(&broken));
    let to = Arc::clone(&written);
    let audit = every(1).start(move |record: &AuditRecord| {
        if theirs.load(Ordering::SeqCst) {
            // One that panics is a failure as well.
            assert_ne!(record.actor_id.as_deref(), Some("3"), "as asked for");
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        to.lock().unwrap().push(record.clone());
        Ok(())
    });
    let audit = audit.unwrap();
    let (world, reporter) = (exhausted(), Reporter::default().auditing(audit.clone()));
    for id in [3, 1, 2, 1, 3, 1] {
        assert!(!world.ask(&reporter, &user(id)));
        assert!(!audit.finish(LONG), "said at once, and not only when time is up");
    }
    assert!(audit.failures() >= 6);
    broken.store(false, Ordering::SeqCst);
    let told = records(&audit, &written);
    let told: Vec<_> =
        told.iter().map(|record| (record.actor_id.as_deref().unwrap(), record.count)).collect();
    assert_eq!(told, [("3", 2), ("1", 3), ("2", 1)], "in the order of their first events");
    assert_eq!(audit.waiting(), 0);
}

#[test]
fn what_comes_back_goes_before_what_came_since_and_stays_bounded() {
    let mut pending = PendingRecords::new(2);
    let kind = RecordKind::RepeatedThrottling;
    let add = |pending: &mut PendingRecords, key, run| {
        let event = AuditEvent { kind, key: Some(key), at: NOW, run };
        pending.add(event, || AuditRecord {
            other: false,
            run: Some(run),
            ..AuditRecord::other(kind, NOW)
        });
    };
    add(&mut pending, 1, 10);
    let earlier = pending.take();
    add(&mut pending, 2, 10);
    add(&mut pending, 1, 20);
    add(&mut pending, 3, 10);
    pending.put_back(earlier);
    let told = pending.take().into_iter();
    let told: Vec<_> = told.map(|(key, record)| (key, record.run, record.count)).collect();
    assert_eq!(told, [(Some(1), Some(20), 2), (Some(2), Some(10), 1), (None, None, 1)]);
    assert!(pending.is_empty());
}

#[test]
fn the_last_audit_that_is_dropped_writes_what_is_left() {
    let (world, (reporter, audit, written)) = (exhausted(), start(&every(1)));
    for id in 0..5 {
        world.ask(&reporter, &user(id));
    }
    drop((reporter, audit));
    assert_eq!(count(&written.lock().unwrap()), 5);
}
