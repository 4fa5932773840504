//! The fold against arbitrary histories, and the faults that it must not have.

use proptest::prelude::*;

use super::*;
use crate::event::{Payload, Seq};
use crate::json::Json;
use crate::payload::*;
use crate::time::Timestamp;
use crate::usage::Usage;

pub(crate) fn event(seq: Seq, payload: impl Into<Payload>) -> Event {
    Event {
        seq,
        ts: Timestamp::from_millis(i64::try_from(seq).unwrap() * 1000),
        turn: None,
        payload: payload.into(),
    }
}

pub(crate) fn prompt(text: &str) -> Payload {
    user(MessageKind::Prompt, text)
}

pub(crate) fn user(kind: MessageKind, text: &str) -> Payload {
    UserMessage { kind, text: text.to_owned(), sent: None, attachments: Vec::new(), src: None }.into()
}

pub(crate) fn answer(text: &str) -> Payload {
    AssistantMessage { parts: vec![Part::Text { text: text.to_owned() }], ..AssistantMessage::default() }
        .into()
}

pub(crate) fn call(id: &str, deferred: bool) -> Payload {
    let input = Json::parse(r#"{"a":1}"#).unwrap();
    ToolCall { id: id.to_owned(), name: "shell".to_owned(), input, deferred, ..ToolCall::default() }.into()
}

pub(crate) fn result(id: &str, output: &str) -> Payload {
    ToolResult { id: id.to_owned(), output: Json::string(output), ..ToolResult::default() }.into()
}

pub(crate) fn fold(payloads: Vec<Payload>) -> State {
    let mut state = State::default();
    for (seq, payload) in payloads.into_iter().enumerate() {
        state.apply(&event(seq as Seq, payload));
    }
    state
}

fn texts(state: &State) -> Vec<String> {
    state.transcript.entries().into_iter().map(|e| e.text).collect()
}

#[test]
fn the_transcript_joins_a_turns_texts_and_leaves_tools_and_context_out() {
    let state = fold(vec![
        SessionStarted::default().into(),
        prompt("fix it"),
        user(MessageKind::Context, "<reminder>"),
        answer("Looking."),
        call("c", false),
        result("c", "output"),
        answer("Done."),
        user(MessageKind::Steer, "also that"),
        answer("Sure."),
    ]);
    assert_eq!(texts(&state), ["fix it", "Looking.\n\nDone.", "also that", "Sure."]);
    assert_eq!(state.meta.title.as_deref(), Some("fix it"));
    assert_eq!(state.meta.messages, 4);
    assert_eq!(state.meta.status(), Status::Idle);
}

#[test]
fn a_persons_title_wins_over_all_others() {
    let titled = |title: &str, generated| Titled { title: title.to_owned(), generated, src: None }.into();
    let state =
        fold(vec![prompt("first"), titled("chosen", false), titled("generated", true), prompt("second")]);
    assert_eq!(state.meta.title.as_deref(), Some("chosen"));
}

#[test]
fn a_responses_usage_counts_once() {
    let message = |output| {
        let usage = Usage { input: 10, cached: 5, output, ..Usage::default() };
        AssistantMessage {
            response: Some("r1".to_owned()),
            usage: Some(usage),
            ..AssistantMessage::default()
        }
    };
    let state = fold(vec![prompt("x"), message(3).into(), message(77).into()]);
    assert_eq!((state.meta.usage.calls, state.meta.usage.output, state.meta.usage.input), (1, 77, 10));
    assert_eq!(state.meta.usage.context, 15);
}

#[test]
fn a_rewind_is_a_prefix_and_can_be_taken_back() {
    let before = vec![prompt("a"), answer("A"), prompt("b"), answer("B")];
    let mut history = before.clone();
    history.push(Rewound { to_seq: 2 }.into());
    assert_eq!(texts(&fold(history.clone())), ["a", "A"]);
    history.push(prompt("c"));
    assert_eq!(texts(&fold(history.clone())), ["a", "A", "c"]);
    history.push(RewindUndone {}.into());
    assert_eq!(texts(&fold(history)), texts(&fold(before)));
}

#[test]
fn summaries_stand_in_the_place_of_their_range_and_revoking_brings_it_back() {
    let condense = |from, to, text: &str| -> Payload {
        Condensation { from, to, summary: text.to_owned(), ..Condensation::default() }.into()
    };
    let mut state =
        fold(vec![prompt("a"), answer("A"), prompt("b"), answer("B"), condense(0, 1, "sum"), prompt("c")]);
    let kinds = |s: &State| -> Vec<Seq> { s.context.items().iter().map(|(seq, _)| *seq).collect() };
    assert_eq!(kinds(&state), [4, 2, 3, 5]);
    // Overlaps in part, reaches beyond itself, is no range: none of them counts.
    for (seq, bad) in [(6, condense(1, 2, "x")), (7, condense(0, 99, "x")), (8, condense(3, 2, "x"))] {
        state.apply(&event(seq, bad));
    }
    assert_eq!(kinds(&state), [4, 2, 3, 5]);
    state.apply(&event(9, condense(0, 3, "all")));
    assert_eq!(kinds(&state), [9, 5]);
    let mut back = state.clone();
    back.apply(&event(10, CondensationRevoked { seq: 9 }));
    back.apply(&event(11, Rewound { to_seq: 10 }));
    assert_eq!(kinds(&back), [9, 5], "the rewind takes the revocation back");
    state.apply(&event(10, CondensationRevoked { seq: 9 }));
    assert_eq!(kinds(&state), [4, 2, 3, 5]);
    assert_eq!(state.context.cold(), [2, 3]);
    state.context.warm(&event(2, prompt("b")));
    state.context.warm(&event(3, answer("B")));
    assert!(state.context.cold().is_empty());
    // The transcript keeps what summaries took out of the context.
    assert_eq!(texts(&state), ["a", "A", "b", "B", "c"]);
}

/// Calls left open by a crash are told apart: safe to run, or to be looked at.
#[test]
fn open_calls_know_whether_they_began() {
    let state = fold(vec![
        prompt("go"),
        call("plain", false),
        call("waiting", true),
        call("begun", true),
        ToolStarted { id: "begun".to_owned() }.into(),
        call("done", true),
        result("done", "ok"),
    ]);
    let fates: Vec<_> = state.open_calls().into_iter().map(|c| (c.id, c.fate)).collect();
    assert_eq!(
        fates,
        [
            ("plain".to_owned(), Fate::OutcomeUnknown),
            ("waiting".to_owned(), Fate::NotStarted),
            ("begun".to_owned(), Fate::OutcomeUnknown)
        ]
    );
    assert_eq!(state.meta.status(), Status::Interrupted);
}

/// Fault 18: equal or backwards timestamps reordered events.
#[test]
fn time_never_orders() {
    let mut state = State::default();
    for (seq, ms) in [(0, 5000), (1, 1000), (2, 5000)] {
        let mut event = event(seq, prompt(&seq.to_string()));
        event.ts = Timestamp::from_millis(ms);
        state.apply(&event);
    }
    assert_eq!(texts(&state), ["0", "1", "2"]);
}

/// A model's message with this usage.
fn spent(response: Option<&str>, output: u64) -> Payload {
    let usage = Usage { input: 10, output, ..Usage::default() };
    let response = response.map(str::to_owned);
    AssistantMessage { response, usage: Some(usage), ..AssistantMessage::default() }.into()
}

#[test]
fn the_status_says_what_the_log_says() {
    let status = |payloads: Vec<Payload>| fold(payloads).meta.status();
    let started = || TurnStarted { index: 1, traceparent: None }.into();
    let ended =
        || TurnEnded { outcome: Outcome::Completed, error: None, duration_ms: None, src: None }.into();
    assert_eq!(status(vec![prompt("a")]), Status::Running);
    assert_eq!(status(vec![prompt("a"), answer("A")]), Status::Idle);
    assert_eq!(status(vec![started(), prompt("a"), answer("A")]), Status::Running, "the turn is open");
    assert_eq!(status(vec![started(), prompt("a"), answer("A"), ended()]), Status::Idle);
    assert_eq!(status(vec![prompt("a"), call("c", false)]), Status::Interrupted);
    assert_eq!(status(vec![prompt("a"), call("c", false), prompt("b"), answer("B")]), Status::Idle);
    let over: Payload = SessionEnded::default().into();
    assert_eq!(status(vec![prompt("a"), over.clone()]), Status::Ended);
    assert_eq!(status(vec![prompt("a"), over, prompt("b")]), Status::Running);
}

#[test]
fn undoing_a_rewind_brings_the_status_back() {
    let mut history =
        vec![prompt("a"), answer("A"), prompt("b"), call("c", false), Rewound { to_seq: 2 }.into()];
    assert_eq!(fold(history.clone()).meta.status(), Status::Idle);
    history.push(RewindUndone {}.into());
    assert_eq!(fold(history).meta.status(), Status::Interrupted);
}

#[test]
fn a_fork_takes_over_the_context_size_only() {
    let forked_from = ForkedFrom { session: "parent".parse().unwrap(), seq: 3 };
    let state = fold(vec![
        SessionStarted { forked_from: Some(forked_from), ..SessionStarted::default() }.into(),
        prompt("a"),
        spent(None, 70),
        ConversationAssigned { id: 7 }.into(),
    ]);
    let meta = &state.meta;
    assert_eq!((meta.usage.calls, meta.usage.output, meta.usage.context), (0, 0, 10));
    assert_eq!((meta.conversation_id, meta.updated, meta.messages), (None, None, 1));
    let mut state = state;
    state.apply(&event(4, spent(None, 5)));
    state.apply(&event(5, ConversationAssigned { id: 8 }));
    assert_eq!((state.meta.usage.output, state.meta.conversation_id), (5, Some(8)));
}

#[test]
fn absurd_usage_does_not_overflow() {
    let state = fold(vec![spent(Some("r"), u64::MAX), spent(None, u64::MAX), spent(Some("r"), 1)]);
    assert_eq!((state.meta.usage.calls, state.meta.usage.input), (2, 20));
}

/// Ids that begin anew with every response: the result of the last call is not the first one's.
#[test]
fn a_result_belongs_to_the_latest_turn_that_waits_for_its_id() {
    let state = fold(vec![
        prompt("a"),
        call("call_0", false),
        prompt("b"),
        call("call_0", false),
        result("call_0", "r"),
    ]);
    let open: Vec<Seq> = state.open_calls().iter().map(|call| call.seq).collect();
    assert_eq!(open, [1]);
    // The turns are told apart also when the prompt between them was summarised.
    let condense = Condensation { from: 2, to: 2, ..Condensation::default() }.into();
    let state = fold(vec![
        prompt("a"),
        call("call_0", false),
        prompt("b"),
        call("call_0", false),
        condense,
        result("call_0", "r"),
    ]);
    let open: Vec<Seq> = state.open_calls().iter().map(|call| call.seq).collect();
    assert_eq!(open, [1]);
}

/// Fault 28, the words: a range that parts a call from what became of it must not make it look undone.
#[test]
fn what_a_summary_covers_still_happened() {
    let begun: Payload = ToolStarted { id: "c".to_owned() }.into();
    let condense = |seq| -> Payload { Condensation { from: seq, to: seq, ..Condensation::default() }.into() };
    let state = fold(vec![prompt("a"), call("c", true), begun.clone(), condense(2)]);
    assert_eq!(state.open_calls()[0].fate, Fate::OutcomeUnknown);
    let state = fold(vec![prompt("a"), call("c", true), begun, result("c", "r"), condense(3)]);
    assert!(state.open_calls().is_empty());
}

/// A rewind takes back words, not what a tool did.
#[test]
fn a_call_that_began_on_a_dropped_branch_is_not_safe_to_retry() {
    let begun: Payload = ToolStarted { id: "c".to_owned() }.into();
    let state = fold(vec![prompt("a"), call("c", true), begun, Rewound { to_seq: 2 }.into()]);
    assert_eq!(state.open_calls()[0].fate, Fate::OutcomeUnknown);
}

/// Fault 31: a fork of a condensed session shifted the numbering but not the ranges.
#[test]
fn a_fork_replays_the_same_history() {
    let history = || -> Vec<Payload> {
        let summary = "S".to_owned();
        vec![
            prompt("a"),
            answer("A"),
            prompt("b"),
            Condensation { from: 1, to: 2, summary, ..Condensation::default() }.into(),
            answer("B"),
        ]
    };
    let with = |started: SessionStarted| {
        let mut payloads = vec![started.into()];
        payloads.extend(history());
        fold(payloads)
    };
    let parent = with(SessionStarted::default());
    let forked_from = Some(ForkedFrom { session: "parent".parse().unwrap(), seq: 5 });
    let child = with(SessionStarted { forked_from, ..SessionStarted::default() });
    assert_eq!((&child.transcript, &child.context), (&parent.transcript, &parent.context));
}

fn small_id() -> impl Strategy<Value = String> {
    prop_oneof![Just("a".to_owned()), Just("b".to_owned()), Just("c d/é".to_owned()), Just(String::new())]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".to_owned()), Just("word ".to_owned()), "[a-zé😀 ]{0,12}"]
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        text().prop_map(|text| Part::Text { text }),
        (text(), prop::option::of(text())).prop_map(|(text, signature)| Part::Thinking { text, signature }),
        text().prop_map(|data| Part::RedactedThinking { data }),
        Just(Part::Opaque { block: Json::default() }),
    ]
}

