use super::*;

#[test]
fn words_stay_words() {
    for (text, word) in [("plain", "'plain'"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("$(x)", "'$(x)'")] {
        assert_eq!(quoted(text), word);
    }
}
