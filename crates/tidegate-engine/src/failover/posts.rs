//! The standbys of all policies.
//!
//! They outlive reloads: a policy that is taken out and put back finds its counts and its history as
//! they were. One that is in force no longer is kept until nothing in it would be missed.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tidegate_core::{FailureMode, Fallback, Name, Policy, PolicySet, Timestamp};

use super::post::Post;

/// The standby of each policy, by its name and by what it falls back on.
#[derive(Debug, Default)]
pub(crate) struct Posts(ArcSwap<HashMap<Id, Arc<Post>>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Id {
    name: Name,
    failure: FailureMode,
    fallback: Fallback,
}

// === impl Posts ===

impl Posts {
    /// Those of the policies in force.
    pub(crate) fn of(policies: &PolicySet, now: Timestamp) -> Self {
        let posts = Self::default();
        posts.renew(policies, now);
        posts
    }

    /// The standby of a policy.
    pub(crate) fn get(&self, policy: &Policy, now: impl Fn() -> Timestamp) -> Arc<Post> {
        let id = Id::of(policy);
        match self.0.load().get(&id) {
            Some(post) => Arc::clone(post),
            None => self.add(&id, now()),
        }
    }

    /// Those of the policies in force, with their policies.
    pub(crate) fn in_force<'p>(
        &self,
        policies: &'p PolicySet,
    ) -> impl Iterator<Item = (&'p Policy, Arc<Post>)> {
        let posts = self.0.load_full();
        policies.policies().iter().filter_map(move |policy| {
            posts.get(&Id::of(policy)).map(|post| (policy, Arc::clone(post)))
        })
    }

    /// Adds those of policies that have none, and drops those nobody would miss.
    pub(crate) fn renew(&self, policies: &PolicySet, now: Timestamp) {
        self.0.rcu(|posts| {
            let in_force = policies.policies().iter().map(Id::of);
            let mut next: HashMap<Id, Arc<Post>> = in_force
                .map(|id| {
                    let post = posts.get(&id).cloned();
                    let post = post.unwrap_or_else(|| Arc::new(id.post(now)));
                    (id, post)
                })
                .collect();
            for (id, post) in posts.iter() {
                if !next.contains_key(id) && !post.look(|standby| standby.is_fresh(now)) {
                    next.insert(id.clone(), Arc::clone(post));
                }
            }
            next
        });
    }

    #[cold]
    fn add(&self, id: &Id, now: Timestamp) -> Arc<Post> {
        let new = Arc::new(id.post(now));
        self.0.rcu(|posts| {
            let mut next = HashMap::clone(posts);
            next.entry(id.clone()).or_insert_with(|| Arc::clone(&new));
            next
        });
        self.0.load().get(id).map_or(new, Arc::clone)
    }
}

// === impl Id ===

impl Id {
    fn of(policy: &Policy) -> Self {
        let (failure, fallback) = (policy.failure(), policy.fallback());
        Self { name: policy.name().clone(), failure, fallback }
    }

    fn post(&self, now: Timestamp) -> Post {
        Post::new(self.failure, self.fallback, now)
    }
}
