//! Files of many shapes, from a seed: linked and unlinked records, copies, rewinds, compactions, interleaved responses.

use annals_interop::claude_code::sample::Dice;
use serde_json::json;

use crate::fixture::*;

pub(crate) fn pick(dice: &mut Dice, of: usize) -> usize {
    usize::try_from(dice.below(of as u64)).unwrap()
}

/// A file of `count` steps. Everything that the reader keeps in mind occurs in it.
pub(crate) fn wild(seed: u64, count: usize) -> Fixture {
    let mut dice = Dice::new(seed);
    let mut file = Fixture::default();
    let mut ids = vec!["u0".to_owned()];
    file.user("u0", "start", json!({}));
    for n in 1..=count {
        let mut extra = json!({});
        if dice.below(5) == 0 {
            extra["parentUuid"] = json!(ids[pick(&mut dice, ids.len())]);
        }
        extra["input"] = json!(dice.below(9));
        if dice.below(20) == 0 {
            extra["isSidechain"] = json!(true);
        }
        let copied = dice.below(12) == 0;
        let id = if copied { ids[pick(&mut dice, ids.len())].clone() } else { format!("{seed}-{n}") };
        let response = (n as u64 / 4 + dice.below(3)).to_string();
        match dice.below(12) {
            0..=2 => file.user(&id, format!("prompt {n}"), extra),
            3..=4 => file.answer(&id, &response, text("answer"), dice.below(50), extra),
            5..=6 => file.answer(&id, &response, call(&format!("t{n}")), dice.below(50), extra),
            7 => file.user(&id, result(&format!("t{}", n - 1), "out"), extra),
            8 => file.chain("attachment", &id, json!({"attachment": {"type": "file"}})),
            9 => file
                .chain(
                    "system",
                    &format!("b{n}"),
                    json!({"subtype": "compact_boundary", "parentUuid": null, "compactMetadata": {
                           "trigger": "auto", "preservedSegment": {"headUuid": ids[0], "tailUuid": id}}}),
                )
                .user(&format!("c{n}"), format!("summary {n}"), json!({"isCompactSummary": true})),
            10 => file.line(
                &json!({"type": "ai-title", "aiTitle": format!("title {}", n / 9), "sessionId": SESSION}),
            ),
            _ => file.raw([&b"not json\n"[..], b"\n", b"\0\0\n", b"{}\r\n", b"[1]\n"][pick(&mut dice, 5)]),
        };
        ids.push(id);
    }
    file
}
