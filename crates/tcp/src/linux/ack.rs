//! Processing an acknowledgement: `tcp_ack` and what hangs on it.

use aqmlab_core::{Duration, Instant, TcpFlags, TcpHeader};

use super::{Rexmit, flag};
use crate::cc::{Ack, RateSample};
use crate::common::delivery_rate::PendingSample;
use crate::connection::Connection;
use crate::state::CaState;

/// What is learnt from one acknowledgement while it is processed.
#[derive(Debug)]
pub(crate) struct AckState {
    pub(crate) flags: u32,
    /// `snd_una` before it.
    pub(crate) prior_una: u64,
    /// The earliest and latest transmission of originals that it acknowledges selectively.
    pub(crate) first_sacked: Option<Instant>,
    pub(crate) last_sacked: Option<Instant>,
    /// The lowest segment that it shows to have been overtaken.
    pub(crate) reordered: u64,
    /// Segments that it delivers selectively.
    pub(crate) sack_delivered: u64,
    pub(crate) rate: PendingSample,
    /// The round-trip time of the newest segment acknowledged.
    pub(super) cc_rtt: Option<Duration>,
    pub(super) acked_bytes: u64,
}

impl AckState {
    pub(super) const fn new(prior_una: u64, flags: u32) -> Self {
        Self {
            flags,
            prior_una,
            first_sacked: None,
            last_sacked: None,
            reordered: u64::MAX,
            sack_delivered: 0,
            rate: PendingSample::new(),
            cc_rtt: None,
            acked_bytes: 0,
        }
    }

    #[inline]
    pub(crate) const fn has(&self, flags: u32) -> bool {
        self.flags & flags != 0
    }
}

impl Connection {
    /// Processes the acknowledgement; returns whether the rest of the segment may be.
    #[inline]
    pub(crate) fn process_ack(&mut self, header: &TcpHeader) -> bool {
        // The peer has reduced its window: its next data deserves an answer at once.
        if header.flags.has(TcpFlags::CWR) {
            self.ecn.echo = false;
            self.delack.now |= header.payload > 0;
        }
        if header.ack > self.snd.max {
            return false;
        }
        if header.ack < self.snd.una {
            // RFC 5961 §5.2: older than anything that can be on its way.
            if header.ack + self.snd.max_window < self.snd.una {
                if self.may_challenge() {
                    self.send_ack();
                }
                return false;
            }
            self.process_old_ack(header);
            return true;
        }
        self.process_current_ack(header);
        self.follow_fin_ack();
        true
    }

    /// Processes the acknowledgement in `header`, which is neither older than `snd_una` nor
    /// beyond what was sent.
    fn process_current_ack(&mut self, header: &TcpHeader) {
        if self.has_no_news(header) {
            self.update_send_window(header);
            self.acknowledge_probe();
        } else {
            self.process_ack_in_full(header);
        }
    }

    #[inline]
    fn process_ack_in_full(&mut self, header: &TcpHeader) {
        let mut ack = AckState::new(self.snd.una, 0);
        let prior_packets = self.board.packets_out();
        let (prior_delivered, prior_lost) = (self.rate.delivered, self.rate.lost);
        let prior_fack = self.board.highest_sack(self.snd.una);
        let reneging = self.recovery.reneging;
        if header.ack > self.snd.una {
            ack.flags |= flag::SND_UNA_ADVANCED;
            self.recovery.retransmits = 0;
        }
        if header.payload > 0 {
            ack.flags |= flag::DATA;
        }
        if self.update_send_window(header) {
            ack.flags |= flag::WIN_UPDATE;
        }
        self.stats.bytes_acked += header.ack - self.snd.una;
        self.snd.una = header.ack;
        self.sndbuf.acknowledge(header.ack);
        self.process_sacks(header, &mut ack);
        if header.flags.has(TcpFlags::ECE) && self.options.ecn {
            ack.flags |= flag::ECE;
        }
        self.rate.delivered += ack.sack_delivered;
        if prior_packets == 0 {
            self.ack_without_queue(&mut ack);
            return;
        }
        let sample = self.clean_queue(header, prior_fack, &mut ack);
        self.rack_update_window(ack.rate.prior_delivered);
        if self.recovery.tlp_high_seq != 0 {
            self.process_probe_ack(header.ack, ack.flags);
        }
        let mut rexmit = Rexmit::None;
        if self.is_dubious(ack.flags) {
            let fresh = flag::SND_UNA_ADVANCED | flag::NOT_DUP | flag::DSACKING_ACK;
            let duplicate = !ack.has(fresh);
            self.stats.dup_acks += u64::from(duplicate);
            rexmit = self.alert(header, &mut ack, duplicate);
        }
        if ack.has(flag::SET_XMIT_TIMER) {
            self.set_transmit_timer();
        }
        let delivered = self.rate.delivered - prior_delivered;
        let lost = self.rate.lost - prior_lost;
        self.control_congestion(&ack, sample, (delivered, lost), !reneging);
        self.transmit_recovery(rexmit);
    }

