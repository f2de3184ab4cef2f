//! Files that are too large to be written out.

/// Each with the name of its expected text.
pub(crate) fn files() -> Vec<(&'static str, String)> {
    vec![
        ("file-too-large", format!("version: 1\n{}", "# more\n".repeat(1 << 18))),
        ("file-too-large-line", format!("version: {}", "1".repeat(1 << 20))),
        ("too-many-overrides", overrides(1_001, |index| format!("org-{index}"))),
        ("bad-override-too-many-patterns", overrides(65, |index| format!("org-{index}-*"))),
    ]
}

fn overrides(count: u64, value: impl Fn(u64) -> String) -> String {
    let mut text = "version: 1
policies:
  - name: api
    failure_mode: fail_open
    limits:
      - name: burst
        by: org
        bucket: { rate: 10/s, burst: 20 }
        overrides:
"
    .to_owned();
    for index in 0..count {
        let (value, burst) = (value(index), index % 7 + 1);
        text +=
            &format!("          - {{ match: {{ org: {value} }}, bucket: {{ burst: {burst} }} }}\n");
    }
    text
}
