//! Conversions between the window and the rate, the pacing rate, and the size of packets.
//!
//! Source: L4STeam's Linux, `net/ipv4/tcp_prague.c` 0.7.

use super::{CWND_UNIT, HSRTT_SHIFT, ONE_CWND, Prague};

/// The lowest rate in bytes per second: 100 kbit/s (`MINIMUM_RATE`).
pub(super) const MINIMUM_RATE: u64 = 12_500;
/// The smallest window, in packets per round trip (`MIN_CWND_RTT`).
const MIN_CWND_RTT: u64 = 2;
/// The smallest number of packets per virtual round trip (`MIN_CWND_VIRT`).
const MIN_CWND_VIRT: u64 = 2;
/// The smallest payload of a segment, in bytes.
const MIN_MSS: u64 = 150;
/// The share by which the pacing rate is above or below the rate, 4/128.
const RATE_OFFSET: u64 = 4;
const OFFSET_UNIT: u32 = 7;
/// The approximate binary logarithm of eight seconds in microseconds (`RTT2SEC_SHIFT`).
pub(super) const RTT2SEC_SHIFT: u32 = 23;
/// Eight seconds in microseconds.
const EIGHT_SECONDS: u64 = 8_000_000;

/// Returns `a` times `b`, shifted right by `shift` bits (`mul_u64_u64_shr`).
pub(super) fn mul_shr(a: u64, b: u64, shift: u32) -> u64 {
    ((u128::from(a) * u128::from(b)) >> shift) as u64
}

impl Prague {
    /// Returns the window in segments, from two to the clamp (`prague_frac_cwnd_to_snd_cwnd`).
    pub(super) fn whole_cwnd(&self) -> u64 {
        ((self.frac_cwnd + ONE_CWND - 1) >> CWND_UNIT).max(MIN_CWND_RTT).min(self.view.clamp)
    }

    /// Returns eight times the larger of the target and the round-trip time
    /// (`prague_virtual_rtt`).
    pub(super) fn virtual_rtt(&self) -> u64 {
        self.options.target8.max(self.view.srtt8)
    }

    /// Returns the window that the rate needs, in units of [`ONE_CWND`]
    /// (`prague_pacing_rate_to_frac_cwnd`).
    pub(super) fn frac_cwnd_of_rate(&self) -> u64 {
        let long_term = self.hsrtt >> HSRTT_SHIFT;
        let rtt = if long_term > 0 { long_term } else { self.view.srtt8 };
        mul_shr(self.rate, rtt, RTT2SEC_SHIFT - CWND_UNIT).div_ceil(self.view.mtu)
    }

    /// Returns the rate of one packet per round trip, in bytes per second.
    fn rate_of_packet(&self) -> u64 {
        EIGHT_SECONDS * self.view.mtu / self.view.srtt8.max(1)
    }

    /// Returns the rate of the window (`prague_frac_cwnd_to_pacing_rate`).
    pub(super) fn rate_of_frac_cwnd(&self) -> u64 {
        mul_shr(self.rate_of_packet(), self.frac_cwnd, CWND_UNIT).max(MINIMUM_RATE)
    }

    /// Sets the first rate: a window per round trip, or the lowest rate without a round-trip time.
    pub(super) fn init_rate(&mut self) {
        let packets = self.view.cwnd.max(self.view.in_flight);
        self.rate = if self.view.srtt8 > 0 {
            (self.rate_of_packet() * packets).max(MINIMUM_RATE)
        } else {
            MINIMUM_RATE
        };
    }

    /// Sets the pacing rate and the burst (`prague_update_pacing_rate`). If the controller adapts
    /// the rate, an update of the estimate sets the pacing rate above the rate for half of a
    /// virtual round trip. After this time, the pacing rate is below the rate. If the controller
    /// adapts the window, also computes the rate from the window.
    pub(super) fn update_pacing_rate(&mut self) {
        let mut rate = if self.is_by_rate() {
            let offset = mul_shr(RATE_OFFSET, self.rate, OFFSET_UNIT);
            let elapsed = self.view.now.saturating_sub(self.alpha_stamp);
            if elapsed >= self.virtual_rtt() >> 4 { self.rate - offset } else { self.rate + offset }
        } else {
            let packets = (self.frac_cwnd >> CWND_UNIT).max(self.view.in_flight);
            self.rate = (self.rate_of_packet() * packets).max(MINIMUM_RATE);
            self.rate
        };
        if self.view.cwnd < self.view.ssthresh / 2 {
            rate *= 2;
        }
        self.burst = ((rate / self.view.mtu) >> self.options.burst_shift).max(1);
        self.pacing_rate = rate;
    }

    /// Adapts the size of packets, if it may change, so that at low rates two packets are sent per
    /// virtual round trip (`prague_update_alpha`, `prague_valid_mtu`).
    pub(super) fn adapt_mtu(&mut self) {
        let old = self.view.mtu;
        let new = self.most_mtu().min(self.max_mtu).max(MIN_MSS + self.header);
        if old == new || !self.sizes_segments {
            return;
        }
        self.frac_cwnd = self.frac_cwnd * old / new;
        self.view.mtu = new;
        let cwnd = self.whole_cwnd();
        if self.view.cwnd != cwnd {
            self.view.cwnd = cwnd;
            self.view.ssthresh = self.view.ssthresh * old / new;
            self.update_ai_ack_increase();
        }
    }

    /// Returns the packet size with which two packets are sent per virtual round trip
    /// (`prague_pacing_rate_to_max_mtu`).
    fn most_mtu(&self) -> u64 {
        let bytes = if self.is_by_rate() {
            mul_shr(self.rate, self.virtual_rtt(), RTT2SEC_SHIFT)
        } else {
            let (target, rtt) = (self.options.target8, self.view.srtt8);
            let scaled =
                if rtt < target { self.frac_cwnd * target / rtt.max(1) } else { self.frac_cwnd };
            mul_shr(scaled, self.view.mtu, CWND_UNIT)
        };
        bytes.div_ceil(MIN_CWND_VIRT)
    }
}
