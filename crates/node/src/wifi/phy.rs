//! Airtimes of 802.11n frames.
//!
//! Source: IEEE Std 802.11-2012.
//!
//! - Clause 20.4.3: the duration of a PPDU in the HT-mixed format.
//! - Clause 20.6: the parameters of the MCSs.
//! - Clause 18.4.3: the duration of a non-HT PPDU.
//! - Clause 8.3.1: control frames.
//! - Clause 9.7.6.5: the rates of responses.
//! - Clause 8.6.1: A-MPDUs.
//! - Clause 8.3.2.1: the MAC header of data frames.

use aqmlab_core::{BitRate, Duration};

/// The number of bytes that a frame adds to an IP packet: MAC header 26, LLC and SNAP 8, frame
/// check sequence 4.
pub(crate) const FRAMING: u32 = 38;
/// The length in bytes of the delimiter before each frame of an A-MPDU.
pub(crate) const DELIMITER: u32 = 4;
/// The duration of the HT preamble, without the long training fields of HT.
const HT_PREAMBLE_US: u64 = 8 + 8 + 4 + 8 + 4;
/// The duration of one HT long training field.
const LONG_TRAINING_US: u64 = 4;
/// The duration of the preamble and signal field of a non-HT PPDU.
const LEGACY_PREAMBLE_US: u64 = 20;
const SYMBOL_US: u64 = 4;
const SERVICE_BITS: u64 = 16;
const TAIL_BITS: u64 = 6;
const ACK_BYTES: u64 = 14;
/// The length in bytes of a compressed block acknowledgement.
const BLOCK_ACK_BYTES: u64 = 32;
/// The length in bytes of the longest A-MPDU that ath9k makes, a multiple of 4 bytes
/// (`ath_max_framelen`).
const MOST_BYTES: u64 = 65_532;

/// The number of data bits per symbol of one stream in 20 MHz, by MCS.
const BITS: [u64; 8] = [26, 52, 78, 104, 156, 208, 234, 260];
/// The number of data bits per symbol of one stream in 40 MHz, by MCS.
const WIDE_BITS: [u64; 8] = [54, 108, 162, 216, 324, 432, 486, 540];

/// The width of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// 20 MHz, with 52 data subcarriers.
    #[default]
    Mhz20,
    /// 40 MHz, with 108 data subcarriers.
    Mhz40,
}

/// A rate of the HT PHY: an MCS, a channel width and a guard interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtRate {
    modulation: usize,
    streams: u64,
    width: Width,
    short_guard: bool,
}

impl HtRate {
    /// Returns the rate of an MCS from 0 to 31, and `None` for other MCSs. MCS 32 sends one signal
    /// twice, in both halves of a 40 MHz channel. MCSs above 32 modulate their streams differently.
    pub fn new(mcs: u8, width: Width, short_guard: bool) -> Option<Self> {
        (mcs < 32).then(|| Self {
            modulation: usize::from(mcs % 8),
            streams: u64::from(mcs / 8) + 1,
            width,
            short_guard,
        })
    }

    fn symbol_bits(self) -> u64 {
        let bits = if self.width == Width::Mhz20 { BITS } else { WIDE_BITS };
        bits[self.modulation] * self.streams
    }

    /// Returns the bit rate of the data symbols.
    pub fn bit_rate(self) -> BitRate {
        let symbol_ns = if self.short_guard { 3_600 } else { 4_000 };
        BitRate::new(self.symbol_bits() * 1_000_000_000 / symbol_ns).expect("symbols carry bits")
    }

    fn preamble_us(self) -> u64 {
        let fields = if self.streams == 3 { 4 } else { self.streams };
        HT_PREAMBLE_US + LONG_TRAINING_US * fields
    }

    /// Returns the number of encoders, each with its own tail bits: two above 300 Mbit/s.
    fn encoders(self) -> u64 {
        1 + u64::from(self.bit_rate().as_bps() > 300_000_000)
    }

    /// Returns the airtime of a PPDU of `bytes` bytes.
    pub fn ppdu(self, bytes: u32) -> Duration {
        let bits = 8 * u64::from(bytes) + SERVICE_BITS + TAIL_BITS * self.encoders();
        let symbols = bits.div_ceil(self.symbol_bits());
        // With the short guard interval, the last symbol extends to a boundary of long symbols.
        let symbols = if self.short_guard { (symbols * 9).div_ceil(10) } else { symbols };
        Duration::from_micros(self.preamble_us() + SYMBOL_US * symbols)
    }

    /// Returns the maximum length in bytes of a PPDU with an airtime of at most `most`, up to the
    /// length of the longest A-MPDU.
    pub(crate) fn bytes_within(self, most: Duration) -> u32 {
        let symbols = most.as_micros().saturating_sub(self.preamble_us()) / SYMBOL_US;
        let symbols = if self.short_guard { symbols * 10 / 9 } else { symbols };
        let bits = symbols * self.symbol_bits();
        (bits.saturating_sub(SERVICE_BITS + TAIL_BITS * self.encoders()) / 8).min(MOST_BYTES) as u32
    }

