//! Puts a script together from the parts in `lua/`, for one [`Signature`].
//!
//! A loop over any shapes would be one text, and a quarter slower: in Lua every table, call and
//! conversion counts. So each sequence of shapes has its own text, without tables and loops. Nothing
//! that comes from a policy or a client gets into it: it is put together from the parts below, those
//! that `form.rs` chooses for each shape, and the places of charges. The same signature always gives
//! the same text.

mod former;
mod names;

use std::sync::LazyLock;

use super::form::ATTEMPTS;
use super::parts::Parts;
use super::reply::mark;
use super::signature::{Part, RefusedBy, Returns, ScriptVerb, Signature};
use names::ScriptPlace;

static STEP: LazyLock<Parts> = LazyLock::new(|| Parts::of(include_str!("lua/step.lua")));
static AMEND: LazyLock<Parts> = LazyLock::new(|| Parts::of(include_str!("lua/amend.lua")));

/// The scripts that carry a counter over to another name: find it, adopt it, forget it.
pub(crate) const CARRY: [&str; 3] = [
    include_str!("lua/carry_find.lua"),
    include_str!("lua/carry_adopt.lua"),
    include_str!("lua/carry_forget.lua"),
];

/// The numbers that names in capitals stand for: the largest exact number; how long a counter may be
/// kept beyond what it has to remember, in µs; how many refused attempts are counted; the longest
/// window.
const NUMBERS: [(&str, &str); 4] = [
    ("MAX", "9007199254740991"),
    ("SLACK", "60000000"),
    ("OVER", "2147483648"),
    ("LONGEST", "140737488355327"),
];

/// The text of the script that amends a counter for an operator: one, whatever the amendment.
pub(crate) fn amend() -> String {
    let text = [
        STEP.get("functions"),
        AMEND.get("arguments"),
        STEP.get("clock"),
        AMEND.get("reset"),
        AMEND.get("numbers"),
        ATTEMPTS.get("read"),
        ATTEMPTS.get("state"),
        AMEND.get("amend"),
    ];
    numbered(ScriptPlace { number: 1, is_local: true }.put(&text.concat()))
}

fn numbered(text: String) -> String {
    NUMBERS.iter().fold(text, |text, (name, number)| text.replace(name, number))
}

/// The text of the script for a signature.
pub(crate) fn compose(signature: &Signature) -> String {
    let mut text = head(signature);
    for ((place, part), former) in places(signature).zip(former::places(signature)) {
        text += &place.put(&former.read(&part.read(signature.ask != ScriptVerb::Settle)));
    }
    text += &match signature.ask {
        ScriptVerb::Charge | ScriptVerb::Peek => charge(signature),
        ScriptVerb::Settle => settle(signature),
    };
    text += "return nonce .. done .. ' ' .. time[1] .. ' ' .. time[2] .. ' '";
    text.extend(places(signature).map(|(place, _)| place.put(" .. (v$ or '-')")));
    numbered(text + "\n")
}

/// The head of a script: functions, the argument taken apart, and the time.
fn head(signature: &Signature) -> String {
    let windows = signature.parts.iter().any(|part| part.form.is_window());
    let settles = signature.ask == ScriptVerb::Settle;
    let (mut names, mut format) = ("nonce".to_owned(), "<c4".to_owned());
    if settles {
        names += ", taken, late";
        format += "LL";
    }
    let mut tables = String::new();
    for (place, part) in places(signature) {
        let (own, packed) = (place.put(&part.form.names().join(", ")), part.form.packed());
        if place.is_local {
            names += &[", ", &own].concat();
            format += &packed;
        } else {
            let number = place.number;
            tables +=
                &format!("local t{number} = {{}}\n{own}, at = unpack('<{packed}', ARGV[1], at)\n");
        }
    }
    if !tables.is_empty() {
        names += ", at";
    }
    [
        if windows { STEP.get("begin windows") } else { "" },
        STEP.get("functions"),
        &format!("local {names} = unpack('{format}', ARGV[1])\n"),
        &tables,
        STEP.get("clock"),
        former::begin(signature),
        if settles { STEP.get("begin settling") } else { "" },
    ]
    .concat()
}

/// The text that decides which charges are written, as [`plan`](tidegate_core::plan) says, and writes
/// them.
fn charge(signature: &Signature) -> String {
    let firm = || places(signature).filter(|(_, part)| !part.shadow);
    let rooms: Vec<String> = firm().map(|(place, _)| place.put("room$")).collect();
    let condition = match signature.refused {
        Some(_) => "false".to_owned(),
        None if rooms.is_empty() => "true".to_owned(),
        None => rooms.join(" and "),
    };
    let all: String = firm().map(|(place, _)| mark(place.number)).collect();
    let mut text = format!("local done = '-'\nif {condition} then\ndone = '+{all}'\n");
    let former = former::places(signature);
    let write = |(place, part): (ScriptPlace, &Part)| match signature.ask {
        ScriptVerb::Charge => place.put(&former[place.number - 1].write(part.form, &part.count())),
        ScriptVerb::Peek | ScriptVerb::Settle => String::new(),
    };
    let one_more = |(place, part): (ScriptPlace, &Part), condition: &str| {
        let (condition, mark) = (place.put(condition), mark(place.number));
        let write = write((place, part));
        format!("if {condition} then\ndone = done .. '{mark}'\n{write}end\n")
    };
    text.extend(firm().map(write));
    for (place, part) in places(signature).filter(|(_, part)| part.shadow) {
        text += &one_more((place, part), "room$");
    }
    text += "else\n";
    let globals: String =
        firm().filter(|(_, part)| part.global).map(|(place, _)| place.put(" and room$")).collect();
    let counting = |part: &Part| {
        (part.attempts || part.own)
            && (part.global || signature.refused != Some(RefusedBy::Globally))
    };
    for (place, part) in firm().filter(|(_, part)| counting(part)) {
        let unless_global = if part.global { "" } else { &globals };
        let counts = part.form.counts_refused(part.attempts);
        text += &one_more((place, part), &[counts, unless_global].concat());
    }
    text + "end\n"
}