    /// Whether nothing is outstanding and the segment says so once more, as all do that a
    /// receiver of bulk data gets. For such a segment, what [`Self::process_ack_in_full`]
    /// does comes down to its window.
    #[inline]
    fn has_no_news(&self, header: &TcpHeader) -> bool {
        header.ack == self.snd.una
            && self.board.is_empty()
            && header.sack.is_empty()
            && self.recovery.tlp_high_seq == 0
    }

    /// A segment older than `snd_una` may still carry news in its SACK blocks.
    fn process_old_ack(&mut self, header: &TcpHeader) {
        if header.sack.is_empty() || !self.options.sack {
            return;
        }
        let mut ack = AckState::new(self.snd.una, 0);
        self.process_sacks(header, &mut ack);
        self.rate.delivered += ack.sack_delivered;
        let rexmit = self.alert(header, &mut ack, false);
        self.transmit_recovery(rexmit);
    }

    #[inline]
    fn process_sacks(&mut self, header: &TcpHeader, ack: &mut AckState) {
        if !header.sack.is_empty() && self.options.sack {
            self.tag_sacked(header, ack);
        }
    }

    #[inline]
    fn is_dubious(&self, flags: u32) -> bool {
        flags & flag::NOT_DUP == 0
            || flags & flag::CA_ALERT != 0
            || self.recovery.ca != CaState::Open
    }

    /// Nothing was outstanding: the acknowledgement can only open the window, or show that
    /// what was retransmitted had not been lost.
    fn ack_without_queue(&mut self, ack: &mut AckState) {
        if ack.has(flag::DSACKING_ACK) {
            let header = TcpHeader::default();
            self.alert(&header, ack, false);
        }
        self.acknowledge_probe();
        if self.recovery.tlp_high_seq != 0 {
            self.process_probe_ack(self.snd.una, ack.flags);
        }
    }

    /// Grows, reduces or lets alone the window.
    #[inline]
    fn control_congestion(
        &mut self,
        ack: &AckState,
        mut sample: Ack,
        (delivered, lost): (u64, u64),
        valid: bool,
    ) {
        let (now, min_rtt) = (self.clock.now, self.rtt.min());
        let counts = (delivered, lost);
        sample.rate = self.rate.finish(&ack.rate, counts, now, valid, min_rtt);
        if self.window.segment != 1 {
            self.scale_rate(&mut sample.rate);
        }
        sample.acked = self.units(delivered);
        sample.in_flight = self.units(u64::from(self.board.in_flight()));
        sample.cwnd_limited = self.is_cwnd_limited();
        if self.cc.controls_cwnd() {
            let recovering = self.recovery.ca >= CaState::Recovery;
            self.cc.control(&mut self.window, &sample, recovering);
        } else if self.recovery.ca.is_reducing() {
            self.reduce_cwnd(delivered, lost, ack.has(flag::SND_UNA_ADVANCED));
        } else if self.may_raise_cwnd(ack) {
            self.cc.on_ack(&mut self.window, &sample);
            self.usage.stamp = self.clock.now;
        }
    }

    /// Growth needs data delivered in order, unless the path is known to reorder.
    #[inline]
    fn may_raise_cwnd(&self, ack: &AckState) -> bool {
        if u64::from(self.recovery.reordering) > self.profile.reordering {
            ack.has(flag::FORWARD_PROGRESS)
        } else {
            ack.has(flag::DATA_ACKED)
        }
    }

