//! What the parser accepts, and the errors it reports.

use super::*;
use crate::flow::Flow;

const ROW: &str = "34200.5,1,7,18,5853300,1";

#[test]
fn a_row_becomes_a_message() {
    let wanted = Message {
        id: 7,
        price: 5_853_300,
        size: 18,
        kind: Kind::Add,
        side: Side::Buy,
    };
    for text in [ROW.to_owned(), format!("{ROW}\n"), format!("{ROW}\r\n")] {
        assert_eq!(
            parse(text.as_bytes(), usize::MAX),
            Ok(vec![wanted]),
            "{text:?}"
        );
    }
}

#[test]
fn rows_are_parsed_as_the_messages_they_were() {
    let messages: Vec<_> = Flow::new(1).take(2_000).collect();
    assert_eq!(parse(rows(&messages).as_bytes(), usize::MAX), Ok(messages));
}

#[test]
fn every_type_has_its_kind() {
    let kinds = [
        Kind::Add,
        Kind::Cancel,
        Kind::Delete,
        Kind::Execute,
        Kind::Hidden,
        Kind::Cross,
        Kind::Halt,
    ];
    for (number, kind) in (1..).zip(kinds) {
        let messages = parse(format!("1,{number},7,18,100,-1").as_bytes(), usize::MAX).unwrap();
        assert_eq!((messages[0].kind, messages[0].side), (kind, Side::Sell));
    }
}

#[test]
fn halts_carry_codes_instead_of_prices() {
    for price in [-1, 0, 1] {
        let text = format!("34200.1,7,0,0,{price},-1");
        assert_eq!(
            parse(text.as_bytes(), usize::MAX).unwrap()[0].kind,
            Kind::Halt
        );
    }
}

#[test]
fn rows_past_the_limit_are_not_parsed() {
    let text = format!("{ROW}\n{ROW}\nnonsense\n");
    assert_eq!(parse(text.as_bytes(), 2).unwrap().len(), 2);
    assert_eq!(parse(text.as_bytes(), 3).unwrap_err().line, 3);
}

/// Parses `text` after a valid row. Expects an error in line 2, at this column and
/// with these words.
#[track_caller]
fn refuses(text: &[u8], column: usize, words: &str) {
    let mut file = format!("{ROW}\n").into_bytes();
    file.extend(text);
    file.extend(format!("\n{ROW}\n").into_bytes());
    let error = parse(&file, usize::MAX).unwrap_err();
    assert_eq!((error.line, error.column), (2, column), "{error}");
    assert!(error.reason.contains(words), "{error}");
}

macro_rules! refuses {
    ($($name:ident: $text:expr, $column:expr, $words:expr;)*) => {$(
        #[test]
        fn $name() {
            refuses($text, $column, $words);
        }
    )*};
}

refuses! {
    an_empty_line_is_refused: b"", 1, "the line is empty";
    too_few_columns_are_refused: b"1,1,7,18,100", 13, "expected 6 columns, found 5";
    too_many_columns_are_refused: b"1,1,7,18,100,1,9", 16, "expected 6 columns, found 7";
    a_header_is_refused: b"Time,Type,ID,Size,Price,Direction", 1, "time \"Time\"";
    a_time_in_words_is_refused: b"noon,1,7,18,100,1", 1, "is not a number of seconds";
    a_negative_time_is_refused: b"-1.5,1,7,18,100,1", 1, "is not a number of seconds";
    a_time_without_digits_is_refused: b".,1,7,18,100,1", 1, "is not a number of seconds";
    type_0_is_refused: b"1,0,7,18,100,1", 3, "type \"0\" is not from 1 to 7";
    type_8_is_refused: b"1,8,7,18,100,1", 3, "type \"8\" is not from 1 to 7";
    a_type_in_words_is_refused: b"1,add,7,18,100,1", 3, "is not a whole number";
    a_negative_id_is_refused: b"1,1,-7,18,100,1", 5, "order id \"-7\"";
    an_id_beyond_64_bits_is_refused: b"1,1,18446744073709551616,18,100,1", 5, "is not from 0 to";
    a_fraction_of_a_share_is_refused: b"1,1,7,1.5,100,1", 7, "size \"1.5\" is not a whole number";
    size_0_is_refused: b"1,1,7,0,100,1", 7, "size \"0\" is not from 1 to";
    a_negative_size_is_refused: b"1,4,7,-3,100,1", 7, "size \"-3\"";
    a_size_beyond_32_bits_is_refused: b"1,1,7,4294967296,100,1", 7, "is not from 1 to 4294967295";
    a_size_beyond_all_bits_is_refused:
        b"1,1,7,999999999999999999999999999999999999999999,100,1", 7, "is not from 1 to 4294967295";
    price_0_is_refused: b"1,3,7,18,0,1", 10, "price \"0\" is not from 1 to";
    a_negative_price_is_refused: b"1,5,0,18,-100,1", 10, "price \"-100\"";
    a_price_beyond_32_bits_is_refused: b"1,1,7,18,4294967296,1", 10, "is not from 1 to 4294967295";
    an_empty_price_is_refused: b"1,1,7,18,,1", 10, "price \"\" is not a whole number";
    a_number_with_a_plus_is_refused: b"1,1,7,+18,100,1", 7, "is not a whole number";
    a_lone_minus_is_refused: b"1,1,7,-,100,1", 7, "is not a whole number";
    a_number_with_spaces_is_refused: b"1,1,7, 18,100,1", 7, "is not a whole number";
    direction_0_is_refused: b"1,1,7,18,100,0", 14, "direction \"0\" is neither 1 nor -1";
    direction_2_is_refused: b"1,1,7,18,100,2", 14, "is neither 1 nor -1";
    bytes_that_are_not_text_are_refused: b"1,1,7,\xff,100,1", 7, "not UTF-8";
}

#[test]
fn a_file_without_rows_is_refused() {
    for text in ["", "\n"] {
        let error = parse(text.as_bytes(), usize::MAX).unwrap_err();
        assert_eq!(error.to_string(), "1:1: the file holds no messages");
    }
}

#[test]
fn columns_count_characters() {
    refuses("1,é,7,18,100,1".as_bytes(), 3, "type");
    refuses("é,x\u{0},7".as_bytes(), 7, "expected 6 columns, found 3");
    refuses(b"\xc3\xa9,\xff", 3, "not UTF-8");
}
