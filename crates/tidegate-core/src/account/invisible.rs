//! Characters that nobody sees: control characters, and Unicode's property `Default_Ignorable_Code_Point`.
//!
//! No crate that is otherwise needed has this property. The list is that of Unicode 16, and is not
//! expected to grow: it includes the ranges that are set aside for characters of the kind.

/// Whether a character is invisible: it is drawn as nothing.
pub(super) fn is_invisible(char: char) -> bool {
    char.is_control()
        || matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}
