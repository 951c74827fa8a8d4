//! When to acknowledge: at once, a little later, or with the next data.
//!
//! Sources: Linux 6.1 `net/ipv4/tcp_input.c` (`tcp_event_data_recv`, `tcp_measure_rcv_mss`,
//! `__tcp_ack_snd_check`), `tcp_output.c` (`tcp_send_delayed_ack`), `tcp_timer.c`
//! (`tcp_delack_timer_handler`, `tcp_compressed_ack_kick`), `tcp.c` (`tcp_cleanup_rbuf`);
//! FreeBSD 10.4 `tcp_input.c` (`DELAY_ACK`).

use aqmlab_core::{Duration, Instant, TcpFlags, TcpHeader};

use crate::Connection;
use crate::Profile;
use crate::profile::DelayedAckRule;

/// Duplicate acknowledgements that are never compressed, so that fast retransmission starts in
/// time (Linux `TCP_FASTRETRANS_THRESH`).
const UNCOMPRESSED: u32 = 3;

/// What the delaying of acknowledgements goes by.
#[derive(Debug)]
pub(crate) struct DelayedAck {
    adaptive: bool,
    /// A full-sized segment that asks for a push counts as the end of a write.
    heeds_push: bool,
    /// Every segment is acknowledged at once, by the user's wish.
    always: bool,
    /// Shortest delay, longest delay, and the bounds of Linux's in ticks.
    least: Duration,
    most: Duration,
    /// An acknowledgement is owed.
    pub(crate) scheduled: bool,
    /// It is owed at once.
    pub(crate) now: bool,
    /// What ends a write has arrived, a small segment as a rule: one, or more.
    pushed: bool,
    pushed_twice: bool,
    /// Acknowledgements still to be sent at once.
    pub(crate) quick: u32,
    /// Data flows both ways, so acknowledgements wait for data to ride on.
    pub(crate) pingpong: bool,
    /// The delay as it adapts; `None` before any data.
    ato: Option<Duration>,
    /// When data last arrived, in ticks.
    pub(crate) last_received: u64,
    last_size: u32,
    /// The estimate of the peer's segment size.
    pub(crate) rcv_mss: u32,
    compressed: u32,
    compressed_at: u64,
    duplicates: u32,
}

impl DelayedAck {
    pub(crate) fn new(profile: &Profile, always: bool) -> Self {
        Self {
            adaptive: profile.delayed_ack_rule == DelayedAckRule::Adaptive,
            heeds_push: profile.push_acks,
            always,
            least: profile.delayed_ack,
            most: profile.delayed_ack_max.max(profile.delayed_ack),
            scheduled: false,
            now: false,
            pushed: false,
            pushed_twice: false,
            quick: 0,
            pingpong: false,
            ato: None,
            last_received: 0,
            last_size: 0,
            rcv_mss: 536,
            compressed: 0,
            compressed_at: 0,
            duplicates: 0,
        }
    }
}

impl DelayedAck {
    /// Whether every segment is acknowledged at once.
    pub(crate) const fn is_quick(&self) -> bool {
        self.always
    }
}

impl Connection {
    /// Starts the estimate of the peer's segment size low: it is easier to raise than to
    /// lower.
    pub(crate) fn init_rcv_mss(&mut self) {
        let hint = u64::from(self.options.advmss.min(self.window.mss));
        let hint = hint.min(self.rcv_window.advertised / 2).clamp(88, 536);
        self.delack.rcv_mss = hint as u32;
    }

    /// Owes the peer `count` acknowledgements at once.
    pub(crate) fn enter_quick_ack(&mut self, count: u64) {
        self.raise_quick(count);
        self.delack.pingpong = false;
        self.delack.ato = Some(self.delack.least);
    }

    fn raise_quick(&mut self, count: u64) {
        let half = self.rcv_window.advertised / (2 * u64::from(self.delack.rcv_mss.max(1)));
        let half = if half == 0 { 2 } else { half };
        self.delack.quick = self.delack.quick.max(half.min(count) as u32);
    }

    fn in_quick_ack(&self) -> bool {
        self.delack.always || (self.delack.quick > 0 && !self.delack.pingpong)
    }