/// The text that marks the ticket, then moves everything.
fn settle(signature: &Signature) -> String {
    let ticket = ScriptPlace { number: signature.parts.len() + 1, is_local: true };
    let mut text = ticket.put(STEP.get("mark"));
    for ((place, part), former) in places(signature).zip(former::places(signature)) {
        let given_back =
            |back: String| format!("do\n{back}if kept$ then\n{}end\nend\n", part.form.write());
        let moved = match part.returns {
            Returns::Nothing => part.count(),
            Returns::Taken => given_back(part.form.back()),
            Returns::All => part.form.forgive().map(given_back).unwrap_or_default(),
        };
        text += &place.put(&former.write(part.form, &moved));
    }
    text + "local done = '+'\n"
}

/// The parts of a signature with their places.
fn places(signature: &Signature) -> impl Iterator<Item = (ScriptPlace, &Part)> {
    names::places(&signature.parts)
}

// === impl Part ===

impl Part {
    /// The text that reads the counter and checks it. In a charge it always sees whether there is room,
    /// too.
    fn read(&self, is_charge: bool) -> String {
        // What is given back is taken out of the state as it is, whatever the time is by now.
        let counts = is_charge || self.returns == Returns::Nothing;
        self.form.read(counts, self.returns == Returns::Taken)
    }

    /// The text that counts the cost and writes the counter: for a charge that has room, or in any
    /// case.
    fn count(&self) -> String {
        self.form.count(!self.attempts)
    }
}

#[cfg(test)]
mod tests {
    //! Every script there can be of one counter, and some of the largest.

    use tidegate_core::MAX_LIMITS;

    use super::super::form::{Form, LogForm, Manner};
    use super::*;

    const FORMS: [Form; 7] = [
        Form::Bucket,
        Form::Fixed,
        Form::FirstUse,
        Form::Calendar,
        Form::Ring,
        Form::Grid,
        Form::Backoff,
    ];

    fn forms() -> impl Iterator<Item = Form> {
        let manners = [Manner::Temp, Manner::Dual, Manner::Ladder].into_iter();
        let logs = manners.flat_map(|manner| {
            [false, true].map(|distinct| Form::Attempts(LogForm { manner, distinct }))
        });
        FORMS.into_iter().chain(logs)
    }

    fn parts() -> impl Iterator<Item = Part> {
        let returns = [Returns::Nothing, Returns::Taken, Returns::All];
        let flags = (0..16_u8).map(|bits| [1, 2, 4, 8].map(|bit| bits & bit != 0));
        let flags = flags.flat_map(move |flags| returns.map(|returns| (flags, returns)));
        forms().flat_map(move |form| {
            flags.clone().map(move |([shadow, global, attempts, own], returns)| Part {
                form,
                shadow,
                global,
                attempts,
                own,
                returns,
                newer: 0,
                older: 0,
            })
        })
    }

    fn signatures() -> impl Iterator<Item = Signature> {
        let refused = [None, Some(RefusedBy::Here), Some(RefusedBy::Globally)];
        let asks = [ScriptVerb::Charge, ScriptVerb::Peek, ScriptVerb::Settle];
        let named = [(0, 0), (1, 1), (0, 2)];
        let parts =
            parts().flat_map(move |part| named.map(|(newer, older)| Part { newer, older, ..part }));
        parts.flat_map(move |part| {
            let plain = !(part.shadow || part.global || part.attempts || part.own);
            let counts: &[usize] = if plain { &[1, MAX_LIMITS] } else { &[1] };
            asks.into_iter().flat_map(move |ask| {
                refused.into_iter().flat_map(move |refused| {
                    counts.iter().map(move |count| Signature {
                        ask,
                        refused,
                        parts: core::iter::repeat_n(part, *count).collect(),
                    })
                })
            })
        })
    }

    #[test]
    fn t42_a_script_is_made_of_its_parts_and_places() {
        assert_eq!(amend().replace("#v", "").find(['$', '@', '#']), None);
        for signature in signatures() {
            let text = compose(&signature);
            let marks = text.replace("#v", "").replace("#t", "").replace("#parts", "");
            assert!(!marks.contains(['$', '@', '#']), "{marks}");
            assert_eq!(text, compose(&signature), "the same text every time");
        }
    }

    #[test]
    fn p96_how_fast_levels_decay_is_an_argument_and_in_no_script() {
        for script in signatures().map(|signature| compose(&signature)).chain([amend()]) {
            assert!(!script.contains("3600000000"), "an hour in {script}");
        }
    }

    #[test]
    fn t42_every_counter_is_named_by_its_key() {
        let counts = signatures().map(|signature| compose(&signature));
        for (text, more) in
            counts.map(|text| (text, "'SETRANGE', keys[")).chain([(amend(), "'DEL', keys[")])
        {
            for line in text.lines().filter(|line| line.contains("call('")) {
                let known = ["'TIME'", "'GET', keys[", "'SET', keys[", more];
                assert!(known.iter().any(|call| line.contains(call)), "{line}");
            }
        }
    }
}
