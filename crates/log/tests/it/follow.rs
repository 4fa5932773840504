//! A reader beside a living writer.

use std::sync::atomic::{AtomicBool, Ordering};

use annals_log::disk::OsDisk;
use annals_log::{Durability, Item, Reader};

use crate::{create, draft};

/// Fault 13: a reader cut off the tail of a log that another process was writing. Ours never even calls it damaged.
#[test]
fn a_follower_sees_every_event_once_and_never_a_gap() {
    for durability in [Durability::Strict, Durability::Os] {
        let home = tempfile::tempdir().unwrap();
        let log = create(home.path(), durability);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let follower = scope.spawn(|| {
                let mut reader = Reader::open(&OsDisk, home.path()).unwrap();
                let mut next = 0;
                loop {
                    let last_look = done.load(Ordering::SeqCst);
                    while let Some(item) = reader.next_item().unwrap() {
                        match item {
                            Item::Line { line, .. } => {
                                assert_eq!(line.seq, next);
                                next += 1;
                            }
                            Item::Gap(damage) => panic!("{damage:?}"),
                        }
                    }
                    if last_look {
                        return next;
                    }
                }
            });
            for n in 0..3000 {
                let data = format!("{{\"pad\":\"{}\"}}", "x".repeat(n % 900));
                log.commit(&[draft(&data), draft("{}")]).unwrap();
            }
            done.store(true, Ordering::SeqCst);
            assert_eq!(follower.join().unwrap(), 6001);
        });
    }
}
