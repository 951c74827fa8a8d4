//! Bursts: the data that is sent at once, as for segmentation offload, and the rule for waiting for
//! more data.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_tso_autosize`, `tcp_mss_split_point`,
//! `tcp_cwnd_test`, `tcp_tso_should_defer`) and `tcp.c` (`tcp_xmit_size_goal`).
//! `tcp_tso_should_defer` is as of 6.1.158, where it does not wait if the next acknowledgement is
//! more than 1 ms away. Since 4.17, TCP builds bursts even for an interface without offloads; the
//! kernel then splits them into segments. All segments of a burst are sent at the same time. The
//! last segment carries PSH in its first transmission.
//!
//! Difference: when a burst is retransmitted, this module sends each segment separately. Linux can
//! send several segments of the burst again as one buffer (`tcp_retransmit_skb`).

use aqmlab_core::Duration;
use aqmlab_core::hint::rare;

use super::Linux;
use super::output::Push;
use crate::cc::{LARGEST_BURST, MIN_TSO_SEGMENTS, TsoSegments};
use crate::state::CaState;
use crate::tcb::Tcb;

/// The aligned size of `struct skb_shared_info` in bytes.
pub(super) const SHARED_INFO: u64 = 320;
/// The aligned size of `struct sk_buff` in bytes.
pub(super) const SK_BUFF: u64 = 256;
/// The divisor of the window for the amount that is worth sending at once (`tcp_tso_win_divisor`).
const WINDOW_SHARE: u64 = 3;
/// The limit on waiting. A burst does not wait if the last segment was sent longer ago than this.
/// It also does not wait if the next acknowledgement is expected later than this, or later than
/// half a round trip.
const DEFER_LIMIT: Duration = Duration::from_millis(1);
/// The binary logarithm, in microseconds, of the minimum round-trip time that halves the addition
/// to a burst once (`tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;

/// The data that is sent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    pub(super) bytes: u64,
    /// Whether the FIN is sent with the burst.
    pub(super) fin: bool,
}

/// The data of the next `skb`.
#[derive(Clone, Copy, Debug)]
struct Head {
    bytes: u64,
    /// Whether no data follows the `skb`.
    is_last: bool,
    /// Whether the FIN follows the `skb`.
    fin: bool,
}

impl Tcb {
    /// Returns the number of segments that are worth sending at once (`tcp_tso_autosize`). They
    /// take about a millisecond at the pacing rate, and more on short paths. The controller may
    /// state a minimum or the exact number. Without bursts, the number is one.
    #[expect(clippy::inline_always, reason = "every burst passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(super) fn tso_segments(&self, mss: u32) -> u64 {
        if !self.profile.bursts {
            rare();
            return 1;
        }
        let mut least = MIN_TSO_SEGMENTS;
        if self.paces {
            rare();
            match self.cc.tso_segments() {
                TsoSegments::Least(segments) => least = segments,
                TsoSegments::Exactly(segments) => return segments,
            }
        }
        let halvings = self.rtt.min().map_or(u64::MAX, |rtt| rtt.as_micros() >> RTT_SHIFT);
        if halvings < 32 {
            // The bytes fit into 32 bits, whose division is faster.
            let bytes = (self.pacing_rate() >> 10) + (LARGEST_BURST >> halvings);
            return u64::from(bytes.min(LARGEST_BURST) as u32 / mss).max(least);
        }
        // Without an addition, one division gives the segments of 1/1024 s.
        let segments = self.pacing_rate_in(u64::from(mss) << 10);
        if segments * u64::from(mss) > LARGEST_BURST {
            rare();
            return (LARGEST_BURST / u64::from(mss)).max(least);
        }
        segments.max(least)
    }

    /// Returns the maximum number of segments of a burst: [`Self::tso_segments`], or another number
    /// with the same effect. `space` is [`Self::cwnd_space`]. With space for one segment, all
    /// numbers above one have the same effect. The number may be one only without bursts, or if the
    /// controller states it.
    #[inline]
    pub(super) fn most_segments(&self, mss: u32, space: u64) -> u64 {
        if space == 1 && self.profile.bursts && !self.paces {
            return MIN_TSO_SEGMENTS;
        }
        self.tso_segments(mss)
    }

    /// Returns the number of segments that the congestion window allows, if any. The number is at
    /// most half of the window, so that two bursts are in flight. `space` is
    /// [`Self::cwnd_space`]. A tail loss probe may always send one segment (`tcp_cwnd_test`).
    fn cwnd_quota(&self, push: Push, space: u64) -> Option<u64> {
        if space > 0 {
            return Some(space.min((self.cwnd_segments() / 2).max(1)));
        }
        (push == Push::Probe).then_some(1)
    }

    /// Returns how many of the `held` bytes to send: at most `segments` segments, within the peer's
    /// window. A small segment at the end waits by Nagle's rule (`tcp_mss_split_point`).
    fn split_point(&self, held: u64, mss: u64, segments: u64, push: Push) -> u64 {
        let most = mss * segments;
        let needed = held.min(self.snd.window_end() - self.snd.nxt);
        if most <= needed {
            return most;
        }
        let rest = needed % mss;
        if rest != 0 && push.obeys_nagle(self) && self.nagle_holds() {
            needed - rest
        } else {
            needed
        }
    }
}

