//! Attempts, blocks and presets, as a file says them.

use tidegate_core::{
    Account, Case, Dimension, Level, ManualClock, PolicySet, Preset, Protects, Shape, Span,
    Subject, Timestamp,
};
use tidegate_engine::file::File;
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, ready};

const EVERYTHING: &str = "
version: 1
policies:
  - name: code
    failure_mode: fail_open
    limits:
      - name: codes
        by: account
        attempts:
          temp: { block_at: 5, per: 10min, block: 15min }
          long: { block_at: 20, per: 24h, block: 2d }
        overrides:
          - match: { account: admin }
            attempts: { long: { block_at: 10 } }
          - match: { account: root }
            attempts: { block_at: 3, per: 1h, ladder: { to: L2 } }
      - name: account
        by: account
        unless: device
        forgiving: true
        attempts: { block_at: 6, per: 10min, ladder: { from: L1, to: L4 } }
        overrides:
          - match: { account: admin }
            attempts: { ladder: all }
      - name: spray
        by: ip
        distinct: account
        shadow: true
        attempts: { block_at: 21, per: 10min, ladder: { from: L3 } }
      - name: known
        by: org
        unless: token
        bucket: { rate: 1/s, burst: 5 }
";

const SMALL: Budget = Budget { buckets: 10, quotas: 10, windows: 10, attempts: 10 };

fn policies(text: &str) -> PolicySet {
    let file: File = File::parse("f.yaml", text).unwrap_or_else(|error| panic!("{error}"));
    file.policies().clone().build(None).unwrap()
}

/// The numbers that hold for an account.
fn numbers(account: &str, limit: &str) -> Shape {
    let set = policies(EVERYTHING);
    let account = Account::new(account);
    let subject = Subject::new().account(&account);
    let mut case = Case::new(set.get("code").unwrap(), &subject);
    let clock = ManualClock::new(Timestamp::from_micros(1_790_000_000_000_000));
    let engine = Engine::new(MemoryStore::new(SMALL, &clock), set.clone());
    let _ = ready(engine.decide(&mut case)).unwrap().unwrap();
    let charges = case.batch().charges().iter();
    let mut charges = charges.filter(|charge| charge.limit().name().as_str() == limit);
    charges.next().unwrap().shape().clone()
}

#[test]
fn every_field_reaches_the_limit() {
    let set = policies(EVERYTHING);
    let [codes, account, spray, known] = set.get("code").unwrap().limits() else { panic!("four") };
    let Shape::Attempts(shape) = codes.shape() else { panic!("attempts") };
    assert_eq!((shape.temp().block_at, shape.temp().per), (5, Span::from_secs(600)));
    assert_eq!(shape.temp().block, Span::from_secs(900));
    let long = shape.long().unwrap();
    assert_eq!((long.block_at, long.per, long.block), (20, Span::DAY, Span::from_secs(172_800)));
    assert_eq!(shape.ladder(), None);
    assert!(!codes.settles() && !codes.forgives());

    let Shape::Attempts(shape) = account.shape() else { panic!("attempts") };
    let ladder = shape.ladder().unwrap();
    assert_eq!((ladder.from(), ladder.to()), (Level::L1, Level::L4));
    assert_eq!((shape.temp().block_at, shape.temp().per), (6, Span::from_secs(600)));
    assert!(account.forgives() && account.settles(), "the one implies the other");
    assert_eq!(account.exempt(), Some(Dimension::Device));

    let Shape::Attempts(shape) = spray.shape() else { panic!("attempts") };
    let ladder = shape.ladder().unwrap();
    assert_eq!((ladder.from(), ladder.to()), (Level::L3, Level::L6));
    assert_eq!((shape.temp().block_at, shape.temp().per), (21, Span::from_secs(600)));
    assert!(spray.is_shadow() && !account.is_shadow());
    assert_eq!(spray.counted(), Some(Dimension::Account));
    assert_eq!(known.exempt(), Some(Dimension::Token), "of a limit of any shape");
}

