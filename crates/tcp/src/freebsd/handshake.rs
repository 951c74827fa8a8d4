//! The handshake: the parts that differ on FreeBSD.
//!
//! Sources: FreeBSD 10.4 `sys/netinet/tcp_syncache.c` (`syncache_add`, `syncache_respond`,
//! `syncache_socket`), `tcp_input.c` (`cc_conn_init`, `tcp_mss`), `tcp_timer.c`.

use aqmlab_core::{Instant, TcpFlags, TcpHeader};

use super::FreeBsd;
use crate::cc::Signal;
use crate::common::delivery_rate::PendingSample;
use crate::common::handshake::{Handshake, RepeatedSyn};
use crate::negotiated::{DEFAULT_MSS, MAX_WINDOW};
use crate::segment::SynKind;
use crate::tcb::Tcb;

impl FreeBsd {
    /// Sets the receive window and its scale for a SYN.
    pub(crate) fn init_receive_window(&mut self, tcb: &mut Tcb) {
        self.receive_buffer.offer(tcb);
    }

    /// Limits the offered window to `limit`.
    pub(crate) fn limit_window(&mut self, limit: u64) {
        self.receive_buffer.limit(limit);
    }

    pub(crate) fn on_first_syn(&mut self, tcb: &mut Tcb, kind: SynKind) {
        if kind == SynKind::Syn {
            self.receive_buffer.start_counting(tcb.clock.timestamp());
        }
    }

    /// Returns the time for the timestamp of a SYN-ACK. Every SYN-ACK carries the timestamp of the
    /// first SYN-ACK (`sc_ts`).
    pub(crate) fn syn_ack_time(&self, handshake: &Handshake, now: Instant) -> Instant {
        handshake.first_syn().unwrap_or(now)
    }

    /// Handles a repeated SYN as `syncache_add` does: stores its timestamp, answers it, and counts
    /// retransmissions from this answer on.
    pub(crate) fn on_repeated_syn(&mut self, tcb: &mut Tcb, header: &TcpHeader) -> RepeatedSyn {
        tcb.rcv.ts_recent = header.ts_val;
        RepeatedSyn::AnswerAnew
    }

    /// Handles the timeout of a SYN: notifies the congestion control, as other timeouts do, and
    /// sets the next timeout. The timeout of a SYN-ACK changes nothing.
    pub(crate) fn on_syn_timeout(&mut self, tcb: &mut Tcb, kind: SynKind, retransmits: u32) {
        if kind == SynKind::Syn {
            tcb.reduced_ssthresh(Signal::Rto);
            self.rtt.back_off_syn(&mut tcb.rtt, retransmits, &tcb.clock);
        }
    }

    pub(crate) fn on_syn_ack(&mut self, tcb: &mut Tcb, header: &TcpHeader) {
        tcb.snd.wl1 = header.seq + 1;
        self.wl2 = 1;
    }

    pub(crate) fn on_handshake_ack(&mut self, tcb: &mut Tcb, header: &TcpHeader) {
        tcb.snd.wl1 = header.seq.saturating_sub(1);
    }

    /// Prepares the transfer: takes the first round-trip sample, sets the sizes of segments,
    /// windows and buffers, and starts the congestion control. If the application has already
    /// closed, also changes the state.
    pub(crate) fn init_transfer(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        handshake: &Handshake,
    ) {
        tcb.size_segments(None);
        self.measure_handshake(tcb, header, handshake);
        Self::init_window(tcb, header, handshake);
        self.receive_buffer.init(tcb);
        self.send_buffer.init(&tcb.window);
        if tcb.snd.fin_wanted {
            tcb.close_half();
        }
    }

    pub(crate) fn on_active_open(&mut self, _tcb: &mut Tcb, _handshake: &Handshake) {}

    /// Counts the last acknowledgement of the handshake as an acknowledgement of one byte.
    pub(crate) fn on_passive_open(&mut self, tcb: &mut Tcb) {
        let window = tcb.snd.wnd;
        // Without window scaling, the peer's window is not yet known at this time.
        tcb.snd.wnd = if tcb.options.scaling { window } else { 0 };
        let delivered = tcb.rate.delivered;
        self.control_congestion(tcb, tcb.snd.una, delivered, None, &PendingSample::new());
        tcb.snd.wnd = window;
    }

    /// Takes the first round-trip sample from the timestamp or, without timestamps, from the SYN.
    /// The SYN-ACK gives no sample, because only the cache of half-open connections stores its
    /// time.
    fn measure_handshake(&mut self, tcb: &mut Tcb, header: &TcpHeader, handshake: &Handshake) {
        let is_active = header.flags.has(TcpFlags::SYN);
        self.last_received = tcb.clock.jiffies();
        if !is_active {
            tcb.rtt.rto = tcb.profile.rto_initial;
        }
        if let Some(ticks) = Self::echoed_ticks(tcb, header).filter(|_| tcb.options.timestamps) {
            self.add_sample(tcb, ticks, 1);
        } else if is_active && handshake.retransmits() > 0 {
            // The number of consecutive timeouts is not reset until there is a sample.
            self.shift = handshake.retransmits();
        } else if let Some(at) = handshake.first_syn().filter(|_| is_active) {
            let ticks = tcb.clock.jiffies() - tcb.clock.within(at.since(Instant::ZERO));
            self.add_sample(tcb, ticks, 0);
        }
    }

    /// Sets the initial window, which is one segment if a SYN-ACK was retransmitted. If a SYN was
    /// retransmitted, sets a low slow-start threshold. Starts the congestion control.
    fn init_window(tcb: &mut Tcb, header: &TcpHeader, handshake: &Handshake) {
        // `cc_cong_signal` overwrites the record of a lost SYN that `tcp_timer_rexmt` makes.
        let repeated = handshake.retransmits() > 0;
        let lost = repeated && !header.flags.has(TcpFlags::SYN);
        tcb.init_cwnd(if lost { 1 } else { tcb.profile.initial_window });
        tcb.window.clamp = MAX_WINDOW << tcb.options.snd_shift;
        if repeated && !lost {
            tcb.window.ssthresh = 2 * u64::from(DEFAULT_MSS);
        }
        tcb.start_controller();
    }
}
