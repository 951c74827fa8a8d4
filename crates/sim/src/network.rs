//! The network between the hosts: links and delay lines, and the moves of packets through them.

use aqmlab_core::hint::rare;
use aqmlab_core::{Digest, Ecn, Header, Instant, Packet, PacketFields, Side};
use aqmlab_node::Port;
use aqmlab_tcp::Segment;

use crate::agenda::{Agenda, NetworkActor, Slot};
use crate::conn::{Source, TCP_HEADERS};
use crate::delay_line::{DelayLine, LineKey, Target};
use crate::observer::Observer;
use crate::own_links::OwnLinks;
use crate::route::{Route, RoutePlan};
use crate::wifi::{Medium, RadioId};

/// A port and its slot in the agenda.
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) port: Port,
    pub(crate) slot: Slot<NetworkActor>,
    /// Whether the link belongs to the hosts that send into it.
    pub(crate) own: bool,
    /// The radio that sends the packets, if the link is an 802.11n link.
    pub(crate) radio: Option<RadioId>,
    /// The time at which the agenda is to call the link, or [`Instant::NEVER`]. The agenda calls a
    /// link with a radio only when the link's discipline may release a packet.
    pub(crate) next_call: Instant,
}

impl Link {
    /// Requests the next call of the link at `due`, or withdraws the request if `due` is
    /// [`Instant::NEVER`]. A request remains until it is changed, even after its time.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(crate) fn call_at(&mut self, due: Instant, agenda: &mut Agenda) {
        if self.next_call != due {
            self.next_call = due;
            if due == Instant::NEVER {
                agenda.clear(self.slot);
            } else {
                agenda.set(self.slot, due);
            }
        }
    }
}

/// The place from which a packet enters a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entrance {
    /// The host that sends the packet.
    Host,
    /// Another link.
    Link,
}

/// The number of packets that are allocated at a time.
const NEW_PACKETS: usize = 16;

/// The links, lines, routes and media that packets pass through.
pub(crate) struct Network<O> {
    pub(crate) now: Instant,
    pub(crate) agenda: Agenda,
    pub(crate) links: Vec<Link>,
    pub(crate) lines: Vec<DelayLine>,
    pub(crate) media: Vec<Medium>,
    /// The routes of each flow: first up, then down.
    pub(crate) routes: Vec<[Route; 2]>,
    pub(crate) own: OwnLinks,
    pub(crate) observer: O,
    pub(crate) digest: Digest,
    pub(crate) packets: u64,
    pub(crate) delivered: u64,
    /// Datagrams that arrived and packets that were dropped in a queue, whose memory is reused for
    /// new packets.
    former: Vec<Packet>,
    /// TCP segments that arrived, whose memory is reused for new segments. They are kept apart,
    /// because the processor cannot predict whether a new header replaces one of another kind.
    former_segments: Vec<Packet>,
    pub(crate) seed: u64,
}

impl<O: Observer> Network<O> {
    pub(crate) fn new(observer: O, seed: u64) -> Self {
        Self {
            now: Instant::ZERO,
            agenda: Agenda::new(),
            links: Vec::new(),
            lines: Vec::new(),
            media: Vec::new(),
            routes: Vec::new(),
            own: OwnLinks::default(),
            observer,
            digest: Digest::default(),
            packets: 0,
            delivered: 0,
            former: Vec::new(),
            former_segments: Vec::new(),
            seed,
        }
    }

    pub(crate) fn add_link(&mut self, name: String, mut port: Port, own: bool) {
        if own {
            port.keep_all_drops();
        }
        let slot = self.agenda.register(NetworkActor::Link(self.links.len() as u32));
        self.links.push(Link { name, port, slot, own, radio: None, next_call: Instant::NEVER });
    }

    /// Creates a route and the lines that it needs. Routes share lines of equal [`LineKey`]s.
    pub(crate) fn create_route(&mut self, plan: RoutePlan) -> Route {
        let RoutePlan { links, delay, jitter, reorder, impairments } = plan;
        let mut lines = Vec::with_capacity(links.len().max(1));
        for hop in links.windows(2) {
            lines.push(self.line_with(LineKey::between(hop[0], hop[1])));
        }
        let (from, target) = (links.last().copied(), Target::Host);
        lines.push(self.line_with(LineKey { from, target, delay, jitter, reorder }));
        Route::new(links.first().copied(), lines, impairments)
    }

