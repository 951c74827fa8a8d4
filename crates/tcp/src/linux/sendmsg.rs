//! The application's writes into the send buffer.
//!
//! Source: Linux 6.1 `net/ipv4/tcp.c` (`tcp_sendmsg_locked`, `tcp_xmit_size_goal`).

use super::Linux;
use super::output::Push;
use crate::cc::LARGEST_BURST;
use crate::tcb::Tcb;

/// The maximum number of bytes that the modelled application passes to one `write`.
const MAX_WRITE: u64 = 65_536;

/// Whether data begins a `write` or continues it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    First,
    Rest,
}

impl Tcb {
    /// Returns the maximum payload of one `skb` in bytes: whole segments, at least one, of at most
    /// [`LARGEST_BURST`] and [`Self::half_window`]. Without bursts, the result is one segment
    /// (`tcp_xmit_size_goal`).
    fn size_goal(&self, mss: u32) -> u64 {
        let half = self.half_window();
        let most = if self.profile.bursts { LARGEST_BURST } else { u64::from(mss) };
        let goal = if half > 0 { most.min(half) } else { most };
        let mss = u64::from(mss);
        (goal - goal % mss).max(mss)
    }
}

impl Linux {
    /// Adds up to `bytes` to the send buffer, and sends the data that may be sent. Returns the
    /// number of bytes accepted.
    pub(crate) fn write(&mut self, tcb: &mut Tcb, bytes: u64) -> u64 {
        if !tcb.state.is_synchronized() {
            let taken = bytes.min(self.sndbuf.unopened_space(tcb.snd.buffered()));
            tcb.snd.extend(taken);
            taken
        } else if tcb.snd.early > 0 {
            0
        } else {
            self.append(tcb, bytes)
        }
    }

    /// Adds to the buffer the data that the application wrote before the connection opened. If some
    /// of this data does not fit, the application waits for space.
    pub(super) fn write_early(&mut self, tcb: &mut Tcb) {
        let early = tcb.snd.early;
        if early > 0 {
            tcb.snd.early -= self.append(tcb, early);
            tcb.writer.waits_for_space |= tcb.snd.early > 0;
            tcb.app_acted = true; // a FIN may follow
        }
    }

    /// Adds up to `bytes`, and returns the number of bytes added. The application writes until a
    /// write adds nothing. A write that was cut short may send its data, which leaves space in the
    /// last `skb` for the next write.
    pub(super) fn append(&mut self, tcb: &mut Tcb, bytes: u64) -> u64 {
        let mut taken = 0;
        while taken < bytes {
            match self.write_once(tcb, (bytes - taken).min(MAX_WRITE)) {
                0 => break,
                some => taken += some,
            }
        }
        taken
    }

    /// Fills the buffer for an application that writes without limit.
    pub(super) fn fill(&mut self, tcb: &mut Tcb) {
        let is_ready = tcb.state.is_synchronized() && !tcb.wakeup.opened;
        let writer = &tcb.writer;
        if !writer.is_unlimited || writer.waits_for_space || tcb.snd.early > 0 || !is_ready {
            return;
        }
        tcb.check_app_limited();
        let mut left = MAX_WRITE;
        loop {
            match self.write_once(tcb, left) {
                0 => break,
                taken if taken == left => left = MAX_WRITE,
                taken => left -= taken,
            }
        }
        tcb.writer.waits_for_space = true;
    }

    /// Performs one `write`, which may send data each time an `skb` is full and when the `write`
    /// ends. Returns the number of bytes accepted.
    fn write_once(&mut self, tcb: &mut Tcb, bytes: u64) -> u64 {
        let goal = tcb.size_goal(tcb.current_mss());
        let mut left = bytes;
        loop {
            let part = if left == bytes { Part::First } else { Part::Rest };
            let taken = self.lay_out(tcb, left, goal, part);
            left -= taken;
            if left == bytes {
                return 0;
            }
            if left == 0 || taken == 0 {
                self.sndbuf.mark_push(tcb.snd.written());
                self.push_pending(tcb);
                return bytes - left;
            }
            if self.sndbuf.left_in_tail(tcb, goal) == 0 {
                self.push_full_skb(tcb);
            }
        }
    }

    /// Stores up to `bytes` in the last `skb` or in a new `skb` of at most `goal` bytes. Returns
    /// the number of bytes stored, which is zero if there is no space. If a write begins in an
    /// `skb`, that `skb` no longer carries PSH. A new `skb` may restart the congestion window after
    /// an idle period.
    pub(super) fn lay_out(&mut self, tcb: &mut Tcb, bytes: u64, goal: u64, part: Part) -> u64 {
        let mut left = self.sndbuf.left_in_tail(tcb, goal);
        if left == 0 {
            if !self.sndbuf.has_memory(tcb) {
                return 0;
            }
            self.restart_after_idle(tcb);
            self.sndbuf.begin_skb(tcb.snd.written());
            left = goal;
        }
        let taken = left.min(bytes);
        tcb.snd.extend(taken);
        self.sndbuf.extend_skb(taken, part);
        taken
    }

    /// Sends data when an `skb` is full. If PSH is due, the `skb` carries it, and all data that may
    /// be sent is sent. Otherwise, if this is the only unsent `skb`, one burst is sent.
    fn push_full_skb(&mut self, tcb: &mut Tcb) {
        if self.sndbuf.needs_push(tcb) {
            self.sndbuf.mark_push(tcb.snd.written());
            self.push_pending(tcb);
        } else if self.sndbuf.has_one_skb() {
            self.write_xmit(tcb, Push::One);
        }
    }
}
