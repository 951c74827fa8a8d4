//! CUBIC as specified by RFC 9438.
//!
//! Source: RFC 9438 §4; for slow start, RFC 9406 or RFC 5681. Differences, each pinned by a test:
//!
//! - in the Reno-friendly region the window becomes `max(cwnd, W_est)`. By the text of RFC 9438
//!   §4.3, an acknowledgement could shrink the window;
//! - while the window does not limit the sender, the start of the epoch moves with the time between
//!   acknowledgements. `t` excludes that time (RFC 9438 §5.8).

use aqmlab_core::{Args, Duration, Instant, math};

use super::hystart::SlowStart;
use crate::cc::{Ack, CcEvent, Congestion, CongestionControl, Signal, Window};

/// The constant C of RFC 9438 §5.
const C: f64 = 0.4;
/// The constant β of RFC 9438 §4.6.
const BETA: f64 = 0.7;
/// The increase that makes Reno with this β as fast as Reno with β = 1/2: 3(1−β)/(1+β), §4.3.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The CUBIC controller of RFC 9438. Windows are in segments, times in seconds.
#[derive(Debug)]
pub(super) struct Cubic {
    fast_convergence: bool,
    slow_start: SlowStart,
    curve: Curve,
    /// The curve before the last reduction, which is restored if the reduction was spurious (§4.9).
    before: Curve,
    /// The growth of the window that is not yet a whole unit.
    fraction: f64,
    /// The time of the last acknowledgement.
    last_ack: Instant,
}

/// The cubic function and its state.
#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    /// The window at the plateau; `None` if no maximum is known since the last timeout.
    w_max: Option<f64>,
    /// The time from the start of the epoch to the plateau.
    k: f64,
    /// The start of this stage of congestion avoidance; `None` outside congestion avoidance.
    epoch: Option<Instant>,
    /// The estimate of Reno's window (`W_est`).
    w_est: f64,
    /// The window before the last reduction.
    cwnd_prior: f64,
}

impl Curve {
    fn begin(&mut self, now: Instant, cwnd: f64) {
        self.epoch = Some(now);
        self.w_est = cwnd;
        // §4.8 and §4.10: without a known maximum, the curve starts at its plateau.
        let w_max = self.w_max.map_or(cwnd, |w_max| w_max.max(cwnd));
        self.w_max = Some(w_max);
        self.k = math::cbrt((w_max - cwnd) / C);
    }

    /// Returns the value of the cubic function `t` seconds after the start of the epoch (equation
    /// 1).
    fn window_at(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        C * from_plateau * from_plateau * from_plateau + self.w_max.unwrap_or(0.0)
    }

    /// Returns the window after an acknowledgement of `acked` segments (§4.3 to §4.5).
    fn grow(&mut self, now: Instant, cwnd: f64, acked: f64, rtt: f64) -> f64 {
        if self.epoch.is_none() {
            self.begin(now, cwnd);
        }
        let t = now.since(self.epoch.unwrap_or(now)).as_secs_f64();
        let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        self.w_est += alpha * acked / cwnd;
        if self.window_at(t) < self.w_est {
            return cwnd.max(self.w_est);
        }
        let target = self.window_at(t + rtt).clamp(cwnd, 1.5 * cwnd);
        cwnd + (target - cwnd) / cwnd
    }
}

impl Cubic {
    /// Returns a controller with the arguments of the kind `cubic_rfc`.
    pub(super) fn new(args: &Args) -> Self {
        Self {
            fast_convergence: args.flag("fast_convergence"),
            slow_start: SlowStart::named(args.word("hystart")),
            curve: Curve::default(),
            before: Curve::default(),
            fraction: 0.0,
            last_ack: Instant::ZERO,
        }
    }

    fn pause(&mut self, span: Duration) {
        if let Some(epoch) = &mut self.curve.epoch {
            *epoch += span;
        }
    }