#[test]
fn a_limit_of_ipv6_blocks_leaves_ipv4_alone() {
    let set = policies(
        "version: 1\npolicies:\n  - name: api\n    failure_mode: fail_open\n    limits:\n      - { name: a, \
         by: ip, bucket: { rate: 1/s, burst: 5 } }\n      - { name: b, by: ip48, only: ipv6, bucket: { \
         rate: 9/s, burst: 80 } }\n",
    );
    let applying = |ip: &str| {
        let subject = Subject::new().ip(ip.parse().unwrap());
        let mut case = Case::new(set.get("api").unwrap(), &subject);
        case.resolve(&tidegate_core::Digests::new([1, 2]));
        case.batch().charges().len()
    };
    for (ip, count) in [("192.0.2.1", 1), ("::ffff:192.0.2.1", 1), ("64:ff9b::c000:201", 1)] {
        assert_eq!(applying(ip), count, "{ip}");
    }
    assert_eq!(applying("2001:db8::1"), 2);
}

#[test]
fn what_an_override_leaves_out_is_as_the_limit_says() {
    let Shape::Attempts(admin) = numbers("admin", "codes") else { panic!("attempts") };
    assert_eq!((admin.temp().block_at, admin.long().unwrap().block_at), (5, 10));
    assert_eq!(admin.long().unwrap().per, Span::DAY);
    let Shape::Attempts(root) = numbers("root", "codes") else { panic!("attempts") };
    assert_eq!((root.temp().block_at, root.long()), (3, None), "the manner is of one of both");
    assert_eq!(root.ladder().unwrap().to(), Level::L2);
    let Shape::Attempts(admin) = numbers("admin", "account") else { panic!("attempts") };
    assert_eq!((admin.temp().block_at, admin.ladder().unwrap().to()), (6, Level::L6));
}

#[test]
fn a_preset_is_the_limits_of_the_core() {
    for preset in Preset::ALL {
        let name = preset.name();
        let text = format!(
            "version: 1\npolicies: [{{ name: p, failure_mode: fail_closed, preset: {name} }}]\n"
        );
        let set = policies(&text);
        let policy = set.get("p").unwrap();
        assert_eq!(policy.protects(), Some(preset.protects()));
        let described = |limit: &tidegate_core::Limit| {
            let shape = limit.shape().clone();
            let flags = (limit.forgives(), limit.settles(), limit.exempt(), limit.counted());
            (limit.name().clone(), limit.scope(), shape, flags)
        };
        let ours: Vec<_> = policy.limits().iter().map(|limit| described(limit)).collect();
        let ready: Vec<_> = preset.limits().iter().map(described).collect();
        assert_eq!(ours, ready);
        let said = text.replace("preset", &format!("protects: {name}, preset"));
        assert_eq!(policies(&said).get("p").unwrap().protects(), Some(preset.protects()));
    }
}

#[test]
fn a_limit_with_the_name_of_a_ready_made_one_takes_its_place() {
    let text = "
version: 1
policies:
  - name: login
    failure_mode: fail_closed
    preset: login
    limits:
      - name: everybody
        by: global
        bucket: { rate: 100/s, burst: 1000 }
      - name: login-device
        by: [account, device]
        forgiving: true
        attempts: { block_at: 30, per: 1h, ladder: { to: L3 } }
";
    let set = policies(text);
    let login = set.get("login").unwrap();
    assert_eq!(login.protects(), Some(Protects::Login));
    let names: Vec<&str> = login.limits().iter().map(|limit| limit.name().as_str()).collect();
    let ready = Preset::Login.limits();
    let mut expected: Vec<&str> = ready.iter().map(|limit| limit.name().as_str()).collect();
    expected.push("everybody");
    assert_eq!(names, expected);
    let at = names.iter().position(|name| *name == "login-device").unwrap();
    assert_eq!(login.limits()[at].shape().capacity(), 29);
}

#[test]
fn each_preset_can_be_used_beside_the_other() {
    let text = "
version: 1
policies:
  - { name: login, failure_mode: fail_closed, preset: login }
  - { name: otp, failure_mode: fail_closed, preset: otp }
";
    assert_eq!(policies(text).policies().len(), 2);
}
