//! The processing of an acknowledgement.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_ack` and its callees).

mod state;

use aqmlab_core::hint::rare;
use aqmlab_core::{Ecn, TcpHeader};

pub(super) use state::{AckState, Rexmit, flag};

use super::Linux;
use super::ecn::report_totals;
use super::feedback::Prior;
use crate::cc::{Ack, RateSample};
use crate::common::scoreboard::Originals;
use crate::state::CaState;
use crate::tcb::Tcb;

impl Linux {
    /// Processes the acknowledgement of a segment. Returns whether to process the rest of the
    /// segment.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(super) fn process_ack(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) -> bool {
        if header.flags.has_any(tcb.ecn.attention) {
            rare();
            self.process_ecn_bits(tcb, header, ecn);
        }
        if header.ack > tcb.snd.max {
            rare();
            return false;
        }
        if header.ack < tcb.snd.una {
            rare();
            // RFC 5961 §5.2: an acknowledgement number below SND.UNA − MAX.SND.WND is not
            // acceptable.
            if header.ack + tcb.snd.max_window < tcb.snd.una {
                if tcb.may_challenge() {
                    self.send_ack(tcb);
                }
                return false;
            }
            self.process_old_ack(tcb, header);
            return true;
        }
        if is_without_news(tcb, header) && !self.tlp.is_in_flight() {
            // Most such segments are the next data of a receiver, which `receive_next` processes.
            rare();
            self.update_send_window(tcb, header);
            if tcb.snd.has_unsent() {
                self.process_probe_ack(tcb);
            }
        } else if let Some(acked) = self.plainly_acked(tcb, header) {
            self.process_plain_ack(tcb, header, &acked);
        } else {
            rare();
            self.process_current_ack(tcb, header);
        }
        if tcb.snd.fin_sent {
            rare();
            tcb.on_fin_acknowledged();
        }
        true
    }

    /// Returns the segments that an acknowledgement covers, or `None` if it is not plain. A plain
    /// acknowledgement is cumulative, and nothing suggests a loss, reordering or congestion. Nearly
    /// all acknowledgements of a transfer are plain.
    ///
    /// [`Self::process_plain_ack`] and `remove_originals` repeat a part of
    /// [`Self::process_current_ack`] and `clean_rtx_queue`. A new feature of acknowledgements must
    /// be added to both, or must make this function return `None`. `attention` is ACK if the
    /// controller gets feedback (BBRv3) or if ECN counts marks (AccECN), so such acknowledgements
    /// are never plain.
    #[expect(
        clippy::inline_always,
        reason = "nearly every acknowledgement passes; a call costs 1 % of a run"
    )]
    #[inline(always)]
    fn plainly_acked(&self, tcb: &Tcb, header: &TcpHeader) -> Option<Originals> {
        if !header.sack.is_empty() {
            rare();
            return None;
        }
        let is_plain = !header.flags.has_any(tcb.ecn.attention)
            && tcb.options.sack
            && tcb.board.is_untagged()
            && self.recovery.ca() == CaState::Open
            && !self.tlp.is_in_flight();
        if is_plain { tcb.board.originals(header.ack) } else { None }
    }

    /// Processes a plain acknowledgement. Does the part of [`Self::process_current_ack`] that plain
    /// acknowledgements need.
    #[expect(
        clippy::inline_always,
        reason = "nearly every acknowledgement passes; a call costs 1 % of a run"
    )]
    #[inline(always)]
    fn process_plain_ack(&mut self, tcb: &mut Tcb, header: &TcpHeader, acked: &Originals) {
        let mut ack = AckState::new(tcb.snd.una, flag::SND_UNA_ADVANCED);
        self.recovery.clear_retransmits();
        self.update_send_window(tcb, header);
        tcb.stats.bytes_acked += header.ack - tcb.snd.una;
        tcb.snd.una = header.ack;
        let mut sample = self.remove_originals(tcb, header, acked, &mut ack);
        self.rack.update_window(ack.rate.prior_delivered, tcb.rate.delivered);
        if !self.postpone_loss_probe(tcb) {
            self.set_xmit_timer(tcb);
        }
        let counts = (u64::from(acked.packets), 0);
        self.control_congestion(tcb, &ack, &mut sample, counts, !self.recovery.is_reneging());
    }

    /// Processes an acknowledgement that is not older than `snd_una`.
    #[inline(never)]
    fn process_current_ack(&mut self, tcb: &mut Tcb, header: &TcpHeader) {
        let mut ack = AckState::new(tcb.snd.una, 0);
        let (prior_packets, prior_in_flight) = (tcb.board.packets_out(), tcb.board.in_flight());
        let prior_ce = tcb.ecn.delivered_ce;
        let (prior_delivered, prior_lost) = (tcb.rate.delivered, tcb.rate.lost);
        let prior_fack = tcb.board.highest_sack(tcb.snd.una);
        let is_reneging = self.recovery.is_reneging();
        if header.ack > tcb.snd.una {
            ack.set(flag::SND_UNA_ADVANCED);
            self.recovery.clear_retransmits();
        }
        if header.payload > 0 {
            ack.set(flag::DATA);
        }
        if self.update_send_window(tcb, header) {
            ack.set(flag::WIN_UPDATE);
        }
        tcb.stats.bytes_acked += header.ack - tcb.snd.una;
        tcb.snd.una = header.ack;
        self.process_sacks(tcb, header, &mut ack);
        tcb.rate.delivered += ack.sack_delivered;
        if tcb.options.ecn {
            self.note_echo(tcb, header, &mut ack);
        }
        if prior_packets == 0 {
            if tcb.options.ecn && !tcb.ecn.is_accurate() {
                report_totals(tcb);
            }
            self.process_ack_without_queue(tcb, header, &mut ack);
            return;
        }
        let mut sample = self.clean_rtx_queue(tcb, header, prior_fack, &mut ack);
        self.rack.update_window(ack.rate.prior_delivered, tcb.rate.delivered);
        if tcb.options.ecn {
            self.count_marks(tcb, header, &mut ack, tcb.rate.delivered - prior_delivered);
        }
        let mut acks_probe = false;
        if self.tlp.is_in_flight() {
            acks_probe = self.process_tlp_ack(tcb, header.ack, &ack);
        }
        let rexmit = self.alert_and_set_timer(tcb, header, &mut ack);
        let counts = (tcb.rate.delivered - prior_delivered, tcb.rate.lost - prior_lost);
        if tcb.tx_records.are_kept {
            let prior = Prior { in_flight: prior_in_flight, delivered_ce: prior_ce };
            self.give_feedback(tcb, &ack, prior, acks_probe && !is_reneging);
        }
        sample.in_flight = tcb.units(u64::from(tcb.board.in_flight()));
        self.control_congestion(tcb, &ack, &mut sample, counts, !is_reneging);
        if tcb.tx_records.are_kept && tcb.cc.limits_samples() {
            tcb.rate.app_limited = (tcb.rate.delivered + u64::from(tcb.board.in_flight())).max(1);
        }
        self.xmit_recovery(tcb, rexmit);
    }

    /// Runs the congestion state machine if the acknowledgement needs it, and sets the transmission
    /// timer if it must be set again. Returns the segments to send.
    #[inline]
    fn alert_and_set_timer(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        ack: &mut AckState,
    ) -> Rexmit {
        let is_dubious = self.is_dubious(ack);
        let mut rexmit = Rexmit::None;
        if is_dubious {
            let is_duplicate =
                !ack.has(flag::SND_UNA_ADVANCED | flag::NOT_DUP | flag::DSACKING_ACK);
            tcb.stats.dup_acks += u64::from(is_duplicate);
            rexmit = self.fastretrans_alert(tcb, header, ack, is_duplicate);
        }
        if ack.has(flag::SET_XMIT_TIMER) && (is_dubious || !self.postpone_loss_probe(tcb)) {
            self.set_xmit_timer(tcb);
        }
        rexmit
    }

    /// Processes an acknowledgement older than `snd_una`, whose SACK blocks may be new.
    fn process_old_ack(&mut self, tcb: &mut Tcb, header: &TcpHeader) {
        if header.sack.is_empty() || !tcb.options.sack {
            return;
        }
        let mut ack = AckState::new(tcb.snd.una, 0);
        self.process_sacks(tcb, header, &mut ack);
        // `tcp_ack` counts delivered segments only before its label `old_ack`.
        let rexmit = self.fastretrans_alert(tcb, header, &mut ack, false);
        self.xmit_recovery(tcb, rexmit);
    }

    #[inline]
    fn process_sacks(&mut self, tcb: &mut Tcb, header: &TcpHeader, ack: &mut AckState) {
        if !header.sack.is_empty() && tcb.options.sack {
            self.tag_sacked(tcb, header, ack);
        }
    }

    /// Returns whether the acknowledgement needs the congestion state machine
    /// (`tcp_ack_is_dubious`).
    #[inline]
    fn is_dubious(&self, ack: &AckState) -> bool {
        !ack.has(flag::NOT_DUP) || ack.has(flag::CA_ALERT) || self.recovery.ca() != CaState::Open
    }

    /// Processes an acknowledgement while nothing is outstanding. Such an acknowledgement can only
    /// open the window, or show that retransmissions were unnecessary.
    fn process_ack_without_queue(&mut self, tcb: &mut Tcb, header: &TcpHeader, ack: &mut AckState) {
        if ack.has(flag::DSACKING_ACK) {
            self.fastretrans_alert(tcb, header, ack, false);
        }
        self.process_probe_ack(tcb);
        if self.tlp.is_in_flight() {
            self.process_tlp_ack(tcb, tcb.snd.una, ack);
        }
    }

    /// Completes the sample of an acknowledgement, which has the amount outstanding after loss
    /// detection, and sets the congestion window (`tcp_cong_control`).
    #[expect(clippy::inline_always, reason = "keeps the state of an acknowledgement in registers")]
    #[inline(always)]
    fn control_congestion(
        &mut self,
        tcb: &mut Tcb,
        ack: &AckState,
        sample: &mut Ack,
        (delivered, lost): (u64, u64),
        is_valid: bool,
    ) {
        let now = tcb.clock.now;
        tcb.rate.on_ack(delivered, now);
        sample.acked = tcb.units(delivered);
        sample.cwnd_limited = self.usage.may_grow(tcb);
        if tcb.controls_cwnd {
            rare();
            let (counts, min_rtt) = ((delivered, lost), tcb.rtt.min());
            sample.rate = tcb.rate.sample(&ack.rate, counts, now, is_valid, min_rtt);
            if tcb.window.segment != 1 {
                scale_rate(&mut sample.rate, tcb.window.segment);
            }
            let in_recovery = self.recovery.ca() >= CaState::Recovery;
            tcb.cc.control(&mut tcb.window, sample, in_recovery);
        } else if self.recovery.ca().is_reducing() {
            rare();
            self.reduce_cwnd(tcb, delivered, lost, ack.has(flag::SND_UNA_ADVANCED));
        } else if self.may_raise_cwnd(ack) {
            tcb.cc.on_ack(&mut tcb.window, sample);
            self.usage.on_change(now);
        }
    }

    /// Returns whether the congestion window may grow. The data must be delivered in order, unless
    /// the degree of reordering has grown (`tcp_may_raise_cwnd`).
    #[inline]
    fn may_raise_cwnd(&self, ack: &AckState) -> bool {
        let needed =
            if self.reordering.has_grown() { flag::FORWARD_PROGRESS } else { flag::DATA_ACKED };
        ack.has(needed)
    }

    /// Returns the sample for the controller, before loss detection.
    #[inline]
    pub(super) fn ack_sample(&self, tcb: &Tcb, ack: &AckState) -> Ack {
        Ack {
            now: tcb.clock.now,
            acked: 0,
            bytes: ack.acked_bytes,
            in_flight: tcb.units(u64::from(tcb.board.in_flight())),
            until_departure: tcb.pacer.wait(tcb.clock.now),
            rtt: ack.cc_rtt,
            srtt: tcb.rtt.srtt(),
            min_rtt: tcb.rtt.min(),
            cwnd_limited: self.usage.may_grow(tcb),
            snd_una: tcb.snd.una,
            snd_nxt: tcb.snd.nxt,
            rate: RateSample::default(),
        }
    }

    /// Updates the send window from a segment, unless the segment is older than the segment that
    /// last updated the window (RFC 9293 §3.10.7.4; `tcp_ack_update_window`). Returns whether the
    /// segment was recent enough.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(super) fn update_send_window(&mut self, tcb: &mut Tcb, header: &TcpHeader) -> bool {
        let window = u64::from(header.window);
        let snd = &mut tcb.snd;
        let newer = (header.ack > snd.una)
            | (header.seq > snd.wl1)
            | ((header.seq == snd.wl1) & (window > snd.wnd));
        if !newer {
            rare();
            return false;
        }
        snd.wl1 = header.seq;
        if snd.wnd != window {
            rare();
            snd.wnd = window;
            if window > snd.max_window {
                rare();
                let was_bound = snd.max_window / 2 <= u64::from(tcb.window.mss);
                snd.max_window = window;
                if was_bound {
                    tcb.size_segments_within_half_window();
                }
            }
            if tcb.snd.unsent() > 0 && tcb.board.is_empty() {
                self.restart_after_idle(tcb);
            }
        }
        true
    }
}

