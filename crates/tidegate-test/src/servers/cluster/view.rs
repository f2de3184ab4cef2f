//! The cluster as one of its nodes sees it.

use core::ops::RangeInclusive;

/// The cluster as one node describes it in its answer to `CLUSTER NODES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View(Vec<Seen>);

/// One line of the answer to `CLUSTER NODES`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    port: u16,
    flags: Vec<String>,
    slots: Vec<RangeInclusive<u16>>,
}

// === impl View ===

impl View {
    pub(super) fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(Seen::parse).collect())
    }

    /// The port of the master that serves the slot and is not known to have failed.
    pub(super) fn master_of(&self, slot: u16) -> Option<u16> {
        let serves = |seen: &&Seen| seen.slots.iter().any(|range| range.contains(&slot));
        self.0.iter().filter(|seen| !seen.is("fail")).find(serves).map(|seen| seen.port)
    }

    /// Whether exactly this many masters and replicas are known, and all of them are well.
    pub(super) fn is_whole(&self, masters: usize, replicas: usize) -> bool {
        let unwell = ["handshake", "fail", "fail?", "noaddr"];
        let count = |flag| self.0.iter().filter(|seen| seen.is(flag)).count();
        let well = self.0.iter().all(|seen| unwell.iter().all(|flag| !seen.is(flag)));
        well && count("master") == masters && count("slave") == replicas
    }
}

// === impl Seen ===

impl Seen {
    /// Parses a line `id ip:port@bus flags master ping pong epoch link slot slot-slot [moving]`.
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (address, flags) = (words.get(1)?, words.get(2)?);
        let port = address.split('@').next()?.rsplit(':').next()?.parse().ok()?;
        let flags = flags.split(',').map(str::to_owned).collect();
        let slots = words.get(8..)?.iter().filter_map(|word| range(word)).collect();
        Some(Self { port, flags, slots })
    }

    fn is(&self, flag: &str) -> bool {
        self.flags.iter().any(|is| is == flag)
    }
}

fn range(word: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
        a 127.0.0.1:7001@7101 myself,master - 0 0 1 connected 0-99 200 [7->-b]\n\
        b 127.0.0.1:7002@7102,host master,fail - 0 0 2 disconnected 100-199\n\
        c 127.0.0.1:7003@7103 slave b 0 0 2 connected\n";

    #[test]
    fn slots_belong_to_masters_that_live() {
        let view = View::parse(TEXT);
        assert_eq!(view.master_of(99), Some(7001));
        assert_eq!(view.master_of(200), Some(7001));
        assert_eq!((view.master_of(100), view.master_of(201)), (None, None));
    }

    #[test]
    fn a_failed_node_makes_it_less_than_whole() {
        assert!(!View::parse(TEXT).is_whole(2, 1));
        let healed = View::parse(&TEXT.replace(",fail", ""));
        assert!(healed.is_whole(2, 1));
        assert!(!healed.is_whole(2, 0) && !healed.is_whole(3, 1));
    }
}
