//! The timers of a connection.

use aqmlab_core::Instant;

/// The purpose of the transmission timer. Linux has one timer for all four (`icsk_pending`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum XmitTimer {
    /// It is not set.
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

/// The expiry of each timer; [`Instant::NEVER`] if it is not set.
#[derive(Debug)]
pub(crate) struct Timers {
    /// The purpose of the transmission timer.
    pub(crate) xmit: XmitTimer,
    pub(crate) xmit_at: Instant,
    pub(crate) delayed_ack: Instant,
    pub(crate) compressed_ack: Instant,
    pub(crate) pacing: Instant,
    /// The application will be awake.
    pub(crate) wakeup: Instant,
    /// The end of TIME-WAIT.
    pub(crate) time_wait: Instant,
}

impl Timers {
    pub(crate) const fn new() -> Self {
        Self {
            xmit: XmitTimer::Off,
            xmit_at: Instant::NEVER,
            delayed_ack: Instant::NEVER,
            compressed_ack: Instant::NEVER,
            pacing: Instant::NEVER,
            wakeup: Instant::NEVER,
            time_wait: Instant::NEVER,
        }
    }

    /// The earliest expiry.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        let acks = self.delayed_ack.min(self.compressed_ack);
        let others = self.pacing.min(self.wakeup).min(self.time_wait);
        self.xmit_at.min(acks).min(others)
    }

    /// Stops the transmission timer.
    #[inline]
    pub(crate) fn stop_xmit(&mut self) {
        self.xmit = XmitTimer::Off;
        self.xmit_at = Instant::NEVER;
    }
}