fn json() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::default()),
        Just(Json::parse("[1,2]").unwrap()),
        Just(Json::parse(r#"{"k":"v"}"#).unwrap()),
        Just(Json::parse(r#"{"k":"\ud800"}"#).unwrap()),
        Just(Json::parse(r#"{"k":1e999}"#).unwrap()),
        Just(Json::parse(r#"[{"type":"text","text":"t"},{"type":"image"}]"#).unwrap()),
        text().prop_map(|t| Json::string(&t)),
    ]
}

fn attachments() -> impl Strategy<Value = Vec<Attachment>> {
    let media_type = prop_oneof![Just("image/png"), Just("image/svg+xml"), Just("application/pdf"), Just("")];
    let url = prop_oneof![Just(None), Just(Some("https://example.org/a.png")), Just(Some("file:///a.png"))];
    let attachment = (media_type, url).prop_map(|(media_type, url)| Attachment {
        media_type: media_type.to_owned(),
        url: url.map(str::to_owned),
        ..Attachment::default()
    });
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(attachment, 1..3)]
}

/// Any payload that bears on the state, with clashing ids and wild ranges.
pub(crate) fn payload() -> impl Strategy<Value = Payload> {
    let kind = prop_oneof![
        Just(MessageKind::Prompt),
        Just(MessageKind::Steer),
        Just(MessageKind::Hook),
        Just(MessageKind::Plan),
        Just(MessageKind::Task),
        Just(MessageKind::Context)
    ];
    let model = prop_oneof![Just(None), Just(Some("claude-x".to_owned())), Just(Some("gpt-x".to_owned()))];
    prop_oneof![
        3 => (kind, text(), prop::option::of(text()), attachments()).prop_map(|(kind, text, sent, attachments)| {
            UserMessage { kind, text, sent, attachments, src: None }.into()
        }),
        3 => (prop::collection::vec(part(), 0..3), model, prop::option::of(small_id()), 0..100_u64).prop_map(
            |(parts, model, response, output)| {
                let output = if output == 99 { u64::MAX } else { output };
                let usage = (output > 30).then_some(Usage { output, ..Usage::default() });
                AssistantMessage { parts, model, response, usage, ..AssistantMessage::default() }.into()
            }
        ),
        4 => (small_id(), any::<bool>(), json(), small_id(), prop::option::of(small_id())).prop_map(
            |(id, deferred, input, name, response)| {
                ToolCall { id, name, input, deferred, response, ..ToolCall::default() }.into()
            }
        ),
        1 => small_id().prop_map(|id| ToolStarted { id }.into()),
        4 => (small_id(), any::<bool>(), json(), attachments(), prop::option::of(small_id())).prop_map(
            |(id, is_error, output, attachments, blob)| {
                ToolResult { id, output, is_error, attachments, blob, ..ToolResult::default() }.into()
            }
        ),
        1 => (0..40_u64, 0..40_u64, text()).prop_map(|(from, to, summary)| {
            Condensation { from, to, summary, ..Condensation::default() }.into()
        }),
        1 => (0..40_u64, 0..40_u64, text()).prop_map(|(from, to, summary)| {
            Compaction { from, to, summary, ..Compaction::default() }.into()
        }),
        1 => (0..40_u64).prop_map(|seq| CondensationRevoked { seq }.into()),
        1 => (0..40_u64).prop_map(|to_seq| Rewound { to_seq }.into()),
        1 => Just(RewindUndone {}.into()),
        1 => Just(Payload::Unknown { kind: "hologram".to_owned(), data: Json::default() }),
        1 => (0..9_u64).prop_map(|index| TurnStarted { index, traceparent: None }.into()),
        1 => (any::<bool>(), text()).prop_map(|(generated, title)| Titled { title, generated, src: None }.into()),
        1 => (0..9_u64).prop_map(|seq| {
            let forked_from = Some(ForkedFrom { session: "parent".parse().unwrap(), seq });
            SessionStarted { forked_from, ..SessionStarted::default() }.into()
        }),
        1 => Just(SessionEnded::default().into()),
        1 => Just(Closed {}.into()),
        1 => Just(TurnEnded { outcome: Outcome::Failed, error: None, duration_ms: None, src: None }.into()),
    ]
}

proptest! {
    #[test]
    fn a_prefix_and_then_the_rest_is_all(payloads in prop::collection::vec(payload(), 0..40), cut in 0..40_usize) {
        let whole = fold(payloads.clone());
        let cut = cut.min(payloads.len());
        let mut state = fold(payloads[..cut].to_vec());
        for (index, payload) in payloads.into_iter().enumerate().skip(cut) {
            state.apply(&event(index as Seq, payload));
        }
        prop_assert_eq!(serde_json::to_string(&state).unwrap(), serde_json::to_string(&whole).unwrap());
        prop_assert_eq!(state, whole);
    }

    /// The live history is again exactly what it was before the event that is rewound to.
    #[test]
    fn a_rewind_is_what_was_there_before(payloads in prop::collection::vec(payload(), 0..30), to_seq in 0..30_u64) {
        let rewinds = |p: &Payload| matches!(p, Payload::Rewound(_) | Payload::RewindUndone(_));
        let mut history: Vec<Payload> = payloads.into_iter().filter(|p| !rewinds(p)).collect();
        let before = fold(history.iter().take(usize::try_from(to_seq).unwrap()).cloned().collect());
        history.push(Rewound { to_seq }.into());
        let rewound = fold(history);
        prop_assert_eq!(texts(&before), texts(&rewound));
        let seqs = |s: &State| s.context.items().iter().map(|(seq, _)| *seq).collect::<Vec<_>>();
        prop_assert_eq!(seqs(&before), seqs(&rewound));
    }

    #[test]
    fn a_rewind_and_its_undoing_leave_the_live_history_as_it_was(
        payloads in prop::collection::vec(payload(), 0..30), to_seq in 0..30_u64, after in prop::collection::vec(text(), 0..4)
    ) {
        let before = fold(payloads.clone());
        let mut history = payloads;
        history.push(Rewound { to_seq }.into());
        history.extend(after.iter().map(|t| prompt(t)));
        history.push(RewindUndone {}.into());
        let undone = fold(history);
        prop_assert_eq!(texts(&before), texts(&undone));
        prop_assert_eq!(before.meta.status(), undone.meta.status());
        let seqs = |s: &State| s.context.items().iter().map(|(seq, _)| *seq).collect::<Vec<_>>();
        prop_assert_eq!(seqs(&before), seqs(&undone));
    }
}
