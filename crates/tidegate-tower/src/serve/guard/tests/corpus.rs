//! The corpus for raw sockets, through the guard alone.

use tidegate_test::smuggling::{Expect, Requests, cases};

use super::model::judge;
use super::{Division, read, read_bytewise};

#[test]
fn the_corpus_is_divided_as_it_expects() {
    let requests =
        Requests { get: "/livez", post: "/a", fields: "X-Extra: b\r\n", body: "{\"a\":1}" };
    for case in cases(requests) {
        let (division, found) = judge(&case.bytes);
        let shown = (case.name, &division);
        assert_eq!(read([&case.bytes[..]]), division, "{}", case.name);
        assert_eq!(read_bytewise(&case.bytes), division, "{}", case.name);
        let Division { refused, within_head, within_body, .. } = division;
        match case.expect {
            Expect::Answered(answers) => {
                assert_eq!((found.len(), refused), (answers, None), "{shown:?}");
                assert!(!within_head && !within_body, "{shown:?}");
            }
            // The guard does not know that hyper closes.
            Expect::Closed(answers) => assert!(found.len() >= answers, "{shown:?}"),
            Expect::Refused { after } => {
                assert!(refused.is_some() && found.len() == after && !within_body, "{shown:?}");
            }
            Expect::RefusedBody { after } => {
                assert!(refused.is_some() && found.len() == after && within_body, "{shown:?}");
            }
        }
    }
}
