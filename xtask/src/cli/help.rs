//! The texts that `help` shows.

use crate::stages;

/// The command on which help is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    Everything,
    Test,
    Quick,
    Advisories,
    Guard,
    Sim,
    Mutants,
    Contract,
    Bench,
}

const OVERVIEW: &str = "\
The commands of the repository.

usage: cargo xtask <command>

commands:
  test        prove the tree: install what is missing, then run every stage
  quick       what to run before a commit: format, lints and the fast tests
  advisories  ask whether a dependency has a known fault
  guard       compare instructions per decision with the committed figures
  sim         simulate nodes whose store fails, from seeds
  mutants     break the code on purpose and expect the tests to notice
  contract    write docs/contract.md and docs/seeds.md: which test holds which property and sentence
  bench       measure Tidegate beside its peers
  help        show this, or `help <command>`
";

const TEST: &str = "\
usage: cargo xtask test [--only <stage>]... [--list]

Runs the stages below in this order and stops at the first that fails.

  --only <stage>  run this stage alone; may be given several times
  --list          print the names of the stages and what they do

stages:
";

const QUICK: &str = "\
usage: cargo xtask quick

Checks the format, lints every target and runs the tests that start no server and search for seconds at
most: some minutes after a change of the core, seconds after a change of the server. What it lets
through, `cargo xtask test` may still find.
";

const ADVISORIES: &str = "\
usage: cargo xtask advisories

Fetches the database of security advisories and judges the dependencies by it. Not a stage of `test`:
what is known changes without the tree.
";

const GUARD: &str = "\
usage: cargo xtask guard [--bless]

Counts the instructions of one decision, scenario by scenario, under valgrind's callgrind, and
compares them with xtask/instructions.txt. Fails when one has grown by more than 3 %.

  --bless  accept the present counts: rewrites the file, to be committed with the change
           that explains them
";

const SIM: &str = "\
usage: cargo xtask sim [--seeds <n>] [--start <seed>] [--seed <seed>] [--adversary]

Builds the simulator of crates/tidegate-test and runs it: nodes, clients and a
store that fails, stalls and heals, all from one seed, checked after every step.

  --seeds <n>     run this many seeds
  --start <seed>  the first of them
  --seed <seed>   replay this one and print its trace
  --adversary     search for schedules that gain an attacker most

`cargo xtask sim -- --help` shows the arguments of the simulator itself.
";

const MUTANTS: &str = "\
usage: cargo xtask mutants [--only <name>]... [--jobs <n>] [--list]

Makes each change listed in xtask/mutants to a copy of the tree under the target directory, one at
a time, and runs the tests that have to notice. Fails if a mutant survives, or does not compile.

  --only <name>  try this mutant alone; may be given several times
  --jobs <n>     compile and test so many things at a time; as many as there are cores if not given
  --list         print the mutants and the properties they break
";

const CONTRACT: &str = "\
usage: cargo xtask contract [--check]

Writes docs/contract.md from the sentences in xtask/contract.txt and the numbers that the tests
carry in their names, and docs/seeds.md from xtask/seeds.txt, which names code and tests.

  --check  write nothing; fail if a page is out of date
";

const BENCH: &str = "\
usage: cargo xtask bench [--] [arguments of the benchmark]...

Builds crates/tidegate-bench with its peers in release mode and runs it: Tidegate and the others
alternate within one run, and ratios are reported. It is a measurement and no part of `test`.

  bench           decisions in this process
  bench server    the decision server, over HTTP
  bench redis     the shared store, on a Redis it starts
  bench attempts  abuse logs on one, beside the script they come from

`cargo xtask bench -- --help` shows the arguments of the benchmark itself.
";

/// The help text for `topic`.
pub(crate) fn help(topic: Topic) -> String {
    match topic {
        Topic::Everything => {
            let topics = Topic::ALL.map(|topic| format!("\n{}", help(topic)));
            format!("{OVERVIEW}{}", topics.concat())
        }
        Topic::Test => format!("{TEST}{}", stages::list()),
        Topic::Quick => QUICK.to_owned(),
        Topic::Advisories => ADVISORIES.to_owned(),
        Topic::Guard => GUARD.to_owned(),
        Topic::Sim => SIM.to_owned(),
        Topic::Mutants => MUTANTS.to_owned(),
        Topic::Contract => CONTRACT.to_owned(),
        Topic::Bench => BENCH.to_owned(),
    }
}

// === impl Topic ===

impl Topic {
    /// One topic for each command.
    pub(super) const ALL: [Self; 8] = [
        Self::Test,
        Self::Quick,
        Self::Advisories,
        Self::Guard,
        Self::Sim,
        Self::Mutants,
        Self::Contract,
        Self::Bench,
    ];

    /// The command that the topic is about.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Everything => "help",
            Self::Test => "test",
            Self::Quick => "quick",
            Self::Advisories => "advisories",
            Self::Guard => "guard",
            Self::Sim => "sim",
            Self::Mutants => "mutants",
            Self::Contract => "contract",
            Self::Bench => "bench",
        }
    }
}
