//! Periodic kernel timers, for laws that update themselves at intervals.
//!
//! Sources: Linux 6.1 `kernel/time/timer.c` (`calc_wheel_index`) and `kernel/time/time.c`
//! (`usecs_to_jiffies`). The wheel, which rounds up, came with Linux 4.8; earlier timers expire in
//! the exact tick.
//!
//! The rounding matters because PIE's gains are per update and not per second. Suppose that a law
//! has an interval of 15 ms. A kernel with 250 ticks per second updates it every 20 ms; a kernel
//! with 100 ticks per second updates it every 30 ms.

use aqmlab_core::{Duration, Instant};

/// The clock of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Nanoseconds: a timer expires exactly when due.
    Ideal,
    /// Ticks of this length; durations are rounded up to whole ticks (Linux before 4.8).
    Ticks(Duration),
    /// Ticks of this length, in the timer wheel of Linux 4.8 and later. Durations below 63 ticks
    /// take one more tick, and durations below 504 ticks take up to eight more ticks.
    Wheel(Duration),
}

impl Clock {
    /// Returns the timer wheel of a kernel with this tick, or an ideal clock if the tick is zero.
    pub fn wheel(tick: Duration) -> Self {
        if tick == Duration::ZERO { Self::Ideal } else { Self::Wheel(tick.max(SHORTEST)) }
    }

    /// Returns the timers of a kernel before 4.8 with this tick, or an ideal clock if the tick is
    /// zero.
    pub fn ticks(tick: Duration) -> Self {
        if tick == Duration::ZERO { Self::Ideal } else { Self::Ticks(tick.max(SHORTEST)) }
    }

    /// Returns the length of a tick in nanoseconds.
    const fn length(self) -> u64 {
        match self {
            Self::Ideal => 1,
            Self::Ticks(tick) | Self::Wheel(tick) => tick.as_nanos(),
        }
    }

    fn ticks_in(self, span: Duration) -> u64 {
        span.as_nanos().div_ceil(self.length())
    }

    fn tick_at(self, now: Instant) -> u64 {
        now.as_nanos() / self.length()
    }

    fn start_of(self, tick: u64) -> Instant {
        Instant::from_nanos(tick * self.length())
    }

    /// Returns the binary logarithm of the slot width, in ticks, of the wheel's level for a timer
    /// of `span` ticks.
    const fn shift(span: u64) -> u32 {
        let mut shift = 0;
        while shift < TOP_LEVEL && span >= LEVEL_SPAN << shift {
            shift += LEVEL_SHIFT;
        }
        shift
    }

    /// Returns the alignment of the ticks at which a timer of this duration expires.
    const fn alignment(self, span: u64) -> u64 {
        match self {
            Self::Ideal | Self::Ticks(_) => 1,
            Self::Wheel(_) => 1 << Self::shift(span),
        }
    }

    /// Returns the tick in which a timer expires if it is set at `tick` for `span` ticks.
    const fn fires(self, tick: u64, span: u64) -> u64 {
        match self {
            Self::Ideal | Self::Ticks(_) => tick + span,
            Self::Wheel(_) => {
                let shift = Self::shift(span);
                (((tick + span) >> shift) + 1) << shift
            }
        }
    }
}

/// The shortest tick and the shortest period of a timer: the finest time unit of `tc` and `ipfw`.
/// This minimum limits the number of updates to catch up on.
const SHORTEST: Duration = Duration::from_micros(1);
/// The span of a level of the wheel in its own slots: 63 of 64 slots are used. Each level is eight
/// times coarser than the level below.
const LEVEL_SPAN: u64 = 63;
const LEVEL_SHIFT: u32 = 3;
const TOP_LEVEL: u32 = 24;

/// A timer that restarts after each expiry.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    clock: Clock,
    span: u64,
    tick: u64,
    due: Instant,
    late: &'static [Instant],
}

