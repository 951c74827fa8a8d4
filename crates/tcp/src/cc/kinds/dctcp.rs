//! DCTCP: reduces the window in proportion to the fraction of marked segments.
//!
//! Sources: Linux 6.1 `net/ipv4/tcp_dctcp.c`, in its integer arithmetic; RFC 8257. The receiver's
//! part (`tcp_dctcp.h`) is in `linux/ecn.rs`. Without ECN the controller is Reno.

use aqmlab_core::{Bounds, Instant, Kind, Param, Value};

use super::reno::Reno;
use crate::cc::{
    Ack, CcEvent, Congestion, CongestionControl, EcnMode, EcnNeed, Signal, Start, Totals, Window,
};

/// Registers `dctcp`.
pub const KINDS: &[Kind<dyn CongestionControl>] = &[Kind {
    name: "dctcp",
    summary: "DCTCP: reduces the window in proportion to the fraction of marked segments",
    source: "RFC 8257; Linux 6.1 net/ipv4/tcp_dctcp.c",
    params: &[
        Param {
            name: "dctcp_shift_g",
            default: Value::Count(4),
            bounds: Bounds::Whole(0, 10),
            doc: "Weight of a new fraction of marked segments, as a negative power of two.",
        },
        Param {
            name: "dctcp_alpha_on_init",
            default: Value::Count(MAX_ALPHA),
            bounds: Bounds::Whole(0, MAX_ALPHA),
            doc: "First estimate of the fraction of marked segments, in 1024ths.",
        },
    ],
    build: |args| {
        let (shift, alpha) = (args.count("dctcp_shift_g"), args.count("dctcp_alpha_on_init"));
        Box::new(Dctcp {
            has_ecn: false,
            shift: shift as u32,
            alpha,
            round: Totals::default(),
            loss_cwnd: 0,
            marks: 0,
            reno: Reno::default(),
        })
    },
}];

/// The estimate if every segment is marked. Estimates are in 1024ths (`DCTCP_MAX_ALPHA`).
const MAX_ALPHA: u64 = 1 << ALPHA_BITS;
const ALPHA_BITS: u32 = 10;

/// The DCTCP controller. Windows have the unit of the connection's window.
#[derive(Debug)]
struct Dctcp {
    /// Whether the connection has ECN.
    has_ecn: bool,
    /// The weight of a new fraction of marked segments, as a negative power of two.
    shift: u32,
    /// The estimate of the fraction of marked segments (`dctcp_alpha`).
    alpha: u64,
    /// The totals at the start of the present window of data, which ends at their `snd_nxt`.
    round: Totals,
    /// The window before the last reduction.
    loss_cwnd: u64,
    /// The number of marked segments since the start of the connection.
    marks: u64,
    reno: Reno,
}

impl Dctcp {
    /// Updates the estimate with the fraction of marked segments in a window of data
    /// (`dctcp_update_alpha`).
    fn update_alpha(&mut self, totals: &Totals) {
        let marked = totals.delivered_ce - self.round.delivered_ce;
        let part = self.alpha >> self.shift;
        // An estimate whose weighted part rounds to zero becomes zero.
        self.alpha -= if part == 0 { self.alpha } else { part };
        if marked > 0 {
            let delivered = (totals.delivered - self.round.delivered).max(1);
            let share = (marked << (ALPHA_BITS - self.shift)) / delivered;
            self.alpha = (self.alpha + share).min(MAX_ALPHA);
        }
        self.round = *totals;
    }

    /// Returns the threshold after a loss, and records the window (`dctcp_react_to_loss`).
    fn react_to_loss(&mut self, window: &Window) -> u64 {
        self.loss_cwnd = window.cwnd;
        (window.cwnd / 2).max(2 * window.segment)
    }
}

impl CongestionControl for Dctcp {
    fn ecn_need(&self) -> EcnNeed {
        EcnNeed::Any
    }

    fn on_start(&mut self, start: &Start) {
        self.has_ecn = start.ecn != EcnMode::Off;
        self.round = start.totals;
    }

    fn echoes_precisely(&self) -> bool {
        self.has_ecn
    }

    fn on_totals(&mut self, totals: &Totals) {
        self.marks = totals.delivered_ce;
        if totals.snd_una >= self.round.snd_nxt {
            self.update_alpha(totals);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.on_ack(window, ack);
    }

    fn ssthresh(&mut self, window: &Window, congestion: &Congestion) -> u64 {
        let halved = self.reno.ssthresh(window, congestion);
        if !self.has_ecn {
            return halved;
        }
        if congestion.signal == Signal::Rto {
            return self.react_to_loss(window);
        }
        self.loss_cwnd = window.cwnd;
        let reduction = (u128::from(window.cwnd) * u128::from(self.alpha)) >> (ALPHA_BITS + 1);
        (window.cwnd - reduction as u64).max(2 * window.segment)
    }

    fn on_event(&mut self, window: &mut Window, event: CcEvent, _now: Instant) {
        if event == CcEvent::RecoveryEntered && self.has_ecn {
            window.ssthresh = self.react_to_loss(window);
        }
    }

    fn undo_cwnd(&self, window: &Window, prior_cwnd: u64) -> u64 {
        window.cwnd.max(if self.has_ecn { self.loss_cwnd } else { prior_cwnd })
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("alpha", self.alpha as f64 / MAX_ALPHA as f64), ("marks", self.marks as f64)]
    }
}
