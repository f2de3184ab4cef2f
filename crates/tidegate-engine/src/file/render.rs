//! How a problem looks: rustc's way of showing the line and pointing into it.
//!
//! Everything shown comes from a file that may be hostile. Control characters, which could drive a
//! terminal, and characters that turn the direction of text are replaced; long lines are cropped.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Level, Renderer, Snippet};
use tidegate_core::text::is_hazard;

use super::error::FileProblem;
use super::place::FilePlace;

/// Columns of a line that are shown.
const WIDTH: usize = 120;

/// A place that is pointed at, and what is said there.
#[derive(Clone, Copy)]
struct Marked {
    place: FilePlace,
    label: Option<&'static str>,
}

/// The problem with the line it is about, as plain text.
pub(super) fn problem(problem: &FileProblem) -> String {
    let (found, text) = (&problem.found, &problem.source.text);
    let name = shown(&problem.source.name);
    let here = Marked { place: on_one_line(found.place, text), label: None };
    let there = found
        .other
        .map(|(place, what)| Marked { place: on_one_line(place, text), label: Some(what) });
    let title = Level::ERROR.primary_title(problem.to_string()).id(found.wrong.code());
    let near = there.filter(|there| are_near(here.place, there.place, text));
    let mut group = title.element(snippet(&name, text, here, near));
    if let (Some(there), None) = (there, near) {
        group = group.element(snippet(&name, text, there, None));
    }
    if let Some(environment) = &found.environment {
        let note = format!("with the numbers of environment `{environment}`");
        group = group.element(Level::NOTE.message(note));
    }
    if let Some(advice) = found.wrong.advice() {
        group = group.element(Level::HELP.message(wrapped(&shown(advice))));
    }
    let renderer = Renderer::plain().decor_style(DecorStyle::Ascii).term_width(WIDTH);
    renderer.render(&[group]).trim_end().to_owned()
}

/// The snippet with the lines of one place or two, and those between.
fn snippet<'a>(
    name: &str,
    text: &str,
    here: Marked,
    there: Option<Marked>,
) -> Snippet<'a, Annotation<'a>> {
    let places = [Some(here), there].into_iter().flatten().map(|marked| marked.place);
    let first = places.clone().map(|place| place.start).min().unwrap_or(0);
    let last = places.map(|place| place.end).max().unwrap_or(0);
    let start = text[..first].rfind('\n').map_or(0, |end| end + 1);
    // No more of a long line than can be shown.
    let near = text.floor_char_boundary(last.saturating_add(4 * WIDTH));
    let end = text[last..near].find('\n').map_or(near, |end| last + end);
    let annotation = |kind: AnnotationKind, marked: Marked| {
        let span = marked.place.start - start..marked.place.end - start;
        kind.span(span).label(marked.label)
    };
    let snippet = Snippet::source(shown_alike(&text[start..end]))
        .path(name.to_owned())
        .line_start(text[..start].matches('\n').count() + 1)
        .annotation(annotation(AnnotationKind::Primary, here));
    match there {
        Some(there) => snippet.annotation(annotation(AnnotationKind::Context, there)),
        None => snippet,
    }
}

/// The part of a place that is on its first line.
fn on_one_line(place: FilePlace, text: &str) -> FilePlace {
    let FilePlace { start, end } = place.within(text);
    let end = text[start..end].find(['\n', '\r']).map_or(end, |line| start + line);
    FilePlace { start, end }
}

/// Whether both places can be seen at once: their columns differ by less than is shown of a line.
fn are_near(a: FilePlace, b: FilePlace, text: &str) -> bool {
    let column = |at: usize| at - text[..at].rfind('\n').map_or(0, |end| end + 1);
    column(a.start).abs_diff(column(b.start)) < WIDTH / 2
}

/// The text in lines that are not too long; what stands in backticks stays together.
fn wrapped(text: &str) -> String {
    let (mut lines, mut width, mut quoted) = (String::new(), 0, false);
    for word in text.split(' ') {
        let rest = word.chars().count();
        let breaks = !quoted && width > 0 && width + 1 + rest > WIDTH - 20;
        if width > 0 {
            lines.push(if breaks { '\n' } else { ' ' });
        }
        width = if breaks { rest } else { width + 1 + rest };
        lines.push_str(word);
        quoted ^= word.matches('`').count() % 2 == 1;
    }
    lines
}

/// The text on one line, with every hidden character replaced.
pub(super) fn shown(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) || c == '\n' { '\u{fffd}' } else { c }).collect()
}

/// The text with every hidden character replaced by as many bytes, so that places stay valid.
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

/// Whether a character is not seen as itself. Line ends and tabs shape a file and are not hidden.
fn is_hidden(c: char) -> bool {
    is_hazard(c) && c != '\n' && c != '\t'
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
        assert_eq!(shown_alike("a\u{61c}b\u{e0001}c"), "a·b????c");
        assert_eq!(shown("a\u{1b}\nb"), "a\u{fffd}\u{fffd}b");
    }
}
