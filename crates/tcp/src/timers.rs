//! The timers of a connection, and their expiry.

use aqmlab_core::Instant;

use crate::connection::Connection;
use crate::state::State;

/// What the transmission timer is running for; Linux has one for four purposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum XmitTimer {
    Off,
    Retransmit,
    LossProbe,
    Reorder,
    Persist,
}

/// When to wake up, and what for.
#[derive(Debug)]
pub(crate) struct Timers {
    pub(crate) xmit: XmitTimer,
    pub(crate) xmit_at: Instant,
    pub(crate) delayed_ack: Instant,
    pub(crate) compressed_ack: Instant,
    pub(crate) pacing: Instant,
    /// The application will be awake.
    pub(crate) wakeup: Instant,
    /// The end of TIME-WAIT.
    pub(crate) linger: Instant,
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
            linger: Instant::NEVER,
        }
    }

    /// Stops the transmission timer.
    #[inline]
    pub(crate) fn stop_transmit(&mut self) {
        self.xmit = XmitTimer::Off;
        self.xmit_at = Instant::NEVER;
    }
}

impl Connection {
    /// Does what is due at `now`; too early it does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.clock.set(now);
        if self.timers.delayed_ack <= now {
            self.delayed_ack_due();
        }
        if self.timers.compressed_ack <= now {
            self.compressed_ack_due();
        }
        if self.timers.wakeup <= now {
            self.woken();
        }
        if self.timers.pacing <= now {
            self.pacing_due();
        }
        if self.timers.xmit_at <= now {
            self.transmit_timer_due();
        }
        if self.timers.linger <= now {
            self.timers.linger = Instant::NEVER;
            self.state = State::Closed;
        }
    }

    fn transmit_timer_due(&mut self) {
        match (self.timers.xmit, self.state) {
            (XmitTimer::Off, _) => self.timers.xmit_at = Instant::NEVER,
            (_, State::SynSent | State::SynReceived) => self.handshake_timeout(),
            (XmitTimer::Retransmit, _) if self.is_bsd() => self.bsd_timeout(),
            (XmitTimer::Retransmit, _) => self.linux_timeout(),
            (XmitTimer::Reorder, _) => self.rack_timeout(),
            (XmitTimer::LossProbe, _) => self.send_probe(),
            (XmitTimer::Persist, _) if self.is_bsd() => self.bsd_persist_due(),
            (XmitTimer::Persist, _) => self.persist_due(),
        }
    }
}
