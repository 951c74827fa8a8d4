//! The sending of segments.
//!
//! Source: FreeBSD 10.4 `sys/netinet/tcp_output.c` (`tcp_output`).

use std::ops::Range;

use aqmlab_core::TcpFlags;
use aqmlab_core::hint::rare;

use super::FreeBsd;
use super::sackholes::Hole;
use crate::cc::CcEvent;
use crate::common::scoreboard::{FIN, PUSH, Sent};
use crate::segment::Transmission;
use crate::state::State;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;

/// The segment that a pass of `tcp_output` may send.
#[derive(Clone, Copy, Debug)]
struct Plan {
    seq: u64,
    /// The distance of the segment from the first unacknowledged byte.
    offset: u64,
    len: u64,
    fin: bool,
    /// The smaller of the congestion window and the peer's window.
    window: u64,
    /// Whether the segment repairs a hole.
    repairs: bool,
}

impl FreeBsd {
    /// Sends the segments that are due. Holes come first, then the data that go-back-N sends again,
    /// then new data. Without data, sends an acknowledgement or a window update that is due.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 0.3 % of a run")]
    #[inline(always)]
    pub(super) fn output(&mut self, tcb: &mut Tcb) {
        if self.is_quiet(tcb) {
            self.output_quietly(tcb);
        } else {
            self.output_if(tcb, Force::No);
        }
    }

    /// Restarts the window of a quiet connection after an idle period. Sends an acknowledgement or
    /// a window update that is due.
    #[inline(never)]
    fn output_quietly(&mut self, tcb: &mut Tcb) {
        self.restart_after_idle(tcb);
        if self.send_buffer.is_full_if_empty() {
            rare();
            self.send_buffer.grow(&tcb.snd, tcb.snd.wnd.min(tcb.window.cwnd), &tcb.profile);
        }
        if self.owed_ack.now || self.is_window_update_due(tcb) {
            self.emit(tcb, (tcb.snd.max, 0), TcpFlags::default(), Transmission::Original);
        }
    }

    /// Returns whether no data is outstanding or waits to be sent, as at a receiver of bulk data.
    /// [`Self::output_if`] may then send only an acknowledgement or a window update.
    #[inline]
    fn is_quiet(&self, tcb: &Tcb) -> bool {
        let snd = &tcb.snd;
        tcb.state == State::Established
            && snd.una == snd.max
            && snd.nxt == snd.max
            && snd.buffered() == 0
            && !self.recovery.is_active()
    }

    /// Sends as [`Self::output`] does, but at least one byte into a closed window (`TF_FORCEDATA`).
    pub(super) fn output_forced(&mut self, tcb: &mut Tcb) {
        self.output_if(tcb, Force::Yes);
    }

    #[inline(never)]
    fn output_if(&mut self, tcb: &mut Tcb, force: Force) {
        if !tcb.state.is_synchronized() {
            return;
        }
        let idle = tcb.snd.max == tcb.snd.una;
        if idle {
            self.restart_after_idle(tcb);
        }
        if force == Force::No && self.is_plain(tcb) && !self.send_plain(tcb) {
            return;
        }
        while self.pass(tcb, idle, force) {}
    }

    /// Plans one segment, and sends it if it is due. Returns whether another segment may follow.
    pub(super) fn pass(&mut self, tcb: &mut Tcb, idle: bool, force: Force) -> bool {
        if tcb.options.sack && tcb.snd.nxt < tcb.snd.max {
            tcb.snd.nxt = self.holes.skip(tcb.snd.nxt);
        }
        let mut plan = self.plan(tcb, force);
        if plan.len == 0 {
            self.check_closed_window(tcb, plan);
            plan.seq = if plan.repairs { plan.seq } else { tcb.snd.nxt };
        } else if !self.is_newreno_repair(tcb, plan) && tcb.is_paced() {
            (plan.len, plan.repairs) = (0, false);
            if !self.owed_ack.now {
                arm_if_outstanding(tcb);
                return false;
            }
        }
        self.send_buffer.grow(&tcb.snd, plan.window, &tcb.profile);
        plan.fin &= plan.seq + plan.len >= tcb.snd.una + tcb.snd.buffered();
        if self.is_due(tcb, plan, idle, force) {
            return self.transmit(tcb, plan, force);
        }
        self.arm_if_waiting(tcb);
        false
    }

    /// Returns whether `plan` is a retransmission of NewReno's recovery, which retransmits one
    /// segment at a time. Pacing does not delay such a segment, because no later event would send
    /// it.
    fn is_newreno_repair(&self, tcb: &Tcb, plan: Plan) -> bool {
        !tcb.options.sack && self.recovery.is_active() && plan.seq < tcb.snd.max
    }

