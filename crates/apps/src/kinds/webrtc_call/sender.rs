//! The sending end of a direction: camera and microphone, controller, pacer, retransmissions.

use aqmlab_core::{Duration, Instant};

use super::encoder::{Camera, Encoder};
use super::end::{End, IP_UDP, RTP, Timer};
use super::feedback::Report;
use super::gcc::{Cluster, Gcc, Limits, PROCESS_EVERY};
use super::nack::History;
use super::pacer::{Pacer, Packet, Sizes};
use super::wire::{Content, Frame, Media, VideoPacket};

/// The duration of the speech in a packet.
pub(crate) const SPEECH: Duration = Duration::from_millis(20);

/// The settings of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// The camera.
    pub(crate) camera: Camera,
    /// The first target in bit/s.
    pub(crate) start_bps: f64,
    /// Bytes of speech in a packet.
    pub(crate) speech: u32,
    /// The maximum number of video bytes in a packet.
    pub(crate) payload: u32,
    /// Whether the sender probes the path.
    pub(crate) probing: bool,
}

impl Settings {
    const HEADERS: u32 = IP_UDP + RTP;

    /// Returns the rate of the speech on the path, in bit/s.
    fn speech_bps(&self) -> f64 {
        f64::from(8 * (self.speech + Self::HEADERS)) / SPEECH.as_secs_f64()
    }

    /// Returns the rate on the path for `bps` of video at `fps`, including headers and speech.
    fn path_bps(&self, bps: f64, fps: f64) -> f64 {
        let packets = (bps / 8.0 / fps / f64::from(self.payload)).ceil().max(1.0);
        bps + 8.0 * packets * fps * f64::from(Self::HEADERS) + self.speech_bps()
    }

    /// Returns the video rate that fits into `bps` on the path at `fps`.
    fn video_bps(&self, bps: f64, fps: f64) -> f64 {
        let left = (bps - self.speech_bps()).max(0.0);
        let packet = f64::from(self.payload + Self::HEADERS);
        let packets = (left / 8.0 / fps / packet).ceil().max(1.0);
        (left - 8.0 * packets * fps * f64::from(Self::HEADERS)).max(0.0)
    }

    fn limits(&self) -> Limits {
        let Camera { fps, most_bps, least_bps, .. } = self.camera;
        Limits {
            start: self.start_bps,
            floor: self.path_bps(least_bps, fps / 2.0),
            allocated: self.path_bps(most_bps, fps),
        }
    }
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct Sender {
    settings: Settings,
    began: Instant,
    gcc: Gcc,
    pacer: Pacer,
    /// The earliest time at which the pacer requested a call.
    armed: Option<Instant>,
    encoder: Encoder,
    pictures: u64,
    packets: u64,
    history: History,
    speech: u64,
    again: u64,
    key_frames: u64,
    /// The sum of targets over time, in bits.
    target_bits: f64,
    target_since: Instant,
}

impl Sender {
    /// Returns a sender that begins at `began`.
    pub(crate) fn new(settings: Settings, began: Instant) -> Self {
        let gcc = Gcc::new(settings.limits());
        let sizes = Sizes { payload: settings.payload, headers: Settings::HEADERS };
        let video_bps = settings.video_bps(gcc.target_bps(), settings.camera.fps);
        Self {
            settings,
            began,
            pacer: Pacer::new(sizes, gcc.pacing_bps(), began),
            armed: None,
            encoder: Encoder::new(settings.camera, video_bps),
            gcc,
            pictures: 0,
            packets: 0,
            history: History::default(),
            speech: 0,
            again: 0,
            key_frames: 0,
            target_bits: 0.0,
            target_since: began,
        }
    }

    /// Returns the target in bit/s on the path.
    pub(crate) const fn target_bps(&self) -> f64 {
        self.gcc.target_bps()
    }

    /// Returns the round-trip time, once it is known.
    pub(crate) const fn rtt(&self) -> Option<Duration> {
        self.gcc.rtt()
    }

    /// Returns the height of the largest picture.
    pub(crate) const fn top_lines(&self) -> u32 {
        self.encoder.top_lines()
    }

    /// Returns the number of video packets that were retransmitted.
    pub(crate) const fn sent_again(&self) -> u64 {
        self.again
    }

    /// Returns the number of key frames that were sent.
    pub(crate) const fn key_frames(&self) -> u64 {
        self.key_frames
    }

    /// Returns the number of speech packets that were sent.
    pub(crate) const fn speech_packets(&self) -> u64 {
        self.speech
    }

    /// Returns the mean target over time until `end`, in bit/s.
    pub(crate) fn mean_target_bps(&self, end: Instant) -> Option<f64> {
        let span = end.since(self.began).as_secs_f64();
        let rest = self.target_bps() * end.since(self.target_since).as_secs_f64();
        (span > 0.0).then(|| (self.target_bits + rest) / span)
    }

