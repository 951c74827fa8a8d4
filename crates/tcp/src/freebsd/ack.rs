//! Processing an acknowledgement: the case `TCPS_ESTABLISHED` of `tcp_do_segment`.

use aqmlab_core::{Duration, TcpFlags, TcpHeader};

use crate::cc::{Ack, CcEvent, RateSample, Signal};
use crate::common::delivery_rate::PendingSample;
use crate::common::scoreboard::{RETRANS, SACKED, fresh_parts};
use crate::connection::Connection;
use crate::state::State;
use crate::timers::XmitTimer;

/// Duplicates that start fast retransmission (`tcprexmtthresh`).
const THRESHOLD: u32 = 3;

impl Connection {
    /// Processes the acknowledgement in `header`, which is not beyond what was sent; `len` bytes
    /// of the segment's data are wanted. Returns whether output is due, or `None` if nothing is
    /// left of the segment.
    pub(crate) fn bsd_ack(&mut self, header: &TcpHeader, len: u64) -> Option<bool> {
        let prior = self.rate.delivered;
        let mut pending = PendingSample::new();
        let told = self.options.sack && !(header.sack.is_empty() && self.freebsd.holes.is_empty());
        let news = told && self.bsd_note_sacks(header, &mut pending);
        if header.ack > self.snd.una {
            self.freebsd.dup_acks = u32::from(news && self.profile.sack_news);
            return self.bsd_new_ack(header, &mut pending, prior);
        }
        let first_fin = header.flags.has(TcpFlags::FIN) && self.state.may_receive();
        let same = len == 0 && self.bsd_window(header) == self.snd.wnd;
        if self.profile.sack_news {
            let says = if self.options.sack { len == 0 && news } else { same };
            let counts = says && header.ack == self.snd.una;
            return (!counts || self.bsd_duplicate(header.ack, first_fin)).then_some(false);
        }
        if !same || first_fin {
            self.freebsd.dup_acks = 0;
            return Some(false);
        }
        self.bsd_duplicate(header.ack, false).then_some(false)
    }

    /// An acknowledgement and nothing else, where nothing is wrong.
    pub(crate) fn bsd_plain_ack(&mut self, header: &TcpHeader) {
        let prior = self.rate.delivered;
        let mut pending = PendingSample::new();
        let acked = header.ack - self.snd.una;
        self.bsd_check_spurious_timeout();
        let rtt = self.bsd_measure(header);
        self.bsd_remove(header.ack, &mut pending);
        self.bsd_control(header.ack, prior, rtt, &pending);
        self.stats.bytes_acked += acked;
        self.snd.una = header.ack;
        self.freebsd.mbufs.drop(header.ack);
        self.freebsd.wl2 = header.ack;
        self.freebsd.dup_acks = 0;
        self.bsd_restart_timer(header.ack);
    }

    /// Starts the retransmission timer anew for what is left beyond `upto`.
    fn bsd_restart_timer(&mut self, upto: u64) {
        if upto == self.snd.max {
            if self.bsd_awaits_ack() {
                self.timers.stop_transmit();
            }
        } else if self.timers.xmit != XmitTimer::Persist {
            self.arm(XmitTimer::Retransmit, self.rtt.rto, self.profile.rto_max);
        }
    }

    /// A mark: one reduction a round trip.
    pub(crate) fn bsd_congestion_echoed(&mut self) {
        if self.freebsd.congested {
            return;
        }
        self.freebsd.recover = self.snd.max;
        self.ecn.cwr = true;
        self.stats.ece_reductions += 1;
        let ssthresh = self.reduced_ssthresh(Signal::EcnEcho);
        self.window.ssthresh = ssthresh;
        self.window.cwnd = ssthresh.max(self.window.segment);
        self.freebsd.congested = true;
    }

    /// Takes in selective acknowledgements: as holes, by which losses are repaired, and as tags,
    /// by which delivery rates are told. Returns whether a hole or the highest end is another.
    fn bsd_note_sacks(&mut self, header: &TcpHeader, pending: &mut PendingSample) -> bool {
        let cached = self.board.cache;
        let (mut valid, mut count) = ([(0, 0); 4], 0);
        for (start, end) in header.sack.iter(header.ack) {
            let above = start > self.snd.una && start > header.ack && start < end;
            if above && end <= self.snd.max && count < valid.len() {
                valid[count] = (start, end);
                count += 1;
                fresh_parts(&cached, start, end, |from, to| self.bsd_walk(from, to, pending));
            }
        }
        let news = self.freebsd.holes.update(self.snd.una, header.ack, &valid[..count]);
        if count > 0 {
            valid.sort_unstable();
            self.board.cache = valid;
        }
        news
    }

