//! The timers of a connection.

use aqmlab_core::Instant;

/// The purpose of the transmission timer. Linux has one timer for all four purposes
/// (`icsk_pending`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum XmitTimer {
    /// The timer is stopped.
    Off,
    /// The retransmission timeout.
    Retransmit,
    /// The tail loss probe.
    LossProbe,
    /// RACK's reordering timeout.
    Reorder,
    /// The probe of a closed window.
    Persist,
}

/// The expiry of each timer; [`Instant::NEVER`] if the timer is not set.
#[derive(Debug)]
pub(crate) struct Timers {
    /// The purpose of the transmission timer.
    pub(crate) xmit: XmitTimer,
    pub(crate) xmit_at: Instant,
    pub(crate) delayed_ack: Instant,
    /// The time at which the application wakes.
    pub(crate) wakeup: Instant,
    compressed_ack: Instant,
    pacing: Instant,
    /// The end of TIME-WAIT.
    time_wait: Instant,
    /// The earliest of `compressed_ack`, `pacing` and `time_wait`. It is stored, because the next
    /// expiry is read after every segment, and most connections rarely set these three timers.
    earliest_other: Instant,
}

impl Timers {
    pub(crate) const fn new() -> Self {
        Self {
            xmit: XmitTimer::Off,
            xmit_at: Instant::NEVER,
            delayed_ack: Instant::NEVER,
            wakeup: Instant::NEVER,
            compressed_ack: Instant::NEVER,
            pacing: Instant::NEVER,
            time_wait: Instant::NEVER,
            earliest_other: Instant::NEVER,
        }
    }

    /// Returns the earliest expiry of all timers.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.next_besides_wakeup().min(self.wakeup)
    }

    /// Returns the earliest expiry of the timers except the wakeup of the application.
    #[inline]
    pub(crate) fn next_besides_wakeup(&self) -> Instant {
        self.xmit_at.min(self.delayed_ack).min(self.earliest_other)
    }

    #[inline]
    pub(crate) const fn compressed_ack(&self) -> Instant {
        self.compressed_ack
    }

    #[inline]
    pub(crate) fn set_compressed_ack(&mut self, at: Instant) {
        self.compressed_ack = at;
        self.update_earliest_other();
    }

    #[inline]
    pub(crate) const fn pacing(&self) -> Instant {
        self.pacing
    }

    #[inline]
    pub(crate) fn set_pacing(&mut self, at: Instant) {
        self.pacing = at;
        self.update_earliest_other();
    }

    #[inline]
    pub(crate) const fn time_wait(&self) -> Instant {
        self.time_wait
    }

    pub(crate) fn set_time_wait(&mut self, at: Instant) {
        self.time_wait = at;
        self.update_earliest_other();
    }

    #[inline]
    fn update_earliest_other(&mut self) {
        self.earliest_other = self.compressed_ack.min(self.pacing).min(self.time_wait);
    }

    /// Stops the transmission timer.
    #[inline]
    pub(crate) fn stop_xmit(&mut self) {
        self.xmit = XmitTimer::Off;
        self.xmit_at = Instant::NEVER;
    }
}
