//! The handshake that opens a connection.
//!
//! Sources: RFC 9293 §3.5, RFC 7323 §2 and §3, RFC 3168 §6.1.1; Linux 6.1
//! `tcp_rcv_synsent_state_process`, `tcp_check_req`; FreeBSD 10.4 `tcp_syncache.c`.
//!
//! Differences, pinned by tests: a host offers the segment size of its MTU even if the MTU is below
//! 296 bytes. Linux offers at least 256 bytes (`ipv4_default_advmss`). A FreeBSD host accepts an
//! offer of 48 bytes. FreeBSD replaces an offer below 216 bytes by 216 (`net.inet.tcp.minmss`).

use aqmlab_core::{Duration, Ecn, Instant, TcpFlags, TcpHeader};

use super::clock::Clock;
use crate::connection::Connection;
use crate::negotiated::{DEFAULT_MSS, LEAST_MSS, MAX_SHIFT, MAX_WINDOW, NO_SCALE};
use crate::segment::{SynKind, Transmission};
use crate::state::State;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;

/// The state of a handshake.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    /// The time of the first SYN or SYN-ACK, once it was sent.
    first_syn: Option<Instant>,
    /// The number of retransmissions of the SYN or SYN-ACK (`num_retrans`).
    retransmits: u32,
    /// The number of retransmissions that the timer caused (`num_timeout`). The others answered
    /// repeated SYNs.
    timeouts: u32,
}

impl Handshake {
    pub(crate) const fn retransmits(&self) -> u32 {
        self.retransmits
    }

    pub(crate) const fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Returns the time of the first SYN or SYN-ACK, if one was sent.
    pub(crate) const fn first_syn(&self) -> Option<Instant> {
        self.first_syn
    }

    /// Returns the time since the first SYN or SYN-ACK as a round-trip sample, or `None` after a
    /// retransmission (Karn's algorithm).
    pub(crate) fn sample(&self, now: Instant) -> Option<Duration> {
        self.first_syn.filter(|_| self.retransmits == 0).map(|at| now.since(at))
    }

    /// Returns whether the SYN was retransmitted and `header` echoes the timestamp of the first
    /// SYN.
    pub(crate) fn is_first_echoed(&self, header: &TcpHeader) -> bool {
        let first = self.first_syn.filter(|_| self.retransmits > 0).map(Clock::timestamp_of);
        header.timestamps && Some(header.ts_ecr) == first
    }
}

/// The response to a SYN that the peer repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepeatedSyn {
    Ignore,
    /// Responds, counts this as a retransmission of the SYN-ACK, and restarts its timer.
    Answer,
    /// Responds, sets the count of retransmissions to zero, and sets the initial timeout.
    AnswerAnew,
}

impl Connection {
    /// Sends the first SYN, and enters SYN-SENT.
    pub(crate) fn start_handshake(&mut self) {
        self.stack.init_receive_window(&mut self.tcb);
        self.tcb.state = State::SynSent;
        self.send_first_syn(SynKind::Syn);
    }

    fn send_first_syn(&mut self, kind: SynKind) {
        let tcb = &mut self.tcb;
        tcb.snd.nxt = 1;
        tcb.snd.max = 1;
        self.handshake.first_syn = Some(tcb.now());
        self.stack.on_first_syn(tcb, kind);
        self.send_syn(kind, Transmission::Original);
        self.tcb.arm_rto();
    }

    fn send_syn(&mut self, kind: SynKind, transmission: Transmission) {
        let now = self.tcb.now();
        let at = match kind {
            SynKind::Syn => now,
            SynKind::SynAck => self.stack.syn_ack_time(&self.handshake, now),
        };
        self.tcb.emit_syn(kind, transmission, Clock::timestamp_of(at));
    }

