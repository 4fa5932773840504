//! Rewinds, and what only looks like one.

use annals_model::Payload;
use serde_json::{Value, json};

use crate::fixture::*;

fn rewinds(read: &Read) -> Vec<(usize, u64)> {
    let at = |(index, event): (usize, &annals_interop::ImportedEvent)| match &event.payload {
        Payload::Rewound(rewound) => Some((index + 1, rewound.to_seq)),
        _ => None,
    };
    read.events().enumerate().filter_map(at).collect()
}

/// `u1 a1 u2 a2 u3 a3`, one event each.
fn three_turns() -> Fixture {
    let mut file = Fixture::default();
    for n in 1..=3 {
        file.user(&format!("u{n}"), format!("prompt {n}"), json!({}));
        file.answer(&format!("a{n}"), &n.to_string(), text("yes"), 3, json!({}));
    }
    file
}

#[test]
fn a_prompt_that_goes_back_is_a_rewind() {
    let mut file = three_turns();
    file.user("u4", "prompt 2 anew", json!({"parentUuid": "a1"})).answer(
        "a4",
        "4",
        text("yes"),
        3,
        json!({}),
    );
    let read = file.read();
    assert_eq!(rewinds(&read), [(7, 3)]);
    assert_eq!(read.records[6].events.len(), 2);
    assert_eq!(read.loss("branch_kept_linear"), 0);
}

#[test]
fn a_rewind_to_the_start_and_one_more_to_the_same_place() {
    let mut file = three_turns();
    file.user("u4", "prompt 1 anew", json!({"parentUuid": null}))
        .answer("a4", "4", text("yes"), 3, json!({}))
        .user("u5", "and again", json!({"parentUuid": null}));
    assert_eq!(rewinds(&file.read()), [(7, 1), (10, 1)]);
}

/// The rewind reaches back further than single records are remembered: by its turn it is found all the same.
#[test]
fn a_rewind_over_many_records() {
    let mut file = Fixture::default();
    for n in 0..400 {
        file.user(&format!("u{n}"), format!("prompt {n}"), json!({}));
        file.answer(&format!("a{n}"), &n.to_string(), text("yes"), 3, json!({}));
    }
    file.user("back", "from the third on", json!({"parentUuid": "a2"}));
    assert_eq!(rewinds(&file.read()), [(801, 7)]);
}

#[test]
fn hooks_and_attachments_between_are_no_rewind() {
    let mut file = three_turns();
    file.chain("attachment", "h1", json!({"attachment": {"type": "hook_success"}}))
        .chain("system", "h2", json!({"subtype": "stop_hook_summary", "parentUuid": "a3"}))
        .user("u4", "next", json!({"parentUuid": "a3"}));
    let read = file.read();
    assert_eq!((rewinds(&read), read.loss("branch_kept_linear")), (vec![], 0));
}

/// The whole response stays when the rewind names its first record.
#[test]
fn a_rewind_keeps_the_response_that_it_goes_back_to() {
    let mut file = Fixture::default();
    file.user("u1", "go", json!({}))
        .answer("a1", "1", call("t1"), 3, json!({}))
        .answer("a2", "1", call("t2"), 6, json!({}))
        .user("r1", result("t1", "1"), json!({"parentUuid": "a1"}))
        .user("r2", result("t2", "2"), json!({"parentUuid": "a2"}))
        .answer("a3", "2", text("done"), 3, json!({}))
        .user("u2", "otherwise", json!({"parentUuid": "a1"}));
    let read = file.read();
    let first_after = read.records.iter().take(5).map(|record| record.events.len() as u64).sum::<u64>() + 1;
    assert_eq!(rewinds(&read), [(read.events().count() - 1, first_after)]);
}

