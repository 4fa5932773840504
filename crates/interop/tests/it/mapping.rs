//! What records mean.

use serde_json::json;

use crate::fixture::*;

#[test]
fn a_plain_conversation() {
    let mut file = Fixture::default();
    file.user("u1", "hello", json!({}))
        .answer("a1", "1", json!({"type": "thinking", "thinking": "", "signature": "c2ln"}), 3, json!({}))
        .answer("a2", "1", text("hi"), 7, json!({}))
        .answer("a3", "1", call("t1"), 12, json!({}))
        .user("r1", result("t1", "t1\n"), json!({}))
        .answer("a4", "2", text("done"), 5, json!({}));
    let read = file.read();
    for line in read.told() {
        eprintln!("{line}");
    }
    eprintln!("{}", read.importer.state().as_str());
}
