//! The world: applications over connections over the network, and the loop that moves them.
//!
//! A packet's way is on two screens: [`World::run`] here calls whoever is next; what arrives
//! at a host goes to its connection ([`World::deliver`]), which answers with segments
//! ([`World::drain`]) that `Network::send` takes to the first link. Applications act only on
//! notices, and only through [`AppIo`].

use std::collections::VecDeque;

use aqmlab_apps::{App, ConnId, Notice, Transport};
use aqmlab_core::{Header, Instant, Packet, Rng, Side, UdpHeader};
use aqmlab_tcp::{Connection, Event};

use crate::agenda::Slot;
use crate::app_io::AppIo;
use crate::conn::{Conn, End, blank, notice, packet_of, tuple_of};
use crate::line::Target;
use crate::network::{Actor, Network};
use crate::notes::Notes;
use crate::observer::Observer;
use crate::sampler::Sampler;
use crate::tcp_plan::TcpPlan;

/// An application and what belongs to it.
pub(crate) struct AppSlot {
    /// Absent only while it is being called.
    pub(crate) app: Option<Box<dyn App>>,
    pub(crate) slot: Slot,
    /// What it asked to be woken for, earliest first, then in order of asking.
    pub(crate) wakes: std::collections::BinaryHeap<std::cmp::Reverse<(Instant, u64, Wake)>>,
    pub(crate) asked: u64,
    pub(crate) rng: Rng,
    /// Indices of its connections, by [`ConnId`].
    pub(crate) conns: Vec<u32>,
    pub(crate) tcp: [TcpPlan; 2],
    /// The priority of its packets, if the scenario sets it.
    pub(crate) priority: Option<u8>,
    /// Its own time series: time, metric, value.
    pub(crate) notes: Notes,
}

/// Why an application is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wake {
    Start,
    Stop,
    Token(u64),
}

/// Everything.
pub(crate) struct World<O> {
    pub(crate) network: Network<O>,
    pub(crate) conns: Vec<Conn>,
    pub(crate) apps: Vec<AppSlot>,
    /// Notices not yet delivered.
    pub(crate) notices: VecDeque<(u32, Notice)>,
    /// Ends that an application has touched and that may have something to send.
    pub(crate) touched: Vec<(u32, Side)>,
    pub(crate) sampler: Option<Sampler>,
    pub(crate) events: u64,
    /// Bytes that each application had read, at home and on the internet, when its part of the
    /// interval of the statistics began and when it ended.
    pub(crate) read_marks: Vec<[Option<[u64; 2]>; 2]>,
}

impl<O: Observer> World<O> {
    /// Moves the world until `end`.
    pub(crate) fn run(&mut self, end: Instant) {
        while let Some((now, slot)) = self.network.agenda.peek() {
            if now >= end {
                break;
            }
            self.network.now = now;
            self.events += 1;
            match self.network.actor(slot) {
                Actor::Link(link) => {
                    self.network.pump(link);
                    self.touched.extend(self.network.own.released());
                }
                Actor::Line(line) => match self.network.target(line) {
                    Target::Host => self.deliver(line),
                    Target::Link(next) => self.network.forward(line, next),
                },
                Actor::Medium(medium) => {
                    self.network.exchange(medium);
                    self.touched.extend(self.network.own.released());
                }
                Actor::End(conn, side) => self.ring(conn, side),
                Actor::App(app) => self.wake(app),
                Actor::Sampler => self.sample(),
            }
            if !self.notices.is_empty() || !self.touched.is_empty() {
                self.settle();
            }
        }
        self.network.now = end;
    }

    /// Notes what an application has read so far as its mark number `mark`, unless that is set.
    pub(crate) fn mark_read(&mut self, app: usize, mark: usize) {
        let conns = self.apps[app].conns.iter().map(|&conn| &self.conns[conn as usize]);
        let read =
            conns.fold([0; 2], |[home, wan], conn| [home + conn.read[0], wan + conn.read[1]]);
        self.read_marks[app][mark].get_or_insert(read);
    }

