//! `fping`: echo requests to the reflectors in turn.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use crate::autorate::Settings;
use crate::datagrams;

/// The time after which `fping` prints that a reply is missing (`--timeout 10000`).
const TIMEOUT: Duration = Duration::from_secs(10);

/// One run of `fping`.
pub(super) struct Pinger {
    /// The number of this run.
    pub(super) number: u64,
    reflectors: Vec<u32>,
    started: Instant,
    /// The time between two requests, a whole number of milliseconds.
    interval: Duration,
    /// The time between two requests to one reflector.
    period: Duration,
    sent: u64,
    /// The requests without a reply: number, reflector and time.
    open: VecDeque<(u16, u32, Instant)>,
}

impl Pinger {
    pub(super) fn new(
        number: u64,
        settings: &Settings,
        reflectors: Vec<u32>,
        started: Instant,
    ) -> Self {
        let millis = |micros: i64| Duration::from_millis((micros / 1_000).max(1) as u64);
        let interval = millis(settings.request_interval());
        let period = millis(settings.ping_interval).max(interval * settings.pingers as u64);
        Self { number, reflectors, started, interval, period, sent: 0, open: VecDeque::new() }
    }

    /// Removes the requests whose replies are missing at `now`; returns their number.
    pub(super) fn missing(&mut self, now: Instant) -> usize {
        let before = self.open.len();
        while self.open.front().is_some_and(|(.., sent)| now.since(*sent) >= TIMEOUT) {
            self.open.pop_front();
        }
        before - self.open.len()
    }

    /// Returns the tag of the next request, which has the sequence number `sequence`, and the time
    /// of the request after it.
    pub(super) fn ask(&mut self, sequence: u64, now: Instant) -> (u64, Instant) {
        let tag = datagrams::stamp(sequence, now);
        let count = self.reflectors.len() as u64;
        let reflector = self.reflectors[(self.sent % count) as usize];
        self.open.push_back((datagrams::sequence(tag), reflector, now));
        self.sent += 1;
        let (round, place) = (self.sent / count, self.sent % count);
        (tag, self.started + self.period * round + self.interval * place)
    }

    /// Returns the reflector of a reply, if the request is open.
    pub(super) fn hear(&mut self, tag: u64) -> Option<u32> {
        let sequence = datagrams::sequence(tag);
        let place = self.open.iter().position(|(open, ..)| *open == sequence)?;
        self.open.remove(place).map(|(_, reflector, _)| reflector)
    }
}
