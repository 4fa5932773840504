//! What records mean.

use annals_interop::claude_code::FORMAT;
use annals_model::payload::MessageKind;
use annals_model::{Payload, Usage};
use serde_json::json;

use crate::fixture::*;

#[test]
fn a_plain_conversation() {
    let mut file = Fixture::default();
    file.user("u1", "hello", json!({}))
        .answer("a1", "1", json!({"type": "thinking", "thinking": "", "signature": "c2ln=="}), 3, json!({}))
        .answer("a2", "1", json!({"type": "redacted_thinking", "data": "b3BhcXVl"}), 3, json!({}))
        .answer("a3", "1", text("hi"), 7, json!({}))
        .answer("a4", "1", call("t1"), 12, json!({}))
        .user("r1", result("t1", "t1\n"), json!({}))
        .answer("a5", "2", json!({"type": "server_tool_use", "id": "s1"}), 5, json!({}));
    let read = file.read();
    assert_eq!(
        read.told(),
        [
            r#"user_message {"kind":"prompt","text":"hello"}"#,
            r#"assistant_message {"parts":[{"signature":"c2ln==","text":"","type":"thinking"}]}"#,
            r#"assistant_message {"parts":[{"data":"b3BhcXVl","type":"redacted_thinking"}]}"#,
            r#"assistant_message {"parts":[{"text":"hi","type":"text"}]}"#,
            r#"assistant_message {"parts":[]}"#,
            r#"tool_call {"id":"t1","input":{"command":"echo t1"},"name":"Bash"}"#,
            r#"tool_result {"id":"t1","is_error":false,"output":"t1\n"}"#,
            r#"assistant_message {"parts":[{"block":{"id":"s1","type":"server_tool_use"},"type":"opaque"}]}"#,
        ]
    );
    assert!(read.events().all(|event| event.turn == Some(1) && event.ts.is_some()));
    assert_eq!(read.importer.next_seq(), 9);
    assert!(read.importer.losses().is_empty());
    let Payload::ToolCall(call) = &read.records[4].events[1].payload else { panic!() };
    assert_eq!(call.response.as_deref(), Some("msg_1/req_1"));
    let src = call.src.as_ref().unwrap();
    assert_eq!((src.at, src.len), (read.records[4].at, read.records[4].len));
    assert_eq!(src.id.as_deref(), Some("a4"));
}

#[test]
fn the_header_names_the_source() {
    let mut file = Fixture::default();
    file.user("u1", "hello", json!({}))
        .answer(
            "a1",
            "1",
            text("local error"),
            0,
            json!({"message": {"model": "<synthetic>", "content": []}}),
        )
        .answer("a2", "2", text("hi"), 1, json!({}));
    let saved = file.save();
    let header = read(&saved.source).importer.header().unwrap();
    assert_eq!(header.workspace.as_deref(), Some("/srv/garden"));
    assert_eq!(header.model.as_deref(), Some("claude-sonnet-4-5"));
    assert_eq!((header.agent.as_deref(), header.provider.as_deref()), (Some(FORMAT), Some("anthropic")));
    let from = header.imported_from.unwrap();
    assert_eq!((from.format.as_str(), from.session.as_deref()), (FORMAT, Some(SESSION)));
    assert_eq!(from.path, saved.path.to_str().unwrap());
}

/// Parallel tool calls: results interleaved with the calls' records, one missing. None of it is a rewind.
#[test]
fn a_fan_out_of_calls_is_no_branch() {
    let mut file = Fixture::default();
    file.user("u1", "look at three files", json!({}))
        .answer("a1", "1", call("t1"), 5, json!({}))
        .user("r1", result("t1", "one"), json!({"sourceToolAssistantUUID": "a1"}))
        .answer("a2", "1", call("t2"), 9, json!({"parentUuid": "a1"}))
        .answer("a3", "1", call("t3"), 14, json!({"parentUuid": "a2"}))
        .user("r2", result("t2", "two"), json!({"parentUuid": "a2", "sourceToolAssistantUUID": "a2"}))
        .answer("a4", "2", text("the third is missing"), 4, json!({"parentUuid": "r1"}));
    let read = file.read();
    assert!(read.events().all(|event| event.payload.kind() != "rewound"), "{:#?}", read.told());
    assert_eq!(read.loss("branch_kept_linear"), 0);
    let of = |kind| read.events().filter(|event| event.payload.kind() == kind).count();
    assert_eq!((of("tool_call"), of("tool_result")), (3, 2));
}