    /// Returns the airtime of the acknowledgement of a single frame.
    pub fn ack(self) -> Duration {
        self.response(ACK_BYTES)
    }

    /// Returns the airtime of the acknowledgement of an A-MPDU.
    pub fn block_ack(self) -> Duration {
        self.response(BLOCK_ACK_BYTES)
    }

    /// Returns the airtime of a response of `bytes` bytes. Its rate is the highest mandatory rate
    /// (6, 12, 24 Mbit/s) up to the non-HT rate of the same modulation and coding.
    fn response(self, bytes: u64) -> Duration {
        let symbol_bits = match self.modulation {
            0 => 24,
            1 | 2 => 48,
            _ => 96,
        };
        let symbols = (SERVICE_BITS + 8 * bytes + TAIL_BITS).div_ceil(symbol_bits);
        Duration::from_micros(LEGACY_PREAMBLE_US + SYMBOL_US * symbols)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(mcs: u8, width: Width, short_guard: bool) -> HtRate {
        HtRate::new(mcs, width, short_guard).unwrap()
    }

    /// Tests the rates against tables 20-30 to 20-37 of IEEE Std 802.11-2012.
    #[test]
    fn rates_are_those_of_the_standard() {
        use Width::{Mhz20, Mhz40};
        for (mcs, width, short_guard, want_kbps) in [
            (0, Mhz20, false, 6_500),
            (7, Mhz20, false, 65_000),
            (7, Mhz20, true, 72_222),
            (15, Mhz20, false, 130_000),
            (15, Mhz20, true, 144_444),
            (4, Mhz40, false, 81_000),
            (15, Mhz40, true, 300_000),
            (23, Mhz40, true, 450_000),
            (31, Mhz40, false, 540_000),
        ] {
            let got = rate(mcs, width, short_guard).bit_rate().as_bps() / 1_000;
            assert_eq!(got, want_kbps, "MCS {mcs}, {width:?}, short guard {short_guard}");
        }
        assert_eq!(HtRate::new(32, Mhz20, false), None);
    }

    /// Tests durations against values that were computed by hand: the bits divided by the bits of a
    /// symbol, rounded up, plus the preamble.
    #[test]
    fn durations_are_those_that_the_standard_s_formulas_give() {
        use Width::{Mhz20, Mhz40};
        for (mcs, width, short_guard, bytes, want_us) in [
            // 12 304 + 22 bits fill 48 symbols of 260 bits, each of 4 us. The preamble takes 36 us.
            (7, Mhz20, false, 1_538, 36 + 192),
            // 48 symbols of 3.6 us take 172.8 us and are extended to the end of the 44th long
            // symbol.
            (7, Mhz20, true, 1_538, 36 + 176),
            // The bits fill 475 symbols of 26 bits.
            (0, Mhz20, false, 1_538, 36 + 1_900),
            // Two streams need a second long training field, and 24 symbols of 520 bits.
            (15, Mhz20, false, 1_538, 40 + 96),
            // Three streams have four training fields. 450 Mbit/s require two tails of 6 bits. 12
            // 304 + 28 bits fill 8 symbols of 1620 bits. Each symbol lasts 3.6 us, and the end is
            // extended to the end of the 8th long symbol.
            (23, Mhz40, true, 1_538, 48 + 32),
            // An aggregate of 21 full frames has 259 398 bits, which fill 998 symbols.
            (7, Mhz20, false, 32_422, 36 + 3_992),
        ] {
            let got = rate(mcs, width, short_guard).ppdu(bytes);
            assert_eq!(got, Duration::from_micros(want_us), "MCS {mcs}, {bytes} B");
        }
    }

    #[test]
    fn responses_go_at_the_highest_mandatory_rate_of_the_same_modulation() {
        // The acknowledgements have 134 and 278 bits, in symbols of 24, 48 and 96 bits.
        for (mcs, ack_us, block_ack_us) in
            [(0, 44, 68), (1, 32, 44), (2, 32, 44), (3, 28, 32), (15, 28, 32)]
        {
            let rate = rate(mcs, Width::Mhz20, false);
            assert_eq!(rate.ack(), Duration::from_micros(ack_us), "MCS {mcs}");
            assert_eq!(rate.block_ack(), Duration::from_micros(block_ack_us), "MCS {mcs}");
        }
    }

    /// Tests the number of bytes that fit into 4096 us against ath9k's table `ath_max_framelen`.
    #[test]
    fn what_fits_a_time_takes_no_longer_and_a_symbol_more_would() {
        let most = Duration::from_micros(4_096);
        assert_eq!(rate(7, Width::Mhz20, false).bytes_within(most), 32_984);
        assert_eq!(rate(15, Width::Mhz40, true).bytes_within(most), 65_532);
        for mcs in 0..16 {
            for short_guard in [false, true] {
                let rate = rate(mcs, Width::Mhz20, short_guard);
                let bytes = rate.bytes_within(most);
                assert!(rate.ppdu(bytes) <= most, "MCS {mcs}");
                let more = bytes + (2 * rate.symbol_bits() / 8) as u32;
                assert!(bytes == 65_532 || rate.ppdu(more) > most, "MCS {mcs}");
            }
        }
    }
}
