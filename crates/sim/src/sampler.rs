//! Samples the state of senders and queues at regular intervals.

use aqmlab_core::{Duration, Instant, Side};
use aqmlab_tcp::SenderState;
use aqmlab_trial::findings::{QueueSample, Samples, TcpSample};

use crate::agenda::{HostActor, Slot};
use crate::observer::Observer;
use crate::world::World;

/// A sampler of senders and queues, with the samples taken.
pub(crate) struct Sampler {
    pub(crate) slot: Slot<HostActor>,
    pub(crate) every: Duration,
    pub(crate) samples: Samples,
}

impl Sampler {
    /// Returns a sampler without samples. The caller requests the first call of `slot`.
    pub(crate) fn new(slot: Slot<HostActor>, every: Duration) -> Self {
        Self { slot, every, samples: Samples::default() }
    }

    /// Takes one sample of each open sender that has sent data and of each queue, and requests the
    /// next call.
    pub(crate) fn sample<O: Observer>(&mut self, world: &mut World<O>) {
        let now = world.network.now;
        for (index, conn) in world.conns.iter().enumerate() {
            if let Some(quic) = conn.quic.as_ref().filter(|_| conn.closed.is_none()) {
                for side in Side::BOTH {
                    let end = &quic.ends[side.index()].quic;
                    if end.stats().data_packets_sent > 0 {
                        self.samples.tcp.push(sender_sample(now, index, side, end.sender_state()));
                    }
                }
            }
            let Some(ends) = &conn.ends else { continue };
            for side in Side::BOTH {
                let tcp = &ends[side.index()].tcp;
                if tcp.stats().data_segments_sent > 0 {
                    self.samples.tcp.push(sender_sample(now, index, side, tcp.sender_state()));
                }
            }
        }
        for (index, link) in world.network.links.iter().enumerate() {
            let (backlog, log) = (link.port.backlog(), &link.port.log);
            self.samples.queues.push(QueueSample {
                at: now,
                link: index,
                backlog_packets: backlog.packets as u64,
                backlog_bytes: backlog.bytes.0,
                drops: log.dropped,
                marks: log.marks,
                gauges: world.network.gauges(index, now),
            });
        }
        world.network.agenda.set(self.slot, now + self.every);
    }
}

fn sender_sample(at: Instant, conn: usize, side: Side, state: SenderState) -> TcpSample {
    TcpSample {
        at,
        conn: conn as u32,
        side,
        cwnd_bytes: state.cwnd_bytes,
        ssthresh_bytes: state.ssthresh_bytes,
        srtt: state.srtt,
        in_flight_bytes: state.in_flight_bytes,
    }
}
