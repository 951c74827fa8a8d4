//! The loss timer and the probe timeout.
//!
//! Source: RFC 9002 §6.2, Appendices A.8 and A.9.

use aqmlab_core::{Duration, Instant, QuicSpace};

use super::{Found, MAX_ACK_DELAY, Recovery};

/// The largest exponent of the probe timeout's back-off, which prevents an overflow.
const MOST_BACKOFF: u32 = 16;

/// The facts that decide about the probe timeout, besides the packets in flight.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts of the handshake")]
pub(crate) struct Standing {
    /// Whether the handshake is confirmed (RFC 9001 §4.1.2).
    pub(crate) is_confirmed: bool,
    /// Whether the peer has validated this end's address (`PeerCompletedAddressValidation`).
    pub(crate) peer_validated: bool,
    /// Whether this end has the keys of Handshake packets.
    pub(crate) has_handshake_keys: bool,
    /// Whether the anti-amplification limit stops this end.
    pub(crate) is_blocked: bool,
}

/// The purpose of an expired loss timer.
#[derive(Debug)]
pub(crate) enum Expiry {
    /// Packets are lost by the time threshold.
    Lost(QuicSpace, Found),
    /// A probe must be sent in this space.
    Probe(QuicSpace),
}

impl Recovery {
    /// Returns the probe timeout of the application space, with back-off.
    pub(crate) fn backed_off_pto(&self) -> Duration {
        (self.rtt.pto() + MAX_ACK_DELAY) * self.backoff()
    }

    const fn backoff(&self) -> u64 {
        let exponent = if self.pto_count < MOST_BACKOFF { self.pto_count } else { MOST_BACKOFF };
        1 << exponent
    }

    fn eliciting_in_flight(&self) -> bool {
        self.spaces.iter().any(|space| space.eliciting > 0)
    }

    /// Sets the loss timer (`SetLossDetectionTimer`).
    pub(crate) fn set_timer(&mut self, standing: Standing, now: Instant) {
        let earliest = self.spaces.iter().filter_map(|space| space.loss_time).min();
        let idle = !self.eliciting_in_flight() && standing.peer_validated;
        self.timer = if earliest.is_some() {
            earliest
        } else if standing.is_blocked || idle {
            None
        } else {
            self.pto(standing, now).map(|(at, _)| at)
        };
    }

    /// Returns the time and the space of the next probe, if one may be needed
    /// (`GetPtoTimeAndSpace`).
    fn pto(&self, standing: Standing, now: Instant) -> Option<(Instant, QuicSpace)> {
        let span = self.rtt.pto() * self.backoff();
        let mut next: Option<(Instant, QuicSpace)> = None;
        for which in QuicSpace::ALL {
            let space = &self.spaces[which.index()];
            if space.eliciting == 0 {
                continue;
            }
            let mut span = span;
            if which == QuicSpace::Application {
                if !standing.is_confirmed {
                    break;
                }
                span += MAX_ACK_DELAY * self.backoff();
            }
            let at = space.last_eliciting + span;
            if next.is_none_or(|(known, _)| at < known) {
                next = Some((at, which));
            }
        }
        if standing.peer_validated {
            return next;
        }
        // The server may wait for a datagram before it can send (§6.2.2.1). The module's head
        // states the difference for 0-RTT packets.
        let space =
            if standing.has_handshake_keys { QuicSpace::Handshake } else { QuicSpace::Initial };
        next.or(Some((now + span, space)))
    }

    /// Handles the loss timer, which has expired (`OnLossDetectionTimeout`). Returns the purpose of
    /// the timer; `None` if no probe is needed any more.
    pub(crate) fn on_timer(&mut self, standing: Standing, now: Instant) -> Option<Expiry> {
        let due = QuicSpace::ALL
            .into_iter()
            .filter_map(|which| self.spaces[which.index()].loss_time.map(|at| (at, which)))
            .min();
        if let Some((_, which)) = due {
            let before = self.congestion.in_flight;
            let lost = self.detect_lost(which, before, now);
            self.spaces[which.index()].trim();
            return Some(Expiry::Lost(which, Found { lost, ..Found::default() }));
        }
        let (_, space) = self.pto(standing, now)?;
        self.pto_count += 1;
        self.stats.ptos += 1;
        Some(Expiry::Probe(space))
    }
}
