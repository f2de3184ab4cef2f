//! P96: the bytes are those that the scripts of the Redis store write; what is no record is refused.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::block::{BlockScope, Level};
use crate::kept::AttemptsHead;
use crate::shape::{
    Attempt, Attempts, AttemptsState, Bucket, BucketState, Counts, Grid, Period, Quota, QuotaState,
    Rate, Ring, SUB_COUNTS, Window, WindowState,
};
use crate::time::{MAX_EXACT, Span};

fn bucket() -> Bucket {
    Bucket::try_new(Rate::per_second(3).unwrap(), 5).unwrap()
}

fn window(count: u64) -> Window {
    Window::try_new(count, Span::MINUTE, Counts::Admitted).unwrap()
}

fn shapes() -> [Shape; 5] {
    let quota = Quota::try_new(9, Period::Fixed(Span::DAY), Counts::Admitted).unwrap();
    let ladder = crate::block::Ladder::default();
    [
        Shape::Bucket(bucket()),
        Shape::Quota(quota),
        Shape::Window(window(5)),
        Shape::Window(window(500)),
        Shape::Attempts(Attempts::climbing(5, Span::MINUTE, ladder).unwrap()),
    ]
}

fn at(micros: u64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn words(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A block of level 3 until 77, and two attempts of two members.
fn log() -> AttemptsState {
    let block = Block { until: at(77), scope: BlockScope::Temp, level: Some(Level::L3) };
    let attempt = |micros, member| Attempt { at: at(micros), member };
    AttemptsState::restored([attempt(3, 11), attempt(4, 12)], Some(block)).unwrap()
}

/// One record of each form with its shape, and the bytes it has had since the first release.
fn golden() -> [(Record, Shape, Vec<u8>); 6] {
    let [bucket_shape, quota, exact, counted, attempts] = shapes();
    let mut counts = [0; SUB_COUNTS];
    (counts[0], counts[60]) = (7, 8);
    let grid = Grid { last: at(5), until: at(6), counts };
    let ring = Ring::from_iter([at(3), at(4)]);
    let record = |kept| Record { kept, limit: 0, expires_at_ms: 56 };
    let of_window = |state, count| Kept::Window(Box::new(state), window(count));
    let sub_counts = [vec![7, 0, 0, 0], vec![0; 59 * 4], vec![8, 0, 0, 0]].concat();
    let no_attempts = Record { limit: 9, ..record(Kept::Attempts(Box::default())) };
    let blocked = Record { limit: u64::MAX, ..record(Kept::Attempts(Box::new(log()))) };
    [
        (
            record(Kept::Bucket(BucketState { level: 12, last: at(34) }, bucket())),
            bucket_shape,
            [b"b1".to_vec(), words(&[3, 1_000_000, 5, 12, 34, 56])].concat(),
        ),
        (
            record(Kept::Quota(QuotaState { start: at(12), used: 34, end: at(0) })),
            quota,
            [b"q1".to_vec(), words(&[12, 34, 56])].concat(),
        ),
        (
            record(of_window(WindowState::Ring(ring), 5)),
            exact,
            [b"r1\x02".to_vec(), words(&[56, 3, 4])].concat(),
        ),
        (
            record(of_window(WindowState::Grid(grid), 500)),
            counted,
            [b"g1".to_vec(), words(&[60_000_000, 5, 6, 56]), sub_counts].concat(),
        ),
        (
            no_attempts,
            attempts.clone(),
            [b"a1".to_vec(), words(&[56, 0, 9]), vec![0, 0, 0, 0]].concat(),
        ),
        (
            blocked,
            attempts,
            [b"a1".to_vec(), words(&[56, 77, u64::MAX]), vec![1, 3, 2, 1], words(&[3, 4, 11, 12])]
                .concat(),
        ),
    ]
}

#[test]
fn p96_the_bytes_of_every_form_are_these() {
    for (record, shape, bytes) in golden() {
        assert_eq!(record.encode(), bytes, "{record:?}");
        assert_eq!(Record::decode(&bytes, Some(&shape)), Ok(Some(record)));
    }
}

#[test]
fn a_record_of_another_shape_is_none_and_a_later_version_is_a_flaw_of_its_own() {
    for (record, shape, bytes) in golden() {
        for other in shapes() {
            let found = Record::decode(&bytes, Some(&other));
            if other.kind() == shape.kind() {
                assert!(matches!(found, Ok(Some(_))), "{record:?}");
            } else {
                assert_eq!(found, Ok(None), "{record:?}");
            }
            for digit in b'2'..=b'9' {
                let later = [&bytes[..1], &[digit], b"anything".as_slice()].concat();
                assert_eq!(Record::decode(&later, Some(&other)), Err(Flaw::Version));
            }
            for digit in [0, b'0', b':', b'a', 0xff] {
                let none = [&bytes[..1], &[digit], &bytes[2..]].concat();
                assert_eq!(Record::decode(&none, Some(&other)), Err(Flaw::Garbled));
            }
        }
    }
    for bytes in [&b""[..], b"b", b"x1", b"B1", b"-", b"1b"] {
        assert_eq!(Record::decode(bytes, Some(&shapes()[0])), Err(Flaw::Garbled), "{bytes:?}");
    }
}

#[test]
fn a_record_is_read_whole_and_what_follows_is_left() {
    for (record, shape, bytes) in golden() {
        for end in 0..bytes.len() {
            let cut = Record::decode(&bytes[..end], Some(&shape));
            assert_eq!(cut, Err(Flaw::Garbled), "{end} bytes of {record:?}");
        }
        let more = [bytes, b"more".to_vec()].concat();
        assert_eq!(Record::decode(&more, Some(&shape)), Err(Flaw::Garbled));
        let mut rest = more.as_slice();
        assert_eq!(Record::take_from(&mut rest, Some(&shape)), Ok(Some(record)));
        assert_eq!(rest, b"more");
    }
}

#[test]
fn a_counter_of_the_list_of_blocks_is_read_without_its_shape() {
    let [bucket, .., (record, _, bytes)] = golden();
    assert_eq!(Record::decode(&bytes, None), Ok(Some(record.clone())));
    assert_eq!(Record::decode(&bucket.2, None), Ok(None));
    let head = AttemptsHead::decode(&bytes[..AttemptsHead::SIZE]).unwrap();
    assert_eq!((head.limit, head.block), (u64::MAX, log().block()));
    let listed = record.listed("name", at(76)).unwrap();
    assert_eq!((listed.key.as_str(), listed.limit), ("name", u64::MAX));
    assert_eq!(record.listed("name", at(77)), None, "the block is over");
}

/// Each is a record but for one number, which the scripts of the Redis store refuse, too.
#[test]
fn numbers_that_no_counter_can_have_are_refused() {
    let [bucket, quota, exact, counted, attempts] = shapes();
    let refused = |shape: &Shape, letters: &[u8], rest: &[u8], flaw| {
        let bytes = [letters, rest].concat();
        assert_eq!(Record::decode(&bytes, Some(shape)), Err(flaw), "{bytes:?}");
    };
    let beyond = MAX_EXACT + 1;
    for numbers in [
        [0, 1_000_000, 5, 12, 34, 56],
        [3, 0, 5, 12, 34, 56],
        [3, 1_000_000, 0, 0, 34, 56],
        [2, 1_000_000, 5, 12, 34, 56],
        [1_000_000_001, 1_000_000, 5, 12, 34, 56],
        [3, 1_000_000, 5, 5_000_001, 34, 56],
        [3, 1_000_000, MAX_EXACT / 1_000_000 + 1, 12, 34, 56],
        [3, 1_000_000, 5, 12, beyond, 56],
        [3, 1_000_000, 5, 12, 34, beyond],
    ] {
        refused(&bucket, b"b1", &words(&numbers), Flaw::Garbled);
    }
    for numbers in [[beyond, 34, 56], [12, beyond, 56], [12, 34, beyond]] {
        refused(&quota, b"q1", &words(&numbers), Flaw::Garbled);
    }
    for numbers in [[beyond, 3, 4], [56, 4, 3], [56, 3, beyond]] {
        refused(&exact, b"r1\x02", &words(&numbers), Flaw::Garbled);
    }
    refused(&exact, b"r1\x41", &words(&[1; 66]), Flaw::Garbled);
    let longest = Window::MAX_LENGTH.as_micros();
    for numbers in [[0, 5, 6, 56], [longest + 1, 5, 6, 56], [1, beyond, 6, 56], [1, 5, beyond, 56]]
    {
        let rest = [words(&numbers), vec![0; 4 * SUB_COUNTS]].concat();
        refused(&counted, b"g1", &rest, Flaw::Garbled);
    }
    let many = [vec![0xff; 4], vec![1, 0, 0, 0], vec![0; 4 * 59]].concat();
    refused(&counted, b"g1", &[words(&[1, 5, 6, 56]), many].concat(), Flaw::Garbled);
    let head = |numbers: [u64; 3], rest: [u8; 4]| [words(&numbers), rest.to_vec()].concat();
    for (numbers, rest) in [
        ([beyond, 77, 9], [1, 0, 0, 0]),
        ([56, beyond, 9], [1, 0, 0, 0]),
        ([56, 77, 9], [0, 0, 0, 0]),
        ([56, 0, 9], [0, 1, 0, 0]),
        ([56, 77, 9], [4, 0, 0, 0]),
        ([56, 77, 9], [1, 7, 0, 0]),
        ([56, 77, 9], [1, 0, 0, 2]),
    ] {
        refused(&attempts, b"a1", &head(numbers, rest), Flaw::Garbled);
    }
    let full = [head([56, 0, 9], [0, 0, 101, 0]), words(&[1; 101])].concat();
    refused(&attempts, b"a1", &full, Flaw::Garbled);
    for (rest, log) in
        [([0, 0, 2, 0], &[4, 3][..]), ([0, 0, 2, 0], &[beyond, 3]), ([0, 0, 2, 1], &[3, 4, 11, 11])]
    {
        let bytes = [head([56, 0, 9], rest), words(log)].concat();
        refused(&attempts, b"a1", &bytes, Flaw::Disorder);
    }
}

#[test]
fn a_flaw_is_the_error_of_its_charge() {
    assert_eq!(Flaw::Garbled.of_charge(2), StoreError::Corrupt { charge: 2 });
    assert_eq!(Flaw::Disorder.of_charge(0), StoreError::Corrupt { charge: 0 });
    assert_eq!(Flaw::Version.of_charge(7), StoreError::Version { charge: 7 });
}

/// States of every form, and a shape to read each by.
fn records() -> impl Strategy<Value = (Record, Shape)> {
    let time = || (0..=MAX_EXACT).prop_map(at);
    let [bucket_shape, quota, exact, counted, attempts] = shapes();
    let buckets = (0..=5_000_000_u64, time())
        .prop_map(|(level, last)| Kept::Bucket(BucketState { level, last }, bucket()));
    let quotas = (time(), 0..=MAX_EXACT)
        .prop_map(|(start, used)| Kept::Quota(QuotaState { start, used, end: at(0) }));
    let rings = vec(time(), 0..=64).prop_map(|mut times| {
        times.sort();
        Kept::Window(Box::new(WindowState::Ring(Ring::from_iter(times))), window(5))
    });
    let grids =
        (time(), time(), vec(0..=u32::MAX / 61, SUB_COUNTS)).prop_map(|(last, until, of)| {
            let counts = of.try_into().unwrap();
            Kept::Window(Box::new(WindowState::Grid(Grid { last, until, counts })), window(500))
        });
    let level = proptest::option::of(proptest::sample::select(Level::ALL.to_vec()));
    let scope = proptest::sample::select(BlockScope::ALL.to_vec());
    let block = (time(), scope, level);
    let block = block.prop_map(|(until, scope, level)| Block { until, scope, level });
    let logs = (vec(time(), 0..=100), any::<bool>(), proptest::option::of(block));
    let logs = logs.prop_map(|(mut times, named, block)| {
        times.sort();
        let member = |place: u64| if named { place + 1 } else { 0 };
        let log =
            times.into_iter().zip(0..).map(|(at, place)| Attempt { at, member: member(place) });
        Kept::Attempts(Box::new(AttemptsState::restored(log, block).unwrap()))
    });
    let kept = prop_oneof![
        (buckets, Just(bucket_shape)),
        (quotas, Just(quota)),
        (rings, Just(exact)),
        (grids, Just(counted)),
        (logs, Just(attempts)),
    ];
    (kept, any::<u64>(), 0..=MAX_EXACT).prop_map(|((mut kept, shape), limit, expires_at_ms)| {
        if let Kept::Quota(state) = &mut kept {
            // A minute of slack, or a second if the period is shorter than a minute.
            let expiry = expires_at_ms * 1_000;
            let is_long = expiry.saturating_sub(state.start.as_micros()) >= 90_000_000;
            state.end = at(expiry.saturating_sub(if is_long { 60_000_000 } else { 1_000_000 }));
        }
        let limit = if matches!(kept, Kept::Attempts(_)) { limit } else { 0 };
        (Record { kept, limit, expires_at_ms }, shape)
    })
}

/// What can be read is written as the same bytes. Only where no attempt has a member, though their
/// members follow, are these left out.
fn is_read_again(bytes: &[u8], shape: &Shape) -> Result<(), TestCaseError> {
    if let Ok(Some(read)) = Record::decode(bytes, Some(shape)) {
        let again = read.encode();
        let has_members = |bytes: &[u8]| bytes.starts_with(b"a") && bytes[29] == 1;
        if has_members(bytes) == has_members(&again) {
            prop_assert_eq!(again, bytes);
        } else {
            prop_assert_eq!(Record::decode(&again, Some(shape)), Ok(Some(read)));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn p96_what_is_written_is_read_again((record, shape) in records()) {
        prop_assert_eq!(Record::decode(&record.encode(), Some(&shape)), Ok(Some(record)));
    }

    #[test]
    fn p68_a_record_with_a_byte_changed_is_another_record_or_a_flaw(
        (record, shape) in records(), place: prop::sample::Index, byte: u8,
    ) {
        let mut bytes = record.encode();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        is_read_again(&bytes, &shape)?;
    }

    #[test]
    fn p68_any_bytes_are_a_record_or_a_flaw(
        // Random bytes are hardly ever a record; a few numbers of the right size often are.
        bytes in prop_oneof![
            vec(any::<u8>(), 0..400),
            vec(0..=MAX_EXACT, 2..5).prop_map(|numbers| words(&numbers)),
        ],
        start in 0..6_usize,
    ) {
        let bytes = [[&b"b1"[..], b"q1", b"r1", b"g1", b"a1", b""][start], &bytes].concat();
        for shape in shapes() {
            is_read_again(&bytes, &shape)?;
        }
    }
}
