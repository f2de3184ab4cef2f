//! `/v1/gate/{policy}`, the forward-auth door: a reverse proxy asks with the headers of a request
//! whether it may pass.
//!
//! A refusal is written as those of the tower layers are, with the header fields that name no limit: an
//! answer of the gate may reach an end user, so it names nothing internal (contract A29).

use std::net::IpAddr;

use http::header::HeaderValue;
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode};
use tidegate_core::{Account, Case, Decision, Store, Subject, Timestamp, Values, Verdict};
use tidegate_engine::DecideError;
use tidegate_tower::RequestId;
use tidegate_tower::answer::{
    BodyProfile, Code, HeaderProfile, Problem, Profile, Refused, RetryAfter,
};

use super::decide::decided;
use crate::answer::{self, Answer, Payload};
use crate::settings::GateSettings;
use crate::state::ServerState;
use crate::wire::ask::MAX_FACT;
use crate::wire::query::{once, pairs};

/// The header that tells a proxy that the request passes, but with a lower quality of service.
const VERDICT: HeaderName = HeaderName::from_static("tidegate-verdict");

/// Decides a request that a reverse proxy has: 200 if it may pass.
pub(crate) async fn gate<S: Store + 'static>(
    shared: &ServerState<S>,
    name: &str,
    peer: IpAddr,
    head: &Parts,
) -> Result<Answer, Problem> {
    let decided = async {
        let gate = &shared.settings.gate;
        let deny = deny_status(head.uri.query().unwrap_or_default(), gate.deny)?;
        let (subject, account) = subject(gate, peer, &head.headers)?;
        let subject = account.iter().fold(subject, Subject::account);
        let set = shared.engine.policies();
        let place = set.place(name).ok_or_else(|| Code::NotFound.alone())?;
        let mut case = Case::new(&set.policies()[place], &subject);
        match decided(shared, &set, place, &mut case).await {
            Ok(decision) => Ok(told(&decision, deny, &head.headers)),
            // It does not pass, and the client does not learn why.
            Err(DecideError::NothingApplies { .. }) => Err(Code::Forbidden.alone()),
            Err(DecideError::Overloaded) => {
                let now = shared.clock.now();
                Ok(refusal(Code::Overloaded, None, deny, now, &head.headers))
            }
        }
    };
    let of_request =
        |problem: Problem| problem.of_request(&request_id(&head.headers), shared.clock.now());
    decided.await.map_err(of_request)
}

/// The answer for a decision: everything in it may be shown to an end user.
fn told(decision: &Decision<'_>, deny: StatusCode, headers: &HeaderMap) -> Answer {
    if let Some(code) = Code::of(decision) {
        return refusal(code, Some(*decision), deny, decision.decided_at(), headers);
    }
    let mut passed = answer::empty(StatusCode::OK);
    if decision.verdict() == Verdict::Degrade {
        passed.headers_mut().insert(VERDICT, HeaderValue::from_static("degrade"));
    }
    passed
}

/// The answer to a refused request. `deny` is the status of a request past a limit; a request that
/// nobody can decide has its own, because that says nothing about the client.
#[cold]
fn refusal(
    code: Code,
    decision: Option<Decision<'_>>,
    deny: StatusCode,
    at: Timestamp,
    headers: &HeaderMap,
) -> Answer {
    let profile = Profile {
        headers: [HeaderProfile::Triple].into_iter().collect(),
        retry_after: RetryAfter::Always,
        body: BodyProfile::Problem,
        ..Profile::default()
    };
    let request_id = request_id(headers);
    let mut refused = Refused { decision, ..Refused::new(code, &request_id, at) };
    if refused.status == StatusCode::TOO_MANY_REQUESTS {
        refused.status = deny;
    }
    let mut response = profile.refusal(&refused).map(Payload::from);
    response.headers_mut().insert(RequestId::HEADER, request_id.header_value());
    response
}

/// The id of the request: the one that the proxy or its client sent, if it is there once and harmless,
/// otherwise a new one.
fn request_id(headers: &HeaderMap) -> RequestId {
    RequestId::of(headers, &RequestId::HEADER).unwrap_or_else(RequestId::generate)
}

/// The status of refusals: `deny=403` or `deny=429` in the query, otherwise `usual`.
fn deny_status(query: &str, usual: StatusCode) -> Result<StatusCode, Problem> {
    let mut said = None;
    for pair in pairs(query) {
        let (name, value) = pair?;
        let status = match (&*name, &*value) {
            ("deny", "403") => StatusCode::FORBIDDEN,
            ("deny", "429") => StatusCode::TOO_MANY_REQUESTS,
            ("deny", _) => {
                return Err(Code::InvalidField.problem("write 403 or 429").about("/deny"));
            }
            _ => return Err(Code::InvalidField.problem("the only parameter is `deny`").about("")),
        };
        once(&mut said, status, &name)?;
    }
    Ok(said.unwrap_or(usual))
}

/// The facts about the client: from headers if a trusted proxy sent them, otherwise the peer's address
/// alone. The account is returned beside the others, because it is not always borrowed.
fn subject<'h>(
    gate: &GateSettings,
    peer: IpAddr,
    headers: &'h HeaderMap,
) -> Result<(Subject<'h>, Option<Account<'h>>), Problem> {
    let address = gate.trust.client(peer, headers);
    let (mut subject, mut account) = (Subject::new().ip(address), None);
    if !gate.trust.trusts(peer) {
        return Ok((subject, account));
    }
    for (dimension, header) in &gate.facts {
        let mut values = headers.get_all(header).iter();
        let Some(value) = values.next() else { continue };
        // With two values, it would be a guess which of them the proxy vouches for (threat T30).
        if values.next().is_some() || value.len() > MAX_FACT {
            return Err(Code::Malformed.problem("a header field is there twice, or is too long"));
        }
        if dimension.values() == Values::Accounts {
            account = Some(login_name(value)?);
        } else {
            subject = subject.with(*dimension, value.as_bytes());
        }
    }
    Ok((subject, account))
}

