//! Packing loses nothing but the last bits of an entry's life, and those in the safe direction.

use proptest::prelude::*;

use super::*;

const EPOCH: Epoch = Epoch(Timestamp::from_micros(1_700_000_000_000_000));

proptest! {
    #[test]
    fn a_life_is_never_shortened_and_at_most_a_thirty_second_longer(
        micros in prop_oneof![0..200_u64, 0..1_u64 << 53, (0..53_u32).prop_map(|bit| 1 << bit)],
    ) {
        let code = shorten(micros);
        prop_assert!(code < 1 << LIFE_BITS);
        let kept = lengthen(code);
        prop_assert!(kept >= micros, "{kept} < {micros}");
        prop_assert!(kept - micros <= micros / 32, "{kept} is too long for {micros}");
    }

    #[test]
    fn a_head_comes_back_as_it_was(
        anchor in 0..1_u64 << 50, stamp in 0..1_u16 << 14, amount in 0..1_u64 << 53, life in 0..1_u64 << 50,
    ) {
        let anchor = EPOCH.0.after(Span::from_micros(anchor));
        let head = EntryHead { anchor, stamp, amount };
        let fresh_at = anchor.after(Span::from_micros(life));
        let words = EPOCH.pack(head, fresh_at);
        prop_assert_eq!(EPOCH.unpack(words), head);
        prop_assert!(EPOCH.fresh_at(words) >= fresh_at);
    }

    #[test]
    fn what_began_before_the_store_lives_until_its_own_end(before in 0..1_u64 << 50, life in 0..1_u64 << 50) {
        let anchor = Timestamp::from_micros(EPOCH.0.as_micros() - before);
        let fresh_at = EPOCH.0.after(Span::from_micros(life));
        let words = EPOCH.pack(EntryHead { anchor, stamp: 1, amount: 1 }, fresh_at);
        let kept = EPOCH.fresh_at(words);
        prop_assert!(kept >= fresh_at, "{kept:?} < {fresh_at:?}");
        prop_assert!(kept.since(fresh_at).as_micros() <= life / 32, "{kept:?} is too late for {fresh_at:?}");
    }

    #[test]
    fn a_grid_comes_back_as_it_was(
        counts in proptest::array::uniform32(any::<u32>()), last in 0..1_u64 << 50, until in 0..1_u64 << 50,
    ) {
        let mut grid = Grid { last: EPOCH.0.after(Span::from_micros(last)), ..Grid::default() };
        grid.until = Timestamp::from_micros(until);
        grid.counts[..32].copy_from_slice(&counts);
        grid.counts[60] = counts[0];
        let state = WindowState::Grid(grid);
        let words = EPOCH.pack_window(&state, 7, EPOCH.0);
        let (head, unpacked) = EPOCH.unpack_window(&words);
        prop_assert_eq!((head.stamp, unpacked), (7, state));
    }

    #[test]
    fn a_ring_comes_back_as_it_was(mut times in proptest::collection::vec(0..1_u64 << 40, 1..=EXACT_WINDOW)) {
        times.sort_unstable();
        let ring: Ring = times.iter().map(|time| EPOCH.0.after(Span::from_micros(*time))).collect();
        let state = WindowState::Ring(ring);
        let words = EPOCH.pack_window(&state, 3, EPOCH.0);
        let (head, unpacked) = EPOCH.unpack_window(&words);
        prop_assert_eq!((head.stamp, unpacked), (3, state));
    }
}
