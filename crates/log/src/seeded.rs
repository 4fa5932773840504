//! Known bugs, planted on purpose: proof that the crash suite would catch them.
//!
//! With the feature `seeded-bugs` a bug is switched on by name, for one thread at a time; without it every question is answered
//! "no" at compile time. The list of names, and the test that must catch each, stands in the crash suite.

#[cfg(feature = "seeded-bugs")]
mod switch {
    use std::cell::Cell;

    thread_local!(static PLANTED: Cell<Option<&'static str>> = const { Cell::new(None) });

    /// Plants a bug in this thread, or takes it out again.
    pub fn plant(bug: Option<&'static str>) {
        PLANTED.with(|planted| planted.set(bug));
    }

    pub(crate) fn on(bug: &str) -> bool {
        PLANTED.with(|planted| planted.get() == Some(bug))
    }
}

#[cfg(feature = "seeded-bugs")]
pub(crate) use switch::on;
#[cfg(feature = "seeded-bugs")]
pub use switch::plant;

#[cfg(not(feature = "seeded-bugs"))]
#[inline(always)]
pub(crate) const fn on(_bug: &str) -> bool {
    false
}
