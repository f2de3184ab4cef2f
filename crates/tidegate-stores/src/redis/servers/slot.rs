//! Which of the 16,384 slots of a cluster a key belongs to.

pub(super) const SLOTS: u16 = 16_384;

/// The slot of a key: by the hash tag if there is one that is not empty, else by the whole key.
pub(super) fn slot_of(key: &[u8]) -> u16 {
    crc16(tag_of(key)) % SLOTS
}

/// The hash tag of a key: what stands between the first `{` and the first `}` after it, or else the
/// whole key.
pub(crate) fn tag_of(key: &[u8]) -> &[u8] {
    let tag = || {
        let open = key.iter().position(|byte| *byte == b'{')?;
        let rest = key.get(open + 1..)?;
        let close = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..close).filter(|tag| !tag.is_empty())
    };
    tag().unwrap_or(key)
}

/// CRC-16/XMODEM, bit by bit: tags are short, and a table would be one more thing to get wrong.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::slot_of;

    #[test]
    fn slots_are_those_of_the_server() {
        // Asked of a server with CLUSTER KEYSLOT.
        for (key, slot) in [
            ("123456789", 12739),
            ("", 0),
            ("foo", 12182),
            ("{user1000}.following", 3443),
            ("user1000", 3443),
            ("foo{}{bar}", 8363),
            ("foo{{bar}}zap", 4015),
            ("foo{bar}{zap}", 5061),
            ("bar", 5061),
        ] {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
    }
}
