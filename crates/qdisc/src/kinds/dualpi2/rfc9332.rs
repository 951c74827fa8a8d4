//! `dualpi2_rfc`: the pseudo-code of RFC 9332.
//!
//! Source: RFC 9332 Appendix A. The law is [`crate::aqm::dualpi2::rfc9332`]. The pseudo-code names
//! no scheduler; §4.2.2 and Appendix A.1 describe the two schedulers of this module. The round
//! robin is Linux's, with the weight of the RFC's example.
//!
//! Difference: by default the buffer of both queues holds at most 250 ms at the rate of the link;
//! figure 2 of RFC 9332 uses `MAX_LINK_RATE` instead. Until the rate is known, this default sets no
//! limit.

use aqmlab_core::{Args, Bytes, Cx, Duration, Ecn, Instant, Packet, Reason};

use super::queues::{Busy, Queue, Queues, Turn, Wrr};
use crate::aqm::dualpi2::rfc9332::{Control, Ramp, Rfc9332, Settings};
use crate::aqm::dualpi2::{self, Verdict};
use crate::aqm::timer::Timer;
use crate::{Backlog, Parent, Qdisc};

/// The limit of the buffer as a time (figure 2).
const BUFFER: Duration = Duration::from_millis(250);

/// The scheduler of the two queues.
#[derive(Clone, Copy, Debug)]
enum Scheduler {
    RoundRobin(Wrr),
    /// A FIFO in which L4S packets count as older by this time.
    TimeShifted(Duration),
}

impl Scheduler {
    fn new(args: &Args) -> Self {
        if args.word("scheduler") == "ts_fifo" {
            return Self::TimeShifted(args.duration("tshift"));
        }
        let ratio = args.count("dequeue_ratio") as u32;
        Self::RoundRobin(Wrr::new(1, ratio - 1, args.bytes("mtu").0))
    }

    fn next(&self, queues: &Queues, now: Instant) -> Option<Turn> {
        match self {
            Self::RoundRobin(wrr) => wrr.next(queues),
            Self::TimeShifted(shift) => match queues.busy() {
                Busy::None => None,
                Busy::One(queue) => Some(Turn::free(queue)),
                Busy::Both => {
                    let heads = queues.heads();
                    let shifted = dualpi2::age(heads.l4s, now).saturating_add(*shift);
                    let l4s = shifted >= dualpi2::age(heads.classic, now);
                    Some(Turn::free(if l4s { Queue::L4s } else { Queue::Classic }))
                }
            },
        }
    }

    fn round_robin(&mut self) -> Option<&mut Wrr> {
        match self {
            Self::RoundRobin(wrr) => Some(wrr),
            Self::TimeShifted(_) => None,
        }
    }
}

/// The `dualpi2` of RFC 9332.
pub(super) struct DualPi2 {
    law: Rfc9332,
    queues: Queues,
    scheduler: Scheduler,
    /// The limit in bytes; zero for [`BUFFER`].
    limit: u64,
    buffer: u64,
    mtu: Bytes,
    last: Instant,
}

impl DualPi2 {
    pub(super) fn new(args: &Args) -> Self {
        let (target, max_rtt) = (args.duration("target"), args.duration("max_rtt"));
        let settings = Settings {
            target,
            control: Control::of(target, max_rtt),
            coupling_factor: args.count("coupling_factor") as f64,
            ramp: Ramp {
                min_th: args.duration("min_th"),
                range: args.duration("range"),
                th_len: args.count("th_len"),
            },
        };
        Self {
            law: Rfc9332::new(settings),
            queues: Queues::default(),
            scheduler: Scheduler::new(args),
            limit: args.bytes("limit").0,
            buffer: u64::MAX,
            mtu: args.bytes("mtu"),
            last: Instant::ZERO,
        }
    }

    fn catch_up(&mut self, now: Instant) {
        self.law.catch_up(now, self.queues.heads());
        self.last = now;
    }

    fn is_full(&self) -> bool {
        let limit = if self.limit == 0 { self.buffer } else { self.limit };
        (self.queues.backlog().bytes + self.mtu).0 > limit
    }

    /// Applies the law to a packet that leaves `queue`; returns the packet unless it was dropped.
    fn judge(
        &mut self,
        queue: Queue,
        packet: Packet,
        sojourn: Duration,
        cx: &mut Cx<'_>,
    ) -> Option<Packet> {
        let verdict = match queue {
            Queue::Classic => self.law.judge_classic(),
            Queue::L4s => self.law.judge_l4s(sojourn, self.queues.l4s.len() as u64),
        };
        match verdict {
            Verdict::Keep => Some(packet),
            Verdict::Signal if packet.ecn == Ecn::Ce => Some(packet),
            Verdict::Signal => cx.signal(packet, Reason::Early),
            Verdict::Drop => {
                cx.drop(packet, Reason::Early);
                None
            }
        }
    }
}

impl Qdisc for DualPi2 {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.catch_up(cx.now);
        if self.is_full() {
            return cx.drop(packet, Reason::Overlimit);
        }
        let queue = match packet.ecn {
            Ecn::Ect1 | Ecn::Ce => Queue::L4s,
            Ecn::NotEct | Ecn::Ect0 => Queue::Classic,
        };
        self.queues.push(queue, packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.catch_up(cx.now);
        if let Some(wrr) = self.scheduler.round_robin() {
            wrr.wake(cx.now, &self.queues);
        }
        while let Some(turn) = self.scheduler.next(&self.queues, cx.now) {
            let (packet, sojourn) = self.queues.pop(turn.queue, cx.now)?;
            if let Some(packet) = self.judge(turn.queue, packet, sojourn, cx) {
                if let Some(wrr) = self.scheduler.round_robin() {
                    wrr.charge(turn, &packet, &self.queues);
                }
                return Some(packet);
            }
        }
        if let Some(wrr) = self.scheduler.round_robin() {
            wrr.reset();
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn attach(&mut self, to: Parent) {
        let bits = u128::from(to.rate.as_bps()) * u128::from(BUFFER.as_nanos());
        self.buffer = u64::try_from(bits / 8_000_000_000).unwrap_or(u64::MAX);
        if let (Some(wrr), true) = (self.scheduler.round_robin(), to.never_polls_empty) {
            wrr.below_htb();
        }
    }

    fn visit_timers(&mut self, visit: &mut dyn FnMut(&mut Timer)) {
        visit(self.law.timer());
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let [delay_c, delay_l] = self.queues.delays_ms(self.last);
        vec![("probability", self.law.prob()), ("delay_c_ms", delay_c), ("delay_l_ms", delay_l)]
    }
}
