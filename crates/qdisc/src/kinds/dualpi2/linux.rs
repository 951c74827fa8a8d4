//! `dualpi2` as in Linux.
//!
//! Source: Linux 6.18 `net/sched/sch_dualpi2.c`: `dualpi2_enqueue_skb`, `dualpi2_qdisc_dequeue`,
//! `do_step_aqm`, `dualpi2_dump_stats`. The law is [`crate::aqm::dualpi2::linux`].
//!
//! Differences, each pinned by a test where it can be observed:
//!
//! - in this model only the ECN field classifies packets. In Linux, `tc` filters and class numbers
//!   in `skb->priority` can also put a Not-ECT packet into the L4S queue;
//! - packets are never aggregates, so `split_gso` has nothing to split;
//! - the memory of a packet is an estimate of its `skb->truesize` with one driver, as in
//!   `fq_codel`;
//! - the delays in the statistics are the ages of the head packets at the last enqueue or dequeue;
//!   the kernel computes the ages when the statistics are read.

use std::collections::VecDeque;

use aqmlab_core::{Args, Cx, Duration, Ecn, Instant, Packet, Reason};

use super::params::Control;
use super::queues::{Queue, Queues, Wrr};
use crate::aqm::dualpi2::Verdict;
use crate::aqm::dualpi2::linux::{Linux, MAX_PROB, Settings};
use crate::aqm::timer::Timer;
use crate::flows::memory_of;
use crate::{Backlog, Parent, Qdisc};

/// The threshold above which the step marks.
#[derive(Clone, Copy, Debug)]
enum Threshold {
    Sojourn(Duration),
    Packets(u64),
}

/// The native AQM of the L4S queue.
#[derive(Debug)]
struct Step {
    threshold: Threshold,
    min_qlen: u64,
    /// One entry for each packet of the L4S queue: whether the step applies to it. There are no
    /// entries if `min_qlen` is zero, because the step then applies to all packets.
    applies: VecDeque<bool>,
}

impl Step {
    fn new(args: &Args) -> Self {
        let threshold = match args.count("step_thresh_packets") {
            0 => Threshold::Sojourn(args.duration("step_thresh")),
            packets => Threshold::Packets(packets),
        };
        Self { threshold, min_qlen: args.count("min_qlen_step"), applies: VecDeque::new() }
    }

    /// Records whether the step applies to a packet that finds `waiting` L4S packets.
    fn arrive(&mut self, waiting: usize) {
        if self.min_qlen > 0 {
            self.applies.push_back(waiting as u64 >= self.min_qlen);
        }
    }

    /// Returns whether the step applies to the packet that leaves the L4S queue.
    fn leave(&mut self) -> bool {
        self.min_qlen == 0 || self.applies.pop_front().unwrap_or(false)
    }

    fn is_exceeded(&self, sojourn: Duration, behind: usize) -> bool {
        match self.threshold {
            Threshold::Sojourn(threshold) => sojourn > threshold,
            Threshold::Packets(threshold) => behind as u64 > threshold,
        }
    }
}

/// The counters that `tc -s` shows, with the names of its JSON, and the time of the last operation.
#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    packets_in_c: u32,
    packets_in_l: u32,
    maxq: usize,
    ecn_mark: u32,
    step_mark: u32,
    memory_used: u64,
    max_memory_used: u64,
    last: Instant,
}

/// The limits of both queues together.
#[derive(Clone, Copy, Debug)]
struct Limits {
    packets: u64,
    memory: u64,
}

impl Limits {
    fn new(args: &Args) -> Self {
        let (packets, mtu) = (args.count("limit"), args.bytes("mtu").0);
        let memory = match args.bytes("memlimit").0 {
            0 => (packets * 2 * mtu).min(u64::from(u32::MAX)),
            memory => memory,
        };
        Self { packets, memory }
    }
}

/// The discipline `dualpi2` of Linux.
pub(super) struct DualPi2 {
    law: Linux,
    queues: Queues,
    wrr: Wrr,
    step: Step,
    limits: Limits,
    /// The backlog in bytes below which `must_drop` keeps each packet: two MTUs.
    least_backlog: u64,
    any_ect: bool,
    drop_early: bool,
    stats: Stats,
}

impl DualPi2 {
    pub(super) fn new(args: &Args) -> Self {
        let Control { target, tupdate, gains } = Control::of(args);
        let mtu = args.bytes("mtu").0;
        let protection = args.count("classic_protection") as u32;
        Self {
            law: Linux::new(&Settings {
                target,
                tupdate,
                gains,
                coupling_factor: args.count("coupling_factor") as u8,
                drop_overload: args.flag("drop_overload"),
            }),
            queues: Queues::default(),
            wrr: Wrr::new(protection, 100 - protection, mtu),
            step: Step::new(args),
            limits: Limits::new(args),
            least_backlog: 2 * mtu,
            any_ect: args.word("ecn_mask") == "any_ect",
            drop_early: args.flag("drop_early"),
            stats: Stats::default(),
        }
    }

    /// Runs `dualpi2_timer` for each expiry until `now`.
    #[inline]
    fn run_timer(&mut self, now: Instant) {
        self.law.catch_up(now, self.queues.heads());
        self.stats.last = now;
    }

