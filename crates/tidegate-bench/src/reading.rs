//! What it costs to read: a policy file when it is loaded, and the body of a request.
//!
//! There is no peer. A file that is eight times as long should take about eight times as long; and the
//! strict reader of JSON, which reads a wrong body twice to name the field, is measured beside the one that
//! notes every field on the way.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tidegate_engine::file::File;
use tidegate_tower::json;
use tidegate_tower::settings::HttpFile;

use crate::Fallible;
use crate::args::Rounds;
use crate::measure::{median, on_processor, progress};
use crate::report::{BenchReport, compared};

/// The numbers of policies, classes and routes in the files. The largest file has 0.66 MB.
const SIZES: [usize; 3] = [250, 1_000, 2_000];

/// The body of an ordinary request for a decision.
const BODY: &str =
    r#"{"policy":"api","subject":{"org":"acme","user":"u7","ip":"203.0.113.7"},"cost":3}"#;

/// How long each reader of JSON reads in one turn.
const TURN: Duration = Duration::from_millis(150);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked<'a> {
    policy: &'a str,
    subject: Facts<'a>,
    cost: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts<'a> {
    org: &'a str,
    user: &'a str,
    ip: &'a str,
}

/// Reads files and bodies, and prints the report.
pub(crate) fn run(Rounds { rounds }: Rounds) -> Fallible<()> {
    let files: Vec<String> = SIZES.into_iter().map(file).collect::<Result<_, _>>()?;
    let mut loaded = vec![Vec::new(); files.len()];
    let mut read = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        progress("reading", round, rounds);
        let strict = || json::read::<Asked<'_>>(BODY.as_bytes()).is_ok_and(|it| it.sums());
        let noted = || {
            let mut body = serde_json::Deserializer::from_str(BODY);
            serde_path_to_error::deserialize::<_, Asked<'_>>(&mut body).is_ok_and(|it| it.sums())
        };
        let bodies = [per_body(strict)?, per_body(noted)?];
        let files: Vec<f64> = files.iter().map(|file| load(file)).collect::<Result<_, _>>()?;
        // Round 0 warms up and is not counted.
        if round > 0 {
            read.iter_mut().zip(bodies).for_each(|(all, one)| all.push(one));
            loaded.iter_mut().zip(files).for_each(|(all, one)| all.push(one));
        }
    }
    let mut report = BenchReport::new(&format!("reading --rounds {rounds}"));
    let sizes = SIZES.into_iter().zip(&files).zip(&loaded);
    let row = |((policies, file), loaded): ((usize, &String), &Vec<f64>)| {
        let (bytes, millis) = (file.len(), median(loaded));
        format!("{policies} | {bytes} | {millis:.1} | {:.1}", millis * 1e6 / bytes as f64)
    };
    report
        .table("policies, classes and routes each: | bytes: | ms: | ns per byte:", sizes.map(row));
    let names = ["strict, as the doors read", "every field noted on the way"];
    let row = |(name, figures): (&str, &Vec<f64>)| {
        format!("{name} | {:.0} | {}", median(figures), compared(figures, Some(&read[0])))
    };
    report.table(
        "reader of JSON | ns per body: | ratio: | in rounds:",
        names.into_iter().zip(&read).map(row),
    );
    println!("{report}");
    Ok(())
}

impl Asked<'_> {
    /// Looks at every field, so that none is left unread.
    fn sums(&self) -> bool {
        let Facts { org, user, ip } = self.subject;
        self.cost > 0 && self.policy.len() + org.len() + user.len() + ip.len() > 0
    }
}

/// A policy file with this many policies of two limits, classes and routes.
fn file(count: usize) -> Result<String, std::fmt::Error> {
    let mut text = "version: 1\npolicies:\n".to_owned();
    text += "  - { name: early, failure_mode: fail_open, limits: [\
             { name: e, by: ip, bucket: { rate: 9/s, burst: 9 } }] }\n";
    for n in 0..count {
        writeln!(text, "  - name: p{n}\n    failure_mode: fail_open\n    limits:")?;
        writeln!(
            text,
            "      - {{ name: b{n}, by: [org, class], named_key: true, bucket: {{ rate: 9/s, burst: 9 }} }}"
        )?;
        writeln!(
            text,
            "      - {{ name: day{n}, by: org, named_key: true, quota: {{ count: 900, per: day }} }}"
        )?;
    }
    text += "http:\n  default: c0\n  classes:\n";
    for n in 0..count {
        writeln!(text, "    c{n}: {{ early: early, policy: p{n} }}")?;
    }
    text += "  routes:\n";
    for n in 0..count {
        writeln!(text, "    - {{ path: '/r{n}/{{id}}', methods: [GET], class: c{n} }}")?;
    }
    Ok(text)
}

/// Milliseconds of processor time to read and check a file.
fn load(text: &str) -> Fallible<f64> {
    let start = Stopwatch::start();
    File::<HttpFile>::parse("policies.yaml", text).map_err(|error| error.to_string())?;
    Ok(start.seconds() * 1e3)
}

/// Nanoseconds of processor time to read one body.
fn per_body(read: impl Fn() -> bool) -> Fallible<f64> {
    let (start, mut count) = (Stopwatch::start(), 0_u32);
    while start.wall.elapsed() < TURN {
        for _ in 0..1_000 {
            if !std::hint::black_box(&read)() {
                return Err("the body cannot be read".into());
            }
        }
        count += 1_000;
    }
    Ok(start.seconds() * 1e9 / f64::from(count))
}

/// Measures the processor time of this thread, or the time on the wall where that is not known.
struct Stopwatch {
    wall: Instant,
    processor: Option<Duration>,
}

impl Stopwatch {
    fn start() -> Self {
        Self { wall: Instant::now(), processor: on_processor() }
    }

    fn seconds(&self) -> f64 {
        let processor = on_processor().zip(self.processor);
        let took = processor.map(|(now, before)| now.saturating_sub(before));
        took.unwrap_or_else(|| self.wall.elapsed()).as_secs_f64()
    }
}
