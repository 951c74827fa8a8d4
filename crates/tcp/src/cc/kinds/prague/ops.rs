//! The operations of the controller, which the connection calls (`tcp_prague`).
//!
//! Source: L4STeam's Linux, `net/ipv4/tcp_prague.c` 0.7.

use aqmlab_core::{BitRate, Duration, Instant};

use super::{CWND_UNIT, HSRTT_SHIFT, MAX_ALPHA, ONE_CWND, Prague, SHIFT_G};
use crate::cc::{
    Ack, CcEvent, Congestion, CongestionControl, EcnMode, EcnNeed, Feedback, Signal, Start,
    TsoSegments, Window,
};

/// Returns eight times a span in microseconds, the unit of `srtt_us`.
fn eightfold_micros(span: Duration) -> u64 {
    span.as_nanos() / 125
}

impl CongestionControl for Prague {
    fn ecn_need(&self) -> EcnNeed {
        EcnNeed::L4s
    }

    fn wants_feedback(&self) -> bool {
        self.has_ecn
    }

    fn on_start(&mut self, start: &Start) {
        self.has_ecn = start.ecn == EcnMode::Accurate;
        self.header = start.header.into();
        self.view.totals = start.totals;
        self.saw_ce = start.totals.delivered_ce > 0;
    }

    fn on_established(&mut self, window: &mut Window, now: Instant, srtt: Option<Duration>) {
        if !self.has_ecn {
            return;
        }
        self.look(window, now);
        self.sizes_segments = window.segment == 1;
        let view = &mut self.view;
        view.srtt8 = srtt.map_or(0, eightfold_micros);
        self.alpha_stamp = view.now;
        self.frac_cwnd = view.cwnd << CWND_UNIT;
        self.max_mtu = view.mtu;
        self.hsrtt = if view.srtt8 > 0 { view.srtt8 << HSRTT_SHIFT } else { 8 << HSRTT_SHIFT };
        self.init_rate();
        self.update_pacing_rate();
        self.start_round();
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack) {
        if let Some(srtt) = ack.srtt {
            self.view.srtt8 = eightfold_micros(srtt);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.on_ack(window, ack);
    }

    fn ssthresh(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        if !self.has_ecn {
            return self.reno.ssthresh(window, congestion);
        }
        if congestion.signal == Signal::Rto {
            self.look(window, congestion.now);
            self.enter_loss();
        }
        window.ssthresh
    }

    fn on_event(&mut self, window: &mut Window, event: CcEvent, now: Instant) {
        if !self.has_ecn {
            return;
        }
        self.look(window, now);
        match event {
            CcEvent::RecoveryEntered => self.enter_loss(),
            CcEvent::CwrEntered => self.enter_cwr(),
            CcEvent::Opened => self.in_loss = false,
            CcEvent::Undone => {
                self.in_loss = false;
                self.rate = self.rate.max(self.loss_rate);
                self.frac_cwnd = self.frac_cwnd_of_rate();
            }
            _ => {}
        }
    }

    fn undo_cwnd(&self, window: &Window, prior_cwnd: u64) -> u64 {
        if !self.has_ecn {
            return window.cwnd.max(prior_cwnd);
        }
        window.cwnd.max(self.loss_cwnd.saturating_mul(window.segment)).min(window.clamp)
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.feedback = Some(*feedback);
    }

    fn controls_cwnd(&self) -> bool {
        self.has_ecn
    }

    fn control(&mut self, window: &mut Window, ack: &Ack, _in_recovery: bool) {
        let Some(feedback) = self.feedback.take() else { return };
        self.look(window, ack.now);
        self.view.in_flight = ack.in_flight / window.segment;
        self.view.totals = feedback.totals;
        let acked = ack.rate.acked_sacked / window.segment;
        self.update_cwnd(acked, feedback.marks, ack.cwnd_limited);
        if self.is_alpha_due() {
            self.update_alpha();
        }
        self.update_pacing_rate();
        self.select_mode();
        self.apply(window);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        if self.has_ecn { BitRate::new(self.pacing_rate.max(1).saturating_mul(8)) } else { None }
    }

    fn tso_segments(&self) -> TsoSegments {
        if self.has_ecn { TsoSegments::Exactly(self.burst) } else { self.reno.tso_segments() }
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("alpha", (self.upscaled_alpha >> SHIFT_G) as f64 / MAX_ALPHA as f64),
            ("frac_cwnd", self.frac_cwnd as f64 / ONE_CWND as f64),
            ("rate_mbit", self.rate as f64 * 8.0 / 1e6),
            ("by_rate", f64::from(u8::from(self.by_rate))),
            ("round", self.round as f64),
        ]
    }
}