    /// Handles the expiry of one of its timers.
    pub(crate) fn wake(&mut self, timer: Timer, end: &mut End<'_>) {
        let now = end.now();
        match timer {
            Timer::Begin => {
                if self.settings.probing {
                    self.gcc.start_probing(now);
                }
                for first in [Timer::Process, Timer::Picture, Timer::Speech] {
                    self.wake(first, end);
                }
            }
            Timer::Picture => self.take_picture(end),
            Timer::Speech => {
                self.speech += 1;
                let content = Media::Audio(self.speech - 1, now);
                self.send(content, self.settings.speech + Settings::HEADERS, None, end);
                end.wake(self.began + SPEECH * self.speech, Timer::Speech);
            }
            Timer::Process => {
                self.control(now, |gcc| gcc.process(now));
                self.flush(end);
                end.wake(now + PROCESS_EVERY, Timer::Process);
            }
            _ => {
                if self.armed.is_some_and(|at| at <= now) {
                    self.armed = None;
                }
                self.flush(end);
            }
        }
    }

    /// Processes a report on arrivals.
    pub(crate) fn report(&mut self, report: &Report, end: &mut End<'_>) {
        let now = end.now();
        self.control(now, |gcc| gcc.report(report, now));
        self.flush(end);
    }

    /// Retransmits the packets `numbers` that the sender still has.
    pub(crate) fn repair(&mut self, numbers: &[u64], end: &mut End<'_>) {
        let (now, rtt) = (end.now(), self.rtt());
        for &number in numbers {
            if self.pacer.is_queued_again(number) {
                continue;
            }
            if let Some(packet) = self.history.again(number, rtt, now) {
                self.pacer.push(Packet::Again(packet), now);
            }
        }
        self.flush(end);
    }

    /// Makes the next frame a key frame.
    pub(crate) fn request_key(&mut self, now: Instant) {
        self.encoder.request_key(now);
    }

    /// Lets the controller act, and accounts for its targets.
    fn control(&mut self, now: Instant, act: impl FnOnce(&mut Gcc)) {
        let span = now.since(self.target_since).as_secs_f64();
        self.target_bits += self.target_bps() * span;
        self.target_since = now;
        act(&mut self.gcc);
        self.pacer.set_rate(self.gcc.pacing_bps(), now);
        for cluster in self.gcc.take_probes() {
            self.pacer.probe(cluster, now);
        }
    }

    fn take_picture(&mut self, end: &mut End<'_>) {
        let now = end.now();
        let target_bps = self.target_bps();
        let bps = self.settings.video_bps(target_bps, self.encoder.fps());
        let queued = self.pacer.queued(target_bps);
        if let Some(frame) = self.encoder.tick(bps, queued, now, end.rng()) {
            self.key_frames += u64::from(frame.is_key);
            self.packetise(frame, now);
        }
        self.flush(end);
        self.pictures += 1;
        let since = Duration::from_secs_f64(self.pictures as f64 / self.settings.camera.fps);
        end.wake(self.began + since, Timer::Picture);
    }

    /// Splits a frame into packets whose sizes differ by at most one byte.
    fn packetise(&mut self, frame: Frame, now: Instant) {
        let count = frame.bytes.div_ceil(self.settings.payload);
        let frame = Frame { packets: count, ..frame };
        for index in 0..count {
            let bytes = frame.bytes / count + u32::from(index < frame.bytes % count);
            let packet = VideoPacket { number: self.packets, index, frame, bytes };
            self.packets += 1;
            self.pacer.push(Packet::Video(packet), now);
        }
    }

    /// Sends the packets that the pacer allows, and requests a call at the time of the next packet.
    fn flush(&mut self, end: &mut End<'_>) {
        let (now, rtt) = (end.now(), self.rtt());
        let sizes = Sizes { payload: self.settings.payload, headers: Settings::HEADERS };
        for (packet, cluster) in self.pacer.process(now) {
            let media = match packet {
                Packet::Video(video) => {
                    self.history.add(video, rtt, now);
                    Media::Video(video)
                }
                Packet::Again(video) => {
                    self.again += 1;
                    Media::Video(video)
                }
                Packet::Padding(_) => Media::Padding,
            };
            self.send(media, sizes.of(&packet), cluster, end);
        }
        if let Some(at) = self.pacer.next(now) {
            if self.armed.is_none_or(|armed| at < armed) {
                self.armed = Some(at);
                end.wake(at, Timer::Pacer);
            }
        }
    }

    /// Sends media in `bytes` of IP.
    fn send(&mut self, media: Media, bytes: u32, probe: Option<Cluster>, end: &mut End<'_>) {
        let number = self.gcc.sent(bytes, probe, end.now());
        end.send(Content::Media(number, media), bytes - IP_UDP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    #[test]
    fn headers_and_speech_are_part_of_the_target() {
        let camera = Camera { fps: 30.0, most_bps: 2.5e6, least_bps: 30e3, variation: 0.25 };
        let settings =
            Settings { camera, start_bps: 300e3, speech: 80, payload: 1_200, probing: true };
        // The rate is 138 B every 20 ms.
        close(settings.speech_bps(), 55_200.0, 1e-6);
        // 1 Mbit/s is 4,167 B per frame in 4 packets, each with 58 B of headers.
        let path = 1e6 + 8.0 * 4.0 * 30.0 * 58.0 + 55_200.0;
        close(settings.path_bps(1e6, 30.0), path, 1e-6);
        close(settings.video_bps(path, 30.0), 1e6, 1e-6);
        close(settings.limits().floor, 30e3 + 8.0 * 15.0 * 58.0 + 55_200.0, 1e-6);
        close(settings.video_bps(10e3, 30.0), 0.0, 0.0);
    }
}
