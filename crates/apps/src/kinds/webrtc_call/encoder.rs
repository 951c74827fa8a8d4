//! A camera and its encoder: frames on a clock, at the rate that the controller allows.
//!
//! Source: libwebrtc 2025-06. The resolutions and their rates are those of `simulcast.cc`; a stream
//! uses one resolution at a time. The rates at and above which a larger picture is allowed are
//! those of `encoder_info_settings.cc` for VP8. The minimum times between changes of the resolution
//! are those of `quality_scaler.cc`. The head of `webrtc_call.rs` lists the choices of this model.

use aqmlab_core::{Duration, Instant, Rng};

use super::wire::Frame;

#[cfg(test)]
mod tests;

/// A resolution and its rates in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    /// The height of the picture in lines.
    lines: u32,
    /// The minimum rate.
    least_bps: f64,
    /// The rate at and above which the resolution is chosen.
    start_bps: f64,
    /// The rate for which the resolution is intended.
    made_for_bps: f64,
}

const fn step(lines: u32, [least, start, made_for]: [u32; 3]) -> Step {
    let (least_bps, start_bps) = (least as f64 * 1e3, start as f64 * 1e3);
    Step { lines, least_bps, start_bps, made_for_bps: made_for as f64 * 1e3 }
}

const LADDER: [Step; 6] = [
    step(180, [30, 0, 150]),
    step(270, [150, 200, 350]),
    step(360, [150, 300, 500]),
    step(540, [350, 500, 1_200]),
    step(720, [600, 900, 2_500]),
    step(1_080, [800, 2_000, 4_000]),
];
/// The minimum time between changes of the resolution: before the first fall, and after the first
/// fall.
const CHANGE_EVERY: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(5)];
/// The factor by which the rate must exceed [`HALF_RATE_BPS`] before all frames are encoded again.
const MARGIN: f64 = 1.1;
/// The rate in bit/s below which every second frame is left out.
const HALF_RATE_BPS: f64 = 250e3;
/// The bounds of the size of a key frame, as multiples of the mean frame size.
const KEY_SIZES: (f64, f64) = (4.0, 6.0);
/// The minimum time between two key frames on request (`encoder_rtcp_feedback.cc`).
const KEY_EVERY: Duration = Duration::from_millis(300);
/// The sending time of the video in the pacer above which frames are left out.
pub(crate) const LONGEST_QUEUE: Duration = Duration::from_millis(100);
/// Frames are left out if the congestion window leaves out more than this proportion of the target
/// (`video_stream_encoder.cc`).
const LEAST_EXCESS: f64 = 0.01;
/// The minimum interval between two frames that are left out, in pictures
/// (`video_stream_encoder.cc`).
const LEAST_INTERVAL: u64 = 2;

/// The settings of the camera and its encoder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Camera {
    /// The number of pictures that the camera takes per second.
    pub(crate) fps: f64,
    /// The maximum rate of the encoder in bit/s.
    pub(crate) most_bps: f64,
    /// The minimum rate of the encoder in bit/s.
    pub(crate) least_bps: f64,
    /// The standard deviation of a frame's size, relative to the mean.
    pub(crate) variation: f64,
}

/// The decision on the next picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picture {
    /// The picture is encoded.
    Encoded,
    /// The picture is left out.
    LeftOut,
}

/// The encoder: its resolution, its frame rate and its key frames.
#[derive(Debug)]
pub(crate) struct Encoder {
    camera: Camera,
    top: usize,
    step: usize,
    has_fallen: bool,
    next_change: Option<Instant>,
    is_half: bool,
    ticks: u64,
    frames: u64,
    /// The number of pictures at which the excess was above [`LEAST_EXCESS`].
    dropping: u64,
    /// The rate of the next frame. The encoder follows the target with a delay of one frame.
    next_bps: f64,
    wants_key: bool,
    last_key: Option<Instant>,
}

