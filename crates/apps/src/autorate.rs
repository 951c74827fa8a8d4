//! The control law of cake-autorate, a program that changes the bandwidth of two CAKEs.
//!
//! Source: `cake-autorate.sh`, `lib.sh` and `defaults.sh` of lynxthecat/cake-autorate, version
//! 3.3.0-PRERELEASE (commit 94238be), with its default method of measurement, `fping`. The program
//! is a loop over lines of text: the rates of its sampler, and what `fping` prints. [`Law`] is one
//! pass of this loop as a function of the line and the time. It has no clock and sends no packets.
//!
//! Times are whole microseconds, rates are kbit/s, factors are thousandths and weights are
//! millionths, as in the program, because its integer arithmetic rounds in each step.
//!
//! Facts of the program that differ from its documentation:
//!
//! - The first interval of an idle line does not count towards the idle time, because the program
//!   stores the name of the variable that holds the time, and not the variable's value.
//! - The sampler of the rates is a process that is forked at the start. It therefore knows only the
//!   base rates ([`Sampler`]).
//! - Half of a round-trip time counts as the one-way delay of each direction. Both directions
//!   therefore see the same increase, and a queue in one direction lowers both rates.
//! - A reflector that was not used before has a baseline of 100 ms in each direction. One reply
//!   lowers it by nine tenths of the difference.
//!
//! Differences: a pass of cake-autorate's main loop takes no time in this model. cake-autorate
//! itself waits for 100 ms when it stops `fping`, and lines that arrive in this time wait.

#![expect(clippy::cast_possible_wrap, reason = "times, sizes and counts are far below 2^63")]

mod health;
mod idle;
mod reflectors;
mod sampler;
mod settings;
mod shaper;
mod window;

use aqmlab_core::Direction;

use self::idle::Idle;
use self::reflectors::Reflectors;
use self::shaper::Shaper;
use self::window::Window;

pub use self::sampler::Sampler;
pub use self::settings::{Factors, Range, Settings, Thresholds};

/// A line of text that the program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The rates of the sampler in kbit/s, by [`Direction::index`].
    Rates([i64; 2]),
    /// A reply to an echo request.
    Reply {
        /// The number of the reflector.
        reflector: u32,
        /// The round-trip time that `fping` printed, in microseconds; see [`printed_rtt`].
        rtt: i64,
        /// The time that `fping` printed, in microseconds; see [`printed_time`].
        time: i64,
    },
    /// Any other line, such as the message that a request had no reply in time.
    Other,
}

/// A command of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Sets the bandwidth of the CAKE of a direction, in kbit/s.
    SetRate(Direction, i64),
    /// Starts `fping` with the active reflectors.
    StartPings,
    /// Stops `fping`. Replies to its requests are lost.
    StopPings,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    /// No data pass, and no requests are sent.
    Idle,
    /// No replies and no data have arrived since this time.
    Stall(i64),
}

/// The state of the program.
#[derive(Debug)]
pub struct Law {
    settings: Settings,
    state: State,
    /// Whether a stall has lasted so long that `fping` was restarted.
    timed_out: bool,
    shapers: [Shaper; 2],
    window: Window,
    reflectors: Reflectors,
    idle: Idle,
    /// The time of the last reply.
    replied: i64,
    /// The times of the last check, replacement and comparison of the reflectors.
    checked: i64,
    replaced: i64,
    compared: i64,
    pings: bool,
    orders: Vec<Order>,
}

impl Law {
    /// Returns the program as it starts at `now`. `draw` returns a random number of 15 bits.
    pub fn new(settings: Settings, now: i64, draw: &mut dyn FnMut() -> u16) -> Self {
        let mut law = Self {
            state: State::Running,
            timed_out: false,
            shapers: Direction::BOTH.map(|direction| Shaper::new(&settings, direction, now)),
            window: Window::new(settings.window),
            reflectors: Reflectors::new(&settings, now, draw),
            idle: Idle::default(),
            replied: now,
            checked: now,
            replaced: now,
            compared: now,
            pings: false,
            orders: Vec::new(),
            settings,
        };
        law.set_rates();
        law.start_pings();
        law
    }

    /// Processes a line that the program reads at `now`.
    pub fn handle(&mut self, line: Line, now: i64, draw: &mut dyn FnMut() -> u16) {
        if let Line::Rates(rates) = line {
            for (shaper, rate) in self.shapers.iter_mut().zip(rates) {
                shaper.sample(rate, &self.settings);
            }
        }
        let reply = match line {
            Line::Reply { reflector, rtt, time } => {
                self.reflectors.pinger_of(reflector).map(|pinger| (pinger, rtt, time))
            }
            Line::Rates(_) | Line::Other => None,
        };
        match self.state {
            State::Running => self.run(reply, now, draw),
            State::Idle => self.stay_idle(now),
            State::Stall(since) => self.stay_stalled(reply.is_some(), since, now),
        }
    }

