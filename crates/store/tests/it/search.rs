//! Search: what is found is what reading everything would find.

use annals::import::Quiet;
use annals::model::payload::{AssistantMessage, Condensation, Part, ToolCall, ToolResult};
use annals::model::{Json, Payload, SessionId};
use annals::{Answer, Error, Filter, Found, Mode, NewEvent, Role, Search, Store};
use annals_testkit::rng::Rng;

use crate::support::{Fixture, answer, prompt, turn_ended};

fn call(n: u64, command: &str) -> NewEvent {
    let input = Json::from(serde_json::json!({"command": command}));
    Payload::ToolCall(ToolCall { id: format!("c{n}"), name: "shell".into(), input, ..ToolCall::default() })
        .into()
}

fn result(n: u64, output: &str) -> NewEvent {
    let output = Json::string(output);
    Payload::ToolResult(ToolResult { id: format!("c{n}"), output, ..ToolResult::default() }).into()
}

fn find(store: &Store, search: &Search) -> Answer {
    store.search(search, &mut Quiet).unwrap()
}

fn words(text: &str) -> Search {
    Search { text: text.into(), limit: 12, ..Search::default() }
}

fn places(answer: &Answer) -> Vec<(String, u64)> {
    answer.hits.iter().map(|hit| (hit.session.to_string(), hit.seq)).collect()
}

#[test]
fn what_was_just_appended_is_found_and_what_was_deleted_is_not() {
    let f = Fixture::new();
    let session = f.create("live");
    session.append(&[prompt("where is the Käsekuchen?")]).unwrap();
    assert_eq!(places(&find(&f.store, &words("KÄSEKUCHEN"))), [("live".to_owned(), 1)]);
    session.append(&[answer("in the fridge, behind the milk")]).unwrap();
    let found = find(&f.store, &words("fridge"));
    assert_eq!(places(&found), [("live".to_owned(), 2)]);
    let hit = &found.hits[0];
    assert_eq!((hit.role, hit.ranges.as_slice()), ("agent", [(7, 13)].as_slice()));
    assert_eq!(&hit.excerpt[7..13], "fridge");
    session.close().unwrap();
    f.store.delete(&"live".parse().unwrap()).unwrap();
    for search in [words("fridge"), Search { everything: true, ..words("fridge") }] {
        assert_eq!(find(&f.store, &search), Answer::default());
    }
    f.store.undo(None).unwrap();
    assert_eq!(find(&f.store, &words("fridge")).total, 1);
}

#[test]
fn a_search_in_a_session_has_most_terms_first_and_tells_oldest_first() {
    let f = Fixture::new();
    let session = f.create("one");
    for text in ["red", "green", "red green", "blue", "/search red green", "red herring"] {
        session.append(&[prompt(text)]).unwrap();
    }
    session.close().unwrap();
    let id: SessionId = "one".parse().unwrap();
    let search = |text: &str, limit| Search { session: Some(id.clone()), limit, ..words(text) };
    let found = find(&f.store, &search("red green", 12));
    assert_eq!((found.total, found.hits.iter().map(|h| h.seq).collect::<Vec<_>>()), (4, vec![1, 2, 3, 6]));
    let found = find(&f.store, &search("red green", 2));
    assert_eq!((found.total, found.hits.iter().map(|h| h.seq).collect::<Vec<_>>()), (4, vec![3, 6]));
    assert_eq!(find(&f.store, &search("\"red green\"", 12)).total, 1);
    assert_eq!(find(&f.store, &search("re", 12)).total, 4, "a term is a substring");
    assert_eq!(find(&f.store, &Search { everything: true, ..search("re", 12) }).total, 4);
}

#[test]
fn questions_in_plain_words_are_answered() {
    let f = Fixture::new();
    f.conversation("a", "The parser drops the last token of a line");
    f.conversation("b", "Lexer tables are generated");
    let found = find(&f.store, &words("why does the parser drop a token?"));
    assert!(found.relaxed, "no message has `drop`, but the telling words are enough");
    assert_eq!(places(&found)[0], ("a".to_owned(), 1));
    assert!(!find(&f.store, &words("what is the parser")).relaxed);
    assert_eq!(find(&f.store, &words("pars*")).total, 1);
    assert_eq!(find(&f.store, &words("\"last token\"")).total, 1);
    assert_eq!(find(&f.store, &words("\"token last\"")).total, 0);
    let agent = Search { roles: vec![Role::Agent], ..words("done") };
    assert_eq!(find(&f.store, &agent).total, 2);
    assert_eq!(find(&f.store, &Search { roles: vec![Role::User], ..words("done") }).total, 0);
    let elsewhere = Filter { workspace: Some("/elsewhere".into()), ..Filter::default() };
    assert_eq!(find(&f.store, &Search { filter: elsewhere, ..words("parser") }).total, 0);
}

#[test]
fn what_can_not_be_searched_for_is_refused() {
    let f = Fixture::new();
    f.conversation("a", "x");
    let refused = |mode, text: &str| match f.store.search(&Search { mode, ..words(text) }, &mut Quiet) {
        Err(Error::InvalidQuery { reason }) => reason,
        other => panic!("{text}: {other:?}"),
    };
    assert!(refused(Mode::Words, "  ").contains("nothing to search for"));
    assert!(refused(Mode::Words, "***").contains("--exact"));
    assert!(refused(Mode::Exact, "").contains("nothing"));
    assert!(refused(Mode::Regex, "a(b").contains("unclosed group"));
}

