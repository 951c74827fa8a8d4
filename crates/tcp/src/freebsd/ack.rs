//! The processing of an acknowledgement, including the reduction after an ECN echo and the undoing
//! of spurious timeouts.
//!
//! Source: FreeBSD 10.4 `sys/netinet/tcp_input.c` (the case `TCPS_ESTABLISHED` of
//! `tcp_do_segment`).

use aqmlab_core::{Duration, TcpFlags, TcpHeader};

use super::FreeBsd;
use super::input::peer_window;
use crate::cc::{Ack, CcEvent, RateSample, Signal};
use crate::common::delivery_rate::PendingSample;
use crate::common::sack_report::OPTION_BLOCKS;
use crate::common::scoreboard::fresh_parts;
use crate::state::State;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;

impl FreeBsd {
    /// Processes the acknowledgement in `header`, which must not be beyond `snd_max`. The segment
    /// carries `len` bytes of new data. Returns whether output is due, or `None` if the segment
    /// needs no further processing.
    pub(super) fn process_ack(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        len: u64,
    ) -> Option<bool> {
        let prior = tcb.rate.delivered;
        let mut sample = PendingSample::new();
        let has_sacks = !(header.sack.is_empty() && self.holes.is_empty());
        let news = tcb.options.sack && has_sacks && self.process_sacks(tcb, header, &mut sample);
        if header.ack > tcb.snd.una {
            self.recovery.dup_acks = u32::from(news && tcb.profile.sack_news);
            return self.process_new_ack(tcb, header, &mut sample, prior);
        }
        let first_fin = header.flags.has(TcpFlags::FIN) && tcb.state.may_receive();
        let same = len == 0 && peer_window(tcb, header) == tcb.snd.wnd;
        if tcb.profile.sack_news {
            let is_duplicate = if tcb.options.sack { len == 0 && news } else { same };
            let counts = is_duplicate && header.ack == tcb.snd.una;
            let goes_on = !counts || self.process_duplicate(tcb, header.ack, first_fin);
            return goes_on.then_some(false);
        }
        if !same || first_fin {
            self.recovery.dup_acks = 0;
            return Some(false);
        }
        self.process_duplicate(tcb, header.ack, false).then_some(false)
    }

    /// Processes a segment that contains only an acknowledgement, outside recovery.
    pub(super) fn process_plain_ack(&mut self, tcb: &mut Tcb, header: &TcpHeader) {
        let prior = tcb.rate.delivered;
        let mut sample = PendingSample::new();
        let acked = header.ack - tcb.snd.una;
        self.check_spurious_timeout(tcb);
        let rtt = self.measure_rtt(tcb, header);
        remove_acknowledged(tcb, header.ack, &mut sample);
        self.control_congestion(tcb, header.ack, prior, rtt, &sample);
        tcb.stats.bytes_acked += acked;
        tcb.snd.una = header.ack;
        self.send_buffer.free(header.ack);
        self.wl2 = header.ack;
        self.recovery.dup_acks = 0;
        restart_timer(tcb, header.ack);
    }

    /// Handles an ECN echo: reduces the window at most once per round trip.
    pub(super) fn on_ecn_echo(&mut self, tcb: &mut Tcb) {
        if self.recovery.is_reduced() {
            return;
        }
        self.recovery.reduce(tcb.snd.max);
        tcb.ecn.cwr = true;
        tcb.stats.ece_reductions += 1;
        let ssthresh = tcb.reduced_ssthresh(Signal::EcnEcho);
        tcb.window.ssthresh = ssthresh;
        tcb.window.cwnd = ssthresh.max(tcb.window.segment);
    }

    /// Processes the selective acknowledgements. The holes are used to repair losses, and the
    /// scoreboard to sample delivery rates. Returns whether the holes count as changed
    /// (`sack_changed`).
    fn process_sacks(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        sample: &mut PendingSample,
    ) -> bool {
        let (cached, known) = tcb.board.cached_blocks();
        let (mut valid, mut count) = ([(0, 0); OPTION_BLOCKS], 0);
        for (start, end) in header.sack.iter(header.ack) {
            let above = start > tcb.snd.una && start > header.ack && start < end;
            if above && end <= tcb.snd.max && count < valid.len() {
                valid[count] = (start, end);
                count += 1;
                let visit = |from, to| mark_sacked(tcb, from, to, sample);
                fresh_parts(&cached[..known], start, end, visit);
            }
        }
        let news = self.holes.update(tcb.snd.una, header.ack, &valid[..count]);
        if count > 0 {
            valid[..count].sort_unstable();
            tcb.board.cache_blocks(valid, count);
        }
        news
    }

