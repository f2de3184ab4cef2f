//! Numbers that nobody can guess and that do not repeat, for the ids of requests.
//!
//! One is needed for every request, so asking the operating system each time is too much. Each thread
//! takes a key from it once, as the maps of the standard library do, and counts under that key.

use core::cell::Cell;
use core::hash::{BuildHasher, Hasher};
use std::hash::RandomState;

use siphasher::sip128::{Hasher128, SipHasher24};

/// The source of one thread's numbers.
struct Source {
    keyed: SipHasher24,
    next: Cell<u64>,
}

thread_local! {
    static SOURCE: Source = Source::new();
}

/// The next number of this thread.
pub(crate) fn number() -> u128 {
    // A thread that is ending has lost its own source.
    SOURCE.try_with(Source::number).unwrap_or_else(|_| Source::new().number())
}

/// The last `N` hexadecimal digits of a number.
pub(crate) fn hex<const N: usize>(number: u128) -> [u8; N] {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    let (mut digits, mut rest) = ([0; N], number.to_be_bytes().into_iter().rev());
    for pair in digits.rchunks_mut(2) {
        let byte = rest.next().unwrap_or_default();
        if let [high, low] = pair {
            (*high, *low) = (DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]);
        }
    }
    digits
}

// === impl Source ===

impl Source {
    fn new() -> Self {
        // The standard library seeds its maps from the operating system.
        let [first, second] = [(), ()].map(|()| RandomState::new().build_hasher().finish());
        Self { keyed: SipHasher24::new_with_keys(first, second), next: Cell::new(0) }
    }

    fn number(&self) -> u128 {
        let place = self.next.get();
        self.next.set(place.wrapping_add(1));
        let mut hasher = self.keyed;
        hasher.write_u64(place);
        hasher.finish128().as_u128()
    }
}

#[cfg(test)]
mod tests {
    //! That they differ, and how they are written.

    use std::collections::HashSet;
    use std::thread;

    use super::*;

    #[test]
    fn t11_numbers_differ_within_a_thread_and_between_threads() {
        let threads: Vec<_> = (0..4)
            .map(|_| thread::spawn(|| (0..10_000).map(|_| number()).collect::<Vec<_>>()))
            .collect();
        let mut seen = HashSet::new();
        for number in threads.into_iter().flat_map(|thread| thread.join().unwrap()) {
            assert!(seen.insert(number), "{number:x} twice");
        }
        let ones: u32 = seen.iter().map(|number| number.count_ones()).sum();
        assert!((2_500_000..2_620_000).contains(&ones), "{ones} of 5,120,000 bits are set");
    }

    #[test]
    fn numbers_are_written_with_leading_zeroes() {
        assert_eq!(&hex::<4>(0x1f), b"001f");
        assert_eq!(&hex::<2>(0xabcd), b"cd");
        assert_eq!(hex::<32>(0x1f), *format!("{:032x}", 0x1f).as_bytes());
        assert_eq!(hex::<32>(u128::MAX - 15), *format!("{:032x}", u128::MAX - 15).as_bytes());
    }
}
