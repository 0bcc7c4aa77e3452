use super::*;
use std::collections::BTreeSet;

#[test]
fn every_agent_has_its_own_name_and_the_asked_size() {
    let names: BTreeSet<String> = (0..10_000).map(name).collect();
    assert_eq!(names.len(), 10_000);
    for index in [0, 1, 4_999, 9_999] {
        assert_eq!(agent(index, 5_120).len(), 5_120);
    }
}

#[test]
fn an_agent_looks_like_one_a_person_wrote() {
    let text = agent(42, 5_120);
    let header: Vec<&str> = text.lines().take(6).collect();
    assert_eq!(header[..2], ["---", "name: database-migrator-00042"]);
    assert!(header[2].starts_with("description: Looks after database as a migrator. "), "{}", header[2]);
    assert!(header[3].starts_with("tools: ") && header[3].contains(", "), "{}", header[3]);
    assert!(header[4].starts_with("model: "), "{}", header[4]);
    assert_eq!(header[5], "---");
}

#[test]
fn the_same_number_gives_the_same_agent() {
    assert_eq!(agent(7, 5_120), agent(7, 5_120));
    assert_ne!(agent(7, 5_120), agent(8, 5_120));
}
