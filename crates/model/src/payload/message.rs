//! Messages: what people and programs send, what the model answers.

use serde::{Deserialize, Serialize};

use super::Source;
use crate::json::Json;
use crate::usage::Usage;

/// Who or what a user message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessageKind {
    /// Typed; starts a turn. The only kind that is a rewind point.
    Prompt,
    /// Typed while a turn runs.
    Steer,
    /// Added by a hook or a goal that is not met yet.
    Hook,
    /// An accepted plan.
    Plan,
    /// Handed over by another agent or a schedule.
    Task,
    /// Put in by the program (reminders, command output): for the model, not part of the transcript.
    Context,
}

/// A user message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Who it is from.
    pub kind: MessageKind,
    /// The text as typed.
    pub text: String,
    /// The text that the model was sent, when it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// Images and files that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Source>,
}

/// An image or file, kept as a blob or named by address.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Attachment {
    /// Its media type, as `image/png`.
    pub media_type: String,
    /// BLAKE3 of its bytes, in hex: the name of the blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Its address, when the bytes are not kept here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub len_bytes: Option<u64>,
}

/// What the model answered, as one message or as a part of one (see `response`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// Text and thinking, in order. May be empty: then it only carries usage.
    pub parts: Vec<Part>,
    /// The agent that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's response id. Messages of one response share it, and its usage counts once: the last one given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Tokens of the response so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Source>,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", try_from = "AnyPart")]
#[non_exhaustive]
pub enum Part {
    /// Text for the user.
    Text {
        /// The text.
        text: String,
    },
    /// The model's reasoning.
    Thinking {
        /// The text; often empty, with only a signature.
        text: String,
        /// Proof for the model family that made it, byte for byte; of no use to any other.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// Reasoning that the provider encrypted.
    RedactedThinking {
        /// Opaque data for the model family that made it.
        data: String,
    },
    /// A block that only its provider understands, as it came.
    Opaque {
        /// The block.
        block: Json,
    },
}

/// A part with the fields of all kinds. serde reads a tagged enum by way of a buffer that can't hold [`Json`]'s raw text, so a
/// message with an opaque block could be written but never read again.
#[derive(Deserialize)]
struct AnyPart {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    signature: Option<String>,
    data: Option<String>,
    #[serde(default)]
    block: Json,
}

impl TryFrom<AnyPart> for Part {
    type Error = String;

    fn try_from(any: AnyPart) -> Result<Self, String> {
        let missing = |field: &str| format!("{} part without {field}", any.kind);
        Ok(match any.kind.as_str() {
            "text" => Self::Text { text: any.text.ok_or_else(|| missing("text"))? },
            "thinking" => {
                Self::Thinking { text: any.text.ok_or_else(|| missing("text"))?, signature: any.signature }
            }
            "redacted_thinking" => Self::RedactedThinking { data: any.data.ok_or_else(|| missing("data"))? },
            "opaque" => Self::Opaque { block: any.block },
            kind => return Err(format!("unknown part {kind:?}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_reads_back_as_written() {
        for text in [
            r#"{"type":"text","text":"a"}"#,
            r#"{"type":"thinking","text":"","signature":"s"}"#,
            r#"{"type":"redacted_thinking","data":"x"}"#,
            r#"{"type":"opaque","block":{"n":1.50}}"#,
            r#"{"type":"opaque","block":null}"#,
        ] {
            let part: Part = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&part).unwrap(), text);
        }
        assert!(serde_json::from_str::<Part>(r#"{"type":"text"}"#).is_err());
        assert!(serde_json::from_str::<Part>(r#"{"type":"hologram"}"#).is_err());
    }
}