impl Encoder {
    /// Returns an encoder that may initially use `bps`.
    pub(crate) fn new(camera: Camera, bps: f64) -> Self {
        let made_for = |step: &Step| step.made_for_bps <= camera.most_bps;
        let top = LADDER.iter().rposition(made_for).unwrap_or(0);
        let fits = |step: &Step| step.least_bps <= bps;
        let step = LADDER[..=top].iter().rposition(fits).unwrap_or(0);
        let next_bps = bps.min(camera.most_bps).max(camera.least_bps);
        let is_half = next_bps < HALF_RATE_BPS;
        let (has_fallen, next_change) = (false, None);
        let (ticks, frames, dropping, wants_key, last_key) = (0, 0, 0, true, None);
        Self {
            camera,
            top,
            step,
            has_fallen,
            next_change,
            is_half,
            ticks,
            frames,
            dropping,
            next_bps,
            wants_key,
            last_key,
        }
    }

    /// Returns the frames per second that the encoder makes now.
    pub(crate) fn fps(&self) -> f64 {
        if self.is_half { self.camera.fps / 2.0 } else { self.camera.fps }
    }

    /// Returns the height in lines of the largest picture that the maximum rate permits.
    pub(crate) const fn top_lines(&self) -> u32 {
        LADDER[self.top].lines
    }

    /// Requests a key frame. A request within [`KEY_EVERY`] after a key frame has no effect.
    pub(crate) fn request_key(&mut self, now: Instant) {
        self.wants_key |= self.last_key.is_none_or(|at| now.since(at) >= KEY_EVERY);
    }

    /// Decides whether the next picture is encoded. `queued` is the time that the pacer needs for
    /// the video that it holds. `excess` is the proportion of `bps` that the congestion window
    /// leaves out.
    pub(crate) fn next(&mut self, bps: f64, queued: Duration, excess: f64) -> Picture {
        let excess = excess.min(1.0 - self.camera.least_bps / bps);
        let mut is_dropped = false;
        if excess > LEAST_EXCESS {
            is_dropped = self.dropping.is_multiple_of(LEAST_INTERVAL.max((1.0 / excess) as u64));
            self.dropping += 1;
        }
        if is_dropped || queued > LONGEST_QUEUE { Picture::LeftOut } else { Picture::Encoded }
    }

    /// Processes a tick of the camera's clock; returns the frame, unless it is left out. The
    /// encoder may use `bps` from the next frame on.
    pub(crate) fn tick(
        &mut self,
        bps: f64,
        picture: Picture,
        now: Instant,
        rng: &mut Rng,
    ) -> Option<Frame> {
        // Every tick draws a number, so that frames that are left out do not change the sizes of
        // other frames.
        let size = rng.lognormal(1.0, self.camera.variation);
        let key_size = rng.uniform(KEY_SIZES.0, KEY_SIZES.1);
        let tick = self.ticks;
        self.ticks += 1;
        let bps = bps.min(self.camera.most_bps).max(self.camera.least_bps);
        let bps = std::mem::replace(&mut self.next_bps, bps);
        let limit = if self.is_half { MARGIN * HALF_RATE_BPS } else { HALF_RATE_BPS };
        self.is_half = bps < limit;
        if (self.is_half && tick % 2 == 1) || picture == Picture::LeftOut {
            return None;
        }
        self.choose(bps, now);
        let is_key = std::mem::take(&mut self.wants_key);
        if is_key {
            self.last_key = Some(now);
        }
        let mean = bps / 8.0 / self.fps();
        let bytes = mean * if is_key { key_size } else { size };
        let number = self.frames;
        self.frames += 1;
        Some(Frame {
            number,
            captured: now,
            is_key,
            lines: LADDER[self.step].lines,
            bytes: bytes.max(1.0) as u32,
            packets: 0,
        })
    }

    /// Moves the resolution by at most one step, if a change is due.
    fn choose(&mut self, bps: f64, now: Instant) {
        let due = *self.next_change.get_or_insert(now + CHANGE_EVERY[0]);
        if now < due {
            return;
        }
        if self.step > 0 && bps < LADDER[self.step].least_bps {
            self.step -= 1;
            self.has_fallen = true;
            self.wants_key = true;
        } else if self.step < self.top && bps >= LADDER[self.step + 1].start_bps {
            self.step += 1;
            self.wants_key = true;
        }
        self.next_change = Some(now + CHANGE_EVERY[usize::from(self.has_fallen)]);
    }
}