/// The account of a login name, which must be UTF-8: other bytes have no spelling to fold, and counted as
/// they are, they would be a way around the limit.
fn login_name(value: &HeaderValue) -> Result<Account<'_>, Problem> {
    let text = std::str::from_utf8(value.as_bytes());
    text.map(Account::new).map_err(|_| Code::Malformed.problem("a login name is not UTF-8"))
}

#[cfg(test)]
mod tests {
    //! Whose headers count, and what is told.

    use http::HeaderValue;
    use proptest::prelude::*;
    use tidegate_core::{Dimension, Fact};
    use tidegate_tower::client::Trust;

    use super::*;

    fn settings() -> GateSettings {
        GateSettings {
            trust: Trust::proxies(
                ["10.0.0.0/8".parse().unwrap()],
                HeaderName::from_static("x-forwarded-for"),
            ),
            facts: vec![
                (Dimension::Org, HeaderName::from_static("x-org-id")),
                (Dimension::User, HeaderName::from_static("x-user-id")),
                (Dimension::Account, HeaderName::from_static("x-login")),
            ],
            deny: StatusCode::TOO_MANY_REQUESTS,
        }
    }

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn facts_come_from_a_trusted_proxy_alone() {
        let sent = headers(&[("x-org-id", "acme"), ("x-forwarded-for", "203.0.113.7")]);
        let (proxy, stranger) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([198, 51, 100, 9]));
        let (trusted, _) = subject(&settings(), proxy, &sent).unwrap();
        assert_eq!(trusted.get(Dimension::Org), Some(Fact::Plain(b"acme")));
        let by = |address: IpAddr| Some(Fact::Address(tidegate_core::Prefix::of(address)));
        assert_eq!(trusted.get(Dimension::Ip), by(IpAddr::from([203, 0, 113, 7])));
        let (other, _) = subject(&settings(), stranger, &sent).unwrap();
        assert_eq!(other.get(Dimension::Org), None);
        assert_eq!(other.get(Dimension::Ip), by(stranger));
    }

    #[test]
    fn t30_a_fact_is_there_once_or_the_request_is_refused() {
        let proxy = IpAddr::from([10, 0, 0, 1]);
        let twice = headers(&[("x-org-id", "acme"), ("x-org-id", "other")]);
        assert!(subject(&settings(), proxy, &twice).is_err());
        let mut long = HeaderMap::new();
        long.insert("x-org-id", HeaderValue::from_str(&"x".repeat(257)).unwrap());
        assert!(subject(&settings(), proxy, &long).is_err());
    }

    #[test]
    fn t17_a_login_name_is_folded_and_must_be_text() {
        let proxy = IpAddr::from([10, 0, 0, 1]);
        let mut sent = HeaderMap::new();
        for typed in ["ren\u{e9}e", "REN\u{c9}E", "\u{a0}rene\u{301}e\u{3000}"] {
            sent.insert("x-login", HeaderValue::from_bytes(typed.as_bytes()).unwrap());
            let (_, account) = subject(&settings(), proxy, &sent).unwrap();
            assert_eq!(account, Some(Account::new("ren\u{e9}e")), "{typed:?}");
        }
        sent.insert("x-login", HeaderValue::from_bytes(b"ren\xe9e").unwrap());
        assert!(subject(&settings(), proxy, &sent).is_err());
        assert_eq!(subject(&settings(), [203, 0, 113, 7].into(), &sent).unwrap().1, None);
    }

    #[test]
    fn the_query_may_choose_the_status() {
        let usual = StatusCode::TOO_MANY_REQUESTS;
        assert_eq!(deny_status("", usual).unwrap(), usual);
        assert_eq!(deny_status("deny=403", usual).unwrap(), StatusCode::FORBIDDEN);
        assert_eq!(deny_status("deny=429", StatusCode::FORBIDDEN).unwrap(), usual);
        for wrong in ["deny", "deny=404", "deny=403&deny=403", "x=1", "deny=%34%zz"] {
            assert!(deny_status(wrong, usual).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn t01_no_header_of_a_stranger_changes_who_is_counted(
            peer in any::<IpAddr>(),
            lines in proptest::collection::vec(
                (0..4_usize, proptest::collection::vec(any::<u8>(), 0..40)), 0..6),
        ) {
            let gate = settings();
            prop_assume!(!gate.trust.trusts(peer));
            let names = ["x-org-id", "x-user-id", "x-forwarded-for", "x-login"];
            let mut sent = HeaderMap::new();
            for (name, value) in lines {
                if let Ok(value) = HeaderValue::from_bytes(&value) {
                    sent.append(names[name], value);
                }
            }
            let (subject, account) = subject(&gate, peer, &sent).unwrap();
            prop_assert_eq!(account, None);
            for dimension in Dimension::ALL {
                let alone = Subject::new().ip(peer);
                prop_assert_eq!(subject.get(dimension), alone.get(dimension));
            }
        }
    }
}
