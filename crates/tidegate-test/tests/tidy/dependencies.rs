//! Which crate may name which: the arrows point one way.
//!
//! A store that could call the engine, or a core that could await, would do so one day. The table is
//! the one of ARCHITECTURE.md, with the crates that are still to come.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::demand_none;
use crate::tree::{self, File};

/// Who may be named.
enum May {
    Name(&'static [&'static str]),
    /// Any crate but the judge.
    NameAll,
}

const CORE: &str = "tidegate-core";
const ENGINE: &str = "tidegate-engine";
const TOWER: &str = "tidegate-tower";
const JUDGE: &str = "tidegate-test";

const ARROWS: &[(&str, May)] = &[
    (CORE, May::Name(&[])),
    (ENGINE, May::Name(&[CORE])),
    ("tidegate-stores", May::Name(&[CORE])),
    (TOWER, May::Name(&[CORE, ENGINE])),
    ("tidegate-gateway", May::Name(&[CORE, ENGINE, TOWER])),
    ("tidegate-server", May::Name(&[CORE, ENGINE, TOWER])),
    ("tidegate", May::NameAll),
    ("tidegate-bench", May::NameAll),
    ("tidegate-fuzz", May::NameAll),
    ("tidegate-guard", May::Name(&[CORE, ENGINE])),
    (JUDGE, May::NameAll),
    ("xtask", May::Name(&[])),
];

/// What would let the core wait, serialise, ask the time or roll dice; subcrates included.
const NOT_IN_CORE: &[&str] = &[
    "async",
    "futures",
    "getrandom",
    "hyper",
    "mio",
    "quanta",
    "rand",
    "redis",
    "serde",
    "smol",
    "sqlx",
    "tokio",
    "tracing",
];

/// A dependency as one manifest states it.
struct Dependency {
    name: String,
    only_for_tests: bool,
}

#[test]
fn arrows_point_one_way() {
    let workspace = tree::read("Cargo.toml").unwrap();
    let complaints: Vec<String> = tree::member_manifests()
        .iter()
        .flat_map(|manifest| complaints(manifest, &workspace.text))
        .collect();
    demand_none(&complaints);
}

/// What is wrong with the dependencies of one manifest.
fn complaints(manifest: &File, workspace: &str) -> Vec<String> {
    let path = &manifest.path;
    let table: Table = manifest.text.parse().unwrap();
    let member = table["package"]["name"].as_str().unwrap();
    let Some((_, may)) = ARROWS.iter().find(|(name, _)| *name == member) else {
        return vec![format!(
            "{path}: `{member}` is new; give it a row in ARCHITECTURE.md and in the tidy test"
        )];
    };
    let renames = renames(workspace);
    dependencies(&table, &renames)
        .iter()
        .filter_map(|dependency| objection(member, may, dependency))
        .map(|objection| format!("{path}: {objection}"))
        .collect()
}

fn objection(member: &str, may: &May, dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    if ARROWS.iter().any(|(known, _)| *known == name) {
        return forbidden_arrow(member, may, dependency);
    }
    let impure = |root: &&str| {
        let rest = name.strip_prefix(*root);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
    };
    (member == CORE && !dependency.only_for_tests && NOT_IN_CORE.iter().any(impure))
        .then(|| format!("the core is pure and cannot use `{name}`; that belongs to the engine"))
}

fn forbidden_arrow(member: &str, may: &May, dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    if name == JUDGE && member != CORE && member != "xtask" {
        return (!dependency.only_for_tests)
            .then(|| format!("`{JUDGE}` judges from outside; move it to [dev-dependencies]"));
    }
    match may {
        May::NameAll => None,
        May::Name(names) if names.contains(&name) => None,
        May::Name([]) => Some(format!("`{member}` names no crate of the workspace, not `{name}`")),
        May::Name(names) => Some(format!(
            "`{member}` may name {} but not `{name}`; move the code to where the arrow may start",
            names.join(", ")
        )),
    }
}

/// All dependencies, of every kind and every target, under their real names.
fn dependencies(manifest: &Table, renames: &BTreeMap<String, String>) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let mut found = Vec::new();
    for place in targets.chain([manifest]) {
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let only_for_tests = kind == "dev-dependencies";
            for (key, value) in place.get(kind).and_then(Value::as_table).into_iter().flatten() {
                let package = value.get("package").and_then(Value::as_str);
                let name = package.or(renames.get(key).map(String::as_str)).unwrap_or(key);
                found.push(Dependency { name: name.to_owned(), only_for_tests });
            }
        }
    }
    found
}

/// The dependencies the workspace renames for its members.
fn renames(workspace: &str) -> BTreeMap<String, String> {
    let table: Table = workspace.parse().unwrap();
    let shared = table["workspace"]["dependencies"].as_table().unwrap();
    let package = |value: &Value| Some(value.get("package")?.as_str()?.to_owned());
    shared.iter().filter_map(|(key, value)| Some((key.clone(), package(value)?))).collect()
}

#[cfg(test)]
mod self_test {
    use super::*;

    const WORKSPACE: &str = "[workspace.dependencies]\nkernel = { package = 'tidegate-engine' }\n";

    fn said(member: &str, tables: &str) -> String {
        let text = format!("[package]\nname = '{member}'\n{tables}");
        complaints(&File::new("Cargo.toml", &text), WORKSPACE).join("\n")
    }

    #[test]
    fn the_right_way_is_silent() {
        assert_eq!(said("tidegate-engine", "[dependencies]\ntidegate-core.workspace = true"), "");
        assert_eq!(said("tidegate-engine", "[dev-dependencies]\ntidegate-test = '1'"), "");
        assert_eq!(said("tidegate-core", "[dev-dependencies]\nserde = '1'"), "");
        assert_eq!(said("tidegate-core", "[dependencies]\nrandomise = '1'"), "");
    }

    #[test]
    fn an_arrow_that_turns_back_is_found() {
        for (member, tables) in [
            ("tidegate-core", "[dependencies]\ntidegate-engine = '1'"),
            ("tidegate-core", "[dev-dependencies]\ntidegate-test = '1'"),
            ("tidegate-stores", "[build-dependencies]\ntidegate-engine = '1'"),
            ("tidegate-stores", "[dependencies]\nx = { package = 'tidegate-engine' }"),
            ("tidegate-stores", "[dependencies]\nkernel.workspace = true"),
            ("tidegate-engine", "[target.'cfg(loom)'.dependencies]\ntidegate-tower = '1'"),
            ("xtask", "[dependencies]\ntidegate-core = '1'"),
        ] {
            assert!(said(member, tables).contains("not `tidegate-"), "{member} {tables}");
        }
    }

    #[test]
    fn the_judge_is_for_tests_alone() {
        for member in ["tidegate", "tidegate-engine", "tidegate-bench"] {
            let said = said(member, "[dependencies]\ntidegate-test = '1'");
            assert!(said.contains("move it to [dev-dependencies]"), "{member}: {said}");
        }
    }

    #[test]
    fn the_core_cannot_wait_or_serialise() {
        for name in ["tokio", "serde", "serde_json", "async-trait", "futures-util", "quanta"] {
            let said = said("tidegate-core", &format!("[dependencies]\n{name} = '1'"));
            assert!(said.contains("the core is pure"), "{name}: {said}");
        }
    }

    #[test]
    fn a_crate_nobody_placed_is_found() {
        assert!(said("tidegate-extra", "").contains("give it a row"));
    }
}