/// Sessions of random sentences, with tool output, blobs of many sizes, rewritten logs and one that is still open.
fn random_home(seed: u64) -> Fixture {
    const WORDS: [&str; 9] = [
        "alpha",
        "Beta",
        "γάμμα",
        "delta\n",
        "\"epsilon\"",
        "zeta\\eta",
        "NotImplementedError",
        "漢字",
        "naïve",
    ];
    let f = Fixture::new();
    let mut rng = Rng::new(seed);
    let mut text = |most: u64| -> String {
        let count = 1 + rng.below(most);
        (0..count).map(|_| WORDS[usize::try_from(rng.below(9)).unwrap()]).collect::<Vec<_>>().join(" ")
    };
    for n in 0..6 {
        let session = f.create(&format!("s{n}"));
        for turn in 0..4 {
            let thought = Part::Thinking { text: text(5), signature: None };
            let thinking = AssistantMessage { parts: vec![thought], ..AssistantMessage::default() };
            let long = if n == 2 { 6000 } else { 40 };
            let events = [
                prompt(&text(6)),
                Payload::from(thinking).into(),
                call(turn, &text(4)),
                result(turn, &text(long)),
                answer(&text(8)),
                turn_ended(),
            ];
            session.append(&events).unwrap();
        }
        if n == 3 {
            let summary = Condensation { from: 1, to: 4, summary: text(9), ..Condensation::default() };
            session.append(&[Payload::Condensation(summary).into()]).unwrap();
        }
        // The last one stays as a killed process leaves it.
        if n < 5 {
            session.close().unwrap();
        }
    }
    f
}

/// What a search must find, by reading everything.
fn by_reading(f: &Fixture, hits: impl Fn(&[(Role, String)]) -> bool) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for id in f.store.ids().unwrap() {
        let mut reader = f.store.read(&id).unwrap();
        while let Some(Found::Event(event)) = reader.next_found().unwrap() {
            let pieces: Vec<(Role, String)> = annals_search::text::pieces(&event)
                .into_iter()
                .map(|piece| (piece.role, piece.text.into_owned()))
                .collect();
            if hits(&pieces) {
                all.push((id.to_string(), event.seq));
            }
        }
    }
    all.sort();
    all
}

/// FIND-3: the index finds what a scan finds.
#[test]
fn what_the_index_finds_is_what_reading_finds() {
    for seed in 0..4 {
        let f = random_home(seed);
        let found = |search: Search| {
            let mut places = places(&find(&f.store, &Search { limit: 0, ..search }));
            places.sort();
            places
        };
        for text in [
            "beta",
            "ΓΆΜΜΑ",
            "notimplementederror",
            "漢字",
            "\"alpha beta\"",
            "naïve delta",
            "zeta\\eta",
            "xyzzy",
        ] {
            let sought = annals_search::query::Query::parse(text).unwrap();
            let fold = |text: &str| annals_search::fold::fold(text).into_owned();
            let terms: Vec<String> = sought.terms.iter().map(|term| fold(&term.text)).collect();
            let expected = by_reading(&f, |pieces| {
                !pieces.is_empty()
                    && terms.iter().all(|term| pieces.iter().any(|(_, text)| fold(text).contains(term)))
            });
            assert_eq!(found(Search { everything: true, ..words(text) }), expected, "seed {seed}: {text}");
        }
        for text in ["Beta", "delta\n", "\"epsilon\"", "beta", "r γ"] {
            let expected = by_reading(&f, |pieces| pieces.iter().any(|(_, piece)| piece.contains(text)));
            let search = Search { mode: Mode::Exact, everything: true, ..words(text) };
            assert_eq!(found(search), expected, "seed {seed}: {text}");
        }
        for pattern in ["(?i)beta +alpha", "^Beta", "NotImpl[a-z]+", r"\\eta\b"] {
            let regex = regex_automata::meta::Regex::new(pattern).unwrap();
            let expected = by_reading(&f, |pieces| pieces.iter().any(|(_, piece)| regex.is_match(piece)));
            let search = Search { mode: Mode::Regex, everything: true, ..words(pattern) };
            assert_eq!(found(search), expected, "seed {seed}: {pattern}");
        }
        for text in ["beta", "alpha naïve", "\"beta alpha\"", "not*", "漢"] {
            let query = annals_search::query::Query::parse(text).unwrap();
            let expected = by_reading(&f, |pieces| {
                let said: Vec<&str> = pieces
                    .iter()
                    .filter(|(role, _)| matches!(role, Role::User | Role::Agent))
                    .map(|(_, text)| text.as_str())
                    .collect();
                annals_search::words::word_match(&said.join("\n\n"), &query, true)
            });
            let answer = find(&f.store, &Search { limit: 0, ..words(text) });
            if !answer.relaxed {
                assert_eq!(found(words(text)), expected, "seed {seed}: {text}");
            }
        }
    }
}

/// I4: an index that grew with the sessions says what one says that is made anew.
#[test]
fn a_rebuilt_index_is_the_live_one() {
    for seed in 0..4 {
        let f = random_home(seed);
        f.store.update_index(true, &mut Quiet).unwrap();
        assert_eq!(f.store.check_index(&mut Quiet).unwrap(), Vec::<String>::new());
        let ask = |store: &Store| {
            let searches = [words("beta"), Search { everything: true, limit: 0, ..words("alpha") }];
            (store.list().unwrap(), searches.map(|search| places(&find(store, &search))))
        };
        let before = ask(&f.store);
        f.store.reindex(true, &mut Quiet).unwrap();
        assert_eq!(ask(&f.store).0.sessions, before.0.sessions, "seed {seed}");
        assert_eq!(ask(&f.store).1, before.1, "seed {seed}");
    }
}
