//! The form in which a counter is kept and asked about: the arguments that a charge brings for it, with
//! their names, and the texts that read and write it, from the parts in `lua/`.
//!
//! A shape has one form or several. Only this module tells them apart: `template.rs` puts the texts of
//! several counters together, whatever their forms.

mod attempts;

use std::sync::LazyLock;

use tidegate_core::{Charge, Counts, Period, Shape};

use super::args::Args;
use super::parts::Parts;

#[cfg(test)]
pub(crate) use attempts::Manner;
pub(crate) use attempts::{ATTEMPTS, Log};

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
    Attempts(Log),
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
            Shape::Attempts(attempts) => Self::Attempts(Log::of(attempts, charge.member() != 0)),
        }
    }

    /// Whether the counter is a window, in any of its forms.
    pub(super) const fn is_window(self) -> bool {
        matches!(self, Self::Ring | Self::Grid | Self::Backoff)
    }

    /// The arguments of a charge beside its cost and the most that fits: their names, and how they are
    /// packed.
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

    /// The names of all arguments of a charge, in order.
    pub(super) fn names(self) -> Vec<String> {
        let more = self.arguments().0.iter();
        ["cost", "full"].iter().chain(more).map(|name| format!("{name}$")).collect()
    }

    /// How the arguments of a charge are packed, beside its cost and the most that fits.
    pub(super) const fn packed(self) -> &'static str {
        self.arguments().1
    }
}

/// The script texts of each form.
impl Form {
    /// The text that reads the counter and checks it; with `counts`, it sees whether there is room, and
    /// with `returns`, it finds what is given back.
    pub(super) fn read(self, counts: bool, returns: bool) -> String {
        let room = |text: &'static str| if counts { text } else { "" };
        let quota = |period: &str| {
            [QUOTA.get("read"), room(QUOTA.get(period)), room(QUOTA.get("room"))].concat()
        };
        let window = |is_ring: &str, names: &str, read: &str| {
            let (charges, read) = (WINDOW.get("read charges"), WINDOW.get(read));
            let (begin, names) = (WINDOW.get("read"), WINDOW.get(names));
            format!("{begin}{names}do\nlocal ring$ = {is_ring}\n{charges}{read}end\n")
        };
        match self {
            Self::Bucket => BUCKET.get("read").to_owned(),
            Self::Fixed => quota("read fixed"),
            Self::FirstUse => quota("read first use"),
            Self::Calendar => quota("read calendar"),
            Self::Ring => window("true", "names ring", "read ring") + room(WINDOW.get("room ring")),
            Self::Grid | Self::Backoff => {
                window("false", "names grid", "read grid") + room(WINDOW.get("room grid"))
            }
            Self::Attempts(log) if returns => log.read(counts) + &log.find(),
            Self::Attempts(log) => log.read(counts),
        }
    }

    /// The text that counts the cost and writes the counter: for a charge that `fits`, or in any case.
    pub(super) fn count(self, fits: bool) -> String {
        let take = match self {
            Self::Bucket if fits => BUCKET.get("take"),
            Self::Bucket => BUCKET.get("there"),
            Self::Fixed | Self::FirstUse | Self::Calendar if fits => QUOTA.get("take"),
            Self::Fixed | Self::FirstUse | Self::Calendar => QUOTA.get("there"),
            Self::Ring => WINDOW.get("take ring"),
            Self::Grid => WINDOW.get("take grid"),
            Self::Backoff => &[WINDOW.get("take grid"), WINDOW.get("take backoff")].concat(),
            // An abuse log may have nothing to write.
            Self::Attempts(log) => return log.count(),
        };
        format!("do\n{take}{}end\n", self.write())
    }

    /// The condition under which a refused request is counted, for a limit that counts such requests;
    /// `attempts` says whether it counts all of them, or only those that it refuses itself.
    pub(super) const fn counts_refused(self, attempts: bool) -> &'static str {
        match self {
            Self::Attempts(_) if attempts => "true",
            Self::Attempts(_) => "not room$",
            Self::Bucket
            | Self::Fixed
            | Self::FirstUse
            | Self::Calendar
            | Self::Ring
            | Self::Grid
            | Self::Backoff => "cost$ <= full$",
        }
    }

    /// The text that gives back what was counted.
    pub(super) fn back(self) -> String {
        match self {
            Self::Bucket => BUCKET.get("back").to_owned(),
            Self::Fixed | Self::FirstUse | Self::Calendar => QUOTA.get("back").to_owned(),
            Self::Ring => WINDOW.get("back ring").to_owned(),
            Self::Grid | Self::Backoff => WINDOW.get("back grid").to_owned(),
            Self::Attempts(log) => log.back(),
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
            Self::Bucket => BUCKET.get("write").to_owned(),
            Self::Fixed | Self::FirstUse | Self::Calendar => QUOTA.get("write").to_owned(),
            Self::Ring => WINDOW.get("write ring").to_owned(),
            Self::Grid | Self::Backoff => WINDOW.get("write grid").to_owned(),
            Self::Attempts(log) => log.write(),
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
/// [`Form::arguments`]; the member of a charge comes after all of them.
pub(super) fn pack(charge: &Charge<'_>, args: &mut Args) {
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
