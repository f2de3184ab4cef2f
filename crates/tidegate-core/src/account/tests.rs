//! One name, one account, however it is typed; and different people stay apart.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;

use super::*;
use crate::{
    Bucket, Case, Digests, Dimension, Fact, FailureMode, KeyNames, Limit, Name, Override,
    PolicySet, PolicySpec, Rate, Scope, Shape, Subject,
};

fn shape(burst: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::per_minute(60).unwrap(), burst).unwrap())
}

fn per_account() -> Limit {
    Limit::new(Name::try_new("account").unwrap(), Scope::of([Dimension::Account]), shape(10))
}

/// The text and the digest of the key, and the numbers that hold, for a name as it was typed.
fn counted(limit: Limit, typed: &str) -> (String, u64, Shape) {
    let spec = PolicySpec::new(Name::try_new("login").unwrap(), FailureMode::FailOpen);
    let set = PolicySet::builder().policy(spec.limit(limit)).build(None).unwrap();
    let account = Account::new(typed);
    let subject = Subject::new().account(&account);
    let mut case = Case::new(&set.policies()[0], &subject);
    case.resolve(&Digests::new([7, 11]));
    let [charge] = case.batch().charges() else { panic!("one limit applies") };
    let text = KeyNames::new(&[42; 32]).text(&case.batch().key(charge));
    (text, charge.digest(), charge.shape().clone())
}

const NAME: &str = "renée.fisher@example.org";

/// [`NAME`], spelt in more ways than a hundred.
fn spellings() -> BTreeSet<String> {
    let moved = |text: &str, from: char, to: u32, which: fn(&char) -> bool| -> String {
        let other = |c: char| char::from_u32(to + u32::from(c) - u32::from(from));
        text.chars().map(|c| if which(&c) { other(c).unwrap() } else { c }).collect()
    };
    let full_width = |text: &str| moved(text, '!', 0xFF01, char::is_ascii_graphic);
    let bold = |text: &str| moved(text, 'a', 0x1D41A, char::is_ascii_lowercase);
    let circled = |text: &str| moved(text, 'A', 0x24B6, char::is_ascii_uppercase);
    let names = [
        NAME,
        "RENÉE.FISHER@EXAMPLE.ORG",
        "Renée.Fisher@Example.org",
        "rene\u{301}e.fisher@example.org",
        "RENE\u{301}E.Fisher@example.ORG",
        "renée.ﬁsher@example.org",
        "renée.fi\u{17f}her@example.org",
        "renée.fisher@example.\u{2134}rg",
    ];
    let around = [
        "",
        " ",
        "\t",
        "\r\n",
        "\u{a0}",
        "\u{3000}",
        "\u{2003}\u{202f}",
        "\u{85}",
        "\u{feff} \u{ad}",
        "\u{1c}\u{1f}",
    ];
    let written = names
        .iter()
        .flat_map(|name| [(*name).to_owned(), full_width(name), bold(name), circled(name)]);
    written.flat_map(|name| around.map(|space| format!("{space}{name}{space}"))).collect()
}

#[test]
fn t17_every_spelling_of_a_name_is_one_account() {
    let spellings = spellings();
    assert!(spellings.len() >= 100, "{}", spellings.len());
    let expected = counted(per_account(), NAME);
    for typed in spellings {
        assert_eq!(Account::new(&typed).as_str(), NAME, "{typed:?}");
        assert_eq!(counted(per_account(), &typed), expected, "{typed:?}");
    }
}

#[test]
fn t17_control_characters_make_no_other_account() {
    for control in (0..0x20).chain(0x7f..0xa0).filter_map(char::from_u32) {
        for typed in [format!("{control}ada"), format!("ada{control}"), format!("a{control}DA")] {
            let name = if control == '\0' { typed.split('\0').next().unwrap() } else { "ada" };
            assert_eq!(Account::new(&typed).as_str(), name.to_lowercase(), "{typed:?}");
        }
    }
    // A look-up in C ends there, so a fresh text behind it must not be a fresh limit.
    for typed in ["ada\0", "ada\0x", "Ada \0 17", "ａda\0\u{e9}", "\u{1}ada\0ada"] {
        assert_eq!(Account::new(typed), Account::new("ada"), "{typed:?}");
    }
    assert_eq!(Account::new("\0ada").as_str(), "", "nobody's name, as the look-up finds");
    assert_ne!(Account::new("a\tda"), Account::new("a da"), "a tab is no space");
}

