//! Maps each slot to the link of its owner.

use std::sync::Arc;

use super::layout::Layout;
use super::link::Link;
use super::slot::{SLOTS, slot_of};
use crate::redis::url::Address;

/// The place of a slot without an owner; no more nodes than this are taken in.
const NOBODY: u16 = u16::MAX;

#[derive(Clone, Debug)]
pub(super) struct Map {
    /// The layout as the cluster said it, for comparing with what it says next.
    pub(super) layout: Arc<Layout>,
    /// For each slot, the place of its owner in `nodes`.
    owners: Vec<u16>,
    /// All nodes that were mentioned. Those that stay keep their links, so that connections last and a
    /// restart is noticed.
    nodes: Vec<(Address, Arc<Link>)>,
}

// === impl Map ===

impl Map {
    pub(super) fn new(layout: Layout, mut link_of: impl FnMut(&Address) -> Arc<Link>) -> Self {
        let mut map = Self {
            owners: vec![NOBODY; usize::from(SLOTS)],
            nodes: Vec::new(),
            layout: Arc::default(),
        };
        for member in layout.members() {
            map.place_of(&member.address, &mut link_of);
        }
        for range in &layout.ranges {
            let owner = map.place_of(&range.owner.address, &mut link_of);
            let slots = usize::from(range.first)..=usize::from(range.last);
            map.owners.get_mut(slots).into_iter().flatten().for_each(|slot| *slot = owner);
        }
        map.layout = Arc::new(layout);
        map
    }

    /// The link of the slot's owner, if it has one.
    pub(super) fn owner(&self, slot: u16) -> Option<&Arc<Link>> {
        let place = *self.owners.get(usize::from(slot))?;
        self.nodes.get(usize::from(place)).map(|(_, link)| link)
    }

    pub(super) fn link_at(&self, address: &Address) -> Option<&Arc<Link>> {
        self.nodes.iter().find(|(known, _)| known == address).map(|(_, link)| link)
    }

    /// The links of all nodes.
    pub(super) fn links(&self) -> impl Iterator<Item = &Arc<Link>> {
        self.nodes.iter().map(|(_, link)| link)
    }

    /// The links of the nodes that have slots, each once.
    pub(super) fn owners(&self) -> impl Iterator<Item = &Arc<Link>> {
        let mut places = self.owners.clone();
        places.sort_unstable();
        places.dedup();
        places.into_iter().filter_map(|place| self.nodes.get(usize::from(place))).map(|(_, l)| l)
    }

    /// A hash tag in a slot of each owner, for questions that concern all of them. Tags are tried until
    /// every owner has one; an owner of very few slots may be left out.
    pub(super) fn tag_for_each(&self) -> Vec<String> {
        const TRIED: u32 = 10_000;
        let mut missing: Vec<&Arc<Link>> = self.owners().collect();
        let mut tags = Vec::with_capacity(missing.len());
        for number in 0..TRIED {
            if missing.is_empty() {
                break;
            }
            let tag = probe_tag(number);
            let owner = self.owner(slot_of(tag.as_bytes()));
            let found =
                missing.iter().position(|link| owner.is_some_and(|it| Arc::ptr_eq(it, link)));
            if let Some(place) = found {
                missing.swap_remove(place);
                tags.push(tag);
            }
        }
        tags
    }

    /// The same map with another owner for one slot.
    #[must_use]
    pub(super) fn with_owner(&self, slot: u16, address: &Address, link: &Arc<Link>) -> Self {
        let mut map = self.clone();
        let place = map.place_of(address, |_| Arc::clone(link));
        if let Some(owner) = map.owners.get_mut(usize::from(slot)) {
            *owner = place;
        }
        map
    }

    fn place_of(&mut self, address: &Address, link_of: impl FnOnce(&Address) -> Arc<Link>) -> u16 {
        let known = self.nodes.iter().position(|(known, _)| known == address);
        let place = known.unwrap_or(self.nodes.len());
        match u16::try_from(place) {
            Ok(place) if place < NOBODY => {
                if known.is_none() {
                    self.nodes.push((address.clone(), link_of(address)));
                }
                place
            }
            _ => NOBODY,
        }
    }
}

/// A hash tag for probes. No counter of a subject has a hash tag with a `!`.
pub(super) fn probe_tag(number: u32) -> String {
    format!("!{number}")
}