/// A record that comes twice, a response whose usage grows, a local error under a model's name that is none.
#[test]
fn copies_and_synthetic_messages() {
    let mut file = Fixture::default();
    file.user("u1", "hello", json!({}))
        .answer("a1", "1", text("hi"), 3, json!({}))
        .answer("a1", "1", text("hi"), 9, json!({}))
        .answer("a1", "1", text("hi"), 9, json!({}))
        .answer(
            "a2",
            "x",
            text("API Error"),
            0,
            json!({"isApiErrorMessage": true, "message": {"model": "<synthetic>", "content": [text("API Error")],
                   "usage": {"input_tokens": 7, "output_tokens": 7}}}),
        );
    let read = file.read();
    assert_eq!(
        read.told(),
        [
            r#"user_message {"kind":"prompt","text":"hello"}"#,
            r#"assistant_message {"parts":[{"text":"hi","type":"text"}]}"#,
            "foreign duplicate",
            r#"assistant_message {"parts":[]}"#,
            "foreign duplicate",
            r#"assistant_message {"parts":[{"text":"API Error","type":"text"}]}"#,
        ]
    );
    assert_eq!(read.loss("duplicate"), 2);
    let Payload::AssistantMessage(error) = &read.records[4].events[0].payload else { panic!() };
    assert_eq!((&error.model, error.usage), (&None, None));
}

