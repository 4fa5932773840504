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
    assert_eq!(state.meta.messages, 5);
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
        text().prop_map(|t| Json::string(&t)),
    ]
}

/// Any payload that bears on the state, with clashing ids and wild ranges.
pub(crate) fn payload() -> impl Strategy<Value = Payload> {
    let kind = prop_oneof![
        Just(MessageKind::Prompt),
        Just(MessageKind::Steer),
        Just(MessageKind::Hook),
        Just(MessageKind::Context)
    ];
    let model = prop_oneof![Just(None), Just(Some("claude-x".to_owned())), Just(Some("gpt-x".to_owned()))];
    prop_oneof![
        3 => (kind, text()).prop_map(|(kind, text)| user(kind, &text)),
        3 => (prop::collection::vec(part(), 0..3), model, prop::option::of(small_id()), 0..100_u64).prop_map(
            |(parts, model, response, output)| {
                let usage = (output > 30).then_some(Usage { output, ..Usage::default() });
                AssistantMessage { parts, model, response, usage, ..AssistantMessage::default() }.into()
            }
        ),
        4 => (small_id(), any::<bool>(), json(), small_id()).prop_map(|(id, deferred, input, name)| {
            ToolCall { id, name, input, deferred, ..ToolCall::default() }.into()
        }),
        1 => small_id().prop_map(|id| ToolStarted { id }.into()),
        4 => (small_id(), any::<bool>(), json()).prop_map(|(id, is_error, output)| {
            ToolResult { id, output, is_error, ..ToolResult::default() }.into()
        }),
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
        let seqs = |s: &State| s.context.items().iter().map(|(seq, _)| *seq).collect::<Vec<_>>();
        prop_assert_eq!(seqs(&before), seqs(&undone));
    }
}
