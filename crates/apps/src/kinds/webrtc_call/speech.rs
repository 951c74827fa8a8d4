//! Speech: the repair data in its packets, and the quality that a person hears.
//!
//! Source: RFC 6716 §2.1.7 and libwebrtc (2025-06) `audio_encoder_opus.cc`. An Opus packet can hold
//! a coarse copy of the packet before it (in-band FEC, or LBRR). WebRTC offers this by default
//! (`useinbandfec`). Opus adds the copy if the loss is at least half a per cent. The copy's bits
//! are part of the rate of the speech. The loss comes from the controller's loss reports, smoothed
//! over 10 s.
//!
//! Differences: the opinion score treats speech from the coarse copy of a packet (in-band FEC) like
//! the original speech. Opus omits the copy at rates below about 28 kbit/s; this model does not.

use aqmlab_core::{Duration, Instant, math};

use self::neteq::Neteq;
use crate::datagrams::{self, Arrivals};
use crate::emodel::{self, Codec};

mod neteq;

/// The duration of the speech in a packet.
pub(crate) const PACKET: Duration = Duration::from_millis(20);
/// The loss at and above which packets hold copies. `SET_PACKET_LOSS_PERC` takes whole per cent, so
/// half a per cent is rounded up to one.
const FEC_FROM: f64 = 0.005;
/// The factor by which the weight of earlier loss decreases each millisecond.
const MEMORY: f64 = 0.9999;
/// The look-ahead of the Opus encoder (RFC 6716 §2).
const LOOKAHEAD_MS: f64 = 6.5;

/// The smoothed loss that the encoder knows.
#[derive(Debug, Default)]
pub(crate) struct Loss {
    smoothed: f64,
    last: Option<Instant>,
}

impl Loss {
    /// Processes the loss of the last report, from 0 to 1. Returns whether packets hold copies.
    pub(crate) fn update(&mut self, loss: f64, now: Instant) -> bool {
        let span = self.last.replace(now).map_or(Duration::ZERO, |last| now.since(last));
        let past = math::pow(MEMORY, span.as_secs_f64() * 1e3);
        self.smoothed = past * self.smoothed + (1.0 - past) * loss;
        self.smoothed >= FEC_FROM
    }
}

/// A packet with 20 ms of speech.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SpeechPacket {
    /// The number of the packet.
    pub(crate) number: u64,
    /// The end time of the speech.
    pub(crate) captured: Instant,
    /// Whether the packet holds a copy of the packet before it.
    pub(crate) has_fec: bool,
}

/// The quality of the sound that a person heard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// The rating R of the E-model.
    pub(crate) r: f64,
    /// The proportion of packets that arrived after their playout time, from 0 to 1.
    pub(crate) late: f64,
    /// The proportion of packets that were lost and that a copy replaced, from 0 to 1.
    pub(crate) copied: f64,
    /// The delay from mouth to ear, in milliseconds.
    pub(crate) delay_ms: f64,
}

/// The receiver of speech.
#[derive(Debug, Default)]
pub(crate) struct AudioReceiver {
    arrivals: Arrivals,
    buffer: Neteq,
    late: u64,
    /// The sum of the concealed gaps.
    gaps: Duration,
    /// The sum of the playout delays.
    delays: Duration,
    newest: Option<u64>,
    /// The last packet that a copy replaced, if there is one.
    replaced: Option<u64>,
    recovered: u64,
}

impl AudioReceiver {
    /// Processes a packet that arrives.
    pub(crate) fn take(&mut self, packet: SpeechPacket, now: Instant) {
        let SpeechPacket { number, captured, has_fec } = packet;
        let delay = self.arrivals.take(datagrams::stamp(number, captured), now);
        let played = self.buffer.take(delay, now);
        self.late += u64::from(played.gap() > Duration::ZERO);
        self.gaps += played.gap();
        self.delays += played.at;
        if self.replaced == Some(number) {
            // The packet was reordered and not lost.
            self.replaced = None;
            self.recovered -= 1;
        }
        let follows_gap = self.newest.is_some_and(|newest| number > newest + 1);
        // The packet before this one is due 20 ms earlier.
        let is_in_time = delay + PACKET <= played.due;
        if has_fec && follows_gap && is_in_time {
            self.replaced = Some(number - 1);
            self.recovered += 1;
        }
        self.newest = self.newest.max(Some(number));
    }

