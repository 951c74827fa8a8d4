//! RED as in Linux: drop in proportion to the average queue length between two thresholds.
//!
//! Sources: Linux 6.1 `include/net/red.h` and `net/sched/sch_red.c`, with their integer arithmetic,
//! bit for bit; iproute2 6.1 `tc/tc_red.c` and `tc/q_red.c` for the constants that `tc` computes
//! from the user's parameters. The algorithm is from Floyd and Jacobson 1993.
//!
//! The average queue length ("the average") is in bytes, scaled by `2^wlog`. One random number is
//! used until the next signal. A packet is signalled when the product of two factors reaches this
//! number: the excess of the average over the lower threshold, and the number of packets since the
//! last signal. The gaps between signals are therefore uniform. The adaptive variant (Floyd,
//! Gummadi and Shenker 2001) changes `max_p` every half second. Linux tests the bounds of `max_p`
//! before the step, so `max_p` ranges from 0.9 % to 51 %.
//!
//! The average of an idle queue should fall by the factor `(1 − w)^m` over `m` packet times. In
//! Linux the average does not fall in this way. `tc` builds its table of shifts in ticks of 64 ns
//! and with the natural logarithm. The kernel indexes the table by idle time in microseconds
//! instead. The average first falls to half its value, linearly within the first half cell of the
//! table. After that, it falls about twenty times too slowly. A test shows this behaviour.
//!
//! Differences, each pinned by a test:
//!
//! - `tc` refuses a `burst` of fewer bytes than `min`, and the kernel refuses thresholds whose
//!   product with `2^wlog` exceeds 31 bits. This module raises the burst, or the weight `2^-wlog`
//!   of the moving average, until the parameters fit;
//! - the idle table is built for the rate of the link, while `tc` uses its parameter `bandwidth`.
//!   Until the rate is known, the table is built for 10 Mbit/s, the default of `tc`;
//! - an idle period begins when the last packet leaves, unless `idle_from=request`. In the kernel
//!   it begins at an empty dequeue. With a network card, the last departure and the empty dequeue
//!   coincide. HTB never dequeues from an empty qdisc, so below HTB the average queue length stays
//!   constant over any idle time, in the kernel and in this module.

use aqmlab_core::{BitRate, Bytes, Duration, Instant, Rng, math};

use super::timer::{Clock, Timer};

/// The parameters of the law, as `tc` takes them.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The hard limit. If `min` and `max` are both zero, they are derived from the limit.
    pub limit: Bytes,
    /// The average queue length at and above which arrivals are signalled at random; zero stands
    /// for a third of `max`.
    pub min: Bytes,
    /// The average queue length at and above which all arrivals are signalled; zero stands for
    /// three times `min`, or for a quarter of the limit if `min` is zero too.
    pub max: Bytes,
    /// The packet size assumed for bursts and idle times.
    pub avpkt: Bytes,
    /// The number of packets in a permitted burst; zero stands for (2·min + max) / (3·avpkt).
    pub burst: u64,
    /// The probability of a signal at `max`.
    pub probability: f64,
    /// The timer clock of the adaptive variant, if enabled.
    pub adaptive: Option<Clock>,
}

/// RED's verdict on an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Keep the packet.
    Keep,
    /// Signal congestion: the random draw chose the packet.
    Early,
    /// Signal congestion: the average queue length is at or above the upper threshold.
    Forced,
}

/// The RED law of Linux.
#[derive(Clone, Debug)]
pub struct Red {
    thresholds: Thresholds,
    /// The average queue length, scaled by `2^wlog`.
    qavg: u64,
    /// The number of packets since the last signal. `None` is the kernel's −1: the average was not
    /// between the thresholds.
    since: Option<u64>,
    /// The random number in use until the next signal.
    drawn: u64,
    idle_since: Option<Instant>,
    max_p: u32,
    max_p_delta: u32,
    table: IdleTable,
    avpkt: Bytes,
    timer: Timer,
}

#[derive(Clone, Copy, Debug)]
struct Thresholds {
    min: u64,
    max: u64,
    wlog: u32,
    delta: u32,
    target_min: u64,
    target_max: u64,
}

