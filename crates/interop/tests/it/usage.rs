//! Tokens count once per response.

use std::collections::BTreeMap;

use annals_model::{Payload, Usage};
use proptest::prelude::*;
use serde_json::Value;

use crate::corpus::wild;
use crate::fixture::*;

/// By the rule of the format: of each response's records the one with the most output, the last among equals.
fn expected(bytes: &[u8]) -> BTreeMap<String, [u64; 4]> {
    let mut best: BTreeMap<String, [u64; 4]> = BTreeMap::new();
    for line in String::from_utf8_lossy(bytes).lines() {
        let Ok(record) = serde_json::from_str::<Value>(line) else { continue };
        let message = &record["message"];
        if record["type"] != "assistant" || message["model"] == "<synthetic>" || !message["usage"].is_object()
        {
            continue;
        }
        let key = format!("{}/{}", message["id"].as_str().unwrap(), record["requestId"].as_str().unwrap());
        let count = |name: &str| message["usage"][name].as_u64().unwrap();
        let usage = [
            count("input_tokens"),
            count("cache_read_input_tokens"),
            count("cache_creation_input_tokens"),
            count("output_tokens"),
        ];
        if best.get(&key).is_none_or(|known| known[3] <= usage[3]) {
            best.insert(key, usage);
        }
    }
    best
}

/// As the log is read: the last usage of a response counts.
fn counted(read: &Read) -> BTreeMap<String, [u64; 4]> {
    let mut last = BTreeMap::new();
    for event in read.events() {
        if let Payload::AssistantMessage(message) = &event.payload
            && let (Some(response), Some(Usage { input, cached, cache_write, output, .. })) =
                (&message.response, message.usage)
        {
            last.insert(response.clone(), [input, cached, cache_write, output]);
        }
    }
    last
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn totals_agree_with_an_independent_count(seed in any::<u64>(), count in 1_usize..200) {
        let file = wild(seed, count);
        prop_assert_eq!(counted(&file.read()), expected(&file.bytes));
    }
}
