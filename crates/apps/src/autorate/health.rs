//! The checks of the reflectors, once per second.

use super::{Law, Order};

impl Law {
    /// Checks the reflectors. A replacement after an interval or after a comparison ends the check,
    /// and the next line then repeats it.
    pub(super) fn check_reflectors(&mut self, now: i64, draw: &mut dyn FnMut() -> u16) {
        if now > self.replaced + self.settings.replacement_interval {
            self.replace(usize::from(draw()) % self.settings.pingers, now);
            self.replaced = now;
            return;
        }
        if now > self.compared + self.settings.comparison_interval {
            self.compared = now;
            if let Some(pinger) = self.reflectors.worst(&self.settings) {
                return self.replace(pinger, now);
            }
        }
        let mut may_replace = true;
        for pinger in 0..self.settings.pingers {
            if self.reflectors.misbehaves(pinger, now, &self.settings) && may_replace {
                self.replace(pinger, now);
                may_replace = false;
            }
        }
        self.checked = now;
    }

    /// Replaces a reflector, and restarts `fping` if it runs.
    fn replace(&mut self, pinger: usize, now: i64) {
        if self.reflectors.replace(pinger, now) && self.pings {
            self.orders.extend([Order::StopPings, Order::StartPings]);
        }
    }
}
