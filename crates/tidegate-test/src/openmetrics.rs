//! Metrics, parsed as strictly as `OpenMetrics` 1.0 demands, and checked by the `promtool` of
//! Prometheus.
//!
//! A scraper forgives a lot, and its graphs are then silently wrong. So the text is parsed strictly
//! here: a family that is described twice or comes in pieces, a sample that occurs twice, and a
//! histogram without its last bucket are errors. Timestamps and exemplars are errors as well,
//! because we write none.

use std::collections::HashSet;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// A metric family: all metrics of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name of the family, without the suffixes of its samples.
    pub name: String,
    /// The type of the family, as it is written.
    pub kind: String,
    /// The samples of the family, in the order of the text.
    pub samples: Vec<Sample>,
}

/// One sample of a metric family.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The name of the sample, with its suffix.
    pub name: String,
    /// Names and values of the labels, in the order of the text.
    pub labels: Vec<(String, String)>,
    /// The value of the sample.
    pub value: f64,
}

/// The suffixes that samples of this type have; `None` for a type that does not exist.
fn suffixes(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "counter" => &["_total", "_created"],
        "gauge" | "unknown" => &[""],
        "histogram" => &["_bucket", "_sum", "_count", "_created"],
        "info" => &["_info"],
        _ => return None,
    })
}

/// Parses a whole exposition.
///
/// # Errors
///
/// What is wrong, and in which line.
pub fn read(text: &str) -> Result<Vec<Family>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("it does not end in `# EOF` and a line feed")?;
    let mut reader = Reader::default();
    for line in body.split_inclusive('\n') {
        let told = |wrong: String| format!("{wrong}: {line}");
        let line = line.strip_suffix('\n').ok_or_else(|| told("no line feed".to_owned()))?;
        match line.strip_prefix("# ") {
            Some(described) => reader.describe(described).map_err(told)?,
            None => reader.sample(line).map_err(told)?,
        }
    }
    for family in &reader.families {
        family.check().map_err(|wrong| format!("{}: {wrong}", family.name))?;
    }
    Ok(reader.families)
}

#[derive(Default)]
struct Reader {
    families: Vec<Family>,
    /// Keywords with names, and samples with their labels, that were read already.
    seen: HashSet<String>,
}

// === impl Reader ===

impl Reader {
    fn describe(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.splitn(3, ' ');
        let (Some(keyword), Some(name)) = (words.next(), words.next()) else {
            return Err("a description of nothing".to_owned());
        };
        let said = words.next().unwrap_or_default();
        if !self.seen.insert(format!("# {keyword} {name}")) {
            return Err("said twice".to_owned());
        }
        if self.families.last().is_none_or(|family| family.name != name) {
            let (name, kind) = (name.to_owned(), "unknown".to_owned());
            if self.families.iter().any(|family| family.name == name) {
                return Err("a family in pieces".to_owned());
            }
            self.families.push(Family { name, kind, samples: Vec::new() });
        }
        let family = self.families.last_mut().filter(|family| family.samples.is_empty());
        let family = family.ok_or("described after its samples")?;
        match keyword {
            "TYPE" if suffixes(said).is_some() => family.kind = said.to_owned(),
            "UNIT" if name.ends_with(&format!("_{said}")) => {}
            "HELP" => drop(unescaped(said)?),
            _ => return Err("no description of OpenMetrics".to_owned()),
        }
        Ok(())
    }

    fn sample(&mut self, line: &str) -> Result<(), String> {
        let (series, value) = line.rsplit_once(' ').ok_or("no value")?;
        if !self.seen.insert(series.to_owned()) {
            return Err("told twice".to_owned());
        }
        let (name, labels) = match series.split_once('{') {
            None => (series, Vec::new()),
            Some((name, rest)) => {
                let inner = rest.strip_suffix('}').ok_or("labels without an end")?;
                (name, labels(inner)?)
            }
        };
        let family = self.families.last_mut().ok_or("nothing was described")?;
        let suffix = name.strip_prefix(family.name.as_str()).ok_or("of another family")?;
        if !suffixes(&family.kind).is_some_and(|allowed| allowed.contains(&suffix)) {
            return Err(format!("no sample of a {}", family.kind));
        }
        let value = number(value)?;
        family.samples.push(Sample { name: name.to_owned(), labels, value });
        Ok(())
    }
}

