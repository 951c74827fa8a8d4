//! The interface through which an application uses the engine.

use aqmlab_apps::{ConnId, Io, Open, ShaperStatus};
use aqmlab_core::{BitRate, Direction, Instant, Rng, Side};

use super::{Engine, Slot, Wake};

/// The [`Io`] of one application.
pub(super) struct AppIo<'a, E> {
    pub(super) engine: &'a mut E,
    pub(super) app: u32,
}

impl<E: Engine> AppIo<'_, E> {
    #[inline]
    fn slot(&mut self) -> &mut Slot {
        &mut self.engine.runner().apps[self.app as usize]
    }

    #[inline]
    fn conn(&mut self, conn: ConnId) -> u32 {
        self.slot().conns[conn.0 as usize]
    }
}

impl<E: Engine> Io for AppIo<'_, E> {
    fn now(&self) -> Instant {
        self.engine.now()
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.slot().rng
    }

    fn open(&mut self, open: Open) -> ConnId {
        let id = ConnId(self.slot().conns.len() as u32);
        let conn = self.engine.open(self.app, id, open);
        self.slot().conns.push(conn);
        id
    }

    fn write(&mut self, conn: ConnId, at: Side, bytes: u64) -> u64 {
        let conn = self.conn(conn);
        self.engine.write(conn, at, bytes)
    }

    fn send_unlimited(&mut self, conn: ConnId, at: Side) {
        let conn = self.conn(conn);
        self.engine.send_unlimited(conn, at);
    }

    fn close(&mut self, conn: ConnId, at: Side) {
        let conn = self.conn(conn);
        self.engine.close(conn, at);
    }

    fn abort(&mut self, conn: ConnId, at: Side) {
        let conn = self.conn(conn);
        self.engine.abort(conn, at);
    }

    fn send(&mut self, conn: ConnId, at: Side, payload: u32, tag: u64) {
        let conn = self.conn(conn);
        self.engine.send(conn, at, payload, tag);
    }

    fn wake_at(&mut self, at: Instant, token: u64) {
        let at = at.max(self.engine.now());
        let app = self.app;
        self.engine.runner().wakes.push(app as usize, at, Wake::Token(token));
        self.engine.call_at(app, at);
    }

    fn shaper(&self, direction: Direction) -> ShaperStatus {
        self.engine.shaper(self.app, direction)
    }

    fn set_shaper_rate(&mut self, direction: Direction, rate: BitRate) {
        self.engine.set_shaper_rate(self.app, direction, rate);
    }

    fn note(&mut self, metric: &'static str, value: f64) {
        let now = self.engine.now();
        self.slot().notes.push(now, metric, value);
    }
}