    /// Returns the index of the line with this key. Creates the line if it does not exist.
    fn line_with(&mut self, key: LineKey) -> u32 {
        if let Some(found) = self.lines.iter().position(|line| line.key == key) {
            return found as u32;
        }
        let index = self.lines.len() as u32;
        let slot = self.agenda.register(NetworkActor::Line(index));
        self.lines.push(DelayLine::new(key, slot));
        index
    }

    /// Creates a packet of `ip_len` bytes and sends it on its route.
    #[inline(never)]
    pub(crate) fn send(&mut self, source: &Source, ip_len: u32, ecn: Ecn, header: Header) {
        let packet = self.former.pop();
        let mut packet = self.create(packet, source, ip_len, ecn);
        packet.header = header;
        self.dispatch(packet, source);
    }

    /// Creates the packet of a TCP segment and sends it on its route.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(crate) fn send_segment(&mut self, source: &Source, segment: &mut Segment) {
        let Segment { header, ecn, .. } = segment;
        let ip_len = TCP_HEADERS + u32::from(header.options_len) + header.payload;
        let packet = self.former_segments.pop();
        let mut packet = self.create(packet, source, ip_len, *ecn);
        if let Header::Tcp(old) = &mut packet.header {
            old.take_from(header);
        } else {
            packet.header = Header::Tcp(std::mem::take(header));
        }
        self.dispatch(packet, source);
    }

    /// Sends a packet that was just created.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    fn dispatch(&mut self, packet: Packet, source: &Source) {
        self.observer.sent(&packet, self.now);
        match source.first_link {
            Some(index) => self.offer(index as usize, packet, Entrance::Host),
            None => self.send_directly(packet),
        }
    }

    /// Creates a packet, in the memory of the packet `former` if there is one. Each field is
    /// written in place, without a copy of the packet. The caller must set the header, which has
    /// its former value.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    fn create(
        &mut self,
        former: Option<Packet>,
        from: &Source,
        bytes: u32,
        codepoint: Ecn,
    ) -> Packet {
        self.packets += 1;
        let mut packet = match former {
            Some(packet) => packet,
            None => self.find_memory(),
        };
        // Without `..`, the compiler reports a new field, which would keep its former value.
        let PacketFields {
            id,
            enqueued,
            flow,
            conn,
            tuple_hash,
            source,
            destination,
            ip_len,
            len,
            direction,
            hop,
            ecn,
            dscp,
            priority,
            header: _,
        } = &mut *packet;
        *id = self.packets;
        *enqueued = Instant::ZERO;
        *flow = from.flow;
        *conn = from.conn;
        *tuple_hash = from.tuple_hash;
        *source = from.address;
        *destination = from.peer_address;
        *ip_len = bytes;
        *len = bytes;
        *direction = from.side.sends();
        *hop = 0;
        *ecn = codepoint;
        *dscp = from.dscp;
        *priority = from.priority;
        packet
    }

    /// Returns the memory of a datagram or of a packet that a link dropped. If there is none,
    /// allocates memory for [`NEW_PACKETS`] packets, because the search visits every link.
    #[cold]
    fn find_memory(&mut self) -> Packet {
        for link in &mut self.links {
            link.port.reclaim(&mut self.former);
        }
        if self.former.is_empty() {
            self.former.resize_with(NEW_PACKETS, Packet::default);
        }
        self.former.pop().unwrap_or_default()
    }

    /// Keeps the memory of a packet that has arrived, for a new packet.
    #[inline]
    pub(crate) fn recycle(&mut self, packet: Packet) {
        if let Header::Tcp(_) = packet.header {
            keep(&mut self.former_segments, packet);
        } else {
            rare();
            keep(&mut self.former, packet);
        }
    }

    #[cold]
    fn send_directly(&mut self, mut packet: Packet) {
        if let Some((line, at)) = self.leave(&mut packet, self.now) {
            self.put_on_line(line, packet, at);
        }
    }

    /// Offers a packet to the queue of a link. An idle link without a radio sends the packet at
    /// once.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    fn offer(&mut self, index: usize, packet: Packet, entrance: Entrance) {
        let now = self.now;
        let link = &mut self.links[index];
        if link.own {
            rare();
            return self.offer_to_own_link(index, packet, entrance);
        }
        if link.port.may_pass(now) && link.radio.is_none() {
            let packet = link.port.pass(packet, now);
            let (link, mut beyond) = self.at_link(index);
            return beyond.serve(link, index, packet);
        }
        link.port.offer(packet, now);
        if link.next_call == Instant::NEVER || !link.port.is_busy(now) {
            rare();
            self.transmit_in_call(index);
        }
    }

    /// Does what [`Self::offer`] does, for a link that belongs to hosts.
    #[inline(never)]
    fn offer_to_own_link(&mut self, index: usize, packet: Packet, entrance: Entrance) {
        let sending = (entrance == Entrance::Host).then(|| {
            self.own.enter(&packet);
            (packet.conn, packet.direction.sender())
        });
        let link = &mut self.links[index];
        link.port.offer(packet, self.now);
        self.own.take_drops(&mut link.port, sending);
        if link.next_call == Instant::NEVER || !link.port.is_busy(self.now) {
            self.transmit(index);
        }
    }

    /// Does what [`Self::transmit`] does, which is inlined into its callers. A separate call keeps
    /// [`Self::offer`] short, because few packets find a link that must be called.
    #[inline(never)]
    fn transmit_in_call(&mut self, index: usize) {
        self.transmit(index);
    }

    /// Sends the next packet of a link, if one may leave now. Requests a call at the next time at
    /// which the link can send.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 0.5 % of a run")]
    #[inline(always)]
    pub(crate) fn transmit(&mut self, index: usize) {
        let (link, mut beyond) = self.at_link(index);
        if let Some(id) = link.radio {
            rare();
            return self.fill_driver(index, id);
        }
        // Only one packet is sent per call. A link with credit for more packets requests another
        // call at once.
        let packet = link.port.take(beyond.now);
        beyond.serve(link, index, packet);
    }

    /// Returns a link, and the parts of the network beyond it.
    #[inline]
    fn at_link(&mut self, index: usize) -> (&mut Link, Beyond<'_, O>) {
        let Self { now, agenda, links, lines, routes, own, observer, .. } = self;
        (&mut links[index], Beyond { now: *now, agenda, lines, routes, own, observer })
    }

    /// Advances a packet that leaves its link at `at` by one hop; see [`Route::leave`].
    #[inline]
    pub(crate) fn leave(&mut self, packet: &mut Packet, at: Instant) -> Option<(u32, Instant)> {
        let route = &mut self.routes[packet.flow as usize][packet.direction.index()];
        route.leave(packet, at, &mut self.observer)
    }

    /// Puts a packet on a line; see [`DelayLine::push`] for `at`.
    pub(crate) fn put_on_line(&mut self, line: u32, packet: Packet, at: Instant) {
        put_on_line(&mut self.agenda, &mut self.lines, line, packet, at);
    }

    /// Returns the first link of the packets of `flow` from `side`, if there is one.
    pub(crate) fn first_link(&self, flow: u32, side: Side) -> Option<u32> {
        self.routes[flow as usize][side.sends().index()].first_link()
    }

    /// Returns whether the packets of `flow` from `side` first enter the sender's own link.
    pub(crate) fn starts_on_own_link(&self, flow: u32, side: Side) -> bool {
        self.first_link(flow, side).is_some_and(|link| self.links[link as usize].own)
    }

    /// Removes the first packet of a line, and requests the line's next call. Passes the packet to
    /// the next link. If a host is the target, counts the packet as delivered and returns it.
    #[inline]
    pub(crate) fn arrive(&mut self, index: usize) -> Option<Packet> {
        let line = &mut self.lines[index];
        let Some(packet) = line.pop() else {
            rare();
            return None;
        };
        if let Some((at, ticket)) = line.next() {
            self.agenda.set_with(line.slot, at, ticket);
        } else {
            rare();
            self.agenda.clear(line.slot);
        }
        if let Target::Link(next) = line.key.target {
            rare();
            self.offer(next, packet, Entrance::Link);
            return None;
        }
        self.delivered += 1;
        self.digest.fold(self.now.as_nanos());
        self.digest.fold(packet.id);
        self.observer.received(&packet, self.now);
        Some(packet)
    }

    /// Returns the number of packets that are neither delivered nor dropped: in queues, on lines
    /// and on media.
    pub(crate) fn in_transit(&self) -> u64 {
        let waiting: usize = self.links.iter().map(|link| link.port.backlog().packets).sum();
        let travelling: usize = self.lines.iter().map(DelayLine::len).sum();
        (waiting + travelling + self.on_media()) as u64
    }

    /// Returns the number of packets dropped in queues or lost on the path.
    pub(crate) fn destroyed(&self) -> u64 {
        let dropped: u64 = self.links.iter().map(|link| link.port.log.dropped).sum();
        let lost: u64 = self.routes.iter().flatten().map(Route::lost).sum();
        dropped + lost
    }
}

