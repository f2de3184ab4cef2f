//! Threat T01: which address a request counts for, whatever its header fields say.

use crate::forms::{FORWARDED, PLAIN, PROXY};
use crate::site::{Ask, Setting, Site};

/// The proxies of the forms; the peer stands for the one that sends them.
const TRUSTED: &str = "trusted_proxies: [127.0.0.1, 10.0.0.0/8, 192.168.7.7, fd00::/8]";

/// So many for each address, and no more come in this test.
const BURST: usize = 80;

fn setting() -> Setting {
    Setting::default()
        .replacing("bucket: { rate: 10/s, burst: 20 }", "bucket: { rate: 1/h, burst: 80 }")
        // Whoever is counted at all is counted by that alone.
        .replacing("bucket: { rate: 50/s, burst: 100 }", "bucket: { rate: 1/h, burst: 10000 }")
}

fn ask(header: &str, value: &str) -> Ask {
    Ask::get("/healthz").header(header, value)
}

/// Each form counts for the client it leads to, and for nobody else.
async fn each_counts_for_its_own(more: &str, header: &str, forms: &[(&str, &str)]) {
    let mut clients: Vec<&str> = forms.iter().map(|(_, client)| *client).collect();
    clients.sort_unstable();
    clients.dedup();
    assert!(clients.len() >= 3);
    for exhausted in clients {
        let site = setting().saying(&format!("{TRUSTED}\n  {more}")).start().await;
        let plainly = match exhausted {
            PROXY => Ask::get("/healthz"),
            client if header == "forwarded" && client.contains(':') => {
                ask(header, &format!("for=\"[{client}]\""))
            }
            client if header == "forwarded" => ask(header, &format!("for={client}")),
            client => ask(header, client),
        };
        assert_eq!(site.passed(&plainly, BURST + 1).await, BURST, "{exhausted}");
        for (line, client) in forms {
            let status = site.send(&ask(header, line)).await.status;
            let expected = if *client == exhausted { 429 } else { 200 };
            assert_eq!(status, expected, "{line:?} while {exhausted} has nothing left");
        }
    }
}

#[tokio::test]
async fn t01_sixty_forms_from_a_trusted_proxy_count_for_the_client_they_lead_to() {
    assert!(PLAIN.len() >= 60);
    each_counts_for_its_own("client_header: x-forwarded-for", "x-forwarded-for", &PLAIN).await;
}

#[tokio::test]
async fn t01_forwarded_counts_for_the_client_it_leads_to() {
    each_counts_for_its_own("client_header: forwarded", "forwarded", &FORWARDED).await;
}

#[tokio::test]
async fn t01_from_anybody_else_no_header_matters() {
    let elsewhere = "trusted_proxies: [10.0.0.0/8]";
    for more in [elsewhere, "client_header: x-forwarded-for"] {
        let site: Site = setting().saying(more).start().await;
        let names = ["x-forwarded-for", "forwarded", "x-real-ip", "x-client-ip", "true-client-ip"];
        let mut passed = 0;
        for (line, _) in PLAIN.iter().chain(&FORWARDED) {
            let all = names.iter().fold(Ask::get("/healthz"), |ask, name| ask.header(name, line));
            passed += usize::from(site.send(&all).await.status == 200);
        }
        let sent = PLAIN.len() + FORWARDED.len();
        assert_eq!(passed, sent.min(BURST), "{more}: one bucket for all of them");
        assert_eq!(site.passed(&Ask::get("/healthz"), BURST).await, BURST - passed);
        assert_eq!(site.send(&Ask::get("/healthz").from(2)).await.status, 200, "another peer");
    }
}
