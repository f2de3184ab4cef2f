//! Commands that run to their end.

use serde_json::Value;

use crate::process::{pasted, ran, ran_with};

const COMMANDS: [&str; 12] = [
    "serve",
    "validate",
    "example",
    "schema",
    "check",
    "explain",
    "block",
    "unblock",
    "reset",
    "blocks",
    "bench",
    "completions",
];

#[test]
fn help_teaches_every_command() {
    let help = ran(&["--help"]);
    assert_eq!(help.code, 0);
    for command in COMMANDS {
        assert!(help.out.contains(&format!("\n  {command} ")), "{command} in {}", help.out);
        let own = ran(&[command, "--help"]);
        assert_eq!((own.code, own.err.as_str()), (0, ""));
        assert!(own.out.contains("Example"), "`{command} --help` shows no example:\n{}", own.out);
        assert!(own.out.contains("Usage:"));
    }
    assert!(help.out.contains("Exit codes:"));
    assert_eq!(ran(&["--version"]).out, format!("tidegate {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_wrong_command_line_is_told_and_ends_with_2() {
    for (args, told) in [
        (&["chekc"][..], "check"),
        (&["serve", "--listen", "nowhere"], "--listen"),
        (&["--threads", "none"], "--threads"),
        (&["--log-format", "xml"], "human"),
        (&["check"], "POLICY"),
        (&["check", "api", "--ip", "1.2.3"], "--ip"),
        (&["check", "api", "--server", "x", "--config", "y"], "--config"),
        (&["block", "login", "--account", "a"], "--for"),
        (&["block", "login", "--for", "1h", "--level", "L1"], "--level"),
        (&["unblock"], "POLICY"),
        (&["unblock", "login", "--key", "00"], "--key"),
        (&["blocks"], "TIDEGATE_ADMIN_TOKEN"),
        (&["validate"], "FILE"),
        (&["bench", "--connections", "0"], "--connections"),
        (&["bench", "--duration", "10m"], "min"),
        (&["completions", "tcsh"], "bash"),
    ] {
        let ran = ran(args);
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.err.contains(told), "{args:?}: {}", ran.err);
        assert_eq!(ran.out, "", "mistakes are told on standard error");
    }
}

#[test]
fn the_example_is_good() {
    let example = ran(&["example"]).out;
    let checked = ran_with(&["validate", "-"], &example);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert_eq!(checked.out, "standard input: good; 4 policies, 17 limits\n");
}

#[test]
fn the_schema_knows_every_section_and_no_other() {
    let schema: Value = serde_json::from_str(&ran(&["schema"]).out).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let follows = |text: &str| schema.is_valid(&serde_saphyr::from_str::<Value>(text).unwrap());
    let example = ran(&["example"]).out;
    // Its last sections are comments: the defaults. Here they are written out.
    let (policies, defaults) = example.split_once("# Everything below").unwrap();
    let section = |line: &&str| {
        let names = ["# memory: ", "# store: ", "# secret_file: ", "# server:", "#   ", "# log: "];
        let names = names.iter().chain(&["# previous_secret_file: "]);
        names.into_iter().any(|name| line.starts_with(name))
    };
    let defaults: Vec<_> = defaults.lines().filter(section).map(|line| &line[2..]).collect();
    let whole = format!("{policies}\n{}\n", defaults.join("\n"));
    for section in [
        "memory: ",
        "store: ",
        "secret_file: ",
        "previous_secret_file: ",
        "server:",
        "  gate:",
        "log: ",
    ] {
        assert!(whole.contains(&format!("\n{section}")), "{section} in {whole}");
    }
    let checked = ran_with(&["validate", "-"], &whole);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert!(follows(&example) && follows(&whole));
    for wrong in ["memroy: {}", "store: memroy", "server: { listne: x }", "log: { level: loud }"] {
        let text = format!("{example}\n{wrong}\n");
        assert!(!follows(&text), "{wrong}");
        assert_eq!(ran_with(&["validate", "-"], &text).code, 2, "{wrong}");
    }
}

#[test]
fn validate_tells_good_from_bad_and_what_is_wrong_with_each() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (good, bad, gone) = (path("good.yaml"), path("bad.yaml"), path("gone.yaml"));
    std::fs::write(&good, ran(&["example"]).out).unwrap();
    let typo = ran(&["example"]).out.replace("rate: 1/min", "rat: 1/min");
    std::fs::write(&bad, typo).unwrap();
    let ran = ran(&["validate", &good, &bad, &gone]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("good.yaml: good; 4 policies, 17 limits"), "{}", ran.out);
    assert!(!ran.out.contains("bad.yaml"));
    for told in ["bad.yaml:", "`rat`", "`rate`", "gone.yaml"] {
        assert!(ran.err.contains(told), "`{told}` in {}", ran.err);
    }
}