    /// Hands the packet that has come to the end of a line to whom it was sent to.
    #[inline]
    fn deliver(&mut self, line: usize) {
        let now = self.network.now;
        let Some(packet) = self.network.arrived(line) else { return };
        let (index, at) = (packet.conn, packet.direction.receiver());
        let conn = &mut self.conns[index as usize];
        match &packet.header {
            Header::Tcp(header) => {
                if let Some(ends) = &mut conn.ends {
                    ends[at.index()].tcp.handle_segment(header, packet.ecn, now);
                    self.network.clear(line);
                    return self.drain(index, at);
                }
            }
            Header::Udp(header) | Header::Icmp(header) => {
                if conn.closed.is_none() {
                    let headers = packet.ip_len.min(28);
                    let payload = packet.ip_len - headers;
                    conn.read[at.index()] += u64::from(payload);
                    let notice = Notice::Datagram { conn: conn.id, at, payload, tag: header.tag };
                    self.notices.push_back((conn.app, notice));
                }
            }
        }
        self.network.clear(line);
    }

    /// Lets one end send all it can, passes on what it reports, and sets its timer.
    fn drain(&mut self, index: u32, side: Side) {
        let Self { network, conns, notices, .. } = self;
        let conn = &mut conns[index as usize];
        let Some(ends) = &mut conn.ends else { return };
        let end = &mut ends[side.index()];
        let now = network.now;
        loop {
            while let Some(segment) = end.tcp.poll_transmit(now) {
                let (hash, priority) = (conn.tuple_hash[side.index()], conn.priority);
                network.send(packet_of(segment, index, conn.app, side, hash, priority));
            }
            if !conn.own_link[side.index()]
                || !end.tcp.note_waiting(network.own.waiting(index, side))
            {
                break;
            }
        }
        while let Some(event) = end.tcp.poll_event() {
            let wanted = match event {
                Event::Established => {
                    conn.established = conn.established.or(Some(now));
                    side == conn.opener
                }
                Event::Readable(bytes) => {
                    conn.read[side.index()] += bytes;
                    conn.reads
                }
                Event::Closed | Event::Aborted => {
                    end.finished = true;
                    false
                }
                Event::Writable | Event::PeerFinished => true,
            };
            if wanted {
                notices.extend(notice(event, conn.id, side).map(|notice| (conn.app, notice)));
            }
        }
        // A timer that moves later is left to ring early and set itself again: an
        // acknowledgement restarts the retransmission timer, and most never expire.
        if let Some(due) = end.tcp.poll_timeout() {
            if due < network.agenda.due(end.slot) {
                network.agenda.set(end.slot, due.max(now));
            }
        }
        if end.finished && ends[side.peer().index()].finished {
            self.bury(index);
        }
    }

    /// Forgets the two TCPs of a connection that is over.
    fn bury(&mut self, index: u32) {
        let conn = &mut self.conns[index as usize];
        let Some(ends) = conn.ends.take() else { return };
        conn.closed = Some(self.network.now);
        conn.stats = Some([*ends[0].tcp.stats(), *ends[1].tcp.stats()]);
        for end in ends.iter() {
            self.network.agenda.leave(end.slot);
        }
        self.notices.push_back((conn.app, Notice::Closed(conn.id)));
    }

    /// Calls an end whose timer may have expired.
    fn ring(&mut self, index: u32, side: Side) {
        let now = self.network.now;
        if let Some(ends) = &mut self.conns[index as usize].ends {
            let end = &mut ends[side.index()];
            self.network.agenda.clear(end.slot);
            end.tcp.handle_timeout(now);
            self.drain(index, side);
        }
    }

    /// Calls an application for everything that is due.
    fn wake(&mut self, index: u32) {
        let slot = &mut self.apps[index as usize];
        while let Some(std::cmp::Reverse((at, _, wake))) = slot.wakes.peek().copied() {
            if at > self.network.now {
                break;
            }
            slot.wakes.pop();
            let notice = match wake {
                Wake::Start => Notice::Start,
                Wake::Stop => Notice::Stop,
                Wake::Token(token) => Notice::Wake(token),
            };
            self.notices.push_back((index, notice));
        }
        match slot.wakes.peek() {
            Some(std::cmp::Reverse((at, ..))) => self.network.agenda.set(slot.slot, *at),
            None => self.network.agenda.clear(slot.slot),
        }
    }