/// The parts of the network that a packet meets when it leaves a link. They are borrowed beside the
/// link, so that a call looks the link up only once.
struct Beyond<'a, O> {
    now: Instant,
    agenda: &'a mut Agenda,
    lines: &'a mut [DelayLine],
    routes: &'a mut [[Route; 2]],
    own: &'a mut OwnLinks,
    observer: &'a mut O,
}

impl<O: Observer> Beyond<'_, O> {
    /// Sends the packet that leaves the queue of a link, if there is one. Requests a call at the
    /// next time at which the link can send.
    #[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
    #[inline(always)]
    fn serve(&mut self, link: &mut Link, index: usize, packet: Option<Packet>) {
        if let Some(mut packet) = packet {
            let departure = link.port.start(&packet, self.now);
            self.observer.departed(index, &packet, departure);
            if link.own {
                rare();
                self.own.take_drops(&mut link.port, None);
                if packet.hop == 0 {
                    self.own.leave(&packet);
                }
            }
            let route = &mut self.routes[packet.flow as usize][packet.direction.index()];
            if let Some((line, at)) = route.leave(&mut packet, departure.done, self.observer) {
                put_on_line(self.agenda, self.lines, line, packet, at);
            } else {
                rare();
            }
        } else {
            rare();
            if link.own {
                self.own.take_drops(&mut link.port, None);
            }
        }
        let due = link.port.poll_timeout().map_or(Instant::NEVER, |due| due.max(self.now));
        link.call_at(due, self.agenda);
    }
}

