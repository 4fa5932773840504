//! What messages hold: text, tools' results, images and documents.

use std::borrow::Cow;

use annals_model::Json;
use annals_model::payload::Attachment;
use serde_json::value::RawValue;

use super::Mapping;
use crate::base64;
use crate::object::{Object, list_of, text_of};
use crate::record::Blob;

/// The content of a user's message, sorted.
#[derive(Default)]
pub(super) struct Content<'a> {
    pub(super) texts: Vec<Cow<'a, str>>,
    pub(super) attachments: Vec<Attachment>,
    pub(super) results: Vec<Object<'a>>,
}

impl Mapping<'_> {
    /// Sorts a message's content: a string, or a list of blocks.
    pub(super) fn content<'a>(&mut self, raw: &'a RawValue) -> Content<'a> {
        let mut content = Content::default();
        if let Some(text) = text_of(raw) {
            content.texts.push(text);
            return content;
        }
        for block in list_of(raw).unwrap_or_default() {
            let Some(block) = Object::of(block) else {
                content.texts.extend(text_of(block));
                continue;
            };
            match block.str("type").as_deref() {
                Some("text") => content.texts.extend(block.str("text")),
                Some("tool_result") => content.results.push(block),
                Some("image" | "document") => content.attachments.extend(self.file(&block)),
                _ => self.report.lose("block_unread"),
            }
        }
        content
    }

    /// A tool's output: text as a string, anything else as it is; images and documents beside it.
    pub(super) fn output(&mut self, block: &Object<'_>) -> (Json, Vec<Attachment>) {
        let Some(raw) = block.get("content") else { return (Json::string(""), Vec::new()) };
        let (mut texts, mut attachments) = (Vec::new(), Vec::new());
        match list_of(raw) {
            Some(items) => {
                for item in items {
                    let item = Object::of(item).unwrap_or_default();
                    match item.str("type").as_deref() {
                        Some("text") => texts.extend(item.str("text")),
                        Some("image" | "document") => attachments.extend(self.file(&item)),
                        _ => return (self.json(raw), attachments),
                    }
                }
            }
            None => match text_of(raw) {
                Some(text) => texts.push(text),
                None => return (self.json(raw), attachments),
            },
        }
        (Json::string(&texts.join("\n")), attachments)
    }

    /// A JSON value as it is; as a string when it is nested too deeply for a log.
    pub(super) fn json(&mut self, raw: &RawValue) -> Json {
        Json::parse(raw.get()).unwrap_or_else(|_| {
            self.report.lose("nested_too_deep");
            Json::string(raw.get())
        })
    }

    /// An image or document.
    fn file(&mut self, block: &Object<'_>) -> Option<Attachment> {
        let found = self.file_of(block);
        if found.is_none() {
            self.report.lose("attachment_unread");
        }
        found
    }

    fn file_of(&mut self, block: &Object<'_>) -> Option<Attachment> {
        let source = block.object("source")?;
        let name = block.string("title").or_else(|| block.string("name"));
        let media_type = source.string("media_type");
        let bytes = match source.str("type").as_deref() {
            Some("base64") => base64::decode(&source.str("data")?)?,
            Some("text") => source.string("data")?.into_bytes(),
            Some("url") => {
                let url = source.string("url")?;
                return Some(Attachment {
                    media_type: media_type.unwrap_or_default(),
                    url: Some(url),
                    name,
                    ..Attachment::default()
                });
            }
            _ => return None,
        };
        let blob = Blob::of(bytes);
        let attachment = Attachment {
            media_type: media_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
            blob: Some(blob.name.clone()),
            url: None,
            name,
            len_bytes: Some(blob.bytes.len() as u64),
        };
        if !self.blobs.iter().any(|known| known.name == blob.name) {
            self.blobs.push(blob);
        }
        Some(attachment)
    }
}
