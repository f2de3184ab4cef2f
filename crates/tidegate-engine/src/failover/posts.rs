//! The standbys of all policies.
//!
//! They outlive reloads: a policy that is changed, or taken out and put back, finds its counts and
//! its history as they were. The standby of a policy that is no longer in force is kept until
//! nothing in it would be missed.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tidegate_core::{Name, Outputs, Policy, PolicySet, Timestamp};

use super::post::Post;

/// The standby of each policy, by its name.
#[derive(Debug, Default)]
pub(crate) struct Posts(ArcSwap<HashMap<Name, Arc<Post>>>);

// === impl Posts ===

impl Posts {
    /// The standbys of these policies.
    pub(crate) fn of(policies: &PolicySet, now: Timestamp) -> Self {
        let posts = Self::default();
        posts.renew(policies, now);
        posts
    }

    /// The standby of a policy; a new one if there is none.
    pub(crate) fn get(&self, policy: &Policy, now: impl Fn() -> Timestamp) -> Arc<Post> {
        match self.0.load().get(policy.name()) {
            Some(post) => Arc::clone(post),
            None => self.add(policy, now()),
        }
    }

    /// The standbys of these policies, each with its policy.
    pub(crate) fn in_force<'p>(
        &self,
        policies: &'p PolicySet,
    ) -> impl Iterator<Item = (&'p Policy, Arc<Post>)> {
        let posts = self.0.load_full();
        policies.policies().iter().filter_map(move |policy| {
            posts.get(policy.name()).map(|post| (policy, Arc::clone(post)))
        })
    }

    /// Adds standbys for policies that have none, adapts the others to their policies, and drops
    /// those that nobody would miss.
    pub(crate) fn renew(&self, policies: &PolicySet, now: Timestamp) {
        self.0.rcu(|posts| {
            let missed = |post: &Post| !post.look(|standby| standby.is_fresh(now));
            let kept = posts.iter().filter(|(_, post)| missed(post));
            let mut next: HashMap<Name, Arc<Post>> =
                kept.map(|(name, post)| (name.clone(), Arc::clone(post))).collect();
            for policy in policies.policies() {
                let known = posts.get(policy.name()).cloned();
                let post = known.unwrap_or_else(|| Arc::new(Post::new(policy, now)));
                next.insert(policy.name().clone(), post);
            }
            next
        });
        for (policy, post) in self.in_force(policies) {
            let (failure, fallback) = (policy.failure(), policy.fallback());
            post.change(|standby| (Outputs::default(), standby.follow(failure, fallback)), drop);
        }
    }

    #[cold]
    fn add(&self, policy: &Policy, now: Timestamp) -> Arc<Post> {
        let new = Arc::new(Post::new(policy, now));
        self.0.rcu(|posts| {
            let mut next = HashMap::clone(posts);
            next.entry(policy.name().clone()).or_insert_with(|| Arc::clone(&new));
            next
        });
        self.0.load().get(policy.name()).map_or(new, Arc::clone)
    }
}
