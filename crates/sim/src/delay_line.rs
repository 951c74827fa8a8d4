//! A propagation delay between a link and the next link or host.

use aqmlab_core::hint::rare;
use aqmlab_core::{Duration, Instant, Packet, Ring};

use crate::agenda::{NetworkActor, Slot};

/// The target of a delay line, at which its packets arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The host to which the packet is addressed.
    Host,
    /// The next link of the packet's route.
    Link(usize),
}

/// The key by which routes share a line. The link is part of the key, because a line is first in,
/// first out only if all its packets come from one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineKey {
    /// The link before the line, if there is one.
    pub(crate) from: Option<usize>,
    /// The link or host at the end of the line.
    pub(crate) target: Target,
    /// The propagation delay.
    pub(crate) delay: Duration,
    /// The largest extra delay per packet.
    pub(crate) jitter: Duration,
    /// Whether the jitter may reorder packets.
    pub(crate) reorder: bool,
}

impl LineKey {
    /// Returns the key of the line from a link to the next link. Only the line to the host delays
    /// packets.
    pub(crate) const fn between(from: usize, next: usize) -> Self {
        Self {
            from: Some(from),
            target: Target::Link(next),
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            reorder: false,
        }
    }
}

/// A packet on a line.
#[derive(Debug)]
struct Travelling {
    arrives: Instant,
    ticket: u64,
    packet: Option<Packet>,
}

impl Default for Travelling {
    fn default() -> Self {
        Self { arrives: Instant::NEVER, ticket: 0, packet: None }
    }
}

/// A delay line with its packets, in order of arrival.
#[derive(Debug)]
pub(crate) struct DelayLine {
    pub(crate) key: LineKey,
    pub(crate) slot: Slot<NetworkActor>,
    travelling: Ring<Travelling>,
}

impl DelayLine {
    /// Returns an empty line.
    pub(crate) fn new(key: LineKey, slot: Slot<NetworkActor>) -> Self {
        Self { key, slot, travelling: Ring::default() }
    }

