//! CoDel: bounds the standing queue by signals to packets that waited too long.
//!
//! Sources: RFC 8289 §5; Linux 6.1 `include/net/codel_impl.h` as Debian ships it (6.1.192); FreeBSD
//! 10.4 `sys/netpfil/ipfw/dn_aqm_codel.{c,h}`. All three share one structure; a [`Dialect`] selects
//! one source where they differ:
//!
//! | | RFC 8289 | Linux | FreeBSD |
//! |---|---|---|---|
//! | clock | nanoseconds | 1024 ns, 32 bits | microseconds, of the timer tick |
//! | an interval above target is over | at its end | after its end | at its end |
//! | backlog too short to signal | MTU | MTU | the largest packet so far |
//! | `count` rises | with the signal | before the signal | if the next packet is late too |
//! | early return to dropping | `count − lastcount`, 16 intervals | the same | `count − 2`, 8 intervals |
//! | `1/√count` | exact | 16-bit Newton | 16-bit Newton |
//! | `ce_threshold` | – | yes | – |
//!
//! RFC 8289 does not specify marking. With `ecn`, its dialect marks as Linux does: the marked
//! packet is delivered and counts as the only signal of the dequeue.
//!
//! **An empty queue resets `first_above_time`.** From 2012 to 2026, Linux kept `first_above_time`
//! when a queue was empty. A single queue was not affected, because CoDel signals no packet with at
//! most one MTU behind it. In `fq_codel`, that rule counts the backlog of *all* flows. The sojourn
//! time of an occasional ping beside a bulk flow therefore seemed to have been above target for an
//! interval. Upstream 815980fe6dbb resets `first_above_time`, and so do Debian's 6.1.192 and this
//! module. `c18_…` and the script `fq_codel_spares_sparse_flows.q` test the law and the
//! composition. `fq_codel_linux_3_5` keeps the error.

mod pace;

use aqmlab_core::{Bytes, Cx, Duration, Ecn, Packet, Reason};

use crate::PacketQueue;
use pace::Clock;

/// The implementation of CoDel to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The pseudo-code of RFC 8289 §5, in exact arithmetic.
    Rfc8289,
    /// Linux 6.1.
    Linux,
    /// FreeBSD's dummynet, with a clock that advances by timer ticks.
    FreeBsd {
        /// The length of a tick: 1 ms at the default of 1000 ticks per second.
        tick: Duration,
    },
}

/// The parameters of CoDel.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The implementation to follow.
    pub dialect: Dialect,
    /// The acceptable standing sojourn time.
    pub target: Duration,
    /// The time for which the sojourn time must be above target before the first signal: a
    /// worst-case RTT.
    pub interval: Duration,
    /// The largest backlog behind a packet at which CoDel neither marks nor drops the packet.
    /// FreeBSD learns this value from [`State::saw`] and ignores the setting.
    pub mtu: Bytes,
    /// Whether ECN-capable packets are marked and not dropped.
    pub ecn: bool,
    /// The sojourn time above which every selected ECN-capable packet is marked (Linux).
    pub ce_threshold: Option<Duration>,
    /// The packets to which `ce_threshold` applies (Linux's `fq_codel`).
    pub selector: Selector,
}

/// The packets whose ECN field, masked with `mask`, equals `value` (`ce_threshold_selector`). A
/// mask of zero selects every packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// The value of the masked field.
    pub value: u8,
    /// The bits of the field to compare.
    pub mask: u8,
}

impl Selector {
    const fn has(self, ecn: Ecn) -> bool {
        self.mask == 0 || ecn.bits() & self.mask == self.value
    }
}

/// The CoDel law, shared by all queues with the same settings.
#[derive(Clone, Copy, Debug)]
pub struct Codel {
    dialect: Dialect,
    clock: Clock,
    /// The target; `target`, `interval` and `ce_threshold` are in units of the clock.
    target: u64,
    interval: u64,
    /// A sojourn time below this one is below target by every clock. It is zero with
    /// `ce_threshold`, which needs the sojourn time of every packet.
    surely_below: Duration,
    ce_threshold: Option<u64>,
    selector: Selector,
    mtu: u64,
    ecn: bool,
}

/// The CoDel state of one queue.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// The end of the interval that began when the sojourn time rose above target. It is zero if
    /// the queue was empty at the last dequeue, or if the last judged packet had a sojourn time
    /// below target or at most `mtu` bytes behind it. FreeBSD uses `largest` in place of `mtu`.
    first_above_time: u64,
    /// The time of the next signal. The law uses it while `dropping`, and at the start of the next
    /// episode.
    drop_next: u64,
    /// The sojourn time of the last packet that the law judged by its clock.
    sojourn: u64,
    count: u32,
    last_count: u32,
    /// The size of the largest packet offered to the queue (FreeBSD).
    largest: u32,
    /// `1/√count` in units of `2^-16` (Linux and FreeBSD).
    root: u16,
    dropping: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            first_above_time: 0,
            drop_next: 0,
            sojourn: 0,
            count: 0,
            last_count: 0,
            // This is FreeBSD's initial value (`maxpkt_size`).
            largest: 500,
            root: 0,
            dropping: false,
        }
    }
}