/// Parses a number as `OpenMetrics` writes it; infinity has a sign.
fn number(text: &str) -> Result<f64, String> {
    match text {
        "+Inf" => Ok(f64::INFINITY),
        "-Inf" => Ok(f64::NEG_INFINITY),
        "NaN" => Ok(f64::NAN),
        _ if text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e')) => {
            text.parse().map_err(|_| format!("`{text}` is no number"))
        }
        _ => Err(format!("`{text}` is no number")),
    }
}

/// Undoes the escapes `\\`, `\"` and `\n` in a text; any other escape is an error.
fn unescaped(text: &str) -> Result<String, String> {
    let (mut plain, mut rest) = (String::new(), text.chars());
    while let Some(next) = rest.next() {
        plain.push(match next {
            '\\' => match rest.next() {
                Some('n') => '\n',
                Some(escaped @ ('\\' | '"')) => escaped,
                _ => return Err("an escape that is none".to_owned()),
            },
            next => next,
        });
    }
    Ok(plain)
}

fn labels(mut text: &str) -> Result<Vec<(String, String)>, String> {
    let mut labels: Vec<(String, String)> = Vec::new();
    loop {
        let (name, rest) = text.split_once("=\"").ok_or("a label without a value")?;
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name || name.bytes().next().is_none_or(|first| first.is_ascii_digit()) {
            return Err(format!("`{name}` is no name of a label"));
        }
        if labels.iter().any(|(other, _)| other == name) {
            return Err(format!("the label `{name}` twice"));
        }
        let mut escaped = false;
        let end = rest.find(|next| {
            let ends = next == '"' && !escaped;
            escaped = next == '\\' && !escaped;
            ends
        });
        let (value, rest) = rest.split_at(end.ok_or("a value without an end")?);
        labels.push((name.to_owned(), unescaped(value)?));
        match rest.strip_prefix('"').unwrap_or_default() {
            "" => return Ok(labels),
            more => text = more.strip_prefix(',').ok_or("labels without a comma")?,
        }
    }
}

// === impl Family ===

