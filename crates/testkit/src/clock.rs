//! A clock that advances a millisecond each time it is asked.

use std::sync::atomic::{AtomicI64, Ordering};

use annals_model::{Clock, Timestamp};

/// The clock.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl Default for FixedClock {
    fn default() -> Self {
        Self(AtomicI64::new(1_796_000_000_000))
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}