    fn bsd_walk(&mut self, start: u64, end: u64, pending: &mut PendingSample) {
        let mut id = self.board.id_at(start);
        while self.board.holds(id) {
            let sent = *self.board.get(id);
            if sent.seq >= end {
                break;
            }
            if sent.end() <= end && sent.seq >= start && !sent.is(SACKED) {
                if sent.is(RETRANS) {
                    self.board.get_mut(id).flags &= !RETRANS;
                    self.board.retrans_out -= 1;
                }
                self.board.set_sacked(id);
                self.rate.delivered += 1;
                self.rate.on_delivered(self.board.get_mut(id), pending);
            }
            id += 1;
        }
    }

    /// A duplicate acknowledgement, maybe with the peer's first `fin`, before which nothing is sent.
    /// Returns whether the rest of the segment is to be looked at.
    fn bsd_duplicate(&mut self, ack: u64, fin: bool) -> bool {
        if !self.bsd_awaits_ack() || ack != self.snd.una {
            self.freebsd.dup_acks = 0;
            return true;
        }
        self.stats.dup_acks += 1;
        self.freebsd.dup_acks += 1;
        let count = self.freebsd.dup_acks;
        if count > THRESHOLD || self.freebsd.recovering {
            self.notify(CcEvent::DuplicateAck(self.rtt.srtt()));
            self.bsd_inflate();
            if fin {
                return true;
            }
            self.bsd_output();
        } else if count == THRESHOLD {
            return self.bsd_fast_retransmit(fin);
        } else if self.profile.limited_transmit {
            self.notify(CcEvent::DuplicateAck(self.rtt.srtt()));
            return self.bsd_limited_transmit(fin);
        } else {
            return true;
        }
        false
    }

    /// A segment has left the network: another may enter, up to the threshold.
    fn bsd_inflate(&mut self) {
        let mss = u64::from(self.window.mss);
        let window = &mut self.window;
        if !self.options.sack || !self.freebsd.recovering {
            window.cwnd = window.cwnd.saturating_add(mss);
            return;
        }
        // Below nothing, where going back has not come to the highest block, it counts as much:
        // `awnd` is signed, and `snd_ssthresh` is not.
        let holes = &self.freebsd.holes;
        let flight = (self.snd.nxt + holes.repeated).checked_sub(holes.highest);
        if flight.is_some_and(|flight| flight < window.ssthresh) {
            window.cwnd = window.cwnd.saturating_add(mss).min(window.ssthresh);
        }
    }

    /// The third duplicate. Returns whether the rest of the segment is to be looked at, as it is if
    /// it is no duplicate, after a recovery (RFC 6582).
    fn bsd_fast_retransmit(&mut self, fin: bool) -> bool {
        if !self.options.sack && self.snd.una <= self.freebsd.recover {
            self.freebsd.dup_acks = 0;
            return true;
        }
        let mss = u64::from(self.window.mss);
        self.stats.fast_recoveries += 1;
        self.freebsd.recover = self.snd.max;
        self.ecn.cwr |= self.options.ecn;
        if !self.freebsd.congested {
            self.window.ssthresh = self.reduced_ssthresh(Signal::Loss);
        }
        self.freebsd.recovering = true;
        self.freebsd.congested = true;
        self.notify(CcEvent::RecoveryEntered);
        self.notify(CcEvent::DuplicateAck(self.rtt.srtt()));
        self.timers.stop_transmit();
        self.freebsd.timed = None;
        self.window.cwnd = mss;
        if self.options.sack {
            self.freebsd.new_data_from = self.snd.nxt;
            self.bsd_output();
            return false;
        }
        let nxt = self.snd.nxt;
        self.snd.nxt = self.snd.una;
        if fin {
            return true;
        }
        self.bsd_output();
        let count = u64::from(THRESHOLD - self.freebsd.limited.min(THRESHOLD));
        self.window.cwnd = self.window.ssthresh.saturating_add(mss * count);
        self.snd.nxt = self.snd.nxt.max(nxt);
        false
    }

