//! Header fields: the numbers of a decision, as each family of fields writes them.
//!
//! This runs for every response, so all values of one response are written into one buffer, of which
//! each field has a slice.

use arrayvec::ArrayVec;
use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue};
use sfv::{Integer, KeyRef, ListSerializer, StringRef, key_ref, string_ref};

use super::figures::{Binding, Figures, Limited};
use super::profile::{HeaderProfile, Headers, Profile, Reset};

static RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
static RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
static TRIPLE: [HeaderName; 3] = [
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
];
static X_RATELIMIT: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

const QUOTA: &KeyRef = key_ref("q");
const WINDOW: &KeyRef = key_ref("w");
const REMAINING: &KeyRef = key_ref("r");
const RESET: &KeyRef = key_ref("t");

/// The name that stands for a limit whose own name is not told.
const NAMELESS: &StringRef = string_ref("default");

/// The largest number that structured fields can hold; the other families are clamped to it too.
const LARGEST: u64 = 999_999_999_999_999;

/// The bytes that the fields of all families take with a few limits; most responses need no more.
const USUAL: usize = 256;

/// The most header fields in all families together: no family has more than four.
const MOST: usize = 4 * HeaderProfile::ALL.len();

/// The header fields of one response while they are written.
struct Fields {
    text: String,
    /// Each field, with the end of its value in `text`.
    ends: ArrayVec<(&'static HeaderName, usize), MOST>,
}

// === impl Figures ===

impl Figures {
    /// Writes the header fields, replacing those of the same names.
    pub(crate) fn write(&self, profile: &Profile, headers: &mut HeaderMap) {
        if let Some(wait) = self.retry_after(profile) {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait));
        }
        let Some(binding) = self.binding().filter(|_| profile.headers != Headers::NONE) else {
            return;
        };
        let mut fields = Fields::new();
        for family in profile.headers {
            match family {
                HeaderProfile::Ratelimit => {
                    headers.insert(&RATELIMIT_POLICY, binding.listing.policy().clone());
                    fields.ratelimit(&binding);
                }
                HeaderProfile::Triple => {
                    let [limit, remaining, reset] = &TRIPLE;
                    if let Some(value) = binding.listing.limit(binding.place) {
                        headers.insert(limit, value.clone());
                    }
                    fields.number(remaining, binding.remaining);
                    fields.reset(reset, profile.reset, &binding);
                }
                HeaderProfile::XRatelimit => {
                    let [limit, remaining, reset] = &X_RATELIMIT;
                    fields.number(limit, binding.limit.capacity);
                    fields.number(remaining, binding.remaining);
                    fields.reset(reset, profile.reset, &binding);
                }
            }
        }
        fields.insert_into(headers);
    }
}

// === impl Fields ===

impl Fields {
    fn new() -> Self {
        Self { text: String::with_capacity(USUAL), ends: ArrayVec::new() }
    }

    /// Writes `RateLimit`, as the IETF's draft has it: how much the limit that decided has left.
    fn ratelimit(&mut self, binding: &Binding<'_>) {
        ListSerializer::with_buffer(&mut self.text)
            .bare_item(name(binding.limit))
            .parameter(REMAINING, integer(binding.remaining))
            .parameter(RESET, integer(binding.reset_after));
        self.end(&RATELIMIT);
    }

    fn reset(&mut self, field: &'static HeaderName, reset: Reset, binding: &Binding<'_>) {
        self.number(
            field,
            match reset {
                Reset::Epoch => binding.reset_at,
                Reset::Delta => binding.reset_after,
            },
        );
    }

    fn number(&mut self, field: &'static HeaderName, number: u64) {
        self.digits(number);
        self.end(field);
    }

    /// Writes a number, clamped as in structured fields. By hand, because formatting takes longer than
    /// all the rest.
    fn digits(&mut self, number: u64) {
        let mut digits = [0; 20];
        let (mut rest, mut start) = (number.min(LARGEST), digits.len());
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.text.push_str(core::str::from_utf8(&digits[start..]).unwrap_or_default());
    }

    fn end(&mut self, field: &'static HeaderName) {
        // There is room for the fields of all families, and none is written twice.
        let _ = self.ends.try_push((field, self.text.len()));
    }

    fn insert_into(self, headers: &mut HeaderMap) {
        let text = Bytes::from(self.text);
        let mut start = 0;
        for (field, end) in self.ends {
            headers.insert(field, value(text.slice(start..end)));
            start = end;
        }
    }
}

/// The value of `RateLimit-Policy`, after the IETF's draft: every limit, its capacity and its window.
pub(super) fn policy(limits: &[Limited]) -> HeaderValue {
    let mut text = String::new();
    let mut list = ListSerializer::with_buffer(&mut text);
    for limit in limits {
        list.bare_item(name(limit))
            .parameter(QUOTA, integer(limit.capacity))
            .parameter(WINDOW, integer(limit.window));
    }
    value(text.into())
}

/// The value of `RateLimit-Limit`: the capacity of a limit and its window.
pub(super) fn limit(limit: &Limited) -> HeaderValue {
    let mut fields = Fields::new();
    fields.digits(limit.capacity);
    fields.text.push_str(";w=");
    fields.digits(limit.window);
    value(fields.text.into())
}

/// The text as a header value. This cannot fail: structured fields are ASCII.
fn value(text: Bytes) -> HeaderValue {
    HeaderValue::from_maybe_shared(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

fn name(limit: &Limited) -> &StringRef {
    // Names are ASCII, so each is a string of structured fields.
    let name = limit.name.as_ref().and_then(|name| StringRef::from_str(name.as_str()).ok());
    name.unwrap_or(NAMELESS)
}

/// The number as an integer of structured fields, clamped to the largest they can hold.
fn integer(number: u64) -> Integer {
    Integer::try_from(number).unwrap_or(Integer::MAX)
}
