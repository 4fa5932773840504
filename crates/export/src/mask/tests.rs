//! The table of rules is sound.

use super::*;
#[test]
fn the_table_is_sound() {
    let rules = Rules::standard().unwrap();
    let mut ids: Vec<&str> = rules.rules.iter().map(|r| r.id.as_str()).collect();
    for id in &ids {
        assert!(
            id.len() < scan::MAX_ID_BYTES && id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'),
            "{id}"
        );
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), rules.rules.len());
}