/// The default bandwidth of `tc` in bit/s.
const DEFAULT_RATE: u64 = 10_000_000;
/// A probability of 1 % on the kernel's scale (`RED_ONE_PERCENT`), rounded to the nearest integer.
const ONE_PERCENT: u32 = 42_949_673;
const MAX_P_MIN: u32 = ONE_PERCENT;
const MAX_P_MAX: u32 = 50 * ONE_PERCENT;
const ADAPT_EVERY: Duration = Duration::from_millis(500);

impl Red {
    /// Returns the law of an empty queue.
    pub fn new(settings: &Settings) -> Self {
        let thresholds = Thresholds::new(settings);
        let rate = BitRate::new(DEFAULT_RATE).expect("ten million is not zero");
        let probability = settings.probability.clamp(0.0, 1.0);
        let max_p = (probability * 4_294_967_296.0).min(f64::from(u32::MAX)) as u32;
        let avpkt = Bytes(settings.avpkt.0.max(1));
        Self {
            thresholds,
            qavg: 0,
            since: None,
            drawn: 0,
            idle_since: Some(Instant::ZERO),
            max_p,
            max_p_delta: (max_p / thresholds.delta).max(1),
            table: IdleTable::new(thresholds.wlog, avpkt, rate),
            avpkt,
            timer: settings.adaptive.map_or(Timer::stopped(), |clock| {
                Timer::start(clock, Instant::ZERO, ADAPT_EVERY, ADAPT_EVERY)
            }),
        }
    }

    /// Builds the idle table for this rate.
    pub fn link_rate(&mut self, rate: BitRate) {
        self.table = IdleTable::new(self.thresholds.wlog, self.avpkt, rate);
    }

    /// Returns the timer of the adaptation.
    pub fn timer(&mut self) -> &mut Timer {
        &mut self.timer
    }

    /// Does the adaptation steps due until `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Instant) {
        while self.timer.due() <= now {
            self.adapt(self.timer.due());
            self.timer.advance();
        }
    }

    /// Judges an arrival that finds a backlog of `backlog`.
    #[inline]
    pub fn arrive(&mut self, now: Instant, backlog: Bytes, rng: &mut Rng) -> Action {
        self.qavg = match self.idle_since.take() {
            Some(start) => self.table.decayed(self.qavg, now.since(start)),
            None => {
                self.qavg.wrapping_add(backlog.0.wrapping_sub(self.qavg >> self.thresholds.wlog))
            }
        };
        if self.qavg < self.thresholds.min {
            self.since = None;
            Action::Keep
        } else if self.qavg >= self.thresholds.max {
            self.since = None;
            Action::Forced
        } else if self.is_chosen(rng) {
            Action::Early
        } else {
            Action::Keep
        }
    }

    fn is_chosen(&mut self, rng: &mut Rng) -> bool {
        let Some(since) = self.since.map(|since| since + 1) else {
            self.since = Some(0);
            self.draw(rng);
            return false;
        };
        let excess = (self.qavg - self.thresholds.min) >> self.thresholds.wlog;
        let chosen = excess * since >= self.drawn;
        self.since = Some(if chosen { 0 } else { since });
        if chosen {
            self.draw(rng);
        }
        chosen
    }

    fn draw(&mut self, rng: &mut Rng) {
        self.drawn = u64::from(rng.next_u32() / self.max_p_delta);
    }

    /// Records that the queue is empty at `now`. Further calls in the same idle period have no
    /// effect.
    pub fn emptied(&mut self, now: Instant) {
        self.idle_since.get_or_insert(now);
    }

    /// Returns the average queue length, as of the last arrival.
    pub fn average(&self) -> Bytes {
        Bytes(self.qavg >> self.thresholds.wlog)
    }

    /// Returns the probability of a signal at the upper threshold.
    pub fn max_p(&self) -> f64 {
        f64::from(self.max_p) / 4_294_967_296.0
    }

    /// Adapts `max_p` (`red_adaptative_algo`).
    fn adapt(&mut self, now: Instant) {
        let scaled = match self.idle_since {
            Some(start) => self.table.decayed(self.qavg, now.since(start)),
            None => self.qavg,
        };
        let average = scaled >> self.thresholds.wlog;
        if average > self.thresholds.target_max && self.max_p <= MAX_P_MAX {
            self.max_p += MAX_P_MIN.min(self.max_p / 4);
        } else if average < self.thresholds.target_min && self.max_p >= MAX_P_MIN {
            self.max_p = self.max_p / 10 * 9;
        }
        let delta = u64::from(self.thresholds.delta);
        let closest = (u64::from(self.max_p) + delta / 2) / delta;
        self.max_p_delta = (closest as u32).max(1);
    }
}

