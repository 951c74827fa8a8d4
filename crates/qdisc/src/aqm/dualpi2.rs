//! PI2: a proportional-integral controller for two queues. Classic packets are signalled with the
//! square of the controller's output as probability, and L4S packets with a probability
//! proportional to the controller's output. Classic and scalable congestion controls then get
//! similar rates.
//!
//! Sources: RFC 9332; Linux 6.18 `net/sched/sch_dualpi2.c`, with the same law as 6.17. De Schepper,
//! Bondarenko, Tsang and Briscoe 2016, "PI2: A Linearized AQM for both Classic and Scalable TCP".
//! Each module implements one law for two queues. `p′` is the output of the controller, and `k` the
//! coupling factor.
//!
//! | | [`linux`] | [`rfc9332`] |
//! |---|---|---|
//! | arithmetic | 32-bit fixed point, with its overflows | floating point |
//! | interval of updates | 16 ms | the smaller of the target and a third of the largest RTT |
//! | gains in Hz | 41/256 and 819/256 | from the largest RTT: 0.15 and 3 |
//! | delay of a queue | age of its head | age of its head |
//! | classic signal | two random draws, both up to `p′` | an accumulator of `p′²` |
//! | L4S signal | one random draw up to `k p′` | an accumulator of `k p′`, or of the ramp if larger |
//! | native L4S signal | a step, outside the law | a ramp, in the law |
//! | overload | `k p′ > 1` | classic: `p′² ≥ 1/k²`; L4S: `k p′ ≥ 1` |
//!
//! A law stores no packets. Its driver calls `catch_up` before each operation, so that due updates
//! use the heads of the queues before the operation.

pub mod linux;
pub mod rfc9332;

use aqmlab_core::{Duration, Instant};

use crate::aqm::timer::Timer;

/// The verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Leave the packet unchanged.
    Keep,
    /// Mark the packet if it is ECN-capable; otherwise drop it.
    Signal,
    /// Drop the packet, even if it is ECN-capable: the queue is overloaded.
    Drop,
}

/// The arrival times of the packets at the heads of both queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heads {
    /// The arrival time of the head of the classic queue, if there is one.
    pub classic: Option<Instant>,
    /// The arrival time of the head of the L4S queue, if there is one.
    pub l4s: Option<Instant>,
}

impl Heads {
    /// Returns the age of the older head at `now`; zero if both queues are empty.
    pub fn delay(self, now: Instant) -> Duration {
        age(self.classic, now).max(age(self.l4s, now))
    }

    const fn are_none(self) -> bool {
        self.classic.is_none() && self.l4s.is_none()
    }
}

/// Returns the age of a head at `now`; zero without a head.
pub fn age(head: Option<Instant>, now: Instant) -> Duration {
    head.map_or(Duration::ZERO, |head| now.since(head))
}

/// Calls `update` with the delay at each expiry of `timer` until `now`. While the queues are empty,
/// the delay is constant, so after an update that changes nothing, the function skips the remaining
/// expiries.
#[inline]
fn catch_up<S: Copy + PartialEq>(
    timer: &mut Timer,
    now: Instant,
    heads: Heads,
    state: &mut S,
    update: impl Fn(&mut S, Duration),
) {
    while timer.due() <= now {
        let before = *state;
        update(state, heads.delay(timer.due()));
        timer.advance();
        if heads.are_none() && *state == before {
            timer.skip_past(now);
        }
    }
}
