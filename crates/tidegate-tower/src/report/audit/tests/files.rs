//! Records in files.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::Value;
use tempfile::tempdir;

use super::{LONG, every, exhausted, user};
use crate::identity::Identity;
use crate::report::Reporter;
use crate::report::audit::JsonLines;
use crate::report::tests::Ask;

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "whole lines");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes one record for each of these actors, with a flush after each.
fn write(sink: JsonLines, actors: impl IntoIterator<Item = u32>) {
    let audit = every(1).start(sink).unwrap();
    let (world, reporter) = (exhausted(), Reporter::default().auditing(audit.clone()));
    for id in actors {
        world.ask(&reporter, &user(id));
        assert!(audit.finish(LONG));
    }
}

#[test]
fn a_file_is_added_to_and_is_nobody_elses() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    write(JsonLines::open(&path).unwrap(), [1, 2]);
    write(JsonLines::open(&path).unwrap(), [3]);
    let actors: Vec<_> = lines(&path).iter().map(|line| line["actor_id"].clone()).collect();
    assert_eq!(actors, ["1", "2", "3"]);
    let line = &lines(&path)[0];
    assert_eq!(line["kind"], "repeated_throttling");
    assert_eq!(line["at"], "2026-01-01T00:00:00.000000Z");
    assert_eq!(
        (&line["count"], &line["run"], &line["other"]),
        (&1.into(), &1.into(), &false.into())
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn rotation_keeps_whole_lines_and_all_records() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    write(JsonLines::open(&path).unwrap().max_bytes(1_500).files(100), 0..40);
    let files: Vec<_> =
        fs::read_dir(&directory).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() > 5, "{files:?}");
    let mut actors = Vec::new();
    for file in &files {
        assert!(fs::metadata(file).unwrap().len() <= 1_500);
        let of = |line: &Value| line["actor_id"].as_str().unwrap().parse::<u32>().unwrap();
        actors.extend(lines(file).iter().map(of));
    }
    actors.sort_unstable();
    assert_eq!(actors, (0..40).collect::<Vec<_>>());
    assert_eq!(lines(&path).last().unwrap()["actor_id"], "39", "the newest has no number");
}

#[test]
fn only_so_many_files_are_kept() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    write(JsonLines::open(&path).unwrap().max_bytes(1).files(3), 0..10);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 3);
    for (file, actor) in [("audit.jsonl", "9"), ("audit.jsonl.1", "8"), ("audit.jsonl.2", "7")] {
        assert_eq!(lines(&directory.path().join(file))[0]["actor_id"], actor);
    }
}

#[test]
fn a_file_that_somebody_removes_or_renames_is_begun_anew() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let audit = every(1).start(JsonLines::open(&path).unwrap()).unwrap();
    let (world, reporter) = (exhausted(), Reporter::default().auditing(audit.clone()));
    let write = |id: u32| {
        world.ask(&reporter, &user(id));
        audit.finish(LONG)
    };
    assert!(write(1));
    fs::rename(&path, directory.path().join("shipped")).unwrap();
    assert!(write(2));
    assert_eq!(lines(&path)[0]["actor_id"], "2");
    assert_eq!(lines(&directory.path().join("shipped")).len(), 1);
    // While there is no directory, records wait.
    fs::remove_dir_all(&directory).unwrap();
    assert!(!write(3) && !write(4) && !write(3));
    fs::create_dir(&directory).unwrap();
    assert!(write(5));
    let told = lines(&path);
    let told: Vec<_> = told.iter().map(|line| (line["actor_id"].clone(), &line["count"])).collect();
    let expected = [("3", 2), ("4", 1), ("5", 1)].map(|(id, count)| (id.into(), count.into()));
    assert_eq!(told, expected.each_ref().map(|(id, count): &(Value, Value)| (id.clone(), count)));
}

#[test]
fn a_line_that_was_torn_stays_alone() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    fs::File::create(&path).unwrap().write_all(b"{\"kind\":\"rep").unwrap();
    write(JsonLines::open(&path).unwrap(), [1]);
    let text = fs::read_to_string(&path).unwrap();
    let (torn, whole) = text.split_once('\n').unwrap();
    assert_eq!(torn, "{\"kind\":\"rep");
    assert_eq!(serde_json::from_str::<Value>(whole).unwrap()["actor_id"], "1");
}

#[test]
fn t40_hostile_ids_stay_on_their_line() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let hostile =
        ["\n{\"kind\":\"forged\"}\n", "\u{1b}[2J", "\u{2028}\u{202e}\"\\", &"é".repeat(10_000)];
    let audit = every(1).start(JsonLines::open(&path).unwrap()).unwrap();
    for id in hostile {
        let ask = Ask { route: id.into(), ..Ask::of(Identity::new(id).user(id).token(id)) };
        let (world, reporter) = (exhausted(), Reporter::default().auditing(audit.clone()));
        while world.ask(&reporter, &ask) {}
    }
    assert!(audit.finish(LONG));
    let told = lines(&path);
    assert_eq!(told.len(), hostile.len());
    assert_eq!(told[0]["org_id"], "\\u{a}{\"kind\":\"forged\"}\\u{a}");
    assert!(told.iter().all(|line| line["kind"] == "repeated_throttling"));
    assert!(fs::metadata(&path).unwrap().len() < 8_000);
}

#[test]
fn a_place_where_nothing_can_be_written_is_found_at_the_start() {
    let found = JsonLines::open(tempdir().unwrap().path().join("no/such/audit.jsonl"));
    assert_eq!(found.unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn p81_while_a_disk_is_full_records_wait() {
    let audit = every(1).start(JsonLines::open("/dev/full").unwrap()).unwrap();
    let (world, reporter) = (exhausted(), Reporter::default().auditing(audit.clone()));
    for id in [1, 2, 1] {
        world.ask(&reporter, &user(id));
        assert!(!audit.finish(LONG));
    }
    assert_eq!(audit.waiting(), 2);
}
