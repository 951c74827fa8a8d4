//! PIE: drop arrivals with a probability that a proportional-integral controller moves so that
//! the queue's delay settles at a target.
//!
//! Sources: RFC 8033 and three implementations of it, which differ in what a user can measure.
//! Each is a law of its own, and each module states its differences from the others.
//!
//! | Module         | Follows                           | Delay from      | Arithmetic           |
//! |----------------|-----------------------------------|-----------------|----------------------|
//! | [`rfc8033`]    | RFC 8033, Appendix B or A         | either          | floating point       |
//! | [`linux`]      | Linux 6.1 (5.5 and later)         | timestamps      | 56 bits              |
//! | [`linux_3_14`] | Linux 3.14 to 5.0                 | departure rate  | 32 bits, overflowing |
//! | [`freebsd`]    | FreeBSD 10.4 dummynet (CAIA 0.2)  | departure rate  | 31 bits              |
//!
//! A law owns no packets. Its driver calls [`Law::catch_up`] first, so that the updates
//! that fell due act on the queue as it was, then [`Law::arrive`] or [`Law::depart`].

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
    /// It joins the queue.
    Keep,
    /// It joins the queue, marked.
    Mark,
    /// It is dropped.
    Drop(Reason),
}

/// A packet that wants to join the queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The time.
    pub now: Instant,
    /// The packet.
    pub packet: &'a Packet,
    /// The backlog before it.
    pub waiting: Backlog,
    /// Whether the queue has room for it.
    pub fits: bool,
}

/// A packet that has left the queue to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    /// The time.
    pub now: Instant,
    /// The packet.
    pub packet: &'a Packet,
    /// The backlog after it.
    pub left: Backlog,
}

/// A PIE law for one queue.
pub trait Law: Send {
    /// Does the periodic updates that fell due until `now`, while `waiting` has been waiting.
    fn catch_up(&mut self, now: Instant, waiting: Backlog);

    /// Judges a packet that arrives.
    fn arrive(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Verdict;

    /// Learns from a packet that left.
    fn depart(&mut self, departure: &Departure<'_>);

    /// The probability with which arrivals are dropped, at most 1.
    fn probability(&self) -> f64;

    /// The queue's delay as the law sees it.
    fn delay(&self) -> Duration;

    /// The timer of its updates, if it has one.
    fn timer(&mut self) -> Option<&mut Timer> {
        None
    }

    /// Forgets all that it knows, as dummynet's law does when its queue is destroyed. The laws of
    /// Linux keep their state.
    fn reset(&mut self) {}
}
