//! What an outage leaves behind in the memory of a node: nothing.

use tidegate_core::Mode;
use tidegate_test::servers::RunningServer;

use crate::people::Person;
use crate::policies::{API, LOGIN};
use crate::speed::Plain;

/// How much more may be resident after an outage than before it, in KiB.
const MOST: u64 = 5 * 1024;
/// How many accounts and prefixes ask.
const PEOPLE: u32 = 5_000;
/// So many requests in each of the minutes.
const A_MINUTE: u32 = 20_000;

/// What is resident of this process, in KiB.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[tokio::test]
async fn p44_ten_minutes_of_outage_under_load_leave_no_memory_behind() {
    let server = RunningServer::start().await;
    let plain = Plain::at(&format!("redis://{}", server.addr()));
    plain.probe().await;
    // What a node takes once, however many ask: connections, and the parts of the code in use.
    for number in 0..200 {
        let asked = [LOGIN, API].map(|policy| (policy, Person::other(100_000 + number)));
        for (policy, person) in asked {
            let told = plain.ask(policy, person, |it| (it.is_admitted(), it.mode())).await;
            assert_eq!(told, (true, Mode::Normal));
        }
    }
    let before = resident();
    plain.trip(&server).await;
    let (mut most, mut admitted) = (0, 0);
    for minute in 0..10 {
        for request in 0..A_MINUTE {
            let person = Person::other((request + minute * 7) % PEOPLE);
            let policy = if request % 2 == 0 { LOGIN } else { API };
            let told = plain.ask(policy, person, |it| (it.is_admitted(), it.mode())).await;
            admitted += u32::from(told.0 && policy == LOGIN);
            assert_eq!(told.1, Mode::Degraded);
        }
        most = most.max(resident());
        plain.pass(60).await;
    }
    assert_eq!(admitted, 3 * PEOPLE, "p24: all of it within ten minutes");
    server.restart().await;
    plain.pass(131).await;
    assert!(plain.is_all(Mode::Normal));
    let at_exit = resident();
    // The spans of all caps are over: whatever was counted for them is of no use any more.
    plain.pass(901).await;
    let after = resident();
    println!("resident: {before} KiB, at most {most}, {at_exit} at the end, {after} long after it");
    for more in [at_exit, after].map(|now| now.saturating_sub(before)) {
        assert!(more <= MOST, "{more} KiB more");
    }
}
