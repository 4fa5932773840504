//! Every kind of secret, in the surroundings that it is found in.

use annals_export::Masker;
use proptest::prelude::*;

use crate::samples;

/// What is left of a key when its middle is still there.
fn middle(key: &str) -> &str {
    let line = key.lines().nth(key.lines().count() / 2).unwrap();
    let cut = line.len() / 3;
    &line[cut..line.len() - cut]
}

#[test]
fn keys_are_masked_wherever_they_stand() {
    let mut wrong = Vec::new();
    for (rule, key) in samples::keys() {
        for place in samples::PLACES {
            let text = samples::put(place, &key);
            let masked = Masker::standard().mask(&text);
            if masked.text.contains(middle(&key)) || masked.found.len() != 1 {
                wrong.push(format!("{rule} in {place:?}: {:?} from {text:?}", masked.text));
            }
            if *place == "{}" {
                assert_eq!(masked.text, format!("[masked: {rule}]"), "{key}");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn secrets_are_known_by_their_surroundings() {
    let mut wrong = Vec::new();
    for (rule, text, secret) in samples::in_place() {
        let masked = Masker::standard().mask(&text);
        if masked.text.contains(&secret) || !masked.found.iter().any(|s| s.rule == rule) {
            wrong.push(format!("{rule} in {text:?}: {:?}", masked.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_surrounds_a_secret_stays() {
    let (_, key) = samples::keys().into_iter().find(|(rule, _)| *rule == "github-token").unwrap();
    let text = format!("before {key} between {key}\nbehind");
    let masked = Masker::standard().mask(&text);
    assert_eq!(masked.text, "before [masked: github-token] between [masked: github-token]\nbehind");
    assert_eq!(masked.found.len(), 2);
    assert_eq!(&text[masked.found[0].at.clone()], key);
    let url = Masker::standard().mask("postgres://app:k1ngk0ng@db:5432/x");
    assert_eq!(url.text, "postgres://app:[masked: url-password]@db:5432/x");
}

/// A private key in the numbered lines of a tool's output, in a source file's array, and cut off by a limit.
#[test]
fn private_keys_are_masked_in_any_dress() {
    let pem = samples::pem("RSA PRIVATE KEY");
    let numbered: String = pem.lines().enumerate().map(|(i, l)| format!("{:>6}→{l}\n", i + 1)).collect();
    let quoted: String = pem.lines().map(|l| format!("  \"{l}\",\n")).collect();
    let commented: String = pem.lines().map(|l| format!("# {l}\n")).collect();
    let cut: String = pem.chars().take(400).collect();
    let cut_json = format!("{{\"key\":\"{}", cut.replace('\n', "\\n"));
    let cut_numbered: String = numbered.chars().take(500).collect();
    let header = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n";
    let encrypted = pem.replacen('\n', &format!("\n{header}"), 1);
    for text in [&numbered, &quoted, &commented, &cut, &cut_json, &cut_numbered, &encrypted] {
        let masked = Masker::standard().mask(text);
        let left = masked.text.split("[masked: private-key").map(str::len).sum::<usize>();
        assert!(masked.found.len() == 1 && left < 40, "{text}\n----\n{}", masked.text);
    }
}

/// A key longer than the rules' window must not be left in part.
#[test]
fn long_secrets_are_masked_whole() {
    for len in [2000, 2048, 2049, 2100, 5000, 40_000] {
        let long = "aB3dE5gH7".repeat(len / 9);
        let text = format!("Authorization: Bearer {long}\nnext");
        assert_eq!(
            Masker::standard().mask(&text).text,
            "Authorization: Bearer [masked: authorization]\nnext",
            "{len}"
        );
    }
}

#[test]
fn values_of_the_caller_are_masked_as_they_are_and_escaped() {
    let values = ["correct horse".to_owned(), "say \"hi\"\n".to_owned(), "abc".to_owned(), " ".to_owned()];
    let masker = Masker::with_values(&values);
    let text = "correct horse; {\"a\":\"say \\\"hi\\\"\"} say \"hi\" abc";
    let masked = masker.mask(text);
    assert_eq!(
        masked.text,
        "[masked: configured-value]; {\"a\":\"[masked: configured-value]\"} [masked: configured-value] abc"
    );
    let rest = masker.mask("DB_PASSWORD=k1ngk0ng");
    assert_eq!(rest.text, "DB_PASSWORD=[masked: env-password]", "the rules still apply");
}

/// A value that is part of the mark itself must not send it round in circles.
#[test]
fn values_that_stand_in_marks_leave_marks_alone() {
    let masker =
        Masker::with_values(&["masked".to_owned(), "configured-value]".to_owned(), "github".to_owned()]);
    let (_, key) = samples::keys().into_iter().find(|(rule, _)| *rule == "github-token").unwrap();
    let once = masker.mask(&format!("masked {key} github")).text.into_owned();
    assert_eq!(once, "[masked: configured-value] [masked: github-token] [masked: configured-value]");
    assert_eq!(masker.mask(&once).text, once);
}

/// Texts out of pieces that rules look at, whole and broken.
fn pieces() -> impl Strategy<Value = String> {
    let mut pieces: Vec<String> = samples::keys().into_iter().map(|(_, key)| key).collect();
    pieces.extend(samples::in_place().into_iter().map(|(_, text, _)| text));
    let words = "password= token: \" ' \\\" \\n secret API_KEY= Bearer  Authorization: :// @ : [masked:  [masked: jwt] ] \
                 -----BEGIN PRIVATE KEY----- é 😀 ${VAR} example AKIA eyJ . , ; \n { } < > =";
    pieces.extend(words.split(' ').map(str::to_owned));
    pieces.push(" ".to_owned());
    let whole = prop::sample::select(pieces.clone());
    let broken = (prop::sample::select(pieces), 0..200_usize, 1..60_usize)
        .prop_map(|(piece, skip, take)| piece.chars().skip(skip % 7).take(take + skip % 31).collect());
    prop::collection::vec(prop_oneof![3 => whole, 3 => broken, 1 => "\\PC{0,12}"], 0..14)
        .prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn masking_twice_is_masking_once(text in pieces()) {
        let once = Masker::standard().mask(&text).text.into_owned();
        let twice = Masker::standard().mask(&once);
        prop_assert_eq!(&twice.text, &once);
        prop_assert!(twice.found.is_empty());
    }

    #[test]
    fn outside_of_what_was_found_nothing_changes(text in pieces()) {
        let masked = Masker::standard().mask(&text);
        let (mut rebuilt, mut at) = (String::new(), 0);
        for secret in &masked.found {
            prop_assert!(at <= secret.at.start && secret.at.start < secret.at.end);
            rebuilt.push_str(&text[at..secret.at.start]);
            rebuilt.push_str(&format!("[masked: {}]", secret.rule));
            at = secret.at.end;
        }
        rebuilt.push_str(&text[at..]);
        prop_assert_eq!(masked.text, rebuilt);
    }

    #[test]
    fn any_text_is_taken(text in any::<String>(), values in prop::collection::vec(any::<String>(), 0..3)) {
        let masker = Masker::with_values(&values);
        let once = masker.mask(&text).text.into_owned();
        let twice = masker.mask(&once).text.into_owned();
        prop_assert_eq!(twice, once);
    }
}
