//! The E-model, which rates the quality of a call from its delay and its loss.
//!
//! Source: ITU-T G.107 with the default values of all terms except delay and loss. The equipment
//! impairments of codecs come from G.113 Appendix I. There are two forms:
//!
//! - [`simple`]: R = 93.2 − `Id` − `Ie_eff` with `Id` as in Cole and Rosenbluth (2001), the usual
//!   form in network measurement;
//! - [`full`]: every delay term of G.107, as Flent 2.3.0 computes its `mos_score`. This form
//!   assumes a codec without loss concealment.

use aqmlab_core::math;

/// The rating of a call without delay or loss, with all other terms at the defaults of G.107.
pub const CLEAN: f64 = 93.2;

/// A codec, as the E-model describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codec {
    /// Ie: the impairment of the codec without loss.
    pub impairment: f64,
    /// Bpl: the robustness of the codec against loss. With a larger value, loss impairs the call
    /// less.
    pub robustness: f64,
}

impl Codec {
    /// G.711 with packet loss concealment (G.113 Appendix I).
    pub const G711: Self = Self { impairment: 0.0, robustness: 25.1 };
    /// G.711 without packet loss concealment.
    pub const G711_BARE: Self = Self { impairment: 0.0, robustness: 4.3 };
    /// G.729A (G.113 Appendix I).
    pub const G729: Self = Self { impairment: 11.0, robustness: 19.0 };
    /// Opus at 32 kbit/s. G.113 has no values for Opus. These values are the values of G.711 with
    /// loss concealment, because Opus has loss concealment. The scale does not cover the wider band
    /// of Opus, so the wider band does not raise the score.
    pub const OPUS: Self = Self::G711;

    /// Returns `Ie_eff` for the random loss (`BurstR` = 1) of a proportion `loss` of the packets,
    /// from 0 to 1.
    pub fn impaired(self, loss: f64) -> f64 {
        let percent = 100.0 * loss.clamp(0.0, 1.0);
        self.impairment + (95.0 - self.impairment) * percent / (percent + self.robustness)
    }
}

/// Returns R for a mouth-to-ear delay of `delay_ms` and a proportion `loss` of packets that are
/// lost or late.
pub fn simple(delay_ms: f64, loss: f64, codec: Codec) -> f64 {
    let excess = (delay_ms - 177.3).max(0.0);
    CLEAN - 0.024 * delay_ms - 0.11 * excess - codec.impaired(loss)
}

/// Returns R from all delay terms of G.107, for a one-way delay of `delay_ms` and a proportion
/// `loss` of lost packets.
pub fn full(delay_ms: f64, loss: f64) -> f64 {
    const NOISE: f64 = -61.1792;
    const SIMULTANEOUS: f64 = 1.413_57;
    let signal = 15.0 - 1.5 * (8.0 + NOISE);
    signal
        - SIMULTANEOUS
        - talker_echo(delay_ms, -1.5 * (NOISE - 2.0))
        - listener_echo(delay_ms, signal)
        - long_delay(delay_ms)
        - Codec::G711_BARE.impaired(loss)
}

/// Returns Idte, the impairment by talker echo.
fn talker_echo(ms: f64, ratio: f64) -> f64 {
    if ms < 1.0 {
        return 0.0;
    }
    let loudness = 65.0 - 40.0 * math::log10((1.0 + ms / 10.0) / (1.0 + ms / 150.0))
        + 6.0 * math::exp(-0.3 * ms * ms);
    let echo = 80.0 + 2.5 * (loudness - 14.0);
    let half = (ratio - echo) / 2.0;
    (half + math::sqrt(half * half + 100.0) - 1.0) * (1.0 - math::exp(-ms))
}

/// Returns Idle, the impairment by listener echo.
fn listener_echo(ms: f64, signal: f64) -> f64 {
    let echo = 10.5 * 117.0 * math::pow(2.0 * ms + 1.0, -0.25);
    let half = (signal - echo) / 2.0;
    half + math::sqrt(half * half + 169.0)
}

/// Returns Idd, the impairment by long absolute delay.
fn long_delay(ms: f64) -> f64 {
    if ms <= 100.0 {
        return 0.0;
    }
    let x = math::log2(ms / 100.0);
    let root = |x: f64| math::pow(1.0 + math::pow(x, 6.0), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// Returns the mean opinion score, from 1 to 4.5, of the rating `r` (G.107 Annex B).
pub fn mos(r: f64) -> f64 {
    match r {
        r if r <= 0.0 => 1.0,
        r if r >= 100.0 => 4.5,
        // For the smallest ratings, the cubic function falls below 1.
        r => (1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)).max(1.0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn close(got: f64, want: f64, by: f64) {
        assert!((got - want).abs() <= by, "{got} is not {want} ± {by}");
    }

    /// Tests statement C-91.
    #[test]
    fn a_clean_call_rates_93() {
        close(simple(0.0, 0.0, Codec::G711), 93.2, 1e-9);
        close(mos(93.2), 4.41, 0.005);
    }

    /// Tests statement C-91.
    #[test]
    fn delay_impairs_more_beyond_177_ms() {
        close(simple(177.3, 0.0, Codec::G711), 93.2 - 4.26, 0.01);
        close(simple(250.0, 0.0, Codec::G711), 79.2, 0.05);
    }

    #[test]
    fn loss_impairs_as_g113_says() {
        for (codec, loss, want) in [
            (Codec::G711, 0.01, 3.64),
            (Codec::G711, 0.05, 15.8),
            (Codec::G711, 0.20, 42.1),
            (Codec::G711_BARE, 0.01, 17.9),
            (Codec::G711_BARE, 0.05, 51.1),
            (Codec::G729, 0.0, 11.0),
        ] {
            close(codec.impaired(loss), want, 0.05);
        }
    }

    #[test]
    fn the_full_form_agrees_with_g107_where_both_are_given() {
        // The default connection of G.107 has R = 93.2 and a MOS of 4.41.
        close(full(0.0, 0.0), 93.2, 0.3);
        close(long_delay(100.0), 0.0, 1e-9);
        // For X = 1, the value is 25 (2^(1/6) - 3 (1 + 3^-6)^(1/6) + 2).
        close(long_delay(200.0), 3.04, 0.02);
        assert!(full(20.0, 0.01) < full(20.0, 0.0) - 15.0);
    }

    #[test]
    fn scores_stay_on_their_scale() {
        for (r, want) in [(-5.0, 1.0), (0.0, 1.0), (2.0, 1.0), (60.0, 3.1), (100.0, 4.5)] {
            close(mos(r), want, 1e-9);
        }
    }

    proptest! {
        /// Tests statement C-91.
        #[test]
        fn more_delay_or_loss_is_never_better(ms in 0.0..2_000.0_f64, loss in 0.0..0.5_f64, more in 0.0..0.5_f64) {
            let score = |ms, loss| mos(simple(ms, loss, Codec::G711));
            prop_assert!(score(ms + 100.0 * more, loss) <= score(ms, loss) + 1e-9);
            prop_assert!(score(ms, loss + more) <= score(ms, loss) + 1e-9);
        }
    }
}
