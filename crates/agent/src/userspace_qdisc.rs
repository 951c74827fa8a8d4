//! The bottleneck in user space: the simulator's discipline between the kernel's TCPs.
//!
//! ```text
//!  gateway ─ g1 ── Port up ── line ──> p1 ─ provider
//!            g1 <── line ── Port down ── p1
//! ```
//!
//! `g1` and `p1` are TUN interfaces that replace the cable between the two routers. The agent reads
//! the packets of one router and offers them to an [`aqmlab_node::Port`], the simulator's own code.
//! When the packets have left the link, the agent writes them to the other router. Only the
//! discipline differs from a trial with the kernel's discipline, and only the TCPs differ from a
//! simulated trial.
//!
//! **Time.** A separate thread, with a priority above all ordinary threads, waits for packets and
//! for the link. If the thread wakes late, it still gives the port the times at which the link
//! became free, so no rate is lost. A packet arrives when it is read, and leaves when the thread
//! wakes. Under instruction counting, both times are late by a few microseconds. A system call of
//! the applications finishes first, so all packets of one `send` reach the port at one time.
//!
//! **Small queues.** A router lies between the sender and the interface. The router's IP input has
//! released the packet from the sender's socket, as before a discipline of the kernel
//! ([`crate::testbed`]). The discipline's own limits therefore bound its queue.

mod delay_line;
mod packet;
mod slots;

use std::thread::{self, JoinHandle};

use aqmlab_core::{Direction, Event, Instant};
use aqmlab_node::{Port, PortLog};
use aqmlab_trial::Spec;
use aqmlab_trial::link::ResolvedLink;

use self::delay_line::DelayLine;
use self::packet::AckNumbers;
use self::slots::Slots;
use crate::links::used;
use crate::qdisc::{Counters, QueueSample};
use crate::schedule;
use crate::sys::{self, Poll, Timer, Tun};
use crate::taps::{self, Record};

/// The token of the timer.
const TIMER: u64 = 2;

/// The results of a gateway.
#[derive(Default)]
pub(crate) struct Done {
    /// The counters of each link of the trial.
    pub(crate) links: Vec<Link>,
    /// Samples of the links' disciplines.
    pub(crate) samples: Vec<QueueSample>,
    /// The gauges of disciplines: time, link, name and value.
    pub(crate) gauges: Vec<(Instant, usize, &'static str, f64)>,
    /// The packets that left the disciplines.
    pub(crate) passed: Vec<Record>,
}

/// The counters of one link.
#[derive(Default)]
pub(crate) struct Link {
    pub(crate) log: PortLog,
    pub(crate) counters: Counters,
}

/// A running gateway, which has its own thread.
pub(crate) struct Gateway(JoinHandle<Result<Done, String>>);

impl Gateway {
    /// Starts the gateway of a trial between the routers' interfaces. The trial begins at
    /// `origin_ns` since 1970. With `delays`, the gateway also adds the delay, jitter and loss
    /// behind the links.
    pub(crate) fn start(
        spec: &Spec,
        tuns: &[Tun; 2],
        origin_ns: u64,
        delays: bool,
    ) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("the gateway: {error}");
        let tuns = [tuns[0].again().map_err(failed)?, tuns[1].again().map_err(failed)?];
        let spec = spec.clone();
        let work = move || {
            // Without the permission, packets are slightly late.
            let _ = sys::run_first();
            let halves = Direction::BOTH.map(|way| Half::new(&spec, way, delays));
            let [up, down] = halves;
            let mut worker =
                Worker { halves: [up?, down?], tuns, origin_ns, done: Done::default() };
            worker.run(&spec).map_err(|problem| format!("the gateway: {problem}"))?;
            Ok(worker.finish(&spec))
        };
        let thread = thread::Builder::new().name("gateway".into()).spawn(work);
        thread.map(Self).map_err(failed)
    }

