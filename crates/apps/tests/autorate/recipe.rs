//! The settings and the input of a run, drawn from a seed.

use aqmlab_apps::autorate::{Factors, Range, Settings, Thresholds};
use aqmlab_recipe::Mixer;

/// The number of lines that a run reads.
const LINES: usize = 1_900;

/// The reply to an echo request.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// The time at which `fping` printed the line, in microseconds since the start.
    pub printed: i64,
    /// The time at which the program read it.
    pub read: i64,
    /// The reflector; `None` for the line of a request without a reply.
    pub reflector: Option<u32>,
    /// The round-trip time in nanoseconds.
    pub rtt: u64,
}

/// A run: settings, replies, and the numbers that the program draws.
#[derive(Debug)]
pub struct Recipe {
    pub settings: Settings,
    /// The bytes that pass in each microsecond, in thousandths, from a time on.
    loads: Vec<(i64, [u64; 2])>,
    pub replies: Vec<Reply>,
    /// The numbers of 15 bits that the program draws; they repeat.
    pub draws: Vec<u16>,
    pub end: i64,
}

/// A part of a run with a constant state of the line.
struct Phase {
    end: i64,
    loads: [u64; 2],
    /// The delay of the queue, and its random part, in microseconds.
    queue: [u64; 2],
    /// The probability of a loss in per mille.
    loss: u64,
    /// A reflector with an additional delay.
    slow: u32,
    extra: u64,
    /// The program reads the lines of the phase's first part late.
    busy_until: i64,
}

impl Recipe {
    /// Draws the run of `seed`.
    pub fn draw(seed: u64) -> Self {
        let mut mixer = Mixer(seed);
        let settings = settings(&mut mixer);
        let draws = (0..97).map(|_| (mixer.draw() & 0x7fff) as u16).collect();
        let bases: Vec<u64> =
            (0..settings.reflectors).map(|_| 4_000 + mixer.below(40_000)).collect();
        let mut run = Self { settings, loads: Vec::new(), replies: Vec::new(), draws, end: 0 };
        let lines_per_second = 1_000_000 / run.settings.request_interval() + 4;
        run.end = LINES as i64 * 1_000_000 / lines_per_second;
        let (mut now, mut last_read) = (0, 0);
        while now < run.end {
            let phase = run.phase(now, &mut mixer);
            run.loads.push((now, phase.loads));
            last_read = run.fill(now, last_read, &phase, &bases, &mut mixer);
            now = phase.end;
        }
        run.replies.sort_by_key(|reply| (reply.printed, reply.reflector));
        // A line is read after the lines before it.
        let mut read = 0;
        for reply in &mut run.replies {
            read = read.max(reply.read).max(reply.printed);
            reply.read = read;
        }
        run
    }

    /// Returns the values of the byte counters at `now`.
    pub fn counters(&self, now: i64) -> [u64; 2] {
        let mut bytes = [0; 2];
        for (index, &(from, loads)) in self.loads.iter().enumerate() {
            let until = self.loads.get(index + 1).map_or(now, |next| next.0.min(now));
            for (bytes, load) in bytes.iter_mut().zip(loads) {
                *bytes += load * (until - from).max(0) as u64 / 1_000;
            }
        }
        bytes
    }

    fn phase(&self, now: i64, mixer: &mut Mixer) -> Phase {
        let length = 500_000 + mixer.below(9_500_000) as i64;
        let loads = [0, 1].map(|index| self.load(index, mixer));
        let queues = [0, 0, 5_000, 20_000, 60_000, 100_000, 200_000, 700_000];
        let queue = mixer.one_of(&queues);
        let loss = mixer.one_of(&[0, 0, 0, 50, 300, 1_000]);
        let extra = mixer.one_of(&[0, 0, 15_000, 60_000]);
        let busy = mixer.one_of(&[0, 0, 0, 300_000, 900_000]);
        Phase {
            end: now + length,
            loads,
            queue: [queue, mixer.one_of(&[1_000, 10_000, 50_000])],
            loss,
            slow: mixer.below(self.settings.reflectors as u64) as u32,
            extra,
            busy_until: now + busy,
        }
    }

    /// Draws the load of a direction: none, little, or a rate between the least and the highest.
    fn load(&self, direction: usize, mixer: &mut Mixer) -> u64 {
        let Range { min, max, .. } = self.settings.rates[direction];
        let kbit = match mixer.below(4) {
            0 => mixer.below(20),
            1 => mixer.below(min as u64 + 1),
            _ => min as u64 + mixer.below((max - min) as u64 + 1),
        };
        // One kbit/s is an eighth of a thousandth of a byte in a microsecond, times 1000.
        kbit / 8
    }