impl State {
    /// Raises the size of the largest packet to `len`, the size of an offered packet, if `len` is
    /// larger. The packet counts even if it is then dropped (FreeBSD).
    #[inline]
    pub fn saw(&mut self, len: u32) {
        self.largest = self.largest.max(len);
    }

    /// Counts packets dropped at the limit as signals, as in Linux's `fq_codel` (C-30).
    pub fn strengthen(&mut self, dropped: u32) {
        self.count = self.count.wrapping_add(dropped);
    }

    /// Ends the dropping state and the interval above target of a flow that becomes active, as in
    /// FreeBSD's `fq_codel` (C-33). The call has no visible effect, because the law has already
    /// reset its state when the queue became empty.
    pub fn wake(&mut self) {
        self.dropping = false;
        self.first_above_time = 0;
    }

    /// Ends the dropping state for an empty queue but keeps `first_above_time`, as in Linux 3.5 to
    /// 4.6.
    pub fn stop_dropping(&mut self) {
        self.dropping = false;
    }

    /// Returns `count`, from which the law computes the time between signals.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Returns whether the queue is in the dropping state.
    pub const fn is_dropping(&self) -> bool {
        self.dropping
    }
}

/// The queue from which a CoDel law dequeues.
pub trait Supply {
    /// Returns the packet at the head, if there is one, and leaves it in place.
    fn head(&self) -> Option<&Packet>;

    /// Removes the packet at the head, if there is one.
    fn take(&mut self) -> Option<Packet>;

    /// Returns the backlog that the one-MTU rule counts, including the head. The rule counts the
    /// backlog of this queue or of all queues of the link (RFC 8289 §4.4).
    fn waiting(&self) -> Bytes;
}

impl Supply for PacketQueue {
    #[inline]
    fn head(&self) -> Option<&Packet> {
        self.front()
    }

    #[inline]
    fn take(&mut self) -> Option<Packet> {
        Self::take(self)
    }

    #[inline]
    fn waiting(&self) -> Bytes {
        self.backlog().bytes
    }
}

impl Codel {
    /// Returns the law with these settings.
    pub fn new(settings: Settings) -> Self {
        let clock = Clock::of(settings.dialect);
        Self {
            dialect: settings.dialect,
            clock,
            target: clock.span(settings.target),
            interval: clock.span(settings.interval),
            surely_below: match settings.ce_threshold {
                Some(_) => Duration::ZERO,
                None => clock.least(clock.span(settings.target)),
            },
            ce_threshold: settings.ce_threshold.map(|span| clock.span(span)),
            selector: settings.selector,
            mtu: settings.mtu.0,
            ecn: settings.ecn,
        }
    }

    /// Returns whether the law follows FreeBSD.
    pub const fn is_freebsd(&self) -> bool {
        matches!(self.dialect, Dialect::FreeBsd { .. })
    }

    /// Dequeues the next packet to send, if there is one, and signals packets that waited too long.
    ///
    /// The law judges packets while they are in the queue, so that each packet is moved only once.
    #[inline]
    pub fn dequeue(
        &self,
        state: &mut State,
        supply: &mut impl Supply,
        cx: &mut Cx<'_>,
    ) -> Option<Packet> {
        let is_early = |head: &Packet| cx.now.since(head.enqueued) < self.surely_below;
        if supply.head().is_none_or(is_early) {
            state.first_above_time = 0;
            state.dropping = false;
            return supply.take();
        }
        self.dequeue_late(state, supply, cx)
    }

    /// Dequeues the next packet to send if the head may have waited longer than the target.
    #[inline]
    fn dequeue_late(
        &self,
        state: &mut State,
        supply: &mut impl Supply,
        cx: &mut Cx<'_>,
    ) -> Option<Packet> {
        let now = self.clock.read(cx.now);
        if self.judge(state, supply, now) {
            let marks = if state.dropping {
                self.stay_dropping(state, supply, now, cx)
            } else {
                self.enter_dropping(state, supply, now, cx)
            };
            if marks {
                let late = supply.take()?;
                return self.threshold(state, Some(cx.mark(late, Reason::Sojourn)), cx);
            }
        } else {
            state.dropping = false;
        }
        if self.ce_threshold.is_none() {
            // `threshold` would return the packet too, after eight more instructions.
            return supply.take();
        }
        let packet = supply.take();
        self.threshold(state, packet, cx)
    }

