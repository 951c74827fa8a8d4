//! The sending of new data: the amount that may be sent, its segments, and the delay of small
//! segments.
//!
//! Sources: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_write_xmit`, `tcp_nagle_test`,
//! `tcp_event_new_data_sent`); RFC 896; Minshall's variant of Nagle's rule.
//!
//! `tso.rs` determines the bursts, and `tsq.rs` divides a train of bursts into parts.

use aqmlab_core::hint::rare;
use aqmlab_core::{Instant, SackBlocks, TcpFlags, TcpHeader};

use super::Linux;
use super::tlp::TimeoutFrom;
use super::tso::Burst;
use crate::common::scoreboard::{FIN, PUSH, Sent};
use crate::segment::Transmission;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;

/// The amount to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Push {
    /// All data that may be sent. Small segments wait by Nagle's rule, unless the application
    /// disabled it.
    Pending,
    /// All data that may be sent, without Nagle's rule.
    All,
    /// At most one burst, without Nagle's rule.
    One,
    /// A tail loss probe: at most one burst, or one segment if the congestion window is full.
    Probe,
}

impl Push {
    pub(super) const fn is_all(self) -> bool {
        matches!(self, Self::Pending | Self::All)
    }

    /// Returns whether Nagle's rule applies to small segments.
    pub(super) fn obeys_nagle(self, tcb: &Tcb) -> bool {
        self == Self::Pending && !tcb.nodelay
    }
}

/// The place of a segment in its `skb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SkbPlace {
    /// Another segment of the `skb` follows.
    Inner,
    /// The segment is the last of the `skb`.
    Last,
}

impl Tcb {
    /// Returns whether the whole next segment fits into the peer's window.
    #[inline]
    pub(super) fn next_fits_window(&self) -> bool {
        self.fits_window(self.snd.unsent())
    }

    /// Returns whether the first segment of `unsent` bytes fits as a whole into the peer's window.
    /// A FIN that the segment would carry counts, too.
    #[inline]
    pub(super) fn fits_window(&self, unsent: u64) -> bool {
        // In most cases a full-sized segment and a FIN would fit.
        if self.snd.nxt + u64::from(self.window.mss) < self.snd.window_end() {
            return true;
        }
        rare();
        self.fits_window_exactly(unsent)
    }

    #[inline(never)]
    fn fits_window_exactly(&self, unsent: u64) -> bool {
        let mss = u64::from(self.current_mss());
        let fin = u64::from(self.snd.fin_pending() && unsent <= mss);
        self.snd.nxt + unsent.min(mss) + fin <= self.snd.window_end()
    }

    /// Returns whether the next segment of new data starts the retransmission timer.
    #[inline]
    fn starts_rto(&self) -> bool {
        self.board.is_empty() || self.timers.xmit == XmitTimer::LossProbe
    }

    /// Returns whether a small segment is unacknowledged, so that the next small segment waits
    /// (Minshall's rule, `tcp_minshall_check`).
    pub(super) fn nagle_holds(&self) -> bool {
        !self.board.is_empty()
            && self.snd.small_end > self.snd.una
            && self.snd.small_end <= self.snd.nxt
    }
}

impl Linux {
    /// Sends pending data. If nothing is outstanding and data is still unsent, sets the persist
    /// timer (`__tcp_push_pending_frames`).
    #[inline]
    pub(super) fn push_pending(&mut self, tcb: &mut Tcb) {
        if tcb.snd.has_unsent() && tcb.state.is_synchronized() && !tcb.wakeup.opened {
            let is_stuck = self.write_xmit(tcb, Push::Pending);
            if is_stuck {
                rare();
                tcb.check_probe_timer();
            }
        }
    }

    /// Sends the new data that `push` and the limits of the connection permit. Returns whether
    /// there is unsent data although nothing is outstanding (`tcp_write_xmit`).
    pub(super) fn write_xmit(&mut self, tcb: &mut Tcb, push: Push) -> bool {
        let space = tcb.cwnd_space();
        // Only a probe, or a last segment with the FIN, may exceed the congestion window.
        if space == 0 && push != Push::Probe && !tcb.snd.fin_pending() {
            rare();
            self.wait_for_cwnd(tcb);
            return tcb.board.is_empty() && tcb.snd.has_unsent();
        }
        self.write_bursts(tcb, push, space)
    }