    /// Puts a packet on the line. `at` is the time at which the packet enters the line, plus the
    /// packet's jitter. If the packet is the first to arrive, returns its arrival time.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(crate) fn push(&mut self, at: Instant, ticket: u64, packet: Packet) -> Option<Instant> {
        let mut arrives = at + self.key.delay;
        if self.key.jitter > Duration::ZERO {
            rare();
            if self.key.reorder {
                return self.insert(arrives, ticket, packet);
            }
            if let Some(last) = self.travelling.back() {
                arrives = arrives.max(last.arrives);
            }
        }
        let first = self.travelling.is_empty();
        self.travelling.push(Travelling { arrives, ticket, packet: Some(packet) });
        if first {
            rare();
            return Some(arrives);
        }
        None
    }

    /// Inserts a packet by its arrival time. If the packet is the first to arrive, returns this
    /// time.
    #[inline(never)]
    fn insert(&mut self, arrives: Instant, ticket: u64, packet: Packet) -> Option<Instant> {
        let later = |other: &&Travelling| other.arrives > arrives;
        let place = self.travelling.len() - self.travelling.iter().rev().take_while(later).count();
        self.travelling.insert(place, Travelling { arrives, ticket, packet: Some(packet) });
        (place == 0).then_some(arrives)
    }

    /// Removes and returns the packet that arrives first, if there is one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        self.travelling.pop_place()?.packet.take()
    }

    /// Returns the arrival time and the ticket of the next packet, if there is one.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Instant, u64)> {
        // `front` makes the same test, but cannot be marked.
        if self.travelling.is_empty() {
            rare();
            return None;
        }
        self.travelling.front().map(|next| (next.arrives, next.ticket))
    }

    /// Returns the number of packets on the line.
    pub(crate) fn len(&self) -> usize {
        self.travelling.len()
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Args, BitRate, Overhead, Rng};
    use aqmlab_node::Port;
    use aqmlab_qdisc::kinds;

    use super::*;
    use crate::agenda::Agenda;

    fn line(jitter_ms: u64, reorder: bool) -> DelayLine {
        let key = LineKey {
            from: None,
            target: Target::Host,
            delay: Duration::from_millis(10),
            jitter: Duration::from_millis(jitter_ms),
            reorder,
        };
        DelayLine::new(key, Agenda::new().register(NetworkActor::Line(0)))
    }

    fn ids(mut line: DelayLine) -> Vec<u64> {
        let mut rng = Rng::stream(1, "jitter");
        for id in 0..200 {
            let drawn = Duration::from_nanos(rng.below(line.key.jitter.as_nanos() + 1));
            line.push(Instant::from_millis(id) + drawn, id, Packet::plain(id, 0, 100));
        }
        std::iter::from_fn(|| line.pop()).map(|packet| packet.id).collect()
    }

    /// Tests statement C-74.
    #[test]
    fn only_jitter_that_may_reorder_does() {
        let in_order: Vec<_> = (0..200).collect();
        assert_eq!(ids(line(0, true)), in_order);
        assert_eq!(ids(line(20, false)), in_order);
        let shuffled = ids(line(20, true));
        assert_ne!(shuffled, in_order);
        assert_eq!(shuffled.len(), 200);
    }

    /// Moves all packets that the port sends until `now` to the line.
    fn send_due(port: &mut Port, line: &mut DelayLine, now: Instant) {
        while let Some(due) = port.poll_timeout().filter(|due| *due <= now) {
            while let Some((packet, departure)) = port.poll_transmit(due) {
                line.push(departure.done, packet.id, packet);
            }
        }
    }

    /// Tests statement C-75. The reference is the recurrence of `netem_enqueue`, whose queue
    /// contains all packets that have not arrived. A byte takes 1 µs, so no time is rounded.
    #[test]
    fn a_port_and_a_line_send_at_the_times_of_netem_with_a_rate() {
        let pfifo = kinds::find("pfifo").expect("it is registered");
        let qdisc = (pfifo.build)(&Args::defaults(pfifo.params));
        let rate = BitRate::new(8_000_000).expect("it is a rate");
        let mut port = Port::new(qdisc, rate, Overhead::default(), Rng::stream(1, "port"));
        let (mut line, mut rng) = (line(0, false), Rng::stream(1, "arrivals"));
        let (mut now, mut last, mut busy) = (Instant::ZERO, Instant::ZERO, 0);
        let mut wanted = Vec::new();
        for id in 0..2_000 {
            now += Duration::from_micros(rng.below(1_700));
            let ip_len = 40 + rng.below(1_461) as u32;
            busy += usize::from(last > now + line.key.delay);
            last = last.max(now + line.key.delay) + Duration::from_micros(ip_len.into());
            wanted.push((id, last));
            send_due(&mut port, &mut line, now);
            port.offer(Packet::plain(id, 0, ip_len), now);
            while let Some((packet, departure)) = port.poll_transmit(now) {
                line.push(departure.done, packet.id, packet);
            }
        }
        send_due(&mut port, &mut line, Instant::from_millis(100_000));
        let times = std::iter::from_fn(|| Some((line.next()?.0, line.pop()?.id)));
        assert_eq!(times.map(|(at, id)| (id, at)).collect::<Vec<_>>(), wanted);
        assert!((500..1_900).contains(&busy), "{busy} packets waited");
    }

    #[test]
    fn the_delay_is_exact_without_jitter() {
        let mut line = line(0, false);
        assert_eq!(
            line.push(Instant::from_millis(3), 1, Packet::plain(0, 0, 100)),
            Some(Instant::from_millis(13))
        );
        assert_eq!(line.push(Instant::from_millis(4), 2, Packet::plain(1, 0, 100)), None);
        assert_eq!(line.next(), Some((Instant::from_millis(13), 1)));
    }
}