    #[inline]
    fn classify(&self, ecn: Ecn) -> Queue {
        match ecn {
            Ecn::Ect1 | Ecn::Ce => Queue::L4s,
            Ecn::Ect0 if self.any_ect => Queue::L4s,
            Ecn::NotEct | Ecn::Ect0 => Queue::Classic,
        }
    }

    fn is_full_for(&self, packet: &Packet) -> bool {
        let memory = self.stats.memory_used + memory_of(packet).0;
        self.queues.backlog().packets as u64 >= self.limits.packets || memory > self.limits.memory
    }

    /// Applies PI2 to `packet`; returns the packet unless it was dropped (`must_drop`).
    #[inline]
    fn control(&mut self, queue: Queue, packet: Packet, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.queues.backlog().bytes.0 < self.least_backlog {
            return Some(packet);
        }
        let verdict = match queue {
            Queue::Classic => self.law.judge_classic(cx.rng),
            Queue::L4s => self.law.judge_l4s(cx.rng),
        };
        match verdict {
            Verdict::Keep => Some(packet),
            Verdict::Signal if packet.ecn.is_capable() => {
                Some(self.mark(packet, Reason::Early, cx))
            }
            Verdict::Signal | Verdict::Drop => {
                cx.drop(packet, Reason::Early);
                None
            }
        }
    }

    /// Marks an ECN-capable packet (`dualpi2_mark`). A packet that already has CE counts, as in the
    /// kernel, but has no entry in the log.
    fn mark(&mut self, packet: Packet, reason: Reason, cx: &mut Cx<'_>) -> Packet {
        self.stats.ecn_mark += 1;
        if packet.ecn == Ecn::Ce { packet } else { cx.mark(packet, reason) }
    }

    /// Applies the step, and without `drop_early` also PI2, to a packet that leaves `queue`;
    /// returns the packet unless it was dropped.
    #[inline]
    fn judge(
        &mut self,
        queue: Queue,
        packet: Packet,
        sojourn: Duration,
        cx: &mut Cx<'_>,
    ) -> Option<Packet> {
        let steps = queue == Queue::L4s
            && self.step.leave()
            && self.step.is_exceeded(sojourn, self.queues.l4s.len());
        let packet = if self.drop_early { packet } else { self.control(queue, packet, cx)? };
        if !steps {
            return Some(packet);
        }
        self.stats.step_mark += 1;
        Some(self.mark(packet, Reason::Threshold, cx))
    }
}

impl Qdisc for DualPi2 {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.run_timer(cx.now);
        if self.is_full_for(&packet) {
            return cx.drop(packet, Reason::Overlimit);
        }
        let queue = self.classify(packet.ecn);
        let kept = if self.drop_early { self.control(queue, packet, cx) } else { Some(packet) };
        let Some(packet) = kept else { return };
        let stats = &mut self.stats;
        stats.memory_used += memory_of(&packet).0;
        stats.max_memory_used = stats.max_memory_used.max(stats.memory_used);
        stats.maxq = stats.maxq.max(self.queues.backlog().packets);
        match queue {
            Queue::Classic => stats.packets_in_c += 1,
            Queue::L4s => {
                stats.packets_in_l += 1;
                self.step.arrive(self.queues.l4s.len());
            }
        }
        self.queues.push(queue, packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.run_timer(cx.now);
        self.wrr.wake(cx.now, &self.queues);
        while let Some(turn) = self.wrr.next(&self.queues) {
            let (packet, sojourn) = self.queues.pop(turn.queue, cx.now)?;
            self.stats.memory_used -= memory_of(&packet).0;
            if let Some(packet) = self.judge(turn.queue, packet, sojourn, cx) {
                self.wrr.charge(turn, &packet, &self.queues);
                return Some(packet);
            }
        }
        self.wrr.reset();
        None
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    /// Records whether the parent is HTB. An idle time then does not restore the scheduler's
    /// credit, because HTB never polls an empty class.
    fn attach(&mut self, to: Parent) {
        if to.never_polls_empty {
            self.wrr.below_htb();
        }
    }

    fn visit_timers(&mut self, visit: &mut dyn FnMut(&mut Timer)) {
        visit(self.law.timer());
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let stats = &self.stats;
        let [delay_c, delay_l] = self.queues.delays_ms(stats.last);
        vec![
            ("probability", f64::from(self.law.prob()) / f64::from(MAX_PROB)),
            ("delay_c_ms", delay_c),
            ("delay_l_ms", delay_l),
            ("pkts_in_c", f64::from(stats.packets_in_c)),
            ("pkts_in_l", f64::from(stats.packets_in_l)),
            ("maxq", stats.maxq as f64),
            ("ecn_mark", f64::from(stats.ecn_mark)),
            ("step_mark", f64::from(stats.step_mark)),
            ("credit", self.wrr.credit() as f64),
            ("memory_used_bytes", stats.memory_used as f64),
            ("max_memory_used_bytes", stats.max_memory_used as f64),
            ("memory_limit_bytes", self.limits.memory as f64),
        ]
    }
}