    /// Processes a segment in LISTEN: answers a SYN with a SYN-ACK, and an ACK with a reset.
    pub(crate) fn process_listen(&mut self, header: &TcpHeader, ecn: Ecn) {
        let (flags, tcb) = (header.flags, &mut self.tcb);
        if flags.has(TcpFlags::RST) {
            return;
        }
        if flags.has(TcpFlags::ACK) {
            tcb.emit_reset(header.ack, None);
            return;
        }
        if !flags.has(TcpFlags::SYN) || flags.has(TcpFlags::FIN) {
            return;
        }
        tcb.accept_offer(header);
        tcb.answer_ecn(header, ecn);
        self.stack.init_receive_window(tcb);
        self.agree_scaling(header);
        self.tcb.state = State::SynReceived;
        self.send_first_syn(SynKind::SynAck);
    }

    /// Processes a segment in SYN-SENT: a SYN-ACK completes the handshake, a reset with a valid ACK
    /// ends the connection, and a SYN has crossed this end's SYN. An invalid ACK is answered with a
    /// reset.
    pub(crate) fn process_syn_sent(&mut self, header: &TcpHeader, ecn: Ecn) {
        let flags = header.flags;
        if flags.has(TcpFlags::ACK) {
            if header.ack != 1 {
                if !flags.has(TcpFlags::RST) {
                    self.tcb.emit_reset(header.ack, None);
                }
                return;
            }
            if flags.has(TcpFlags::RST) {
                self.tcb.die();
                return;
            }
            if flags.has(TcpFlags::SYN) {
                self.complete_active(header, ecn);
            }
        } else if flags.has(TcpFlags::SYN) && !flags.has(TcpFlags::RST) {
            self.process_crossing_syn(header, ecn);
        }
    }

    fn complete_active(&mut self, header: &TcpHeader, ecn: Ecn) {
        self.tcb.accept_offer(header);
        self.agree_scaling(header);
        let tcb = &mut self.tcb;
        tcb.conclude_ecn(header, ecn);
        tcb.snd.una = 1;
        self.stack.on_syn_ack(tcb, header);
        self.establish(header);
        self.stack.on_active_open(&mut self.tcb, &self.handshake);
        self.stack.send_ack(&mut self.tcb);
        self.serve_application();
    }

    /// Processes a SYN of the peer that crossed this end's SYN (RFC 9293 §3.5, figure 7).
    fn process_crossing_syn(&mut self, header: &TcpHeader, ecn: Ecn) {
        self.tcb.accept_offer(header);
        self.agree_scaling(header);
        let tcb = &mut self.tcb;
        tcb.cross_ecn(header, ecn);
        tcb.state = State::SynReceived;
        self.send_syn(SynKind::SynAck, Transmission::Original);
    }

    /// Processes a segment in SYN-RECEIVED. Returns whether the segment completes the handshake and
    /// must be processed further.
    pub(crate) fn process_syn_received(&mut self, header: &TcpHeader) -> bool {
        let (flags, tcb) = (header.flags, &mut self.tcb);
        if flags.has(TcpFlags::RST) {
            if header.seq == tcb.rcv.nxt {
                tcb.die();
            }
            return false;
        }
        if flags.has(TcpFlags::SYN) {
            self.process_syn_again(header);
            return false;
        }
        if !flags.has(TcpFlags::ACK) {
            return false;
        }
        if header.ack != 1 {
            tcb.emit_reset(header.ack, None);
            return false;
        }
        let limit = tcb.rcv.nxt + tcb.rcv.open();
        if header.end() < tcb.rcv.nxt || header.seq > limit {
            self.stack.send_ack(tcb);
            return false;
        }
        tcb.snd.una = 1;
        tcb.snd.wnd = u64::from(header.window);
        tcb.snd.max_window = tcb.snd.max_window.max(tcb.snd.wnd);
        self.stack.on_handshake_ack(tcb, header);
        self.establish(header);
        self.stack.on_passive_open(&mut self.tcb);
        true
    }