    /// Returns the next segment to send: the repair of a hole, or the data that the windows allow.
    /// With `force`, one byte may be sent into a closed window.
    fn plan(&mut self, tcb: &mut Tcb, force: Force) -> Plan {
        let snd = &tcb.snd;
        let (buffered, cwnd) = (snd.buffered(), tcb.window.cwnd);
        let mut plan = Plan {
            seq: snd.nxt,
            offset: snd.nxt - snd.una,
            len: 0,
            fin: has_fin(tcb.state),
            window: snd.wnd.min(cwnd),
            repairs: false,
        };
        let mut retransmitted = 0;
        if tcb.options.sack && self.recovery.is_active() {
            retransmitted = self.holes.retransmitted;
            if let Some(hole) = self.holes.next() {
                // The subtraction is unsigned. If more was retransmitted than the window allows, it
                // wraps to a large number, and the window does not limit the repair.
                let space = plan.window.checked_sub(retransmitted).unwrap_or(u64::MAX);
                self.plan_repair(tcb, &mut plan, hole, space);
            }
        }
        if plan.repairs {
            return plan;
        }
        if force == Force::Yes {
            if plan.window == 0 {
                plan.fin &= plan.offset >= buffered;
                plan.window = 1;
            } else {
                self.leave_persist(tcb);
            }
        }
        plan.len = if retransmitted == 0 {
            buffered.min(plan.window).saturating_sub(plan.offset)
        } else {
            let snd = &tcb.snd;
            let sent = (snd.nxt - self.recovery.new_data_from.min(snd.nxt)) + retransmitted;
            let space = buffered.min(snd.wnd).saturating_sub(plan.offset);
            space.min(cwnd.saturating_sub(sent))
        };
        plan
    }

    /// Plans the repair of `hole`, up to the end of the recovery and within `space` bytes.
    fn plan_repair(&self, tcb: &Tcb, plan: &mut Plan, hole: Hole, space: u64) {
        let end = hole.end.min(self.recovery.end);
        if hole.next >= end {
            return;
        }
        plan.len = space.min(end - hole.next);
        plan.offset = hole.next - tcb.snd.una;
        plan.repairs = plan.len > 0;
        if plan.repairs {
            plan.seq = hole.next;
        }
    }

    /// Starts to probe the peer's window if nothing may be sent because the window is closed.
    fn check_closed_window(&mut self, tcb: &mut Tcb, plan: Plan) {
        if plan.window == 0 && plan.offset < tcb.snd.buffered() {
            if tcb.timers.xmit == XmitTimer::Retransmit {
                tcb.timers.stop_xmit();
            }
            self.shift = 0;
            tcb.snd.nxt = tcb.snd.una;
            if tcb.timers.xmit != XmitTimer::Persist {
                self.arm_persist(tcb);
            }
        }
    }

    /// Returns whether to send `plan`: data that neither Nagle's rule nor silly window avoidance
    /// delays, a FIN, an acknowledgement or a window update.
    fn is_due(&self, tcb: &Tcb, plan: Plan, idle: bool, force: Force) -> bool {
        let (snd, mss) = (&tcb.snd, u64::from(tcb.window.mss));
        let sends_data = plan.len >= mss
            || ((idle || tcb.nodelay) && plan.len + plan.offset >= snd.buffered())
            || force == Force::Yes
            || (plan.len >= snd.max_window / 2 && snd.max_window > 0)
            || snd.nxt < snd.max
            || plan.repairs;
        if plan.len > 0 && sends_data {
            return true;
        }
        let fin = plan.fin && (!snd.fin_sent || snd.nxt == snd.una);
        self.owed_ack.now || fin || self.is_window_update_due(tcb)
    }

    /// Sends the planned data, limited to one segment. Returns whether to continue.
    fn transmit(&mut self, tcb: &mut Tcb, mut plan: Plan, force: Force) -> bool {
        let space = u64::from(tcb.current_mss());
        let mut more = plan.repairs;
        if plan.len > space {
            plan.fin = false;
            plan.len = space;
            more = true;
        }
        if plan.fin && tcb.snd.fin_sent && tcb.snd.nxt == tcb.snd.max {
            tcb.snd.nxt -= 1;
        }
        let in_persist = tcb.timers.xmit == XmitTimer::Persist;
        let seq = if plan.repairs {
            plan.seq
        } else if plan.len > 0 || plan.fin || in_persist {
            tcb.snd.nxt
        } else {
            tcb.snd.max
        };
        self.send_planned(tcb, seq, plan);
        record_sent(tcb, seq, plan);
        if force == Force::Yes && in_persist {
            tcb.snd.max = tcb.snd.max.max(seq + plan.len);
        } else {
            self.advance(tcb, seq, plan);
        }
        tcb.snd.fin_sent |= plan.fin;
        more
    }

