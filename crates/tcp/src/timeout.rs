//! Waking up.

use aqmlab_core::Instant;

use crate::connection::{Alarm, Connection};
use crate::state::State;

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
        if self.timers.transmit <= now {
            self.transmit_timer_due();
        }
        if self.timers.linger <= now {
            self.timers.linger = Instant::NEVER;
            self.state = State::Closed;
        }
    }

    fn transmit_timer_due(&mut self) {
        match (self.timers.alarm, self.state) {
            (Alarm::Off, _) => self.timers.transmit = Instant::NEVER,
            (_, State::SynSent | State::SynReceived) => self.handshake_timeout(),
            (Alarm::Retransmit, _) if self.is_bsd() => self.bsd_timeout(),
            (Alarm::Retransmit, _) => self.linux_timeout(),
            (Alarm::Reorder, _) => self.rack_timeout(),
            (Alarm::LossProbe, _) => self.send_probe(),
            (Alarm::Persist, _) if self.is_bsd() => self.bsd_persist_due(),
            (Alarm::Persist, _) => self.persist_due(),
        }
    }
}