/// Adds a packet to the memory for new packets.
#[inline]
fn keep(former: &mut Vec<Packet>, packet: Packet) {
    // `push` makes the same test, but cannot be marked.
    if former.len() < former.capacity() {
        former.push(packet);
    } else {
        rare();
        former.push(packet);
    }
}

/// Puts a packet on a line, and requests the line's call if the packet is the first to arrive. See
/// [`DelayLine::push`] for the time.
#[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
#[inline(always)]
fn put_on_line(
    agenda: &mut Agenda,
    lines: &mut [DelayLine],
    line: u32,
    packet: Packet,
    at: Instant,
) {
    let ticket = agenda.ticket();
    let line = &mut lines[line as usize];
    if let Some(arrives) = line.push(at, ticket, packet) {
        rare();
        agenda.set_with(line.slot, arrives, ticket);
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Args, BitRate, Duration, Overhead, Rng, UdpHeader, Value};
    use aqmlab_qdisc::kinds;

    use super::*;
    use crate::observer::NoObserver;

    fn network() -> Network<NoObserver> {
        let mut network = Network::new(NoObserver, 1);
        let kind = kinds::find("pfifo").expect("there is such a kind");
        let args = Args::defaults(kind.params).with("limit", Value::Count(1));
        let rate = BitRate::new(1_000_000).expect("the rate is not zero");
        let rng = Rng::stream(1, "port");
        let port = Port::new((kind.build)(&args), rate, Overhead::default(), rng);
        network.add_link("up".into(), port, false);
        network
    }

    fn plan() -> RoutePlan {
        let (delay, jitter) = (Duration::from_millis(10), Duration::ZERO);
        RoutePlan { links: vec![0], delay, jitter, reorder: false, impairments: None }
    }

    #[test]
    fn new_packets_get_the_memory_of_dropped_packets() {
        let mut network = network();
        let routes = [(); 2].map(|()| network.create_route(plan()));
        network.routes.push(routes);
        let source = Source {
            flow: 0,
            conn: 0,
            tuple_hash: 0,
            address: 1,
            peer_address: 2,
            first_link: Some(0),
            side: Side::Home,
            priority: 0,
            dscp: 0,
        };
        let mut send = |count| {
            for _ in 0..count {
                let header = Header::Udp(UdpHeader { tag: 0 });
                network.send(&source, 1_500, Ecn::NotEct, header);
            }
            (network.former.len(), network.links[0].port.log.dropped)
        };
        // The first packet leaves at once, and the second waits.
        assert_eq!(send(1), (NEW_PACKETS - 1, 0));
        assert_eq!(send(NEW_PACKETS - 1), (0, NEW_PACKETS as u64 - 2));
        assert_eq!(send(1), (NEW_PACKETS - 3, NEW_PACKETS as u64 - 1));
    }
}