/// Returns whether nothing is outstanding and the segment acknowledges nothing new, as with every
/// segment at a receiver of bulk data. For such a segment, [`Linux::process_current_ack`] would
/// only update the window and the probes of a closed window.
#[inline]
pub(super) fn is_without_news(tcb: &Tcb, header: &TcpHeader) -> bool {
    header.ack == tcb.snd.una && tcb.board.is_empty() && header.sack.is_empty()
}

/// Converts a rate sample from segments to the unit of the window.
fn scale_rate(rate: &mut RateSample, segment: u64) {
    for count in [
        &mut rate.delivered,
        &mut rate.prior_delivered,
        &mut rate.total_delivered,
        &mut rate.losses,
        &mut rate.total_lost,
        &mut rate.acked_sacked,
    ] {
        *count *= segment;
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Instant, Rng, TcpFlags};

    use super::*;
    use crate::common::scoreboard::{EVER_RETRANS, Sent};
    use crate::linux::testing;

    #[test]
    fn a_plain_acknowledgement_does_the_same_on_both_paths() {
        let mut rng = Rng::stream(1, "plain");
        let mut plain = 0;
        for _ in 0..2_000 {
            let cc = ["cubic", "reno", "bbr", "prague", "compound"][rng.below(5) as usize];
            let mut ends = [testing::open(cc), testing::open(cc)];
            let ecn = rng.below(2) == 0;
            let fin = rng.below(4) == 0;
            let (segments, now) = (1 + rng.below(5), Instant::from_millis(100 + rng.below(50)));
            let flags = if rng.below(4) == 0 { EVER_RETRANS } else { 0 };
            let mut times: Vec<_> =
                (0..segments).map(|_| Instant::from_millis(rng.below(90))).collect();
            times.sort();
            let header = TcpHeader {
                ack: 1 + rng.below(segments + 1) * 1_000 + rng.below(2) * 500,
                window: rng.below(3) as u32 * 10_000,
                payload: rng.below(2) as u32 * 100,
                timestamps: rng.below(2) == 0,
                ts_ecr: 1_000 + rng.below(100) as u32,
                flags: TcpFlags::ACK,
                ..TcpHeader::default()
            };
            let (is_unlimited, mss) = (rng.below(2) == 0, 1_000 + rng.below(2) as u32 * 448);
            for (linux, tcb) in &mut ends {
                tcb.window.mss = mss;
                tcb.options.ecn = ecn;
                tcb.note_controls();
                tcb.snd.fin_sent = fin;
                for (nth, sent) in times.iter().enumerate() {
                    tcb.clock.set(*sent);
                    let flags = if nth == 0 { flags } else { 0 };
                    let mut segment = Sent::new(tcb.snd.nxt, 1_000, flags);
                    segment.sent_at = *sent;
                    tcb.rate.on_sent(&mut segment, tcb.board.is_empty());
                    tcb.board.push(segment);
                    (tcb.snd.nxt, tcb.snd.max) = (segment.end(), segment.end());
                    linux.sndbuf.on_sent(segment.end());
                }
                tcb.writer.is_unlimited = is_unlimited;
                tcb.clock.set(now);
            }
            let [(short, one), (long, other)] = &mut ends;
            let Some(acked) = short.plainly_acked(one, &header) else { continue };
            plain += 1;
            short.process_plain_ack(one, &header, &acked);
            long.process_current_ack(other, &header);
            assert_eq!(testing::state(short, one), testing::state(long, other), "{header:?}");
        }
        assert!(plain > 500, "{plain} of 2000 were plain");
    }

    /// `tcp_ack` does not count what the blocks of an old acknowledgement report as delivered.
    #[test]
    fn the_blocks_of_an_old_acknowledgement_do_not_count_as_delivered() {
        let (mut linux, mut tcb) = testing::open("reno");
        testing::send(&mut tcb, 4);
        (tcb.snd.wnd, tcb.snd.max_window) = (60_000, 60_000);
        let acked = |ack| TcpHeader { ack, window: 60_000, ..TcpHeader::default() };
        linux.process_ack(&mut tcb, &acked(1 + 1_448), Ecn::NotEct);
        let delivered = tcb.rate.delivered;
        let mut old = acked(1);
        old.sack.push(1, 1 + 2 * 1_448, 1 + 3 * 1_448);
        linux.process_ack(&mut tcb, &old, Ecn::NotEct);
        assert_eq!((tcb.board.sacked_out(), tcb.rate.delivered), (1, delivered));
    }

    #[test]
    fn an_acknowledgement_without_news_does_the_same_on_both_paths() {
        let mut rng = Rng::stream(1, "short way");
        for _ in 0..2_000 {
            let mut ends = [testing::open("reno"), testing::open("reno")];
            let mut header = TcpHeader::default();
            let (una, wl1, window) = (1 + rng.below(3), rng.below(3), rng.below(3));
            (header.ack, header.seq, header.payload) = (una, rng.below(3), rng.below(2) as u32);
            header.window = rng.below(3) as u32 * 1_000;
            let ece = if rng.below(2) == 0 { TcpFlags::ECE } else { TcpFlags::default() };
            header.flags = TcpFlags::ACK.with(ece);
            let (unlimited, ecn) = (rng.below(2) == 0, rng.below(2) == 0);
            for (_, tcb) in &mut ends {
                tcb.options.ecn = ecn;
                (tcb.snd.una, tcb.snd.nxt, tcb.snd.max) = (una, una, una);
                (tcb.snd.wl1, tcb.snd.wnd) = (wl1, window * 1_000);
                tcb.writer.is_unlimited = unlimited;
                tcb.clock.set(Instant::from_millis(5));
            }
            let [(short, one), (long, other)] = &mut ends;
            assert!(is_without_news(one, &header));
            short.process_ack(one, &header, Ecn::NotEct);
            long.process_current_ack(other, &header);
            other.on_fin_acknowledged();
            assert_eq!(testing::state(short, one), testing::state(long, other), "{header:?}");
        }
    }
}
