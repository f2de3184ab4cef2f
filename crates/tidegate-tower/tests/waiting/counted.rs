//! Exact counts of what reaches a store that waits.

use http::Method;
use tidegate_test::stub::Call;

use crate::world::{World, acme, request};

#[test]
fn p12_a_request_is_charged_once_by_each_layer_however_often_it_is_polled() {
    for polls in [1, 2, 7] {
        let world = World::new();
        let wire = world.gate.engine().store().wire();
        wire.wait(polls, polls);
        let statuses = world.statuses("/reports/1", &acme(), 3);
        assert_eq!(statuses, [200, 200, 429], "{polls} polls");
        assert_eq!(wire.count(Call::Charge), 6, "two layers, three requests");
        assert_eq!(world.served(), 2);
    }
}

#[test]
fn p91_what_is_charged_for_an_outcome_is_given_back_by_a_store_that_waits() {
    const POLICIES: &str = "
version: 1
policies:
  - name: address
    failure_mode: fail_open
    limits:
      - { name: failed, by: ip, outcome: [401], window: { count: 2, per: 1min } }
  - name: entrance
    class: auth
    failure_mode: fail_closed
    limits:
      - { name: tries, by: [ip, class], window: { count: 3, per: 1min } }
  - name: read
    class: read
    failure_mode: degraded
    limits: [{ name: org, by: [org, class], bucket: { rate: 1/s, burst: 9 } }]
  - name: write
    class: write
    failure_mode: degraded
    limits: [{ name: org, by: [org, class], bucket: { rate: 1/s, burst: 9 } }]
  - name: bulk
    class: bulk
    failure_mode: degraded
    limits: [{ name: org, by: [org, class], quota: { count: 25, per: day } }]
";
    let world = World::with(POLICIES, |gate| gate);
    let wire = world.gate.engine().store().wire();
    wire.wait(2, 2);
    let send = |want: &str| {
        let mut request = request(Method::GET, "/public", None);
        request.headers_mut().insert("want", want.parse().unwrap());
        world.send(request).status().as_u16()
    };
    assert_eq!([send("200"), send("200"), send("200")], [200, 200, 200], "given back each time");
    assert_eq!(wire.count(Call::Settle), 3, "and not dropped on the way");
    assert_eq!([send("401"), send("401"), send("200")], [401, 401, 429]);
}
