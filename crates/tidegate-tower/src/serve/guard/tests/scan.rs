//! Every byte at every position of a run is judged as its definition says.

use super::super::scan;

/// A scan, a byte that belongs to its runs, and what all bytes of its runs are.
type Scan = (fn(&[u8]) -> usize, u8, fn(u8) -> bool);

/// All scans there are, with the definitions of RFC 9110 and RFC 3986.
const SCANS: [Scan; 5] = [
    (scan::token, b'a', |byte| byte.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&byte)),
    (scan::host, b'a', |byte| byte.is_ascii_graphic() && !b"\"#,/<>?@\\^`{|}".contains(&byte)),
    (scan::printable, b' ', |byte| (0x20..0x7f).contains(&byte)),
    (scan::visible, b'/', |byte| (0x21..0x7f).contains(&byte)),
    (scan::value, b'\t', |byte| byte == 9 || (0x20..0x7f).contains(&byte) || byte >= 0x80),
];

#[test]
fn every_byte_ends_a_run_or_belongs_to_it() {
    for (which, (scan, fill, belongs)) in SCANS.into_iter().enumerate() {
        for byte in 0..=u8::MAX {
            for at in 0..25 {
                let mut bytes = [fill; 25];
                bytes[at] = byte;
                let wanted = if belongs(byte) { 25 } else { at };
                assert_eq!(scan(&bytes), wanted, "scan {which}, byte {byte:#x} at {at}");
                // The first of several wrong bytes counts.
                bytes[24] = 0;
                let wanted = wanted.min(24);
                assert_eq!(scan(&bytes), wanted, "scan {which}, byte {byte:#x} at {at} before NUL");
            }
        }
        assert_eq!(scan(&[]), 0);
    }
}
