//! P93 and T09: different subjects have different keys, and private ones do not show.

use proptest::collection::vec;
use proptest::prelude::*;
use tidegate_core::{
    Account, Bucket, Case, Dimension, FailureMode, KeyNames, Limit, MAX_PART, Name, PolicySet,
    PolicySpec, Prefix, Rate, Scope, Shape, Subject,
};
use tidegate_test::drive::digests;

use crate::cases;

/// What a key is made of: values by dimension, and the address.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    texts: Vec<(Dimension, Vec<u8>)>,
    ip: Option<std::net::IpAddr>,
}

/// Dimensions that have a text.
const TEXTS: [Dimension; 9] = [
    Dimension::Org,
    Dimension::Upstream,
    Dimension::Route,
    Dimension::User,
    Dimension::Token,
    Dimension::Account,
    Dimension::Device,
    Dimension::Agent,
    Dimension::Class,
];

/// Texts that try to look like something else.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let piece = proptest::sample::select(vec![
        ":", "{", "}", "%", "%3A", "#", "*", "user", "org", "a", "b", ":user:", "}:user:{",
        "\u{e9}", "\0", "\n", " ", "w60s", "limit", "~", "rl:{a}",
    ]);
    prop_oneof![
        4 => vec(piece, 1..5).prop_map(|pieces| pieces.concat().into_bytes()),
        1 => vec(any::<u8>(), 1..40),
        1 => (1..4_usize, 40..50_usize).prop_map(|(kind, len)| {
            // Around the longest part: 128 bytes when escaped.
            [&b"a"[..], b"%", b"a%"][kind - 1].repeat(len * (4 - kind)).to_vec()
        }),
        1 => (120..140_usize).prop_map(|len| vec![b'a'; len]),
    ]
}

fn parts() -> impl Strategy<Value = Parts> {
    let text = (proptest::sample::select(TEXTS.to_vec()), value());
    let ip = proptest::option::of(prop_oneof![
        any::<u32>().prop_map(|bits| std::net::IpAddr::from(bits.to_be_bytes())),
        any::<u128>().prop_map(|bits| std::net::IpAddr::from(bits.to_be_bytes())),
        Just("::ffff:203.0.113.9".parse().unwrap()),
        Just("203.0.113.9".parse().unwrap()),
    ]);
    (vec(text, 0..4), ip).prop_map(|(mut texts, ip)| {
        texts.sort();
        texts.dedup_by_key(|(dimension, _)| *dimension);
        Parts { texts, ip }
    })
}

impl Parts {
    fn scope(&self) -> Scope {
        let texts = self.texts.iter().map(|(dimension, _)| *dimension);
        Scope::of(texts.chain(self.ip.map(|_| Dimension::Ip)))
    }

    /// What it counts as: an address by its prefix, an account by its folded name.
    fn identity(&self) -> (Vec<(Dimension, Vec<u8>)>, Option<Prefix>) {
        let mut texts = self.texts.clone();
        for (_, value) in texts.iter_mut().filter(|(one, _)| *one == Dimension::Account) {
            *value = account(value).as_str().into();
        }
        (texts, self.ip.map(Prefix::of))
    }

    /// The text and the digest of its key.
    fn key(&self, secret: u8) -> (String, u64) {
        let bucket = Bucket::try_new(Rate::per_minute(1).unwrap(), 1).unwrap();
        let limit = Limit::new(Name::try_new("l").unwrap(), self.scope(), Shape::Bucket(bucket));
        let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen);
        let set = PolicySet::builder().policy(spec.limit(limit)).build(None).unwrap();
        let typed = self.texts.iter().find(|(dimension, _)| *dimension == Dimension::Account);
        let account = typed.map(|(_, typed)| account(typed));
        let mut subject = account.iter().fold(Subject::new(), Subject::account);
        for (dimension, value) in &self.texts {
            subject = subject.with(*dimension, value);
        }
        if let Some(ip) = self.ip {
            subject = subject.ip(ip);
        }
        let mut case = Case::new(&set.policies()[0], &subject);
        case.resolve(&digests());
        let batch = case.batch();
        let charge = batch.charges()[0];
        (KeyNames::new(&[secret; 32]).text(&batch.key(&charge)), charge.digest())
    }
}

fn account(typed: &[u8]) -> Account<'_> {
    String::from_utf8_lossy(typed).into()
}

