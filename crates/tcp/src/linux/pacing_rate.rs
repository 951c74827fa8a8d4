//! The pacing rate (`sk_pacing_rate`), which limits the size of a burst and the memory of segments
//! in the queue of the host. `common/pacer.rs` computes the departure times of paced segments.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_update_pacing_rate`). If the congestion control
//! sets no rate, the rate is a multiple of the window divided by the round-trip time. The factor is
//! 2 while the window is below half of the slow-start threshold, and 1.2 otherwise.

use aqmlab_core::hint::rare;

use crate::tcb::Tcb;

impl Tcb {
    /// Returns the pacing rate in bytes per second (`sk_pacing_rate`).
    pub(super) fn pacing_rate(&self) -> u64 {
        self.pacing_rate_in(1)
    }

    /// Returns the pacing rate in units of `unit` bytes per second, rounded down.
    #[inline]
    pub(super) fn pacing_rate_in(&self, unit: u64) -> u64 {
        if let Some(rate) = self.controlled_rate() {
            rare();
            return rate.as_bps() / 8 / unit;
        }
        self.spreading_rate_in(unit)
    }

    /// Returns the rate of 2 or 1.2 windows per round trip in units of `unit` bytes per second,
    /// rounded down; zero before the first round-trip sample.
    #[inline]
    fn spreading_rate_in(&self, unit: u64) -> u64 {
        let Some(srtt) = self.rtt.srtt() else { return 0 };
        let segments = self.cwnd_segments().max(u64::from(self.board.packets_out()));
        let window = segments.saturating_mul(u64::from(self.window.mss));
        // Below half of the threshold, slow start gets a larger margin
        // (`sysctl_tcp_pacing_ss_ratio`).
        let percent = if self.window.cwnd < self.window.ssthresh / 2 { 200 } else { 120 };
        // The product fits into 64 bits for windows of up to 4 GB.
        window.saturating_mul(percent * 10_000_000) / srtt.as_nanos().max(1).saturating_mul(unit)
    }
}
