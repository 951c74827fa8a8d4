//! The application sleeps until something happens, and takes time to be woken.
//!
//! Source: Linux 6.1 `net/ipv4/tcp.c` (`tcp_recvmsg_locked`), `tcp_input.c` (`tcp_data_ready`).
//!
//! What else arrives before the application runs is read in one go: the receive buffer is then
//! sized by more than one segment, and one acknowledgement may do for two. Data of two segments
//! that follow each other within [`crate::Profile::wakeup`] is the rule wherever a queue lets them
//! go at line rate, behind a token bucket for instance.

use aqmlab_core::{Duration, Instant};

use crate::common::receive_queue::ReceiveQueue;
use crate::connection::{Connection, Event};

/// What the application is being woken for.
#[derive(Debug, Default)]
pub(crate) struct Wakeup {
    /// The handshake is complete; until then nothing is written.
    pub(crate) opened: bool,
    /// There is room in the send buffer.
    pub(crate) room: bool,
    pub(crate) unread: ReceiveQueue,
}

impl Connection {
    /// Whether the application acts as soon as there is something to do.
    pub(crate) fn never_sleeps(&self) -> bool {
        self.profile.wakeup == Duration::ZERO
    }

    /// Begins to wake the application, unless that has begun.
    #[inline]
    pub(crate) fn wake(&mut self) {
        if self.never_sleeps() {
            self.woken();
        } else if self.timers.wakeup == Instant::NEVER {
            self.timers.wakeup = self.clock.now + self.profile.wakeup;
        }
    }

    /// The application is awake, and does what there is to do.
    pub(crate) fn woken(&mut self) {
        self.timers.wakeup = Instant::NEVER;
        let end = self.wakeup.unread.first_end();
        self.hand_over();
        if let Some(end) = end {
            self.adjust_receive_space(end);
            self.on_application_read();
        }
        if std::mem::take(&mut self.wakeup.room) {
            self.use_room();
        }
    }

    /// Tells the application that the connection is open, and gives it all that waits to be read.
    pub(crate) fn hand_over(&mut self) {
        if std::mem::take(&mut self.wakeup.opened) {
            self.events.push_back(Event::Established);
            self.write_early();
            self.app_acted = true;
        }
        let unread = std::mem::take(&mut self.wakeup.unread);
        if unread.bytes() > 0 {
            self.readable(unread.bytes());
        }
    }
}