    /// Waits for the end of the trial and returns the results.
    pub(crate) fn join(self) -> Result<Done, String> {
        self.0.join().unwrap_or_else(|_| Err("the gateway: it has panicked".into()))
    }
}

/// The state of the gateway's thread.
struct Worker {
    halves: [Half; 2],
    tuns: [Tun; 2],
    origin_ns: u64,
    done: Done,
}

impl Worker {
    fn run(&mut self, spec: &Spec) -> Result<(), String> {
        let text = |error: std::io::Error| error.to_string();
        let (poll, timer) = (Poll::new().map_err(text)?, Timer::new().map_err(text)?);
        for (token, tun) in self.tuns.iter().enumerate() {
            poll.watch(tun.fd(), token as u64).map_err(text)?;
        }
        poll.watch(timer.fd(), TIMER).map_err(text)?;
        let end = spec.end();
        let every = schedule::every(spec);
        let mut sample = Instant::from_nanos(every);
        let mut tokens = Vec::new();
        loop {
            let now = self.now();
            for half in &mut self.halves {
                half.step(now, &self.tuns, &mut self.done.passed)?;
            }
            if now >= end {
                return Ok(());
            }
            if now >= sample {
                self.sample(now);
                sample = Instant::from_nanos(sample.as_nanos().saturating_add(every));
            }
            let due = self.halves.iter().filter_map(Half::due).min().unwrap_or(end);
            let due = due.min(sample).min(end).as_nanos();
            timer.set(self.origin_ns + due).map_err(text)?;
            poll.wait(&mut tokens).map_err(text)?;
        }
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(sys::now_ns().saturating_sub(self.origin_ns))
    }

    fn sample(&mut self, at: Instant) {
        for half in &self.halves {
            let Some((link, port)) = &half.bottleneck else { continue };
            let counters = counters(port);
            self.done.samples.push(QueueSample { at, link: *link, counters });
            let gauges = port.gauges().into_iter();
            self.done.gauges.extend(gauges.map(|(name, value)| (at, *link, name, value)));
        }
    }

    fn finish(self, spec: &Spec) -> Done {
        let mut done = self.done;
        done.links = spec.links.iter().map(|_| Link::default()).collect();
        for (link, port) in self.halves.into_iter().filter_map(|half| half.bottleneck) {
            done.links[link] = Link { counters: counters(&port), log: port.log };
        }
        done
    }
}

fn counters(port: &Port) -> Counters {
    let (log, backlog) = (&port.log, port.backlog());
    Counters {
        bytes: log.sent_bytes,
        packets: log.sent,
        backlog_packets: backlog.packets as u64,
        backlog_bytes: backlog.bytes.0,
        drops: log.dropped,
        overlimit: log.drops[aqmlab_core::Reason::Overlimit.index()],
        filtered: log.drops[aqmlab_core::Reason::Filtered.index()],
        marks: log.marks,
    }
}

/// One direction of the gateway.
struct Half {
    direction: Direction,
    /// The index of the link in the trial, and its port, if the direction has a link.
    bottleneck: Option<(usize, Port)>,
    line: DelayLine,
    slots: Slots,
    /// The priority of each application, for `pfifo_fast`.
    priorities: Vec<u8>,
    acks: AckNumbers,
}

impl Half {
    fn new(spec: &Spec, direction: Direction, delays: bool) -> Result<Self, String> {
        let link = used(spec, direction).first().copied();
        let bottleneck = match link {
            None => None,
            Some(link) => {
                let at = format!("links[{link}]");
                let built = ResolvedLink::new(&at, &spec.links[link], spec.seed)
                    .map_err(|error| error.to_string())?;
                let mut port = built.port;
                // The log of drops is used to free the bytes of dropped packets.
                port.log.events = Some(Vec::new());
                Some((link, port))
            }
        };
        Ok(Self {
            direction,
            bottleneck,
            line: DelayLine::new(spec, direction, delays),
            slots: Slots::default(),
            priorities: spec.apps.iter().map(|app| app.packet_priority().unwrap_or(0)).collect(),
            acks: AckNumbers::default(),
        })
    }