/// A prompt queued between two records of one response, and one that the editor's words are glued to.
#[test]
fn queued_and_wrapped_prompts() {
    let mut file = Fixture::default();
    file.user("u1", "<ide_opened_file>main.rs</ide_opened_file>\nfix it", json!({}))
        .answer("a1", "1", text("on it"), 3, json!({}))
        .line(&json!({"type": "attachment", "sessionId": SESSION, "timestamp": "2026-03-01T10:00:01Z",
                      "attachment": {"type": "queued_command", "prompt": "and the tests", "commandMode": "prompt"}}))
        .answer("a2", "1", call("t1"), 8, json!({}))
        .user("r1", result("t1", ""), json!({}))
        .user("u2", json!([text("<ide_selection>x</ide_selection>"), text("what is x?")]), json!({}))
        .user("u3", "later", json!({"promptSource": "queued"}));
    let read = file.read();
    assert_eq!(
        read.told()[0],
        r#"user_message {"kind":"prompt","sent":"<ide_opened_file>main.rs</ide_opened_file>\nfix it","text":"fix it"}"#
    );
    assert_eq!(read.told()[2], r#"user_message {"kind":"steer","text":"and the tests"}"#);
    let said: Vec<_> = read
        .events()
        .filter_map(|event| match &event.payload {
            Payload::UserMessage(message) => Some((message.kind, message.text.as_str(), event.turn)),
            _ => None,
        })
        .collect();
    assert_eq!(said[2], (MessageKind::Prompt, "what is x?", Some(2)));
    assert_eq!(said[3], (MessageKind::Steer, "later", Some(2)));
    assert_eq!(read.loss("branch_kept_linear"), 0);
}

#[test]
fn what_no_one_typed_is_no_prompt() {
    let cases = [
        ("<command-name>/model</command-name>", json!({}), MessageKind::Context),
        ("<local-command-stdout>ok</local-command-stdout>", json!({}), MessageKind::Context),
        ("<system-reminder>be brief</system-reminder>", json!({}), MessageKind::Context),
        ("[Request interrupted by user]", json!({}), MessageKind::Context),
        ("a skill's text", json!({"isMeta": true}), MessageKind::Context),
        ("<teammate-message teammate_id=\"lead\">go</teammate-message>", json!({}), MessageKind::Task),
        ("from afar", json!({"origin": {"kind": "peer", "from": "x"}}), MessageKind::Task),
        ("at nine", json!({"promptSource": "system"}), MessageKind::Task),
        ("by hand", json!({"origin": {"kind": "human"}, "promptSource": "typed"}), MessageKind::Prompt),
    ];
    for (text, extra, kind) in cases {
        let mut file = Fixture::default();
        file.user("u1", text, extra);
        let read = file.read();
        let Payload::UserMessage(message) = &read.records[0].events[0].payload else { panic!("{text}") };
        assert_eq!((message.kind, message.text.as_str()), (kind, text));
        assert_eq!(read.records[0].events[0].turn, (kind == MessageKind::Prompt).then_some(1));
    }
}

#[test]
fn tools_give_text_errors_images_and_more() {
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQID"}});
    let mut file = Fixture::default();
    file.user(
        "u1",
        json!([text("see"), image, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "?"}}]),
        json!({}),
    )
    .user(
        "r1",
        json!([
            {"type": "tool_result", "tool_use_id": "t1", "content": [text("a"), image, text("b")]},
            {"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": true},
            {"type": "tool_result", "tool_use_id": "t3", "content": [{"type": "tool_reference", "tool_name": "X"}]},
            {"type": "tool_result", "tool_use_id": "t4"},
        ]),
        json!({}),
    );
    let read = file.read();
    let Payload::UserMessage(message) = &read.records[0].events[0].payload else { panic!() };
    let hash = blake3::hash(&[1, 2, 3]).to_hex().to_string();
    assert_eq!(message.attachments.len(), 1);
    assert_eq!(
        (message.attachments[0].blob.as_ref(), message.attachments[0].len_bytes),
        (Some(&hash), Some(3))
    );
    assert_eq!(read.records[0].blobs[0].bytes, [1, 2, 3]);
    assert_eq!(read.loss("attachment_unread"), 1);
    let results: Vec<_> = read.records[1].events.iter().map(|event| tell(&event.payload)).collect();
    assert!(results[0].contains(r#""output":"a\nb""#) && results[0].contains(&hash), "{}", results[0]);
    assert_eq!(results[1], r#"tool_result {"id":"t2","is_error":true,"output":"no"}"#);
    assert_eq!(
        results[2],
        r#"tool_result {"id":"t3","is_error":false,"output":[{"tool_name":"X","type":"tool_reference"}]}"#
    );
    assert_eq!(results[3], r#"tool_result {"id":"t4","is_error":false,"output":""}"#);
}

#[test]
fn titles_tags_moves_and_turns() {
    let mut file = Fixture::default();
    let line = |file: &mut Fixture, record| {
        file.line(&record);
    };
    line(&mut file, json!({"type": "summary", "summary": "Old\ttalk", "leafUuid": "x"}));
    line(&mut file, json!({"type": "ai-title", "aiTitle": "Beds", "sessionId": SESSION}));
    line(&mut file, json!({"type": "ai-title", "aiTitle": "Beds", "sessionId": SESSION}));
    line(&mut file, json!({"type": "custom-title", "customTitle": "My beds", "sessionId": SESSION}));
    line(&mut file, json!({"type": "ai-title", "aiTitle": "Other", "sessionId": SESSION}));
    line(&mut file, json!({"type": "tag", "tag": "spring", "sessionId": SESSION}));
    line(&mut file, json!({"type": "tag", "tag": "", "sessionId": SESSION}));
    file.user("u1", "hello", json!({}));
    line(&mut file, json!({"type": "relocated", "relocatedCwd": "/srv/yard", "sessionId": SESSION}));
    file.chain("system", "s1", json!({"subtype": "turn_duration", "durationMs": 1500, "messageCount": 2}));
    file.chain("system", "s2", json!({"subtype": "informational", "content": "x"}));
    file.chain("attachment", "s3", json!({"attachment": {"type": "skill_listing"}}));
    line(&mut file, json!({"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION}));
    line(&mut file, json!({"type": "hologram", "x": 1}));
    line(&mut file, json!({"no": "type"}));
    assert_eq!(
        file.read().told(),
        [
            r#"titled {"generated":true,"title":"Old talk"}"#,
            r#"titled {"generated":true,"title":"Beds"}"#,
            "foreign ai-title",
            r#"titled {"title":"My beds"}"#,
            "foreign ai-title",
            r#"tagged {"tags":["spring"]}"#,
            r#"tagged {"tags":[]}"#,
            r#"user_message {"kind":"prompt","text":"hello"}"#,
            r#"moved {"from":"/srv/garden","to":"/srv/yard"}"#,
            r#"turn_ended {"duration_ms":1500,"outcome":"completed"}"#,
            "foreign system/informational",
            "foreign attachment/skill_listing",
            "foreign queue-operation/enqueue",
            "foreign hologram",
            "foreign untyped",
        ]
    );
}

/// Two compactions: the second one's summary stands for the first one's too.
#[test]
fn compactions_name_what_they_replaced() {
    let compact = |file: &mut Fixture, n: u64| {
        file.chain(
            "system",
            &format!("b{n}"),
            json!({"subtype": "compact_boundary", "parentUuid": null, "logicalParentUuid": "a1", "content": "Compacted",
                   "compactMetadata": {"trigger": "auto", "preTokens": 1000 * n, "postTokens": 100}}),
        );
        file.user(
            &format!("c{n}"),
            format!("summary {n}"),
            json!({"isCompactSummary": true, "isVisibleInTranscriptOnly": true}),
        );
    };
    let mut file = Fixture::default();
    file.user("u1", "hello", json!({})).answer("a1", "1", text("hi"), 3, json!({}));
    compact(&mut file, 1);
    file.user("u2", "go on", json!({})).answer("a2", "2", text("yes"), 3, json!({}));
    compact(&mut file, 2);
    let read = file.read();
    assert_eq!(
        [&read.told()[2..4], &read.told()[6..8]].concat(),
        [
            "foreign system/compact_boundary",
            r#"compaction {"from":1,"summary":"summary 1","to":2,"tokens_after":100,"tokens_before":1000,"trigger":"auto"}"#,
            "foreign system/compact_boundary",
            r#"compaction {"from":1,"summary":"summary 2","to":6,"tokens_after":100,"tokens_before":2000,"trigger":"auto"}"#,
        ]
    );
    assert!(read.events().all(|event| event.payload.kind() != "rewound"));
}

/// Old versions wrote sub-agents into the main file: no part of the conversation, but they cost.
#[test]
fn inline_sidechains_stay_aside() {
    let mut file = Fixture::default();
    file.user("u1", "hello", json!({}))
        .answer("s1", "side", text("I am the helper"), 40, json!({"isSidechain": true, "parentUuid": null}))
        .answer("a1", "1", text("hi"), 3, json!({"parentUuid": "u1"}));
    let read = file.read();
    assert_eq!(read.told()[1..3], ["foreign sidechain", r#"assistant_message {"parts":[]}"#]);
    assert_eq!((read.loss("sidechain_inline"), read.loss("branch_kept_linear")), (1, 0));
    let Payload::AssistantMessage(cost) = &read.records[1].events[1].payload else { panic!() };
    assert_eq!(
        cost.usage,
        Some(Usage { input: 10, cached: 3000, cache_write: 200, output: 40, cost_micros: None })
    );
}

/// A field that changed its type costs that field, not the record; a value nested too deeply is kept as text.
#[test]
fn strange_fields_cost_nothing_else() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let mut file = Fixture::default();
    file.line(&json!({"type": "user", "uuid": 7, "parentUuid": ["x"], "timestamp": 1_772_359_200, "cwd": {}, "isMeta": "no",
                      "sessionId": SESSION, "message": {"role": "user", "content": "hello"}}));
    file.raw(
        format!(
            r#"{{"type":"assistant","uuid":"a1","message":{{"id":"m","content":[{{"type":"tool_use","id":"t","name":"N","input":{deep}}}]}}}}"#
        )
        .as_bytes(),
    );
    let read = file.read();
    assert_eq!(read.told()[0], r#"user_message {"kind":"prompt","text":"hello"}"#);
    let time = read.records[0].events[0].ts.unwrap().to_string();
    assert_eq!(time, "2026-03-01T10:00:00.000Z");
    let Payload::ToolCall(call) = &read.records[1].events[0].payload else { panic!() };
    assert_eq!(call.input.as_string().as_deref(), Some(deep.as_str()));
    assert_eq!(read.loss("nested_too_deep"), 1);
}
