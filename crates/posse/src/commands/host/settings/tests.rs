use super::*;

#[test]
fn what_counts_late_or_never_is_said() {
    let table = [
        (json!({"model": "opus", "permissions": {}, "env": {}, "hooks": {}, "effortLevel": null}), ""),
        (json!({"sandbox": {}}), "only at the start"),
        (json!({"enabledPlugins": {}}), "only at the start"),
        (json!({"outputStyle": "x"}), "does not act on"),
        (json!({"oddity": 1}), "does not know"),
    ];
    for (settings, expected) in table {
        let notes = leftovers(settings.as_object().unwrap()).join("\n");
        assert!(notes.contains(expected) && notes.is_empty() == expected.is_empty(), "{settings}: {notes}");
    }
}
