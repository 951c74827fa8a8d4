//! How much Linux hands down at once, and when it waits for more of it.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_tso_autosize`, `tcp_mss_split_point`,
//! `tcp_cwnd_test`; `tcp_tso_should_defer` as of 6.1.158, where it never waits for an
//! acknowledgement that is more than a millisecond away) and `tcp.c` (`tcp_xmit_size_goal`).
//! Since 4.17 TCP builds such bursts whether or not the interface can take them: if it cannot,
//! they are cut into segments on the way out. So a burst's segments leave at the same time, and
//! the last asks for a push, the first time that it is sent.
//!
//! Difference: of a burst that is retransmitted, each segment is on its own.

use aqmlab_core::Duration;

use crate::connection::Connection;
use crate::linux::output::Push;
use crate::state::CaState;

/// The room that Linux keeps for headers: 256 B in a kernel without wireless networks, as those
/// of clouds are and the one that the simulator is held against; with them it is 320 B.
pub(crate) const MAX_TCP_HEADER: u64 = 256;
/// What an interface takes at once: 64 KiB less that room (`sk_gso_max_size`).
pub(crate) const GSO_MAX: u64 = 65_536 - 1 - MAX_TCP_HEADER;
/// The share of the window that is worth sending at once (`tcp_tso_win_divisor`).
const WINDOW_SHARE: u64 = 3;
/// Nothing waits if nothing was sent for longer, or if nothing will be acknowledged sooner.
const PATIENCE: Duration = Duration::from_millis(1);
/// By every so many microseconds of round trip, what may go at once halves
/// (`tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;

/// What goes down at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Burst {
    pub(crate) bytes: u64,
    /// The FIN goes with it.
    pub(crate) fin: bool,
}

impl Connection {
    /// Segments that are worth handing down at once: a millisecond of the rate, two at least.
    #[inline]
    pub(crate) fn burst_goal(&self, mss: u32) -> u64 {
        if !self.profile.bursts {
            return 1;
        }
        let mut bytes = self.rate_below() >> 10;
        if let Some(min_rtt) = self.rtt.min() {
            let halvings = min_rtt.as_micros() >> RTT_SHIFT;
            if halvings < 32 {
                bytes += GSO_MAX >> halvings;
            }
        }
        let (mss, least) = (u64::from(mss), self.cc.least_burst());
        // Slower flows, which are most, need no division.
        if bytes < 2 * mss { least.max(bytes / mss) } else { (bytes.min(GSO_MAX) / mss).max(least) }
    }

    /// What of `unsent` bytes lies in the buffer that is next to be sent (an `skb` of the write
    /// queue): a burst does not reach beyond.
    fn in_buffer(&self, unsent: u64) -> u64 {
        self.sndbuf.head_end().map_or(unsent, |end| end - self.snd.nxt)
    }

    /// The next burst of up to `most` segments of `mss` bytes, if one may go now; notes in
    /// `limited` if it is the congestion window that makes it wait.
    pub(crate) fn next_burst(
        &self,
        (mss, most): (u32, u64),
        nagle_off: bool,
        push: Push,
        limited: &mut bool,
    ) -> Option<Burst> {
        let unsent = self.snd.unsent();
        if unsent == 0 && !self.snd.fin_pending() {
            return None;
        }
        let held = if most > 1 { self.in_buffer(unsent) } else { unsent };
        let last = held == unsent;
        let fin = last && self.snd.fin_pending();
        let small = held <= u64::from(mss);
        // The last segment of all is let through.
        let quota = if fin && small { 1 } else { self.quota(push)? };
        if !self.fits_window(held) {
            return None;
        }
        if small {
            let waits = held < u64::from(mss) && last && !fin && !nagle_off && self.nagle_holds();
            return (!waits).then_some(Burst { bytes: held, fin });
        }
        if most > 1 && push == Push::All && self.should_defer(held, (most, last, fin), limited) {
            return None;
        }
        let bytes = self.split_point(held, u64::from(mss), quota.min(most), nagle_off);
        Some(Burst { bytes, fin: fin && bytes == held })
    }