    fn scale_rate(&self, rate: &mut RateSample) {
        for count in [
            &mut rate.delivered,
            &mut rate.prior_delivered,
            &mut rate.total_delivered,
            &mut rate.losses,
            &mut rate.total_lost,
            &mut rate.acked_sacked,
        ] {
            *count *= self.window.segment;
        }
    }

    /// What the controller is told, but for what loss detection has yet to find out.
    #[inline]
    pub(super) fn ack_sample(&self, ack: &AckState) -> Ack {
        let since_sent = self.rate.delivered.saturating_sub(ack.rate.prior_delivered);
        let sampled = ack.rate.prior_delivered != 0;
        Ack {
            now: self.clock.now,
            acked: 0,
            bytes: ack.acked_bytes,
            in_flight: self.units(u64::from(self.board.in_flight())),
            prior_in_flight: if sampled { self.units(since_sent) } else { 0 },
            until_departure: self.usage.departure.since(self.clock.now),
            rtt: ack.cc_rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            cwnd_limited: self.is_cwnd_limited(),
            snd_una: self.snd.una,
            snd_nxt: self.snd.nxt,
            rate: RateSample::default(),
        }
    }

    /// RFC 9293 §3.10.7.4: takes over the window unless the segment is older than the one that
    /// last set it. Returns whether the acknowledgement counts as a window update.
    #[inline]
    pub(crate) fn update_send_window(&mut self, header: &TcpHeader) -> bool {
        let window = u64::from(header.window);
        let snd = &mut self.snd;
        let newer = header.ack > snd.una
            || header.seq > snd.wl1
            || (header.seq == snd.wl1 && window > snd.wnd);
        if !newer {
            return false;
        }
        snd.wl1 = header.seq;
        if snd.wnd != window {
            snd.wnd = window;
            if window > snd.max_window {
                let bounded = snd.max_window / 2 <= u64::from(self.window.mss);
                snd.max_window = window;
                if bounded {
                    self.size_segments();
                }
            }
            if self.snd.unsent() > 0 {
                self.restart_after_idle();
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Args, Rng};

    use super::*;
    use crate::{Config, Profile};

    fn idle() -> Connection {
        let kind = crate::cc::kinds::find("reno").unwrap();
        let config = Config::new(Profile::linux(), (kind.build)(&Args::defaults(kind.params)));
        let mut connection = Connection::passive(config);
        connection.state = crate::state::State::Established;
        connection.options.sack = true;
        connection
    }

    fn state(of: &Connection) -> String {
        let Connection {
            snd,
            board,
            rtt,
            rate,
            rack,
            recovery: rec,
            usage,
            timers,
            stats,
            window,
            ..
        } = of;
        format!(
            "{snd:?} {board:?} {rtt:?} {rate:?} {rack:?} {rec:?} {usage:?} {timers:?} {stats:?} \
             {window:?} {:?} {:?}",
            of.delack, of.out
        )
    }

    #[test]
    fn an_acknowledgement_without_news_does_the_same_the_short_way() {
        let mut rng = Rng::stream(1, "short way");
        for _ in 0..2_000 {
            let mut ends = [idle(), idle()];
            let mut header = TcpHeader::default();
            let (una, wl1, window) = (1 + rng.below(3), rng.below(3), rng.below(3));
            (header.ack, header.seq, header.payload) = (una, rng.below(3), rng.below(2) as u32);
            header.window = rng.below(3) as u32 * 1_000;
            let ece = if rng.below(2) == 0 { TcpFlags::ECE } else { TcpFlags::default() };
            header.flags = TcpFlags::ACK.with(ece);
            let (pours, ecn) = (rng.below(2) == 0, rng.below(2) == 0);
            for end in &mut ends {
                end.options.ecn = ecn;
                (end.snd.una, end.snd.nxt, end.snd.max) = (una, una, una);
                (end.snd.wl1, end.snd.wnd, end.snd.pouring) = (wl1, window * 1_000, pours);
                end.clock.set(Instant::from_millis(5));
            }
            assert!(ends[0].has_no_news(&header));
            ends[0].process_current_ack(&header);
            ends[1].process_ack_in_full(&header);
            assert_eq!(state(&ends[0]), state(&ends[1]), "{header:?}");
        }
    }
}
