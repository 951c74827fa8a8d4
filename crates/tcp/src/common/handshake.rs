//! Opening a connection.
//!
//! Sources: RFC 9293 §3.5, RFC 7323 §2 and §3, RFC 3168 §6.1.1; Linux 6.1
//! `tcp_rcv_synsent_state_process`, `tcp_check_req`, `tcp_init_transfer`; FreeBSD 10.4
//! `cc_conn_init`.

use aqmlab_core::{Instant, TcpFlags, TcpHeader};

use crate::cc::Signal;
use crate::connection::Connection;
use crate::state::State;
use crate::timers::XmitTimer;

/// The segment size that FreeBSD assumes until it hears of another (`net.inet.tcp.mssdflt`).
const DEFAULT_MSS: u64 = 536;

impl Connection {
    /// Sends the first SYN.
    pub(crate) fn start_handshake(&mut self) {
        self.init_receive_window(self.mtu - 40);
        self.state = State::SynSent;
        self.snd.nxt = 1;
        self.snd.max = 1;
        self.first_syn = Some(self.now());
        if self.is_bsd() {
            self.bsd_start_steps();
        }
        self.emit_syn(false, false);
        self.arm(XmitTimer::Retransmit, self.rtt.rto, self.profile.rto_max);
    }

    /// A segment for an endpoint that waits.
    pub(crate) fn listen(&mut self, header: &TcpHeader) {
        if header.flags.has(TcpFlags::RST) {
            return;
        }
        if header.flags.has(TcpFlags::ACK) {
            self.emit_reset(header.ack, None);
            return;
        }
        if !header.flags.has(TcpFlags::SYN) || header.flags.has(TcpFlags::FIN) {
            return;
        }
        self.accept_offer(header);
        self.options.ecn =
            self.want_ecn && header.flags.has(TcpFlags::ECE) && header.flags.has(TcpFlags::CWR);
        self.init_receive_window(self.mtu - 40 - self.options.fixed_options());
        self.follow_scaling(header);
        self.state = State::SynReceived;
        self.snd.nxt = 1;
        self.snd.max = 1;
        self.first_syn = Some(self.now());
        self.emit_syn(true, false);
        self.arm(XmitTimer::Retransmit, self.rtt.rto, self.profile.rto_max);
    }

    /// Notes what the peer's SYN offers and we offer, too.
    fn accept_offer(&mut self, header: &TcpHeader) {
        self.rcv.nxt = header.seq + 1;
        self.rcv_window.advertised_at = self.rcv.nxt;
        self.rcv.ts_recent = header.ts_val;
        self.options.timestamps = header.timestamps && self.profile.timestamps;
        self.options.sack = header.sack_permitted && self.profile.sack;
        self.options.mss_clamp = u32::from(if header.mss == 0 { 536 } else { header.mss }).max(48);
        self.rcv.report = self.options.sack;
        self.rcv.report_duplicates = self.profile.dsack;
        self.snd.wnd = u64::from(header.window);
        self.snd.max_window = self.snd.wnd;
        self.snd.wl1 = header.seq;
    }

    /// Windows are scaled only if both sides say so.
    fn follow_scaling(&mut self, header: &TcpHeader) {
        self.options.scaling = self.profile.window_scale && header.window_scale <= 14;
        self.options.snd_shift = header.window_scale.min(14);
        if !self.options.scaling {
            self.unscale_window();
        }
    }

    /// A segment in answer to our SYN.
    pub(crate) fn syn_sent(&mut self, header: &TcpHeader) {
        let flags = header.flags;
        if flags.has(TcpFlags::ACK) {
            if header.ack != 1 {
                if !flags.has(TcpFlags::RST) {
                    self.emit_reset(header.ack, None);
                }
                return;
            }
            if flags.has(TcpFlags::RST) {
                self.die();
                return;
            }
            if flags.has(TcpFlags::SYN) {
                self.complete_active(header);
            }
        } else if flags.has(TcpFlags::SYN) && !flags.has(TcpFlags::RST) {
            self.cross_syns(header);
        }
    }

    fn complete_active(&mut self, header: &TcpHeader) {
        self.accept_offer(header);
        self.follow_scaling(header);
        (self.snd.wl1, self.freebsd.wl2) = (header.seq + u64::from(self.is_bsd()), 1);
        let flags = header.flags;
        self.options.ecn = self.want_ecn && flags.has(TcpFlags::ECE) && !flags.has(TcpFlags::CWR);
        self.snd.una = 1;
        self.finish_handshake(header);
        if let Some(sent) = self.first_syn.filter(|_| self.stats.rtos == 0) {
            self.rack_advance(0, 1, sent);
            self.rack.advanced = false;
        }
        self.send_ack();
        self.serve_application();
    }

