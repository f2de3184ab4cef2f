//! Which organisations are shown by name.
//!
//! Either those that were named, or the busiest. To find these without counting all, a newcomer that
//! finds no place takes one away from everybody's count, and the place of whoever is left with none
//! (Misra and Gries). So an organisation that sends more than one in (places + 1) of all requests has a
//! place, and a million others that come once push nobody out who keeps coming.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use super::collect::OTHER;
use crate::report::escape::is_harmless;

/// The organisations that have places.
#[derive(Debug)]
pub(super) struct Busiest {
    /// At most `most`.
    orgs: Vec<Org>,
    places: HashMap<Box<str>, usize>,
    most: usize,
    /// What has been taken away from every count.
    floor: u64,
    /// Requests until what is long ago counts half.
    until_older: u64,
    /// Whether the places are given away for good.
    named: bool,
}

#[derive(Debug)]
struct Org {
    id: Box<str>,
    /// Requests, and what has been taken away meanwhile.
    count: u64,
}

/// Where an organisation is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Here, as before.
    Kept(usize),
    /// Here, in the place of nobody or of another.
    Taken(usize),
    /// Together with others.
    Other,
}

/// After how many requests what came before counts half.
const AGE: u64 = 1 << 20;

// === impl Busiest ===

impl Busiest {
    pub(super) fn new(most: NonZeroUsize) -> Self {
        let (orgs, places) = (Vec::new(), HashMap::new());
        Self { orgs, places, most: most.get(), floor: 0, until_older: AGE, named: false }
    }

    /// These, and no others.
    pub(super) fn watching(orgs: impl Iterator<Item = Box<str>>) -> Self {
        let mut watching = Self { named: true, most: 0, ..Self::new(NonZeroUsize::MIN) };
        for org in orgs {
            watching.most += 1;
            watching.admit(&org);
        }
        watching
    }

    /// The place of an organisation that asks.
    pub(super) fn place(&mut self, org: &str) -> Place {
        if let Some(place) = self.places.get(org) {
            let place = *place;
            self.orgs[place].count += 1;
            self.grow_older();
            return Place::Kept(place);
        }
        if self.named { Place::Other } else { self.admit(org) }
    }

    /// The id at a place.
    pub(super) fn id(&self, place: usize) -> Option<&str> {
        self.orgs.get(place).map(|org| &*org.id)
    }

    fn admit(&mut self, org: &str) -> Place {
        // What cannot be shown as it is could look like another.
        if org.is_empty() || org == OTHER || !is_harmless(org) || self.places.contains_key(org) {
            return Place::Other;
        }
        let place = if self.orgs.len() < self.most {
            self.orgs.push(Org { id: org.into(), count: 0 });
            self.orgs.len() - 1
        } else if let Some(place) = self.orgs.iter().position(|org| org.count <= self.floor) {
            self.places.remove(&self.orgs[place].id);
            place
        } else {
            self.floor += 1;
            return Place::Other;
        };
        self.orgs[place] = Org { id: org.into(), count: self.floor + 1 };
        self.places.insert(org.into(), place);
        Place::Taken(place)
    }

    /// Who was busy last year need not be busy now.
    fn grow_older(&mut self) {
        self.until_older -= 1;
        if self.until_older == 0 {
            self.until_older = AGE;
            for org in &mut self.orgs {
                org.count = org.count.saturating_sub(self.floor) / 2;
            }
            self.floor = 0;
        }
    }
}