impl Family {
    fn check(&self) -> Result<(), String> {
        match self.kind.as_str() {
            "histogram" => self.check_histogram(),
            "counter" if self.samples.iter().any(|sample| !is_count(sample.value)) => {
                Err("a counter that is no count".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Checks that the buckets rise up to `+Inf`, and that this last one holds the whole count.
    fn check_histogram(&self) -> Result<(), String> {
        let of = |suffix: &str| {
            let name = format!("{}{suffix}", self.name);
            self.samples.iter().filter(move |sample| sample.name == name)
        };
        let rest = |sample: &Sample| -> Vec<(String, String)> {
            sample.labels.iter().filter(|(name, _)| name != "le").cloned().collect()
        };
        for count in of("_count") {
            if !of("_sum").any(|sum| sum.labels == count.labels) {
                return Err("a count without a sum".to_owned());
            }
            let (mut last, mut held) = (f64::NEG_INFINITY, 0.0);
            for bucket in of("_bucket").filter(|bucket| rest(bucket) == count.labels) {
                let bound = bucket.labels.iter().find(|(name, _)| name == "le");
                let bound = number(&bound.ok_or("a bucket without a bound")?.1)?;
                if bound <= last || bucket.value < held || !is_count(bucket.value) {
                    return Err("buckets that do not rise".to_owned());
                }
                (last, held) = (bound, bucket.value);
            }
            if last < f64::INFINITY {
                return Err("no bucket `+Inf`".to_owned());
            }
            if held.total_cmp(&count.value).is_ne() {
                return Err("the bucket `+Inf` does not hold all".to_owned());
            }
        }
        match of("_bucket").all(|bucket| of("_count").any(|count| rest(bucket) == count.labels)) {
            true => Ok(()),
            false => Err("buckets without a count".to_owned()),
        }
    }
}

fn is_count(value: f64) -> bool {
    (0.0..f64::INFINITY).contains(&value)
}

/// Runs the linter of Prometheus on a text in its format 0.0.4; the linter must report nothing.
///
/// # Panics
///
/// If the linter reports anything, or is not installed.
#[track_caller]
pub fn lint(prometheus: &str) {
    let said = promtool(&["check", "metrics"], prometheus);
    let told = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
    assert!(said.status.success() && told.is_empty(), "{told}\n{prometheus}");
}

/// Has Prometheus evaluate an expression on the samples of these families; the result must be
/// `number`.
///
/// # Panics
///
/// If the result is something else, or promtool is not installed.
#[track_caller]
pub fn evaluates(families: &[Family], expression: &str, number: &str) {
    let mut tests = String::from("tests:\n- interval: 1m\n  input_series:\n");
    for Sample { name, labels, value } in families.iter().flat_map(|family| &family.samples) {
        let labels: Vec<_> =
            labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        let series = format!("{name}{{{}}}", labels.join(",")).replace('\'', "''");
        tests.push_str(&format!("  - series: '{series}'\n    values: '{value}'\n"));
    }
    tests.push_str(&format!(
        "  promql_expr_test:\n  - expr: '{expression}'\n    eval_time: 0m\n    \
         exp_samples:\n    - labels: '{{}}'\n      value: {number}\n"
    ));
    let mut file = tempfile::NamedTempFile::new().expect("a file for promtool");
    file.write_all(tests.as_bytes()).expect("room for a file");
    let path = file.path().to_str().expect("a path that is text");
    let said = promtool(&["test", "rules", path], "");
    let told = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
    assert!(said.status.success(), "{told}\n{tests}");
}

fn promtool(args: &[&str], input: &str) -> Output {
    let mut promtool = Command::new("promtool")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool, which is in the package `prometheus`");
    let mut stdin = promtool.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("promtool reads");
    drop(stdin);
    promtool.wait_with_output().expect("promtool ends")
}

#[cfg(test)]
mod tests {
    //! What is strict enough to be believed.

    use super::*;

    const GOOD: &str = "\
# HELP a_seconds How long.
# TYPE a_seconds histogram
# UNIT a_seconds seconds
a_seconds_sum 0.5
a_seconds_count 3
a_seconds_bucket{le=\"0.1\"} 2
a_seconds_bucket{le=\"+Inf\"} 3
# HELP b How many.
# TYPE b counter
b_total{of=\"x\\\"y\\\\\",and=\"},\"} 7
# EOF
";

    #[test]
    fn what_is_right_is_read() {
        let families = read(GOOD).unwrap();
        assert_eq!(families.len(), 2);
        assert_eq!((families[0].kind.as_str(), families[0].samples.len()), ("histogram", 4));
        let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(families[1].samples[0].labels, [label("of", "x\"y\\"), label("and", "},")]);
        evaluates(&families, "round(histogram_quantile(0.5, a_seconds_bucket) * 1000)", "75");
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for (part, instead, why) in [
            ("# EOF\n", "", "does not end"),
            ("\"+Inf\"", "\"1.7976931348623157e308\"", "no bucket `+Inf`"),
            ("\"+Inf\"", "\"inf\"", "`inf` is no number"),
            ("count 3", "count 4", "does not hold all"),
            ("} 2", "} 4", "do not rise"),
            ("_sum 0.5", "_total 0.5", "no sample of a histogram"),
            ("# TYPE b counter", "# TYPE b count", "no description"),
            ("# TYPE b counter", "# TYPE a_seconds counter", "said twice"),
            ("# UNIT a_seconds seconds", "# UNIT a_seconds metres", "no description"),
            ("and=", "of=", "twice"),
            ("y\\\\", "y\\t", "an escape that is none"),
            ("b_total", "b", "no sample of a counter"),
            ("b_total", "a_seconds_total", "of another family"),
            (" 7", " -7", "no count"),
            (" 7", " 7 1", "labels without an end"),
            (" 7\n", " 7\n\n", "no value"),
        ] {
            let text = GOOD.replacen(part, instead, 1);
            assert_ne!(text, GOOD, "{part}");
            let error = read(&text).unwrap_err();
            assert!(error.contains(why), "{part}: {error}");
        }
    }
}
