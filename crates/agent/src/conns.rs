//! The connections of applications: opens, accepts, serves and removes their sockets.

use std::io;
use std::os::fd::OwnedFd;

use aqmlab_apps::{ConnId, Notice, Open, Transport};
use aqmlab_core::Side;

use crate::sockets::{self, Change, Conn, End, Info, Owner};
use crate::sys;
use crate::world::World;

/// The bit that marks the token of a listening socket.
const LISTENS: u64 = 1 << 62;

impl World<'_> {
    /// Handles an event of the socket with this token. An error ends the trial.
    pub(crate) fn event(&mut self, token: u64) {
        let result = if token & LISTENS != 0 {
            let place = (token & !LISTENS) as usize;
            self.take_connections(place / 2, place % 2)
        } else {
            self.progress((token / 2) as usize, (token % 2) as usize)
        };
        if let Err(error) = result {
            self.failure.get_or_insert(error.to_string());
        }
    }

    fn take_connections(&mut self, app: usize, side: usize) -> io::Result<()> {
        loop {
            let Some(listener) = self.listeners.get(&(app, side)) else { return Ok(()) };
            let (fd, port) = match sys::accept(listener) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                other => other?,
            };
            let of_port = |conn: &Conn| conn.app == app && conn.port == port && conn.is_tcp();
            let Some(index) = self.conns.iter().rposition(of_port) else { continue };
            let spec = &self.spec.apps[app];
            let at = if side == 0 { Side::Home } else { Side::Wan };
            sockets::accepted(&fd, self.conns[index].open, spec.tcp(at))?;
            self.poll.watch(&fd, (index * 2 + side) as u64)?;
            let end = &mut self.conns[index].ends[side];
            end.fd = Some(fd);
            end.established = true;
            self.progress(index, side)?;
        }
    }

    /// Processes a state change of an end, and notifies the end's application.
    fn progress(&mut self, index: usize, side: usize) -> io::Result<()> {
        if !self.conns[index].is_tcp() {
            self.receive_datagrams(index, side);
            return Ok(());
        }
        let mut changes = Vec::new();
        let end = &mut self.conns[index].ends[side];
        end.check_connect(&mut changes);
        if end.established && !end.gone {
            if !end.peer_done {
                end.drain(&mut changes);
            }
            end.flush(&mut changes);
        }
        let open = self.conns[index].open;
        let app = self.conns[index].app;
        for change in changes {
            if let Change::Read(_) = change {
                let at = if side == 0 { Side::Home } else { Side::Wan };
                let tcp = self.spec.apps[app].tcp(at);
                if let Some(fd) = &self.conns[index].ends[side].fd {
                    sockets::quickly(fd, open, tcp)?;
                }
            }
            self.report(index, side, change);
        }
        self.reap(index);
        Ok(())
    }

    fn report(&mut self, index: usize, side: usize, change: Change) {
        let conn = &mut self.conns[index];
        let at = if side == 0 { Side::Home } else { Side::Wan };
        let id = conn.id;
        let notice = match change {
            Change::Established => {
                conn.established = Some(self.now);
                Notice::Opened(id)
            }
            Change::Read(bytes) if conn.open.reads => Notice::Read { conn: id, at, bytes },
            Change::Writable => Notice::Writable { conn: id, at },
            Change::PeerFinished => Notice::Finished { conn: id, at },
            Change::Read(_) | Change::Gone => return,
        };
        self.runner.notify(conn.app as u32, notice);
    }

    /// Removes the sockets of a connection that is closed in both directions or reset, and notifies
    /// the connection's application.
    pub(crate) fn reap(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        let [home, wan] = &conn.ends;
        // An end that never existed is finished when the other end is gone.
        let done = |end: &End, other: &End| {
            end.gone || (end.shut && end.peer_done) || (end.fd.is_none() && other.gone)
        };
        let over = done(home, wan) && done(wan, home);
        if conn.closed.is_some() || !over {
            return;
        }
        conn.closed = Some(self.now);
        for end in &mut conn.ends {
            end.info = end.fd.as_ref().and_then(Info::of).unwrap_or(end.info);
            end.gone = true;
            end.fd = None;
        }
        self.runner.notify(conn.app as u32, Notice::Closed(conn.id));
    }

    fn receive_datagrams(&mut self, index: usize, side: usize) {
        let conn = &mut self.conns[index];
        let at = if side == 0 { Side::Home } else { Side::Wan };
        let Some(fd) = &conn.ends[side].fd else { return };
        while let Some((payload, tag)) = sockets::receive(fd, conn.open.transport, &mut self.buffer)
        {
            conn.ends[side].read += u64::from(payload);
            let notice = Notice::Datagram { conn: conn.id, at, payload, tag };
            self.runner.notify(conn.app as u32, notice);
        }
    }

    /// Opens the sockets of an application's connection `id`.
    pub(crate) fn open(&mut self, app: usize, id: ConnId, open: Open) -> Result<(), String> {
        let index = self.conns.len();
        let port = 10_000 + (index % 30_000) as u16;
        self.conns.push(Conn {
            app,
            id,
            open,
            port,
            ends: [End::default(), End::default()],
            opened: self.now,
            established: None,
            closed: None,
        });
        let owner = Owner::of(self.spec, app);
        let spec = &self.spec.apps[app];
        let far = open.from.peer();
        if open.transport == Transport::Tcp {
            if !self.listeners.contains_key(&(app, far.index())) {
                self.testbed.enter(far)?;
                let fd = sockets::listener(&owner, far, spec.tcp(far)).map_err(text)?;
                self.poll.watch(&fd, LISTENS | (app * 2 + far.index()) as u64).map_err(text)?;
                self.listeners.insert((app, far.index()), fd);
            }
            self.testbed.enter(open.from)?;
            let near = spec.tcp(open.from);
            let fd = sockets::client(&owner, port, open, near).map_err(text)?;
            return self.adopt(index, open.from, fd);
        }
        for side in [Side::Home, Side::Wan] {
            // The kernel answers echo requests without a socket.
            if open.transport == Transport::Icmp && side == far {
                continue;
            }
            self.testbed.enter(side)?;
            let fd = sockets::datagrams(&owner, side, port, open).map_err(text)?;
            self.adopt(index, side, fd)?;
        }
        Ok(())
    }

    fn adopt(&mut self, index: usize, side: Side, fd: OwnedFd) -> Result<(), String> {
        self.poll.watch(&fd, (index * 2 + side.index()) as u64).map_err(text)?;
        self.conns[index].ends[side.index()].fd = Some(fd);
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
pub(crate) fn text(error: io::Error) -> String {
    format!("a socket: {error}")
}
