//! The world as an application sees it.

use aqmlab_apps::{ConnId, Io, Open};
use aqmlab_core::{Instant, Rng, Side};

use crate::observer::Observer;
use crate::world::{Wake, World};

/// Carries out what one application asks for.
pub(crate) struct AppIo<'a, O> {
    pub(crate) world: &'a mut World<O>,
    pub(crate) app: u32,
}

impl<O: Observer> AppIo<'_, O> {
    fn index(&self, conn: ConnId) -> u32 {
        self.world.apps[self.app as usize].conns[conn.0 as usize]
    }

    /// Lets `act` work on one TCP, if it still exists, and has it drained afterwards.
    fn with_end<T: Default>(
        &mut self,
        conn: ConnId,
        at: Side,
        act: impl FnOnce(&mut aqmlab_tcp::Connection) -> T,
    ) -> T {
        let index = self.index(conn);
        let Some(ends) = &mut self.world.conns[index as usize].ends else {
            return T::default();
        };
        self.world.touched.push((index, at));
        act(&mut ends[at.index()].tcp)
    }
}

impl<O: Observer> Io for AppIo<'_, O> {
    fn now(&self) -> Instant {
        self.world.network.now
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.world.apps[self.app as usize].rng
    }

    fn open(&mut self, open: Open) -> ConnId {
        self.world.open(self.app, open)
    }

    fn write(&mut self, conn: ConnId, at: Side, bytes: u64) -> u64 {
        let now = self.now();
        self.with_end(conn, at, |tcp| tcp.write(now, bytes))
    }

    fn pour(&mut self, conn: ConnId, at: Side) {
        self.with_end(conn, at, aqmlab_tcp::Connection::send_unlimited);
    }

    fn close(&mut self, conn: ConnId, at: Side) {
        let index = self.index(conn);
        let now = self.now();
        let socket = &mut self.world.conns[index as usize];
        if socket.transport == aqmlab_apps::Transport::Tcp {
            self.with_end(conn, at, aqmlab_tcp::Connection::close);
        } else {
            socket.closed = socket.closed.or(Some(now));
        }
    }

    fn abort(&mut self, conn: ConnId, at: Side) {
        self.with_end(conn, at, aqmlab_tcp::Connection::abort);
    }

    fn send(&mut self, conn: ConnId, at: Side, payload: u32, tag: u64) {
        let index = self.index(conn);
        if self.world.conns[index as usize].closed.is_none() {
            self.world.send_datagram(index, at, payload, tag);
        }
    }

    fn wake_at(&mut self, at: Instant, token: u64) {
        let at = at.max(self.now());
        self.world.schedule(self.app, at, Wake::Token(token));
    }

    fn note(&mut self, metric: &'static str, value: f64) {
        let now = self.now();
        self.world.apps[self.app as usize].notes.push(now, metric, value);
    }
}