    /// Returns whether sojourn times have been above target for an interval, with a sufficient
    /// backlog behind the head (RFC 8289 §5.6, `dodequeue`). A sojourn time equal to the target
    /// counts as above target. Updates `first_above_time`, and records the sojourn time of the
    /// head.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    fn judge(&self, state: &mut State, supply: &impl Supply, now: u64) -> bool {
        let Some(head) = supply.head() else {
            state.first_above_time = 0;
            return false;
        };
        state.sojourn = self.clock.between(self.clock.read(head.enqueued), now);
        let small = if self.is_freebsd() { u64::from(state.largest) } else { self.mtu };
        let behind = supply.waiting() - head.bytes();
        if !self.clock.reached(state.sojourn, self.target) || behind.0 <= small {
            state.first_above_time = 0;
            return false;
        }
        if state.first_above_time == 0 {
            state.first_above_time = self.clock.add(now, self.interval);
            return false;
        }
        match self.dialect {
            Dialect::Linux => !self.clock.reached(state.first_above_time, now),
            Dialect::Rfc8289 | Dialect::FreeBsd { .. } => {
                self.clock.reached(now, state.first_above_time)
            }
        }
    }

    /// Judges the new head after a drop.
    #[cold]
    fn judge_next(&self, state: &mut State, supply: &impl Supply, now: u64) -> bool {
        self.judge(state, supply, now)
    }

    /// Signals the packet at the head and schedules the next signal (RFC 8289 §5.5). Returns
    /// whether the signal is a mark, which the caller sets on the head.
    #[cold]
    fn enter_dropping(
        &self,
        state: &mut State,
        supply: &mut impl Supply,
        now: u64,
        cx: &mut Cx<'_>,
    ) -> bool {
        let marks = self.marks(supply);
        if !marks {
            drop_head(supply, cx);
            // This dequeue returns the next packet whatever the result is.
            self.judge_next(state, supply, now);
        }
        state.dropping = true;
        self.resume(state, now);
        state.drop_next = self.schedule(state, now);
        marks
    }

    /// Sends every signal that is due, until a packet can leave (RFC 8289 §5.5). Returns whether
    /// the caller must mark that packet.
    #[cold]
    fn stay_dropping(
        &self,
        state: &mut State,
        supply: &mut impl Supply,
        now: u64,
        cx: &mut Cx<'_>,
    ) -> bool {
        let freebsd = self.is_freebsd();
        while self.clock.reached(now, state.drop_next) {
            let marks = self.marks(supply);
            if marks || !freebsd {
                self.raise(state);
            }
            if marks {
                state.drop_next = self.schedule(state, state.drop_next);
                return true;
            }
            drop_head(supply, cx);
            if !self.judge_next(state, supply, now) {
                state.dropping = false;
                return false;
            }
            if freebsd {
                self.raise(state);
            }
            state.drop_next = self.schedule(state, state.drop_next);
        }
        false
    }

    /// Sets `count` for a new episode: near its last value if congestion returns soon (C-11, C-12),
    /// and otherwise to 1.
    fn resume(&self, state: &mut State, now: u64) {
        let lately = |intervals| {
            let until = self.clock.add(state.drop_next, intervals * self.interval);
            !self.clock.reached(now, until)
        };
        let resumed = match self.dialect {
            Dialect::FreeBsd { .. } => {
                (state.count > 2 && lately(8)).then(|| state.count.saturating_sub(2))
            }
            Dialect::Rfc8289 | Dialect::Linux => {
                let signals = state.count.wrapping_sub(state.last_count);
                (signals > 1 && lately(16)).then_some(signals)
            }
        };
        state.count = resumed.unwrap_or(1);
        if self.dialect == Dialect::Linux {
            // One Newton step from the old root is accurate enough; later steps correct the error.
            state.root = resumed.map_or(u16::MAX, |count| pace::linux_step(state.root, count));
        }
        state.last_count = state.count;
    }

    /// Increments `count`, which shortens the time between signals.
    fn raise(&self, state: &mut State) {
        state.count = state.count.wrapping_add(1);
        if self.dialect == Dialect::Linux {
            state.root = pace::linux_step(state.root, state.count);
        }
    }

    /// Returns `from` plus `interval / √count`. For FreeBSD, first updates `root`.
    fn schedule(&self, state: &mut State, from: u64) -> u64 {
        let gap = match self.dialect {
            Dialect::Rfc8289 => pace::exact(self.interval, state.count),
            Dialect::Linux => pace::linux_gap(self.interval, state.root),
            Dialect::FreeBsd { .. } => {
                pace::freebsd_gap(self.interval, state.count, &mut state.root)
            }
        };
        self.clock.add(from, gap)
    }

    /// Returns whether a signal marks the packet at the head. If not, the signal drops the packet.
    fn marks(&self, supply: &impl Supply) -> bool {
        self.ecn && supply.head().is_some_and(|packet| packet.ecn.is_capable())
    }

    /// Applies Linux's `ce_threshold`, if it is set, to the packet that is about to leave. The
    /// parameter `ecn` has no effect here (C-15). The selector reads the ECN field after the law's
    /// own mark.
    #[inline]
    fn threshold(&self, state: &State, next: Option<Packet>, cx: &mut Cx<'_>) -> Option<Packet> {
        let Some(threshold) = self.ce_threshold else { return next };
        let packet = next?;
        let late = !self.clock.reached(threshold, state.sojourn);
        if late && packet.ecn.is_capable() && self.selector.has(packet.ecn) {
            return Some(cx.mark(packet, Reason::Threshold));
        }
        Some(packet)
    }
}

fn drop_head(supply: &mut impl Supply, cx: &mut Cx<'_>) {
    if let Some(packet) = supply.take() {
        cx.drop(packet, Reason::Sojourn);
    }
}
