//! The sending end of a direction: camera and microphone, controller, pacer, retransmissions.

use std::collections::BTreeMap;

use aqmlab_core::{Duration, Instant};

use super::encoder::Encoder;
use super::end::{End, IP_UDP, SenderTimer};
use super::feedback::Report;
use super::gcc::{Cluster, Gcc, PROCESS_EVERY};
use super::nack::History;
use super::pacer::{Pacer, Packet, Sizes};
use super::protection::Protection;
use super::settings::Settings;
use super::speech::{self, SpeechPacket};
use super::wire::{Content, Frame, Media, VideoPacket};

/// A video packet in flight.
#[derive(Clone, Copy, Debug)]
enum Sent {
    /// The first transmission of the video packet with this number.
    First(u64),
    /// A retransmission.
    Rtx,
}

/// The sending end of a direction.
#[derive(Debug)]
pub(crate) struct Sender {
    settings: Settings,
    began: Instant,
    gcc: Gcc,
    pacer: Pacer,
    /// The time of the earliest timer that is set for the pacer, if any.
    armed: Option<Instant>,
    encoder: Encoder,
    pictures: u64,
    packets: u64,
    history: History,
    /// The video packets that are not yet reported, by transport-wide sequence numbers.
    numbers: BTreeMap<u64, Sent>,
    protection: Protection,
    speech: u64,
    speech_loss: speech::Loss,
    retransmitted: u64,
    key_frames: u64,
    /// The integral of the target over time, in bits.
    target_bits: f64,
    target_since: Instant,
}