impl Timer {
    /// Returns a timer set at `now`. The timer first expires after `first`, and then every `span`.
    /// With a `span` of zero it expires once, as in Linux's PIE and RED.
    pub fn start(clock: Clock, now: Instant, first: Duration, span: Duration) -> Self {
        let span = if span == Duration::ZERO { span } else { span.max(SHORTEST) };
        let tick = clock.fires(clock.tick_at(now), clock.ticks_in(first));
        Self { clock, span: clock.ticks_in(span), tick, due: clock.start_of(tick), late: &[] }
    }

    /// Returns a stopped timer.
    pub const fn stopped() -> Self {
        Self { clock: Clock::Ideal, span: 0, tick: 0, due: Instant::NEVER, late: &[] }
    }

    /// Puts the timer into the state of a timer that has long been running. Its next expiry is
    /// within one period of time zero; `phase`, as a fraction of 2⁶⁴, gives the place in this
    /// period. A timer that expires only once has already expired.
    pub fn warm_up(&mut self, phase: u64) {
        if self.span == 0 {
            self.due = Instant::NEVER;
            return;
        }
        // After one expiry, the ticks are aligned and the period is constant.
        let aligned = self.clock.fires(self.tick, self.span);
        let period = self.clock.fires(aligned, self.span) - aligned;
        let wait = 1 + ((u128::from(phase) * u128::from(period)) >> 64) as u64;
        self.tick = wait.next_multiple_of(self.clock.alignment(self.span));
        self.due = self.clock.start_of(self.tick);
    }

    /// Returns the time of the next expiry; [`Instant::NEVER`] for a stopped timer.
    #[inline]
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// Restarts the timer after an expiry, or stops it if its span is zero.
    pub fn advance(&mut self) {
        if self.span == 0 {
            self.due = Instant::NEVER;
            return;
        }
        self.tick = self.clock.fires(self.tick, self.span);
        self.due = self.clock.start_of(self.tick);
        while self.late.contains(&self.due) {
            self.wait();
        }
    }

    /// Delays the next expiry by a tick, as in a busy kernel. Later expiries move too, because the
    /// timer restarts at its expiry.
    pub fn wait(&mut self) {
        self.tick += 1;
        self.due = self.clock.start_of(self.tick);
    }

    /// Delays each expiry due at one of `dues` by a tick, to replay a late timer.
    pub fn late_at(&mut self, dues: &'static [Instant]) {
        self.late = dues;
        while self.late.contains(&self.due) {
            self.wait();
        }
    }

    /// Skips to the first expiry after `now`. Without late expiries, this takes constant time.
    pub fn skip_past(&mut self, now: Instant) {
        if self.due <= now {
            // After one expiry, the ticks are aligned and the period is constant.
            self.advance();
        }
        while self.due <= now && !self.late.is_empty() {
            self.advance();
        }
        if self.due <= now {
            let period = self.clock.fires(self.tick, self.span) - self.tick;
            self.tick += (self.clock.tick_at(now) - self.tick) / period * period;
            self.advance();
        }
    }