impl Linux {
    /// Returns the next burst of up to `max_segments` segments of `mss` bytes, if one may be sent
    /// now. `space` is [`Tcb::cwnd_space`]. Sets `limited` if the burst is deferred because of the
    /// congestion window.
    pub(super) fn next_burst(
        &self,
        tcb: &Tcb,
        (mss, max_segments): (u32, u64),
        (push, space): (Push, u64),
        limited: &mut bool,
    ) -> Option<Burst> {
        let unsent = tcb.snd.unsent();
        if unsent == 0 && !tcb.snd.fin_pending() {
            return None;
        }
        // A burst ends at the end of its `skb` at the latest.
        let in_skb = self.sndbuf.head_end() - tcb.snd.nxt;
        let bytes = if max_segments > 1 { in_skb.min(unsent) } else { unsent };
        let is_last = bytes == unsent;
        let head = Head { bytes, is_last, fin: is_last & tcb.snd.fin_pending() };
        let is_small = bytes <= u64::from(mss);
        // The congestion window does not delay the last segment of the stream, which carries the
        // FIN.
        let quota = if head.fin && is_small { 1 } else { tcb.cwnd_quota(push, space)? };
        if !tcb.fits_window(bytes) {
            rare();
            return None;
        }
        if is_small {
            rare();
            let may_wait = bytes < u64::from(mss) && is_last && !head.fin;
            let waits = may_wait && push.obeys_nagle(tcb) && tcb.nagle_holds();
            return (!waits).then_some(Burst { bytes, fin: head.fin });
        }
        let may_defer = max_segments > 1 && push.is_all();
        if may_defer && self.should_defer(tcb, head, (max_segments, space), limited) {
            return None;
        }
        let sent = tcb.split_point(bytes, u64::from(mss), quota.min(max_segments), push);
        Some(Burst { bytes: sent, fin: head.fin && sent == bytes })
    }

    /// Returns whether to wait for the next acknowledgement, so that more data is sent at once.
    /// Sets `limited` if the congestion window is the reason (`tcp_tso_should_defer`).
    fn should_defer(
        &self,
        tcb: &Tcb,
        head: Head,
        (max_segments, space): (u64, u64),
        limited: &mut bool,
    ) -> bool {
        let mss = u64::from(tcb.window.mss);
        let cwnd = tcb.cwnd_segments();
        let by_peer = tcb.snd.window_end() - tcb.snd.nxt;
        let by_cwnd = space.saturating_mul(mss);
        let free = by_peer.min(by_cwnd);
        // Half of the bursts that reach this test have enough space. Linux makes the test later,
        // with the same result.
        if free >= max_segments * mss {
            return false;
        }
        let now = tcb.clock.now;
        let sent = tcb.snd.last_sent.max(tcb.pacer.departure());
        if self.recovery.ca() >= CaState::Recovery || now.since(sent) > DEFER_LIMIT {
            return false;
        }
        let Some(oldest) = tcb.board.front() else { return false };
        let share = tcb.snd.wnd.min(cwnd.saturating_mul(mss)) / WINDOW_SHARE;
        if free >= share || (!head.is_last && free >= head.bytes) {
            return false;
        }
        let srtt = tcb.rtt.srtt().unwrap_or(Duration::ZERO);
        if (oldest.sent_at + srtt).since(now) > DEFER_LIMIT.min(srtt / 2) {
            return false;
        }
        if by_cwnd < by_peer && by_cwnd <= head.bytes {
            *limited = true;
            return true;
        }
        (by_cwnd >= by_peer && by_peer <= head.bytes) || !head.fin
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Instant, Rng};