    /// Both sides opened at the same time (RFC 9293 §3.5, figure 7).
    fn cross_syns(&mut self, header: &TcpHeader) {
        self.accept_offer(header);
        self.follow_scaling(header);
        self.options.ecn =
            self.want_ecn && header.flags.has(TcpFlags::ECE) && header.flags.has(TcpFlags::CWR);
        self.state = State::SynReceived;
        self.emit_syn(true, false);
    }

    /// A segment that may complete a handshake begun by the peer. Returns whether it did and
    /// the segment is to be processed further.
    pub(crate) fn syn_received(&mut self, header: &TcpHeader) -> bool {
        let flags = header.flags;
        if flags.has(TcpFlags::RST) {
            if header.seq == self.rcv.nxt {
                self.die();
            }
            return false;
        }
        if flags.has(TcpFlags::SYN) {
            if flags.has(TcpFlags::ACK) && header.ack == 1 {
                // The answer to our own SYN after SYNs crossed.
                self.snd.una = 1;
                self.finish_handshake(header);
                self.send_ack();
                self.serve_application();
            } else if header.seq + 1 == self.rcv.nxt && self.is_bsd() {
                self.answer_repeated_syn(header);
            } else if header.seq + 1 == self.rcv.nxt && self.may_challenge() {
                self.emit_syn(true, true);
            }
            return false;
        }
        if !flags.has(TcpFlags::ACK) {
            return false;
        }
        if header.ack != 1 {
            self.emit_reset(header.ack, None);
            return false;
        }
        let end = header.end();
        let limit = self.rcv.nxt + self.rcv_window.open(self.rcv.nxt);
        if end < self.rcv.nxt || header.seq > limit {
            self.send_ack();
            return false;
        }
        self.snd.una = 1;
        self.snd.wnd = u64::from(header.window);
        self.snd.max_window = self.snd.max_window.max(self.snd.wnd);
        self.snd.wl1 = header.seq.saturating_sub(u64::from(self.is_bsd()));
        self.finish_handshake(header);
        if self.is_bsd() {
            self.bsd_count_handshake();
        }
        true
    }

    /// FreeBSD (`syncache_add`): a repeated SYN is answered, and repetitions count from there.
    fn answer_repeated_syn(&mut self, header: &TcpHeader) {
        self.rcv.ts_recent = header.ts_val;
        self.emit_syn(true, true);
        self.recovery.retransmits = 0;
        self.arm(XmitTimer::Retransmit, self.profile.rto_initial, self.profile.rto_max);
    }

    /// The handshake is complete on this side.
    fn finish_handshake(&mut self, header: &TcpHeader) {
        self.timers.stop_transmit();
        self.state = State::Established;
        self.size_segments();
        self.measure_handshake(header);
        self.init_windows(header);
        self.recovery.retransmits = 0;
        self.recovery.total_retrans = 0;
        self.recovery.retrans_stamp = None;
        self.recovery.undo_marker = 0;
        if self.is_bsd() {
            self.bsd_init_window();
        } else {
            self.init_buffer_space();
        }
        self.init_rcv_mss();
        self.init_send_buffer();
        let now = self.clock.now;
        self.usage.last_sent = now;
        self.usage.stamp = now;
        self.delack.last_received = self.clock.jiffies();
        self.snd.small_end = 1;
        self.wakeup.opened = true;
        if self.is_bsd() && self.snd.fin_wanted {
            self.close_half();
        }
        self.wake();
    }

    /// What a full-sized segment carries. Linux never makes it more than half of the largest
    /// window that the peer has offered (`tcp_bound_to_half_wnd`).
    pub(crate) fn size_segments(&mut self) {
        let options = self.options.fixed_options();
        let ours = self.mtu - 40;
        self.options.advmss = ours - options;
        let mut mss = (ours.min(self.options.mss_clamp) - options).max(1);
        let window = self.snd.max_window;
        let half = if window > 536 { window / 2 } else { window };
        if half > 0 && !self.is_bsd() {
            mss = u64::from(mss).min(half.max(48)) as u32;
        }
        self.window.mss = mss;
        if self.profile.count_bytes {
            self.window.segment = u64::from(mss);
        }
    }

