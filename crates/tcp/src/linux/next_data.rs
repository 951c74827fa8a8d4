//! The next data at a receiver: the data that the receiver expects, from a peer that acknowledges
//! nothing new. Nearly all data of a transfer in one direction arrives in this form.
//!
//! Source: the header prediction of Linux 6.1 `tcp_rcv_established`.
//!
//! [`Linux::receive_next`] does what [`Linux::process_general`] does for such a segment. A new
//! feature of received segments must be added to both, or must make [`Linux::is_next_data`] return
//! false.

use std::hint::select_unpredictable;

use aqmlab_core::{Ecn, TcpHeader};

use super::Linux;
use super::ack::is_without_news;
use super::input::is_predicted;
use crate::common::receive_queue::Buffer;
use crate::tcb::Tcb;

impl Linux {
    /// Returns whether a segment has only the next data, and whether its receiver is only a
    /// receiver at present: it has no data to send or to be acknowledged, no data out of order, and
    /// no FIN of either side.
    #[inline]
    pub(super) fn is_next_data(&self, tcb: &Tcb, header: &TcpHeader) -> bool {
        header.payload > 0
            && is_predicted(tcb, header)
            && is_without_news(tcb, header)
            && !header.flags.has_any(tcb.ecn.attention)
            && tcb.rcv.open() > 0
            && tcb.rcv.fin.is_none()
            && self.ooo.is_empty()
            && tcb.snd.unsent() == 0
            && !tcb.snd.fin_wanted
            && !tcb.writer.waits_for_space
            && !self.tlp.is_in_flight()
            && !self.tlp.is_postponed()
    }

    /// Processes the next data.
    #[inline(never)]
    pub(super) fn receive_next(&mut self, tcb: &mut Tcb, header: &TcpHeader, ecn: Ecn) {
        // `is_predicted` has tested that the timestamp is not old.
        let is_stored = header.timestamps & (header.seq <= tcb.rcv.wup);
        tcb.rcv.ts_recent = select_unpredictable(is_stored, header.ts_val, tcb.rcv.ts_recent);
        self.update_send_window(tcb, header);
        self.autotune.measure_by_echo(tcb, header, self.delack.rcv_mss());
        tcb.rcv.sack.clear_duplicate();
        let end = header.seq + u64::from(header.payload);
        tcb.wakeup.unread.add(Buffer::of(header.seq, end), u64::from(header.payload));
        tcb.rcv.nxt = end;
        self.take_data(tcb, header, ecn);
        tcb.app_acted = false;
        self.check_ack(tcb);
        self.wake(tcb);
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Instant, Rng, TcpFlags};

    use super::*;
    use crate::linux::testing;

    #[test]
    fn the_next_data_does_the_same_on_both_paths() {
        let (mut rng, mut compared) = (Rng::stream(1, "next data"), 0);
        for _ in 0..200 {
            let mut ends = [testing::open("cubic"), testing::open("cubic")];
            let ecn = rng.below(2) == 0;
            for (linux, tcb) in &mut ends {
                (tcb.options.rcv_shift, tcb.options.timestamps) = (7, true);
                (tcb.options.ecn, tcb.options.advmss) = (ecn, 1_448);
                (tcb.rcv.wnd, tcb.rcv.nxt, tcb.rcv.wup) = (60_000, 1, 1);
                let space = linux.rcv_window.init(tcb);
                linux.autotune.start(space, 1, Instant::ZERO);
                linux.delack.start(tcb);
            }
            let mut now = Instant::from_millis(5);
            for _ in 0..40 {
                now += aqmlab_core::Duration::from_micros(rng.below(30_000) >> rng.below(12));
                let small = rng.below(4) == 0;
                let push = if rng.below(4) == 0 { TcpFlags::PSH } else { TcpFlags::default() };
                let header = TcpHeader {
                    seq: ends[0].1.rcv.nxt,
                    ack: 1,
                    payload: if small { 1 + rng.below(1_447) as u32 } else { 1_448 },
                    window: rng.below(3) as u32 * 10_000,
                    timestamps: true,
                    ts_val: now.as_nanos() as u32 / 1_000_000,
                    ts_ecr: 1_000 + rng.below(3) as u32,
                    flags: TcpFlags::ACK.with(push),
                    ..TcpHeader::default()
                };
                let field = if rng.below(4) == 0 { Ecn::Ce } else { Ecn::Ect0 };
                let reads = rng.below(2) == 0;
                for (linux, tcb) in &mut ends {
                    tcb.clock.set(now);
                    if reads {
                        linux.on_awake(tcb);
                    }
                }
                let [(short, one), (long, other)] = &mut ends;
                if !short.is_next_data(one, &header) {
                    break;
                }
                short.receive_next(one, &header, field);
                long.process_general(other, &header, field);
                assert_eq!(testing::state(short, one), testing::state(long, other), "{header:?}");
                compared += 1;
            }
        }
        assert!(compared > 2_000, "{compared} segments were the next data");
    }
}
