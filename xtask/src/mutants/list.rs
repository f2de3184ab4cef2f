//! The format of the mutant lists, and how a mutant is applied to a file.
//!
//! ```text
//! # why, if it is not plain
//! mutant login-account-cap-of-four
//! breaks P24
//! file crates/tidegate-core/src/policy/caps.rs
//! test tidegate-core --lib caps
//! -Dimension::Account, count: 3,
//! +Dimension::Account, count: 4,
//! ```
//!
//! The lines after `-` are the text to find, which has to occur exactly once and may begin and end
//! within a line; those after `+` take its place. A `test` is a package, which of its targets to build
//! and what the names of the tests contain; with several of them one has to fail.

/// A wrong change to the code, and the tests that have to notice it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mutant {
    pub(crate) name: String,
    /// The properties that the change breaks.
    pub(crate) breaks: Vec<String>,
    pub(crate) file: String,
    pub(crate) tests: Vec<Tests>,
    pub(super) find: Vec<String>,
    pub(super) replace: Vec<String>,
}

/// Tests of one package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tests {
    pub(crate) package: String,
    /// The targets to build, such as `--lib` or `--test it`; all of them if empty.
    pub(crate) targets: Vec<String>,
    /// Parts of the names of tests; all tests of the targets if empty.
    pub(crate) filters: Vec<String>,
}

/// Parses a list; the error names the first mistake with its line or its mutant.
pub(crate) fn parse(text: &str) -> Result<Vec<Mutant>, String> {
    let mut mutants: Vec<Mutant> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |what: &str| format!("line {}: {what}: `{line}`", index + 1);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("mutant ") {
            mutants.push(Mutant { name: name.to_owned(), ..Mutant::default() });
            continue;
        }
        let mutant = mutants.last_mut().ok_or_else(|| wrong("before any mutant"))?;
        mutant.add(line).map_err(wrong)?;
    }
    match mutants.iter().find_map(|mutant| Some((&mutant.name, mutant.lacks()?))) {
        Some((name, what)) => Err(format!("{name} has no {what}")),
        None => Ok(mutants),
    }
}

// === impl Mutant ===

impl Mutant {
    /// The text of the file with this change made.
    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        let (find, replace) = (self.find.join("\n"), self.replace.join("\n"));
        match text.matches(&find).count() {
            1 if find == replace => Err("changes nothing".to_owned()),
            1 => Ok(text.replacen(&find, &replace, 1)),
            0 => Err(format!("its text is not in {}", self.file)),
            times => Err(format!("its text is {times} times in {}", self.file)),
        }
    }

    fn add(&mut self, line: &str) -> Result<(), &'static str> {
        if let Some(text) = line.strip_prefix('-') {
            self.find.push(text.to_owned());
        } else if let Some(text) = line.strip_prefix('+') {
            self.replace.push(text.to_owned());
        } else {
            match line.split_once(' ') {
                Some(("breaks", what)) => {
                    self.breaks.extend(what.split_whitespace().map(ToOwned::to_owned));
                }
                Some(("file", path)) if self.file.is_empty() => path.clone_into(&mut self.file),
                Some(("test", what)) => self.tests.push(Tests::parse(what)?),
                _ => return Err("neither breaks, file, test, - nor +"),
            }
        }
        Ok(())
    }

    fn lacks(&self) -> Option<&'static str> {
        match self {
            _ if self.breaks.is_empty() => Some("property that it breaks"),
            _ if self.file.is_empty() => Some("file"),
            _ if self.tests.is_empty() => Some("test"),
            _ if self.find.join("\n").trim().is_empty() => Some("text to find"),
            _ => None,
        }
    }
}

// === impl Tests ===

impl Tests {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let mut words = text.split_whitespace().map(ToOwned::to_owned);
        let package = words.next().ok_or("no package")?;
        let mut tests = Self { package, targets: Vec::new(), filters: Vec::new() };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--lib" => tests.targets.push(word),
                "--test" | "--bin" => {
                    let name = words.next().ok_or("a target without its name")?;
                    tests.targets.extend([word, name]);
                }
                option if option.starts_with('-') => return Err("an unknown kind of target"),
                _ => tests.filters.push(word),
            }
        }
        Ok(tests)
    }
}

#[cfg(test)]
mod self_test {
    use super::*;

    const LIST: &str = "\
# why
mutant one
breaks P24 P25
file a.rs
test core --lib caps p24
test test --test it --test redis
-let a = 1;
-    let b = 2;
+let a = 3;

mutant two
breaks P1
file b.rs
test core
-gone
";

    #[test]
    fn mutants_are_read() {
        let mutants = parse(LIST).unwrap();
        let [one, two] = mutants.as_slice() else { panic!("{mutants:?}") };
        assert_eq!((one.name.as_str(), one.file.as_str()), ("one", "a.rs"));
        assert_eq!(one.breaks, ["P24", "P25"]);
        assert_eq!(one.tests[0].targets, ["--lib"]);
        assert_eq!(one.tests[0].filters, ["caps", "p24"]);
        assert_eq!(one.tests[1].targets, ["--test", "it", "--test", "redis"]);
        assert_eq!(two.tests[0].package, "core");
        assert!(two.replace.is_empty());
    }

    #[test]
    fn a_change_is_made_where_the_text_is_once() {
        let mutants = parse(LIST).unwrap();
        let text = "{\nlet a = 1;\n    let b = 2;\n}";
        assert_eq!(mutants[0].apply(text).unwrap(), "{\nlet a = 3;\n}");
        assert_eq!(mutants[1].apply("be gone now").unwrap(), "be  now");
        assert_eq!(mutants[1].apply("here").unwrap_err(), "its text is not in b.rs");
        assert_eq!(mutants[1].apply("gone, gone").unwrap_err(), "its text is 2 times in b.rs");
        let same = parse("mutant x\nbreaks P01\nfile a\ntest t\n-a\n+a").unwrap();
        assert_eq!(same[0].apply("a").unwrap_err(), "changes nothing");
    }

    #[test]
    fn mistakes_are_told() {
        for (text, what) in [
            ("file a", "line 1: before any mutant"),
            ("mutant a\nfiel b", "line 2: neither breaks"),
            ("mutant a\nfile b\nfile c", "line 3: neither breaks"),
            ("mutant a\ntest core --exmaple b", "line 2: an unknown kind of target"),
            ("mutant a\ntest core --test", "line 2: a target without its name"),
            ("mutant a", "a has no property"),
            ("mutant a\nbreaks P01", "a has no file"),
            ("mutant a\nbreaks P01\nfile b", "a has no test"),
            ("mutant a\nbreaks P01\nfile b\ntest c\n+d", "a has no text to find"),
        ] {
            let mistake = parse(text).unwrap_err();
            assert!(mistake.starts_with(what), "{text}: {mistake}");
        }
    }
}
