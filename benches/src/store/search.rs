//! Searches over a gigabyte, against a bare scan of the same files.

use std::path::Path;

use annals::import::Quiet;
use annals::{Mode, Search};

use super::{gigabyte, open, process, timed, times};

pub fn run(dir: &Path, program: Option<&Path>) {
    let home = gigabyte(dir);
    let store = open(&home);
    store.update_index(true, &mut Quiet).expect("an index");
    println!("\n## Search, 1 GB in 2,000 sessions");
    let words = |text: &str, everything, limit| Search {
        text: text.to_owned(),
        everything,
        limit,
        ..Search::default()
    };
    let exact = |text: &str, mode, limit| Search { mode, ..words(text, true, limit) };
    let rare = "unwrap_or_default_of_nothing";
    let asked: Vec<(&str, Search)> = vec![
        ("literal, none, everything", words(rare, true, 50)),
        ("literal, rare, everything, newest 50", words("MAX_PATTERN_BYTES", true, 50)),
        ("literal, some, everything, newest 50", words("is_ascii_lowercase", true, 50)),
        ("literal, common, everything, newest 50", words("return", true, 50)),
        ("phrase, everything, newest 50", words("\"pub fn new\"", true, 50)),
        ("substring, everything, newest 50", words("nwrap_or_def", true, 50)),
        ("exact, newest 50", exact("impl Iterator for", Mode::Exact, 50)),
        ("regex with a literal, newest 50", exact(r"impl\w* Iterator for \w+", Mode::Regex, 50)),
        ("literal, some, all hits", words("is_ascii_lowercase", true, 0)),
        ("literal, common, all hits", words("return", true, 0)),
        ("regex without a literal, all hits", exact("[0-9]{9}[a-f][0-9]", Mode::Regex, 0)),
        ("ranked, rare word", words("backtracking", false, 20)),
        ("ranked, two words", words("error handling", false, 20)),
        ("ranked, common word", words("the value", false, 20)),
        ("ranked, prefix", words("seri*", false, 20)),
    ];
    let only = std::env::var("ONLY").ok();
    for (name, search) in &asked {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let (first, answer) = timed(|| store.search(search, &mut Quiet).expect("an answer"));
        let n = if first > 300.0 { 5 } else { 31 };
        let figure = times(n, || drop(store.search(search, &mut Quiet)));
        println!("{name}: {figure} ({} shown of {})", answer.hits.len(), answer.total);
    }
    drop(store);
    println!("cold store, rare literal: {}", times(31, || {
        drop(open(&home).search(&words("MAX_PATTERN_BYTES", true, 50), &mut Quiet));
    }));
    for args in [
        &["search", "--everything", "--limit", "50", "is_ascii_lowercase"][..],
        &["search", "--everything", "--limit", "50", "return"],
        &["search", "--limit", "20", "error", "handling"],
    ] {
        if let Some(figure) = process(program, &home, args) {
            println!("whole process, {}: {figure}", args.join(" "));
        }
    }
}
