//! What may be written, and which names of a request it stands for.

use proptest::prelude::*;

use super::*;

fn hosts(written: &[&str]) -> Hosts {
    let parsed: Vec<WrittenHost> = written.iter().map(|text| text.parse().unwrap()).collect();
    Hosts::written(&parsed)
}

#[test]
fn names_and_addresses_may_be_written_with_or_without_a_port() {
    for (text, shown) in [
        ("tidegate", "tidegate"),
        ("Tidegate.Internal.:7700", "tidegate.internal:7700"),
        ("rate_limits.ns.svc.cluster.local", "rate_limits.ns.svc.cluster.local"),
        ("192.0.2.7:80", "192.0.2.7:80"),
        ("[2001:DB8::7]", "[2001:db8::7]"),
        ("[::ffff:192.0.2.7]:1", "192.0.2.7:1"),
    ] {
        assert_eq!(text.parse::<WrittenHost>().unwrap().to_string(), shown);
    }
    for wrong in [
        "",
        ".",
        ":7700",
        "a..b",
        "*.example",
        "http://tidegate",
        "tidegate/",
        "user@tidegate",
        "tide gate",
        "tidegate:",
        "tidegate:+1",
        "tidegate:65536",
        "2001:db8::7",
        "[2001:db8::7",
        "2001:db8::7]",
        "[tidegate]",
        "192.0.2",
        "127.1",
        "gezeiten-tür",
    ] {
        let error = wrong.parse::<WrittenHost>().unwrap_err().to_string();
        assert!(error.contains("write one such as `tidegate`"), "{wrong}");
    }
    assert!("x".repeat(254).parse::<WrittenHost>().is_err());
}

#[test]
fn t43_by_default_only_names_of_this_machine_are_good() {
    let hosts = Hosts::default();
    for good in [
        "localhost",
        "LocalHost:7700",
        "localhost.:1",
        "127.0.0.1",
        "127.0.0.1:7700",
        "[::1]:7700",
        "[0:0::1]",
    ] {
        assert!(hosts.accept(good.as_bytes(), None), "{good}");
    }
    for bad in [
        "",
        "attacker.example",
        "localhost.attacker.example",
        "attacker.localhost",
        "127.0.0.1.attacker.example",
        "localhost:7700@attacker.example",
        "user@localhost",
        "localhost:",
        "localhost:port",
        "localhost:99999",
        "localhost ",
        "localhost..",
        "127.0.0.2",
        "127.1",
        "2130706433",
        "0.0.0.0:7700",
        "[::]",
        "[::1",
        "::1",
        "[::1%25lo]",
    ] {
        assert!(!hosts.accept(bad.as_bytes(), None), "{bad}");
    }
    assert!(!hosts.accept(b"local\xffhost", None));
}

#[test]
fn the_address_that_was_reached_is_good_and_no_other_one() {
    let hosts = hosts(&["tidegate"]);
    let local = |text: &str| Some(text.parse::<IpAddr>().unwrap().to_canonical());
    assert!(hosts.accept(b"10.1.2.3:7700", local("10.1.2.3")));
    assert!(hosts.accept(b"10.1.2.3", local("::ffff:10.1.2.3")), "a mapped one is the same");
    assert!(hosts.accept(b"[fd00::7]:7700", local("fd00:0::7")));
    assert!(!hosts.accept(b"10.1.2.4:7700", local("10.1.2.3")));
    assert!(!hosts.accept(b"10.1.2.3", None));
    assert!(
        !hosts.accept(b"localhost", local("127.0.0.1")),
        "what is written replaces the default"
    );
    assert!(!hosts.accept(b"attacker.example", None), "no address is no match");
}

#[test]
fn a_port_counts_only_where_it_is_written() {
    let hosts = hosts(&["tidegate", "api.internal:7700", "plain:80"]);
    for good in ["tidegate", "tidegate:1", "api.internal:7700", "API.internal.:7700", "plain"] {
        assert!(hosts.accept(good.as_bytes(), None), "{good}");
    }
    for bad in ["api.internal", "api.internal:7701", "plain:8080"] {
        assert!(!hosts.accept(bad.as_bytes(), None), "{bad}");
    }
}

proptest! {
    #[test]
    fn t43_any_other_bytes_are_no_name_of_ours(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        let ours = ["localhost", "127.0.0.1", "[:"].iter().any(|name| text.starts_with(name));
        prop_assume!(!ours);
        prop_assert!(!Hosts::default().accept(&bytes, Some(Ipv4Addr::LOCALHOST.into())));
    }

    #[test]
    fn whatever_may_be_written_is_accepted_as_it_is_written(text in "[a-zA-Z0-9._-]{1,20}(:[0-9]{1,5})?") {
        if let Ok(host) = text.parse::<WrittenHost>() {
            let hosts = Hosts::written(std::slice::from_ref(&host));
            prop_assert!(hosts.accept(text.as_bytes(), None), "{}", text);
            prop_assert!(hosts.accept(host.to_string().as_bytes(), None), "{}", host);
        }
    }
}