/// Reads a key back: the dimensions with their escaped values.
fn read_back(key: &str) -> Vec<(String, String)> {
    let (tag, rest) = key.strip_prefix("rl:{").unwrap().split_once('}').unwrap();
    let mut words: Vec<&str> = if tag == "*" { Vec::new() } else { tag.split(':').collect() };
    if words.len() == 1 {
        words.insert(0, "org");
    }
    words.extend(rest.strip_suffix(":w60s").unwrap().split(':').skip(1));
    words.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

/// Whether a part shows nothing: 128 bits in hexadecimal.
fn is_hash(shown: &str) -> bool {
    shown.len() == 32 && shown.bytes().all(|byte| b"0123456789abcdef".contains(&byte))
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut hex = || char::from(bytes.next().unwrap()).to_digit(16).unwrap();
        out.push(match byte {
            b'%' => u8::try_from(hex() * 16 + hex()).unwrap(),
            other => other,
        });
    }
    out
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn t08_p93_different_subjects_have_different_keys(a in parts(), b in parts()) {
        let ((text_a, digest_a), (text_b, digest_b)) = (a.key(1), b.key(1));
        let same = a.identity() == b.identity();
        prop_assert_eq!(text_a == text_b, same, "{} and {}", text_a, text_b);
        prop_assert_eq!(digest_a == digest_b, same);
    }

    /// A change of one byte, or of where a value stands, is another subject.
    #[test]
    fn t08_p93_near_misses_have_different_keys(
        parts in parts().prop_filter("has texts", |parts| !parts.texts.is_empty()),
        place in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut other = parts.clone();
        let index = place.index(other.texts.len());
        let value = &mut other.texts[index].1;
        let at = place.index(value.len());
        value[at] = byte;
        let same = other.identity() == parts.identity();
        prop_assert_eq!(parts.key(1) == other.key(1), same);
        let mut longer = parts.clone();
        longer.texts[index].1.push(byte);
        let same = longer.identity() == parts.identity();
        prop_assert_eq!(parts.key(1) == longer.key(1), same);
        let swapped = TEXTS[(TEXTS.iter().position(|d| *d == parts.texts[index].0).unwrap() + 1) % 9];
        if parts.texts.iter().all(|(dimension, _)| *dimension != swapped) {
            let mut moved = parts.clone();
            moved.texts[index].0 = swapped;
            moved.texts.sort();
            prop_assert_ne!(parts.key(1), moved.key(1));
        }
    }

    /// What is short and not private can be read back from the key, so nothing was lost.
    #[test]
    fn p93_keys_are_ascii_bounded_and_can_be_read_back(parts in parts()) {
        let (text, _) = parts.key(1);
        prop_assert!(text.is_ascii() && !text.bytes().any(|byte| byte.is_ascii_control()));
        prop_assert_eq!((text.matches('{').count(), text.matches('}').count()), (1, 1));
        let found = read_back(&text);
        prop_assert_eq!(found.len(), parts.scope().dimensions().count());
        for (dimension, value) in &parts.texts {
            let (_, shown) = found.iter().find(|(name, _)| name == dimension.name()).unwrap();
            prop_assert!(shown.len() <= MAX_PART, "{}", shown);
            let private = [Dimension::Account, Dimension::Device, Dimension::Agent];
            let hashed = private.contains(dimension) || shown.starts_with('#');
            prop_assert!(!private.contains(dimension) || is_hash(shown), "{}", shown);
            prop_assert!(hashed || unescaped(shown) == *value);
            // Values that fit unescaped in a third of the longest part are never hashed.
            prop_assert!(!shown.starts_with('#') || value.len() > MAX_PART / 3);
        }
    }

    #[test]
    // The host is made of letters that are in no word of a key, nor in hexadecimal.
    fn t09_accounts_and_addresses_never_show(account in "[a-z]{3,8}@[q-y]{4,9}", bits in any::<u32>()) {
        let ip = std::net::IpAddr::from(bits.to_be_bytes());
        let texts = vec![(Dimension::Account, account.clone().into_bytes())];
        let parts = Parts { texts, ip: Some(ip) };
        let (text, _) = parts.key(1);
        let hex: String = account.bytes().map(|byte| format!("{byte:02x}")).collect();
        let hidden = [account.clone(), account.replace('@', "%40"), hex, ip.to_string(),
            account.split('@').next_back().unwrap().to_owned()];
        for canary in hidden {
            prop_assert!(!text.contains(&canary), "{} shows {}", text, canary);
        }
        let bits = format!("{bits:08x}");
        prop_assert!(!text.contains(&bits));
        prop_assert_ne!(&text, &parts.key(2).0, "the hash has a key");
    }
}

#[test]
fn p93_one_host_has_one_key_however_it_is_written() {
    let key = |ip: &str| Parts { texts: Vec::new(), ip: Some(ip.parse().unwrap()) }.key(1);
    assert_eq!(key("203.0.113.9"), key("::ffff:203.0.113.9"));
    assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::2"));
    assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
    assert_ne!(key("203.0.113.9"), key("203.0.113.10"));
}