    use super::*;
    use crate::Profile;
    use crate::linux::testing;

    /// Tests that a burst is the data of 1/1024 s at 1.2 windows per round trip
    /// (`tcp_tso_autosize`). On short paths, `LARGEST_BURST` is added, halved for each 512 µs of the
    /// minimum round-trip time.
    #[test]
    fn a_burst_is_a_millisecond_or_two_segments() {
        for (cwnd, rtt_us, want) in [
            (10, 40_000, 2),
            (100, 40_000, 2),
            (300, 40_000, 8),
            (1_600, 40_000, 45),
            (3_000, 40_000, 45),
            (1_000, 10_000, 45),
            (10, 300, 45),
            (10, 2_100, 8),
        ] {
            let (_, mut tcb) = testing::open("reno");
            let rtt = Duration::from_micros(rtt_us);
            tcb.rtt.srtt8 = rtt.as_nanos() * 8;
            tcb.rtt.sample_min(rtt, Instant::ZERO);
            (tcb.window.cwnd, tcb.window.ssthresh) = (cwnd, cwnd);
            let bytes = (cwnd * 1_448 * 12 / 10 * 1_000_000 / rtt_us) >> 10;
            assert_eq!(tcb.tso_segments(1_448), want, "{cwnd} in {rtt_us} us, {bytes} bytes a ms");
        }
        let (_, tcb) = testing::with(Profile::linux_3_17(), "reno", None);
        assert_eq!(tcb.tso_segments(1_448), 1);
    }

    /// Tests that with space for one segment, the number of segments that are worth sending has no
    /// effect.
    #[test]
    fn with_space_for_one_segment_the_size_of_a_burst_has_no_effect() {
        let mut rng = Rng::stream(1, "one segment");
        let (mut compared, mut deferred) = (0, 0);
        for _ in 0..4_000 {
            let cc = ["cubic", "reno", "bbr"][rng.below(3) as usize];
            let (mut linux, mut tcb) = testing::open(cc);
            tcb.start_controller();
            let rtt = Duration::from_micros(100 << rng.below(8));
            tcb.rtt.srtt8 = rtt.as_nanos() * 8;
            tcb.rtt.sample_min(rtt, Instant::ZERO);
            let segments = 1 + rng.below(100);
            tcb.snd.wnd = (segments + rng.below(4)) * 1_448;
            tcb.window.cwnd = segments;
            tcb.clock.set(Instant::from_millis(5));
            linux.write(&mut tcb, (segments + rng.below(8)) * 1_448 + rng.below(3) * 100);
            linux.write_xmit(&mut tcb, Push::All);
            tcb.window.cwnd = u64::from(tcb.board.in_flight()) + 1;
            tcb.clock.set(Instant::from_micros(5_000 + rng.below(1_500)));
            let push = [Push::Pending, Push::All, Push::One][rng.below(3) as usize];
            let [short, long] =
                [tcb.most_segments(1_448, 1), tcb.tso_segments(1_448)].map(|most| {
                    let mut limited = false;
                    let burst = linux.next_burst(&tcb, (1_448, most), (push, 1), &mut limited);
                    (burst, limited)
                });
            assert_eq!(short, long);
            compared += u64::from(tcb.most_segments(1_448, 1) != tcb.tso_segments(1_448));
            deferred += u64::from(short.1);
        }
        assert!(compared > 300, "{compared} numbers differed");
        assert!(deferred > 100, "{deferred} bursts were deferred");
    }

    /// Tests that a burst is at most half of the window, but at least one segment
    /// (`tcp_cwnd_test`).
    #[test]
    fn two_bursts_fit_the_window() {
        let (_, mut tcb) = testing::open("reno");
        for (cwnd, want) in [(1, 1), (2, 1), (10, 5)] {
            tcb.window.cwnd = cwnd;
            assert_eq!(tcb.cwnd_quota(Push::All, tcb.cwnd_space()), Some(want), "{cwnd}");
        }
    }
}
