//! Views after arbitrary histories, and the faults of others.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::check::{check_anthropic, check_openai};
use super::*;
use crate::event::Payload;
use crate::fold::tests::{answer, call, fold, payload, prompt, result, user};
use crate::json::Json;
use crate::payload::*;

fn anthropic(state: &crate::fold::State) -> Vec<Value> {
    messages(&state.context, &Target::new(Provider::Anthropic, "claude-opus-4")).messages
}

fn openai(state: &crate::fold::State) -> Vec<Value> {
    messages(&state.context, &Target::new(Provider::OpenAi, "gpt-5")).messages
}

#[test]
fn a_conversation_with_a_tool_reads_as_the_provider_wants_it() {
    let state = fold(vec![
        prompt("list"),
        answer("Sure."),
        call("c1", false),
        result("c1", "a b"),
        answer("Two files."),
    ]);
    assert_eq!(
        json!(anthropic(&state)),
        json!([
            {"role": "user", "content": [{"type": "text", "text": "list"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Sure."},
                {"type": "tool_use", "id": "c1", "name": "shell", "input": {"a": 1}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a b"}]}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Two files."}]},
        ])
    );
    assert_eq!(
        json!(openai(&state)),
        json!([
            {"role": "user", "content": "list"},
            {"role": "assistant", "content": "Sure.", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": "{\"a\":1}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "a b"},
            {"role": "assistant", "content": "Two files."},
        ])
    );
}

/// Fault 24: a tool call without its result made every later request fail for ever.
#[test]
fn open_calls_are_closed_with_the_right_words() {
    let state = fold(vec![prompt("go"), call("ran", false), call("waits", true), prompt("well?")]);
    let view = anthropic(&state);
    assert_eq!(check_anthropic(&view), Vec::<String>::new());
    let results = view[2]["content"].as_array().unwrap();
    assert!(results[0]["content"][0]["text"].as_str().unwrap().starts_with("Outcome unknown"));
    assert!(results[1]["content"][0]["text"].as_str().unwrap().starts_with("Not started"));
    assert_eq!(results[2]["text"], "well?");
    assert_eq!(check_openai(&openai(&state)), Vec::<String>::new());
}

/// Fault 25: an empty text or thinking block was stored and rejected at each resume.
#[test]
fn what_is_empty_is_left_out() {
    let parts =
        vec![Part::Text { text: " ".into() }, Part::Thinking { text: String::new(), signature: None }];
    let state = fold(vec![
        prompt("a"),
        AssistantMessage { parts, ..AssistantMessage::default() }.into(),
        prompt("b"),
    ]);
    assert_eq!(
        json!(anthropic(&state)),
        json!([{"role": "user", "content": [
        {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])
    );
}

/// Fault 26: a thinking signature was sent to another model family.
#[test]
fn signatures_go_home_only() {
    let think = |model: &str| {
        let parts = vec![
            Part::Thinking { text: "hm".into(), signature: Some("sig".into()) },
            Part::Text { text: "ok".into() },
        ];
        fold(vec![
            prompt("a"),
            AssistantMessage { parts, model: Some(model.into()), ..AssistantMessage::default() }.into(),
        ])
    };
    let blocks = |state| anthropic(&state)[1]["content"].as_array().unwrap().len();
    assert_eq!(blocks(think("claude-sonnet-4")), 2);
    assert_eq!(blocks(think("anthropic/claude-sonnet-4")), 2);
    assert_eq!(blocks(think("gpt-5")), 1);
    assert_eq!(blocks(think("gemini-3")), 1);
}

/// Fault 27: a 19 MB tool output bricked the thread.
#[test]
fn outputs_are_bounded_in_the_view() {
    let state = fold(vec![prompt("a"), call("c", false), result("c", &"é".repeat(10_000_000))]);
    let view = anthropic(&state);
    let text = view[2]["content"][0]["content"][0]["text"].as_str().unwrap();
    assert!(text.len() < Target::DEFAULT_MAX_OUTPUT_BYTES + 200);
    assert!(text.contains("left out here"));
}

/// Fault 28: compaction cut between a call and its result.
#[test]
fn a_range_that_parts_a_call_from_its_result_still_gives_a_valid_view() {
    for (from, to) in [(0, 1), (2, 3), (1, 1), (2, 2)] {
        let condensation = Condensation { from, to, summary: "s".into(), ..Condensation::default() };
        let state =
            fold(vec![prompt("a"), call("c", false), result("c", "r"), prompt("b"), condensation.into()]);
        assert_eq!(check_anthropic(&anthropic(&state)), Vec::<String>::new(), "{from}..{to}");
        assert_eq!(check_openai(&openai(&state)), Vec::<String>::new(), "{from}..{to}");
    }
}

#[test]
fn a_steer_between_call_and_result_comes_after_the_result() {
    let state = fold(vec![
        prompt("a"),
        call("1", false),
        call("2", false),
        result("2", "two"),
        user(MessageKind::Steer, "hey"),
        result("1", "one"),
    ]);
    let view = anthropic(&state);
    assert_eq!(check_anthropic(&view), Vec::<String>::new());
    assert_eq!(view[2]["content"][2]["text"], "hey");
    assert_eq!(view[2]["content"][0]["content"][0]["text"], "one");
}

/// Calls of one response stand together, also where each was recorded after the result of the one before.
#[test]
fn parallel_calls_of_one_response_make_one_message() {
    let of = |id: &str| -> Payload {
        let input = Json::parse("{}").unwrap();
        let response = Some("r1".to_owned());
        ToolCall { id: id.into(), name: "t".into(), input, response, ..ToolCall::default() }.into()
    };
    let state = fold(vec![
        prompt("a"),
        of("1"),
        result("1", "one"),
        user(MessageKind::Steer, "hey"),
        of("2"),
        result("2", "two"),
        answer("Done."),
    ]);
    let view = anthropic(&state);
    let types = |at: usize| {
        let blocks = view[at]["content"].as_array().unwrap();
        blocks.iter().map(|block| block["type"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(view.len(), 4);
    assert_eq!(types(1), ["tool_use", "tool_use"]);
    assert_eq!(types(2), ["tool_result", "tool_result", "text"]);
}

/// Ids that begin anew with every response: the new result is not taken for the old call's.
#[test]
fn a_reused_id_keeps_its_own_result() {
    let state = fold(vec![prompt("a"), call("0", false), prompt("b"), call("0", false), result("0", "mine")]);
    let view = anthropic(&state);
    let text = |at: usize| view[at]["content"][0]["content"][0]["text"].as_str().unwrap();
    assert!(text(2).starts_with("Outcome unknown"));
    assert_eq!(text(4), "mine");
}

/// Fault 28: the result that a range swallowed is not "unknown".
#[test]
fn a_summarised_result_is_told_as_done() {
    let condensation = Condensation { from: 2, to: 2, summary: "s".into(), ..Condensation::default() };
    let state = fold(vec![prompt("a"), call("c", false), result("c", "r"), condensation.into()]);
    let text = anthropic(&state)[2]["content"][0]["content"][0]["text"].clone();
    assert!(text.as_str().unwrap().starts_with("Done"), "{text}");
}

/// Fault 25, elsewhere than at the end: an answer cut short while thinking.
#[test]
fn no_message_ends_in_reasoning() {
    let parts = vec![Part::Thinking { text: "hm".into(), signature: Some("sig".into()) }];
    let message =
        AssistantMessage { parts, model: Some("claude-opus-4".into()), ..AssistantMessage::default() };
    let state = fold(vec![prompt("a"), message.into(), prompt("b"), answer("B")]);
    let view = anthropic(&state);
    assert_eq!(check_anthropic(&view), Vec::<String>::new());
    assert_eq!(view.len(), 2);
}

#[test]
fn images_are_sent_where_they_are_taken() {
    let image = |media_type: &str, url: &str| Attachment {
        media_type: media_type.into(),
        url: Some(url.into()),
        ..Attachment::default()
    };
    let png = image("image/png", "https://example.org/a.png");
    let odd =
        vec![png.clone(), image("image/heic", "https://example.org/a"), image("image/png", "file:///a")];
    let types = |message: UserMessage| {
        let state = fold(vec![message.into()]);
        assert_eq!(check_openai(&openai(&state)), Vec::<String>::new());
        let view = anthropic(&state);
        assert_eq!(check_anthropic(&view), Vec::<String>::new());
        let blocks = view[0]["content"].as_array().unwrap().clone();
        blocks.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let said = |attachments| UserMessage {
        kind: MessageKind::Prompt,
        text: String::new(),
        sent: None,
        attachments,
        src: None,
    };
    assert_eq!(types(said(odd)), ["image", "text", "text"]);
    let many = types(said(vec![png.clone(); 23]));
    assert_eq!(many.iter().filter(|kind| *kind == "image").count(), 20);
    assert_eq!(many[..3], ["text", "text", "text"], "the newest are kept");
    let state =
        fold(vec![said(vec![png.clone(); 3]).into(), answer("?"), said(vec![png.clone(); 20]).into()]);
    let view = anthropic(&state);
    assert_eq!(
        (&view[0]["content"][0]["type"], &view[2]["content"][0]["type"]),
        (&json!("text"), &json!("image"))
    );
    // An error takes nothing but text.
    let failed =
        ToolResult { id: "c".into(), is_error: true, attachments: vec![png], ..ToolResult::default() };
    let view = anthropic(&fold(vec![prompt("a"), call("c", false), failed.into()]));
    assert_eq!(check_anthropic(&view), Vec::<String>::new());
}

#[test]
fn arguments_that_no_parser_reads_are_still_sent() {
    let input = Json::parse(r#"{"k":"\ud800"}"#).unwrap();
    let odd = ToolCall { id: "c".into(), name: "t".into(), input, ..ToolCall::default() };
    let state = fold(vec![prompt("a"), odd.into(), result("c", "r")]);
    assert_eq!(anthropic(&state)[1]["content"][0]["input"], json!({"k": "\u{fffd}"}));
    assert_eq!(check_openai(&openai(&state)), Vec::<String>::new());
}

#[test]
fn the_checkers_can_fail() {
    let bad = vec![
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a b", "name": "", "input": 1}]}),
    ];
    assert!(check_anthropic(&bad).len() >= 4);
    let bad = vec![
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": "{"}}]}),
        json!({"role": "user", "content": ""}),
        json!({"role": "tool", "tool_call_id": "x", "content": "late"}),
    ];
    assert!(check_openai(&bad).len() >= 4);
}

#[test]
fn inputs_that_are_no_object_are_wrapped() {
    let input = Json::parse("[1]").unwrap();
    let odd = ToolCall { id: "c".into(), name: "t".into(), input, ..ToolCall::default() };
    let state = fold(vec![prompt("a"), odd.into(), result("c", "")]);
    assert_eq!(anthropic(&state)[1]["content"][0]["input"], json!({"value": [1]}));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn every_view_is_acceptable(payloads in prop::collection::vec(payload(), 0..40)) {
        let state = fold(payloads);
        prop_assert_eq!(check_anthropic(&anthropic(&state)), Vec::<String>::new());
        prop_assert_eq!(check_openai(&openai(&state)), Vec::<String>::new());
    }
}
