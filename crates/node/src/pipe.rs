//! A dummynet pipe: its credit at each tick, its idle times, and its destruction.
//!
//! Source: FreeBSD 10.4 `sys/netpfil/ipfw/ip_dn_io.c` (`serve_sched`, `dummynet_io`) and
//! `ip_dummynet.c` (`dn_drain_scheduler`). Credit has FreeBSD's unit, bits times ticks per second.
//! The arithmetic rounds only the tick at which a debt is paid.
//!
//! `net.inet.ip.dummynet.expire` is 1, so at every tick dummynet visits the next of the 64 buckets
//! of its scheduler table. If the scheduler instance in the bucket is idle, dummynet frees it
//! together with the state of the discipline. This state includes CoDel's count, PIE's probability,
//! RED's average queue length, and the keys of hashes. The next packet creates a new instance. An
//! idle time of 64 ms always frees the instance; a shorter idle time may free it.

use aqmlab_core::hint::rare;
use aqmlab_core::{BitRate, Bytes, Duration, Instant};

/// Ticks per second: the default of `kern.hz` is 1000 on PCs.
const HZ: u64 = 1_000;
const TICK_NS: u64 = 1_000_000_000 / HZ;

/// The number of scheduler buckets that `dn_ht_init` makes from the requested `hash_size`.
const BUCKETS: u64 = 64;

/// A pipe without its packets, which wait in its discipline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipe {
    /// The bandwidth in bits per second.
    bandwidth: u64,
    /// `si->credit`, in bits times ticks per second; negative for a debt.
    credit: i128,
    /// `si->sched_time`: the tick to which the credit applies.
    served: u64,
    /// The time at which the discipline was last polled.
    polled: Instant,
    /// The tick at which the last packet sent is paid for. The packet's delay begins at that tick.
    last: u64,
    /// The tick at which the last packet sent was charged, and the credit after the charge.
    charged: (u64, i128),
    /// The delay of the pipe in ticks.
    delay: u64,
    /// The idle state, or `None` while the pipe is active.
    idle: Option<Idle>,
    /// The tick, modulo [`BUCKETS`], at which the garbage collector visits the pipe.
    phase: u64,
}

/// The state of an idle pipe.
#[derive(Clone, Copy, Debug)]
enum Idle {
    /// The garbage collector has not visited the pipe; `from` is the first tick at which the
    /// garbage collector can free the pipe.
    Kept { from: u64 },
    /// The pipe was freed or has not been created.
    Gone,
}

impl Pipe {
    /// Returns a pipe that has never sent a packet.
    pub(crate) fn new(rate: BitRate) -> Self {
        Self {
            bandwidth: rate.as_bps(),
            credit: 0,
            served: 0,
            polled: Instant::ZERO,
            last: 0,
            charged: (0, 0),
            delay: 0,
            idle: Some(Idle::Gone),
            phase: 0,
        }
    }

    /// Returns the pipe with its delay in ticks, as `config_link` counts it. The path after the
    /// pipe applies the delay. The pipe needs the delay only because a pipe that delays packets is
    /// not idle.
    pub(crate) fn delayed_by(self, delay: Duration) -> Self {
        Self { delay: delay.as_nanos() / TICK_NS, ..self }
    }

    /// Sets the tick, of every [`BUCKETS`] ticks, at which the garbage collector visits the pipe.
    /// `phase` is a fraction of 2⁶⁴.
    pub(crate) fn set_phase(&mut self, phase: u64) {
        self.phase = ((u128::from(phase) * u128::from(BUCKETS)) >> 64) as u64;
    }

    /// Returns the time at which the discipline is polled next.
    pub(crate) fn wakes(&self) -> Instant {
        at(self.served + self.wait())
    }

    /// Returns the time of the next poll after [`Self::charge`].
    pub(crate) fn wakes_after_charge(&self) -> Instant {
        at(self.last)
    }

    /// Returns the time at which all packets sent are paid for.
    pub(crate) fn paid(&self) -> Instant {
        let (served, credit) = self.charged;
        let served = i128::from(at(served).as_nanos());
        let paid = served - credit * i128::from(TICK_NS) / i128::from(self.bandwidth);
        Instant::from_nanos(u64::try_from(paid).unwrap_or(0))
    }

    /// Returns the time of an empty poll that is not yet reported to the discipline, if there was
    /// one at or before `now`. Call this function before a packet arrives at an empty discipline.
    pub(crate) fn empty_poll(&self, now: Instant) -> Option<Instant> {
        let due = self.wakes().max(self.polled);
        (self.idle.is_none() && due <= now).then_some(due)
    }

    /// Records a poll at `now` that found the discipline empty. The poll may have followed the
    /// arrival of a packet that the discipline dropped.
    pub(crate) fn note_empty_poll(&mut self, now: Instant) {
        self.activate(tick(now));
        self.serve(tick(now));
        self.polled = now;
        // In each tick, dummynet serves all pipes and releases delayed packets before it frees idle
        // instances.
        let from = now.as_nanos().div_ceil(TICK_NS).max(self.last + self.delay);
        self.idle = Some(Idle::Kept { from });
    }

    /// Frees the pipe if the garbage collector has visited it by `now`. Returns whether this call
    /// freed the pipe.
    pub(crate) fn free_if_visited(&mut self, now: Instant) -> bool {
        let Some(Idle::Kept { from }) = self.idle else { return false };
        let visit = from + (self.phase + BUCKETS - from % BUCKETS) % BUCKETS;
        let is_freed = visit <= tick(now);
        if is_freed {
            self.idle = Some(Idle::Gone);
        }
        is_freed
    }

    /// Charges a packet of `size` that is sent at `now`, and ends the idle time of the pipe.
    pub(crate) fn charge(&mut self, size: Bytes, now: Instant) {
        let tick = tick(now);
        self.activate(tick);
        self.serve(tick);
        self.polled = now;
        self.credit -= i128::from(size.0 * 8 * HZ);
        self.charged = (self.served, self.credit);
        self.last = self.served + self.wait();
    }

    /// Ends the idle time of the pipe, if it is idle. The credit then becomes zero, unless the pipe
    /// still exists and its idle time began in this `tick`.
    fn activate(&mut self, tick: u64) {
        // An idle time begins with the tick in which the pipe found nothing to send, and the credit
        // of that tick is lost.
        let anew = match self.idle.take() {
            Some(Idle::Kept { .. }) => self.served < tick,
            Some(Idle::Gone) => true,
            None => false,
        };
        if anew {
            (self.credit, self.served) = (0, tick);
        }
    }

    #[expect(clippy::cast_possible_wrap, reason = "no credit comes near 2^127 bits")]
    fn serve(&mut self, tick: u64) {
        // The product of two 64-bit numbers is one multiplication.
        self.credit += (u128::from(tick - self.served) * u128::from(self.bandwidth)) as i128;
        self.served = tick;
    }

    /// Returns the number of ticks until the debt is paid.
    fn wait(&self) -> u64 {
        let debt = self.credit.min(0).unsigned_abs();
        let Ok(debt) = u64::try_from(debt) else {
            rare();
            return self.long_wait();
        };
        // A packet of a fast pipe is paid for in one tick, so no division is needed.
        if debt <= self.bandwidth {
            return u64::from(debt > 0);
        }
        debt.div_ceil(self.bandwidth)
    }

    /// Does what [`Self::wait`] does for any debt. The division of 128 bits takes several times as
    /// long.
    #[cold]
    fn long_wait(&self) -> u64 {
        self.credit.min(0).unsigned_abs().div_ceil(self.bandwidth.into()) as u64
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
