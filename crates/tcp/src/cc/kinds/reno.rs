//! Reno: slow start and congestion avoidance.
//!
//! Source: RFC 5681, RFC 3465; Linux 6.1 `net/ipv4/tcp_cong.c` (`reno`).

use aqmlab_core::Kind;

use crate::cc::{Ack, Congestion, CongestionControl, Window};

/// Registers `reno`.
pub const KINDS: &[Kind<dyn CongestionControl>] = &[Kind {
    name: "reno",
    summary: "Slow start and additive increase, halving on loss",
    source: "RFC 5681; Linux 6.1 net/ipv4/tcp_cong.c",
    params: &[],
    build: |_| Box::new(Reno::default()),
}];

/// Reno as Linux counts it, in segments.
#[derive(Debug, Default)]
struct Reno {
    /// Acknowledged since the window last grew in congestion avoidance.
    counted: u64,
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            let grown = (window.cwnd + acked).min(window.ssthresh);
            acked -= grown - window.cwnd;
            window.cwnd = grown.min(window.clamp);
        }
        self.counted += acked;
        if self.counted >= window.cwnd {
            self.counted -= window.cwnd;
            window.cwnd = (window.cwnd + window.segment).min(window.clamp);
        }
    }

    fn ssthresh(&mut self, window: &Window, _congestion: &Congestion) -> u64 {
        (window.cwnd / 2).max(2 * window.segment)
    }
}
