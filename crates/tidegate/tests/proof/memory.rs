//! Threats T12 and T35: clients that make a server keep things. Each attack is that of the issue that
//! described it, ten times as large, and goes on while others are measured. The process stays below 256
//! MiB, others are answered within twice the time of a server that nobody attacks, and the attack is seen
//! to bite: its answers begin, its connections are kept, and `/metrics` tells what they hold.

use crate::attacks::Aim;
use crate::site::server;

const ANSWERS: &str = "tidegate_http_memory_bytes{use=\"answers\"}";
const ANSWERS_REFUSED: &str = "tidegate_http_memory_refused_total{use=\"answers\"}";
const BODIES: &str = "tidegate_http_memory_bytes{use=\"bodies\"}";
const BODIES_REFUSED: &str = "tidegate_http_memory_refused_total{use=\"bodies\"}";
const HEADS: &str = "tidegate_http_memory_bytes{use=\"heads\"}";
const HEADS_REFUSED: &str = "tidegate_http_memory_refused_total{use=\"heads\"}";

#[test]
fn t35_answers_that_nobody_takes_are_not_kept_for_ever_more() {
    let _alone = crate::alone();
    let told = [(HEADS, 1 << 20)];
    let attack = "25,600 copies of the metrics that nobody takes";
    server().holds(attack, Aim::unread_pages, (12_800, 25_600), 2_000, &told);
}

#[test]
fn t35_batches_whose_answers_nobody_takes_are_not_kept_for_ever_more() {
    let _alone = crate::alone();
    let told = [(ANSWERS, 16 << 20), (ANSWERS_REFUSED, 1_000), (HEADS, 1 << 20)];
    let attack = "25,600 answers of batches that nobody takes";
    server().holds(attack, Aim::unread_batches, (12_800, 25_600), 2_000, &told);
}

#[test]
fn t35_heads_of_a_few_bytes_that_stand_for_many_fields_are_not_kept() {
    let _alone = crate::alone();
    let told = [(HEADS, 1 << 20)];
    let attack = "180 MiB of heads of 400 fields";
    server().holds(attack, Aim::many_fields, (10 << 20, 180 << 20), 2_000, &told);
}

#[test]
fn t12_bodies_that_stop_before_their_end_are_bounded_together() {
    let _alone = crate::alone();
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let told = [(BODIES, 32 << 20), (BODIES_REFUSED, 1_000)];
    let attack = "60,000 bodies of 61 KB, 6,000 at once";
    server().holds(attack, Aim::half_bodies, (6_000, 60_000), 500, &told);
}

#[test]
fn t34_heads_that_stop_before_their_end_are_bounded_together() {
    let _alone = crate::alone();
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let told = [(HEADS, 16 << 20), (HEADS_REFUSED, 100)];
    let attack = "20,000 half heads of 16 KiB, 9,800 at once";
    server().holds(attack, Aim::half_heads, (9_800, 20_000), 500, &told);
}

#[test]
fn t12_a_hundred_and_sixty_connections_that_ask_for_metrics_slow_nobody_down() {
    let _alone = crate::alone();
    let read = |aim: &Aim, progress: &_| aim.readers(160, progress);
    server().holds("160 who ask for metrics", read, (160, 1_600), 100 << 20, &[]);
}
