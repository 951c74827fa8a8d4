//! One end of a call, as its parts use it: a clock, timers, and the path to the other end.

use aqmlab_core::{Instant, Rng, Side};

use super::wire::{Content, Wire};
use crate::{ConnId, Io};

/// The length in bytes of the IPv4 and UDP headers.
pub(crate) const IP_UDP: u32 = 20 + 8;
/// The length of RTP's header, of the extension with the transport-wide sequence number, and of
/// SRTP's authentication tag.
pub(crate) const RTP: u32 = 12 + 8 + 10;
/// The length of the original sequence number in a retransmitted packet (RFC 4588 §4).
pub(crate) const RTX: u32 = 2;

/// A timer of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The sender's stream begins.
    Begin,
    /// The camera takes a picture.
    Picture,
    /// The microphone has 20 ms of speech.
    Speech,
    /// The pacer may send.
    Pacer,
    /// The controller adapts to the time that has passed.
    Process,
    /// The receiver reports arrivals.
    Report,
    /// The receiver checks for missing packets.
    Missing,
    /// The receiver checks whether it needs a key frame.
    KeyFrame,
    /// A row of the time series is due.
    Note,
}

impl Timer {
    const ALL: [Self; 9] = [
        Self::Begin,
        Self::Picture,
        Self::Speech,
        Self::Pacer,
        Self::Process,
        Self::Report,
        Self::Missing,
        Self::KeyFrame,
        Self::Note,
    ];
    const SLOTS: u64 = 16;

    /// Returns the leg and the timer of a token.
    pub(crate) fn of(token: u64) -> Option<(usize, Self)> {
        let timer = *Self::ALL.get((token % Self::SLOTS) as usize)?;
        Some(((token / Self::SLOTS) as usize, timer))
    }

    const fn token(self, leg: usize) -> u64 {
        leg as u64 * Self::SLOTS + self as u64
    }
}

/// An end of the call.
pub(crate) struct End<'a> {
    /// The network and the clock.
    pub(crate) io: &'a mut dyn Io,
    /// The contents of the datagrams on the path from this end.
    pub(crate) wire: &'a mut Wire,
    /// The socket of the call.
    pub(crate) conn: ConnId,
    /// The side of this end.
    pub(crate) side: Side,
    /// The number of the direction that the end works for.
    pub(crate) leg: usize,
}

impl End<'_> {
    /// Returns the time.
    pub(crate) fn now(&self) -> Instant {
        self.io.now()
    }

    /// Returns the random numbers of the application.
    pub(crate) fn rng(&mut self) -> &mut Rng {
        self.io.rng()
    }

    /// Sends `content` in a datagram with `payload` bytes above UDP.
    pub(crate) fn send(&mut self, content: Content, payload: u32) {
        let number = self.wire.put(content, self.io.now());
        self.io.send(self.conn, self.side, payload, number);
    }

    /// Requests `timer` at `at`.
    pub(crate) fn wake(&mut self, at: Instant, timer: Timer) {
        self.io.wake_at(at, timer.token(self.leg));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_leg_and_its_timer() {
        for timer in Timer::ALL {
            for leg in [0, 1] {
                assert_eq!(Timer::of(timer.token(leg)), Some((leg, timer)));
            }
        }
        assert_eq!(Timer::of(15), None);
    }
}
