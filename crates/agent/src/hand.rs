//! The world as one application sees it.

use aqmlab_apps::{ConnId, Io, Open};
use aqmlab_core::{Instant, Rng, Side};

use crate::sockets::{self, End, Info};
use crate::sys;
use crate::world::{Wake, World};

/// Carries out what one application asks for.
pub(crate) struct Hand<'a, 'b> {
    pub(crate) world: &'a mut World<'b>,
    pub(crate) app: usize,
}

impl Hand<'_, '_> {
    fn index(&self, conn: ConnId) -> usize {
        self.world.apps[self.app].conns[conn.0 as usize]
    }

    /// Changes an end, then moves on what can be.
    fn with<T>(&mut self, conn: ConnId, at: Side, act: impl FnOnce(&mut End) -> T) -> T {
        let index = self.index(conn);
        let end = &mut self.world.conns[index].ends[at.index()];
        let result = act(end);
        if !end.short {
            let mut changes = Vec::new();
            end.flush(&mut changes);
        }
        self.world.bury(index);
        result
    }
}

impl Io for Hand<'_, '_> {
    fn now(&self) -> Instant {
        self.world.now
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.world.apps[self.app].rng
    }

    fn open(&mut self, open: Open) -> ConnId {
        match self.world.open(self.app, open) {
            Ok(id) => id,
            Err(error) => {
                let name = &self.world.spec.apps[self.app].name;
                self.world.failure.get_or_insert(format!("{name}: {error}"));
                ConnId(self.world.apps[self.app].conns.len() as u32 - 1)
            }
        }
    }

    fn write(&mut self, conn: ConnId, at: Side, bytes: u64) -> u64 {
        self.with(conn, at, |end| end.write(bytes))
    }

    fn pour(&mut self, conn: ConnId, at: Side) {
        self.with(conn, at, |end| end.pouring = true);
    }

    fn close(&mut self, conn: ConnId, at: Side) {
        let index = self.index(conn);
        if self.world.conns[index].is_tcp() {
            return self.with(conn, at, |end| end.closing = true);
        }
        let now = self.world.now;
        let conn = &mut self.world.conns[index];
        conn.closed = conn.closed.or(Some(now));
        conn.ends = [
            End { read: conn.ends[0].read, ..End::default() },
            End { read: conn.ends[1].read, ..End::default() },
        ];
    }

    fn abort(&mut self, conn: ConnId, at: Side) {
        self.with(conn, at, |end| {
            if let Some(fd) = &end.fd {
                // Whether it could be set shows in what the taps see; the socket closes anyway.
                let _ = sys::reset_on_close(fd);
            }
            end.info = end.fd.as_ref().and_then(Info::of).unwrap_or(end.info);
            end.fd = None;
            end.gone = true;
        });
    }

    fn send(&mut self, conn: ConnId, at: Side, payload: u32, tag: u64) {
        let index = self.index(conn);
        let conn = &self.world.conns[index];
        if let Some(fd) = &conn.ends[at.index()].fd {
            sockets::send(fd, conn.open.transport, payload, tag, &mut self.world.buffer);
        }
    }

    fn wake_at(&mut self, at: Instant, token: u64) {
        let at = at.max(self.world.now);
        self.world.schedule(self.app, at, Wake::Token(token));
        // One that is due already is answered before the loop sleeps.
        self.world.wake();
    }

    fn note(&mut self, metric: &'static str, value: f64) {
        let now = self.world.now;
        self.world.apps[self.app].notes.push(now, metric, value);
    }
}
