//! Threat T03: the subnets of one IPv6 block have more together than one of them, and not as much as all
//! of them.

use crate::site::{Ask, Setting, Site};

/// What an early policy lets through at once for one address; of a /56 it is four times as much, of a
/// /48 sixteen times.
const EARLY: [(&str, &str, usize); 3] =
    [("GET", "/v1/reports", 100), ("POST", "/v1/login", 10), ("GET", "/healthz", 20)];

/// The API behind a proxy whose word counts.
async fn site() -> Site {
    Setting::default()
        .saying("trusted_proxies: [127.0.0.1]\n  client_header: x-forwarded-for")
        // Nobody is known here, which is answered with 401 and would be counted as probing.
        .replacing("window: { count: 20, per: 10min }", "window: { count: 10000, per: 10min }")
        .start()
        .await
}

/// How many of so many requests of this client the early policy lets through.
async fn passed(site: &Site, ask: &Ask, client: &str, count: usize) -> usize {
    let ask = ask.clone().header("x-forwarded-for", client);
    let statuses = site.statuses(&ask, count).await;
    statuses.into_iter().filter(|status| *status != 429).count()
}

#[tokio::test]
async fn t03_subnets_of_a_56_share_four_times_and_of_a_48_sixteen_times_of_one() {
    let site = site().await;
    for (method, path, each) in EARLY {
        let ask = Ask::new(method, path).json(r#"{"user": "ada", "password": "no"}"#);
        assert_eq!(passed(&site, &ask, "2001:db8:7::1", each + 1).await, each, "{path}: one /64");
        assert_eq!(passed(&site, &ask, "2001:db8:7::2", 1).await, 0, "{path}: the same /64");
        for site_56 in 0..4 {
            for subnet in u32::from(site_56 == 0)..4 {
                let client = format!("2001:db8:7:{site_56:x}{subnet:02x}::1");
                assert_eq!(passed(&site, &ask, &client, each).await, each, "{path}: {client}");
            }
            let fifth = format!("2001:db8:7:{site_56:x}ff::1");
            assert_eq!(passed(&site, &ask, &fifth, 1).await, 0, "{path}: the /56 has had its part");
        }
        assert_eq!(passed(&site, &ask, "2001:db8:7:ff00::1", 1).await, 0, "{path}: the whole /48");
        assert_eq!(passed(&site, &ask, "2001:db8:8::1", 1).await, 1, "{path}: another /48");
    }
}

#[tokio::test]
async fn t03_an_ipv4_address_is_counted_once() {
    let site = site().await;
    for (method, path, each) in EARLY {
        let ask = Ask::new(method, path).json(r#"{"user": "ada", "password": "no"}"#);
        for last in 1..=5 {
            let client = format!("203.0.113.{last}");
            assert_eq!(passed(&site, &ask, &client, each + 1).await, each, "{path}: {client}");
        }
    }
    // Who is refused is told of every limit that was asked; at the entrance nothing is told.
    for (path, wider) in [("/v1/reports", "\"address-56\""), ("/healthz", "\"probes-56\"")] {
        for (client, is_asked) in [("203.0.113.1", false), ("2001:db8::1", true)] {
            passed(&site, &Ask::get(path), client, 100).await;
            let refused = site.send(&Ask::get(path).header("x-forwarded-for", client)).await;
            let told = refused.header("ratelimit-policy").unwrap();
            assert_eq!((refused.status, told.contains(wider)), (429, is_asked), "{told}");
        }
    }
}
