//! The clocks of CAKE's shaper.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_advance_shaper`, the head of `cake_dequeue` and of
//! `cake_enqueue`. The shaper has no bucket: each packet moves a clock by its transmission time. A
//! second clock bounds the cost of drops in `ingress` mode. Only delivered packets move the second
//! clock, each by one and a half times its transmission time.

use aqmlab_core::{Duration, Instant};

use super::rate::Rate;

/// Whether a charged packet is sent or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The packet leaves.
    Delivered,
    /// The packet is dropped. It has used the link in front of the shaper.
    Dropped,
}

/// The shaper of all tins together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shaper {
    pub(super) rate: Rate,
    /// The time from which the next packet may leave (`time_next_packet`).
    next: Instant,
    /// The time from which the next packet may leave in any case (`failsafe_next_packet`).
    failsafe: Instant,
    /// The number of times that the shaper delayed a packet.
    pub(super) overlimits: u64,
}

impl Shaper {
    /// Returns the time from which a packet may leave. A time in the past does not delay the
    /// packet.
    #[inline]
    pub(super) fn ready_at(&self) -> Instant {
        self.next.min(self.failsafe)
    }

    /// Returns whether no packet may leave yet. If so, adds one to `overlimits`.
    #[inline]
    pub(super) fn blocks(&mut self, now: Instant) -> bool {
        let blocked = self.ready_at() > now;
        self.overlimits += u64::from(blocked);
        blocked
    }

    /// Records the arrival of a packet at an empty discipline. An idle time gives no credit. If the
    /// packet may not leave yet, adds one to `overlimits`.
    pub(super) fn wake(&mut self, now: Instant) {
        if self.next < now {
            (self.next, self.failsafe) = (now, now);
        } else {
            self.blocks(now);
        }
    }

    /// Charges a packet of `len` bytes.
    #[inline]
    pub(super) fn charge(&mut self, len: u32, fate: Fate) {
        let time = self.rate.time(len);
        self.next += time;
        if fate == Fate::Delivered {
            self.failsafe += time + Duration::from_nanos(time.as_nanos() >> 1);
        }
    }
}

/// The clock of a tin. It decides the order of tins, and delays no packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    pub(super) rate: Rate,
    /// The time at which the tin is on schedule (`time_next_packet`).
    pub(super) next: Instant,
}

impl Clock {
    /// Records the arrival of a packet at an empty tin.
    #[inline]
    pub(super) fn wake(&mut self, now: Instant) {
        self.next = self.next.max(now);
    }

    /// Charges a packet of `len` bytes. A tin ahead of its schedule is ahead by one packet at most.
    #[inline]
    pub(super) fn charge(&mut self, len: u32, now: Instant) {
        let time = self.rate.time(len);
        if self.next < now {
            self.next += time;
        } else {
            self.next = self.next.max(now + time);
        }
    }
}
