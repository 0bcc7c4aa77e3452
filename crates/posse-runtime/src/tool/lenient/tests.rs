use serde_json::json;

use super::*;

#[test]
fn numbers_come_in_many_spellings() {
    let cases = [
        (json!(5), Some(Some(5))),
        (json!("5"), Some(Some(5))),
        (json!(" 5000 "), Some(Some(5000))),
        (json!(5.0), Some(Some(5))),
        (json!("2.6"), Some(Some(3))),
        (json!(null), Some(None)),
        (json!(""), Some(None)),
        (json!(-1), None),
        (json!("soon"), None),
        (json!("NaN"), None),
        (json!(1e300), None),
        (json!(true), None),
        (json!([1]), None),
    ];
    for (input, expected) in cases {
        assert_eq!(number(input.clone()).ok(), expected, "{input}");
    }
}

#[test]
fn switches_too() {
    let cases = [
        (json!(true), Some(Some(true))),
        (json!("True"), Some(Some(true))),
        (json!("false"), Some(Some(false))),
        (json!(null), Some(None)),
        (json!(1), None),
        (json!("maybe"), None),
    ];
    for (input, expected) in cases {
        assert_eq!(switch(input.clone()).ok(), expected, "{input}");
    }
}

#[test]
fn ids_are_taken_as_text_or_number() {
    assert_eq!(id(json!("#3")).ok().as_deref(), Some("3"));
    assert_eq!(ids(json!([1, "2"])).ok(), Some(vec!["1".to_owned(), "2".to_owned()]));
    assert!(ids(json!([true])).is_err());
    assert_eq!(words(json!(null)).ok(), Some(vec![]));
}
