//! The form in which a counter is kept and asked about: the arguments that a charge brings for it, with
//! their names, and the texts that read and write it, from the parts in `lua/`.
//!
//! A shape has one form or several. Only this module tells them apart: `template.rs` puts the texts of
//! several counters together, whatever their forms.

mod attempts;

use std::sync::LazyLock;

use tidegate_core::{Charge, Counts, Period, Shape};

use super::args::ScriptArgs;
use super::parts::Parts;

#[cfg(test)]
pub(crate) use attempts::Manner;
pub(crate) use attempts::{ATTEMPTS, LogForm};

static BUCKET: LazyLock<Parts> = LazyLock::new(|| Parts::of(include_str!("lua/bucket.lua")));
static QUOTA: LazyLock<Parts> = LazyLock::new(|| Parts::of(include_str!("lua/quota.lua")));
static WINDOW: LazyLock<Parts> = LazyLock::new(|| Parts::of(include_str!("lua/window.lua")));

/// The form in which a counter is kept and asked about. A shape has one or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    Bucket,
    Fixed,
    FirstUse,
    Calendar,
    Ring,
    Grid,
    /// A grid whose charge brings the table of a backoff.
    Backoff,
    Attempts(LogForm),
}

// === impl Form ===

impl Form {
    /// The form of the counter of a charge.
    pub(super) fn of(charge: &Charge<'_>) -> Self {
        match charge.shape() {
            Shape::Bucket(_) => Self::Bucket,
            Shape::Quota(quota) => match quota.period() {
                Period::Fixed(_) => Self::Fixed,
                Period::FirstUse(_) => Self::FirstUse,
                Period::Calendar(_) => Self::Calendar,
            },
            Shape::Window(window) if window.is_exact() => Self::Ring,
            Shape::Window(window) => match window.counts() {
                Counts::Attempts(Some(_)) => Self::Backoff,
                Counts::Attempts(None) | Counts::Admitted => Self::Grid,
            },
            Shape::Attempts(attempts) => {
                Self::Attempts(LogForm::of(attempts, charge.member() != 0))
            }
        }
    }

    /// Whether the counter is a window, in any of its forms.
    pub(super) const fn is_window(self) -> bool {
        matches!(self, Self::Ring | Self::Grid | Self::Backoff)
    }

    /// The arguments of a charge beside its cost and the most that fits: their names, and how they are
    /// packed. The member of a charge, if it names one, comes after them.
    const fn arguments(self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::Bucket => (&["r", "p"], "LL"),
            Self::Fixed | Self::FirstUse => (&["length"], "L"),
            Self::Calendar => (&["first", "second", "third", "fourth"], "LLLL"),
            Self::Ring | Self::Grid => (&["per"], "L"),
            Self::Backoff => (&["per", "rows"], "Lc256"),
            Self::Attempts(log) => log.arguments(),
        }
    }

    const fn is_distinct(self) -> bool {
        matches!(self, Self::Attempts(LogForm { distinct: true, .. }))
    }

    /// The names of all arguments of a charge, in order.
    pub(super) fn names(self) -> Vec<String> {
        let own = self.arguments().0.iter().chain(self.is_distinct().then_some(&"member"));
        ["cost", "full"].iter().chain(own).map(|name| format!("{name}$")).collect()
    }

    /// How the arguments of a charge are packed.
    pub(super) fn packed(self) -> String {
        ["LL", self.arguments().1, if self.is_distinct() { "c8" } else { "" }].concat()
    }

    /// A part of the file of this form. Windows have some parts twice: for a ring and for a grid.
    fn part(self, name: &str) -> &'static str {
        match self {
            Self::Bucket => BUCKET.get(name),
            Self::Fixed | Self::FirstUse | Self::Calendar => QUOTA.get(name),
            Self::Ring => WINDOW.get(&[name, " ring"].concat()),
            Self::Grid | Self::Backoff => WINDOW.get(&[name, " grid"].concat()),
            Self::Attempts(_) => ATTEMPTS.get(name),
        }
    }
}