#[test]
fn t17_an_override_for_a_name_holds_for_every_spelling() {
    let written =
        Override::exact(Dimension::Account, "  Ren\u{c9}e.\u{fb01}sher@EXAMPLE.org", shape(3));
    let limit = per_account().overridden(written.unwrap()).unwrap();
    for typed in spellings() {
        assert_eq!(counted(limit.clone(), &typed).2, shape(3), "{typed:?}");
    }
    assert_eq!(counted(limit.clone(), "somebody else").2, shape(10));
    let again = Override::exact(Dimension::Account, NAME, shape(4)).unwrap();
    assert!(limit.overridden(again).is_err(), "one name cannot have two");
}

#[test]
fn different_people_stay_different() {
    let people = [
        "ada", "a da", "a-da", "adá", "adaa", "ａdа", // the last letter is Cyrillic
        "i", "ı", "l", "1", "o", "0", "ss", "s", "π", "п", "u", "ü", "user", "",
    ];
    let accounts: BTreeSet<String> =
        people.iter().map(|typed| Account::new(typed).as_str().to_owned()).collect();
    assert_eq!(accounts.len(), people.len(), "{accounts:?}");
    let keys: BTreeSet<String> =
        people.iter().map(|typed| counted(per_account(), typed).0).collect();
    assert_eq!(keys.len(), people.len());
}

#[test]
fn folding_is_full_and_the_same_in_every_place() {
    for (typed, folded) in [
        ("Straße", "strasse"),
        ("STRAẞE", "strasse"),
        ("ΟΔΥΣΣΕΥΣ", "οδυσσευσ"),
        ("Οδυσσευς", "οδυσσευσ"),
        ("IJ", "ij"),
        ("Ĳ", "ij"),
        ("İ", "i\u{307}"),
        ("DIYARBAKIR", "diyarbakir"),
        ("Dıyarbakır", "dıyarbakır"),
        ("ᾳ", "αι"),
        ("①②", "12"),
        ("\u{a8}x", "\u{308}x"),
        ("x\u{37a}", "x ι"),
        ("ﷺ", "صلى الله عليه وسلم"),
        ("가", "가"),
    ] {
        assert_eq!(Account::new(typed).as_str(), folded, "{typed:?}");
    }
}

#[test]
fn t17_what_nobody_sees_is_no_part_of_a_name() {
    let invisible: Vec<char> =
        ('\0'..=char::MAX).filter(|it| invisible::is_invisible(*it)).collect();
    assert_eq!(invisible.len(), 4_174 + 65, "as many as Unicode lists, and 65 control characters");
    // U+0000 ends a name.
    for hidden in invisible.into_iter().skip(1) {
        let typed = format!("{hidden}re{hidden}ne{hidden}\u{301}e {hidden}");
        assert_eq!(Account::new(&typed).as_str(), "renée", "{hidden:?}");
    }
    let padded = format!("a{}da", "\u{200b}".repeat(10_000));
    assert_eq!(Account::new(&padded).as_str(), "ada", "however many there are");
    assert_eq!(Account::new("👩\u{200d}🚀").as_str(), "👩🚀");
}

#[test]
fn a_name_of_nothing_but_white_space_is_the_empty_name_and_counts() {
    let expected = counted(per_account(), "");
    for typed in ["", " ", "\t\n", "\u{3000}\u{a0}\u{2028}", " \u{200b}"] {
        let account = Account::new(typed);
        assert_eq!(account.as_str(), "");
        let subject = Subject::new().account(&account);
        assert_eq!(subject.get(Dimension::Account), Some(Fact::Private(b"")));
        assert_eq!(counted(per_account(), typed), expected, "{typed:?}");
    }
}

#[test]
fn an_account_cannot_be_told_as_text() {
    let ada = Account::new("ada");
    let subject = Subject::new().account(&ada).with(Dimension::Account, b"Ada");
    assert_eq!(subject.get(Dimension::Account), Some(Fact::Private(b"ada")));
    assert_eq!(Subject::new().with(Dimension::Account, b"ada").get(Dimension::Account), None);
}