impl Thresholds {
    /// Computes the constants as `tc` does and scales them as `red_set_parms` does.
    fn new(settings: &Settings) -> Self {
        let (min, max) = thresholds(settings);
        let avpkt = settings.avpkt.0.max(1);
        let burst =
            if settings.burst == 0 { (2 * min + max) / (3 * avpkt) } else { settings.burst };
        // `tc` refuses a burst of fewer bytes than `min`.
        let burst = burst.max(min.div_ceil(avpkt)).max(1);
        let fits = |wlog: u32| u64::BITS - max.leading_zeros() + wlog < 32;
        let mut wlog = ewma(min as f64 / avpkt as f64, burst);
        while wlog > 1 && !fits(wlog) {
            wlog -= 1;
        }
        let delta = (max - min).max(1);
        Self {
            min: min << wlog,
            max: max << wlog,
            wlog,
            delta: delta as u32,
            target_min: min + 2 * (delta / 5),
            target_max: min + 3 * (delta / 5),
        }
    }
}

/// Returns the lower and the upper threshold in bytes, as `tc` computes them, limited to the
/// kernel's range.
fn thresholds(settings: &Settings) -> (u64, u64) {
    const MOST: u64 = (1 << 30) - 1;
    let given = settings.min.0.min(MOST);
    let max = match (settings.max.0, given) {
        (0, 0) => settings.limit.0 / 4,
        (0, min) => min * 3,
        (max, _) => max,
    };
    let max = max.clamp(1, MOST);
    let min = if given == 0 { max / 3 } else { given };
    (min.min(max), max)
}

/// Returns the smallest shift at which a burst of `burst` packets into an empty queue leaves the
/// average below `min`, counted in packets; 31 if there is none (`tc_red_eval_ewma`).
fn ewma(min: f64, burst: u64) -> u32 {
    let room = burst as f64 + 1.0 - min;
    let mut weight = 0.5;
    for wlog in 1..31 {
        if room <= (1.0 - math::pow(1.0 - weight, burst as f64)) / weight {
            return wlog;
        }
        weight /= 2.0;
    }
    31
}

/// The decay of the average queue length while the queue is empty: the shift for each idle time.
#[derive(Clone, Debug)]
struct IdleTable {
    shifts: [u8; 256],
    cell_log: u32,
}

impl IdleTable {
    /// Builds the table in ticks of 64 ns, `tc`'s unit of time (`tc_red_eval_idle_damping`).
    fn new(wlog: u32, avpkt: Bytes, rate: BitRate) -> Self {
        const TICKS_PER_SECOND: u64 = 1_000_000_000 / 64;
        let bits = u128::from(avpkt.0) * 8 * u128::from(TICKS_PER_SECOND);
        let transmit = bits.div_ceil(rate.as_bps().into()) as f64;
        let per_tick = -math::ln(1.0 - 1.0 / (1_u64 << wlog) as f64) / transmit;
        let longest = 31.0 / per_tick;
        let cell_log = (0..31).find(|&log| longest / ((1_u64 << log) as f64) < 512.0).unwrap_or(31);
        let mut shifts = [31; 256];
        shifts[0] = 0;
        for (cell, shift) in shifts.iter_mut().enumerate().take(255).skip(1) {
            let idle = ((cell as u64) << cell_log) as f64;
            *shift = (idle * per_tick).min(31.0) as u8;
        }
        Self { shifts, cell_log }
    }

    /// Returns the average after an idle time (`red_calc_qavg_from_idle_time`).
    fn decayed(&self, qavg: u64, idle: Duration) -> u64 {
        let idle = idle.as_micros().min(255 << self.cell_log);
        let shift = self.shifts[(idle >> self.cell_log) as usize & 255];
        if shift > 0 {
            return qavg >> shift;
        }
        // For this idle time, 1 − mw approximates (1 − w)^m.
        let loss = qavg.wrapping_mul(idle) >> self.cell_log;
        if loss < qavg >> 1 { qavg - loss } else { qavg >> 1 }
    }
}

#[cfg(test)]
mod tests;
