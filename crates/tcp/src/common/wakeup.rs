//! The wakeup of the application's process, which sleeps between events.
//!
//! Source: Linux 6.1 `net/ipv4/tcp.c` (`tcp_recvmsg_locked`), `tcp_input.c` (`tcp_data_ready`).
//!
//! When the application runs, it reads all segments that have arrived. Right-sizing of the receive
//! buffer may then count several segments at once, and one acknowledgement may cover two segments.
//! Segments often follow each other within [`crate::Profile::wakeup`] where a queue sends them at
//! line rate, such as behind a token bucket.

use aqmlab_core::{Duration, Instant};

use super::receive_queue::ReceiveQueue;
use crate::Event;
use crate::tcb::Tcb;

/// The reasons for which the application must be woken.
#[derive(Debug, Default)]
pub(crate) struct Wakeup {
    /// Whether the connection is open and the application has not been notified. On Linux, no data
    /// is sent before the notification.
    pub(crate) opened: bool,
    /// Whether the send buffer has space again.
    pub(crate) has_space: bool,
    /// The data to read.
    pub(crate) unread: ReceiveQueue,
}

impl Tcb {
    /// Returns whether the application acts as soon as there is something to do.
    pub(crate) fn never_sleeps(&self) -> bool {
        self.profile.wakeup == Duration::ZERO
    }

    /// Starts to wake the application, unless a wakeup is already pending. For an application that
    /// never sleeps, starts nothing. Returns whether the application never sleeps.
    #[inline]
    pub(crate) fn start_wakeup(&mut self) -> bool {
        if self.never_sleeps() {
            return true;
        }
        if self.timers.wakeup == Instant::NEVER {
            self.timers.wakeup = self.clock.now + self.profile.wakeup;
        }
        false
    }

    /// Notifies the application that the connection is open, if the notification is due. Returns
    /// whether it was due.
    pub(crate) fn announce_open(&mut self) -> bool {
        let opened = std::mem::take(&mut self.wakeup.opened);
        if opened {
            self.events.push_back(Event::Established);
            self.app_acted = true;
        }
        opened
    }

    /// Passes all unread data to the application, and reports it if reads are events.
    pub(crate) fn deliver_unread(&mut self) {
        let bytes = self.take_unread();
        if bytes > 0 && self.read_events {
            self.report_readable(bytes);
        }
    }

    /// Takes and counts all unread data, and returns the number of its bytes.
    #[inline]
    pub(crate) fn take_unread(&mut self) -> u64 {
        let bytes = self.wakeup.unread.take();
        self.stats.bytes_delivered += bytes;
        bytes
    }

    /// Reports readable bytes to the application. If the last event also reports readable bytes,
    /// adds the new bytes to this event.
    #[inline]
    fn report_readable(&mut self, bytes: u64) {
        if let Some(Event::Readable(more)) = self.events.back_mut() {
            *more += bytes;
        } else {
            self.events.push_back(Event::Readable(bytes));
        }
    }
}
