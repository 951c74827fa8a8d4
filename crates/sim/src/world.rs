//! The world: the applications, their connections and the network, and the loop that runs them.
//!
//! A packet takes the following path. [`World::run`] calls the next actor. A packet that arrives at
//! a host goes to its connection ([`World::deliver`]). The connection responds with segments
//! ([`World::drain`]), and `Network::send_segment` passes them to the first link. Applications act
//! only on notices, and only through [`aqmlab_trial::Engine`].

use std::ops::ControlFlow;

use aqmlab_apps::{ConnId, Notice, Open, Transport};
use aqmlab_core::hint::rare;
use aqmlab_core::{FiveTuple, Header, Instant, Packet, Side, UdpHeader};
use aqmlab_tcp::{Connection, Event};
use aqmlab_trial::app_runner::deliver_one;
use aqmlab_trial::endpoint::Endpoint;
use aqmlab_trial::{AppRunner, Engine};

use crate::agenda::{HostActor, NetworkActor, Place, Slot};
use crate::conn::{Conn, DATAGRAM_HEADERS, End, Source, notice, tuple_of};
use crate::network::Network;
use crate::observer::Observer;
use crate::sampler::Sampler;

/// The part of an application that the simulator owns.
pub(crate) struct AppSlot {
    pub(crate) slot: Slot<HostActor>,
    /// The configuration of the application's connections at each end, home first.
    pub(crate) endpoints: [Endpoint; 2],
    /// The number of the application's host in the home network.
    pub(crate) host: u32,
    /// The priority of the application's packets; `None` if the application chooses it.
    pub(crate) priority: Option<u8>,
    /// The Differentiated Services codepoint of the application's packets.
    pub(crate) dscp: u8,
    /// The links with the gateway's shapers, up and down, if the application sets shapers.
    pub(crate) shapers: Option<[u32; 2]>,
}

/// The state of a run.
pub(crate) struct World<O> {
    pub(crate) network: Network<O>,
    pub(crate) conns: Vec<Conn>,
    pub(crate) apps: Vec<AppSlot>,
    pub(crate) runner: AppRunner,
    /// The ends to drain, because an application acted on them or their packets left their own
    /// link. The order is that of the calls: a system call on one socket sends before the call on
    /// the next socket.
    pub(crate) touched: Vec<(u32, Side)>,
    pub(crate) sampler: Option<Sampler>,
    pub(crate) events: u64,
}

/// Whether an end is drained because its next call takes place now; see [`End::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Called {
    /// No. The next call and the entry in the agenda's wheel are in the future, if they exist.
    No,
    /// Yes, by a read. The entry is in the future, if it exists.
    ByRead,
    /// Yes, by the entry, which the agenda has reached.
    ByEntry,
}

impl<O: Observer> World<O> {
    /// Makes all calls that are due before `end`, and sets the time to `end`.
    pub(crate) fn run(&mut self, end: Instant) {
        loop {
            let agenda = &mut self.network.agenda;
            let (network, host) = (agenda.first_of_network(), agenda.first_of_hosts());
            // Places are unique, except that of no call.
            debug_assert!(!self.network.own.has_released(), "released ends send at once");
            if network < host {
                if network.time() >= end {
                    rare();
                    break;
                }
                self.call_network(network);
            } else {
                if host.time() >= end {
                    rare();
                    break;
                }
                if agenda.take_read(host) {
                    self.call_reader(host);
                } else {
                    self.call_host(host);
                }
            }
        }
        self.network.now = end;
    }

    /// Calls the part of the network whose call is due at `place`.
    #[inline]
    fn call_network(&mut self, place: Place) {
        self.network.now = place.time();
        self.events += 1;
        match self.network.agenda.actor(place) {
            NetworkActor::Line(line) => {
                if let Some(packet) = self.network.arrive(line as usize) {
                    self.deliver(packet);
                }
                return;
            }
            NetworkActor::Link(link) => self.network.transmit(link as usize),
            NetworkActor::Medium(medium) => self.network.exchange(medium as usize),
        }
        if self.network.own.has_released() {
            rare();
            self.settle_all();
        }
    }

    /// Calls the part of a host whose call is due at `place`.
    #[inline(never)]
    fn call_host(&mut self, place: Place) {
        self.network.now = place.time();
        match self.network.agenda.actor(place) {
            HostActor::End(conn, side) => {
                if !self.is_called_at(place, conn, side) {
                    return;
                }
                self.on_timer(conn, side, Called::ByEntry);
            }
            HostActor::App(app) => self.wake(app),
            HostActor::Sampler => self.sample(),
        }
        self.events += 1;
        self.settle();
    }

