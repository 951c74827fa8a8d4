//! PIE: drops arrivals with a probability that a proportional-integral controller sets. The
//! controller keeps the queueing delay near a target.
//!
//! Sources: RFC 8033 and three implementations, which differ measurably. Each module follows one of
//! these sources and states its differences from the other sources.
//!
//! | Module         | Follows                           | Delay from      | Arithmetic           |
//! |----------------|-----------------------------------|-----------------|----------------------|
//! | [`rfc8033`]    | RFC 8033, Appendix B or A         | either          | floating point       |
//! | [`linux`]      | Linux 6.1 (5.5 and later)         | either          | 56 bits              |
//! | [`linux_3_14`] | Linux 3.14 to 5.0                 | departure rate  | 32 bits, overflowing |
//! | [`freebsd`]    | FreeBSD 10.4 dummynet (CAIA 0.2)  | either          | 31 bits              |
//!
//! The delay comes from timestamps of packets or from the departure rate. Each module measures the
//! departure rate as its source does.
//!
//! A law stores no packets. Its driver first calls [`Law::catch_up`], so that due updates use the
//! backlog before the operation, and then [`Law::arrive`] or [`Law::depart`].

pub mod freebsd;
pub mod linux;
pub mod linux_3_14;
pub mod rfc8033;

use aqmlab_core::{Duration, Instant, Packet, Reason, Rng};

use crate::Backlog;
use crate::aqm::timer::Timer;

/// The verdict on an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Enqueue the packet.
    Keep,
    /// Enqueue the packet with a mark.
    Mark,
    /// Drop the packet.
    Drop(Reason),
}

/// A packet that arrives at the queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The time of arrival.
    pub now: Instant,
    /// The packet that arrives.
    pub packet: &'a Packet,
    /// The backlog before the packet.
    pub waiting: Backlog,
    /// Whether the queue has room for the packet.
    pub fits: bool,
}

/// A packet that has left the queue to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    /// The time of departure.
    pub now: Instant,
    /// The packet that has left.
    pub packet: &'a Packet,
    /// The backlog after the departure.
    pub left: Backlog,
}

/// The PIE law of one queue.
pub trait Law: Send + 'static {
    /// Does the periodic updates due until `now`, with `waiting` as the backlog.
    fn catch_up(&mut self, now: Instant, waiting: Backlog);

    /// Judges a packet that arrives.
    fn arrive(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Verdict;

    /// Updates the law after a departure.
    fn depart(&mut self, departure: &Departure<'_>);

    /// Returns the drop probability, at most 1.
    fn probability(&self) -> f64;

    /// Returns the queueing delay as the law estimates it.
    fn delay(&self) -> Duration;

    /// Returns the update timer, or `None` if packets start and stop the timer, as in dummynet.
    fn timer(&mut self) -> Option<&mut Timer> {
        None
    }

    /// Resets the law, as dummynet does when it destroys a queue. The other laws keep their state.
    fn reset(&mut self) {}
}
