//! The providers' rules, written against what is sent and sharing nothing with the builders, so that either can be wrong alone.

#![allow(clippy::indexing_slicing)] // a missing key of a JSON value reads as null

use std::collections::BTreeSet;

use serde_json::Value;

fn accepted_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// What Anthropic's Messages would refuse. Empty when nothing.
#[must_use]
pub fn check_anthropic(messages: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    let mut awaited: Vec<String> = Vec::new();
    let mut images = 0;
    for (index, message) in messages.iter().enumerate() {
        let mut say = |what: String| wrong.push(format!("message {index}: {what}"));
        let role = message["role"].as_str().unwrap_or_default();
        let expected = if index % 2 == 0 { "user" } else { "assistant" };
        if role != expected {
            say(format!("role {role:?}, expected {expected:?}"));
        }
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        if blocks.is_empty() {
            say("no content".to_owned());
        }
        let mut results = Vec::new();
        let mut calls = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            match (block["type"].as_str().unwrap_or_default(), role) {
                ("text", _) => {
                    let text = block["text"].as_str().unwrap_or_default();
                    if text.trim().is_empty() {
                        say("empty text".to_owned());
                    }
                    if index + 1 == messages.len()
                        && at + 1 == blocks.len()
                        && role == "assistant"
                        && text.ends_with(char::is_whitespace)
                    {
                        say("last answer ends in white space".to_owned());
                    }
                    if !calls.is_empty() {
                        say("text after a call".to_owned());
                    }
                }
                ("thinking" | "redacted_thinking", "assistant") if at + 1 == blocks.len() => {
                    say("ends in reasoning".to_owned());
                }
                ("thinking", "assistant") => {
                    if block["thinking"].as_str().unwrap_or_default().trim().is_empty() {
                        say("empty thinking".to_owned());
                    }
                    if block["signature"].as_str().unwrap_or_default().is_empty() {
                        say("thinking without signature".to_owned());
                    }
                }
                ("redacted_thinking", "assistant") => {
                    if block["data"].as_str().unwrap_or_default().is_empty() {
                        say("redacted thinking without data".to_owned());
                    }
                }
                ("tool_use", "assistant") => {
                    let id = block["id"].as_str().unwrap_or_default().to_owned();
                    if !accepted_name(&id) || !accepted_name(block["name"].as_str().unwrap_or_default()) {
                        say(format!("call {id:?} has a name or id that is not accepted"));
                    }
                    if !block["input"].is_object() {
                        say("input is no object".to_owned());
                    }
                    if !seen.insert(id.clone()) {
                        say(format!("call id {id:?} twice"));
                    }
                    calls.push(id);
                }
                ("tool_result", "user") => {
                    if results.len() != at {
                        say("a result after something else".to_owned());
                    }
                    let inside = block["content"].as_array().cloned().unwrap_or_default();
                    if block["is_error"] == true
                        && (inside.is_empty() || inside.iter().any(|b| b["type"] != "text"))
                    {
                        say("an error without text or with more than text".to_owned());
                    }
                    for inner in &inside {
                        images += usize::from(inner["type"] == "image");
                        if inner["type"] == "text"
                            && inner["text"].as_str().unwrap_or_default().trim().is_empty()
                        {
                            say("empty text in a result".to_owned());
                        }
                    }
                    results.push(block["tool_use_id"].as_str().unwrap_or_default().to_owned());
                }
                ("image", "user") => {
                    images += 1;
                    if !block["source"]["url"].as_str().unwrap_or_default().starts_with("http") {
                        say("an image from nowhere".to_owned());
                    }
                }
                (other, role) => say(format!("block {other:?} from {role:?}")),
            }
        }
        let (mut have, mut want) = (results.clone(), awaited.clone());
        have.sort();
        want.sort();
        if have != want {
            say(format!("results {have:?}, expected {want:?}"));
        }
        awaited = calls;
    }
    if !awaited.is_empty() {
        wrong.push(format!("calls without results at the end: {awaited:?}"));
    }
    if images > 20 {
        wrong.push(format!("{images} images"));
    }
    wrong
}

/// What OpenAI's Chat Completions would refuse. Empty when nothing.
#[must_use]
pub fn check_openai(messages: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    let mut awaited: BTreeSet<String> = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let mut say = |what: String| wrong.push(format!("message {index}: {what}"));
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" && !awaited.is_empty() {
            say(format!("{role:?} before the results of {awaited:?}"));
            awaited.clear();
        }
        let empty = match &message["content"] {
            Value::String(text) => text.trim().is_empty(),
            Value::Array(parts) => {
                parts.is_empty()
                    || parts.iter().any(|part| match part["type"].as_str() {
                        Some("text") => part["text"].as_str().unwrap_or_default().trim().is_empty(),
                        Some("image_url") => {
                            !part["image_url"]["url"].as_str().unwrap_or_default().starts_with("http")
                        }
                        _ => true,
                    })
            }
            _ => true,
        };
        match role {
            "system" | "user" => {
                if empty {
                    say("no content".to_owned());
                }
            }
            "assistant" => {
                let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
                if empty && calls.is_empty() {
                    say("neither content nor calls".to_owned());
                }
                for call in &calls {
                    let id = call["id"].as_str().unwrap_or_default().to_owned();
                    let function = &call["function"];
                    if !accepted_name(function["name"].as_str().unwrap_or_default()) {
                        say("a tool name that is not accepted".to_owned());
                    }
                    let arguments = function["arguments"].as_str().unwrap_or_default();
                    if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
                        say("arguments are no object".to_owned());
                    }
                    if !accepted_name(&id) || id.len() > 40 {
                        say(format!("call id {id:?} is not accepted"));
                    }
                    if !seen.insert(id.clone()) {
                        say(format!("call id {id:?} twice"));
                    }
                    awaited.insert(id);
                }
            }
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                if !awaited.remove(id) {
                    say(format!("a result for {id:?}, which nobody called"));
                }
                if empty {
                    say("an empty result".to_owned());
                }
            }
            other => say(format!("role {other:?}")),
        }
    }
    if !awaited.is_empty() {
        wrong.push(format!("calls without results at the end: {awaited:?}"));
    }
    wrong
}
