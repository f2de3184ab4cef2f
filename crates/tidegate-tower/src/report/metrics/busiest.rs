//! Which organisations are shown by name.
//!
//! Either those that were named, or the busiest. To find the busiest without counting all, an
//! organisation that finds no place takes one away from every count; a count that is used up gives its
//! place away (Misra and Gries). So an organisation that sends more than one in (places + 1) of all
//! requests has a place, and a million others that come once push out nobody who keeps coming.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use super::collect::OTHER;
use crate::report::escape::is_harmless;

/// The organisations that are shown by name, each at its place.
#[derive(Debug)]
pub(super) struct Busiest {
    /// The organisations by place; at most `most`.
    orgs: Vec<Org>,
    places: HashMap<Box<str>, usize>,
    most: usize,
    /// How much has been taken away from every count.
    floor: u64,
    /// The requests to come until all counts are halved.
    until_older: u64,
    /// Whether the organisations were named, so that their places never change.
    named: bool,
}

#[derive(Debug)]
struct Org {
    id: Box<str>,
    /// The requests so far, and what had been taken away before the first.
    count: u64,
}

/// The place at which an organisation is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrgPlace {
    /// The place that the organisation had before.
    Kept(usize),
    /// A place that the organisation has just got, which was free or another's.
    Taken(usize),
    /// None of its own: the organisation is shown together with others.
    Other,
}

/// The requests, of organisations with a place, after which all counts are halved.
const AGE: u64 = 1 << 20;

// === impl Busiest ===

impl Busiest {
    pub(super) fn new(most: NonZeroUsize) -> Self {
        let (orgs, places) = (Vec::new(), HashMap::new());
        Self { orgs, places, most: most.get(), floor: 0, until_older: AGE, named: false }
    }

    /// Shows these organisations, and no others.
    pub(super) fn watching(orgs: impl Iterator<Item = Box<str>>) -> Self {
        let mut watching = Self { named: true, most: 0, ..Self::new(NonZeroUsize::MIN) };
        for org in orgs {
            watching.most += 1;
            watching.admit(&org);
        }
        watching
    }

    /// Counts a request of an organisation, and returns its place.
    pub(super) fn place(&mut self, org: &str) -> OrgPlace {
        if let Some(place) = self.places.get(org) {
            let place = *place;
            self.orgs[place].count += 1;
            self.grow_older();
            return OrgPlace::Kept(place);
        }
        if self.named { OrgPlace::Other } else { self.admit(org) }
    }

    /// The id of the organisation at a place.
    pub(super) fn id(&self, place: usize) -> Option<&str> {
        self.orgs.get(place).map(|org| &*org.id)
    }

    fn admit(&mut self, org: &str) -> OrgPlace {
        // An id that cannot be shown as it is could look like another.
        if org.is_empty() || org == OTHER || !is_harmless(org) || self.places.contains_key(org) {
            return OrgPlace::Other;
        }
        let place = if self.orgs.len() < self.most {
            self.orgs.push(Org { id: org.into(), count: 0 });
            self.orgs.len() - 1
        } else if let Some(place) = self.orgs.iter().position(|org| org.count <= self.floor) {
            self.places.remove(&self.orgs[place].id);
            place
        } else {
            self.floor += 1;
            return OrgPlace::Other;
        };
        self.orgs[place] = Org { id: org.into(), count: self.floor + 1 };
        self.places.insert(org.into(), place);
        OrgPlace::Taken(place)
    }

    /// Halves all counts when it is time: who was busy last year need not be busy now.
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