    /// Delivers a packet to its connection. Drains the receiving end, or notifies the application
    /// of a datagram. Most segments cause no notice.
    #[inline]
    fn deliver(&mut self, packet: Packet) {
        let Header::Tcp(header) = &packet.header else { return self.deliver_datagram(packet) };
        let now = self.network.now;
        let (index, at) = (packet.conn, packet.direction.receiver());
        let conn = &mut self.conns[index as usize];
        let Some(ends) = &mut conn.ends else {
            rare();
            return self.network.recycle(packet);
        };
        ends[at.index()].tcp.handle_segment(header, packet.ecn, now);
        self.network.recycle(packet);
        if drain_tcp(conn, at, Called::No, &mut self.network).is_break() {
            rare();
            self.notify(index, at, Called::No);
            self.settle();
        }
    }

    /// Delivers a datagram of UDP, ICMP or QUIC.
    #[inline(never)]
    fn deliver_datagram(&mut self, packet: Packet) {
        let conn = &mut self.conns[packet.conn as usize];
        match &packet.header {
            Header::Quic(_) => {
                self.deliver_quic(packet);
                return self.settle();
            }
            Header::Udp(header) | Header::Icmp(header) if conn.closed.is_none() => {
                let (at, payload) =
                    (packet.direction.receiver(), packet.ip_len.saturating_sub(DATAGRAM_HEADERS));
                conn.read[at.index()] += u64::from(payload);
                let notice = Notice::Datagram { conn: conn.id, at, payload, tag: header.tag };
                self.runner.notify(conn.app, notice);
            }
            Header::Udp(_) | Header::Icmp(_) | Header::Tcp(_) => {}
        }
        self.network.recycle(packet);
        self.settle();
    }

    /// Sends the segments of one end, notifies its application of events, and sets its timer.
    fn drain(&mut self, index: u32, side: Side, called: Called) {
        let conn = &mut self.conns[index as usize];
        if conn.quic.is_some() {
            return self.drain_quic(index, side);
        }
        if drain_tcp(conn, side, called, &mut self.network).is_break() {
            self.notify(index, side, called);
        }
    }

    /// Notifies the application of the events of one end, and sets the timer of the end. Removes
    /// both ends if both have finished. If the client has finished and the server has heard
    /// nothing, closes the connection but keeps the ends, because a SYN may still arrive.
    #[inline(never)]
    fn notify(&mut self, index: u32, side: Side, called: Called) {
        let now = self.network.now;
        let conn = &mut self.conns[index as usize];
        let Some(ends) = &mut conn.ends else { return };
        let end = &mut ends[side.index()];
        while let Some(event) = end.tcp.poll_event() {
            let wanted = match event {
                Event::Established => {
                    conn.established = conn.established.or(Some(now));
                    side == conn.opener
                }
                Event::Closed | Event::Aborted => {
                    end.finished = true;
                    false
                }
                // A TCP reports reads only if the application subscribes to them.
                Event::Readable(bytes) => {
                    conn.read[side.index()] += bytes;
                    true
                }
                Event::Writable | Event::PeerFinished => true,
            };
            if wanted {
                if let Some(notice) = notice(event, conn.id, side) {
                    self.runner.notify(conn.app, notice);
                }
            }
        }
        set_timer(end, called, &mut self.network);
        if ends.iter().all(|end| end.finished) {
            self.reap(index);
        } else if ends.iter().all(|end| end.finished || end.tcp.is_listening()) {
            self.record_closed(index);
        }
    }

    /// Removes the two TCPs of a connection that is closed, keeps their counters, and notifies the
    /// application.
    fn reap(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        let Some(ends) = conn.ends.take() else { return };
        conn.stats = Some([*ends[0].tcp.stats(), *ends[1].tcp.stats()]);
        for end in ends.iter() {
            self.network.agenda.leave(end.slot);
        }
        self.record_closed(index);
    }

    /// Records that a connection is closed, and notifies the application, unless the connection was
    /// closed before.
    fn record_closed(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        if conn.closed.is_none() {
            conn.closed = Some(self.network.now);
            self.runner.notify(conn.app, Notice::Closed(conn.id));
        }
    }

    /// Returns whether the agenda's entry at `place`, which is due, is for the next call of an end;
    /// see [`End::is_called_at`]. For an end without a TCP, returns true.
    #[inline]
    fn is_called_at(&mut self, place: Place, index: u32, side: Side) -> bool {
        let Some(ends) = &mut self.conns[index as usize].ends else { return true };
        ends[side.index()].is_called_at(place, &mut self.network.agenda)
    }

