//! Which events are live: those that no rewind dropped. A few intervals, whatever the session's length.

use std::ops::Range;

use crate::event::{Event, Payload, Seq};

/// The positions that rewinds dropped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Live {
    /// In order, without overlaps.
    dropped: Vec<Range<Seq>>,
    /// Rewinds that were not taken back, oldest first: their positions, and what each dropped.
    rewinds: Vec<(Seq, Vec<Range<Seq>>)>,
}

impl Live {
    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        match &event.payload {
            Payload::Rewound(rewound) => self.rewind(event.seq, rewound.to_seq),
            Payload::RewindUndone(_) => self.undo(event.seq),
            _ => {}
        }
    }

    /// Whether an event of this position is live, as far as the events taken in tell.
    #[must_use]
    pub fn contains(&self, seq: Seq) -> bool {
        let at = self.dropped.partition_point(|range| range.end <= seq);
        self.dropped.get(at).is_none_or(|range| !range.contains(&seq))
    }

    fn rewind(&mut self, at: Seq, to_seq: Seq) {
        let all = std::slice::from_ref(&(to_seq..at)).to_vec();
        let fresh = minus(&all, &self.dropped);
        self.dropped.extend(fresh.iter().cloned());
        self.settle();
        self.rewinds.push((at, fresh));
    }

    /// What came after the last rewind is dropped, what it dropped is live again.
    fn undo(&mut self, at: Seq) {
        let Some((rewound_at, fresh)) = self.rewinds.pop() else { return };
        self.dropped = minus(&self.dropped, &fresh);
        self.dropped.push(rewound_at..at);
        self.settle();
    }

    fn settle(&mut self) {
        self.dropped.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<Seq>> = Vec::with_capacity(self.dropped.len());
        for range in self.dropped.drain(..) {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        self.dropped = joined;
    }
}

/// What of `all` is not in `without`; both in order.
fn minus(all: &[Range<Seq>], without: &[Range<Seq>]) -> Vec<Range<Seq>> {
    let mut left = Vec::new();
    for range in all {
        let mut start = range.start;
        for hole in without.iter().filter(|hole| hole.start < range.end && hole.end > range.start) {
            if hole.start > start {
                left.push(start..hole.start);
            }
            start = start.max(hole.end);
        }
        if start < range.end {
            left.push(start..range.end);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fold::branch::Branches;

    proptest! {
        #[test]
        fn it_is_what_branches_say(steps in prop::collection::vec((0_u8..6, 0_u64..40), 0..60)) {
            let (mut live, mut branches) = (Live::default(), Branches::default());
            for (seq, (step, to)) in (0..).zip(steps) {
                match step {
                    0 => {
                        let to = to % (seq + 1);
                        live.rewind(seq, to);
                        branches.rewind(seq, to);
                    }
                    1 => {
                        live.undo(seq);
                        branches.undo();
                    }
                    _ => branches.push(seq, ()),
                }
            }
            for item in branches.all() {
                prop_assert_eq!(live.contains(item.seq), item.live, "{}: {:?}", item.seq, live);
            }
        }
    }
}
