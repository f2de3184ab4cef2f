//! G2, G4: the scripts of the fleet in Redis do what the core's rule says, byte for byte; run by a Lua
//! interpreter that is told the time. Real servers are in `tests/redis`.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use tidegate_core::{
    Accord, AccordState, CLOSED_KEPT, CallOutcome, Clock, Cursor, Fleet, FleetError, FleetStep,
    Forced, Holder, Lease, MAX_CHANGED, MAX_EXACT, ManualClock, Motion, Span, Timestamp, agree,
};
use tidegate_stores::redis::RedisFleet;
use tidegate_test::fleet::{FleetSpans, FleetTally, conform};
use tidegate_test::lua::{self, FleetKeys};
use tidegate_test::ready;

const NOW: u64 = 1_800_000_000_000_000;
const NAME: &str = "upstream";

/// A fleet whose scripts are run here, its keys and its clock.
struct Place {
    fleet: RedisFleet,
    keys: FleetKeys,
    clock: Arc<ManualClock>,
}

impl Place {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(NOW)));
        let keys = FleetKeys::default();
        let now: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
        Self { fleet: lua::fleet(now, &keys), keys, clock }
    }

    fn agree(&self, name: &str, step: FleetStep) -> Result<Accord, FleetError> {
        ready(self.fleet.agree(name, step)).map(|agreed| agreed.accord)
    }

    fn trip(&self, name: &str, seen: u64) -> Result<Accord, FleetError> {
        self.agree(name, FleetStep { seen, motion: Motion::Trip { window: Span::from_secs(10) } })
    }

    /// Opens a breaker and closes it again.
    fn close(&self, name: &str) -> Accord {
        let open = self.trip(name, 0).unwrap();
        let force = Motion::Force(Forced::Closed);
        let forced = self.agree(name, FleetStep { seen: open.generation, motion: force }).unwrap();
        let lift = FleetStep { seen: forced.generation, motion: Motion::Lift };
        let closed = self.agree(name, lift).unwrap();
        assert_eq!(closed.state, AccordState::Closed);
        closed
    }
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(NOW - 1),
        Just(NOW),
        Just(NOW + 1),
        Just(MAX_EXACT),
        NOW - 20_000_000..NOW + 20_000_000,
        0..=MAX_EXACT,
    ]
}

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![Just(0), Just(1), 0..20_000_000_u64, 0..=MAX_EXACT, Just(u64::MAX)]
        .prop_map(Span::from_micros)
}

fn holder() -> impl Strategy<Value = Holder> {
    let word = || prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(1 << 63), any::<u64>()];
    (word(), word()).prop_map(|(node, number)| Holder { node, number })
}

fn accord() -> impl Strategy<Value = Accord> {
    let successes = || prop_oneof![Just(0), Just(1), Just(u32::MAX), any::<u32>()];
    let time = || number().prop_map(Timestamp::from_micros);
    let lease = (holder(), time()).prop_map(|(holder, until)| Lease { holder, until });
    let state = prop_oneof![
        Just(AccordState::Closed),
        time().prop_map(|until| AccordState::Open { until }),
        successes().prop_map(|successes| AccordState::HalfOpen { successes, lease: None }),
        (successes(), lease)
            .prop_map(|(successes, lease)| AccordState::HalfOpen { successes, lease: Some(lease) }),
        Just(AccordState::ForcedOpen),
        Just(AccordState::ForcedClosed),
    ];
    (number(), state).prop_map(|(generation, state)| Accord { generation, state })
}

/// A step, and whether it is about the holder of the record, and about its very generation.
fn step() -> impl Strategy<Value = (FleetStep, bool, bool)> {
    let outcome = prop_oneof![
        Just(CallOutcome::Success),
        Just(CallOutcome::Failure),
        Just(CallOutcome::Neutral)
    ];
    let wanted = prop_oneof![0..4_u32, Just(u32::MAX)];
    let motion = prop_oneof![
        span().prop_map(|window| Motion::Trip { window }),
        (holder(), span(), span()).prop_map(|(holder, lease, window)| Motion::Lease {
            holder,
            lease,
            window
        }),
        (holder(), outcome, span(), wanted).prop_map(|(holder, outcome, window, successes)| {
            Motion::Report { holder, outcome, window, successes }
        }),
        Just(Motion::Force(Forced::Open)),
        Just(Motion::Force(Forced::Closed)),
        Just(Motion::Lift),
    ];
    let step = (number(), motion).prop_map(|(seen, motion)| FleetStep { seen, motion });
    (step, any::<bool>(), any::<bool>())
}

