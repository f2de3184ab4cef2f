//! What a server keeps: every counter with its value, to be compared.

use std::collections::BTreeMap;

use redis::cmd;
use tidegate_core::{Account, Case, Subject};
use tidegate_engine::Engine;
use tidegate_stores::redis::RedisStore;
use tidegate_test::lua::secret;
use tidegate_test::servers::RunningServer;

use crate::node;
use crate::people::Person;
use crate::policies::{self, NAMES};

/// How the keys begin that tests fill a server with.
pub(crate) const JUNK: &str = "junk";

/// Whether a key is one of a probe: no subject can spell its hash tag.
pub(crate) fn is_probe(key: &[u8]) -> bool {
    key.windows(2).any(|two| two == b"{!")
}

/// All counters and their values.
pub(crate) type Kept = BTreeMap<Vec<u8>, Vec<u8>>;

/// Looks at everything but what probes and this harness write.
pub(crate) async fn all_of(server: &RunningServer) -> Kept {
    let mut connection = server.connection().await;
    let keys: Vec<Vec<u8>> = cmd("KEYS").arg("*").query_async(&mut connection).await.unwrap();
    let ours = |key: &Vec<u8>| !is_probe(key) && !key.starts_with(JUNK.as_bytes());
    let mut kept = Kept::new();
    for key in keys.into_iter().filter(ours) {
        let value = cmd("DUMP").arg(&key).query_async(&mut connection).await.unwrap();
        kept.insert(key, value);
    }
    kept
}

/// A node that only looks, past every proxy.
pub(crate) struct Looker(Engine<RedisStore>);

// === impl Looker ===

impl Looker {
    pub(crate) fn at(url: &str) -> Self {
        let set = policies::set();
        let store = node::store(url, policies::longest(&set));
        Self(Engine::new(store, set).sharing(&secret()))
    }

    /// How much every counter of a person has counted, by the word of the store.
    pub(crate) async fn counted(&self, policy: u8, person: Person) -> Vec<u64> {
        let set = std::sync::Arc::clone(&self.0.policies());
        let (login, agent) = (person.login(), [b'a', person.agent]);
        let account = Account::new(&login);
        let subject = Subject::new().account(&account).agent(&agent).ip(person.address(0));
        let mut case = Case::new(set.get(NAMES[usize::from(policy)]).unwrap(), &subject);
        let decision = self.0.peek_by_store(&mut case).await.unwrap();
        let counted = decision.explain().map(|said| match said.reading.attempts {
            Some(tally) => u64::from(tally.long.max(tally.temp)),
            None => said.shape.capacity().saturating_add_signed(-said.reading.remaining),
        });
        counted.collect()
    }
}
