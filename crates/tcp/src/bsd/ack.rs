//! Processing an acknowledgement: the case `TCPS_ESTABLISHED` of `tcp_do_segment`.

use aqmlab_core::{Duration, TcpFlags, TcpHeader};

use crate::cc::{Ack, CcEvent, RateSample, Signal};
use crate::connection::{Alarm, Connection};
use crate::rate::Draft;
use crate::scoreboard::{RETRANS, SACKED, fresh_parts};

/// Duplicates that start fast retransmission (`tcprexmtthresh`).
const THRESHOLD: u32 = 3;

impl Connection {
    /// Processes the acknowledgement in `header`, which is neither older than `snd_una` nor
    /// beyond what was sent.
    pub(crate) fn bsd_ack(&mut self, header: &TcpHeader) {
        self.bsd.last_heard = self.now();
        if header.flags.has(TcpFlags::ECE) && self.wire.ecn {
            self.bsd_congestion_echoed();
        }
        let prior = self.rate.delivered;
        let mut draft = Draft::new();
        if self.wire.sack {
            self.bsd_note_sacks(header, &mut draft);
        }
        if header.ack > self.snd.una {
            self.bsd_new_ack(header, &mut draft, prior);
        } else if header.payload == 0
            && u64::from(header.window) == self.snd.wnd
            && !header.flags.has(TcpFlags::FIN)
        {
            self.bsd_duplicate();
        } else {
            self.bsd.dup_acks = 0;
        }
        self.update_send_window(header);
        if self.snd.wnd > 0 && self.timers.alarm == Alarm::Persist && self.board.is_empty() {
            self.timers.stop_transmit();
            self.bsd.shift = 0;
        }
    }

    /// A mark: one reduction a round trip.
    fn bsd_congestion_echoed(&mut self) {
        if self.bsd.congested {
            return;
        }
        self.bsd.recover = self.snd.max;
        self.ecn.cwr = true;
        self.stats.ece_reductions += 1;
        let ssthresh = self.reduced_ssthresh(Signal::EcnEcho);
        self.window.ssthresh = ssthresh;
        self.window.cwnd = ssthresh.max(self.window.segment);
        self.bsd.congested = true;
    }

    /// Takes in selective acknowledgements: as holes, by which losses are repaired, and as tags,
    /// by which delivery rates are told.
    fn bsd_note_sacks(&mut self, header: &TcpHeader, draft: &mut Draft) {
        let cached = self.board.cache;
        let (mut valid, mut count) = ([(0, 0); 4], 0);
        for (start, end) in header.sack.iter(header.ack) {
            let above = start > self.snd.una && start > header.ack && start < end;
            if above && end <= self.snd.max && count < valid.len() {
                valid[count] = (start, end);
                count += 1;
                fresh_parts(&cached, start, end, |from, to| self.bsd_walk(from, to, draft));
            }
        }
        self.bsd.holes.update(self.snd.una, header.ack, &valid[..count]);
        if count > 0 {
            valid.sort_unstable();
            self.board.cache = valid;
        }
    }