    /// Returns the quality of the sound, if any was expected. `sent` packets were sent.
    pub(crate) fn heard(&self, sent: u64) -> Option<Heard> {
        let lost = self.arrivals.loss(sent)?;
        let expected = self.arrivals.expected().max(1) as f64;
        let (late, copied) = (self.late as f64 / expected, self.recovered as f64 / expected);
        let mean = self.delays / self.arrivals.received().max(1) + PACKET;
        let delay_ms = mean.as_secs_f64() * 1e3 + LOOKAHEAD_MS;
        let concealed = self.gaps.as_secs_f64() / PACKET.as_secs_f64() / expected;
        let missing = (lost - copied + concealed).clamp(0.0, 1.0);
        let r = emodel::simple(delay_ms, missing, Codec::OPUS);
        Some(Heard { r, late, copied, delay_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    /// Returns the sound quality of 1,000 packets, of which those with a true `is_lost` are lost
    /// and the others take `took_ms`.
    fn heard(took_ms: u64, has_fec: bool, is_lost: impl Fn(u64) -> bool) -> Heard {
        let mut audio = AudioReceiver::default();
        for number in (0..1_000).filter(|&number| !is_lost(number)) {
            let captured = Instant::from_millis(20 * number);
            let packet = SpeechPacket { number, captured, has_fec };
            audio.take(packet, captured + Duration::from_millis(took_ms));
        }
        audio.heard(1_000).unwrap()
    }

    /// Tests that a packet of speech replaces at most the packet directly before it (RFC 6716
    /// §2.1.7).
    #[test]
    fn the_next_packet_replaces_a_lost_one_and_no_more() {
        let single = |number| number % 10 == 5;
        close(heard(20, true, single).copied, 0.1, 1e-9);
        close(heard(20, false, single).copied, 0.0, 0.0);
        let pairs = |number| number % 10 == 5 || number % 10 == 6;
        close(heard(20, true, pairs).copied, 0.1, 1e-9);
        let whole = heard(20, true, |_| false);
        close(heard(20, true, single).r, whole.r, 0.5);
        assert!(heard(20, false, single).r < whole.r - 20.0);
    }

    #[test]
    fn a_copy_that_comes_too_late_replaces_nothing() {
        let mut audio = AudioReceiver::default();
        let at = Instant::from_millis;
        let packet = |number| SpeechPacket { number, captured: at(20 * number), has_fec: true };
        audio.take(packet(0), at(20));
        // Speech is played 60 ms after its capture. Packet 1 is due at 80 ms, and packet 2 brings
        // its copy at 85 ms.
        audio.take(packet(2), at(85));
        assert_eq!(audio.recovered, 0);
        audio.take(packet(4), at(100));
        assert_eq!(audio.recovered, 1);
        // Packet 3 was only reordered.
        audio.take(packet(3), at(101));
        assert_eq!(audio.recovered, 0);
    }

    /// Tests the thresholds and the smoothing of the loss (`audio_encoder_opus.cc`,
    /// `kAlphaForPacketLossFractionSmoother`).
    #[test]
    fn copies_begin_at_half_a_percent_of_smoothed_loss() {
        let mut loss = Loss::default();
        let mut copies_at = |from_ms: u64, share: f64| {
            (from_ms..from_ms + 60_000)
                .step_by(25)
                .find(|&ms| loss.update(share, Instant::from_millis(ms)) == (share > 0.0))
        };
        assert_eq!(copies_at(0, 0.004), None);
        // From 0.4 %, a loss of 1 % reaches 0.5 % after 10 s · ln(0.6 / 0.5).
        close(copies_at(60_000, 0.01).unwrap() as f64, 60_000.0 + 1_823.0, 50.0);
    }
}
