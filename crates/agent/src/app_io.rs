//! The sockets and the clock that the applications of a trial use.

use aqmlab_apps::{ConnId, Open, ShaperStatus};
use aqmlab_core::{BitRate, Direction, Instant, Side};
use aqmlab_trial::{AppRunner, Engine};

use crate::sockets::{self, End, Info};
use crate::sys;
use crate::world::World;

impl World<'_> {
    /// Changes an end with `act`. Then sends as many bytes as the end can send, unless the
    /// application waits for space in the send buffer. Removes the sockets of a connection that is
    /// over.
    fn with_end<T>(&mut self, index: u32, at: Side, act: impl FnOnce(&mut End) -> T) -> T {
        let end = &mut self.conns[index as usize].ends[at.index()];
        let result = act(end);
        if !end.short {
            let mut changes = Vec::new();
            end.flush(&mut changes);
        }
        self.reap(index as usize);
        result
    }
}

impl Engine for World<'_> {
    fn now(&self) -> Instant {
        self.now
    }

    fn runner(&mut self) -> &mut AppRunner {
        &mut self.runner
    }

    fn call_at(&mut self, _app: u32, _at: Instant) {
        // Empty on purpose: the loop requests the driver's next wake-up before it sleeps.
    }

    fn open(&mut self, app: u32, id: ConnId, open: Open) -> u32 {
        let index = self.conns.len() as u32;
        if let Err(error) = World::open(self, app as usize, id, open) {
            let name = &self.spec.apps[app as usize].name;
            self.failure.get_or_insert(format!("{name}: {error}"));
        }
        index
    }

    fn write(&mut self, conn: u32, at: Side, bytes: u64) -> u64 {
        self.with_end(conn, at, |end| end.write(bytes))
    }

    fn send_unlimited(&mut self, conn: u32, at: Side) {
        self.with_end(conn, at, |end| end.unlimited = true);
    }

    fn close(&mut self, conn: u32, at: Side) {
        if self.conns[conn as usize].is_tcp() {
            return self.with_end(conn, at, |end| end.closing = true);
        }
        let now = self.now;
        let conn = &mut self.conns[conn as usize];
        conn.closed = conn.closed.or(Some(now));
        conn.ends = [
            End { read: conn.ends[0].read, ..End::default() },
            End { read: conn.ends[1].read, ..End::default() },
        ];
    }

    fn abort(&mut self, conn: u32, at: Side) {
        self.with_end(conn, at, |end| {
            if let Some(fd) = &end.fd {
                // The taps record whether the kernel sends a reset. The socket closes in either
                // case.
                let _ = sys::reset_on_close(fd);
            }
            end.info = end.fd.as_ref().and_then(Info::of).unwrap_or(end.info);
            end.fd = None;
            end.gone = true;
        });
    }

    fn send(&mut self, conn: u32, at: Side, payload: u32, tag: u64) {
        let conn = &self.conns[conn as usize];
        if let Some(fd) = &conn.ends[at.index()].fd {
            sockets::send(fd, conn.open.transport, payload, tag, &mut self.buffer);
        }
    }

    fn bytes_read(&self, conn: u32) -> [u64; 2] {
        let [home, wan] = &self.conns[conn as usize].ends;
        [home.read, wan.read]
    }

    fn shaper(&self, _app: u32, _direction: Direction) -> ShaperStatus {
        unreachable!("the agent refuses applications that set shapers")
    }

    fn set_shaper_rate(&mut self, _app: u32, _direction: Direction, _rate: BitRate) {
        unreachable!("the agent refuses applications that set shapers")
    }

    fn ended(&mut self, _app: u32) {
        // Empty on purpose: the taps are measured after the run, when the end of every flow is
        // known.
    }
}
