//! The 50 newest of 100,000 sessions, and looking at all of them.

use std::path::Path;

use annals::ListQuery;
use annals::import::Quiet;

use super::{corpus, made, open, process, timed, times};

pub fn run(dir: &Path, program: Option<&Path>) {
    let home = made(dir, "corpus-100k", |home| {
        corpus::fill(&open(home), &corpus::Pool::read(), 100_000, 1);
    });
    let query = ListQuery { limit: 50, ..ListQuery::default() };
    println!("\n## List, 100,000 sessions");
    let (first, listing) = timed(|| open(&home).list_of(&query).expect("a list"));
    assert_eq!((listing.sessions.len(), listing.total), (50, 100_000));
    println!("first list after boot: {first:.0} ms");
    let cold = times(101, || drop(open(&home).list_of(&query)));
    println!("50 newest, cold connection: {cold}");
    let store = open(&home);
    println!("50 newest, open store: {}", times(101, || drop(store.list_of(&query))));
    let here = annals::Filter { workspace: Some("/home/dev/project-7".to_owned()), ..Default::default() };
    let filtered = ListQuery { filter: here, limit: 50, ..ListQuery::default() };
    println!("50 newest of one workspace: {}", times(31, || drop(open(&home).list_of(&filtered))));
    let reconcile = times(7, || open(&home).update_index(false, &mut Quiet).expect("a look at all"));
    println!("reconcile of 100,000 unchanged: {reconcile}");
    if let Some(figure) = process(program, &home, &["list", "--limit", "50", "--all"]) {
        println!("whole process: {figure}");
    }
}
