//! The steps of the handshake that are specific to Linux.
//!
//! Source: Linux 6.1 `tcp_rcv_synsent_state_process`, `tcp_rcv_state_process`, `tcp_check_req`,
//! `tcp_init_transfer`, `tcp_init_metrics`.
//!
//! Difference, pinned by a test: the initial window after lost SYN-ACKs is that of 6.1 for every
//! version of Linux.

use aqmlab_core::{Instant, TcpHeader};

use super::Linux;
use super::ack::{AckState, flag};
use crate::common::handshake::{Handshake, RepeatedSyn};
use crate::negotiated::DEFAULT_MSS;
use crate::segment::{SynKind, TCP_HEADER};
use crate::tcb::Tcb;

/// The lower limit in bytes of the segment size for a small window, with the TCP header and its
/// timestamps (`tcp_bound_to_half_wnd`).
const MIN_HALF_WINDOW: u32 = 68;

impl Linux {
    pub(crate) fn on_first_syn(&mut self, _tcb: &mut Tcb, _kind: SynKind) {}

    /// Returns the time for the timestamp of a SYN-ACK, which is the time at which it is sent.
    pub(crate) fn syn_ack_time(&self, _handshake: &Handshake, now: Instant) -> Instant {
        now
    }

    /// Returns the response to a repeated SYN: an answer, within the rate limit of challenge
    /// acknowledgements.
    pub(crate) fn on_repeated_syn(&mut self, tcb: &mut Tcb, _header: &TcpHeader) -> RepeatedSyn {
        if tcb.may_challenge() { RepeatedSyn::Answer } else { RepeatedSyn::Ignore }
    }

    pub(crate) fn on_syn_timeout(&mut self, tcb: &mut Tcb, _kind: SynKind, _retransmits: u32) {
        self.rtt.back_off(&mut tcb.rtt);
    }

    pub(crate) fn on_syn_ack(&mut self, _tcb: &mut Tcb, _header: &TcpHeader) {}

    pub(crate) fn on_handshake_ack(&mut self, tcb: &mut Tcb, header: &TcpHeader) {
        tcb.snd.wl1 = header.seq;
    }

    /// Prepares the transfer: takes the first round-trip sample, sets the sizes of segments,
    /// windows and buffers, and starts the congestion control (`tcp_init_transfer`).
    pub(crate) fn init_transfer(
        &mut self,
        tcb: &mut Tcb,
        header: &TcpHeader,
        handshake: &Handshake,
    ) {
        tcb.size_segments_within_half_window();
        self.measure_handshake(tcb, header, handshake);
        // The initial window is one segment after the second retransmission of a SYN or SYN-ACK,
        // unless repeated SYNs caused them all, or the peer's echo shows that they were spurious.
        let lost = handshake.retransmits() > 1
            && handshake.timeouts() > 0
            && !handshake.is_first_echoed(header);
        tcb.init_cwnd(if lost { 1 } else { tcb.profile.initial_window });
        tcb.start_controller();
        let space = self.rcv_window.init(tcb);
        self.autotune.start(space, tcb.rcv.nxt, tcb.clock.now);
        self.delack.start(tcb);
        self.init_sndbuf(tcb);
        self.usage.on_change(tcb.clock.now);
    }

    /// Takes the first round-trip sample, and sets the retransmission timeout. By Karn's algorithm,
    /// a retransmitted SYN gives no sample, unless the peer echoes a timestamp.
    fn measure_handshake(&mut self, tcb: &mut Tcb, header: &TcpHeader, handshake: &Handshake) {
        let direct = handshake.sample(tcb.now());
        let mut ack = AckState::new(tcb.snd.una, flag::SYN_ACKED);
        ack.cc_rtt = direct;
        self.update_rtt(tcb, header, direct, &mut ack);
        self.rtt.end_handshake(&mut tcb.rtt, tcb.profile.rto_fallback, &tcb.clock);
    }

    /// Records the delivery of the SYN for RACK, if the SYN was sent only once.
    pub(crate) fn on_active_open(&mut self, tcb: &mut Tcb, handshake: &Handshake) {
        if let Some(sent) = handshake.first_syn().filter(|_| handshake.retransmits() == 0) {
            self.rack.on_syn_delivered(tcb, sent);
        }
    }

    pub(crate) fn on_passive_open(&mut self, _tcb: &mut Tcb) {}
}

impl Tcb {
    /// Returns half of the largest window that the peer has offered, in bytes. A window of at most
    /// [`DEFAULT_MSS`] is not halved (`tcp_bound_to_half_wnd`).
    pub(super) fn half_window(&self) -> u64 {
        let window = self.snd.max_window;
        if window > u64::from(DEFAULT_MSS) { window / 2 } else { window }
    }

    /// Sets the size of a full-sized segment: at most half of the largest window, but at least
    /// [`MIN_HALF_WINDOW`] with the TCP header. A window of zero sets no limit.
    pub(super) fn size_segments_within_half_window(&mut self) {
        let half = self.half_window();
        let least = MIN_HALF_WINDOW - TCP_HEADER - self.options.fixed_len();
        let limit = half.max(u64::from(least)).min(u64::from(u32::MAX)) as u32;
        self.size_segments((half > 0).then_some(limit));
    }
}
