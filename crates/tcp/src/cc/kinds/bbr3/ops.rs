//! The operations of the controller, which the connection calls (`tcp_bbr_cong_ops`).
//!
//! Source: google/bbr v3 `net/ipv4/tcp_bbr.c`.

use aqmlab_core::{BitRate, Duration, Instant};

use super::model::Sample;
use super::{Bbr3, Mode, UNBOUNDED, UNIT};
use crate::cc::kinds::bbr::shared;
use crate::cc::{
    Ack, CaState, CcEvent, Congestion, CongestionControl, EcnMode, Feedback, LostSegment, Start,
    TsoSegments, Window,
};

impl CongestionControl for Bbr3 {
    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_start(&mut self, start: &Start) {
        self.has_ecn = start.ecn != EcnMode::Off;
        self.next_round_delivered = start.totals.delivered;
        self.signals.loss_round_delivered = start.totals.delivered + 1;
        self.view.delivered = start.totals.delivered;
    }

    fn echoes_precisely(&self) -> bool {
        self.can_use_ecn()
    }

    fn on_established(&mut self, window: &mut Window, now: Instant, srtt: Option<Duration>) {
        self.rng = shared::stream(self.options.seed, "bbr3", now, srtt);
        self.look(window, now);
        self.init_cwnd = self.view.cwnd.min(0x7f);
        window.ssthresh = u64::MAX;
        self.min_rtt = srtt.map_or(UNBOUNDED, Duration::as_micros);
        self.probe_rtt_min = self.min_rtt;
        self.min_rtt_stamp = self.clock.at(now);
        self.probe_rtt_min_stamp = self.min_rtt_stamp;
        self.delivered_at = now;
        self.aggregation.begin_epoch(now);
        self.init_pacing_rate(srtt);
    }

    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {
        // Empty on purpose: `control` processes every acknowledgement.
    }

    fn ssthresh(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        self.look(window, congestion.now);
        self.save_cwnd();
        self.bounds.save();
        window.ssthresh
    }

    fn on_event(&mut self, window: &mut Window, event: CcEvent, now: Instant) {
        self.look(window, now);
        match event {
            CcEvent::TransmitStart { app_limited: true, .. } => self.restart_from_idle(window),
            CcEvent::RtoEntered => self.enter_loss(),
            CcEvent::RecoveryEntered | CcEvent::RecoveryLeft => self.in_loss = false,
            CcEvent::Undone => {
                self.in_loss = false;
                self.reset_full_bw();
                self.signals.loss_in_round = false;
                self.bounds.restore();
                self.try_fast_path = false;
            }
            CcEvent::ProbeRepaired { app_limited, delivered } => {
                self.view.delivered = delivered;
                self.on_probe_repaired(app_limited);
            }
            _ => {}
        }
    }

    fn post_recovery_cwnd(&mut self, window: &Window) -> u64 {
        window.cwnd
    }

    fn undo_cwnd(&self, window: &Window, _prior_cwnd: u64) -> u64 {
        self.prior_cwnd.saturating_mul(window.segment).clamp(window.segment, window.clamp)
    }

    fn on_lost(&mut self, window: &Window, lost: &LostSegment) {
        self.look(window, lost.now);
        self.view.delivered = lost.delivered;
        self.on_segment_lost(lost);
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.feedback = Some(*feedback);
    }

    fn controls_cwnd(&self) -> bool {
        true
    }

    fn control(&mut self, window: &mut Window, ack: &Ack, in_recovery: bool) {
        let ca = self.ca_state(in_recovery);
        let segment = window.segment;
        self.look(window, ack.now);
        self.view.in_flight = ack.in_flight / segment;
        self.view.delivered = ack.rate.total_delivered / segment;
        if ack.rate.acked_sacked > 0 {
            self.delivered_at = ack.now;
        }
        if self.prev_ca == CaState::Loss && ca != CaState::Loss {
            self.exit_loss_recovery(window);
        }
        let sample = Sample::new(ack, self.feedback.take(), segment, ca);
        self.process(window, &sample);
    }

    fn limits_samples(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        BitRate::new(self.pacing_rate.max(1).saturating_mul(8))
    }

    fn tso_segments(&self) -> TsoSegments {
        TsoSegments::Exactly(self.burst())
    }

    fn sndbuf_windows(&self) -> u64 {
        3
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let bound = |bound| if bound == UNBOUNDED { 0.0 } else { bound as f64 };
        let min_rtt = if self.min_rtt == UNBOUNDED { 0 } else { self.min_rtt };
        vec![
            ("bw_mbit", self.rate_of(self.bw(), UNIT) as f64 * 8.0 / 1e6),
            ("min_rtt_ms", min_rtt as f64 / 1e3),
            ("pacing_gain", self.pacing_gain as f64 / UNIT as f64),
            ("mode", f64::from(self.mode as u8)),
            ("phase", f64::from(self.phase as u8)),
            ("inflight_hi", bound(self.bounds.inflight_hi)),
            ("inflight_lo", bound(self.bounds.inflight_lo)),
        ]
    }
}