/// The bytes of a record, of something like one, or of anything.
fn stored() -> impl Strategy<Value = Option<Vec<u8>>> {
    let changed =
        (accord(), vec((0..51_usize, any::<u8>()), 1..3)).prop_map(|(accord, changes)| {
            let mut bytes = accord.encode();
            changes.into_iter().for_each(|(place, byte)| bytes[place] = byte);
            bytes
        });
    prop_oneof![
        1 => Just(None),
        9 => accord().prop_map(|accord| Some(accord.encode())),
        4 => changed.prop_map(Some),
        1 => vec(any::<u8>(), 0..60).prop_map(Some),
        1 => (b'0'..=b'9', vec(any::<u8>(), 49)).prop_map(|(digit, rest)| {
            Some([vec![b'f', digit], rest].concat())
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn g2_g4_the_script_leaves_what_the_rule_says_whatever_it_finds(
        stored in stored(), (mut step, is_own, is_seen) in step(),
    ) {
        let place = Place::new();
        if let Some(bytes) = &stored {
            place.keys.put(NAME, bytes);
        }
        let found = stored.as_deref().map(Accord::decode).transpose();
        if let Ok(Some(found)) = found {
            if is_seen {
                step.seen = found.generation;
            }
            if let (AccordState::HalfOpen { lease: Some(lease), .. }, true) = (found.state, is_own)
                && let Motion::Report { holder, .. } | Motion::Lease { holder, .. } = &mut step.motion
            {
                *holder = lease.holder;
            }
        }
        let is_forced = matches!(step.motion, Motion::Force(_));
        let now = Timestamp::from_micros(NOW);
        let wanted = match found {
            Ok(found) => Ok(agree(found.as_ref(), &step, now)),
            Err(FleetError::Corrupt) if is_forced => Ok(agree(None, &step, now)),
            Err(error) => Err(error),
        };
        let answer = ready(place.fleet.agree(NAME, step));
        prop_assert_eq!(answer, wanted, "{:?}", found);
        match wanted {
            Err(_) => {
                prop_assert_eq!(place.keys.record(NAME), stored);
                prop_assert_eq!(place.keys.writes(), 0, "nothing was written");
            }
            Ok(agreed) if stored.is_none() && agreed.accord == Accord::FRESH => {
                prop_assert_eq!(place.keys.record(NAME), None);
            }
            Ok(agreed) => {
                prop_assert_eq!(place.keys.record(NAME), Some(agreed.accord.encode()));
                // The sequence goes on, and says so, exactly if something was changed.
                let changed = ready(place.fleet.changed_since(Cursor::START)).unwrap();
                let is_changed = stored != place.keys.record(NAME);
                let told = is_changed.then(|| (NAME.to_owned(), agreed.accord));
                prop_assert_eq!(changed.accords, Vec::from_iter(told));
            }
        }
    }
}

#[test]
fn g2_g4_the_scripts_agree_by_the_rule_on_whole_traces() {
    const SPANS: FleetSpans = FleetSpans {
        window: Span::from_secs(10),
        lease: Span::from_secs(8),
        pause: Span::from_secs(4),
    };
    let place = Place::new();
    let mut sum = FleetTally::default();
    for seed in 0..300 {
        let pass = async |span| {
            place.clock.advance(span);
        };
        sum += ready(conform(&place.fleet, seed, SPANS, pass)).unwrap();
    }
    for (what, count) in [("leases", sum.leases), ("expired", sum.expired), ("late", sum.late)] {
        assert!(count > 300, "{what}: {sum:?}");
    }
}

#[test]
fn what_is_closed_is_forgotten_after_an_hour_and_nothing_else_ever() {
    let place = Place::new();
    place.close("a");
    let (_, _, expiries) = place.keys.all();
    let hour = (NOW + CLOSED_KEPT.as_micros()) / 1_000 + 1;
    assert_eq!(expiries, [Some(hour); 2], "all is closed, and expires");
    let open = place.trip("open", 0).unwrap();
    assert_eq!(place.keys.all().2, [None; 2], "an open record does not");
    place.close("b");
    place.clock.advance(Span::from_micros(CLOSED_KEPT.as_micros() - 1));
    place.trip("open", 0).unwrap();
    assert!(place.keys.record("a").is_some(), "not before its time");
    // A microsecond, and one for each change that was made in the same one.
    place.clock.advance(Span::from_micros(9));
    // The step about a record that is forgotten finds none.
    let again = ready(place.fleet.agree("a", FleetStep { seen: 0, motion: Motion::Lift })).unwrap();
    assert_eq!((again.accord, again.lost), (Accord::FRESH, false));
    place.clock.advance(Span::SECOND);
    place.trip("open", 0).unwrap();
    assert_eq!((place.keys.record("a"), place.keys.record("b")), (None, None));
    assert_eq!(place.keys.record("open"), Some(open.encode()));
    let (hash, sorted, _) = place.keys.all();
    assert_eq!((hash.len(), sorted.len()), (2, 1), "the sequence, and what is open");
    // A day later it is still there; once it is closed, all of it goes at once.
    place.clock.advance(Span::DAY);
    assert_eq!(place.trip("open", 0), Ok(open));
    let force = FleetStep { seen: open.generation, motion: Motion::Force(Forced::Closed) };
    let forced = place.agree("open", force).unwrap();
    place.agree("open", FleetStep { seen: forced.generation, motion: Motion::Lift }).unwrap();
    place.clock.advance(Span::from_micros(CLOSED_KEPT.as_micros() + 2_000));
    assert_eq!(ready(place.fleet.changed_since(Cursor::START)).unwrap().cursor.life, 0);
    assert!(place.keys.all().0.is_empty());
}

#[test]
fn a_fleet_without_room_says_so_and_keeps_what_it_has() {
    let mut place = Place::new();
    place.fleet = place.fleet.keeping(2);
    let first = place.trip("a", 0).unwrap();
    place.close("b");
    assert_eq!(place.trip("c", 0), Err(FleetError::Full));
    assert_eq!(place.trip("a", 0), Ok(first));
    // A step that changes nothing needs no room.
    assert_eq!(place.agree("c", FleetStep { seen: 0, motion: Motion::Lift }), Ok(Accord::FRESH));
    place.clock.advance(CLOSED_KEPT);
    place.clock.advance(Span::SECOND);
    assert!(place.trip("c", 0).is_ok(), "the closed one has made room");
    assert_eq!(place.trip("d", 0), Err(FleetError::Full));
}

#[test]
fn changes_come_in_pages_and_one_bad_record_hides_no_other() {
    let place = Place::new();
    let names: Vec<String> = (0..=2 * MAX_CHANGED).map(|it| format!("n{it}")).collect();
    for name in &names {
        place.trip(name, 0).unwrap();
    }
    place.keys.put("n7", b"no record");
    place.keys.put("n8", &vec![b'f'; 100_000]);
    let (mut cursor, mut heard, mut pages) = (Cursor::START, Vec::new(), 0);
    loop {
        let changed = ready(place.fleet.changed_since(cursor)).unwrap();
        assert!(changed.accords.len() <= MAX_CHANGED);
        heard.extend(changed.accords.into_iter().map(|(name, _)| name));
        cursor = changed.cursor;
        pages += 1;
        if !changed.more {
            break;
        }
    }
    let wanted: Vec<_> = names.iter().filter(|it| *it != "n7" && *it != "n8").collect();
    assert_eq!(heard.iter().collect::<Vec<_>>(), wanted, "each once, in order");
    assert_eq!(pages, 3);
    assert!(ready(place.fleet.changed_since(cursor)).unwrap().accords.is_empty());
    assert_eq!(place.trip("n7", 0), Err(FleetError::Corrupt));
}

#[test]
fn a_fleet_that_was_restored_from_an_old_copy_is_heard_of() {
    let place = Place::new();
    place.trip("a", 0).unwrap();
    let copy = place.keys.all().0;
    place.clock.advance(Span::SECOND);
    place.trip("b", 0).unwrap();
    let cursor = ready(place.fleet.changed_since(Cursor::START)).unwrap().cursor;
    // The server comes back with what it had before `b`, and many things happen.
    place.keys.put("{}", &copy[b"{}".as_slice()]);
    place.clock.advance(Span::SECOND);
    place.trip("c", 0).unwrap();
    let heard = ready(place.fleet.changed_since(cursor)).unwrap();
    assert_eq!(heard.accords.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["c"]);
    // Its clock was set back as well: a cursor from the future is none.
    place.keys.put("{}", &copy[b"{}".as_slice()]);
    let heard = ready(place.fleet.changed_since(heard.cursor)).unwrap();
    assert_eq!(heard.accords.len(), 3, "from the beginning");
}

#[test]
fn keys_of_another_type_and_a_broken_sequence_are_told_or_mended() {
    let place = Place::new();
    place.trip("a", 0).unwrap();
    let writes = place.keys.writes();
    for key in ["records", "changes"] {
        place.keys.be_wrong(Some(key));
        assert_eq!(place.trip("b", 0), Err(FleetError::Refused), "{key}");
        let changed = ready(place.fleet.changed_since(Cursor::START));
        assert_eq!(changed, Err(FleetError::Refused), "{key}");
    }
    place.keys.be_wrong(None);
    assert_eq!(place.keys.writes(), writes, "nothing was written");
    let before = ready(place.fleet.changed_since(Cursor::START)).unwrap().cursor;
    for broken in [&b""[..], b"s1", &[0xff; 18], b"s1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", &[7; 99]] {
        place.keys.put("{}", broken);
        place.clock.advance(Span::SECOND);
        let name = format!("after{}", broken.len());
        place.trip(&name, 0).unwrap();
        let changed = ready(place.fleet.changed_since(before)).unwrap();
        assert_ne!(changed.cursor.life, before.life);
        assert!(changed.accords.iter().any(|(it, _)| *it == name), "{broken:?}");
        assert!(changed.accords.iter().any(|(it, _)| it == "a"), "from the beginning");
    }
}

#[test]
fn a_name_that_is_none_is_refused_and_sent_nowhere() {
    let place = Place::new();
    for name in ["", "{}", "a b", "a{b", "ä", &"x".repeat(129)] {
        assert_eq!(place.trip(name, 0), Err(FleetError::Refused), "{name}");
    }
    let beyond = FleetStep { seen: MAX_EXACT + 1, motion: Motion::Lift };
    assert_eq!(place.agree("a", beyond), Err(FleetError::Refused));
    assert!(place.keys.all().0.is_empty());
    assert!(place.trip(&"x".repeat(128), 0).is_ok());
}