/// A boundary that preserved a segment: the prompt after it hangs on the segment's tail, which is no rewind. A rewind to
/// before the boundary is one.
#[test]
fn a_preserved_segment_and_a_rewind_before_the_boundary() {
    let mut file = three_turns();
    file.chain(
        "system",
        "b1",
        json!({"subtype": "compact_boundary", "parentUuid": null, "logicalParentUuid": "a3", "compactMetadata":
               {"trigger": "manual", "preTokens": 9, "preservedSegment": {"headUuid": "u3", "anchorUuid": "c1", "tailUuid": "a3"}}}),
    )
    .user("c1", "summary", json!({"isCompactSummary": true}))
    .user("u4", "go on", json!({"parentUuid": "a3"}))
    .answer("a4", "4", text("yes"), 3, json!({}));
    let read = file.read();
    assert_eq!((rewinds(&read), read.loss("branch_kept_linear")), (vec![], 0));
    assert!(
        read.told()[7].starts_with(r#"compaction {"from":1,"summary":"summary","to":4"#),
        "{}",
        read.told()[7]
    );
    // Once the conversation went on, the tail is an earlier record like any other.
    file.user("u5", "back", json!({"parentUuid": "a3"})).user("u6", "further", json!({"parentUuid": "a2"}));
    assert_eq!(rewinds(&file.read()), [(11, 7), (13, 5)]);
}

#[test]
fn what_can_not_be_told_stays_linear_and_is_counted() {
    // An answer that hangs on an earlier prompt; a prompt on a branch that was left; a parent that is nowhere.
    let mut file = three_turns();
    file.answer("a9", "9", text("late"), 3, json!({"parentUuid": "u1"}));
    assert_eq!((rewinds(&file.read()), file.read().loss("branch_kept_linear")), (vec![], 1));
    let mut file = three_turns();
    file.user("u4", "back", json!({"parentUuid": "a1"})).user(
        "u5",
        "to the dead",
        json!({"parentUuid": "a2"}),
    );
    assert_eq!((rewinds(&file.read()), file.read().loss("branch_kept_linear")), (vec![(7, 3)], 1));
    let mut file = three_turns();
    file.user("u4", "from nowhere", json!({"parentUuid": "missing"}));
    assert_eq!((rewinds(&file.read()), file.read().loss("parent_unknown")), (vec![], 1));
}

/// Records that are all roots say nothing by it; nor do records that name no parent.
#[test]
fn unlinked_files_are_linear() {
    let mut file = Fixture::default();
    for n in 0..4 {
        file.user(&format!("u{n}"), "x", json!({"parentUuid": Value::Null}));
    }
    let read = file.read();
    assert_eq!((rewinds(&read), read.importer.losses().len()), (vec![], 0));
}

/// A second session's records in one file, and a response that was copied under a root of its own.
#[test]
fn lineages_in_one_file() {
    let mut file = three_turns();
    file.user("v1", "another session", json!({"parentUuid": null, "sessionId": "other"})).answer(
        "v2",
        "v",
        text("yes"),
        3,
        json!({"sessionId": "other"}),
    );
    let read = file.read();
    assert_eq!((rewinds(&read), read.loss("branch_kept_linear")), (vec![], 1));
    let mut file = three_turns();
    file.answer("w1", "3", text("yes"), 3, json!({"parentUuid": null})).user("w2", "on", json!({}));
    let read = file.read();
    assert_eq!((rewinds(&read), read.loss("branch_kept_linear")), (vec![], 0));
}

/// The log holds events of its own between two imports: positions count them.
#[test]
fn positions_are_those_of_the_log() {
    let mut file = three_turns();
    file.user("u4", "prompt 3 anew", json!({"parentUuid": "a2"}));
    let saved = file.save();
    let mut importer = annals_interop::claude_code::Importer::start(&saved.source).unwrap();
    let mut to = None;
    for n in 0..7 {
        if n == 4 {
            assert_eq!(importer.next_seq(), 5);
            importer.set_next_seq(8);
        }
        let record = importer.next_record().unwrap().unwrap();
        if let Payload::Rewound(rewound) = &record.events[0].payload {
            to = Some(rewound.to_seq);
        }
    }
    // Behind `a2` lay 5; the log put 5 to 7 behind it, which are no part of what is left.
    assert_eq!((to, importer.next_seq()), (Some(8), 12));
}