    /// Removes and returns the commands given since the last call.
    pub fn orders(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.orders)
    }

    /// Returns the numbers of the reflectors that `fping` asks, in its order.
    pub fn active(&self) -> &[u32] {
        self.reflectors.active()
    }

    fn run(&mut self, reply: Option<(usize, i64, i64)>, now: i64, draw: &mut dyn FnMut() -> u16) {
        if let Some((pinger, rtt, time)) = reply {
            let learns = self.shapers.iter().all(|shaper| !shaper.is_loaded(&self.settings));
            let delta = self.reflectors.note(pinger, rtt / 2, time, learns, &self.settings);
            self.replied = time;
            if now - time > self.settings.oldest_reply {
                return;
            }
            self.adjust(delta, now);
            self.set_rates();
            if self.settings.sleeps {
                self.watch_for_sleep(now);
            }
        } else if now - self.replied > self.settings.stall_timeout() {
            let stalled = self.settings.stall_rate;
            if !self.shapers.iter().all(|shaper| shaper.achieved > stalled) {
                self.state = State::Stall(now);
                self.timed_out = false;
            }
        }
        if now > self.checked + self.settings.check_interval {
            self.check_reflectors(now, draw);
        }
    }

    /// Changes the rates after a reply whose delay exceeds its baseline by `delta`.
    fn adjust(&mut self, delta: i64, now: i64) {
        let limits = self.shapers.each_ref().map(Shaper::delay_threshold);
        let delayed = self.window.push(delta, limits);
        let average = self.window.average();
        for (shaper, delayed) in self.shapers.iter_mut().zip(delayed) {
            if delayed >= self.settings.detection {
                shaper.cut(average, now, &self.settings);
            } else if shaper.is_high() {
                shaper.raise(average, now, &self.settings);
            } else {
                shaper.decay(now, &self.settings);
            }
        }
        for shaper in &mut self.shapers {
            shaper.clamp();
        }
    }

    /// Applies changed rates. The program handles the downstream direction first.
    fn set_rates(&mut self) {
        for direction in [Direction::Down, Direction::Up] {
            let shaper = &mut self.shapers[direction.index()];
            if shaper.apply() && self.settings.adjusts[direction.index()] {
                self.orders.push(Order::SetRate(direction, shaper.rate));
            }
        }
    }

    fn set_least_rates(&mut self) {
        for shaper in &mut self.shapers {
            shaper.rate = shaper.range.min;
        }
        self.set_rates();
    }

    fn watch_for_sleep(&mut self, now: i64) {
        let idle = self.shapers.iter().all(Shaper::is_idle);
        if self.idle.note(idle, now) <= self.settings.sleep_after {
            return;
        }
        self.state = State::Idle;
        if self.settings.enforces_min {
            self.set_least_rates();
        }
        self.stop_pings();
        self.idle = Idle::default();
    }

    fn stay_idle(&mut self, now: i64) {
        let active = self.settings.active_rate;
        if self.shapers.iter().any(|shaper| shaper.achieved > active) {
            self.state = State::Running;
            self.start_pings();
            self.replied = now + 2 * self.settings.ping_interval;
            self.checked = self.replied;
        }
    }

    fn stay_stalled(&mut self, has_reply: bool, since: i64, now: i64) {
        if has_reply {
            self.replied = now;
        }
        let stalled = self.settings.stall_rate;
        if has_reply || self.shapers.iter().all(|shaper| shaper.achieved > stalled) {
            self.state = State::Running;
        }
        let patience = self.settings.global_timeout - self.settings.stall_timeout();
        if !self.timed_out && now > since + patience {
            self.timed_out = true;
            if self.settings.enforces_min {
                self.set_least_rates();
            }
            self.stop_pings();
            self.start_pings();
        }
    }

    fn start_pings(&mut self) {
        if !std::mem::replace(&mut self.pings, true) {
            self.orders.push(Order::StartPings);
        }
    }

    fn stop_pings(&mut self) {
        if std::mem::take(&mut self.pings) {
            self.orders.push(Order::StopPings);
        }
    }
}

/// Returns the round-trip time in microseconds that `fping` prints for `nanos` nanoseconds. It
/// prints milliseconds with three digits, or without a fraction from 100 ms on (`sprint_tm` in
/// `fping.c`).
pub fn printed_rtt(nanos: u64) -> i64 {
    let step = match nanos {
        0..1_000_000 => 1,
        1_000_000..10_000_000 => 10,
        10_000_000..100_000_000 => 100,
        _ => 1_000,
    };
    // The digits are those of the nearest value, half to even.
    let unit = step * 1_000;
    let (whole, rest) = (nanos / unit, nanos % unit);
    let up = rest * 2 > unit || (rest * 2 == unit && whole % 2 == 1);
    ((whole + u64::from(up)) * step) as i64
}

/// Returns the time in microseconds that `fping` prints for `nanos` nanoseconds: five digits of a
/// second.
pub const fn printed_time(nanos: u64) -> i64 {
    ((nanos + 5_000) / 10_000 * 10) as i64
}

#[cfg(test)]
mod tests;
