//! The page of contract version 2 tells the truth: what it calls refused is refused, for the reason it
//! shows, and what it says to write instead loads.

use tidegate_engine::file::{File, NoDoor};

use crate::texts;

/// The codes of the errors of these policies, and the whole answer.
fn read(policies: &str) -> (Vec<&'static str>, String) {
    let text = format!("version: 1\npolicies:\n{policies}");
    match File::<NoDoor>::parse("f.yaml", &text) {
        Ok(_) => (Vec::new(), String::new()),
        Err(refused) => {
            let codes = refused.problems().iter().map(|problem| problem.wrong().code()).collect();
            (codes, refused.to_string())
        }
    }
}

#[test]
fn a42_files_of_version_1_are_refused_as_the_page_says_and_what_it_says_instead_loads() {
    let page = texts("../../docs", "md").into_iter().find(|(name, _)| name == "contract-2");
    let page = page.unwrap().1;
    let mut tried = 0;
    for section in page.split("\n## ").filter(|section| section.contains("error[")) {
        let message = section.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
        let code = message.split(['[', ']']).nth(1).unwrap();
        for (place, rest) in section.split("```yaml\n").enumerate().skip(1) {
            let policies = rest.split("```").next().unwrap();
            let (codes, shown) = read(policies);
            if place > 1 {
                assert_eq!(codes, [""; 0], "{policies}{shown}");
            } else {
                assert!(codes.contains(&code), "{code} is not in {codes:?}\n{policies}");
                let first = message.lines().next().unwrap();
                assert!(shown.lines().any(|line| line == first), "{first}\n{shown}");
                let helps = message.lines().skip(1).map(str::trim);
                assert!(helps.into_iter().all(|help| shown.contains(help)), "{message}\n{shown}");
            }
            tried += 1;
        }
    }
    assert_eq!(tried, 9);
}