    /// Processes an acknowledgement of new data. Returns whether it covers all outstanding data, or
    /// `None` if the connection is then closed or in TIME-WAIT.
    fn process_new_ack(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        sample: &mut PendingSample,
        prior: u64,
    ) -> Option<bool> {
        let acked = header.ack - tcb.snd.una;
        if self.recovery.is_active() && header.ack < self.recovery.end {
            self.process_partial_ack(tcb, header.ack);
        } else if self.recovery.is_active() {
            self.leave_recovery(tcb, header.ack);
        }
        self.check_spurious_timeout(tcb);
        let rtt = self.measure_rtt(tcb, header);
        let all = header.ack == tcb.snd.max;
        restart_timer(tcb, header.ack);
        remove_acknowledged(tcb, header.ack, sample);
        self.control_congestion(tcb, header.ack, prior, rtt, sample);
        tcb.stats.bytes_acked += acked;
        let buffered = tcb.snd.buffered();
        tcb.snd.wnd = tcb.snd.wnd.saturating_sub(acked.min(buffered));
        let is_reduced = self.recovery.is_active() || self.recovery.is_reduced();
        if is_reduced && header.ack >= self.recovery.end && self.recovery.leave() {
            tcb.notify(CcEvent::RecoveryLeft);
        }
        tcb.snd.una = header.ack;
        self.send_buffer.free(header.ack);
        if tcb.options.sack {
            self.recovery.end = self.recovery.end.max(tcb.snd.una);
        }
        tcb.snd.nxt = tcb.snd.nxt.max(tcb.snd.una);
        if acked > buffered {
            self.on_fin_acknowledged(tcb);
        }
        let is_over = matches!(tcb.state, State::TimeWait | State::Closed);
        (!is_over).then_some(all)
    }

    /// Changes the state if the peer has acknowledged this end's FIN. Before TIME-WAIT, sends an
    /// acknowledgement that is due.
    fn on_fin_acknowledged(&mut self, tcb: &mut Tcb) {
        if tcb.snd.fin_sent && tcb.snd.unsent() == 0 {
            if tcb.state == State::Closing && self.owed_ack.now {
                self.send_last_ack(tcb);
            }
            tcb.on_fin_acknowledged();
            if tcb.state == State::TimeWait {
                self.receive_buffer.freeze(tcb.rcv.open());
            }
        }
    }

