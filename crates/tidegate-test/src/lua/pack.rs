//! `struct.pack` and `struct.unpack`, as far as the scripts use them: little-endian `B`, `H`, `I4`,
//! `L` of 64 bits, and strings of a known length.

use mlua::{Lua, MultiValue, Table, Value};

/// One element of a format.
enum Element {
    /// An unsigned integer of this many bytes.
    Integer(usize),
    /// A string of this many bytes.
    Text(usize),
}

/// The `struct` library, as a server offers it to scripts.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    library.set("pack", lua.create_function(pack)?)?;
    library.set("unpack", lua.create_function(unpack)?)?;
    Ok(library)
}

fn pack(lua: &Lua, args: MultiValue) -> mlua::Result<mlua::LuaString> {
    let mut args = args.into_iter();
    let Some(Value::String(format)) = args.next() else { panic!("pack wants a format") };
    let mut bytes = Vec::new();
    for element in elements(&format.to_str()?) {
        let value = args.next().expect("as many values as the format has elements");
        match (element, &value) {
            (Element::Integer(size), value) => {
                bytes.extend(&integer(value).to_le_bytes()[..size]);
            }
            (Element::Text(size), Value::String(text)) => {
                bytes.extend(text.as_bytes().get(..size).expect("a text of that length"));
            }
            (_, other) => panic!("{other:?} is packed"),
        }
    }
    assert!(args.next().is_none(), "more values than the format has elements");
    lua.create_string(bytes)
}

/// The integer that a server would store for this value; it must be whole, not negative, and exact.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked on the lines above"
)]
fn integer(value: &Value) -> u64 {
    match value {
        Value::Integer(number) => u64::try_from(*number).expect("not negative"),
        Value::Number(number) => {
            assert!(number.fract() == 0.0 && *number >= 0.0, "{number} is stored");
            assert!(*number <= 9_007_199_254_740_991.0, "{number} is stored");
            *number as u64
        }
        other => panic!("{other:?} is stored"),
    }
}

fn unpack(lua: &Lua, args: MultiValue) -> mlua::Result<MultiValue> {
    let args: Vec<Value> = args.into_iter().collect();
    let (Some(Value::String(format)), Some(Value::String(text))) = (args.first(), args.get(1))
    else {
        panic!("unpack wants a format and a text");
    };
    let mut at = args.get(2).map_or(1, integer);
    let text = text.as_bytes();
    let mut values = Vec::new();
    for element in elements(&format.to_str()?) {
        let from = usize::try_from(at - 1).expect("a place in a text");
        let (Element::Integer(size) | Element::Text(size)) = element;
        let part = text.get(from..from + size).expect("the text is as long as the format says");
        values.push(match element {
            Element::Integer(_) => {
                let mut word = [0; 8];
                word[..size].copy_from_slice(part);
                Value::Number(double(u64::from_le_bytes(word)))
            }
            Element::Text(_) => Value::String(lua.create_string(part)?),
        });
        at += size as u64;
    }
    values.push(Value::Number(double(at)));
    Ok(values.into_iter().collect())
}

/// Converts an integer as a server does: beyond 2⁵³ it is rounded.
#[expect(clippy::cast_precision_loss, reason = "that is what a server does")]
fn double(number: u64) -> f64 {
    number as f64
}

fn elements(format: &str) -> Vec<Element> {
    let format = format.strip_prefix('<').expect("formats are little-endian");
    let mut elements = Vec::new();
    let mut rest = format;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[1..];
        let digits = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
        let size = rest[..digits].parse().unwrap_or(0);
        rest = &rest[digits..];
        elements.push(match letter {
            'B' => Element::Integer(1),
            'H' => Element::Integer(2),
            'I' => Element::Integer(size),
            'L' => Element::Integer(8),
            'c' => Element::Text(size),
            other => panic!("no format has {other}"),
        });
    }
    elements
}