    /// Sends and forwards the packets that are due at `now`, and reads new packets.
    fn step(
        &mut self,
        now: Instant,
        tuns: &[Tun; 2],
        seen: &mut Vec<Record>,
    ) -> Result<(), String> {
        self.send_due(now, seen);
        let (from, to) = (self.direction.index(), self.direction.reverse().index());
        while let Some(id) = self.slots.read(&tuns[from])? {
            self.receive(id, now, seen);
        }
        while let Some(id) = self.line.pop(now) {
            self.slots.write(id, &tuns[to])?;
        }
        Ok(())
    }

    /// Returns the time of the next event, if there is one.
    fn due(&self) -> Option<Instant> {
        let link = self.bottleneck.as_ref().and_then(|(_, port)| port.poll_timeout());
        [link, self.line.next()].into_iter().flatten().min()
    }

    /// Sends packets at the times, up to `now`, at which the link became free.
    fn send_due(&mut self, now: Instant, seen: &mut Vec<Record>) {
        let due = |half: &Self| half.bottleneck.as_ref()?.1.poll_timeout();
        while let Some(at) = due(self).filter(|at| *at <= now) {
            if !self.send(at, seen) {
                break;
            }
        }
    }

    /// Offers an arrived packet to the link, and sends the packets that the link can send. If the
    /// direction has no link or the packet belongs to no application, only forwards the packet.
    fn receive(&mut self, id: u64, now: Instant, seen: &mut Vec<Record>) {
        let known = packet::read(self.slots.packet(id), self.direction, id)
            .filter(|packet| (packet.flow as usize) < self.priorities.len());
        let (Some(mut packet), Some((_, port))) = (known.clone(), &mut self.bottleneck) else {
            // A packet that belongs to no application is not queued.
            if !self.line.push(now, known.map_or(u32::MAX, |packet| packet.flow), id) {
                self.slots.forget(id);
            }
            return;
        };
        packet.priority = self.priorities[packet.flow as usize];
        self.acks.unwrap(&mut packet);
        port.offer(packet, now);
        self.forget_dropped();
        self.send(now, seen);
    }

    /// Sends the packets that the link can send at `at`; returns whether it sent a packet.
    fn send(&mut self, at: Instant, seen: &mut Vec<Record>) -> bool {
        let mut any = false;
        while let Some((_, port)) = &mut self.bottleneck {
            let sent = port.poll_transmit(at);
            self.forget_dropped();
            let Some((packet, departure)) = sent else { break };
            any = true;
            let bytes = self.slots.packet(packet.id);
            if packet.ecn == aqmlab_core::Ecn::Ce {
                packet::mark(bytes);
            }
            seen.extend(taps::passed(bytes, at));
            if !self.line.push(departure.done, packet.flow, packet.id) {
                self.slots.forget(packet.id);
            }
        }
        any
    }