    /// Asks for an application to be called at `at`.
    pub(crate) fn schedule(&mut self, index: u32, at: Instant, wake: Wake) {
        let app = &mut self.apps[index as usize];
        app.asked += 1;
        app.wakes.push(std::cmp::Reverse((at, app.asked, wake)));
        if at < self.network.agenda.due(app.slot) {
            self.network.agenda.set(app.slot, at);
        }
    }

    /// Delivers notices and drains what they touched, until there is nothing left of either.
    fn settle(&mut self) {
        loop {
            if let Some((conn, side)) = self.touched.pop() {
                self.drain(conn, side);
            } else if let Some((app, notice)) = self.notices.pop_front() {
                self.notify(app, notice);
            } else {
                return;
            }
        }
    }

    fn notify(&mut self, index: u32, notice: Notice) {
        let Some(mut app) = self.apps[index as usize].app.take() else {
            unreachable!("an application is never called while it is being called")
        };
        // Time ends an application, or somebody who tells it, or the end of its last connection.
        let may_end = matches!(notice, Notice::Wake(_) | Notice::Stop | Notice::Finished { .. });
        app.handle(notice, &mut AppIo { world: self, app: index });
        let ended = may_end && app.ended().is_some();
        self.apps[index as usize].app = Some(app);
        if ended {
            self.mark_read(index as usize, 1);
            self.network.observer.ended(index, self.network.now);
        }
    }

    /// Opens a five-tuple for an application; see [`aqmlab_apps::Io::open`].
    pub(crate) fn open(&mut self, app: u32, open: aqmlab_apps::Open) -> ConnId {
        let index = self.conns.len() as u32;
        let id = ConnId(self.apps[app as usize].conns.len() as u32);
        self.apps[app as usize].conns.push(index);
        let tuple = tuple_of(index, app, open);
        let ends = (open.transport == Transport::Tcp).then(|| {
            let plans = &self.apps[app as usize].tcp;
            let tcps = [Side::Home, Side::Wan].map(|side| {
                let config = plans[side.index()].config(open);
                if side == open.from {
                    Connection::active(config, self.network.now)
                } else {
                    Connection::passive(config)
                }
            });
            let mut sides = [Side::Home, Side::Wan].into_iter();
            Box::new(tcps.map(|tcp| {
                let side = sides.next().expect("there are two sides");
                End { tcp, slot: self.network.enrol(Actor::End(index, side)), finished: false }
            }))
        });
        self.conns.push(Conn {
            app,
            id,
            transport: open.transport,
            opener: open.from,
            tuple,
            tuple_hash: [tuple.hash(), tuple.reversed().hash()],
            priority: self.apps[app as usize].priority.unwrap_or(open.priority),
            own_link: [Side::Home, Side::Wan]
                .map(|side| self.network.starts_on_own_link(app, side)),
            reads: open.reads,
            ends,
            opened: self.network.now,
            established: None,
            closed: None,
            read: [0; 2],
            stats: None,
        });
        self.touched.push((index, open.from));
        id
    }

    /// Sends a datagram of an application; see [`aqmlab_apps::Io::send`].
    pub(crate) fn send_datagram(&mut self, index: u32, at: Side, payload: u32, tag: u64) {
        let conn = &self.conns[index as usize];
        let header = UdpHeader { tag };
        let header = match conn.transport {
            Transport::Icmp => Header::Icmp(header),
            Transport::Udp | Transport::Tcp => Header::Udp(header),
        };
        self.network.send(Packet {
            tuple_hash: conn.tuple_hash[at.index()],
            priority: conn.priority,
            header,
            ..blank(index, conn.app, at, 28 + payload)
        });
    }

    fn sample(&mut self) {
        if let Some(mut sampler) = self.sampler.take() {
            sampler.sample(self);
            self.sampler = Some(sampler);
        }
    }
}
