//! `pfifo_fast`: three FIFOs in strict priority, once the default of Linux interfaces.
//!
//! Source: Linux 6.1 `net/sched/sch_generic.c`. Since the qdisc became lockless, each band has its
//! own ring with room for the interface's whole queue length. In earlier kernels, the three bands
//! shared that length.

use aqmlab_core::{Args, Cx, Kind, Packet, Param, Reason, Value};

use crate::bounds;
use crate::{Backlog, PacketQueue, Qdisc};

/// Registers `pfifo_fast`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[Kind {
    name: "pfifo_fast",
    summary: "Three FIFOs in strict priority, by the priority of the packet",
    source: "Linux 6.1 net/sched/sch_generic.c; tc-pfifo_fast(8)",
    params: &[Param {
        name: "limit",
        default: Value::Count(1_000),
        bounds: bounds::ROOM,
        doc: "Limit in packets of each band; the interface's queue length.",
    }],
    build: |args: &Args| {
        Box::new(PfifoFast { limit: args.count("limit"), bands: Default::default() })
    },
}];

/// The band of each priority (`prio2band`): best effort, 0, maps to the middle band.
const BANDS: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

struct PfifoFast {
    limit: u64,
    bands: [PacketQueue; 3],
}

impl Qdisc for PfifoFast {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let band = BANDS[usize::from(packet.priority % 16)];
        let queue = &mut self.bands[usize::from(band)];
        if queue.len() as u64 >= self.limit {
            return cx.drop(packet, Reason::Overlimit);
        }
        queue.push(packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.bands.iter_mut().find_map(|band| band.pop(cx.now)).map(|(packet, _)| packet)
    }

    fn backlog(&self) -> Backlog {
        self.bands.iter().map(PacketQueue::backlog).fold(Backlog::default(), |sum, band| Backlog {
            packets: sum.packets + band.packets,
            bytes: sum.bytes + band.bytes,
        })
    }
}