#[test]
fn what_is_folded_already_is_borrowed() {
    for (typed, borrowed) in [("ada@example.org", true), (" ada ", true), ("Ada", false)] {
        assert_eq!(matches!(Account::new(typed).0, Cow::Borrowed(_)), borrowed, "{typed}");
        assert_eq!(Account::from(Cow::from(typed.to_owned())), Account::new(typed));
    }
}

#[test]
fn a_name_does_not_show() {
    assert_eq!(format!("{:?}", Account::new("ada")), "Account");
}

#[test]
fn t12_what_is_too_long_is_not_folded_and_no_two_are_one() {
    let long = "É".repeat(Account::MAX_FOLDED / 2);
    assert_eq!(Account::new(&long).as_str(), long.to_lowercase(), "just short enough");
    let longer = long + "É";
    assert_eq!(
        Account::new(&format!(" {longer}\n")).as_str(),
        longer,
        "taken as it is, but trimmed"
    );
    let longest = "Ada".repeat(10_000);
    assert_eq!(Account::new(&longest).as_str(), longest.to_lowercase(), "ASCII costs nothing");
    let padded = format!("{}É", "\u{3000}".repeat(10_000));
    assert_eq!(Account::new(&padded).as_str(), "é", "white space around is not counted");
}

/// The bound of [`Account::MAX_FOLDED`]: what is taken as it is cannot be a short name in disguise.
#[test]
fn t17_nothing_folds_to_less_than_a_fifth_of_its_bytes() {
    let mut longest_spelling: HashMap<char, usize> = HashMap::new();
    let mut results: BTreeSet<char> = BTreeSet::new();
    for typed in '\0'..=char::MAX {
        let text = typed.to_string();
        let account = Account::new(&text);
        let name = account.as_str();
        assert!(name.is_empty() || 5 * name.len() >= text.len(), "{text:?} is {name:?}");
        assert!(name.len() <= 11 * text.len(), "{text:?} is {name:?}");
        results.extend(name.chars());
        // Decomposed, because that is what others can compose with.
        if let [one] = name.nfd().collect::<Vec<_>>()[..] {
            let longest = longest_spelling.entry(one).or_default();
            *longest = text.len().max(*longest);
        }
    }
    // What several characters compose to, each of them spelt as long as possible.
    for result in results {
        let parts: Vec<char> = result.to_string().nfd().collect();
        let spelt: usize =
            parts.iter().map(|part| longest_spelling.get(part).copied().unwrap_or(4)).sum();
        assert!(spelt <= 5 * result.len_utf8(), "{result:?} in {spelt} bytes");
    }
}

#[test]
fn folding_a_folded_character_changes_nothing() {
    for typed in '\0'..=char::MAX {
        let text = typed.to_string();
        let once = Account::new(&text);
        assert_eq!(Account::new(once.as_str()), once, "{text:?}");
    }
}

/// Letters that compose, decompose or fold into several, and what stands around them.
fn awkward() -> impl Strategy<Value = String> {
    let pieces = "aAßẞİıIfﬁﬃΐΰᾳᾼᾧῼǰŉΣςσ\u{345}\u{301}\u{308}\u{307}\u{313}\u{342}\u{323}\u{338}\u{a8}\u{37a}\u{1fbf} \u{a0}\u{3000}가ᄀ\u{1161}\u{11a8}\u{1160}\u{200d}\u{ad}\u{fe0f}\u{ffa0}ﾊﾟﷺŻ①Ａ𝐀";
    let piece = proptest::sample::select(pieces.chars().collect::<Vec<_>>());
    proptest::collection::vec(piece, 0..12).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn folding_twice_is_folding_once(typed in prop_oneof![awkward(), any::<String>()]) {
        let once = Account::new(&typed);
        prop_assert_eq!(folded(once.as_str()), once.as_str());
        prop_assert_eq!(once.as_str().trim(), once.as_str());
    }

    #[test]
    fn t17_normalised_padded_or_in_the_other_case_it_is_the_same_account(
        typed in prop_oneof![awkward(), any::<String>()],
    ) {
        let account = Account::new(&typed);
        let padded = format!("\u{a0}{typed}\u{3000}");
        let other: [String; 7] = [
            typed.nfc().collect(),
            typed.nfd().collect(),
            typed.nfkc().collect(),
            typed.nfkd().collect(),
            padded,
            typed.to_ascii_uppercase(),
            typed.to_ascii_lowercase(),
        ];
        for other in &other {
            prop_assert_eq!(folded(other), account.as_str());
        }
    }
}
