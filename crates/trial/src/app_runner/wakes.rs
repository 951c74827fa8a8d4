//! Wake-ups: the times at which the driver next calls the applications.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmlab_apps::Notice;
use aqmlab_core::Instant;

/// The reason why the driver calls an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wake {
    Start,
    Stop,
    Token(u64),
}

impl Wake {
    const fn notice(self) -> Notice {
        match self {
            Self::Start => Notice::Start,
            Self::Stop => Notice::Stop,
            Self::Token(token) => Notice::Wake(token),
        }
    }
}

/// The wake-ups of all applications. The wake-ups of an application are ordered by time, and at
/// equal times by the order of the requests.
pub(super) struct Wakes {
    by_app: Vec<BinaryHeap<Reverse<(Instant, u64, Wake)>>>,
    /// The number of requests so far.
    requests: u64,
}

impl Wakes {
    pub(super) fn new(apps: usize) -> Self {
        Self { by_app: (0..apps).map(|_| BinaryHeap::new()).collect(), requests: 0 }
    }

    pub(super) fn push(&mut self, app: usize, at: Instant, wake: Wake) {
        self.requests += 1;
        self.by_app[app].push(Reverse((at, self.requests, wake)));
    }

    /// Removes the first wake-up of an application, if it is due. Returns the notice for this
    /// wake-up.
    pub(super) fn pop(&mut self, app: usize, now: Instant) -> Option<Notice> {
        self.next_of(app).filter(|at| *at <= now)?;
        self.by_app[app].pop().map(|Reverse((.., wake))| wake.notice())
    }

    /// Removes the first wake-up of all applications, if it is due. Returns the application and the
    /// notice for this wake-up.
    pub(super) fn pop_any(&mut self, now: Instant) -> Option<(u32, Notice)> {
        let first = self.by_app.iter().enumerate();
        let first = first.filter_map(|(app, wakes)| Some((wakes.peek()?.0, app)));
        let (_, app) = first.min()?;
        Some((app as u32, self.pop(app, now)?))
    }

    pub(super) fn next_of(&self, app: usize) -> Option<Instant> {
        self.by_app[app].peek().map(|Reverse((at, ..))| *at)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        (0..self.by_app.len()).filter_map(|app| self.next_of(app)).min()
    }
}
