//! P89: what is not a cost never becomes one.

use proptest::prelude::*;

use super::*;

#[test]
fn p89_everything_that_is_not_a_positive_whole_number_is_refused() {
    for text in [
        "", "0", "00", "-1", "+1", " 1", "1 ", "1.0", "0.5", "1e5", "0x10", "NaN", "nan", "inf",
        "-inf", "1_000", "1,000", "١", "1\0", "\n1",
    ] {
        assert!(text.parse::<Cost>().is_err(), "{text:?} became a cost");
    }
    assert_eq!("0".parse::<Cost>(), Err(CostError::Zero));
    assert_eq!("-1".parse::<Cost>(), Err(CostError::NotAWholeNumber));
    assert_eq!(u64::MAX.to_string().parse::<Cost>(), Err(CostError::TooLarge));
    assert_eq!("184467440737095516160".parse::<Cost>(), Err(CostError::TooLarge));
    assert_eq!(Cost::try_new(MAX_EXACT + 1), Err(CostError::TooLarge));
    assert_eq!(Cost::try_from(-1_i64), Err(CostError::NotAWholeNumber));
}

#[test]
fn p89_the_largest_cost_is_exact_in_every_store() {
    assert_eq!(Cost::try_new(MAX_EXACT).map(Cost::get), Ok(MAX_EXACT));
    assert_eq!(Cost::MAX.times(Cost::MAX), Cost::MAX);
}

proptest! {
    #[test]
    fn p89_any_text_parses_to_what_it_says_or_not_at_all(
        text in prop_oneof!["[-+ 0-9a-fxE.]{0,20}", "0{0,2}[0-9]{1,16}", "90071992547409[89][0-9]"],
    ) {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| text.parse::<u64>().unwrap());
        let expected = number.filter(|number| (1..1 << 53).contains(number));
        prop_assert_eq!(text.parse::<Cost>().ok().map(Cost::get), expected);
    }
}
