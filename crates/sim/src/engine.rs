//! The clock and the sockets that the world provides to the applications of a trial.

use aqmlab_apps::{ConnId, Open, Transport};
use aqmlab_core::{Instant, Side};
use aqmlab_tcp::Connection;
use aqmlab_trial::{AppRunner, Engine};

use crate::observer::Observer;
use crate::world::World;

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
        self.conns[conn as usize].read
    }

    fn ended(&mut self, app: u32) {
        self.network.observer.ended(app, self.network.now);
    }
}