    /// Records that the congestion window permits no segment, as [`Self::write_bursts`] does.
    #[inline(never)]
    fn wait_for_cwnd(&mut self, tcb: &mut Tcb) {
        self.begin_train();
        self.must_wait(tcb);
        self.validate_cwnd(tcb, true);
    }

    /// Sends bursts until a limit forbids another; see [`Self::write_xmit`]. `space` is
    /// [`Tcb::cwnd_space`].
    #[inline]
    fn write_bursts(&mut self, tcb: &mut Tcb, push: Push, mut space: u64) -> bool {
        let mss = tcb.current_mss();
        let max_segments = tcb.most_segments(mss, space);
        // The timer of a loss probe, if one follows, replaces the timeout.
        let is_probed = push != Push::Probe && self.may_probe_loss(tcb);
        let mut starts_timer = !is_probed && tcb.starts_rto();
        let (mut sent, mut limited) = (0, false);
        self.begin_train();
        while !self.must_wait(tcb) {
            let limits = (mss, max_segments);
            let Some(burst) = self.next_burst(tcb, limits, (push, space), &mut limited) else {
                break;
            };
            self.divide_train(tcb);
            let segments = self.send_burst(tcb, burst, mss);
            self.add_burst(segments);
            sent += segments;
            space = tcb.cwnd_space();
            if std::mem::take(&mut starts_timer) {
                rare();
                tcb.rearm_rto();
            }
            if !push.is_all() {
                rare();
                break;
            }
        }
        limited |= space == 0;
        if sent > 0 || limited {
            self.validate_cwnd(tcb, limited);
        }
        if sent == 0 {
            return tcb.board.is_empty() && tcb.snd.has_unsent();
        }
        if self.recovery.ca().is_reducing() {
            rare();
            self.prr.on_sent(sent);
        }
        if is_probed {
            self.arm_loss_probe(tcb, TimeoutFrom::Head);
        }
        false
    }

    /// Sends a burst in segments of up to `mss` bytes. Returns the number of segments.
    #[inline]
    fn send_burst(&mut self, tcb: &mut Tcb, burst: Burst, mss: u32) -> u64 {
        let tags = if self.sndbuf.pushes_at(tcb.snd.nxt + burst.bytes) { PUSH } else { 0 };
        let sent = if self.is_plain(tcb, burst) {
            self.send_plain(tcb, burst.bytes, mss, tags)
        } else {
            self.send_segments(tcb, burst, mss, tags)
        };
        tcb.pace(burst.bytes);
        self.sndbuf.on_sent(tcb.snd.nxt);
        if burst.bytes < sent * u64::from(mss) {
            rare();
            tcb.snd.small_end = tcb.snd.nxt;
        }
        if tcb.checks_space_after_each_burst() {
            self.check_space(tcb);
        }
        sent
    }

    /// Sends the segments of a burst. The last segment has the tags `tags`, and the FIN if it
    /// follows. Returns the number of segments.
    #[inline(never)]
    pub(super) fn send_segments(&mut self, tcb: &mut Tcb, burst: Burst, mss: u32, tags: u8) -> u64 {
        let (mut left, mut sent) = (burst.bytes, 1);
        if left > 0 {
            self.on_data_sent(tcb);
        }
        let mut header = self.header(tcb);
        while left > u64::from(mss) {
            left -= u64::from(mss);
            self.send_new(tcb, &header, (mss, 0), TcpFlags::default(), SkbPlace::Inner);
            sent += 1;
            self.on_data_sent(tcb);
            // The first segment of a burst offers a window, and with a shift count the others would
            // offer the same.
            if tcb.options.rcv_shift == 0 {
                header.window = self.select_window(tcb);
            }
        }
        let tags = if burst.fin { tags | FIN } else { tags };
        // The last segment of a burst carries PSH only in its first transmission.
        let control = if sent > 1 { TcpFlags::PSH } else { TcpFlags::default() };
        self.send_new(tcb, &header, (left as u32, tags), control, SkbPlace::Last);
        sent
    }