    #[expect(
        clippy::inline_always,
        reason = "every segment passes; a call costs 1 % of the instructions"
    )]
    #[inline(always)]
    fn send_planned(&mut self, tcb: &mut Tcb, seq: u64, plan: Plan) {
        let mut control = TcpFlags::default();
        if plan.fin {
            control = control.with(TcpFlags::FIN);
        }
        if plan.len > 0 && plan.offset + plan.len == tcb.snd.buffered() {
            control = control.with(TcpFlags::PSH);
        }
        if plan.len > 0 {
            tcb.on_data_sent();
            tcb.pace(plan.len);
        }
        let repeats = (plan.len > 0 || plan.fin) && seq < tcb.snd.max;
        let transmission = Transmission::repeated_if(repeats);
        self.emit(tcb, (seq, plan.len as u32), control, transmission);
    }

    /// Advances `snd_nxt`, or the hole that was repaired, over the segment that was sent. Sets the
    /// timer.
    fn advance(&mut self, tcb: &mut Tcb, seq: u64, plan: Plan) {
        let start = tcb.snd.nxt;
        tcb.snd.nxt += u64::from(plan.fin);
        if plan.repairs {
            self.holes.on_retransmitted(seq + plan.len);
        } else {
            tcb.snd.nxt += plan.len;
            if tcb.snd.nxt > tcb.snd.max {
                tcb.snd.max = tcb.snd.nxt;
                self.timed.get_or_insert((tcb.clock.jiffies(), start));
            }
        }
        let snd = &tcb.snd;
        let out = (plan.repairs && snd.nxt != snd.max) || snd.nxt != snd.una;
        if tcb.timers.xmit != XmitTimer::Retransmit && out {
            self.leave_persist(tcb);
            tcb.arm_rto();
        } else if plan.len == 0 && snd.buffered() > 0 && tcb.timers.xmit == XmitTimer::Off {
            self.shift = 0;
            self.arm_persist(tcb);
        }
    }

    /// Stops the persist timer, if it runs, because the window allows data again.
    pub(super) fn leave_persist(&mut self, tcb: &mut Tcb) {
        if tcb.timers.xmit == XmitTimer::Persist {
            tcb.timers.stop_xmit();
            self.shift = 0;
        }
    }

    /// If the transmission timer is off, sets it: with SACK, to retransmit outstanding data, and
    /// otherwise to probe the window for data in the buffer.
    fn arm_if_waiting(&mut self, tcb: &mut Tcb) {
        if tcb.timers.xmit != XmitTimer::Off {
            return;
        }
        if tcb.options.sack && tcb.snd.max > tcb.snd.una {
            tcb.arm_rto();
        } else if tcb.snd.buffered() > 0 {
            self.shift = 0;
            self.arm_persist(tcb);
        }
    }

    /// Reduces the window to the restart window if no segment of the peer has arrived for the
    /// length of a timeout.
    #[inline]
    fn restart_after_idle(&mut self, tcb: &mut Tcb) {
        let idle = tcb.clock.jiffies() - self.last_received;
        // A timeout takes at least one tick, and most calls follow a segment in the same tick.
        if idle > 0 && tcb.profile.slow_start_after_idle && idle >= tcb.clock.covering(tcb.rtt.rto)
        {
            restart(tcb);
        }
    }
}

/// Reduces the window to the restart window, and notifies the congestion control.
#[cold]
fn restart(tcb: &mut Tcb) {
    let restart = tcb.capped(tcb.profile.restart_window, tcb.profile.restart_window_bytes);
    tcb.notify(CcEvent::IdleRestart);
    tcb.window.cwnd = tcb.window.cwnd.min(restart.max(tcb.window.segment));
}

/// Whether output must send a byte into a closed window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Force {
    No,
    Yes,
}

/// Returns whether a FIN follows the data, or has been sent and is unacknowledged.
const fn has_fin(state: State) -> bool {
    matches!(state, State::FinWait1 | State::Closing | State::LastAck)
}

/// Sets the retransmission timer if data is outstanding and no transmission timer runs, because
/// pacing delays the next segment.
fn arm_if_outstanding(tcb: &mut Tcb) {
    if tcb.timers.xmit == XmitTimer::Off && tcb.snd.max > tcb.snd.una {
        tcb.arm_rto();
    }
}

/// Records a transmission in the scoreboard, from which delivery rates are sampled.
#[expect(
    clippy::inline_always,
    reason = "every segment passes; a call costs 1 % of the instructions"
)]
#[inline(always)]
fn record_sent(tcb: &mut Tcb, seq: u64, plan: Plan) {
    let (data, max) = (seq + plan.len, tcb.snd.max);
    if plan.len > 0 && seq < max {
        record_repeated(tcb, seq..data.min(max), plan.repairs);
    }
    let end = data + u64::from(plan.fin);
    if end <= max {
        return;
    }
    let nothing_out = tcb.board.is_empty();
    let from = seq.max(max).min(data);
    let tags = if plan.fin { FIN } else { 0 } | if plan.len > 0 { PUSH } else { 0 };
    let mut sent = Sent::new(from, (data - from) as u32, tags);
    sent.sent_at = tcb.clock.now;
    tcb.rate.on_sent(&mut sent, nothing_out);
    tcb.board.push(sent);
}

/// Records a retransmission of the segments in `bytes`. If it `repairs` a hole, marks the segments
/// as retransmitted.
#[cold]
fn record_repeated(tcb: &mut Tcb, bytes: Range<u64>, repairs: bool) {
    let now = tcb.now();
    for id in tcb.board.id_at(bytes.start)..tcb.board.id_at(bytes.end) {
        if repairs {
            tcb.board.mark_retransmitted(id);
        }
        tcb.rate.on_sent(tcb.board.resend(id, now), false);
    }
}