    /// Karn's rule: no measurement from a SYN that was repeated, but by timestamp.
    fn measure_handshake(&mut self, header: &TcpHeader) {
        let repeated = self.recovery.retransmits > 0;
        if self.is_bsd() {
            self.measure_bsd_handshake(header, repeated);
            return;
        }
        let direct = self.first_syn.filter(|_| !repeated).map(|at| self.now().since(at));
        self.handshake_rtt(header, direct);
        if self.rtt.srtt().is_none() {
            self.rtt.fall_back(self.profile.rto_fallback);
        } else {
            self.rtt.forget_backoff(&self.clock);
        }
    }

    /// FreeBSD: by timestamp, or else of the SYN, not of the SYN-ACK, of which only the cache of
    /// half-open connections knows.
    fn measure_bsd_handshake(&mut self, header: &TcpHeader, repeated: bool) {
        self.freebsd.last_heard = self.clock.jiffies();
        if !header.flags.has(TcpFlags::SYN) {
            self.rtt.rto = self.profile.rto_initial;
        }
        if let Some(ticks) = self.bsd_echoed(header).filter(|_| self.options.timestamps) {
            self.bsd_sample(ticks, 1);
        } else if header.flags.has(TcpFlags::SYN) && repeated {
            // Timeouts count on until something is measured.
            self.freebsd.shift = self.recovery.retransmits;
        } else if let Some(at) = self.first_syn.filter(|_| header.flags.has(TcpFlags::SYN)) {
            let ticks = self.clock.jiffies() - self.clock.within(at.since(Instant::ZERO));
            self.bsd_sample(ticks, 0);
        }
    }

    /// The initial window; one segment after a SYN was lost: on FreeBSD after the first, on
    /// Linux after the second, unless a timestamp shows that the timeouts were spurious.
    fn init_windows(&mut self, header: &TcpHeader) {
        let echoed_first = header.timestamps && Some(header.ts_ecr) == self.recovery.retrans_stamp;
        let lost = if self.is_bsd() {
            // What `tcp_timer_rexmt` notes of a lost SYN, `cc_cong_signal` overwrites.
            self.recovery.retransmits > 0 && !header.flags.has(TcpFlags::SYN)
        } else {
            self.recovery.retransmits > 1 && !echoed_first
        };
        let profile = &self.profile;
        let segments = if lost { 1 } else { profile.initial_window };
        let cwnd = self.capped(segments, profile.initial_window_bytes);
        self.window.cwnd = cwnd.max(self.window.segment);
        if self.is_bsd() {
            self.window.clamp = 65_535 << self.options.snd_shift;
            if self.recovery.retransmits > 0 && !lost {
                self.window.ssthresh = 2 * DEFAULT_MSS;
            }
        }
        let (now, srtt) = (self.clock.now, self.rtt.srtt());
        self.cc.on_established(&mut self.window, now, srtt);
    }

    /// So many segments, but beyond two no more than `bytes` unless that is zero.
    pub(crate) fn capped(&self, segments: u64, bytes: u64) -> u64 {
        if bytes == 0 {
            return self.units(segments);
        }
        let mss = u64::from(self.window.mss.max(1));
        let limit = bytes.max(2 * mss).min(segments * mss);
        if self.window.segment == 1 { limit / mss } else { limit }
    }

    /// The timer of a SYN or SYN-ACK went off.
    pub(crate) fn handshake_timeout(&mut self) {
        let active = self.state == State::SynSent;
        let most = if active { self.profile.syn_retries } else { self.profile.synack_retries };
        if u64::from(self.recovery.retransmits) >= most {
            self.give_up();
            return;
        }
        if self.recovery.retransmits == 0 {
            let first = self.first_syn.unwrap_or(Instant::ZERO);
            self.recovery.retrans_stamp = Some(crate::common::clock::Clock::timestamp_of(first));
        }
        self.recovery.retransmits += 1;
        self.stats.rtos += 1;
        self.emit_syn(!active, true);
        if self.is_bsd() && active {
            // A controller hears of it as of other timeouts.
            self.reduced_ssthresh(Signal::Rto);
            self.rtt.back_off_syn(self.recovery.retransmits, &self.clock);
        } else if !self.is_bsd() {
            self.rtt.back_off();
        }
        self.arm(XmitTimer::Retransmit, self.rtt.rto, self.profile.rto_max);
    }
}
