use std::time::{Duration, UNIX_EPOCH};

use super::*;

/// git compares whole seconds: a file that was changed in the second its index was written is looked at again only as
/// long as the index is no younger.
#[test]
fn a_copied_index_is_as_old_as_the_one_it_was_copied_from() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    std::fs::write(&from, "index").unwrap();
    let then = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    std::fs::File::options().write(true).open(&from).unwrap().set_modified(then).unwrap();
    copy_with_time(&from, &to).unwrap();
    assert_eq!(std::fs::read(&to).unwrap(), b"index");
    assert_eq!(to.metadata().unwrap().modified().unwrap(), then);
}

#[test]
fn files_git_looks_away_from() {
    for (list, sparse, hidden) in [
        ("H a\0H b\0", false, false),
        ("H a\0h b\0", false, true),
        ("S a\0H b\0", false, true),
        ("S a\0H b\0", true, false),
        ("s a\0", true, true),
        ("", false, false),
    ] {
        assert_eq!(hides(list.as_bytes(), sparse), hidden, "{list:?} {sparse}");
    }
}
