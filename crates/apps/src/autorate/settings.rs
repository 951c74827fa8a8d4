//! The settings of cake-autorate.
//!
//! Source: `defaults.sh`, and the checks in `cake-autorate.sh`.

/// The rates of a direction in kbit/s: `min` ≤ `base` ≤ `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lowest rate.
    pub min: i64,
    /// The rate at the start, and of an idle line.
    pub base: i64,
    /// The highest rate.
    pub max: i64,
}

/// The thresholds of a direction for the increase of the delay over its baseline, in microseconds.
/// The program adds the transmission time of a full packet to each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// The increase from which a reply is delayed.
    pub delay: i64,
    /// The average increase up to which a rise of the rate is the largest rise.
    pub full_rise: i64,
    /// The average increase from which a cut of the rate is the largest cut.
    pub full_cut: i64,
}

/// The factors of the changes of a rate, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factors {
    /// The smallest cut, at the threshold of the delay.
    pub least_cut: i64,
    /// The largest cut.
    pub most_cut: i64,
    /// The smallest rise under high load.
    pub least_rise: i64,
    /// The largest rise under high load.
    pub most_rise: i64,
    /// The step down to the base rate.
    pub decay_down: i64,
    /// The step up to the base rate.
    pub decay_up: i64,
}

/// The settings of the program. Times are in microseconds, rates in kbit/s. Arrays have one value
/// per direction, by [`aqmlab_core::Direction::index`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The rates.
    pub rates: [Range; 2],
    /// Whether the program changes the rate of a direction. If not, the rate counts as `base`.
    pub adjusts: [bool; 2],
    /// The thresholds of the delay.
    pub thresholds: [Thresholds; 2],
    /// The bits of the largest packet, as CAKE charges it.
    pub packet_bits: [i64; 2],
    /// The number of reflectors that are asked in turn.
    pub pingers: usize,
    /// The number of all reflectors; the others replace reflectors that fail.
    pub reflectors: usize,
    /// Whether the order of the reflectors is random.
    pub shuffles: bool,
    /// The time between two requests to one reflector.
    pub ping_interval: i64,
    /// The time between two samples of the rates.
    pub sample_interval: i64,
    /// The number of replies from which delays are detected.
    pub window: usize,
    /// The number of delayed replies in the window from which the rate is cut.
    pub detection: usize,
    /// The load above which a rate may rise, in per cent of the rate.
    pub high_load: i64,
    /// The factors of changes.
    pub factors: Factors,
    /// The time after a cut without another cut and without a rise.
    pub cut_pause: i64,
    /// The time between two steps to the base rate.
    pub decay_pause: i64,
    /// The weight of a larger delay in the baseline, in millionths.
    pub baseline_rise: i64,
    /// The weight of a smaller delay in the baseline, in millionths.
    pub baseline_fall: i64,
    /// The weight of an increase in its average, in millionths.
    pub delta_weight: i64,
    /// Whether the requests stop while the line is idle.
    pub sleeps: bool,
    /// The rate up to which a direction is idle.
    pub active_rate: i64,
    /// The idle time after which the requests stop.
    pub sleep_after: i64,
    /// Whether the rates are set to `min` when the line is idle or stalls.
    pub enforces_min: bool,
    /// The time without a reply after which the line may have stalled, as a multiple of the mean
    /// time between two requests. Each request is expected to have a reply, so this is the number
    /// of replies that are missing by then.
    pub stall_replies: i64,
    /// The rate up to which a direction may have stalled.
    pub stall_rate: i64,
    /// The time without replies after which the requests are restarted.
    pub global_timeout: i64,
    /// The age up to which a reply is used.
    pub oldest_reply: i64,
    /// The time between two checks of the reflectors.
    pub check_interval: i64,
    /// The time without a reply that a check counts against a reflector.
    pub reply_deadline: i64,
    /// The number of checks that are remembered.
    pub offence_window: usize,
    /// The number of checks against a reflector from which it is replaced.
    pub offences: usize,
    /// The time after which a random reflector is replaced.
    pub replacement_interval: i64,
    /// The time between two comparisons of the reflectors.
    pub comparison_interval: i64,
    /// The excess of a reflector's baseline, in both directions, from which it is replaced.
    pub baseline_excess: i64,
    /// The excess of a reflector's average increase from which it is replaced.
    pub delta_excess: i64,
}

impl Default for Settings {
    fn default() -> Self {
        let thresholds = Thresholds { delay: 30_000, full_rise: 10_000, full_cut: 60_000 };
        Self {
            rates: [
                Range { min: 5_000, base: 20_000, max: 35_000 },
                Range { min: 5_000, base: 20_000, max: 80_000 },
            ],
            adjusts: [true; 2],
            thresholds: [thresholds; 2],
            packet_bits: [8 * 1_500; 2],
            pingers: 6,
            reflectors: 30,
            shuffles: true,
            ping_interval: 300_000,
            sample_interval: 200_000,
            window: 6,
            detection: 3,
            high_load: 75,
            factors: Factors {
                least_cut: 990,
                most_cut: 750,
                least_rise: 1_000,
                most_rise: 1_040,
                decay_down: 990,
                decay_up: 1_010,
            },
            cut_pause: 300_000,
            decay_pause: 1_000_000,
            baseline_rise: 1_000,
            baseline_fall: 900_000,
            delta_weight: 95_000,
            sleeps: true,
            active_rate: 2_000,
            sleep_after: 60_000_000,
            enforces_min: false,
            stall_replies: 5,
            stall_rate: 10,
            global_timeout: 10_000_000,
            oldest_reply: 500_000,
            check_interval: 1_000_000,
            reply_deadline: 1_000_000,
            offence_window: 60,
            offences: 3,
            replacement_interval: 3_600_000_000,
            comparison_interval: 60_000_000,
            baseline_excess: 20_000,
            delta_excess: 10_000,
        }
    }
}

impl Settings {
    /// Returns the mean time between two requests.
    pub const fn request_interval(&self) -> i64 {
        self.ping_interval / self.pingers as i64
    }

    /// Returns the time without a reply after which the line may have stalled.
    pub(super) const fn stall_timeout(&self) -> i64 {
        self.stall_replies * self.request_interval()
    }

    /// Returns the range of a direction's rate. It is one rate if the program does not change it.
    pub(super) const fn range(&self, direction: usize) -> Range {
        let range = self.rates[direction];
        if self.adjusts[direction] {
            range
        } else {
            Range { min: range.base, base: range.base, max: range.base }
        }
    }
}