    /// Processes a SYN in SYN-RECEIVED: a SYN-ACK after SYNs crossed, or a repeated SYN.
    fn process_syn_again(&mut self, header: &TcpHeader) {
        let tcb = &mut self.tcb;
        if header.flags.has(TcpFlags::ACK) && header.ack == 1 {
            tcb.snd.una = 1;
            self.establish(header);
            self.stack.send_ack(&mut self.tcb);
            self.serve_application();
        } else if header.seq + 1 == tcb.rcv.nxt {
            let answer = self.stack.on_repeated_syn(tcb, header);
            if answer != RepeatedSyn::Ignore {
                self.send_syn(SynKind::SynAck, Transmission::Retransmission);
            }
            match answer {
                RepeatedSyn::Ignore => {}
                RepeatedSyn::Answer => {
                    self.handshake.retransmits += 1;
                    self.tcb.arm_rto();
                }
                RepeatedSyn::AnswerAnew => {
                    (self.handshake.retransmits, self.handshake.timeouts) = (0, 0);
                    let (span, limit) = (self.tcb.profile.rto_initial, self.tcb.profile.rto_max);
                    self.tcb.arm(XmitTimer::Retransmit, span, limit);
                }
            }
        }
    }

    /// Enables window scaling only if both sides offer it. A shift above [`MAX_SHIFT`] counts as
    /// [`MAX_SHIFT`].
    fn agree_scaling(&mut self, header: &TcpHeader) {
        let tcb = &mut self.tcb;
        tcb.options.scaling = tcb.profile.window_scale && header.window_scale != NO_SCALE;
        tcb.options.snd_shift = header.window_scale.min(MAX_SHIFT);
        if !tcb.options.scaling {
            tcb.options.unscale();
            self.stack.limit_window(MAX_WINDOW);
        }
    }

    /// Enters ESTABLISHED, prepares the transfer, and starts to wake the application.
    fn establish(&mut self, header: &TcpHeader) {
        let tcb = &mut self.tcb;
        tcb.timers.stop_xmit();
        tcb.state = State::Established;
        tcb.snd.last_sent = tcb.clock.now;
        tcb.snd.small_end = 1;
        self.stack.init_transfer(tcb, header, &self.handshake);
        tcb.wakeup.opened = true;
        self.stack.wake(tcb);
    }

    /// Handles the expiry of the timer of a SYN or SYN-ACK: retransmits the segment, or gives up.
    pub(crate) fn on_handshake_timer(&mut self) {
        let (tcb, handshake) = (&mut self.tcb, &mut self.handshake);
        let (kind, limit) = match tcb.state {
            State::SynSent => (SynKind::Syn, tcb.profile.syn_retries),
            _ => (SynKind::SynAck, tcb.profile.synack_retries),
        };
        if u64::from(handshake.timeouts) >= limit {
            tcb.die();
            return;
        }
        handshake.retransmits += 1;
        handshake.timeouts += 1;
        tcb.stats.rtos += 1;
        self.send_syn(kind, Transmission::Retransmission);
        self.stack.on_syn_timeout(&mut self.tcb, kind, self.handshake.retransmits);
        self.tcb.arm_rto();
    }
}

impl Tcb {
    /// Stores the values of the peer's SYN, and enables the options that both ends offer.
    fn accept_offer(&mut self, header: &TcpHeader) {
        self.rcv.nxt = header.seq + 1;
        self.rcv.wup = self.rcv.nxt;
        self.rcv.ts_recent = header.ts_val;
        self.options.timestamps = header.timestamps && self.profile.timestamps;
        self.options.sack = header.sack_permitted && self.profile.sack;
        let mss = if header.mss == 0 { DEFAULT_MSS } else { u32::from(header.mss) };
        self.options.mss_clamp = mss.max(LEAST_MSS);
        self.rcv.sack.enabled = self.options.sack;
        self.rcv.sack.dsack = self.profile.dsack;
        self.snd.wnd = u64::from(header.window);
        self.snd.max_window = self.snd.wnd;
        self.snd.wl1 = header.seq;
    }

    /// Sets the congestion window to `segments`, within the profile's limit in bytes.
    pub(crate) fn init_cwnd(&mut self, segments: u64) {
        let cwnd = self.capped(segments, self.profile.initial_window_bytes);
        self.window.cwnd = cwnd.max(self.window.segment);
    }

    /// Starts the congestion control with the result of the handshake.
    pub(crate) fn start_controller(&mut self) {
        let (now, srtt) = (self.clock.now, self.rtt.srtt());
        self.start_ecn();
        self.note_controls();
        self.cc.on_established(&mut self.window, now, srtt);
    }
}