    fn bsd_walk(&mut self, start: u64, end: u64, draft: &mut Draft) {
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
                self.rate.on_delivered(self.board.get_mut(id), draft);
            }
            id += 1;
        }
    }

    /// A duplicate acknowledgement: one that says nothing new, not even of the window. Whether
    /// it has news by SACK does not matter before FreeBSD 10.4.
    fn bsd_duplicate(&mut self) {
        self.stats.dup_acks += 1;
        if self.timers.alarm != Alarm::Retransmit {
            self.bsd.dup_acks = 0;
            return;
        }
        self.bsd.dup_acks += 1;
        let count = self.bsd.dup_acks;
        if count > THRESHOLD || self.bsd.recovering {
            self.bsd_inflate();
            self.bsd_output();
        } else if count == THRESHOLD {
            self.bsd_fast_retransmit();
        } else if self.profile.limited_transmit {
            self.bsd_limited_transmit();
        }
    }

    /// A segment has left the network: another may enter, up to the threshold.
    fn bsd_inflate(&mut self) {
        let mss = u64::from(self.window.mss);
        let window = &mut self.window;
        if !self.wire.sack || !self.bsd.recovering {
            window.cwnd = (window.cwnd + mss).min(window.clamp);
            return;
        }
        // Below nothing, where going back has not come to the highest block, it counts as much:
        // `awnd` is signed, and `snd_ssthresh` is not.
        let holes = &self.bsd.holes;
        let flight = (self.snd.nxt + holes.repeated).checked_sub(holes.highest);
        if flight.is_some_and(|flight| flight < window.ssthresh) {
            window.cwnd = (window.cwnd + mss).min(window.ssthresh);
        }
    }

    /// The third duplicate.
    fn bsd_fast_retransmit(&mut self) {
        if !self.wire.sack && self.snd.una <= self.bsd.recover {
            self.bsd.dup_acks = 0;
            return;
        }
        let mss = u64::from(self.window.mss);
        self.stats.fast_recoveries += 1;
        self.bsd.recover = self.snd.max;
        self.ecn.cwr |= self.wire.ecn;
        if !self.bsd.congested {
            self.window.ssthresh = self.reduced_ssthresh(Signal::Loss);
        }
        self.bsd.recovering = true;
        self.bsd.congested = true;
        self.notify(CcEvent::RecoveryEntered);
        self.timers.stop_transmit();
        self.bsd.timed = None;
        self.window.cwnd = mss;
        if self.wire.sack {
            self.bsd.new_data_from = self.snd.nxt;
            self.bsd_output();
            return;
        }
        let nxt = self.snd.nxt;
        self.snd.nxt = self.snd.una;
        self.bsd_output();
        let count = u64::from(THRESHOLD.saturating_sub(self.bsd.limited));
        let inflated = self.window.ssthresh.saturating_add(mss * count);
        self.window.cwnd = inflated.min(self.window.clamp);
        self.snd.nxt = self.snd.nxt.max(nxt);
    }

    /// RFC 3042: the first two duplicates each let a new segment out, if there is one.
    fn bsd_limited_transmit(&mut self) {
        if self.bsd.dup_acks == 1 {
            self.bsd.limited = 0;
        }
        let mss = u64::from(self.window.mss);
        let (cwnd, max) = (self.window.cwnd, self.snd.max);
        let allowed = u64::from(self.bsd.dup_acks.saturating_sub(self.bsd.limited));
        self.window.cwnd = self.snd.nxt.saturating_sub(self.snd.una) + allowed * mss;
        if self.has_unsent() {
            self.bsd_output();
        }
        let sent = self.snd.max - max;
        if sent > mss {
            self.bsd.limited = 2;
        } else if sent > 0 {
            self.bsd.limited += 1;
        }
        self.window.cwnd = cwnd;
    }

    /// Something was acknowledged cumulatively.
    fn bsd_new_ack(&mut self, header: &TcpHeader, draft: &mut Draft, prior: u64) {
        let acked = header.ack - self.snd.una;
        self.stats.bytes_acked += acked;
        self.snd.una = header.ack;
        self.bsd_remove(draft);
        self.snd.nxt = self.snd.nxt.max(self.snd.una);
        self.snd.wnd = self.snd.wnd.saturating_sub(acked);
        if self.bsd.recovering && header.ack < self.bsd.recover {
            self.bsd_partial_ack(acked);
        } else if self.bsd.recovering {
            self.bsd_leave_recovery();
        }
        self.bsd.dup_acks = 0;
        self.bsd_check_spurious_timeout();
        let rtt = self.bsd_measure(header);
        if self.snd.una == self.snd.max {
            self.timers.stop_transmit();
        } else if self.timers.alarm != Alarm::Persist {
            self.arm(Alarm::Retransmit, self.rtt.rto, self.profile.rto_max);
        }
        let was_reducing = self.bsd.recovering || self.bsd.congested;
        self.bsd_control(acked, prior, rtt, draft, was_reducing);
        if was_reducing && self.snd.una >= self.bsd.recover {
            self.bsd.recovering = false;
            self.bsd.congested = false;
            self.notify(CcEvent::RecoveryLeft);
        }
        self.bsd.recover = self.bsd.recover.max(if self.wire.sack { self.snd.una } else { 0 });
    }

    fn bsd_remove(&mut self, draft: &mut Draft) {
        while let Some(front) = self.board.front() {
            if front.end() > self.snd.una {
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
            self.rate.on_delivered(&mut sent, draft);
            self.board.pop();
        }
    }

    /// Lets the controller grow the window, outside recovery and if the peer's window is not
    /// what limits.
    fn bsd_control(
        &mut self,
        bytes: u64,
        prior: u64,
        rtt: Option<Duration>,
        draft: &Draft,
        was_reducing: bool,
    ) {
        let delivered = self.rate.delivered - prior;
        let (now, min_rtt) = (self.clock.now, self.rtt.min());
        let mss = self.window.segment;
        let rate = self.rate.finish(draft, (delivered, 0), now, true, min_rtt);
        let flight = self.snd.max.saturating_sub(self.snd.una);
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
            cwnd_limited: self.window.cwnd <= self.snd.wnd + bytes,
            snd_una: self.snd.una,
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
    fn bsd_partial_ack(&mut self, acked: u64) {
        let mss = u64::from(self.window.mss);
        self.timers.stop_transmit();
        self.bsd.timed = None;
        self.delack.now = true;
        self.delack.scheduled = true;
        if self.wire.sack {
            let segments = if acked / mss >= 2 { 2 } else { 1 };
            let new_data = self.snd.nxt.saturating_sub(self.bsd.new_data_from);
            let cwnd = self.bsd.holes.repeated + new_data + segments * mss;
            self.window.cwnd = cwnd.min(self.window.ssthresh);
            self.bsd_output();
            return;
        }
        let (nxt, cwnd) = (self.snd.nxt, self.window.cwnd);
        self.snd.nxt = self.snd.una;
        self.window.cwnd = mss;
        self.bsd_output();
        self.snd.nxt = self.snd.nxt.max(nxt);
        self.window.cwnd = cwnd.saturating_sub(acked) + mss;
    }

    /// Recovery is over: no burst, even if little is in flight.
    fn bsd_leave_recovery(&mut self) {
        let flight = self.snd.max - self.snd.una;
        let window = &mut self.window;
        window.cwnd =
            if flight < window.ssthresh { flight + u64::from(window.mss) } else { window.ssthresh };
    }

    /// An acknowledgement within half a round trip of a timeout answers the original.
    fn bsd_check_spurious_timeout(&mut self) {
        let Some(before) = self.bsd.before_timeout.take() else { return };
        if self.bsd.shift == 1 && self.now() < before.until {
            self.window.cwnd = before.cwnd;
            self.window.ssthresh = before.ssthresh;
            self.bsd.recover = before.recover;
            self.bsd.recovering = before.recovering;
            self.bsd.congested = before.congested;
            self.snd.nxt = self.snd.max;
            self.stats.spurious_undos += 1;
            self.notify(CcEvent::Undone);
        }
    }

    /// By timestamp or, without, by the one segment that is timed; in ticks.
    fn bsd_measure(&mut self, header: &TcpHeader) -> Option<Duration> {
        let tick = self.clock.tick();
        let rtt = if header.timestamps && header.ts_ecr != 0 {
            let millis = self.clock.timestamp().wrapping_sub(header.ts_ecr);
            (millis < 1 << 30).then(|| Duration::from_millis(u64::from(millis)))?
        } else {
            let (sent, end) = self.bsd.timed.filter(|(_, end)| header.ack > *end - 1)?;
            let _ = end;
            self.bsd.timed = None;
            self.now().since(sent)
        };
        // The first sample is taken a tick too large, so that it is never nothing.
        let sample = if self.rtt.srtt().is_none() { rtt + tick } else { rtt };
        self.rtt.sample_min(rtt.max(tick), self.clock.now);
        self.rtt.sample(sample, self.snd.una, self.snd.max, &self.clock);
        self.bsd.shift = 0;
        Some(rtt.max(tick))
    }
}
