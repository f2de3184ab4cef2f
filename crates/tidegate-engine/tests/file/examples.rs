//! The examples are read, do what their comments say, and explain themselves.

use tidegate_core::{Account, Case, Dimension, ManualClock, PolicySet, Subject, Timestamp};
use tidegate_engine::file::{File, NoDoor};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, ready};

use crate::texts;

const EXAMPLES: &str = "../../examples/policies";

fn example(name: &str) -> PolicySet {
    let (_, text) = texts(EXAMPLES, "yaml").into_iter().find(|(found, _)| found == name).unwrap();
    let file: File = File::parse(name, &text).unwrap_or_else(|error| panic!("{error}"));
    file.policies().clone().build(None).unwrap()
}

/// How many of a hundred requests at once are admitted.
fn admitted(set: &PolicySet, policy: &str, subject: &Subject<'_>) -> usize {
    let clock = ManualClock::new(Timestamp::from_micros(1_790_000_000_000_000));
    let budget = Budget { buckets: 1_000, quotas: 1_000, windows: 100, attempts: 1_000 };
    let engine = Engine::new(MemoryStore::new(budget, &clock), set.clone());
    let passes = |_: &i32| {
        let mut case = Case::new(set.get(policy).unwrap(), subject);
        ready(engine.decide(&mut case)).unwrap().unwrap().is_admitted()
    };
    (0..100).filter(passes).count()
}

#[test]
fn every_example_is_read_and_says_what_it_shows() {
    for (name, text) in texts(EXAMPLES, "yaml") {
        let file = File::<NoDoor>::parse(&name, &text);
        let file = file.unwrap_or_else(|error| panic!("{error}"));
        let set = file.policies().clone().build(None).unwrap();
        assert!(!set.policies().is_empty(), "{name}");
        assert!(text.starts_with("# "), "{name} begins with what it shows");
        file.budget().check().unwrap();
    }
}

#[test]
fn they_do_what_they_say() {
    let quickstart = example("quickstart");
    assert_eq!(admitted(&quickstart, "api", &Subject::new().org("acme")), 20);

    let api = example("api");
    let address = Subject::new().ip([203, 0, 113, 7].into());
    assert_eq!(admitted(&api, "read", &address), 100, "anonymous: by address alone");
    let known = address.org("acme").user("u7").token("t1");
    assert_eq!(admitted(&api, "read", &known), 40, "the token is the narrowest");
    assert_eq!(admitted(&api, "export", &Subject::new().org("acme")), 5);

    let environments = example("environments");
    let org = || Subject::new().org("o");
    assert_eq!(admitted(&environments, "api", &org()), 40);
    assert_eq!(admitted(&environments, "api", &org().plan("gold")), 100, "of 200");
    let probing = org().plan("gold").token("t");
    assert_eq!(admitted(&environments, "api", &probing), 20, "while none has been answered well");

    let login = example("login");
    let (admin, ada) = (Account::new("admin"), Account::new("ada"));
    assert_eq!(admitted(&login, "login", &Subject::new().account(&admin)), 5);
    assert_eq!(admitted(&login, "otp", &Subject::new().account(&admin)), 3);

    let attempts = example("attempts");
    assert_eq!(admitted(&attempts, "login", &Subject::new().account(&ada)), 5);
    assert_eq!(admitted(&attempts, "login", &Subject::new().account(&admin)), 4);
    let known = Subject::new().account(&admin).with(Dimension::Device, b"d1");
    assert_eq!(admitted(&attempts, "login", &known), 10, "the device alone");
    assert_eq!(admitted(&attempts, "redeem-voucher", &Subject::new().account(&ada)), 4);

    let tokens = example("llm-tokens");
    let user = Subject::new().org("acme").user("u7");
    assert_eq!(admitted(&tokens, "chat", &user), 10, "requests");
    assert_eq!(admitted(&tokens, "images", &user), 4, "6000 tokens are four images");

    let tenants = example("multi-tenant");
    for (org, burst) in [("any", 40), ("acme", 100), ("gold-7", 100), ("trial-7", 5)] {
        assert_eq!(admitted(&tenants, "api", &Subject::new().org(org)), burst, "{org}");
    }
    assert_eq!(admitted(&tenants, "api", &Subject::new().org("any").user("u7")), 40, "a shadow");
}

/// Whoever raises the number of an address prefix raises those of the IPv6 blocks around it too.
#[test]
fn entrances_let_ipv6_blocks_have_four_and_sixteen_times_of_one_prefix() {
    let set = example("login");
    for (policy, failures) in [("login", 99), ("otp", 20)] {
        let capacity = |ending: &str| {
            let name = format!("{policy}-prefix{ending}");
            let limits = set.get(policy).unwrap().limits();
            let limit = limits.iter().find(|limit| limit.name().as_str() == name).unwrap();
            limit.shape().capacity()
        };
        let found = ["", "-56", "-48"].map(capacity);
        assert_eq!(found, [failures, 4 * failures, 16 * failures], "{policy}");
    }
}

/// The guide's own files: blocks of YAML that begin with a version.
#[test]
fn every_file_in_the_guide_is_read() {
    let (_, guide) =
        texts("../../docs", "md").into_iter().find(|(name, _)| name == "policy-file").unwrap();
    let blocks = guide.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let files: Vec<&str> = blocks.filter(|block| block.starts_with("version: 1")).collect();
    assert!(files.len() > 4, "only {}", files.len());
    for text in files {
        File::<NoDoor>::parse("guide", text).unwrap_or_else(|error| panic!("{error}"));
    }
}
