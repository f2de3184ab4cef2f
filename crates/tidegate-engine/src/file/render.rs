//! How a problem looks: rustc's way of showing the line and pointing into it.
//!
//! Everything shown comes from a file that may be hostile. Control characters, which could drive a
//! terminal, and characters that turn the direction of text are replaced; long lines are cropped.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::error::Problem;
use super::place::Place;

/// Columns of a line that are shown.
const WIDTH: usize = 120;

/// The problem with its line, as plain text.
pub(super) fn problem(problem: &Problem) -> String {
    let text = problem.source.inner();
    let place = problem.place.within(text);
    let other = problem.other.map(|(place, what)| (place.within(text), what));
    let first = other.map_or(place.start, |(other, _)| other.start.min(place.start));
    let last = other.map_or(place.end, |(other, _)| other.end.max(place.end));
    // Only the lines that are pointed at, and those between.
    let start = text[..first].rfind('\n').map_or(0, |end| end + 1);
    let end = text[last..].find('\n').map_or(text.len(), |end| last + end);
    let lines = shown_alike(&text[start..end]);
    let span = |place: Place| place.start - start..place.end - start;

    let (name, title) = (shown(problem.source.name()), problem.to_string());
    let mut snippet = Snippet::source(lines)
        .path(name)
        .line_start(text[..start].matches('\n').count() + 1)
        .annotation(AnnotationKind::Primary.span(span(place)));
    if let Some((place, what)) = other {
        snippet = snippet.annotation(AnnotationKind::Context.span(span(place)).label(what));
    }
    let mut report = Level::ERROR.primary_title(title).id(problem.wrong.code()).element(snippet);
    if let Some(advice) = problem.wrong.advice() {
        report = report.element(Level::HELP.message(wrapped(&shown(&advice))));
    }
    let renderer = Renderer::plain().decor_style(DecorStyle::Ascii).term_width(WIDTH);
    renderer.render(&[report]).trim_end().to_owned()
}

/// The text in lines that are not too long.
fn wrapped(text: &str) -> String {
    let (mut lines, mut width) = (String::new(), 0);
    for word in text.split(' ') {
        let letters = word.chars().count();
        if width > 0 {
            let fits = width + 1 + letters <= WIDTH - 20;
            lines.push(if fits { ' ' } else { '\n' });
            width = if fits { width + 1 } else { 0 };
        }
        lines.push_str(word);
        width += letters;
    }
    lines
}

/// The text without what a terminal would obey, and on one line.
pub(super) fn shown(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) || c == '\n' { '\u{fffd}' } else { c }).collect()
}

/// Likewise, but of the same length in bytes, so that places stay what they are.
fn shown_alike(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match (is_hidden(c), c.len_utf8()) {
            (false, _) => shown.push(c),
            (true, 1) => shown.push('?'),
            (true, 2) => shown.push('·'),
            (true, 3) => shown.push('\u{fffd}'),
            (true, _) => shown.push_str("????"),
        }
    }
    shown
}

/// Characters that are not seen as themselves.
fn is_hidden(c: char) -> bool {
    let turns =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    (c.is_control() && c != '\n' && c != '\t') || turns || c == '\u{feff}'
}

#[cfg(test)]
mod tests {
    //! What a hostile file cannot do.

    use super::*;

    #[test]
    fn nothing_drives_the_terminal_and_places_stay() {
        let hostile = "a\u{1b}[2Jb\u{85}c\u{202e}d\u{feff}e\r";
        assert_eq!(shown_alike(hostile), "a?[2Jb·c\u{fffd}d\u{fffd}e?");
        assert_eq!(shown_alike(hostile).len(), hostile.len());
        assert_eq!(shown("a\u{1b}\nb"), "a\u{fffd}\u{fffd}b");
    }
}