    /// In-order data has arrived.
    #[inline]
    pub(crate) fn on_data_received(&mut self, header: &TcpHeader) {
        self.delack.scheduled = true;
        self.measure_rcv_mss(header);
        self.measure_receiver_rtt();
        if self.delack.adaptive {
            self.adapt_ato();
        }
        self.delack.last_received = self.clock.jiffies();
    }

    /// The delay tends to half the shortest at high rates and follows the gaps at low ones.
    #[inline]
    fn adapt_ato(&mut self) {
        let least = self.delack.least;
        let Some(ato) = self.delack.ato else {
            self.raise_quick(self.profile.quick_acks);
            self.delack.ato = Some(least);
            return;
        };
        let gap = self.clock.span(self.clock.jiffies() - self.delack.last_received);
        if gap <= least / 2 {
            self.delack.ato = Some(ato / 2 + least / 2);
        } else if gap < ato {
            self.delack.ato = Some((ato / 2 + gap).min(self.rtt.rto));
        } else if gap > self.rtt.rto {
            // The sender has not restarted its window and needs acknowledgements.
            self.raise_quick(self.profile.quick_acks);
        }
    }

    #[inline]
    fn measure_rcv_mss(&mut self, header: &TcpHeader) {
        let ack = &mut self.delack;
        let last = std::mem::take(&mut ack.last_size);
        if header.payload >= ack.rcv_mss {
            ack.rcv_mss = header.payload.min(self.options.advmss).max(1);
            // Probably the end of a write, for whose acknowledgement the sender may be waiting.
            ack.pushed |= ack.heeds_push && header.flags.has(TcpFlags::PSH);
            return;
        }
        let options = u32::from(header.options_len);
        let whole = header.payload + 20 + options;
        let pushed = header.flags.has(TcpFlags::PSH) || header.flags.has(TcpFlags::FIN);
        if whole >= 536 + 20 || (whole >= 88 + 20 && !pushed) {
            // Twice the same size, options apart, is the peer's segment size.
            let size = whole.saturating_sub(20 + self.options.fixed_options());
            ack.last_size = size;
            if size == last {
                ack.rcv_mss = size.max(1);
                return;
            }
        }
        ack.pushed_twice |= ack.pushed;
        ack.pushed = true;
    }

    /// Acknowledges what was received, now or later.
    #[inline]
    pub(crate) fn check_ack(&mut self) {
        if !self.delack.scheduled {
            return;
        }
        if self.delack.adaptive {
            self.check_ack_adaptive();
        } else {
            self.check_ack_fixed();
        }
    }

    #[inline]
    fn check_ack_adaptive(&mut self) {
        let news = self.rcv.nxt - self.rcv_window.advertised_at;
        let full = news > u64::from(self.delack.rcv_mss)
            && self.possible_window() >= self.rcv_window.advertised;
        if full || self.in_quick_ack() || self.delack.now {
            self.send_ack();
        } else if self.rcv.waiting().is_empty() {
            self.delay_ack();
        } else {
            self.compress_ack();
        }
    }

    /// Windows, as FreeBSD: the first waits, the second goes and takes the first along; what is out of
    /// order or larger than a segment never waits.
    fn check_ack_fixed(&mut self) {
        let waiting = self.timers.delayed_ack != Instant::NEVER;
        let ack = &self.delack;
        let urgent = ack.now || ack.always || !self.rcv.waiting().is_empty();
        if urgent || waiting {
            self.send_ack();
        } else {
            let ticks = self.clock.ticks(ack.least);
            self.timers.delayed_ack = self.clock.alarm(ticks);
        }
    }

    /// Linux: duplicates beyond the third wait for more of them.
    fn compress_ack(&mut self) {
        let limit = self.profile.ack_compression as u32;
        if !self.rcv.report || self.delack.compressed >= limit {
            self.send_ack();
            return;
        }
        let ack = &mut self.delack;
        if ack.compressed_at != self.rcv.nxt {
            ack.compressed_at = self.rcv.nxt;
            ack.duplicates = 0;
        }
        if ack.duplicates < UNCOMPRESSED {
            ack.duplicates += 1;
            self.send_ack();
            return;
        }
        ack.compressed += 1;
        if self.timers.compressed_ack != Instant::NEVER {
            return;
        }
        let known = self.rcv_window.autotune.rtt().unwrap_or(Duration::ZERO);
        let rtt = self.rtt.srtt().map_or(known, |srtt| srtt.min(known));
        let delay = self.profile.ack_compression_delay.min(rtt / 20);
        self.timers.compressed_ack = self.clock.now + delay + self.profile.ack_compression_slack;
    }

