//! The QUIC connections of the world.
//!
//! To its application, a stream is a separate connection. A stream sends no packets itself: the
//! connection that carries the stream sends its data.

use aqmlab_apps::{ConnId, Notice, Open};
use aqmlab_core::{Header, Packet, Side};
use aqmlab_quic::{Connection, Event, HEADERS};

use crate::agenda::{HostActor, Slot};
use crate::conn::{Conn, Source};
use crate::observer::Observer;
use crate::world::World;

/// The two ends of a connection, and its streams.
pub(crate) struct Quic {
    pub(crate) ends: [QuicEnd; 2],
    /// The indices of the connections that stand for the streams, in the order of opening. The
    /// first is the index of the connection itself.
    pub(crate) streams: Vec<u32>,
}

/// One end and its slot in the agenda.
pub(crate) struct QuicEnd {
    pub(crate) quic: Connection,
    source: Source,
    slot: Slot<HostActor>,
    is_finished: bool,
}

/// The connection that carries a stream, and the stream's number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carrier {
    pub(crate) conn: u32,
    pub(crate) stream: u32,
}

impl<O: Observer> World<O> {
    /// Creates the two ends of connection number `index`.
    pub(crate) fn create_quic(
        &mut self,
        app: u32,
        index: u32,
        sources: [Source; 2],
        open: Open,
    ) -> Box<Quic> {
        let now = self.network.now;
        let ends = Side::BOTH.map(|side| {
            let config = self.apps[app as usize].endpoints[side.index()].quic(open);
            let quic = if side == open.from {
                Connection::client(config, now)
            } else {
                Connection::server(config)
            };
            let slot = self.network.agenda.register(HostActor::End(index, side));
            QuicEnd { quic, source: sources[side.index()], slot, is_finished: false }
        });
        Box::new(Quic { ends, streams: vec![index] })
    }

    /// Opens a stream of the application's connection `over`. Connection number `index` stands for
    /// the stream. Returns the carrier, or `None` if `over` is not a QUIC connection.
    pub(crate) fn open_stream(&mut self, app: u32, index: u32, over: ConnId) -> Option<Carrier> {
        let conn = *self.runner.conns(app as usize).get(over.0 as usize)?;
        let carrier = &mut self.conns[conn as usize];
        let opener = carrier.opener;
        let quic = carrier.quic.as_mut()?;
        let stream = quic.ends[opener.index()].quic.open_stream();
        quic.streams.push(index);
        Some(Carrier { conn, stream })
    }

    /// Calls `act` with one end of a QUIC connection and the number of a stream, and marks the end
    /// to be drained. For a stream, the connection is its carrier. Does nothing and returns the
    /// default for other connections.
    pub(crate) fn with_quic<T: Default>(
        &mut self,
        index: u32,
        at: Side,
        act: impl FnOnce(&mut Connection, u32) -> T,
    ) -> T {
        let own = Carrier { conn: index, stream: 0 };
        let Carrier { conn, stream } = self.conns[index as usize].carrier.unwrap_or(own);
        let Some(quic) = &mut self.conns[conn as usize].quic else { return T::default() };
        self.touched.push((conn, at));
        act(&mut quic.ends[at.index()].quic, stream)
    }

    /// Delivers a datagram to its connection and drains the receiving end, unless the connection is
    /// closed.
    #[inline(never)]
    pub(crate) fn deliver_quic(&mut self, packet: Packet) {
        let (index, at, now) = (packet.conn, packet.direction.receiver(), self.network.now);
        let conn = &mut self.conns[index as usize];
        if let (Header::Quic(datagram), Some(quic), None) =
            (&packet.header, &mut conn.quic, conn.closed)
        {
            let bytes = packet.ip_len.saturating_sub(HEADERS);
            quic.ends[at.index()].quic.handle_datagram(datagram, bytes, packet.ecn, now);
            self.drain_quic(index, at);
        }
        self.network.recycle(packet);
    }

    /// Calls an end whose timer may have expired, and drains it.
    pub(crate) fn on_quic_timer(&mut self, index: u32, side: Side) {
        if let Some(quic) = &mut self.conns[index as usize].quic {
            quic.ends[side.index()].quic.handle_timeout(self.network.now);
            self.drain_quic(index, side);
        }
    }

    /// Sends the datagrams of one end, sets its timer, and notifies the application of events. Does
    /// nothing if the connection is closed.
    #[inline(never)]
    pub(crate) fn drain_quic(&mut self, index: u32, side: Side) {
        let now = self.network.now;
        let conn = &mut self.conns[index as usize];
        let (Some(quic), None) = (&mut conn.quic, conn.closed) else { return };
        let end = &mut quic.ends[side.index()];
        while let Some(sent) = end.quic.poll_transmit(now) {
            let header = Header::Quic(Box::new(sent.datagram));
            self.network.send(&end.source, HEADERS + sent.bytes, sent.ecn, header);
        }
        match end.quic.poll_timeout() {
            Some(at) => self.network.agenda.set(end.slot, at.max(now)),
            None => self.network.agenda.clear(end.slot),
        }
        while let Some(event) = self.next_event(index, side) {
            self.on_quic_event(index, side, event);
        }
    }

    fn next_event(&mut self, index: u32, side: Side) -> Option<Event> {
        self.conns[index as usize].quic.as_mut()?.ends[side.index()].quic.poll_event()
    }

    fn on_quic_event(&mut self, index: u32, side: Side, event: Event) {
        let now = self.network.now;
        let conn = &mut self.conns[index as usize];
        match event {
            Event::Established => {
                conn.established = conn.established.or(Some(now));
                if side == conn.opener {
                    self.runner.notify(conn.app, Notice::Opened(conn.id));
                }
            }
            Event::Readable { stream, bytes } => {
                let Some(conn) = self.stream(index, stream) else { return };
                conn.read[side.index()] += bytes;
                let (app, id, notifies) = (conn.app, conn.id, conn.notifies_reads);
                if notifies {
                    self.runner.notify(app, Notice::Read { conn: id, at: side, bytes });
                }
            }
            Event::Finished { stream } => {
                let Some(conn) = self.stream(index, stream) else { return };
                let (app, id) = (conn.app, conn.id);
                self.runner.notify(app, Notice::Finished { conn: id, at: side });
            }
            Event::Closed => self.finish_quic(index, side),
        }
    }

    /// Returns the connection that stands for a stream, if there is one.
    fn stream(&mut self, index: u32, stream: u32) -> Option<&mut Conn> {
        let streams = &self.conns[index as usize].quic.as_ref()?.streams;
        let conn = *streams.get(stream as usize)?;
        Some(&mut self.conns[conn as usize])
    }

    /// Records that an end is closed. If the other end is closed too, or is a server that has heard
    /// nothing, closes the connection and notifies the application.
    fn finish_quic(&mut self, index: u32, side: Side) {
        let conn = &mut self.conns[index as usize];
        let Some(quic) = &mut conn.quic else { return };
        quic.ends[side.index()].is_finished = true;
        let is_over = |end: &QuicEnd| end.is_finished || end.quic.is_listening();
        if quic.ends.iter().all(is_over) && conn.closed.is_none() {
            conn.closed = Some(self.network.now);
            for end in &quic.ends {
                self.network.agenda.leave(end.slot);
            }
            self.runner.notify(conn.app, Notice::Closed(conn.id));
        }
    }
}