    /// Calls `update` for every expiry until `now`. Each call gets the `state` that the last call
    /// left. When an update changes nothing, the function skips the remaining expiries, which
    /// bounds the cost of a long idle time.
    #[inline]
    pub fn catch_up<S: Copy + PartialEq>(
        &mut self,
        now: Instant,
        state: &mut S,
        update: impl Fn(&mut S),
    ) {
        while self.due <= now {
            let before = *state;
            update(state);
            self.advance();
            if *state == before {
                self.skip_past(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn hz(per_second: u64) -> Duration {
        Duration::from_nanos(1_000_000_000 / per_second)
    }

    fn times(clock: Clock, span_ms: u64) -> Vec<u64> {
        let half = Duration::from_millis(500);
        let span = Duration::from_millis(span_ms);
        let mut timer = Timer::start(clock, Instant::ZERO, half, span);
        (0..4)
            .map(|_| {
                let due = timer.due().as_nanos() / 1_000_000;
                timer.advance();
                due
            })
            .collect()
    }

    #[test]
    fn kernels_round_their_timers_up() {
        for (clock, span, want) in [
            (Clock::Ideal, 15, [500, 515, 530, 545]),
            (Clock::Ticks(hz(250)), 15, [500, 516, 532, 548]),
            (Clock::Ticks(hz(10_000)), 30, [500, 530, 560, 590]),
            (Clock::Wheel(hz(250)), 15, [512, 532, 552, 572]),
            (Clock::Wheel(hz(1000)), 15, [504, 520, 536, 552]),
            (Clock::Wheel(hz(100)), 15, [510, 540, 570, 600]),
            (Clock::Wheel(hz(250)), 500, [512, 1024, 1536, 2048]),
        ] {
            assert_eq!(times(clock, span), want, "{clock:?} every {span} ms");
        }
    }

    #[test]
    fn skipping_arrives_where_walking_would() {
        for clock in
            [Clock::Ideal, Clock::Ticks(hz(300)), Clock::Wheel(hz(300)), Clock::Wheel(hz(1000))]
        {
            for span in [15, 16, 500, 3_000] {
                let start = || {
                    let span = Duration::from_millis(span);
                    Timer::start(clock, Instant::from_millis(7), Duration::from_millis(500), span)
                };
                for now in [3, 507, 508, 1_234, 98_765, 98_768].map(Instant::from_millis) {
                    let (mut walking, mut skipping) = (start(), start());
                    while walking.due() <= now {
                        walking.advance();
                    }
                    skipping.skip_past(now);
                    assert_eq!(skipping.due(), walking.due(), "{clock:?} {span} {now}");
                }
            }
        }
    }

    #[test]
    fn what_is_late_once_stays_late() {
        let ms = Instant::from_millis;
        let span = Duration::from_millis(15);
        let half = Duration::from_millis(500);
        let start = || Timer::start(Clock::Wheel(hz(250)), Instant::ZERO, half, span);
        let mut timer = start();
        timer.late_at(const { &[Instant::from_millis(532), Instant::from_millis(536)] });
        assert_eq!(timer.due(), ms(512));
        timer.advance();
        assert_eq!(timer.due(), ms(540), "late by two ticks");
        timer.advance();
        assert_eq!(timer.due(), ms(560));
        let mut skipping = start();
        skipping.late_at(const { &[Instant::from_millis(552)] });
        skipping.skip_past(ms(10_000));
        assert_eq!(skipping.due(), ms(10_016), "not 10012");
    }

    #[test]
    fn without_a_span_it_goes_off_once() {
        let half = Duration::from_millis(500);
        let mut timer = Timer::start(Clock::Ideal, Instant::ZERO, half, Duration::ZERO);
        timer.skip_past(Instant::from_millis(501));
        assert_eq!(timer.due(), Instant::NEVER);
    }

    #[test]
    fn a_timer_long_in_service_has_any_phase_and_its_period() {
        let (half, span) = (Duration::from_millis(500), Duration::from_millis(15));
        for (phase, first_ms) in [(0, 4), (u64::MAX / 2, 12), (u64::MAX, 20)] {
            let mut timer = Timer::start(Clock::Wheel(hz(250)), Instant::ZERO, half, span);
            timer.warm_up(phase);
            assert_eq!(timer.due(), Instant::from_millis(first_ms), "{phase}");
            timer.advance();
            assert_eq!(timer.due(), Instant::from_millis(first_ms + 20), "{phase}");
        }
        let mut coarse = Timer::start(Clock::Wheel(hz(250)), Instant::ZERO, half, half);
        coarse.warm_up(u64::MAX / 3);
        let first = coarse.due();
        coarse.advance();
        assert_eq!(first.as_nanos() % 32_000_000, 0);
        assert_eq!(coarse.due().since(first), Duration::from_millis(512));
        let mut once = Timer::start(Clock::Ideal, Instant::ZERO, half, Duration::ZERO);
        once.warm_up(7);
        assert_eq!(once.due(), Instant::NEVER);
    }
}
