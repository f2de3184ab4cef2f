//! A decision: read from the server's JSON, and shown to people.

use std::fmt;

use serde::Deserialize;

use crate::cli::reading::ShownReading;
use crate::text::{TextTable, escaped, in_words};

/// The part of a decision's JSON that is shown.
#[derive(Debug, Deserialize)]
pub(super) struct ShownDecision {
    policy: String,
    verdict: String,
    mode: String,
    blocked: bool,
    source: String,
    binding: Option<String>,
    /// `None` if the request never passes.
    retry_after_us: Option<u64>,
    /// `None` if the request never passes.
    next_allowed_at: Option<String>,
    ticket: Option<String>,
    guardrail: Option<Guardrail>,
    alarm: Option<String>,
    trouble: Option<String>,
    readings: Vec<ShownReading>,
}

/// The local cap that decided in the place of the store.
#[derive(Debug, Deserialize)]
struct Guardrail {
    by: String,
    limit: u64,
    per: u64,
    remaining: u64,
}

// === impl ShownDecision ===

impl ShownDecision {
    pub(super) const fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// The verdict in one line.
    pub(super) fn headline(&self) -> String {
        let Self { verdict, policy, source, .. } = self;
        let binding = self.binding.as_deref().filter(|binding| !binding.is_empty());
        let by = match (binding, &self.guardrail) {
            (Some(binding), _) => format!("`{binding}`"),
            (None, Some(_)) => "a guardrail".to_owned(),
            (None, None) => "no limit".to_owned(),
        };
        let by = format!("policy `{policy}`, decided by {by}");
        let mode = if self.mode == "normal" { String::new() } else { format!(" ({})", self.mode) };
        let line = match (verdict.as_str(), self.retry_after_us.map(in_words)) {
            ("admit", _) => format!("ADMIT  {by}"),
            ("degrade", _) => format!("DEGRADE  {by}: let it pass with less"),
            ("queue", Some(wait)) => format!("QUEUE  {by}: it has room in {wait}"),
            (_, Some(wait)) => format!("DENY   {by}, stage {source}: come back in {wait}"),
            (_, None) => {
                format!("DENY   {by}, stage {source}: never: the cost is larger than the limit")
            }
        };
        escaped(&(line + &mode))
    }

    /// A line about what decided in the place of the store; `None` if the store decided.
    fn failsafe(&self) -> Option<String> {
        if self.mode == "normal" {
            return None;
        }
        let mut lines = format!("The store does not decide: mode {}", self.mode);
        if let Some(trouble) = &self.trouble {
            lines += &format!(", because of {trouble}");
        }
        if let Some(alarm) = &self.alarm {
            lines += &format!(", alarm {alarm}");
        }
        if let Some(Guardrail { by, limit, per, remaining }) = &self.guardrail {
            lines += &format!("; guardrail {limit} in any {per} s by {by}, {remaining} left");
        }
        Some(lines)
    }
}

impl fmt::Display for ShownDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.headline())?;
        if let Some(failsafe) = self.failsafe() {
            writeln!(f, "  {}\n", escaped(&failsafe))?;
        }
        let mut table = TextTable::headed(["", "limit", "by", "shape", "left", "room", "fresh in"]);
        for reading in &self.readings {
            let binds = self.binding.as_ref() == Some(&reading.name);
            table.row(&cells(reading, binds));
        }
        write!(f, "{table}")?;
        let mut gap = "\n";
        for reading in &self.readings {
            if let Some(block) = reading.block() {
                writeln!(f, "{gap}  {}", escaped(&format!("`{}` is {block}", reading.name)))?;
                gap = "";
            }
        }
        if let Some(at) = self.next_allowed_at.as_ref().filter(|_| self.blocked) {
            writeln!(f, "\n  Allowed again at {}", escaped(at))?;
        }
        match &self.ticket {
            Some(ticket) => writeln!(f, "\n  Settle it with the ticket {}", escaped(ticket)),
            None => Ok(()),
        }
    }
}

/// The row of a limit; `binds` says whether it is the one that decided.
fn cells(reading: &ShownReading, binds: bool) -> [String; 7] {
    let ShownReading { name, scope, shape, reset_after_us, shadow, .. } = reading;
    [
        if binds { "*" } else { "" }.to_owned(),
        if *shadow { format!("{name} (shadow)") } else { name.clone() },
        scope.clone(),
        shape.clone(),
        reading.left(),
        reading.room(["yes", "in", "never"]),
        in_words(*reset_after_us),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decision(verdict: &str, wait: Option<u64>) -> ShownDecision {
        serde_json::from_value(json!({
            "policy": "api", "verdict": verdict, "mode": "normal", "source": "action",
            "blocked": verdict == "deny", "binding": "burst", "retry_after_us": wait,
            "next_allowed_at": wait.map(|_| "2026-11-15T11:00:00.000000Z"),
            "readings": [{
                "name": "burst", "scope": "org+user", "shape": "bucket", "capacity": 20,
                "remaining": 0, "room": if wait == Some(0) { "now" } else { "after" },
                "retry_after_us": wait, "reset_after_us": 2_000_000, "backoff_us": 0,
                "stage": "action", "shadow": false,
            }],
        }))
        .unwrap()
    }

    #[test]
    fn a_denial_tells_who_why_and_how_long() {
        assert_eq!(
            decision("deny", Some(99_999)).to_string(),
            "DENY   policy `api`, decided by `burst`, stage action: come back in 100 ms\n\n     \
             limit  by        shape   left     room       fresh in\n  \
             *  burst  org+user  bucket  0 of 20  in 100 ms  2 s\n\n  \
             Allowed again at 2026-11-15T11:00:00.000000Z\n"
        );
        assert!(
            decision("deny", None).headline().ends_with("never: the cost is larger than the limit")
        );
    }

    #[test]
    fn a_block_is_told_with_its_end() {
        let mut told = decision("deny", Some(58_000_000));
        let block = json!({
            "scope": "temp", "level": "L2", "ends_at": "2026-11-15T11:15:50.123456Z",
            "ends_in_us": 58_000_000, "begins": true,
        });
        let attempts = json!({"temp": 5, "long": null, "block": block});
        told.readings[0].attempts = Some(serde_json::from_value(attempts).unwrap());
        let until = "until 2026-11-15T11:15:50.123456Z, 58 s left";
        let line = format!("\n\n  `burst` is blocked (temp, L2) {until}\n");
        assert!(told.to_string().contains(&line), "{told}");
    }

    #[test]
    fn an_admission_is_short() {
        let told = decision("admit", Some(0));
        assert_eq!(told.headline(), "ADMIT  policy `api`, decided by `burst`");
        assert!(!told.is_blocked());
    }

    #[test]
    fn t40_a_server_cannot_move_the_cursor() {
        let mut told = decision("deny", Some(1));
        told.policy = "\x1b[2J\n".to_owned();
        told.readings[0].name = "\r\u{9b}".to_owned();
        let text = told.to_string();
        assert!(!text.contains(['\x1b', '\r', '\u{9b}']), "{text:?}");
    }
}