    fn fill(
        &mut self,
        from: i64,
        mut read: i64,
        phase: &Phase,
        bases: &[u64],
        mixer: &mut Mixer,
    ) -> i64 {
        let every = self.settings.request_interval();
        let mut sent = from;
        while sent < phase.end.min(self.end) {
            sent += every;
            let reflector = mixer.below(bases.len() as u64) as u32;
            let extra = if reflector == phase.slow { phase.extra } else { 0 };
            let delay = bases[reflector as usize] + extra + phase.queue[0];
            let rtt = (delay + mixer.below(phase.queue[1])) * 1_000 + mixer.below(1_000);
            let is_lost = mixer.below(1_000) < phase.loss;
            // No time lies near the middle of two printed times.
            let printed = (sent + rtt as i64 / 1_000) / 10 * 10 + 2;
            let late = if printed < phase.busy_until { phase.busy_until - printed } else { 0 };
            read = printed + late + mixer.below(200) as i64;
            match is_lost {
                false => {
                    self.replies.push(Reply { printed, read, reflector: Some(reflector), rtt });
                }
                true if mixer.below(4) == 0 => {
                    self.replies.push(Reply { printed, read, reflector: None, rtt });
                }
                true => {}
            }
        }
        read
    }
}

fn settings(mixer: &mut Mixer) -> Settings {
    let mut settings = Settings::default();
    settings.rates = [0, 1].map(|_| range(mixer));
    settings.active_rate = settings.rates[0].min.min(settings.rates[1].min).min(2_000);
    let overheads = [mixer.below(50), mixer.below(50)];
    settings.packet_bits = overheads.map(|bytes| 8 * (1_500 + bytes as i64));
    settings.pingers = 1 + mixer.below(8) as usize;
    settings.reflectors = settings.pingers + mixer.below(5) as usize;
    settings.ping_interval = 1_000 * (100 + 20 * mixer.below(20)) as i64;
    settings.shuffles = mixer.below(2) == 0;
    settings.sleep_after = mixer.one_of(&[2_000_000, 5_000_000, 60_000_000]);
    settings.enforces_min = mixer.below(2) == 0;
    settings.comparison_interval = 60_000_000;
    settings.replacement_interval = mixer.one_of(&[60_000_000, 3_600_000_000]);
    settings.global_timeout = mixer.one_of(&[1_000_000, 10_000_000]);
    if mixer.below(2) == 0 {
        vary(&mut settings, mixer);
    }
    settings
}

fn range(mixer: &mut Mixer) -> Range {
    let base = 300 << mixer.below(8);
    let base = base + mixer.below(base as u64) as i64;
    Range {
        min: 1 + base * (1 + mixer.below(8) as i64) / 9,
        base,
        max: base + mixer.below(3 * base as u64) as i64,
    }
}

/// Draws settings that few people change.
fn vary(settings: &mut Settings, mixer: &mut Mixer) {
    for thresholds in &mut settings.thresholds {
        let mut draw = |most: u64| 1_000 * (1 + mixer.below(most) as i64);
        *thresholds = Thresholds { delay: draw(60), full_rise: draw(30), full_cut: draw(120) };
    }
    settings.adjusts = [mixer.below(4) > 0, mixer.below(4) > 0];
    settings.window = 1 + mixer.below(10) as usize;
    settings.detection = 1 + mixer.below(settings.window as u64) as usize;
    settings.high_load = 40 + mixer.below(55) as i64;
    settings.factors = Factors {
        least_cut: 900 + mixer.below(100) as i64,
        most_cut: 500 + mixer.below(400) as i64,
        least_rise: 1_000 + mixer.below(10) as i64,
        most_rise: 1_010 + mixer.below(100) as i64,
        decay_down: 900 + mixer.below(100) as i64,
        decay_up: 1_000 + mixer.below(100) as i64,
    };
    settings.cut_pause = 1_000 * mixer.below(600) as i64;
    settings.decay_pause = 1_000 * mixer.below(2_000) as i64;
    settings.baseline_rise = mixer.below(20_000) as i64;
    settings.baseline_fall = 500_000 + mixer.below(500_000) as i64;
    settings.delta_weight = mixer.below(300_000) as i64;
    settings.stall_replies = 2 + mixer.below(8) as i64;
    settings.stall_rate = mixer.below(50) as i64;
    settings.offence_window = 5 + mixer.below(60) as usize;
    settings.offences = 1 + mixer.below(5) as usize;
    settings.baseline_excess = 1_000 * mixer.below(40) as i64;
    settings.delta_excess = 1_000 * mixer.below(20) as i64;
}
