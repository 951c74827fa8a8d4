//! The sending of full segments of new data, outside loss recovery.
//!
//! Most segments of a transfer are such segments. [`FreeBsd::send_plain`] sends them as the passes
//! of [`FreeBsd::output`] do, without the tests that matter only to other segments. A new feature
//! of segments must be added to both, or must make [`FreeBsd::is_plain`] return false.

use aqmlab_core::TcpFlags;

use super::FreeBsd;
use crate::common::scoreboard::{PUSH, Sent};
use crate::segment::Transmission;
use crate::state::State;
use crate::tcb::Tcb;
use crate::timers::XmitTimer;

impl FreeBsd {
    /// Returns whether the next segments of data carry new data and no FIN.
    #[inline]
    pub(super) fn is_plain(&self, tcb: &Tcb) -> bool {
        tcb.state == State::Established && tcb.snd.nxt == tcb.snd.max && !self.recovery.is_active()
    }

    /// Sends the full segments that the windows and pacing allow. [`Self::is_plain`] must be true.
    /// Returns whether [`Self::pass`] must follow.
    #[expect(clippy::inline_always, reason = "most segments pass; a call costs 0.1 % of a run")]
    #[inline(always)]
    pub(super) fn send_plain(&mut self, tcb: &mut Tcb) -> bool {
        loop {
            let (start, buffered) = (tcb.snd.nxt, tcb.snd.buffered());
            let window = tcb.snd.wnd.min(tcb.window.cwnd);
            let offset = start - tcb.snd.una;
            let allowed = buffered.min(window).saturating_sub(offset);
            if allowed == 0 {
                if window == 0 || self.is_anything_due(tcb) {
                    return true;
                }
                self.send_buffer.grow(&tcb.snd, window, &tcb.profile);
                return false;
            }
            if allowed < u64::from(tcb.window.mss) || tcb.pacer.departure() > tcb.clock.now {
                return true;
            }
            self.send_buffer.grow(&tcb.snd, window, &tcb.profile);
            let len = allowed.min(tcb.current_mss().into());
            let ends_buffer = offset + len == buffered;
            let control = if ends_buffer { TcpFlags::PSH } else { TcpFlags::default() };
            tcb.on_data_sent();
            tcb.pace(len);
            self.emit_inline(tcb, (start, len as u32), control, Transmission::Original);
            let mut sent = Sent::new(start, len as u32, PUSH);
            sent.sent_at = tcb.clock.now;
            tcb.rate.on_sent(&mut sent, tcb.board.is_empty());
            tcb.board.push(sent);
            (tcb.snd.nxt, tcb.snd.max) = (start + len, start + len);
            self.timed.get_or_insert((tcb.clock.jiffies(), start));
            if tcb.timers.xmit != XmitTimer::Retransmit {
                self.leave_persist(tcb);
                tcb.arm_rto();
            }
            if len == allowed {
                return false;
            }
        }
    }

    /// Returns whether a pass without data may send a segment or set the transmission timer.
    #[inline]
    fn is_anything_due(&self, tcb: &Tcb) -> bool {
        tcb.timers.xmit == XmitTimer::Off || self.owed_ack.now || self.is_window_update_due(tcb)
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Duration, Instant, Rng};

    use super::super::output::Force;
    use super::*;
    use crate::Profile;
    use crate::common::receive_queue::Buffer;
    use crate::freebsd::testing::{self, MSS, open, profile};

    #[test]
    fn full_segments_are_sent_in_the_same_way_on_both_paths() {
        let mut rng = Rng::stream(1, "plain output");
        let (mut segments, mut complete, mut grown) = (0, 0, 0);
        for case in 0..4_000 {
            let outstanding = rng.below(30);
            let cc = if rng.below(4) == 0 { "bbr" } else { "newreno" };
            let mut ends = [(); 2].map(|()| open(profile(), cc, outstanding));
            let [wnd, cwnd, unsent] = [(); 3].map(|()| match rng.below(4) {
                0 => 0,
                1 => rng.below(3 * MSS),
                _ => (outstanding + rng.below(12)) * MSS,
            });
            let (now, is_held_back) = (1 + rng.below(2_000), rng.below(8) == 0);
            let shift = rng.below(3) as u32;
            let (owed, delayed, xmit) = (rng.below(4) == 0, rng.below(4) == 0, rng.below(3));
            let (unread, offered, has_sacks) =
                (rng.below(60_000), rng.below(70_000), rng.below(8) == 0);
            let (ecn, limited, timed) = (rng.below(8) == 0, rng.below(8) == 0, rng.below(2) == 0);
            for (freebsd, tcb) in &mut ends {
                tcb.clock.set(Instant::from_millis(now));
                tcb.snd.extend(unsent);
                (tcb.snd.wnd, tcb.snd.max_window, tcb.window.cwnd) = (wnd, wnd, cwnd);
                (freebsd.owed_ack.now, freebsd.owed_ack.delayed) = (owed, delayed);
                freebsd.timed = timed.then_some((0, 1));
                (tcb.rcv.wnd, freebsd.shift) = (offered, shift);
                tcb.wakeup.unread.add(Buffer::of(1, 1 + unread), unread);
                tcb.options.ecn = ecn;
                tcb.rate.app_limited = u64::from(limited);
                tcb.timers.xmit =
                    [XmitTimer::Off, XmitTimer::Retransmit, XmitTimer::Persist][xmit as usize];
                if has_sacks {
                    tcb.rcv.sack.enabled = true;
                    tcb.rcv.sack.set_blocks(&[(10_000, 20_000)]);
                }
                if is_held_back {
                    let rate = aqmlab_core::BitRate::new(1_000_000).expect("it is not zero");
                    (0..20).for_each(|_| tcb.pacer.on_segment_sent());
                    tcb.pacer.on_burst(tcb.clock.now, rate, 10_000);
                }
                tcb.rtt.rto = Duration::from_millis(300);
                assert!(freebsd.is_plain(tcb));
            }
            let [(freebsd, one), (reference, other)] = &mut ends;
            let before = format!("{:?}", freebsd.send_buffer);
            let may_follow = freebsd.send_plain(one);
            grown += u64::from(before != format!("{:?}", freebsd.send_buffer));
            segments += one.out.len();
            complete += u64::from(!may_follow);
            let idle = other.snd.max == other.snd.una;
            if may_follow {
                while freebsd.pass(one, idle, Force::No) {}
            }
            while reference.pass(other, idle, Force::No) {}
            let states = [testing::state(freebsd, one), testing::state(reference, other)];
            assert_eq!(states[0], states[1], "case {case}");
        }
        assert!(segments > 1_000 && complete > 400, "{segments} segments, {complete} complete");
        assert!(grown > 20, "{grown} send buffers grew");
    }

    /// Tests that an empty send buffer below 8 bytes, which counts as full, grows on both paths.
    #[test]
    fn a_tiny_send_buffer_grows_on_a_quiet_connection() {
        let tiny = || Profile { send_buffer: 4, ..profile() };
        let [(mut quiet, mut one), (mut reference, mut other)] =
            [(); 2].map(|()| open(tiny(), "newreno", 0));
        let before = format!("{:?}", quiet.send_buffer);
        for tcb in [&mut one, &mut other] {
            (tcb.snd.wnd, tcb.window.cwnd) = (10 * MSS, 10 * MSS);
        }
        quiet.output(&mut one);
        while reference.pass(&mut other, false, Force::No) {}
        assert_eq!(testing::state(&quiet, &one), testing::state(&reference, &other));
        assert_ne!(format!("{:?}", quiet.send_buffer), before);
    }
}