/// The script texts of each form.
impl Form {
    /// The text that reads the counter and checks it; with `counts`, it sees whether there is room, and
    /// with `returns`, it finds what is given back.
    pub(super) fn read(self, counts: bool, returns: bool) -> String {
        let room = |name| if counts { self.part(name) } else { "" };
        let quota = |period| [self.part("read"), room(period), room("room")].concat();
        let window = |is_ring: bool| {
            let [begin, charges] = ["read", "read charges"].map(|name| WINDOW.get(name));
            let [names, read] = ["names", "read"].map(|name| self.part(name));
            let room = room("room");
            format!("{begin}{names}do\nlocal ring$ = {is_ring}\n{charges}{read}end\n{room}")
        };
        match self {
            Self::Bucket => self.part("read").to_owned(),
            Self::Fixed => quota("read fixed"),
            Self::FirstUse => quota("read first use"),
            Self::Calendar => quota("read calendar"),
            Self::Ring => window(true),
            Self::Grid | Self::Backoff => window(false),
            Self::Attempts(log) if returns => log.read(counts) + &log.find(),
            Self::Attempts(log) => log.read(counts),
        }
    }

    /// The text that counts the cost and writes the counter: for a charge that `fits`, or in any case.
    pub(super) fn count(self, fits: bool) -> String {
        let more = match self {
            // An abuse log may have nothing to write.
            Self::Attempts(log) => return log.count(),
            Self::Backoff => WINDOW.get("take backoff"),
            _ if fits || self.is_window() => "",
            _ => self.part("most"),
        };
        ["do\n", self.part("take"), more, &self.write(), "end\n"].concat()
    }

    /// The condition under which a refused request is counted, for a limit that counts such requests;
    /// `attempts` says whether it counts all of them, or only those that it refuses itself.
    pub(super) const fn counts_refused(self, attempts: bool) -> &'static str {
        match self {
            Self::Attempts(_) if attempts => "true",
            Self::Attempts(_) => "not room$",
            _ => "cost$ <= full$",
        }
    }

    /// The text that gives back what was counted.
    pub(super) fn back(self) -> String {
        match self {
            Self::Attempts(log) => log.back(),
            _ => self.part("back").to_owned(),
        }
    }

    /// The text that takes out everything ever counted; `None` for a form that cannot be forgiven.
    pub(super) fn forgive(self) -> Option<String> {
        match self {
            Self::Attempts(log) => Some(log.forgive()),
            _ => None,
        }
    }

    /// The text that writes the counter, with a time to live that covers all it has to remember.
    pub(super) fn write(self) -> String {
        match self {
            Self::Attempts(log) => log.write(),
            _ => self.part("write").to_owned(),
        }
    }

    /// The expression for the expiry, in ms, of a counter that was found.
    pub(super) const fn found_expiry(self) -> &'static str {
        match self {
            Self::Bucket => "v$ and unpack('<L', v$, 43) or 0",
            _ => "keeps$",
        }
    }

    /// The text for a counter that was found under a former name in the millisecond in which it
    /// expires. Some servers delete such a key at once, so the counter is then written whole. A quota
    /// is set for one millisecond more, because something may be given back in place even if its period
    /// is long over.
    pub(super) const fn adopted_late(self) -> &'static str {
        match self {
            Self::Fixed | Self::FirstUse | Self::Calendar => {
                "call('SET', keys[$], v$, 'PXAT', string.format('%d', (clock - clock % 1000) / 1000 + 1))"
            }
            _ => "keeps$ = -1",
        }
    }
}

/// Packs the arguments of a charge beside its cost and the most that fits, in the order of
/// [`Form::arguments`].
pub(super) fn pack(charge: &Charge<'_>, args: &mut ScriptArgs) {
    match charge.shape() {
        Shape::Bucket(bucket) => {
            args.put(bucket.units_per_micro());
            args.put(bucket.units_per_token());
        }
        Shape::Quota(quota) => match quota.period() {
            Period::Fixed(length) | Period::FirstUse(length) => args.span(*length),
            Period::Calendar(calendar) => {
                let periods = calendar.periods();
                periods.bounds().iter().for_each(|bound| args.put(bound.as_micros()));
            }
        },
        Shape::Window(window) => {
            args.span(window.per());
            if let Counts::Attempts(Some(backoff)) = window.counts() {
                backoff.rows().iter().for_each(|row| args.span(*row));
            }
        }
        Shape::Attempts(attempts) => attempts::pack(charge, attempts, args),
    }
}