    /// Passes the acknowledgement to the congestion control. Outside recovery, the window may grow.
    #[expect(
        clippy::inline_always,
        reason = "every acknowledgement passes; a call costs 0.1 % of a run"
    )]
    #[inline(always)]
    pub(super) fn control_congestion(
        &mut self,
        tcb: &mut Tcb,
        ack: u64,
        prior: u64,
        rtt: Option<Duration>,
        sample: &PendingSample,
    ) {
        let is_reducing = self.recovery.is_active() || self.recovery.is_reduced();
        // The acknowledgement of the handshake covers no byte, but counts as one byte.
        let bytes = (ack - tcb.snd.una).max(1);
        let delivered = tcb.rate.delivered - prior;
        let (now, min_rtt) = (tcb.clock.now, tcb.rtt.min());
        let mss = tcb.window.segment;
        tcb.rate.on_ack(delivered, now);
        let flight = tcb.snd.max.saturating_sub(ack);
        let mut ack = Ack {
            now,
            acked: delivered * mss,
            bytes,
            in_flight: flight,
            until_departure: tcb.pacer.wait(now),
            rtt,
            srtt: tcb.rtt.srtt(),
            min_rtt,
            cwnd_limited: tcb.window.cwnd <= tcb.snd.wnd,
            snd_una: ack,
            snd_nxt: tcb.snd.nxt,
            rate: RateSample::default(),
        };
        tcb.cc.on_sample(&mut tcb.window, &ack);
        if tcb.controls_cwnd {
            let rate = tcb.rate.sample(sample, (delivered, 0), now, true, min_rtt);
            ack.rate = RateSample {
                delivered: rate.delivered * mss,
                prior_delivered: rate.prior_delivered * mss,
                total_delivered: rate.total_delivered * mss,
                acked_sacked: delivered * mss,
                ..rate
            };
            tcb.cc.control(&mut tcb.window, &ack, is_reducing);
        } else if !is_reducing {
            tcb.cc.on_ack(&mut tcb.window, &ack);
        }
    }

    /// Processes a partial acknowledgement. With SACK, sets the window to the data sent in this
    /// recovery plus one or two segments, at most the threshold, and sends. Without SACK,
    /// retransmits one segment and deflates the window.
    fn process_partial_ack(&mut self, tcb: &mut Tcb, ack: u64) {
        let (mss, acked) = (u64::from(tcb.window.mss), ack - tcb.snd.una);
        if Self::awaits_ack(tcb) {
            tcb.timers.stop_xmit();
        }
        self.timed = None;
        self.owed_ack.now = true;
        if tcb.options.sack {
            let segments = if acked / mss >= 2 { 2 } else { 1 };
            let new_data = tcb.snd.nxt.saturating_sub(self.recovery.new_data_from);
            let cwnd = self.holes.retransmitted + new_data + segments * mss;
            tcb.window.cwnd = cwnd.min(tcb.window.ssthresh);
            self.output(tcb);
            return;
        }
        let (nxt, cwnd) = (tcb.snd.nxt, tcb.window.cwnd);
        tcb.snd.nxt = ack;
        tcb.window.cwnd = mss + acked;
        self.output(tcb);
        tcb.snd.nxt = tcb.snd.nxt.max(nxt);
        tcb.window.cwnd = cwnd.saturating_sub(acked).saturating_add(mss);
    }

    /// Sets the window at the end of recovery. If little data is in flight, the window is limited
    /// to prevent a burst.
    fn leave_recovery(&mut self, tcb: &mut Tcb, ack: u64) {
        let flight = tcb.snd.max - ack;
        tcb.notify(CcEvent::RecoveryLeft);
        tcb.window.cwnd = if flight < tcb.window.ssthresh {
            flight + u64::from(tcb.window.mss)
        } else {
            tcb.cc.post_recovery_cwnd(&tcb.window)
        };
    }

    /// Undoes a timeout as spurious if no other timeout followed and if this acknowledgement
    /// arrives within half a smoothed round-trip time. Such an acknowledgement is for the original
    /// transmission.
    fn check_spurious_timeout(&mut self, tcb: &mut Tcb) {
        let Some(before) = self.before_timeout else { return };
        if self.shift == 1 && tcb.clock.jiffies() < before.until {
            self.before_timeout = None;
            tcb.window.cwnd = before.cwnd;
            tcb.window.ssthresh = before.ssthresh;
            self.recovery.restore(&before);
            tcb.snd.nxt = tcb.snd.max;
            tcb.stats.spurious_undos += 1;
            tcb.notify(CcEvent::Undone);
        }
    }
}

/// Restarts the retransmission timer for the data beyond `ack`, or stops it if there is no such
/// data. A running persist timer stays.
#[expect(
    clippy::inline_always,
    reason = "nearly all acknowledgements pass; a call costs 0.1 % of a run"
)]
#[inline(always)]
fn restart_timer(tcb: &mut Tcb, ack: u64) {
    if ack == tcb.snd.max {
        if tcb.timers.xmit == XmitTimer::Retransmit {
            tcb.timers.stop_xmit();
        }
    } else if tcb.timers.xmit != XmitTimer::Persist {
        tcb.arm_rto();
    }
}

/// Marks the segments that lie wholly in `[start, end)` as selectively acknowledged.
fn mark_sacked(tcb: &mut Tcb, start: u64, end: u64, sample: &mut PendingSample) {
    let mut id = tcb.board.id_of_block(start);
    while tcb.board.holds(id) {
        let sent = *tcb.board.get(id);
        if sent.seq >= end {
            break;
        }
        if sent.end() <= end && sent.seq >= start && !sent.is_sacked() {
            tcb.board.unmark_retransmitted(id);
            tcb.board.set_sacked(id);
            tcb.rate.delivered += 1;
            tcb.rate.on_delivered(tcb.board.get_mut(id), sample);
        }
        id += 1;
    }
}

/// Removes the segments below `ack` from the scoreboard, and counts as delivered those that were
/// not selectively acknowledged before.
#[expect(
    clippy::inline_always,
    reason = "every acknowledgement passes; a call costs 1 % of the instructions"
)]
#[inline(always)]
fn remove_acknowledged(tcb: &mut Tcb, ack: u64, sample: &mut PendingSample) {
    if let Some(acked) = tcb.board.originals(ack) {
        // Each of these segments was sent after the one before it, so the last alone determines the
        // sample.
        let mut last = acked.last;
        tcb.board.remove_originals(&acked);
        tcb.rate.delivered += u64::from(acked.packets);
        tcb.rate.on_delivered(&mut last, sample);
        return;
    }
    while let Some(front) = tcb.board.front() {
        if front.end() > ack {
            break;
        }
        let mut sent = *front;
        tcb.rate.delivered += u64::from(!sent.is_sacked());
        tcb.rate.on_delivered(&mut sent, sample);
        tcb.board.pop();
    }
}
