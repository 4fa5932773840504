//! What a kill or a power cut leaves of a simulated disk: one state by chance, or all of them.

use std::sync::{Arc, Mutex};

use super::{SimDisk, State};
use crate::rng::Rng;

/// How chance decides the open choices of one crash.
#[derive(Debug, Clone, Copy)]
enum Mood {
    Nothing,
    Everything,
    /// The first so many, as a disk that keeps the order.
    Prefix(u64),
    Any,
}

impl Mood {
    fn draw(rng: &mut Rng, longest: u64) -> Self {
        match rng.below(5) {
            0 => Self::Nothing,
            1 => Self::Everything,
            2 => Self::Prefix(rng.below(longest)),
            _ => Self::Any,
        }
    }

    fn keep(&mut self, rng: &mut Rng) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Prefix(0) => false,
            Self::Prefix(left) => {
                *left -= 1;
                true
            }
            Self::Any => rng.one_in(2),
        }
    }
}

/// Walks a tree of yes-or-no choices, leaf by leaf. Which choices come up may depend on those before.
#[derive(Debug, Default)]
struct Walk {
    choices: Vec<bool>,
    at: usize,
}

impl Walk {
    fn choose(&mut self) -> bool {
        if self.at == self.choices.len() {
            self.choices.push(false);
        }
        self.at += 1;
        self.choices[self.at - 1]
    }

    /// Goes on to the next leaf; false behind the last.
    fn advance(&mut self) -> bool {
        self.at = 0;
        while self.choices.pop_if(|last| *last).is_some() {}
        match self.choices.last_mut() {
            Some(last) => {
                *last = true;
                true
            }
            None => false,
        }
    }
}

impl SimDisk {
    /// What is left when the process is killed and the machine goes on: everything written, no locks.
    #[must_use]
    pub fn kill(&self) -> Self {
        let state = self.state();
        Self::holding(State { inodes: state.inodes.clone(), names: state.names.clone(), ..State::default() })
    }

    /// What a power cut may leave.
    #[must_use]
    pub fn crash(&self, rng: &mut Rng) -> Self {
        let (mut names, mut files) = (Mood::draw(rng, 8), Mood::draw(rng, 40));
        self.crash_with(&mut |part| match part {
            Part::Names => names.keep(rng),
            Part::Files => files.keep(rng),
        })
    }

    /// Every state that a power cut may leave, as long as no more than `limit` choices are open in any of them (`None` otherwise).
    ///
    /// Two ways may lead to the same state; both are listed.
    #[must_use]
    pub fn all_crashes(&self, limit: u32) -> Option<Vec<Self>> {
        let limit = usize::try_from(limit).unwrap();
        let mut walk = Walk::default();
        let mut all = Vec::new();
        loop {
            let state = self.crash_with(&mut |_| walk.choose());
            if walk.choices.len() > limit {
                return None;
            }
            all.push(state);
            if !walk.advance() {
                return Some(all);
            }
        }
    }

    fn crash_with(&self, keep: &mut dyn FnMut(Part) -> bool) -> Self {
        let state = self.state();
        let names = state.names.crash(&mut || keep(Part::Names));
        let survivors = names.inodes().into_iter();
        let inodes = survivors.map(|n| (n, state.inodes[&n].crash(&mut || keep(Part::Files)))).collect();
        Self::holding(State { inodes, names, ..State::default() })
    }

    fn holding(state: State) -> Self {
        Self(Arc::new(Mutex::new(state)))
    }
}

/// Of what a choice is.
#[derive(Debug, Clone, Copy)]
enum Part {
    Names,
    Files,
}