    fn forget_dropped(&mut self) {
        let Some((_, port)) = &mut self.bottleneck else { return };
        for (_, id, event) in port.log.events.iter_mut().flat_map(|events| events.drain(..)) {
            if let Event::Drop(_) = event {
                self.slots.forget(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one direction with one application, on a link where 128 bytes take 1 ms.
    fn half(qdisc: &str) -> Half {
        let link = format!(r#"{{"name": "up", "rate_bps": 1024000, "qdisc": {qdisc}}}"#);
        let (up, down) = (r#"{"links": [0], "delay_ns": 0}"#, r#"{"links": [], "delay_ns": 0}"#);
        let json = format!(
            r#"{{"seed": 1, "duration_ns": 1000000000, "links": [{link}], "apps": [
                {{"name": "a", "app": {{"kind": "bulk"}}, "start_ns": 0, "up": {up}, "down": {down}}}
            ]}}"#
        );
        let spec = aqmlab_trial::parse(&json).expect("it is a trial");
        Half::new(&spec, Direction::Up, false).expect("there is such a discipline")
    }

    /// Offers packets of 128 bytes, which take 1 ms each, all at once.
    fn burst(half: &mut Half, packets: u16, at: Instant) -> Vec<Record> {
        let mut seen = Vec::new();
        for number in 0..packets {
            let id = half.slots.put(&packet::tests::udp(0, 2, number));
            half.receive(id, at, &mut seen);
        }
        seen
    }

    #[test]
    fn a_thread_that_wakes_late_loses_no_rate() {
        let mut half = half(r#"{"kind": "pfifo"}"#);
        let mut seen = burst(&mut half, 10, Instant::from_millis(3));
        assert_eq!(half.due(), Some(Instant::from_millis(4)));
        half.send_due(Instant::from_micros(9_700), &mut seen);
        let times: Vec<_> = seen.iter().map(|record| record.at).collect();
        let wanted: Vec<_> = (3..10).map(Instant::from_millis).collect();
        assert_eq!(times, wanted);
        // The last packet is still on the wire.
        let arrived = std::iter::from_fn(|| half.line.pop(Instant::from_micros(9_700))).count();
        assert_eq!(arrived, 6);
    }

    #[test]
    fn what_is_dropped_leaves_its_place_to_others() {
        let mut half = half(r#"{"kind": "pfifo", "params": {"limit": 4}}"#);
        burst(&mut half, 50, Instant::ZERO);
        assert_eq!(half.slots.taken(), 5, "four wait and one is on the wire");
        let (_, port) = half.bottleneck.as_ref().expect("there is a link");
        assert_eq!((port.log.dropped, port.log.flow_drops.as_slice()), (45, &[45][..]));
    }

    /// Tests that CAKE keeps the last two acknowledgements. The acknowledgement numbers wrap.
    #[test]
    fn cake_removes_redundant_acknowledgements_of_the_kernel() {
        let mut half = half(r#"{"kind": "cake", "params": {"ack_filter": "on"}}"#);
        burst(&mut half, 4, Instant::ZERO);
        for number in 0..10_u32 {
            let ack = (u32::MAX - 5_000).wrapping_add(1_000 * number);
            let id = half.slots.put(&packet::tests::ack(0, ack, &[]));
            half.receive(id, Instant::ZERO, &mut Vec::new());
        }
        let (_, port) = half.bottleneck.as_ref().expect("there is a link");
        assert_eq!(port.log.drops[aqmlab_core::Reason::Filtered.index()], 8);
    }

    #[test]
    fn a_mark_of_the_discipline_is_in_the_bytes() {
        let mut half = half(r#"{"kind": "codel", "params": {"ecn": true}}"#);
        let mut seen = burst(&mut half, 400, Instant::ZERO);
        half.send_due(Instant::from_millis(400), &mut seen);
        let arrived = std::iter::from_fn(|| half.line.pop(Instant::from_millis(500)));
        let ids: Vec<_> = arrived.collect();
        let marked = ids.iter().filter(|id| half.slots.packet(**id)[1] & 3 == 3).count() as u64;
        let (_, port) = half.bottleneck.as_ref().expect("there is a link");
        assert!(marked > 0 && marked == port.log.marks, "{marked}");
        assert_eq!(ids.len() as u64, port.log.sent);
    }

    #[test]
    fn what_is_of_no_application_waits_for_nothing() {
        let mut half = half(r#"{"kind": "pfifo"}"#);
        burst(&mut half, 10, Instant::ZERO);
        let id = half.slots.put(&[0x45; 20]);
        half.receive(id, Instant::ZERO, &mut Vec::new());
        assert_eq!(half.line.pop(Instant::ZERO), Some(id));
    }
}