    /// Sends the part of the next `skb` that fits into the open window, at most one segment. The
    /// segment carries PSH, and the FIN if the FIN follows and fits, too (`tcp_write_wakeup`).
    pub(super) fn send_probe_segment(&mut self, tcb: &mut Tcb) {
        // The segment is a train of one part; see `tsq.rs`.
        self.begin_train();
        let unsent = tcb.snd.unsent();
        let held = (self.sndbuf.head_end() - tcb.snd.nxt).min(unsent);
        let space = tcb.snd.window_end() - tcb.snd.nxt;
        let payload = held.min(space).min(u64::from(tcb.current_mss()));
        let has_fin = tcb.snd.fin_pending() && payload == unsent && payload < space;
        let tags = if has_fin { PUSH | FIN } else { PUSH };
        let starts_timer = tcb.starts_rto();
        if payload > 0 {
            self.on_data_sent(tcb);
        }
        let header = self.header(tcb);
        let control = TcpFlags::default();
        self.send_new(tcb, &header, (payload as u32, tags), control, SkbPlace::Last);
        tcb.pace(payload);
        self.sndbuf.on_sent(tcb.snd.nxt);
        if starts_timer {
            tcb.rearm_rto();
        }
    }

    /// Sends `payload` new bytes, and the FIN if `tags` contains it. The caller must first call
    /// [`Self::header`] and, for data, [`Self::on_data_sent`]. Retransmissions carry the control
    /// bits of `tags`, but not `control`.
    fn send_new(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        (payload, tags): (u32, u8),
        control: TcpFlags,
        place: SkbPlace,
    ) {
        let seq = tcb.snd.nxt;
        let mut sent = Sent::new(seq, payload, tags);
        let flags = header.flags.with(sent.control()).with(control);
        let sack = SackBlocks::default();
        tcb.emit(TcpHeader { seq, payload, flags, sack, ..*header }, Transmission::Original);
        self.tsq.on_sent();
        (sent.sent_at, sent.part) = (tcb.clock.now, self.tsq.part());
        sent.ends_skb = place == SkbPlace::Last;
        tcb.rate.on_sent(&mut sent, tcb.board.is_empty());
        if tcb.tx_records.are_kept {
            tcb.record_transmission(sent.end());
        }
        tcb.board.push(sent);
        tcb.snd.nxt = sent.end();
        tcb.snd.max = tcb.snd.max.max(tcb.snd.nxt);
        if tags & FIN != 0 {
            tcb.snd.fin_sent = true;
            tcb.close_half();
        }
    }

    /// Records that a data segment is about to be sent, for the congestion control, pacing and
    /// delayed acknowledgements. A FIN without payload is not a data segment
    /// (`__tcp_transmit_skb`).
    #[inline]
    pub(super) fn on_data_sent(&mut self, tcb: &mut Tcb) {
        tcb.on_data_sent();
        self.delack.on_data_sent(&tcb.clock);
    }

    /// Sends an acknowledgement at once.
    pub(crate) fn send_ack(&mut self, tcb: &mut Tcb) {
        let seq = tcb.snd.max.max(tcb.snd.nxt);
        if tcb.sends_plainly() {
            let header = self.header(tcb);
            tcb.emit_ack(TcpHeader { seq, ..header });
        } else {
            rare();
            self.emit(tcb, (seq, 0), TcpFlags::default(), Transmission::Original);
        }
    }

    /// Sends a segment. `bytes` is its sequence number and its payload length.
    #[inline(never)]
    pub(super) fn emit(
        &mut self,
        tcb: &mut Tcb,
        (seq, payload): (u64, u32),
        flags: TcpFlags,
        transmission: Transmission,
    ) {
        let header = self.header(tcb);
        let flags = header.flags.with(flags);
        tcb.emit(TcpHeader { seq, payload, flags, ..header }, transmission);
    }

