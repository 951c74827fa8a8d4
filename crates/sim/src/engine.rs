//! The clock and the sockets that the world provides to the applications of a trial.

use aqmlab_apps::{ConnId, Open, ShaperStatus, Transport};
use aqmlab_core::{BitRate, Direction, Instant, Side};
use aqmlab_tcp::Connection;
use aqmlab_trial::{AppRunner, Engine};

use crate::observer::Observer;
use crate::world::World;

/// The length of a full packet, the MTU of an Ethernet interface.
const FULL_PACKET: u32 = 1_500;
/// The length of the Ethernet header, which the counter of an interface includes.
const ETHERNET_HEADER: u64 = 14;

impl<O: Observer> World<O> {
    /// Calls `act` on one TCP, and marks its end to be drained. If the connection has no TCPs or no
    /// longer has them, does nothing and returns the default.
    fn with_end<T: Default>(
        &mut self,
        index: u32,
        at: Side,
        act: impl FnOnce(&mut Connection) -> T,
    ) -> T {
        let Some(ends) = &mut self.conns[index as usize].ends else {
            return T::default();
        };
        self.touched.push((index, at));
        act(&mut ends[at.index()].tcp)
    }

    /// Returns the link with the gateway's shaper of a direction on the route of an application.
    fn shaper_link(&self, app: u32, direction: Direction) -> usize {
        let links = self.apps[app as usize].shapers;
        let links = links.expect("trials without shapers for the application are refused");
        links[direction.index()] as usize
    }
}

impl<O: Observer> Engine for World<O> {
    #[inline]
    fn now(&self) -> Instant {
        self.network.now
    }

    #[inline]
    fn runner(&mut self) -> &mut AppRunner {
        &mut self.runner
    }

    fn call_at(&mut self, app: u32, at: Instant) {
        let slot = self.apps[app as usize].slot;
        if at < self.network.agenda.due(slot) {
            self.network.agenda.set(slot, at);
        }
    }

    fn open(&mut self, app: u32, id: ConnId, open: Open) -> u32 {
        World::open(self, app, id, open)
    }

    fn write(&mut self, conn: u32, at: Side, bytes: u64) -> u64 {
        let now = self.network.now;
        if self.conns[conn as usize].transport == Transport::Quic {
            return self.with_quic(conn, at, |quic, stream| quic.write(stream, bytes));
        }
        self.with_end(conn, at, |tcp| tcp.write(now, bytes))
    }

    fn send_unlimited(&mut self, conn: u32, at: Side) {
        if self.conns[conn as usize].transport == Transport::Quic {
            return self.with_quic(conn, at, aqmlab_quic::Connection::send_unlimited);
        }
        self.with_end(conn, at, Connection::send_unlimited);
    }

    fn close(&mut self, conn: u32, at: Side) {
        let now = self.network.now;
        let socket = &mut self.conns[conn as usize];
        match socket.transport {
            Transport::Tcp => self.with_end(conn, at, Connection::close),
            Transport::Quic => self.with_quic(conn, at, aqmlab_quic::Connection::finish),
            Transport::Udp | Transport::Icmp => socket.closed = socket.closed.or(Some(now)),
        }
    }

    fn abort(&mut self, conn: u32, at: Side) {
        // With QUIC, the abort of a stream (RFC 9000 §2.4) differs from that of a connection.
        let transport = self.conns[conn as usize].transport;
        assert!(transport != Transport::Quic, "no application aborts a QUIC connection or stream");
        self.with_end(conn, at, Connection::abort);
    }

    fn send(&mut self, conn: u32, at: Side, payload: u32, tag: u64) {
        if self.conns[conn as usize].closed.is_none() {
            self.send_datagram(conn, at, payload, tag);
        }
    }

    fn bytes_read(&self, conn: u32) -> [u64; 2] {
        self.conns[conn as usize].bytes_read()
    }

    fn shaper(&self, app: u32, direction: Direction) -> ShaperStatus {
        let port = &self.network.links[self.shaper_link(app, direction)].port;
        ShaperStatus {
            sent_bytes: port.log.sent_bytes + ETHERNET_HEADER * port.log.sent,
            packet_bytes: port.stated_len(FULL_PACKET),
        }
    }

    fn set_shaper_rate(&mut self, app: u32, direction: Direction, rate: BitRate) {
        let link = self.shaper_link(app, direction);
        self.network.links[link].port.change_shaper_rate(rate);
    }

    fn ended(&mut self, app: u32) {
        self.network.observer.ended(app, self.network.now);
    }
}
