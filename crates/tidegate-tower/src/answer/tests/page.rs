//! The examples of `docs/http-answers.md` are what is really answered.

use std::path::Path;

use super::golden::{REFUSALS, committed};

/// The code blocks of the page that are responses.
fn examples(page: &str) -> Vec<&str> {
    let blocks = page.split("```http\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap()).collect()
}

/// Without spaces and line ends: bodies are laid out for reading.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn the_examples_of_the_page_are_golden() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http-answers.md");
    let page = std::fs::read_to_string(path).unwrap();
    let golden = committed(REFUSALS);
    let responses: Vec<String> = golden
        .split("== ")
        .filter_map(|section| section.split_once('\n'))
        .map(|(_, response)| squeezed(response))
        .collect();
    let examples = examples(&page);
    assert!(examples.len() >= 5, "one for each body, one at an entrance, one for gRPC");
    for example in examples {
        assert!(responses.contains(&squeezed(example)), "nobody is answered like this:\n{example}");
    }
}