    /// RFC 3042: the first two duplicates each let a new segment out, if there is one. With a `fin`
    /// the window stays as it is for that. Returns whether the rest of the segment is to be looked at.
    fn bsd_limited_transmit(&mut self, fin: bool) -> bool {
        if self.freebsd.dup_acks == 1 {
            self.freebsd.limited = 0;
        }
        let mss = u64::from(self.window.mss);
        let (cwnd, max) = (self.window.cwnd, self.snd.max);
        let allowed = u64::from(self.freebsd.dup_acks.saturating_sub(self.freebsd.limited));
        let offset = self.snd.nxt.saturating_sub(self.snd.una);
        self.window.cwnd = offset + allowed * mss;
        if fin {
            return true;
        }
        if self.snd.buffered() > offset {
            self.bsd_output();
        }
        let sent = self.snd.max - max;
        if sent > mss {
            self.freebsd.limited = 2;
        } else if sent > 0 {
            self.freebsd.limited += 1;
        }
        self.window.cwnd = cwnd;
        false
    }

    /// Something was acknowledged cumulatively.
    fn bsd_new_ack(
        &mut self,
        header: &TcpHeader,
        pending: &mut PendingSample,
        prior: u64,
    ) -> Option<bool> {
        let acked = header.ack - self.snd.una;
        if self.freebsd.recovering && header.ack < self.freebsd.recover {
            self.bsd_partial_ack(header.ack);
        } else if self.freebsd.recovering {
            self.bsd_leave_recovery(header.ack);
        }
        self.bsd_check_spurious_timeout();
        let rtt = self.bsd_measure(header);
        let all = header.ack == self.snd.max;
        self.bsd_restart_timer(header.ack);
        self.bsd_remove(header.ack, pending);
        self.bsd_control(header.ack, prior, rtt, pending);
        self.stats.bytes_acked += acked;
        let buffered = self.snd.buffered();
        self.snd.wnd = self.snd.wnd.saturating_sub(acked.min(buffered));
        if (self.freebsd.recovering || self.freebsd.congested) && header.ack >= self.freebsd.recover
        {
            let echoed = !self.freebsd.recovering;
            self.freebsd.recovering = false;
            self.freebsd.congested = false;
            if echoed {
                self.notify(CcEvent::RecoveryLeft);
            }
        }
        self.snd.una = header.ack;
        self.freebsd.mbufs.drop(header.ack);
        if self.options.sack {
            self.freebsd.recover = self.freebsd.recover.max(self.snd.una);
        }
        self.snd.nxt = self.snd.nxt.max(self.snd.una);
        if acked > buffered {
            self.bsd_fin_acknowledged();
        }
        let over = matches!(self.state, State::TimeWait | State::Closed);
        (!over).then_some(all)
    }

    /// Our FIN has been acknowledged.
    fn bsd_fin_acknowledged(&mut self) {
        if self.snd.fin_sent && self.snd.unsent() == 0 {
            if self.state == State::Closing && self.delack.now {
                self.bsd_answer_last();
            }
            self.follow_fin_ack();
        }
    }

    fn bsd_remove(&mut self, ack: u64, pending: &mut PendingSample) {
        while let Some(front) = self.board.front() {
            if front.end() > ack {
                break;
            }
            let mut sent = *front;
            if sent.is(SACKED) {
                self.board.sacked_out -= 1;
            } else {
                self.rate.delivered += 1;
            }
            if sent.is(RETRANS) {
                self.board.retrans_out -= 1;
            }
            self.rate.on_delivered(&mut sent, pending);
            self.board.pop();
        }
    }

    /// The handshake's last acknowledgement counts as one byte.
    pub(crate) fn bsd_count_handshake(&mut self) {
        let window = self.snd.wnd;
        // Without scaling the window is not known yet.
        self.snd.wnd = if self.options.scaling { window } else { 0 };
        self.bsd_control(self.snd.una, self.rate.delivered, None, &PendingSample::new());
        self.snd.wnd = window;
    }