    fn avoid_congestion(&mut self, window: &mut Window, ack: &Ack, acked: u64) {
        let segment = window.segment as f64;
        let shown = window.cwnd as f64 / segment;
        let rtt = ack.srtt.or(ack.rtt).unwrap_or_default().as_secs_f64();
        let grown =
            self.curve.grow(ack.now, shown + self.fraction, acked as f64 / segment, rtt) * segment;
        window.cwnd = (grown as u64).min(window.clamp);
        self.fraction = if window.cwnd == window.clamp { 0.0 } else { grown % 1.0 / segment };
    }
}

impl CongestionControl for Cubic {
    fn on_sample(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.slow_start.sample(window, ack, rtt, 0);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let since = ack.now.since(self.last_ack);
        self.last_ack = ack.now;
        if !ack.cwnd_limited {
            self.pause(since);
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            self.curve.epoch = None;
            acked = self.slow_start.grow(window, acked);
            if window.in_slow_start() || acked == 0 {
                return;
            }
        }
        self.avoid_congestion(window, ack, acked);
    }

    fn ssthresh(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.before = self.curve;
        self.slow_start.congestion();
        let cwnd = window.cwnd as f64 / window.segment as f64;
        self.fraction = 0.0;
        // §4.7: if the window was below the former maximum at the loss, a lower maximum leaves
        // bandwidth for new flows.
        let converge = self.fast_convergence && self.curve.w_max.is_some_and(|w_max| cwnd < w_max);
        let w_max = if converge { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.curve.w_max = (congestion.signal != Signal::Rto).then_some(w_max);
        self.curve.cwnd_prior = cwnd;
        self.curve.epoch = None;
        // §4.6 uses the flight size, not the window, which may exceed the flight size.
        ((congestion.in_flight as f64 * BETA) as u64).max(2 * window.segment)
    }

    fn on_event(&mut self, _window: &mut Window, event: CcEvent, now: Instant) {
        match event {
            CcEvent::TransmitStart { idle, .. } => {
                self.pause(idle);
                if let Some(epoch) = &mut self.curve.epoch {
                    *epoch = (*epoch).min(now);
                }
                // The epoch has already been moved by this idle period.
                self.last_ack = self.last_ack.max(now);
            }
            CcEvent::Undone => self.curve = self.before,
            _ => {}
        }
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("w_max", self.curve.w_max.unwrap_or(0.0)),
            ("k_s", self.curve.k),
            ("w_est", self.curve.w_est),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C-82: the curve starts at β times the maximum window, and reaches the maximum after K.
    #[test]
    fn the_curve_starts_at_beta_and_reaches_the_maximum_after_k() {
        let mut curve = Curve { w_max: Some(100.0), ..Curve::default() };
        curve.begin(Instant::ZERO, 70.0);
        assert!((curve.k - 4.217).abs() < 0.0005, "K = {}", curve.k);
        assert!((curve.window_at(0.0) - 70.0).abs() < 1e-9);
        assert!((curve.window_at(curve.k) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn an_acknowledgement_never_shrinks_the_window() {
        let mut curve = Curve { w_max: Some(10.0), cwnd_prior: 10.0, ..Curve::default() };
        curve.begin(Instant::ZERO, 7.0);
        // Reno's window is slightly above 7. That window is above the curve but below the given
        // window.
        let cwnd = curve.grow(Instant::from_millis(1), 9.0, 1.0, 0.01);
        assert!(curve.window_at(0.001) < curve.w_est && curve.w_est < 9.0);
        assert!((cwnd - 9.0).abs() < 1e-12, "{cwnd}");
    }

    #[test]
    fn idle_time_does_not_count() {
        let mut cubic = Cubic::new(&aqmlab_core::Args::defaults(super::super::KINDS[1].params));
        cubic.curve.w_max = Some(100.0);
        cubic.curve.begin(Instant::from_millis(1_000), 70.0);
        let mut window = Window { cwnd: 70, ssthresh: 70, segment: 1, mss: 1_448, clamp: 1_000 };
        let idle = CcEvent::TransmitStart { idle: Duration::from_secs(5), app_limited: true };
        cubic.on_event(&mut window, idle, Instant::from_millis(8_000));
        assert_eq!(cubic.curve.epoch, Some(Instant::from_millis(6_000)));
    }
}
