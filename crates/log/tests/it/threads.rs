//! Many threads, one log; two writers; futures.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use annals_log::disk::OsDisk;
use annals_log::{Durability, Error, Log, Promise};

use crate::{create, draft, lines, options};

/// Fault 5: a number was taken before the lock, so two threads landed out of order.
#[test]
fn eight_threads_share_a_log_without_gap_or_disorder() {
    for durability in [Durability::Strict, Durability::Os] {
        let home = tempfile::tempdir().unwrap();
        let log = create(home.path(), durability);
        let acks: Vec<(u64, String)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|thread| {
                    let log = &log;
                    scope.spawn(move || {
                        let append = |n| {
                            let data = format!("{{\"t\":{thread},\"n\":{n}}}");
                            (log.commit(&[draft(&data)]).unwrap().seq, data)
                        };
                        (0..300).map(append).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        log.close().unwrap();
        let stored: BTreeMap<u64, String> = lines(home.path()).into_iter().collect();
        assert_eq!(stored.len(), 2400 + 3);
        assert!(acks.iter().all(|(seq, data)| stored.get(seq) == Some(data)));
        // Each thread's own events stand in its order.
        assert!(acks.chunks(300).all(|own| own.windows(2).all(|pair| pair[0].0 < pair[1].0)));
    }
}

/// Fault 6: two processes on one session interleaved turns.
#[test]
fn a_second_writer_is_told_who_writes() {
    let home = tempfile::tempdir().unwrap();
    let log = create(home.path(), Durability::Strict);
    match Log::open(&OsDisk, home.path(), options(Durability::Strict), None) {
        Err(Error::Busy { holder: Some(holder), .. }) => assert_eq!(holder.pid, std::process::id()),
        other => panic!("{:?}", other.map(drop)),
    }
    drop(log);
    assert!(Log::open(&OsDisk, home.path(), options(Durability::Strict), None).is_ok());
}

#[test]
fn opening_what_is_not_there_creates_nothing() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("nothing");
    assert!(matches!(
        Log::open(&OsDisk, &dir, options(Durability::Strict), None),
        Err(Error::NotFound { .. })
    ));
    assert!(!dir.exists());
    assert!(matches!(annals_log::Reader::open(&OsDisk, &dir), Err(Error::NotFound { .. })));
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn a_ticket_is_a_future_of_any_runtime() {
    let home = tempfile::tempdir().unwrap();
    let log = create(home.path(), Durability::Strict);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let ack = block_on(log.append(&[draft("{}")]).unwrap()).unwrap();
                    assert_eq!(ack.promise, Promise::Durable);
                }
            });
        }
    });
    assert_eq!(log.next_seq(), 401);
}

#[test]
fn a_line_over_the_limit_is_refused_alone() {
    let home = tempfile::tempdir().unwrap();
    let log = create(home.path(), Durability::Os);
    let long = format!("\"{}\"", "x".repeat(annals_model::line::MAX_LINE_BYTES));
    assert!(matches!(log.commit(&[draft(&long)]), Err(Error::TooLong { .. })));
    assert_eq!(log.commit(&[draft("{}")]).unwrap().seq, 1);
    log.close().unwrap();
    assert_eq!(lines(home.path()).len(), 4);
}
