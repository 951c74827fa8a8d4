//! The outcome of packets in intervals of at least 250 ms, and the average loss.
//!
//! Source: libwebrtc (2025-06) `loss_based_bwe_v2.cc`, `PushBackObservation` and
//! `CalculateAverageReportedByteLossRatio`, with the default settings.

use aqmlab_core::{Duration, Instant, math};

/// The number of observations that are kept.
pub(super) const WINDOW: usize = 15;
const LEAST_SPAN: Duration = Duration::from_millis(250);
/// The factor by which each newer observation reduces the weight of an observation.
const OLDER: f64 = 0.9;
/// The number of observations above which the observations with the most and the least loss do not
/// count.
const LEAST_FOR_EXTREMES: u64 = 3;
/// The multiple of the median sending rate at and above which the observation with the most loss
/// counts too.
const SEND_BURST: f64 = 2.0;

/// The outcome of a packet that the receiver reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The time at which the packet was sent.
    pub(crate) sent: Instant,
    /// The size of the packet in bytes.
    pub(crate) bytes: u32,
    /// Whether the packet arrived.
    pub(crate) has_arrived: bool,
}

/// The packets of one interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Observation {
    pub(super) bytes: f64,
    pub(super) lost_bytes: f64,
    /// The rate at which the packets were sent, in bit/s.
    pub(super) sent_bps: f64,
}

impl Observation {
    fn loss(&self) -> f64 {
        if self.bytes > 0.0 { self.lost_bytes / self.bytes } else { 0.0 }
    }
}

/// The last observations, and the packets since then.
#[derive(Debug)]
pub(super) struct Observations {
    size: usize,
    /// Observation `n` is at index `n` modulo `size`.
    ring: Vec<Observation>,
    count: u64,
    bytes: f64,
    lost_bytes: f64,
    /// The time at which the last packet of the newest observation was sent. Before the first
    /// observation, the time at which the first packet was sent, if any.
    newest: Option<Instant>,
    average_loss: f64,
}

impl Observations {
    /// Returns an empty window of `size` observations.
    pub(super) fn new(size: usize) -> Self {
        Self {
            size,
            ring: Vec::with_capacity(size),
            count: 0,
            bytes: 0.0,
            lost_bytes: 0.0,
            newest: None,
            average_loss: 0.0,
        }
    }

    /// Returns the number of observations so far.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the time at which the last packet of the newest observation was sent, as stored in
    /// `newest`; zero without packets.
    pub(super) fn newest(&self) -> Instant {
        self.newest.unwrap_or(Instant::ZERO)
    }

    /// Returns the weighted average proportion of lost bytes, from 0 to 1.
    pub(super) const fn average_loss(&self) -> f64 {
        self.average_loss
    }

    /// Returns the observations, each with its weight.
    pub(super) fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        let newest = self.count.saturating_sub(1) as usize % self.size;
        let age = move |place: usize| (newest + self.size - place) % self.size;
        let weight = move |place| math::pow(OLDER, age(place) as f64);
        self.ring.iter().enumerate().map(move |(place, one)| (weight(place), one))
    }

    /// Adds the outcome of packets. Returns whether they complete an observation.
    pub(super) fn add(&mut self, outcomes: &[Outcome]) -> bool {
        let times = || outcomes.iter().map(|one| one.sent);
        let (Some(first), Some(last)) = (times().min(), times().max()) else { return false };
        let bytes = |one: &Outcome| f64::from(one.bytes);
        self.bytes += outcomes.iter().map(bytes).sum::<f64>();
        let missing = outcomes.iter().filter(|one| !one.has_arrived);
        self.lost_bytes += missing.map(bytes).sum::<f64>();
        let since = *self.newest.get_or_insert(first);
        let span = last.since(since);
        if span < LEAST_SPAN {
            return false;
        }
        self.newest = Some(last);
        self.push(span);
        self.average_loss = self.loss();
        true
    }

    fn push(&mut self, span: Duration) {
        let bytes = std::mem::take(&mut self.bytes);
        let lost_bytes = std::mem::take(&mut self.lost_bytes);
        let one = Observation { bytes, lost_bytes, sent_bps: 8.0 * bytes / span.as_secs_f64() };
        if self.ring.len() < self.size {
            self.ring.push(one);
        } else {
            self.ring[self.count as usize % self.size] = one;
        }
        self.count += 1;
    }

    /// Returns the weighted loss. The observations with the most and the least loss do not count.
    /// All observations count if there were at most [`LEAST_FOR_EXTREMES`], if the other
    /// observations have no bytes, or if the observation with the most loss was sent at twice the
    /// median rate or faster.
    fn loss(&self) -> f64 {
        let (mut bytes, mut lost_bytes) = (0.0, 0.0);
        let (mut worst, mut best) = ((0.0, Observation::default()), (1.0, Observation::default()));
        for (weight, one) in self.weighted() {
            let weighted = Observation {
                bytes: weight * one.bytes,
                lost_bytes: weight * one.lost_bytes,
                sent_bps: one.sent_bps,
            };
            bytes += weighted.bytes;
            lost_bytes += weighted.lost_bytes;
            if self.count > LEAST_FOR_EXTREMES {
                let loss = one.loss();
                if loss > worst.0 {
                    worst = (loss, weighted);
                }
                if loss < best.0 {
                    best = (loss, weighted);
                }
            }
        }
        let (worst, best) = (worst.1, best.1);
        let rest = bytes - worst.bytes - best.bytes;
        // A burst of the sender may cause the loss, which is then no spike.
        if SEND_BURST * self.median_bps() <= worst.sent_bps || rest <= 0.0 {
            return lost_bytes / bytes;
        }
        ((lost_bytes - worst.lost_bytes - best.lost_bytes) / rest).max(0.0)
    }

    fn median_bps(&self) -> f64 {
        let mut rates: Vec<_> = self.ring.iter().map(|one| one.sent_bps).collect();
        rates.sort_unstable_by(f64::total_cmp);
        let middle = rates.len() / 2;
        match rates.len() {
            0 => 0.0,
            even if even % 2 == 0 => f64::midpoint(rates[middle - 1], rates[middle]),
            _ => rates[middle],
        }
    }
}
