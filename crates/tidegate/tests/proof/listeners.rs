//! The attacks of `memory.rs` on the other two listeners: that of operators, and that of a host of the
//! layers, which is the example `org-api` as a process.

use crate::attacks::Aim;
use crate::site::{host, operators};

#[test]
fn t35_answers_that_nobody_takes_are_not_kept_by_the_other_listeners() {
    let _alone = crate::alone();
    for (site, through) in [(operators(), 1_000), (host(), 2_000)] {
        let attack = "25,600 answers that nobody takes";
        site.holds(attack, Aim::unread_pages, (12_800, 25_600), through, &[]);
    }
}

#[test]
fn t35_heads_of_many_fields_are_not_kept_by_the_other_listeners() {
    let _alone = crate::alone();
    for site in [operators(), host()] {
        let attack = "180 MiB of heads of 400 fields";
        site.holds(attack, Aim::many_fields, (10 << 20, 180 << 20), 2_000, &[]);
    }
}

#[test]
fn t12_half_bodies_are_bounded_at_the_other_listeners() {
    let _alone = crate::alone();
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    for (site, kept) in [(operators(), 1), (host(), 500)] {
        let told = [("tidegate_http_memory_bytes{use=\"bodies\"}", 1 << 20)];
        let attack = "60,000 bodies of 61 KB, 6,000 at once";
        site.holds(attack, Aim::half_bodies, (6_000, 60_000), kept, &told);
    }
}

#[test]
fn t34_half_heads_are_bounded_at_the_other_listeners() {
    let _alone = crate::alone();
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    // Operators have 32 places for one address, and who has no token gives way to the next.
    for (site, kept) in [(operators(), 0), (host(), 500)] {
        let told = [("tidegate_http_memory_bytes{use=\"heads\"}", 128 << 10)];
        let attack = "20,000 half heads of 16 KiB, 9,800 at once";
        site.holds(attack, Aim::half_heads, (9_800, 20_000), kept, &told);
    }
}

#[test]
fn t12_a_hundred_and_sixty_readers_slow_nobody_down_at_the_other_listeners() {
    let _alone = crate::alone();
    // Of those who ask operators, 32 find a place.
    for (site, bytes) in [(operators(), 2 << 20), (host(), 100 << 20)] {
        let read = |aim: &Aim, progress: &_| aim.readers(160, progress);
        site.holds("160 who ask for a page", read, (160, 1_600), bytes, &[]);
    }
}