    /// Returns the header of the segments that are about to be sent; see [`Tcb::header`]. They
    /// acknowledge all data received in order, so the timers of acknowledgements stop.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(super) fn header(&mut self, tcb: &mut Tcb) -> TcpHeader {
        let window = self.select_window(tcb);
        if self.delack.on_ack_sent() {
            rare();
            tcb.timers.set_compressed_ack(Instant::NEVER);
        }
        tcb.timers.delayed_ack = Instant::NEVER;
        tcb.header(window)
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Bytes, Rng};

    use super::*;
    use crate::linux::testing;

    /// Tests that pacing begins with the burst that contains the tenth data segment.
    /// `tcp_update_skb_after_send` compares the number of data segments including the segments of
    /// the burst that was just sent.
    #[test]
    fn the_burst_with_the_tenth_data_segment_is_the_first_that_is_paced() {
        let (mut linux, mut tcb) = testing::open("bbr");
        tcb.start_controller();
        tcb.snd.wnd = 1 << 20;
        for number in 1..=6 {
            linux.send_burst(&mut tcb, Burst { bytes: 2 * 1_448, fin: false }, 1_448);
            assert_eq!(tcb.pacer.departure() > tcb.now(), number >= 5, "burst {number}");
        }
    }

    #[test]
    fn with_a_full_congestion_window_both_paths_do_the_same() {
        let mut rng = Rng::stream(1, "full window");
        let mut full = 0;
        for _ in 0..1_000 {
            let cc = ["cubic", "reno", "bbr"][rng.below(3) as usize];
            let push = [Push::Pending, Push::All, Push::One][rng.below(3) as usize];
            let cwnd = 2 + rng.below(12);
            let (bytes, now) = (rng.below(20) * 1_000, Instant::from_millis(5 + rng.below(300)));
            let waiting = [None, Some(Bytes(rng.below(1 << 20)))][rng.below(2) as usize];
            let mut ends = [testing::open(cc), testing::open(cc)];
            for (linux, tcb) in &mut ends {
                tcb.start_controller();
                tcb.snd.wnd = 1 << 20;
                tcb.window.cwnd = cwnd;
                tcb.clock.set(Instant::from_millis(5));
                linux.write(tcb, cwnd * 1_448 + bytes);
                linux.write_xmit(tcb, Push::All);
                tcb.window.cwnd -= cwnd / 3;
                tcb.clock.set(now);
                if let Some(memory) = waiting {
                    linux.note_waiting(tcb, memory);
                }
            }
            let [(short, one), (long, other)] = &mut ends;
            if one.has_cwnd_space() {
                continue;
            }
            full += 1;
            assert_eq!(short.write_xmit(one, push), long.write_bursts(other, push, 0));
            assert_eq!(testing::state(short, one), testing::state(long, other));
        }
        assert!(full > 300, "{full} of 1000 windows were full");
    }

    /// Tests that a FIN without payload is no data segment. Linux calls `tcp_event_data_sent` and
    /// adds to `data_segs_out` only for an `skb` with payload.
    #[test]
    fn a_fin_without_payload_is_no_data_segment() {
        for (payload, is_data) in [(0, false), (1, true)] {
            let (mut linux, mut tcb) = testing::open("reno");
            linux.delack.start(&tcb);
            linux.enter_quick_ack(&tcb, 2);
            tcb.clock.now = Instant::from_millis(8);
            tcb.snd.extend(payload);
            tcb.snd.fin_wanted = true;
            linux.send_burst(&mut tcb, Burst { bytes: payload, fin: true }, 1_448);
            assert!(tcb.snd.fin_sent);
            assert_eq!(tcb.snd.last_sent == tcb.now(), is_data, "{payload} bytes: last_sent");
            // Data sent soon after data received ends quick acknowledgements.
            assert_eq!(linux.delack.is_urgent(), !is_data, "{payload} bytes: pingpong");
            let head = tcb.board.front_id().expect("the FIN is outstanding");
            tcb.clock.now = Instant::from_millis(12);
            assert!(linux.resend(&mut tcb, head));
            assert_eq!(tcb.snd.last_sent == tcb.now(), is_data, "{payload} bytes sent again");
        }
    }
}
