//! A pipe of dummynet: its credit at each tick, its idle times, and its destruction.
//!
//! Source: FreeBSD 10.4 `sys/netpfil/ipfw/ip_dn_io.c` (`serve_sched`, `dummynet_io`) and
//! `ip_dummynet.c` (`dn_drain_scheduler`). Credit is kept as there, in bits times ticks a second, so
//! that nothing is ever rounded but the tick at which a debt is paid.
//!
//! `net.inet.ip.dummynet.expire` is 1, so at every tick dummynet looks into the next of the 64
//! buckets of its table of schedulers, and the instance of one that is idle is freed, with all that
//! its discipline knows: CoDel's count, PIE's probability, RED's average, the keys of hashes. The
//! next packet makes a new one. So a pause of 64 ms always does, and a moment may.

use aqmlab_core::{BitRate, Bytes, Duration, Instant};

/// Ticks in a second: `kern.hz` is 1000 on PCs unless someone changes it.
const HZ: u64 = 1_000;
const TICK_NS: u64 = 1_000_000_000 / HZ;

/// `dn_ht_init` makes so many buckets where `hash_size` of them are asked for.
const BUCKETS: u64 = 64;

/// A pipe, but for the packets, which wait in its discipline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipe {
    bandwidth: i128,
    /// `si->credit`, in bits times ticks a second; negative for a debt.
    credit: i128,
    /// `si->sched_time`: the tick for which the credit is right.
    served: u64,
    /// When a packet was last asked for.
    asked: Instant,
    /// The tick at which the packet sent last is paid for, and after which it is delayed.
    last: u64,
    /// The number of ticks by which the pipe delays packets.
    delay: u64,
    /// Its state if there was none.
    rest: Option<Rest>,
    /// The tick of [`BUCKETS`] at which it is looked at.
    phase: u64,
}

/// The rest of a pipe that had nothing to send when it could.
#[derive(Clone, Copy, Debug)]
enum Rest {
    /// Nobody has looked at it since; the tick `watched` is the first that may.
    Idle { watched: u64 },
    /// It has been taken away, or was never there.
    Gone,
}

impl Pipe {
    /// A pipe that has never sent a packet.
    pub(crate) fn new(rate: BitRate) -> Self {
        let bandwidth = rate.as_bps().into();
        let (asked, rest) = (Instant::ZERO, Some(Rest::Gone));
        Self { bandwidth, credit: 0, served: 0, asked, last: 0, delay: 0, rest, phase: 0 }
    }

    /// The same pipe with a delay, which the path after it takes care of: `config_link` counts it in
    /// ticks, and while a packet is on its way the pipe is not idle.
    pub(crate) fn delayed_by(self, delay: Duration) -> Self {
        Self { delay: delay.as_nanos() / TICK_NS, ..self }
    }

    /// Chooses the tick of [`BUCKETS`] at which the garbage collector visits it, by a share of 2⁶⁴.
    pub(crate) fn set_phase(&mut self, phase: u64) {
        self.phase = ((u128::from(phase) * u128::from(BUCKETS)) >> 64) as u64;
    }

    /// The time of its next poll of the discipline.
    pub(crate) fn wakes(&self) -> Instant {
        at(self.served + self.wait())
    }

    /// The time at which all packets sent are paid for.
    pub(crate) fn paid(&self) -> Instant {
        let served = i128::from(at(self.served).as_nanos());
        let paid = served - self.credit * i128::from(TICK_NS) / self.bandwidth;
        Instant::from_nanos(u64::try_from(paid).unwrap_or(0))
    }

    /// The time of an empty poll that is not yet reported to the discipline. Call this before a
    /// packet comes to an empty discipline.
    pub(crate) fn empty_poll(&self, now: Instant) -> Option<Instant> {
        let due = self.wakes().max(self.asked);
        (self.rest.is_none() && due <= now).then_some(due)
    }

    /// Notes that at `now` there was nothing to send.
    pub(crate) fn rests(&mut self, now: Instant) {
        self.serve(tick(now));
        self.asked = now;
        // A tick looks for what is idle when it has served all, and let go what was delayed.
        let watched = now.as_nanos().div_ceil(TICK_NS).max(self.last + self.delay);
        self.rest.get_or_insert(Rest::Idle { watched });
    }

    /// Looks whether it was taken away before `now`, and says so once.
    pub(crate) fn look(&mut self, now: Instant) -> bool {
        let Some(Rest::Idle { watched }) = self.rest else { return false };
        let look = watched + (self.phase + BUCKETS - watched % BUCKETS) % BUCKETS;
        let gone = look <= tick(now);
        if gone {
            self.rest = Some(Rest::Gone);
        }
        gone
    }

    /// Pays for a packet of `size` that is sent at `now`.
    pub(crate) fn charge(&mut self, size: Bytes, now: Instant) {
        let tick = tick(now);
        // A pause begins with the tick in which there was nothing to send, and its credit is lost.
        let anew = match self.rest.take() {
            Some(Rest::Idle { .. }) => self.served < tick,
            Some(Rest::Gone) => true,
            None => false,
        };
        if anew {
            (self.credit, self.served) = (0, tick);
        }
        self.serve(tick);
        self.asked = now;
        self.credit -= i128::from(size.0 * 8 * HZ);
        self.last = self.served + self.wait();
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