    /// Segments that the congestion window has room for: half of it at most, so that two bursts
    /// are out.
    fn quota(&self, push: Push) -> Option<u64> {
        let (cwnd, in_flight) = (self.cwnd_segments(), u64::from(self.board.in_flight()));
        if in_flight < cwnd {
            return Some((cwnd - in_flight).min((cwnd / 2).max(1)));
        }
        (push == Push::Probe).then_some(1)
    }

    /// Where to cut what is held. A small segment at its end waits by Nagle's rule.
    fn split_point(&self, held: u64, mss: u64, segments: u64, nagle_off: bool) -> u64 {
        let most = mss * segments;
        let needed = held.min(self.snd.window_end() - self.snd.nxt);
        if most <= needed {
            return most;
        }
        let rest = needed % mss;
        if rest != 0 && !nagle_off && self.nagle_holds() { needed - rest } else { needed }
    }

    /// Linux `tcp_tso_should_defer`: whether to wait for the next acknowledgement, so that more
    /// can go at once.
    fn should_defer(
        &self,
        held: u64,
        (most, last, fin): (u64, bool, bool),
        limited: &mut bool,
    ) -> bool {
        let now = self.clock.now;
        let sent = self.usage.last_sent.max(self.usage.departure);
        if self.recovery.ca >= CaState::Recovery || now.since(sent) > PATIENCE {
            return false;
        }
        let Some(oldest) = self.board.front() else { return false };
        let mss = u64::from(self.window.mss);
        let cwnd = self.cwnd_segments();
        let by_peer = self.snd.window_end() - self.snd.nxt;
        let by_cwnd = cwnd.saturating_sub(u64::from(self.board.in_flight())).saturating_mul(mss);
        let room = by_peer.min(by_cwnd);
        let share = self.snd.wnd.min(cwnd.saturating_mul(mss)) / WINDOW_SHARE;
        if room >= most * mss || room >= share || (!last && room >= held) {
            return false;
        }
        let srtt = self.rtt.srtt().unwrap_or(Duration::ZERO);
        if (oldest.sent + srtt).since(now) > PATIENCE.min(srtt / 2) {
            return false;
        }
        if by_cwnd < by_peer && by_cwnd <= held {
            *limited = true;
            return true;
        }
        (by_cwnd >= by_peer && by_peer <= held) || !fin
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Args, Instant};

    use super::*;
    use crate::{Config, Profile};

    fn connection(profile: Profile) -> Connection {
        let kind = crate::cc::kinds::find("reno").unwrap();
        let config = Config::new(profile, (kind.build)(&Args::defaults(kind.params)));
        let mut connection = Connection::passive(config);
        (connection.window.mss, connection.window.segment) = (1_448, 1);
        connection
    }

    /// `tcp_tso_autosize`: 1.2 windows a round trip, of which a 1024th; and on short paths 64 KiB
    /// halved for each half millisecond.
    #[test]
    fn a_burst_is_a_millisecond_or_two_segments() {
        for (cwnd, rtt_us, want) in [
            (10, 40_000, 2),
            (100, 40_000, 2),
            (300, 40_000, 8),
            (1_000, 10_000, 45),
            (10, 300, 45),
            (10, 2_100, 8),
        ] {
            let mut tcp = connection(Profile::linux());
            let clock = tcp.clock;
            let rtt = Duration::from_micros(rtt_us);
            tcp.rtt.sample(rtt, 0, 1, &clock);
            tcp.rtt.sample_min(rtt, Instant::ZERO);
            (tcp.window.cwnd, tcp.window.ssthresh) = (cwnd, cwnd);
            let bytes = (cwnd * 1_448 * 12 / 10 * 1_000_000 / rtt_us) >> 10;
            assert_eq!(tcp.burst_goal(1_448), want, "{cwnd} in {rtt_us} us, {bytes} bytes a ms");
        }
        assert_eq!(connection(Profile::linux_3_17()).burst_goal(1_448), 1);
    }

    /// `tcp_cwnd_test`: never more than half the window at once.
    #[test]
    fn two_bursts_fit_the_window() {
        let mut tcp = connection(Profile::linux());
        for (cwnd, want) in [(1, 1), (2, 1), (10, 5)] {
            tcp.window.cwnd = cwnd;
            assert_eq!(tcp.quota(Push::All), Some(want), "{cwnd}");
        }
    }
}
