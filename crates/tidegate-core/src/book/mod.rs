//! A short book on rate limiting: documentation only, nothing here is code.
//!
//! The reference pages say what each item does. The chapters say why it is so, what was rejected in its
//! place, and what follows for the caller. They can be read in order in half an hour, and every example
//! is run with the tests, so none of them can drift from the code.
//!
//! | | chapter | answers |
//! |---|---|---|
//! | 1 | [What a limit is](ch1_what_a_limit_is) | who, how much, how fast; and what "N" means |
//! | 2 | [The bucket](ch2_the_bucket) | a smooth rate with a burst, without floats |
//! | 3 | [The window](ch3_the_window) | never more than N in any span, at any edge |
//! | 4 | [The quota](ch4_the_quota) | days, months, time zones, billing days |
//! | 5 | [Several limits in one decision](ch5_several_limits) | all or nothing, and which wait is told |
//! | 6 | [Who is counted](ch6_who_is_counted) | subjects, scopes, keys, private values |
//! | 7 | [Refused requests](ch7_refused_requests) | what they cost, and when to come back |
//! | 8 | [Changing numbers](ch8_changing_numbers) | reloads, overrides, hierarchies |
//! | 9 | [Where state lives](ch9_where_state_lives) | the port to a store, and its failures |
//! | 10 | [What it really cost](ch10_what_it_really_cost) | giving back, charging more, at most once |
//! | 11 | [Too many tries](ch11_too_many_tries) | attempts, blocks, the ladder; passwords and codes |
//! | 12 | [When the store fails](ch12_when_the_store_fails) | who decides then, for how long, and how strictly |
//! | 13 | [Waiting in line](ch13_waiting_in_line) | who goes next, and who need not wait in vain |
//! | 14 | [When an upstream fails](ch14_when_an_upstream_fails) | when calls are refused, and which one tries again |
//! | 15 | [Tenants above tenants](ch15_tenants_above_tenants) | which limits a request meets, and whose numbers they have |
//! | 16 | [A hundred thousand limits](ch16_a_hundred_thousand_limits) | limits that are rows, and change one at a time |
//!
//! Three conventions hold throughout. Time is an argument: no rule reads a clock, so every example
//! can say what happens one microsecond earlier. Numbers are whole: waits round up, what remains
//! rounds down. And one word means one thing: the *verdict* is what a caller branches on, a
//! *reading* is what one limit said, a *charge* is what a store is asked to do.

pub mod ch10_what_it_really_cost;
pub mod ch11_too_many_tries;
pub mod ch12_when_the_store_fails;
pub mod ch13_waiting_in_line;
pub mod ch14_when_an_upstream_fails;
pub mod ch15_tenants_above_tenants;
pub mod ch16_a_hundred_thousand_limits;
pub mod ch1_what_a_limit_is;
pub mod ch2_the_bucket;
pub mod ch3_the_window;
pub mod ch4_the_quota;
pub mod ch5_several_limits;
pub mod ch6_who_is_counted;
pub mod ch7_refused_requests;
pub mod ch8_changing_numbers;
pub mod ch9_where_state_lives;
