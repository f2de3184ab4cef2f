//! Chapter 6. Who is counted: from the facts about a request to the name of a counter.
//!
//! A [`Subject`](crate::Subject) holds the facts known about one request. A
//! [`Scope`](crate::Scope) names those a limit counts by. A [`Key`](crate::Key) is both together
//! with the limit: the name of one counter.
//!
//! | scope | one counter for |
//! |---|---|
//! | [`Scope::GLOBAL`](crate::Scope::GLOBAL) | everybody |
//! | `org` | each organisation |
//! | `org+user` | each user within each organisation |
//! | `ip` | each client address: IPv4 /32, IPv6 /64 |
//! | `account+ip` | each pair of an account and an address that tries to enter it |
//!
//! A limit applies to a request if every [`Dimension`](crate::Dimension) of its scope is known. So an
//! anonymous request is counted by address alone, and needs no policy of its own. If no limit applies,
//! the batch is empty: nothing has been counted, and such a request must not pass as if it had.
//!
//! An empty value is no value. One counter for all who left a header blank would be a limit nobody
//! meant. The account is the exception: an empty login name is still a guess. All spellings of a
//! name are one [`Account`](crate::Account), or each would be a limit of its own.
//!
//! # One subject, one key, and no other
//!
//! Joining values with a separator lets the user `a:b` share a counter with somebody else: lock
//! them out, or spend what is theirs. So every part carries the name of its dimension, and every
//! byte that is not a letter, a digit or one of `-._~` is escaped. Different subjects have
//! different keys, whatever a client puts into a field.
//!
//! ```text
//! rl:{acme}:user:u7:class:write:w60s
//! │  │      │                   └── the period as it is written, after `limit:<name>` if asked for;
//! │  │      │                       `sw60s` for a window, which slides
//! │  │      └── the other dimensions of the scope, in a fixed order, each with its name
//! │  └── the first dimension: an organisation as it is, any other with its name, `*` for everybody
//! └── rl: bucket or window, rq: quota
//! ```
//!
//! The braces are part of the text. Stores that spread keys over several nodes keep those with the
//! same text in braces together, so that all limits of one organisation can be charged at once.
//!
//! ```
//! # use tidegate_core::{
//! #     Account, Bucket, Case, Digests, Dimension, FailureMode, KeyNames, Limit, Name, PolicySet,
//! #     PolicySpec, Rate, Scope, Shape, Subject,
//! # };
//! # let bucket = Shape::Bucket(Bucket::try_new(Rate::per_minute(60)?, 10)?);
//! # let login = PolicySpec::new(Name::try_new("login")?, FailureMode::FailOpen)
//! #     .limit(Limit::new(Name::try_new("user")?, Scope::of([Dimension::Org, Dimension::User]), bucket.clone()))
//! #     .limit(Limit::new(Name::try_new("address")?, Scope::of([Dimension::Ip]), bucket.clone()))
//! #     .limit(Limit::new(Name::try_new("account")?, Scope::of([Dimension::Account]), bucket));
//! # let set = PolicySet::builder().policy(login).build(None)?;
//! # let policy = set.get("login").ok_or("no such policy")?;
//! // A policy with three limits: by org+user, by ip, by account. Which keys has this subject?
//! let keys = |subject: &Subject<'_>| -> Vec<String> {
//!     let mut case = Case::new(policy, subject);
//!     case.resolve(&Digests::new([7, 11]));
//!     let names = KeyNames::new(&[42; 32]);
//!     case.batch().charges().iter().map(|charge| names.text(&case.batch().key(charge))).collect()
//! };
//!
//! assert_eq!(keys(&Subject::new().org("acme").user("u7")), ["rl:{acme}:user:u7:w60s"]);
//! assert_eq!(keys(&Subject::new().org("a:b}").user("ü")), ["rl:{a%3Ab%7D}:user:%C3%BC:w60s"]);
//! assert!(keys(&Subject::new().org("acme").user("")).is_empty(), "nobody is not a user");
//!
//! // One host has many spellings, and one key: IPv4, mapped into IPv6, behind a NAT64.
//! let by_ip = |ip: &str| Ok::<_, std::net::AddrParseError>(keys(&Subject::new().ip(ip.parse()?)));
//! assert_eq!(by_ip("203.0.113.9")?, by_ip("::ffff:203.0.113.9")?);
//! assert_eq!(by_ip("203.0.113.9")?, by_ip("64:ff9b::cb00:7109")?);
//! // One subscriber has 2⁶⁴ addresses, and one key.
//! assert_eq!(by_ip("2001:db8:1:2::1")?, by_ip("2001:db8:1:2:ffff::99")?);
//! assert_ne!(by_ip("2001:db8:1:2::1")?, by_ip("2001:db8:1:3::1")?);
//!
//! // One login name has many spellings, and one key. Who tries to enter is nobody else's business.
//! let by_account = |typed: &str| keys(&Subject::new().account(&Account::new(typed)));
//! assert_eq!(by_account("ada@example.org"), by_account(" Ａda@EXAMPLE.org\u{a0}"));
//! let [account] = &by_account("ada@example.org")[..] else { panic!() };
//! assert!(account.starts_with("rl:{account:") && !account.contains("ada"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is private
//!
//! Accounts, addresses, devices and agents appear in keys only as half of an HMAC under a secret
//! ([`KeyNames`](crate::KeyNames)); so does any value that is longer than
//! [128 bytes](crate::MAX_PART) once escaped, behind a `#` that escaping never produces. 128 bits
//! keep values apart and hidden. Every other value is shown, so give a *token* by its public id and
//! never by its secret.
//!
//! Within one process no text is needed. A counter is named by a 64-bit digest under a secret made anew
//! for each process ([`Digests`](crate::Digests)). Two keys with one digest would share a counter; that
//! can refuse too much, never too little, and an attacker who does not know the secret cannot look for
//! such a pair.
//!
//! # Two limits, one key
//!
//! Two limits of the same scope and period would have the same key text, and each would count the
//! other's requests. A [`PolicySet`](crate::PolicySet) with two such limits is
//! [refused](crate::PolicyError::SameKey) with both names. If they are meant to be one limit,
//! [share](crate::PolicySpec::shared_limit) it; if not, put the name of one [into its
//! key](crate::Limit::with_named_key).
//!
//! Next: [refused requests](super::ch7_refused_requests).
