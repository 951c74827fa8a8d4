//! A pipe of dummynet: what it may send at which tick, and when it rests.
//!
//! Source: FreeBSD 10.4 `sys/netpfil/ipfw/ip_dn_io.c` (`serve_sched`, `dummynet_io`). Credit is
//! kept as there, in bits times ticks a second, so that nothing is ever rounded but the tick at
//! which a debt is paid.

use aqmlab_core::{BitRate, Bytes, Instant};

/// Ticks in a second: `kern.hz` is 1000 on PCs unless someone changes it.
const HZ: u64 = 1_000;
const TICK_NS: u64 = 1_000_000_000 / HZ;

/// A pipe, but for the packets, which wait in its discipline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipe {
    bandwidth: i128,
    /// `si->credit`: what may be sent, in bits times ticks a second; negative for a debt.
    credit: i128,
    /// `si->sched_time`: the tick for which the credit is right.
    served: u64,
    /// When a packet was last asked for.
    asked: Instant,
    /// Whether there was none.
    rests: bool,
}

impl Pipe {
    /// A pipe that nothing was ever sent through.
    pub(crate) fn new(rate: BitRate) -> Self {
        let bandwidth = rate.as_bps().into();
        Self { bandwidth, credit: 0, served: 0, asked: Instant::ZERO, rests: true }
    }

    /// When it asks the discipline for the next packet.
    pub(crate) fn wakes(&self) -> Instant {
        at(self.served + self.wait())
    }

    /// When all that was sent is paid for.
    pub(crate) fn paid(&self) -> Instant {
        let served = i128::from(at(self.served).as_nanos());
        let paid = served - self.credit * i128::from(TICK_NS) / self.bandwidth;
        Instant::from_nanos(u64::try_from(paid).unwrap_or(0))
    }

    /// When it has asked an empty discipline in vain, if nobody has told it so; to be called before
    /// a packet comes to one.
    pub(crate) fn asks_in_vain(&self, now: Instant) -> Option<Instant> {
        let due = self.wakes().max(self.asked);
        (!self.rests && due <= now).then_some(due)
    }

    /// Notes that at `now` there was nothing to send.
    pub(crate) fn rests(&mut self, now: Instant) {
        self.serve(tick(now));
        (self.asked, self.rests) = (now, true);
    }

    /// Pays for a packet of `size` that is sent at `now`.
    pub(crate) fn charge(&mut self, size: Bytes, now: Instant) {
        let tick = tick(now);
        // A pause begins with the tick in which there was nothing to send, and its credit is lost.
        if self.rests && tick > self.served {
            (self.credit, self.served) = (0, tick);
        }
        self.serve(tick);
        (self.asked, self.rests) = (now, false);
        self.credit -= i128::from(size.0 * 8 * HZ);
    }

    fn serve(&mut self, tick: u64) {
        self.credit += i128::from(tick - self.served) * self.bandwidth;
        self.served = tick;
    }

    /// Ticks until a debt is paid.
    fn wait(&self) -> u64 {
        self.credit.min(0).unsigned_abs().div_ceil(self.bandwidth.unsigned_abs()) as u64
    }
}

const fn tick(now: Instant) -> u64 {
    now.as_nanos() / TICK_NS
}

const fn at(tick: u64) -> Instant {
    Instant::from_nanos(tick * TICK_NS)
}

#[cfg(test)]
mod tests;
