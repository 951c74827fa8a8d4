//! One end of a call, as its parts use it: a clock, timers, and the path to the other end.

use aqmlab_core::{Instant, Rng, Side};

use super::wire::{Content, Wire};
use crate::{ConnId, Io};

/// The length in bytes of the IPv4 and UDP headers.
pub(crate) const IP_UDP: u32 = 20 + 8;
/// The total length in bytes of RTP's header, the extension with the transport-wide sequence
/// number, and SRTP's authentication tag.
pub(crate) const RTP: u32 = 12 + 8 + 10;
/// The length in bytes of the original sequence number in a retransmitted packet (RFC 4588 §4).
pub(crate) const RTX: u32 = 2;

/// A timer of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The direction begins.
    Begin,
    /// A timer of the sender.
    Sender(SenderTimer),
    /// A timer of the receiver.
    Receiver(ReceiverTimer),
    /// A row of the time series is due.
    Note,
}

/// A timer of the sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SenderTimer {
    /// The camera takes a picture.
    Picture,
    /// The microphone has 20 ms of speech.
    Speech,
    /// The pacer may send.
    Pacer,
    /// The controller adapts to the time that has passed.
    Process,
}

/// A timer of the receiving end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceiverTimer {
    /// The receiver reports arrivals.
    Report,
    /// The receiver checks for missing packets.
    Missing,
    /// The receiver checks whether it needs a key frame.
    KeyFrame,
}

impl From<SenderTimer> for Timer {
    fn from(timer: SenderTimer) -> Self {
        Self::Sender(timer)
    }
}

impl From<ReceiverTimer> for Timer {
    fn from(timer: ReceiverTimer) -> Self {
        Self::Receiver(timer)
    }
}

impl Timer {
    const SLOTS: u64 = 16;

    /// Returns the index of the direction and the timer of a token, if the token has a timer.
    pub(crate) fn of(token: u64) -> Option<(usize, Self)> {
        let timer = match token % Self::SLOTS {
            0 => Self::Begin,
            1 => Self::Sender(SenderTimer::Picture),
            2 => Self::Sender(SenderTimer::Speech),
            3 => Self::Sender(SenderTimer::Pacer),
            4 => Self::Sender(SenderTimer::Process),
            5 => Self::Receiver(ReceiverTimer::Report),
            6 => Self::Receiver(ReceiverTimer::Missing),
            7 => Self::Receiver(ReceiverTimer::KeyFrame),
            8 => Self::Note,
            _ => return None,
        };
        Some(((token / Self::SLOTS) as usize, timer))
    }

    const fn token(self, leg: usize) -> u64 {
        let slot = match self {
            Self::Begin => 0,
            Self::Sender(timer) => 1 + timer as u64,
            Self::Receiver(timer) => 5 + timer as u64,
            Self::Note => 8,
        };
        leg as u64 * Self::SLOTS + slot
    }
}

/// One end of the call, for one direction.
pub(crate) struct End<'a> {
    /// The network and the clock.
    pub(crate) io: &'a mut dyn Io,
    /// The contents of this end's datagrams in flight.
    pub(crate) wire: &'a mut Wire,
    /// The socket of the call.
    pub(crate) conn: ConnId,
    /// The side of this end.
    pub(crate) side: Side,
    /// The index of the direction within the call.
    pub(crate) leg: usize,
}

impl End<'_> {
    /// Returns the current time.
    pub(crate) fn now(&self) -> Instant {
        self.io.now()
    }

    /// Returns the application's stream of random numbers.
    pub(crate) fn rng(&mut self) -> &mut Rng {
        self.io.rng()
    }

    /// Sends `content` in a datagram with `payload` bytes above UDP.
    pub(crate) fn send(&mut self, content: Content, payload: u32) {
        let number = self.wire.put(content, self.io.now());
        self.io.send(self.conn, self.side, payload, number);
    }

    /// Sets `timer` for the time `at`.
    pub(crate) fn wake(&mut self, at: Instant, timer: impl Into<Timer>) {
        self.io.wake_at(at, timer.into().token(self.leg));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_leg_and_its_timer() {
        for leg in [0, 1] {
            for slot in 0..9 {
                let token = leg * Timer::SLOTS + slot;
                let (of, timer) = Timer::of(token).expect("the slot has a timer");
                assert_eq!((of as u64, timer.token(of)), (leg, token));
            }
        }
        assert_eq!(Timer::of(15), None);
    }
}