/// The limits of one policy, in the form of a file.
fn file_of(limits: &str) -> String {
    format!(
        "version: 1\npolicies:\n  - name: api\n    failure_mode: degraded\n    limits:\n{limits}"
    )
}

#[test]
fn validate_lists_the_limits_that_a_restart_would_begin_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (old, new) = (path("old.yaml"), path("new.yaml"));
    let before = file_of(
        "      - { name: burst, by: org, bucket: { rate: 10/h, burst: 5 } }
      - { name: many, by: org, window: { count: 10, per: 1h } }
      - { name: monthly, by: org, quota: { count: 500, per: month } }
      - { name: each, by: user, quota: { count: 10, per: day } }
",
    );
    let after = file_of(
        "      - { name: burst, by: org, bucket: { rate: 10/2h, burst: 5 } }
      - { name: many, by: org, named_key: true, window: { count: 9, per: 1h } }
      - { name: monthly, by: org, quota: { count: 500, per: month, billing_day: 15 } }
      - { name: each, by: [org, user], quota: { count: 10, per: day } }
      - { name: more, by: org, window: { count: 20, per: 1d } }
",
    );
    std::fs::write(&old, &before).unwrap();
    std::fs::write(&new, after).unwrap();
    let told = ran(&["validate", &new, "--against", &old]);
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    assert_eq!(
        told.out,
        format!(
            "{new}: good; 1 policy, 5 limits
{new}: 4 limits begin anew if nodes are restarted with this file:
  api/burst: its keys were rl:{{org}}:w1h and are rl:{{org}}:w2h now; reload the file instead, and it goes on
  api/many: its keys were rl:{{org}}:sw1h and are rl:{{org}}:limit:many:sw1h now; reload the file instead, and it goes on
  api/each: it counted by user and counts by org+user now; a reload does not help
  api/more: it is new, or had another name
"
        )
    );
    let same = ran(&["validate", &old, "--against", &old]);
    assert!(same.out.contains("no limit begins anew"), "{}", same.out);
    let gone = ran(&["validate", &old, "--against", &path("gone.yaml")]);
    assert_eq!(gone.code, 2);
    assert!(gone.err.contains("gone.yaml"), "{}", gone.err);
}

#[test]
fn p84_a_hostile_file_moves_no_cursor() {
    let hostile = "version: 1\n\"\\e[2J\\a\": x\npolicies: [\"\u{9b}31m\u{202e}\"]\n";
    let ran = ran_with(&["validate", "-"], hostile);
    assert_eq!(ran.code, 2);
    assert!(!ran.err.contains(['\x1b', '\x07', '\u{9b}', '\u{202e}']), "{:?}", ran.err);
}

#[test]
fn completions_are_there_for_every_shell() {
    for (shell, sign) in [
        ("bash", "_tidegate"),
        ("zsh", "#compdef tidegate"),
        ("fish", "complete -c tidegate"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let ran = ran(&["completions", shell]);
        assert_eq!(ran.code, 0);
        assert!(ran.out.contains(sign) && ran.out.contains("explain"), "{shell}");
    }
}

#[test]
fn nobody_has_to_read_to_the_end() {
    let binary = env!("CARGO_BIN_EXE_tidegate");
    for command in ["schema", "example", "completions bash", "--help"] {
        let line = format!("'{binary}' {command} | head -n 1; [ \"$?\" = 0 ]");
        assert!(!pasted(&line).is_empty(), "{command}");
    }
}
