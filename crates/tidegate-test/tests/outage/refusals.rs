//! The server answers at once, that it will not.

use tidegate_core::{Alarm, Mode, Severity, Signal, Span};
use tidegate_test::proxy::Proxy;
use tidegate_test::servers::RunningServer;
use tidegate_test::sim::trace::{Observation, Truth, What};

use crate::kept::JUNK;
use crate::people::Person;
use crate::policies;
use crate::story::Story;
use crate::table::Row;
use crate::world::World;

#[tokio::test]
async fn r08_p19_p42_p52_p55_p57_full() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let strike = async || {
        server.command(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await;
        server.command(&["DEBUG", "POPULATE", "20000", JUNK]).await;
        server.command(&["CONFIG", "SET", "maxmemory", "1mb"]).await;
    };
    let heal = async || drop(server.command(&["CONFIG", "SET", "maxmemory", "0"]).await);
    let figures = Story::of(&server, &proxy).tell(strike, heal).await;
    let fault = "out of memory (`OOM`, under `noeviction`)";
    Row { id: "R08", fault, over: figures.over.to_string(), figures: &figures }.record();
}

#[tokio::test]
async fn r11_p19_p42_p52_p55_p57_turned_into_a_replica() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let strike = async || drop(server.command(&["REPLICAOF", "127.0.0.1", "1"]).await);
    let heal = async || drop(server.command(&["REPLICAOF", "NO", "ONE"]).await);
    let figures = Story::of(&server, &proxy).tell(strike, heal).await;
    let fault = "the server has become a replica (`READONLY`)";
    Row { id: "R11", fault, over: figures.over.to_string(), figures: &figures }.record();
}

const TAKE: [&str; 5] = ["ACL", "SETUSER", "default", "-evalsha", "-eval"];
const GIVE: [&str; 5] = ["ACL", "SETUSER", "default", "+evalsha", "+eval"];

#[tokio::test]
async fn r17_p19_p42_p52_p55_p57_rights_taken_away() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let strike = async || drop(server.command(&TAKE).await);
    let heal = async || drop(server.command(&GIVE).await);
    let figures = Story::of(&server, &proxy).tell(strike, heal).await;
    let fault = "a right is taken away (`NOPERM`)";
    Row { id: "R17", fault, over: figures.over.to_string(), figures: &figures }.record();
}

#[tokio::test]
async fn r17_p79_rights_taken_away_are_critical_once_a_minute() {
    let server = RunningServer::start().await;
    let world = World::proven(&format!("redis://{}", server.addr()), 1).await;
    server.command(&TAKE).await;
    world.truth(Truth::Bad);
    for policy in policies::ALL {
        let told = world.nodes[0].ask(policy, Person::other(1)).await;
        assert_eq!(told.alarm, Some(Alarm::Refused));
    }
    world.pass(Span::from_secs(299)).await;
    world.all_stand(Mode::Degraded);
    for policy in policies::ALL {
        let refused = |record: &&Observation| match record.what {
            What::Told(signal @ Signal::Refused { .. }) if record.policy == policy => {
                assert_eq!(signal.severity(), Severity::Critical);
                true
            }
            _ => false,
        };
        // At once, and then at the first probe of each minute.
        assert_eq!(world.tape.since(0).iter().filter(refused).count(), 5);
    }
    world.tape.finish();
}