    /// Calls an end whose timer may have expired, and drains it.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 0.5 % of a run")]
    #[inline(always)]
    fn on_timer(&mut self, index: u32, side: Side, called: Called) {
        let now = self.network.now;
        if let Some(ends) = &mut self.conns[index as usize].ends {
            let end = &mut ends[side.index()];
            end.tcp.handle_timeout(now);
            self.drain(index, side, called);
        } else {
            self.on_quic_timer(index, side);
        }
    }

    /// Calls the end whose read is due at `place`. Usually the application gets no notice of the
    /// read and sends nothing.
    #[inline]
    fn call_reader(&mut self, place: Place) {
        let HostActor::End(index, side) = self.network.agenda.actor(place) else { return };
        let conn = &mut self.conns[index as usize];
        let Some(ends) = &mut conn.ends else { return };
        let end = &mut ends[side.index()];
        if end.next != place {
            rare();
            return;
        }
        self.events += 1;
        self.network.now = place.time();
        if conn.notifies_reads || !end.tcp.only_reads_next() {
            rare();
            self.on_timer(index, side, Called::ByRead);
            return self.settle();
        }
        end.tcp.read();
        // Unlike in `drain_tcp`, the memory of the own link is reported only if a segment may be
        // sent. A read changes neither this memory nor its limit.
        if end.tcp.has_output() {
            rare();
            if end.is_on_own_link {
                send_segments_to_own_link(&mut self.network, end);
            } else {
                send_segments(&mut self.network, end);
            }
        }
        if end.tcp.has_events() || self.network.own.has_released() {
            rare();
            self.notify(index, side, Called::ByRead);
            return self.settle();
        }
        set_timer(end, Called::ByRead, &mut self.network);
    }

    /// Notifies an application of its due wake-ups and requests the next call.
    fn wake(&mut self, app: u32) {
        let slot = self.apps[app as usize].slot;
        match self.runner.wake(app, self.network.now) {
            Some(at) => self.network.agenda.set(slot, at),
            None => self.network.agenda.clear(slot),
        }
    }

    /// Requests the first call of an application, if the application has a wake-up.
    pub(crate) fn request_wake(&mut self, app: u32) {
        if let Some(at) = self.runner.next_wake_of(app) {
            self.call_at(app, at);
        }
    }

    /// Delivers notices, and drains the ends in `touched` and the ends whose packets have left
    /// their own link, until there are none left.
    #[inline]
    fn settle(&mut self) {
        let has_touched = !self.touched.is_empty() || self.network.own.has_released();
        if self.runner.has_notices() || has_touched {
            self.settle_all();
        }
    }

    /// Does what [`Self::settle`] does, which first tests whether there is anything to do.
    #[inline(never)]
    fn settle_all(&mut self) {
        let mut drained = 0;
        loop {
            if let Some(&(conn, side)) = self.touched.get(drained) {
                drained += 1;
                self.drain(conn, side, Called::No);
                continue;
            }
            // Clearing a list after its last entry costs less than using a ring buffer.
            self.touched.clear();
            drained = 0;
            self.touched.extend(self.network.own.released());
            if self.touched.is_empty() && !deliver_one(self) {
                return;
            }
        }
    }

    /// Opens a connection or datagram socket for an application, and returns its index; see
    /// [`aqmlab_apps::Io::open`].
    pub(crate) fn open(&mut self, app: u32, id: ConnId, open: Open) -> u32 {
        let index = self.conns.len() as u32;
        let tuple = tuple_of(index, [self.apps[app as usize].host, app], open);
        let sources = self.sources(app, index, tuple, open);
        let is_tcp = open.transport == Transport::Tcp;
        let ends = is_tcp.then(|| self.create_tcp(app, index, sources, open));
        let carrier = open.over.and_then(|over| self.open_stream(app, index, over));
        let is_quic = open.transport == Transport::Quic && carrier.is_none();
        let quic = is_quic.then(|| self.create_quic(app, index, sources, open));
        self.conns.push(Conn {
            app,
            id,
            transport: open.transport,
            opener: open.from,
            tuple,
            sources,
            ecn: open.ecn,
            notifies_reads: open.reads,
            ends,
            quic,
            carrier,
            opened: self.network.now,
            established: None,
            closed: None,
            read: [0; 2],
            stats: None,
        });
        self.touched.push((index, open.from));
        index
    }

    /// Returns the fields that the packets of each end of connection number `index` share.
    fn sources(&self, app: u32, index: u32, tuple: FiveTuple, open: Open) -> [Source; 2] {
        let AppSlot { priority, dscp, .. } = self.apps[app as usize];
        [(tuple, Side::Home), (tuple.reversed(), Side::Wan)].map(|(tuple, side)| Source {
            flow: app,
            conn: index,
            tuple_hash: tuple.hash(),
            address: tuple.source,
            peer_address: tuple.destination,
            first_link: self.network.first_link(app, side),
            side,
            priority: priority.unwrap_or(open.priority),
            dscp,
        })
    }