impl Sender {
    /// Returns a sender that begins at `began`.
    pub(crate) fn new(settings: Settings, began: Instant) -> Self {
        let gcc = Gcc::new(settings.limits());
        let sizes = Sizes { payload: settings.payload, headers: Settings::PATH_HEADERS };
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
            numbers: BTreeMap::new(),
            protection: Protection::default(),
            speech: 0,
            speech_loss: speech::Loss::default(),
            retransmitted: 0,
            key_frames: 0,
            target_bits: 0.0,
            target_since: began,
        }
    }

    /// Returns the target rate on the path, in bit/s.
    pub(crate) const fn target_bps(&self) -> f64 {
        self.gcc.target_bps()
    }

    /// Returns the round-trip time, once it is known.
    pub(crate) const fn rtt(&self) -> Option<Duration> {
        self.gcc.rtt()
    }

    /// Returns the height in lines of the largest picture that the maximum rate permits.
    pub(crate) const fn top_lines(&self) -> u32 {
        self.encoder.top_lines()
    }

    /// Returns the number of video packets that were retransmitted.
    pub(crate) const fn retransmitted(&self) -> u64 {
        self.retransmitted
    }

    /// Returns the number of key frames that were sent.
    pub(crate) const fn key_frames(&self) -> u64 {
        self.key_frames
    }

    /// Returns the number of speech packets that were sent.
    pub(crate) const fn speech_packets(&self) -> u64 {
        self.speech
    }

    /// Returns the mean target over time until `end`, in bit/s; `None` if no time has passed.
    pub(crate) fn mean_target_bps(&self, end: Instant) -> Option<f64> {
        let span = end.since(self.began).as_secs_f64();
        let rest = self.target_bps() * end.since(self.target_since).as_secs_f64();
        (span > 0.0).then(|| (self.target_bits + rest) / span)
    }

    /// Begins to send. Begins to probe if the settings say so.
    pub(crate) fn begin(&mut self, end: &mut End<'_>) {
        if self.settings.probing {
            self.gcc.start_probing(end.now());
        }
        for first in [SenderTimer::Process, SenderTimer::Picture, SenderTimer::Speech] {
            self.wake(first, end);
        }
    }

    /// Handles the expiry of a timer.
    pub(crate) fn wake(&mut self, timer: SenderTimer, end: &mut End<'_>) {
        let now = end.now();
        match timer {
            SenderTimer::Picture => self.take_picture(end),
            SenderTimer::Speech => self.speak(end),
            SenderTimer::Process => {
                self.control(now, |gcc| gcc.process(now));
                self.flush(end);
                end.wake(now + PROCESS_EVERY, SenderTimer::Process);
            }
            SenderTimer::Pacer => {
                if self.armed.is_some_and(|at| at <= now) {
                    self.armed = None;
                }
                self.flush(end);
            }
        }
    }

    /// Processes a report on arrivals, and retransmits the packets that it lists as missing at its
    /// end.
    pub(crate) fn report(&mut self, report: &Report, end: &mut End<'_>) {
        let now = end.now();
        self.control(now, |gcc| gcc.report(report, now));
        let lost = self.tail_losses(report);
        self.repair(&lost, end);
    }

    /// Removes the packets up to the end of a report from `numbers`. Returns the video packets,
    /// sent once, that the report lists as missing after its last video packet that arrived or was
    /// a retransmission. The receiver cannot know that they are missing, so the sender retransmits
    /// them without a request (`rtp_video_sender.cc`, `OnPacketFeedbackVector`).
    fn tail_losses(&mut self, report: &Report) -> Vec<u64> {
        let end = report.first + report.arrivals.len() as u64;
        let rest = self.numbers.split_off(&end);
        let mut lost = Vec::new();
        for (number, video) in std::mem::replace(&mut self.numbers, rest) {
            let place = number.checked_sub(report.first).map(|place| place as usize);
            match (place.and_then(|place| report.arrivals.get(place)), video) {
                (Some(None), Sent::First(video)) => lost.push(video),
                (Some(_), _) => lost.clear(),
                (None, _) => {}
            }
        }
        lost
    }

    /// Retransmits those of the packets `numbers` that the sender still has, unless they are
    /// already queued or were retransmitted within the last round trip.
    pub(crate) fn repair(&mut self, numbers: &[u64], end: &mut End<'_>) {
        let (now, rtt) = (end.now(), self.rtt());
        for &number in numbers {
            if self.pacer.is_rtx_queued(number) {
                continue;
            }
            if let Some(packet) = self.history.retransmit(number, rtt, now) {
                self.pacer.push_rtx(packet, now);
            }
        }
        self.flush(end);
    }

    /// Requests a key frame from the encoder.
    pub(crate) fn request_key(&mut self, now: Instant) {
        self.encoder.request_key(now);
    }

    /// Lets the controller act, and passes its rates and probes to the pacer. Before this, adds the
    /// time at the previous target to the mean.
    fn control(&mut self, now: Instant, act: impl FnOnce(&mut Gcc)) {
        let span = now.since(self.target_since).as_secs_f64();
        self.target_bits += self.target_bps() * span;
        self.target_since = now;
        act(&mut self.gcc);
        self.pacer.set_rates(self.gcc.pacing_bps(), self.gcc.padding_bps(), now);
        for cluster in self.gcc.take_probes() {
            self.pacer.probe(cluster, now);
        }
    }

    fn speak(&mut self, end: &mut End<'_>) {
        let now = end.now();
        let bytes = self.settings.speech + Settings::PATH_HEADERS;
        let has_fec = self.speech_loss.update(self.gcc.loss(), now);
        let packet = SpeechPacket { number: self.speech, captured: now, has_fec };
        self.speech += 1;
        self.pacer.sent_audio(bytes, now);
        self.send(Media::Speech(packet), bytes, None, end);
        end.wake(self.began + speech::PACKET * self.speech, SenderTimer::Speech);
    }

    fn take_picture(&mut self, end: &mut End<'_>) {
        let now = end.now();
        let target_bps = self.target_bps();
        let video_bps = self.settings.video_bps(target_bps, self.encoder.fps());
        let bps = video_bps * (1.0 - self.protection.share(now));
        let queued = self.pacer.queued(target_bps);
        let picture = self.encoder.next(bps, queued, self.gcc.excess());
        if let Some(frame) = self.encoder.tick(bps, picture, now, end.rng()) {
            self.key_frames += u64::from(frame.is_key);
            self.packetise(frame, now);
        }
        self.flush(end);
        self.pictures += 1;
        let since = Duration::from_secs_f64(self.pictures as f64 / self.settings.camera.fps);
        end.wake(self.began + since, SenderTimer::Picture);
    }

    /// Splits a frame into packets whose sizes differ by at most one byte.
    fn packetise(&mut self, frame: Frame, now: Instant) {
        let count = frame.bytes.div_ceil(self.settings.payload);
        let frame = Frame { packets: count, ..frame };
        for index in 0..count {
            let bytes = frame.bytes / count + u32::from(index < frame.bytes % count);
            let packet = VideoPacket { number: self.packets, index, frame, bytes };
            self.packets += 1;
            self.pacer.push(packet, now);
        }
    }

    /// Sends the packets that the pacer permits, and sets a timer for the next packet.
    fn flush(&mut self, end: &mut End<'_>) {
        let (now, rtt) = (end.now(), self.rtt());
        let sizes = Sizes { payload: self.settings.payload, headers: Settings::PATH_HEADERS };
        for (packet, cluster) in self.pacer.process(now) {
            let bytes = sizes.of(&packet);
            let media = match packet {
                Packet::Video(video) => {
                    self.history.add(video, rtt, now);
                    self.protection.sent_first(bytes, now);
                    Media::Video(video)
                }
                Packet::Rtx(video) => {
                    self.retransmitted += 1;
                    self.protection.sent_rtx(bytes, now);
                    Media::Video(video)
                }
                Packet::Padding(_) => Media::Padding,
            };
            self.send(media, bytes, cluster, end);
        }
        if let Some(at) = self.pacer.next(now) {
            if self.armed.is_none_or(|armed| at < armed) {
                self.armed = Some(at);
                end.wake(at, SenderTimer::Pacer);
            }
        }
    }

    /// Sends media in an IP packet of `bytes`.
    fn send(&mut self, media: Media, bytes: u32, probe: Option<Cluster>, end: &mut End<'_>) {
        let number = self.gcc.sent(bytes, probe, end.now());
        if let Media::Video(packet) = media {
            let is_first = self.history.is_first(packet.number);
            let sent = if is_first { Sent::First(packet.number) } else { Sent::Rtx };
            self.numbers.insert(number, sent);
        }
        end.send(Content::Media(number, media), bytes - IP_UDP);
    }
}
