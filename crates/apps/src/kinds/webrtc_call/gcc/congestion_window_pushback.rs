//! The congestion window: the proportion of the target to leave out while too much data is in
//! flight.
//!
//! Source: libwebrtc (2025-06) `congestion_window_pushback_controller.cc`,
//! `goog_cc_network_control.cc` and `rate_control_settings.cc`, whose default is
//! `QueueSize:350,MinBitrate:30000,DropFrame:true`. The window is the data that the target rate
//! carries in the shortest round trip plus 350 ms. The target itself does not change.

use std::collections::VecDeque;

use aqmlab_core::Duration;

const QUEUE: Duration = Duration::from_millis(350);
const LEAST_BYTES: f64 = 2.0 * 1_500.0;
const LEAST_BPS: f64 = 30e3;
const ROUND_TRIPS: usize = 32;

/// The congestion window of a sender.
#[derive(Debug)]
pub(crate) struct CongestionWindowPushback {
    /// For each of the last reports, the longest time between a packet and the report on it.
    round_trips: VecDeque<Duration>,
    /// The window in bytes, once there is a round-trip time.
    bytes: Option<f64>,
    /// The number of bytes in flight.
    outstanding: f64,
    /// The proportion of the target that the encoder may use.
    ratio: f64,
}

impl Default for CongestionWindowPushback {
    fn default() -> Self {
        Self { round_trips: VecDeque::new(), bytes: None, outstanding: 0.0, ratio: 1.0 }
    }
}

impl CongestionWindowPushback {
    /// Adds a packet of `bytes` that was sent.
    pub(crate) fn sent(&mut self, bytes: u32) {
        self.outstanding += f64::from(bytes);
    }

    /// Removes `bytes` of packets that were reported or can no longer be reported.
    pub(crate) fn reported(&mut self, bytes: f64) {
        self.outstanding = (self.outstanding - bytes).max(0.0);
    }

    /// Adds the round-trip time of one report: the longest time between a packet and the report on
    /// the packet.
    pub(crate) fn add_rtt(&mut self, rtt: Duration) {
        self.round_trips.push_back(rtt);
        if self.round_trips.len() > ROUND_TRIPS {
            self.round_trips.pop_front();
        }
    }

    /// Sets the window to the size for `target_bps` at first, and later moves it half of the way to
    /// this size. Does nothing without a round-trip time.
    pub(crate) fn resize(&mut self, target_bps: f64) {
        let Some(&rtt) = self.round_trips.iter().min() else { return };
        let bytes = target_bps / 8.0 * (rtt + QUEUE).as_secs_f64();
        let bytes = self.bytes.map_or(bytes, |before| f64::midpoint(bytes, before));
        self.bytes = Some(bytes.max(LEAST_BYTES));
    }

    /// Adapts the proportion of the target that the encoder may use. The proportion depends on the
    /// data in flight.
    pub(crate) fn adapt(&mut self) {
        let Some(bytes) = self.bytes else { return };
        let fill = self.outstanding / bytes;
        self.ratio = match fill {
            fill if fill > 1.5 => 0.9 * self.ratio,
            fill if fill > 1.0 => 0.95 * self.ratio,
            fill if fill < 0.1 => 1.0,
            _ => (1.05 * self.ratio).min(1.0),
        };
    }

    /// Returns the proportion of `target_bps` that the encoder leaves out, from 0 to 1.
    pub(crate) fn excess(&self, target_bps: f64) -> f64 {
        let bps = (self.ratio * target_bps).max(LEAST_BPS.min(target_bps));
        if self.bytes.is_some() { 1.0 - bps / target_bps } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    /// Returns a window of 50 kB: 1 Mbit/s for 400 ms.
    fn window() -> CongestionWindowPushback {
        let mut window = CongestionWindowPushback::default();
        window.add_rtt(Duration::from_millis(80));
        window.add_rtt(Duration::from_millis(50));
        window.resize(1e6);
        window
    }

    /// Tests statement C-141.
    #[test]
    fn data_beyond_the_window_leaves_frames_out_and_an_empty_path_ends_it() {
        let mut window = window();
        close(window.bytes.unwrap(), 50_000.0, 1e-6);
        for (bytes, ratio) in [(50_000, 1.0), (1_000, 0.95), (25_000, 0.95 * 0.9)] {
            window.sent(bytes);
            window.adapt();
            close(window.excess(1e6), 1.0 - ratio, 1e-9);
        }
        window.reported(60_000.0);
        window.adapt();
        close(window.excess(1e6), 1.0 - 0.95 * 0.9 * 1.05, 1e-9);
        window.reported(15_000.0);
        window.adapt();
        close(window.excess(1e6), 0.0, 0.0);
    }

    #[test]
    fn the_window_moves_half_way_and_has_at_least_two_packets() {
        let mut window = window();
        window.resize(2e6);
        close(window.bytes.unwrap(), 75_000.0, 1e-6);
        for _ in 0..40 {
            window.resize(1e3);
        }
        close(window.bytes.unwrap(), 3_000.0, 1e-6);
    }

    #[test]
    fn the_encoder_keeps_30_kbit() {
        let mut window = window();
        window.sent(1_000_000);
        for _ in 0..200 {
            window.adapt();
        }
        close(window.excess(1e6), 0.97, 1e-9);
        close(window.excess(20e3), 0.0, 1e-9);
    }
}
