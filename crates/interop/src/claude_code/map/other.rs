//! Everything that no one said: the program's own records, attachments, titles, tags, places.

use annals_model::payload::{MessageKind, Moved, Outcome, Tagged, Titled, TurnEnded};

use super::{Mapping, link};
use crate::claude_code::branch::Role;
use crate::claude_code::state::{Boundary, Title};
use crate::object::{Object, text_of};

/// The longest title that is taken over, in characters.
const MAX_TITLE_CHARS: usize = 500;

impl Mapping<'_> {
    pub(super) fn system(&mut self, record: &Object<'_>) {
        let subtype = record.str("subtype");
        match subtype.as_deref() {
            Some("compact_boundary") => self.boundary(record),
            Some("turn_duration") => {
                let duration_ms = record.count("durationMs");
                let parent = record.str("parentUuid");
                let link = link(record, parent.as_deref(), None, None);
                self.chained(&link, Role::Aside, |mapping| {
                    let src = mapping.src();
                    mapping.push(TurnEnded { outcome: Outcome::Completed, error: None, duration_ms, src });
                });
            }
            Some(subtype) => self.aside(record, &format!("system/{subtype}")),
            None => self.aside(record, "system"),
        }
    }

    /// A compaction begins: what is known of it is kept for the summary, which is the next record.
    fn boundary(&mut self, record: &Object<'_>) {
        let metadata = record.object("compactMetadata").unwrap_or_default();
        let segment = metadata.object("preservedSegment").unwrap_or_default();
        let kept =
            metadata.object("preservedMessages").and_then(|kept| kept.list("uuids")).unwrap_or_default();
        let kept: Vec<_> = kept.into_iter().filter_map(text_of).collect();
        let head = segment.str("headUuid").or_else(|| kept.first().cloned());
        let preserved = head.and_then(|head| self.state.branches.start_of(&head));
        let boundary = Boundary {
            end: preserved.unwrap_or(self.seq()).min(self.seq()),
            trigger: metadata.string("trigger"),
            tokens_before: metadata.count("preTokens"),
            tokens_after: metadata.count("postTokens"),
        };
        let parent = record.str("parentUuid");
        let link = link(record, parent.as_deref(), None, None);
        self.chained(&link, Role::Boundary, |mapping| mapping.foreign("system/compact_boundary"));
        self.state.boundary = Some(boundary);
        let tail = segment.str("tailUuid");
        let last = kept.last().map(|id| id.as_ref());
        self.state.branches.preserve(tail.as_deref().into_iter().chain(last));
    }

    pub(super) fn attachment(&mut self, record: &Object<'_>) {
        let attachment = record.object("attachment").unwrap_or_default();
        let kind = attachment.str("type");
        let prompt = attachment.any("prompt").filter(|_| kind.as_deref() == Some("queued_command"));
        let Some(prompt) = prompt else {
            let kind = kind.map_or_else(|| "attachment".to_owned(), |kind| format!("attachment/{kind}"));
            return self.aside(record, &kind);
        };
        let content = self.content(prompt);
        let text = content.texts.join("\n");
        let parent = record.str("parentUuid");
        let link = link(record, parent.as_deref(), None, None);
        let typed = matches!(attachment.str("commandMode").as_deref(), None | Some("prompt"));
        let kind =
            if typed && !super::wrapper::is_others(&text) { MessageKind::Steer } else { MessageKind::Task };
        self.chained(&link, Role::Aside, |mapping| {
            if text.is_empty() && content.attachments.is_empty() {
                mapping.foreign("attachment/queued_command");
            } else {
                mapping.message(kind, text, content.attachments);
            }
        });
    }

    /// Records about the session, outside of the chain.
    pub(super) fn uuidless(&mut self, record: &Object<'_>, kind: &str) {
        match kind {
            "summary" => self.title(record, kind, "summary", 1),
            "agent-name" => self.title(record, kind, "agentName", 2),
            "ai-title" => self.title(record, kind, "aiTitle", 3),
            "custom-title" => self.title(record, kind, "customTitle", 4),
            "tag" => self.tag(record),
            "relocated" => self.relocated(record),
            "queue-operation" => {
                let operation = record.str("operation");
                self.foreign(
                    &operation.map_or_else(|| kind.to_owned(), |operation| format!("{kind}/{operation}")),
                );
            }
            _ => self.foreign(kind),
        }
    }

    /// A title. One of a lower rank never takes the place of one of a higher rank: a person's choice stands.
    fn title(&mut self, record: &Object<'_>, kind: &str, field: &str, rank: u8) {
        let text = record.str(field).map(|text| one_line(&text)).unwrap_or_default();
        let stands = self.state.title.as_ref().is_some_and(|title| title.rank > rank || title.text == text);
        if text.is_empty() || stands {
            if let Some(title) = self.state.title.as_mut().filter(|title| title.text == text) {
                title.rank = title.rank.max(rank);
            }
            return self.foreign(kind);
        }
        self.state.title = Some(Title { text: text.clone(), rank });
        let src = self.src();
        self.push(Titled { title: text, generated: kind != "custom-title", src });
    }

    fn tag(&mut self, record: &Object<'_>) {
        let Some(tag) =
            record.string("tag").filter(|tag| *tag != *self.state.tag.as_deref().unwrap_or_default())
        else {
            return self.foreign("tag");
        };
        let tags = Some(tag.clone()).filter(|tag| !tag.is_empty()).into_iter().collect();
        self.state.tag = Some(tag);
        let src = self.src();
        self.push(Tagged { tags, src });
    }

    fn relocated(&mut self, record: &Object<'_>) {
        let Some(to) = record.string("relocatedCwd").filter(|to| !to.is_empty()) else {
            return self.foreign("relocated");
        };
        let from = self.state.workspace.replace(to.clone());
        let src = self.src();
        self.push(Moved { from, to, project: None, src });
    }
}

/// A text on one line, without control characters: titles reach terminals.
fn one_line(text: &str) -> String {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.chars().filter(|c| !c.is_control()).collect::<String>())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ").chars().take(MAX_TITLE_CHARS).collect()
}