    /// A block that is far back must be reported before it falls out of the option.
    pub(crate) fn flush_compressed_ack(&mut self) {
        if self.delack.compressed > 0 {
            self.send_ack();
        }
    }

    /// Linux `tcp_send_delayed_ack`.
    fn delay_ack(&mut self) {
        let ack = &self.delack;
        // Before any data there is no delay: a lone FIN waits for the next tick.
        let mut ato = ack.ato.unwrap_or(Duration::ZERO);
        if ato > ack.least {
            let mut bound = self.clock.round(Duration::from_millis(500));
            if ack.pingpong || ack.pushed {
                bound = ack.most;
            }
            if let Some(srtt) = self.rtt.srtt() {
                bound = bound.min(self.clock.round(srtt).max(ack.least));
            }
            ato = ato.min(bound);
        }
        let ticks = self.clock.ticks(ato.min(ack.most));
        let mut at = self.clock.alarm(ticks);
        if self.timers.delayed_ack != Instant::NEVER {
            if self.timers.delayed_ack <= self.clock.alarm(ticks / 4) {
                self.send_ack();
                return;
            }
            at = at.min(self.timers.delayed_ack);
        }
        self.timers.delayed_ack = at;
    }

    /// The application has read what arrived (Linux `tcp_cleanup_rbuf`): a small segment that
    /// emptied the buffer is acknowledged at once unless a reply is likely, and so is a window
    /// that has at least doubled.
    #[inline]
    pub(crate) fn on_application_read(&mut self) {
        if self.is_bsd() {
            self.bsd_output();
            return;
        }
        if !self.delack.adaptive {
            return;
        }
        let ack = &self.delack;
        let mut due = false;
        if ack.scheduled {
            let news = self.rcv.nxt - self.rcv_window.advertised_at;
            let drained = ack.pushed_twice || (ack.pushed && !ack.pingpong);
            due = news > u64::from(ack.rcv_mss) || (drained && self.rcv.waiting().is_empty());
        }
        if !due && self.rcv.fin.is_none() {
            let open = self.rcv_window.open(self.rcv.nxt);
            if 2 * open <= self.rcv_window.clamp {
                let window = self.possible_window();
                due = window > 0 && window >= 2 * open;
            }
        }
        if due {
            self.send_ack();
        }
    }

    /// An acknowledgement has been sent, alone or with data.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self) {
        let ack = &mut self.delack;
        if ack.compressed > 0 {
            ack.compressed = 0;
            self.timers.compressed_ack = Instant::NEVER;
        }
        // Only what answers data counts.
        if ack.quick > 0 && ack.scheduled {
            ack.quick -= 1;
            if ack.quick == 0 {
                ack.ato = Some(ack.least);
            }
        }
        ack.scheduled = false;
        ack.now = false;
        ack.pushed = false;
        ack.pushed_twice = false;
        self.timers.delayed_ack = Instant::NEVER;
    }

    /// Data has been sent: if it answers data that has just arrived, the traffic is
    /// interactive.
    #[inline]
    pub(crate) fn on_reply_sent(&mut self) {
        let since = self.clock.span(self.clock.jiffies() - self.delack.last_received);
        if self.delack.ato.is_some_and(|ato| since < ato) {
            self.delack.pingpong = true;
        }
    }

    /// The delayed acknowledgement is due.
    pub(crate) fn delayed_ack_due(&mut self) {
        if self.is_bsd() {
            self.bsd_delayed_ack_due();
            return;
        }
        self.timers.delayed_ack = Instant::NEVER;
        let rto = self.rtt.rto;
        let ack = &mut self.delack;
        if !ack.scheduled {
            return;
        }
        if ack.pingpong {
            // No reply came in time: not so interactive after all.
            ack.pingpong = false;
            ack.ato = Some(ack.least);
        } else {
            ack.ato = ack.ato.map(|ato| (ato * 2).min(rto));
        }
        self.send_ack();
    }

    /// The compressed acknowledgement is due.
    pub(crate) fn compressed_ack_due(&mut self) {
        self.timers.compressed_ack = Instant::NEVER;
        if self.delack.compressed > 0 {
            self.send_ack();
        }
    }
}