    /// Creates the two TCPs of connection number `index`.
    fn create_tcp(
        &mut self,
        app: u32,
        index: u32,
        sources: [Source; 2],
        open: Open,
    ) -> Box<[End; 2]> {
        Box::new(Side::BOTH.map(|side| {
            let config = self.apps[app as usize].endpoints[side.index()].config(open);
            let tcp = if side == open.from {
                Connection::active(config, self.network.now)
            } else {
                Connection::passive(config)
            };
            End {
                tcp,
                source: sources[side.index()],
                is_on_own_link: self.network.starts_on_own_link(app, side),
                slot: self.network.agenda.register(HostActor::End(index, side)),
                next: Place::NEVER,
                reads_next: false,
                entry: Place::NEVER,
                finished: false,
            }
        }))
    }

    /// Sends a datagram of an application; see [`aqmlab_apps::Io::send`].
    pub(crate) fn send_datagram(&mut self, index: u32, at: Side, payload: u32, tag: u64) {
        let conn = &self.conns[index as usize];
        let header = UdpHeader { tag };
        let header = match conn.transport {
            Transport::Icmp => Header::Icmp(header),
            Transport::Udp | Transport::Tcp | Transport::Quic => Header::Udp(header),
        };
        let source = conn.sources[at.index()];
        let ecn = conn.ecn;
        self.network.send(&source, DATAGRAM_HEADERS + payload, ecn, header);
    }

    fn sample(&mut self) {
        if let Some(mut sampler) = self.sampler.take() {
            sampler.sample(self);
            self.sampler = Some(sampler);
        }
    }
}

/// Sends the segments of one end of a TCP connection, and sets its timer. If there are events, or
/// if packets have left the own link of any end, returns `Break` and leaves the timer as it is.
#[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
#[inline(always)]
fn drain_tcp<O: Observer>(
    conn: &mut Conn,
    side: Side,
    called: Called,
    network: &mut Network<O>,
) -> ControlFlow<()> {
    let Some(ends) = &mut conn.ends else {
        rare();
        return ControlFlow::Continue(());
    };
    let end = &mut ends[side.index()];
    if end.is_on_own_link {
        rare();
        send_segments_to_own_link(network, end);
        if network.own.has_released() {
            return ControlFlow::Break(());
        }
    } else if end.tcp.has_output() {
        send_segments(network, end);
    }
    if end.tcp.has_events() {
        rare();
        return ControlFlow::Break(());
    }
    set_timer(end, called, network);
    ControlFlow::Continue(())
}

/// Sends the segments of one end.
#[inline(never)]
fn send_segments<O: Observer>(network: &mut Network<O>, end: &mut End) {
    let now = network.now;
    while let Some(segment) = end.tcp.poll_segment(now) {
        network.send_segment(&end.source, segment);
    }
}

/// Sends the segments of one end to its own link, and reports to the TCP the memory of the packets
/// in this link. The TCP may then release more segments, unless the link dropped one of its
/// packets.
#[inline(never)]
fn send_segments_to_own_link<O: Observer>(network: &mut Network<O>, end: &mut End) {
    let Source { conn, side, .. } = end.source;
    loop {
        send_segments(network, end);
        if network.own.take_refusal((conn, side))
            || !end.tcp.note_waiting(network.own.waiting(conn, side))
        {
            break;
        }
    }
}

/// Requests the next call of one end.
///
/// A timer that is set to a later time keeps its earlier call in the agenda. The call then sets the
/// timer again. Each acknowledgement restarts the retransmission timer, so this timer rarely
/// expires.
#[expect(clippy::inline_always, reason = "every packet passes; a call costs 1 % of a run")]
#[inline(always)]
fn set_timer<O: Observer>(end: &mut End, called: Called, network: &mut Network<O>) {
    let agenda = &mut network.agenda;
    let due = end.tcp.poll_timeout().unwrap_or(Instant::NEVER);
    // A call that takes place now is no longer the next call.
    let next = if called == Called::No { end.next.time() } else { Instant::NEVER };
    if due < next {
        let place = agenda.place(end.slot, due.max(network.now));
        if !end.tcp.wakes_next() {
            if called == Called::ByEntry {
                // The call replaces the entry that was reached, even if the call is later.
                end.entry = Place::NEVER;
            }
            return end.call_at(place, agenda);
        }
        (end.next, end.reads_next) = (place, true);
        agenda.request_read(place);
    } else if called != Called::No {
        (end.next, end.reads_next) = (Place::NEVER, false);
    }
    if called == Called::ByEntry {
        rare();
        // The next call has no entry, so the entry that was reached is removed.
        end.enter(Place::NEVER, agenda);
    }
}