    /// Lets the controller grow the window, outside recovery and if the peer's window is not
    /// what limits.
    pub(crate) fn bsd_control(
        &mut self,
        upto: u64,
        prior: u64,
        rtt: Option<Duration>,
        pending: &PendingSample,
    ) {
        let was_reducing = self.freebsd.recovering || self.freebsd.congested;
        // Of the handshake's there is no byte before.
        let bytes = (upto - self.snd.una).max(1);
        let delivered = self.rate.delivered - prior;
        let (now, min_rtt) = (self.clock.now, self.rtt.min());
        let mss = self.window.segment;
        let rate = self.rate.finish(pending, (delivered, 0), now, true, min_rtt);
        let flight = self.snd.max.saturating_sub(upto);
        let ack = Ack {
            now,
            acked: delivered * mss,
            bytes,
            in_flight: flight,
            prior_in_flight: flight + bytes,
            until_departure: self.usage.departure.since(self.now()),
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt,
            cwnd_limited: self.window.cwnd <= self.snd.wnd,
            snd_una: upto,
            snd_nxt: self.snd.nxt,
            rate: RateSample {
                delivered: rate.delivered * mss,
                prior_delivered: rate.prior_delivered * mss,
                total_delivered: rate.total_delivered * mss,
                acked_sacked: delivered * mss,
                ..rate
            },
        };
        self.cc.on_sample(&mut self.window, &ack);
        if self.cc.controls_cwnd() {
            self.cc.control(&mut self.window, &ack, was_reducing);
        } else if !was_reducing {
            self.cc.on_ack(&mut self.window, &ack);
        }
    }

    /// One more hole, or two; the window counts only what this recovery sent.
    fn bsd_partial_ack(&mut self, ack: u64) {
        let (mss, acked) = (u64::from(self.window.mss), ack - self.snd.una);
        if self.bsd_awaits_ack() {
            self.timers.stop_transmit();
        }
        self.freebsd.timed = None;
        self.delack.now = true;
        if self.options.sack {
            let segments = if acked / mss >= 2 { 2 } else { 1 };
            let new_data = self.snd.nxt.saturating_sub(self.freebsd.new_data_from);
            let cwnd = self.freebsd.holes.repeated + new_data + segments * mss;
            self.window.cwnd = cwnd.min(self.window.ssthresh);
            self.bsd_output();
            return;
        }
        let (nxt, cwnd) = (self.snd.nxt, self.window.cwnd);
        self.snd.nxt = ack;
        self.window.cwnd = mss + acked;
        self.bsd_output();
        self.snd.nxt = self.snd.nxt.max(nxt);
        self.window.cwnd = cwnd.saturating_sub(acked).saturating_add(mss);
    }

    /// Recovery is over: no burst, even if little is in flight.
    fn bsd_leave_recovery(&mut self, ack: u64) {
        let flight = self.snd.max - ack;
        self.notify(CcEvent::RecoveryLeft);
        self.window.cwnd = if flight < self.window.ssthresh {
            flight + u64::from(self.window.mss)
        } else {
            self.cc.recovered_cwnd(&self.window)
        };
    }

    /// An acknowledgement within half a round trip of a timeout answers the original.
    fn bsd_check_spurious_timeout(&mut self) {
        let Some(before) = self.freebsd.before_timeout else { return };
        if self.freebsd.shift == 1 && self.clock.jiffies() < before.until {
            self.freebsd.before_timeout = None;
            self.window.cwnd = before.cwnd;
            self.window.ssthresh = before.ssthresh;
            self.freebsd.recover = before.recover;
            self.freebsd.recovering |= before.recovering;
            self.freebsd.congested |= before.congested;
            self.snd.nxt = self.snd.max;
            self.stats.spurious_undos += 1;
            self.notify(CcEvent::Undone);
        }
    }

    /// The round trip that an echoed timestamp tells, in ticks; one from the future tells none.
    pub(crate) fn bsd_echoed(&self, header: &TcpHeader) -> Option<u64> {
        let millis = self.clock.timestamp().wrapping_sub(header.ts_ecr);
        let told = header.timestamps && header.ts_ecr != 0 && millis < 1 << 31;
        told.then(|| self.clock.within(Duration::from_millis(u64::from(millis))))
    }

    /// By timestamp or, without, by the one segment that is timed; in ticks.
    fn bsd_measure(&mut self, header: &TcpHeader) -> Option<Duration> {
        let (ticks, more) = if let Some(ticks) = self.bsd_echoed(header) {
            (ticks, 1)
        } else {
            let (sent, _) = self.freebsd.timed.filter(|(_, start)| header.ack > *start)?;
            (self.clock.jiffies() - sent, 0)
        };
        self.freebsd.timed = None;
        self.bsd_sample(ticks, more);
        Some(self.clock.span(ticks.max(1)))
    }

    /// Takes a round trip of so many ticks, which the estimator wants with `more`.
    pub(crate) fn bsd_sample(&mut self, ticks: u64, more: u64) {
        let span = self.clock.span(ticks);
        self.rtt.sample_min(span.max(self.clock.tick()), self.clock.now);
        self.rtt.sample_ticks(ticks + more, &self.clock);
        self.freebsd.shift = 0;
    }
}
